"""The schema of `<flexdyn>`: every element and attribute with type, unit, default, bounds and meaning, as
data.

Parsing, refusal of unknown words, the YAML mirror, docs/schema.md and the XSD are all driven by these tables.
"""

from __future__ import annotations

from flexdyn_ros.description.language import schema_joint as joint
from flexdyn_ros.description.language import schema_link as link
from flexdyn_ros.description.language import schema_platform as platform
from flexdyn_ros.description.language import schema_robot as robot
from flexdyn_ros.description.language.vocabulary import Element

VERSION = "1"

ROBOT = Element(
    "robot",
    "the whole robot",
    children=(
        robot.GRAVITY,
        robot.BASE,
        robot.FORMULATION,
        robot.WHEEL,
        robot.ROAD,
        robot.DRIVE,
        platform.PLATFORM,
    ),
)
LINK = Element(
    "link",
    "a flexible link",
    children=(
        link.BEAM,
        link.MODES,
        link.DAMPING,
        link.BODY,
        link.REMAINDER,
        link.ATTACH,
        link.DISPLAY,
    ),
)
JOINT = Element(
    "joint",
    "a joint",
    children=(
        joint.ROTOR,
        joint.JOINT_ELASTICITY,
        joint.JOINT_SPRING,
        joint.FRICTION,
        joint.SECTION,
    ),
)
SCOPES = (ROBOT, LINK, JOINT)


def scope_of(tag: str) -> Element | None:
    """The scope (ROBOT, LINK or JOINT) that an element directly below <flexdyn> belongs to."""
    return next((scope for scope in SCOPES if scope.child(tag)), None)
