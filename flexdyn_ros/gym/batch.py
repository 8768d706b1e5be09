"""Many copies of a robot that move at once, by the batch kernels of its verbs."""

from __future__ import annotations

import numpy as np

from flexdyn_ros.robot.verbs import Robot


def advanced(
    robot: Robot, q: np.ndarray, v: np.ndarray, tau: np.ndarray, dt: float, steps: int
) -> tuple[np.ndarray, np.ndarray]:
    """q (n, nq) and v (n, nv) after so many steps of dt [s] under constant efforts (n, nu).

    The classical Runge-Kutta method; on the turns of free bodies its stages are joined by the exponential map
    of `Robot.integrate`, which makes it of order two there. Each row depends on its own numbers only.
    """
    flat = robot.nq == robot.nv
    for _ in range(steps):
        a1 = robot.forward_dynamics(q, v, tau)
        v2 = v + 0.5 * dt * a1
        a2 = robot.forward_dynamics(_moved(robot, flat, q, v, 0.5 * dt), v2, tau)
        v3 = v + 0.5 * dt * a2
        a3 = robot.forward_dynamics(_moved(robot, flat, q, v2, 0.5 * dt), v3, tau)
        v4 = v + dt * a3
        a4 = robot.forward_dynamics(_moved(robot, flat, q, v3, dt), v4, tau)
        q = _moved(robot, flat, q, (v + 2.0 * v2 + 2.0 * v3 + v4) / 6.0, dt)
        v = v + dt / 6.0 * (a1 + 2.0 * a2 + 2.0 * a3 + a4)
    return q, v


def _moved(robot: Robot, flat: bool, q: np.ndarray, v: np.ndarray, dt: float) -> np.ndarray:
    return q + dt * v if flat else robot.integrate(q, v, dt)
