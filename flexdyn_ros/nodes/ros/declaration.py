"""Parameters of a node from a declared record (description/language/vocabulary.py): made and validated."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from flexdyn_ros.description.language.vocabulary import Attribute, declared, rule_of

if TYPE_CHECKING:
    from rclpy.node import Node

Record = TypeVar("Record")


class ParameterError(ValueError):
    """A parameter has a value that the node cannot use; the message names parameter, value and
    expectation.
    """


class ParameterGroup(NamedTuple):
    """Numbers below a common prefix that a node has for each coordinate or joint of its robot: NAME in the
    name of an attribute stands for it. Their default, where there is one, is allowed beside the bounds."""

    prefix: str
    attributes: tuple[Attribute, ...]


def family(
    prefix: str,
    *rows: tuple[str, str, str, float | None],
    least: float | None = 0.0,
    live: bool = False,
) -> ParameterGroup:
    """A family of these numbers: (name below the prefix, unit, meaning, default).

    A default of None depends on the robot. live: they may be changed while the node runs.
    """
    made = [
        Attribute(name, "number", text, unit, first, least=least, live=live)
        for name, unit, text, first in rows
    ]
    return ParameterGroup(prefix, tuple(made))


def names_of(record: type) -> tuple[str, ...]:
    """ROS names of the parameters of a record."""
    return tuple(attribute.name for attribute in rule_of(record).attributes)


def given_names(node: Node) -> tuple[str, ...]:
    """Names of the parameters that a node was given from outside, declared or not."""
    return tuple(node._parameter_overrides)


def declare(node: Node, record: type[Record], prefix: str = "", *, only: type | None = None) -> Record:
    """Declare every parameter of `record` on an rclpy node and return the values found.

    Parameters
    ----------
    prefix : str
        Put before each name, e.g. "arm.".
    only : type, optional
        A base class of `record`: only its parameters are declared, the others keep their defaults.

    Raises
    ------
    ParameterError
        If a value has the wrong type, is out of range or is none of the choices.
    """
    found = declared(only or record, Attribute)
    return record(**{field: _declare_one(node, prefix + about.name, about) for field, about in found})


def check_changes(record: type, changes: list[Any]) -> dict[str, Any]:
    """Values by field that a running node takes over from changed parameters; others are passed over.

    Ranges are kept by ROS itself.

    Raises
    ------
    ParameterError
        If a value is none of the choices, or no finite number.
    """
    live = {about.name: (field, about) for field, about in declared(record, Attribute) if about.live}
    known = [change for change in changes if change.name in live]
    return {live[each.name][0]: _checked(each.name, each.value, live[each.name][1]) for each in known}


def declare_family(node: Node, of: ParameterGroup, names: Iterable[str]) -> dict[str, float]:
    """Declare the parameters of a family for these coordinates; values by name below the prefix.

    names: a mapping where the defaults depend on the coordinate.

    Raises
    ------
    ParameterError
        If a value is no finite number or out of bounds, or an override names something else.
    """
    abouts = {
        about.name.replace("NAME", name): (name, about)
        for about in of.attributes
        for name in (names if "NAME" in about.name else ("",))
    }
    start = of.prefix + "."
    for given in given_names(node):
        if given.startswith(start) and given.removeprefix(start) not in abouts:
            expected = f"expected one of {', '.join(abouts)}"
            raise ParameterError(f"parameter {given}: no such coordinate, {expected}")
    found = {}
    for short, (name, about) in abouts.items():
        default = names[name] if isinstance(names, Mapping) else about.default
        about = replace(about, meaning=about.meaning.replace("NAME", name))
        value = found[short] = _declare_one(node, start + short, about, default)
        _check_least(start + short, value, about)
    return found


def check_family_changes(of: ParameterGroup, names: Iterable[str], changes: list[Any]) -> dict[str, float]:
    """Values by name below the prefix that a running node takes over from changed parameters of a family;
    others are passed over.

    Raises
    ------
    ParameterError
        If a value is no finite number or out of bounds.
    """
    abouts = {
        f"{of.prefix}.{about.name.replace('NAME', name)}": about for about in of.attributes for name in names
    }
    new = {}
    for change in changes:
        if (about := abouts.get(change.name)) is not None:
            value = new[change.name.removeprefix(of.prefix + ".")] = _checked(
                change.name, change.value, about
            )
            _check_least(change.name, value, about)
    return new


def _check_least(name: str, value: float, about: Attribute) -> None:
    """ParameterError if a number is below its least and is not the default."""
    if about.least is not None and value < about.least and value != about.default:
        also = f", or {about.default:g}" if about.default is not None and about.default < about.least else ""
        raise ParameterError(f"parameter {name} is {value}, expected at least {about.least:g}{also}")


def _declare_one(node: Node, name: str, about: Attribute, default: object = None) -> Any:
    from rclpy.exceptions import (
        InvalidParameterTypeException,
        InvalidParameterValueException,
        ParameterUninitializedException,
    )
    from rclpy.parameter import Parameter

    default = about.default if default is None else default
    if node.has_parameter(name):
        value = node.get_parameter_or(name, Parameter(name, value=default)).value
    else:
        _accept_integers(node, name, default)
        first = list(default) if isinstance(default, tuple) else default
        if default == ():
            first = Parameter.Type.STRING_ARRAY
        try:
            value = node.declare_parameter(name, first, _descriptor(name, default, about)).value
        except ParameterUninitializedException:
            value = None
        except (InvalidParameterTypeException, InvalidParameterValueException) as error:
            raise ParameterError(f"parameter {name}: {error}") from None
    value = default if value is None else tuple(value) if isinstance(default, tuple) else value
    return _checked(name, value, about)


def _accept_integers(node: Node, name: str, default: object) -> None:
    """`step: 1` in a file is an integer for ROS; where a number is meant it is taken as one."""
    from rclpy.parameter import Parameter

    given = node._parameter_overrides.get(name)
    if isinstance(default, float) and given is not None and given.type_ == Parameter.Type.INTEGER:
        node._parameter_overrides[name] = Parameter(name, Parameter.Type.DOUBLE, float(given.value))


def _checked(name: str, value: Any, about: Attribute) -> Any:
    if about.choices and value not in about.choices:
        raise ParameterError(f"parameter {name} is {value!r}, expected one of {', '.join(about.choices)}")
    if isinstance(value, float) and not isfinite(value):
        raise ParameterError(f"parameter {name} is {value}, expected a finite number")
    if isinstance(value, tuple) and len(set(value)) < len(value):
        raise ParameterError(f"parameter {name} is {list(value)}, expected each entry once")
    return value


def _descriptor(name: str, default: object, about: Attribute) -> object:
    from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor

    unit = f" [{about.unit}]" if about.unit else ""
    descriptor = ParameterDescriptor(name=name, description=about.meaning + unit, read_only=not about.live)
    if about.choices:
        descriptor.additional_constraints = "one of " + ", ".join(about.choices)
    if about.least is not None and about.most is not None:
        ends = {"from_value": about.least, "to_value": about.most}
        if isinstance(default, float):
            descriptor.floating_point_range = [FloatingPointRange(**ends, step=0.0)]
        else:
            descriptor.integer_range = [IntegerRange(**ends, step=1)]
    elif isinstance(default, float):
        descriptor.additional_constraints = "a finite number"
        if about.least is not None:
            also = f", or {default:g}" if default < about.least else ""
            descriptor.additional_constraints += f", at least {about.least:g}{also}"
    return descriptor
