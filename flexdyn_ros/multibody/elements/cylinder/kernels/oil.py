"""Oil with entrained air: specific volume, stiffness, energy, and the pressure of oil in a given volume.

Relative to its volume at atmospheric pressure, oil with a share alpha0 of air there takes the volume (Yu,
Chen & Lu 1994; docs/theory/hydraulics.md)

    w(p) = (1 - alpha0) exp(-(p - p_atm)/beta_l) + alpha0 (p_atm/p)^(1/n),

which falls from infinity at p = 0; so each volume per oil has one positive pressure. Without air (the model
'constant') w is the exponential above VOID_PRESSURE p_v; below, a void goes on in w = w(p_v) + c (p_v/p - 1)
with the same slope, c = w(p_v) p_v/beta_l, so that pressures are positive there too.

A fluid is the tuple (beta_l, alpha0, n, p_atm).
"""

from __future__ import annotations

import numpy as np

from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.numbers.functions import both, holds, larger, less, select, smaller

from . import memory as at

#: pressure of a void in oil without air [Pa]
VOID_PRESSURE = 100.0
#: rounds of `pressure_at` that are enough from any start to any end within 50 Pa to 600 bar: with USUAL
#: shares of air, and with any
USUAL_ROUNDS, ROUNDS = 5, 8
USUAL = (4e-4, 6e-2)
#: last change of p, as a part of it, that leaves an error of its third power within a sub-step, and of its
#: square outside
CLOSE, CLOSER = 1e-4, 1e-6
#: pressure where gas and liquid are told apart in a first guess [Pa]
MIDDLE = 1e6


@kernel
def fluid_of(P):
    """The fluid of a cylinder's row of parameters."""
    return P[at.BULK_MODULUS], P[at.AIR], P[at.POLYTROPIC], P[at.ATMOSPHERE]


@kernel
def void(fluid):
    """w at VOID_PRESSURE and c of the oil without air below it."""
    w = np.exp((fluid[3] - VOID_PRESSURE) / fluid[0])
    return w, w * VOID_PRESSURE / fluid[0]


@kernel
def pressure_without_air(fluid, v):
    """Pressure at which w = v > 0 of oil without air, and beta there."""
    w, c = void(fluid)
    beyond = less(w, v)
    share = c / select(beyond, c + v - w, c)
    p = select(beyond, VOID_PRESSURE * share, fluid[3] - fluid[0] * np.log(select(beyond, w, v)))
    return p, select(beyond, v * VOID_PRESSURE * share * share / c, fluid[0])


@kernel
def volume_and_stiffness(fluid, p):
    """w(p) [-] and beta(p) = -w / (dw/dp) [Pa] at p > 0 [Pa]."""
    bulk, air, n, atmosphere = fluid
    oil = (1.0 - air) * np.exp((atmosphere - p) / bulk)
    if air == 0.0:
        w, c = void(fluid)
        beyond = less(p, VOID_PRESSURE)
        thin = select(beyond, p / VOID_PRESSURE, 1.0)
        wide = w + c * (1.0 / thin - 1.0)
        return select(beyond, wide, oil), select(beyond, wide * p * thin / c, bulk)
    gas = air * np.exp(np.log(atmosphere / p) / n)
    w = oil + gas
    return w, w / (oil / bulk + gas / (n * p))


@kernel
def curved_volume(fluid, p):
    """w, beta and w'' beta/(2 w) of oil with air [-, Pa, 1/Pa]."""
    bulk, air, n, atmosphere = fluid
    oil = (1.0 - air) * np.exp((atmosphere - p) / bulk)
    gas = air * np.exp(np.log(atmosphere / p) / n)
    w, soft, thin = oil + gas, oil / bulk, gas / (n * p)
    fall = soft + thin
    return w, w / fall, 0.5 * (soft / bulk + thin * (1.0 + 1.0 / n) / p) / fall


@kernel
def energies(fluid, p, w):
    """Elastic energy e(p) and enthalpy h = e + (p - p_atm) w of oil, by its volume at p_atm [J/m3].

    w : w(p)

    e = -int (p - p_atm) dw from p_atm; so d(s e) = h ds - (p - p_atm) dV of oil s in a volume V = s w. With
    X = w_air(p): e_air = [ (p X - p_atm alpha0) / (n - 1) ] + p_atm (X - alpha0), n > 1; isothermal air
    (n = 1) has alpha0 p_atm ln(p/p_atm) in place of the bracket.
    """
    bulk, air, n, atmosphere = fluid
    P = p - atmosphere
    # exp(-P/beta_l) = (1 - t)/(1 + t): so nothing is lost where P is small
    t = np.tanh(0.5 * P / bulk)
    e = (1.0 - air) * (2.0 * bulk * t - P * (1.0 - t)) / (1.0 + t)
    if air != 0.0:
        gas = w - (1.0 - air) * (1.0 - t) / (1.0 + t)
        if n > 1.0:
            e += (p * gas - atmosphere * air) / (n - 1.0)
        else:
            e += air * atmosphere * np.log(p / atmosphere)
        e += atmosphere * (gas - air)
    else:
        # below VOID_PRESSURE: - int (p - p_atm) dw of the hyperbola
        start, c = void(fluid)
        beyond = less(p, VOID_PRESSURE)
        bottom = VOID_PRESSURE - atmosphere
        least = bulk - (bulk + bottom) * start
        thin = atmosphere * (w - start) - VOID_PRESSURE * c * np.log(VOID_PRESSURE / p)
        e = select(beyond, least + thin, e)
    return e, e + P * w


@kernel
def guessed(fluid, v, p, w, beta):
    """A pressure near which w = v, from w and beta at p: one round of Newton where it changes p by less than
    half, else a lower bound.

    Bounds: without its gas the oil has w = v at p_atm - beta_l ln(v/(1 - alpha0)); and below MIDDLE the gas
    takes at most what the liquid at MIDDLE leaves of v.
    """
    bulk, air, n, atmosphere = fluid
    near = p + (w - v) * beta / w
    close = both(less(0.5 * p, near), less(near, 2.0 * p))
    if holds(close):
        return near
    liquid = atmosphere - bulk * np.log(v / (1.0 - air))
    gas = v - (1.0 - air) * np.exp((atmosphere - MIDDLE) / bulk)
    # more gas than `least` has less than MIDDLE
    least = air * (atmosphere / MIDDLE) ** (1.0 / n)
    thin = atmosphere * (air / larger(gas, least)) ** n
    return select(close, near, larger(liquid, thin))


@kernel
def pressure_at(fluid, v, p, w, beta):
    """Pressure at which w = v > 0 [Pa], and beta there, from w and beta at the pressure p.

    Rounds of Halley from `guessed`: with d = (w - v) beta/w, the change of Newton, p <- max(p + d/(1 - d w''
    beta/(2 w)), p/10). beta follows its slope in the last round.
    """
    if fluid[1] == 0.0:
        return pressure_without_air(fluid, v)
    p = guessed(fluid, v, p, w, beta)
    rounds = USUAL_ROUNDS if USUAL[0] <= fluid[1] <= USUAL[1] else ROUNDS
    for _ in range(rounds):
        w, beta, bend = curved_volume(fluid, p)
        change = (w - v) * beta / w
        # Halley's share, within what it may be near the solution
        change = change / (1.0 - smaller(larger(change * bend, -1.0), 0.5))
        change = larger(change, -0.9 * p)
        p = p + change
        # d beta/dp = w w''/w'^2 - 1
        beta = beta + change * (2.0 * bend * beta - 1.0)
        if holds(less(abs(change), CLOSE * p)):
            break
    return p, beta


@kernel
def pressure_of(fluid, v, p):
    """`pressure_at` from any pressure p > 0, to the last digits."""
    if fluid[1] == 0.0:
        return pressure_without_air(fluid, v)
    w, beta, bend = curved_volume(fluid, p)
    change = (w - v) * beta / w
    if holds(less(abs(change), CLOSER * p)):
        return p + change, beta + change * (2.0 * bend * beta - 1.0)
    p, _ = pressure_at(fluid, v, p, w, beta)
    w, beta = volume_and_stiffness(fluid, p)
    return p + (w - v) * beta / w, beta


@kernel
def polished(fluid, v, p):
    """Pressure at which w = v to the last digits, from one of `pressure_at`: those of stiff oil, which is
    nearly linear, are that already."""
    if fluid[1] == 0.0:
        return pressure_without_air(fluid, v)[0]
    if holds(less(MIDDLE, p)):
        return p
    w, beta = volume_and_stiffness(fluid, p)
    return p + (w - v) * beta / w


@kernel
def oil_of(fluid, volume, p):
    """Oil in a volume at pressure p: its volume at atmospheric pressure [m3]."""
    return volume / volume_and_stiffness(fluid, p)[0]
