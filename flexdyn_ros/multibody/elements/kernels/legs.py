"""Inertia of a leg of any shape: barrel and rod between a universal joint and a ball joint.

The base carries the first axis u of the universal joint at pin A, the end the ball joint at pin B. Barrel and
rod slide on each other along s and turn as one (docs/theory/elements.md, "Spin of a cylinder").
"""

from __future__ import annotations

import numpy as np

from flexdyn_ros.numerics.algebra.rotations import (
    add_cross,
    cross,
    load3,
    load9,
    store3,
    symmetric,
    turn,
    unturn,
)
from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.compiling.windows import window

from . import law as at
from .law import inertia_of
from .lines import across

# numbers of a leg: whether the universal joint makes it spin, the joint's axis in the base frame; mass and
# first moment about its own pin of barrel and rod; inertia of the barrel about A and the rod about B together
# (xx xy xz yy yz zz); leg axes x, y, s
LEG_NUMBERS = 18
UNIVERSAL, AXIS, BARREL, BARREL_MOMENT, ROD, ROD_MOMENT, INERTIA = 0, 1, 4, 5, 8, 9, 12
# numbers of a cylinder that spins: of barrel and rod each mass, centre of mass from its own pin on,
# transverse and axial inertia about that; then the axis
SPINNING_NUMBERS = 11
SPINNING_BARREL, SPINNING_ROD, SPINNING_AXIS = 0, 4, 8


@kernel(forceinline=True)
def dot(a, b):
    """a . b"""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@kernel(forceinline=True)
def spin_of(universal, s, ds, dds, n, c, u, y, w, alpha):
    """Spin about s and its rate, in a base that turns with w and alpha; (0, 0) unless universal.

    The cross turns against the base about u, the leg against the cross about y, so that the leg's angular
    velocity s x s' + spin s has no part along the cross' normal n = u x y but the base's. The derivative of
    that, with n' = (w + f u) x n, f and g the rates of both angles, gives the rate.
    """
    if not universal:
        none = 0.0 * c
        return none, none
    m = cross(s[0], s[1], s[2], ds[0], ds[1], ds[2])
    spin = (dot(w, n) - dot(m, n)) / c
    rx, ry, rz = m[0] + spin * s[0] - w[0], m[1] + spin * s[1] - w[1], m[2] + spin * s[2] - w[2]
    relative = (rx, ry, rz)
    f, g = dot(relative, u), dot(relative, y)
    moved = dot(relative, cross(w[0], w[1], w[2], n[0], n[1], n[2])) - f * g
    m = cross(s[0], s[1], s[2], dds[0], dds[1], dds[2])
    spinning = (dot(alpha, n) - dot(m, n) - spin * dot(ds, n) - moved) / c
    return spin, spinning


@kernel
def take_leg(universal, axis, barrel, h, rod, o, inertia, motion, acceleration, weight):
    """Write WEIGHT of a leg; h, o (3,): first moments of barrel and rod, inertia (6,), leg axes.

    With F the forces m a + ([alpha] + [w]^2) h of both bodies and z the moment about A that their motion
    takes, the ball joint gives (F_rod . s) s - s x (z - t n)/l, the universal joint the rest and the moment
    t n along the normal of its cross, t = s . z/(n . s): no work is done in the joints and along the leg.
    """
    base, end = window(motion, 0, at.FRAME), window(motion, at.FRAME, at.FRAME)
    ax, ay, az = load3(base, at.POSITION)
    bx, by, bz = load3(end, at.POSITION)
    rx, ry, rz = bx - ax, by - ay, bz - az
    length = np.sqrt(rx * rx + ry * ry + rz * rz)
    s = (rx / length, ry / length, rz / length)
    u = turn(load9(base, at.ROTATION), axis[0], axis[1], axis[2])
    k = dot(u, s)
    c = np.sqrt(1.0 - k * k)
    y = cross(s[0], s[1], s[2], u[0], u[1], u[2])
    y = (y[0] / c, y[1] / c, y[2] / c)
    x = ((u[0] - k * s[0]) / c, (u[1] - k * s[1]) / c, (u[2] - k * s[2]) / c)
    n = ((s[0] - k * u[0]) / c, (s[1] - k * u[1]) / c, (s[2] - k * u[2]) / c)
    va, vb = load3(base, at.VELOCITY), load3(end, at.VELOCITY)
    dv = (vb[0] - va[0], vb[1] - va[1], vb[2] - va[2])
    ds = across(s[0], s[1], s[2], dv[0], dv[1], dv[2], length)
    aa, ab = load3(acceleration, 3), load3(acceleration, 9)
    dds = across(s[0], s[1], s[2], ab[0] - aa[0], ab[1] - aa[1], ab[2] - aa[2], length)
    back, square = 2.0 * dot(s, dv) / length, dot(ds, ds)
    dds = (
        dds[0] - back * ds[0] - square * s[0],
        dds[1] - back * ds[1] - square * s[1],
        dds[2] - back * ds[2] - square * s[2],
    )
    spin, spinning = spin_of(universal, s, ds, dds, n, c, u, y, load3(base, at.OMEGA), load3(acceleration, 0))
    w = cross(s[0], s[1], s[2], ds[0], ds[1], ds[2])
    w = (w[0] + spin * s[0], w[1] + spin * s[1], w[2] + spin * s[2])
    e = cross(s[0], s[1], s[2], dds[0], dds[1], dds[2])
    e = (
        e[0] + spinning * s[0] + spin * ds[0],
        e[1] + spinning * s[1] + spin * ds[1],
        e[2] + spinning * s[2] + spin * ds[2],
    )
    axes = (x[0], y[0], s[0], x[1], y[1], s[1], x[2], y[2], s[2])
    h, o = turn(axes, h[0], h[1], h[2]), turn(axes, o[0], o[1], o[2])
    # momenta about the pins by the motion of turning alone, and how they change
    L = angular(axes, inertia, w)
    z = angular(axes, inertia, e)
    z = add_cross(z[0], z[1], z[2], w[0], w[1], w[2], L[0], L[1], L[2])
    z = add_cross(z[0], z[1], z[2], h[0], h[1], h[2], aa[0], aa[1], aa[2])
    z = add_cross(z[0], z[1], z[2], o[0], o[1], o[2], ab[0], ab[1], ab[2])
    wh, wo = cross(w[0], w[1], w[2], h[0], h[1], h[2]), cross(w[0], w[1], w[2], o[0], o[1], o[2])
    lower = pushed(barrel, aa, e, h, w, wh)
    upper = pushed(rod, ab, e, o, w, wo)
    z = add_cross(z[0], z[1], z[2], rx, ry, rz, upper[0], upper[1], upper[2])
    t = dot(s, z) / c
    if not universal:
        t = 0.0 * t
    z = (z[0] - t * n[0], z[1] - t * n[1], z[2] - t * n[2])
    g = cross(s[0], s[1], s[2], z[0], z[1], z[2])
    along = dot(s, upper)
    g = (along * s[0] - g[0] / length, along * s[1] - g[1] / length, along * s[2] - g[2] / length)
    none = 0.0 * length
    store3(weight, at.WRENCHES, t * n[0], t * n[1], t * n[2])
    store3(
        weight,
        at.WRENCHES + 3,
        lower[0] + upper[0] - g[0],
        lower[1] + upper[1] - g[1],
        lower[2] + upper[2] - g[2],
    )
    store3(weight, at.WRENCHES + 6, none, none, none)
    store3(weight, at.WRENCHES + 9, g[0], g[1], g[2])
    px, py, pz = barrel * va[0] + wh[0], barrel * va[1] + wh[1], barrel * va[2] + wh[2]
    kx, ky, kz = rod * vb[0] + wo[0], rod * vb[1] + wo[1], rod * vb[2] + wo[2]
    hx, hy, hz = add_cross(L[0], L[1], L[2], ax, ay, az, px, py, pz)
    hx, hy, hz = add_cross(hx, hy, hz, bx, by, bz, kx, ky, kz)
    hx, hy, hz = add_cross(hx, hy, hz, h[0], h[1], h[2], va[0], va[1], va[2])
    hx, hy, hz = add_cross(hx, hy, hz, o[0], o[1], o[2], vb[0], vb[1], vb[2])
    store3(weight, at.MOMENTUM, hx, hy, hz)
    store3(weight, at.MOMENTUM + 3, px + kx, py + ky, pz + kz)
    turning = dot(w, L) + 2.0 * (dot(va, wh) + dot(vb, wo))
    weight[at.KINETIC] = 0.5 * (barrel * dot(va, va) + rod * dot(vb, vb) + turning)
    store3(
        weight,
        at.FIRST_MOMENT,
        barrel * ax + h[0] + rod * bx + o[0],
        barrel * ay + h[1] + rod * by + o[1],
        barrel * az + h[2] + rod * bz + o[2],
    )
    weight[at.MASS] = barrel + rod + none


@kernel(forceinline=True)
def angular(axes, inertia, w):
    """Inertia (6,) in leg axes times a vector in world axes."""
    x, y, z = unturn(axes, w[0], w[1], w[2])
    x, y, z = symmetric(inertia, x, y, z)
    return turn(axes, x, y, z)


@kernel(forceinline=True)
def pushed(mass, a, e, h, w, wh):
    """Force m a + e x h + w x (w x h) of a body."""
    x, y, z = add_cross(mass * a[0], mass * a[1], mass * a[2], e[0], e[1], e[2], h[0], h[1], h[2])
    return add_cross(x, y, z, w[0], w[1], w[2], wh[0], wh[1], wh[2])


@kernel
def leg_masses(numbers, motion, acceleration, weight):
    """What barrel and rod of a platform's leg take."""
    f = numbers
    inertia = (f[INERTIA], f[INERTIA + 1], f[INERTIA + 2], f[INERTIA + 3], f[INERTIA + 4], f[INERTIA + 5])
    h, o, axis = load3(f, BARREL_MOMENT), load3(f, ROD_MOMENT), load3(f, AXIS)
    universal = f[UNIVERSAL] != 0.0
    take_leg(universal, axis, f[BARREL], h, f[ROD], o, inertia, motion, acceleration, weight)


@kernel
def spinning_masses(numbers, motion, acceleration, weight):
    """What barrel and rod of a cylinder take whose base pin is a universal joint."""
    f, g = window(numbers, SPINNING_BARREL, 4), window(numbers, SPINNING_ROD, 4)
    h, o = f[0] * f[1], g[0] * g[1]
    across_line = f[2] + h * f[1] + g[2] + o * g[1]
    inertia = (across_line, 0.0, 0.0, across_line, 0.0, f[3] + g[3])
    first, second, axis = (0.0, 0.0, h), (0.0, 0.0, o), load3(numbers, SPINNING_AXIS)
    take_leg(True, axis, f[0], first, g[0], second, inertia, motion, acceleration, weight)


LEG_MASSES = inertia_of(leg_masses, LEG_NUMBERS)
SPINNING_MASSES = inertia_of(spinning_masses, SPINNING_NUMBERS)

#: the C functions of all of these, for whoever compiles them beforehand
functions = {
    one.function.__name__: one
    for each in (LEG_MASSES, SPINNING_MASSES)
    for one in (each.plain, each.lanes, each.tangents)
}
