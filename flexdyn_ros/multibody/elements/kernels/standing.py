"""Elements that stand on the fixed world with one end, and push on one body at a point with the other.

That body's inertia and bias gain what they do, without a row or a column of anything: all elements of one
kind on one body in one call, which reads how the body moves once and keeps what it adds up in registers. An
element asks for a force F of its point B, at the arm r from the body's origin,

    F = E a_B + (what velocities and gravity take) - f s,

f its effort along its line s, E symmetric: its mass as it is felt there, and (c + h d + h^2 k) s s^T in a
step of h that is implicit in a spring k, a damper d and what servos add, c. About the origin the body's
inertia [A H; H^T M] gains M = E, H = [r] E, A = [r] E [r]^T, its bias (r x F; F).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from flexdyn_ros.numerics.algebra.rotations import add3, cross, load3, load9, store3, turn
from flexdyn_ros.numerics.compiling.callbacks import Callback, caller
from flexdyn_ros.numerics.compiling.compiler import apart, inlined, kernel, leaf
from flexdyn_ros.numerics.compiling.memory import floats_at
from flexdyn_ros.numerics.compiling.windows import window
from flexdyn_ros.numerics.numbers.memory import PER_LANES, PER_TANGENTS, lanes_of, tangents_of

from .lines import DAMPING, FREE, ONE_SIDED, SPRING_NUMBERS, STIFFNESS, pulled
from .standing_legs import (
    STANDING_LEG,
    UNIVERSAL,
    dot,
    force_of_leg,
    force_of_plain_leg,
    leg_inertia,
    leg_line,
    plain_leg_inertia,
    point_velocity,
    rate_matrix,
)

#: how the body moves, world axes: rotation row by row, origin and its velocity, angular velocity and
#: acceleration, acceleration of the origin less gravity, and gravity
BODY = 27
ROTATION, ORIGIN, VELOCITY, OMEGA, ALPHA, ACCELERATION, GRAVITY = 0, 9, 12, 15, 18, 21, 24
#: what the body gains, world axes about its origin: A (6), H (9), M (6), moment and force of the bias
GAIN = 27
BIAS = 21
#: where the numbers of a spring begin, behind those of both ends
SPRING = 6
#: numbers of a spring behind both ends, of what is none
NO_SPRING = (0.0,) * SPRING_NUMBERS

#: (numbers, count, body, efforts, extra, h, gain): 0
HOLD_SIGNATURE = "int64(int64, int64, int64, int64, int64, float64, int64)"
call_hold = caller(HOLD_SIGNATURE)
#: (numbers, count, body, extra, h, gain): 0; what `hold` adds to the inertia alone
BURDEN_SIGNATURE = "int64(int64, int64, int64, int64, float64, int64)"
call_burden = caller(BURDEN_SIGNATURE)
#: (numbers, count, body, efforts, wrench, lines): 0; moment and force that they ask for as the body
#: accelerates, and of each the moment and the force of a unit of effort
RESIST_SIGNATURE = "int64(int64, int64, int64, int64, int64, int64)"
call_resist = caller(RESIST_SIGNATURE)

_FAST = {"contract", "nsz", "arcp"}


class Standing(NamedTuple):
    """How many numbers an element of a kind that stands on the world has, and C functions of these."""

    count: int
    hold: Callback
    hold_on_lanes: Callback
    burden: Callback
    resist: Callback
    resist_on_lanes: Callback
    resist_on_tangents: Callback


# ---- where the ends are ----


@kernel(forceinline=True)
def line_of(f, R, p):
    """Arm r from the body's origin, direction s and length of the line of an element, and 1/length."""
    return leg_line(f, 0, R, p[0], p[1], p[2])


@kernel(forceinline=True)
def motion_of(body):
    """Rotation, origin, its velocity, angular velocity and gravity of the body; the rate matrix, and the
    acceleration of its origin."""
    w, e, g, a = load3(body, OMEGA), load3(body, ALPHA), load3(body, GRAVITY), load3(body, ACCELERATION)
    a = (a[0] + g[0], a[1] + g[1], a[2] + g[2])
    return load9(body, ROTATION), load3(body, ORIGIN), load3(body, VELOCITY), w, g, rate_matrix(w, e), a


@kernel(forceinline=True)
def accelerated(a, rates, r):
    """Acceleration of a point at the arm r."""
    d = turn(rates, r[0], r[1], r[2])
    return a[0] + d[0], a[1] + d[1], a[2] + d[2]


# ---- what elements ask for: kernels of (numbers, motion of the body, ...) ----


@inlined
def force_of_legs(f, r, s, length, inverse, v, a, g, h):
    """Of a leg of any inertia."""
    return force_of_leg(f, 0, f[UNIVERSAL] != 0.0, s, length, inverse, v, a, g)


@inlined
def force_of_plain_legs(f, r, s, length, inverse, v, a, g, h):
    """Of a leg with its mass on its axis."""
    return force_of_plain_leg(f, 0, f[UNIVERSAL] != 0.0, s, length, inverse, v, a, g)


@inlined
def inertia_of_legs(f, s, length, inverse, rate, h):
    """Of a leg, xx xy xz yy yz zz."""
    return leg_inertia(f, 0, f[UNIVERSAL] != 0.0, s, inverse)


@kernel(forceinline=True)
def pull_of(f, length, rate):
    """Of a spring and a damper: see `pulled`."""
    k, d, stretch = f[SPRING + STIFFNESS], f[SPRING + DAMPING], length - f[SPRING + FREE]
    return pulled(k, d, stretch, rate, f[SPRING + ONE_SIDED] != 0.0)


@inlined
def inertia_of_plain_legs(f, s, length, inverse, rate, h):
    """Of a leg with its mass on its axis."""
    return plain_leg_inertia(f, 0, f[UNIVERSAL] != 0.0, s, inverse)


@inlined
def force_of_lines(f, r, s, length, inverse, v, a, g, h):
    """Of a spring and a damper, as they are where a step of h ends in which nothing accelerates."""
    rate = dot(s, v)
    force, _, _, stiffness, _ = pull_of(f, length, rate)
    force = force + h * stiffness * rate
    return force * s[0], force * s[1], force * s[2]


@inlined
def inertia_of_lines(f, s, length, inverse, rate, h):
    """Of a spring and a damper in a step of h."""
    _, _, _, stiffness, damping = pull_of(f, length, rate)
    return outer(h * (damping + h * stiffness), s)


@kernel(forceinline=True)
def outer(c, s):
    """c s s^T, xx xy xz yy yz zz."""
    x, y, z = c * s[0], c * s[1], c * s[2]
    return x * s[0], x * s[1], x * s[2], y * s[1], y * s[2], z * s[2]


# ---- all of one kind on one body ----


def _kind(name: str, count: int, force: Callable, inertia: Callable) -> Standing:
    """The C functions of elements with `count` numbers each, made from the kernels of one."""

    def ask(f, n, own, given, h, total, first, lines):
        """Add the moment and the force that n elements ask for to total[first:]; write lines (6 n,), flat,
        unless that is (0,)."""
        R, p, vo, w, g, rates, ao = motion_of(own)
        none = 0.0 * R[0]
        mx, my, mz, fx, fy, fz = none, none, none, none, none, none
        for i in range(n):
            one = window(f, count * i, count)
            r, s, length, inverse = line_of(one, R, p)
            v = point_velocity(w, vo, r)
            F = force(one, r, s, length, inverse, v, accelerated(ao, rates, r), g, h)
            if lines.shape[0] > 0:
                m = cross(r[0], r[1], r[2], s[0], s[1], s[2])
                store3(lines, 6 * i, m[0], m[1], m[2])
                store3(lines, 6 * i + 3, s[0], s[1], s[2])
            e = given[i]
            x, y, z = F[0] - e * s[0], F[1] - e * s[1], F[2] - e * s[2]
            m = cross(r[0], r[1], r[2], x, y, z)
            mx, my, mz, fx, fy, fz = mx + m[0], my + m[1], mz + m[2], fx + x, fy + y, fz + z
        add3(total, first, mx, my, mz)
        add3(total, first + 3, fx, fy, fz)

    def weigh(f, n, own, more, h, total):
        """Add what the body's inertia gains."""
        R, p, vo, w = load9(own, ROTATION), load3(own, ORIGIN), load3(own, VELOCITY), load3(own, OMEGA)
        none = 0.0 * R[0]
        xx, xy, xz, yy, yz, zz = none, none, none, none, none, none
        p00, p01, p02, p10, p11, p12, p20, p21, p22 = none, none, none, none, none, none, none, none, none
        t00, t01, t02, t11, t12, t22 = none, none, none, none, none, none
        for i in range(n):
            one = window(f, count * i, count)
            r, s, length, inverse = line_of(one, R, p)
            e, c = inertia(one, s, length, inverse, dot(s, point_velocity(w, vo, r)), h), outer(more[i], s)
            e = (e[0] + c[0], e[1] + c[1], e[2] + c[2], e[3] + c[3], e[4] + c[4], e[5] + c[5])
            # [r] times the columns of E, then times [r]^T
            k0 = cross(r[0], r[1], r[2], e[0], e[1], e[2])
            k1 = cross(r[0], r[1], r[2], e[1], e[3], e[4])
            k2 = cross(r[0], r[1], r[2], e[2], e[4], e[5])
            p00, p01, p02 = p00 + k0[0], p01 + k1[0], p02 + k2[0]
            p10, p11, p12 = p10 + k0[1], p11 + k1[1], p12 + k2[1]
            p20, p21, p22 = p20 + k0[2], p21 + k1[2], p22 + k2[2]
            t00, t01, t02 = t00 + e[0], t01 + e[1], t02 + e[2]
            t11, t12, t22 = t11 + e[3], t12 + e[4], t22 + e[5]
            xx += r[1] * k2[0] - r[2] * k1[0]
            xy += r[2] * k0[0] - r[0] * k2[0]
            xz += r[0] * k1[0] - r[1] * k0[0]
            yy += r[2] * k0[1] - r[0] * k2[1]
            yz += r[0] * k1[1] - r[1] * k0[1]
            zz += r[0] * k1[2] - r[1] * k0[2]
        add3(total, 0, xx, xy, xz)
        add3(total, 3, yy, yz, zz)
        add3(total, 6, p00, p01, p02)
        add3(total, 9, p10, p11, p12)
        add3(total, 12, p20, p21, p22)
        add3(total, 15, t00, t01, t02)
        add3(total, 18, t11, t12, t22)

    ask, weigh = leaf(apart(ask, name)), leaf(apart(weigh, name))

    def hold(numbers, n, body, efforts, extra, h, gain):
        f, own, total = floats_at(numbers, count * n), floats_at(body, BODY), floats_at(gain, GAIN)
        ask(f, n, own, floats_at(efforts, n), h, total, BIAS, window(own, 0, 0))
        weigh(f, n, own, floats_at(extra, n), h, total)
        return 0

    def hold_on_lanes(numbers, n, body, efforts, extra, h, gain):
        f, own = floats_at(numbers, count * n), lanes_of(floats_at(body, PER_LANES * BODY))
        total = lanes_of(floats_at(gain, PER_LANES * GAIN))
        ask(f, n, own, lanes_of(floats_at(efforts, PER_LANES * n)), h, total, BIAS, window(own, 0, 0))
        weigh(f, n, own, lanes_of(floats_at(extra, PER_LANES * n)), h, total)
        return 0

    def burden(numbers, n, body, extra, h, gain):
        f, own, total = floats_at(numbers, count * n), floats_at(body, BODY), floats_at(gain, GAIN)
        weigh(f, n, own, floats_at(extra, n), h, total)
        return 0

    def resist(numbers, n, body, efforts, wrench, lines):
        f, own, total = floats_at(numbers, count * n), floats_at(body, BODY), floats_at(wrench, 6)
        ask(f, n, own, floats_at(efforts, n), 0.0, total, 0, floats_at(lines, 6 * n))
        return 0

    def resist_on_lanes(numbers, n, body, efforts, wrench, lines):
        f, own = floats_at(numbers, count * n), lanes_of(floats_at(body, PER_LANES * BODY))
        given, total = lanes_of(floats_at(efforts, PER_LANES * n)), lanes_of(floats_at(wrench, PER_LANES * 6))
        ask(f, n, own, given, 0.0, total, 0, lanes_of(floats_at(lines, PER_LANES * 6 * n)))
        return 0

    def resist_on_tangents(numbers, n, body, efforts, wrench, lines):
        f, own = floats_at(numbers, count * n), tangents_of(floats_at(body, PER_TANGENTS * BODY))
        given = tangents_of(floats_at(efforts, PER_TANGENTS * n))
        ask(f, n, own, given, 0.0, tangents_of(floats_at(wrench, PER_TANGENTS * 6)), 0, window(own, 0, 0))
        return 0

    made = []
    for function, signature, options in (
        (hold, HOLD_SIGNATURE, {}),
        (hold_on_lanes, HOLD_SIGNATURE, {"fastmath": _FAST}),
        (burden, BURDEN_SIGNATURE, {}),
        (resist, RESIST_SIGNATURE, {}),
        (resist_on_lanes, RESIST_SIGNATURE, {"fastmath": _FAST}),
        (resist_on_tangents, RESIST_SIGNATURE, {"fastmath": {"contract"}}),
    ):
        function.__module__ = __name__
        function.__name__ = function.__qualname__ = f"{name}_{function.__name__}"
        made.append(Callback(function, signature, **options))
    return Standing(count, *made)


LEGS = _kind("legs", STANDING_LEG, force_of_legs, inertia_of_legs)
PLAIN_LEGS = _kind("plain_legs", STANDING_LEG, force_of_plain_legs, inertia_of_plain_legs)
LINES = _kind("lines", SPRING + SPRING_NUMBERS, force_of_lines, inertia_of_lines)

#: the C functions of all of these, for whoever compiles them beforehand
functions: dict[str, Any] = {
    one.function.__name__: one for each in (LEGS, PLAIN_LEGS, LINES) for one in each[1:]
}
