"""Hubs between spring and tyre: their part of a robot's mass, momentum and centre of mass.

A hub is a point mass under (or over) the mount of its wheel, at the height that its coordinate says. Its
inertia counts in that coordinate; sideways it goes with the mount.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from flexdyn_ros.description import RobotDescription
from flexdyn_ros.description.elements.wheels import Wheel
from flexdyn_ros.families.trees.rigid.kernels import views as at
from flexdyn_ros.families.trees.rigid.model import RigidTree
from flexdyn_ros.families.wheeled.packed_wheels import level_turns
from flexdyn_ros.robot.arguments import Rows
from flexdyn_ros.robot.entries.functions import EntryFunctions
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


class _Hub(NamedTuple):
    """Mass [kg], indices in q and v, the node and the point in it (3,) that it goes with, and where it is
    from there (3,) [m], world axes."""

    mass: float
    q_index: int
    v_index: int
    body: int
    point: np.ndarray
    shift: np.ndarray


class Hubs:
    """The hubs of a robot on wheels; immutable."""

    def __init__(self, description: RobotDescription, tree: RigidTree) -> None:
        small = description.base.type == "planar" and description.formulation.suspension != "exact"
        coordinates = {c.name: c for c in tree.coordinates}
        turns = level_turns(tree)
        found = []
        for wheel in description.wheels:
            if wheel.tyre is None:
                continue
            hub, frame = coordinates[f"{wheel.name}/hub_z"], tree.frames[wheel.link]
            mount = frame.placement.p + frame.placement.R @ np.array(wheel.xyz)
            none = np.zeros(3)
            point, shift = (none, turns[frame.body] @ mount) if small else (mount, none)
            found.append(_Hub(wheel.tyre.mass, hub.q_index, hub.v_index, frame.body, point, shift))
        self._hubs, self._nv = tuple(found), tree.model.nv

    @property
    def mass(self) -> float:
        """Of all hubs [kg]."""
        return float(sum(hub.mass for hub in self._hubs))

    def add_momenta(self, functions: EntryFunctions, rows: Rows, out: np.ndarray) -> None:
        """out (N, 10), as `momenta_rows` answers it for rows of q, v, += what the hubs have."""
        q, v = rows.take("q"), rows.take("v")
        frame, J = np.empty((len(q), 1, 4, 4)), np.empty((len(q), 6, self._nv))
        placement = np.zeros((1, 12))
        placement[0, [0, 4, 8]] = 1.0
        for hub in self._hubs:
            placement[0, 9:] = hub.point
            body = np.array([hub.body])
            functions.place_frames(rows, body, placement, frame)
            functions.look(functions.heads.pointing((body, hub.point[None])), rows, J, ("q",))
            place = frame[:, 0, :3, 3] + hub.shift
            speed = np.einsum("nij,nj->ni", J[:, 3:], v)
            place[:, 2], speed[:, 2] = q[:, hub.q_index], v[:, hub.v_index]
            out[:, :3] += hub.mass * np.cross(place, speed)
            out[:, 3:6] += hub.mass * speed
            out[:, 6:9] += hub.mass * place
            out[:, 9] += hub.mass
