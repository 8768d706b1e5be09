"""modelDescription.xml and terminalsAndIcons.xml of a functional mock-up unit (FMI 2.0.4 and 3.0.2)."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from hashlib import sha256
from uuid import UUID

from flexdyn_ros import __version__
from flexdyn_ros.export.fmi.variables import UNITS, Variable

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
        ET.SubElement(root, "ModelExchange", common)
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
