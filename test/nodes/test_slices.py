"""Work on a request is done in slices of bounded time, within a budget; the clock is a fake."""

import numpy as np
import pytest

from flexdyn_ros.errors import FlexdynError
from flexdyn_ros.nodes.dynamics_server.slices import (
    SHORT,
    SLICE,
    Job,
    Progress,
    StoppedError,
    done_at_once,
    in_slices,
)


class Clock:
    """Seconds that go by when work says so."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


class Bench:
    """A job on samples of equal cost, its slices, and its result."""

    def __init__(self, samples, cost, **options):
        self.clock, self.slices, self.results = Clock(), [], []
        self.job = Job(self.work(samples, cost), self.keep, clock=self.clock, **options)

    def keep(self, job, result):
        assert job is self.job
        self.results.append(result)

    def work(self, samples, cost):
        def piece(part):
            n = part.stop - part.start
            self.clock.now += n * cost
            self.slices.append(n)
            return (np.arange(part.start, part.stop),)

        (found,) = yield from in_slices(samples, piece)
        return found

    def run(self):
        while not self.job.advance():
            pass
        (result,) = self.results
        return result


def test_slices_make_what_one_go_makes():
    whole = np.random.default_rng(0).standard_normal((100, 3))

    def work(samples):
        return (yield from in_slices(samples, lambda part: (2 * whole[part], whole[part, 0] > 0)))

    expected = done_at_once(work(100))
    for size in (1, 7, 99, 100, 1000):
        steps, sent = work(100), None
        try:
            while True:
                assert steps.send(sent).total == 100
                sent = size
        except StopIteration as end:
            found = end.value
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_array_equal(a, b)
            assert a.dtype == b.dtype


@pytest.mark.parametrize("cost", [1e-6, 1e-4, 4e-3, 1.0])
def test_a_slice_begins_with_one_sample_and_takes_no_more_than_its_time(cost):
    bench = Bench(3000, cost)
    np.testing.assert_array_equal(bench.run(), np.arange(3000))
    sizes = bench.slices
    assert sizes[0] == 1
    assert max(sizes) * cost <= max(SLICE * 1.001, cost)
    if cost < SLICE / 100:
        assert len(sizes) < 20 + 3000 * cost / SLICE * 1.1, "slices grow to their time"


def test_a_job_that_took_its_share_is_a_short_one_no_longer():
    bench = Bench(100, SLICE)
    while bench.job.spent <= SHORT:
        assert not bench.job.is_long
        bench.job.advance()
    assert bench.job.is_long
    assert Bench(1, SLICE, is_long=True).job.is_long


def test_a_request_over_its_budget_is_refused_early_with_the_time_it_would_take():
    bench = Bench(3000, 0.02, budget=10.0)
    error = bench.run()
    assert isinstance(error, StoppedError)
    assert bench.clock.now < 0.5, "not after ten seconds"
    text = str(error)
    for part in ("samples is 3000", "about 60 s", "expected at most 10 s", "max_seconds", "fewer samples"):
        assert part in text, text
    fitting = int(text.rsplit(" ", 1)[1])
    assert 300 <= fitting <= 500
    assert len(Bench(fitting, 0.02, budget=10.0).run()) == fitting, "what is recommended fits"


@pytest.mark.parametrize(
    ("samples", "cost", "budget", "is_done"),
    [
        # dear from the hundredth sample on
        (120, lambda i: 1e-3 if i < 100 else 0.5, 5.0, False),
        # the first slice pays for what is done once, and foretells nothing
        (1000, lambda i: 1e-3 + (5.0 if i == 0 else 0.0), 10.0, True),
    ],
    ids=["stopped at its budget", "done"],
)
def test_work_whose_samples_cost_unlike_keeps_to_its_budget(samples, cost, budget, is_done):
    clock, results = Clock(), []

    def piece(part):
        clock.now += sum(cost(i) for i in range(part.start, part.stop))
        return (np.zeros(part.stop - part.start),)

    job = Job(in_slices(samples, piece), lambda _, result: results.append(result), budget=budget, clock=clock)
    while not job.advance():
        pass
    assert clock.now < 10.0
    if is_done:
        assert len(results[0][0]) == samples
    else:
        assert isinstance(results[0], StoppedError)


@pytest.mark.parametrize("slices", [0, 2])
def test_what_is_stopped_is_worked_on_no_more(slices):
    bench = Bench(3000, SLICE)
    for _ in range(slices):
        bench.job.advance()
    bench.job.stop("stopped because nobody waits")
    done = len(bench.slices)
    assert "stopped because nobody waits" in str(bench.run())
    assert len(bench.slices) == done


def test_what_work_runs_into_is_its_result():
    def broken():
        yield Progress(0, 1)
        raise FlexdynError("it is broken")

    results = []
    assert Job(broken(), lambda _, result: results.append(result), clock=Clock()).advance()
    assert str(results[0]) == "it is broken"
