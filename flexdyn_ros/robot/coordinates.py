"""The coordinates of a robot: names, kinds, units, limits."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf
from typing import Any

from flexdyn_ros.records import frozen

__all__ = ["MODAL", "POSE_NAMES", "TWIST_NAMES", "TWIST_UNITS", "Coordinate", "quaternions_of", "units_of"]

#: coordinates of a free body, after its prefix: position and quaternion, and the twist in the axes of its
#: frame of reference
POSE_NAMES = ("x", "y", "z", "qx", "qy", "qz", "qw")
TWIST_NAMES = ("wx", "wy", "wz", "vx", "vy", "vz")
TWIST_UNITS = ("rad", "rad", "rad", "m", "m", "m")

#: kinds of coordinates that bend a link
MODAL = ("axial", "bending_y", "bending_z", "torsion", "mode")


@frozen
class Coordinate:
    """One velocity coordinate.

    kind is `base`, `joint`, `axial`, `bending_y`, `bending_z`, `torsion`, `mode`, `deformation` (of a link
    that is no beam), `motor`, `hub`, `actuator` or `platform`. unit is that of the position (m, rad); the
    velocity has it per second. q_index is -1 where no single number of q belongs to the coordinate (the
    angular rates of a free body). body is the URDF link that it moves.
    turn_index is where the quaternion begins in q whose rotation the coordinate belongs to, -1 for others.
    Limits are infinite where there are none.
    """

    name: str
    kind: str
    unit: str
    q_index: int
    v_index: int
    body: str
    actuated: bool = True
    prescribed: bool = False
    lower: float = -inf
    upper: float = inf
    velocity_limit: float = inf
    effort_limit: float = inf
    turn_index: int = -1


def pose_name(c: Coordinate) -> str:
    """Name of a coordinate as part of a pose: base/x for base/vx, base/rx for base/wx, others as they are.

    Velocities of a free body are named by their twist, which reads wrong beside metres and radians.
    """
    owner, slash, part = c.name.rpartition("/")
    if c.kind in ("base", "platform") and len(part) == 2 and part[0] in "vw" and part[1] in "xyz":
        return f"{owner}{slash}{'r' if part[0] == 'w' else ''}{part[1]}"
    return c.name


def quaternions_of(coordinates: Iterable[Coordinate]) -> tuple[tuple[int, int], ...]:
    """Where each quaternion begins in q, and the angular velocity that turns it in v."""
    first: dict[int, int] = {}
    for c in coordinates:
        if c.turn_index >= 0:
            first.setdefault(c.turn_index, c.v_index)
    return tuple(first.items())


def units_of(robot: Any) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Units of q (nq), v (nv) and efforts (nu)."""
    position = {c.q_index: c.unit for c in robot.coordinates}
    effort = {c.name: "N m" if c.unit == "rad" else "N" for c in robot.coordinates}
    return (
        tuple(position.get(i, "-") for i in range(robot.nq)),
        tuple(f"{c.unit}/s" for c in robot.coordinates),
        tuple(effort.get(name, "N") for name in robot.effort_names),
    )
