"""Layers of statements laid over each other: later wins attribute by attribute, named elements merge by
name."""

from __future__ import annotations

from typing import Any

from flexdyn_ros.description.elements.description import Override
from flexdyn_ros.description.language.blocks import Layer
from flexdyn_ros.description.language.statements import DELETED, Statement, Value


def merge(below: Layer, above: Layer, overrides: list[Override]) -> None:
    """Lay a layer over another, in place; every value that it replaces is recorded with both values."""
    _merge(below.robot, above.robot, "", above.source, overrides)
    for word in ("links", "joints"):
        parts: dict[str, Statement] = getattr(below, word)
        for name, part in getattr(above, word).items():
            _merge_child(parts, name, part, f"{word}.{name}", above.source, overrides)


def _merge(below: Statement, above: Statement, path: str, source: str, overrides: list[Override]) -> None:
    for name, value in above.values.items():
        _merge_value(below, name, value, path + name, source, overrides)
    _drop_replaced(below, above, path, source, overrides)
    for tag, children in above.children.items():
        mine = below.children.setdefault(tag, {})
        rule = above.element.child(tag)
        if rule is not None and rule.repeated and rule.key is None and children:
            counts = f"{len(mine)} elements", f"{len(children)} elements"
            overrides.append(Override(path + tag, *counts, source))
            mine.clear()
        for key, child in children.items():
            at = path + tag + (f".{key}" if key != "" else "")
            _merge_child(mine, key, child, at, source, overrides)


def _drop_replaced(below: Statement, above: Statement, path: str, source: str, overrides: list) -> None:
    """Drop values of an earlier source where a later one gives an alternative to them."""
    gone: list[str] = []
    for group in below.element.one_of:
        others = [name for other in below.element.one_of if other is not group for name in other]
        is_other = any(_is_given(above, name) for name in others)
        if is_other and not any(_is_given(above, name) for name in group):
            gone += group
    for attribute in below.element.settings:
        other, allowed = attribute.only or ("", ())
        if _is_given(above, other) and below.get(other) not in allowed and attribute.name not in above.values:
            gone.append(attribute.name)
    for name in gone:
        value = below.values.pop(name, None)
        if value is not None:
            overrides.append(Override(path + name, value.value, None, source))


def _is_given(statement: Statement, name: str) -> bool:
    value = statement.values.get(name)
    return value is not None and value.value is not DELETED


def _merge_child(
    mine: dict, key: object, child: Any, path: str, source: str, overrides: list[Override]
) -> None:
    if child is DELETED:
        if mine.pop(key, None) is not None:
            overrides.append(Override(path, "present", None, source))
        return
    if key not in mine:
        mine[key] = Statement(child.element, child.place)
    _merge(mine[key], child, path + ".", source, overrides)


def _merge_value(
    below: Statement, name: str, value: Value, path: str, source: str, overrides: list[Override]
) -> None:
    old = below.values.get(name)
    attribute = below.element.setting(name)
    default = None if attribute is None else attribute.default
    before = default if old is None else old.value
    after = default if value.value is DELETED else value.value
    if value.value is DELETED:
        below.values.pop(name, None)
    else:
        below.values[name] = value
    if name != below.element.key and before != after:
        text = below.element.text
        is_all = text is not None and text.name == name and not below.element.attributes
        overrides.append(Override(path.rpartition(".")[0] if is_all else path, before, after, source))
