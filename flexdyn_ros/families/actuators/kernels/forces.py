"""Forces of a cylinder on its rod, force control, and one tick of a leg.

Parallel specification, sections 8.1 (friction, end stops), 8.4 (control), 12 (flags).
"""

from __future__ import annotations

import numpy as np

from flexdyn_ros.numerics.compiling.compiler import entry, kernel
from flexdyn_ros.numerics.compiling.memory import floats_at

from .cylinder import advance_pressures, bulk_modulus, pressure_rates, volumes
from .friction import dry_friction
from .memory import (
    AREA_1,
    AREA_2,
    ATMOSPHERE,
    ATTEMPTS,
    BRISTLE,
    BRISTLE_DAMPING,
    BRISTLE_STIFFNESS,
    CAVITATION,
    CAVITATION_PRESSURE,
    CONTROL_LAW,
    COULOMB,
    FAULT,
    FLAGS,
    FLOW_1,
    FLOW_2,
    FORCE,
    FORCE_COMMAND,
    FORCE_FRICTION,
    FORCE_HYDRAULIC,
    FORCE_STOP,
    FORCE_UNREACHABLE,
    FORCED_STEP,
    FRICTION_LAW,
    INTEGRAL,
    KI,
    KP,
    LAST_RATE,
    LEAD,
    LEAK_INTERNAL,
    LONGEST_STROKE,
    LUGRE_LAW,
    NO_FRICTION,
    NOMINAL_GAIN,
    OVER_PRESSURE,
    PARAMETER_COUNT,
    PI_LAW,
    PRESSURE_1,
    PRESSURE_2,
    RATE_SLOPE,
    SHORTEST,
    SMOOTHING,
    SPOOL,
    SPOOL_DAMPING,
    SPOOL_FREQUENCY,
    SPOOL_TIME,
    STATE_COUNT,
    STATIC,
    STOP_DAMPING,
    STOP_STIFFNESS,
    STRIBECK,
    STROKE,
    STROKE_HIGH,
    STROKE_LOW,
    SUPPLY,
    TANK,
    VALVE_1,
    VALVE_2,
    VALVE_COMMAND,
    VALVE_SATURATED,
    VISCOUS,
)

#: least pressure drop that the control laws divide by [Pa] (parallel specification, section 8.4)
LEAST_DROP = 2e5


# ---- forces ----


@kernel
def hydraulic_force(P, p1, p2):
    """F_hyd = A1 p1 - A2 p2 - (A1 - A2) p_atm [N]."""
    return P[AREA_1] * p1 - P[AREA_2] * p2 - (P[AREA_1] - P[AREA_2]) * P[ATMOSPHERE]


@kernel
def bristle_rate(P, v):
    """lambda = sigma0 |v| / g(v) of LuGre's bristles [1/s]."""
    level = P[COULOMB] + (P[STATIC] - P[COULOMB]) * np.exp(-((v / P[STRIBECK]) ** 2))
    return P[BRISTLE_STIFFNESS] * abs(v) / level if level > 0.0 else np.inf


@kernel
def bend_bristles(P, z, v, dt):
    """LuGre's z after dt at constant velocity, exactly [m] (Canudas de Wit et al. 1995)."""
    rate = bristle_rate(P, v)
    if rate == np.inf:
        return 0.0
    if rate * dt < 1e-9:
        return z + v * dt
    left = np.exp(-rate * dt)
    return z * left + v / rate * (1.0 - left)


@kernel
def friction_force(P, z, v):
    """F_fric [N]; positive against extension."""
    if P[FRICTION_LAW] == NO_FRICTION:
        return 0.0
    if P[FRICTION_LAW] == LUGRE_LAW:
        rate = bristle_rate(P, v)
        bending = v - rate * z if rate < np.inf else 0.0
        return P[BRISTLE_STIFFNESS] * z + P[BRISTLE_DAMPING] * bending + P[VISCOUS] * v
    return dry_friction(P[COULOMB], P[STATIC], P[STRIBECK], P[SMOOTHING], v) + P[VISCOUS] * v


@kernel
def stop_force(P, y, v):
    """F_stop [N]: pushes inside, never pulls (Hunt & Crossley 1975)."""
    if y < 0.0:
        return max(0.0, -P[STOP_STIFFNESS] * y * (1.0 - 1.5 * P[STOP_DAMPING] * v))
    deep = y - P[LONGEST_STROKE]
    if deep > 0.0:
        return -max(0.0, P[STOP_STIFFNESS] * deep * (1.0 + 1.5 * P[STOP_DAMPING] * v))
    return 0.0


# ---- force control ----


@kernel
def note_rate(P, X, v, dt):
    """Filtered difference of the velocity in X: a first-order filter as fast as the valve."""
    lag = 1.0 / P[SPOOL_FREQUENCY] if P[SPOOL_FREQUENCY] > 0.0 else P[SPOOL_TIME]
    share = 1.0 - np.exp(-dt / lag) if lag > 0.0 else 1.0
    if X[ATTEMPTS] > 0.0:  # not the first tick
        X[RATE_SLOPE] += share * ((v - X[LAST_RATE]) / dt - X[RATE_SLOPE])
    X[LAST_RATE] = v


@kernel
def is_beyond_reach(P, F, v):
    """Whether the fully open valve, one way or the other, cannot hold the hydraulic force F at this speed.

    Steady flow through both edges: F = A1 p1 - A2 p2 - .. with p1 = p_s - (A1 v/K1)^2, p2 = p_t + (A2 v/K2)^2
    where the valve drives the piston on its way out, and supply and tank exchanged on the way in. Where it
    brakes, the chamber that empties is above supply by as much; the one that fills is near tank pressure.
    """
    largest = hydraulic_force(P, P[SUPPLY], P[TANK])
    least = hydraulic_force(P, P[TANK], P[SUPPLY])
    bore, rod = P[AREA_1] ** 3 / P[VALVE_1] ** 2 * v * v, P[AREA_2] ** 3 / P[VALVE_2] ** 2 * v * v
    above, below = F - largest, least - F
    if v < 0.0:
        return above > bore or below > -bore - rod
    return above > -bore - rod or below > rod


@kernel
def valve_for_force(P, X, wanted, y, v, dt):
    """Valve opening, unclipped, that leads tau to `wanted` [N]; and whether it is out of reach."""
    p1, p2 = X[PRESSURE_1], X[PRESSURE_2]
    F_d = wanted + friction_force(P, X[BRISTLE], v)
    error = F_d - hydraulic_force(P, p1, p2)
    ahead = v
    if P[LEAD] != 0.0:
        lag = P[SPOOL_TIME]
        if P[SPOOL_FREQUENCY] > 0.0:
            lag = 2.0 * P[SPOOL_DAMPING] / P[SPOOL_FREQUENCY]
        ahead += (lag + 0.5 * dt) * X[RATE_SLOPE]
    if P[CONTROL_LAW] == PI_LAW:
        drop = P[SUPPLY] - p1 if v >= 0.0 else p1 - P[TANK]
        feed = P[AREA_1] * ahead / (P[VALVE_1] * np.sqrt(max(drop, LEAST_DROP)))
        gain = P[NOMINAL_GAIN]
        u = feed + (P[KP] * error + X[INTEGRAL]) / gain
    else:
        V1, V2, _ = volumes(P, y)
        c1 = P[AREA_1] * bulk_modulus(P, p1) / V1
        c2 = P[AREA_2] * bulk_modulus(P, p2) / V2
        leak = P[LEAK_INTERNAL] * (p1 - p2)
        moving = c1 * (P[AREA_1] * ahead + leak) + c2 * (P[AREA_2] * ahead + leak)
        N = P[KP] * error + X[INTEGRAL] + moving
        filling, emptying = (p1, p2) if N >= 0.0 else (p2, p1)
        fill = np.sqrt(max(P[SUPPLY] - filling, LEAST_DROP))
        empty = np.sqrt(max(emptying - P[TANK], LEAST_DROP))
        at1, at2 = (fill, empty) if N >= 0.0 else (empty, fill)
        gain = c1 * P[VALVE_1] * at1 + c2 * P[VALVE_2] * at2
        u = N / gain
    if abs(u) <= 1.0 or error * u < 0.0:
        X[INTEGRAL] += P[KI] * error * dt
    return u, is_beyond_reach(P, F_d, v)


# ---- one tick ----


@kernel
def rod_force(P, X, y, v):
    """tau [N] of the state in X with the piston at y, v."""
    force = hydraulic_force(P, X[PRESSURE_1], X[PRESSURE_2])
    return force - friction_force(P, X[BRISTLE], v) + stop_force(P, y, v)


@kernel
def report_leg(P, X, y, v, flags):
    """Forces, flows and flags of the state in X with the piston at y, v."""
    p1, p2 = X[PRESSURE_1], X[PRESSURE_2]
    X[FORCE_HYDRAULIC] = hydraulic_force(P, p1, p2)
    X[FORCE_FRICTION] = friction_force(P, X[BRISTLE], v)
    X[FORCE_STOP] = stop_force(P, y, v)
    X[FORCE] = X[FORCE_HYDRAULIC] - X[FORCE_FRICTION] + X[FORCE_STOP]
    _, _, _, _, _, _, X[FLOW_1], X[FLOW_2], _, _ = pressure_rates(P, p1, p2, X[SPOOL], y, v)
    X[STROKE] = y
    if y <= 0.0:
        flags |= STROKE_LOW
    if y >= P[LONGEST_STROKE]:
        flags |= STROKE_HIGH
    if min(p1, p2) < P[CAVITATION_PRESSURE]:
        flags |= CAVITATION
    if max(p1, p2) > 1.25 * P[SUPPLY]:
        flags |= OVER_PRESSURE
    X[FLAGS] = float(flags)


@kernel
def tick_leg(P, X, length, v, a, command, mode, dt):
    """One tick of one leg at the length [m] and rate v [m/s] of the tick's beginning, accelerating by a."""
    y = length - P[SHORTEST]
    flags = 0
    note_rate(P, X, v, dt)
    u = command
    if mode == FORCE_COMMAND:
        u, unreachable = valve_for_force(P, X, command, y, v, dt)
        if unreachable:
            flags |= FORCE_UNREACHABLE
    else:
        X[INTEGRAL] = 0.0
    if abs(u) > 1.0:
        flags |= VALVE_SATURATED
    X[VALVE_COMMAND] = min(max(u, -1.0), 1.0)
    attempts, forced = advance_pressures(P, X, y, v, a, dt)
    if P[FRICTION_LAW] == LUGRE_LAW:
        X[BRISTLE] = bend_bristles(P, X[BRISTLE], v + 0.5 * a * dt, dt)
    X[ATTEMPTS] = float(attempts)
    if forced:
        flags |= FORCED_STEP
    report_leg(P, X, y + v * dt + 0.5 * a * dt * dt, v + a * dt, flags)


@kernel
def tick_legs(parameters, states, before, lengths, rates, accelerations, commands, mode, dt):
    """One tick of all legs; legs whose state would not be finite keep it, with FAULT. Returns their number.

    parameters (n PARAMETER_COUNT,), states (m STATE_COUNT,) flat, m a multiple of n; before (STATE_COUNT,)
    work; the rest (m,).
    """
    faults = 0
    legs = parameters.size // PARAMETER_COUNT
    for i in range(lengths.size):
        j = (i % legs) * PARAMETER_COUNT
        P = parameters[j : j + PARAMETER_COUNT]
        X = states[i * STATE_COUNT : (i + 1) * STATE_COUNT]
        for k in range(STATE_COUNT):
            before[k] = X[k]
        tick_leg(P, X, lengths[i], rates[i], accelerations[i], commands[i], mode, dt)
        s = 0.0
        for k in range(STATE_COUNT):
            s += 0.0 * X[k]
        if s != 0.0:
            faults += 1
            for k in range(STATE_COUNT):
                X[k] = before[k]
            X[FLAGS] = float(FAULT)
    return faults


_A = "float64[::1]"


@entry(f"int64(int64, int64, {_A}, {_A}, {_A}, {_A}, {_A}, {_A}, int64, float64)", nogil=True)
def tick(parameters, legs, states, before, lengths, rates, accelerations, commands, mode, dt):
    """`tick_legs` with the parameters of so many legs at an address."""
    P = floats_at(parameters, legs * PARAMETER_COUNT)
    return tick_legs(P, states, before, lengths, rates, accelerations, commands, mode, dt)


@entry(f"int64(int64, int64, {_A}, {_A}, {_A}, {_A}, {_A}, float64)")
def decide(parameters, legs, states, lengths, rates, forces, openings, period):
    """Valve openings (m,) that lead to forces (m,), held for a period [s] from now; for each leg a bit if
    its force is out of reach, and one if its valve is saturated.

    For cylinders that move on by openings, in ticks of any length.
    """
    P = floats_at(parameters, legs * PARAMETER_COUNT)
    missed = 0
    for i in range(lengths.size):
        j = (i % legs) * PARAMETER_COUNT
        own, X = P[j : j + PARAMETER_COUNT], states[i * STATE_COUNT : (i + 1) * STATE_COUNT]
        note_rate(own, X, rates[i], period)
        u, unreachable = valve_for_force(own, X, forces[i], lengths[i] - own[SHORTEST], rates[i], period)
        openings[i] = min(max(u, -1.0), 1.0)
        if unreachable:
            missed |= 1 << 2 * i
        if abs(u) > 1.0:
            missed |= 2 << 2 * i
    return missed


@entry(f"void(int64, int64, {_A}, {_A}, {_A})")
def report(parameters, legs, states, lengths, rates):
    """Forces, flows and flags of states (m STATE_COUNT,) of legs with lengths (m,) and rates (m,)."""
    P = floats_at(parameters, legs * PARAMETER_COUNT)
    for i in range(lengths.size):
        j = (i % legs) * PARAMETER_COUNT
        row = P[j : j + PARAMETER_COUNT]
        X = states[i * STATE_COUNT : (i + 1) * STATE_COUNT]
        report_leg(row, X, lengths[i] - row[SHORTEST], rates[i], 0)
