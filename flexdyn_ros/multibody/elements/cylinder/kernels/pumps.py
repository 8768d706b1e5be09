"""Pumps, and the line between a pump and its valves, whose oil is a state.

docs/theory/hydraulics.md, "Supplies". S is a row of parameters of a supply (supplies.py), Y its row of state.
"""

from __future__ import annotations

import numpy as np

from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.numbers.functions import both, holds, larger, less, select, smaller

from . import memory
from . import supplies as at
from .oil import CLOSE, energies, pressure_of, volume_and_stiffness

#: travel from which a spool counts as open for the pump, which it never leaves quite by itself
LEAST_TRAVEL = 1e-4
#: rounds of Newton for the pressure of a line whose accumulator takes oil
GAS_ROUNDS = 10


@kernel
def fluid_of_supply(S):
    """The fluid of a supply's row of parameters, as of oil.py."""
    return S[at.BULK_MODULUS], S[at.AIR], S[at.POLYTROPIC], S[at.ATMOSPHERE]


# ---- accumulator ----


@kernel
def accumulated(S, p):
    """Volume that an accumulator takes from the oil at pressure p [m3], and its slope [m3/Pa].

    A gas spring: V_0 (1 - (p_0/p)^(1/k)) above the precharge p_0, nothing below.
    """
    if S[at.ACCUMULATOR_VOLUME] <= 0.0:
        return 0.0, 0.0
    filled = less(S[at.PRECHARGE], p)
    share = select(filled, S[at.PRECHARGE] / p, 1.0) ** (1.0 / S[at.ACCUMULATOR_EXPONENT])
    left = S[at.ACCUMULATOR_VOLUME] * share
    return S[at.ACCUMULATOR_VOLUME] - left, select(filled, left / (S[at.ACCUMULATOR_EXPONENT] * p), 0.0)


@kernel
def accumulated_energy(S, p):
    """int (p - p_atm) dV of the accumulator from its precharge [J]."""
    if S[at.ACCUMULATOR_VOLUME] <= 0.0 or p <= S[at.PRECHARGE]:
        return 0.0
    taken, _ = accumulated(S, p)
    left, k = S[at.ACCUMULATOR_VOLUME] - taken, S[at.ACCUMULATOR_EXPONENT]
    if k == 1.0:
        work = S[at.PRECHARGE] * S[at.ACCUMULATOR_VOLUME] * np.log(p / S[at.PRECHARGE])
    else:
        work = (p * left - S[at.PRECHARGE] * S[at.ACCUMULATOR_VOLUME]) / (k - 1.0)
    return work - S[at.ATMOSPHERE] * taken


# ---- the line ----


@kernel
def line_oil(S, p):
    """Oil in the line at pressure p, accumulator included: its volume at atmospheric pressure [m3]."""
    return (S[at.LINE_VOLUME] + accumulated(S, p)[0]) / volume_and_stiffness(fluid_of_supply(S), p)[0]


@kernel
def line_pressure(S, s, p):
    """Pressure of the line with oil s > 0 [Pa], w and beta there, and its slope by s, from a near pressure p.

    V_l + V_acc(p) = s w(p); the left side rises with p, the right one falls. Either p is below the precharge,
    and V_l = s w(p); or Newton's rounds in x = (p_0/p)^(1/k), in which V_acc = V_0 (1 - x) is linear and w of
    stiff oil nearly constant: ten are enough from any pressure, five from a near one.
    """
    fluid = fluid_of_supply(S)
    v = S[at.LINE_VOLUME] / s
    empty, beta = pressure_of(fluid, v, p)
    if S[at.ACCUMULATOR_VOLUME] <= 0.0:
        return empty, v, beta, beta / s
    p0, k = S[at.PRECHARGE], S[at.ACCUMULATOR_EXPONENT]
    share = (p0 / larger(p, p0)) ** (1.0 / k)
    for _ in range(GAS_ROUNDS):
        above = p0 * share**-k
        w, beta = volume_and_stiffness(fluid, above)
        excess = S[at.LINE_VOLUME] + S[at.ACCUMULATOR_VOLUME] * (1.0 - share) - s * w
        change = excess / (S[at.ACCUMULATOR_VOLUME] + s * w / beta * k * above / share)
        before, share = share, smaller(larger(share + change, 0.2 * share), 1.0)
        if holds(less(abs(share - before), 1e-3 * CLOSE * share)):
            break
    p = select(less(p0, empty), p0 * share**-k, empty)
    w, beta = volume_and_stiffness(fluid, p)
    _, slope = accumulated(S, p)
    return p, w, beta, w / (s * w / beta + slope)


@kernel
def line_energy(S, s, p):
    """Elastic energy of the line's oil s at pressure p, and that of the accumulator [J]."""
    fluid = fluid_of_supply(S)
    return s * energies(fluid, p, volume_and_stiffness(fluid, p)[0])[0] + accumulated_energy(S, p)


# ---- pump ----


@kernel
def sensed(S, P, p1, p2, x):
    """Load pressure that a cylinder reports to its pump [Pa], and its slopes by p1, p2: the pressure of the
    chamber that its valve connects to the supply, tank pressure while the valve is shut."""
    shut = LEAST_TRAVEL + larger(P[memory.OVERLAP], 0.0)
    bore, rod = less(shut, x), less(x, -shut)
    return select(bore, p1, select(rod, p2, S[at.TANK])), select(bore, 1.0, 0.0), select(rod, 1.0, 0.0)


@kernel
def demanded(S, ps, load):
    """Share of its displacement that a pump is told to deliver, 0..1, and its slopes by ps and by the load
    pressure."""
    if S[at.PUMP] == at.FIXED_DISPLACEMENT:
        return 1.0, 0.0, 0.0
    target, follows = S[at.SET_PRESSURE], 0.0
    if S[at.PUMP] == at.LOAD_SENSING:
        target = smaller(load + S[at.MARGIN], S[at.MAXIMUM_PRESSURE])
        follows = select(less(load + S[at.MARGIN], S[at.MAXIMUM_PRESSURE]), 1.0, 0.0)
    share = (target - ps) / S[at.BAND]
    slope = select(both(less(0.0, share), less(share, 1.0)), 1.0 / S[at.BAND], 0.0)
    return smaller(larger(share, 0.0), 1.0), -slope, follows * slope


@kernel
def line_losses(S, p):
    """Leakage of the pump, flow through the relief valve of the line [m3/s], and the slope of their sum."""
    leak = S[at.PUMP_LEAKAGE] * (p - S[at.TANK])
    above = p - S[at.RELIEF_PRESSURE]
    lets_go = less(0.0, above)
    relief = select(lets_go, S[at.RELIEF] * above, 0.0)
    return leak, relief, S[at.PUMP_LEAKAGE] + select(lets_go, S[at.RELIEF], 0.0)


@kernel
def resting_pressure(S):
    """Pressure of a line from which no valve takes oil [Pa]: pump, leakage and relief are in balance.

    What flows in falls with p, so that the bracket is halved until it has no width. A pump at rest: tank
    pressure.
    """
    if S[at.PUMP] == at.IDEAL:
        return S[at.SET_PRESSURE]
    flow = S[at.DISPLACEMENT] * S[at.SPEED]
    low, high = S[at.TANK], 2.0 * S[at.TANK] + 1e5
    for _ in range(200):
        leak, relief, _ = line_losses(S, high)
        if flow * demanded(S, high, S[at.TANK])[0] <= leak + relief or high > 1e9:
            break
        high *= 2.0
    for _ in range(100):
        middle = 0.5 * (low + high)
        leak, relief, _ = line_losses(S, middle)
        if flow * demanded(S, middle, S[at.TANK])[0] > leak + relief:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)
