"""The demos on ROS 2 nodes run, in real time, print and leave their pictures."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
pytestmark = [pytest.mark.ros, pytest.mark.realtime]


def run(arguments, timeout=550, **options):
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "MPLBACKEND": "Agg"},
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
        **options,
    )


def test_first_light_ends_by_itself_with_table_and_picture():
    pytest.importorskip("rclpy")
    pytest.importorskip("flexdyn_interfaces")
    picture = ROOT / "out" / "demo" / "first_light.png"
    better = 0.0
    for _ in range(3):  # a machine that is busy with other tests may deliver commands too late
        picture.unlink(missing_ok=True)
        done = run(["examples/first_light_demo.py"])
        assert done.returncode == 0, done.stderr
        for words in ("tracking error", "real-time factor", "service latency", "energy balance"):
            assert words in done.stdout
        better = float(re.search(r"tracks ([\d.]+) times better", done.stdout)[1])
        if better > 5.0:
            break
    assert better > 5.0  # measured above 50; a busy machine delays commands
    assert picture.stat().st_size > 10_000


def fastest_joint(arrays):
    """Greatest speed of shoulder and elbow in the slews of the flexible arm [rad/s]."""
    joints = [list(arrays["names"]).index(name) for name in ("shoulder_pitch", "elbow_pitch")]
    return max(np.abs(arrays[f"{name}_v"][:, joints]).max() for name in ("slew_flexible", "slew_unshaped"))


@pytest.mark.timeout(1200)
def test_canadarm2_falls_and_is_slewed_on_nodes():
    pytest.importorskip("rclpy")
    pytest.importorskip("flexdyn_interfaces")
    pictures = [ROOT / "out" / "demo" / f"{name}.png" for name in ("ground_drop", "orbit_slew")]
    for speed in ("2", "1"):  # a machine that is busy with other tests may deliver feedback too late
        for picture in pictures:
            picture.unlink(missing_ok=True)
        done = run(["examples/canadarm2_demo.py", "--speed", speed], timeout=550)
        assert done.returncode == 0, done.stderr + done.stdout
        if fastest_joint(np.load(pictures[0].with_name("canadarm2.npz"))) < 0.0698:
            break
    for words in (
        "lowest frequencies",
        "real-time factor",
        "energy drift",
        "twist of boom 2",
        "tip of boom 2",
    ):
        assert words in done.stdout
    assert all(picture.stat().st_size > 50_000 for picture in pictures)
    arrays = np.load(ROOT / "out" / "demo" / "canadarm2.npz")
    # the way of the trajectory, torque limits; the loop is stable: speeds stay near the 0.045 asked for
    slewed = [key for key in arrays if key.startswith("slew_")]
    assert len(slewed) == 12
    joints = [list(arrays["names"]).index(name) for name in ("shoulder_pitch", "elbow_pitch")]
    for name in ("slew_flexible", "slew_unshaped"):
        moved = arrays[f"{name}_q"][-1, joints] - arrays[f"{name}_q"][0, joints]
        assert moved == pytest.approx([0.4, -0.45], abs=5e-3)
        assert np.abs(arrays[f"{name}_tau"]).max() <= 2332.0 + 1e-6
        assert np.abs(arrays[f"{name}_v"][:, joints]).max() < 0.0698
        assert np.abs(arrays[f"{name}_v"][-1, joints]).max() < 2e-3
    assert np.abs(arrays["slew_rigid_tau"]).max() <= 2332.0 + 1e-6
