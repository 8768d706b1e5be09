"""Which function an experiment's name stands for, and what its arguments and results are."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from importlib import import_module

from flexdyn_ros.errors import DescriptionError, UnknownNameError

#: the module of each shipped experiment
SHIPPED = {
    "free_fall": "motions",
    "slew": "slewing",
    "drive_over_road": "motions",
    "static": "rest",
    "modes": "rest",
    "workspace": "reach",
    "lumped_against_exact": "rest",
    "lift": "reach",
    "lift_with_oil": "reach",
}


def experiment(*results: str, **units: str) -> Callable[[Callable[..., object]], Callable[..., object]]:
    """Decorator that gives a function of studies the names of all its results that are single numbers, and
    the units of arguments and results: `@experiment("residual_swing", duration="s", residual_swing="m")`.

    A study of results that are none of these is refused before it runs. Both are optional: without names the
    first point that is computed tells what there is. Texts that are coordinates of pictures are named, too.

    Raises
    ------
    TypeError
        If a name or a unit is no text, or the decorator is written without parentheses.
    """
    if len(results) == 1 and callable(results[0]):
        name = getattr(results[0], "__name__", "the function")
        raise TypeError(f"write @experiment(), with parentheses, above {name}")
    for name in results:
        if not isinstance(name, str) or not name:
            raise TypeError(f'names of results are texts, not {name!r}: write @experiment("one", "another")')
    for name, unit in units.items():
        if not isinstance(unit, str):
            raise TypeError(f"the unit of '{name}' is a text, not {unit!r}")

    def mark(function: Callable[..., object]) -> Callable[..., object]:
        function.units, function.results = units, results  # type: ignore[attr-defined]
        return function

    return mark


def shipped_experiments() -> dict[str, str]:
    """Descriptions of the included experiments, one line each, by name."""
    return {name: (function_of(name).__doc__ or "").partition("\n")[0] for name in SHIPPED}


def function_of(name: str, folder: str = "") -> Callable[..., object]:
    """The function of a shipped experiment, or of `module:function`; modules in `folder` are found first.

    Raises
    ------
    UnknownNameError
        If there is no such experiment.
    DescriptionError
        If the module cannot be imported or has no such function.
    """
    if ":" not in name:
        if name not in SHIPPED:
            raise UnknownNameError("experiment", name, (*SHIPPED, "module:function"))
        return getattr(import_module(f"{__package__}.{SHIPPED[name]}"), name)
    module, _, function = name.partition(":")
    if folder and folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        found = getattr(import_module(module), function, None)
    except Exception as error:  # whatever the user's module does when it is imported
        raise DescriptionError(
            f"the module of the experiment cannot be imported: {type(error).__name__}: {error}",
            element="experiment", value=name, expected="module:function",
        ) from error  # fmt: skip
    if not callable(found):
        raise DescriptionError(
            f"the module '{module}' has no function '{function}'",
            element="experiment", value=name, expected="module:function",
        )  # fmt: skip
    return found


def arguments_of(function: Callable[..., object]) -> tuple[dict[str, object], bool]:
    """Arguments of an experiment beside the robot, with their defaults, and whether it takes any name."""
    taken = list(inspect.signature(function).parameters.values())[1:]
    named = {
        p.name: None if p.default is p.empty else p.default
        for p in taken
        if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
    }
    return named, any(p.kind is p.VAR_KEYWORD for p in taken)


def units_of(function: Callable[..., object]) -> Mapping[str, str]:
    """Units by the name of an argument or result."""
    return getattr(function, "units", {})


def results_of(function: Callable[..., object]) -> tuple[str, ...]:
    """Names of all results that are single numbers; none where the experiment does not say them."""
    return getattr(function, "results", ())
