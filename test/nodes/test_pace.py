"""The pace keeps its times, stops, lets others in, and tells how it went. The tick is plain Python here."""

import threading
import time

import pytest

pytestmark = pytest.mark.ros
pytest.importorskip("rclpy")

from flexdyn_ros.simulation.live.pace import Pace  # noqa: E402


class Counter:
    """Counts steps; `after` events when a number of them is reached."""

    def __init__(self, stop_at=None):
        self.steps, self.reached, self._goal, self._stop_at = 0, threading.Event(), None, stop_at

    def __call__(self, steps):
        self.steps += steps
        if self._goal is not None and self.steps >= self._goal:
            self.reached.set()
        return self._stop_at is None or self.steps < self._stop_at

    def wait_for(self, goal):
        self._goal = goal
        self.reached.clear()
        # they may have been reached before anybody asked
        assert self.steps >= goal or self.reached.wait(120.0)


@pytest.mark.parametrize("factor", [1.0, 4.0, 0.5])
def test_simulated_time_keeps_pace_with_wall_time(factor):
    counter = Counter()
    pace = Pace(counter, 0.001, factor)
    start = time.monotonic()
    pace.start(paused=False)
    counter.wait_for(int(500 * factor))
    elapsed = time.monotonic() - start
    pace.stop()
    # it cannot be early; how late it is depends on what else the machine does
    assert elapsed >= 0.99 * 0.5 - 0.01
    report = pace.report()
    assert report.real_time_factor <= 1.05 * factor
    assert report.lateness_p99 >= report.lateness_median >= 0.0


def test_zero_means_as_fast_as_possible():
    counter = Counter()
    pace = Pace(counter, 0.001, 0.0)
    pace.start(paused=False)
    counter.wait_for(100_000)
    pace.stop()
    assert pace.report().real_time_factor > 10.0


def test_paused_means_no_step_and_resume_goes_on():
    counter = Counter()
    pace = Pace(counter, 0.001, 1.0)
    pace.start(paused=True)
    assert pace.paused
    pace.resume()
    counter.wait_for(20)
    pace.pause()
    with pace.between_ticks():
        before = counter.steps
    with pace.between_ticks():
        assert counter.steps == before
    pace.resume()
    counter.wait_for(before + 20)
    pace.stop()
    after = counter.steps
    assert counter.steps == after


def test_a_tick_that_fails_pauses():
    counter = Counter(stop_at=30)
    pace = Pace(counter, 0.001, 1.0)
    pace.start(paused=False)
    counter.wait_for(30)
    with pace.between_ticks():
        pass
    pace.stop()
    assert counter.steps == 30


def test_others_get_their_turn_when_it_runs_as_fast_as_possible():
    pace = Pace(lambda steps: time.sleep(1e-4) or True, 0.001, 0.0)
    pace.start(paused=False)
    start = time.monotonic()
    for _ in range(50):
        with pace.between_ticks():
            pass
    elapsed = time.monotonic() - start
    pace.stop()
    # a turn each: who waits for a lock that is given back and taken again at once waits for ever
    assert elapsed < 60.0


def test_a_priority_that_is_asked_for_is_borne_with_or_without_the_right_to_it():
    counter = Counter()
    pace = Pace(counter, 0.001, 1.0, priority=50)
    pace.start(paused=False)
    counter.wait_for(50)
    pace.stop()
    assert pace.report().ticks >= 50
