"""Linear equations, modes and static equilibrium of a robot with loops: its methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from flexdyn_ros.errors import DimensionError, StateError
from flexdyn_ros.families.trees.loops.closing import OPEN
from flexdyn_ros.families.trees.loops.forces import Forces
from flexdyn_ros.families.trees.loops.small_motions import (
    differences,
    equilibrium,
    linearized,
    modes_with_loops,
    tangent,
)
from flexdyn_ros.robot.analysis.derivatives import linearization_with_oil
from flexdyn_ros.robot.analysis.modes import chosen_coordinates
from flexdyn_ros.robot.analysis.steady_modes import steady_modes_of
from flexdyn_ros.robot.arguments import Rows, rows_with_wrenches
from flexdyn_ros.robot.functions import FamilyFunctions
from flexdyn_ros.robot.parameters import names_that_fit
from flexdyn_ros.robot.results import Equilibrium, Linearization, LinearizationWithStates, Modes


class Vicinity:
    """Small motions about states of a robot with loops."""

    def __init__(self, forces: Forces) -> None:
        self.forces, self.closing = forces, forces.closing

    def linearize(
        self,
        q: np.ndarray,
        v: np.ndarray,
        tau: np.ndarray | None = None,
        wrenches: Mapping[str, object] | None = None,
        *,
        lock: Sequence[str] | str = (),
        commands: object = None,
        states: object = None,
    ) -> Linearization | LinearizationWithStates:
        """A and B of `Robot.linearize`, in all coordinates: the derivative of `forward_dynamics`, off the
        loops too. At an equilibrium A has two eigenvalues 0 for each independent row of the loops.

        Raises
        ------
        DimensionError, StateError, UnknownNameError, SingularityError
        UnsupportedError
            As `Robot.linearize`.
        """
        f = self.closing.functions
        locked = chosen_coordinates(lock, f.coordinates, "lock")
        if commands is not None:
            return linearization_with_oil(f, q, v, tau, wrenches, locked, states, commands, self._dry)
        if states is not None:
            raise self.closing.unsupported("linearize(states=...) without commands")
        return self._dry(f, q, v, tau, wrenches, locked)

    def _dry(
        self,
        f: FamilyFunctions,
        q: np.ndarray,
        v: np.ndarray,
        tau: np.ndarray | None,
        wrenches: Mapping[str, object] | None,
        locked: np.ndarray,
    ) -> Linearization:
        """A and B by the efforts."""
        held = {f.v_names[i]: 0.0 for i in np.flatnonzero(locked)}
        rows, found = self.forces.solve(q, v, tau, wrenches, held, OPEN)
        state = {name: rows.take(name) for name in ("q", "v", "tau")}
        motion = {**state, "a": np.where(np.isfinite(found.a), found.a, 0.0)}
        given = {name: (x.reshape(*rows.shape, x.shape[1]), x.shape[1]) for name, x in motion.items()}
        slopes = self.closing.open.functions.slopes_rows(rows_with_wrenches(wrenches, **given), wrenches)
        A, B = linearized(self.closing, state, found, locked, slopes)
        kept = np.flatnonzero(np.tile(~locked, 2))
        A, B = A[:, kept[:, None], kept], B[:, kept]
        return Linearization(*(x.reshape(*rows.shape, *x.shape[1:]) for x in (A, B)))

    def modes(self, q: np.ndarray, *, v: np.ndarray | None = None, lock: Sequence[str] | str = ()) -> Modes:
        """Modes of vibration about rest at q (..., nq), or about steady rotation with v (..., nv), on the
        motions that loops leave: as many as these.

        The forces of loops are those under which the least efforts of all actuators, and of locked
        coordinates, hold the robot.

        Raises
        ------
        DimensionError, StateError, UnknownNameError, SingularityError
            StateError: the loops are open at q, or the motion is not steady.
        """
        f = self.closing.functions
        locked = chosen_coordinates(lock, f.coordinates, "lock") | f.prescribed
        rows = Rows({"q": (q, f.nq)} if v is None else {"q": (q, f.nq), "v": (v, f.nv)})
        still = np.zeros((rows.count, f.nv))
        if self.closing.refuse_open(self.closing.at(rows), still, (), OPEN).any():
            raise StateError("the loops are open")
        if v is not None:
            geometry, free = self.closing.geometry, np.flatnonzero(~locked)
            for one, speed in zip(rows.take("q"), rows.take("v"), strict=True):
                there = f.robot.integrate(one, speed, 1.0 / np.abs(speed).max(initial=1e-300))
                if np.abs(geometry.at(there[None], speed[None]).residual).max() > OPEN:
                    raise StateError(
                        "the motion is not steady: joints within the loops move; expected a v that turns the "
                        "robot as a whole, about an axis along gravity if there is any"
                    )
            return steady_modes_of(f.robot, q, v, locked, lambda q, v: tangent(geometry, q, v, free))
        found = modes_with_loops(self.forces, rows.take("q"), locked)
        return Modes(*(x.reshape((*rows.shape, *x.shape[1:]))[()] for x in found))

    def static_equilibrium(
        self,
        q0: np.ndarray | None = None,
        *,
        hold: Sequence[str] | str = (),
        tau: np.ndarray | None = None,
        wrenches: Mapping[str, object] | None = None,
    ) -> Equilibrium:
        """Static equilibrium near q0 with closed loops; arguments as of `Robot.static_equilibrium`.

        Held coordinates stay where they are in q0 when that has been closed, which does not move them.

        Raises
        ------
        DimensionError, StateError, UnknownNameError, ConvergenceError
        """
        f = self.closing.functions
        held = chosen_coordinates(hold, f.coordinates, "hold") | f.prescribed
        tau = np.zeros(f.nu) if tau is None else tau
        q0 = f.neutral() if q0 is None else q0
        rows = rows_with_wrenches(wrenches, q0=(q0, f.nq), tau=(tau, f.nu))
        if rows.shape:
            raise DimensionError(f"static_equilibrium takes single states, got a batch of shape {rows.shape}")
        start, effort = rows.take("q0"), rows.take("tau")
        f.check({"q": start, "tau": effort})
        names = tuple(name for name, is_held in zip(f.v_names, held, strict=True) if is_held)
        closed = self.closing.closed(start[0].copy(), self.closing.moves(names))
        return equilibrium(self.closing, closed, effort[0], held, wrenches)

    def inverse_dynamics_derivatives(
        self, q: np.ndarray, v: np.ndarray, a: np.ndarray, wrenches: Mapping[str, object] | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """d tau/dq, d tau/dv, d tau/da (..., nu, nv) of `inverse_dynamics` by all actuators, which off the
        loops is that of the nearest accelerations with J a + dJ/dt v = 0. Where the actuators are as many as
        the motions, tau(q, v, a) undoes `forward_dynamics` there.

        tau is P(q) (M a + h) with P J' = 0, hence affine in a, and P = (d tau/da) M^-1; slopes by q are
        differences as those of `curvature`.

        Raises
        ------
        DimensionError, StateError, UnknownNameError, SingularityError
        """
        f, robot, forces = self.closing.functions, self.closing.open, self.forces
        rows, _, _ = forces.efforts(q, v, a, wrenches, "all")
        place, speed, rate = (rows.take(x).reshape(*rows.shape, -1) for x in ("q", "v", "a"))

        def efforts(dq: np.ndarray, da: np.ndarray) -> np.ndarray:
            """tau (k, nv, N, nu) about the states by moves (k nv, nv)."""
            dq, da = (x.reshape(len(x), *(1 for _ in rows.shape), f.nv) for x in (dq, da))
            many = [np.broadcast_to(x, (len(dq), *x.shape)) for x in (place, speed, rate)]
            moved = robot.integrate(many[0], np.broadcast_to(dq, many[1].shape), 1.0)
            tau = forces.efforts(moved, many[1], many[2] + da, wrenches, "all", np.inf)[1]
            return np.asarray(tau.reshape(-1, f.nv, rows.count, f.nu))

        moves, weights = differences(f.nv)
        by_q = np.einsum("kjnu,k->nuj", efforts(moves, 0.0 * moves), weights)
        unit = np.concatenate([np.eye(f.nv), -np.eye(f.nv)])
        by_a = np.einsum("kjnu,k->nuj", efforts(0.0 * unit, unit), np.array([0.5, -0.5]))
        slopes = robot.inverse_dynamics_derivatives(place, speed, rate, wrenches)[1][..., : f.nv, :]
        by_v = by_a @ np.linalg.solve(robot.mass_matrix(rows.take("q")), slopes.reshape(-1, f.nv, f.nv))
        by_q, by_v, by_a = (x.reshape(*rows.shape, f.nu, f.nv) for x in (by_q, by_v, by_a))
        return by_q, by_v, by_a

    def forward_dynamics_parameter_derivatives(
        self,
        q: np.ndarray,
        v: np.ndarray,
        tau: np.ndarray | None = None,
        wrenches: Mapping[str, object] | None = None,
        *,
        parameters: str | Sequence[str] = "*",
    ) -> np.ndarray:
        """Derivative (..., nv, np) of `forward_dynamics` by those of `parameters` whose names fit:
        M da - J' dlam = -B Y dp, J da = 0, with the regressor Y of the open tree.

        Raises
        ------
        DimensionError, StateError, UnknownNameError, SingularityError, UnsupportedError
        """
        robot, f = self.closing.open, self.closing.functions
        names = [parameter.name for parameter in robot.parameters]
        columns = [names.index(name) for name in names_that_fit(names, parameters)]
        rows, found = self.forces.solve(q, v, tau, wrenches, None, OPEN)
        place, speed = rows.take("q"), rows.take("v")
        wrong = ~np.isfinite(found.a).all(axis=1)
        Y = robot.regressor(place, speed, np.where(wrong[:, None], 0.0, found.a)).Y[..., columns]
        force = -robot.actuation_matrix(place) @ Y
        J = self.closing.geometry.at(place, speed).J
        none = np.zeros((*J.shape[:2], len(columns)))
        change, _ = self.closing.factors(robot.mass_matrix(place), J).solve(force, none)
        change[wrong] = np.nan
        return change.reshape(*rows.shape, f.nv, len(columns))
