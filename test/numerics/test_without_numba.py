"""What was compiled is loaded and called in processes that never import Numba."""

import json
import os
import subprocess
import sys
import warnings
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from programs import compiling_server
from verb_cases import ROBOTS

from flexdyn_ros.numerics.compiling import cache, objects
from flexdyn_ros.numerics.compiling.callbacks import Callback
from flexdyn_ros.numerics.compiling.compiler import entry

TESTS = Path(__file__).parents[1]

VERBS = """
import hashlib, json, sys
import numpy as np
import flexdyn_ros
from flexdyn_ros.simulation import Stepper
from verb_cases import Case
for name in sys.argv[1:]:
    case = Case(name)
    r, (q, v, a, tau, wrenches) = case.robot, case.state
    found = {}
    for verb, (answer, shape) in case.verbs().items():
        found[verb] = answer(*case.state)
        found[verb + " of a batch"] = answer(*case.batch)
    if r.parameters:
        found["regressor"] = r.regressor(q, v, a).Y
    for dt in (None, 0.001):
        found[f"run by {dt}"] = flexdyn_ros.simulate(r, 0.02, dt=dt).q
    stepper = Stepper(r)
    stepper.advance(3)
    found["steps"] = stepper.q
    for verb, numbers in found.items():
        found[verb] = hashlib.sha256(np.ascontiguousarray(numbers).tobytes()).hexdigest()
    print(json.dumps([name, found, "numba" in sys.modules]))
"""


def run(program, *arguments, **settings):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), *sys.path])} | settings
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program, *arguments],
        env=environment, capture_output=True, text=True, timeout=900, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.fixture(scope="module")
def answers():
    """What this process answers, which compiles what is not there, and then one that begins with nothing: of
    each robot hashes by name, and whether Numba had been imported when they were there."""
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(StringIO()) as said:
        patch.setattr(sys, "argv", ["", *ROBOTS])
        with warnings.catch_warnings(action="ignore"):
            exec(VERBS, {})
    both = said.getvalue().splitlines(), run(VERBS, *ROBOTS)
    return [{name: told for name, *told in map(json.loads, lines)} for lines in both]


@pytest.mark.parametrize("name", ROBOTS)
def test_a_second_process_answers_every_verb_without_numba(name, answers):
    """Bit by bit what this one answers."""
    (first, _), (second, imported) = (answer[name] for answer in answers)
    assert len(second) > 40
    assert second == first
    assert not imported


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
"""
#: whether a process has compiled, which knows Numba before, and whether one needed Numba, which does not
COMPILED = CALL + "print(total.bound.over_block.is_compiled_here)\n"
NEEDED = CALL + 'print("numba" in sys.modules)\n'
AT_ONCE = f"""
import os
children = []
for _ in range(3):
    child = os.fork()
    if child == 0:
        exec({COMPILED!r})
        sys.stdout.flush()
        os._exit(0)
    children.append(child)
for child in children:
    assert os.waitpid(child, 0)[1] == 0
"""


@pytest.fixture
def part(tmp_path):
    (tmp_path / "part.py").write_text(PART)
    path = os.pathsep.join([str(tmp_path), str(Path(cache.__file__).parents[3])])
    where = {"PYTHONPATH": path, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}

    def call(program=COMPILED):
        done = compiling_server().run_text(program, folder=tmp_path, **where)
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    call.alone = lambda: run(NEEDED, **where)[-1]
    call.files = lambda: sorted((tmp_path / "cache").rglob("part-*/total-*.o"))
    return call


def test_a_file_that_is_not_whole_is_compiled_again(part):
    assert part() == ["True"]
    (file,) = part.files()
    whole = file.read_bytes()
    for damaged in (whole[:1000], b"", b"x" + whole[1:], whole + b"x"):
        file.write_bytes(damaged)
        assert part() == ["True"]
        assert file.read_bytes() == whole
    assert part() == ["False"]
    file.write_bytes(whole[:1000])
    # a process that begins with nothing imports Numba, and the next does not
    assert part.alone() == "True"
    assert part.alone() == "False"


def test_processes_that_compile_the_same_at_once_do_not_harm_each_other(part):
    assert part(AT_ONCE) == ["True"] * 3
    assert len(part.files()) == 1
    assert part() == ["False"]


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
    unknown = """
declare i64 @numba_something(i64)
define i64 @f(i64 %x) {
  %y = call i64 @numba_something(i64 %x)
  ret i64 %y
}
"""
    code = objects.object_code(unknown.replace("numba_something", "lgamma"), "f", "its_other_name")
    assert b"\0its_other_name\0" in code
    assert b"\0f\0" not in code

    def tangent(x):
        return np.tan(x) + np.exp(x)

    made = Callback(tangent, "float64(float64)")
    import ctypes

    call = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(made.address)
    assert call(0.3) == pytest.approx(np.tan(0.3) + np.exp(0.3), rel=1e-15)
    assert objects.object_code(unknown, "f", "g") is None
    power = """
declare double @llvm.powi.f64.i32(double, i32)
define double @f(double %x, i32 %n) {
  %y = call double @llvm.powi.f64.i32(double %x, i32 %n)
  ret double %y
}
"""
    assert objects.object_code(power, "f", "g") is None


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
