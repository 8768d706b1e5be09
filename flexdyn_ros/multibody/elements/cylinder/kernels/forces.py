"""Forces of a cylinder on its rod, force control, and one tick of a leg.

See docs/theory/hydraulics.md, "Equations" and "Force control"; flags as in HydraulicState.msg.
"""

from __future__ import annotations

import numpy as np

from flexdyn_ros.numerics.compiling.compiler import entry, kernel
from flexdyn_ros.numerics.compiling.memory import floats_at
from flexdyn_ros.numerics.compiling.windows import window
from flexdyn_ros.numerics.numbers.functions import absolute, larger, less, select, smaller

from . import memory as at
from .cylinder import FOLLOW, advance_oil, forget_oil, piston_of_oil, port_flows, settle_pressures, volumes
from .friction import dry_friction
from .oil import fluid_of, volume_and_stiffness

#: least pressure drop that the control laws divide by [Pa] (docs/theory/hydraulics.md, "Force control")
LEAST_DROP = 2e5
#: distance from the stroke of the oil at which the force control takes its pressures as they are [m]
NEAR = 1e-7
#: rate from which bristles follow at once [1/s]
FASTEST_BRISTLES = 1e30


# ---- forces ----


@kernel
def hydraulic_force(P, p1, p2):
    """F_hyd = A1 p1 - A2 p2 - (A1 - A2) p_atm [N]."""
    return P[at.AREA_1] * p1 - P[at.AREA_2] * p2 - (P[at.AREA_1] - P[at.AREA_2]) * P[at.ATMOSPHERE]


@kernel
def bristle_rate(P, v):
    """lambda = sigma0 |v| / g(v) of LuGre's bristles [1/s]."""
    level = P[at.COULOMB] + (P[at.STATIC] - P[at.COULOMB]) * np.exp(-((v / P[at.STRIBECK]) ** 2))
    rate = P[at.BRISTLE_STIFFNESS] * absolute(v) / level
    return select(less(0.0, level), rate, 2.0 * FASTEST_BRISTLES)


@kernel
def bend_bristles(P, z, v, dt):
    """LuGre's z after dt at constant velocity, exactly [m] (Canudas de Wit et al. 1995)."""
    rate = bristle_rate(P, v)
    left = np.exp(-rate * dt)
    bent = select(less(rate * dt, 1e-9), z + v * dt, z * left + v / rate * (1.0 - left))
    return select(less(rate, FASTEST_BRISTLES), bent, 0.0)


@kernel
def bristle_bending(P, z, v):
    """z' of LuGre's bristles [m/s]; zero where they follow at once."""
    rate = bristle_rate(P, v)
    return select(less(rate, FASTEST_BRISTLES), v - rate * z, 0.0)


@kernel
def friction_force(P, z, v):
    """F_fric [N]; positive against extension."""
    if P[at.FRICTION_LAW] == at.NO_FRICTION:
        return 0.0
    if P[at.FRICTION_LAW] == at.LUGRE_LAW:
        bending = bristle_bending(P, z, v)
        return P[at.BRISTLE_STIFFNESS] * z + P[at.BRISTLE_DAMPING] * bending + P[at.VISCOUS] * v
    return dry_friction(P[at.COULOMB], P[at.STATIC], P[at.STRIBECK], P[at.SMOOTHING], v) + P[at.VISCOUS] * v


@kernel
def stop_force(P, y, v):
    """F_stop [N]: pushes inside, never pulls (Hunt & Crossley 1975)."""
    deep = y - P[at.LONGEST_STROKE]
    push = larger(0.0, -P[at.STOP_STIFFNESS] * y * (1.0 - 1.5 * P[at.STOP_DAMPING] * v))
    pull = larger(0.0, P[at.STOP_STIFFNESS] * deep * (1.0 + 1.5 * P[at.STOP_DAMPING] * v))
    return select(less(y, 0.0), push, select(less(0.0, deep), -pull, 0.0))


# ---- force control ----


@kernel
def note_rate(P, X, v, dt):
    """Filtered difference of the velocity in X: a first-order filter as fast as the valve."""
    lag = 1.0 / P[at.SPOOL_FREQUENCY] if P[at.SPOOL_FREQUENCY] > 0.0 else P[at.SPOOL_TIME]
    share = 1.0 - np.exp(-dt / lag) if lag > 0.0 else 1.0
    # nothing in the first tick
    share = select(less(0.0, X[at.ATTEMPTS]), share, 0.0)
    X[at.RATE_SLOPE] += share * ((v - X[at.LAST_RATE]) / dt - X[at.RATE_SLOPE])
    X[at.LAST_RATE] = v


@kernel
def is_beyond_reach(P, ps, F, v):
    """Whether the fully open valve, one way or the other, cannot hold the hydraulic force F at this speed.

    Steady flow through both edges: F = A1 p1 - A2 p2 - .. with p1 = p_s - (A1 v/K1)^2, p2 = p_t + (A2 v/K2)^2
    where the valve drives the piston on its way out, and supply and tank exchanged on the way in. Where it
    brakes, the chamber that empties is above supply by as much; the one that fills is near tank pressure.
    """
    largest = hydraulic_force(P, ps, P[at.TANK])
    least = hydraulic_force(P, P[at.TANK], ps)
    bore, rod = P[at.AREA_1] ** 3 / P[at.VALVE_1] ** 2 * v * v, P[at.AREA_2] ** 3 / P[at.VALVE_2] ** 2 * v * v
    above, below = F - largest, least - F
    if v < 0.0:
        return above > bore or below > -bore - rod
    return above > -bore - rod or below > rod


@kernel
def fill_drop(P, ps, p):
    """Root of the drop that an edge from the supply sees [sqrt Pa], not below that of LEAST_DROP."""
    drop = ps - p
    if P[at.COMPENSATION] < np.inf:
        drop = min(drop, P[at.COMPENSATION])
    return np.sqrt(max(drop, LEAST_DROP))


@kernel
def valve_for_force(P, X, ps, wanted, y, v, dt):
    """Valve opening, unclipped, that leads tau to `wanted` [N] at the supply's pressure ps; and whether it is
    out of reach. Counterbalance valves are not in the law."""
    p1, p2 = X[at.PRESSURE_1], X[at.PRESSURE_2]
    F_d = wanted + friction_force(P, X[at.BRISTLE], v)
    error = F_d - hydraulic_force(P, p1, p2)
    ahead = v
    if P[at.LEAD] != 0.0:
        lag = P[at.SPOOL_TIME]
        if P[at.SPOOL_FREQUENCY] > 0.0:
            lag = 2.0 * P[at.SPOOL_DAMPING] / P[at.SPOOL_FREQUENCY]
        ahead += (lag + 0.5 * dt) * X[at.RATE_SLOPE]
    if P[at.CONTROL_LAW] == at.PI_LAW:
        root = fill_drop(P, ps, p1) if v >= 0.0 else np.sqrt(max(p1 - P[at.TANK], LEAST_DROP))
        feed = P[at.AREA_1] * ahead / (P[at.VALVE_1] * root)
        gain = P[at.NOMINAL_GAIN]
        u = feed + (P[at.KP] * error + X[at.INTEGRAL]) / gain
    else:
        V1, V2, _ = volumes(P, y)
        fluid = fluid_of(P)
        c1 = P[at.AREA_1] * volume_and_stiffness(fluid, p1)[1] / V1
        c2 = P[at.AREA_2] * volume_and_stiffness(fluid, p2)[1] / V2
        leak = P[at.LEAK_INTERNAL] * (p1 - p2)
        moving = c1 * (P[at.AREA_1] * ahead + leak) + c2 * (P[at.AREA_2] * ahead + leak)
        N = P[at.KP] * error + X[at.INTEGRAL] + moving
        filling, emptying = (p1, p2) if N >= 0.0 else (p2, p1)
        fill = fill_drop(P, ps, filling)
        empty = np.sqrt(max(emptying - P[at.TANK], LEAST_DROP))
        at1, at2 = (fill, empty) if N >= 0.0 else (empty, fill)
        gain = c1 * P[at.VALVE_1] * at1 + c2 * P[at.VALVE_2] * at2
        u = N / gain
    if abs(u) <= 1.0 or error * u < 0.0:
        X[at.INTEGRAL] += P[at.KI] * error * dt
    return u, is_beyond_reach(P, ps, F_d, v)


# ---- at rest ----


@kernel
def resting_pressures(P, force):
    """Pressures of both chambers that exert the hydraulic force [N], valve shut, and whether they can.

    Their mean lies midway between the supply (column SUPPLY) and tank if the force allows it, as in a
    symmetric valve at rest; both lie between them.
    """
    A1, A2, high, low = P[at.AREA_1], P[at.AREA_2], P[at.SUPPLY], P[at.TANK]
    wanted = force + (A1 - A2) * P[at.ATMOSPHERE]
    p2 = smaller(larger((A1 * (high + low) - wanted) / (A1 + A2), low), high)
    p1 = smaller(larger((wanted + A2 * p2) / A1, low), high)
    p2 = smaller(larger((A1 * p1 - wanted) / A2, low), high)
    return p1, p2, less(absolute(A1 * p1 - A2 * p2 - wanted), 1e-6 * A1 * high)


@kernel
def rest_cylinder(P, X, ps, force, y):
    """Write to X a cylinder at rest at the stroke y [m], its valve shut, the supply at ps, that exerts
    `force` [N] or, with FORCE_UNREACHABLE, as nearly as it can."""
    for k in range(at.STATE_COUNT):
        X[k] = 0.0
    X[at.PRESSURE_1], X[at.PRESSURE_2], can = resting_pressures(P, force)
    settle_pressures(P, X, y)
    report_leg(P, X, ps, y, 0.0, 0.0 if can else float(at.FORCE_UNREACHABLE))


# ---- one tick ----


@kernel
def rod_force(P, X, y, v):
    """tau [N] of the state in X with the piston at y, v; the pressures in X become those at y."""
    settle_pressures(P, X, y)
    force = hydraulic_force(P, X[at.PRESSURE_1], X[at.PRESSURE_2])
    return force - friction_force(P, X[at.BRISTLE], v) + stop_force(P, y, v)


@kernel
def flag(condition, bit):
    """The bit where the condition holds."""
    return select(condition, 1.0 * bit, 0.0)


@kernel
def report_leg(P, X, ps, y, v, flags):
    """Forces, flows and flags of the state in X with the piston at y, v and the supply at ps."""
    p1, p2 = X[at.PRESSURE_1], X[at.PRESSURE_2]
    X[at.FORCE_HYDRAULIC] = hydraulic_force(P, p1, p2)
    X[at.FORCE_FRICTION] = friction_force(P, X[at.BRISTLE], v)
    X[at.FORCE_STOP] = stop_force(P, y, v)
    X[at.FORCE] = X[at.FORCE_HYDRAULIC] - X[at.FORCE_FRICTION] + X[at.FORCE_STOP]
    bore, rod = port_flows(P, ps, X[at.SPOOL], y, p1, p2)
    X[at.FLOW_1], X[at.FLOW_2] = bore[0] + bore[4], rod[0] + rod[4]
    X[at.STROKE] = y
    flags += flag(y <= 0.0, at.STROKE_LOW) + flag(y >= P[at.LONGEST_STROKE], at.STROKE_HIGH)
    flags += flag(less(smaller(p1, p2), P[at.CAVITATION_PRESSURE]), at.CAVITATION)
    flags += flag(less(1.25 * P[at.SUPPLY], larger(p1, p2)), at.OVER_PRESSURE)
    X[at.FLAGS] = flags


@kernel
def command_valve(P, X, ps, y, v, command, mode, dt):
    """Write the valve command of a tick, held for dt, to X; returns its flags."""
    flags = 0.0
    note_rate(P, X, v, dt)
    u = command
    if mode == at.FORCE_COMMAND:
        u, unreachable = valve_for_force(P, X, ps, command, y, v, dt)
        flags += flag(unreachable, at.FORCE_UNREACHABLE)
    else:
        X[at.INTEGRAL] = 0.0
    flags += flag(less(1.0, abs(u)), at.VALVE_SATURATED)
    X[at.VALVE_COMMAND] = smaller(larger(u, -1.0), 1.0)
    return flags


@kernel
def tick_leg(P, X, ps, length, v, a, command, mode, dt, follow):
    """One tick of one cylinder at a supply of constant pressure ps, with the length [m] and rate v [m/s] of
    the tick's beginning, accelerating by a.

    follow : 1 if the piston moves as foreseen, FOLLOW dt if its motion follows from the force
    (`piston_of_oil`)
    """
    y = length - P[at.SHORTEST]
    start = piston_of_oil(X, y, follow)
    if mode == at.FORCE_COMMAND and (abs(start - X[at.OIL_STROKE]) > NEAR or not X[at.OIL_1] > 0.0):
        # the law asks for pressures where the piston is
        settle_pressures(P, X, start)
    flags = command_valve(P, X, ps, y, v, command, mode, dt)
    attempts, forced = advance_oil(P, X, ps, start, v, a, dt)
    if P[at.FRICTION_LAW] == at.LUGRE_LAW:
        X[at.BRISTLE] = bend_bristles(P, X[at.BRISTLE], v + 0.5 * a * dt, dt)
    X[at.ATTEMPTS] = attempts
    flags += flag(less(0.0, forced), at.FORCED_STEP)
    report_leg(P, X, ps, y + v * dt + 0.5 * a * dt * dt, v + a * dt, flags)


@kernel
def tick_legs(parameters, states, before, lengths, rates, accelerations, commands, mode, dt, follow):
    """One tick of all legs; legs whose state would not be finite keep it, with FAULT. Returns their number.

    parameters (n PARAMETER_COUNT,), states (m STATE_COUNT,) flat, m a multiple of n; before (STATE_COUNT,)
    work; the rest (m,); follow as in `tick_leg`, of legs whose acceleration is 0: others move as foreseen.
    """
    faults = 0
    legs = parameters.size // at.PARAMETER_COUNT
    for i in range(lengths.size):
        j = (i % legs) * at.PARAMETER_COUNT
        P = window(parameters, j, at.PARAMETER_COUNT)
        X = window(states, i * at.STATE_COUNT, at.STATE_COUNT)
        for k in range(at.STATE_COUNT):
            before[k] = X[k]
        one = 1.0 if follow == 1.0 or accelerations[i] != 0.0 else follow
        tick_leg(P, X, P[at.SUPPLY], lengths[i], rates[i], accelerations[i], commands[i], mode, dt, one)
        s = 0.0
        for k in range(at.STATE_COUNT):
            s += 0.0 * X[k]
        if s != 0.0:
            faults += 1
            for k in range(at.STATE_COUNT):
                X[k] = before[k]
            X[at.FLAGS] = float(at.FAULT)
    return faults


_A = "float64[::1]"


@entry(f"int64(int64, int64, {_A}, {_A}, {_A}, {_A}, {_A}, {_A}, int64, float64)", nogil=True)
def tick(parameters, legs, states, before, lengths, rates, accelerations, commands, mode, dt):
    """`tick_legs` with the parameters of so many legs at an address."""
    P = floats_at(parameters, legs * at.PARAMETER_COUNT)
    follow = min(FOLLOW * dt, 1.0)
    return tick_legs(P, states, before, lengths, rates, accelerations, commands, mode, dt, follow)


@entry(f"int64(int64, int64, {_A}, {_A}, {_A}, {_A}, {_A}, float64)")
def decide(parameters, legs, states, lengths, rates, forces, openings, period):
    """Valve openings (m,) that lead to forces (m,), held for a period [s] from now; for each leg a bit if
    its force is out of reach, and one if its valve is saturated.

    For cylinders that move on by openings, in ticks of any length.
    """
    P = floats_at(parameters, legs * at.PARAMETER_COUNT)
    missed = 0
    for i in range(lengths.size):
        j = (i % legs) * at.PARAMETER_COUNT
        own, X = window(P, j, at.PARAMETER_COUNT), window(states, i * at.STATE_COUNT, at.STATE_COUNT)
        note_rate(own, X, rates[i], period)
        y = lengths[i] - own[at.SHORTEST]
        settle_pressures(own, X, y)
        u, unreachable = valve_for_force(own, X, own[at.SUPPLY], forces[i], y, rates[i], period)
        openings[i] = min(max(u, -1.0), 1.0)
        if unreachable:
            missed |= 1 << 2 * i
        if abs(u) > 1.0:
            missed |= 2 << 2 * i
    return missed


@entry(f"void(int64, int64, {_A}, {_A}, {_A})")
def rest(parameters, legs, states, forces, lengths):
    """Write states (m STATE_COUNT,) of legs at rest that exert forces (m,) at lengths (m,);
    `rest_cylinder`."""
    P = floats_at(parameters, legs * at.PARAMETER_COUNT)
    for i in range(lengths.size):
        j = (i % legs) * at.PARAMETER_COUNT
        row = window(P, j, at.PARAMETER_COUNT)
        X = window(states, i * at.STATE_COUNT, at.STATE_COUNT)
        rest_cylinder(row, X, row[at.SUPPLY], forces[i], lengths[i] - row[at.SHORTEST])


@entry(f"void(int64, int64, {_A})")
def accept(parameters, legs, states):
    """Look at states (m STATE_COUNT,) that come from outside: oil that does not belong to the pressures and
    the stroke beside it counts as unknown."""
    P = floats_at(parameters, legs * at.PARAMETER_COUNT)
    for i in range(states.size // at.STATE_COUNT):
        j = (i % legs) * at.PARAMETER_COUNT
        forget_oil(window(P, j, at.PARAMETER_COUNT), window(states, i * at.STATE_COUNT, at.STATE_COUNT))


@entry(f"void(int64, int64, {_A}, {_A})")
def settle(parameters, legs, states, lengths):
    """Let pressures in states (m STATE_COUNT,) be those of the oil at lengths (m,) of the legs."""
    P = floats_at(parameters, legs * at.PARAMETER_COUNT)
    for i in range(lengths.size):
        j = (i % legs) * at.PARAMETER_COUNT
        row = window(P, j, at.PARAMETER_COUNT)
        X = window(states, i * at.STATE_COUNT, at.STATE_COUNT)
        settle_pressures(row, X, lengths[i] - row[at.SHORTEST])
