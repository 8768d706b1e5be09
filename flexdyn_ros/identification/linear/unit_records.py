"""Numbers of a description that efforts may be linear in: joints, soft sections, wheels, beams."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from flexdyn_ros.description import RobotDescription
from flexdyn_ros.robot.parameters import Parameter


class RecordNumber(NamedTuple):
    """A number of a description, a usual size of it, the path that a file has it under, and the description
    with another value of it."""

    parameter: Parameter
    size: float
    path: str
    changed: Callable[[RobotDescription, float], RobotDescription]


def record_numbers(description: RobotDescription) -> tuple[RecordNumber, ...]:
    """All that may be; whether efforts are linear in them is for the robot to say."""
    return (*_of_joints(description), *_of_sections(description), *_of_wheels(description))


def _number(
    name: str, value: float, unit: str, path: str, changed: Callable[[RobotDescription, float], Any]
) -> RecordNumber:
    return RecordNumber(Parameter(name, float(value), unit, 0.0), abs(value) or 1.0, path, changed)


# ---- joints ----


def _of_joints(description: RobotDescription) -> Iterator[RecordNumber]:
    for joint in description.joints:
        if joint.axis is None or joint.mimic is not None:
            continue
        turns = joint.type != "prismatic"
        rate, force = ("N m s/rad", "N m") if turns else ("N s/m", "N")
        spring, inertia = ("N m/rad", "kg m2") if turns else ("N/m", "kg")
        name, path = joint.name, f"urdf.joints.{joint.name}.dynamics"
        yield _number(f"{name}/damping", joint.damping, rate, f"{path}.damping", _joint(name, "damping"))
        if joint.dry_friction is None or joint.dry_friction.static is None:
            yield _number(f"{name}/friction", joint.friction, force, f"{path}.friction",
                          _joint(name, "friction"))  # fmt: skip
        path = f"joints.{name}"
        if joint.rotor is not None:
            square = joint.rotor.gear_ratio**2
            yield _number(f"{name}/rotor", square * joint.rotor.inertia, inertia, f"{path}.rotor.inertia",
                          _joint(name, "rotor", "inertia", square))  # fmt: skip
        if joint.spring is not None:
            yield _number(f"{name}/stiffness", joint.spring.stiffness, spring,
                          f"{path}.joint_spring.stiffness", _joint(name, "spring", "stiffness"))  # fmt: skip
        if joint.elasticity is not None:
            for part, unit in (("stiffness", spring), ("damping", rate)):
                yield _number(f"{name}/elasticity_{part}", getattr(joint.elasticity, part), unit,
                              f"{path}.joint_elasticity.{part}",
                              _joint(name, "elasticity", part))  # fmt: skip


def _joint(
    name: str, part: str, attribute: str | None = None, factor: float = 1.0
) -> Callable[[RobotDescription, float], RobotDescription]:
    """Sets joint.part, or joint.part.attribute, which the number is `factor` times."""

    def changed(description: RobotDescription, value: float) -> RobotDescription:
        joint = description.joint(name)
        new: Any = value
        if attribute is not None:
            new = replace(getattr(joint, part), **{attribute: value / factor})
        joints = (replace(x, **{part: new}) if x.name == name else x for x in description.joints)
        return replace(description, joints=tuple(joints))

    return changed


# ---- soft sections ----


def _of_sections(description: RobotDescription) -> Iterator[RecordNumber]:
    for section in description.sections:
        name, path = section.joint, f"joints.{section.joint}.section"
        yield _number(f"{name}/section_mass", section.mass, "kg", f"{path}.mass", _section(name, "mass"))
        for part, unit in (("stiffness", "N/m"), ("damping", "N s/m")):
            values = getattr(section, part)
            if len(set(values)) == 1:
                yield _number(f"{name}/{part}", values[0], unit, f"{path}.{part}", _section(name, part, 3))
        yield _number(f"{name}/bending_stiffness", section.bending_stiffness, "N m/rad2",
                      f"{path}.bending_stiffness", _section(name, "bending_stiffness"))  # fmt: skip


def _section(name: str, part: str, count: int = 1) -> Callable[[RobotDescription, float], RobotDescription]:
    def changed(description: RobotDescription, value: float) -> RobotDescription:
        new: Any = value if count == 1 else count * (value,)
        sections = (replace(x, **{part: new}) if x.joint == name else x for x in description.sections)
        return replace(description, sections=tuple(sections))

    return changed


# ---- wheels ----

_SPRING = {"stiffness": "N/m", "damping": "N s/m"}
_OF_WHEELS = {"suspension": _SPRING, "tyre": {**_SPRING, "mass": "kg"}}


def _of_wheels(description: RobotDescription) -> Iterator[RecordNumber]:
    for wheel in description.wheels:
        for element, parts in _OF_WHEELS.items():
            record = getattr(wheel, element)
            for part, unit in parts.items() if record is not None else ():
                yield _number(f"{wheel.name}/{element}_{part}", getattr(record, part), unit,
                              f"wheels.{wheel.name}.{element}.{part}",
                              _wheel(wheel.name, element, part))  # fmt: skip


def _wheel(name: str, element: str, part: str) -> Callable[[RobotDescription, float], RobotDescription]:
    def changed(description: RobotDescription, value: float) -> RobotDescription:
        wheels = (
            replace(x, **{element: replace(getattr(x, element), **{part: value})}) if x.name == name else x
            for x in description.wheels
        )
        return replace(description, wheels=tuple(wheels))

    return changed
