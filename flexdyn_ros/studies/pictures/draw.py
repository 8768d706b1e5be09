"""Draws the table of a study; which kind of picture suits it."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

from flexdyn_ros.errors import StateError, UnknownNameError, needs
from flexdyn_ros.escaping import mathtext
from flexdyn_ros.simulation.plots.style import SIZES, save_figure, styled
from flexdyn_ros.studies.pictures.charts import contour, heat_map, line, parallel, pareto, scatter
from flexdyn_ros.studies.pictures.columns import Columns

if TYPE_CHECKING:
    from flexdyn_ros.studies.table import StudyTable

KINDS = {
    "line": line, "heat_map": heat_map, "contour": contour, "parallel": parallel, "pareto": pareto,
    "scatter": scatter,
}  # fmt: skip


def draw(
    result: StudyTable,
    path: str | PathLike[str] | None = None,
    kind: str | None = None,
    *,
    x: str | None = None,
    y: str | None = None,
    value: str | Sequence[str] | None = None,
    by: str | None = None,
    limits: Sequence[float] | None = None,
    log: bool = False,
    title: str | None = None,
    labels: dict[str, str] | None = None,
    dpi: int = 150,
) -> Any:
    """Draw a study.

    Parameters
    ----------
    result : StudyTable
    path : path, optional
        File to write; its ending says what kind: svg and pdf keep lines and text, png has pixels.
    kind : {"line", "heat_map", "contour", "parallel", "pareto", "scatter"}, optional
        Default: pareto for several objectives, else by the number of parameters: a line; a contour where the
        study says what is feasible, else a heat map, for grids of two; a scatter plot for other samples of
        two; parallel coordinates.
    x, y : names of columns
        Default: the first and second parameter; of pareto the objectives.
    value : name of a result, or several (line)
        Default: the first objective, else the first result.
    by : name of a parameter
        One line, or one panel, for each of its values.
    limits : (low, high), optional
        Of the colour scale, of lines of the ordinate.
    log : bool
        Logarithmic ordinate of lines, or colour scale.
    labels : mapping, optional
        Words for names of columns.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    UnknownNameError
        If there is no such kind or column.
    StateError
        If the columns do not make such a picture.
    MissingExtraError
        If matplotlib is not installed.
    """
    with needs("matplotlib", "view"):
        import matplotlib  # noqa: F401
    kind = kind or _suitable(result)
    if kind not in KINDS:
        raise UnknownNameError("kind of picture", kind, KINDS)
    if not result.results:
        raise StateError("no point has a result that is a number: there is nothing to draw")
    named = [value] if isinstance(value, str) else list(value or [])
    for name in [x, y, by, *named]:
        if name is not None and name not in result.table.columns:
            raise UnknownNameError("column", name, result.table.columns)
    names = Columns(result, labels or {}, limits, log)
    with styled(SIZES["screen"]):
        figure = KINDS[kind](names, x, y, named, by)
        figure.suptitle(title or mathtext(result.study.title), fontsize=13, fontweight="bold")
        if path is not None:
            save_figure(figure, path, dpi)
    return figure


def _suitable(result: StudyTable) -> str:
    study = result.study
    if len(study.objectives) > 1:
        return "pareto"
    if len(study.names) == 1:
        return "line"
    if len(study.names) == 2:
        if study.design["kind"] == "grid":
            return "contour" if study.feasible else "heat_map"
        return "scatter"
    return "parallel"
