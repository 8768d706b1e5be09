"""The kinds of elements, in the order of their efforts and parameters; `<flexdyn>` knows what is here."""

from __future__ import annotations

from typing import Any, NoReturn

from flexdyn_ros.description import RobotDescription
from flexdyn_ros.description.language import schema
from flexdyn_ros.description.language.vocabulary import rule_of
from flexdyn_ros.description.places import Place
from flexdyn_ros.multibody.elements import leg, spring
from flexdyn_ros.multibody.elements.cylinder import driven
from flexdyn_ros.multibody.elements.kind import ElementKind

_KINDS: list[ElementKind] = [*driven.KINDS, *leg.KINDS, *spring.KINDS]


def kinds() -> tuple[ElementKind, ...]:
    """All kinds of elements that are known."""
    return tuple(_KINDS)


def register(kind: ElementKind) -> None:
    """Make a kind of element known; twice is once.

    Raises
    ------
    ValueError
        If another element has its name.
    """
    if kind not in _KINDS:
        schema.add_element(kind.record)
        _KINDS.append(kind)


def unregister(kind: ElementKind) -> None:
    """Forget a kind that `register` has added."""
    _KINDS.remove(kind)
    schema.remove_element(kind.record)


def elements_of(description: RobotDescription) -> tuple[tuple[ElementKind, Any], ...]:
    """The elements of a description, with their kinds."""
    found = ((kind, description.extras.get(rule_of(kind.record).name, ())) for kind in _KINDS)
    return tuple((kind, record) for kind, records in found for record in records)


def refuse_elements(description: RobotDescription) -> None:
    """DescriptionError for the first element, in robots of a kind that carries none (docs/limitations.md)."""
    for kind, record in elements_of(description):
        refuse_element(description, kind, record, f"in a robot of kind {description.kind}")


def refuse_element(description: RobotDescription, kind: ElementKind, record: Any, why: str) -> NoReturn:
    """DescriptionError for an element that does not go with the rest of the description."""
    tag = rule_of(kind.record).name
    place_of(description, kind, record).fail(
        f"a <{tag}> {why} is not possible yet", "name", record.name, f"no <{tag}>"
    )


def place_of(description: RobotDescription, kind: ElementKind, record: Any) -> Place:
    """Where an element stands, for errors."""
    return description.place(record, f"{rule_of(kind.record).name} '{record.name}'")
