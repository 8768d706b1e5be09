"""Machine code is made of what is called, and of nothing else (numerics/compiling/numba_cache.py)."""

import gc
from functools import partial

import numba
import numpy as np
import pytest
from llvmlite import binding as llvm

from flexdyn_ros.numerics.compiling import cache, numba_cache
from flexdyn_ros.numerics.compiling.callbacks import Callback, address_of
from flexdyn_ros.numerics.compiling.compiler import apart, entry, kernel
from flexdyn_ros.numerics.compiling.memory import borrowed, floats_at
from flexdyn_ros.numerics.numbers.functions import less, select


@pytest.fixture(autouse=True)
def nothing_is_kept(tmp_path, monkeypatch):
    """Whatever ran before, here and earlier: what these tests compile is new."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    cache._folder_of.cache_clear()
    yield
    cache._folder_of.cache_clear()


def instructions(code):
    """Bytes of machine code in object code."""
    return sum(part.size() for part in llvm.ObjectFileRef.from_data(code).sections() if part.is_text())


def nested(power):
    """A C function, new to Numba, over a kernel of the same numbers."""

    @kernel
    def inside(x):
        return x**power

    def outside(x):
        return inside(x) + 1.0

    return Callback(apart(outside, str(power)), "float64(float64)")


def nested_arrays():
    """A C function over a kernel that slices (which counts references), compares and takes addresses."""

    @kernel
    def inside(x):
        part = x[1:]
        return select(less(part[0], x[0]), part[1], x[0]) + 0.0 * address_of(part)

    def outside(address):
        return inside(borrowed(floats_at(address, 3)))

    return Callback(apart(outside, "arrays"), "float64(int64)")


@pytest.mark.parametrize("made_by", [partial(nested, 2.5), nested_arrays])
def test_numba_makes_no_machine_code_of_kernels_and_their_callers(made_by, monkeypatch):
    made, tell = {}, numba_cache._tell
    # the run-time system of Numba, which is made with whatever is first
    assert nested(6.5).address

    def spy(module, code):
        made[module.name] = code
        tell(module, code)

    monkeypatch.setattr(numba_cache, "_tell", spy)
    one = made_by()
    assert one.is_compiled_here
    assert len([name for name in made if name.startswith("nested")]) == 2
    assert sum(map(instructions, made.values())) == 0
    numbers = np.array([4.0, 3.0, 33.0])
    given = numbers.ctypes.data if made_by is nested_arrays else 4.0
    assert numba.cfunc(one.signature)(one.function).ctypes(given) == 33.0


def test_what_numba_compiles_for_others_meanwhile_can_be_called():
    @numba.njit
    def of_a_user(x):
        return 2.0 * x

    @numba.vectorize
    def of_arrays(x):
        return 3.0 * x

    @entry("int64(float64, float64[::1])")
    def calls(x, out):
        out[0] = of_a_user(x)
        out[1] = of_arrays(x)
        return 0

    out = np.zeros(2)
    calls(1.5, out)
    assert list(out) == [3.0, 4.5]
    assert of_a_user(2.5) == 5.0
    assert list(of_arrays(np.array([1.0, 2.0]))) == [3.0, 6.0]


def test_a_numba_that_cannot_be_asked_makes_all(monkeypatch):
    monkeypatch.setattr(numba_cache, "_ask", None)
    one = nested(3.5)
    assert one.is_compiled_here
    assert one._behind.ctypes(1.0) == 2.0


@pytest.mark.parametrize("collects", [True, False])
def test_the_collector_of_garbage_goes_on_after_a_compilation(collects):
    before = gc.isenabled()
    (gc.enable if collects else gc.disable)()
    try:
        with cache.compiling(instructions):
            assert not gc.isenabled()
        assert gc.isenabled() is collects
    finally:
        (gc.enable if before else gc.disable)()
