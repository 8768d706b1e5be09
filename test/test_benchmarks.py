"""Every program of benchmarks/ runs to its end with --quick, with the peers that are installed or without."""

import os
import re
import shutil
import sys
from pathlib import Path

import pytest
from programs import Server

FOLDER = Path(__file__).parents[1] / "benchmarks"
#: what programs share; every other file is a program
SHARED = {
    "closed_in_mujoco.py", "closed_mechanisms.py", "implicit_methods.py", "implicit_robots.py", "program.py",
}  # fmt: skip
PROGRAMS = sorted(path.name for path in FOLDER.glob("*.py") if path.name not in SHARED)
SOURCES = {name: (FOLDER / name).read_text() for name in PROGRAMS}
#: modules that are compared with
PEERS = ("pinocchio", "mujoco", "exudyn", "soromox", "jax")
#: starts six nodes, which takes a busy machine a minute
MANY_NODES = {"bench_hour.py"}
#: a second of the processor or more: run by continuous integration, by hand with `-m benchmark` or --slow
SECONDS = {
    "bench_continuum.py", "bench_hardware.py", "bench_hydraulic_exchange.py", "bench_loops.py",
    "bench_markers.py", "bench_realtime.py", "bench_service.py", "bench_simulation.py", "bench_studies.py",
    "bench_viewer.py",
}  # fmt: skip
#: of those that have peers, what takes some seconds
LONGER = {"bench_loops.py", "bench_mobile.py", "bench_flexible.py", "bench_continuum.py"}


def needs_ros(name):
    return re.search(r"\brclpy\b|flexdyn_ros\.nodes", SOURCES[name]) is not None


@pytest.fixture(scope="module")
def compilers(tmp_path_factory):
    """A folder with gcc and g++ whose results are kept: what is compiled is the same in every run."""
    folder, keeping = tmp_path_factory.mktemp("compilers"), Path(__file__).with_name("kept_compiler.py")
    for name in ("gcc", "g++"):
        if found := shutil.which(name):
            script = folder / name
            script.write_text(f"#!/bin/sh\nexec '{sys.executable}' -I -S '{keeping}' '{found}' \"$@\"\n")
            script.chmod(0o755)
    return folder


@pytest.fixture(scope="module")
def run(compilers):
    """Programs with arguments, and folders that come first where modules are looked for."""
    commands = f"{compilers}{os.pathsep}{os.environ['PATH']}"
    with Server() as server:

        def run(name, *arguments, path=()):
            search = os.pathsep.join([*map(str, path), str(FOLDER.parent), os.environ.get("PYTHONPATH", "")])
            return server.run(
                FOLDER / name, *arguments, folder=FOLDER.parent, timeout=590, PYTHONPATH=search,
                PATH=commands, COLUMNS="200",
            )  # fmt: skip

        yield run


def figures(done):
    """Numbers that a program printed as its result; a word like nan or inf is none."""
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Traceback" not in done.stderr, done.stderr
    assert not re.search(r"(?i)(?<![a-z])[-+]?(nan|inf)(?![a-z])", done.stdout), done.stdout
    return re.findall(r"(?<![\w.])[-+]?\d+\.?\d*(?:e[-+]?\d+)?(?!\w)", done.stdout)


def said_to_be_missing(done):
    return re.findall(r"\w+(?= is not installed)", done.stderr + done.stdout)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(
            n,
            marks=[pytest.mark.ros] * needs_ros(n)
            + [pytest.mark.slow] * (n in MANY_NODES)
            + [pytest.mark.benchmark] * (n in SECONDS),
        )
        for n in PROGRAMS
    ],
)
def test_the_program_runs_to_its_end(name, run):
    done = run(name, "--quick")
    found = figures(done)
    if not found and said_to_be_missing(done):
        pytest.skip(done.stderr.strip().splitlines()[-1])
    assert len(found) >= 2, done.stdout


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(n, marks=[pytest.mark.slow] if n in LONGER else [])
        for n in PROGRAMS
        if re.search(r"program\.peer|soromox|from bench_dynamics", SOURCES[n]) and not needs_ros(n)
        if n != "bench_viewer.py"  # its peer is the browser
    ],
)
def test_a_peer_that_is_not_installed_is_left_out_and_named(name, run, tmp_path):
    for peer in PEERS:
        (tmp_path / f"{peer}.py").write_text(f"raise ImportError('no {peer}')\n")
    done = run(name, "--quick", path=[tmp_path])
    found = figures(done)
    assert said_to_be_missing(done)
    assert found or name == "exudyn_mobile_arm.py", done.stdout


def test_all_programs_take_the_same_option_and_tell_what_they_do():
    for name, source in SOURCES.items():
        assert "program.parser(__doc__)" in source, name
        assert "--quick]" in source.split('"""')[1], f"{name} does not tell of --quick"
        assert 'if __name__ == "__main__":' in source, f"{name} is no program"
    readme = (FOLDER / "README.md").read_text()
    assert not [name for name in PROGRAMS if f"benchmarks/{name}" not in readme]
    assert {*PROGRAMS} >= SECONDS | LONGER | MANY_NODES


def test_help_is_the_text_at_the_head_of_the_file(run):
    done = run("bench_startup.py", "--help")
    assert done.returncode == 0
    assert "--quick" in done.stdout
    assert SOURCES["bench_startup.py"].split('"""')[1].strip() in done.stdout
