"""Elements in robots that cannot carry them yet are refused by name (docs/limitations.md)."""

from __future__ import annotations

from flexdyn_ros.description import RobotDescription
from flexdyn_ros.description.language.vocabulary import rule_of
from flexdyn_ros.multibody.elements.registry import elements_of


def refuse_elements(description: RobotDescription, carries: bool) -> None:
    """DescriptionError for an element that does not go with the rest of the description.

    carries: whether robots of its family carry elements.
    """
    elastic = next((joint.name for joint in description.joints if joint.elasticity is not None), None)
    for kind, record in elements_of(description):
        tag, with_what = rule_of(kind.record).name, ""
        if not carries:
            with_what = f"in a robot of kind {description.kind}"
        elif description.formulation.method == "lagrange":
            with_what = "beside the method lagrange"
        elif kind.driven and elastic is not None and description.formulation.flexible:
            with_what = f"beside the elastic joint '{elastic}'"
        if with_what:
            place = description.place(record, f"{tag} '{record.name}'")
            place.fail(f"a <{tag}> {with_what} is not possible yet", "name", record.name, f"no <{tag}>")


def names_twice(description: RobotDescription) -> None:
    """DescriptionError for an element that is named like another one, a joint or a link."""
    taken = {joint.name: "joint" for joint in description.joints}
    for kind, record in elements_of(description):
        tag = rule_of(kind.record).name
        if record.name in taken:
            place = description.place(record, f"{tag} '{record.name}'")
            place.fail(f"a {taken[record.name]} has this name", "name", record.name, "a name of its own")
        taken[record.name] = tag
