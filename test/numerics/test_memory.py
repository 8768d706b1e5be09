"""Arrays seen through an address."""

import numpy as np
import pytest

from flexdyn_ros.numerics.compiling.compiler import entry
from flexdyn_ros.numerics.compiling.memory import floats_at, ints_at
from flexdyn_ros.numerics.stepping import memory as of


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


@pytest.mark.parametrize("counts", [(3, 3, 3, 0), (9, 7, 2, 1)])
def test_windows_of_the_memory_of_steps_have_the_order_and_sizes_that_are_told(counts):
    nq, nv, nu, free = counts
    sizes = of.step_sizes(nq, nv, nu)
    floats = np.arange(float(sum(sizes.values())))
    ints, loads = np.arange(of.step_ints(nv, nu, free)), np.arange(50.0)
    bodies, header = np.arange(5), np.zeros(of.STEP_HEADER, dtype=np.int64)
    header[[of.S_NQ, of.S_NV, of.S_NU, of.S_FREE]] = counts
    header[of.S_WRENCHES] = 5
    filled = [of.S_FLOATS, of.S_INTS, of.S_LOADS, of.S_BODIES]
    header[filled] = [x.ctypes.data for x in (floats, ints, loads, bodies)]
    memory, chart = of.open_steps(header.ctypes.data), of.open_chart(header.ctypes.data)
    of_ints = dict.fromkeys(("clipped", "saturated", "at_stop"), nu) | dict.fromkeys(
        ("prescribed", "q_of_v"), nv
    )
    for known in (sizes, of_ints | {"free": 3 * (free + 1)}):
        place = 0
        for name, size in known.items():
            np.testing.assert_array_equal(getattr(memory, name), np.arange(place, place + size), err_msg=name)
            place += size
    assert (memory.nq, memory.nv, memory.nu) == (nq, nv, nu)
    np.testing.assert_array_equal(memory.bodies, bodies)
    assert (memory.points.size, memory.wrenches.size) == (20, 30)
    np.testing.assert_array_equal(np.sort([*memory.points, *memory.wrenches]), loads)
    # bodies of the chart are the free ones after body 0
    assert (chart.nb, chart.nv) == (free + 1, nv)
    kinds = (chart.joint_type, chart.q_index, chart.v_index)
    np.testing.assert_array_equal(kinds, memory.free.reshape(3, free + 1))
    np.testing.assert_array_equal(chart.q_of_v, memory.q_of_v)
