"""The schema of `<flexdyn>`: what may be stated of the whole robot, of a link and of a joint.

Each element is declared once, as a record in `description/elements/`. Parsing, refusal of unknown words, the
YAML mirror, docs/schema.md and the XSD follow from these declarations.
"""

from __future__ import annotations

from flexdyn_ros.description.elements.description import Formulation, Gravity
from flexdyn_ros.description.elements.joints import (
    DryFriction,
    JointElasticity,
    JointSpring,
    JointType,
    Rotor,
    Section,
)
from flexdyn_ros.description.elements.lines import LINES
from flexdyn_ros.description.elements.links import FlexibleLink
from flexdyn_ros.description.elements.loops import LOOPS
from flexdyn_ros.description.elements.platforms import Platform
from flexdyn_ros.description.elements.urdf import Base
from flexdyn_ros.description.elements.wheels import Drive, Road, Wheel
from flexdyn_ros.description.language.vocabulary import Element, rule_of

VERSION = "1"
#: what stands beside the elements of the whole robot in YAML
YAML_KEYS = ("links", "joints", "version")

_OF_ROBOT = (Gravity, Base, Formulation, Wheel, Road, Drive, Platform, *LINES, *LOOPS)
_OF_JOINT = (Rotor, JointElasticity, JointSpring, DryFriction, Section, JointType)
ROBOT = Element("robot", "the whole robot", children=[rule_of(record) for record in _OF_ROBOT])
LINK = rule_of(FlexibleLink)
JOINT = Element("joint", "a joint", children=[rule_of(record) for record in _OF_JOINT])
SCOPES = (ROBOT, LINK, JOINT)


def scope_of(tag: str) -> Element | None:
    """The scope (ROBOT, LINK or JOINT) that an element directly below <flexdyn> belongs to."""
    return next((scope for scope in SCOPES if scope.child(tag)), None)


def begins_path(word: str) -> bool:
    """Whether paths of options may begin with a word: links, joints, an element of the whole robot."""
    return word in YAML_KEYS or ROBOT.child(word) is not None


#: elements of the whole robot that were added to those above
_added: list[Element] = []


def add_element(record: type) -> None:
    """Make `<flexdyn>` know one more element of the whole robot: a class made by `vocabulary.element`.

    From then on the reader, the YAML mirror, the reference page and the XSD know it, and
    `RobotDescription.extras[name]` holds its records. The same class may be added again.

    Raises
    ------
    ValueError
        If another element, or a key of YAML, has that name.
    """
    rule = rule_of(record)
    if rule in _added:
        return
    if scope_of(rule.name) is not None or rule.name in YAML_KEYS:
        raise ValueError(f"there is an element <{rule.name}> already: expected a name of its own")
    ROBOT.children.append(rule)
    _added.append(rule)


def remove_element(record: type) -> None:
    """Forget an element that `add_element` has added."""
    rule = rule_of(record)
    _added.remove(rule)
    ROBOT.children.remove(rule)


def named_elements() -> tuple[Element, ...]:
    """Elements whose records are in `RobotDescription.extras`: those between frames, and those added."""
    return (*map(rule_of, LINES), *map(rule_of, LOOPS), *_added)


def added_elements() -> tuple[Element, ...]:
    """Elements that `add_element` has added, in that order."""
    return tuple(_added)
