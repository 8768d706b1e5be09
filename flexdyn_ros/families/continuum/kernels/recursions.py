"""Recursions over the sections of a soft arm, O(n): inverse and forward dynamics, mass matrix.

Velocities and accelerations of section bases go outward, wrenches and inertias inward
(docs/theory/continuum.md, "Several sections"; for joints of one freedom Featherstone 2008, chapters 5 to 7).
The base of the first section stands still and accelerates against gravity.
"""

from __future__ import annotations

from flexdyn_ros.numerics.compiling.compiler import inlined, kernel

from . import views as at
from .algebra import (
    add,
    add_column,
    add_shifted_inertia,
    column,
    cross,
    dot,
    invert_symmetric,
    put,
    sum2,
    times,
    transposed_times,
    turn_inertia,
    vector,
    wrench_of,
)
from .mass import only_section
from .modal import modal_forward, modal_inverse, modal_mass
from .section import (
    SIN_120,
    actuator_forces,
    actuators_of,
    bending_forces,
    fill_nodes,
    load_state,
    move_end,
    place_end,
    put_first_moment,
    resistance,
    slice_forces,
    slice_inertia,
    stop_slope,
    velocity_forces,
)
from .views import node_rows, section_numbers, section_rows, spare_vector


@kernel
def base_gravity(arm):
    """Gravity in the axes of the first base, where the recursion outward begins."""
    return transposed_times(arm.sections, at.PLACEMENT, vector(arm.numbers, 0))


@kernel
def load_states(arm, work, q, v):
    """Rows X and XD of all sections from q and v."""
    for i in range(arm.n):
        P, W = section_numbers(arm, i), section_rows(work, i)
        load_state(P, W, q, i, at.X, P[at.LENGTH])
        load_state(P, W, v, i, at.XD, 0.0)


@kernel
def resist(P, W, q, v, i, h):
    """Forces on (ux, uy, s) against section i: springs, dampers, bending stiffness, and stops as after a step
    of h at these rates."""
    f = bending_forces(
        P,
        (
            resistance(P, 0, q[3 * i], v[3 * i], h),
            resistance(P, 1, q[3 * i + 1], v[3 * i + 1], h),
            resistance(P, 2, q[3 * i + 2], v[3 * i + 2], h),
        ),
    )
    k = 0.25 * P[at.BENDING_SPRING]
    return f[0] + k * W[at.X], f[1] + k * W[at.X + 1], f[2]


@kernel
def body_at_rest(P, W, k):
    """Inertia of the rigid body of a section at k of W, tip axes."""
    m, hx, hy, hz = P[at.BODY], P[at.BODY + 1], P[at.BODY + 2], P[at.BODY + 3]
    zero = 0.0 * W[at.X]
    put_first_moment(W, k, m, (hx + zero, hy + zero, hz + zero))
    W[k], W[k + 1], W[k + 2] = P[at.BODY + 4], P[at.BODY + 5], P[at.BODY + 6]
    W[k + 3], W[k + 4], W[k + 5] = P[at.BODY + 5], P[at.BODY + 7], P[at.BODY + 8]
    W[k + 6], W[k + 7], W[k + 8] = P[at.BODY + 6], P[at.BODY + 8], P[at.BODY + 9]


@kernel
def body_times(P, a):
    """Inertia of the rigid body about the tip's origin, times a."""
    return (
        P[at.BODY + 4] * a[0] + P[at.BODY + 5] * a[1] + P[at.BODY + 6] * a[2],
        P[at.BODY + 5] * a[0] + P[at.BODY + 7] * a[1] + P[at.BODY + 8] * a[2],
        P[at.BODY + 6] * a[0] + P[at.BODY + 8] * a[1] + P[at.BODY + 9] * a[2],
    )


@kernel
def body_wrench(P, omega, alpha, a):
    """Moment about the tip's origin and force that the rigid body takes, tip axes."""
    h = vector(P, at.BODY + 1)
    m = P[at.BODY]
    f = sum2(cross(alpha, h), cross(omega, cross(omega, h)))
    f = f[0] + m * a[0], f[1] + m * a[1], f[2] + m * a[2]
    n = sum2(sum2(body_times(P, alpha), cross(omega, body_times(P, omega))), cross(h, a))
    return n, f


@kernel
def tip_rates(W, omega):
    """Angular velocity of the tip in tip axes."""
    return transposed_times(W, at.END_ROTATION, sum2(omega, vector(W, at.END_OMEGA)))


@kernel
def tip_accelerations(W, omega, alpha, a):
    """Accelerations of the tip from those of the base and rows END_*, tip axes; x'' is in these rows."""
    p = vector(W, at.END_POINT)
    v = vector(W, at.END_SPEED)
    turning = sum2(sum2(alpha, vector(W, at.END_ALPHA)), cross(omega, vector(W, at.END_OMEGA)))
    carried = cross(omega, p)
    inner_part = cross(omega, (carried[0] + 2.0 * v[0], carried[1] + 2.0 * v[1], carried[2] + 2.0 * v[2]))
    linear = sum2(sum2(a, vector(W, at.END_BIAS)), sum2(cross(alpha, p), inner_part))
    return transposed_times(W, at.END_ROTATION, turning), transposed_times(W, at.END_ROTATION, linear)


@kernel
def next_base(P, omega, alpha, a):
    """Motion of the base of the section with numbers P, from that of the tip it stands on."""
    p = vector(P, at.PLACEMENT + 9)
    a = sum2(a, sum2(cross(alpha, p), cross(omega, cross(omega, p))))
    return (
        transposed_times(P, at.PLACEMENT, omega),
        transposed_times(P, at.PLACEMENT, alpha),
        transposed_times(P, at.PLACEMENT, a),
    )


@kernel
def wrench_to_tip(P, n, f):
    """A wrench at the base of the section with numbers P, at the tip that it stands on."""
    f = times(P, at.PLACEMENT, f)
    return sum2(times(P, at.PLACEMENT, n), cross(vector(P, at.PLACEMENT + 9), f)), f


@kernel
def onto_section(W, n, f):
    """Forces on (ux, uy, s) of a wrench at the tip in base axes."""
    return sum2(transposed_times(W, at.END_TURN, n), transposed_times(W, at.END_SHIFT, f))


# ---- inverse dynamics ----


@inlined
def own_forces(arm, P, W, E):
    """Forces of a section's own mass in rows FORCE and BASE_WRENCH, from rows X to ACCELERATION."""
    xdd, acceleration = vector(W, at.XDD), vector(W, at.ACCELERATION)
    if arm.n == 1:
        only_section(arm, P, W, E)
        for j in range(3):
            W[at.FORCE + j] += dot(vector(W, at.INERTIA + 3 * j), xdd) + dot(
                column(W, at.COUPLING_SHIFT, j), acceleration
            )
        return
    x = vector(W, at.X)
    fill_nodes(arm, P, E, x[0] * x[0] + x[1] * x[1])
    on_x, n, f = slice_forces(arm, P, W, E, xdd, vector(W, at.OMEGA), vector(W, at.ALPHA), acceleration)
    put(W, at.FORCE, on_x)
    put(W, at.BASE_WRENCH, n)
    put(W, at.BASE_WRENCH + 3, f)


@kernel
def inverse_recursion(arm, work, q, v, a, gravity_scale, tau):
    """tau = M a + C v + gravity_scale x gravity, without springs and dampers (see `add_resistance`)."""
    if arm.mass_model == at.MODAL:
        modal_inverse(arm, work, q, v, a, gravity_scale, tau)
        return
    load_states(arm, work, q, v)
    E = node_rows(arm, work)
    zero = 0.0 * q[0] + 0.0 * v[0] + 0.0 * a[0]
    g = base_gravity(arm)
    omega, alpha = (zero, zero, zero), (zero, zero, zero)
    acceleration = zero - gravity_scale * g[0], zero - gravity_scale * g[1], zero - gravity_scale * g[2]
    for i in range(arm.n):
        P, W = section_numbers(arm, i), section_rows(work, i)
        if i > 0:
            omega, alpha, acceleration = next_base(P, omega, alpha, acceleration)
        load_state(P, W, a, i, at.XDD, 0.0)
        put(W, at.OMEGA, omega)
        put(W, at.ALPHA, alpha)
        put(W, at.ACCELERATION, acceleration)
        own_forces(arm, P, W, E)
        if is_bare(arm):
            tau[0], tau[1], tau[2] = actuator_forces(P, vector(W, at.FORCE))
            return
        place_end(W, E)
        move_end(W, E, vector(W, at.XDD))
        alpha, acceleration = tip_accelerations(W, omega, alpha, acceleration)
        omega = tip_rates(W, omega)
        n, f = body_wrench(P, omega, alpha, acceleration)
        put(W, at.TIP_WRENCH, n)
        put(W, at.TIP_WRENCH + 3, f)
    for k in range(arm.n):
        i = arm.n - 1 - k
        P, W = section_numbers(arm, i), section_rows(work, i)
        n = times(W, at.END_ROTATION, vector(W, at.TIP_WRENCH))
        f = times(W, at.END_ROTATION, vector(W, at.TIP_WRENCH + 3))
        on_x = sum2(vector(W, at.FORCE), onto_section(W, n, f))
        tau[3 * i], tau[3 * i + 1], tau[3 * i + 2] = actuator_forces(P, on_x)
        if i > 0:
            n = sum2(sum2(n, cross(vector(W, at.END_POINT), f)), vector(W, at.BASE_WRENCH))
            f = sum2(f, vector(W, at.BASE_WRENCH + 3))
            n, f = wrench_to_tip(P, n, f)
            below = section_rows(work, i - 1)
            add(below, at.TIP_WRENCH, n)
            add(below, at.TIP_WRENCH + 3, f)


@kernel
def add_resistance(arm, work, q, v, tau):
    """tau += springs, dampers, stops and bending stiffness; rows X are those of q."""
    for i in range(arm.n):
        P, W = section_numbers(arm, i), section_rows(work, i)
        f = actuator_forces(P, resist(P, W, q, v, i, 0.0))
        add(tau, 3 * i, f)


# ---- forward dynamics ----


@kernel
def gather_end(W, body, fixed):
    """Add the inertia in rows TIP to INERTIA and to the rows of the coupling; to BASE too unless `fixed`."""
    turn_inertia(W, at.END_INERTIA, W, at.END_ROTATION, W, at.TIP)
    p = vector(W, at.END_POINT)
    for j in range(3):
        n, f = wrench_of(W, at.END_INERTIA, column(W, at.END_TURN, j), column(W, at.END_SHIFT, j))
        on_x = onto_section(W, n, f)
        add_column(W, at.INERTIA, j, on_x)
        add_column(W, at.COUPLING_SHIFT, j, f)
        if not fixed:
            add_column(W, at.COUPLING_TURN, j, sum2(n, cross(p, f)))
    if not fixed:
        add_shifted_inertia(W, at.BASE, W, at.END_INERTIA, p)


@kernel
def eliminate(W):
    """BASE and BASE_WRENCH with x'' eliminated; INERTIA holds the inverse already."""
    f = vector(W, at.FORCE)
    for j in range(3):
        # row j of the inverse times U^T, and the acceleration that is free of the base's
        d = vector(W, at.INERTIA + 3 * j)
        free = dot(d, f)
        turn, shift = column(W, at.COUPLING_TURN, j), column(W, at.COUPLING_SHIFT, j)
        add(W, at.BASE_WRENCH, (turn[0] * free, turn[1] * free, turn[2] * free))
        add(W, at.BASE_WRENCH + 3, (shift[0] * free, shift[1] * free, shift[2] * free))
        for c in range(3):
            ut = dot(d, vector(W, at.COUPLING_TURN + 3 * c))
            us = dot(d, vector(W, at.COUPLING_SHIFT + 3 * c))
            for r in range(3):
                tr = W[at.COUPLING_TURN + 3 * r + j]
                W[at.BASE + 3 * r + c] -= tr * ut
                W[at.BASE + 9 + 3 * r + c] -= tr * us
                W[at.BASE + 18 + 3 * r + c] -= W[at.COUPLING_SHIFT + 3 * r + j] * us


@kernel
def add_implicit(P, W, q, v, extra, i, h):
    """INERTIA += what an implicit step of h makes of springs, dampers and stops, and `extra` on the
    actuators."""
    r = P[at.RADIUS]
    bend = 0.25 * h * h * P[at.BENDING_SPRING]
    W[at.INERTIA] += bend
    W[at.INERTIA + 4] += bend
    for k in range(3):
        e = extra[3 * i + k] + h * P[at.DAMPER + k] + h * h * P[at.SPRING + k]
        e += stop_slope(P, k, q[3 * i + k], v[3 * i + k], h)
        # row of the map from (ux, uy, s) to the actuator
        row = -r if k == 0 else 0.5 * r, 0.0 if k == 0 else (-SIN_120 * r if k == 1 else SIN_120 * r), 1.0
        W[at.INERTIA] += e * row[0] * row[0]
        W[at.INERTIA + 4] += e * row[1] * row[1]
        W[at.INERTIA + 8] += e
        W[at.INERTIA + 1] += e * row[0] * row[1]
        W[at.INERTIA + 3] += e * row[0] * row[1]
        W[at.INERTIA + 2] += e * row[0]
        W[at.INERTIA + 6] += e * row[0]
        W[at.INERTIA + 5] += e * row[1]
        W[at.INERTIA + 7] += e * row[1]


@kernel
def implicit_force(P, W, i, v, h):
    """Forces on (ux, uy, s) of h K v, that is of what springs gain over a step."""
    K = vector(P, at.SPRING)
    f = bending_forces(P, (h * K[0] * v[3 * i], h * K[1] * v[3 * i + 1], h * K[2] * v[3 * i + 2]))
    k = 0.25 * h * P[at.BENDING_SPRING]
    return f[0] + k * W[at.XD], f[1] + k * W[at.XD + 1], f[2]


@kernel
def is_bare(arm):
    """True for a single section that carries nothing."""
    s = 0.0
    for i in range(10):
        s += abs(arm.sections[at.BODY + i])
    return arm.n == 1 and s == 0.0


@inlined
def forward_alone(arm, work, E, q, v, tau, extra, h, a):
    """`forward_recursion` of a bare section."""
    P, W = section_numbers(arm, 0), section_rows(work, 0)
    only_section(arm, P, W, E)
    bias = sum2(sum2(vector(W, at.FORCE), resist(P, W, q, v, 0, h)), implicit_force(P, W, 0, v, h))
    weight = transposed_times(W, at.COUPLING_SHIFT, base_gravity(arm))
    effort = bending_forces(P, (tau[0], tau[1], tau[2]))
    left = sum2(effort, weight)
    add_implicit(P, W, q, v, extra, 0, h)
    invert_symmetric(W, at.INERTIA)
    xdd = times(W, at.INERTIA, (left[0] - bias[0], left[1] - bias[1], left[2] - bias[2]))
    a[0], a[1], a[2] = actuators_of(P, xdd)


@inlined
def forward_by_modes(arm, work, q, v, tau, extra, h, a):
    """`forward_recursion` with modal kinematics."""
    load_states(arm, work, q, v)
    force = spare_vector(arm, work, 2)
    for i in range(arm.n):
        P, W = section_numbers(arm, i), section_rows(work, i)
        f = actuator_forces(P, resist(P, W, q, v, i, h))
        for k in range(3):
            against = f[0] if k == 0 else (f[1] if k == 1 else f[2])
            force[3 * i + k] = tau[3 * i + k] - against
    modal_forward(arm, work, q, v, force, extra, h, a)


@kernel
def spread_nan(a):
    """All of a is NaN if one number is."""
    bad = 0.0 * a[0]
    for i in range(a.shape[0]):
        bad += a[i] - a[i]
    for i in range(a.shape[0]):
        a[i] += bad


@kernel
def forward_recursion(arm, work, q, v, tau, extra, h, a):
    """a of [M + diag(extra) + h D + h^2 K] a = tau - bias(q, v) - h K v; NaN where that matrix is singular.

    K and D are springs, dampers, and the stops as they are where the rates take the actuators within h; h = 0
    and extra = 0 give forward dynamics.
    """
    if arm.mass_model == at.MODAL:
        forward_by_modes(arm, work, q, v, tau, extra, h, a)
        return
    load_states(arm, work, q, v)
    E = node_rows(arm, work)
    if is_bare(arm):
        forward_alone(arm, work, E, q, v, tau, extra, h, a)
        return
    zero = 0.0 * q[0]
    rest = zero, zero, zero
    omega = rest
    for i in range(arm.n):
        P, W = section_numbers(arm, i), section_rows(work, i)
        if i > 0:
            omega = transposed_times(P, at.PLACEMENT, omega)
        put(W, at.OMEGA, omega)
        place_end(W, E)
        move_end(W, E, rest)
        omega = tip_rates(W, omega)
        body_at_rest(P, W, at.TIP)
        n, f = body_wrench(P, omega, rest, rest)
        put(W, at.TIP_WRENCH, n)
        put(W, at.TIP_WRENCH + 3, f)
    for k in range(arm.n):
        i = arm.n - 1 - k
        P, W = section_numbers(arm, i), section_rows(work, i)
        omega = vector(W, at.OMEGA)
        if arm.n == 1:
            only_section(arm, P, W, E)
        else:
            y = W[at.X] * W[at.X] + W[at.X + 1] * W[at.X + 1]
            fill_nodes(arm, P, E, y)
            slice_inertia(arm, P, W, E, at.BASE)
            on_x, n, f = velocity_forces(arm, P, W, E, omega)
            put(W, at.FORCE, on_x)
            put(W, at.BASE_WRENCH, n)
            put(W, at.BASE_WRENCH + 3, f)
        # the tip under accelerations that are there when those of base and section are zero
        alpha, acceleration = tip_accelerations(W, omega, rest, rest)
        n, f = wrench_of(W, at.TIP, alpha, acceleration)
        n = times(W, at.END_ROTATION, sum2(n, vector(W, at.TIP_WRENCH)))
        f = times(W, at.END_ROTATION, sum2(f, vector(W, at.TIP_WRENCH + 3)))
        gather_end(W, at.TIP, i == 0)
        bias = sum2(sum2(vector(W, at.FORCE), onto_section(W, n, f)), resist(P, W, q, v, i, h))
        effort = bending_forces(P, (tau[3 * i], tau[3 * i + 1], tau[3 * i + 2]))
        bias = sum2(bias, implicit_force(P, W, i, v, h))
        put(W, at.FORCE, (effort[0] - bias[0], effort[1] - bias[1], effort[2] - bias[2]))
        add_implicit(P, W, q, v, extra, i, h)
        invert_symmetric(W, at.INERTIA)
        if i > 0:
            add(W, at.BASE_WRENCH, sum2(n, cross(vector(W, at.END_POINT), f)))
            add(W, at.BASE_WRENCH + 3, f)
            eliminate(W)
            hand_inward(arm, work, i)
    g = base_gravity(arm)
    alpha, acceleration = rest, (zero - g[0], zero - g[1], zero - g[2])
    for i in range(arm.n):
        P, W = section_numbers(arm, i), section_rows(work, i)
        omega = vector(W, at.OMEGA)
        if i > 0:
            below = section_rows(work, i - 1)
            turned, alpha, acceleration = next_base(
                P, tip_rates(below, vector(below, at.OMEGA)), alpha, acceleration
            )
        turning = transposed_times(W, at.COUPLING_TURN, alpha)
        carried = sum2(turning, transposed_times(W, at.COUPLING_SHIFT, acceleration))
        left = vector(W, at.FORCE)
        xdd = times(W, at.INERTIA, (left[0] - carried[0], left[1] - carried[1], left[2] - carried[2]))
        a[3 * i], a[3 * i + 1], a[3 * i + 2] = actuators_of(P, xdd)
        if i < arm.n - 1:
            add(W, at.END_ALPHA, times(W, at.END_TURN, xdd))
            add(W, at.END_BIAS, times(W, at.END_SHIFT, xdd))
            alpha, acceleration = tip_accelerations(W, omega, alpha, acceleration)


@kernel
def hand_inward(arm, work, i):
    """Add the inertia and the wrench at the base of section i to the tip that it stands on."""
    P, W, below = section_numbers(arm, i), section_rows(work, i), section_rows(work, i - 1)
    p = vector(P, at.PLACEMENT + 9)
    omega = tip_rates(below, vector(below, at.OMEGA))
    extra = transposed_times(P, at.PLACEMENT, cross(omega, cross(omega, p)))
    zero = 0.0 * extra[0]
    n, f = wrench_of(W, at.BASE, (zero, zero, zero), extra)
    n, f = wrench_to_tip(P, sum2(n, vector(W, at.BASE_WRENCH)), sum2(f, vector(W, at.BASE_WRENCH + 3)))
    add(below, at.TIP_WRENCH, n)
    add(below, at.TIP_WRENCH + 3, f)
    turn_inertia(W, at.END_INERTIA, P, at.PLACEMENT, W, at.BASE)
    add_shifted_inertia(below, at.TIP, W, at.END_INERTIA, p)


# ---- mass matrix ----


@kernel
def mass_recursion(arm, work, q, M):
    """M(q), symmetric, by composite inertias."""
    if arm.mass_model == at.MODAL:
        modal_mass(arm, work, q, M)
        return
    E = node_rows(arm, work)
    for i in range(arm.n):
        P, W = section_numbers(arm, i), section_rows(work, i)
        load_state(P, W, q, i, at.X, P[at.LENGTH])
        for r in range(3):
            W[at.XD + r] = 0.0 * q[0]
        place_end(W, E)
        body_at_rest(P, W, at.TIP)
    for k in range(arm.n):
        i = arm.n - 1 - k
        P, W = section_numbers(arm, i), section_rows(work, i)
        if arm.n == 1:
            only_section(arm, P, W, E)
        else:
            fill_nodes(arm, P, E, W[at.X] * W[at.X] + W[at.X + 1] * W[at.X + 1])
            slice_inertia(arm, P, W, E, at.BASE)
        gather_end(W, at.TIP, i == 0)
        if i > 0:
            below = section_rows(work, i - 1)
            turn_inertia(W, at.END_INERTIA, P, at.PLACEMENT, W, at.BASE)
            add_shifted_inertia(below, at.TIP, W, at.END_INERTIA, vector(P, at.PLACEMENT + 9))
        for j in range(3):
            put_block(M, i, i, j, column(W, at.INERTIA, j))
    for i in range(arm.n):
        P = section_numbers(arm, i)
        W = section_rows(work, i)
        for j in range(3):
            n, f = column(W, at.COUPLING_TURN, j), column(W, at.COUPLING_SHIFT, j)
            m = i
            while m > 0:
                n, f = wrench_to_tip(section_numbers(arm, m), n, f)
                m -= 1
                V = section_rows(work, m)
                n, f = times(V, at.END_ROTATION, n), times(V, at.END_ROTATION, f)
                put_block(M, m, i, j, onto_section(V, n, f))
                n = sum2(n, cross(vector(V, at.END_POINT), f))
        for m in range(i + 1):
            to_actuators(section_numbers(arm, m), P, M, m, i)
    for i in range(3 * arm.n):
        for j in range(i):
            M[i, j] = M[j, i]


@kernel
def put_block(M, m, i, j, on_x):
    """Column j of the block of sections m and i."""
    M[3 * m, 3 * i + j], M[3 * m + 1, 3 * i + j], M[3 * m + 2, 3 * i + j] = on_x


@kernel
def to_actuators(P, Q, M, m, i):
    """Turn the block of sections m (numbers P) and i (numbers Q) from (ux, uy, s) to actuators."""
    for j in range(3):
        c = 3 * i + j
        put_block(M, m, i, j, actuator_forces(P, (M[3 * m, c], M[3 * m + 1, c], M[3 * m + 2, c])))
    for r in range(3):
        row = M[3 * m + r]
        row[3 * i], row[3 * i + 1], row[3 * i + 2] = actuator_forces(Q, vector(row, 3 * i))
