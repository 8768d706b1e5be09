"""Flows through the edges of a spool valve, counterbalance valves, leaks, relief and make-up valves.

Merritt 1967; docs/theory/hydraulics.md. Flows are volumes at the pressure of the chamber that they enter,
with their slopes by the pressures. P is a cylinder's row of parameters, ps the pressure of its supply.
"""

from __future__ import annotations

import numpy as np

from flexdyn_ros.numerics.compiling.compiler import kernel, leaf
from flexdyn_ros.numerics.numbers.functions import both, larger, less, select, smaller

from . import memory as at

#: what keeps a product of two closed edges from being divided by zero [(m3/(s sqrt Pa))^2]
CLOSED = 1e-60


@leaf
def orifice(drop, transition):
    """phi = D / (D^2 + D0^2)^(1/4): odd, smooth, sqrt|D| far from zero [sqrt Pa]."""
    return drop / np.sqrt(np.sqrt(drop * drop + transition * transition))


@leaf
def orifice_slope(drop, transition):
    """d phi / d D [1/sqrt Pa]."""
    s = drop * drop + transition * transition
    return (1.0 - 0.5 * drop * drop / s) / np.sqrt(np.sqrt(s))


@kernel
def openings(P, x):
    """Openings x+ (bore to supply, rod to tank) and x- (the other two edges) at spool position x."""
    x = smaller(larger(x, -1.0), 1.0)
    forward = larger(larger(x - P[at.OVERLAP], 0.0) + P[at.NULL_OPENING], 0.0)
    backward = larger(larger(-x - P[at.OVERLAP], 0.0) + P[at.NULL_OPENING], 0.0)
    return forward, backward


@kernel
def throttle(P, distance):
    """What a cushion leaves of the outlet at this distance from the end of the stroke."""
    if P[at.CUSHION_LENGTH] <= 0.0:
        return 1.0
    share = smaller(larger(distance / P[at.CUSHION_LENGTH], 0.0), 1.0)
    return P[at.CUSHION_MINIMUM] + (1.0 - P[at.CUSHION_MINIMUM]) * share


@kernel
def counterbalance(tank, valve, p, other):
    """Flow constant z K_cb of a counterbalance valve, and its slopes by the pressure p of its own chamber
    and of the other one.

    z = clip((p - p_t + R (other - p_t) - p_crack) / range, 0, 1); valve : (p_crack, R, K_cb, range).
    """
    cracking, ratio, conductance, breadth = valve
    opening = (p - tank + ratio * (other - tank) - cracking) / breadth
    slope = conductance / breadth
    slope = select(both(less(0.0, opening), less(opening, 1.0)), slope, 0.0 * slope)
    return conductance * smaller(larger(opening, 0.0), 1.0), slope, ratio * slope


@kernel
def in_series(a, b):
    """Flow constant of two orifices in series, a b / sqrt(a^2 + b^2), and its slope by b."""
    square = larger(a * a + b * b, CLOSED)
    root = np.sqrt(square)
    return a * b / root, a * a * a / (square * root)


@kernel(forceinline=True)
def spool_port(P, ps, valve, filling, emptying, cushion, held, p, other):
    """Flows into a chamber of pressure p through the two edges of its port, and their slopes.

    valve is the flow constant of an edge, filling and emptying the openings to supply and tank; cushion
    throttles what leaves; held is the port's counterbalance valve, of which what leaves passes (1: K_cb 0, no
    valve); other is the pressure of the other chamber.

    Returns the flow from the supply with its slopes by p, ps, other, and that from the tank with its slopes
    by p, other.
    """
    d0 = P[at.TRANSITION]
    drop, rise = ps - p, p - P[at.TANK]
    seen = drop
    limited = 1.0
    if P[at.COMPENSATION] < np.inf:
        # the compensator holds the drop of edges from the supply, whatever the load
        seen = smaller(drop, P[at.COMPENSATION])
        limited = select(less(drop, P[at.COMPENSATION]), 1.0, 0.0)
    fill, empty = valve * filling, valve * emptying
    phi_s, phi_t = orifice(seen, d0), orifice(rise, d0)
    own_s = other_s = own_t = other_t = 0.0
    if held[2] > 0.0:
        z, own, across = counterbalance(P[at.TANK], held, p, other)
        back, by_back = in_series(fill, z)
        out, by_out = in_series(empty, z)
        # inflow passes the check valve
        leaves_s, leaves_t = less(drop, 0.0), less(0.0, rise)
        fill = select(leaves_s, back, fill)
        empty = select(leaves_t, out, empty)
        by_back = select(leaves_s, by_back * phi_s, 0.0)
        by_out = select(leaves_t, -by_out * phi_t, 0.0)
        own_s, other_s = by_back * own, by_back * across
        own_t, other_t = by_out * own, by_out * across
    by_s = fill * limited * orifice_slope(seen, d0)
    from_supply, from_tank = fill * phi_s, -empty * phi_t
    own_s -= by_s
    own_t -= empty * orifice_slope(rise, d0)
    if P[at.CUSHION_LENGTH] > 0.0:
        share = select(less(from_supply + from_tank, 0.0), cushion, 1.0)
        from_supply, own_s, by_s, other_s = share * from_supply, share * own_s, share * by_s, share * other_s
        from_tank, own_t, other_t = share * from_tank, share * own_t, share * other_t
    return from_supply, own_s, by_s, other_s, from_tank, own_t, other_t


@kernel(forceinline=True)
def check_valves(P, p):
    """Flow into a chamber of pressure p from its make-up valve, less that through its relief valve, and its
    slope."""
    flow = slope = 0.0
    if P[at.MAKEUP] > 0.0:
        lack = P[at.TANK] - p
        below = less(0.0, lack)
        flow += select(below, P[at.MAKEUP] * orifice(lack, P[at.TRANSITION]), 0.0)
        slope -= select(below, P[at.MAKEUP] * orifice_slope(lack, P[at.TRANSITION]), 0.0)
    if P[at.RELIEF_PRESSURE] < np.inf:
        above = less(P[at.RELIEF_PRESSURE], p)
        flow -= select(above, P[at.RELIEF] * (p - P[at.RELIEF_PRESSURE]), 0.0)
        slope -= select(above, P[at.RELIEF], 0.0)
    return flow, slope
