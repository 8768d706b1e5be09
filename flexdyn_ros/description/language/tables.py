"""Attributes of the tables, by position."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from flexdyn_ros.description.language.vocabulary import Attribute


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
