"""Closed loops around the functions of a tree: a layer that replaces the methods in which loops count."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple, NoReturn

import numpy as np

from flexdyn_ros.description import RobotDescription
from flexdyn_ros.errors import (
    ConvergenceError,
    DimensionError,
    FlexdynWarning,
    SingularityError,
    StateError,
    UnknownNameError,
    UnsupportedError,
)
from flexdyn_ros.families.trees.layers import Layer
from flexdyn_ros.families.trees.loops.assembly import Assembled, close_from_near, close_loops
from flexdyn_ros.families.trees.loops.dynamics import Constrained, Solution, least_efforts, null_space
from flexdyn_ros.families.trees.loops.geometry import Closure, Geometry, placed_loops, stations_of
from flexdyn_ros.families.trees.loops.small_motions import equilibrium, linearized, modes_with_loops
from flexdyn_ros.families.trees.rigid.model import RigidTree
from flexdyn_ros.multibody.constraints.loop import place_of_loop
from flexdyn_ros.robot.analysis.allocation import chosen_actuators
from flexdyn_ros.robot.arguments import Rows, by_name, check_out
from flexdyn_ros.robot.coordinates import MODAL
from flexdyn_ros.robot.analysis.modes import chosen_coordinates
from flexdyn_ros.robot.results import Equilibrium, Linearization, LoopReactions, Modes
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.robot.wrenches import rows_with_wrenches

#: how far loops may be open [m, rad] and opening [per s and unit of |v|] where forces are asked for
OPEN = 1e-6
#: share of singular values below which one is zero, of J M^-1/2 at the neutral pose
_RANK = 1e-9
#: draws of `random` until one can be closed
_DRAWS = 50
#: forces at passive joints, relative to those that are asked for, from which on a motion is not possible
_POSSIBLE = 1e-9
#: coordinates that assembly does not move
_HELD = (*MODAL, "motor", "hub")
#: coordinates that an actuator of their own can drive
_DRIVEN_KINDS = ("joint", "motor", "actuator")


class LoopReport(NamedTuple):
    """A closed loop: its name, type and number of rows, and how many of these follow from the other rows of
    the robot at the neutral pose."""

    name: str
    type: str
    rows: int
    redundant: int


class Loops(Layer):
    """The closed joints of a tree.

        M a + h = B tau + J' lam + sum J_i' w_i,        J a + dJ/dt v = 0

    Methods in which loops count take the place of those of the robot; all others are those of the open tree,
    at any q. Outermost of all layers: what is within is the open robot, whose methods give M, h, the frames
    and their Jacobians.
    """

    hides_reactions = True
    has_steps, is_constraint = False, True
    by_mass_matrix = True
    offers = (
        "loops", "mobility", "loop_residual", "loop_jacobian", "loop_reactions", "assemble", "project", "random",
        "forward_dynamics", "inverse_dynamics", "linearize", "modes", "static_equilibrium",
        "inverse_dynamics_derivatives", "forward_dynamics_parameter_derivatives", "regressor", "coriolis_matrix",
    )  # fmt: skip

    @staticmethod
    def sections(description: RobotDescription) -> tuple[str, ...]:
        return stations_of(description)

    @staticmethod
    def driven_ends(description: RobotDescription, tree: RigidTree) -> list[tuple[int, int]]:
        return [(loop.base.node, loop.end.node) for loop in placed_loops(description, tree)]

    def __init__(self, functions: Any) -> None:
        super().__init__(functions)
        self.description: RobotDescription = functions.description
        self._inner = functions.like(layers=functions.made_with, bare=functions.bare)
        #: the robot without its loops
        self.open = Robot(self._inner)
        # of the open tree; with loops they would be computed by methods that honour them
        self.regressor, self.coriolis_matrix = self.open.regressor, self.open.coriolis_matrix
        self.geometry = Geometry(self.open, placed_loops(self.description, functions.tree))
        stated: Any = next(iter(self.description.extras.get("assembly", ())), None)
        self._start = {} if stated is None else stated.values
        self._locked: tuple[str, ...] = () if stated is None else stated.lock
        if functions.is_loose:
            return
        found = self._close_at_start()
        functions.home = found.q
        self._count_rows(found.q)
        if found.displaced:
            functions.warnings += (
                "the loops cannot be closed from the start as it is: the nearest closed pose of eight starts "
                "displaced by up to 0.3 rad is taken; <assembly start=...> says where to begin",
            )
        if not functions.changes:
            for layer in functions.layers:
                layer.refuse_at(found.q)

    # ---- closed poses ----

    def _moves(self, lock: Sequence[str], free: Sequence[str] = ()) -> np.ndarray:
        """Marks (nv,) what assembly may move."""
        f = self.functions
        moves = np.array([c.kind not in _HELD and not c.prescribed for c in f.coordinates], dtype=bool)
        for names, value in ((lock, False), (free, True)):
            for name in (names,) if isinstance(names, str) else names:
                UnknownNameError.check("coordinate", name, f.v_names)
                moves[f.v_names.index(name)] = value
        return moves

    def _close_at_start(self) -> Assembled:
        """The neutral pose; DescriptionError where there is none."""
        f, q0 = self.functions, self._inner.neutral()
        place = None
        if self._start or self._locked:
            (record,) = self.description.extras["assembly"]
            place = self.description.place(record, "assembly")
        for what, names in (("start", self._start), ("lock", self._locked)):
            for name in names:
                if name not in f.v_names:
                    place.fail(f"there is no coordinate '{name}'", what, name, ", ".join(f.v_names))  # type: ignore[union-attr]
        for name, value in self._start.items():
            i = f.coordinates[f.v_names.index(name)].q_index
            if i < 0:
                place.fail(f"'{name}' is a turn, without a number", "start", name, "another coordinate")  # type: ignore[union-attr]
            q0[i] = value
        found = close_from_near(self.geometry, q0, self._moves(self._locked))
        loop = self.geometry.loops[found.loop].record
        if not found.is_closed:
            place_of_loop(self.description, loop).fail(
                f"the loops cannot be closed: from every start, {found.residual:.6g} m (rad) of this loop are "
                "left",
                "type",
                loop.type,
                "frames that can meet, lengths that reach, or another <assembly start=...>",
            )
        if (wrong := self.geometry.wrong_root(found.q)) is not None:
            loop = self.geometry.loops[wrong[0]].record
            place_of_loop(self.description, loop).fail(
                f"the loops close only where {wrong[1]}",
                "axis" if loop.axis else "end_rpy",
                loop.axis or loop.end_rpy,
                "another direction, or another <assembly start=...>",
            )
        return found

    def _count_rows(self, q: np.ndarray) -> None:
        """Set rank, mobility and the reports of loops at the neutral pose."""
        J = self.geometry.at(q[None], np.zeros((1, self.functions.nv))).J[0]
        M = self.open.mass_matrix(q)
        size = 1.0 / np.sqrt(np.maximum(np.diag(M), 1e-300))
        rows = J * size
        #: independent rows at the neutral pose
        self.rank = _rank(rows)
        #: motions that the loops leave there
        self.mobility = self.functions.nv - self.rank
        reports = []
        for i, loop in enumerate(self.geometry.loops):
            others = self.geometry.loop_of != i
            count = len(loop.rows)
            redundant = count - (self.rank - _rank(rows[others]))
            reports.append(LoopReport(loop.record.name, loop.record.type, count, redundant))
        #: the loops, in the order of the description
        self.loops = tuple(reports)

    def loop_residual(self, q: np.ndarray) -> np.ndarray:
        """phi (..., rows): how far each row of the loops is open at q (..., nq), in the axes of their base
        [m, rad].

        Raises
        ------
        DimensionError, StateError
        """
        rows = Rows({"q": (q, self.functions.nq)})
        found = self._at(rows).residual
        return found.reshape(*rows.shape, found.shape[1])

    def loop_jacobian(self, q: np.ndarray) -> np.ndarray:
        """J (..., rows, nv): the rates of `loop_residual` are J v.

        Raises
        ------
        DimensionError, StateError
        """
        rows = Rows({"q": (q, self.functions.nq)})
        found = self._at(rows).J
        return found.reshape(*rows.shape, *found.shape[1:])

    def _at(self, rows: Rows) -> Closure:
        q = rows.take("q")
        v = rows.take("v") if "v" in rows.names else np.zeros((rows.count, self.functions.nv))
        self.functions.check({"q": q, "v": v})
        return self.geometry.at(q, v)

    def assemble(
        self, q0: np.ndarray | None = None, lock: Sequence[str] = (), free: Sequence[str] = ()
    ) -> np.ndarray:
        """The closed pose (nq,) that is nearest to q0 (nq,) in the metric of M(q0); default: the neutral one.

        Parameters
        ----------
        q0 : (nq,) array
        lock, free : names of coordinates
            That do not move, and that do although they are modes or motors, which are held otherwise.

        Raises
        ------
        DimensionError, StateError, UnknownNameError
        ConvergenceError
            If no closed pose is found from there; `.residual` is what is left.
        """
        if q0 is None:
            q0 = self.functions.neutral()
        rows = Rows({"q0": (q0, self.functions.nq)})
        if rows.shape:
            raise DimensionError(f"assemble takes single poses, got a batch of shape {rows.shape}")
        start = rows.take("q0")[0].copy()
        self.functions.check({"q": start[None]})
        return self._closed(start, self._moves(lock, free))

    def _closed(self, q0: np.ndarray, moves: np.ndarray) -> np.ndarray:
        found = close_loops(self.geometry, q0, moves)
        name = self.geometry.loops[found.loop].record.name
        if not found.is_closed:
            raise ConvergenceError(
                f"the loops cannot be closed from there: {found.residual:.3g} m (rad) of loop '{name}' are "
                "left; expected a nearer start",
                found.residual,
                found.iterations,
            )
        if (wrong := self.geometry.wrong_root(found.q)) is not None:
            name = self.geometry.loops[wrong[0]].record.name
            raise ConvergenceError(
                f"the pose that is found closes loop '{name}' where {wrong[1]}; expected a nearer start"
            )
        return found.q

    def random(self, rng: np.random.Generator | None = None) -> np.ndarray:
        """A random pose that is closed, from draws of the open tree."""
        rng, moves = np.random.default_rng() if rng is None else rng, self._moves(())
        for _ in range(_DRAWS):
            try:
                return self._closed(self._inner.random(rng), moves)
            except ConvergenceError:
                continue
        raise ConvergenceError(f"none of {_DRAWS} random poses could be closed; use assemble(q0)")

    def project(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """q (nq,) and v (nv,) on the loops: the nearest closed pose, then the change of v of least kinetic
        energy, which is that of a perfectly plastic closure.

        Raises
        ------
        DimensionError, StateError, ConvergenceError
        """
        rows = Rows({"q": (q, self.functions.nq), "v": (v, self.functions.nv)})
        if rows.shape:
            raise DimensionError(f"project takes single states, got a batch of shape {rows.shape}")
        self._at(rows)
        return self.onto_loops(rows.take("q")[0].copy(), rows.take("v")[0].copy())

    def onto_loops(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """`project` of a state that is good."""
        q = self._closed(q, self._moves(()))
        J = self.geometry.at(q[None], v[None]).J
        factors = self._factors(self.open.mass_matrix(q)[None], J)
        # M (v_new - v) = J' lam, J v_new = 0
        change, _ = factors.solve(np.zeros((1, v.size, 1)), -(J @ v[None, :, None]))
        return q, v + change[0, :, 0]

    # ---- dynamics ----

    def _factors(self, M: np.ndarray, J: np.ndarray) -> Constrained:
        try:
            return Constrained(M, J)
        except np.linalg.LinAlgError:
            smallest = float(np.linalg.eigvalsh(M)[:, 0].min())
            raise SingularityError(
                f"the mass matrix is not positive definite, smallest eigenvalue {smallest:.3g}; loops take a "
                "tree whose bodies have mass",
                smallest,
            ) from None

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
        """Accelerations a (..., nv) of M a + h = B tau + J' lam + sum J_i' w_i, J a + dJ/dt v = 0; arguments as
        of `Robot.forward_dynamics`.

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
        rows, found = self._solve(q, v, tau, wrenches, prescribed, OPEN)
        a = check_out(out, (*rows.shape, self.functions.nv), rows)
        a.reshape(rows.count, -1)[...] = found.a
        return a

    def stage_dynamics(
        self,
        q: np.ndarray,
        v: np.ndarray,
        tau: np.ndarray | None = None,
        wrenches: Mapping[str, object] | None = None,
        *,
        prescribed: Mapping[str, object] | None = None,
    ) -> np.ndarray:
        """`forward_dynamics` of states within a step, which lie off the loops by the error of the step."""
        rows, found = self._solve(q, v, tau, wrenches, prescribed, np.inf)
        return found.a.reshape(*rows.shape, -1)

    def _solve(
        self,
        q: np.ndarray,
        v: Any,
        tau: np.ndarray | None,
        wrenches: Mapping[str, object] | None,
        prescribed: Mapping[str, object] | None,
        tolerance: float,
    ) -> tuple[Rows, Solution]:
        """Accelerations and multipliers at rows of states."""
        f, robot = self.functions, self.open
        tau = np.zeros(f.nu) if tau is None else tau
        given, a_given = robot.given_accelerations(by_name(prescribed, "prescribed", "accelerations (...,)"))
        motion = {"q": (q, f.nq), "v": (v, f.nv), "tau": (tau, f.nu), "a": (a_given, f.nv)}
        rows = rows_with_wrenches(wrenches, **motion)
        state = {name: rows.take(name) for name in motion}
        f.check(state)
        closure = self.geometry.at(state["q"], state["v"])
        is_open = self._refuse_open(closure, state["v"], rows.shape, tolerance)
        force = self._balance(rows, state, wrenches)
        M, J, bias = robot.mass_matrix(state["q"]), closure.J, closure.bias
        if given.any():
            # columns of what is given go to the other side, its rows are not solved
            bias = bias + np.einsum("nij,nj->ni", J, state["a"])
            force = force - np.einsum("nij,nj->ni", M, state["a"])
            force[:, given], J = 0.0, np.where(given, 0.0, J)
            M = np.where(given | given[:, None], np.eye(f.nv), M)
        found = self._factors(M, J)(force, bias)
        self._report(found, rows.shape, bool(given.any()))
        a = found.a + state["a"]
        a[is_open] = found.multipliers[is_open] = np.nan
        return rows, found._replace(a=a)

    def _balance(
        self, rows: Rows, state: Mapping[str, np.ndarray], wrenches: Mapping[str, object] | None
    ) -> np.ndarray:
        """B tau + sum J_i' w_i - h (N, nv)."""
        robot, nv, shape = self.open, self.functions.nv, rows.shape
        q, v = (state[name].reshape(*shape, -1) for name in ("q", "v"))
        h = robot.inverse_dynamics(q, v, np.zeros_like(v), wrenches).reshape(rows.count, -1)[:, :nv]
        tau = state["tau"]
        if robot.effort_names != robot.v_names:
            tau = np.einsum("nij,nj->ni", robot.actuation_matrix(state["q"]), tau)
        return np.asarray(tau - h)

    def _refuse_open(
        self, closure: Closure, v: np.ndarray, batch: tuple[int, ...], tolerance: float
    ) -> np.ndarray:
        """Marks (N,) the states off the loops; StateError for a single one."""
        gap, speed = np.abs(closure.residual), np.abs(closure.rate)
        allowed = tolerance * np.maximum(1.0, np.abs(v).max(axis=1, initial=0.0))
        found = (gap > tolerance).any(axis=1) | (speed > allowed[:, None]).any(axis=1)
        if not found.any():
            return np.asarray(found)
        n = int(np.argmax(found))
        is_gap = bool((gap[n] > tolerance).any())
        row = int(np.argmax(gap[n] if is_gap else speed[n]))
        name = self.geometry.loops[self.geometry.loop_of[row]].record.name
        text = (
            f"loop '{name}' is open by {gap[n, row]:.3g} m (rad), expected at most {tolerance:g}; assemble(q) "
            "closes it"
            if is_gap
            else f"loop '{name}' opens at {speed[n, row]:.3g} m/s (rad/s), expected at most {allowed[n]:.3g}; "
            "project(q, v) gives velocities that it can have"
        )
        if batch == ():
            raise StateError(text)
        warnings.warn(
            f"{int(found.sum())} of {len(found)} states are off the loops; their rows are NaN (sample {n}: "
            f"{text})",
            FlexdynWarning,
            5,
        )
        return np.asarray(found)

    def _report(self, found: Solution, batch: tuple[int, ...], is_given: bool) -> None:
        """Raise or warn where loops contradict each other, or lose rank."""
        lost = found.rank < self.rank
        wrong = (found.left > 1e-8) & (~lost | is_given)
        names = [self.geometry.loops[self.geometry.loop_of[row]].record.name for row in found.weakest]
        if wrong.any():
            n = int(np.argmax(wrong))
            text = (
                f"accelerations of loop '{names[n]}' contradict those of the others, or those that are given"
            )
            if batch == ():
                raise SingularityError(text, float(found.left[n]))
            found.a[wrong] = np.nan
            text = f"{int(wrong.sum())} of {len(wrong)} states have no accelerations; their rows are NaN ({text})"
            warnings.warn(text, FlexdynWarning, 5)
        elif lost.any() and not is_given:
            n = int(np.argmax(lost))
            warnings.warn(
                f"robot '{self.description.name}': loop '{names[n]}' is in a singular pose, rank "
                f"{found.rank[n]} instead of {self.rank}; its accelerations are those of least squares",
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
        joints get 0. Where a is off the loops, the nearest a in the metric of M is taken, with a warning.

        Raises
        ------
        DimensionError, StateError, UnknownNameError
            StateError: the loops are open at (q, v).
        SingularityError
            If no actuator reaches what a motion takes; in a batch such rows are NaN.
        UnsupportedError
            With unactuated="free".
        """
        if unactuated != "given":
            UnknownNameError.check("value of unactuated", unactuated, ("given", "free"))
            raise self._unsupported("inverse_dynamics(unactuated='free')")
        rows, tau, _ = self._efforts(q, v, a, wrenches, "all" if actuators is None else actuators)
        result = check_out(out, (*rows.shape, self.functions.nu), rows)
        result.reshape(rows.count, -1)[...] = tau
        return result

    def _efforts(
        self,
        q: np.ndarray,
        v: np.ndarray,
        a: np.ndarray,
        wrenches: Mapping[str, object] | None,
        actuators: str | Sequence[str],
    ) -> tuple[Rows, np.ndarray, np.ndarray]:
        """The batch, tau (N, nu), and multipliers of least norm (N, m)."""
        f, robot = self.functions, self.open
        chosen = chosen_actuators(f.robot, actuators)
        motion = {"q": (q, f.nq), "v": (v, f.nv), "a": (a, f.nv)}
        rows = rows_with_wrenches(wrenches, **motion)
        state = {name: rows.take(name) for name in motion}
        f.check(state)
        closure = self.geometry.at(state["q"], state["v"])
        is_open = self._refuse_open(closure, state["v"], rows.shape, OPEN)
        M = robot.mass_matrix(state["q"])
        state["a"] = self._admissible(state["a"], M, closure)
        moved = (state[name].reshape(*rows.shape, -1) for name in motion)
        needed = robot.inverse_dynamics(*moved, wrenches).reshape(rows.count, -1)[:, : f.nv]
        B = robot.actuation_matrix(state["q"])[:, :, chosen]
        free = np.array([c.kind not in _DRIVEN_KINDS for c in f.coordinates], dtype=bool)
        tau, lam, impossible = np.zeros((rows.count, f.nu)), np.zeros(closure.residual.shape), []
        for i in range(rows.count):
            N = null_space(closure.J[i])
            inverse = np.linalg.inv(M[i])[np.ix_(free, free)]
            u, rest, left = least_efforts(
                N.T @ needed[i], N.T @ B[i], N.T[:, free], inverse, self.weights(chosen)
            )
            if np.abs(left).max(initial=0.0) > _POSSIBLE * max(np.abs(needed[i]).max(initial=0.0), 1e-300):
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

    def _admissible(self, a: np.ndarray, M: np.ndarray, closure: Closure) -> np.ndarray:
        """The accelerations (N, nv) that are nearest to a in the metric of M and that loops allow."""
        missed = np.einsum("nij,nj->ni", closure.J, a) + closure.bias
        scale = np.einsum("nij,nj->ni", np.abs(closure.J), np.abs(a)) + np.abs(closure.bias) + 1.0
        if (np.abs(missed) <= OPEN * scale).all():
            return a
        n, row = np.unravel_index(int(np.argmax(np.abs(missed) / scale)), missed.shape)
        name = self.geometry.loops[self.geometry.loop_of[row]].record.name
        warnings.warn(
            f"the accelerations open loop '{name}' at {abs(missed[n, row]):.3g} m/s2 (rad/s2); the nearest "
            "that it can have are taken",
            FlexdynWarning,
            5,
        )
        change, _ = self._factors(M, closure.J).solve(np.zeros((*a.shape, 1)), -missed[..., None])
        return np.asarray(a + change[..., 0])

    def weights(self, chosen: np.ndarray) -> np.ndarray:
        """Of the squares of efforts: 1/limit^2 where all chosen actuators have a largest effort, else 1."""
        limits = np.array([self.functions.effort_coordinates[i].effort_limit for i in chosen])
        known = limits.size and bool((np.isfinite(limits) & (limits > 0.0)).all())
        return 1.0 / limits**2 if known else np.ones(len(chosen))

    def _report_impossible(self, impossible: list[tuple[int, np.ndarray]], rows: Rows) -> None:
        if not impossible:
            return
        i, left = impossible[0]
        c = self.functions.coordinates[int(np.argmax(np.abs(left)))]
        unit = "N m" if c.unit == "rad" else "N"
        text = (
            f"no chosen actuator moves the mechanism along a motion in which '{c.name}' moves most, "
            f"{np.abs(left).max():.4g} {unit} are left there; expected a motion that the actuators can make, "
            "or more of them (<actuation active=...>)"
        )
        if rows.shape == ():
            raise SingularityError(text, 0.0)
        warnings.warn(
            f"{len(impossible)} of {rows.count} motions are not possible with these actuators; their rows are "
            f"NaN (sample {i}: {text})",
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
            rows, solution = self._solve(q, v, tau, wrenches, None, OPEN)
            lam = solution.multipliers
        else:
            rows, _, lam = self._efforts(q, v, a, wrenches, "all")
        state = rows.take("q")
        closure = self.geometry.at(state, np.zeros((rows.count, self.functions.nv)))
        on_end = np.zeros((rows.count, len(self.loops), 6))
        for i in range(len(self.loops)):
            mine = self.geometry.loop_of == i
            on_end[:, i] = np.einsum("nr,nrk->nk", lam[:, mine], closure.lines[:, mine, 6:])
        known = self._factors(self.open.mass_matrix(state), closure.J).determinate()
        force, moment = (x.reshape(*rows.shape, -1, 3) for x in (on_end[..., 3:], on_end[..., :3]))
        return LoopReactions(force, moment, known.reshape(*rows.shape, -1))

    # ---- small motions ----

    def linearize(
        self,
        q: np.ndarray,
        v: np.ndarray,
        tau: np.ndarray | None = None,
        wrenches: Mapping[str, object] | None = None,
        *,
        lock: Sequence[str] | str = (),
    ) -> Linearization:
        """A and B of `Robot.linearize`, in all coordinates: the derivative of `forward_dynamics` off the loops
        too. At an equilibrium A has two eigenvalues 0 for each independent row of the loops.

        Raises
        ------
        DimensionError, StateError, UnknownNameError, SingularityError
        UnsupportedError
            With wrenches.
        """
        if wrenches:
            raise self._unsupported("linearize(wrenches=...)")
        f = self.functions
        locked = chosen_coordinates(lock, f.coordinates, "lock")
        held = {f.v_names[i]: 0.0 for i in np.flatnonzero(locked)}
        rows, found = self._solve(q, v, tau, None, held, OPEN)
        state = {name: rows.take(name) for name in ("q", "v", "tau")}
        motion = {name: (x, x.shape[1]) for name, x in state.items()}
        a = np.where(np.isfinite(found.a), found.a, 0.0)
        slopes = self._inner.slopes_rows(Rows({**motion, "a": (a, f.nv)}), None)
        A, B = linearized(self, state, found, locked, slopes)
        kept = np.flatnonzero(np.tile(~locked, 2))
        A, B = A[:, kept[:, None], kept], B[:, kept]
        return Linearization(*(x.reshape(*rows.shape, *x.shape[1:]) for x in (A, B)))

    def modes(self, q: np.ndarray, *, v: np.ndarray | None = None, lock: Sequence[str] | str = ()) -> Modes:
        """Modes of vibration about rest at q (..., nq), on the motions that loops leave: as many as these.

        The forces of loops are those under which the least efforts of all actuators, and of locked
        coordinates, hold the robot.

        Raises
        ------
        DimensionError, StateError, UnknownNameError, SingularityError
            StateError: the loops are open at q.
        UnsupportedError
            With v.
        """
        if v is not None:
            raise self._unsupported("modes(v=...)")
        f = self.functions
        locked = chosen_coordinates(lock, f.coordinates, "lock") | f.prescribed
        rows = Rows({"q": (q, f.nq)})
        still = np.zeros((rows.count, f.nv))
        if self._refuse_open(self._at(rows), still, (), OPEN).any():
            raise StateError("the loops are open")
        found = modes_with_loops(self, rows.take("q"), locked)
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
        f = self.functions
        held = chosen_coordinates(hold, f.coordinates, "hold") | f.prescribed
        tau = np.zeros(f.nu) if tau is None else tau
        q0 = f.neutral() if q0 is None else q0
        rows = rows_with_wrenches(wrenches, q0=(q0, f.nq), tau=(tau, f.nu))
        if rows.shape:
            raise DimensionError(f"static_equilibrium takes single states, got a batch of shape {rows.shape}")
        start, effort = rows.take("q0"), rows.take("tau")
        f.check({"q": start, "tau": effort})
        names = tuple(name for name, is_held in zip(f.v_names, held, strict=True) if is_held)
        closed = self._closed(start[0].copy(), self._moves(names))
        return equilibrium(self, closed, effort[0], held, wrenches)

    # ---- what there is not ----

    def inverse_dynamics_derivatives(self, *arguments: object, **more: object) -> NoReturn:
        """UnsupportedError: not computed with loops yet."""
        raise self._unsupported("inverse_dynamics_derivatives")

    def forward_dynamics_parameter_derivatives(self, *arguments: object, **more: object) -> NoReturn:
        """UnsupportedError: not computed with loops yet."""
        raise self._unsupported("forward_dynamics_parameter_derivatives")

    def _unsupported(self, what: str) -> UnsupportedError:
        names = ", ".join(f"'{loop.record.name}'" for loop in self.geometry.loops)
        return UnsupportedError(
            f"robot {self.description.name!r} has loops ({names}): {what} is not computed with loops yet"
        )

    def refuse(self, verb: str) -> None:
        raise self._unsupported(verb)


def _rank(rows: np.ndarray) -> int:
    """Rank of rows (m, nv)."""
    if not rows.size:
        return 0
    values = np.linalg.svd(rows, compute_uv=False)
    return int((values > _RANK * max(float(values.max()), 1e-300)).sum())
