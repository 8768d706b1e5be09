"""Energies and momenta of a tree, by one way outward, and for momenta one inward; body axes.

Velocities run outward, and with them the height of each body in the field of gravity. Momenta and first
moments of mass run inward, each body's about its own origin, until they are those about the world's.
"""

from __future__ import annotations

from flexdyn_ros.numerics.algebra.rotations import (
    add3,
    cross,
    load3,
    load6,
    load9,
    store3,
    symmetric,
    turn,
    unturn,
)
from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.compiling.windows import window

from . import views as at
from .joints import FAST, place_body
from .kinematics import move_body
from .resistance import joint_of, wound


@kernel(fastmath=FAST, forceinline=True)
def moving_energies(model, data, q, v, out):
    """`energies` at q, v; reads the world's rows, as `prepare` leaves them."""
    for b in range(1, model.nb):
        place_body(model, data, b, q)
        move_body(model, data, b, v)
        lift_body(model, data, b)
    energies(model, data, q, v, out)


@kernel(fastmath=FAST, forceinline=True)
def moving_momenta(model, data, q, v, out):
    """`momenta` at q, v; reads the world's rows, as `prepare` leaves them."""
    for b in range(1, model.nb):
        place_body(model, data, b, q)
        move_body(model, data, b, v)
        own = window(data.bodies, b * at.BODY_ROWS, at.BODY_ROWS)
        momentum_of_body(window(model.inertia, 10 * b, 10), own)
    momenta(model, data, out)


@kernel(fastmath=FAST, forceinline=True)
def lift_body(model, data, b):
    """Write ACCELERATION and LIFT of a body from its parent's: the acceleration of the world against gravity,
    and the potential of a unit of mass at the body's origin.

    Reads ROTATION and ORIGIN; the world's rows are those of `prepare`.
    """
    p = model.parent[b]
    own = window(data.bodies, b * at.BODY_ROWS, at.BODY_ROWS)
    below = window(data.bodies, p * at.BODY_ROWS, at.BODY_ROWS)
    ax, ay, az = load3(below, at.ACCELERATION)
    ox, oy, oz = load3(own, at.ORIGIN)
    own[at.LIFT] = below[at.LIFT] + ax * ox + ay * oy + az * oz
    ax, ay, az = unturn(load9(own, at.ROTATION), ax, ay, az)
    store3(own, at.ACCELERATION, ax, ay, az)


@kernel(fastmath=FAST, forceinline=True)
def energy_of_body(inertia, own):
    """Kinetic and potential energy of a body; reads OMEGA, VELOCITY, ACCELERATION and LIFT."""
    mass, cx, cy, cz = inertia[0], inertia[1], inertia[2], inertia[3]
    wx, wy, wz = load3(own, at.OMEGA)
    ux, uy, uz = load3(own, at.VELOCITY)
    ax, ay, az = load3(own, at.ACCELERATION)
    hx, hy, hz = symmetric(load6(inertia, 4), wx, wy, wz)
    tx, ty, tz = cross(wx, wy, wz, cx, cy, cz)
    kinetic = 0.5 * mass * (ux * ux + uy * uy + uz * uz) + ux * tx + uy * ty + uz * tz
    kinetic += 0.5 * (wx * hx + wy * hy + wz * hz)
    return kinetic, mass * own[at.LIFT] + ax * cx + ay * cy + az * cz


@kernel(fastmath=FAST, forceinline=True)
def energies(model, data, q, v, out):
    """out = kinetic energy (armature included), gravity potential (world origin), energy of joint springs
    [J].

    Reads what `energy_of_body` does of all bodies.
    """
    kinetic = 0.0
    potential = 0.0
    for b in range(1, model.nb):
        own = window(data.bodies, b * at.BODY_ROWS, at.BODY_ROWS)
        moving, lifted = energy_of_body(window(model.inertia, 10 * b, 10), own)
        kinetic += moving
        potential += lifted
    elastic = 0.0
    for i in range(model.nv):
        dof = window(model.dof, at.DOF_NUMBERS * i, at.DOF_NUMBERS)
        kinetic += 0.5 * dof[at.ARMATURE] * v[i] * v[i]
        if dof[at.STIFFNESS] != 0.0:
            j = joint_of(model, i)
            if j >= 0:
                stretch = wound(model, i, j, q)
            else:
                stretch = q[model.q_of_v[i]] - dof[at.REFERENCE]
            elastic += 0.5 * dof[at.STIFFNESS] * stretch * stretch
    out[0], out[1], out[2] = kinetic, potential, elastic


@kernel(fastmath=FAST, forceinline=True)
def momentum_of_body(inertia, own):
    """Write FORCE and MOMENT, here linear momentum and angular momentum about the body origin, FIRST_MOMENT
    and MASS; reads OMEGA and VELOCITY."""
    mass, cx, cy, cz = inertia[0], inertia[1], inertia[2], inertia[3]
    wx, wy, wz = load3(own, at.OMEGA)
    ux, uy, uz = load3(own, at.VELOCITY)
    hx, hy, hz = symmetric(load6(inertia, 4), wx, wy, wz)
    tx, ty, tz = cross(cx, cy, cz, ux, uy, uz)
    store3(own, at.MOMENT, hx + tx, hy + ty, hz + tz)
    tx, ty, tz = cross(wx, wy, wz, cx, cy, cz)
    store3(own, at.FORCE, mass * ux + tx, mass * uy + ty, mass * uz + tz)
    store3(own, at.FIRST_MOMENT, cx, cy, cz)
    own[at.MASS] = mass


@kernel(fastmath=FAST, forceinline=True)
def momenta(model, data, out):
    """out = angular momentum about the world origin (3), linear momentum (3), first moment of mass (3), mass;
    world axes.

    Reads what `momentum_of_body` wrote for all bodies. Rotors count with their joint's armature only, not
    here.
    """
    for i in range(10):
        out[i] = 0.0
    for b in range(model.nb - 1, 0, -1):
        p = model.parent[b]
        own = window(data.bodies, b * at.BODY_ROWS, at.BODY_ROWS)
        m = load9(own, at.ROTATION)
        ox, oy, oz = load3(own, at.ORIGIN)
        lx, ly, lz = load3(own, at.FORCE)
        hx, hy, hz = load3(own, at.MOMENT)
        cx, cy, cz = load3(own, at.FIRST_MOMENT)
        mass = own[at.MASS]
        lx, ly, lz = turn(m, lx, ly, lz)
        hx, hy, hz = turn(m, hx, hy, hz)
        cx, cy, cz = turn(m, cx, cy, cz)
        tx, ty, tz = cross(ox, oy, oz, lx, ly, lz)
        hx, hy, hz = hx + tx, hy + ty, hz + tz
        cx, cy, cz = cx + mass * ox, cy + mass * oy, cz + mass * oz
        if p > 0:
            below = window(data.bodies, p * at.BODY_ROWS, at.BODY_ROWS)
            add3(below, at.FORCE, lx, ly, lz)
            add3(below, at.MOMENT, hx, hy, hz)
            add3(below, at.FIRST_MOMENT, cx, cy, cz)
            below[at.MASS] += mass
        else:
            add3(out, 0, hx, hy, hz)
            add3(out, 3, lx, ly, lz)
            add3(out, 6, cx, cy, cz)
            out[9] += mass
