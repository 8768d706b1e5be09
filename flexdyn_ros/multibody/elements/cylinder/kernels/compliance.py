"""Oil in one linearly implicit step of a robot: what a cylinder is as a row with a compliance.

docs/theory/hydraulics.md, "Oil in an implicit step". Let b = gamma h; in a stage (1 - b J) k = r of the
state (q, v, s) the oil s is eliminated. With the slopes P_s = diag(beta/s) and P_y = (-beta_1 A1/V1, beta_2
A2/V2) of the pressures, a = (A1, -A2), and G the slopes of s' by the pressures,

    k_eff = -a (1 - b P_s G)^-1 P_y,

which is the oil spring of shut valves for G = 0, and falls to what lets oil pass for large b. The stage then
has the rows of the bodies alone, with b d + b^2 k_eff along each cylinder's line, the right side

    -b k_eff (j r_q) + b a P_s (1 - b G P_s)^-1 r_s,

and afterwards k_s = (1 - b G P_s)^-1 (r_s + b G P_y (j k_q)). Cylinders on one line have a full block k_eff.
"""

from __future__ import annotations

from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.compiling.windows import window
from flexdyn_ros.numerics.numbers.functions import less, select

from . import memory as at
from .circuit import (
    BETA_1,
    BETA_2,
    CIRCUIT_WORK,
    E_1,
    E_2,
    I_11,
    I_12,
    I_21,
    I_22,
    K_1,
    K_2,
    R_1,
    R_2,
    S_1,
    S_2,
    begin_stage,
    factor,
    hangs,
    line_rates,
    path,
    solve_stage,
)
from .cylinder import oil_rates, volumes
from .friction import dry_friction

#: places in the work memory of circuit.py that stages do not need here: G P_y of the chambers, of the line,
#: of the swivel, and P_y
G_1, G_2, G_LINE, G_SWIVEL, Y_1, Y_2 = range(30, 36)


@kernel
def pressure_slopes(P, y, s1, beta1, s2, beta2):
    """Slopes of p1, p2 by their oil [Pa/m3], and by the stroke [Pa/m]."""
    V1, V2, moves = volumes(P, y)
    by_y = (-beta1 * P[at.AREA_1] / V1 * moves, beta2 * P[at.AREA_2] / V2 * moves)
    return beta1 / s1, beta2 / s2, by_y[0], by_y[1]


@kernel
def effective_stiffness(P, ps, x, y, oil, b):
    """k_eff of a cylinder on an ideal supply of pressure ps [N/m], with the spool at x and the piston at y.

    oil : (s1, p1, beta1, s2, p2, beta2); b = gamma h [s].

    Returns k_eff; the row a P_s (1 - b G P_s)^-1 of the right side; (1 - b G P_s)^-1, row by row; and the
    column (1 - b G P_s)^-1 b G P_y: k_s = inverse r_s + column (j k_q).
    """
    s1, p1, beta1, s2, p2, beta2 = oil
    V1, V2, _ = volumes(P, y)
    rates = oil_rates(P, ps, x, y, p1, V1 / s1, beta1, p2, V2 / s2, beta2)
    return eliminated(P, y, oil, (rates[2], rates[3], rates[4], rates[5]), b)


@kernel
def eliminated(P, y, oil, G, b):
    """`effective_stiffness` with the slopes G of s', row by row."""
    s1, _, beta1, s2, _, beta2 = oil
    g11, g12, g21, g22 = G
    c1, c2, y1, y2 = pressure_slopes(P, y, s1, beta1, s2, beta2)
    m11, m12, m21, m22 = 1.0 - b * g11 * c1, -b * g12 * c2, -b * g21 * c1, 1.0 - b * g22 * c2
    det = m11 * m22 - m12 * m21
    inverse = (m22 / det, -m12 / det, -m21 / det, m11 / det)
    a1, a2 = P[at.AREA_1] * c1, -P[at.AREA_2] * c2
    row = (a1 * inverse[0] + a2 * inverse[2], a1 * inverse[1] + a2 * inverse[3])
    r1, r2 = b * (g11 * y1 + g12 * y2), b * (g21 * y1 + g22 * y2)
    column = (inverse[0] * r1 + inverse[1] * r2, inverse[2] * r1 + inverse[3] * r2)
    stiffness = -(P[at.AREA_1] * y1 - P[at.AREA_2] * y2) - (a1 * column[0] + a2 * column[1])
    return stiffness, row, inverse, column


@kernel
def resistance(P, v):
    """Secant of the friction over the rate v, viscous part included [N s/m]: d of an implicit step."""
    if P[at.FRICTION_LAW] == at.NO_FRICTION:
        return 0.0
    if P[at.FRICTION_LAW] == at.LUGRE_LAW:
        return P[at.VISCOUS] + P[at.BRISTLE_DAMPING]
    slow = less(abs(v), 1e-3 * P[at.SMOOTHING])
    v = select(slow, P[at.SMOOTHING], v)
    secant = dry_friction(P[at.COULOMB], P[at.STATIC], P[at.STRIBECK], P[at.SMOOTHING], v) / v
    return P[at.VISCOUS] + select(slow, P[at.STATIC] / P[at.SMOOTHING], secant)


@kernel
def stop_slopes(P, y, v):
    """Stiffness and damping of the end stops at the stroke y and rate v [N/m, N s/m]: of
    `forces.stop_force`."""
    if y < 0.0:
        share, deep = 1.0 - 1.5 * P[at.STOP_DAMPING] * v, -y
    else:
        share, deep = 1.0 + 1.5 * P[at.STOP_DAMPING] * v, y - P[at.LONGEST_STROKE]
    if deep <= 0.0 or share <= 0.0:
        return 0.0, 0.0
    return P[at.STOP_STIFFNESS] * share, 1.5 * P[at.STOP_STIFFNESS] * P[at.STOP_DAMPING] * deep


# ---- cylinders on one line ----


@kernel
def open_block(parameters, S, work, index, line, motion, t, b):
    """Linearise the cylinders on a pump, whose oil and spools are in the work memory
    (`ticks.open_cylinders`), at t seconds of their motion; b = gamma h [s].

    Returns the border of `circuit.solve_stage` and the cylinder that has the load pressure.
    """
    drawn, by_line, load = begin_stage(parameters, S, work, index, line, motion, t)
    _, _, of_s, of_w, _, _ = line_rates(S, line, load[0], drawn)
    for i in range(parameters.size // at.PARAMETER_COUNT):
        P = window(parameters, i * at.PARAMETER_COUNT, at.PARAMETER_COUNT)
        if hangs(P, index):
            C = window(work, i * CIRCUIT_WORK, CIRCUIT_WORK)
            y, _ = path(motion[0], motion[1], motion[2], P, i, t)
            _, _, y1, y2 = pressure_slopes(P, y, C[S_1], C[BETA_1], C[S_2], C[BETA_2])
            C[Y_1], C[Y_2] = y1, y2
            C[G_1], C[G_2] = C[I_11] * y1 + C[I_12] * y2, C[I_21] * y1 + C[I_22] * y2
            C[G_LINE], C[G_SWIVEL] = -(C[E_1] * y1 + C[E_2] * y2), 0.0
            if i == load[1]:
                by_y = load[2] * y1 + load[3] * y2
                C[G_LINE] += of_s[1] * by_y
                C[G_SWIVEL] = of_w[1] * by_y
    border = factor(
        parameters, work, index, line, 1.0 - b * (of_s[0] - by_line * line[4]), -b * of_s[2], -b * of_w[0],
        1.0 - b * of_w[2], b, (load[1], load[2], load[3], of_s[1], of_w[1]),
    )  # fmt: skip
    return border, load[1]


@kernel
def effective_block(parameters, work, index, border, loaded, b, K):
    """Write k_eff (n n,), row by row, of cylinders on one line; rows of others are zero."""
    n = parameters.size // at.PARAMETER_COUNT
    for j in range(n):
        for i in range(n):
            K[n * i + j] = 0.0
        if not hangs(window(parameters, j * at.PARAMETER_COUNT, at.PARAMETER_COUNT), index):
            continue
        for i in range(n):
            C = window(work, i * CIRCUIT_WORK, CIRCUIT_WORK)
            C[R_1] = b * C[G_1] if i == j else 0.0
            C[R_2] = b * C[G_2] if i == j else 0.0
        C = window(work, j * CIRCUIT_WORK, CIRCUIT_WORK)
        solve_stage(parameters, work, index, border, loaded, K_1, b * C[G_LINE], b * C[G_SWIVEL])
        for i in range(n):
            P = window(parameters, i * at.PARAMETER_COUNT, at.PARAMETER_COUNT)
            if hangs(P, index):
                K[n * i + j] = -force_change(P, window(work, i * CIRCUIT_WORK, CIRCUIT_WORK))
                if i == j:
                    K[n * i + j] -= P[at.AREA_1] * C[Y_1] - P[at.AREA_2] * C[Y_2]


@kernel
def force_change(P, C):
    """a P_s k of the stage k in K_1, K_2 of the work memory [N/s]."""
    one = P[at.AREA_1] * C[BETA_1] / C[S_1] * C[K_1]
    return one - P[at.AREA_2] * C[BETA_2] / C[S_2] * C[K_2]


@kernel
def eliminated_forces(parameters, work, index, border, loaded, r_oil, r_line, r_swivel, out):
    """Write a P_s (1 - b G P_s)^-1 r_s (n,) of cylinders on one line: b times it is on the right side."""
    n = parameters.size // at.PARAMETER_COUNT
    for i in range(n):
        C = window(work, i * CIRCUIT_WORK, CIRCUIT_WORK)
        C[R_1], C[R_2] = r_oil[2 * i], r_oil[2 * i + 1]
    solve_stage(parameters, work, index, border, loaded, K_1, r_line, r_swivel)
    for i in range(n):
        P = window(parameters, i * at.PARAMETER_COUNT, at.PARAMETER_COUNT)
        if hangs(P, index):
            out[i] = force_change(P, window(work, i * CIRCUIT_WORK, CIRCUIT_WORK))


@kernel
def oil_stage(parameters, work, index, border, loaded, b, r_oil, r_line, r_swivel, k_length, k_oil):
    """Write the stages k_s (2 n,) of the oil after those of the lengths, k_length (n,) = j k_q, are known.

    Returns those of line and swivel.
    """
    n = parameters.size // at.PARAMETER_COUNT
    for i in range(n):
        if hangs(window(parameters, i * at.PARAMETER_COUNT, at.PARAMETER_COUNT), index):
            C = window(work, i * CIRCUIT_WORK, CIRCUIT_WORK)
            C[R_1] = r_oil[2 * i] + b * C[G_1] * k_length[i]
            C[R_2] = r_oil[2 * i + 1] + b * C[G_2] * k_length[i]
            r_line += b * C[G_LINE] * k_length[i]
            r_swivel += b * C[G_SWIVEL] * k_length[i]
    found = solve_stage(parameters, work, index, border, loaded, K_1, r_line, r_swivel)
    for i in range(n):
        if hangs(window(parameters, i * at.PARAMETER_COUNT, at.PARAMETER_COUNT), index):
            C = window(work, i * CIRCUIT_WORK, CIRCUIT_WORK)
            k_oil[2 * i], k_oil[2 * i + 1] = C[K_1], C[K_2]
    return found
