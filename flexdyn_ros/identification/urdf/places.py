"""Where the numbers of joints, soft sections and wheels stand in a description."""

from __future__ import annotations

from collections.abc import Iterator

from flexdyn_ros.description import RobotDescription

#: of a joint: part of the name and path below `joints.JOINT`
_OF_JOINT = {
    "rotor": "rotor.inertia",
    "stiffness": "joint_spring.stiffness",
    "elasticity_stiffness": "joint_elasticity.stiffness",
    "elasticity_damping": "joint_elasticity.damping",
}
#: of a soft section: part of the name and attribute
_OF_SECTION = {
    "section_mass": "mass",
    "stiffness": "stiffness",
    "damping": "damping",
    "bending_stiffness": "bending_stiffness",
}
_OF_WHEEL = {"suspension": ("stiffness", "damping"), "tyre": ("stiffness", "damping", "mass")}


def places_of(description: RobotDescription) -> dict[str, str]:
    """Paths of parameters, as options have them, by the parameters' names."""
    return dict(_places(description))


def _places(description: RobotDescription) -> Iterator[tuple[str, str]]:
    for joint in description.joints:
        for part in ("damping", "friction"):
            yield f"{joint.name}/{part}", f"urdf.joints.{joint.name}.dynamics.{part}"
        for part, path in _OF_JOINT.items():
            yield f"{joint.name}/{part}", f"joints.{joint.name}.{path}"
    for section in description.sections:
        for part, attribute in _OF_SECTION.items():
            yield f"{section.joint}/{part}", f"joints.{section.joint}.section.{attribute}"
    for wheel in description.wheels:
        for element, parts in _OF_WHEEL.items():
            for part in parts:
                yield f"{wheel.name}/{element}_{part}", f"wheels.{wheel.name}.{element}.{part}"
