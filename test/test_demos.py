"""A demo on ROS 2 nodes runs in real time, prints and leaves its picture."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.ros


def run(name, *arguments, timeout=550):
    """A demo, in the folder of the repository."""
    return subprocess.run(
        [sys.executable, ROOT / "examples" / name, *arguments], cwd=ROOT, capture_output=True, text=True,
        timeout=timeout, env=os.environ | {"PYTHONPATH": str(ROOT), "MPLBACKEND": "Agg"},
    )  # fmt: skip


def test_first_light_ends_by_itself_with_table_and_picture():
    pytest.importorskip("rclpy")
    pytest.importorskip("flexdyn_interfaces")
    picture = ROOT / "out" / "demo" / "first_light.png"
    better = 0.0
    for _ in range(3):  # a machine that is busy with other tests may deliver commands too late
        picture.unlink(missing_ok=True)
        done = run("first_light_demo.py", "--duration", "3")
        assert done.returncode == 0, done.stderr
        for words in ("tracking error", "real-time factor", "service latency", "energy balance"):
            assert words in done.stdout
        better = float(re.search(r"tracks ([\d.]+) times better", done.stdout)[1])
        if better > 5.0:
            break
    assert better > 5.0  # measured above 50; a busy machine delays commands
    assert picture.stat().st_size > 10_000
