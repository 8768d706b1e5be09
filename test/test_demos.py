"""A demo on ROS 2 nodes runs in real time, prints and leaves its picture."""

import re

import pytest
from test_examples import ROOT, run

pytestmark = [pytest.mark.ros, pytest.mark.realtime]


def test_first_light_ends_by_itself_with_table_and_picture():
    pytest.importorskip("rclpy")
    pytest.importorskip("flexdyn_interfaces")
    picture = ROOT / "out" / "demo" / "first_light.png"
    better = 0.0
    for _ in range(3):  # a machine that is busy with other tests may deliver commands too late
        picture.unlink(missing_ok=True)
        done = run(["examples/first_light_demo.py", "--duration", "4"])
        assert done.returncode == 0, done.stderr
        for words in ("tracking error", "real-time factor", "service latency", "energy balance"):
            assert words in done.stdout
        better = float(re.search(r"tracks ([\d.]+) times better", done.stdout)[1])
        if better > 5.0:
            break
    assert better > 5.0  # measured above 50; a busy machine delays commands
    assert picture.stat().st_size > 10_000
