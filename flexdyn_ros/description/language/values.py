"""From text or Python values to the type that an attribute asks for."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from itertools import islice
from math import isfinite
from numbers import Integral, Real
from typing import Any

from flexdyn_ros.description.language.vocabulary import Attribute
from flexdyn_ros.description.urdf.markup import as_float

#: words that are compared to find one that is near: the comparison is slow
_LONGEST_WORD, _MOST_WORDS = 64, 1000
_STATIONS = {"root": 0.0, "tip": 1.0}


class WrongValue(ValueError):
    """The value is not what the attribute expects; the argument says what it expects."""


def suggestion(word: str, known: Iterable[str], nearness: float = 0.6) -> str:
    """` (did you mean ...?)`, or nothing if no known word is near."""
    if len(word) > _LONGEST_WORD:
        return ""
    some = [name for name in islice(known, _MOST_WORDS) if len(name) <= _LONGEST_WORD]
    found = get_close_matches(word, some, n=2, cutoff=nearness)
    return f" (did you mean {' or '.join(repr(near) for near in found)}?)" if found else ""


def convert(attribute: Attribute, raw: Any) -> Any:
    """Value of the attribute from XML text, YAML text or a Python object; WrongValue if it is none."""
    return _CONVERTERS[attribute.type](attribute, raw)


def expected(attribute: Attribute) -> str:
    """What the attribute expects, in words."""
    what = {
        "number": "a finite number",
        "integer": "an integer",
        "boolean": "true or false",
        "vector": "three finite numbers separated by blanks",
        "numbers": "finite numbers separated by blanks",
        "choice": "one of " + ", ".join(attribute.choices),
        "station": "a number from 0 to 1, " + " or ".join(("root", "tip", *attribute.choices)),
        "words": "words separated by blanks",
        "name": "a non-empty name",
        "file": "the name of a file",
        "text": "text",
    }[attribute.type]
    if attribute.counts:
        what = " or ".join(map(str, attribute.counts)) + " " + what
    limits = [
        f"{sign} {bound:g}"
        for sign, bound in (
            (">", attribute.above),
            (">=", attribute.least),
            ("<", attribute.below),
            ("<=", attribute.most),
        )
        if bound is not None
    ]
    unit = f" {attribute.unit}" if attribute.unit not in ("", "-") else ""
    return what + (" " + " and ".join(limits) if limits else "") + unit


def _number(attribute: Attribute, raw: Any) -> float:
    value = _plain_number(raw)
    if value is None or not is_within(attribute, value):
        raise WrongValue(expected(attribute))
    return value


def _plain_number(raw: Any) -> float | None:
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


def is_within(attribute: Attribute, value: float) -> bool:
    """Whether a number keeps the bounds of an attribute."""
    return not (
        (attribute.above is not None and value <= attribute.above)
        or (attribute.least is not None and value < attribute.least)
        or (attribute.below is not None and value >= attribute.below)
        or (attribute.most is not None and value > attribute.most)
    )


def _integer(attribute: Attribute, raw: Any) -> int:
    if isinstance(raw, str):
        text = raw.strip()
        digits = text.removeprefix("-").removeprefix("+")
        value = int(text) if digits.isascii() and digits.isdigit() and len(digits) < 19 else None
    elif (isinstance(raw, Integral) and not isinstance(raw, bool)) or (
        isinstance(raw, float) and raw.is_integer() and abs(raw) < 1e18
    ):
        value = int(raw)
    else:
        value = None
    if value is None or not is_within(attribute, value):
        raise WrongValue(expected(attribute))
    return value


def _boolean(attribute: Attribute, raw: Any) -> bool:
    if isinstance(raw, bool):
        return raw
    if isinstance(raw, str) and raw.strip() in ("true", "false"):
        return raw.strip() == "true"
    if type(raw).__name__ in ("bool_", "bool"):  # numpy's, without importing numpy
        return bool(raw)
    raise WrongValue(expected(attribute))


def _numbers(attribute: Attribute, raw: Any) -> tuple[float, ...]:
    values = tuple(_number(attribute, word) for word in _flat(raw))
    if not values or (attribute.counts and len(values) not in attribute.counts):
        raise WrongValue(expected(attribute))
    return values


def _flat(raw: Any) -> list[Any]:
    """Words of a text, items of a list or array; rows of a table one after another."""
    if isinstance(raw, str):
        return raw.split()
    if hasattr(raw, "tolist"):
        raw = raw.tolist()
    if not isinstance(raw, (list, tuple)):
        return [raw]
    return [item for row in raw for item in (row if isinstance(row, (list, tuple)) else (row,))]


def _vector(attribute: Attribute, raw: Any) -> tuple[float, ...]:
    values = tuple(_number(attribute, word) for word in _flat(raw))
    if len(values) != 3:
        raise WrongValue(expected(attribute))
    return values


def _choice(attribute: Attribute, raw: Any) -> str:
    word = raw.strip() if isinstance(raw, str) else ""
    if word not in attribute.choices:
        raise WrongValue(expected(attribute) + suggestion(word, attribute.choices))
    return word


def _station(attribute: Attribute, raw: Any) -> float | str:
    word = raw.strip() if isinstance(raw, str) else raw
    if isinstance(word, str):
        if word in attribute.choices:
            return word
        word = _STATIONS.get(word, word)
    value = _plain_number(word)
    if value is None or not 0.0 <= value <= 1.0:
        raise WrongValue(expected(attribute))
    return value


def _text(attribute: Attribute, raw: Any) -> str:
    if not isinstance(raw, str) or not raw.strip():
        raise WrongValue(expected(attribute))
    return raw.strip()


def _words(attribute: Attribute, raw: Any) -> tuple[str, ...]:
    words = raw.split() if isinstance(raw, str) else raw
    if not isinstance(words, (list, tuple)) or not words or not all(isinstance(word, str) for word in words):
        raise WrongValue(expected(attribute))
    return tuple(words)


_CONVERTERS = {
    "number": _number,
    "integer": _integer,
    "boolean": _boolean,
    "vector": _vector,
    "numbers": _numbers,
    "choice": _choice,
    "station": _station,
    "text": _text,
    "name": _text,
    "file": _text,
    "words": _words,
}
