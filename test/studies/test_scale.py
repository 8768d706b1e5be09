"""The shipped studies at their size; what they cost is in `benchmarks/bench_studies.py`."""

import os
from pathlib import Path

import numpy as np
import pytest

for package in ("distributed", "pyarrow", "pandas"):
    pytest.importorskip(package, reason="the extra [studies] is not installed")

from flexdyn_ros.studies import run  # noqa: E402
from flexdyn_ros.studies.bench import Bench  # noqa: E402
from flexdyn_ros.studies.definition import read_study  # noqa: E402
from flexdyn_ros.studies.engine import shipped_studies  # noqa: E402
from flexdyn_ros.studies.processes.computing import local_cluster  # noqa: E402

TEST = Path(__file__).parents[1]
pytestmark = [pytest.mark.slow, pytest.mark.realtime]


@pytest.fixture
def two_workers(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(TEST), str(TEST.parent)]))
    with local_cluster(2, False) as client:
        yield client


def test_slews_in_steps_of_a_millisecond_end_where_the_default_run_does():
    """Tips within 5 mm, at ends of the range of `benchmarks/bench_studies.py`."""
    study = {
        "study": "slews", "robot": "canadarm2", "experiment": "slew", "options": {"gravity": [0.0, 0.0, 0.0]},
        "arguments": {"start": [-0.6, 1.0, -0.4, 0.3, 0.0], "duration": 1.5, "settle": 0.5},
        "design": {"kind": "random", "samples": 3, "seed": 1},
        "parameters": {
            "payload.tool0.mass": {"uniform": [0, 1000]},
            "angle": {"uniform": [0.8, 1.0], "sets": {"end": [-0.5, 1.0, -0.4, 0.3, 0.0]}},
        },
    }  # fmt: skip
    fixed = Bench(read_study(study))
    default = Bench(read_study(study | {"arguments": study["arguments"] | {"dt": None}}))
    for point in ({"payload.tool0.mass": 0.0, "angle": 1.0}, {"payload.tool0.mass": 1000.0, "angle": 0.8}):
        one, other = fixed.compute(point), default.compute(point)
        assert np.linalg.norm([one[f"tip_{x}"] - other[f"tip_{x}"] for x in "xyz"]) < 5e-3


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", shipped_studies())
def test_a_shipped_study_runs_at_its_size(name, two_workers, tmp_path):
    result = run(shipped_studies()[name], two_workers, False, folder=tmp_path / name)
    failures = result.failures
    # of the slews only those that are shorter than their shaper fail
    assert (failures["message"].str.contains("the shaper takes")).all() if len(failures) else True
    assert len(failures) == (4 if name == "shaped_slew" else 0)
    result.report(f"flexdyn study {name}")
    for plot in result.study.plots:
        assert (result.folder / "pictures" / plot["file"]).stat().st_size > 10_000
        assert (TEST.parent / "docs" / "images" / f"study_{plot['file']}").is_file()
    table = result.table
    if name == "energy_ratio":
        best = table.loc[table.groupby("bending")["error"].idxmin()]
        assert best["energy_ratio"].tolist() == pytest.approx([0.564, 0.564, 0.566, 0.568], abs=1e-9)
    if name == "wheels_stay_down":
        lifted = table[(table["share_of_weight"] < 0.0) & ((table["stiffness"] - 1.0).abs() < 1e-9)]
        assert lifted.groupby("road_class")["speed"].min().to_dict() == {"D": 9.25, "E": 4.75}
    if name == "load_chart":
        good = table[result.feasible()]
        assert good["payload"].max() == pytest.approx(20 / 3)
