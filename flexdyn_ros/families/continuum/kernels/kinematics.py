"""Where the slices of a soft arm are in the world, how they move, and what they carry: poses, Jacobians,
energies, momenta, external wrenches.
"""

from __future__ import annotations

from flexdyn_ros.numerics.algebra.series import bending_functions
from flexdyn_ros.numerics.compiling.compiler import inlined, kernel

from . import views as at
from .algebra import add, column, cross, dot, put, sum2, times, transposed_times, vector
from .mass import only_section
from .modal import ANGULAR, GRAVITY, TWICE, chain_results, column_motion, modal_functions, reach_slice, sweep
from .recursions import body_times, load_states, tip_rates
from .section import (
    actuator_forces,
    fill_nodes,
    fill_slice,
    move_end,
    place_end,
    slice_motion,
    slice_normal,
    slice_point,
    slice_rotation,
    slice_shift,
    slice_turn,
    stop_depth,
)


@kernel
def turn_onto(out, o, R, r, Q, k):
    """Rotation at o = R at r times Q at k; out must be another array or another place."""
    for j in range(3):
        a = times(R, r, (Q[k + j], Q[k + 3 + j], Q[k + 6 + j]))
        out[o + j], out[o + 3 + j], out[o + 6 + j] = a


@kernel
def place_sections(arm, work):
    """World poses of all section bases and their tips against them, from rows X."""
    E = at.node_rows(arm, work)
    for i in range(arm.n):
        P, W = at.section_numbers(arm, i), at.section_rows(work, i)
        zero = 0.0 * W[at.X]
        if i == 0:
            for k in range(9):
                W[at.WORLD_ROTATION + k] = P[at.PLACEMENT + k] + zero
            put(W, at.WORLD_POINT, sum2(vector(P, at.PLACEMENT + 9), (zero, zero, zero)))
        else:
            below = at.section_rows(work, i - 1)
            # tip of the section below: rotation in spare rows of this section
            turn_onto(W, at.TIP, below, at.WORLD_ROTATION, below, at.END_ROTATION)
            turn_onto(W, at.WORLD_ROTATION, W, at.TIP, P, at.PLACEMENT)
            tip = sum2(
                vector(below, at.WORLD_POINT), times(below, at.WORLD_ROTATION, vector(below, at.END_POINT))
            )
            put(W, at.WORLD_POINT, sum2(tip, times(W, at.TIP, vector(P, at.PLACEMENT + 9))))
        place_end(W, E)
        if arm.mass_model == at.MODAL:
            put(W, at.END_POINT, modal_slice(arm, P, E, 1.0, vector(W, at.X), W, at.END_ROTATION))


@kernel
def modal_slice(arm, P, E, eta, x, R, r):
    """Centre of a slice in the modal kinematics; its (not quite orthonormal) rotation goes to r of R."""
    f, f1, f2, g, g1, g2, fs, fs1, gs, gs1, S, S1, S2, b, b1, b2 = modal_functions(P, arm.order, eta, x)
    # E lends its rows to the functions that make the rotation
    E[0], E[3] = b, S
    slice_rotation(E, 0, x, R, r)
    return f * x[0], f * x[1], g


@kernel
def place_slice(arm, work, i, eta, R, r):
    """World position of a slice of section i; its rotation goes to r of R. Section -1 is the world itself."""
    if i < 0:
        zero = 0.0 * work[0]
        for k in range(9):
            R[r + k] = zero
        R[r] = R[r + 4] = R[r + 8] = 1.0 + zero
        return zero, zero, zero
    P, W, E = at.section_numbers(arm, i), at.section_rows(work, i), at.node_rows(arm, work)
    x = vector(W, at.X)
    if arm.mass_model == at.MODAL:
        p = modal_slice(arm, P, E, eta, x, E, 16)
    else:
        fill_slice(E, 0, eta, x[0] * x[0] + x[1] * x[1])
        slice_rotation(E, 0, x, E, 16)
        p = slice_point(E, 0, x)
    turn_onto(R, r, W, at.WORLD_ROTATION, E, 16)
    return sum2(vector(W, at.WORLD_POINT), times(W, at.WORLD_ROTATION, p))


@inlined
def frame_of_slice(arm, work, i, eta, placement, pose):
    """Pose (4, 4) of a frame fixed to a slice, with placement (12,) in its axes."""
    E = at.node_rows(arm, work)
    p = place_slice(arm, work, i, eta, E, 32)
    turn_onto(E, 48, E, 32, placement, 0)
    p = sum2(p, times(E, 32, vector(placement, 9)))
    for r in range(3):
        for c in range(3):
            pose[r, c] = E[48 + 3 * r + c]
        pose[r, 3] = p[r]
        pose[3, r] = 0.0
    pose[3, 3] = 1.0


@kernel
def put_motion(P, J, i, turn, shift):
    """Columns of section i of a Jacobian (6, nv), from angular velocities and velocities per (ux, uy, s)."""
    for r in range(3):
        row = J[r]
        row[3 * i], row[3 * i + 1], row[3 * i + 2] = actuator_forces(P, (turn[0][r], turn[1][r], turn[2][r]))
        row = J[3 + r]
        row[3 * i], row[3 * i + 1], row[3 * i + 2] = actuator_forces(
            P, (shift[0][r], shift[1][r], shift[2][r])
        )


@kernel
def carried(W, turn, shift, arm_of_point):
    """World axes: (angular velocity, velocity of a point carried along), of a motion in base axes."""
    w = times(W, at.WORLD_ROTATION, turn)
    return w, sum2(times(W, at.WORLD_ROTATION, shift), cross(w, arm_of_point))


@inlined
def jacobian_of_slice(arm, work, i, eta, point, J):
    """Jacobian (6, nv) of a point (3,) fixed to a slice of section i, in its axes; world axes, angular
    first.
    """
    for c in range(3 * arm.n):
        for r in range(6):
            J[r, c] = 0.0
    if i < 0:
        return
    if arm.mass_model == at.MODAL:
        F = reach_slice(arm, work, i, eta)
        for k in range(3 * i + 3):
            w, v = column_motion(F, k, vector(point, 0))
            for r in range(3):
                J[r, k] = w[r]
                J[3 + r, k] = v[r]
        return
    E = at.node_rows(arm, work)
    p = place_slice(arm, work, i, eta, E, 32)
    offset = times(E, 32, vector(point, 0))
    place = sum2(p, offset)
    for m in range(i + 1):
        P, W = at.section_numbers(arm, m), at.section_rows(work, m)
        x = vector(W, at.X)
        if m < i:
            tip = sum2(vector(W, at.WORLD_POINT), times(W, at.WORLD_ROTATION, vector(W, at.END_POINT)))
            away = place[0] - tip[0], place[1] - tip[1], place[2] - tip[2]
            w0, v0 = carried(W, column(W, at.END_TURN, 0), column(W, at.END_SHIFT, 0), away)
            w1, v1 = carried(W, column(W, at.END_TURN, 1), column(W, at.END_SHIFT, 1), away)
            w2, v2 = carried(W, column(W, at.END_TURN, 2), column(W, at.END_SHIFT, 2), away)
        else:
            fill_slice(E, 0, eta, x[0] * x[0] + x[1] * x[1])
            w0, v0 = carried(W, slice_turn(E, 0, x, 0), slice_shift(E, 0, x, 0), offset)
            w1, v1 = carried(W, slice_turn(E, 0, x, 1), slice_shift(E, 0, x, 1), offset)
            w2, v2 = carried(W, slice_turn(E, 0, x, 2), slice_shift(E, 0, x, 2), offset)
        put_motion(P, J, m, (w0, w1, w2), (v0, v1, v2))


@kernel
def turn_of_load(arm, P, E, eta, x, j):
    """(angular velocity, velocity) of a slice per x'_j, base axes."""
    fill_slice(E, 0, eta, x[0] * x[0] + x[1] * x[1])
    return slice_turn(E, 0, x, j), slice_shift(E, 0, x, j)


@inlined
def add_load(arm, work, i, eta, point, wrench, tau):
    """tau += J^T w of a wrench (6,) (moment; force) in world axes at a point (3,) of a slice; rows are
    placed.
    """
    if i < 0:
        return
    E = at.node_rows(arm, work)
    n, f = vector(wrench, 0), vector(wrench, 3)
    if arm.mass_model == at.MODAL:
        F = reach_slice(arm, work, i, eta)
        for k in range(3 * i + 3):
            w, v = column_motion(F, k, vector(point, 0))
            tau[k] += dot(n, w) + dot(f, v)
        return
    p = place_slice(arm, work, i, eta, E, 32)
    offset = times(E, 32, vector(point, 0))
    place = sum2(p, offset)
    for m in range(i + 1):
        P, W = at.section_numbers(arm, m), at.section_rows(work, m)
        x = vector(W, at.X)
        local_f = transposed_times(W, at.WORLD_ROTATION, f)
        if m < i:
            tip = sum2(vector(W, at.WORLD_POINT), times(W, at.WORLD_ROTATION, vector(W, at.END_POINT)))
            moment = sum2(n, cross((place[0] - tip[0], place[1] - tip[1], place[2] - tip[2]), f))
            local_n = transposed_times(W, at.WORLD_ROTATION, moment)
            on_x = sum2(transposed_times(W, at.END_TURN, local_n), transposed_times(W, at.END_SHIFT, local_f))
        else:
            local_n = transposed_times(W, at.WORLD_ROTATION, sum2(n, cross(offset, f)))
            t0, s0 = turn_of_load(arm, P, E, eta, x, 0)
            t1, s1 = turn_of_load(arm, P, E, eta, x, 1)
            t2, s2 = turn_of_load(arm, P, E, eta, x, 2)
            on_x = (
                dot(t0, local_n) + dot(s0, local_f),
                dot(t1, local_n) + dot(s1, local_f),
                dot(t2, local_n) + dot(s2, local_f),
            )
        add(tau, 3 * m, actuator_forces(P, on_x))


# ---- energies and momenta ----


@kernel
def move_sections(arm, work, q, v):
    """Poses of all bases, their angular velocities and velocities (base axes)."""
    load_states(arm, work, q, v)
    place_sections(arm, work)
    E = at.node_rows(arm, work)
    zero = 0.0 * q[0]
    rest = zero, zero, zero
    omega, velocity = rest, rest
    for i in range(arm.n):
        P, W = at.section_numbers(arm, i), at.section_rows(work, i)
        if i > 0:
            below = at.section_rows(work, i - 1)
            speed = sum2(
                sum2(velocity, vector(below, at.END_SPEED)), cross(omega, vector(below, at.END_POINT))
            )
            speed = transposed_times(below, at.END_ROTATION, speed)
            omega = tip_rates(below, omega)
            velocity = transposed_times(
                P, at.PLACEMENT, sum2(speed, cross(omega, vector(P, at.PLACEMENT + 9)))
            )
            omega = transposed_times(P, at.PLACEMENT, omega)
        put(W, at.OMEGA, omega)
        put(W, at.VELOCITY, velocity)
        place_end(W, E)
        move_end(W, E, rest)


@kernel
def centre_of_section(x):
    """Centre of mass of the section itself, base axes."""
    S, B, C, S1, B1, C1, S2, B2, C2 = bending_functions(x[0] * x[0] + x[1] * x[1])
    return x[2] * C * x[0], x[2] * C * x[1], x[2] * B


@kernel
def stored(P, W, q, i):
    """Energy of springs, stops and bending stiffness of section i [J]."""
    e = 0.125 * P[at.BENDING_SPRING] * (W[at.X] * W[at.X] + W[at.X + 1] * W[at.X + 1])
    for k in range(3):
        l = q[3 * i + k]
        depth = stop_depth(P, k, l)
        e += 0.5 * P[at.SPRING + k] * l * l + 0.5 * P[at.STOP_SPRING] * depth * depth
    return e


@kernel
def tip_velocity(W):
    """(angular velocity, velocity) of the tip, tip axes."""
    omega = vector(W, at.OMEGA)
    v = sum2(sum2(vector(W, at.VELOCITY), vector(W, at.END_SPEED)), cross(omega, vector(W, at.END_POINT)))
    return tip_rates(W, omega), transposed_times(W, at.END_ROTATION, v)


@kernel
def section_momentum(arm, P, W, E):
    """(2 x kinetic energy, angular momentum about the base origin, linear momentum) of a section's own mass,
    base axes."""
    x, xd, omega, velocity = vector(W, at.X), vector(W, at.XD), vector(W, at.OMEGA), vector(W, at.VELOCITY)
    zero = 0.0 * x[0]
    rest = zero, zero, zero
    fill_nodes(arm, P, E, x[0] * x[0] + x[1] * x[1])
    twice, angular, linear = zero, rest, rest
    first = int(P[at.FIRST_NODE])
    for j in range(int(P[at.NODE_COUNT])):
        m = P[at.MASS] * arm.nodes[2 * (first + j) + 1]
        p, t = slice_point(E, 8 * j, x), slice_normal(E, 8 * j, x)
        v, a, w, alpha = slice_motion(E, 8 * j, x, xd, rest)
        v = sum2(sum2(velocity, v), cross(omega, p))
        w = sum2(omega, w)
        r = m * P[at.ROTARY]
        spin = dot(t, w)
        twice += m * dot(v, v) + r * (dot(w, w) + spin * spin)
        mv = m * v[0], m * v[1], m * v[2]
        linear = sum2(linear, mv)
        angular = sum2(angular, cross(p, mv))
        angular = (
            angular[0] + r * (w[0] + spin * t[0]),
            angular[1] + r * (w[1] + spin * t[1]),
            angular[2] + r * (w[2] + spin * t[2]),
        )
    return twice, angular, linear


@inlined
def arm_energies(arm, work, q, v, energy):
    """Kinetic, gravity and elastic energy (3,)."""
    if arm.mass_model == at.MODAL:
        sweep(arm, work, q, v, vector(arm.numbers, 0))
        M, h, sums = chain_results(arm, work)
        energy[0], energy[1], energy[2] = 0.5 * sums[TWICE], sums[GRAVITY], 0.0 * sums[TWICE]
        for i in range(arm.n):
            energy[2] += stored(at.section_numbers(arm, i), at.section_rows(work, i), q, i)
        return
    move_sections(arm, work, q, v)
    E = at.node_rows(arm, work)
    g = vector(arm.numbers, 0)
    zero = 0.0 * q[0]
    twice, gravity, elastic = zero, zero, zero
    for i in range(arm.n):
        P, W = at.section_numbers(arm, i), at.section_rows(work, i)
        elastic += stored(P, W, q, i)
        c = centre_of_section(vector(W, at.X))
        place = sum2(vector(W, at.WORLD_POINT), times(W, at.WORLD_ROTATION, c))
        gravity -= P[at.MASS] * dot(g, place)
        place_tip_moment = times(W, at.END_ROTATION, vector(P, at.BODY + 1))
        moment = times(W, at.WORLD_ROTATION, place_tip_moment)
        tip = sum2(vector(W, at.WORLD_POINT), times(W, at.WORLD_ROTATION, vector(W, at.END_POINT)))
        gravity -= P[at.BODY] * dot(g, tip) + dot(g, moment)
        w, u = tip_velocity(W)
        h = vector(P, at.BODY + 1)
        twice += P[at.BODY] * dot(u, u) + 2.0 * dot(u, cross(w, h)) + dot(w, body_times(P, w))
        if arm.n == 1 and arm.mass_model != at.QUADRATURE:
            only_section(arm, P, W, E)
            xd = vector(W, at.XD)
            for r in range(3):
                twice += W[at.XD + r] * dot(vector(W, at.INERTIA + 3 * r), xd)
        else:
            own, angular, linear = section_momentum(arm, P, W, E)
            twice += own
    energy[0], energy[1], energy[2] = 0.5 * twice, gravity, elastic


@inlined
def arm_momenta(arm, work, q, v, out):
    """Angular momentum about the world origin, momentum, first moment of mass, mass: out (10,), world
    axes.
    """
    if arm.mass_model == at.MODAL:
        sweep(arm, work, q, v, vector(arm.numbers, 0))
        M, h, sums = chain_results(arm, work)
        for k in range(10):
            out[k] = sums[ANGULAR + k]
        return
    move_sections(arm, work, q, v)
    E = at.node_rows(arm, work)
    for k in range(10):
        out[k] = 0.0
    for i in range(arm.n):
        P, W = at.section_numbers(arm, i), at.section_rows(work, i)
        own, angular, linear = section_momentum(arm, P, W, E)
        base = vector(W, at.WORLD_POINT)
        linear = times(W, at.WORLD_ROTATION, linear)
        add(out, 0, sum2(times(W, at.WORLD_ROTATION, angular), cross(base, linear)))
        add(out, 3, linear)
        c = sum2(base, times(W, at.WORLD_ROTATION, centre_of_section(vector(W, at.X))))
        m = P[at.MASS]
        add(out, 6, (m * c[0], m * c[1], m * c[2]))
        w, u = tip_velocity(W)
        h = vector(P, at.BODY + 1)
        linear = cross(w, h)
        linear = P[at.BODY] * u[0] + linear[0], P[at.BODY] * u[1] + linear[1], P[at.BODY] * u[2] + linear[2]
        angular = sum2(body_times(P, w), cross(h, u))
        linear = times(W, at.WORLD_ROTATION, times(W, at.END_ROTATION, linear))
        angular = times(W, at.WORLD_ROTATION, times(W, at.END_ROTATION, angular))
        tip = sum2(base, times(W, at.WORLD_ROTATION, vector(W, at.END_POINT)))
        add(out, 0, sum2(angular, cross(tip, linear)))
        add(out, 3, linear)
        h = times(W, at.WORLD_ROTATION, times(W, at.END_ROTATION, h))
        add(out, 6, (P[at.BODY] * tip[0] + h[0], P[at.BODY] * tip[1] + h[1], P[at.BODY] * tip[2] + h[2]))
        out[9] += m + P[at.BODY]
