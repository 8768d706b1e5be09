"""The notebooks run and draw; scripts/docs runs them again for the pages."""

import re
import warnings
from pathlib import Path

import pytest

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

from matplotlib import pyplot  # noqa: E402

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.md"))
FAMILIES = {"rigid", "flexible", "wheeled", "soft", "platform"}


def cells(notebook):
    """Code of the cells, with the lines on which they begin."""
    text = notebook.read_text()
    for found in re.finditer(r"^```\{code-cell\} python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL):
        yield text[: found.start(1)].count("\n"), found[1]


def test_there_is_one_for_each_family():
    assert {path.stem for path in NOTEBOOKS} >= FAMILIES


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_notebook_runs_without_a_warning_and_draws(notebook, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scope = {"__name__": notebook.stem}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            for line, code in cells(notebook):
                exec(compile("\n" * line + code, str(notebook), "exec"), scope)
        figures = [pyplot.figure(number) for number in pyplot.get_fignums()]
        assert figures  # a notebook that only prints is none
        for figure in figures:
            for ax in figure.axes:
                assert ax.lines
                assert ax.get_xlabel() or ax.get_shared_x_axes().get_siblings(ax)
    finally:
        pyplot.close("all")
