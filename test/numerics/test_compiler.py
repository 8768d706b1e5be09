"""The cache of compiled kernels notices every edit; entries take one signature and no other."""

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from programs import compiling_server

import flexdyn_ros
from flexdyn_ros.numerics.compiling.compiler import entry
from flexdyn_ros.numerics.compiling.sources import source_key

PACKAGE = Path(flexdyn_ros.__file__).parent

PROBE = """
import numpy as np
from flexdyn_ros.families.trees.rigid.kernels.entries import integrate_many
from flexdyn_ros.families.trees.rigid.kernels.views import HEADER
ints = np.array([0, 0, 0, 0, 0, 0, 0, 0, 0], dtype=np.int64)
floats = np.zeros(24 * 2 + 9 + 3)
header = np.array([2, 1, 1, ints.ctypes.data, floats.ctypes.data, 0, 0, 0], dtype=np.int64)
out = np.empty((1, 1))
integrate_many(int(header.ctypes.data), np.ones((1, 1)), np.ones((1, 1)), 0.5, out)
print(out[0, 0])
"""


def probe(folder: Path, cache: Path) -> float:
    """Position 1 moved by velocity 1 for half a second, by the copy of the package in `folder`."""
    server = compiling_server("compile_with_numba_alone")
    run = server.run_text(PROBE, folder=folder, PYTHONPATH=str(folder), NUMBA_CACHE_DIR=str(cache))
    assert run.returncode == 0, run.stderr
    return float(run.stdout)


def test_an_edited_leaf_kernel_changes_its_caller_in_another_file(tmp_path):
    shutil.copytree(PACKAGE, tmp_path / "flexdyn_ros", ignore=shutil.ignore_patterns("__pycache__"))
    cache = tmp_path / "cache"
    assert probe(tmp_path, cache) == 1.5
    assert probe(tmp_path, cache) == 1.5
    leaf = tmp_path / "flexdyn_ros/numerics/algebra/manifold.py"
    text = leaf.read_text()
    edited = text.replace("out[at] = q[at] + step * v[i]", "out[at] = q[at] + 2.0 * step * v[i]", 1)
    assert edited != text
    leaf.write_text(edited)
    assert probe(tmp_path, cache) == 2.0
    folders = [folder.name.rpartition("-")[0] for folder in (cache / "flexdyn_ros").iterdir()]
    assert folders.count("flexdyn_ros.numerics.algebra.manifold") == 2
    assert folders.count("flexdyn_ros.families.trees.rigid.kernels.entries") == 2
    assert folders.count("flexdyn_ros.families.trees.rigid.kernels.views") == 1  # does not see manifold.py


def test_copies_of_the_same_sources_share_what_was_compiled(tmp_path):
    cache = tmp_path / "cache"
    for copy in ("one", "two"):
        shutil.copytree(
            PACKAGE, tmp_path / copy / "flexdyn_ros", ignore=shutil.ignore_patterns("__pycache__")
        )
    assert probe(tmp_path / "one", cache) == 1.5
    compiled = {path: path.stat().st_mtime_ns for path in cache.rglob("*.o")}
    assert compiled
    assert probe(tmp_path / "two", cache) == 1.5
    assert {path: path.stat().st_mtime_ns for path in cache.rglob("*.o")} == compiled


def test_an_entry_refuses_other_types_instead_of_compiling_for_them():
    @entry("float64(float64[::1])")
    def first_number(x):
        return x[0]

    assert first_number(np.array([3.0, 1.0])) == 3.0
    for wrong in (np.array([3, 1]), np.array([[3.0]]), np.array([3.0, 1.0, 2.0])[::2], [3.0]):
        with pytest.raises(TypeError):
            first_number(wrong)


def test_two_threads_may_make_the_first_call():
    @entry("float64(float64[::1])")
    def last_number(x):
        return x[x.size - 1]

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(last_number, [np.array([1.0, 2.0])] * 8)) == [2.0] * 8


def test_the_users_own_numba_cache_stays_where_it_was():
    import numba

    assert str(numba.config.CACHE_DIR) == os.environ.get("NUMBA_CACHE_DIR", "")
    assert os.environ.get("NUMBA_CACHE_LOCATOR_CLASSES", "") == numba.config.CACHE_LOCATOR_CLASSES


def test_what_lies_in_the_cache_is_loaded_without_numba():
    program = """
import sys
from flexdyn_ros.families.trees.rigid.kernels import entries as rigid
from flexdyn_ros.numerics.verbs import dynamics
verbs = [rigid.functions[name] for name in ("balance", "forward", "mass")]
for entry in (*verbs, dynamics.balance_one, dynamics.forward_one):
    entry.load()
print("numba" in sys.modules)
"""

    def imports_numba():
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, timeout=400, check=True
        )
        return done.stdout.strip()

    # the first process may have to compile
    assert "False" in (imports_numba() for _ in range(2))


def test_folders_of_caches_may_be_asked_for_within_each_other_and_by_several_threads():
    import numba

    from flexdyn_ros.numerics.compiling.numba_cache import our_cache

    def places():
        return numba.config.CACHE_DIR, numba.config.CACHE_LOCATOR_CLASSES

    before = places()
    first, second = our_cache(), our_cache()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)  # as when two threads compile, the one that began first ends first
    assert places() != before
    second.__exit__(None, None, None)
    assert places() == before


def test_versions_of_python_share_no_compiled_kernels(monkeypatch):
    module = "flexdyn_ros.families.trees.rigid.kernels.entries", None
    key = source_key(module)
    monkeypatch.setattr(sys.implementation, "cache_tag", "cpython-399")
    assert source_key(module) != key


TOY = """
from flexdyn_ros.numerics.compiling.compiler import entry

def scaled(by, names=("a word of two processes", 2.5)):
    def scale(x):
        return x * by if by > 1 else x
    return scale

def entry_of(scale):
    from numba.extending import register_jitable
    scale = register_jitable(scale)
    @entry("int64(int64, int64)")
    def total(a, b):
        return scale(a) + b
    return total

double, triple = entry_of(scaled(2)), entry_of(scaled(3))
"""


def test_what_one_process_compiled_the_next_finds(tmp_path):
    """The first process reads modules from their sources, the next from their bytecode."""
    (tmp_path / "toy_entries.py").write_text(TOY)
    program = """
import sys
sys.dont_write_bytecode = False
import toy_entries as t
print(t.double(3, 1), t.triple(3, 1), t.__cached__)
"""
    path, cache = f"{tmp_path}:{PACKAGE.parent}", tmp_path / "cache"
    found, bytecode = [], []
    for _ in range(2):
        server = compiling_server()
        run = server.run_text(program, folder=tmp_path, PYTHONPATH=path, NUMBA_CACHE_DIR=str(cache))
        assert run.returncode == 0, run.stderr
        *numbers, place = run.stdout.split()
        assert numbers == ["7", "10"]
        bytecode.append(Path(place).stat().st_mtime_ns)
        found.append(sorted(path for path in cache.rglob("toy_entries*/*.o")))
    assert bytecode[0] == bytecode[1]
    assert len(found[0]) == 2
    assert found[0] == found[1]


def test_entries_have_the_same_fingerprints_in_every_process(tmp_path):
    program = """
import importlib, sys
sys.pycache_prefix, sys.dont_write_bytecode = sys.argv[1], False
from flexdyn_ros.numerics.compiling.cache import fingerprint
from flexdyn_ros.numerics.compiling.warmup_names import entries_of, names_of
for name in sorted(names_of(["all"])):
    module, _, function = name.rpartition(".")
    entry = entries_of(importlib.import_module(module))[function]
    for compiled in (entry, entry.bound.over_block if hasattr(entry, "bound") else entry):
        print(name, fingerprint(compiled.function))
"""
    server = compiling_server("compile_with_numba_alone")
    outputs = []
    for _ in range(2):
        run = server.run_text(program, str(tmp_path), folder=PACKAGE.parent, PYTHONPATH=str(PACKAGE.parent))
        assert run.returncode == 0, run.stderr
        outputs.append(run.stdout)
    # the second has read the bytecode that the first left
    assert list(tmp_path.rglob("compiling/cache.*.pyc"))
    assert outputs[0].count("\n") > 200
    assert outputs[0] == outputs[1]


def test_fingerprints_tell_what_kernels_close_over():
    from numba import types

    from flexdyn_ros.numerics.compiling.cache import fingerprint

    def closing_over(value):
        def inner(x):
            return x, value

        return lambda x: inner(x)

    values = (1, 1.0, "1", b"1", (1,), [1], None, int, sys, probe, types.int64, types.float64)
    prints = [fingerprint(closing_over(value)) for value in values]
    prints += [fingerprint(closing_over(closing_over(value))) for value in values]
    assert len(set(prints)) == len(prints)
    assert prints == [
        *(fingerprint(closing_over(value)) for value in values),
        *(fingerprint(closing_over(closing_over(value))) for value in values),
    ]

    def calls_itself(x):
        return calls_itself(x)

    assert fingerprint(calls_itself)


def test_what_inlined_kernels_write_through_addresses_is_kept():
    """Numba's dead-code pass, which follows other kinds of inlining, takes such writes for dead."""
    from flexdyn_ros.numerics.compiling.compiler import inlined
    from flexdyn_ros.numerics.compiling.memory import floats_at

    @inlined
    def put(address, i, value):
        if i < 0:
            return -1
        words = floats_at(address, 4)
        words[i] = value
        return i

    @inlined
    def put_twice(address, i, value):
        own = floats_at(address, 4)
        own[3] = -value
        return put(address, i, value) + put(address, i + 1, 2.0 * value)

    @entry("int64(int64, int64, float64)")
    def both(address, i, value):
        return put_twice(address, i, value)

    memory = np.zeros(4)
    assert both(memory.ctypes.data, 0, 3.0) == 1
    assert memory.tolist() == [3.0, 6.0, 0.0, -3.0]
    assert both(memory.ctypes.data, -3, 1.0) == -2
    assert memory.tolist() == [3.0, 6.0, 0.0, -1.0]
    assert put(memory.ctypes.data, 2, 5.0) == 2  # from Python it is an ordinary function
    assert memory[2] == 5.0
