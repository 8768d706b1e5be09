"""A slew: joints go from one pose to another along a shaped reference, and the end swings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from flexdyn_ros.control import shaper_of
from flexdyn_ros.control.actuator_space import ActuatorSpace
from flexdyn_ros.errors import SimulationError, UnknownNameError
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.simulation.simulate import simulate
from flexdyn_ros.simulation.steps.continuous import continuous
from flexdyn_ros.simulation.steps.stepper import Stepper
from flexdyn_ros.studies.experiments.poses import end_frame, pose_of, servo_gains
from flexdyn_ros.studies.experiments.registry import experiment

SHAPERS = ("none", "zv", "zvd")
#: modes below this count as such that do not vibrate [Hz]
SLOWEST = 1e-3


@experiment(
    "residual_swing", "largest_swing", "settled_after", "largest_effort", "first_frequency", "tip_x", "tip_y",
    "tip_z",
    duration="s", settle="s", residual_swing="m", largest_swing="m", settled_after="s", largest_effort="N m",
    first_frequency="Hz", tip_x="m", tip_y="m", tip_z="m",
)  # fmt: skip
def slew(
    robot: Robot,
    start: Mapping[str, float] | Sequence[float] | None = None,
    end: Mapping[str, float] | Sequence[float] | None = None,
    duration: float = 10.0,
    shaper: str = "none",
    settle: float | None = None,
    frequency: float = 0.5,
    damping_ratio: float = 0.7,
    modes: int = 1,
    frame: str | None = None,
    dt: float | None = 1e-3,
    within: float = 0.05,
) -> dict[str, object]:
    """Slew from pose to pose along a quintic, by servos with feed-forward of the rigid robot; then wait.

    start, end: poses, by the names of joints or in their order; duration: of the motion, the shaper's delay
    included, so that shapers compare at equal time [s]; settle: how long the end is watched after it, default
    three periods of the slowest mode with locked joints [s]; shaper: none, zv or zvd, for so many `modes` of
    the closed loop at the end; frequency [Hz], damping_ratio of the servos; dt: fixed step [s], None for the
    default run with error control; within: size of the swing that counts as settled [m].

    Results: residual_swing, the largest distance of the frame from where it comes to rest, after the motion
    [m]; largest_swing, the same over all of it, from the way of the reference [m]; settled_after [s];
    largest_effort [N m]; first_frequency of the robot with locked joints at the end [Hz]; tip_x, tip_y,
    tip_z, where the frame is at the end [m].
    """
    if shaper not in SHAPERS:
        raise UnknownNameError("shaper", shaper, SHAPERS)
    frame = end_frame(robot, frame)
    q0, q1 = pose_of(robot, start), pose_of(robot, end)
    if robot.functions.is_constrained and robot.nu != robot.nv:
        robot.functions.refuse("a slew by cylinders")
    driven = [c for c in robot.coordinates if c.kind == "joint" and c.actuated]
    joints, places = (np.array([getattr(c, x) for c in driven]) for x in ("v_index", "q_index"))
    held = [robot.v_names[i] for i in joints]
    q0 = robot.static_equilibrium(q0, hold=held).q
    rest = robot.static_equilibrium(q1, hold=held).q
    vibration = robot.modes(rest, lock=held)
    moving = np.flatnonzero(vibration.frequency > SLOWEST)
    slowest = float(vibration.frequency[moving[0]]) if moving.size else 0.0
    P, D = servo_gains(robot, rest, frequency, damping_ratio)
    delays, shares = _impulses(shaper, robot, rest, P, D, modes)
    if settle is None:
        settle = 3.0 / slowest if slowest else 1.0
    step = dt or 1e-3
    t = np.arange(round((duration + settle) / step) + 1) * step
    q_d, v_d, a_d = _reference(robot, q0, q1, t, duration, delays, shares)
    tau_d = _feed_forward(robot, q_d, v_d, a_d, joints)
    if dt is None:
        q, tau = _default_run(robot, q0, t, P, D, joints, places, q_d, v_d, tau_d)
    else:
        q, tau = _fixed_run(robot, q0, t, dt, P, D, joints, places, q_d, v_d, tau_d)
    place = robot.frames(q, frame)[:, :3, 3]
    wanted = _path(robot, rest, q_d, places, frame)
    home = robot.frames(rest, frame)[:3, 3]
    away = np.linalg.norm(place - home, axis=1)
    after = t >= duration - 0.5 * step
    outside = np.flatnonzero(away > within)
    return {
        "residual_swing": away[after].max(),
        "largest_swing": np.linalg.norm(place - wanted, axis=1).max(),
        "settled_after": float(t[outside[-1]]) if outside.size else 0.0,
        "largest_effort": np.abs(tau).max(initial=0.0),
        "first_frequency": slowest,
        "tip_x": place[-1, 0],
        "tip_y": place[-1, 1],
        "tip_z": place[-1, 2],
    }


def _impulses(
    shaper: str, robot: Robot, rest: np.ndarray, P: np.ndarray, D: np.ndarray, count: int
) -> tuple[np.ndarray, np.ndarray]:
    """Delays [s] and shares of the shaper for the lowest modes of the robot with its servos."""
    if shaper == "none":
        return np.zeros(1), np.ones(1)
    from flexdyn_ros.control import closed_loop_modes

    found = closed_loop_modes(robot, rest, P, D)
    slow = [
        i
        for i in range(len(found.frequency))
        if found.frequency[i] > SLOWEST and found.damping_ratio[i] < 0.9
    ]
    chosen = slow[:count]
    made = shaper_of(shaper, found.frequency[chosen].tolist(), found.damping_ratio[chosen].tolist())
    return made.delays, made.amplitudes


def _reference(
    robot: Robot, q0: np.ndarray, q1: np.ndarray, t: np.ndarray, duration: float, delays: np.ndarray,
    shares: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
    """Positions, rates and accelerations (n, nv) of the joints at all times at once."""
    time = duration - delays[-1]
    if time <= 0.0:
        raise ValueError(f"the shaper takes {delays[-1]:.3g} s, the whole slew {duration:g} s")
    s, ds, dds = np.zeros_like(t), np.zeros_like(t), np.zeros_like(t)
    for delay, share in zip(delays, shares, strict=True):
        u = np.clip((t - delay) / time, 0.0, 1.0)
        s += share * u**3 * (10.0 - 15.0 * u + 6.0 * u**2)
        ds += share * 30.0 * u**2 * (1.0 - u) ** 2 / time
        dds += share * 60.0 * u * (1.0 - u) * (1.0 - 2.0 * u) / time**2
    way, rate = np.zeros(robot.nq), np.zeros(robot.nv)
    for c in robot.coordinates:
        if c.kind == "joint" and c.q_index >= 0:
            way[c.q_index] = rate[c.v_index] = (q1 - q0)[c.q_index]
    return q0 + np.outer(s, way), np.outer(ds, rate), np.outer(dds, rate)


def _some(count: int, every: int = 20) -> np.ndarray:
    """Every so many of the samples, and the last."""
    return np.unique(np.r_[np.arange(0, count, every), count - 1])


def _path(
    robot: Robot, rest: np.ndarray, q_d: np.ndarray, places: np.ndarray, frame: str
) -> np.ndarray:  # fmt: skip
    """Where the reference takes a frame (n, 3); of closed mechanisms by some samples and a spline."""
    q = np.tile(rest, (len(q_d), 1))
    q[:, places] = q_d[:, places]
    if not robot.functions.is_constrained:
        return robot.frames(q, frame)[:, :3, 3]
    from scipy.interpolate import CubicSpline

    at, space = _some(len(q)), ActuatorSpace(robot)
    place = robot.frames(np.array([space.closed(q[i]) for i in at]), frame)[:, :3, 3]
    return np.asarray(CubicSpline(at, place)(np.arange(len(q))))


def _feed_forward(
    robot: Robot, q: np.ndarray, v: np.ndarray, a: np.ndarray, joints: np.ndarray
) -> np.ndarray:
    """Efforts (n, joints) that the undeformed robot takes, at some samples and between them."""
    at = _some(len(q))
    if robot.functions.is_constrained:
        space = ActuatorSpace(robot)
        tau = np.array([space.efforts(*space.reference(q[i], v[i], a[i])) for i in at])
    else:
        tau = robot.inverse_dynamics(q[at], v[at], a[at])
    return np.stack([np.interp(np.arange(len(q)), at, column) for column in tau[:, joints].T], axis=1)


def _fixed_run(
    robot: Robot, q0: np.ndarray, t: np.ndarray, dt: float, P: np.ndarray, D: np.ndarray, joints: np.ndarray,
    places: np.ndarray, q_d: np.ndarray, v_d: np.ndarray, tau_d: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """The compiled steps with their compiled servo; a sample every step."""
    stepper = Stepper(robot, dt, "rosenbrock", q0=q0)
    stepper.set_servo(P, D)
    n = len(t)
    q, effort = np.empty((n, robot.nq)), np.empty((n, robot.nu))
    # whole rows: what is not driven has no gains, and its targets do not count
    command, goal_q, goal_v = np.zeros((n, robot.nu)), np.zeros((n, robot.nu)), np.zeros((n, robot.nu))
    # the servo of a step aims at its end
    command[:, joints] = tau_d
    goal_q[:-1, joints], goal_v[:-1, joints] = q_d[1:, places], v_d[1:, joints]
    now, used, advance = stepper.q, stepper.effort, stepper.advance
    feed, target_q, target_v = stepper.tau, stepper.target_q, stepper.target_v
    for i in range(n - 1):
        q[i] = now
        feed[:], target_q[:], target_v[:] = command[i], goal_q[i], goal_v[i]
        if advance(1):
            raise SimulationError(stepper.message)
        effort[i] = used
    q[-1] = now
    return q, effort[:-1, joints]


def _default_run(
    robot: Robot, q0: np.ndarray, t: np.ndarray, P: np.ndarray, D: np.ndarray, joints: np.ndarray,
    places: np.ndarray, q_d: np.ndarray, v_d: np.ndarray, tau_d: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """The same law in a run with error control, asked at every evaluation."""
    step = t[1] - t[0]
    stiffness, damping = P[joints], D[joints]
    wanted = np.hstack((q_d[:, places], v_d[:, joints], tau_d))
    n = joints.size

    def law(time: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        x = min(max(time / step, 0.0), len(t) - 1.0)
        i = min(int(x), len(t) - 2)
        now = wanted[i] + (x - i) * (wanted[i + 1] - wanted[i])
        tau = np.zeros(robot.nu)
        tau[joints] = (
            now[2 * n :] + stiffness * (now[:n] - q[places]) + damping * (now[n : 2 * n] - v[joints])
        )
        return tau

    run = simulate(robot, float(t[-1]), q0, control=continuous(law), sample=step, record=())
    return run.q, run.tau[:-1, joints]
