"""Laws of elements that act along the line between two points, or about an axis."""

from __future__ import annotations

import numpy as np

from flexdyn_ros.numerics.algebra.rotations import add_cross, cross, load3, load9, store3, turn
from flexdyn_ros.numerics.compiling.teaching import COMPILED, kernel, when_compiling
from flexdyn_ros.numerics.compiling.windows import window
from flexdyn_ros.numerics.numbers.functions import both, larger, less, select
from flexdyn_ros.numerics.numbers.vectors import LANES, element, with_element

from . import law as at
from .law import inertia_of, law_of

# numbers of a spring, and of a torsion spring
SPRING_NUMBERS = 4
STIFFNESS, DAMPING, FREE, ONE_SIDED = range(SPRING_NUMBERS)
TORSION_NUMBERS = 12
REFERENCE, TRIAD = 2, 3  # TRIAD (9): rows are two axes across and the axis, in the axes of the base frame
# numbers of a cylinder: mass, centre of mass from its own pin on, transverse inertia about that, of barrel
# and rod
DRIVE_NUMBERS = 6
BARREL, ROD = 0, 3
#: added to the square of a length, so that the direction of a spring of no length is 0, not unknown
_NOTHING = 1e-300


@kernel
def along_line(motion, results):
    """Write COORDINATE, RATE and LINE of the distance between two points.

    With r from base to end and n = r/|r|, the length grows by n . (v_end - v_base), and a force f that pushes
    the ends apart is f n on the end and -f n on the base.
    """
    base, end = window(motion, 0, at.FRAME), window(motion, at.FRAME, at.FRAME)
    ax, ay, az = load3(base, at.POSITION)
    bx, by, bz = load3(end, at.POSITION)
    x, y, z = bx - ax, by - ay, bz - az
    length = np.sqrt(x * x + y * y + z * z + _NOTHING)
    x, y, z = x / length, y / length, z / length
    ax, ay, az = load3(base, at.VELOCITY)
    bx, by, bz = load3(end, at.VELOCITY)
    results[at.COORDINATE] = length
    results[at.RATE] = x * (bx - ax) + y * (by - ay) + z * (bz - az)
    none = 0.0 * x
    line = window(results, at.LINE, 12)
    store3(line, 0, none, none, none)
    store3(line, 3, -x, -y, -z)
    store3(line, 6, none, none, none)
    store3(line, 9, x, y, z)


@kernel
def about_axis(triad, motion, results):
    """Write COORDINATE, RATE and LINE of the angle by which the end is turned about an axis of the base.

    With Q from the base's axes to the end's, and (t1, t2, n) the axis n and two axes across it, the angle of
    the twist of Q about n is atan2(y, x), y = t2 . Q t1 - t1 . Q t2, x = t1 . Q t1 + t2 . Q t2, which is
    twice the angle of the quaternion's parts (cos, n . sin). dQ/dt = w x Q with the relative angular velocity
    w gives dy/dt = g_y . w and dx/dt = g_x . w, and so d(angle)/dt = (x g_y - y g_x) . w / (x^2 + y^2).
    """
    base, end = window(motion, 0, at.FRAME), window(motion, at.FRAME, at.FRAME)
    r, s = load9(base, at.ROTATION), load9(end, at.ROTATION)
    t1x, t1y, t1z = turn(r, triad[0], triad[1], triad[2])
    t2x, t2y, t2z = turn(r, triad[3], triad[4], triad[5])
    u1x, u1y, u1z = turn(s, triad[0], triad[1], triad[2])
    u2x, u2y, u2z = turn(s, triad[3], triad[4], triad[5])
    y = t2x * u1x + t2y * u1y + t2z * u1z - t1x * u2x - t1y * u2y - t1z * u2z
    x = t1x * u1x + t1y * u1y + t1z * u1z + t2x * u2x + t2y * u2y + t2z * u2z
    # t . (w x u) = w . (u x t)
    ax, ay, az = cross(u1x, u1y, u1z, t2x, t2y, t2z)
    bx, by, bz = cross(u2x, u2y, u2z, t1x, t1y, t1z)
    cx, cy, cz = cross(u1x, u1y, u1z, t1x, t1y, t1z)
    dx, dy, dz = cross(u2x, u2y, u2z, t2x, t2y, t2z)
    square = x * x + y * y
    gx = (x * (ax - bx) - y * (cx + dx)) / square
    gy = (x * (ay - by) - y * (cy + dy)) / square
    gz = (x * (az - bz) - y * (cz + dz)) / square
    vx, vy, vz = load3(base, at.OMEGA)
    wx, wy, wz = load3(end, at.OMEGA)
    results[at.COORDINATE] = angle_of(y, x)
    results[at.RATE] = gx * (wx - vx) + gy * (wy - vy) + gz * (wz - vz)
    none = 0.0 * x
    line = window(results, at.LINE, 12)
    store3(line, 0, -gx, -gy, -gz)
    store3(line, 3, none, none, none)
    store3(line, 6, gx, gy, gz)
    store3(line, 9, none, none, none)


def arctan2(y, x):
    """NumPy's, which knows no lanes."""
    return np.arctan2(y, x)


@when_compiling
def _teach() -> None:
    from numba.extending import overload

    from flexdyn_ros.numerics.numbers.vector_types import Lanes

    @overload(arctan2, jit_options=COMPILED)
    def _arctan2(y, x):
        if not isinstance(y, Lanes):
            return lambda y, x: np.arctan2(y, x)

        def of_lanes(y, x):
            result = y
            for k in range(LANES):
                result = with_element(result, k, np.arctan2(element(y, k), element(x, k)))
            return result

        return of_lanes


@kernel
def angle_of(y, x):
    """arctan2(y, x), to the first order in imaginary parts and tangents."""
    yr, xr = y.real, x.real
    return arctan2(yr, xr) + (xr * (y - yr) - yr * (x - xr)) / (xr * xr + yr * yr)


@kernel
def pulled(k, d, stretch, rate, one_sided):
    """What a spring and a damper in parallel pull with, f = k e + d e', the part of f that is elastic, and
    energy, stiffness and damping; one-sided: only while e > 0, and never pushing, so that d acts only while
    it is taut."""
    force, elastic = k * stretch + d * rate, k * stretch
    stiffness, damping = k + 0.0 * force, d + 0.0 * force
    energy = 0.5 * elastic * stretch
    if one_sided:
        none = 0.0 * force
        taut = less(0.0, stretch)
        pulls = both(taut, less(0.0, force))
        stiffness, damping = select(pulls, stiffness, none), select(pulls, damping, none)
        energy = select(taut, energy, none)
        force, elastic = select(taut, larger(force, none), none), select(taut, elastic, none)
    return force, elastic, energy, stiffness, damping


@kernel
def pull(k, d, stretch, rate, one_sided, results):
    """Write what a spring and a damper in parallel do."""
    force, elastic, energy, stiffness, damping = pulled(k, d, stretch, rate, one_sided)
    results[at.STIFFNESS], results[at.DAMPING], results[at.ENERGY] = stiffness, damping, energy
    results[at.EFFORT], results[at.RESISTANCE] = -force, force - elastic


@kernel
def spring(numbers, motion, results):
    """A spring and damper between two points."""
    along_line(motion, results)
    stretch = results[at.COORDINATE] - numbers[FREE]
    one_sided = numbers[ONE_SIDED] != 0.0
    pull(numbers[STIFFNESS], numbers[DAMPING], stretch, results[at.RATE], one_sided, results)


@kernel
def torsion_spring(numbers, motion, results):
    """A spring and damper about an axis; the angle from the reference on is within (-pi, pi]."""
    about_axis(window(numbers, TRIAD, 9), motion, results)
    wound = results[at.COORDINATE] - numbers[REFERENCE]
    wound = angle_of(np.sin(wound), np.cos(wound))
    pull(numbers[STIFFNESS], numbers[DAMPING], wound, results[at.RATE], False, results)


@kernel
def drive(numbers, motion, results):
    """What is driven along the line between two points does nothing by itself."""
    along_line(motion, results)
    none = 0.0 * results[at.RATE]
    for i in (at.EFFORT, at.STIFFNESS, at.DAMPING, at.ENERGY, at.RESISTANCE):
        results[i] = none


@kernel
def swinging_masses(numbers, motion, acceleration, weight):
    """What barrel and rod of a cylinder take, which swing about its pins and do not spin.

    With s = r/l along the line from pin A to pin B, the barrel's centre of mass is at A + x s, that of the
    rod at B + u s (u < 0). P = 1 - s s' gives s' = P (v_B - v_A)/l and

        s'' = P (a_B - a_A)/l - 2 (l'/l) s' - |s'|^2 s.

    The centres accelerate with c_l'' = a_A + x s'', c_u'' = a_B + u s''. The forces m (c'' - g) act at the
    centres, and I_t s'' is the force that the transverse inertias ask for along s, so that with
    w = x f_l + u f_u + I_t s'' the pins give f_l - P w/l and f_u + P w/l (principle of virtual work).
    """
    base, end = window(motion, 0, at.FRAME), window(motion, at.FRAME, at.FRAME)
    barrel, x, barrel_inertia, rod, u, rod_inertia = (
        numbers[BARREL],
        numbers[BARREL + 1],
        numbers[BARREL + 2],
        numbers[ROD],
        numbers[ROD + 1],
        numbers[ROD + 2],
    )
    inertia = barrel_inertia + rod_inertia
    ax, ay, az = load3(base, at.POSITION)
    bx, by, bz = load3(end, at.POSITION)
    rx, ry, rz = bx - ax, by - ay, bz - az
    length = np.sqrt(rx * rx + ry * ry + rz * rz + _NOTHING)
    sx, sy, sz = rx / length, ry / length, rz / length
    vax, vay, vaz = load3(base, at.VELOCITY)
    vbx, vby, vbz = load3(end, at.VELOCITY)
    dx, dy, dz = across(sx, sy, sz, vbx - vax, vby - vay, vbz - vaz, length)
    rate = sx * (vbx - vax) + sy * (vby - vay) + sz * (vbz - vaz)
    aax, aay, aaz = load3(acceleration, 3)
    abx, aby, abz = load3(acceleration, 9)
    ddx, ddy, ddz = across(sx, sy, sz, abx - aax, aby - aay, abz - aaz, length)
    back, square = 2.0 * rate / length, dx * dx + dy * dy + dz * dz
    ddx, ddy, ddz = (
        ddx - back * dx - square * sx,
        ddy - back * dy - square * sy,
        ddz - back * dz - square * sz,
    )
    flx, fly, flz = barrel * (aax + x * ddx), barrel * (aay + x * ddy), barrel * (aaz + x * ddz)
    fux, fuy, fuz = rod * (abx + u * ddx), rod * (aby + u * ddy), rod * (abz + u * ddz)
    wx = x * flx + u * fux + inertia * ddx
    wy = x * fly + u * fuy + inertia * ddy
    wz = x * flz + u * fuz + inertia * ddz
    wx, wy, wz = across(sx, sy, sz, wx, wy, wz, length)
    none = 0.0 * length
    store3(weight, at.WRENCHES, none, none, none)
    store3(weight, at.WRENCHES + 3, flx - wx, fly - wy, flz - wz)
    store3(weight, at.WRENCHES + 6, none, none, none)
    store3(weight, at.WRENCHES + 9, fux + wx, fuy + wy, fuz + wz)
    # momenta of both centres, and of the turning line
    px, py, pz = barrel * (vax + x * dx), barrel * (vay + x * dy), barrel * (vaz + x * dz)
    kx, ky, kz = rod * (vbx + u * dx), rod * (vby + u * dy), rod * (vbz + u * dz)
    cx, cy, cz = ax + x * sx, ay + x * sy, az + x * sz
    ex, ey, ez = bx + u * sx, by + u * sy, bz + u * sz
    hx, hy, hz = cross(sx, sy, sz, inertia * dx, inertia * dy, inertia * dz)
    hx, hy, hz = add_cross(hx, hy, hz, cx, cy, cz, px, py, pz)
    hx, hy, hz = add_cross(hx, hy, hz, ex, ey, ez, kx, ky, kz)
    store3(weight, at.MOMENTUM, hx, hy, hz)
    store3(weight, at.MOMENTUM + 3, px + kx, py + ky, pz + kz)
    kinetic = px * (vax + x * dx) + py * (vay + x * dy) + pz * (vaz + x * dz)
    kinetic += kx * (vbx + u * dx) + ky * (vby + u * dy) + kz * (vbz + u * dz)
    weight[at.KINETIC] = 0.5 * (kinetic + inertia * square)
    store3(weight, at.FIRST_MOMENT, barrel * cx + rod * ex, barrel * cy + rod * ey, barrel * cz + rod * ez)
    weight[at.MASS] = barrel + rod + none


@kernel(forceinline=True)
def across(sx, sy, sz, x, y, z, length):
    """(1 - s s') (x, y, z) / length"""
    along = sx * x + sy * y + sz * z
    return (x - along * sx) / length, (y - along * sy) / length, (z - along * sz) / length


SPRING = law_of(spring, SPRING_NUMBERS)
TORSION_SPRING = law_of(torsion_spring, TORSION_NUMBERS)
DRIVE = law_of(drive, DRIVE_NUMBERS)
SWINGING_MASSES = inertia_of(swinging_masses, DRIVE_NUMBERS)

#: the C functions of all of these, for whoever compiles them beforehand
functions = {
    one.function.__name__: one
    for each in (SPRING, TORSION_SPRING, DRIVE, SWINGING_MASSES)
    for one in (each.plain, each.lanes, each.tangents)
}
