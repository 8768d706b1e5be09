"""Robots of `kind` mobile: a tree on wheels, with what the wheels and the drive do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from flexdyn_ros.errors import UnsupportedError
from flexdyn_ros.families.trees.reactions import JointReactions
from flexdyn_ros.families.trees.rigid.model import RigidTree
from flexdyn_ros.families.trees.robot import TreeFunctions
from flexdyn_ros.families.wheeled.checks import Softening
from flexdyn_ros.families.wheeled.floating_frames import Rolling
from flexdyn_ros.families.wheeled.hubs import wheel_parameters, with_hubs, with_wheels
from flexdyn_ros.families.wheeled.kernels import ground_contact, road, tree_wheels, wheels
from flexdyn_ros.families.wheeled.kernels.entries import WHEEL_RESULTS, joint_forces_many, wheels_many
from flexdyn_ros.robot.analysis.partial import partial_motion
from flexdyn_ros.robot.arguments import Rows, explain_status
from flexdyn_ros.robot.functions import ChosenReactions, FamilyFunctions
from flexdyn_ros.robot.motion import Motion
from flexdyn_ros.robot.parameters import Parameter
from flexdyn_ros.robot.results import Contacts, Loads
from flexdyn_ros.robot.threads import run_in_slices
from flexdyn_ros.robot.wrenches import flat_wrenches, rows_with_wrenches, wrench_rows


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


class MobileFunctions(TreeFunctions):
    """A tree of rigid bodies and flexible links on sprung wheels over a road.

    The verbs are those of a tree; forces of suspension and tyres are the external part of the bias, their
    energy is elastic. With the method `floating_frame` a planar tree computes (`rolling.tables`); with
    `articulated`, the second, independent path for planar bases and the only one for floating bases, wheels
    wrap the table of the general tree. `base/x` is prescribed where the drive is (`speed`, `profile`): its
    acceleration is 0 unless `prescribed` gives it, its effort is the driving force.
    """

    kind = "mobile"
    begins_at_zero = True
    offers = (
        *TreeFunctions.offers, "wheel_names", "softening", "wheel_forces", "wheel_powers", "drive_force",
        "slope_force", "constraint_forces",
    )  # fmt: skip

    def _build(self) -> None:
        self._rolled = with_wheels(self.description, dict(self.changes))
        self.rolling = rolling = Rolling(self._rolled, self.tree, self.table, self.packed)
        self.table, self.packed = rolling.table, rolling.packed
        self.address = self.packed.address
        if rolling.hubs.mass > 0.0:
            self.observed = self.observed - {"momenta"}

    @property
    def mass(self) -> float:
        """Mass of all links, those fixed to the world included, and of the hubs of wheels [kg]."""
        return self.tree.mass + self.rolling.hubs.mass

    def parameters_with(self, tree: RigidTree) -> tuple[Parameter, ...]:
        return (*super().parameters_with(tree), *wheel_parameters(self._rolled))

    def changed_tree(self, tree: RigidTree, values: Mapping[str, float]) -> RigidTree:
        return with_hubs(super().changed_tree(tree, values), values)

    @cached_property
    def by_mass_matrix(self) -> bool:  # type: ignore[override]
        """True also where wheels wrap the general tree, whose recursion knows none."""
        return self.rolling.tables is None or self.needs_mass_matrix

    def regressor_rows(self, rows: Rows) -> tuple[np.ndarray, np.ndarray]:
        return self._probes.columns(rows)

    @property
    def regressor_one(self) -> None:
        """None: the columns are those of robots with one parameter each."""
        return

    def motion(self) -> Motion:
        """What fixed compiled steps need."""
        kernels = (ground_contact, road, tree_wheels, wheels)
        switches = tuple(module.__name__ for module in kernels)
        return replace(self.rolling.motion(super().motion()), switches=switches)

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

    def remarks(self, v: np.ndarray) -> list[str]:
        return self.softening.remarks(v)

    @cached_property
    def softening(self) -> Softening:
        """Links that soften when they turn, because their tension does not stiffen them."""
        return Softening(self)

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
        rows = rows_with_wrenches(wrenches, q=(q, self.nq), v=(v, self.nv), a=(a, self.nv))
        tables = self.rolling.tables
        if tables is None:
            raise UnsupportedError("constraint forces are those of the method 'floating_frame'")
        out = np.zeros((rows.count, tables.nodes, 3))
        bodies, points = self.points(tuple(wrenches or ()))

        def call(*arrays: np.ndarray) -> int:
            q, v, a, w, forces = arrays
            return joint_forces_many(
                self.address, np.zeros(self.packed.numbers), q, v, a, bodies, points, w, forces
            )

        data = {name: rows.take(name) for name in ("q", "v", "a")}
        explain_status(run_in_slices(call, [*data.values(), wrench_rows(rows, wrenches), out]), data)
        outer = [out[:, node, :2] for _, node, on_root in tables.joints if not on_root]
        inner = [-out[:, node, :2] for _, node, on_root in tables.joints if on_root]
        drive = -np.broadcast_to(tau[..., self._drive_index()], rows.shape).reshape(rows.count, 1)
        forces = np.concatenate([*outer, *inner, drive], axis=1)
        return forces.reshape(*rows.shape, forces.shape[1])

    def reactions_in(self, joints: Sequence[str]) -> ChosenReactions | None:
        return FamilyFunctions.reactions_in(self, joints)

    def joint_reactions(
        self,
        q: np.ndarray,
        v: np.ndarray,
        a: np.ndarray,
        wrenches: Mapping[str, object] | None = None,
        tau: np.ndarray | None = None,
    ) -> JointReactions:
        """UnsupportedError: see `constraint_forces`."""
        raise UnsupportedError(
            f"robot {self.description.name!r} stands on wheels: joint_reactions are those of kind 'tree', "
            "see constraint_forces"
        )

    # ---- rows of the verbs ----

    def loads_rows(
        self,
        rows: Rows,
        wrenches: Mapping[str, object] | None,
        stations: Sequence[float] | np.ndarray | None,
    ) -> dict[str, Loads]:
        """Those of the tree without its root link, on which the wheels push."""
        if self.rolling.tables is not None:
            raise UnsupportedError(
                f"robot {self.description.name!r}: loads with the method 'floating_frame' are not computed; "
                "load with options={'formulation.method': 'articulated'}"
            )
        found = super().loads_rows(rows, wrenches, stations)
        found.pop(self.description.root)
        return found

    def momenta_rows(self, rows: Rows) -> np.ndarray:
        found = super().momenta_rows(rows)
        self.rolling.hubs.add_momenta(self, rows, found)
        return found

    def forward_dynamics_rows(self, rows: Rows, wrenches: Mapping[str, object] | None, a: np.ndarray) -> None:
        if wrenches and self.prescribed.any():
            # the recursion takes no effort on a prescribed coordinate, and wrenches have one there
            q, v, tau = (rows.take(name) for name in ("q", "v", "tau"))
            flat = flat_wrenches(rows, wrenches)
            a[...] = super().partial(q, v, tau, np.zeros_like(v), self.prescribed, flat)[1]
        else:
            super().forward_dynamics_rows(rows, wrenches, a)

    def partial(
        self,
        q: np.ndarray,
        v: Any,
        tau: Any,
        a: np.ndarray,
        given: np.ndarray,
        wrenches: Mapping[str, object] | None,
    ) -> tuple[np.ndarray, np.ndarray]:
        if given[self.rolling.eliminated].any():
            return partial_motion(self.robot, q, v, tau, a, given, wrenches)
        return super().partial(q, v, tau, a, given, wrenches)

    # ---- behind the extras ----

    def _drive_index(self) -> int:
        if not self.prescribed.any():
            raise UnsupportedError(
                f"robot {self.description.name!r} has no prescribed drive: the driving force is "
                "tau['base/x']; prescribe it by <drive type=\"speed\"/>"
            )
        return int(np.argmax(self.prescribed))

    def _motion(
        self, q: np.ndarray, v: Any, tau: Any, wrenches: Mapping[str, object] | None, acceleration: Any
    ) -> tuple[np.ndarray, np.ndarray]:
        """(tau, a) while the drive has this acceleration."""
        name = self.v_names[self._drive_index()]
        tau = np.zeros(self.nu) if tau is None else tau
        self.robot.refuse_given_effort(tau)
        given, a = self.robot.given_accelerations({name: acceleration})
        return self.partial(q, v, tau, a, given, wrenches)

    def _wheels(self, q: np.ndarray, v: Any) -> tuple[Rows, np.ndarray]:
        rows = Rows({"q": (q, self.nq), "v": (v, self.nv)})
        out = np.empty((rows.count, len(self.wheel_names), WHEEL_RESULTS))
        self.check({"q": rows.take("q"), "v": rows.take("v")})
        entry = tree_wheels.tree_wheels_many if self.rolling.tables is None else wheels_many
        self.call(entry, rows, ("q", "v"), out)
        return rows, out
