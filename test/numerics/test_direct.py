"""Entries that Python calls without Numba's dispatcher: what they take, and what they object to."""

import gc
import pickle
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from flexdyn_ros.numerics.compiling import compiler, direct

SIGNATURE = "int64(int64, float64, float64[::1], float64[:,::1], float64[:,:,::1], int64[::1])"


@compiler.entry(SIGNATURE)
def weigh(number, factor, row, matrix, table, whole):
    """A sum in which every number and every length has its own weight."""
    s = 0.0
    for i in range(row.shape[0]):
        s += (i + 1) * row[i]
    for i in range(matrix.shape[0]):
        for j in range(matrix.shape[1]):
            s += (10 * i + j) * matrix[i, j]
    for i in range(table.shape[0]):
        for j in range(table.shape[1]):
            for k in range(table.shape[2]):
                s += (100 * i + 10 * j + k) * table[i, j, k]
    for i in range(whole.shape[0]):
        s += whole[i]
    row[0] = factor * s
    return number + row.shape[0] + 10 * matrix.shape[1] + 100 * table.shape[2] + 1000 * whole.shape[0]


def given():
    rng = np.random.default_rng(1)
    return [7, 0.5, rng.random(3), rng.random((2, 4)), rng.random((2, 3, 5)), np.arange(6)]


def test_it_is_a_function_of_c_and_computes_what_python_does():
    assert direct.is_direct(SIGNATURE)
    assert type(weigh.load()).__name__ == "builtin_function_or_method"
    ours, expected = given(), given()
    assert weigh(*ours) == weigh.function(*expected) == 7 + 3 + 40 + 500 + 6000
    assert ours[2][0] == pytest.approx(expected[2][0], rel=1e-14)


@pytest.mark.parametrize("number", [0, -1, -(2**63), 2**63 - 1 - 6543])
def test_integers(number):
    arguments = [number, *given()[1:]]
    assert weigh(*arguments) == number + 6543


@pytest.mark.parametrize("factor", [-2.5, np.float64(-2.5)])
def test_numbers(factor):
    arguments = given()
    weigh(*arguments)
    at_half, arguments = arguments[2][0], given()
    arguments[1] = factor
    weigh(*arguments)
    assert arguments[2][0] == pytest.approx(-5.0 * at_half)


def test_arrays_that_were_pickled():
    """Their dtype is equal to NumPy's own, and another object."""
    arguments = pickle.loads(pickle.dumps(given()))
    assert arguments[2].dtype is not np.dtype(np.float64)
    assert weigh(*arguments) == 6550


def test_arrays_whose_order_of_bytes_is_named():
    """As files of arrays have them: the same numbers as of the machine's order."""
    arguments = given()
    named = [x.view(x.dtype.newbyteorder("<")) if isinstance(x, np.ndarray) else x for x in arguments]
    assert "<" in repr(named[2].dtype)
    assert weigh(*named) == weigh(*arguments) == 6550


def test_empty_arrays():
    arguments = [1, 1.0, np.zeros(1), np.zeros((0, 4)), np.zeros((2, 0, 5)), np.arange(0)]
    assert weigh(*arguments) == 1 + 1 + 40 + 500


def read_only(array):
    array.flags.writeable = False
    return array


class Own(np.ndarray):
    pass


OBJECTIONS = {
    "float for an integer": (0, 7.0),
    "text for an integer": (0, "7"),
    "an integer that is too large": (0, 2**63),
    "an integer that is too small": (0, -(2**63) - 1),
    "None for a number": (1, None),
    "a list": (2, [1.0, 2.0, 3.0]),
    "single precision": (2, np.zeros(3, dtype=np.float32)),
    "another order of bytes": (2, np.zeros(3, dtype=">f8")),
    "integers for numbers": (2, np.zeros(3, dtype=np.int64)),
    "a matrix for a row": (2, np.zeros((3, 1))),
    "a stride": (2, np.zeros(6)[::2]),
    "what cannot be written to": (2, read_only(np.zeros(3))),
    "a subclass": (2, np.zeros(3).view(Own)),
    "a row for a matrix": (3, np.zeros(8)),
    "Fortran's order": (3, np.zeros((2, 4), order="F")),
    "a matrix for a table": (4, np.zeros((2, 4))),
    "numbers for integers": (5, np.zeros(6)),
    "half the integers": (5, np.zeros(6, dtype=np.int32)),
    "integers without sign": (5, np.zeros(6, dtype=np.uint64)),
    "times": (5, np.zeros(6, dtype="m8[s]")),
    "complex numbers": (2, np.zeros(3, dtype=complex)),
    "objects": (2, np.array([1.0, 2.0, 3.0], dtype=object)),
    "records": (2, np.zeros(3, dtype=[("x", "f8")])),
}


@pytest.mark.parametrize("what", OBJECTIONS)
def test_other_arguments_are_objected_to(what):
    place, wrong = OBJECTIONS[what]
    arguments = given()
    arguments[place] = wrong
    row = np.copy(given()[2])
    with pytest.raises(TypeError, match="weigh takes 6 arguments of its own types"):
        weigh(*arguments)
    if place != 2:
        assert np.array_equal(arguments[2], row)


def test_other_numbers_of_arguments_and_names_are_objected_to():
    arguments = given()
    for wrong in ([], arguments[:-1], [*arguments, 1]):
        with pytest.raises(TypeError, match="weigh takes 6"):
            weigh.load()(*wrong)
    with pytest.raises(TypeError, match="keyword"):
        weigh.load()(*arguments[:-1], whole=arguments[-1])


def test_calls_keep_no_references():
    arguments, called = given(), weigh.load()
    before = [sys.getrefcount(x) for x in arguments[2:]]
    for _ in range(1000):
        called(*arguments)
        with pytest.raises(TypeError):
            called(*arguments[:-1], None)
    assert [sys.getrefcount(x) for x in arguments[2:]] == before


def test_a_function_outlives_its_entry():
    def add(number, row):
        return number + row.shape[0]

    called = compiler.Entry(add, "int64(int64, float64[::1])").load()
    gc.collect()
    assert called(3, np.zeros(4)) == 7
    with pytest.raises(TypeError, match="add takes 2 arguments"):
        called(3)
    assert called.__name__ == "add"
    del called
    gc.collect()


def test_calls_from_several_threads_do_not_meet():
    called = weigh.load()

    def work(seed):
        rng, right = np.random.default_rng(seed), True
        for _ in range(2000):
            arguments = [seed, 1.0, rng.random(3), rng.random((2, 4)), np.zeros((1, 1, 1)), np.arange(seed)]
            i, j = np.indices((2, 4))
            expected = arguments[2] @ [1, 2, 3] + (arguments[3] * (10 * i + j)).sum() + np.arange(seed).sum()
            right &= called(*arguments) == seed + 3 + 40 + 100 + 1000 * seed
            right &= abs(arguments[2][0] - expected) < 1e-9
        return right

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(1, 5)))


def test_where_objects_look_otherwise_the_dispatcher_is_called(monkeypatch):
    monkeypatch.setattr(direct, "_is_known", lambda: False)
    direct.is_direct.cache_clear()
    try:

        @compiler.entry("int64(int64, float64[::1])")
        def count(number, row):
            return number + row.shape[0]

        assert type(count.load()).__name__ != "builtin_function_or_method"
        assert count(3, np.zeros(4)) == 7
    finally:
        direct.is_direct.cache_clear()


def test_signatures_that_have_no_direct_entry():
    assert not direct.is_direct("float32(int64)")
    assert not direct.is_direct("int64(float32)")
    assert not direct.is_direct("int64()")
    assert not direct.is_direct("int64(float64[:])")
    assert not direct.is_direct("int64(complex128[::1])")


NUMBERS = {
    1: lambda a: a,
    2: lambda a, b: a + 10 * b,
    3: lambda a, b, c: a + 10 * b + 100 * c,
    4: lambda a, b, c, d: a + 10 * b + 100 * (c + 10 * d),
    5: lambda a, b, c, d, e: a + 10 * b + 100 * (c + 10 * d + 100 * e),
    6: lambda a, b, c, d, e, f: a + 10 * b + 100 * (c + 10 * d + 100 * (e + 10 * f)),
    7: lambda a, b, c, d, e, f, g: a + 10 * b + 100 * (c + 10 * d + 100 * (e + 10 * f + 100 * g)),
    8: lambda a, b, c, d, e, f, g, h: (
        a + 10 * b + 100 * (c + 10 * d + 100 * (e + 10 * (f + 10 * (g + 10 * h))))
    ),
}


@pytest.mark.parametrize("count", NUMBERS)
def test_arguments_arrive_in_their_order(count):
    number = NUMBERS[count]
    number.__name__ = number.__qualname__ = f"number_of_{count}"
    signature = f"int64({', '.join(count * ['int64'])})"
    assert direct.is_direct(signature)
    digits = range(1, 1 + count)
    assert compiler.Entry(number, signature)(*digits) == sum(d * 10**k for k, d in enumerate(digits))


def test_more_arguments_than_there_are_ways_for_go_through_the_dispatcher():
    assert direct.is_direct(f"int64({', '.join(16 * ['int64'])})")
    assert not direct.is_direct(f"int64({', '.join(17 * ['int64'])})")


@compiler.entry("float64(float64, boolean[::1], float32[:,::1], float64[:,:,:,::1])")
def mixed(number, marks, small, deep):
    """A number of every kind of array, and a number as the result."""
    s = number
    for i in range(marks.shape[0]):
        s += 10.0 * (i + 1) if marks[i] else 0.0
    return s + small[1, 2] + deep[0, 1, 2, 3] + deep.shape[3]


def test_results_that_are_numbers_and_arrays_of_other_kinds():
    marks, small = np.array([True, False, True]), np.arange(6, dtype=np.float32).reshape(2, 3)
    deep = np.arange(24.0).reshape(1, 2, 3, 4)
    assert type(mixed.load()).__name__ == "builtin_function_or_method"
    assert mixed(0.5, marks, small, deep) == mixed.function(0.5, marks, small, deep) == 0.5 + 40 + 5 + 23 + 4
    for place, wrong in ((1, marks.astype(np.int8)), (2, small.astype(float)), (3, deep[0])):
        arguments = [0.5, marks, small, deep]
        arguments[place] = wrong
        with pytest.raises(TypeError, match="mixed takes 4"):
            mixed(*arguments)


@compiler.entry("int64(int64, float64[::1])", nogil=True)
def spin(rounds, out):
    """A long call."""
    s = 0.0
    for i in range(rounds):
        s += np.sin(s + i)
    out[0] = s
    return rounds


def test_long_calls_let_other_threads_run_and_keep_their_own_arguments():
    import threading
    import time

    outs, ended = [np.zeros(1) for _ in range(3)], []

    def work(k):
        spin(12_000_000 * (k + 1), outs[k])
        ended.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(2)]
    spin(1, outs[2])
    for thread in threads:
        thread.start()
    turns = 0
    while not ended:
        turns += 1
        time.sleep(0.001)
    for thread in threads:
        thread.join()
    assert turns > 20
    alone = np.zeros(1)
    for k, out in enumerate(outs[:2]):
        spin(12_000_000 * (k + 1), alone)
        assert out[0] == alone[0]
