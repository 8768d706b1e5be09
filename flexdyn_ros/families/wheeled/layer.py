"""Wheels under a tree and the road that they stand on: a layer around its verbs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from flexdyn_ros.description import RobotDescription
from flexdyn_ros.errors import UnsupportedError
from flexdyn_ros.families.trees.layers import Layer
from flexdyn_ros.families.trees.rigid.model import RigidTree
from flexdyn_ros.families.wheeled.checks import Softening
from flexdyn_ros.families.wheeled.hubs import Hubs, wheel_parameters, with_hubs, with_wheels
from flexdyn_ros.families.wheeled.kernels import entries as mobile
from flexdyn_ros.families.wheeled.kernels import road, steps, tree_wheels, wheels
from flexdyn_ros.families.wheeled.kernels.entries import WHEEL_RESULTS, joint_forces_many, wheels_many
from flexdyn_ros.families.wheeled.model import MobileTables, build_mobile
from flexdyn_ros.families.wheeled.packed_wheels import PackedMobile
from flexdyn_ros.numerics.verbs.table import Table
from flexdyn_ros.robot.arguments import Rows, explain_status, rows_with_wrenches, wrench_rows
from flexdyn_ros.robot.motion import Motion
from flexdyn_ros.robot.parameters import Parameter
from flexdyn_ros.robot.results import Contacts
from flexdyn_ros.robot.threads import run_in_slices


class WheelForces(NamedTuple):
    """What the wheels do, each (..., nw), in the order of `wheel_names`.

    normal: of the ground on the wheel, upward [N]; suspension: of spring and damper on the robot [N]; travel:
    how far the spring is shorter than free [m]; in_contact: the ground pushes.
    """

    normal: np.ndarray
    suspension: np.ndarray
    travel: np.ndarray
    in_contact: np.ndarray

    @property
    def margin(self) -> np.ndarray:
        """Smallest ground force (...,) [N]; negative: the model pulls at the ground."""
        return self.normal.min(axis=-1)

    @property
    def load_transfer(self) -> np.ndarray:
        """(F_last - F_first) / (sum of both) (...,) of the first and the last wheel."""
        first, last = self.normal[..., 0], self.normal[..., -1]
        return (last - first) / (last + first)


class Wheels(Layer):
    """Sprung wheels over a road, which carry a tree of rigid bodies and flexible links.

    The verbs are those of a tree; forces of suspension and tyres are the external part of the bias, their
    energy is elastic. With the method `floating_frame` a planar tree computes (`rolling.tables`); with
    `articulated`, the second, independent path for planar bases and the only one for floating bases, wheels
    wrap the table of the general tree. `base/x` is prescribed where the drive is (`speed`, `profile`): its
    acceleration is 0 unless `prescribed` gives it, its effort is the driving force.
    """

    kind = "mobile"
    begins_at_zero = hides_reactions = True
    offers = (
        "wheel_names", "softening", "wheel_forces", "wheel_powers", "drive_force", "slope_force",
        "constraint_forces",
    )  # fmt: skip

    @staticmethod
    def changed_tree(tree: RigidTree, values: Mapping[str, float]) -> RigidTree:
        return with_hubs(tree, values)

    def __init__(self, functions: Any) -> None:
        super().__init__(functions)
        self.description = description = functions.description
        self._rolled = with_wheels(description, dict(functions.changes))
        self.rolling = rolling = Rolling(self._rolled, functions.tree, functions.table, functions.packed)
        functions.table, functions.packed = rolling.table, rolling.packed
        functions.address = rolling.packed.address
        if rolling.hubs.mass > 0.0:
            functions.observed = functions.observed - {"momenta"}
        self.pushed_links = (description.root,)

    @property
    def mass(self) -> float:
        """Of the hubs of wheels [kg]."""
        return self.rolling.hubs.mass

    @property
    def by_mass_matrix(self) -> bool:
        """True where wheels wrap the general tree, whose recursion knows none."""
        return self.rolling.tables is None

    def parameters(self, tree: RigidTree) -> tuple[Parameter, ...]:
        return wheel_parameters(self._rolled)

    def motion(self, within: Motion) -> Motion:
        kernels = (road, tree_wheels, wheels)
        switches = tuple(module.__name__ for module in kernels)
        return replace(self.rolling.motion(within), switches=switches)

    @property
    def wheel_names(self) -> tuple[str, ...]:
        """Names of the wheels, in the order of the description."""
        return tuple(wheel.name for wheel in self.description.wheels)

    @cached_property
    def contacts(self) -> Contacts:  # type: ignore[override]
        """The wheels."""
        road = self.description.road
        contact = None if road is None else road.contact

        def forces(q: np.ndarray, v: np.ndarray) -> np.ndarray:
            return self.wheel_forces(q, v).normal

        return Contacts(self.wheel_names, forces, contact == "stop", contact == "unilateral")

    def remarks(self, q: np.ndarray, v: np.ndarray, t: np.ndarray) -> list[str]:
        return self.softening.remarks(v)

    @cached_property
    def softening(self) -> Softening:
        """Links that soften when they turn, because their tension does not stiffen them."""
        return Softening(self.functions)

    def refuse(self, verb: str) -> None:
        name = self.description.name
        if verb == "joint_reactions":
            raise UnsupportedError(
                f"robot {name!r} stands on wheels: joint_reactions are those of kind 'tree', see "
                "constraint_forces"
            )
        if verb == "loads" and self.rolling.tables is not None:
            raise UnsupportedError(
                f"robot {name!r}: loads with the method 'floating_frame' are not computed; load with "
                "options={'formulation.method': 'articulated'}"
            )

    def takes_given(self, given: np.ndarray) -> bool:
        return not given[self.rolling.eliminated].any()

    def add_momenta(self, rows: Rows, found: np.ndarray) -> None:
        self.rolling.hubs.add_momenta(self.functions, rows, found)

    def wheel_forces(self, q: np.ndarray, v: np.ndarray) -> WheelForces:
        """Forces and travel of every wheel; see `WheelForces`.

        Raises
        ------
        DimensionError, StateError
        """
        rows, out = self._wheels(q, v)
        shape = (*rows.shape, len(self.wheel_names))
        normal, spring, travel = (np.ascontiguousarray(out[..., i]).reshape(shape) for i in range(3))
        return WheelForces(normal, spring, travel, normal > 0.0)

    def wheel_powers(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Power that the moving road gives to the wheels, and that their dampers take, (...,) each [W]."""
        rows, out = self._wheels(q, v)
        given, taken = out[..., 4].sum(axis=-1), out[..., 5].sum(axis=-1)
        return given.reshape(rows.shape)[()], taken.reshape(rows.shape)[()]

    def drive_force(
        self,
        q: np.ndarray,
        v: np.ndarray,
        tau: np.ndarray | None = None,
        wrenches: Mapping[str, object] | None = None,
        *,
        slope: bool = False,
        acceleration: Any = 0.0,
    ) -> np.ndarray:
        """Horizontal force (...,) that moves `base/x` as prescribed [N].

        Parameters
        ----------
        slope : add what the road's slope pushes back: sum of ground force times slope, for massless wheels
            without friction
        acceleration : (...,), of `base/x` [m/s2]

        Raises
        ------
        UnsupportedError
            If `base/x` is not prescribed: its force then is tau.
        """
        tau = self._motion(q, v, tau, wrenches, acceleration)[0]
        force = tau[..., self._drive_index()].copy()
        if slope:
            force = force + self.slope_force(q, v)
        return force[()]

    def slope_force(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Sum of ground force times slope of the road (...,) [N]: what massless wheels without friction are
        pushed back with."""
        rows, out = self._wheels(q, v)
        return (out[..., 0] * out[..., 3]).sum(axis=-1).reshape(rows.shape)[()]

    def constraint_forces(
        self,
        q: np.ndarray,
        v: np.ndarray,
        tau: np.ndarray | None = None,
        wrenches: Mapping[str, object] | None = None,
        *,
        acceleration: Any = 0.0,
    ) -> np.ndarray:
        """Multipliers lam (..., 2 n + 1) of n joints and the drive [N]; docs/theory/mobile.md, "Equations".

        Per joint that does not hang on the root link the force X, Z on its outer link; then, per joint on the
        root link, minus that force; last, minus the driving force.
        """
        tau, a = self._motion(q, v, tau, wrenches, acceleration)
        rows = rows_with_wrenches(
            wrenches, q=(q, self.functions.nq), v=(v, self.functions.nv), a=(a, self.functions.nv)
        )
        tables = self.rolling.tables
        if tables is None:
            raise UnsupportedError("constraint forces are those of the method 'floating_frame'")
        out = np.zeros((rows.count, tables.nodes, 3))
        bodies, points = self.functions.points(tuple(wrenches or ()))

        def call(*arrays: np.ndarray) -> int:
            q, v, a, w, forces = arrays
            return joint_forces_many(
                self.functions.address,
                np.zeros(self.functions.packed.numbers),
                q,
                v,
                a,
                bodies,
                points,
                w,
                forces,
            )

        data = {name: rows.take(name) for name in ("q", "v", "a")}
        explain_status(run_in_slices(call, [*data.values(), wrench_rows(rows, wrenches), out]), data)
        outer = [out[:, node, :2] for _, node, on_root in tables.joints if not on_root]
        inner = [-out[:, node, :2] for _, node, on_root in tables.joints if on_root]
        drive = -np.broadcast_to(tau[..., self._drive_index()], rows.shape).reshape(rows.count, 1)
        forces = np.concatenate([*outer, *inner, drive], axis=1)
        return forces.reshape(*rows.shape, forces.shape[1])

    # ---- behind the extras ----

    def _drive_index(self) -> int:
        if not self.functions.prescribed.any():
            raise UnsupportedError(
                f"robot {self.description.name!r} has no prescribed drive: the driving force is "
                "tau['base/x']; prescribe it by <drive type=\"speed\"/>"
            )
        return int(np.argmax(self.functions.prescribed))

    def _motion(
        self, q: np.ndarray, v: Any, tau: Any, wrenches: Mapping[str, object] | None, acceleration: Any
    ) -> tuple[np.ndarray, np.ndarray]:
        """(tau, a) while the drive has this acceleration."""
        f = self.functions
        name = f.v_names[self._drive_index()]
        tau = np.zeros(f.nu) if tau is None else tau
        f.robot.refuse_given_effort(tau)
        given, a = f.robot.given_accelerations({name: acceleration})
        force, a = f.partial(q, v, tau, a, given, wrenches)
        if f.effort_names != f.v_names:
            # what cylinders do at the drive is not the drive's
            i = self._drive_index()
            force[..., i] -= np.einsum("...j,...j->...", f.actuation_matrix(q)[..., i, :], tau)
        return force, a

    def _wheels(self, q: np.ndarray, v: Any) -> tuple[Rows, np.ndarray]:
        rows = Rows({"q": (q, self.functions.nq), "v": (v, self.functions.nv)})
        out = np.empty((rows.count, len(self.wheel_names), WHEEL_RESULTS))
        self.functions.check({"q": rows.take("q"), "v": rows.take("v")})
        entry = tree_wheels.tree_wheels_many if self.rolling.tables is None else wheels_many
        self.functions.call(entry, rows, ("q", "v"), out)
        return rows, out


# What a tree has beside itself when it stands on wheels: kernels and tables of the planar tree.
#
# Imported when the first robot with wheels is loaded.

#: entries of the general tree that wheels leave as they are
_GEOMETRY = ("frames", "jacobian", "jacobian_rate", "momenta", "load")


class Rolling:
    """Wheels of a tree; immutable.

    table: of functions; packed: the memory that they take by its address;
    tables: of the planar tree, None for the method `articulated`. eliminated (nv,): marks the coordinates
    whose acceleration the recursion cannot take as given; hubs: between springs and tyres.
    """

    def __init__(self, description: RobotDescription, tree: RigidTree, table: Table, packed: Any) -> None:
        self.tables: MobileTables | None = None
        floating = description.formulation.method == "floating_frame"
        kinds = [c.kind for c in tree.coordinates]
        self.eliminated = np.array([floating and kind not in ("base", "joint") for kind in kinds], dtype=bool)
        if floating:
            self.tables = build_mobile(description, tree)
            self.packed: Any = PackedMobile(
                packed, self.tables, description.road, tree.model.nq, tree.model.nv
            )
            geometry = {name: table[name] for name in _GEOMETRY}
            self.table = Table({**mobile.functions, **steps.functions, **geometry})
        else:
            from flexdyn_ros.families.wheeled.packed_wheels import PackedWheels

            self.packed = PackedWheels(packed, description, tree)
            self.table = self.packed.table(table)
        self.hubs = Hubs(description, tree)

    def motion(self, general: Motion) -> Motion:
        """Fixed steps on wheels, from those of the general tree."""
        if self.tables is None:
            size = self.packed.take_steps(general.work_size)
        else:
            # the last number is the power that the road gives
            size = max(general.work_size, self.packed.numbers) + 1
        return replace(general, work_size=size, losses_follow=True)
