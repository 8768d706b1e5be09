"""Accelerations, efforts and forces of loops of a robot: methods in place of those of the open tree."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from flexdyn_ros.errors import DimensionError, FlexdynWarning, SingularityError, UnknownNameError
from flexdyn_ros.families.trees.loops.closing import OPEN, Closing
from flexdyn_ros.families.trees.loops.dynamics import Solution, least_efforts, null_space
from flexdyn_ros.families.trees.loops.geometry import Closure
from flexdyn_ros.families.trees.loops.kernels.forward import CONTRADICTORY
from flexdyn_ros.robot.analysis.allocation import DRIVEN_KINDS, POSSIBLE, chosen_actuators, effort_weights
from flexdyn_ros.robot.arguments import Rows, by_name, check_out, numbers, rows_with_wrenches
from flexdyn_ros.robot.results import LoopReactions


class Forces:
    """M a + h = B tau + J' lam + sum J_i' w_i, J a + dJ/dt v = 0, solved for what is asked."""

    def __init__(self, closing: Closing) -> None:
        self.closing = closing

    def forward_dynamics(
        self,
        q: np.ndarray,
        v: np.ndarray,
        tau: np.ndarray | None = None,
        wrenches: Mapping[str, object] | None = None,
        *,
        prescribed: Mapping[str, object] | None = None,
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """Accelerations a (..., nv) of M a + h = B tau + J' lam + sum J_i' w_i, J a + dJ/dt v = 0; arguments
        as of `Robot.forward_dynamics`.

        Raises
        ------
        DimensionError, StateError, UnknownNameError
            StateError: the loops are open at (q, v); in a batch such rows are NaN and a FlexdynWarning says
            how many.
        SingularityError
            If M is not positive definite, or accelerations of the loops contradict each other.

        Warns
        -----
        FlexdynWarning
            At a pose in which loops lose rank: the accelerations are those of least squares there.
        """
        rows, found = self.solve(q, v, tau, wrenches, prescribed, OPEN)
        a = check_out(out, (*rows.shape, self.closing.functions.nv), rows)
        a.reshape(found.a.shape)[...] = found.a
        return a

    def efforts_for(
        self,
        q: np.ndarray,
        v: np.ndarray,
        tau: np.ndarray,
        wrenches: Mapping[str, object] | None,
        prescribed: Mapping[str, float],
        at: np.ndarray,
    ) -> np.ndarray:
        """See `FamilyFunctions.efforts_for`: M a + h - B tau - J' lam - sum J_i' w_i there."""
        _, found = self.solve(q, v, tau, wrenches, prescribed, np.inf)
        robot = self.closing.open
        J = self.closing.geometry.at(q[None], v[None]).J[0]
        missing = robot.inverse_dynamics(q, v, found.a[0], wrenches)[: robot.nv]
        missing = missing - robot.actuation_matrix(q) @ tau - J.T @ found.multipliers[0]
        return np.asarray(missing[at])

    def solve(
        self,
        q: np.ndarray,
        v: Any,
        tau: np.ndarray | None,
        wrenches: Mapping[str, object] | None,
        prescribed: Mapping[str, object] | None,
        tolerance: float,
    ) -> tuple[Rows, Solution]:
        """Accelerations and multipliers at rows of states."""
        f, robot = self.closing.functions, self.closing.open
        tau = np.zeros(f.nu) if tau is None else tau
        given, a_given = robot.given_accelerations(by_name(prescribed, "prescribed", "accelerations (...,)"))
        motion = {"q": (q, f.nq), "v": (v, f.nv), "tau": (tau, f.nu), "a": (a_given, f.nv)}
        rows = rows_with_wrenches(wrenches, **motion)
        state = {name: rows.take(name) for name in motion}
        f.check(state)
        closure = self.closing.geometry.at(state["q"], state["v"])
        is_open = self.closing.refuse_open(closure, state["v"], rows.shape, tolerance)
        force = self._balance(rows, state, wrenches)
        M, J, bias = robot.mass_matrix(state["q"]), closure.J, closure.bias
        if given.any():
            # columns of what is given go to the other side, its rows are not solved
            bias = bias + np.einsum("nij,nj->ni", J, state["a"])
            force = force - np.einsum("nij,nj->ni", M, state["a"])
            force[:, given], J = 0.0, np.where(given, 0.0, J)
            M = np.where(given | given[:, None], np.eye(f.nv), M)
        found = self.closing.factors(M, J)(force, bias)
        self._report(found, rows.shape, bool(given.any()))
        a = found.a + state["a"]
        a[is_open] = found.multipliers[is_open] = np.nan
        return rows, found._replace(a=a)

    def _balance(
        self, rows: Rows, state: Mapping[str, np.ndarray], wrenches: Mapping[str, object] | None
    ) -> np.ndarray:
        """B tau + sum J_i' w_i - h (N, nv)."""
        robot, nv, shape = self.closing.open, self.closing.functions.nv, rows.shape
        q, v = (state[name].reshape(*shape, state[name].shape[1]) for name in ("q", "v"))
        h = robot.inverse_dynamics(q, v, np.zeros_like(v), wrenches)[..., :nv].reshape(rows.count, nv)
        tau = state["tau"]
        if robot.effort_names != robot.v_names:
            tau = np.einsum("nij,nj->ni", robot.actuation_matrix(state["q"]), tau)
        return np.asarray(tau - h)

    def _report(self, found: Solution, batch: tuple[int, ...], is_given: bool) -> None:
        """Raise or warn where loops contradict each other, or lose rank."""
        lost = found.rank < self.closing.rank
        wrong = (found.left > CONTRADICTORY) & (~lost | is_given)
        names = [
            self.closing.geometry.loops[self.closing.geometry.loop_of[row]].record.name
            for row in found.weakest
        ]
        if wrong.any():
            n = int(np.argmax(wrong))
            text = (
                f"accelerations of loop '{names[n]}' contradict those of the others, or those that are given"
            )
            if batch == ():
                raise SingularityError(text, float(found.left[n]))
            found.a[wrong] = np.nan
            text = (
                f"{int(wrong.sum())} of {len(wrong)} states have no accelerations, NaN in their rows ({text})"
            )
            warnings.warn(text, FlexdynWarning, 5)
        elif lost.any() and not is_given:
            n = int(np.argmax(lost))
            warnings.warn(
                f"robot '{self.closing.description.name}': loop '{names[n]}' is in a singular pose, rank "
                f"{found.rank[n]} instead of {self.closing.rank}; accelerations are those of least squares",
                FlexdynWarning,
                5,
            )

    def inverse_dynamics(
        self,
        q: np.ndarray,
        v: np.ndarray,
        a: np.ndarray,
        wrenches: Mapping[str, object] | None = None,
        *,
        unactuated: str = "given",
        actuators: str | Sequence[str] | None = None,
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """Efforts tau (..., nu) of the actuators that there are, for a motion that the loops allow.

        With a basis N of the motions that loops leave, N' (M a + h - sum J_i' w_i) = N' B tau. Of all such
        efforts those of least sum of squares (relative to their limits, where all have one). Modes, a
        floating base and hubs get what no actuator gives, the least such rest in the metric of M^-1; passive
        joints get 0. Where a is off the loops, the nearest a in the metric of M is taken, with a warning;
        with unactuated="free" that in which actuated coordinates accelerate as a says, and others follow.

        Raises
        ------
        DimensionError, StateError, UnknownNameError
            StateError: the loops are open at (q, v).
        SingularityError
            If no actuator reaches what a motion takes; in a batch such rows are NaN.
        UnsupportedError
            With unactuated="free" where cylinders are actuators.
        """
        if unactuated != "given":
            UnknownNameError.check("value of unactuated", unactuated, ("given", "free"))
            a = self._led(q, v, a, wrenches)
        rows, tau, _ = self.efforts(q, v, a, wrenches, "all" if actuators is None else actuators)
        result = check_out(out, (*rows.shape, self.closing.functions.nu), rows)
        result.reshape(tau.shape)[...] = tau
        return result

    def _led(
        self, q: np.ndarray, v: np.ndarray, a: np.ndarray, wrenches: Mapping[str, object] | None
    ) -> np.ndarray:
        """Accelerations (..., nv) with those of a (..., nv) where there is an actuator."""
        f = self.closing.functions
        if f.nu != f.nv:
            raise self.closing.unsupported("inverse_dynamics(unactuated='free') of cylinders")
        a = numbers(a, "a", f.nv)
        driven = {c.name: a[..., c.v_index] for c in f.coordinates if c.actuated}
        return self.forward_dynamics(q, v, None, wrenches, prescribed=driven)

    def efforts(
        self,
        q: np.ndarray,
        v: np.ndarray,
        a: np.ndarray,
        wrenches: Mapping[str, object] | None,
        actuators: str | Sequence[str],
        tolerance: float = OPEN,
    ) -> tuple[Rows, np.ndarray, np.ndarray]:
        """The batch, tau (N, nu), and multipliers of least norm (N, m); off the loops with another tolerance,
        and then of the nearest admissible a without a warning."""
        f, robot = self.closing.functions, self.closing.open
        chosen = chosen_actuators(f.robot, actuators)
        motion = {"q": (q, f.nq), "v": (v, f.nv), "a": (a, f.nv)}
        rows = rows_with_wrenches(wrenches, **motion)
        state = {name: rows.take(name) for name in motion}
        f.check(state)
        closure = self.closing.geometry.at(state["q"], state["v"])
        is_open = self.closing.refuse_open(closure, state["v"], rows.shape, tolerance)
        M = robot.mass_matrix(state["q"])
        state["a"] = self._admissible(state["a"], M, closure, tolerance == OPEN)
        at, speed, acceleration = (
            x.reshape(*rows.shape, x.shape[1]) for x in (state[name] for name in motion)
        )
        needed = robot.inverse_dynamics(at, speed, acceleration, wrenches)[..., : f.nv].reshape(
            rows.count, f.nv
        )
        B = robot.actuation_matrix(state["q"])[:, :, chosen]
        free = np.array([c.kind not in DRIVEN_KINDS for c in f.coordinates], dtype=bool)
        tau, lam, impossible = np.zeros((rows.count, f.nu)), np.zeros(closure.residual.shape), []
        for i in range(rows.count):
            N = null_space(closure.J[i])
            inverse = np.linalg.inv(M[i])[np.ix_(free, free)]
            u, rest, left = least_efforts(
                N.T @ needed[i], N.T @ B[i], N.T[:, free], inverse, self.weights(chosen)
            )
            if np.abs(left).max(initial=0.0) > POSSIBLE * max(np.abs(needed[i]).max(initial=0.0), 1e-300):
                impossible.append((i, N @ left))
                tau[i] = np.nan
                continue
            tau[i, chosen] = u
            tau[i, : f.nv][free] += rest
            force = needed[i] - B[i] @ u
            force[free] -= rest
            lam[i] = np.linalg.lstsq(closure.J[i].T, force, rcond=1e-10)[0]
        tau[is_open] = lam[is_open] = np.nan
        self._report_impossible(impossible, rows)
        return rows, tau, lam

    def _admissible(self, a: np.ndarray, M: np.ndarray, closure: Closure, tells: bool) -> np.ndarray:
        """The accelerations (N, nv) that are nearest to a in the metric of M and that loops allow."""
        missed = np.einsum("nij,nj->ni", closure.J, a) + closure.bias
        if tells and not self._tell_missed(a, missed, closure):
            return a
        change, _ = self.closing.factors(M, closure.J).solve(np.zeros((*a.shape, 1)), -missed[..., None])
        return np.asarray(a + change[..., 0])

    def _tell_missed(self, a: np.ndarray, missed: np.ndarray, closure: Closure) -> bool:
        """Warn where accelerations of loops are missed; whether they are."""
        scale = np.einsum("nij,nj->ni", np.abs(closure.J), np.abs(a)) + np.abs(closure.bias) + 1.0
        if (np.abs(missed) <= OPEN * scale).all():
            return False
        n, row = np.unravel_index(int(np.argmax(np.abs(missed) / scale)), missed.shape)
        name = self.closing.geometry.loops[self.closing.geometry.loop_of[row]].record.name
        warnings.warn(
            f"the accelerations open loop '{name}' at {abs(missed[n, row]):.3g} m/s2 (rad/s2); the nearest "
            "that it can have are taken",
            FlexdynWarning,
            5,
        )
        return True

    def weights(self, chosen: np.ndarray) -> np.ndarray:
        """Of the squares of efforts of chosen actuators."""
        coordinates = self.closing.functions.effort_coordinates
        return effort_weights(np.array([coordinates[i].effort_limit for i in chosen]))

    def _report_impossible(self, impossible: list[tuple[int, np.ndarray]], rows: Rows) -> None:
        if not impossible:
            return
        i, left = impossible[0]
        c = self.closing.functions.coordinates[int(np.argmax(np.abs(left)))]
        unit = "N m" if c.unit == "rad" else "N"
        text = (
            f"no chosen actuator moves the mechanism along a motion in which '{c.name}' moves most, "
            f"{np.abs(left).max():.4g} {unit} are left there; expected a motion that the actuators can make, "
            "or more of them (<actuation active=...>)"
        )
        if rows.shape == ():
            raise SingularityError(text, 0.0)
        warnings.warn(
            f"{len(impossible)} of {rows.count} motions are not possible with these actuators; their rows "
            f"are NaN (sample {i}: {text})",
            FlexdynWarning,
            5,
        )

    def loop_reactions(
        self,
        q: np.ndarray,
        v: np.ndarray,
        *,
        a: np.ndarray | None = None,
        tau: np.ndarray | None = None,
        wrenches: Mapping[str, object] | None = None,
    ) -> LoopReactions:
        """Force and moment of every loop on its `end`; see `LoopReactions`.

        Parameters
        ----------
        q, v : (..., nq), (..., nv) arrays
        a, tau : (..., nv), (..., nu) arrays
            One of them: a motion, made by the efforts that `inverse_dynamics` gives, or efforts.
        wrenches : mapping from frame name to (..., 6), optional

        Raises
        ------
        DimensionError, StateError, UnknownNameError, SingularityError
        """
        if (a is None) == (tau is None):
            raise DimensionError("loop_reactions takes one of a and tau")
        if a is None:
            rows, solution = self.solve(q, v, tau, wrenches, None, OPEN)
            lam = solution.multipliers
        else:
            rows, _, lam = self.efforts(q, v, a, wrenches, "all")
        state = rows.take("q")
        closure = self.closing.geometry.at(state, np.zeros((rows.count, self.closing.functions.nv)))
        on_end = np.zeros((rows.count, len(self.closing.loops), 6))
        for i in range(len(self.closing.loops)):
            mine = self.closing.geometry.loop_of == i
            on_end[:, i] = np.einsum("nr,nrk->nk", lam[:, mine], closure.lines[:, mine, 6:])
        known = self.closing.factors(self.closing.open.mass_matrix(state), closure.J).determinate()
        force, moment = (x.reshape(*rows.shape, *x.shape[1:]) for x in (on_end[..., 3:], on_end[..., :3]))
        return LoopReactions(force, moment, known.reshape(*rows.shape, known.shape[1]))
