"""Names of results that a study asks for: those that the experiment does not give are refused."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from flexdyn_ros.errors import DescriptionError, UnknownNameError
from flexdyn_ros.studies.definition import Study

#: columns of every table, beside parameters and results
_ALWAYS = ("point", "failed", "warnings")


def check_said(study: Study, results: Iterable[str], *, all_said: bool) -> None:
    """Refuse a study that names what is none of the results that its experiment says it has.

    all_said: whether it says those that are texts, too; else names of `by` wait for the first point.

    Raises
    ------
    DescriptionError
        Naming the key, the name, and the results that there are.
    """
    results = tuple(results)
    drawn = ("x", "y", "value", "by") if all_said else ("x", "y", "value")
    for element, name, known in _names(study, results, (), drawn):
        if name not in known:
            raise _no_result(study, element, name, known, results)


def check_given(study: Study, given: Mapping[str, object]) -> None:
    """Refuse a study that names what its first point did not give, or gave as a text or a list where numbers
    are asked for; None may be a number, or a text, at other points.

    Raises
    ------
    DescriptionError
        Naming the key, the name, and the results that there are.
    """
    numbers = tuple(name for name, value in given.items() if not isinstance(value, str | list))
    texts = tuple(name for name, value in given.items() if isinstance(value, str))
    for element, name, known in _names(study, numbers, texts, ("x", "y", "value", "by")):
        if name in known:
            continue
        fitting = (*numbers, *texts) if element == "plots" else numbers
        if name not in given:
            told = f"; its first point gave {', '.join(given)}"
            raise _no_result(study, element, name, known, fitting, told)
        what = "text" if name in texts else "list"
        wanted = "a number or a text" if element == "plots" else "a number"
        raise study.failing(f"the result '{name}' is a {what}, not {wanted}", element, value=name,
                            expected="one of " + ", ".join(fitting))  # fmt: skip


def _no_result(
    study: Study, element: str, name: str, known: Iterable[str], fitting: Iterable[str], told: str = ""
) -> DescriptionError:
    hint = UnknownNameError("result", name, known)
    return study.failing(
        f"the experiment {study.experiment} has no result '{name}' ({hint}){told}",
        element, value=name, expected="one of " + ", ".join(fitting),
    )  # fmt: skip


def _names(
    study: Study, numbers: tuple[str, ...], texts: tuple[str, ...], drawn: Iterable[str]
) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """(key of the study, name, what it may be) of every name; drawn: keys of plots that are looked at."""
    columns = (*numbers, *study.names)
    # an optimiser is told results only
    objectives = numbers if study.design["kind"] == "optuna" else columns
    for name in study.objectives:
        yield f"objectives/{name}", name, objectives
    for name in study.feasible:
        yield f"feasible/{name}", name, columns
    results = (*numbers, *texts)
    known = (*results, *study.names, *(f"{name} (result)" for name in results), *_ALWAYS)
    for plot in study.plots:
        for key in drawn:
            for name in _listed(plot.get(key)):
                yield "plots", name, known


def _listed(value: object) -> list[str]:
    names = value if isinstance(value, list | tuple) else [value]
    return [str(name) for name in names if name is not None]
