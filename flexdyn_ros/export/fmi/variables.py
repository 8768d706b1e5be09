"""The variables of a robot as a functional mock-up unit, in the order of their value references."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from flexdyn_ros.export.tracing.equations import Equations
from flexdyn_ros.robot.coordinates import units_of
from flexdyn_ros.robot.verbs import Robot

__all__ = ["UNITS", "Variable", "tips_of", "variables_of"]

#: exponents of kg, m, s, rad of every unit
UNITS: dict[str, dict[str, int]] = {
    "rad": {"rad": 1},
    "m": {"m": 1},
    "rad/s": {"rad": 1, "s": -1},
    "m/s": {"m": 1, "s": -1},
    "rad/s2": {"rad": 1, "s": -2},
    "m/s2": {"m": 1, "s": -2},
    "N": {"kg": 1, "m": 1, "s": -2},
    "N m": {"kg": 1, "m": 2, "s": -2},
    "J": {"kg": 1, "m": 2, "s": -2},
    "s": {"s": 1},
}


class Variable(NamedTuple):
    """A variable.

    block: "time", "u", "q", "v", "dq", "dv", "p" or "y". unit: "" where there is none. start: None where it
    is computed. derivative_of: value reference of the state that it is the derivative of, or None.
    """

    name: str
    block: str
    unit: str
    description: str
    start: float | None = None
    derivative_of: int | None = None


def tips_of(robot: Robot) -> tuple[str, ...]:
    """Frames at the ends of the robot: links that carry no other, at their tips; of a platform itself."""
    description = robot.description
    if description.platform is not None:
        return (robot.frame_names[1],)
    parents = {joint.parent for joint in description.joints}
    ends = [joint.child for joint in description.joints if joint.child not in parents]
    frames = [f"{end}/tip" if f"{end}/tip" in robot.frame_names else end for end in ends]
    return tuple(name for name in frames if name in robot.frame_names)


def variables_of(
    equations: Equations, frames: Sequence[str], q0: np.ndarray, v0: np.ndarray
) -> tuple[Variable, ...]:
    """All variables: index and value reference are the same."""
    robot = equations.robot
    of_q, of_v, of_tau = units_of(robot)
    unit_of = dict(zip(robot.effort_names, of_tau, strict=True))
    found = [Variable("time", "time", "s", "time")]
    found += [Variable(name, "u", unit_of[name], f"effort of {name}", 0.0) for name in robot.actuators]
    first_q = len(found)
    found += [
        Variable(f"q.{name}", "q", unit, f"position {name}", float(x))
        for name, unit, x in zip(robot.q_names, of_q, q0, strict=True)
    ]
    first_v = len(found)
    found += [
        Variable(f"v.{name}", "v", unit, f"velocity {name}", float(x))
        for name, unit, x in zip(robot.v_names, of_v, v0, strict=True)
    ]
    for i, name in enumerate(robot.q_names):
        unit = f"{of_q[i]}/s" if of_q[i] else ""
        found.append(
            Variable(f"der(q.{name})", "dq", unit, f"rate of position {name}", derivative_of=first_q + i)
        )
    for i, name in enumerate(robot.v_names):
        found.append(
            Variable(f"der(v.{name})", "dv", f"{of_v[i]}2", f"acceleration {name}", derivative_of=first_v + i)
        )
    found += [
        Variable(p.name, "p", p.unit, f"parameter {p.name}", p.value) for p in equations.parameters.chosen
    ]
    return (*found, *_outputs(robot, frames))


def _outputs(robot: Robot, frames: Sequence[str]) -> list[Variable]:
    """Further outputs, in the order in which the C functions frames, deflections and energy write them."""
    axes = "xyz"
    found = [
        Variable(f"{name}.{axis}", "y", "m", f"position of {name} in the world, {axis}")
        for name in frames
        for axis in axes
    ]
    found += [
        Variable(f"{name}.R[{i},{j}]", "y", "", f"rotation matrix of {name}: world from frame")
        for name in frames
        for i in (1, 2, 3)
        for j in (1, 2, 3)
    ]
    found += [
        Variable(
            f"{tip.link}.deflection.{axis}", "y", "m", f"deflection of the tip of {tip.link}, its own axes"
        )
        for tip in getattr(robot, "tips", ())
        for axis in axes
    ]
    energies = ("kinetic", "gravity", "elastic")
    return found + [Variable(f"energy.{name}", "y", "J", f"{name} energy") for name in energies]
