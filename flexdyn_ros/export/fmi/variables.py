"""The variables of a robot as a functional mock-up unit, in the order of their value references."""

from __future__ import annotations

import re
from collections.abc import Sequence
from string import ascii_letters, digits
from typing import NamedTuple

import numpy as np

from flexdyn_ros.export.c_code.program import Program
from flexdyn_ros.export.tracing.equations import Equations
from flexdyn_ros.robot.coordinates import units_of
from flexdyn_ros.robot.verbs import Robot

#: what quoted identifiers may hold
_QUOTABLE = frozenset(ascii_letters + digits + "_!#$%&()*+,-./:;<>=?@[]^{}|~ ")

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
    "Pa": {"kg": 1, "m": -1, "s": -2},
    "Pa/s": {"kg": 1, "m": -1, "s": -3},
    "1/s": {"s": -1},
    "1/s2": {"s": -2},
}


class Variable(NamedTuple):
    """A variable.

    block: "time", "u", "q", "v", "z", "dq", "dv", "dz", "p", "y" or "e". unit: "" where there is
    none. start: None where it is computed. derivative_of: value reference of the state that it is the
    derivative of, or None.
    """

    name: str
    block: str
    unit: str
    description: str
    start: float | None = None
    derivative_of: int | None = None


def structured(*parts: str) -> str:
    """A name as the standard structures it: parts, and what a name has between slashes, with points between
    them, and numbers as indices."""
    found: list[str] = []
    for x in (x for part in parts for x in part.split("/")):
        if found and x.isdecimal() and x.isascii() and found[-1][-1] not in "]'":
            found[-1] += f"[{x}]"
        else:
            found.append(_identifier(x))
    return ".".join(found)


def _identifier(name: str) -> str:
    if re.fullmatch(r"[A-Za-z_][A-Za-z_0-9]*", name):
        return name
    plain = "".join(c if c in _QUOTABLE else "_" for c in name)
    return f"'{plain}'"


def variables_of(equations: Equations, made: Program, q0: np.ndarray, v0: np.ndarray) -> tuple[Variable, ...]:
    """All variables: index and value reference are the same."""
    robot = equations.robot
    of_q, of_v, _ = units_of(robot)
    with_oil = "hydraulic_step" in made.functions
    found = [Variable("time", "time", "s", "time"), *_inputs(robot, with_oil)]
    first = len(found)
    found += [
        Variable(structured("q", name), "q", unit, f"position {name}", float(x))
        for name, unit, x in zip(robot.q_names, of_q, q0, strict=True)
    ]
    found += [
        Variable(structured("v", name), "v", unit, f"velocity {name}", float(x))
        for name, unit, x in zip(robot.v_names, of_v, v0, strict=True)
    ]
    if with_oil:
        oil = equations.oil
        found += [
            Variable(_of_oil(name), "z", unit, f"{_words(name)}", float(x))
            for name, unit, x in zip(oil.names, oil.units, oil.start(q0), strict=True)
        ]
    states = list(enumerate(found[first:], first))
    found += [_rate(i, x) for i, x in states]
    found += [
        Variable(structured(p.name), "p", p.unit, f"parameter {p.name}", p.value)
        for p in equations.parameters.chosen
    ]
    found += _outputs(robot, made.frames if "frames" in made.functions else ())
    if with_oil:
        found += [
            Variable(structured(leg, "force"), "y", "N", f"force of the cylinder of {leg}")
            for leg in equations.oil.legs
        ]
    events = [f for verb, f in made.functions.items() if verb.endswith("event_indicators")]
    count = len(events[0].results) if events else 0
    meaning = "changes its sign where the equations switch"
    return (*found, *(Variable(f"event[{i}]", "e", "", meaning) for i in range(1, count + 1)))


def _inputs(robot: Robot, with_oil: bool) -> list[Variable]:
    if with_oil:
        return [
            Variable(structured(leg, "valve"), "u", "", f"opening of the valve of {leg}, -1 to 1", 0.0)
            for leg in robot.actuators
        ]
    unit_of = dict(zip(robot.effort_names, units_of(robot)[2], strict=True))
    return [
        Variable(structured(name), "u", unit_of[name], f"effort of {name}", 0.0) for name in robot.actuators
    ]


def _of_oil(name: str) -> str:
    """The structured name of a number LEG.FIELD of the oil."""
    leg, _, field = name.rpartition(".")
    return structured(leg, field)


def _words(name: str) -> str:
    leg, _, field = name.rpartition(".")
    return f"{field.replace('_', ' ')} of {leg}"


def _rate(i: int, x: Variable) -> Variable:
    """The derivative of a state."""
    unit = {"rad/s": "rad/s2", "m/s": "m/s2", "1/s": "1/s2"}.get(x.unit, f"{x.unit}/s" if x.unit else "")
    if x.block == "z" and not x.unit:
        unit = "1/s"
    what = "acceleration" if x.block == "v" else "rate of"
    named = x.description.removeprefix("velocity ") if x.block == "v" else x.description
    return Variable(f"der({x.name})", f"d{x.block}", unit, f"{what} {named}", derivative_of=i)


def _outputs(robot: Robot, frames: Sequence[str]) -> list[Variable]:
    """Further outputs, in the order in which the C functions frames, deflections and energy write them."""
    axes = "xyz"
    found = [
        Variable(structured(name, axis), "y", "m", f"position of {name} in the world, {axis}")
        for name in frames
        for axis in axes
    ]
    found += [
        Variable(f"{structured(name, 'R')}[{i},{j}]", "y", "", f"rotation matrix of {name}: world from frame")
        for name in frames
        for i in (1, 2, 3)
        for j in (1, 2, 3)
    ]
    found += [
        Variable(
            structured(tip.link, "deflection", axis),
            "y",
            "m",
            f"deflection of the tip of {tip.link}, its own axes",
        )
        for tip in robot.tips
        for axis in axes
    ]
    energies = ("kinetic", "gravity", "elastic")
    return found + [Variable(f"energy.{name}", "y", "J", f"{name} energy") for name in energies]
