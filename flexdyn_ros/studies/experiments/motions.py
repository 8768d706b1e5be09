"""Experiments in motion: a release under gravity, and a drive over a road."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from flexdyn_ros.errors import SimulationError, UnsupportedError
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.simulation.simulate import simulate
from flexdyn_ros.simulation.steps.continuous import continuous
from flexdyn_ros.simulation.steps.stepper import Stepper
from flexdyn_ros.studies.experiments.poses import end_frame, held_joints, pose_of, servo, servo_gains
from flexdyn_ros.studies.experiments.registry import experiment


@experiment(
    "fall", "tip_speed", "peak_kinetic_energy", "balance_error",
    duration="s", fall="m", tip_speed="m/s", peak_kinetic_energy="J",
)  # fmt: skip
def free_fall(
    robot: Robot,
    pose: Mapping[str, float] | Sequence[float] | None = None,
    duration: float = 1.0,
    frame: str | None = None,
    dt: float | None = None,
) -> dict[str, object]:
    """Release from rest: no efforts, gravity alone.

    duration [s]; dt: fixed step [s], None for the steps of the default run.

    Results: fall of the frame [m] and its largest tip_speed [m/s]; peak_kinetic_energy [J]; balance_error,
    how far the energies are off, of the largest kinetic energy; trajectory.
    """
    frame = end_frame(robot, frame)
    run = simulate(robot, duration, pose_of(robot, pose), dt=dt)
    place = robot.frames(run.q, frame)[:, :3, 3]
    speed = np.einsum("nij,nj->ni", robot.jacobian(run.q, frame)[:, 3:], run.v)
    assert run.energy is not None
    return {
        "fall": place[0, 2] - place[-1, 2],
        "tip_speed": np.linalg.norm(speed, axis=1).max(),
        "peak_kinetic_energy": run.energy.kinetic.max(),
        "balance_error": run.balance_error,
        "trajectory": run,
    }


@experiment(
    "distance", "smallest_wheel_force", "share_of_weight", "air_time", "tip_error", "tip_acceleration",
    duration="s", distance="m", smallest_wheel_force="N", share_of_weight="", air_time="s", tip_error="m",
    tip_acceleration="m/s2",
)  # fmt: skip
def drive_over_road(
    robot: Robot,
    pose: Mapping[str, float] | Sequence[float] | None = None,
    distance: float | None = None,
    duration: float = 3.0,
    frequency: float = 4.0,
    damping_ratio: float = 0.7,
    frame: str | None = None,
    dt: float | None = 1e-3,
) -> dict[str, object]:
    """Drive over the road of the description at its speed, joints held by servos about where they rest.

    distance [m] in place of duration [s]; frequency [Hz] and damping_ratio of the servos, on the inertia that
    each joint feels; dt: fixed step [s], None for the default run with error control, sampled every
    millisecond.

    Results: smallest_wheel_force [N] of all wheels over the drive, and share_of_weight, the same over what
    the wheel carries at rest (0: it lifts); air_time, how long in all the worst wheel does not push [s];
    tip_error, the largest distance of the frame from where it would be on a flat road [m]; tip_acceleration,
    root of the mean square of the vertical one [m/s2].
    """
    if not robot.wheel_names:
        raise UnsupportedError(f"robot {robot.name!r} has no wheels; mobile_arm has")
    speed = abs(_drive_speed(robot))
    if distance is not None:
        if speed == 0.0:
            raise UnsupportedError("a distance needs a <drive type='speed'> with a speed")
        duration = distance / speed
    frame, start = end_frame(robot, frame), pose_of(robot, pose)
    rest = robot.static_equilibrium(start, hold=held_joints(robot))
    weight = robot.wheel_forces(rest.q, np.zeros(robot.nv)).normal
    t, q, v = _held_run(robot, rest.q, rest.tau, duration, frequency, damping_ratio, dt)
    forces = robot.wheel_forces(q, v)
    place = robot.frames(q, frame)[:, :3, 3]
    path = place[:1] + np.outer(_travelled(robot, q), np.array([1.0, 0.0, 0.0]))
    flying = (forces.normal <= 0.0).sum(axis=0) * (t[1] - t[0])
    up = np.gradient(np.gradient(place[:, 2], t), t)[2:-2]
    return {
        "distance": float(_travelled(robot, q)[-1]),
        "smallest_wheel_force": forces.normal.min(),
        "share_of_weight": (forces.normal / weight).min(),
        "air_time": flying.max(),
        "tip_error": np.linalg.norm((place - path)[:, [0, 2]], axis=1).max(),
        "tip_acceleration": np.sqrt(np.mean(up**2)),
    }


def _drive_speed(robot: Robot) -> float:
    """Speed [m/s] that the description prescribes; 0 if it does not."""
    drive = robot.description.drive
    return drive.speed or 0.0 if drive is not None and drive.type == "speed" else 0.0


def _held_run(
    robot: Robot, q0: np.ndarray, tau: np.ndarray, duration: float, frequency: float, damping_ratio: float,
    dt: float | None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
    """Times, positions and rates of a robot that drives while servos hold its joints."""
    if dt is None:
        law = servo(robot, q0, tau, frequency, damping_ratio)
        run = simulate(robot, duration, q0, control=continuous(law), record=())
        return run.t, run.q, run.v
    v0 = np.zeros(robot.nv)
    for c in robot.coordinates:
        if c.prescribed:
            v0[c.v_index] = _drive_speed(robot)
    stepper = Stepper(robot, dt, "rosenbrock", q0=q0, v0=v0)
    P, D = servo_gains(robot, q0, frequency, damping_ratio)
    stepper.set_servo(P, D)
    stepper.target_q[:] = np.where(P > 0.0, q0, 0.0)
    stepper.tau[:] = np.where(P > 0.0, tau, 0.0)
    n = round(duration / dt)
    q, v = np.empty((n + 1, robot.nq)), np.empty((n + 1, robot.nv))
    for i in range(n + 1):
        q[i], v[i] = stepper.q, stepper.v
        if i < n and stepper.advance(1):
            raise SimulationError(stepper.message)
    return np.arange(n + 1) * dt, q, v


def _travelled(robot: Robot, q: np.ndarray) -> np.ndarray:
    x = q[:, robot.q_names.index("base/x")]
    return x - x[0]
