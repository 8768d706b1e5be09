"""What platforms have beside the verbs: kinematics of the legs, forces in their joints, margins of poses."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from flexdyn_ros.errors import DimensionError, UnknownNameError, UnsupportedError
from flexdyn_ros.families.platform.kernels import entries as kernels
from flexdyn_ros.families.platform.kernels import kinematics as columns
from flexdyn_ros.families.platform.margins import ball_motion, margins_of
from flexdyn_ros.families.platform.model import LegFacts, PlatformTables, near_limits
from flexdyn_ros.families.platform.pose import MODES, Acceptance, Found, complain, turn_between
from flexdyn_ros.families.platform.reactions import leg_loads
from flexdyn_ros.families.platform.results import Legs, LegStates, Margins, Pose, Reactions
from flexdyn_ros.robot.arguments import (
    Rows,
    by_name,
    check_out,
    explain_status,
    finite_number,
    rows_with_wrenches,
    wrench_rows,
)
from flexdyn_ros.robot.threads import run_in_slices

_empty = np.empty
#: what robots have of `LegKinematics`
OFFERS = (
    "leg_limits", "inverse_kinematics", "forward_kinematics", "leg_jacobian", "leg_states", "leg_joints",
    "limited_motion", "joint_reactions", "workspace_margins",
)  # fmt: skip


class LegKinematics:
    """Kinematics and joint forces of the six legs of a platform; q is its pose, v its twist."""

    def __init__(self, platform: Any) -> None:
        """platform: `PlatformFunctions`, which lie above"""
        self._of = platform
        self.tables: PlatformTables = platform.tables
        self.legs: tuple[LegFacts, ...] = platform.legs

    def inverse_kinematics(
        self, q: np.ndarray, v: np.ndarray | None = None, a: np.ndarray | None = None
    ) -> Legs:
        """Lengths of the legs at poses q (..., 7); rates for twists v (..., 6); accelerations for a (..., 6).

        Rates need v; accelerations need v and a. See `Legs`.

        Raises
        ------
        DimensionError, StateError
        """
        if a is not None and v is None:
            raise DimensionError("accelerations of legs need v beside a")
        zero = np.zeros(6)
        table, _shape = self._motions(q, zero if v is None else v, zero if a is None else a)
        lengths = table[..., columns.LENGTH]
        shortest = np.array([leg.shortest for leg in self.legs])
        return Legs(
            length=lengths.copy(),
            rate=None if v is None else table[..., columns.RATE].copy(),
            acceleration=None if a is None else table[..., columns.ACCELERATION].copy(),
            stroke=lengths - shortest,
            direction=table[..., columns.DIRECTION : columns.DIRECTION + 3].copy(),
            angles=table[..., columns.ANGLES : columns.ANGLES + 2].copy(),
        )

    def forward_kinematics(
        self,
        lengths: np.ndarray,
        guess: np.ndarray | None = None,
        *,
        rates: np.ndarray | None = None,
        max_distance: float | None = None,
        mode: str = "home",
        strict: bool = True,
    ) -> Pose:
        """The pose with given lengths of the legs, found from a guess by Newton's method with short steps.

        Six lengths belong to as many as 40 poses, the assembly modes (Raghavan 1993). The guess says near
        which the pose is looked for, `mode` on which side of singularities. A pose is accepted only if every
        length is met within 1e-9 m, the determinant of the leg Jacobian has the sign that the mode asks for,
        its smallest singular value (homogeneous) is at least min_singular_value of the description, and it is
        no farther from the guess than max_distance.

        Parameters
        ----------
        lengths : (..., 6) array [m]
        guess : (..., 7) array, optional
            Where to start; the pose at home if omitted.
        rates : (..., 6) array, optional
            Rates of the lengths [m/s]; the twist v that belongs to them is returned.
        max_distance : float, optional
            Largest way of the origin, and largest turn times the root-mean-square distance of the upper
            joints, from the guess [m].
        mode : "home", "guess" or "any"
            The sign of the determinant: that at home, that at the guess, or either.
        strict : bool
            False: a pose that is refused is the guess, with converged False and the reason in `refusal`.

        Raises
        ------
        DimensionError, StateError, UnknownNameError
        ConvergenceError
            If a pose is refused and `strict`; says why: which leg misses its length, the determinant, the
            singular value or the distance, with what was expected.
        """
        UnknownNameError.check("mode", mode, tuple(MODES))
        given: dict[str, tuple[Any, int]] = {"lengths": (lengths, 6)}
        given["q"] = (self.tables.neutral if guess is None else guess, 7)
        if rates is not None:
            given["rates"] = (rates, 6)
        rows = Rows(given)
        data = {name: rows.take(name) for name in ("q", "lengths")}
        self._of.check({name: rows.take(name) for name in given})
        q = data["q"].copy()
        iterations, residual = np.zeros(rows.count, dtype=np.int64), _empty(rows.count)

        def call(lengths: np.ndarray, *arrays: np.ndarray) -> int:
            return kernels.find_pose_many(self._of.address, self._of.work(), lengths, *arrays)

        explain_status(run_in_slices(call, [data["lengths"], q, iterations, residual]), data)
        found = self._found(q, data, iterations)
        reasons = self._acceptance(data["q"], max_distance, mode).refusals(found, data["lengths"])
        if strict:
            complain(reasons, found)
        refusal = np.array(reasons, dtype=object)
        good = refusal == ""
        q[~good] = data["q"][~good]
        v = None if rates is None else self._twists(q, rows.take("rates")).reshape(*rows.shape, 6)
        flat = (good, iterations, residual, refusal)
        return Pose(q.reshape(*rows.shape, 7), v, *(x.reshape(rows.shape)[()] for x in flat))

    def _found(self, q: np.ndarray, data: Mapping[str, np.ndarray], iterations: np.ndarray) -> Found:
        """Of poses q (n, 7) that the search ended at; starts and lengths in data."""
        good = np.isfinite(q).all(axis=1)
        safe = np.where(good[:, None], q, data["q"])
        errors = self.inverse_kinematics(safe).length - data["lengths"]
        away = turn_between(self._of.robot.difference, data["q"], safe, self.tables.reach)
        return Found(self.leg_jacobian(safe), np.where(good[:, None], errors, np.inf), away, iterations)

    def _acceptance(self, start: np.ndarray, max_distance: float | None, mode: str) -> Acceptance:
        """Of poses found from starts (n, 7)."""
        platform = self._of.description.platform
        assert platform is not None
        strokes = [(leg.name, leg.shortest, leg.shortest + leg.stroke) for leg in self.legs]
        farthest = np.inf if max_distance is None else finite_number(max_distance, "max_distance")
        at_start = np.sign(np.linalg.det(self.leg_jacobian(start)))
        sign = at_start if mode == "guess" else np.array(self._home_sign)
        return Acceptance(strokes, self.tables.reach, platform.min_singular_value, farthest, mode, sign)

    def _twists(self, q: np.ndarray, rates: np.ndarray) -> np.ndarray:
        """v (n, 6) of J v = rates."""
        return np.linalg.solve(self.leg_jacobian(q), rates[..., None])[..., 0]

    def leg_jacobian(self, q: np.ndarray, *, out: np.ndarray | None = None) -> np.ndarray:
        """J (..., 6, 6): lengths' = J v, angular columns first."""
        rows = Rows({"q": (q, 7)})
        J = check_out(out, (*rows.shape, 6, 6), rows)
        self._of.call(kernels.leg_jacobian_many, rows, ("q",), J.reshape(rows.count, 6, 6))
        return J

    def leg_states(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> LegStates:
        """Angular motion of the legs and accelerations of their centres of mass; see `LegStates`."""
        table, shape = self._motions(q, v, a)
        com = table[..., columns.CYLINDER_ACCELERATION : columns.ROD_ACCELERATION + 3]
        return LegStates(
            spin=table[..., columns.SPIN].copy(),
            angular_velocity=table[..., columns.OMEGA : columns.OMEGA + 3].copy(),
            angular_acceleration=table[..., columns.ALPHA : columns.ALPHA + 3].copy(),
            com_acceleration=com.reshape(*shape, 6, 2, 3).copy(),
        )

    def leg_joints(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Positions and rates (..., 6, 3) of the URDF's joints of each leg: both angles of the universal
        joint [rad], the slider [m]."""
        table, _ = self._motions(q, v, np.zeros(6))
        shortest = np.array([leg.shortest for leg in self.legs])
        strokes, rates = table[..., columns.LENGTH] - shortest, table[..., columns.RATE]
        angles = table[..., columns.ANGLES : columns.ANGLES + 2]
        turning = table[..., columns.ANGLE_RATES : columns.ANGLE_RATES + 2]
        return (
            np.concatenate([angles, strokes[..., None]], axis=-1),
            np.concatenate([turning, rates[..., None]], axis=-1),
        )

    @cached_property
    def leg_limits(self) -> tuple[tuple[str, ...], np.ndarray, np.ndarray]:
        """What limits the legs, k of them: names, lower and upper limits (k,) [rad, m].

        Of each leg both angles of the universal joint and the stroke, by the names of the URDF's joints, and
        the angle of the spherical joint, `LEG/ball`, by which the leg has left its direction at home;
        infinite where there is none.
        """
        names = tuple(name for leg in self.legs for name in (*leg.joints, f"{leg.name}/ball"))
        limits = np.array(
            [(*leg.angle_limits, (0.0, leg.stroke), (-np.inf, leg.ball_limit)) for leg in self.legs]
        ).reshape(-1, 2)
        return names, limits[:, 0], limits[:, 1]

    def limited_motion(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Where the legs are, (..., k), and how fast that changes, in the order of `leg_limits`."""
        angles = np.array([leg.angle_limits for leg in self.legs])
        position, rate = self.leg_joints(q, v)
        position[..., :2] = near_limits(position[..., :2], angles)
        ball, turning = ball_motion(self.tables, self.inverse_kinematics(q, v), np.asarray(q), np.asarray(v))
        both = [np.concatenate([x, y[..., None]], axis=-1) for x, y in ((position, ball), (rate, turning))]
        shape = (*ball.shape[:-1], 4 * ball.shape[-1])
        return both[0].reshape(shape), both[1].reshape(shape)

    def joint_reactions(
        self, q: np.ndarray, v: np.ndarray, a: np.ndarray, wrenches: Mapping[str, object] | None = None
    ) -> Reactions:
        """Forces and moments in all joints of the legs for a motion; see `Reactions`.

        Wrenches may act on the platform, on cylinders and on rods.

        Raises
        ------
        DimensionError, StateError, UnknownNameError, SingularityError
        UnsupportedError
            If a wrench acts on the massless cross of a universal joint: how its two axes share it is no
            reaction that is told.
        """
        for name in by_name(wrenches, "wrenches", "(..., 6) arrays"):
            body = self._of.frame(name).body
            if body > 1 and (body - 2) % 3 == 0:
                raise UnsupportedError(f"joint_reactions with a wrench on the cross '{name}'")
        tau = self._of.robot.inverse_dynamics(q, v, a, wrenches)
        rows = rows_with_wrenches(wrenches, q=(q, 7), v=(v, 6), a=(a, 6), tau=(tau, 6))
        arrays = {name: rows.take(name) for name in ("q", "v", "a", "tau")}
        loads = leg_loads(self._of.robot, arrays["q"], wrenches, wrench_rows(rows, wrenches))
        if loads is None:
            found = self._bare_reactions(*arrays.values())
        else:
            legs = self.inverse_kinematics(arrays["q"])
            # the push on the platform, which the forces on the rod share with the cylinder
            along = np.einsum("nij,nij->ni", loads.force_rod, legs.direction)
            bare = self._bare_reactions(arrays["q"], arrays["v"], arrays["a"], arrays["tau"] + along)
            found = loads.added_to(bare, self.tables, legs.length, legs.direction)
        return Reactions(*(x.reshape(*rows.shape, *x.shape[1:]) for x in found))

    def _bare_reactions(self, q: np.ndarray, v: np.ndarray, a: np.ndarray, tau: np.ndarray) -> Reactions:
        """Reactions (count, 6[, 3]) under drive forces tau (count, 6) without wrenches on legs."""
        table = _empty((len(q), 6, columns.REACTION_COLUMNS))
        kernels.reactions_many(self._of.address, q, v, a, np.ascontiguousarray(tau), table)

        def vector(at: int) -> np.ndarray:
            return table[..., at : at + 3].copy()

        return Reactions(
            drive=tau.copy(),
            f_b=vector(columns.F_B),
            f_p=vector(columns.F_P),
            f_a=vector(columns.F_A),
            n_p=vector(columns.N_P),
            moment_a=vector(columns.MOMENT_A),
            guide_torque=table[..., columns.GUIDE_TORQUE].copy(),
        )

    def workspace_margins(self, q: np.ndarray) -> Margins:
        """How far poses (..., 7) are from strokes, joint limits, collisions and singularities; see
        `Margins`.

        Only end points are judged: between two poses on opposite sides of a singularity the determinant
        changes its sign.
        """
        rows = Rows({"q": (q, 7)})
        states = rows.take("q")
        found = margins_of(
            self.tables, states, self.inverse_kinematics(states), self.leg_jacobian(states), self._home_sign
        )
        return Margins(*(x.reshape(rows.shape + x.shape[1:])[()] for x in found))

    # ---- behind the verbs ----

    @cached_property
    def _home_sign(self) -> float:
        """Sign of the determinant of the leg Jacobian at home."""
        return float(np.sign(np.linalg.det(self.leg_jacobian(self.tables.neutral))))

    def _motions(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> tuple[np.ndarray, tuple[int, ...]]:
        """The table of leg motions (..., 6, MOTION_COLUMNS) and the batch."""
        rows = Rows({"q": (q, 7), "v": (v, 6), "a": (a, 6)})
        table = _empty((rows.count, 6, columns.MOTION_COLUMNS))
        data = {name: rows.take(name) for name in ("q", "v", "a")}

        def call(*arrays: np.ndarray) -> int:
            return kernels.legs_many(self._of.address, *arrays)

        explain_status(run_in_slices(call, [*data.values(), table]), data)
        return table.reshape(*rows.shape, 6, columns.MOTION_COLUMNS), rows.shape
