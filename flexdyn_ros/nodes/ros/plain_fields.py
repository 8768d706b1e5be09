"""Messages as dictionaries of plain values, and back."""

from __future__ import annotations

import array
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np


def plain(value: Any) -> Any:
    """A message as a dictionary of plain values, its parts alike."""
    if hasattr(value, "get_fields_and_field_types"):
        return {name: plain(getattr(value, name)) for name in value.get_fields_and_field_types()}
    if isinstance(value, list | tuple | array.array | np.ndarray):
        return [plain(item) for item in value]
    return value.item() if isinstance(value, np.generic) else value


def fill(message: Any, fields: Mapping[str, object], where: str = "") -> None:
    """Set fields of a message; those that are not named keep their values.

    Raises
    ------
    ValueError
        If there is no such field, or a value does not fit.
    """
    kinds = message.get_fields_and_field_types()
    for name, value in fields.items():
        if name not in kinds:
            raise ValueError(f"{where}{name}: no such field, expected one of {', '.join(kinds)}")
        setattr(message, name, _value(kinds[name], value, getattr(message, name), f"{where}{name}"))


def _value(kind: str, value: Any, present: object, where: str) -> Any:
    """A value as the field of that type wants it."""
    item, is_sequence = _item(kind)
    if is_sequence:
        if not isinstance(value, list):
            raise ValueError(f"{where} is {value!r}, expected a list ({kind})")
        if "/" not in item:
            return [_scalar(item, entry, f"{where}[{n}]") for n, entry in enumerate(value)]
        return [_message(item, entry, f"{where}[{n}]") for n, entry in enumerate(value)]
    if "/" in item:
        if not isinstance(value, Mapping):
            raise ValueError(f"{where} is {value!r}, expected a mapping of fields ({kind})")
        fill(present, value, f"{where}.")
        return present
    return _scalar(item, value, where)


def _item(kind: str) -> tuple[str, bool]:
    """Type of the entries, and whether there are several."""
    if kind.startswith("sequence<"):
        return kind[len("sequence<") : -1].split(",")[0], True
    if kind.endswith("]"):
        return kind[: kind.index("[")], True
    return kind, False


def _message(kind: str, fields: Any, where: str) -> Any:
    if not isinstance(fields, Mapping):
        raise ValueError(f"{where} is {fields!r}, expected a mapping of fields ({kind})")
    package, _, name = kind.partition("/")
    message = getattr(import_module(f"{package}.msg"), name)()
    fill(message, fields, f"{where}.")
    return message


def _scalar(kind: str, value: Any, where: str) -> Any:
    """A number, boolean or text."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if kind == "boolean" and isinstance(value, bool):
        return value
    if kind == "string" and isinstance(value, str):
        return value
    if kind in ("double", "float") and is_number:
        return float(value)
    if "int" in kind and isinstance(value, int) and is_number:
        return value
    if kind in ("octet", "byte", "uint8") and is_number:
        return int(value)
    raise ValueError(f"{where} is {value!r}, expected {kind}")
