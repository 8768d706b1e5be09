"""Whatever writes a file leaves the old one where the disk is full or the writing is interrupted."""

import subprocess
import sys

import pytest

#: the largest file that a process may write here [bytes], as if the disk were full beyond
LIMIT = 4096

#: what writes a file: name of the file, statements that write a small and a large one to `path`
WRITERS = {
    "save": ("a.npz", "run(SMALL).save(path)", "run(LARGE).save(path)"),
    "to_csv": ("a.csv", "run(SMALL).to_csv(path)", "run(LARGE).to_csv(path)"),
    "to_bag": ("a.mcap", "bare(SMALL).to_bag(path)", "run(LARGE).to_bag(path)"),
    "plot png": ("a.png", "path.write_bytes(b'old')", "run(SMALL).plot(path)"),
    "plot svg": ("a.svg", "path.write_bytes(b'old')", "run(SMALL).plot(path)"),
    "excitation": ("a.yaml", "write_joint_trajectory(run(SMALL), path)",
                   "write_joint_trajectory(run(LARGE), path)"),
    "expand": ("a.urdf", "path.write_bytes(b'old')", "write_text('x' * 10**5, path)"),
    "fmu": ("a.fmu", "path.write_bytes(b'old')", "flexdyn_ros.export.fmu(robot, path)"),
    "c": ("a.c", "path.write_bytes(b'old')", "flexdyn_ros.export.c(robot, path.parent)"),
}  # fmt: skip

#: reads lines `NAME|SMALL|LARGE`, one folder each, and prints what came of each, `RESULT|files in the folder`
PROGRAM = """
import resource, signal, sys
from dataclasses import replace
from pathlib import Path
import flexdyn_ros, flexdyn_ros.export
from flexdyn_ros.cli.terminal import write_text
from flexdyn_ros.identification.excitation import write_joint_trajectory
robot = flexdyn_ros.load("two_link", name="a")
SMALL, LARGE = 0.002, 2.0
large_run = flexdyn_ros.simulate(robot, LARGE)
def run(duration):
    return large_run if duration == LARGE else flexdyn_ros.simulate(robot, duration)
def bare(duration):
    return replace(run(duration), robot=None)
limit, hard = int(sys.argv[1]), resource.getrlimit(resource.RLIMIT_FSIZE)[1]
# as on a full disk: what goes beyond is not written, and told
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
sys.dont_write_bytecode = True  # Python's own caches of modules would be cut off, too
results = []
for number, line in enumerate(sys.stdin.read().splitlines()):
    name, small, large = line.split("|")
    path = Path(str(number)) / name
    path.parent.mkdir()
    exec(small)
    before = path.read_bytes()
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    try:
        exec(large)
    except (OSError, flexdyn_ros.errors.ExportError) as error:
        result = "told" if path.read_bytes() == before else "the old file is gone"
    else:
        result = "written"
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    results.append(result + "|" + " ".join(sorted(file.name for file in path.parent.iterdir())))
print("\\n".join(results))
"""


@pytest.fixture(scope="module")
def full_disk(tmp_path_factory):
    """Of each writer, what came of its large file and what lies in the folder then."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(LIMIT)], input="\n".join(map("|".join, WRITERS.values())),
        capture_output=True, text=True, timeout=550, cwd=tmp_path_factory.mktemp("full"),
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return dict(zip(WRITERS, done.stdout.splitlines()[-len(WRITERS) :], strict=True))


@pytest.mark.parametrize("writer", WRITERS)
def test_a_full_disk_leaves_the_old_file_and_nothing_beside_it(full_disk, writer):
    assert full_disk[writer] == f"told|{WRITERS[writer][0]}"
