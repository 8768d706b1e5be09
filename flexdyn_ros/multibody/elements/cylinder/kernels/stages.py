"""Oil in the linearly implicit Euler steps that an implicit step of a robot is extrapolated from.

A step of h is made once as a whole and once as two halves (numerics/stepping/implicit.py). Each of these
stages eliminates the oil of every cylinder (compliance.py, b = h): before the robot moves, a cylinder is a
force with a stiffness k_eff and a damping,

    F(s, y, v) + h a P_s (1 - h G P_s)^-1 s',    k_eff,    friction / v,

and when its speed v1 is known, s += h (1 - h G P_s)^-1 (s' + h G P_y v1). The spool is where it will be at
the end of the stage. Lines of pumps keep their pressure while the cylinders move, and follow with the oil
that these took, implicit in their own pressure. What both halves give is twice taken, less what the whole
step gives: order two, as of everything whose stages depend smoothly on h. A shut, tight chamber keeps its oil
exactly. How far both are apart says whether the step is to be made again in two (`roughness`).

Rows of stages, one a cylinder (STAGES) and one a supply (LINES), live in the memory of the steps.
"""

from __future__ import annotations

from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.compiling.windows import window
from flexdyn_ros.numerics.numbers.functions import absolute, both, larger, less, select, smaller

from . import memory as at
from . import supplies as of
from .circuit import line_rates
from .compliance import eliminated, pressure_slopes, resistance
from .cylinder import LEAST_SHARE, oil_rates, powers, settle_pressures, volumes
from .forces import (
    bend_bristles,
    bristle_rate,
    command_valve,
    friction_force,
    hydraulic_force,
    report_leg,
    stop_force,
)
from .oil import energies, fluid_of, pressure_of, volume_and_stiffness
from .pumps import fluid_of_supply, line_pressure, sensed
from .spool import advance_spool
from .ticks import open_line

#: of a cylinder: oil where the step begins, after the whole step, after half of it; spool, its rate and held
#: command half way and at the end; flags; where the stage begins: stroke and rate, pressures, rates of the
#: oil, inverse and column of the elimination; stroke (whole step, half) and energies (from the supply, of the
#: piston, lost) that the stages reach; slopes of the pressures by oil and stroke, of the drawn oil by them;
#: bristles after half of the step, and after the whole of it
(
    START_1, START_2, WHOLE_1, WHOLE_2, HALF_1, HALF_2, HALF_X, END_X, END_RATE, END_HELD, FLAGS, Y, V, P_1,
    P_2, R_1, R_2, I_11, I_12, I_21, I_22, C_1, C_2, WHOLE_Y, HALF_Y, DRAWN, GIVEN, WORKED, LOST, S_1, S_2,
    Y_1, Y_2, D_1, D_2, HALF_Z, WHOLE_Z,
) = range(37)  # fmt: skip
STAGES = 37
#: of a supply: oil and swivel where the step begins, after the whole step, after half of it; pressure, load
#: pressure and oil drawn where the stage begins; energies: of the pump, lost
(
    L_START, W_START, L_WHOLE, W_WHOLE, L_HALF, W_HALF, PRESSURE, LOAD, TAKEN, BY_LINE, PUMPED, RELIEVED,
) = range(12)  # fmt: skip
LINES = 12
#: stages of a step
WHOLE, FIRST_HALF, SECOND_HALF = 0, 1, 2
#: roughness of a part of a step below which the next one may be twice as long
EASY = 0.2
#: how far the pressure of a line may be from that of the halves of a step [Pa]
ROUGH_LINE = 5e4
#: how far pressures [Pa] and stroke [m] of a step may be from those of its halves, the pressure below which
#: that matters away from stops [Pa], and how far behind a stop that it meets or leaves a step may end [m]
ROUGH_PRESSURE, ROUGH_STROKE, NEARLY_EMPTY, NEAR_STOP = 2e4, 3e-7, 5e4, 1e-5


@kernel(forceinline=True)
def row_of(rows, i, size):
    """Row i of rows of a size."""
    return window(rows, i * size, size)


@kernel
def begin_step(parameters, pumps, states, supply_states, stages, lines, lengths, rates, commands, modes, h):
    """Valve commands of a step of h, spools half way and at its end, and where its oil begins."""
    for k in range(pumps.size // of.SUPPLY_PARAMETER_COUNT):
        S, Y_ = row_of(pumps, k, of.SUPPLY_PARAMETER_COUNT), row_of(supply_states, k, of.SUPPLY_STATE_COUNT)
        L = row_of(lines, k, LINES)
        if S[of.PUMP] == of.IDEAL:
            L[L_START], L[W_START], Y_[of.PRESSURE] = 1.0, 0.0, S[of.SET_PRESSURE]
        else:
            line = open_line(S, Y_)
            L[L_START], L[W_START], Y_[of.PRESSURE] = line[0], line[5], line[1]
    for i in range(parameters.size // at.PARAMETER_COUNT):
        P, X = row_of(parameters, i, at.PARAMETER_COUNT), row_of(states, i, at.STATE_COUNT)
        C = row_of(stages, i, STAGES)
        y = lengths[i] - P[at.SHORTEST]
        settle_pressures(P, X, y)
        p = supply_states[int(P[at.SUPPLY_INDEX]) * of.SUPPLY_STATE_COUNT + of.PRESSURE]
        C[FLAGS] = command_valve(P, X, p, y, rates[i], commands[i], int(modes[i]), h)
        u = X[at.VALVE_COMMAND]
        spool = (X[at.SPOOL], X[at.SPOOL_RATE], X[at.SLEWED_COMMAND], u)
        C[HALF_X], _, _ = advance_spool(P, *spool, 0.5 * h)
        C[END_X], C[END_RATE], C[END_HELD] = advance_spool(P, *spool, h)
        C[START_1], C[START_2] = X[at.OIL_1], X[at.OIL_2]


@kernel
def begin_stage(pumps, lines, part):
    """Pressures of the lines where a stage begins."""
    for k in range(pumps.size // of.SUPPLY_PARAMETER_COUNT):
        S, L = row_of(pumps, k, of.SUPPLY_PARAMETER_COUNT), row_of(lines, k, LINES)
        if S[of.PUMP] == of.IDEAL:
            L[PRESSURE] = S[of.SET_PRESSURE]
        else:
            s = L[L_HALF] if part == SECOND_HALF else L[L_START]
            L[PRESSURE] = line_pressure(S, s, S[of.TANK])[0]
        L[LOAD], L[TAKEN], L[BY_LINE] = S[of.TANK], 0.0, 0.0


@kernel
def friction_of(P, z, v, h):
    """Friction of the seals at rate v in a stage of h [N], and a damping [N s/m] that follows the rate at its
    end.

    LuGre's bristles z are implicit, z1 = (z + h v1) / (1 + h lambda) with lambda of `bristle_rate`, so that

        F = sigma0 z1 + sigma1 (v1 - lambda z1) + b v1 = (sigma0 - sigma1 lambda) z / (1 + h lambda) + d v1,
        d = (sigma0 h + sigma1) / (1 + h lambda) + b

    (Canudas de Wit et al. 1995); other friction has its secant over the rate.
    """
    if P[at.FRICTION_LAW] != at.LUGRE_LAW:
        return friction_force(P, z, v), resistance(P, v)
    stiffness, damping, rate = P[at.BRISTLE_STIFFNESS], P[at.BRISTLE_DAMPING], bristle_rate(P, v)
    left = 1.0 + h * rate
    d = (stiffness * h + damping) / left + P[at.VISCOUS]
    return (stiffness / left - damping * (rate / left)) * z + d * v, d


@kernel
def comply(P, X, S, C, L, part, h, y, v):
    """Force of a cylinder on its rod [N], stiffness [N/m] and damping [N s/m] in a stage of h from stroke y
    and rate v; books what the stage needs when v is known at its end."""
    s1, s2, x, z = C[START_1], C[START_2], C[END_X], X[at.BRISTLE]
    if part == FIRST_HALF:
        x = C[HALF_X]
    elif part == SECOND_HALF:
        s1, s2, z = C[HALF_1], C[HALF_2], C[HALF_Z]
    V1, V2, _ = volumes(P, y)
    fluid = fluid_of(P)
    p1, beta1 = pressure_of(fluid, V1 / s1, X[at.PRESSURE_1])
    p2, beta2 = pressure_of(fluid, V2 / s2, X[at.PRESSURE_2])
    oil = (s1, p1, beta1, s2, p2, beta2)
    rates = oil_rates(P, L[PRESSURE], x, y, p1, V1 / s1, beta1, p2, V2 / s2, beta2)
    stiffness, row, inverse, column = eliminated(P, y, oil, (rates[2], rates[3], rates[4], rates[5]), h)
    C[Y], C[V], C[P_1], C[P_2], C[R_1], C[R_2], C[DRAWN] = y, v, p1, p2, rates[0], rates[1], rates[8]
    C[I_11], C[I_12], C[I_21], C[I_22] = inverse
    C[C_1], C[C_2] = column
    C[S_1], C[S_2], C[Y_1], C[Y_2] = pressure_slopes(P, y, s1, beta1, s2, beta2)
    C[D_1], C[D_2] = rates[9], rates[10]
    L[BY_LINE] += rates[11]
    L[LOAD] = larger(L[LOAD], sensed(S, P, p1, p2, x)[0])
    friction, damping = friction_of(P, z, v, h)
    force = hydraulic_force(P, p1, p2) - friction + stop_force(P, y, v)
    force += h * (row[0] * rates[0] + row[1] * rates[1])
    deep = larger(larger(-y, y - P[at.LONGEST_STROKE]), 0.0)
    stiffness += select(less(0.0, deep), P[at.STOP_STIFFNESS], 0.0)
    damping += 1.5 * P[at.STOP_STIFFNESS] * P[at.STOP_DAMPING] * deep
    return force, stiffness, damping


@kernel
def flow(P, X, S, C, L, part, h, v):
    """Oil and bristles of a cylinder after a stage of h, at whose end its rate is v."""
    s1, s2, z = C[START_1], C[START_2], X[at.BRISTLE]
    if part == SECOND_HALF:
        s1, s2, z = C[HALF_1], C[HALF_2], C[HALF_Z]
    if P[at.FRICTION_LAW] == at.LUGRE_LAW:
        C[WHOLE_Z if part == WHOLE else HALF_Z] = bend_bristles(P, z, v, h)
    n1 = larger(s1 + h * (C[I_11] * C[R_1] + C[I_12] * C[R_2] + C[C_1] * v), LEAST_SHARE * s1)
    n2 = larger(s2 + h * (C[I_21] * C[R_1] + C[I_22] * C[R_2] + C[C_2] * v), LEAST_SHARE * s2)
    y, C[V] = C[Y] + h * v, v
    # what flowed, to the order of the stage: the pressures have changed by P_s s' h + P_y v h
    by_oil1, by_oil2 = C[S_1] * (n1 - s1) + C[Y_1] * h * v, C[S_2] * (n2 - s2) + C[Y_2] * h * v
    drawn = C[DRAWN] + C[D_1] * by_oil1 + C[D_2] * by_oil2
    L[TAKEN] += drawn
    weight, kept = (-h, 0.0) if part == WHOLE else (2.0 * h, 1.0)
    fluid = fluid_of_supply(S)
    p = L[PRESSURE]
    _, enthalpy = energies(fluid, p, volume_and_stiffness(fluid, p)[0])
    power = powers(
        P, enthalpy, (s1, C[P_1], 0.0, s2, C[P_2], 0.0), ((n1 - s1) / h, (n2 - s2) / h, drawn), C[Y], v
    )
    C[GIVEN] = kept * C[GIVEN] + weight * power[0]
    C[WORKED] = kept * C[WORKED] + weight * power[1]
    C[LOST] = kept * C[LOST] + weight * power[2]
    if part == WHOLE:
        C[WHOLE_1], C[WHOLE_2], C[WHOLE_Y] = n1, n2, y
    else:
        C[HALF_1], C[HALF_2], C[HALF_Y] = n1, n2, y


@kernel
def flow_lines(pumps, lines, part, h):
    """The oil of the lines of pumps after a stage of h, and the swivels."""
    for k in range(pumps.size // of.SUPPLY_PARAMETER_COUNT):
        S, L = row_of(pumps, k, of.SUPPLY_PARAMETER_COUNT), row_of(lines, k, LINES)
        if S[of.PUMP] != of.IDEAL:
            s, swivel = L[L_START], L[W_START]
            if part == SECOND_HALF:
                s, swivel = L[L_HALF], L[W_HALF]
            p, w, beta, slope = line_pressure(S, s, L[PRESSURE])
            line = (s, p, w, beta, slope, swivel)
            net, turned, of_s, of_w, pumped, relieved = line_rates(S, line, L[LOAD], L[TAKEN])
            # (1 - h J) of line and swivel, two by two
            ll, lw = 1.0 - h * (of_s[0] - L[BY_LINE] * slope), -h * of_s[2]
            wl, ww = -h * of_w[0], 1.0 - h * of_w[2]
            det = ll * ww - lw * wl
            turn = smaller(larger(swivel + h * (ll * turned - wl * net) / det, 0.0), 1.0)
            new = larger(s + (h * net - lw * (turn - swivel)) / ll, LEAST_SHARE * s)
            # energies by what flows at the end
            p, w, beta, slope = line_pressure(S, new, p)
            line = (new, p, w, beta, slope, turn)
            _, _, _, _, pumped, relieved = line_rates(S, line, L[LOAD], L[TAKEN])
            _, enthalpy = energies(fluid_of_supply(S), p, w)
            weight, kept = (-h, 0.0) if part == WHOLE else (2.0 * h, 1.0)
            L[PUMPED] = kept * L[PUMPED] + weight * pumped * enthalpy
            L[RELIEVED] = kept * L[RELIEVED] + weight * relieved * enthalpy
            if part == WHOLE:
                L[L_WHOLE], L[W_WHOLE] = new, turn
            else:
                L[L_HALF], L[W_HALF] = new, turn


@kernel
def roughness(P, X, C):
    """How far oil and stroke of a step of a cylinder are from those of its halves, in units of what they may
    be; 0 where neither a stop nor a cavity is near."""
    y0, y, top = X[at.OIL_STROKE], 2.0 * C[HALF_Y] - C[WHOLE_Y], P[at.LONGEST_STROKE]
    fluid = fluid_of(P)
    V1, V2, _ = volumes(P, y)
    p1, _ = pressure_of(fluid, V1 / (2.0 * C[HALF_1] - C[WHOLE_1]), X[at.PRESSURE_1])
    p2, _ = pressure_of(fluid, V2 / (2.0 * C[HALF_2] - C[WHOLE_2]), X[at.PRESSURE_2])
    V1, V2, _ = volumes(P, C[HALF_Y])
    q1, _ = pressure_of(fluid, V1 / C[HALF_1], p1)
    q2, _ = pressure_of(fluid, V2 / C[HALF_2], p2)
    apart = larger(absolute(p1 - q1), absolute(p2 - q2)) / ROUGH_PRESSURE
    apart = larger(apart, absolute(y - C[HALF_Y]) / ROUGH_STROKE)
    # stages feel a stop only where they begin: a step that meets it, or leaves it, ends near it
    for end in (0.0, top):
        met = select(less((y0 - end) * (y - end), 0.0), absolute(y - end), 0.0)
        apart = larger(apart, met / NEAR_STOP)
    inside = smaller(smaller(y0, y), smaller(C[WHOLE_Y], top - larger(larger(y0, y), C[WHOLE_Y])))
    least = smaller(smaller(p1, p2), smaller(X[at.PRESSURE_1], X[at.PRESSURE_2]))
    return select(both(less(0.0, inside), less(NEARLY_EMPTY, least)), 0.0 * apart, apart)


@kernel
def roughest(parameters, pumps, states, stages, lines):
    """The largest `roughness` of all cylinders and lines; NaN where something is not finite."""
    most, all_of = 0.0, 0.0
    for k in range(pumps.size // of.SUPPLY_PARAMETER_COUNT):
        S, L = row_of(pumps, k, of.SUPPLY_PARAMETER_COUNT), row_of(lines, k, LINES)
        if S[of.PUMP] != of.IDEAL:
            p = line_pressure(S, 2.0 * L[L_HALF] - L[L_WHOLE], L[PRESSURE])[0]
            apart = absolute(p - line_pressure(S, L[L_HALF], p)[0]) / ROUGH_LINE
            most, all_of = larger(most, apart), all_of + apart
    for i in range(parameters.size // at.PARAMETER_COUNT):
        P, X = row_of(parameters, i, at.PARAMETER_COUNT), row_of(states, i, at.STATE_COUNT)
        apart = roughness(P, X, row_of(stages, i, STAGES))
        most, all_of = larger(most, apart), all_of + apart
    return most + 0.0 * all_of


@kernel
def end_step(parameters, pumps, states, supply_states, stages, lines, extrapolates):
    """Take over what the stages reached: oil, pressures, spools, energies, flags. Returns 1 if something is
    not finite, else 0; states are kept then, with FAULT."""
    sum_of = 0.0
    for k in range(lines.size):
        sum_of += 0.0 * lines[k]
    for i in range(parameters.size // at.PARAMETER_COUNT):
        C = row_of(stages, i, STAGES)
        sum_of += 0.0 * (C[WHOLE_1] + C[WHOLE_2] + C[WHOLE_Y])
        if extrapolates:
            sum_of += 0.0 * (C[HALF_1] + C[HALF_2] + C[HALF_Y])
    if sum_of != 0.0:
        for i in range(parameters.size // at.PARAMETER_COUNT):
            states[i * at.STATE_COUNT + at.FLAGS] = float(at.FAULT)
        return 1
    for k in range(pumps.size // of.SUPPLY_PARAMETER_COUNT):
        S, Y_ = row_of(pumps, k, of.SUPPLY_PARAMETER_COUNT), row_of(supply_states, k, of.SUPPLY_STATE_COUNT)
        L = row_of(lines, k, LINES)
        if S[of.PUMP] != of.IDEAL:
            s, swivel = L[L_WHOLE], L[W_WHOLE]
            if extrapolates:
                s, swivel = 2.0 * L[L_HALF] - s, 2.0 * L[W_HALF] - swivel
                s = select(less(0.0, s), s, L[L_HALF])
            Y_[of.OIL_LINE], Y_[of.SWIVEL] = s, smaller(larger(swivel, 0.0), 1.0)
            Y_[of.PRESSURE] = line_pressure(S, s, L[PRESSURE])[0]
            sign = 1.0 if extrapolates else -1.0
            Y_[of.PUMP_WORK] += sign * L[PUMPED]
            Y_[of.LINE_LOSS] += sign * L[RELIEVED]
    for i in range(parameters.size // at.PARAMETER_COUNT):
        P, X = row_of(parameters, i, at.PARAMETER_COUNT), row_of(states, i, at.STATE_COUNT)
        C = row_of(stages, i, STAGES)
        s1, s2, y, sign = C[WHOLE_1], C[WHOLE_2], C[WHOLE_Y], -1.0
        if extrapolates:
            s1, s2, y, sign = 2.0 * C[HALF_1] - s1, 2.0 * C[HALF_2] - s2, 2.0 * C[HALF_Y] - y, 1.0
            s1, s2 = select(less(0.0, s1), s1, C[HALF_1]), select(less(0.0, s2), s2, C[HALF_2])
        X[at.OIL_1], X[at.OIL_2], X[at.SPOOL] = s1, s2, C[END_X]
        X[at.SPOOL_RATE], X[at.SLEWED_COMMAND] = C[END_RATE], C[END_HELD]
        X[at.SUPPLY_WORK] += sign * C[GIVEN]
        k = int(P[at.SUPPLY_INDEX])
        if pumps[k * of.SUPPLY_PARAMETER_COUNT + of.PUMP] == of.IDEAL:
            supply_states[k * of.SUPPLY_STATE_COUNT + of.PUMP_WORK] += sign * C[GIVEN]
        X[at.PISTON_WORK] += sign * C[WORKED]
        X[at.OIL_LOSS] += sign * C[LOST]
        X[at.ATTEMPTS] = 3.0 if extrapolates else 1.0
        if P[at.FRICTION_LAW] == at.LUGRE_LAW:
            X[at.BRISTLE] = 2.0 * C[HALF_Z] - C[WHOLE_Z] if extrapolates else C[WHOLE_Z]
        settle_pressures(P, X, y)
        p = supply_states[int(P[at.SUPPLY_INDEX]) * of.SUPPLY_STATE_COUNT + of.PRESSURE]
        report_leg(P, X, p, y, C[V], C[FLAGS])
    return 0
