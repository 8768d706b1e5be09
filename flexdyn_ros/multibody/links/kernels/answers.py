"""What the recursions ask of a link that deforms: four kernels of any number type, behind addresses.

    inertia(numbers, q, v, w, out)          own_forces(numbers, q, v, out)
    station(numbers, s, q, pose, columns)   station_bias(numbers, s, q, v, bias)

`numbers` (n,) are the link's constants, float64; q and v (m,) its own coordinates and their rates. All
vectors are in the axes of the link's frame and about its origin, its root, which moves as the joint of the
link lets it. SI; twists, wrenches and accelerations angular part first. A point of the link is at h(q), its
tangent fields are u_k = dh/dq_k. Kernels overwrite all that they are given to write; what they write must not
depend on what was there. They branch on constants only (numerics/numbers/functions.py: `select`).

`inertia` writes an `Inertia`; w (3,) is the angular velocity of the root. `own_forces` writes a `Forces`.
`station` writes the pose (12,) of the section at s (1,), a fraction of the length: rotation from section to
link axes, row by row, then the section's origin; and its columns (6 m,), for each coordinate the (angular;
linear) velocity of the section per rate, a coordinate after the other. `station_bias` writes the part (6,) of
the section's (angular; linear) acceleration that remains where root and own rates do not accelerate and the
root stands still.

Arrays cross as addresses, one C function for each number type, so that the recursions are compiled once for
all kinds of links (docs/theory/flexible_links.md, "Recursions").
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from flexdyn_ros.numerics.algebra.rotations import cross, load3
from flexdyn_ros.numerics.compiling.callbacks import Callback, caller
from flexdyn_ros.numerics.compiling.compiler import kernel, leaf
from flexdyn_ros.numerics.compiling.memory import floats_at
from flexdyn_ros.numerics.compiling.windows import window
from flexdyn_ros.numerics.numbers.columns import COLUMNS
from flexdyn_ros.numerics.numbers.memory import PER_LANES, PER_TANGENTS, lanes_of, tangents_of

#: what the compiler may do with lanes of a batch, as with those of the trees
_FAST = {"contract", "nsz", "arcp"}


class Inertia(NamedTuple):
    """The mass of a deformed link, and the forces of its velocities.

    rigid (10,) : int dm, int h dm, int (h.h 1 - h h^T) dm as xx xy xz yy yz zz
    wrench (6,) : moment and force that the root must exert for the motion (w, v), without accelerations and
        weight: int h x g dm, int g dm of g = w x (w x h) + 2 w x h' + (d2h/dq2 v v)
    s (3 m,), a (3 m,) : int u_k dm, int h x u_k dm
    M (m m,) : own mass matrix int u_k . u_l dm, row by row
    h (m,) : int u_k . g dm
    """

    rigid: object
    wrench: object
    s: object
    a: object
    M: object
    h: object


class Forces(NamedTuple):
    """What acts within a link, besides inertia and weight.

    force (m,) : resists the own coordinates, as K q + D v of a linear spring and damper
    stiffness, damping (m m,) : slopes that implicit steps take, row by row, symmetric and not negative:
        d force/dq, d force/dv, or secants; 0 where the step needs none
    energy (1,) : elastic energy, of the part of the force that does not depend on v
    """

    force: object
    stiffness: object
    damping: object
    energy: object


@kernel(forceinline=True)
def inertia_size(m):
    """Numbers of an `Inertia`."""
    return 16 + 7 * m + m * m


@kernel(forceinline=True)
def forces_size(m):
    """Numbers of a `Forces`."""
    return 1 + m + 2 * m * m


@kernel(forceinline=True)
def open_inertia(x, m):
    """`Inertia` over numbers (inertia_size(m),)."""
    b = 16 + 6 * m
    return Inertia(
        window(x, 0, 10),
        window(x, 10, 6),
        window(x, 16, 3 * m),
        window(x, 16 + 3 * m, 3 * m),
        window(x, b, m * m),
        window(x, b + m * m, m),
    )


@kernel(forceinline=True)
def open_forces(x, m):
    """`Forces` over numbers (forces_size(m),)."""
    a = m + m * m
    return Forces(window(x, 0, m), window(x, m, m * m), window(x, a, m * m), window(x, a + m * m, 1))


# ---- addresses ----

#: of a link: how many own coordinates and numbers it has, and where these are
_OF_LINK = "int64(int64, int64, int64, "
#: (m, n, numbers, q, v, w, out), (m, n, numbers, q, v, out), (m, n, numbers, s, q, pose, columns),
#: (m, n, numbers, s, q, v, bias): 0
SIGNATURES = (
    _OF_LINK + "int64, int64, int64, int64)",
    _OF_LINK + "int64, int64, int64)",
    _OF_LINK + "int64, int64, int64, int64)",
    _OF_LINK + "int64, int64, int64, int64)",
)
call_inertia, call_own_forces, call_station, call_station_bias = map(caller, SIGNATURES)

#: words of a kind: addresses of its functions, each in three columns
INERTIA, OWN_FORCES, STATION, STATION_BIAS = range(0, 4 * COLUMNS, COLUMNS)
WORDS = 4 * COLUMNS


class Answers:
    """The functions of a kind of link, each compiled when its column is first provided.

    kernels : the four kernels. address : of the WORDS addresses, 0 until provided.
    """

    def __init__(self, kernels: tuple[Callable, ...], functions: tuple[tuple[Callback, ...], ...]) -> None:
        self.kernels, self._functions = kernels, functions
        self._words = np.zeros(WORDS, dtype=np.int64)
        self.address = int(self._words.ctypes.data)

    def provide(self, column: int) -> None:
        """Write the addresses of the functions for a number type."""
        for row, functions in enumerate(self._functions):
            if not self._words[COLUMNS * row + column]:
                self._words[COLUMNS * row + column] = functions[column].address


@leaf
def _floats(memory):
    return memory


#: how C functions see float64 memory, float64 numbers a number, options and name, for each column
_TYPES = ((_floats, 1, {}, "floats"), (lanes_of, PER_LANES, {"fastmath": _FAST}, "lanes"),
          (tangents_of, PER_TANGENTS, {"fastmath": _FAST}, "tangents"))  # fmt: skip


def answers_of(inertia: Callable, own_forces: Callable, station: Callable, station_bias: Callable) -> Answers:
    """The C functions of the four kernels of a kind of link; see the module."""
    kernels = inertia, own_forces, station, station_bias
    makers = _inertia, _own_forces, _station, _station_bias
    made = []
    for function, make, signature in zip(kernels, makers, SIGNATURES, strict=True):
        columns = []
        for seen, per, options, name in _TYPES:
            wrapped = make(function, seen, per)
            wrapped.__module__ = function.__module__
            wrapped.__name__ = wrapped.__qualname__ = f"{function.__name__}_on_{name}"
            columns.append(Callback(wrapped, signature, **options))
        made.append(tuple(columns))
    return Answers(kernels, tuple(made))


def _inertia(write: Callable, seen: Callable, per: int) -> Callable:
    def inertia(m, n, numbers, q, v, w, out):
        own, rate = seen(floats_at(q, per * m)), seen(floats_at(v, per * m))
        found = open_inertia(seen(floats_at(out, per * inertia_size(m))), m)
        write(floats_at(numbers, n), own, rate, seen(floats_at(w, 3 * per)), found)
        return 0

    return inertia


def _own_forces(write: Callable, seen: Callable, per: int) -> Callable:
    def own_forces(m, n, numbers, q, v, out):
        own, rate = seen(floats_at(q, per * m)), seen(floats_at(v, per * m))
        found = open_forces(seen(floats_at(out, per * forces_size(m))), m)
        write(floats_at(numbers, n), own, rate, found)
        return 0

    return own_forces


def _station(write: Callable, seen: Callable, per: int) -> Callable:
    def station(m, n, numbers, s, q, pose, columns):
        own, found = seen(floats_at(q, per * m)), seen(floats_at(pose, 12 * per))
        write(floats_at(numbers, n), floats_at(s, 1), own, found, seen(floats_at(columns, 6 * per * m)))
        return 0

    return station


def _station_bias(write: Callable, seen: Callable, per: int) -> Callable:
    def station_bias(m, n, numbers, s, q, v, bias):
        own, rate = seen(floats_at(q, per * m)), seen(floats_at(v, per * m))
        write(floats_at(numbers, n), floats_at(s, 1), own, rate, seen(floats_at(bias, 6 * per)))
        return 0

    return station_bias


# The inertia of a link as a sum over points, for kinds that integrate over their length at each state.


@kernel
def clear_inertia(out, m):
    """Set all numbers of an `Inertia` of m coordinates to zero."""
    for i in range(10):
        out.rigid[i] = 0.0
    for i in range(6):
        out.wrench[i] = 0.0
    for i in range(3 * m):
        out.s[i], out.a[i] = 0.0, 0.0
    for i in range(m * m):
        out.M[i] = 0.0
    for i in range(m):
        out.h[i] = 0.0


@kernel
def add_point(mass, hx, hy, hz, u, bx, by, bz, v, w, out):
    """Add a point of this mass at h, tangent fields u (3 m,) = dh/dq_k, coordinate after coordinate, and
    b = d2h/dq2 v v; w (3,): angular velocity of the root. See `Inertia`."""
    m = v.shape[0]
    dx, dy, dz = 0.0 * hx, 0.0 * hx, 0.0 * hx
    for k in range(m):
        dx += u[3 * k] * v[k]
        dy += u[3 * k + 1] * v[k]
        dz += u[3 * k + 2] * v[k]
    # g = w x (w x h + 2 h') + b
    wx, wy, wz = load3(w, 0)
    gx, gy, gz = cross(wx, wy, wz, hx, hy, hz)
    gx, gy, gz = cross(wx, wy, wz, gx + 2.0 * dx, gy + 2.0 * dy, gz + 2.0 * dz)
    gx, gy, gz = mass * (gx + bx), mass * (gy + by), mass * (gz + bz)
    px, py, pz = mass * hx, mass * hy, mass * hz
    rigid, wrench = out.rigid, out.wrench
    rigid[0] += mass
    rigid[1] += px
    rigid[2] += py
    rigid[3] += pz
    rigid[4] += py * hy + pz * hz
    rigid[5] -= px * hy
    rigid[6] -= px * hz
    rigid[7] += px * hx + pz * hz
    rigid[8] -= py * hz
    rigid[9] += px * hx + py * hy
    mx, my, mz = cross(hx, hy, hz, gx, gy, gz)
    wrench[0] += mx
    wrench[1] += my
    wrench[2] += mz
    wrench[3] += gx
    wrench[4] += gy
    wrench[5] += gz
    for k in range(m):
        ux, uy, uz = load3(u, 3 * k)
        ax, ay, az = cross(px, py, pz, ux, uy, uz)
        out.s[3 * k] += mass * ux
        out.s[3 * k + 1] += mass * uy
        out.s[3 * k + 2] += mass * uz
        out.a[3 * k] += ax
        out.a[3 * k + 1] += ay
        out.a[3 * k + 2] += az
        out.h[k] += ux * gx + uy * gy + uz * gz
        for l in range(m):
            out.M[m * k + l] += mass * (ux * u[3 * l] + uy * u[3 * l + 1] + uz * u[3 * l + 2])
