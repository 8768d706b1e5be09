"""Every example runs, prints and leaves its picture."""

from pathlib import Path

import pytest
from programs import Server

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted(path.name for path in (ROOT / "examples").glob("[0-9][0-9]_*.py"))
#: what is asked of a long one; the rest of it, more modes and shorter steps, is a slow test
PARTS = {"04_canadarm2_free_fall.py": ("motion", "table", "formulations", "torsion", "10")}


@pytest.fixture(scope="module")
def run(quick_compiler):
    """Programs of the folder with arguments, in the folder of the repository."""
    pytest.importorskip("matplotlib")
    with Server() as server:
        yield lambda name, *arguments: server.run(
            ROOT / "examples" / name, *arguments, folder=ROOT, PYTHONPATH=str(ROOT), MPLBACKEND="Agg"
        )


def test_the_page_lists_every_example():
    page = (ROOT / "examples" / "README.md").read_text()
    assert EXAMPLES
    assert [name for name in EXAMPLES if name not in page] == []


def test_the_study_of_canadarm2_draws_one_figure_by_one_command_with_its_numbers(run, tmp_path):
    study = "04_canadarm2_free_fall.py"
    told = run(study, "--help")
    assert told.returncode == 0, told.stderr
    assert "formulations" in told.stdout
    # nothing was simulated
    assert "rad/s" not in told.stdout
    done = run(study, "8", "--format", "svg", "--folder", str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["figure_08.csv", "figure_08.svg"]
    lines = (tmp_path / "out" / "figure_08.csv").read_text().splitlines()
    assert lines[0] == "time [s],z [m/s],y [m/s]"
    assert float(lines[-1].split(",")[0]) == pytest.approx(3.0)
    assert run(study, "11").returncode == 2


@pytest.mark.parametrize(
    ("name", "words"),
    [
        *((name, PARTS.get(name, ())) for name in EXAMPLES),
        *(pytest.param(name, (), marks=pytest.mark.slow) for name in PARTS),
    ],
)
def test_the_example_runs_and_draws(name, words, run):
    picture = ROOT / "out" / "examples" / (Path(name).stem + ".png")
    picture.unlink(missing_ok=True)
    done = run(name, *words)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
    assert picture.stat().st_size > 10_000
