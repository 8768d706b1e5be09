"""Every entry compiles by itself, from an empty cache in a fresh process: no order is needed."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import flexdyn_ros
from flexdyn_ros.numerics.compiling.warmup_names import names_of, shown

PACKAGE = Path(flexdyn_ros.__file__).parent
NAMES = sorted(names_of(["all"]))
SHOWN = shown(NAMES)
#: in a module with several entries, the one that stands for those that share its callees
PREFERRED = ("accelerate", "forward", "forward_dynamics_one", "advance")


def representatives() -> list[str]:
    """One entry of each module of kernels: those of a module are compiled from the same modules."""
    chosen: dict[str, str] = {}
    for name in sorted(NAMES, key=lambda name: (name.rpartition(".")[2] not in PREFERRED, name)):
        chosen.setdefault(name.rpartition(".")[0], name)
    return sorted(chosen.values())


def compile_alone(name: str, cache: Path) -> None:
    """Compile PACKAGE.MODULE.FUNCTION in a process of its own that finds nothing compiled."""
    code = f"from flexdyn_ros.numerics.compiling.warmup import load_entry; load_entry({name!r})"
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    run = subprocess.run(
        [sys.executable, "-c", code],
        env=environment,
        capture_output=True,
        text=True,
        timeout=590,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-3000:]
    module, _, function = name.rpartition(".")
    file = f"{function}-*.o"
    assert list((cache / "flexdyn_ros").glob(f"{module}-*/{file}"))


@pytest.mark.cold
def test_a_road_under_wheels_compiles_before_anything_else(tmp_path):
    (name,) = names_of(["wheeled.kernels.entries.wheels_many"])
    compile_alone(name, tmp_path)


def test_no_kernel_takes_an_option_that_numba_keeps_to_itself():
    decorated = re.compile(r"@(?:kernel|inner|leaf|entry|callback|njit|jit)\((?:[^()]|\([^()]*\))*\)")
    found = [
        (path.name, text)
        for path in PACKAGE.rglob("*.py")
        for text in decorated.findall(path.read_text())
        if re.search(r"[(,]\s*_\w+\s*=", text)
    ]
    assert not found


@pytest.mark.cold
@pytest.mark.parametrize("name", representatives(), ids=SHOWN.get)
def test_one_entry_of_each_module_compiles_alone(name, tmp_path):
    compile_alone(name, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(NAMES) - set(representatives())), ids=SHOWN.get)
def test_every_other_entry_compiles_alone(name, tmp_path):
    compile_alone(name, tmp_path)
