"""The words in which the schema is written: attributes and elements, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True)
class Attribute:
    """One attribute of an element.

    type is `number`, `integer`, `boolean`, `vector` (three numbers), `numbers`, `text`, `name`, `words`,
    `choice`,
    `station` (a fraction, `root`, `tip` or one of `choices`) or `file`. above/least and below/most bound a
    number
    without and with the bound itself. counts are the lengths that `numbers` may have (empty: one or more).
    only = (attribute, values): has a meaning only where that other attribute has one of these values, and is
    refused elsewhere; needed likewise: must be given there. shown describes a default that is computed later.
    """

    name: str
    type: str
    meaning: str
    unit: str = ""
    default: Any = None
    required: bool = False
    above: float | None = None
    least: float | None = None
    below: float | None = None
    most: float | None = None
    choices: tuple[str, ...] = ()
    counts: tuple[int, ...] = ()
    only: tuple[str, tuple[str, ...]] | None = None
    needed: tuple[str, tuple[str, ...]] | None = None
    shown: str = ""


@dataclass(frozen=True)
class Element:
    """One element: what it may say and what it may hold.

    key names the attribute that tells several elements of this name apart; repeated without key is a plain
    list.
    text is the attribute that the element's text stands for. one_of holds groups of attributes of which at
    most one
    group may be used (exactly one if one_of_needed). of_callable: options may give a Python callable instead.
    """

    name: str
    meaning: str
    attributes: tuple[Attribute, ...] = ()
    children: tuple[Element, ...] = ()
    key: str | None = None
    repeated: bool = False
    text: Attribute | None = None
    one_of: tuple[tuple[str, ...], ...] = ()
    one_of_needed: bool = False
    of_callable: bool = False

    def attribute(self, name: str) -> Attribute | None:
        return next((a for a in self.attributes if a.name == name), None)

    def child(self, name: str) -> Element | None:
        return next((c for c in self.children if c.name == name), None)

    @property
    def settings(self) -> tuple[Attribute, ...]:
        """Attributes, and the text as if it were one."""
        return self.attributes if self.text is None else (*self.attributes, self.text)


def number(name: str, unit: str, meaning: str, default: float | None = None, **more: Any) -> Attribute:
    return Attribute(name, "number", meaning, unit, default, **more)


def positive(name: str, unit: str, meaning: str, default: float | None = None, **more: Any) -> Attribute:
    return number(name, unit, meaning, default, above=0.0, **more)


def not_negative(name: str, unit: str, meaning: str, default: float | None = None, **more: Any) -> Attribute:
    return number(name, unit, meaning, default, least=0.0, **more)


def vector(name: str, unit: str, meaning: str, default: tuple | None = None, **more: Any) -> Attribute:
    return Attribute(name, "vector", meaning, unit, default, **more)


def choice(name: str, choices: str, meaning: str, default: str | None = None, **more: Any) -> Attribute:
    return Attribute(name, "choice", meaning, "", default, choices=tuple(choices.split()), **more)


def integer(name: str, meaning: str, default: int | None = None, **more: Any) -> Attribute:
    return Attribute(name, "integer", meaning, "", default, **more)


def reference(name: str, meaning: str) -> Attribute:
    return Attribute(name, "name", meaning, required=True)


def required(*attributes: Attribute) -> tuple[Attribute, ...]:
    """The same attributes, all of them required."""
    return tuple(replace(a, required=True) for a in attributes)


def named(elements: tuple[Element, ...]) -> Mapping[str, Element]:
    return {element.name: element for element in elements}
