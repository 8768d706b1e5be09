"""Dynamic parameters that wheels add to those of their tree: WHEEL/suspension_stiffness, /suspension_damping,
and of wheels with tyres /tyre_stiffness, /tyre_damping, /tyre_mass.

tau is linear in them while a wheel cannot lift. On a road of unilateral contact what presses a wheel down is
clipped where it would pull: tyres, or springs that stand on the road themselves, are no parameters then.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from flexdyn_ros.description import RobotDescription
from flexdyn_ros.description.elements.wheels import Wheel
from flexdyn_ros.families.trees.rigid.kernels import views as at
from flexdyn_ros.families.trees.rigid.model import RigidTree
from flexdyn_ros.robot.parameters import Parameter

_SPRING = {"stiffness": "N/m", "damping": "N s/m"}


def wheel_parameters(description: RobotDescription) -> tuple[Parameter, ...]:
    """The parameters, wheel by wheel."""
    return tuple(
        Parameter(f"{wheel.name}/{element}_{part}", float(getattr(getattr(wheel, element), part)), unit, 0.0)
        for wheel in description.wheels
        for element, part, unit in _numbers_of(description, wheel)
    )


def with_wheels(description: RobotDescription, values: Mapping[str, float]) -> RobotDescription:
    """The description with other values of these parameters."""
    wheels = tuple(_changed(wheel, values) for wheel in description.wheels)
    return replace(description, wheels=wheels)


def with_hubs(tree: RigidTree, values: Mapping[str, float]) -> RigidTree:
    """The tree whose hubs have other masses."""
    dof = tree.model.dof.copy()
    for c in tree.coordinates:
        name = f"{c.name.removesuffix('/hub_z')}/tyre_mass"
        if c.kind == "hub" and name in values:
            dof[at.DOF_NUMBERS * c.v_index + at.ARMATURE] = values[name]
    dof.setflags(write=False)
    return replace(tree, model=tree.model._replace(dof=dof))


def _changed(wheel: Wheel, values: Mapping[str, float]) -> Wheel:
    for element in ("suspension", "tyre"):
        first = f"{wheel.name}/{element}_"
        new = {name.removeprefix(first): x for name, x in values.items() if name.startswith(first)}
        if new:
            wheel = replace(wheel, **{element: replace(getattr(wheel, element), **new)})
    return wheel


def _numbers_of(description: RobotDescription, wheel: Wheel) -> Iterator[tuple[str, str, str]]:
    """Element, attribute and unit of the numbers of a wheel."""
    lifts = description.road is not None and description.road.contact == "unilateral"
    if wheel.tyre is not None or not lifts:
        yield from (("suspension", part, unit) for part, unit in _SPRING.items())
    if wheel.tyre is not None:
        if not lifts:
            yield from (("tyre", part, unit) for part, unit in _SPRING.items())
        yield "tyre", "mass", "kg"
