"""The tutorial of the hydraulic platform does what it says."""

import re
from pathlib import Path

import numpy as np
import pytest

PAGE = (Path(__file__).parents[1] / "docs" / "tutorials" / "platform.md").read_text()


def test_python_of_the_tutorial_lifts_and_rolls_the_platform(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    scope = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE, flags=re.S):
        exec(compile(block, "platform.md", "exec"), scope)
    robot, run = scope["robot"], scope["run"]
    assert run.method == "adaptive_staggered"
    assert abs(scope["error"][3:]).max() < 1e-3  # as well as in the example of the ship
    assert run.q[-1, 2] - robot.neutral()[2] == pytest.approx(0.10, abs=1e-3)
    assert np.isfinite(run.hydraulics.pressure_bore).all()
    assert (tmp_path / "platform.png").stat().st_size > 20_000
    assert (tmp_path / "platform.npz").exists()


def test_the_creep_that_the_tutorial_states_is_that_of_closed_valves():
    import flexdyn_ros

    robot = flexdyn_ros.load("stewart_1t")
    run = flexdyn_ros.simulate(robot, 1.0)
    assert run.q[-1, 2] - run.q[0, 2] == pytest.approx(1.5e-3, abs=0.3e-3)
