"""A node that hangs at its start says what it waits for, though the call that hangs keeps the interpreter."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork, no watch")

#: a call into C that keeps the interpreter, as that of the middleware does, where a node would be made
START = """
import ctypes, os, sys
from flexdyn_ros.nodes.ros import surroundings
surroundings.PATIENCE, surroundings.PORTS = 0.3, sys.argv[1]
surroundings.stand_by()
libc = ctypes.PyDLL(None)
{before}
with surroundings.joining():
    libc.usleep({microseconds})
try:
    os.waitpid(-1, 0)
    print("a child is left")
except ChildProcessError:
    print("alone")
"""


def started(tmp_path, microseconds, before=""):
    (tmp_path / "port1").write_bytes(b"")
    (tmp_path / "port2").write_bytes(b"used")
    program = START.format(microseconds=microseconds, before=before)
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "port*")],
        capture_output=True, text=True, timeout=60.0, check=True,
    )  # fmt: skip
    assert done.stdout == "alone\n"
    return done.stderr


def test_a_start_that_hangs_is_told_once_with_the_empty_ports(tmp_path):
    text = started(tmp_path, 900_000)
    assert text.count("flexdyn_ros: process") == 1
    assert "waited for 0.3 s for the middleware" in text
    assert f"these are empty: {tmp_path / 'port1'})" in text
    assert "port2" not in text


def test_a_start_that_does_not_hang_is_silent_however_long_imports_take(tmp_path):
    assert started(tmp_path, 1000, before="libc.usleep(600_000)") == ""


def test_the_watch_ends_with_a_node_that_is_killed_before_it_joins():
    program = """
import os, signal
from flexdyn_ros.nodes.ros import surroundings
surroundings.stand_by()
print(surroundings._watch[0], flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60.0, check=False
    )
    child, deadline = int(done.stdout), time.monotonic() + 10.0
    while time.monotonic() < deadline:
        try:
            state = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return
        # one that nobody waits for in this container has ended, too
        if state == "Z":
            return
        time.sleep(0.05)
    raise AssertionError(f"process {child} is left")
