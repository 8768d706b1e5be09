"""Studies on a cluster of processes: the same table whatever happens to the workers."""

import os
import resource
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

for package in ("distributed", "pyarrow", "pandas"):
    pytest.importorskip(package, reason="the extra [studies] is not installed")

from study_experiments import numbers_in  # noqa: E402

from flexdyn_ros.errors import StateError  # noqa: E402
from flexdyn_ros.studies import run  # noqa: E402
from flexdyn_ros.studies.processes.computing import AT_HAND, local_cluster  # noqa: E402

TEST = Path(__file__).parents[1]
POINTS = 160
#: resident memory that 100,000 points may take while nine tenths of them are computed, and in all [MB]
LATER_MB, END_MB = 60, 200


@pytest.fixture(scope="module")
def cluster():
    """Two workers; where their children find the experiments of tests is inherited.

    Workers, of which tests kill many, are forks of a process that has imported what they import; those of
    `flexdyn study`, below, begin with nothing.
    """
    import dask

    before = os.environ.get("PYTHONPATH", "")
    os.environ["PYTHONPATH"] = os.pathsep.join([str(TEST), str(TEST.parent), before])
    forked = {"distributed.worker.multiprocessing-method": "forkserver"}
    with dask.config.set(forked), local_cluster(2, True) as client:
        yield client.cluster, client
    os.environ["PYTHONPATH"] = before


def logged(log, points=POINTS, seconds=0.0):
    return {
        "study": "logged",
        "experiment": "study_experiments:logged",
        "arguments": {"log": str(log), "seconds": seconds},
        "design": {"kind": "grid"},
        "parameters": {"x": {"linspace": [0, points - 1, points]}},
    }


def bytes_of(result):
    return (result.folder / "table.parquet").read_bytes()


def test_nothing_of_a_local_cluster_listens_beyond_loopback(cluster):
    import psutil

    assert cluster[1].dashboard_link.startswith("http://127.0.0.1:")
    mine = psutil.Process()
    heard = [
        place.laddr.ip
        for process in (mine, *mine.children(recursive=True))
        for place in process.net_connections("tcp")
        if place.status == psutil.CONN_LISTEN
    ]
    assert len(heard) >= 4
    assert set(heard) == {"127.0.0.1"}


def test_workers_draw_no_pages_of_their_own(cluster):
    imported = cluster[1].run(lambda: "bokeh" in sys.modules)
    assert list(imported.values()) == [False, False]


def test_the_table_is_the_same_with_one_two_and_four_workers(cluster, tmp_path):
    made, client = cluster
    log, tables = tmp_path / "log", []
    for workers in (4, 1, 2):
        made.scale(workers)
        deadline = time.monotonic() + 60
        while len(client.nthreads()) != workers and time.monotonic() < deadline:
            time.sleep(0.05)
        assert len(client.nthreads()) == workers
        result = run(logged(log, seconds=0.002), client, False, folder=tmp_path / f"{len(tables)}")
        tables.append(bytes_of(result))
    assert len(set(tables)) == 1
    table = result.table
    assert table["x"].tolist() == list(range(POINTS))
    assert table["square"].tolist() == [x * x for x in range(POINTS)]
    assert table["name"][7] == "p7"
    assert table["even"].dtype == bool
    assert table["list"][3].tolist() == [3.0]
    assert not table["failed"].any()
    assert result.failures.empty


def test_each_worker_has_a_chunk_waiting_and_no_more(cluster, tmp_path):
    client, seen = cluster[1], []

    def look(done, total):
        if 0 < done < 80:
            held = client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks))
            seen.append((held, max(map(len, client.processing().values()))))

    run(logged(tmp_path / "log", seconds=0.01), client, look, folder=tmp_path / "out")
    assert max(held for held, _ in seen) == 4
    assert max(most for _, most in seen) == 2


def test_a_worker_that_is_killed_costs_the_chunks_at_its_hand_at_most(cluster, tmp_path):
    """The one that it computes, and the one before, if its rows had not been fetched yet."""
    client = cluster[1]
    whole = run(logged(tmp_path / "calm"), client, False, folder=tmp_path / "whole")
    log = tmp_path / "log"
    killed = []

    def kill_in_the_middle(done, total):
        if done > 40 and not killed:
            pids = client.run(os.getpid)
            assert os.getpid() not in pids.values()
            killed.append(next(iter(pids.values())))
            os.kill(killed[0], signal.SIGKILL)

    study = logged(log, seconds=0.02)
    result = run(study, client, kill_in_the_middle, folder=tmp_path / "killed")
    assert killed
    columns = ["point", "x", "square", "half", "name", "even", "failed"]
    assert result.table[columns].equals(whole.table[columns])
    assert bytes_of(result) == bytes_of(whole)
    computed = numbers_in(log)
    assert set(computed) == set(range(POINTS))
    assert max(map(computed.count, computed)) <= 2
    twice = {x for x in computed if computed.count(x) > 1}
    parts = [path.stem.split("-") for path in (result.folder / "parts").glob("*.parquet")]
    chunks = [set(range(int(first), int(first) + int(count))) for first, count in parts]
    hit = [chunk for chunk in chunks if twice & chunk]
    assert len(hit) <= AT_HAND, (twice, hit)


def test_a_killed_worker_leaves_no_process_behind(cluster, tmp_path):
    import psutil

    client, orphans = cluster[1], []

    def kill(done, total):
        if done > 40 and not orphans:
            for process in psutil.Process().children(recursive=True):
                # one that has just ended has no command line
                with suppress(psutil.NoSuchProcess):
                    if "flexdyn_ros.studies.processes.child" in process.cmdline():
                        orphans.append(process)
            for pid in client.run(os.getpid).values():
                os.kill(pid, signal.SIGKILL)

    run(logged(tmp_path / "log", seconds=0.01), client, kill, folder=tmp_path / "out")
    assert orphans
    psutil.wait_procs(orphans, timeout=20)
    assert not [process for process in orphans if process.is_running()]


def test_a_study_that_is_stopped_ends_no_point_of_another(cluster, tmp_path):
    client, results = cluster[1], []

    def stop(done, total):
        if done > 10:
            raise KeyboardInterrupt

    def run_another():
        study = logged(tmp_path / "long", 8, seconds=0.5)
        results.append(run(study, client, False, folder=tmp_path / "long out"))

    other = threading.Thread(target=run_another)
    other.start()
    with pytest.raises(KeyboardInterrupt):
        run(logged(tmp_path / "short", seconds=0.01), client, stop, folder=tmp_path / "out")
    other.join(60)
    assert results[0].failures.empty


def test_every_way_of_failing_is_a_row_and_the_others_finish(cluster, tmp_path):
    ways = ["raise", "fine", "loop", "c loop", "exit", "crash", "no mapping", "no number", "missing", "fine"]
    study = {
        "study": "failing",
        "experiment": "study_experiments:failing",
        "design": {"kind": "list", "points": [{"what": what, "x": n} for n, what in enumerate(ways)]},
        "time_limit": 0.5,
    }
    result = run(study, cluster[1], False, folder=tmp_path / "out")
    failures = result.failures.set_index("what")
    assert list(result.failures["what"]) == [way for way in ways if way not in ("fine", "missing")]
    assert failures.loc["raise", "error"] == "ValueError"
    assert "broke, so it says" in failures.loc["raise", "message"]
    for way in ("loop", "c loop"):
        assert failures.loc[way, "error"] == "TimeLimit"
        assert "0.5 s" in failures.loc[way, "message"]
    assert "exit code 3" in failures.loc["exit", "message"]
    assert "SIGSEGV" in failures.loc["crash", "message"]
    assert "expected a mapping" in failures.loc["no mapping", "message"]
    assert "'y' is object" in failures.loc["no number", "message"]
    table = result.table
    assert table["failed"].tolist() == [way not in ("fine", "missing") for way in ways]
    assert table["y"][1] == 2.0
    assert table["y"].isna().sum() == 8
    report = result.report().read_text()
    assert "points: 10, failed: 7" in report
    assert "| TimeLimit | 2 | 2 |" in report


def test_a_study_that_workers_cannot_load_is_told_at_once(cluster, tmp_path):
    import yaml

    from flexdyn_ros.errors import FlexdynError

    (tmp_path / "only_here.py").write_text(
        "import sys\n"
        "if sys.argv[0].endswith('child.py'):\n"
        "    raise RuntimeError('a library is missing on this machine')\n"
        "def f(robot, x):\n"
        "    return {'y': x}\n"
    )
    told = {
        "study": "s",
        "experiment": "only_here:f",
        "design": {"kind": "grid"},
        "parameters": {"x": [1, 2]},
    }
    (tmp_path / "s.yaml").write_text(yaml.safe_dump(told))
    with pytest.raises(FlexdynError, match=r"a worker cannot load the study: .*a library is missing"):
        run(tmp_path / "s.yaml", cluster[1], False, folder=tmp_path / "out")


def test_a_full_disk_is_told_and_finished_points_are_kept(cluster, tmp_path, monkeypatch):
    study = logged(tmp_path / "log", 400)
    study["arguments"]["count"] = 40
    # Python's own caches of modules would be cut off, too
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (3_000, hard))  # a write beyond fails as on a full disk
    try:
        with pytest.raises(OSError, match="what is finished is kept"):
            run(study, cluster[1], False, folder=tmp_path / "out")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    before = numbers_in(tmp_path / "log")
    assert not list((tmp_path / "out").rglob("*.writing"))
    result = run(study, cluster[1], False, folder=tmp_path / "out", resume=True)
    again = numbers_in(tmp_path / "log")[len(before) :]
    assert len(result.table) == 400
    assert 0 < len(again) < 400
    assert result.table["half"].tolist() == [x / 2 for x in range(400)]


def test_a_complete_study_is_not_computed_again_and_another_is_not_mixed_in(cluster, tmp_path):
    log = tmp_path / "log"
    first = run(logged(log, 20), cluster[1], False, folder=tmp_path / "out")
    with pytest.raises(StateError, match="--resume"):
        run(logged(log, 20), cluster[1], False, folder=tmp_path / "out")
    before = bytes_of(first)
    again = run(logged(log, 20), None, False, folder=tmp_path / "out", resume=True)
    assert bytes_of(again) == before
    assert sorted(numbers_in(log)) == list(range(20))
    with pytest.raises(StateError, match=r"another study.*parameters"):
        run(logged(log, 21), cluster[1], False, folder=tmp_path / "out", resume=True)
    table = tmp_path / "out" / "parts" / "0000000-1.parquet"
    table.write_bytes(b"half of it")
    with pytest.raises(StateError, match="delete it"):
        run(logged(log, 20), None, False, folder=tmp_path / "out", resume=True)
    table.unlink()
    assert bytes_of(run(logged(log, 20), cluster[1], False, folder=tmp_path / "out", resume=True)) == before


def test_points_that_failed_are_tried_again_if_that_is_asked_for(cluster, tmp_path):
    import pandas
    import yaml
    from typer.testing import CliRunner

    from flexdyn_ros.cli import app

    study = {
        "study": "slow", "experiment": "study_experiments:until_now_failing", "time_limit": 0.4,
        "arguments": {"flag": str(tmp_path / "flag")},
        "design": {"kind": "grid"}, "parameters": {"x": {"linspace": [0, 39, 40]}},
    }  # fmt: skip
    whole = run(study | {"time_limit": 30}, cluster[1], False, folder=tmp_path / "whole")
    (tmp_path / "flag").touch()
    first = run(study, cluster[1], False, folder=tmp_path / "out")
    assert first.failures["point"].tolist() == [3, 4, 17]
    assert first.failures["error"].tolist() == ["ProcessEnded", "TimeLimit", "ValueError"]
    (tmp_path / "flag").unlink()
    done = first.folder / "table.parquet"
    kept = run(study, None, False, folder=tmp_path / "out", resume=True)  # computes nothing
    assert kept.failures["point"].tolist() == [3, 4, 17]
    (tmp_path / "s.yaml").write_text(yaml.safe_dump(study))
    words = ["study", str(tmp_path / "s.yaml"), "-o", str(first.folder), "--retry-failed"]
    refused = CliRunner().invoke(app, words)
    assert refused.exit_code == 2
    assert "--resume" in refused.output
    longer = study | {"time_limit": 30}
    again = run(longer, cluster[1], False, folder=tmp_path / "out", resume=True, retry_failed=True)
    assert again.failures.empty
    assert done.read_bytes() == bytes_of(whole)
    parts = pandas.concat(map(pandas.read_parquet, (again.folder / "parts").glob("*.parquet")))
    assert sorted(parts["point"]) == list(range(40))
    with pytest.raises(StateError, match="resume, too"):
        run(study, None, False, folder=tmp_path / "out", retry_failed=True)
    search = study | {
        "design": {"kind": "optuna", "samples": 4}, "parameters": {"x": {"uniform": [0, 1]}},
        "objectives": {"y": "minimize"},
    }  # fmt: skip
    with pytest.raises(StateError, match="another folder"):
        run(search, None, False, folder=tmp_path / "b", resume=True, retry_failed=True)


@pytest.mark.slow
def test_memory_of_client_and_scheduler_stays_bounded_over_a_long_study(cluster, tmp_path):
    """Both live in this process; what docs/studies.md says of 100,000 points."""
    import psutil

    me, seen = psutil.Process(), []
    points = 100_000
    study = {
        "study": "long", "experiment": "study_experiments:quadratic",
        "design": {"kind": "random", "samples": points},
        "parameters": {"x": {"uniform": [-1, 1]}, "y": {"uniform": [-1, 1]}},
    }  # fmt: skip
    small = study | {"design": {"kind": "random", "samples": 1000}}
    run(small, cluster[1], False, folder=tmp_path / "warm")
    before = me.memory_info().rss
    run(study, cluster[1], lambda done, _: seen.append((done, me.memory_info().rss)), folder=tmp_path / "out")
    early = next(rss for done, rss in seen if done > points / 10)
    assert seen[-1][1] - early < LATER_MB * 1e6
    assert me.memory_info().rss - before < END_MB * 1e6


def test_trajectories_are_kept_beside_the_table_if_they_are_asked_for(cluster, tmp_path):
    import flexdyn_ros

    study = {
        "study": "falls", "robot": "two_link", "experiment": "free_fall", "arguments": {"duration": 0.05},
        "design": {"kind": "grid"}, "parameters": {"payload.tip.mass": [0.0, 1.0]},
    }  # fmt: skip
    without = run(study, cluster[1], False, folder=tmp_path / "without")
    kept = run(study | {"trajectories": True}, cluster[1], False, folder=tmp_path / "kept")
    assert bytes_of(kept) == bytes_of(without)
    assert not (without.folder / "trajectories").exists()
    files = sorted((kept.folder / "trajectories").iterdir())
    assert [path.name for path in files] == ["000000.npz", "000001.npz"]
    robot = flexdyn_ros.load("two_link")
    for path, mass in zip(files, (0.0, 1.0), strict=True):
        there = flexdyn_ros.Trajectory.load(path)
        here = flexdyn_ros.simulate(robot.with_payload("tip", mass), 0.05)
        assert there.q.tobytes() == here.q.tobytes()
    assert kept.units["payload.tip.mass"] == "kg"


def test_an_optimisation_repeats_whatever_the_workers(cluster, tmp_path):
    pytest.importorskip("optuna", reason="the extra [studies] is not installed")
    study = {
        "study": "search",
        "experiment": "study_experiments:quadratic",
        "design": {"kind": "optuna", "samples": 40, "seed": 3, "batch": 8},
        "parameters": {"x": {"uniform": [-1, 1]}, "y": {"uniform": [-1, 1]}},
        "objectives": {"f": "minimize"},
    }
    result = run(study, cluster[1], False, folder=tmp_path / "a")
    assert len(result.table) == 40
    assert result.table["f"].min() < 0.05
    stop = threading.Event()

    def stop_halfway(done, total):
        if done >= 20 and not stop.is_set():
            stop.set()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(study, cluster[1], stop_halfway, folder=tmp_path / "b")
    resumed = run(study, cluster[1], False, folder=tmp_path / "b", resume=True)
    assert bytes_of(resumed) == bytes_of(result)
    both = study | {"objectives": {"f": "minimize", "g": "minimize"}, "study": "front"}
    front = run(both, cluster[1], False, folder=tmp_path / "c").pareto_front()
    assert 1 < len(front) < 40
    ordered = front.sort_values("f")
    assert ordered["g"].is_monotonic_decreasing


def command_of(folder, *more):
    words = ["study", str(folder / "s.yaml"), "-o", str(folder / "out"), "--workers", "2", *more]
    return [sys.executable, "-m", "flexdyn_ros.cli.main", *words]


def test_control_c_keeps_what_is_done_and_resume_computes_the_rest(cluster, tmp_path):
    import yaml

    log = tmp_path / "log"
    log.touch()
    (tmp_path / "s.yaml").write_text(yaml.safe_dump(logged(log, 120, seconds=0.03)))
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(TEST), str(TEST.parent)])}
    # whoever runs the tests in the background lets them ignore the signal, and what they start
    heard = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    program = subprocess.Popen(
        command_of(tmp_path), env=environment, stderr=subprocess.PIPE, text=True, start_new_session=True,
        preexec_fn=heard,
    )  # fmt: skip
    deadline = time.monotonic() + 120
    while len(numbers_in(log)) < 30:
        assert program.poll() is None, program.stderr.read()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    os.killpg(program.pid, signal.SIGINT)  # what a terminal sends on Ctrl-C
    said = program.communicate(timeout=60)[1]
    assert program.returncode == 130, said
    assert "Traceback" not in said
    assert "dashboard: http://127.0.0.1:" in said
    assert not (tmp_path / "out" / "table.parquet").exists()
    done = numbers_in(log)
    resumed = run(tmp_path / "s.yaml", cluster[1], False, folder=tmp_path / "out", resume=True)
    assert resumed.table["x"].tolist() == list(range(120))
    computed = numbers_in(log)
    assert set(computed) == set(range(120))
    assert len(computed) - 120 <= 2, "more than the two points that were being computed were computed twice"
    assert len(computed) > len(done)


@pytest.mark.slow
def test_a_scheduler_that_is_not_there_or_goes_is_told(cluster, tmp_path, monkeypatch):
    from flexdyn_ros.studies.processes import cluster as clusters

    monkeypatch.setattr(clusters, "CONNECT", 0.5)
    study = logged(tmp_path / "log", 100, seconds=0.05)
    with pytest.raises(ConnectionError, match=r"no scheduler answers at tcp://127.0.0.1:9"):
        run(study, None, False, scheduler="tcp://127.0.0.1:9", folder=tmp_path / "none")
    monkeypatch.setattr(clusters, "CONNECT", 20.0)
    address = tmp_path / "scheduler.json"
    words = ["--scheduler-file", str(address), "--no-dashboard"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    dask = [sys.executable, "-m", "dask"]
    scheduler = subprocess.Popen([*dask, "scheduler", "--host", "127.0.0.1", "--port", "0", *words],
                                 **quiet)  # fmt: skip
    worker = subprocess.Popen([*dask, "worker", "--nworkers", "1", "--nthreads", "1",
                               "--no-nanny", "--death-timeout", "5", *words], **quiet)  # fmt: skip
    try:
        import json

        deadline = time.monotonic() + 60
        while not address.is_file() and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(0.2)
        place = json.loads(address.read_text())["address"]

        def kill_the_scheduler(done, total):
            if done > 10:
                scheduler.kill()

        with pytest.raises(ConnectionError, match=r"scheduler is gone.*--resume"):
            run(study, None, kill_the_scheduler, scheduler=place, folder=tmp_path / "gone")
    finally:
        for process in (scheduler, worker):
            process.kill()
            process.wait()
    kept = len(numbers_in(tmp_path / "log"))
    result = run(study, cluster[1], False, folder=tmp_path / "gone", resume=True)
    assert len(result.table) == 100
    assert len(numbers_in(tmp_path / "log")) - kept < 100
