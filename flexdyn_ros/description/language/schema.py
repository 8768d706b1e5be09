"""The schema of `<flexdyn>`: every element and attribute with type, unit, default, bounds and meaning, as
data.

Parsing, refusal of unknown words, the YAML mirror, docs/schema.md and the XSD are all driven by these tables.
"""

from __future__ import annotations

from flexdyn_ros.description.language import schema_joint as joint
from flexdyn_ros.description.language import schema_link as link
from flexdyn_ros.description.language import schema_platform as platform
from flexdyn_ros.description.language import schema_robot as robot
from flexdyn_ros.description.language.vocabulary import Element, rule_of

VERSION = "1"

ROBOT = Element(
    "robot",
    "the whole robot",
    children=[
        robot.GRAVITY,
        robot.BASE,
        robot.FORMULATION,
        robot.WHEEL,
        robot.ROAD,
        robot.DRIVE,
        platform.PLATFORM,
    ],
)
LINK = Element(
    "link",
    "a flexible link",
    children=[
        link.BEAM,
        link.MODES,
        link.DAMPING,
        link.BODY,
        link.REMAINDER,
        link.ATTACH,
        link.DISPLAY,
    ],
)
JOINT = Element(
    "joint",
    "a joint",
    children=[
        joint.ROTOR,
        joint.JOINT_ELASTICITY,
        joint.JOINT_SPRING,
        joint.FRICTION,
        joint.SECTION,
    ],
)
SCOPES = (ROBOT, LINK, JOINT)


def scope_of(tag: str) -> Element | None:
    """The scope (ROBOT, LINK or JOINT) that an element directly below <flexdyn> belongs to."""
    return next((scope for scope in SCOPES if scope.child(tag)), None)


#: elements of the whole robot that were added to those above
_added: list[Element] = []


def add_element(record: type) -> None:
    """Make `<flexdyn>` know one more element of the whole robot: a class made by `vocabulary.element`.

    From then on the reader, the YAML mirror, the reference page and the XSD know it, and
    `RobotDescription.extras[name]` holds its records. The same class may be added again.

    Raises
    ------
    ValueError
        If another element of that name is there.
    """
    rule = rule_of(record)
    if rule in _added:
        return
    if scope_of(rule.name) is not None:
        raise ValueError(f"there is an element <{rule.name}> already: expected a name of its own")
    ROBOT.children.append(rule)
    _added.append(rule)


def remove_element(record: type) -> None:
    """Forget an element that `add_element` has added."""
    rule = rule_of(record)
    _added.remove(rule)
    ROBOT.children.remove(rule)


def added_elements() -> tuple[Element, ...]:
    """Elements that `add_element` has added, in that order."""
    return tuple(_added)
