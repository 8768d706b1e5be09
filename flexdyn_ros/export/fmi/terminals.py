"""Terminals of an FMU 3.0: the variables of an actuator or a frame as one plug."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Sequence

from flexdyn_ros.export.fmi.variables import Variable

__all__ = ["terminals_and_icons"]


def terminals_and_icons(variables: Sequence[Variable]) -> str:
    """The text of terminalsAndIcons.xml: a bus for each actuator, with effort or valve, position, velocity,
    force, and one for each frame and deflection."""
    root = ET.Element("fmiTerminalsAndIcons", fmiVersion="3.0")
    listed = ET.SubElement(root, "Terminals")
    for name, members in _groups(variables).items():
        terminal = ET.SubElement(listed, "Terminal", name=name, matchingRule="bus")
        for member, variable in members.items():
            attributes = {"variableName": variable, "memberName": member, "variableKind": "signal"}
            ET.SubElement(terminal, "TerminalMemberVariable", attributes)
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _groups(variables: Sequence[Variable]) -> dict[str, dict[str, str]]:
    """Names of variables by terminal and member."""
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
