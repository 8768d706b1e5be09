"""Cylinders on one pump: their oil, that of the line, and the swivel of the pump over one tick.

docs/theory/hydraulics.md, "Supplies". The scheme, its sub-steps and its error estimate are those of
cylinder.py. Chambers couple through the line only: the matrix of a stage is blocks of 2 x 2 for the
cylinders, bordered by the rows and columns of line and swivel, which are eliminated last.

Flow into a chamber counts at the chamber's pressure, and is taken from the line as oil: so that oil is
conserved.
"""

from __future__ import annotations

import numpy as np

from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.compiling.windows import window

from . import memory as at
from . import supplies
from .cylinder import GAMMA, LEAST_SHARE, MOST_OIL, error_of, oil_rates, volumes
from .oil import fluid_of, pressure_at
from .pumps import demanded, line_losses, line_pressure, sensed

#: error of the swivel that a sub-step may make, as a part of its range
SWIVEL_TOLERANCE = 1e-3

#: work memory of a cylinder: its oil, pressures and stiffness where the sub-step begins, spool there and at
#: its end; rates there; what the second stage takes from the first; inverse of its block; columns of the
#: line and of swivel; both stages; then a trial: oil, volumes per oil, pressures, stiffness, rates, oil from
#: the line
(
    S_1, S_2, P_1, P_2, BETA_1, BETA_2, X, RATE, HELD, NEXT_X, NEXT_RATE, NEXT_HELD, A_1, A_2, OUT_A,
    T_1, T_2, I_11, I_12, I_21, I_22, Z_1, Z_2, E_1, E_2, K_1, K_2, L_1, L_2,
    N_1, N_2, W_1, W_2, Q_1, Q_2, B_1, B_2, F_1, F_2, OUT, R_1, R_2,
) = range(42)  # fmt: skip
CIRCUIT_WORK = 42


@kernel
def hangs(P, index):
    """Whether a cylinder hangs on the supply of this index."""
    return P[at.SUPPLY_INDEX] == float(index)


@kernel
def path(lengths, rates, accelerations, P, i, t):
    """Stroke and rate of cylinder i at t seconds of the tick."""
    v, a = rates[i], accelerations[i]
    return lengths[i] - P[at.SHORTEST] + v * t + 0.5 * a * t * t, v + a * t


@kernel
def try_oil(P, C, n1, n2, y):
    """Take the oil n1, n2 as the trial, the piston at y; whether it is positive and finite."""
    V1, V2, _ = volumes(P, y)
    good = 0.0 < n1 < MOST_OIL and 0.0 < n2 < MOST_OIL
    if good:
        fluid = fluid_of(P)
        w1, w2 = C[W_1], C[W_2]
        C[N_1], C[N_2], C[W_1], C[W_2] = n1, n2, V1 / n1, V2 / n2
        C[Q_1], C[B_1] = pressure_at(fluid, C[W_1], C[Q_1], w1, C[B_1])
        C[Q_2], C[B_2] = pressure_at(fluid, C[W_2], C[Q_2], w2, C[B_2])
    return good


@kernel
def try_rates(P, C, ps, x, y):
    """Rates of the trial, and the slopes of `oil_rates`."""
    found = oil_rates(P, ps, x, y, C[Q_1], C[W_1], C[B_1], C[Q_2], C[W_2], C[B_2])
    C[F_1], C[F_2], C[OUT] = found[0], found[1], found[8]
    return found


@kernel
def line_rates(S, line, load, drawn):
    """Rates of the line's oil and of the swivel; line is (s, p, w, beta, dp/ds, swivel).

    Returns them, their slopes by the line's oil, by the load pressure and by the swivel, and the pump's flow
    less its leakage and the relief, as oil [m3/s].
    """
    s, p, w, beta, slope, swivel = line
    flow = S[supplies.DISPLACEMENT] * S[supplies.SPEED]
    share, by_p, by_load = demanded(S, p, load)
    leak, relief, by_losses = line_losses(S, p)
    lag = S[supplies.SWIVEL_TIME]
    if lag > 0.0:
        net = (flow * swivel - leak - relief) / w
        of_s = ((-by_losses / w + net / beta) * slope, 0.0, flow / w)
        of_swivel = (by_p * slope / lag, by_load / lag, -1.0 / lag)
        turned, pumped = (share - swivel) / lag, (flow * swivel - leak) / w
    else:
        net = (flow * share - leak - relief) / w
        of_s = (((flow * by_p - by_losses) / w + net / beta) * slope, flow * by_load / w, 0.0)
        of_swivel = (0.0, 0.0, 0.0)
        turned, pumped = 0.0, (flow * share - leak) / w
    return net - drawn, turned, of_s, of_swivel, pumped, relief / w


@kernel
def loads(parameters, work, index, S, first, x_at):
    """Highest load pressure of the trial pressures (columns first, first + 1), the cylinder that has it (-1:
    none), and the slopes by its two pressures."""
    load, loaded, by_1, by_2 = S[supplies.TANK], -1, 0.0, 0.0
    for i in range(parameters.size // at.PARAMETER_COUNT):
        P = window(parameters, i * at.PARAMETER_COUNT, at.PARAMETER_COUNT)
        if hangs(P, index):
            C = window(work, i * CIRCUIT_WORK, CIRCUIT_WORK)
            p, s1, s2 = sensed(S, P, C[first], C[first + 1], C[x_at])
            if p > load:
                load, loaded, by_1, by_2 = p, i, s1, s2
    return load, loaded, by_1, by_2


@kernel
def solve_stage(parameters, work, index, border, loaded, first, r_line, r_swivel):
    """Solve (1 - gamma h J) k = r, r in R_1, R_2 of the cylinders; k into columns first, first + 1.

    border : the reduced rows of line and swivel, and the columns of cylinder `loaded` in that of the swivel.
    Returns k of line and swivel.
    """
    ll, lw, wl, ww, h1, h2 = border
    for i in range(parameters.size // at.PARAMETER_COUNT):
        if hangs(window(parameters, i * at.PARAMETER_COUNT, at.PARAMETER_COUNT), index):
            C = window(work, i * CIRCUIT_WORK, CIRCUIT_WORK)
            C[first] = C[I_11] * C[R_1] + C[I_12] * C[R_2]
            C[first + 1] = C[I_21] * C[R_1] + C[I_22] * C[R_2]
            r_line -= C[E_1] * C[first] + C[E_2] * C[first + 1]
            if i == loaded:
                r_swivel -= h1 * C[first] + h2 * C[first + 1]
    det = ll * ww - lw * wl
    k_line, k_swivel = (ww * r_line - lw * r_swivel) / det, (ll * r_swivel - wl * r_line) / det
    for i in range(parameters.size // at.PARAMETER_COUNT):
        if hangs(window(parameters, i * at.PARAMETER_COUNT, at.PARAMETER_COUNT), index):
            C = window(work, i * CIRCUIT_WORK, CIRCUIT_WORK)
            C[first] -= C[Z_1] * k_line
            C[first + 1] -= C[Z_2] * k_line
    return k_line, k_swivel


@kernel
def factor(parameters, work, index, line, ll, lw, wl, ww, g, load):
    """Invert the blocks of the cylinders, whose slopes by pressures stand in I (of s'), Z (by p_s) and E (of
    what leaves the line), and reduce the border of line and swivel; see `solve_stage`.

    load : cylinder that has the load pressure, its slopes by p1, p2; and by the load pressure those of the
    rates
        of line and swivel.
    """
    loaded, by_1, by_2, on_line, on_swivel = load
    slope = line[4]
    h1 = h2 = 0.0
    for i in range(parameters.size // at.PARAMETER_COUNT):
        if hangs(window(parameters, i * at.PARAMETER_COUNT, at.PARAMETER_COUNT), index):
            C = window(work, i * CIRCUIT_WORK, CIRCUIT_WORK)
            c1, c2 = C[BETA_1] / C[S_1], C[BETA_2] / C[S_2]
            m11, m12 = 1.0 - g * C[I_11] * c1, -g * C[I_12] * c2
            m21, m22 = -g * C[I_21] * c1, 1.0 - g * C[I_22] * c2
            det = m11 * m22 - m12 * m21
            C[I_11], C[I_12], C[I_21], C[I_22] = m22 / det, -m12 / det, -m21 / det, m11 / det
            r1, r2 = -g * C[Z_1] * slope, -g * C[Z_2] * slope
            C[Z_1], C[Z_2] = C[I_11] * r1 + C[I_12] * r2, C[I_21] * r1 + C[I_22] * r2
            # the line loses what leaves it
            C[E_1], C[E_2] = g * C[E_1] * c1, g * C[E_2] * c2
            if i == loaded:
                C[E_1] -= g * on_line * by_1 * c1
                C[E_2] -= g * on_line * by_2 * c2
                h1, h2 = -g * on_swivel * by_1 * c1, -g * on_swivel * by_2 * c2
                wl -= h1 * C[Z_1] + h2 * C[Z_2]
            ll -= C[E_1] * C[Z_1] + C[E_2] * C[Z_2]
    return ll, lw, wl, ww, h1, h2


@kernel
def begin_stage(parameters, S, work, index, line, motion, t):
    """Rates where a sub-step begins, and their slopes, in the work memory; returns those of line and swivel.

    motion : lengths, rates, accelerations (n,) of the cylinders.
    """
    drawn = by_line = 0.0
    for i in range(parameters.size // at.PARAMETER_COUNT):
        P = window(parameters, i * at.PARAMETER_COUNT, at.PARAMETER_COUNT)
        if hangs(P, index):
            C = window(work, i * CIRCUIT_WORK, CIRCUIT_WORK)
            y, _ = path(motion[0], motion[1], motion[2], P, i, t)
            V1, V2, _ = volumes(P, y)
            C[W_1], C[W_2], C[Q_1], C[Q_2] = V1 / C[S_1], V2 / C[S_2], C[P_1], C[P_2]
            C[B_1], C[B_2] = C[BETA_1], C[BETA_2]
            found = try_rates(P, C, line[1], C[X], y)
            C[A_1], C[A_2], C[OUT_A] = found[0], found[1], found[8]
            C[I_11], C[I_12], C[I_21], C[I_22] = found[2], found[3], found[4], found[5]
            C[Z_1], C[Z_2], C[E_1], C[E_2] = found[6], found[7], found[9], found[10]
            drawn += found[8]
            by_line += found[11]
    load = loads(parameters, work, index, S, P_1, X)
    return drawn, by_line, load


@kernel
def end_rates(parameters, S, work, index, line, motion, t):
    """Rates of the trial at the end t of a sub-step in the work memory; what leaves the line, and the
    load."""
    drawn = 0.0
    for i in range(parameters.size // at.PARAMETER_COUNT):
        P = window(parameters, i * at.PARAMETER_COUNT, at.PARAMETER_COUNT)
        if hangs(P, index):
            C = window(work, i * CIRCUIT_WORK, CIRCUIT_WORK)
            y, _ = path(motion[0], motion[1], motion[2], P, i, t)
            drawn += try_rates(P, C, line[1], C[NEXT_X], y)[8]
    return drawn, loads(parameters, work, index, S, Q_1, NEXT_X)[0]


@kernel
def same_oil_rates(parameters, S, work, index, line, motion, t):
    """Rates of the same oil with spools and pistons at the end t of a sub-step, pressures by their slopes, in
    the work memory; what leaves the line, and the load.

    Slopes are those of `begin_stage`, whose trial is where the sub-step begins.
    """
    drawn = 0.0
    load, loaded, by_1, by_2 = loads(parameters, work, index, S, P_1, NEXT_X)
    for i in range(parameters.size // at.PARAMETER_COUNT):
        P = window(parameters, i * at.PARAMETER_COUNT, at.PARAMETER_COUNT)
        if hangs(P, index):
            C = window(work, i * CIRCUIT_WORK, CIRCUIT_WORK)
            y, _ = path(motion[0], motion[1], motion[2], P, i, t)
            V1, V2, _ = volumes(P, y)
            dp1 = (1.0 - V1 / (C[S_1] * C[W_1])) * C[BETA_1]
            dp2 = (1.0 - V2 / (C[S_2] * C[W_2])) * C[BETA_2]
            drawn += try_rates(P, C, line[1], C[NEXT_X], y)[8] + C[E_1] * dp1 + C[E_2] * dp2
            C[F_1] += C[I_11] * dp1 + C[I_12] * dp2
            C[F_2] += C[I_21] * dp1 + C[I_22] * dp2
            if i == loaded:
                load += by_1 * dp1 + by_2 * dp2
    return drawn, load


@kernel
def try_all(parameters, S, work, index, line, motion, t, h, by_k, by_l, change, turn):
    """Take oil s + h (by_k K + by_l L) as the trial at the end t of a sub-step, and s + change of the line.

    Returns the line's tuple and whether all oil is positive and finite.
    """
    good = True
    for i in range(parameters.size // at.PARAMETER_COUNT):
        P = window(parameters, i * at.PARAMETER_COUNT, at.PARAMETER_COUNT)
        if hangs(P, index):
            C = window(work, i * CIRCUIT_WORK, CIRCUIT_WORK)
            y, _ = path(motion[0], motion[1], motion[2], P, i, t)
            n1 = C[S_1] + h * (by_k * C[K_1] + by_l * C[L_1])
            n2 = C[S_2] + h * (by_k * C[K_2] + by_l * C[L_2])
            good = try_oil(P, C, n1, n2, y) and good
    s = line[0] + change
    good = good and 0.0 < s < MOST_OIL
    if not good:
        return line, False
    p, w, beta, slope = line_pressure(S, s, line[1])
    return (s, p, w, beta, slope, min(max(line[5] + turn, 0.0), 1.0)), True


@kernel
def set_sides(parameters, work, index, second):
    """Right sides of a stage: rates where the sub-step begins, or at its end less what the first stage
    gave."""
    for i in range(parameters.size // at.PARAMETER_COUNT):
        if hangs(window(parameters, i * at.PARAMETER_COUNT, at.PARAMETER_COUNT), index):
            C = window(work, i * CIRCUIT_WORK, CIRCUIT_WORK)
            if second:
                C[R_1], C[R_2] = C[F_1] - 2.0 * C[K_1] - C[T_1], C[F_2] - 2.0 * C[K_2] - C[T_2]
            else:
                C[T_1], C[T_2] = GAMMA * (C[F_1] - C[A_1]), GAMMA * (C[F_2] - C[A_2])
                C[R_1], C[R_2] = C[A_1] + C[T_1], C[A_2] + C[T_2]


@kernel
def circuit_error(parameters, S, work, index, line, new, h, k, j):
    """Largest error of a sub-step in tolerances; k, j : stages of line and swivel."""
    allowed = S[supplies.ATOL] + S[supplies.RTOL] * line[1]
    error = abs(0.5 * h * (k[0] + j[0])) * max(line[4], new[4]) / allowed
    error = max(error, abs(0.5 * h * (k[1] + j[1])) / SWIVEL_TOLERANCE)
    for i in range(parameters.size // at.PARAMETER_COUNT):
        P = window(parameters, i * at.PARAMETER_COUNT, at.PARAMETER_COUNT)
        if hangs(P, index):
            C = window(work, i * CIRCUIT_WORK, CIRCUIT_WORK)
            one = error_of(P, 0.5 * h * (C[K_1] + C[L_1]), C[S_1], C[P_1], max(C[BETA_1], C[B_1]))
            two = error_of(P, 0.5 * h * (C[K_2] + C[L_2]), C[S_2], C[P_2], max(C[BETA_2], C[B_2]))
            error = max(error, max(one, two))
    return error


@kernel
def circuit_step(parameters, S, work, index, line, motion, t, h):
    """One sub-step of h from t seconds of the tick; the new oil becomes the trial.

    Returns the new line, the error in tolerances (infinite where oil would not be positive), and where the
    sub-step begins the oil that the pump gives and that the relief valve lets go [m3/s].
    """
    drawn, by_line, load = begin_stage(parameters, S, work, index, line, motion, t)
    a_l, a_w, of_s, of_w, pumped, relieved = line_rates(S, line, load[0], drawn)
    drawn, load_e = same_oil_rates(parameters, S, work, index, line, motion, t + h)
    e_l, e_w, _, _, _, _ = line_rates(S, line, load_e, drawn)
    t_l, t_w = GAMMA * (e_l - a_l), GAMMA * (e_w - a_w)
    g = GAMMA * h
    border = factor(
        parameters, work, index, line, 1.0 - g * (of_s[0] - by_line * line[4]), -g * of_s[2], -g * of_w[0],
        1.0 - g * of_w[2], g, (load[1], load[2], load[3], of_s[1], of_w[1]),
    )  # fmt: skip
    set_sides(parameters, work, index, False)
    k = solve_stage(parameters, work, index, border, load[1], K_1, a_l + t_l, a_w + t_w)
    stage, good = try_all(parameters, S, work, index, line, motion, t + h, h, 1.0, 0.0, h * k[0], h * k[1])
    new, error = line, np.inf
    if good:
        drawn, load_e = end_rates(parameters, S, work, index, stage, motion, t + h)
        e_l, e_w, _, _, _, _ = line_rates(S, stage, load_e, drawn)
        set_sides(parameters, work, index, True)
        j = solve_stage(
            parameters, work, index, border, load[1], L_1, e_l - 2.0 * k[0] - t_l, e_w - 2.0 * k[1] - t_w
        )
        change, turn = h * (1.5 * k[0] + 0.5 * j[0]), h * (1.5 * k[1] + 0.5 * j[1])
        new, good = try_all(parameters, S, work, index, line, motion, t + h, h, 1.5, 0.5, change, turn)
        if good:
            error = circuit_error(parameters, S, work, index, line, new, h, k, j)
    if not good:
        new = forced_step(parameters, S, work, index, line, border, load[1], (a_l, a_w), motion, t, h)
    return new, error, pumped, relieved


@kernel
def forced_step(parameters, S, work, index, line, border, loaded, rates, motion, t, h):
    """The first-order scheme as the trial, with LEAST_SHARE of all oil left; returns the line."""
    for i in range(parameters.size // at.PARAMETER_COUNT):
        if hangs(window(parameters, i * at.PARAMETER_COUNT, at.PARAMETER_COUNT), index):
            C = window(work, i * CIRCUIT_WORK, CIRCUIT_WORK)
            C[R_1], C[R_2] = C[A_1], C[A_2]
    k = solve_stage(parameters, work, index, border, loaded, K_1, rates[0], rates[1])
    for i in range(parameters.size // at.PARAMETER_COUNT):
        if hangs(window(parameters, i * at.PARAMETER_COUNT, at.PARAMETER_COUNT), index):
            C = window(work, i * CIRCUIT_WORK, CIRCUIT_WORK)
            C[K_1] = max(C[K_1], (LEAST_SHARE - 1.0) * C[S_1] / h)
            C[K_2] = max(C[K_2], (LEAST_SHARE - 1.0) * C[S_2] / h)
    change = max(h * k[0], (LEAST_SHARE - 1.0) * line[0])
    return try_all(parameters, S, work, index, line, motion, t + h, h, 1.0, 0.0, change, h * k[1])[0]
