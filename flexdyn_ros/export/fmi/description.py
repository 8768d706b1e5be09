"""modelDescription.xml and terminalsAndIcons.xml of a functional mock-up unit (FMI 2.0.4 and 3.0.2)."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from hashlib import sha256
from string import ascii_letters, digits
from typing import NamedTuple
from uuid import UUID

import numpy as np

from flexdyn_ros import __version__
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
    on_oil = set(robot.hydraulics.names) if with_oil and robot.hydraulics is not None else set()
    unit_of = dict(zip(robot.effort_names, units_of(robot)[2], strict=True))
    return [
        Variable(structured(name, "valve"), "u", "", f"opening of the valve of {name}, -1 to 1", 0.0)
        if name in on_oil
        else Variable(structured(name), "u", unit_of[name], f"effort of {name}", 0.0)
        for name in robot.actuators
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


CO_SIMULATION, MODEL_EXCHANGE = "co-simulation", "model-exchange"


def token_of(*texts: str) -> str:
    """A token that changes with the texts, in braces."""
    digest = sha256("\0".join(texts).encode()).digest()
    return f"{{{UUID(bytes=digest[:16])}}}"


def model_description(
    name: str,
    identifier: str,
    token: str,
    fmi: str,
    kinds: Sequence[str],
    variables: Sequence[Variable],
    step: float,
) -> str:
    """The text of the file."""
    root = _root(fmi, name, token, sum(x.block == "e" for x in variables))
    state = "FMUstate" if fmi == "2.0" else "FMUState"
    common = {"modelIdentifier": identifier, f"canGetAndSet{state}": "true", f"canSerialize{state}": "true"}
    if MODEL_EXCHANGE in kinds:
        # by default the steps of a solver are told to FMI 2.0 only
        told = {} if fmi == "2.0" else {"needsCompletedIntegratorStep": "true"}
        ET.SubElement(root, "ModelExchange", common | told)
    if CO_SIMULATION in kinds:
        ET.SubElement(root, "CoSimulation", common | {"canHandleVariableCommunicationStepSize": "true"})
    _units(root, variables)
    _experiment(root, step)
    (_list_second if fmi == "2.0" else _list_third)(root, variables)
    return _text(root)


def _text(root: ET.Element) -> str:
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _root(fmi: str, name: str, token: str, events: int) -> ET.Element:
    attributes = {
        "fmiVersion": fmi,
        "modelName": name,
        "guid" if fmi == "2.0" else "instantiationToken": token,
        "description": f"robot {name}; SI units, efforts are held over a step of co-simulation",
        "generationTool": f"flexdyn_ros {__version__}",
        "variableNamingConvention": "structured",
    }
    if fmi == "2.0":
        attributes["numberOfEventIndicators"] = str(events)
    return ET.Element("fmiModelDescription", attributes)


def _units(root: ET.Element, variables: Sequence[Variable]) -> None:
    definitions = ET.SubElement(root, "UnitDefinitions")
    for unit in dict.fromkeys(x.unit for x in variables if x.unit in UNITS):
        element = ET.SubElement(definitions, "Unit", name=unit)
        ET.SubElement(element, "BaseUnit", {key: str(power) for key, power in UNITS[unit].items()})


def _experiment(root: ET.Element, step: float) -> None:
    ET.SubElement(root, "DefaultExperiment", startTime="0.0", stopTime="1.0", stepSize=repr(step))


def _causality(x: Variable) -> dict[str, str]:
    """Causality, variability and how the start is found."""
    if x.block == "u":
        return {"causality": "input", "variability": "continuous"}
    if x.block in ("q", "v", "z"):
        return {"causality": "output", "variability": "continuous", "initial": "exact"}
    if x.block in ("dq", "dv", "dz", "e"):
        return {"causality": "local", "variability": "continuous", "initial": "calculated"}
    if x.block == "p":
        return {"causality": "parameter", "variability": "fixed", "initial": "exact"}
    return {"causality": "output", "variability": "continuous", "initial": "calculated"}


def _numbers(x: Variable) -> dict[str, str]:
    """Unit and start."""
    found = {"unit": x.unit} if x.unit in UNITS else {}
    return found | ({"start": repr(x.start)} if x.start is not None else {})


def _list_second(root: ET.Element, variables: Sequence[Variable]) -> None:
    """Variables and structure as version 2.0 has them."""
    listed = ET.SubElement(root, "ModelVariables")
    # time is not listed: index in the list, from 1, and value reference are the same
    for reference, x in enumerate(variables):
        if x.block == "time":
            continue
        attributes = {"name": x.name, "valueReference": str(reference), "description": x.description}
        element = ET.SubElement(listed, "ScalarVariable", attributes | _causality(x))
        derivative = {} if x.derivative_of is None else {"derivative": str(x.derivative_of)}
        ET.SubElement(element, "Real", _numbers(x) | derivative)
    structure = ET.SubElement(root, "ModelStructure")
    groups = {
        "Outputs": [i for i, x in enumerate(variables) if x.block in ("q", "v", "z", "y")],
        "Derivatives": [i for i, x in enumerate(variables) if x.block in ("dq", "dv", "dz")],
        "InitialUnknowns": [i for i, x in enumerate(variables) if x.block in ("dq", "dv", "dz", "y")],
    }
    for key, indices in groups.items():
        if not indices:
            continue
        group = ET.SubElement(structure, key)
        for i in indices:
            ET.SubElement(group, "Unknown", index=str(i))


def _list_third(root: ET.Element, variables: Sequence[Variable]) -> None:
    """Variables and structure as version 3.0 has them."""
    listed = ET.SubElement(root, "ModelVariables")
    for reference, x in enumerate(variables):
        attributes = {"name": x.name, "valueReference": str(reference), "description": x.description}
        if x.block == "time":
            attributes |= {"causality": "independent", "variability": "continuous"}
        else:
            attributes |= _causality(x) | _numbers(x)
        if x.derivative_of is not None:
            attributes["derivative"] = str(x.derivative_of)
        ET.SubElement(listed, "Float64", attributes)
    structure = ET.SubElement(root, "ModelStructure")
    for key, blocks in (
        ("Output", ("q", "v", "z", "y")),
        ("ContinuousStateDerivative", ("dq", "dv", "dz")),
        ("InitialUnknown", ("dq", "dv", "dz", "y")),
        ("EventIndicator", ("e",)),
    ):
        for reference, x in enumerate(variables):
            if x.block in blocks:
                ET.SubElement(structure, key, valueReference=str(reference))


def terminals_and_icons(groups: Mapping[str, Mapping[str, str]]) -> str:
    """The text of terminalsAndIcons.xml: groups are buses, of variables by members."""
    root = ET.Element("fmiTerminalsAndIcons", fmiVersion="3.0")
    listed = ET.SubElement(root, "Terminals")
    for name, members in groups.items():
        terminal = ET.SubElement(listed, "Terminal", name=name, matchingRule="bus")
        for member, variable in members.items():
            attributes = {"variableName": variable, "memberName": member, "variableKind": "signal"}
            ET.SubElement(terminal, "TerminalMemberVariable", attributes)
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def groups_of(variables: Sequence[Variable]) -> dict[str, dict[str, str]]:
    """Variables of a robot by terminal and member: each actuator with effort or valve, position, velocity and
    force; each frame and deflection."""
    groups: dict[str, dict[str, str]] = {}
    names = {x.name for x in variables}
    for x in variables:
        if x.block == "u":
            group, _, member = x.name.rpartition(".") if x.name.endswith(".valve") else (x.name, "", "effort")
            found = groups.setdefault(group, {member: x.name})
            motion = {"position": f"q.{group}", "velocity": f"v.{group}"}
            found |= {key: name for key, name in motion.items() if name in names}
        elif x.block in ("y", "z"):
            group, _, member = x.name.rpartition(".")
            groups.setdefault(group, {})[re.sub(r"[\[,\]]+", "_", member).strip("_")] = x.name
    return groups
