"""Parameters of a node from the fields of a frozen record: made, declared, validated."""

from __future__ import annotations

from dataclasses import MISSING, field, fields
from math import isfinite
from typing import Any, TypeVar

__all__ = [
    "ParameterError",
    "check_changes",
    "declare",
    "declare_family",
    "default_of",
    "names_of",
    "parameter",
    "ros_name",
]

Record = TypeVar("Record")


class ParameterError(ValueError):
    """A parameter has a value that the node cannot use; the message names parameter, value and
    expectation.
    """


def parameter(
    default: Any,
    description: str,
    *,
    unit: str = "",
    low: float | None = None,
    high: float | None = None,
    choices: tuple[str, ...] = (),
    read_only: bool = True,
    name: str = "",
) -> Any:
    """A field of a parameter record. name: the ROS name where it is no identifier
    (`servo.gravity_compensation`)."""
    about = {
        "description": description,
        "unit": unit,
        "low": low,
        "high": high,
        "choices": choices,
        "read_only": read_only,
        "name": name,
    }
    if isinstance(default, tuple):
        return field(default_factory=lambda: default, metadata=about)
    return field(default=default, metadata=about)


def ros_name(f: Any) -> str:
    """ROS name of the parameter that a field of a record is."""
    name: str = f.metadata["name"] or f.name
    return name


def names_of(record: type) -> tuple[str, ...]:
    """ROS names of the parameters of a record."""
    return tuple(ros_name(f) for f in fields(record))


def default_of(f: Any) -> Any:
    """Default of a field of a record."""
    return f.default if f.default is not MISSING else f.default_factory()


def declare(node: Any, record: type[Record], prefix: str = "", *, only: type | None = None) -> Record:
    """Declare every field of `record` on an rclpy node and return the values found.

    Parameters
    ----------
    prefix : str
        Put before each name, e.g. "arm.".
    only : type, optional
        A base class of `record`: only its fields are declared, the others keep their defaults.

    Raises
    ------
    ParameterError
        If a value has the wrong type, is out of range or is none of the choices.
    """
    values = {}
    for f in fields(only or record):
        name = prefix + ros_name(f)
        default = default_of(f)
        values[f.name] = _declare_one(node, name, default, f.metadata)
    return record(**values)


def check_changes(record: type, changes: list[Any]) -> dict[str, Any]:
    """Values by field that a running node takes over from changed parameters; others are passed over.

    Ranges are kept by ROS itself.

    Raises
    ------
    ParameterError
        If a value is none of the choices, or no finite number.
    """
    new = {}
    by_name = {ros_name(f): f for f in fields(record)}
    for change in changes:
        f = by_name.get(change.name)
        if f is not None and not f.metadata["read_only"]:
            _check(change.name, change.value, f.metadata)
            new[f.name] = change.value
    return new


def declare_family(node: Any, prefix: str, defaults: dict[str, float], unit: str) -> dict[str, float]:
    """Declare PREFIX.NAME for every name in `defaults` (finite doubles) and return the values found.

    Raises
    ------
    ParameterError
        If a value is no finite number, or an override names something that is not in `defaults`.
    """
    given = [name for name in node._parameter_overrides if name.startswith(prefix + ".")]
    unknown = [name for name in given if name[len(prefix) + 1 :] not in defaults]
    if unknown:
        raise ParameterError(
            f"parameter {unknown[0]}: no such coordinate, expected one of {', '.join(defaults)}"
        )
    about = {
        "description": f"of {prefix}",
        "unit": unit,
        "low": None,
        "high": None,
        "choices": (),
        "read_only": True,
    }
    return {
        name: _declare_one(node, f"{prefix}.{name}", default, about) for name, default in defaults.items()
    }


def _declare_one(node: Any, name: str, default: Any, about: Any) -> Any:
    from rclpy.exceptions import (
        InvalidParameterTypeException,
        InvalidParameterValueException,
        ParameterUninitializedException,
    )
    from rclpy.parameter import Parameter

    if node.has_parameter(name):
        value = node.get_parameter_or(name, Parameter(name, value=default)).value
    else:
        _accept_integers(node, name, default)
        first = (
            Parameter.Type.STRING_ARRAY
            if default == ()
            else list(default)
            if isinstance(default, tuple)
            else default
        )
        try:
            value = node.declare_parameter(name, first, _descriptor(name, default, about)).value
        except ParameterUninitializedException:
            value = None
        except (InvalidParameterTypeException, InvalidParameterValueException) as error:
            raise ParameterError(f"parameter {name}: {error}") from None
    value = default if value is None else tuple(value) if isinstance(default, tuple) else value
    _check(name, value, about)
    return value


def _accept_integers(node: Any, name: str, default: Any) -> None:
    """`step: 1` in a file is an integer for ROS; where a number is meant it is taken as one."""
    from rclpy.parameter import Parameter

    given = node._parameter_overrides.get(name)
    if isinstance(default, float) and given is not None and given.type_ == Parameter.Type.INTEGER:
        node._parameter_overrides[name] = Parameter(name, Parameter.Type.DOUBLE, float(given.value))


def _check(name: str, value: Any, about: Any) -> None:
    if about["choices"] and value not in about["choices"]:
        raise ParameterError(f"parameter {name} is {value!r}, expected one of {', '.join(about['choices'])}")
    if isinstance(value, float) and not isfinite(value):
        raise ParameterError(f"parameter {name} is {value}, expected a finite number")
    if isinstance(value, tuple) and len(set(value)) < len(value):
        raise ParameterError(f"parameter {name} is {list(value)}, expected each entry once")


def _descriptor(name: str, default: Any, about: Any) -> Any:
    from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor

    unit = f" [{about['unit']}]" if about["unit"] else ""
    descriptor = ParameterDescriptor(
        name=name, description=about["description"] + unit, read_only=about["read_only"]
    )
    if about["choices"]:
        descriptor.additional_constraints = "one of " + ", ".join(about["choices"])
    if about["low"] is not None and isinstance(default, float):
        descriptor.floating_point_range = [
            FloatingPointRange(from_value=about["low"], to_value=about["high"], step=0.0)
        ]
    elif about["low"] is not None:
        descriptor.integer_range = [IntegerRange(from_value=about["low"], to_value=about["high"], step=1)]
    return descriptor
