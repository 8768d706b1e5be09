""".ci/run: its parts, which of them run beside each other, and how failures come out; the parts are stubs."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
#: what the run looks for on a machine; an empty program stands for each
PROGRAMS = (
    "chromium", "clang", "arm-none-eabi-gcc", "aarch64-linux-gnu-gcc", "qemu-aarch64", "python3.12",
    "python3.13",
)  # fmt: skip
#: stands for every script: notes its call, and with FAKE_FAILS among its words fails, at tests of FAKE_NAMES
SCRIPT = """#!/usr/bin/env bash
call="${0##*/} $* of ${FLEXDYN_PYTHON:-}"
echo "${ROS_DOMAIN_ID:-none} $call" >>"$FAKE_CALLS"
if [[ $call == demo* ]]; then
  mkdir -p out/demo build/setup "$HOME/.cache/flexdyn_ros/kernels"
  touch out/demo/a.png build/setup/kernels.seconds
fi
# with each of two Pythons it waits until the other has begun
for pair in "3.12 3.13" "3.13 3.12"; do
  if [[ $call == *"python${pair% *}" ]]; then
    touch "began-${pair% *}"
    for ((i = 0; i < 400; i++)); do if [ -e "began-${pair#* }" ]; then break; fi; sleep 0.05; done
    if [ ! -e "began-${pair#* }" ]; then echo "not beside each other"; exit 1; fi
  fi
done
# the one of them that takes longer, until what follows has begun, which waits for the other
if [[ $call == *test_alone.py* ]]; then
  touch began-alone
  if [ ! -e ended-3.12 ] && [ ! -e ended-3.13 ]; then echo "a third beside both"; exit 1; fi
fi
if [[ -n $FAKE_LONGER && $call == *"python$FAKE_LONGER" ]]; then
  for ((i = 0; i < 400; i++)); do if [ -e began-alone ]; then break; fi; sleep 0.05; done
  if [ ! -e began-alone ]; then echo "nothing follows the shorter one"; exit 1; fi
fi
if [[ $call == *python3.1[23] ]]; then
  sleep 0.3
  touch "ended-${call##*python}"
fi
echo "closing line of $call"
if [[ -n $FAKE_FAILS && $call == *$FAKE_FAILS* ]]; then
  for name in $FAKE_NAMES; do echo "FAILED $name - it took too long"; done
  exit 1
fi
"""
#: the environment's Python: compiles kernels or judges the demo, which is noted, or tells its version
PYTHON = """#!/bin/sh
case $* in *warmup* | *test_demo*) exec scripts/warmup "$@" ;; esac
echo 3.11
"""
PARTS = {
    "scripts/demo, from nothing": "demo  of",
    "scripts/setup --test": "setup --test",
    "what the demo showed": "test_demo_canadarm2.py",
    "scripts/lint": "lint",
    "kernels that set-up leaves out": "compiling.warmup",
    "scripts/test": "-rsfE",
    "kernels that compile alone": "test_alone.py",
    "part of the tests with Python 3.12": "python3.12",
    "part of the tests with Python 3.13": "python3.13",
    "benchmarks with --quick": "-m benchmark",
}


def ci(folder, fails="", names="", longer=""):
    """A run on stubs, one Python may take longer: the finished process, its calls [(domain, call)]."""
    programs = folder / "programs"
    for path in (folder / ".ci", folder / "scripts", folder / ".venv/bin", programs):
        path.mkdir(parents=True)
    shutil.copy(ROOT / ".ci/run", folder / ".ci/run")
    stubs = {folder / "scripts" / name: SCRIPT for name in ("demo", "lint", "setup", "test", "warmup")}
    stubs |= {programs / name: "#!/bin/sh\n" for name in PROGRAMS}
    stubs[programs / "ldconfig"] = "#!/bin/sh\necho libGL.so.1\n"
    stubs[folder / ".venv/bin/python"] = PYTHON
    for path, text in stubs.items():
        path.write_text(text)
        path.chmod(0o755)
    done = subprocess.run(
        [folder / ".ci/run"],
        env={
            "PATH": f"{programs}:/usr/bin:/bin",
            "FAKE_CALLS": str(folder / "calls"),
            "FAKE_FAILS": fails,
            "FAKE_LONGER": longer,
            "FAKE_NAMES": names,
            "TMPDIR": str(folder),
        },
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done, [line.split(" ", 1) for line in (folder / "calls").read_text().splitlines()]


def test_every_part_runs_and_other_pythons_beside_each_other_in_domains_of_their_own(tmp_path):
    done, calls = ci(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "ci: failed" not in done.stdout
    for name, words in PARTS.items():
        assert len([call for _, call in calls if words in call]) == 1
        assert len(re.findall(rf"^ *\d+\.\d min  {re.escape(name)}$", done.stdout, flags=re.M)) == 1
    others = {call.rpartition("python")[2]: domain for domain, call in calls if "python" in call}
    assert sorted(others) == ["3.12", "3.13"]
    assert len(set(others.values())) == 2
    for version in others:
        (line,) = (tmp_path / f"build/ci-python{version}.log").read_text().splitlines()
        assert line.endswith(f"python{version}")


@pytest.mark.parametrize("longer", ["3.12", "3.13"])
def test_what_follows_begins_when_the_quicker_of_two_pythons_has_ended(longer, tmp_path):
    done, calls = ci(tmp_path, longer=longer)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(calls) == len(PARTS)


@pytest.mark.parametrize("name", PARTS)
def test_a_part_that_fails_is_named_and_the_others_run(name, tmp_path):
    done, calls = ci(tmp_path, PARTS[name])
    assert done.returncode == 1
    assert re.findall(r"^ci: failed: (.*)$", done.stdout, flags=re.M) == [name]
    assert len(calls) == len(PARTS)


@pytest.mark.parametrize("fails", ["-rsfE", "-rfE -n 1"], ids=["main run", "newest Python"])
def test_few_tests_that_failed_beside_others_run_again_alone(fails, tmp_path):
    done, calls = ci(tmp_path, fails, "test/a.py::test_b[1] test/a.py::test_b[2] test/c.py::test_d")
    assert done.returncode == 0, done.stdout
    assert re.findall(r"^ci: failed beside others, run again alone: (.*)$", done.stdout, flags=re.M) == [
        "test/a.py::test_b", "test/c.py::test_d",
    ]  # fmt: skip
    (again,) = [call for _, call in calls if "-n 0 test/a.py::test_b test/c.py::test_d of" in call]
    assert again.endswith("python3.13") is (fails != "-rsfE")
    assert len(calls) == len(PARTS) + 1


def test_more_than_three_tests_that_failed_are_a_failure(tmp_path):
    done, calls = ci(tmp_path, "-rsfE", "t.py::a t.py::b t.py::c t.py::d")
    assert done.returncode == 1
    assert len(calls) == len(PARTS)
