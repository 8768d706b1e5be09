"""Stand-ins for launch and launch_ros that record what a launch file asks for, for where they are missing."""

from __future__ import annotations

import sys
import types
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


class Record:
    """Whatever is constructed: its kind, positional and keyword arguments."""

    def __init__(self, *args, **kwargs) -> None:
        self.args, self.kwargs = args, kwargs

    def __repr__(self) -> str:
        return f"{type(self).__name__}{self.args}{self.kwargs}"


NAMES = {
    "launch": ["LaunchDescription"],
    "launch.actions": ["DeclareLaunchArgument", "GroupAction", "OpaqueFunction"],
    "launch.conditions": ["IfCondition", "UnlessCondition"],
    "launch.substitutions": [
        "AndSubstitution",
        "Command",
        "EqualsSubstitution",
        "FindExecutable",
        "LaunchConfiguration",
        "NotSubstitution",
        "PathJoinSubstitution",
    ],
    "launch_ros": [],
    "launch_ros.actions": ["Node", "PushRosNamespace"],
    "launch_ros.parameter_descriptions": ["ParameterValue"],
    "launch_ros.substitutions": ["FindPackageShare"],
}


def recorded(file: Path, monkeypatch) -> Record:
    """The launch description of a file, made of Records."""
    for module_name, names in NAMES.items():
        module = types.ModuleType(module_name)
        for name in names:
            setattr(module, name, type(name, (Record,), {}))
        monkeypatch.setitem(sys.modules, module_name, module)
    scope: dict = {"__file__": str(file), "__name__": "launch_file"}
    exec(compile(file.read_text(), str(file), "exec"), scope)
    return scope["generate_launch_description"]()


def walk(item):
    """Every Record in a launch description, depth first."""
    if isinstance(item, Record):
        yield item
        for part in (*item.args, *item.kwargs.values()):
            yield from walk(part)
    elif isinstance(item, (list, tuple)):
        for part in item:
            yield from walk(part)
    elif isinstance(item, dict):
        for part in item.values():
            yield from walk(part)


def of_kind(description: Record, kind: str) -> list[Record]:
    return [record for record in walk(description) if type(record).__name__ == kind]
