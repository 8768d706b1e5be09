"""What the engine asks of an element between two frames: its law, a kernel of any number type.

    law(numbers, motion, results)

reads the element's own numbers and the motion of its frames, and writes what it does. An element has one
coordinate, a length or an angle, and one force along it (an effort where it is driven): its wrenches on both
frames are that force times LINE, and the rate of the coordinate is LINE times the twists of the frames
(principle of virtual work). Arrays cross as addresses, one C function for each number type, so that the
engine is compiled once for all elements.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from flexdyn_ros.numerics.compiling.callbacks import Callback, caller
from flexdyn_ros.numerics.compiling.memory import floats_at
from flexdyn_ros.numerics.numbers.memory import PER_LANES, PER_TANGENTS, lanes_of, tangents_of

#: motion of one frame, world axes: position, rotation (row by row), velocity of its origin, angular velocity
FRAME = 18
POSITION, ROTATION, VELOCITY, OMEGA = 0, 3, 12, 15
#: of the frames `base` and `end`
MOTION = 2 * FRAME

#: what an element does: its coordinate [m or rad] and the rate of it; the force along it, which drives the
#: coordinate up [N or N m]; how steeply that force falls with coordinate and rate; elastic energy [J], and
#: the part of the force that takes energy for good; wrenches (moment; force) on base and end for a unit of
#: force, at the origins of the frames, world axes
RESULTS = 19
COORDINATE, RATE, EFFORT, STIFFNESS, DAMPING, ENERGY, RESISTANCE, LINE = range(8)

#: accelerations (angular; linear less gravity) of base and end, world axes
ACCELERATION = 12
#: what an element that has mass takes: wrenches (moment; force) that base and end give it at the origins of
#: the frames; kinetic energy [J]; angular momentum about the world's origin and momentum; first moment of its
#: mass about that origin, and the mass; world axes
WEIGHT = 23
WRENCHES, KINETIC, MOMENTUM, FIRST_MOMENT, MASS = 0, 12, 13, 19, 22

#: (numbers, motion, results): 0
LAW_SIGNATURE = "int64(int64, int64, int64)"
call_law = caller(LAW_SIGNATURE)
#: (numbers, motion, acceleration, weight): 0
INERTIA_SIGNATURE = "int64(int64, int64, int64, int64)"
call_inertia = caller(INERTIA_SIGNATURE)


#: what the compiler may do with lanes of a batch, as with those of the trees
_FAST = {"contract", "nsz", "arcp"}


class Law(NamedTuple):
    """An element's law: its kernel, and the C functions of that for float64 numbers, on lanes of a batch, and
    on tangents. Each is compiled when its address is first asked for."""

    kernel: Callable
    plain: Callback
    lanes: Callback
    tangents: Callback


def _law(kernel: Callable, signature: str, plain: Callable, lanes: Callable, tangents: Callable) -> Law:
    """A Law of these functions, as if the module of the kernel had defined them."""
    made = []
    for function, options in ((plain, {}), (lanes, {"fastmath": _FAST}), (tangents, {})):
        function.__module__ = kernel.__module__
        function.__name__ = function.__qualname__ = f"{kernel.__name__}_{function.__name__}"
        made.append(Callback(function, signature, **options))
    return Law(kernel, *made)


def law_of(kernel: Callable, count: int) -> Law:
    """The C functions of a law, a kernel whose element has `count` numbers of its own."""

    def plain(numbers, motion, results):
        kernel(floats_at(numbers, count), floats_at(motion, MOTION), floats_at(results, RESULTS))
        return 0

    def lanes(numbers, motion, results):
        moving = lanes_of(floats_at(motion, PER_LANES * MOTION))
        kernel(floats_at(numbers, count), moving, lanes_of(floats_at(results, PER_LANES * RESULTS)))
        return 0

    def tangents(numbers, motion, results):
        moving = tangents_of(floats_at(motion, PER_TANGENTS * MOTION))
        kernel(floats_at(numbers, count), moving, tangents_of(floats_at(results, PER_TANGENTS * RESULTS)))
        return 0

    return _law(kernel, LAW_SIGNATURE, plain, lanes, tangents)


def inertia_of(kernel: Callable, count: int) -> Law:
    """The C functions of an element's inertia, a kernel (numbers, motion, acceleration, weight), linear in
    the acceleration."""

    def plain(numbers, motion, acceleration, weight):
        moving, pushed = floats_at(motion, MOTION), floats_at(acceleration, ACCELERATION)
        kernel(floats_at(numbers, count), moving, pushed, floats_at(weight, WEIGHT))
        return 0

    def lanes(numbers, motion, acceleration, weight):
        moving = lanes_of(floats_at(motion, PER_LANES * MOTION))
        pushed = lanes_of(floats_at(acceleration, PER_LANES * ACCELERATION))
        kernel(floats_at(numbers, count), moving, pushed, lanes_of(floats_at(weight, PER_LANES * WEIGHT)))
        return 0

    def tangents(numbers, motion, acceleration, weight):
        moving = tangents_of(floats_at(motion, PER_TANGENTS * MOTION))
        pushed = tangents_of(floats_at(acceleration, PER_TANGENTS * ACCELERATION))
        taken = tangents_of(floats_at(weight, PER_TANGENTS * WEIGHT))
        kernel(floats_at(numbers, count), moving, pushed, taken)
        return 0

    return _law(kernel, INERTIA_SIGNATURE, plain, lanes, tangents)
