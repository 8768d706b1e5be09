"""Many requests are worked on in turn, in slices of bounded time, within a budget; the clock is a fake."""

import threading

import numpy as np
import pytest

from flexdyn_ros.errors import FlexdynError
from flexdyn_ros.nodes.dynamics_server.fair_queue import (
    SHORT,
    SLICE,
    FairQueue,
    Job,
    QueueFullError,
    StoppedError,
)
from flexdyn_ros.nodes.dynamics_server.slices import Progress, done_at_once, in_slices


class Clock:
    """Seconds that go by when work says so."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


class Bench:
    """A queue without threads, and jobs that note when they are worked on."""

    def __init__(self, most_jobs=100, most_samples=10**9):
        self.clock, self.queue = Clock(), FairQueue(most_jobs, most_samples, threads=0)
        self.slices, self.results = [], {}

    def work(self, name, samples, cost):
        def piece(part):
            n = part.stop - part.start
            self.clock.now += n * cost
            self.slices.append((name, n))
            return (np.arange(part.start, part.stop),)

        (found,) = yield from in_slices(samples, piece)
        return found

    def add(self, name, samples, cost, **options):
        def done(result):
            self.results[name] = result

        job = Job(self.work(name, samples, cost), done, samples=samples, clock=self.clock, **options)
        self.queue.push(job)
        return job

    def run(self):
        while self.queue.work_once():
            pass
        return self.results


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
    bench = Bench()
    bench.add("one", 3000, cost)
    np.testing.assert_array_equal(bench.run()["one"], np.arange(3000))
    sizes = [n for _, n in bench.slices]
    assert sizes[0] == 1
    assert max(sizes) * cost <= max(SLICE * 1.001, cost)
    if cost < SLICE / 100:
        assert len(sizes) < 20 + 3000 * cost / SLICE * 1.1, "slices grow to their time"


def test_a_short_request_waits_for_one_slice_of_each_long_one_at_most():
    bench = Bench()
    for name in "abcde":
        bench.add(name, 3000, 0.02)
    for _ in range(100):
        bench.queue.work_once()
    bench.slices.clear()
    asked = bench.clock.now
    bench.add("short", 1, 0.001)
    while "short" not in bench.results:
        bench.queue.work_once()
    # the slice of another is over before it is asked; two samples would be 40 ms
    assert bench.clock.now - asked < 0.0015
    assert len(bench.results) == 1


def test_long_requests_get_their_turn_while_short_ones_keep_coming():
    bench = Bench(most_jobs=1000)
    bench.add("long", 1000, SLICE, is_long=True)
    for number in range(200):
        bench.add(f"short {number}", 1, 0.001)
        before = len(bench.slices)
        bench.queue.work_once()
        assert len(bench.slices) == before + 1, "what has one sample is done in one turn"
    long = sum(name == "long" for name, _ in bench.slices)
    assert 40 <= long <= 60, "one slice in four"


def test_requests_of_one_kind_take_turns():
    bench = Bench()
    for name in "abc":
        bench.add(name, 300, SLICE, is_long=True)
    for _ in range(90):
        bench.queue.work_once()
    counts = [sum(who == name for who, _ in bench.slices) for name in "abc"]
    assert max(counts) - min(counts) <= 1, counts


def test_a_job_that_took_its_share_is_a_short_one_no_longer():
    bench = Bench()
    job = bench.add("one", 100, SLICE)
    while job.spent <= SHORT:
        assert not job.is_long
        bench.queue.work_once()
    assert job.is_long


def test_a_request_over_its_budget_is_refused_early_with_the_time_it_would_take():
    bench = Bench()
    bench.add("one", 3000, 0.02, budget=10.0)
    error = bench.run()["one"]
    assert isinstance(error, StoppedError)
    assert bench.clock.now < 0.5, "not after ten seconds"
    text = str(error)
    for part in ("samples is 3000", "about 60 s", "expected at most 10 s", "max_seconds", "fewer samples"):
        assert part in text, text
    fitting = int(text.rsplit(" ", 1)[1])
    assert 300 <= fitting <= 500
    again = Bench()
    again.add("one", fitting, 0.02, budget=10.0)
    assert len(again.run()["one"]) == fitting, "what is recommended fits"


def test_a_request_that_gets_dear_later_is_stopped_at_its_budget():
    bench = Bench()

    def piece(part):
        bench.clock.now += sum(1e-3 if i < 100 else 0.5 for i in range(part.start, part.stop))
        return ()

    results = []
    bench.queue.push(Job(in_slices(120, piece), results.append, samples=120, budget=5.0, clock=bench.clock))
    bench.run()
    assert isinstance(results[0], StoppedError)
    assert bench.clock.now < 10.0


def test_the_first_slice_pays_for_what_is_done_once_and_foretells_nothing():
    bench = Bench()

    def piece(part):
        bench.clock.now += (part.stop - part.start) * 1e-3 + (5.0 if part.start == 0 else 0.0)
        return (np.zeros(part.stop - part.start),)

    results = []
    bench.queue.push(
        Job(in_slices(1000, piece), results.append, samples=1000, budget=10.0, clock=bench.clock)
    )
    bench.run()
    assert len(results[0][0]) == 1000


def test_what_is_stopped_is_worked_on_no_more():
    bench = Bench()
    job = bench.add("one", 3000, SLICE)
    fresh = bench.add("fresh", 3000, SLICE)
    bench.queue.work_once()
    bench.queue.work_once()
    for each in (job, fresh):
        each.stop("stopped because nobody waits")
    done = len(bench.slices)
    results = bench.run()
    assert len(bench.slices) == done
    for name in ("one", "fresh"):
        assert "stopped because nobody waits" in str(results[name])
    assert len(bench.queue) == bench.queue.samples == 0


def test_as_much_as_may_waits_and_no_more():
    bench = Bench(most_jobs=3, most_samples=1000)
    bench.add("large", 5000, 1e-3)
    with pytest.raises(
        QueueFullError, match=r"1 requests with 5000 samples.* 1000 samples .*max_waiting_samples"
    ):
        bench.add("another", 1, 1e-3)
    bench.run()
    for name in "abc":
        bench.add(name, 10, 1e-3)
    with pytest.raises(
        QueueFullError, match=r"3 requests with 30 samples.* at most 3 requests .*max_waiting"
    ):
        bench.add("d", 10, 1e-3)
    assert set(bench.run()) == {"large", "a", "b", "c"}
    bench.add("d", 10, 1e-3)


def test_what_one_request_runs_into_ends_no_other():
    bench = Bench()
    results = []

    def broken():
        yield Progress(0, 1)
        raise FlexdynError("it is broken")

    bench.queue.push(Job(broken(), results.append, clock=bench.clock))
    bench.add("good", 10, 1e-3)
    assert len(bench.run()["good"]) == 10
    assert str(results[0]) == "it is broken"


def test_a_sample_that_cannot_be_cut_holds_up_no_short_request():
    queue = FairQueue(100, 10**9)
    gate, answered = threading.Event(), threading.Event()

    def stuck():
        yield Progress(0, 1)
        assert gate.wait(60.0)

    for _ in range(5):
        queue.push(Job(stuck(), lambda result: None, is_long=True))
    try:
        queue.push(Job(in_slices(1, lambda part: (np.zeros(1),)), lambda result: answered.set()))
        assert answered.wait(30.0)
    finally:
        gate.set()
        queue.close("over", patience=30.0)


def test_threads_work_and_end_and_refuse_what_waits():
    queue = FairQueue(100, 10**9, threads=2)
    is_over = threading.Event()
    results = []
    queue.push(Job(in_slices(1000, lambda part: (np.zeros(part.stop - part.start),)), results.append))

    def forever():
        while True:
            yield Progress(0, 10**9)

    def ended(result):
        results.append(result)
        is_over.set()

    queue.push(Job(forever(), ended))
    queue.close("stopped because the server ends", patience=30.0)
    assert is_over.wait(30.0)
    assert len(results) == 2
    for result in results:
        assert "the server ends" in str(result) or len(result[0]) == 1000
    assert any("the server ends" in str(result) for result in results)
    with pytest.raises(QueueFullError, match="the server ends"):
        queue.push(Job(forever(), ended))
