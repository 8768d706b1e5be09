"""The right-hand side of a simulation for integrators outside: accelerations and powers of any robot."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from flexdyn_ros.errors import UnsupportedError
from flexdyn_ros.numerics.stepping import fixed as kernels
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.simulation.steps.stepper import Stepper
from flexdyn_ros.simulation.steps.workspace import free_bodies


class HeldCommand:
    """A command (nu,) that is held from a time on, and what actuators that lag behind it exert."""

    def __init__(self, robot: Robot, t: float, tau: np.ndarray, states: np.ndarray) -> None:
        self.lag = None if robot.motion is None else robot.motion.lag
        self._since, self.tau = t, tau
        self._force = tau if self.lag is None else self.lag.forces(states)
        self._states = states

    def take(self, t: float, tau: np.ndarray) -> None:
        """Another command from t [s] on."""
        if self.lag is not None:
            self._force = self.at(t)
        self._since, self.tau = t, tau

    def at(self, t: float | np.ndarray) -> np.ndarray:
        """Efforts (nu,) that are exerted at t; (n, nu) at times (n, 1)."""
        return self.tau if self.lag is None else self.lag.after(t - self._since, self.tau, self._force)

    def states(self, times: np.ndarray) -> np.ndarray:
        """States of elements (n, ns) at times (n,); those of elements that take no part stay."""
        if self.lag is None:
            return np.tile(self._states, (len(times), 1))
        return self.lag.pressures(self.at(times[:, None]))


class CompiledRates:
    """Rates at a time and state while efforts and wrenches are held, by the kernels of the fixed steps."""

    def __init__(self, robot: Robot, limits: str, saturate: bool) -> None:
        self._stepper = Stepper(robot, method="rk4", limits=limits, saturate=saturate)
        self._derivative = kernels.derivative.load()
        self.set_efforts, self.set_wrenches = self._stepper.set_efforts, self._stepper.set_wrenches
        self._sizes = robot.nv, robot.nu

    def set_given(self, index: int, acceleration: float) -> None:
        """Acceleration of the prescribed coordinate, held."""
        self._stepper.given[index] = acceleration

    def rates(self, t: float, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray, float, float]:
        """a (nv,), effort (nu,), power of efforts and wrenches, power dissipated [W]."""
        a, effort, powers = np.empty(self._sizes[0]), np.empty(self._sizes[1]), np.empty(2)
        self._derivative(self._stepper._steps, t, q, v, a, effort, powers)
        return a, effort, float(powers[0]), float(powers[1])


class VerbRates:
    """As `CompiledRates`, by the verbs of any robot."""

    def __init__(self, robot: Robot, limits: str, saturate: bool) -> None:
        if limits == "spring":
            robot.functions.refuse("limits='spring'")
            raise UnsupportedError(f"robots of kind '{robot.kind}' have no soft stops yet; kind 'tree' has")
        self._robot = robot
        self._tau = np.zeros(robot.nu)
        self._wrenches: dict[str, np.ndarray] = {}
        self._given = {c.name: 0.0 for c in robot.coordinates if c.prescribed}
        limit = {c.name: c.effort_limit for c in robot.coordinates}
        ceiling = [limit.get(name) or np.inf for name in robot.effort_names]
        self._ceiling = np.array(ceiling) if saturate else np.full(robot.nu, np.inf)

    def set_given(self, index: int, acceleration: float) -> None:
        """See `CompiledRates`."""
        self._given[self._robot.v_names[index]] = acceleration

    def set_efforts(self, tau: np.ndarray) -> None:
        """Commanded effort (nu,), held."""
        self._tau[:] = tau

    def set_wrenches(self, wrenches: Mapping[str, object] | None) -> None:
        """Wrenches by frame, held."""
        self._wrenches = {name: np.asarray(w, dtype=np.float64) for name, w in (wrenches or {}).items()}

    def rates(self, t: float, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray, float, float]:
        """See `CompiledRates`."""
        robot = self._robot
        tau = np.clip(self._tau, -self._ceiling, self._ceiling)
        a = robot.forward_dynamics(q, v, tau, self._wrenches or None, prescribed=self._given or None)
        if self._given:
            tau = robot.inverse_dynamics(q, v, a, self._wrenches or None)
        work = float(v @ (robot.actuation_matrix(q) @ tau))
        for name, wrench in self._wrenches.items():
            work += float(wrench @ (robot.jacobian(q, name) @ v))
        return a, tau, work, float(v @ robot.bias_terms(q, v).damping)


Rates = CompiledRates | VerbRates


def rates_of(robot: Robot, *, limits: str, saturate: bool) -> Rates:
    """The fastest right-hand side for a robot."""
    kind = VerbRates if robot.motion is None else CompiledRates
    return kind(robot, limits, saturate)


def position_rates(robot: Robot) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """A function (q, v) -> dq/dt (nq,); quaternions by q' = 1/2 (w, 0) q, w in world axes."""
    pairs = [(c.q_index, c.v_index) for c in robot.coordinates if c.q_index >= 0]
    q_index, v_index = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    bodies = free_bodies(robot)

    def rates(q: np.ndarray, v: np.ndarray) -> np.ndarray:
        out = np.zeros(robot.nq)
        out[q_index] = v[v_index]
        for k, j in bodies:
            x, y, z, s = q[k : k + 4]
            wx, wy, wz = v[j : j + 3]
            out[k] = 0.5 * (wx * s + wy * z - wz * y)
            out[k + 1] = 0.5 * (wy * s + wz * x - wx * z)
            out[k + 2] = 0.5 * (wz * s + wx * y - wy * x)
            out[k + 3] = -0.5 * (wx * x + wy * y + wz * z)
        return out

    return rates
