"""What set-ups say while they wait, and how soon: measured by the clock."""

import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from fake_repository import FakeRepository, at_the_gate


@pytest.fixture
def repository(tmp_path):
    (tmp_path / "home").mkdir()
    return FakeRepository(tmp_path / "flexdyn", tmp_path / "home")


@pytest.fixture(scope="module", autouse=True)
def held(tmp_path_factory):
    """A set-up of another repository that waits in a step while other tests run, and since when."""
    folder = tmp_path_factory.mktemp("held")
    (folder / "home").mkdir()
    repository = FakeRepository(folder / "flexdyn", folder / "home")
    holder = at_the_gate(repository, "setup", FAKE_WAITS="cmake -G")
    yield repository, holder, time.monotonic()
    holder.kill()
    holder.communicate(timeout=60)


def test_a_quiet_set_up_tells_of_a_first_compile_on_standard_error_only(repository):
    repository.run("setup", "--test")
    (repository.folder / "flexdyn_ros" / "numerics" / "c.py").write_text("c = 1\n")
    process = at_the_gate(repository, "run", "echo", "hello", FAKE_WAITS="compiling.warmup")
    began = time.monotonic()
    assert process.stderr.readline() == "setup: kernels ...\n"
    assert 1.0 < time.monotonic() - began < 10.0
    repository.open_gate()
    output, errors = process.communicate(timeout=30)
    assert output == "hello\n"
    assert [line.split(" (")[0] for line in errors.splitlines()][-1] == "setup: ready"


def test_a_waiting_set_up_says_within_two_seconds_what_it_waits_for(repository):
    holder = at_the_gate(repository, "demo", "--speed", "2", FAKE_WAITS="cmake")
    began = time.monotonic()
    waiting = repository.start("run", "true")
    line = waiting.stderr.readline()
    assert time.monotonic() - began < 2.0
    assert line.startswith("setup: waits for process ")
    assert "(scripts/demo --speed 2), at step '" in line
    status = Path(f"/proc/{int(line.split()[4])}/status").read_text()
    assert f"PPid:\t{holder.pid}\n" in status
    repository.open_gate()
    for process in (holder, waiting):
        process.communicate(timeout=60)
    assert waiting.returncode == 0


def test_a_waiting_set_up_says_since_when_the_step_is_under_way(held):
    repository, holder, since = held
    time.sleep(max(0.0, since + 2.5 - time.monotonic()))
    waiting = repository.start("run", "true")
    line = waiting.stderr.readline()
    assert " since 0 s" not in line
    assert " since 1 s" not in line
    repository.open_gate()
    for process in (holder, waiting):
        process.communicate(timeout=60)
    assert waiting.returncode == 0
