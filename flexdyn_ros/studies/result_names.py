"""Names of results that a study asks for: those that the experiment does not give are refused."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from flexdyn_ros.errors import UnknownNameError
from flexdyn_ros.studies.definition import Study

#: columns of every table, beside parameters and results
_ALWAYS = ("point", "failed", "warnings")


def check_results(study: Study, results: Iterable[str]) -> None:
    """Refuse a study whose objectives, bounds or pictures name what is none of these results.

    Raises
    ------
    DescriptionError
        Naming the key, the name, and the results that there are.
    """
    results = tuple(results)
    for element, name, known in _names(study, results):
        if name not in known:
            raise study.failing(
                f"the experiment {study.experiment} has no result '{name}' "
                f"({UnknownNameError('result', name, known)})",
                element, value=name, expected="one of " + ", ".join(results),
            )  # fmt: skip


def _names(study: Study, results: tuple[str, ...]) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """(key of the study, name, what it may be) of every name."""
    columns = (*results, *study.names)
    # an optimiser is told results only
    objectives = results if study.design["kind"] == "optuna" else columns
    for name in study.objectives:
        yield f"objectives/{name}", name, objectives
    for name in study.feasible:
        yield f"feasible/{name}", name, columns
    drawn = (*columns, *(f"{name} (result)" for name in results), *_ALWAYS)
    for plot in study.plots:
        for name in _columns_of(plot):
            yield "plots", name, drawn


def _columns_of(plot: Mapping[str, Any]) -> list[str]:
    value = plot.get("value") or []
    named = [plot.get("x"), plot.get("y"), plot.get("by"), *([value] if isinstance(value, str) else value)]
    return [str(name) for name in named if name is not None]


def numbers_in(found: Mapping[str, Any]) -> tuple[str, ...]:
    """Names of what a point gave that are single numbers."""
    return tuple(name for name, value in found.items() if isinstance(value, int | float))
