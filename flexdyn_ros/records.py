"""Frozen dataclasses that share their functions.

`dataclass` writes and compiles up to six functions a class: half a millisecond each time that a program
starts, and there are a hundred classes on the way to a robot. These look at the fields when they are called:
an object takes 2 us more to make, which descriptions and registries do not feel.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, FrozenInstanceError, dataclass, field
from functools import partial
from typing import Any, TypeVar, dataclass_transform, overload

Class = TypeVar("Class", bound=type)


@overload
def frozen(cls: Class, /) -> Class: ...


@overload
def frozen(*, kw_only: bool = False, eq: bool = True) -> Callable[[Class], Class]: ...


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: Any = None, /, *, kw_only: bool = False, eq: bool = True) -> Any:
    """What `dataclass(frozen=True, kw_only=..., eq=...)` makes of a class, by functions that all share."""
    return partial(_made, kw_only=kw_only, eq=eq) if cls is None else _made(cls, kw_only, eq)


def _made(cls: Any, kw_only: bool, eq: bool) -> Any:
    # without a docstring a dataclass asks for its signature
    cls.__doc__ = cls.__doc__ or cls.__name__
    made: Any = dataclass(init=False, kw_only=kw_only, eq=False, repr=False)(cls)
    made.__init__, made.__setattr__, made.__delattr__ = _begin, _refuse, _refuse
    made.__places__ = tuple(name for name, f in made.__dataclass_fields__.items() if not f.kw_only)
    made.__signature__ = _Signature()
    made.__repr__ = _text
    if eq:
        made.__eq__, made.__hash__ = _is_equal, _hash
    return made


class _Signature:
    """The signature of a record's class, for `inspect.signature`, made when it is asked for."""

    def __get__(self, instance: object, cls: Any) -> Any:
        from inspect import Parameter, Signature

        def parameter(f: Any) -> Parameter:
            has_default = f.default is not MISSING or f.default_factory is not MISSING
            default = f.default if f.default is not MISSING else f.default_factory
            kind = Parameter.KEYWORD_ONLY if f.kw_only else Parameter.POSITIONAL_OR_KEYWORD
            return Parameter(
                f.name, kind, default=default if has_default else Parameter.empty, annotation=f.type
            )

        of = sorted(cls.__dataclass_fields__.values(), key=lambda f: f.kw_only)
        return Signature([parameter(f) for f in of], return_annotation=None)


def _begin(made: Any, *given: object, **named: object) -> None:
    """Set the fields, as the `__init__` of a dataclass does."""
    of, title, places = made.__dataclass_fields__, type(made).__name__, made.__places__
    if len(given) > len(places):
        raise TypeError(f"{title} takes {len(places)} positional arguments, {len(given)} were given")
    values = made.__dict__
    values.update(zip(places, given, strict=False))
    for name in named:
        if name not in of or name in values:
            raise TypeError(f"{title} got {'another value for' if name in of else 'an unexpected'} {name!r}")
    values.update(named)
    if len(values) < len(of):
        for name, f in of.items():
            if name in values:
                continue
            if f.default is not MISSING:
                values[name] = f.default
            elif f.default_factory is not MISSING:
                values[name] = f.default_factory()
            else:
                raise TypeError(f"{title} misses {name!r}")
    if hasattr(made, "__post_init__"):
        made.__post_init__()


def _refuse(made: Any, name: str, *_: object) -> None:
    """Records are frozen."""
    raise FrozenInstanceError(f"cannot change {name!r} of {type(made).__name__}: expected a replaced copy")


def _values(made: Any) -> dict[str, Any]:
    """The values of a record by the names of its fields."""
    return {name: getattr(made, name) for name in made.__dataclass_fields__}


def _is_equal(made: Any, other: object) -> bool:
    return _values(made) == _values(other) if type(other) is type(made) else NotImplemented


def _hash(made: Any) -> int:
    return hash(tuple(_values(made).values()))


def _text(made: Any) -> str:
    values = ", ".join(f"{name}={value!r}" for name, value in _values(made).items())
    return f"{type(made).__qualname__}({values})"
