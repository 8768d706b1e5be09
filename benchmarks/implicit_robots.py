"""Robots that bench_implicit.py moves, and their equations as implicit_methods.py takes them."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import flexdyn_ros
from flexdyn_ros.simulation.steps.workspace import free_bodies

__all__ = ["CASES", "Case", "MovedRobot"]

#: step [s] of the two folds from which slopes are read
FOLD = 1e-3
#: types of what the functions of a family take
KINDS = {
    "ready": (ctypes.c_int64,) * 2,
    "measure": (ctypes.c_int64,) * 6,
    "exert": (ctypes.c_int64,) * 5,
    "accelerate": (
        *(ctypes.c_int64,) * 2, ctypes.c_double, *(ctypes.c_int64,) * 4, ctypes.c_double, ctypes.c_int64,
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Case:
    """A robot, what is special about it, the time that it is moved [s], gains of its servo."""

    robot: str
    about: str
    span: float
    options: dict[str, Any] = field(default_factory=dict)
    stiffness: float = 0.0
    damping: float = 0.0


def damped(ratio: float) -> dict[str, float]:
    """Options that give both links a damping ratio."""
    return {f"links.{link}.damping.ratio": ratio for link in ("link_1", "link_2")}


#: strokes without stops, which would be hit
WIDE = {f"joints.section_{i}.section.lower": -0.03 for i in (1, 2, 3)}
CASES = {
    "rigid arm": Case("seven_joint_arm", "dry friction as shipped", 0.2),
    "rigid arm, damped": Case("seven_joint_arm", "dampers of 100 N m s in all joints", 1.0, damping=100.0),
    "rigid arm, servo": Case("seven_joint_arm", "held by gains of 2000 and 400", 1.0, {}, 2e3, 400.0),
    "bending arm": Case("flexible_two_link", "1 % modal damping", 0.12),
    "bending arm, damped": Case("flexible_two_link", "modal damping ratio 0.7", 0.5, damped(0.7)),
    "booms": Case("canadarm2", "no damping", 0.05),
    "wheeled arm": Case("mobile_arm", "no damping of links", 0.02),
    "wheeled arm, damped": Case("mobile_arm", "modal damping ratio 0.5", 0.25, damped(0.5)),
    "soft arm": Case("soft_arm_3", "dampers of 15 N s/m as shipped", 0.5, WIDE),
    "soft arm, damped": Case("soft_arm_3", "dampers of 500 N s/m", 1.0, WIDE, 0.0, 500.0),
    "platform": Case("stewart_electric", "legs are springs of 2e4 N/m", 0.3, {}, 2e4, 20.0),
    "platform, servo": Case("stewart_electric", "legs held by gains of 1e6 and 1e5", 1.0, {}, 1e6, 1e5),
}  # fmt: skip


class MovedRobot:
    """Robot of a case with its servo, by the function that the library's steps call: a Problem of
    implicit_methods.py.

    It starts a third of a radian, or some of the strokes, away from where the servo holds it.
    """

    def __init__(self, case: Case) -> None:
        self.robot = robot = flexdyn_ros.load(case.robot, options=case.options)
        motion = robot.motion
        assert motion is not None
        self.case, self.motion, self.passes = case, motion, 0
        motion.provide()
        self._work = np.zeros(motion.work_size)
        self._functions = {name: ctypes.CFUNCTYPE(ctypes.c_int64, *kinds) for name, kinds in KINDS.items()}
        nq, nv, nu = robot.nq, robot.nv, robot.nu
        shapes = {"q": nq, "v": nv, "force": nv, "extra": nu, "a": nv, "effort": nu, "y": nu, "rate": nu}
        self._arrays = {name: np.zeros(size) for name, size in shapes.items()}
        self._addresses = {name: array.ctypes.data for name, array in self._arrays.items()}
        self.q_of_v = np.array([c.q_index for c in robot.coordinates])
        self._given = np.array([c.prescribed for c in robot.coordinates])
        self._turns = [turn for _, turn in free_bodies(robot)]
        if "ready" in motion.table:
            self._call("ready")
        self.target = self._measured(robot.neutral(), np.zeros(nv))[0].copy()
        self.q0, self.v0 = start(robot)
        self._constant: tuple[np.ndarray, ...] | None = None
        here, there = self._read_slopes(self.q0, self.v0), self._read_slopes(robot.neutral(), self.v0 + 0.1)
        inertia = np.abs(self.mass_matrix(self.q0)).max()
        # beside the inertia, where slopes count that are zero but for rounding
        same = (
            np.abs(x - y).max() <= 1e-7 * (np.abs(x).max() + inertia / FOLD**n)
            for x, y, n in zip(here, there, (2, 1))
        )
        if all(same):
            self._constant = here

    def _call(self, name: str, *arguments: Any) -> None:
        """A function of the family, with arrays by name."""
        address = self.motion.table[name].address
        values = (self._addresses.get(x, x) for x in arguments)
        self._functions[name](address)(self.motion.robot, self._work.ctypes.data, *values)

    def _measured(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What the servo measures (nu,), and its rate."""
        if "measure" not in self.motion.table:
            return q, v
        self._arrays["q"][:], self._arrays["v"][:] = q, v
        self._call("measure", "q", "v", "y", "rate")
        return self._arrays["y"], self._arrays["rate"]

    def accelerate(
        self, q: np.ndarray, v: np.ndarray, h: float = 0.0, force: np.ndarray | None = None
    ) -> np.ndarray:
        """See implicit_methods.Problem."""
        self.passes += 1
        return self._solve(q, v, h, force)

    def _solve(self, q: np.ndarray, v: np.ndarray, h: float, force: np.ndarray | float | None) -> np.ndarray:
        arrays, k, d = self._arrays, self.case.stiffness, self.case.damping
        arrays["q"][:], arrays["v"][:], arrays["a"][:] = q, v, 0.0
        arrays["force"][:] = 0.0 if force is None else force
        arrays["extra"][:] = h * (d + h * k)
        if k != 0.0 or d != 0.0:
            y, rate = self._measured(q, v)
            effort = k * (self.target - y - h * rate) - d * rate
            if "exert" in self.motion.table:
                arrays["effort"][:] = effort
                self._call("exert", "q", "effort", "force")
            else:
                arrays["force"] += effort
        self._call("accelerate", 0.0, "q", "v", "force", "extra", h, "a")
        return arrays["a"].copy()

    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        """See implicit_methods.Problem; prescribed coordinates are uncoupled."""
        return self._uncoupled(self.robot.mass_matrix(q), 1.0)

    def _uncoupled(self, matrix: np.ndarray, diagonal: float) -> np.ndarray:
        matrix[self._given], matrix[:, self._given] = 0.0, 0.0
        matrix[self._given, self._given] = diagonal
        return matrix

    def slopes(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """See implicit_methods.Problem."""
        return self.mass_matrix(q), *(self._constant or self._read_slopes(q, v))

    def _read_slopes(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """K, D: what two folds, of FOLD and twice that, add to M."""
        M = self.mass_matrix(q)
        once, twice = (self._folded(q, v, h) - M for h in (FOLD, 2.0 * FOLD))
        return (twice - 2.0 * once) / (2.0 * FOLD**2), (4.0 * once - twice) / (2.0 * FOLD)

    def _folded(self, q: np.ndarray, v: np.ndarray, h: float) -> np.ndarray:
        """M + h D + h^2 K, from the accelerations that unit forces make."""
        rest = self._solve(q, v, h, None)
        inverse = np.array([self._solve(q, v, h, unit) - rest for unit in np.eye(v.size)])
        return self._uncoupled(np.linalg.inv(self._uncoupled(inverse, 1.0)), 1.0)

    def move(self, q: np.ndarray, theta: np.ndarray) -> np.ndarray:
        """See implicit_methods.Problem."""
        return self.robot.integrate(q, theta, 1.0) if self._turns else q + theta

    def rate(self, theta: np.ndarray, v: np.ndarray) -> np.ndarray:
        """See implicit_methods.Problem; for turns as in numerics/stepping/explicit.py."""
        out = v.copy()
        for i in self._turns:
            turn, w = theta[i : i + 3], v[i : i + 3]
            half = 0.5 * float(np.linalg.norm(turn))
            c = (
                1.0 / 12.0 + half * half / 180.0
                if half < 1e-2
                else (1.0 - half / np.tan(half)) / (4.0 * half * half)
            )
            across = np.cross(turn, w)
            out[i : i + 3] += c * np.cross(turn, across) - 0.5 * across
        return out


def start(robot: flexdyn_ros.Robot) -> tuple[np.ndarray, np.ndarray]:
    """Joints 0.3 rad from neutral that turn by turns at 0.5 rad/s to and fro, soft actuators within their
    strokes, platforms raised and turned."""
    q, v = robot.neutral(), np.zeros(robot.nv)
    for i, c in enumerate(robot.coordinates):
        if c.kind == "joint" and not c.prescribed:
            q[c.q_index] += 0.3
            v[c.v_index] = 0.5 if i % 2 == 0 else -0.5
        elif c.kind == "actuator":
            q[c.q_index] = 0.010 + 0.002 * (i % 3)
    if any(c.kind == "platform" for c in robot.coordinates):
        q = robot.integrate(q, np.array([0.05, -0.08, 0.1, 0.01, -0.02, 0.03]), 1.0)
    return q, v
