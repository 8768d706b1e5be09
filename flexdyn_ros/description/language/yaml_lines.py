"""YAML with line numbers, scalars as text; anchors that multiply without end are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from flexdyn_ros.description.language.statements import Lines
from flexdyn_ros.description.places import Place
from flexdyn_ros.description.urdf.limits import MOST_YAML
from flexdyn_ros.errors import DescriptionError

#: the one of libyaml, where it is there: ten times as quick; but it builds its tree by recursion without a
#: bound, and would end the process
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_MOST_NODES = 200_000
_DEEPEST = 50


def load_yaml(file: Path) -> Any:
    """The tree of a YAML file: mappings that know their lines, lists, texts, None for null."""
    from flexdyn_ros.description.urdf.sources import read_bytes

    place = Place(str(file), None, "yaml")
    content = read_bytes(file, MOST_YAML)
    try:
        _refuse_large(content, place)
        node = yaml.compose(content, Loader=_LOADER)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = None if mark is None else mark.line + 1
        problem = getattr(error, "problem", None) or str(error).splitlines()[0]
        Place(str(file), line, "yaml").fail(f"not well-formed YAML: {problem}", expected="well-formed YAML")
    except DescriptionError:
        raise
    except (UnicodeDecodeError, ValueError, RecursionError) as error:
        place.fail(f"not readable as YAML: {type(error).__name__}", expected="YAML text")
    return None if node is None else _Tree(file).value(node, 0)


def _refuse_large(content: bytes, place: Place) -> None:
    """Refuse what is nested too deeply, or has too many parts, before a tree is built."""
    depth = 0
    for count, event in enumerate(yaml.parse(content, Loader=_LOADER)):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if count > 2 * _MOST_NODES or depth > _DEEPEST:
            mark: Any = event.start_mark
            Place(place.file, mark.line + 1, place.element).fail(
                "the YAML tree is too large or too deep", expected="a small tree"
            )


class _Tree:
    def __init__(self, file: Path) -> None:
        self.file = file
        self.count = 0

    def value(self, node: yaml.Node, depth: int) -> Any:
        self.count += 1
        if self.count > _MOST_NODES or depth > _DEEPEST:
            self._place(node).fail("the YAML tree is too large or too deep", expected="a small tree")
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, depth)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item, depth + 1) for item in node.value]
        return None if node.tag == "tag:yaml.org,2002:null" else node.value

    def _mapping(self, node: yaml.MappingNode, depth: int) -> Lines:
        tree = Lines()
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                self._place(key).fail("a key is not a word", expected="a word")
            if key.value in tree:
                self._place(key).fail(f"the key '{key.value}' is given twice", key.value, expected="once")
            tree[key.value] = self.value(value, depth + 1)
            tree.lines[key.value] = key.start_mark.line + 1
        return tree

    def _place(self, node: yaml.Node) -> Place:
        return Place(str(self.file), node.start_mark.line + 1, "yaml")
