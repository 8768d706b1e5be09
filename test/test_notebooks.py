"""The notebooks run without a warning and draw, each in a process of its own, as in a notebook's kernel;
scripts/docs runs them again for the pages."""

import re
import sys
import warnings
from pathlib import Path

import pytest
from programs import Server

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.md"))
FAMILIES = {"rigid", "flexible", "wheeled", "soft", "platform"}


def test_there_is_one_for_each_family():
    assert {path.stem for path in NOTEBOOKS} >= FAMILIES


@pytest.fixture(scope="module")
def server(quick_compiler):
    pytest.importorskip("matplotlib")
    with Server() as server:
        yield server


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_notebook_runs_without_a_warning_and_draws(notebook, server, tmp_path):
    done = server.run(Path(__file__), str(notebook), folder=tmp_path, PYTHONPATH=str(ROOT), MPLBACKEND="Agg")
    assert done.returncode == 0, done.stderr


def run(notebook):
    """The cells in order; AssertionError unless they draw, with lines and named axes."""
    from matplotlib import pyplot

    warnings.simplefilter("error", UserWarning)
    text, scope = notebook.read_text(), {"__name__": notebook.stem}
    for found in re.finditer(r"^```\{code-cell\} python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL):
        lines = "\n" * text[: found.start(1)].count("\n")
        exec(compile(lines + found[1], str(notebook), "exec"), scope)
    axes = [ax for number in pyplot.get_fignums() for ax in pyplot.figure(number).axes]
    assert axes, "a notebook that only prints is none"
    for ax in axes:
        assert ax.lines
        below = ax.get_shared_x_axes().get_siblings(ax)
        assert any(other.get_xlabel() for other in below)


if __name__ == "__main__":
    run(Path(sys.argv[1]))
