"""Arrays seen through an address."""

import numpy as np

from flexdyn_ros.numerics.compiling.compiler import entry
from flexdyn_ros.numerics.compiling.memory import floats_at, ints_at


@entry("int64(int64, int64, float64[::1])")
def copy_to(target, count, source):
    """Writes source behind the address found in the header at `target`."""
    head = ints_at(target, 2)
    view = floats_at(head[1], count)
    part = view[1:count]
    for i in range(count - 1):
        part[i] = source[i]
    return head[0]


def test_writes_through_an_address_reach_the_memory():
    # Numba's inline="always" drops such writes; this is what would notice
    memory = np.zeros(4)
    header = np.array([7, memory.ctypes.data], dtype=np.int64)
    assert copy_to(int(header.ctypes.data), 4, np.array([1.0, 2.0, 3.0])) == 7
    assert memory.tolist() == [0.0, 1.0, 2.0, 3.0]


def test_the_python_source_does_the_same():
    memory = np.arange(3.0)
    view = floats_at(memory.ctypes.data, 3)
    view[1] = 9.0
    assert memory.tolist() == [0.0, 9.0, 2.0]
