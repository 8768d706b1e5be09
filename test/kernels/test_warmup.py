"""The warm-up finds every entry of the kernels, knows its groups, and says in one line what went wrong."""

import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from flexdyn_ros.kernels import cache, warmup


def test_every_decorated_entry_is_found():
    names = [name for name, _ in warmup.entries()]
    assert len(set(names)) == len(names)
    folder = Path(warmup.__file__).parent
    for path in folder.glob("*.py"):
        for name in re.findall(r"^@entry\((?:.|\n)*?\n(?=def )def (\w+)\(", path.read_text(), re.MULTILINE):
            assert f"{path.stem}.{name}" in names
    assert "rigid.inverse_dynamics_one" in names
    assert "coriolis.coriolis_many" in names


def test_groups_are_within_each_other_and_every_pattern_fits():
    every = {name for name, _ in warmup.entries()}
    groups = {group: set(warmup.names_of([group])) for group in warmup.GROUPS}
    assert groups["demo"] < groups["start"] < groups["common"] < groups["all"] == every
    for pattern in (*warmup.RARE, *warmup.START):
        assert any(warmup._fits(name, (pattern,)) for name in every), pattern
    assert set(warmup.names_of(["rigid.prepare_one", "demo"])) == groups["demo"]


ONE_STATE = ("inverse_dynamics_one", "forward_dynamics_one", "mass_matrix_one")


def test_what_trees_need_to_move_is_compiled_at_the_start():
    start = set(warmup.names_of(["start"]))
    for module in ("rigid", "flexible"):
        assert {f"{module}.{verb}" for verb in (*ONE_STATE, "frames_many", "energy_many")} <= start
        assert f"{module}_steps.accelerate" in start


def test_what_every_family_needs_to_move_is_common():
    common = set(warmup.names_of(["common"]))
    for module in ("rigid", "flexible", "continuum", "mobile", "platform_verbs"):
        assert {f"{module}.{verb}" for verb in (*ONE_STATE, "inverse_dynamics_many")} <= common


def test_an_unknown_group_is_refused_by_name():
    expected = r"no kernel fits 'demos', expected demo, start, common, all"
    with pytest.raises(warmup.WarmUpError, match=expected):
        warmup.names_of(["demos"])


def test_a_kernel_that_cannot_be_compiled_is_told_of_in_one_line():
    run = subprocess.run(
        [sys.executable, "-m", "flexdyn_ros.kernels.warmup", "nothing.*"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert run.returncode == 1
    assert run.stderr.splitlines() == [
        "no kernel fits 'nothing.*', expected demo, start, common, all or a pattern such as 'rigid.*'"
    ]


def test_the_cause_of_a_failed_kernel_takes_one_line(monkeypatch):
    class Failed:
        def result(self):
            raise TypeError("Failed in nopython mode pipeline\n\nFile x, line 3\nmany more")

    with pytest.raises(
        warmup.WarmUpError,
        match=r"^kernel a\.b could not be compiled: TypeError: Failed in nopython mode pipeline$",
    ):
        warmup._result("a.b", Failed())


def test_a_long_compilation_is_told_of_and_a_short_one_is_not(monkeypatch, caplog):
    def some_kernel():
        """Stands for a kernel that compiles."""

    monkeypatch.setattr(cache, "PATIENCE", 0.05)
    with cache.compiling(some_kernel):
        time.sleep(0.3)
    assert [record.getMessage() for record in caplog.records if "some_kernel" in record.getMessage()]
    caplog.clear()
    monkeypatch.setattr(cache, "PATIENCE", 5.0)
    with cache.compiling(some_kernel):
        pass
    assert not caplog.records


def test_a_process_keeps_to_a_module_and_helps_when_none_is_left():
    shares = warmup._Shares(["a.1", "b.1", "a.2", "a.3", "c.1"])
    first, second = "first", "second"
    assert [shares.next(first), shares.next(second)] == ["a.1", "b.1"]
    assert shares.next(second) == "c.1"
    assert shares.next(second) == "a.2"
    assert shares.next(first) == "a.3"
    assert shares.next(first) is None
    assert shares.next(second) is None
