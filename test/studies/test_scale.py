"""What a study costs beside its points, and the shipped studies at their size: on two processors, alone."""

import os
import time
from pathlib import Path

import pytest

for package in ("distributed", "pyarrow", "pandas"):
    pytest.importorskip(package, reason="the extra [studies] is not installed")

from flexdyn_ros.studies import run  # noqa: E402
from flexdyn_ros.studies.engine import _local_cluster  # noqa: E402
from flexdyn_ros.studies.shipped import shipped_studies  # noqa: E402

TEST = Path(__file__).parents[1]
pytestmark = [pytest.mark.slow, pytest.mark.realtime]


@pytest.fixture
def two_workers(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(TEST), str(TEST.parent)]))
    with _local_cluster(2, False) as client:
        yield client


def timed(study, client, folder):
    """(result, seconds from when both workers were ready): the first points load the study."""
    marks = []
    result = run(study, client, lambda done, total: marks.append((time.perf_counter(), done)), folder=folder)
    (start, before), (end, after) = next(m for m in marks if m[1] >= 2), marks[-1]
    return result, (end - start) * len(result.table) / (after - before)


def test_points_of_five_milliseconds_keep_two_cores_busy(two_workers, tmp_path, record_property):
    study = {
        "study": "burn", "experiment": "study_experiments:burning", "arguments": {"seconds": 5e-3},
        "design": {"kind": "grid"}, "parameters": {"x": {"linspace": [1, 2000, 2000]}},
    }  # fmt: skip
    _, seconds = timed(study, two_workers, tmp_path / "out")
    record_property("seconds for 2,000 points of 5 ms", seconds)
    assert 2000 * 5e-3 / 2 / seconds >= 0.85


def test_a_hundred_thousand_modes_of_a_rigid_robot_with_payloads(two_workers, tmp_path, record_property):
    study = {
        "study": "modes", "robot": "two_link", "experiment": "modes",
        "design": {"kind": "random", "samples": 100_000, "seed": 1},
        "parameters": {"payload.tip.mass": {"uniform": [0, 5]}},
    }  # fmt: skip
    result, seconds = timed(study, two_workers, tmp_path / "out")
    record_property("seconds for 100,000 modes", seconds)
    assert not result.table["failed"].any()
    assert seconds <= 150.0


def test_a_thousand_slews_of_canadarm2(two_workers, tmp_path, record_property):
    study = {
        "study": "slews", "robot": "canadarm2", "experiment": "slew", "options": {"gravity": [0.0, 0.0, 0.0]},
        "arguments": {"start": [-0.6, 1.0, -0.4, 0.3, 0.0], "duration": 1.5, "settle": 0.5},
        "design": {"kind": "random", "samples": 1000, "seed": 1},
        "parameters": {
            "payload.tool0.mass": {"uniform": [0, 1000]},
            "angle": {"uniform": [0.8, 1.0], "sets": {"end": [-0.5, 1.0, -0.4, 0.3, 0.0]}},
        },
    }  # fmt: skip
    result, seconds = timed(study, two_workers, tmp_path / "out")
    record_property("seconds for 1,000 slews", seconds)
    import numpy as np

    from flexdyn_ros.studies.bench import Bench
    from flexdyn_ros.studies.definition import read_study

    bench = Bench(read_study(study | {"arguments": study["arguments"] | {"dt": None}}))
    for _, row in result.table.iloc[:3].iterrows():
        start = time.perf_counter()
        default = bench.compute({name: row[name] for name in study["parameters"]})
        away = np.linalg.norm([row[f"tip_{x}"] - default[f"tip_{x}"] for x in "xyz"])
        record_property("seconds of a default run, distance of its tip", (time.perf_counter() - start, away))
        assert away < 5e-3
    assert seconds <= 90.0


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
