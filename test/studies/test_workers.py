"""What a worker of a study does with a chunk of points: limits of time, ends, waiting for the compiler."""

import os
import time
from pathlib import Path

import pytest

for package in ("distributed", "pyarrow", "pandas"):
    pytest.importorskip(package, reason="the extra [studies] is not installed")

from flexdyn_ros.studies.processes import worker  # noqa: E402

TEST = Path(__file__).parents[1]


@pytest.fixture(autouse=True)
def experiments(monkeypatch):
    """Processes that compute find the experiments of tests."""
    before = os.environ.get("PYTHONPATH", "")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(TEST), before]))


def test_short_points_of_a_chunk_have_each_their_own_time_limit():
    told = {
        "key": "short", "folder": "", "file": None, "trajectories": False,
        "study": {
            "study": "short", "experiment": "study_experiments:failing", "design": {"kind": "grid"},
            "parameters": {"what": ["fine", "loop"], "x": [0, 1]},
        },
    }  # fmt: skip
    points = [{"what": "sleep", "x": n} for n in range(200)]
    points[150]["what"] = "loop"
    try:
        rows, seconds = worker.compute_chunk(worker.Chunk(told, list(range(200)), points, 0.3))
    finally:
        worker.stop_study(told["key"])
    assert seconds > 0.2 + 0.3
    assert [row[0] for row in rows] == list(range(200))
    assert [row[1] for row in rows if row[0] != 150] == [{"y": 1.0 + n} for n in range(200) if n != 150]
    assert rows[150][2][0] == "TimeLimit"


def test_a_study_that_is_stopped_computes_no_more_points_and_others_go_on():
    study = {
        "study": "stopped", "experiment": "study_experiments:failing", "design": {"kind": "grid"},
        "parameters": {"what": ["fine", "loop"], "x": [0, 1]},
    }  # fmt: skip
    chunks = {
        key: worker.Chunk(
            {"key": key, "folder": "", "file": None, "trajectories": False, "study": study},
            [0, 1], [{"what": "fine", "x": n} for n in range(2)], 20.0,
        )
        for key in ("goes on", "ends")
    }  # fmt: skip
    try:
        assert len(worker.compute_chunk(chunks["ends"])[0]) == 2
        worker.stop_study("ends")
        assert worker.compute_chunk(chunks["ends"])[0] == []
        assert len(worker.compute_chunk(chunks["goes on"])[0]) == 2
    finally:
        worker.stop_study("goes on")


def test_a_first_point_that_waits_for_the_compiler_is_told_from_one_that_never_ends(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    begun = time.time()
    assert not worker.kernels_written_since(begun)
    folder = tmp_path / "flexdyn_ros" / "crba-0123"
    folder.mkdir(parents=True)
    os.utime(folder, (begun - 10.0, begun - 10.0))
    os.utime(folder.parent, (begun - 10.0, begun - 10.0))
    assert not worker.kernels_written_since(begun)
    (folder / "crba.nbc").touch()
    assert worker.kernels_written_since(begun - 0.1)
    assert not worker.kernels_written_since(time.time() + 1.0)


@pytest.mark.parametrize("before", ["", "a point that was computed"])
def test_the_first_point_of_a_process_alone_may_wait_for_the_compiler(tmp_path, monkeypatch, before):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    cache = tmp_path / "flexdyn_ros"
    (cache / "kernel-0").mkdir(parents=True)
    told = {
        "key": f"compiling {before}", "folder": "", "file": None, "trajectories": False,
        "study": {
            "study": "compiling", "experiment": "study_experiments:compiling_once",
            "design": {"kind": "grid"}, "arguments": {"cache": str(cache)}, "parameters": {"x": [0, 1]},
        },
    }  # fmt: skip
    points = [{"x": 0}, {"x": 1}] if before else [{"x": 1}]
    chunk = worker.Chunk(told, list(range(len(points))), points, 0.3)
    try:
        rows = worker.compute_chunk(chunk)[0]
    finally:
        worker.stop_study(told["key"])
    if before:
        assert rows[0][1] == {"y": 1.0}
        assert rows[1][2][0] == "TimeLimit"
    else:
        assert rows[0][1] == {"y": 2.0}
