"""What a study costs beside its points, and how long the named ones take, on a local cluster of two workers.

    python benchmarks/bench_studies.py [--quick] [--workers 2]

Counted from when both workers have begun, so that starting processes and loading robots is left out: 2,000
points that compute for 5 ms (the share of the processors' time that is theirs; wanted 85 %), 100,000 `modes`
of a rigid robot with changing payload (wanted 150 s), and 1,000 slews of the flexible Canadarm2, 2 s each in
steps of 1 ms (wanted 90 s). The machine should have nothing else to do. Before them: what another mass of a
link costs where the loaded robot takes it and where the description is loaded again.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import program

FOLDER = Path(__file__).resolve().parent
#: seconds of a point of the first study
POINT = 5e-3


def computing(robot: Any, x: float) -> dict[str, float]:
    """A point that takes POINT seconds of a processor."""
    end = time.process_time() + POINT
    while time.process_time() < end:
        pass
    return {"x": x}


def studies(quick: bool) -> dict[str, dict]:
    """Named studies; quick: of a few points."""
    points, modes, slews = (24, 40, 4) if quick else (2_000, 100_000, 1_000)
    return {
        f"{points} points of {1e3 * POINT:g} ms": {
            "study": "computing", "experiment": "bench_studies:computing",
            "design": {"kind": "grid"}, "parameters": {"x": {"linspace": [1, points, points]}},
        },
        f"{modes} modes with payload": {
            "study": "modes", "robot": "two_link", "experiment": "modes",
            "design": {"kind": "random", "samples": modes, "seed": 1},
            "parameters": {"payload.tip.mass": {"uniform": [0, 5]}},
        },
        f"{slews} slews of Canadarm2": {
            "study": "slews", "robot": "canadarm2", "experiment": "slew",
            "options": {"gravity": [0.0, 0.0, 0.0]},
            "arguments": {"start": [-0.6, 1.0, -0.4, 0.3, 0.0], "duration": 1.5, "settle": 0.5},
            "design": {"kind": "random", "samples": slews, "seed": 1},
            "parameters": {
                "payload.tool0.mass": {"uniform": [0, 1000]},
                "angle": {"uniform": [0.8, 1.0], "sets": {"end": [-0.5, 1.0, -0.4, 0.3, 0.0]}},
            },
        },
    }  # fmt: skip


def timed(study: dict, client: Any, folder: str) -> tuple[int, float]:
    """Points, and their seconds since both workers have begun."""
    from flexdyn_ros.studies import run

    marks: list[tuple[float, int]] = []
    result = run(study, client, lambda done, total: marks.append((time.perf_counter(), done)), folder=folder)
    assert not len(result.failures), result.failures
    (start, before) = next(mark for mark in marks if mark[1] >= 2)
    end, after = marks[-1]
    count = len(result.table)
    return count, (end - start) * count / max(after - before, 1)


def changed_masses(quick: bool) -> dict[str, tuple[float, float]]:
    """Seconds that a robot with another mass takes, changed and loaded, by its name."""
    from flexdyn_ros.studies import read_study
    from flexdyn_ros.studies.bench import Bench

    found = {}
    for robot, link in (("two_link", "lower"), ("canadarm2", "wrist_3")):
        path = f"urdf.links.{link}.inertial.mass.value"
        study = read_study({
            "study": "masses", "robot": robot, "experiment": "bench_studies:nothing",
            "design": {"kind": "grid"}, "parameters": {path: [210.0, 220.0]},
        })  # fmt: skip
        count, seconds = 3 if quick else 50, []
        for bench in (Bench(study), Bench(study)):
            if seconds:
                bench.__dict__["_quick"] = frozenset()
            bench.compute({path: 200.0})
            start = time.perf_counter()
            for n in range(count):
                bench.compute({path: 201.0 + n})
            seconds.append((time.perf_counter() - start) / count)
        found[robot] = (seconds[0], seconds[1])
    return found


def nothing(robot: Any) -> dict[str, float]:
    """A point that costs its robot only."""
    return {}


def main() -> None:
    parser = program.parser(__doc__)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    if find_spec("distributed") is None:
        sys.exit("distributed is not installed: pip install flexdyn_ros[studies]")
    from rich.console import Console
    from rich.table import Table

    from flexdyn_ros.studies.processes.computing import local_cluster

    os.environ["PYTHONPATH"] = os.pathsep.join([str(FOLDER), os.environ.get("PYTHONPATH", "")])
    sys.path.insert(0, str(FOLDER))
    masses = Table(title="another mass of a link")
    for heading in ("robot", "ms changed", "ms loaded", "times"):
        masses.add_column(heading, justify="left" if heading == "robot" else "right")
    for robot, (changed, loaded) in changed_masses(options.quick).items():
        masses.add_row(robot, f"{1e3 * changed:.2f}", f"{1e3 * loaded:.1f}", f"{loaded / changed:.1f}")
    Console().print(masses)
    # quick: each takes a second to start
    workers = 1 if options.quick else options.workers
    table = Table(title=f"studies on {workers} worker{'s' * (workers > 1)}")
    for heading in ("study", "\\[s]", "ms a point", "busy"):
        table.add_column(heading, justify="left" if heading == "study" else "right")
    with local_cluster(workers, False) as client, tempfile.TemporaryDirectory() as folder:
        for name, study in studies(options.quick).items():
            count, seconds = timed(study, client, os.path.join(folder, study["study"]))
            share = count * POINT / workers / seconds
            busy = f"{share:.0%}" if study["study"] == "computing" else ""
            table.add_row(name, f"{seconds:.1f}", f"{1e3 * seconds / count:.2f}", busy)
    Console().print(table)


if __name__ == "__main__":
    main()
