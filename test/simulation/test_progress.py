"""A function that is told how far a simulation is hears of it in time, changes nothing, and ends it."""

import time
from types import SimpleNamespace

import numpy as np
import pytest
from pendulums import double_pendulum

import flexdyn_ros
from flexdyn_ros.simulation import progress
from flexdyn_ros.simulation.progress import REPORT_PERIOD

#: one for each way in which steps are made: compiled, compiled with events afterwards, one by one, adaptive
WAYS = [
    ("seven_joint_arm", {"dt": 1e-3}),
    ("flexible_two_link", {"record_every": 7, "dt": 1e-3}),
    ("mobile_arm", {"dt": 1e-3}),
    ("seven_joint_arm", {"dt": 1e-3, "control": lambda t, q, v: np.zeros(7)}),
    ("seven_joint_arm", {}),
    ("mobile_arm", {}),
    ("stewart_1t", {}),
    ("seven_joint_arm", {"method": "dop853"}),
    ("seven_joint_arm", {"method": "lsoda"}),
]


class EndedError(Exception):
    """Raised by the function that is told."""


@pytest.mark.parametrize(("name", "options"), WAYS)
def test_the_function_that_is_told_changes_nothing(name, options):
    robot = flexdyn_ros.load(name)
    told, times, duration = [], [], 0.05 if "method" in options else 0.5

    def tell(t):
        told.append(t)
        times.append(time.monotonic())

    found = flexdyn_ros.simulate(robot, duration, progress=tell, **options)
    expected = flexdyn_ros.simulate(robot, duration, **options)
    for key in ("t", "q", "v", "tau", "work", "dissipated"):
        np.testing.assert_array_equal(getattr(found, key), getattr(expected, key), err_msg=key)
    assert np.diff(found.t).min() > 0.0
    assert found.t[[0, -1]] == pytest.approx([0.0, duration])
    assert told
    assert told == sorted(told)
    assert told[0] >= 0.0
    assert told[-1] <= duration
    assert np.diff(times).min(initial=1.0) > 0.5 * REPORT_PERIOD


@pytest.mark.parametrize(("name", "options"), WAYS)
def test_what_it_raises_ends_the_simulation_soon(name, options):
    robot = flexdyn_ros.load(name)
    told = []

    def tell(t):
        told.append(t)
        if len(told) > 2:
            raise EndedError

    with pytest.raises(EndedError):
        flexdyn_ros.simulate(robot, 300.0, progress=tell, **options)
    assert told[-1] < 250.0


def test_slow_forces_do_not_keep_it_waiting_until_a_step_of_radau_ends(monkeypatch):
    monkeypatch.setattr(progress, "REPORT_PERIOD", 0.0)
    told, asked = [], []

    def forces(t, q, v):
        asked.append(t)
        return {}

    flexdyn_ros.simulate(
        double_pendulum(), 0.1, [1.0, 0.0], progress=told.append, method="radau", wrenches=forces
    )
    assert len(told) > len(asked) > 50


def test_chunks_of_steps_that_take_equally_long_stay_as_long_as_a_report(monkeypatch):
    """Steps of 0.1 ms by a clock of our own: 200 of them from one report to the next, up to the end."""
    now, told = [100.0], []
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    plan = SimpleNamespace(times=np.arange(20_001) * 1e-3, progress=told.append)
    following, done, chunks = progress.Progress(plan), 0, []
    while done < 20_000:
        chunks.append(following.chunk(20_000 - done))
        done += chunks[-1]
        now[0] += 1e-4 * chunks[-1]
        following.show(done)
    assert sum(chunks) == 20_000
    assert all(abs(steps - 200) <= 2 for steps in chunks[5:-1])
    # every second chunk at the latest
    assert np.diff(told).max() < 0.41
