"""What was compiled is loaded and called in processes that never import Numba."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from verb_cases import ROBOTS

from flexdyn_ros.numerics.compiling import cache, objects
from flexdyn_ros.numerics.compiling.callbacks import Callback
from flexdyn_ros.numerics.compiling.compiler import entry

TESTS = Path(__file__).parents[1]

VERBS = """
import hashlib, sys
import numpy as np
import flexdyn_ros
from flexdyn_ros.simulation import Stepper
from verb_cases import Case
case = Case(sys.argv[1])
r, (q, v, a, tau, wrenches) = case.robot, case.state
found = {}
for name, (verb, shape) in case.verbs().items():
    found[name] = verb(*case.state)
    found[name + " of a batch"] = verb(*case.batch)
if r.parameters:
    found["regressor"] = r.regressor(q, v, a).Y
for dt in (None, 0.001):
    found[f"run by {dt}"] = flexdyn_ros.simulate(r, 0.02, dt=dt).q
stepper = Stepper(r)
stepper.advance(3)
found["steps"] = stepper.q
for name, numbers in found.items():
    print(name, hashlib.sha256(np.ascontiguousarray(numbers).tobytes()).hexdigest())
print("numba" in sys.modules)
"""


def run(program, *arguments, **settings):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), *sys.path])} | settings
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program, *arguments],
        env=environment, capture_output=True, text=True, timeout=900, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.filterwarnings("ignore")
def test_a_second_process_answers_every_verb_without_numba(name, monkeypatch, capsys):
    """Bit by bit what this one answers, which compiles what is not there."""
    monkeypatch.setattr(sys, "argv", ["", name])
    exec(VERBS, {})
    first = capsys.readouterr().out.splitlines()
    *second, imported = run(VERBS, name)
    assert len(second) > 40
    assert second == first[:-1]
    assert imported == "False"


PART = """
import sys
import numpy as np
from flexdyn_ros.numerics.compiling.compiler import entry

@entry("int64(int64, float64[::1])")
def total(count, numbers):
    s = 0.0
    for i in range(count):
        s += numbers[i]
    numbers[0] = s
    return count
"""
CALL = """
import sys
from part import total
import numpy as np
numbers = np.arange(5.0)
assert total(5, numbers) == 5 and numbers[0] == 10.0
print("numba" in sys.modules)
"""


@pytest.fixture
def part(tmp_path):
    (tmp_path / "part.py").write_text(PART)
    path = os.pathsep.join([str(tmp_path), str(Path(cache.__file__).parents[3])])

    def call():
        return run(CALL, PYTHONPATH=path, NUMBA_CACHE_DIR=str(tmp_path / "cache"))[-1]

    call.files = lambda: sorted((tmp_path / "cache").rglob("part-*/total-*.o"))
    return call


def test_a_file_that_is_not_whole_is_compiled_again(part):
    assert part() == "True"
    (file,) = part.files()
    whole = file.read_bytes()
    for damaged in (whole[:1000], b"", b"x" + whole[1:], whole + b"x"):
        file.write_bytes(damaged)
        assert part() == "True"
        assert file.read_bytes() == whole
    assert part() == "False"


def test_processes_that_compile_the_same_at_once_do_not_harm_each_other(part):
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(lambda _: part(), range(3))) == ["True"] * 3
    assert len(part.files()) == 1
    assert part() == "False"


def test_code_of_other_processors_and_versions_is_not_taken(part, monkeypatch):
    def place():
        return cache.place_of(total, "int64(int64)", {"fastmath": {"nsz", "contract"}})

    def total(x):
        return x

    first = place()
    assert place() == first
    monkeypatch.setattr(cache, "machine", lambda: "another processor")
    assert place() != first


def test_settings_of_numba_that_are_none():
    """What is no integer switches nothing off; features without a sign would end the process."""
    asked = "from flexdyn_ros.numerics.compiling.teaching import is_interpreted; print(is_interpreted())"
    found = [run(asked, NUMBA_DISABLE_JIT=given)[-1] for given in ("yes", "", "0", "1")]
    assert found == ["False", "False", "False", "True"]
    with pytest.raises(AssertionError, match="NUMBA_CPU_FEATURES has 'avx2', expected"):
        run("from flexdyn_ros.numerics.numbers.vectors import LANES", NUMBA_CPU_FEATURES="+fma,avx2")


def test_code_that_raises_or_allocates_is_kept_by_numba():
    @entry("int64(int64, float64[::1])")
    def allocates(count, out):
        room = np.zeros(count)
        room[0] = count
        out[0] = room.sum()
        return count

    @entry("int64(int64, float64[::1])")
    def picks(place, out):
        pair = (out[0], out[1])
        out[2] = pair[place]
        return place

    numbers = np.arange(4.0) + 1.0
    assert allocates(3, numbers) == 3
    assert numbers[0] == 3.0
    assert picks(1, numbers) == 1
    assert numbers[2] == 2.0
    for one in (allocates, picks):
        behind = one.bound.over_block
        place, _ = cache.place_of(behind.function, behind.signature, {"error_model": "numpy"})
        assert cache.kept(place) is None


EVERY = """
import importlib
from flexdyn_ros.numerics.compiling.cache import found
from flexdyn_ros.numerics.compiling.warmup_names import entries_of, names_of
for name in names_of(["common"]):
    module, _, function = name.rpartition(".")
    one = entries_of(importlib.import_module(module))[function]
    behind = one.bound.over_block if hasattr(one, "bound") else one
    if found(behind.function, behind.signature, behind._options) is None:
        one.load()
        assert found(behind.function, behind.signature, behind._options) is not None, name
    print(name)
"""


def test_no_kernel_of_ours_needs_more_than_the_c_library():
    """So none of them allocates, raises or calls back into Numba: such code is no object code. Those that few
    people call are compiled alone (test_alone.py), which asks the same."""
    assert len(run(EVERY)) > 140


def test_object_code_needs_the_c_library_alone():
    def tangent(x):
        return np.tan(x) + np.exp(x)

    made = Callback(tangent, "float64(float64)")
    import ctypes

    call = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(made.address)
    assert call(0.3) == pytest.approx(np.tan(0.3) + np.exp(0.3), rel=1e-15)
    unknown = """
declare i64 @numba_something(i64)
define i64 @f(i64 %x) {
  %y = call i64 @numba_something(i64 %x)
  ret i64 %y
}
"""
    assert objects.object_code(unknown, "f", "g") is None
    power = """
declare double @llvm.powi.f64.i32(double, i32)
define double @f(double %x, i32 %n) {
  %y = call double @llvm.powi.f64.i32(double %x, i32 %n)
  ret double %y
}
"""
    assert objects.object_code(power, "f", "g") is None
    assert objects.object_code(unknown.replace("numba_something", "lgamma"), "f", "g") is not None


def test_functions_of_users_that_numba_compiles_may_call_kernels(tmp_path):
    """Numba's entry point for extensions has it told of them, whatever was imported first."""
    import tomllib

    project = tomllib.loads((TESTS.parent / "pyproject.toml").read_text())["project"]
    told = project["entry-points"]["numba_extensions"]
    info = tmp_path / "told-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: told\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[numba_extensions]\ninit = {told['init']}\n")
    program = """
from flexdyn_ros.numerics.algebra.trigonometry import sincos
import numba

@numba.njit
def mine(x):
    return sincos(x)[0]

print(mine(0.5))
"""
    path = os.pathsep.join([str(TESTS.parent), str(tmp_path)])
    assert float(run(program, PYTHONPATH=path)[-1]) == pytest.approx(np.sin(0.5), rel=1e-15)
