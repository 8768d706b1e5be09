"""YAML files and `options=` as statements: the same tree as the XML blocks, elements as keys."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from reprlib import repr as short
from typing import Any

from flexdyn_ros.description.language import schema
from flexdyn_ros.description.language.blocks import Layer, check_version
from flexdyn_ros.description.language.mistakes import part
from flexdyn_ros.description.language.statements import DELETED, Statement, Value
from flexdyn_ros.description.language.vocabulary import Element
from flexdyn_ros.description.places import Place, suggestion

_SCOPES = {"links": schema.LINK, "joints": schema.JOINT}


def read_config(path: str | os.PathLike[str], known: dict[str, set[str]]) -> Layer:
    """The layer of a YAML file; its one key is `flexdyn`."""
    from flexdyn_ros.description.language.yaml_lines import load_yaml
    from flexdyn_ros.description.urdf.sources import find_file

    file = find_file(os.fspath(path))
    tree = load_yaml(file)
    where = Place(str(file), 1, "flexdyn")
    if not isinstance(tree, Mapping) or set(tree) != {"flexdyn"}:
        keys = ", ".join(map(str, tree)) if isinstance(tree, Mapping) else type(tree).__name__
        where.fail("a configuration has the one key 'flexdyn'", None, keys, "flexdyn: {...}")
    return read_tree(tree["flexdyn"], Path(file).name, where, known)


def read_options(options: object, known: dict[str, set[str]], place: str | None = "options") -> Layer:
    """The layer of `options=`: a mapping, nested or with dotted paths, or a list of `path=value`;
    place None marks them as text of unknown origin."""
    where = Place(place, None, "flexdyn")
    if isinstance(options, (list, tuple)):
        options = dict(_split(item, where) for item in options)
    if not isinstance(options, Mapping):
        kind = type(options).__name__
        where.fail("options are not a mapping", None, kind, "a mapping or `path=value` texts")
    if set(options) == {"flexdyn"}:
        options = options["flexdyn"]
    return read_tree(options, "options", where, known)


def _split(item: object, where: Place) -> tuple[str, str]:
    path, equals, value = str(item).partition("=")
    if not equals or not path.strip():
        where.fail("an option without a value", None, str(item), "path=value")
    return path.strip(), value.strip()


def read_tree(tree: object, source: str, where: Place, known: dict[str, set[str]]) -> Layer:
    layer = Layer(source, where)
    if tree is None:
        return layer
    for path, value, place in _items(tree, where):
        with part():
            _read_path(path, value, place, layer, known)
    return layer


def _items(tree: object, where: Place) -> list[tuple[str, object, Place]]:
    """Keys and values of a mapping, each with its place; refuse what is not a mapping."""
    if not isinstance(tree, Mapping):
        where.fail("not a mapping", None, tree if isinstance(tree, str) else short(tree), "keys and values")
    lines = getattr(tree, "lines", {})
    return [(str(key), value, _at(where, str(key), lines.get(key))) for key, value in tree.items()]


def _at(place: Place, path: str, line: int | None = None) -> Place:
    """The place one step deeper; of a dotted path only the first word is meant."""
    return Place(place.file, line or place.line, f"{place.element}/{path.partition('.')[0]}")


def _read_path(path: str, value: object, place: Place, layer: Layer, known: dict[str, set[str]]) -> None:
    """One key below `flexdyn`: version, links, joints, or an element of the whole robot; dots go deeper."""
    head, _, rest = path.partition(".")
    if head == "version":
        check_version(value, place)
    elif head in _SCOPES:
        for name, inner, at in _named(rest, value, place, known[head.removesuffix("s")]):
            with part():
                _read_part(head, name, inner, at, layer, known)
    else:
        _read_below(path, value, place, layer.robot, schema.YAML_KEYS)


def _named(rest: str, value: object, place: Place, names: set[str]) -> list[tuple[str, object, Place]]:
    """Names and values below a key; a name itself may have dots, so the longest known name is taken."""
    if not rest:
        found = []
        for key, inner, at in _items(value, place):
            found += _named(key, inner, Place(at.file, at.line, place.element), names)
        return found
    words = rest.split(".")
    longest = 1 + max((name.count(".") for name in names), default=0)
    for count in range(min(len(words), longest), 0, -1):
        name = ".".join(words[:count])
        if name in names or count == 1:
            inside = Place(place.file, place.line, f"{place.element}/{name}")
            return [(name, _nested(words[count:], value), inside)]
    return []


def _nested(words: list[str], value: object) -> object:
    for word in reversed(words):
        value = {word: value}
    return value


def _read_part(
    head: str, name: str, value: object, place: Place, layer: Layer, known: dict[str, set[str]]
) -> None:
    what = head.removesuffix("s")
    if name not in known[what]:
        message = f"there is no {what} of that name"
        place.unknown(message, name, known[what], expected=f"the name of a {what}")
    if _is_null(value):
        getattr(layer, head)[name] = DELETED
        return
    statement = layer.part(_SCOPES[head], name, place)
    for key, inner, at in _items(value, place):
        with part():
            _read_below(key, inner, at, statement)


def _read_below(
    path: str, value: object, place: Place, parent: Statement, more: tuple[str, ...] = ()
) -> None:
    """One key below an element: a child element or an attribute; the rest of a dotted path goes deeper."""
    rule = parent.element
    head, _, rest = path.partition(".")
    child = rule.child(head)
    if child is not None:
        _read_child(child, _nested(rest.split("."), value) if rest else value, place, parent)
        return
    attribute = rule.setting(head)
    if attribute is None or attribute.name == rule.key:
        names = [setting.name for setting in rule.settings if setting.name != rule.key]
        words = [*(each.name for each in rule.children), *names, *more]
        given = value if isinstance(value, (str, int, float)) else None
        hint = suggestion(head, words)
        place.fail(f"unknown key '{head}'{hint}", head, given, "one of " + ", ".join(words))
    above = Place(place.file, place.line, parent.place.element, place.expanded)
    if rest:
        above.fail(f"'{head}' has no parts", head, rest, "a value")
    if _is_null(value):
        parent.values[attribute.name] = Value(DELETED, None, above)
    else:
        parent.set(attribute, value, above)


def _is_null(value: object) -> bool:
    return value is None or (isinstance(value, str) and value.strip() == "null")


def _read_child(rule: Element, value: object, place: Place, parent: Statement) -> None:
    siblings = parent.children.setdefault(rule.name, {})
    if rule.key is not None:
        _read_named(rule, value, place, siblings)
    elif rule.repeated:
        if not isinstance(value, (list, tuple)):
            place.fail(f"'{rule.name}' is not a list", None, short(value), "a list")
        for item in value:
            with part():
                siblings[len(siblings)] = _statement(rule, item, place, None)
    else:
        siblings[""] = _statement(rule, value, place, siblings.get(""))


def _read_named(rule: Element, value: object, place: Place, siblings: dict[object, Statement]) -> None:
    for path, inner, at in _items(value, place):
        name, _, rest = path.partition(".")
        if rest:
            inner = _nested(rest.split("."), inner)
        with part():
            statement = _statement(rule, inner, at, siblings.get(name))
            key = rule.attribute(rule.key or "")
            if statement is not DELETED and key is not None:
                statement.set(key, name, at)
            siblings[name] = statement


def _statement(rule: Element, value: object, place: Place, so_far: object) -> Any:
    """The statement of an element: keys, its text, a Python callable, or null (which deletes it)."""
    if _is_null(value):
        return DELETED
    statement = so_far if isinstance(so_far, Statement) else Statement(rule, place)
    if isinstance(value, Mapping):
        for key, inner, at in _items(value, place):
            with part():
                _read_below(key, inner, at, statement)
    elif rule.of_callable and callable(value):
        statement.values["callable"] = Value(value, value, place)
    elif rule.text is not None and not (rule.attributes or rule.children):
        statement.set(rule.text, value, place)
    else:
        shown = value if isinstance(value, (str, int, float, bool)) else short(value)
        place.fail(f"<{rule.name}> is not a single value", None, shown, "keys and values")
    return statement
