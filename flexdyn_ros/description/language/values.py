"""From text or Python values to the type that an attribute asks for."""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from numbers import Integral, Real
from operator import ge, gt, le, lt
from typing import Any

from flexdyn_ros.description.language.vocabulary import Attribute
from flexdyn_ros.description.places import suggestion
from flexdyn_ros.description.urdf.markup import as_float

_STATIONS = {"root": 0.0, "tip": 1.0}


class WrongValue(ValueError):
    """The value is not what the attribute expects; the argument states the expectation."""


def convert(attribute: Attribute, raw: object) -> Any:
    """Value of the attribute from XML text, YAML text or a Python object; WrongValue if it is none."""
    value = _TYPES[attribute.type][1](attribute, raw)
    if value is None:
        near = suggestion(raw.strip(), attribute.choices) if isinstance(raw, str) else ""
        raise WrongValue(expected(attribute) + near)
    return value


def expected(attribute: Attribute) -> str:
    """What the attribute expects, in words."""
    what = _TYPES[attribute.type][0]
    if attribute.type == "choice":
        what += ", ".join(attribute.choices)
    if attribute.type == "station":
        what += " or ".join(("root", "tip", *attribute.choices))
    if attribute.counts:
        what = " or ".join(map(str, attribute.counts)) + " " + what
    limits = [f"{sign} {bound:g}" for sign, bound in attribute.bounds.items()]
    unit = f" {attribute.unit}" if attribute.unit not in ("", "-") else ""
    return what + (" " + " and ".join(limits) if limits else "") + unit


def is_within(attribute: Attribute, value: float) -> bool:
    """Whether a number keeps the bounds of an attribute."""
    return all(_KEEPS[sign](value, bound) for sign, bound in attribute.bounds.items())


_KEEPS = {">": gt, ">=": ge, "<": lt, "<=": le}


def _number(attribute: Attribute, raw: object) -> float | None:
    value = _plain_number(raw)
    return value if value is not None and is_within(attribute, value) else None


def _plain_number(raw: object) -> float | None:
    if isinstance(raw, str):
        return as_float(raw)
    if isinstance(raw, Real) and not isinstance(raw, bool):
        try:
            value = float(raw)
        except OverflowError:
            return None
        return value if isfinite(value) else None
    if getattr(raw, "ndim", None) == 0 and hasattr(raw, "item"):
        return _plain_number(raw.item())
    return None


def _integer(attribute: Attribute, raw: object) -> int | None:
    value = None
    if isinstance(raw, str):
        text = raw.strip()
        digits = text.removeprefix("-").removeprefix("+")
        value = int(text) if digits.isascii() and digits.isdigit() and len(digits) < 19 else None
    elif (isinstance(raw, Integral) and not isinstance(raw, bool)) or (
        isinstance(raw, float) and raw.is_integer() and abs(raw) < 1e18
    ):
        value = int(raw)
    return value if value is not None and is_within(attribute, value) else None


def _boolean(attribute: Attribute, raw: object) -> bool | None:
    if isinstance(raw, str):
        return {"true": True, "false": False}.get(raw.strip())
    # numpy's as well, without importing numpy
    return bool(raw) if type(raw).__name__ in ("bool_", "bool") else None


def _numbers(attribute: Attribute, raw: object) -> tuple[float, ...] | None:
    values = tuple(_number(attribute, word) for word in _flat(raw))
    some = tuple(value for value in values if value is not None)
    counts = (3,) if attribute.type == "vector" else attribute.counts
    fits = len(some) == len(values) and (len(values) in counts if counts else values)
    return some if fits else None


def _flat(raw: object) -> list[Any]:
    """Words of a text, items of a list or array; rows of a table one after another."""
    if isinstance(raw, str):
        return raw.split()
    if hasattr(raw, "tolist"):
        raw = raw.tolist()
    if not isinstance(raw, (list, tuple)):
        return [raw]
    return [item for row in raw for item in (row if isinstance(row, (list, tuple)) else (row,))]


def _choice(attribute: Attribute, raw: object) -> str | None:
    word = raw.strip() if isinstance(raw, str) else None
    return word if word in attribute.choices else None


def _station(attribute: Attribute, raw: object) -> float | str | None:
    word = raw.strip() if isinstance(raw, str) else raw
    if isinstance(word, str):
        if word in attribute.choices:
            return word
        word = _STATIONS.get(word, word)
    value = _plain_number(word)
    return value if value is not None and 0.0 <= value <= 1.0 else None


def _text(attribute: Attribute, raw: object) -> str | None:
    return (raw.strip() or None) if isinstance(raw, str) else None


def _words(attribute: Attribute, raw: Any) -> tuple[str, ...] | None:
    words = raw.split() if isinstance(raw, str) else raw
    fits = isinstance(words, (list, tuple)) and words and all(isinstance(word, str) for word in words)
    return tuple(words) if fits else None


#: per type: what is expected, and how it is read (None: it is not that)
_TYPES: dict[str, tuple[str, Callable[[Attribute, Any], Any]]] = {
    "number": ("a finite number", _number),
    "integer": ("an integer", _integer),
    "boolean": ("true or false", _boolean),
    "vector": ("three finite numbers separated by blanks", _numbers),
    "numbers": ("finite numbers separated by blanks", _numbers),
    "choice": ("one of ", _choice),
    "station": ("a number from 0 to 1, ", _station),
    "words": ("words separated by blanks", _words),
    "name": ("a non-empty name", _text),
    "file": ("the name of a file", _text),
    "text": ("text", _text),
}
