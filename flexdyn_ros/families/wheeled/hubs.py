"""Hubs between spring and tyre: their part of a robot's mass, momentum and centre of mass.

A hub is a point mass under (or over) the mount of its wheel, at the height that its coordinate says. Its
inertia counts in that coordinate; sideways it goes with the mount.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from flexdyn_ros.description import RobotDescription
from flexdyn_ros.families.trees.rigid.model import RigidTree
from flexdyn_ros.families.wheeled.packed_wheels import level_turns
from flexdyn_ros.robot.arguments import Rows
from flexdyn_ros.robot.entries.observed import ObservedFunctions


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

    def add_momenta(self, functions: ObservedFunctions, rows: Rows, out: np.ndarray) -> None:
        """out (N, 10), as `momenta_rows` answers it for rows of q, v, += what the hubs have."""
        q, v = rows.take("q"), rows.take("v")
        frame, J = np.empty((len(q), 1, 4, 4)), np.empty((len(q), 6, self._nv))
        placement = np.zeros((1, 12))
        placement[0, [0, 4, 8]] = 1.0
        for hub in self._hubs:
            placement[0, 9:] = hub.point
            body = np.array([hub.body])
            functions.place_frames(rows, body, placement, frame)
            functions.look(functions.pointing((body, hub.point[None])), rows, J, ("q",))
            place = frame[:, 0, :3, 3] + hub.shift
            speed = np.einsum("nij,nj->ni", J[:, 3:], v)
            place[:, 2], speed[:, 2] = q[:, hub.q_index], v[:, hub.v_index]
            out[:, :3] += hub.mass * np.cross(place, speed)
            out[:, 3:6] += hub.mass * speed
            out[:, 6:9] += hub.mass * place
            out[:, 9] += hub.mass
