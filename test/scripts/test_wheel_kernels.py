"""Kernels that are compiled into a wheel are there without compiling, where the processor can run them."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from flexdyn_ros.numerics.compiling import objects

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import wheel_kernels  # noqa: E402

CALL = """
import sys
from flexdyn_ros.numerics.compiling.direct import enter
print(enter.address != 0, "numba" in sys.modules)
"""


def test_levels_are_those_that_the_package_knows():
    told = {x["NUMBA_CPU_NAME"]: x["NUMBA_CPU_FEATURES"] for x in wheel_kernels.TARGETS if x}
    assert told == objects.LEVELS


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The package as a build of a wheel makes it, with one kernel compiled into it."""
    folder = tmp_path_factory.mktemp("build")
    source = folder / "source"
    left_out = shutil.ignore_patterns("__pycache__", ".git", ".venv*", "build", "docs", "test", "*.egg-info")
    shutil.copytree(ROOT, source, ignore=left_out)
    command = [sys.executable, "setup.py", "-q", "build_py", "--build-lib", str(folder / "lib")]
    settings = {"FLEXDYN_KERNELS": "direct.enter", "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run(command, cwd=source, env={**os.environ, **settings}, check=True, timeout=300)
    return folder / "lib"


def call(library, cache, **settings):
    environment = {**os.environ, "PYTHONPATH": f"{library}", "NUMBA_CACHE_DIR": str(cache), **settings}
    done = subprocess.run(
        [sys.executable, "-c", CALL],
        cwd=library,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    return done.stdout.split()


def test_the_first_answer_of_an_installation_does_not_compile(built, tmp_path):
    assert call(built, tmp_path) == ["True", "False"]
    assert not list(tmp_path.rglob("*.o"))


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="levels of x86-64")
def test_another_processor_takes_the_code_for_its_level_and_else_compiles(built, tmp_path):
    features = objects.LEVELS["x86-64-v3"]
    like = {"NUMBA_CPU_NAME": "haswell", "NUMBA_CPU_FEATURES": features + ",+aes"}
    assert call(built, tmp_path, **like) == ["True", "False"]
    less = {"NUMBA_CPU_NAME": "nehalem", "NUMBA_CPU_FEATURES": "+sse4.2"}
    assert call(built, tmp_path, **less) == ["True", "True"]
    more = {"NUMBA_CPU_NAME": "haswell", "NUMBA_CPU_FEATURES": features + ",+avx512f"}
    assert call(built, tmp_path / "more", **more) == ["True", "True"]


def test_a_later_build_without_kernels_has_none(built):
    (built / "flexdyn_ros").mkdir(exist_ok=True)
    assert (built / "flexdyn_ros/compiled").is_dir()
    copy = built.parent / "copy"
    shutil.copytree(built, copy)
    wheel_kernels.compile_into(copy, "")
    assert not (copy / "flexdyn_ros/compiled").exists()
