"""Reactions in the joints of legs on which external wrenches act.

With a force f and moment m on the cylinder (c) and on the rod (r), the balance of a leg
(docs/theory/platform.md, "Reactions") reads F_P - F_B = m_u (a_u - g) - f_r, F_A - F_P = m_l (a_l - g) - f_c,
and z loses the external moment about the base joint. All of it is linear, so the wrenches' share is added to
the reactions of the leg without them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from flexdyn_ros.families.platform.model import PlatformTables
from flexdyn_ros.families.platform.results import Reactions

#: parts of a leg as numbers of its bodies run
CROSS, CYLINDER, ROD = range(3)


class LegLoads:
    """External forces on cylinders and rods, and their moments about points on the leg (count, 6, 3), world.

    moment_base : of all forces, about the base joint
    force_cylinder, force_rod
    moment_guide : of the forces on the rod, about the guide
    """

    def __init__(self, count: int) -> None:
        self.moment_base, self.force_cylinder, self.force_rod, self.moment_guide = np.zeros((4, count, 6, 3))

    def add(self, leg: int, part: int, wrench: np.ndarray, from_base: np.ndarray, guide: np.ndarray) -> None:
        """A wrench (count, 6) at a point `from_base` (count, 3) from the base joint, guide (count, 3)
        likewise."""
        moment, force = wrench[:, :3], wrench[:, 3:]
        self.moment_base[:, leg] += moment + np.cross(from_base, force)
        if part == CYLINDER:
            self.force_cylinder[:, leg] += force
        else:
            self.force_rod[:, leg] += force
            self.moment_guide[:, leg] += moment + np.cross(from_base - guide, force)

    def added_to(
        self, bare: Reactions, tables: PlatformTables, length: np.ndarray, s: np.ndarray
    ) -> Reactions:
        """Reactions with these loads, from those (count, 6[, 3]) that the legs would have without them while
        they push the platform with the same axial forces."""
        u = tables.axes
        k = np.einsum("ij,nij->ni", u, s)
        c = np.sqrt(1.0 - k * k)
        n = (s - k[..., None] * u) / c[..., None]
        z = -self.moment_base
        share = np.einsum("nij,nij->ni", s, z) / c if tables.universal else np.zeros_like(c)
        across = np.cross(s, z - share[..., None] * n) / length[..., None]
        f_p = bare.f_p + across - self.force_rod
        arm = length - np.array([leg.shortest for leg in tables.legs])
        n_p = bare.n_p + arm[..., None] * np.cross(s, across) - self.moment_guide
        return Reactions(
            drive=np.einsum("nij,nij->ni", f_p, s),
            f_b=bare.f_b + across,
            f_p=f_p,
            f_a=bare.f_a + across - self.force_rod - self.force_cylinder,
            n_p=n_p,
            moment_a=bare.moment_a + share[..., None] * n,
            guide_torque=np.einsum("nij,nij->ni", n_p, s),
        )


def leg_loads(
    robot: Any, q: np.ndarray, wrenches: Mapping[str, object] | None, loads: np.ndarray
) -> LegLoads | None:
    """Those of the wrenches loads (count, k, 6) that act on legs at poses q (count, 7); None if none does.

    Massless crosses hand on what acts on them in a way that reactions do not tell apart: see
    `PlatformFunctions.joint_reactions`.
    """
    tables: PlatformTables = robot.functions.tables
    found = LegLoads(len(q))
    acts = False
    legs = robot.inverse_kinematics(q)
    for j, name in enumerate(wrenches or {}):
        body = tables.frames[name].body
        if body < 2:
            continue
        acts = True
        i, part = (body - 2) // 3, (body - 2) % 3
        point = robot.frames(q, name)[:, :3, 3]
        guide = tables.legs[i].shortest * legs.direction[:, i]
        found.add(i, part, loads[:, j], point - tables.feet[i], guide)
    return found if acts else None
