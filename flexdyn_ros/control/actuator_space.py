"""Positions, accelerations and efforts of the actuators that a robot has: joints, motors, legs, cylinders."""

from __future__ import annotations

import numpy as np

from flexdyn_ros.errors import ConvergenceError, UnsupportedError
from flexdyn_ros.robot.analysis.allocation import chosen_actuators, effort_weights
from flexdyn_ros.robot.verbs import Robot

#: central differences of fourth order: places, weights, and the step [rad, m]
_PLACES, _WEIGHTS, _STEP = np.array([-2.0, -1.0, 1.0, 2.0]), np.array([1.0, -8.0, 8.0, -1.0]) / 12.0, 1e-3
#: steps to given positions of actuators, the largest [rad, m], and the error that ends them
_MOST_STEPS, _LARGEST, _CLOSE = 50, 0.3, 1e-11
#: singular values relative to the largest that count as zero
_CUT = 1e-10


class ActuatorSpace:
    """The coordinates x of the k actuators of a robot, with x' = S' v and M a + h = S u + J' lam.

    With W = M^-1, less what constraints take of it, accelerations are a = a_0 + W S u, so that

        x'' = x''_0 + S' W S u                                         (operational space, Khatib 1987)

    gives the efforts of a motion of the actuators; passive coordinates follow. Of more actuators than
    motions, efforts have the least sum of squares relative to their limits, where all have one.

    Attributes
    ----------
    at : (k,) array
        Places of the actuators in tau.
    """

    def __init__(self, robot: Robot) -> None:
        if robot.nu != robot.nv and robot.effort_names[: robot.nv] != robot.v_names:
            raise UnsupportedError(
                f"robot '{robot.name}': no control law takes coordinates, legs and cylinders at once; "
                "expected a robot without one of them"
            )
        self.robot, self.at = robot, chosen_actuators(robot, "all")
        self._elements = bool((self.at >= robot.nv).any())
        driven = [robot.functions.effort_coordinates[i] for i in self.at.tolist()]
        self._sizes = 1.0 / np.sqrt(effort_weights(np.array([c.effort_limit for c in driven])))
        self._names = [c.name for c in driven]
        self._places = [c.q_index for c in driven]
        self._near = robot.neutral()

    def error(self, q: np.ndarray, q_d: np.ndarray) -> np.ndarray:
        """How far actuators, and coordinates without one, are at q from where they are at q_d (nu,)."""
        robot = self.robot
        error = robot.difference(q, q_d)
        if robot.nu == robot.nv:
            return error
        rest = np.zeros(robot.nv)
        x, x_d = (robot.functions.effort_motion(at, rest)[0][robot.nv :] for at in (q, q_d))
        return np.concatenate([error, x_d - x])

    def rates(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Rates (nu,) of coordinates and, behind them, of what is driven beside."""
        return v if self.robot.nu == self.robot.nv else self.robot.functions.effort_motion(q, v)[1]

    def accelerations(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """x'' (nu,) of a motion; d(S')/dt v by central differences of fourth order along v."""
        robot, size = self.robot, float(np.abs(v).max(initial=0.0))
        found = robot.actuation_matrix(q).T @ a
        if self._elements and size > 0.0:
            many = [np.broadcast_to(x, (_PLACES.size, x.size)) for x in (q, v)]
            near = robot.integrate(many[0], np.outer(_PLACES * _STEP / size, v), 1.0)
            found = found + size / _STEP * _WEIGHTS @ robot.functions.effort_motion(near, many[1])[1]
        return np.asarray(found)

    def inertia(self, q: np.ndarray) -> np.ndarray:
        """(S' W S)^+ (nu, nu) at q: what actuators feel; zero where there is none."""
        robot, S = self.robot, self.robot.actuation_matrix(q)[:, self.at]
        found = np.zeros((robot.nu, robot.nu))
        mobility = S.T @ robot.functions.inverse_inertia(q) @ S
        found[np.ix_(self.at, self.at)] = np.linalg.pinv(mobility, rcond=_CUT, hermitian=True)
        return found

    def efforts(self, q: np.ndarray, v: np.ndarray, x_dd: np.ndarray) -> np.ndarray:
        """Efforts (nu,) that give the actuators accelerations x'' (nu,), all else free."""
        robot, S = self.robot, self.robot.actuation_matrix(q)[:, self.at]
        missing = x_dd - self.accelerations(q, v, robot.forward_dynamics(q, v))
        A = S.T @ robot.functions.inverse_inertia(q) @ (S * self._sizes)
        tau = np.zeros(robot.nu)
        tau[self.at] = self._sizes * np.linalg.lstsq(A, missing[self.at], rcond=_CUT)[0]
        return tau

    def closed(self, q: np.ndarray) -> np.ndarray:
        """q (nq,) with all that has no actuator moved onto the constraints; from where the last call left it,
        if all actuators are joints. The nearest such pose, if actuators are more than motions.

        Raises
        ------
        ConvergenceError
            Where there is no such pose.
        """
        functions = self.robot.functions
        if not functions.is_constrained:
            return q
        if not self._elements:
            near = self._near.copy()
            near[self._places] = q[self._places]
            self._near = functions.closed(near, self._names)
            return self._near.copy()
        if len(self.at) > self.robot.mobility:
            return functions.closed(q)
        return q if np.abs(self.robot.loop_residual(q)).max() <= _CLOSE else self._moved(q)

    def _moved(self, goal: np.ndarray) -> np.ndarray:
        """The closed pose near `goal` (nq,) at which actuators are where they are there, by Newton steps."""
        robot, q = self.robot, goal
        for _ in range(_MOST_STEPS):
            missing = np.concatenate([-robot.loop_residual(q), self.error(q, goal)[self.at]])
            if np.abs(missing).max() <= _CLOSE:
                return q
            J = np.concatenate([robot.loop_jacobian(q), robot.actuation_matrix(q)[:, self.at].T])
            dq = np.linalg.lstsq(J, missing, rcond=_CUT)[0]
            q = robot.integrate(q, dq * min(1.0, _LARGEST / max(np.abs(dq).max(), 1e-300)), 1.0)
        raise ConvergenceError(
            f"the loops of '{robot.name}' do not close with its actuators at the target: "
            f"{np.abs(missing).max():.3g} m (rad) are left; expected positions that they can have",
            float(np.abs(missing).max()),
            _MOST_STEPS,
        )

    def reference(
        self, q: np.ndarray, v: np.ndarray, a: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """A state (nq,), (nv,) on the constraints, and accelerations x'' (nu,), with the actuators as in
        (q, v, a).

        Positions are assembled; velocities are v = N y with the rates of the actuators, N a basis of the
        motions that constraints leave.
        """
        x_d, x_dd = self.rates(q, v), self.accelerations(q, v, a)
        if not self.robot.functions.is_constrained:
            return q, v, x_dd
        q = self.closed(q)
        N = self.robot.functions.motions(q)
        S = self.robot.actuation_matrix(q)[:, self.at]
        return q, N @ np.linalg.lstsq(S.T @ N, x_d[self.at], rcond=_CUT)[0], x_dd
