"""`excite`: a motion within limits of which the data say most."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from time import perf_counter

import numpy as np

from flexdyn_ros.errors import ConvergenceError, StateError, UnknownNameError, UnsupportedError
from flexdyn_ros.identification.base import BaseParameters, base_parameters
from flexdyn_ros.identification.limits import Limits
from flexdyn_ros.identification.linear.models import LinearModel, linear_model
from flexdyn_ros.robot.coordinates import MODAL, Coordinate, units_of
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.simulation.trajectory import Trajectory
from flexdyn_ros.writing import write_text

#: share of the range of a joint that is kept free at either end
MARGIN = 0.02


@dataclass(frozen=True, eq=False)
class Fourier:
    """Sums of sines and cosines of n joints at times t (m,), of a period [s] (Swevers et al. 1997).

    A motion is n rows of a vector: 2 H amplitudes, which are changed as little as makes rate and acceleration
    vanish at the start, and so at the end, and scaled to the limits; last where in its range its middle lies.

    Attributes
    ----------
    t : (m,) array
    shapes : tuple of (m, 2 H) arrays
        Of position, rate, acceleration.
    lower, upper, speed, acceleration : (n,) arrays
        Limits; position finite, others may be infinite.
    """

    t: np.ndarray
    shapes: tuple[np.ndarray, np.ndarray, np.ndarray]
    at_rest: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    speed: np.ndarray
    acceleration: np.ndarray

    @classmethod
    def of(
        cls, t: np.ndarray, period: float, harmonics: int, lower: np.ndarray, upper: np.ndarray,
        speed: np.ndarray, acceleration: np.ndarray,
    ) -> Fourier:  # fmt: skip
        """Series of that many harmonics."""
        w = 2.0 * np.pi * np.arange(1, harmonics + 1) / period
        angle = t[:, None] * w
        sine, cosine = np.sin(angle), np.cos(angle)
        position = np.hstack([sine, cosine])
        rate = np.hstack([w * cosine, -w * sine])
        second = np.hstack([-(w**2) * sine, -(w**2) * cosine])
        # amplitudes of which rate and acceleration vanish at t = 0: sum w a = 0, sum w^2 b = 0
        rows = np.zeros((2, 2 * harmonics))
        rows[0, :harmonics], rows[1, harmonics:] = w, w**2
        at_rest = np.eye(2 * harmonics) - rows.T @ np.linalg.solve(rows @ rows.T, rows)
        return cls(t, (position, rate, second), at_rest, lower, upper, speed, acceleration)

    @property
    def size(self) -> int:
        """Length of the vector of a motion."""
        return self.lower.size * (self.at_rest.shape[0] + 1)

    def motion(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """q, v, a (m, n) of a vector, within the limits."""
        rows = x.reshape(self.lower.size, -1)
        amplitudes = rows[:, :-1] @ self.at_rest
        q, v, a = (shape @ amplitudes.T for shape in self.shapes)
        span = (1.0 - 2.0 * MARGIN) * (self.upper - self.lower)
        middle = 0.5 * (q.max(axis=0) + q.min(axis=0))
        share = np.max([
            np.ptp(q, axis=0) / np.maximum(span, 1e-300), np.abs(v).max(axis=0) / self.speed,
            np.abs(a).max(axis=0) / self.acceleration, np.full(span.size, 1e-300),
        ], axis=0)  # fmt: skip
        factor = 1.0 / np.maximum(share, 1.0)
        q, v, a = factor * (q - middle), factor * v, factor * a
        room = np.maximum(span - np.ptp(q, axis=0), 0.0)
        centre = 0.5 * (self.lower + self.upper) + 0.5 * room * np.tanh(rows[:, -1])
        return q + centre, v, a


States = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]

CRITERIA = ("d_optimal", "condition")
#: samples at which a motion is judged, for each harmonic
PER_HARMONIC = 8
#: how much worse a motion is for each share by which it passes a limit
PENALTY = 1e3
#: steps of the search: the first, and factors after a better and a worse motion (one better in five)
FIRST, LONGER, SHORTER = 0.5, 1.5, 1.5**-0.25


def excite(
    robot: Robot,
    duration: float,
    limits: Mapping[str, object] | None = None,
    criterion: str = "d_optimal",
    *,
    parameters: str | Sequence[str] | None = None,
    harmonics: int = 5,
    sample: float = 0.01,
    evaluations: int = 300,
    seed: int = 0,
    progress: Callable[[int, float], object] | None = None,
) -> Trajectory:
    """Exciting trajectory for identification: Fourier series of one period, which begin and end at
    rest, searched for the best regressor of the base parameters (Swevers, Ganseman, Tuekel, De Schutter &
    Van Brussel 1997).

    Parameters
    ----------
    robot : Robot
        A tree on a fixed base. Links that bend do so quasi-statically. Of a rigid mechanism with closed loops
        the joints with actuators move as designed, and the others as the loops have them.
    duration : float
        Of the period [s].
    limits : mapping, optional
        position: a number either way, (lower, upper), or those by joint, (x, x) to hold one; velocity,
        acceleration, effort: a number, one a joint, or by joint; deflection: of the tips of links that bend
        [m]. They narrow what the description says; joints without limits move within half a turn or 1 m,
        2 rad/s (m/s) and 10 rad/s2.
    criterion : {"d_optimal", "condition"}
        The largest determinant of the information on the base parameters, or the least condition number of
        the regressor.
    parameters : names or patterns, optional
        Which are to be told, as of `base_parameters`.
    harmonics : int
    sample : float
        Time between the samples of the result [s].
    evaluations : int
        Motions that are tried.
    seed : int
    progress : callable (evaluation, criterion), optional

    Returns
    -------
    Trajectory
        Positions, rates and efforts of the instants of the samples, not held between them; `to_csv` writes
        it.

    Raises
    ------
    StateError
        If no motion within the limits was found.
    DimensionError, UnknownNameError, UnsupportedError
    """
    UnknownNameError.check("criterion", criterion, CRITERIA)
    began = perf_counter()
    joints = _joints(robot)
    told = Limits.of(robot, joints, limits)
    for name, value in {"duration": duration, "sample": sample}.items():
        if not 0.0 < value < np.inf:
            raise StateError(f"{name} is {value} s, expected more than 0 s")
    if harmonics < 2:
        raise StateError(f"harmonics is {harmonics}, expected at least 2: one cannot begin at rest")
    base = base_parameters(robot, parameters=parameters)
    judged = np.linspace(0.0, duration, PER_HARMONIC * harmonics, endpoint=False)
    model = linear_model(robot)
    design = _Design(robot, model, joints, told, base, criterion, _series(judged, duration, harmonics, told))
    x = _searched(design, evaluations, seed, progress)
    t = sample * np.arange(round(duration / sample) + 1)
    fine = _series(t, duration, harmonics, told).motion(x)
    if not design.keeps_limits(fine):
        # limits that are passed between the samples that were judged, or cannot be kept by any motion
        fine = _within(design, x, t, duration, harmonics)
    return _trajectory(robot, t, design.states(*fine), sample, perf_counter() - began)


def _moved(robot: Robot) -> list[Coordinate]:
    """The joints that a motion is designed for: with closed loops those with actuators."""
    joints = [c for c in robot.coordinates if c.kind == "joint"]
    return [c for c in joints if c.name in robot.actuators] if robot.functions.is_constrained else joints


def _joints(robot: Robot) -> list[Coordinate]:
    joints = _moved(robot)
    if robot.functions.is_constrained and (
        robot.nu != robot.nv or any(c.kind in MODAL for c in robot.coordinates)
    ):
        robot.functions.refuse("excite by cylinders, or of links that bend,")
    if robot.nu != robot.nv or any(c.kind in ("base", "hub", "platform", "motor") for c in robot.coordinates):
        raise UnsupportedError(
            f"{robot.name} does not stand on a fixed base, or is driven by legs: not designed for"
        )
    if not joints:
        moves = "has an actuator" if robot.functions.is_constrained else "moves"
        raise UnsupportedError(f"{robot.name} has no joint that {moves}: there is nothing to excite")
    return joints


def _series(t: np.ndarray, duration: float, harmonics: int, limits: Limits) -> Fourier:
    return Fourier.of(
        t, duration, harmonics, limits.lower, limits.upper, limits.velocity, limits.acceleration
    )


@dataclass(frozen=True, eq=False)
class _Design:
    """What a motion is judged by."""

    robot: Robot
    model: LinearModel
    joints: list[Coordinate]
    limits: Limits
    base: BaseParameters
    criterion: str
    series: Fourier

    def value(self, x: np.ndarray) -> float:
        """The criterion, less is better; more where limits are passed."""
        try:
            q, v, a, tau = self.states(*self.series.motion(x))
        except ConvergenceError:
            return np.inf  # the loops do not close all along the motion
        names = [p.name for p in self.model.parameters]
        columns = [names.index(self.base.parameters[i].name) for i in self.base.leading]
        W = self.model.regressor(q, v, a).Y[..., columns]
        size = np.sqrt(np.mean(tau**2, axis=0))
        W = (W / np.where(size > 0.0, size, 1.0)[:, None]).reshape(-1, len(columns))
        singular = np.linalg.svd(W, compute_uv=False)
        small = max(float(singular[-1]), 1e-12 * float(singular[0]))
        if self.criterion == "condition":
            found = float(np.log(singular[0] / small))
        else:
            found = -float(np.mean(np.log(np.maximum(singular, small))))
        return found + PENALTY * self.excess(q, v, a, tau)

    def states(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> States:
        """q (m, nq), v, a (m, nv) of all coordinates, and efforts, of a motion of the joints (m, n);
        ConvergenceError where loops do not close."""
        if self.robot.functions.is_constrained:
            return self._closed(q, v, a)
        q, v, a = (self._spread(part) for part in (q, v, a))
        others = [c.v_index for c in self.robot.coordinates if c.kind != "joint"]
        if others:
            q[:, others] = self._bent(q, v, a, others)
        return q, v, a, self.robot.inverse_dynamics(q, v, a)

    def _closed(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> States:
        """`states` on the loops of a robot."""
        robot, names = self.robot, [c.name for c in self.joints]
        at, driven = [c.q_index for c in self.joints], [c.v_index for c in self.joints]
        poses, speeds = np.empty((len(q), robot.nq)), np.empty((len(q), robot.nv))
        near = robot.neutral()
        for i in range(len(q)):
            near[at] = q[i]
            near = poses[i] = robot.functions.closed(near, names)
            N = robot.functions.motions(near)
            speeds[i] = N @ np.linalg.solve(N[driven], v[i])
        asked = dict(zip(names, a.T, strict=True))
        found = robot.forward_dynamics(poses, speeds, prescribed=asked)
        return poses, speeds, found, robot.inverse_dynamics(poses, speeds, found)

    def _spread(self, part: np.ndarray) -> np.ndarray:
        """Rows of all coordinates (m, nv) from those of joints, others zero."""
        full = np.zeros((len(part), self.robot.nv))
        full[:, [c.v_index for c in self.joints]] = part
        return full

    def _bent(self, q: np.ndarray, v: np.ndarray, a: np.ndarray, others: list[int]) -> np.ndarray:
        """Modal coordinates (m, k) that springs hold against the forces of the motion: K q = -force."""
        force = self.robot.inverse_dynamics(q, v, a)[:, others]
        still = np.zeros(self.robot.nv)
        dq, _, _ = self.robot.inverse_dynamics_derivatives(self.robot.neutral(), still, still)
        return -np.linalg.solve(dq[np.ix_(others, others)], force.T).T

    def keeps_limits(self, motion: tuple[np.ndarray, np.ndarray, np.ndarray]) -> bool:
        """Whether a motion of the joints passes no limit of efforts and deflections, and loops close."""
        try:
            return self.excess(*self.states(*motion)) == 0.0
        except ConvergenceError:
            return False

    def excess(self, q: np.ndarray, v: np.ndarray, a: np.ndarray, tau: np.ndarray) -> float:
        """By how much efforts and deflections pass their limits, as shares of these, together."""
        places = [c.v_index for c in self.joints]
        most = np.abs(tau[:, places]).max(axis=0)
        found = float(np.sum(np.maximum(most / self.limits.effort - 1.0, 0.0)))
        if np.isfinite(self.limits.deflection):
            for deflection in self.robot.deflections(q, [1.0]).values():
                far = float(np.linalg.norm(deflection.displacement[:, 0], axis=-1).max())
                found += max(far / self.limits.deflection - 1.0, 0.0)
        return found


def _searched(
    design: _Design, evaluations: int, seed: int, progress: Callable[[int, float], object] | None
) -> np.ndarray:
    """The best motion that an evolution strategy of one parent and one child finds (Rechenberg 1973)."""
    if evaluations < 1:
        raise StateError(f"evaluations is {evaluations}, expected at least 1")
    rng = np.random.default_rng(seed)
    tries = max(evaluations // 10, 1)
    starts = [rng.standard_normal(design.series.size) for _ in range(tries)]
    values = [design.value(x) for x in starts]
    best = int(np.argmin(values))
    x, value, step = starts[best], values[best], FIRST
    for n in range(tries, evaluations):
        child = x + step * rng.standard_normal(x.size) * (rng.random(x.size) < 0.5)
        new = design.value(child)
        better = new < value
        if better:
            x, value = child, new
        step *= LONGER if better else SHORTER
        step = max(step, 1e-3)
        if progress is not None:
            progress(n + 1, value)
    return x


def _within(
    design: _Design, x: np.ndarray, t: np.ndarray, duration: float, harmonics: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The motion, slowed down by smaller limits of acceleration and speed until it keeps those of efforts and
    deflections."""
    for share in (0.9, 0.8, 0.65, 0.5, 0.35, 0.2, 0.1):
        limits = Limits(
            design.limits.lower, design.limits.upper, share * design.limits.velocity,
            share * design.limits.acceleration, design.limits.effort, design.limits.deflection,
        )  # fmt: skip
        fine = _series(t, duration, harmonics, limits).motion(x)
        if design.keeps_limits(fine):
            return fine
    closes = " where its loops close" if design.robot.functions.is_constrained else ""
    raise StateError(
        f"no motion keeps the limits of efforts and deflections{closes}: its weight alone may pass them; "
        "narrow the limits of positions"
    )


def _trajectory(robot: Robot, t: np.ndarray, states: States, step: float, took: float) -> Trajectory:
    q, v, _, tau = states
    q_units, v_units, effort_units = units_of(robot)
    return Trajectory(
        t=t, q=q, v=v, tau=tau, energy=robot.energy(q, v), work=np.zeros(t.size), dissipated=np.zeros(t.size),
        saturated=np.zeros(t.size, dtype=bool), events=(), status=0, message="designed", method="fourier",
        dt=step, is_fixed=False, held=False, wall_time=took, robot_name=robot.name, q_names=robot.q_names,
        v_names=robot.v_names,
        effort_names=robot.effort_names, q_units=q_units, v_units=v_units, effort_units=effort_units,
        robot=robot,
    )  # fmt: skip


def write_joint_trajectory(trajectory: Trajectory, path: str | PathLike[str]) -> None:
    """Write the joints of a motion as YAML of trajectory_msgs/JointTrajectory, as `flexdyn pub` and
    `ros2 topic pub` take it: positions, velocities and times from the start."""
    import json
    from math import inf

    import yaml

    robot = trajectory.robot
    names = list(trajectory.q_names) if robot is None else [c.name for c in _moved(robot)]
    q = np.column_stack([trajectory[name] for name in names])
    v = np.column_stack([trajectory[name, "velocity"] for name in names])
    # JSON writes characters beyond 16 bits as two halves, which YAML does not put together
    listed = yaml.safe_dump(names, default_flow_style=True, width=inf, allow_unicode=False).strip()
    lines = [f"joint_names: {listed}", "points:"]
    for time, position, velocity in zip(trajectory.t - trajectory.t[0], q.tolist(), v.tolist(), strict=True):
        seconds, rest = divmod(round(1e9 * float(time)), 10**9)
        stamp = {"sec": seconds, "nanosec": rest}
        point = {"positions": position, "velocities": velocity, "time_from_start": stamp}
        lines.append(f"- {json.dumps(point)}")
    write_text(path, "\n".join(lines) + "\n")
