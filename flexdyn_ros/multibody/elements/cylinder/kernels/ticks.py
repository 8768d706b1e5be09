"""Ticks of cylinders and the supplies that they hang on.

parameters (n PARAMETER_COUNT,), states (n STATE_COUNT,) are rows of memory.py, flat; supplies (m
SUPPLY_PARAMETER_COUNT,), supply_states (m SUPPLY_STATE_COUNT,) those of supplies.py. Cylinders of an ideal
supply move by themselves; those of a pump together, through its line (circuit.py).
"""

from __future__ import annotations

import numpy as np

from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.compiling.windows import window
from flexdyn_ros.numerics.numbers.functions import larger

from . import memory as at
from . import supplies as of
from .circuit import (
    A_1,
    A_2,
    B_1,
    B_2,
    BETA_1,
    BETA_2,
    CIRCUIT_WORK,
    HELD,
    N_1,
    N_2,
    NEXT_HELD,
    NEXT_RATE,
    NEXT_X,
    OUT_A,
    P_1,
    P_2,
    Q_1,
    Q_2,
    RATE,
    S_1,
    S_2,
    X,
    begin_stage,
    circuit_step,
    hangs,
    line_rates,
    path,
)
from .cylinder import FINEST, MOST_ATTEMPTS, oil_in, piston_of_oil, powers, volumes
from .forces import bend_bristles, command_valve, flag, report_leg, settle_pressures, tick_leg
from .oil import energies, fluid_of, polished, volume_and_stiffness
from .pumps import fluid_of_supply, line_oil, line_pressure
from .spool import advance_spool

# ---- one pump ----


@kernel
def open_line(S, Y):
    """The line as the tuple (s, p, w, beta, dp/ds, swivel), from its row of state; oil that is not known
    becomes that of the pressure."""
    if not Y[of.OIL_LINE] > 0.0:
        Y[of.OIL_LINE] = line_oil(S, Y[of.PRESSURE])
    p, w, beta, slope = line_pressure(S, Y[of.OIL_LINE], Y[of.PRESSURE])
    return Y[of.OIL_LINE], p, w, beta, slope, Y[of.SWIVEL]


@kernel
def open_cylinders(parameters, states, work, index, motion):
    """Write oil and spools of the cylinders on a supply to the work memory."""
    for i in range(parameters.size // at.PARAMETER_COUNT):
        P = window(parameters, i * at.PARAMETER_COUNT, at.PARAMETER_COUNT)
        if hangs(P, index):
            C = window(work, i * CIRCUIT_WORK, CIRCUIT_WORK)
            row = window(states, i * at.STATE_COUNT, at.STATE_COUNT)
            y, _ = path(motion[0], motion[1], motion[2], P, i, 0.0)
            V1, V2, _ = volumes(P, y)
            fluid = fluid_of(P)
            C[S_1], C[P_1], C[BETA_1] = oil_in(fluid, V1, row[at.PRESSURE_1], row[at.OIL_1])
            C[S_2], C[P_2], C[BETA_2] = oil_in(fluid, V2, row[at.PRESSURE_2], row[at.OIL_2])
            C[X], C[RATE], C[HELD] = row[at.SPOOL], row[at.SPOOL_RATE], row[at.SLEWED_COMMAND]


@kernel
def move_spools(parameters, states, work, index, h):
    """Write the spools after h seconds to the work memory."""
    for i in range(parameters.size // at.PARAMETER_COUNT):
        P = window(parameters, i * at.PARAMETER_COUNT, at.PARAMETER_COUNT)
        if hangs(P, index):
            C = window(work, i * CIRCUIT_WORK, CIRCUIT_WORK)
            u = states[i * at.STATE_COUNT + at.VALVE_COMMAND]
            C[NEXT_X], C[NEXT_RATE], C[NEXT_HELD] = advance_spool(P, C[X], C[RATE], C[HELD], u, h)


@kernel
def add_powers(parameters, states, work, index, enthalpy, motion, t, weight):
    """Add energies of the cylinders to their states: their powers at t, by a weight in seconds."""
    for i in range(parameters.size // at.PARAMETER_COUNT):
        P = window(parameters, i * at.PARAMETER_COUNT, at.PARAMETER_COUNT)
        if hangs(P, index):
            C = window(work, i * CIRCUIT_WORK, CIRCUIT_WORK)
            y, v = path(motion[0], motion[1], motion[2], P, i, t)
            oil = (C[S_1], C[P_1], C[BETA_1], C[S_2], C[P_2], C[BETA_2])
            power = powers(P, enthalpy, oil, (C[A_1], C[A_2], C[OUT_A]), y, v)
            states[i * at.STATE_COUNT + at.SUPPLY_WORK] += weight * power[0]
            states[i * at.STATE_COUNT + at.PISTON_WORK] += weight * power[1]
            states[i * at.STATE_COUNT + at.OIL_LOSS] += weight * power[2]


@kernel
def keep_step(parameters, work, index):
    """Let the trial be where the next sub-step begins."""
    for i in range(parameters.size // at.PARAMETER_COUNT):
        if hangs(window(parameters, i * at.PARAMETER_COUNT, at.PARAMETER_COUNT), index):
            C = window(work, i * CIRCUIT_WORK, CIRCUIT_WORK)
            C[S_1], C[S_2], C[P_1], C[P_2], C[BETA_1], C[BETA_2] = (
                C[N_1],
                C[N_2],
                C[Q_1],
                C[Q_2],
                C[B_1],
                C[B_2],
            )
            C[X], C[RATE], C[HELD] = C[NEXT_X], C[NEXT_RATE], C[NEXT_HELD]


@kernel
def close_cylinders(parameters, states, work, index, motion, dt):
    """Write oil, pressures and spools from the work memory back to the states."""
    for i in range(parameters.size // at.PARAMETER_COUNT):
        P = window(parameters, i * at.PARAMETER_COUNT, at.PARAMETER_COUNT)
        if hangs(P, index):
            C = window(work, i * CIRCUIT_WORK, CIRCUIT_WORK)
            row = window(states, i * at.STATE_COUNT, at.STATE_COUNT)
            y, _ = path(motion[0], motion[1], motion[2], P, i, dt)
            V1, V2, _ = volumes(P, y)
            fluid = fluid_of(P)
            row[at.OIL_1], row[at.OIL_2], row[at.OIL_STROKE] = C[S_1], C[S_2], y
            row[at.PRESSURE_1] = polished(fluid, V1 / C[S_1], C[P_1])
            row[at.PRESSURE_2] = polished(fluid, V2 / C[S_2], C[P_2])
            row[at.SPOOL], row[at.SPOOL_RATE], row[at.SLEWED_COMMAND] = C[X], C[RATE], C[HELD]


@kernel
def advance_circuit(parameters, S, states, Y, work, index, motion, dt):
    """Oil, pressures and spools of the cylinders on a pump, its line and its swivel over a tick.

    motion : lengths, rates, accelerations (n,) of the cylinders; they move as lengths + rates t +
    accelerations t^2/2. Returns the number of sub-steps tried and 1 if one was forced, else 0; never more
    than 160 + 64.
    """
    fluid = fluid_of_supply(S)
    line = open_line(S, Y)
    open_cylinders(parameters, states, work, index, motion)
    t, h, last, attempts, forced = 0.0, 0.5 * dt, 0.0, 0.0, 0.0
    finest = FINEST * dt
    pumped = relieved = enthalpy = 0.0
    while t < dt * (1.0 - 1e-12):
        h = min(h, dt - t)
        attempts += 1.0
        move_spools(parameters, states, work, index, h)
        new, error, pumped, relieved = circuit_step(parameters, S, work, index, line, motion, t, h)
        factor = min(max(0.9 / np.sqrt(max(error, 1e-12)), 0.25), 4.0)
        early = attempts < MOST_ATTEMPTS
        if not error <= 1.0:
            if h > 1.000001 * finest and early:
                h = max(finest, h * min(factor, 0.9))
                continue
            forced = 1.0
        # energies by the trapezoidal rule: the beginning of a sub-step weighs half of it and of the last one
        weight = 0.5 * (last + h)
        _, enthalpy = energies(fluid, line[1], line[2])
        add_powers(parameters, states, work, index, enthalpy, motion, t, weight)
        Y[of.PUMP_WORK] += weight * pumped * enthalpy
        Y[of.LINE_LOSS] += weight * relieved * enthalpy
        last, t, line = h, t + h, new
        keep_step(parameters, work, index)
        h = min(max(h * factor, finest), dt) if early else finest
    drawn, _, load = begin_stage(parameters, S, work, index, line, motion, dt)
    _, _, _, _, pumped, relieved = line_rates(S, line, load[0], drawn)
    _, enthalpy = energies(fluid, line[1], line[2])
    add_powers(parameters, states, work, index, enthalpy, motion, dt, 0.5 * last)
    Y[of.PUMP_WORK] += 0.5 * last * pumped * enthalpy
    Y[of.LINE_LOSS] += 0.5 * last * relieved * enthalpy
    close_cylinders(parameters, states, work, index, motion, dt)
    Y[of.OIL_LINE], Y[of.PRESSURE], Y[of.SWIVEL] = line[0], line[1], line[5]
    Y[of.PUMP_FLOW] = pumped * line[2]
    return attempts, forced


# ---- all supplies ----


@kernel
def tick_pump(parameters, S, states, Y, work, index, motion, commands, modes, dt, follow):
    """One tick of the cylinders on a pump."""
    n = parameters.size // at.PARAMETER_COUNT
    p = open_line(S, Y)[1]
    lengths = window(work, n * CIRCUIT_WORK, n)
    own = (lengths, motion[1], motion[2])
    for i in range(n):
        P = window(parameters, i * at.PARAMETER_COUNT, at.PARAMETER_COUNT)
        if hangs(P, index):
            row = window(states, i * at.STATE_COUNT, at.STATE_COUNT)
            y, v = path(motion[0], motion[1], motion[2], P, i, 0.0)
            start = piston_of_oil(row, y, 1.0 if motion[2][i] != 0.0 else follow)
            lengths[i] = start + P[at.SHORTEST]
            settle_pressures(P, row, start)
            row[at.FLAGS] = command_valve(P, row, p, y, v, commands[i], int(modes[i]), dt)
    attempts, forced = advance_circuit(parameters, S, states, Y, work, index, own, dt)
    for i in range(n):
        P = window(parameters, i * at.PARAMETER_COUNT, at.PARAMETER_COUNT)
        if hangs(P, index):
            row = window(states, i * at.STATE_COUNT, at.STATE_COUNT)
            y, v = path(motion[0], motion[1], motion[2], P, i, dt)
            if P[at.FRICTION_LAW] == at.LUGRE_LAW:
                row[at.BRISTLE] = bend_bristles(P, row[at.BRISTLE], v - 0.5 * motion[2][i] * dt, dt)
            row[at.ATTEMPTS] = attempts
            report_leg(P, row, Y[of.PRESSURE], y, v, row[at.FLAGS] + flag(forced > 0.0, at.FORCED_STEP))
    Y[of.SUPPLY_ATTEMPTS] = attempts
    Y[of.SUPPLY_FLAGS] = flag(forced > 0.0, at.FORCED_STEP)


@kernel
def tick_ideal(parameters, S, states, Y, index, motion, commands, modes, dt, follow):
    """One tick of the cylinders on a supply of constant pressure, each by itself."""
    p = S[of.SET_PRESSURE]
    taken = work = attempts = 0.0
    for i in range(parameters.size // at.PARAMETER_COUNT):
        P = window(parameters, i * at.PARAMETER_COUNT, at.PARAMETER_COUNT)
        if hangs(P, index):
            row = window(states, i * at.STATE_COUNT, at.STATE_COUNT)
            before = row[at.SUPPLY_WORK]
            one = 1.0 if follow == 1.0 or motion[2][i] != 0.0 else follow
            tick_leg(P, row, p, motion[0][i], motion[1][i], motion[2][i], commands[i], int(modes[i]), dt, one)
            work += row[at.SUPPLY_WORK] - before
            attempts = larger(attempts, row[at.ATTEMPTS])
    fluid = fluid_of_supply(S)
    w = volume_and_stiffness(fluid, p)[0]
    taken = work / (dt * energies(fluid, p, w)[1])
    Y[of.PRESSURE], Y[of.PUMP_FLOW] = p, taken * w
    Y[of.PUMP_WORK] += work
    Y[of.SUPPLY_ATTEMPTS], Y[of.SUPPLY_FLAGS] = attempts, 0.0


@kernel
def keep_circuit(parameters, states, Y, work, index, back):
    """Copy the states of a supply and its cylinders behind the work memory, or back."""
    n = parameters.size // at.PARAMETER_COUNT
    kept = window(work, n * (CIRCUIT_WORK + 1), n * at.STATE_COUNT + of.SUPPLY_STATE_COUNT)
    for i in range(n):
        if hangs(window(parameters, i * at.PARAMETER_COUNT, at.PARAMETER_COUNT), index):
            for k in range(i * at.STATE_COUNT, (i + 1) * at.STATE_COUNT):
                if back:
                    states[k] = kept[k]
                else:
                    kept[k] = states[k]
    for k in range(of.SUPPLY_STATE_COUNT):
        if back:
            Y[k] = kept[n * at.STATE_COUNT + k]
        else:
            kept[n * at.STATE_COUNT + k] = Y[k]


@kernel
def is_finite(parameters, states, Y, index):
    """Whether all states of a supply and its cylinders are finite."""
    s = 0.0
    for i in range(parameters.size // at.PARAMETER_COUNT):
        if hangs(window(parameters, i * at.PARAMETER_COUNT, at.PARAMETER_COUNT), index):
            for k in range(i * at.STATE_COUNT, (i + 1) * at.STATE_COUNT):
                s += 0.0 * states[k]
    for k in range(of.SUPPLY_STATE_COUNT):
        s += 0.0 * Y[k]
    return s == 0.0


@kernel
def tick_supplies(parameters, pumps, states, supply_states, work, motion, commands, modes, dt, follow):
    """One tick of all cylinders on all supplies; returns the number of supplies whose states would not be
    finite: they and their cylinders keep theirs, with FAULT.

    pumps : rows of parameters of the supplies; motion : lengths, rates, accelerations (n,) of the cylinders;
    commands (n,), modes (n,) as VALVE, FORCE_COMMAND of memory.py; work (`work_size`,); follow as in
    `forces.tick_legs`.
    """
    faults = 0
    for k in range(pumps.size // of.SUPPLY_PARAMETER_COUNT):
        S = window(pumps, k * of.SUPPLY_PARAMETER_COUNT, of.SUPPLY_PARAMETER_COUNT)
        Y = window(supply_states, k * of.SUPPLY_STATE_COUNT, of.SUPPLY_STATE_COUNT)
        keep_circuit(parameters, states, Y, work, k, False)
        if S[of.PUMP] == of.IDEAL:
            tick_ideal(parameters, S, states, Y, k, motion, commands, modes, dt, follow)
        else:
            tick_pump(parameters, S, states, Y, work, k, motion, commands, modes, dt, follow)
        if not is_finite(parameters, states, Y, k):
            faults += 1
            keep_circuit(parameters, states, Y, work, k, True)
            Y[of.SUPPLY_FLAGS] = float(at.FAULT)
            for i in range(parameters.size // at.PARAMETER_COUNT):
                if hangs(window(parameters, i * at.PARAMETER_COUNT, at.PARAMETER_COUNT), k):
                    states[i * at.STATE_COUNT + at.FLAGS] = float(at.FAULT)
    return faults


@kernel
def work_size(cylinders):
    """Numbers of the work memory of so many cylinders."""
    return cylinders * (CIRCUIT_WORK + 1 + at.STATE_COUNT) + of.SUPPLY_STATE_COUNT
