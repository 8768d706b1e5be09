"""Where processes share the tests, long files run first, and tests in real time last and alone."""

import fcntl
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

TEST = Path(__file__).parents[1]
pytest.importorskip("xdist")

from sampled import few  # noqa: E402
from serial_last import LONGEST  # noqa: E402

CONFTEST = """
def pytest_xdist_make_scheduler(config, log):
    from serial_last import SerialLast
    SerialLast.longest = ("test_none.py", "test_ordinary_3.py", "test_ordinary_1.py")
    return SerialLast(config, log)
"""
#: writes when it began and when it ended
FILE = """
import os, time, pytest
{mark}
@pytest.mark.parametrize("number", range({count}))
def test_it(number):
    begin = time.monotonic()
    time.sleep(0.03)
    with open(os.environ["TIMES"], "a") as file:
        file.write(f"{name} {file} {{begin}} {{time.monotonic()}}\\n")
"""


def times(folder, ordinary, marked, processes=2):
    """{kind: [(begin, end, number of the file)]} of a run of files with so many tests."""
    (folder / "conftest.py").write_text(CONFTEST)
    for kind, mark, counts in (
        ("ordinary", "", ordinary),
        # in two words: this file itself is an ordinary one
        ("alone", "pytestmark = pytest.mark." + "realtime", marked),
    ):
        for i, count in enumerate(counts):
            (folder / f"test_{kind}_{i}.py").write_text(
                FILE.format(mark=mark, count=count, name=kind, file=i)
            )
    run = run_shared(folder, processes)
    assert run.returncode == 0, run.stdout + run.stderr
    assert f"{sum(ordinary) + sum(marked)} passed" in run.stdout.splitlines()[-1]
    found = {"ordinary": [], "alone": []}
    for line in (folder / "times").read_text().splitlines():
        kind, file, begin, end = line.split()
        found[kind].append((float(begin), float(end), int(file)))
    return found


#: tests of each file
MANY, ONE = ((3, 1, 2, 1), (2, 1)), ((1,), (2,))


def run_shared(folder, processes):
    """The run of the tests of a folder by some processes."""
    arguments = f"-q -p xdist -p no:cacheprovider -n {processes} --dist loadfile"
    arguments += f" -c {os.devnull} --rootdir {folder} {folder}"
    alone = {"PYTHONPATH": str(TEST), "TIMES": str(folder / "times"), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run(
        [sys.executable, "-m", "pytest", *arguments.split()],
        cwd=folder,
        env=os.environ | alone,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


# fewer processes than files, and more
@pytest.mark.parametrize(
    ("processes", "ordinary", "marked"),
    few([(n, *files) for n in (2, 3) for files in (MANY, ONE)], [(2, *MANY), (3, *ONE)]),
    ids=str,
)
def test_marked_files_run_after_all_others_and_one_at_a_time(processes, ordinary, marked, tmp_path):
    found = times(tmp_path, ordinary, marked, processes)
    assert len(found["ordinary"]) == sum(ordinary)
    if ordinary:
        assert min(found["alone"])[0] >= max(end for _, end, _ in found["ordinary"])
    alone = sorted(found["alone"])
    assert all(after[0] >= before[1] for before, after in zip(alone, alone[1:]))


def test_files_that_are_named_go_first_in_their_order(tmp_path):
    begins = {}
    for begin, _, file in sorted(times(tmp_path, (3, 1, 4, 1), ())["ordinary"]):
        begins.setdefault(file, begin)
    # two processes begin with the first two of them
    assert max(begins[3], begins[1]) < min(begins[0], begins[2])


CRASHING = """
import os, pytest
{mark}
@pytest.mark.parametrize("number", range(4))
def test_it(number):
    if number in {ending}:
        os._exit(3)
"""


@pytest.mark.parametrize("mark", ["", "pytestmark = pytest.mark." + "realtime"], ids=["among_others", "last"])
# the first and the last of a file, and those between are run
@pytest.mark.parametrize("ending", few([((1,),), ((0, 3),)], [((0, 3),)]), ids=str)
def test_a_test_that_ends_its_process_fails_once_and_all_others_are_run(mark, ending, tmp_path):
    (tmp_path / "conftest.py").write_text(CONFTEST)
    for i in range(3):
        (tmp_path / f"test_ordinary_{i}.py").write_text(
            FILE.format(mark="", count=3, name="ordinary", file=i)
        )
    (tmp_path / "test_crashing.py").write_text(CRASHING.format(mark=mark, ending=ending))
    run = run_shared(tmp_path, 2)
    assert run.returncode == 1, run.stdout + run.stderr
    assert f"{len(ending)} failed, {9 + 4 - len(ending)} passed" in run.stdout.splitlines()[-1]


def test_files_that_go_first_are_there():
    assert len(set(LONGEST)) == len(LONGEST) > 10
    assert [name for name in LONGEST if not (TEST.parent / name).is_file()] == []


def shared_by_tests():
    """The module conftest of all tests, once more."""
    spec = importlib.util.spec_from_file_location("shared", Path(__file__).parents[1] / "conftest.py")
    shared = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(shared)
    return shared


def test_files_are_in_memory_where_it_has_room_and_the_folder_is_of_this_user_alone(tmp_path):
    found = shared_by_tests().folder_in_memory
    folder = tmp_path / f"flexdyn-tests-{os.getuid()}"
    assert found(tmp_path, room=1e18) is None
    assert found(tmp_path / "nowhere", room=0) is None
    for _ in range(2):
        assert found(tmp_path, room=0) == str(folder)
    assert folder.stat().st_mode & 0o777 == 0o700
    folder.chmod(0o777)
    assert found(tmp_path, room=0) is None
    folder.rmdir()
    folder.symlink_to(tmp_path / "elsewhere")
    assert found(tmp_path, room=0) is None


def test_files_of_nodes_that_were_killed_are_removed_and_those_of_others_stay(tmp_path):
    shared = shared_by_tests()
    of = {name: {name, f"{name}_el", f"sem.{name}_mutex"} for name in ("fastdds_port7000", "fastdds_12ab")}
    for name in {"fastdds_none", "other_el"}.union(*of.values()):
        (tmp_path / name).touch()
    with (tmp_path / "fastdds_port7000_el").open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        shared.remove_shared_memory_of_killed_nodes(tmp_path)
    left = {path.name for path in tmp_path.iterdir()}
    assert left == of["fastdds_port7000"] | {"fastdds_none", "other_el"}
