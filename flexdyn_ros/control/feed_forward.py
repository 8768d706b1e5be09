"""Feed-forward by inverse dynamics along a reference, with feedback on the coordinates of the actuators."""

from __future__ import annotations

from typing import Any

import numpy as np

from flexdyn_ros.control.actuator_space import ActuatorSpace
from flexdyn_ros.control.reference import Reference, reference_of
from flexdyn_ros.errors import StateError, UnsupportedError
from flexdyn_ros.robot.analysis.sampled_feedback import sampled_growth
from flexdyn_ros.robot.verbs import Robot

#: how much of the inverse dynamics is fed forward
FEED_FORWARD = ("full", "static", "none")


def actuator_motion(robot: Robot, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates (nu,) of the actuators and their rates: lengths of legs, else those of q and v."""
    return robot.functions.effort_motion(q, v)


def actuator_inertia(robot: Robot, q: np.ndarray) -> np.ndarray:
    """Effective inertia (nu, nu) at the actuators, (B^T M^-1 B)^-1 (Khatib), for the rates B^T v; with closed
    loops M^-1 is what they leave of it. Zero at coordinates without an actuator."""
    return ActuatorSpace(robot).inertia(q)


class FeedForward:
    """tau = ID(q_d, v_d, a_d) + L (w^2 (x_d - x) + 2 zeta w (x_d' - x')), x: coordinates of the actuators.

    L is the inertia that they feel at the reference: where inertia dominates every error obeys
    e'' + 2 zeta w e' + w^2 e = 0; where springs do, as in a soft arm, the feedback damps, and little of the
    sampling is felt, since it asks least where least mass moves. Of a platform, legs alone are measured. In
    closed mechanisms passive coordinates follow the actuators onto the loops, whatever the target says of
    them, and accelerations of the reference are those that its actuators have.

    Parameters
    ----------
    robot : Robot
        All of whose coordinates are driven: platforms, soft arms, rigid arms; or closed mechanisms with an
        actuator, joint or cylinder, for every motion.
    target : as of `reference_of`; (nq,) array, or callable t -> q, (q, v) or (q, v, a)
    frequency, damping_ratio : float
        w [rad/s], zeta [-].
    feed_forward : {"full", "static", "none"}
        The inverse dynamics of the reference; only what holds it at rest; nothing.
    lead : float
        How far ahead the reference is looked at for it [s]: half a sample where efforts are held for one.

    Raises
    ------
    UnsupportedError
        For a robot that has motions without an actuator.
    """

    def __init__(
        self,
        robot: Robot,
        target: Any,
        frequency: float,
        damping_ratio: float = 1.0,
        feed_forward: str = "full",
        lead: float = 0.0,
    ) -> None:
        self._space = ActuatorSpace(robot)
        self._closed = robot.functions.is_constrained
        if self._closed:
            complete = len(self._space.at) >= robot.mobility
        else:
            complete = robot.nu == robot.nv and (robot.legs or all(c.actuated for c in robot.coordinates))
        if not complete:
            free = [c.name for c in robot.coordinates if not c.actuated]
            raise UnsupportedError(
                f"robot '{robot.name}' has coordinates without an actuator ({', '.join(free)}), expected a "
                "platform, a soft arm, a rigid arm or a closed mechanism with as many actuators as motions"
            )
        if feed_forward not in FEED_FORWARD:
            raise StateError(f"feed_forward is {feed_forward!r}, expected one of {', '.join(FEED_FORWARD)}")
        self.robot, self.frequency, self.damping_ratio = robot, float(frequency), float(damping_ratio)
        self.feed_forward, self.lead = feed_forward, lead
        self.reference: Reference = reference_of(robot, target)
        self._rest = np.zeros(robot.nv)

    def __call__(self, t: float, x: np.ndarray, rate: np.ndarray) -> np.ndarray:
        """Efforts (nu,) at time t [s] for measured coordinates of the actuators and their rates (nu,)."""
        q_d, v_d, _ = self.reference(t)
        x_d, rate_d = actuator_motion(self.robot, q_d, v_d)
        w = self.frequency
        acceleration = w * w * (x_d - x) + 2.0 * self.damping_ratio * w * (rate_d - rate)
        effort = self._space.inertia(self._space.closed(q_d)) @ acceleration
        if self.feed_forward == "none":
            return effort
        q, v, a = self.reference(t + self.lead)
        if self.feed_forward == "static":
            v = a = self._rest
        if self._closed:
            return effort + self._space.efforts(*self._space.reference(q, v, a))
        return effort + self.robot.inverse_dynamics(q, v, a)

    def growth(self, q: np.ndarray, period: float, delay: float) -> float:
        """Rate [1/s] of the least stable motion about rest at q (nq,) when sampled: `sampled_growth`."""
        B = self.robot.actuation_matrix(q)
        w, L = self.frequency, self._space.inertia(q)
        tau = self.robot.inverse_dynamics(q, self._rest, self._rest)
        P, D = w * w * L @ B.T, 2.0 * self.damping_ratio * w * L @ B.T
        return sampled_growth(self.robot, q, P, D, period, delay, tau)
