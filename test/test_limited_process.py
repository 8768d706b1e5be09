"""A program in a process of its own gets its request however late, and ends when who asked goes away."""

import os
import signal
import subprocess
import sys
import time

import pytest

from flexdyn_ros.limited_process import run_limited

ECHO = """
import json, os, sys
os.write(1, json.dumps(json.loads(sys.stdin.buffer.readline())).encode())
"""
LIMITS = {"seconds": 10, "memory": 1 << 30, "output": 1 << 21}


@pytest.mark.parametrize("size", [10, 1_000_000])
def test_a_request_may_come_late_and_in_pieces(size, tmp_path, monkeypatch):
    """A parent that the system lets wait writes when the child listens for the end of its input already."""
    script = tmp_path / "echo.py"
    script.write_text(ECHO)
    begin = subprocess.Popen.__init__

    def slow(self, *arguments, **options):
        begin(self, *arguments, **options)
        time.sleep(1.0)

    monkeypatch.setattr(subprocess.Popen, "__init__", slow)
    ended = run_limited(script, {"text": "x" * size}, **LIMITS)
    assert ended.code == 0
    assert len(ended.data) == size + len('{"text": ""}')


@pytest.mark.parametrize(
    ("does", "code", "is_late", "is_long"),
    [
        ("os._exit(3)", 3, False, False),
        ("time.sleep(60)", -signal.SIGKILL, True, False),
        ("sys.stdout.write('x' * 200); sys.stdout.flush(); time.sleep(60)", -signal.SIGKILL, False, True),
    ],
)
def test_how_a_process_ended_is_told(does, code, is_late, is_long, tmp_path):
    script = tmp_path / "ends.py"
    script.write_text(f"import os, sys, time\n{does}\n")
    ended = run_limited(script, {}, seconds=1 if is_late else 10, memory=1 << 30, output=100)
    assert (ended.code, ended.is_late, ended.is_long) == (code, is_late, is_long)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the signal of a pipe that ends")
def test_the_process_ends_when_who_asked_goes_away(tmp_path):
    script, mark = tmp_path / "wait.py", tmp_path / "number"
    script.write_text(f"import os, time\nopen({str(mark)!r}, 'w').write(str(os.getpid()))\ntime.sleep(60)\n")
    asking = (
        "from pathlib import Path\nfrom flexdyn_ros.limited_process import run_limited\n"
        f"run_limited(Path({str(script)!r}), {{}}, seconds=60, memory=1 << 30, output=100, written=1000)\n"
    )
    with subprocess.Popen([sys.executable, "-c", asking]) as parent:
        deadline = time.monotonic() + 60.0
        while not (mark.exists() and mark.read_text()):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        number = int(mark.read_text())
        parent.send_signal(signal.SIGKILL)
    while time.monotonic() < deadline:
        try:
            os.kill(number, 0)
        except ProcessLookupError:
            break
        time.sleep(0.05)
    else:
        pytest.fail("the process outlived who asked")
