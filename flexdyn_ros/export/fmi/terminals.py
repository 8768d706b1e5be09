"""Terminals of an FMU 3.0: the variables of an actuator or a frame as one plug."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence

from flexdyn_ros.export.fmi.variables import Variable


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
