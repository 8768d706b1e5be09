"""Model checks and warnings of robots on wheels: loads at rest, and links that turning makes soft."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from flexdyn_ros.errors import FlexdynError
from flexdyn_ros.robot.verbs import Robot

#: share of its first clamped rate beyond which a link that is not stiffened turns too fast
#: (docs/theory/mobile.md, "Limits")
TOO_FAST = 0.3


def check_mobile(robot: Robot) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Warnings and notes of a robot on wheels, joints held as in the neutral position."""
    warnings, notes = _at_rest(robot)
    for link, rate in first_clamped_rates(robot.functions).items():
        notes.append(
            f"link '{link}': without stiffening its bending softens when it turns, by "
            f"{100 * TOO_FAST**2:.0f} % at {TOO_FAST * rate:.3g} rad/s; beyond {rate:.3g} rad/s it is "
            "unstable"
        )
    return tuple(warnings), tuple(notes)


def first_clamped_rates(functions: Any) -> dict[str, float]:
    """First clamped natural rate [rad/s] of each link by itself whose tension does not stiffen it."""
    formulation, tables = functions.description.formulation, functions.tree.flexible
    if formulation.stiffening != "none" or tables is None:
        return {}
    rates = {}
    for link in tables.links:
        bending = [i for i, mode in enumerate(link.modes) if mode.field.startswith("bending")]
        if bending:
            K, M = (matrix[np.ix_(bending, bending)] for matrix in (link.stiffness, link.modal_mass))
            root = np.linalg.inv(np.linalg.cholesky(M))
            rates[link.name] = float(np.sqrt(np.linalg.eigvalsh(root @ K @ root.T)[0]))
    return rates


class Softening:
    """Flexible links k without centrifugal stiffening: they soften when they turn. None unless the base is
    planar."""

    def __init__(self, functions: Any) -> None:
        self._functions = functions

    @cached_property
    def _rates(self) -> dict[str, float]:
        planar = self._functions.description.base.type == "planar"
        return first_clamped_rates(self._functions) if planar else {}

    @property
    def links(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(self._rates)

    @property
    def rates(self) -> np.ndarray:
        """Rates (k,) [rad/s] at which they become unstable."""
        return np.array(list(self._rates.values()))

    @cached_property
    def _rows(self) -> np.ndarray:
        """Rows (k, nv) that make their angular velocities of v: all axes are parallel, so that these depend
        on no coordinate."""
        robot = self._functions.robot
        q = robot.neutral()
        return np.array([robot.jacobian(q, link)[1] for link in self.links]).reshape(-1, robot.nv)

    def shares(self, v: np.ndarray) -> np.ndarray:
        """Largest share (k,) of its rate that each link reaches in rows of v (n, nv)."""
        return np.abs(v @ self._rows.T).max(axis=0, initial=0.0) / self.rates

    def remarks(self, v: np.ndarray) -> list[str]:
        """A sentence on links that turned so fast that linear strain without stiffening makes them too
        soft."""
        fast = [
            f"link '{link}' up to {share * rate:.3g} rad/s (its first clamped rate is {rate:.3g} rad/s)"
            for link, share, rate in zip(self.links, self.shares(v), self.rates, strict=True)
            if share > TOO_FAST
        ]
        if not fast:
            return []
        softer = f"{100 * TOO_FAST**2:.0f} %"
        return [
            f"links turned so fast that without stiffening they are over {softer} too soft: "
            f"{'; '.join(fast)}; formulation.stiffening 'geometric' stiffens them"
        ]


def _at_rest(robot: Robot) -> tuple[list[str], list[str]]:
    """Loads of the wheels where the robot stands, joints held as in the neutral position."""
    legs = robot.description.legs
    if legs and robot.functions.is_constrained:
        # lengths are not held in trees with loops
        return [], []
    start = robot.neutral()
    # springs at their free length, so that wheels stand on the road
    start[robot.q_names.index("base/z")] = robot.description.wheels[0].suspension.free_length
    functions: Any = robot.functions
    start = functions.at_home(start)
    joints = [c.name for c in robot.coordinates if c.kind in ("joint", "motor")]
    try:
        rest = robot.static_equilibrium(start, hold=[*joints, *legs] if legs else "joints")
    except FlexdynError as error:
        return [f"no state of rest near the neutral position with the joints held: {error}"], []
    wheels = robot.wheel_forces(rest.q, np.zeros(robot.nv))
    loads = ", ".join(f"{n} {f:.4g} N" for n, f in zip(robot.wheel_names, wheels.normal, strict=True))
    height = float(rest.q[robot.q_names.index("base/z")])
    notes = [f"at rest, joints at zero: base at {height:.4g} m, wheels carry {loads}"]
    pulling = [n for n, stands in zip(robot.wheel_names, wheels.in_contact, strict=True) if not stands]
    if pulling:
        notes.append(f"wheels {', '.join(pulling)} would pull at the ground there: the robot tips over")
    return [], notes
