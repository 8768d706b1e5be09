"""Parameter files: what ROS does not read in them, and what it would ignore in silence; without rclpy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

import yaml

from flexdyn_ros.description.language.vocabulary import rule_of
from flexdyn_ros.errors import UnknownNameError, shortened
from flexdyn_ros.nodes.parameters import NODES, declared_names

#: parameters that every node of ROS has
OF_ROS = ("use_sim_time", "start_type_description_service")
#: and those whose names begin so
PREFIXES_OF_ROS = ("qos_overrides.",)


@cache
def names_of_node(node: str) -> tuple[str, ...]:
    """Names of the parameters of a node of ours; NAME stands for a coordinate."""
    return tuple(name for name, _ in declared_names(NODES[node]))


def unknown(node: str, given: Iterable[str]) -> list[str]:
    """Those of the given parameters that a node does not have."""
    return [name for name in given if not _has(node, name)]


def is_of_another(name: str) -> bool:
    """Whether some node of ours has a parameter of that name."""
    return any(_has(node, name) for node in NODES)


def complaint(node: str, name: str) -> str:
    """That a node has no parameter of that name, and which one may be meant."""
    return f"{node}: {UnknownNameError('parameter', name, names_of_node(node))}"


def _has(node: str, name: str) -> bool:
    if name in OF_ROS or name.startswith(PREFIXES_OF_ROS) or name in names_of_node(node):
        return True
    # of coordinates: constraints.elbow.goal, initial.positions.boom_1/bending_z/1
    for pattern in names_of_node(node):
        before, found, after = pattern.partition("NAME")
        if found and name.startswith(before) and name.endswith(after) and len(name) > len(before + after):
            return True
    # of several robots: left.description_file
    return "robots" in names_of_node(node) and name.rpartition(".")[2] in _robot_names()


@cache
def _robot_names() -> tuple[str, ...]:
    from flexdyn_ros.nodes.ros.robot_parameters import RobotParameters

    return tuple(about.name for about in rule_of(RobotParameters).attributes)


#: what a section of a parameter file may be for beside nodes of ours
OTHER_NODES = ("rviz2", "robot_state_publisher", "controller_manager")


def file_mistakes(path: Path) -> Iterator[str]:
    """Why ROS does not read a parameter file."""
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        yield f"parameter file {path} cannot be read ({error.strerror})"
    except (yaml.YAMLError, UnicodeDecodeError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        yield f"parameter file {path}{f':{mark.line + 1}' if mark else ''} is no YAML"
    else:
        yield from value_mistakes("", content, f"parameter file {path}: ")


def value_mistakes(name: str, value: object, where: str) -> Iterator[str]:
    """Lists that ROS refuses: numbers of two kinds, or other things, in one."""
    if isinstance(value, dict):
        for key, entry in value.items():
            inner = "" if key == "ros__parameters" else str(key)
            inside = f"{name}.{inner}" if name and inner else inner or ""
            yield from value_mistakes(inside, entry, where)
    elif isinstance(value, list):
        kinds = {type(entry) for entry in value}
        if kinds == {int, float}:
            as_numbers = ", ".join(repr(float(entry)) for entry in value[:8])
            given = shortened(", ".join(map(str, value)))
            yield (
                f"{where}parameter {shortened(name)} is [{given}], which mixes integers and numbers: "
                f"expected [{as_numbers}{', ...' if len(value) > 8 else ''}]"
            )
        elif len(kinds) > 1 or not kinds <= {int, float, bool, str}:
            given = shortened(", ".join(map(str, value)))
            yield f"{where}parameter {shortened(name)} is [{given}], expected entries of one type"


def mistakes_of_file(path: Path, started: Iterable[str] = ()) -> Iterator[str]:
    """What is wrong with the names in a parameter file: sections of nodes that nobody has, parameters that
    their nodes do not have. The file is one that ROS can read.

    Parameters
    ----------
    started : iterable of str
        Nodes that are started with it; a section of none of them is said too. Empty: any.
    """
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    if not isinstance(content, Mapping):
        yield f"{path} holds no sections NODE: ros__parameters: ..."
        return
    nodes = tuple(started)
    for section, parameters in _sections(content, ""):
        if parameters is None:
            yield f"{path}: {shortened(section)} holds no ros__parameters"
            continue
        node = section.rpartition("/")[2]
        names = list(_flat(parameters, ""))
        if node in ("*", "**"):
            for name in names:
                if not is_of_another(name):
                    known = sorted({known for one in NODES for known in names_of_node(one)})
                    yield f"{path}: {section}: {UnknownNameError('parameter', name, known)}"
        elif node in NODES:
            yield from (f"{path}: {complaint(node, name)}" for name in unknown(node, names))
            if nodes and node not in nodes:
                yield f"{path}: section {section} is for a node that is not started ({', '.join(nodes)} are)"
        elif node not in OTHER_NODES:
            yield f"{path}: {UnknownNameError('node', node, [*NODES, *OTHER_NODES])}"


def _sections(
    content: Mapping[object, object], above: str
) -> Iterator[tuple[str, Mapping[object, object] | None]]:
    """Sections of a parameter file by the names of their nodes; None: one that leads nowhere."""
    for key, value in content.items():
        if key == "ros__parameters":
            yield above, value if isinstance(value, Mapping) else {}
            continue
        name = f"{above}/{str(key).strip('/')}" if above else str(key)
        if isinstance(value, Mapping) and value:
            yield from _sections(value, name)
        else:
            yield name, None


def _flat(parameters: Mapping[object, object], above: str) -> Iterator[str]:
    for key, value in parameters.items():
        name = f"{above}{key}"
        if isinstance(value, Mapping):
            yield from _flat(value, f"{name}.")
        else:
            yield name
