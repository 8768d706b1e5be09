"""Long work in turns: no more at a time than there are places, in the order of asking."""

import os
import threading
import time

from flexdyn_ros.nodes.ros.turns import Turns, cores_for_long_work


class Workers:
    """Threads that take turns, and what they did in order."""

    def __init__(self, turns):
        self.turns, self.inside, self.most, self.order = turns, 0, 0, []
        self.lock = threading.Lock()

    def work(self, name, pieces):
        for _ in range(pieces):
            with self.turns:
                self.note(name)

    def note(self, name):
        with self.lock:
            self.inside += 1
            self.most = max(self.most, self.inside)
            self.order.append(name)
        time.sleep(0.002)
        with self.lock:
            self.inside -= 1

    def run(self, names, pieces):
        threads = [threading.Thread(target=self.work, args=(name, pieces), daemon=True) for name in names]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30.0)
        assert not any(thread.is_alive() for thread in threads)


def test_no_more_work_at_a_time_than_there_are_places():
    for places in (1, 2):
        workers = Workers(Turns(places))
        workers.run("abcd", 10)
        assert workers.most == places
        assert len(workers.order) == 40


def test_two_that_always_want_more_have_turns_alike():
    workers = Workers(Turns(1))
    workers.run("ab", 20)
    both = workers.order[workers.order.index("b") : 20]
    assert all(first != second for first, second in zip(both, both[1:], strict=False))


def test_whoever_passes_on_lets_those_that_wait_go_first():
    turns, order = Turns(1), []

    def other():
        with turns:
            order.append("other")

    with turns:
        turns.pass_on()
        order.append("nobody waits")
        thread = threading.Thread(target=other)
        thread.start()
        while not turns._line:
            time.sleep(0.001)
        turns.pass_on()
        order.append("after it")
    thread.join(10.0)
    assert order == ["nobody waits", "other", "after it"]


def test_an_error_inside_leaves_the_place_free():
    turns = Turns(1)
    for _ in range(2):
        try:
            with turns:
                raise ValueError
        except ValueError:
            pass
    after = Workers(turns)
    after.run("a", 1)
    assert after.order == ["a"]


def test_a_core_is_left_where_there_are_several(monkeypatch):
    for usable, expected in (({0}, 1), ({0, 1}, 1), ({0, 1, 2, 3}, 3)):
        monkeypatch.setattr(os, "sched_getaffinity", lambda process, usable=usable: usable, raising=False)
        assert cores_for_long_work() == expected
