"""Statements: the values that XML, YAML and options give to one element, typed, each with its place."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NoReturn

from flexdyn_ros.description.language.values import WrongValue, convert, expected
from flexdyn_ros.description.language.vocabulary import Attribute, Element
from flexdyn_ros.description.places import Place
from flexdyn_ros.records import frozen

DELETED: Any = type("Deleted", (), {"__repr__": lambda self: "null"})()


@frozen
class Value:
    """A typed value, how it was written, and where."""

    value: Any
    raw: object
    place: Place


@dataclass
class Statement:
    """The values given to one element. children: by tag, then by key (named), by count (repeated) or by ""
    (single)."""

    element: Element
    place: Place
    values: dict[str, Value] = field(default_factory=dict)
    children: dict[str, dict[object, Statement]] = field(default_factory=dict)

    def set(self, attribute: Attribute, raw: Any, place: Place) -> None:
        """Convert and store a value; refuse one that the attribute does not accept."""
        try:
            value = convert(attribute, raw)
        except WrongValue as error:
            name = attribute.name
            place.fail(f"wrong value of {name}", name, _shown(raw), str(error))
        self.values[attribute.name] = Value(value, raw, place)

    def child(self, tag: str) -> Statement | None:
        """The single child of that tag."""
        return self.children.get(tag, {}).get("")

    def all(self, tag: str) -> list[Statement]:
        """Named or repeated children, in order."""
        return list(self.children.get(tag, {}).values())

    def get(self, name: str) -> Any:
        """The value as given, None if it was not."""
        value = self.values.get(name)
        return None if value is None else value.value

    def missing(self, name: str) -> NoReturn:
        """Refuse the element because an attribute is not given."""
        attribute = self.element.setting(name)
        assert attribute is not None
        self.fail(f"attribute '{name}' of <{self.element.name}> is missing", name, expected(attribute))

    def fail(self, message: str, attribute: str | None = None, expected: str | None = None) -> NoReturn:
        """Refuse this element, or the value of one of its attributes where that was given."""
        value = self.values.get(attribute or "")
        if value is None:
            self.place.fail(message, attribute, None, expected)
        value.place.fail(message, attribute, _shown(value.raw), expected)


def _shown(raw: object) -> object:
    return raw[:200] + "..." if isinstance(raw, str) and len(raw) > 200 else raw


def complete(statement: Statement) -> dict[str, object]:
    """All settings of the element by name, with defaults filled in.

    Refuses missing required attributes, groups that exclude each other, and attributes that have a meaning
    only beside another value.
    """
    element = statement.element
    _check_groups(statement)
    values = {}
    for attribute in element.settings:
        given = statement.values.get(attribute.name)
        if given is None and attribute.required:
            statement.missing(attribute.name)
        values[attribute.name] = attribute.default if given is None else given.value
    for attribute in element.settings:
        _check_condition(statement, attribute, values)
        if attribute.implied is not None and attribute.name not in statement.values:
            other, allowed = attribute.only or ("", ())
            values[attribute.name] = attribute.implied if values.get(other) in allowed else None
    return values


def _check_groups(statement: Statement) -> None:
    groups = statement.element.one_of
    used = [[name for name in group if name in statement.values] for group in groups]
    given = [names[0] for names in used if names]
    if len(given) > 1:
        other = " and ".join(f"'{name}'" for name in given)
        statement.fail(f"{other} exclude each other", given[1], "only one of them")
    if not given and statement.element.one_of_needed:
        words = " or ".join(" and ".join(group) for group in groups)
        statement.fail(f"<{statement.element.name}> says too little", groups[0][0], words)


def _check_condition(statement: Statement, attribute: Attribute, values: dict[str, object]) -> None:
    given = attribute.name in statement.values
    if attribute.only is not None and given:
        other, allowed = attribute.only
        if values[other] not in allowed:
            message = f"'{attribute.name}' has no meaning with {other} = {values[other]}"
            statement.fail(message, attribute.name, f"{other} = {' or '.join(allowed)}")
    if attribute.needed is not None and not given:
        other, allowed = attribute.needed
        if values[other] in allowed:
            message = f"attribute '{attribute.name}' is missing, {other} = {values[other]} needs it"
            statement.fail(message, attribute.name, expected(attribute))


class Lines(dict[str, object]):
    """A mapping read from YAML that knows the line of each key."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: dict[str, int] = {}
