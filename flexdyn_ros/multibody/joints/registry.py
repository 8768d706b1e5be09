"""The joint types by their words: types of the URDF, and texts of `<joint_type>`."""

from __future__ import annotations

from dataclasses import fields
from functools import lru_cache

from flexdyn_ros.description import Joint, RobotDescription
from flexdyn_ros.multibody.joints.ball import BALL
from flexdyn_ros.multibody.joints.cylindrical import CYLINDRICAL
from flexdyn_ros.multibody.joints.fixed import FIXED
from flexdyn_ros.multibody.joints.floating import FLOATING, free_model
from flexdyn_ros.multibody.joints.helical import HELICAL
from flexdyn_ros.multibody.joints.joint import JointModel, JointType, refuse
from flexdyn_ros.multibody.joints.one_axis import CONTINUOUS_JOINT, PRISMATIC_JOINT, REVOLUTE_JOINT
from flexdyn_ros.multibody.joints.planar import PLANAR
from flexdyn_ros.multibody.joints.universal import UNIVERSAL

TYPES: dict[str, JointType] = {
    "fixed": FIXED,
    "revolute": REVOLUTE_JOINT,
    "continuous": CONTINUOUS_JOINT,
    "prismatic": PRISMATIC_JOINT,
    "floating": FLOATING,
    "planar": PLANAR,
    "ball": BALL,
    "universal": UNIVERSAL,
    "helical": HELICAL,
    "cylindrical": CYLINDRICAL,
}
#: fields of <joint_type> that are no attributes of one type
_OF_ALL = ("type", "place")


def register(word: str, kind: JointType) -> None:
    """Make a joint type known by its word, the text of `<joint_type>`; registering again has no effect.

    Raises
    ------
    ValueError
        If another type has that word.
    """
    if TYPES.setdefault(word, kind) is not kind:
        raise ValueError(f"there is a joint type '{word}' already: expected a word of its own")


def unregister(word: str) -> None:
    """Forget a type that `register` has added."""
    del TYPES[word]
    _model.cache_clear()


def joint_model(description: RobotDescription, joint: Joint) -> JointModel:
    """The model of a joint of a description.

    Raises
    ------
    DescriptionError
        If its `<joint_type>` is unknown, or has attributes that this type does not take, or values that do
        not fit.
    """
    if (prefix := description.platform_joints.get(joint.name)) is not None:
        return free_model(prefix)
    if joint.type == "planar" and joint.mimic is not None:
        place = description.place(joint, f"joint '{joint.name}'")
        place.fail("a planar joint cannot mimic another", "mimic", joint.mimic.joint, "no <mimic>")
    return _model(joint)


@lru_cache(maxsize=4096)
def _model(joint: Joint) -> JointModel:
    kind = _type_of(joint)
    stated = joint.joint_type
    for field in () if stated is None else fields(stated):
        name = field.name
        if name not in (*_OF_ALL, *kind.takes) and getattr(stated, name) is not None:
            word = next(word for word, known in TYPES.items() if known is kind)
            message = f"a {word} joint has no attribute '{name}'"
            refuse(joint, message, name, "one of " + ", ".join(kind.takes))
    return kind.model(joint)


def _type_of(joint: Joint) -> JointType:
    stated = joint.joint_type
    if stated is None or (joint.type == "planar" and stated.type in (None, "planar")):
        return TYPES[joint.type]
    words = [word for word, kind in TYPES.items() if kind.urdf == "floating" and word != "floating"]
    if stated.type is None:
        message = f"<joint_type> of the floating joint '{joint.name}' is empty"
        refuse(joint, message, "type", "one of " + ", ".join(words))
    if joint.type == "planar":
        message = f"joint '{joint.name}' is planar in the URDF, <joint_type> calls it {stated.type}"
        refuse(joint, message, "type", "planar or nothing, or a joint of type floating")
    if stated.type not in words:
        stated.place.unknown(f"unknown type of joint '{joint.name}'", stated.type, words, "type")
    return TYPES[stated.type]
