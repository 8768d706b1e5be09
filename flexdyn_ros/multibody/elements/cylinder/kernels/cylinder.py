"""A servo-hydraulic cylinder: valve, spool, two chambers, and their pressures over one tick.

Equations and integration of docs/theory/hydraulics.md: the two-stage
L-stable Rosenbrock scheme of order two of Verwer, Spee, Blom & Hundsdorfer (1999) on the two pressures, with
sub-steps chosen by an error estimate; spool and piston move exactly. P is a leg's row of parameters.

Two things are added for chambers that cavitate. What decides how high the pressure is after a cavity has
closed is not the pressure within it but its volume, and a volume error is an error of pressure over beta,
which falls from 1e9 Pa to 1e4 Pa there: so tolerances shrink with (beta/beta_l)^STIFFNESS_SHARE. And the
Jacobian holds d beta/dp, without which the estimate comes too late for a pressure that rises by itself.
"""

from __future__ import annotations

import numpy as np

from flexdyn_ros.numerics.compiling.compiler import kernel, leaf
from flexdyn_ros.numerics.numbers.functions import both, equal, larger, less, select, smaller
from flexdyn_ros.numerics.numbers.loops import again

from . import memory as at

#: of the Rosenbrock scheme, 1 - 1/sqrt(2): L-stable
GAMMA = 0.2928932188134524
#: smallest sub-step as a part of the tick, attempts after which nothing is rejected any more
FINEST, MOST_ATTEMPTS = 1.0 / 64.0, 160.0
#: power of beta/beta_l by which tolerances shrink: 1 would hold volumes as the default holds pressures, at
#: half more sub-steps; 3/4 stays within the bounds of check 16 with few
STIFFNESS_SHARE = 0.75
#: pressure below which a stage is not evaluated, and that a forced step leaves behind [Pa]
LOWEST_STAGE, LOWEST_PRESSURE = 1.0, 100.0
#: pressure from which a state counts as not finite [Pa]
HIGHEST_PRESSURE = 1e30
#: volumes grow no more beyond this distance from the ends of the stroke [m]
BEYOND = 1e-3


# ---- fluid and orifices ----


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
def stiffness_of_fluid(P, p):
    """beta(p) = -w / (dw/dp) of oil with air [Pa] and its slope d beta/dp.

    beta tends to n p, so that a pressure stays positive.
    """
    air = P[at.AIR]
    if air == 0.0:
        return P[at.BULK_MODULUS], 0.0
    p = larger(p, LOWEST_STAGE)
    oil = (1.0 - air) * np.exp(-(p - P[at.ATMOSPHERE]) / P[at.BULK_MODULUS])
    gas = air * (P[at.ATMOSPHERE] / p) ** (1.0 / P[at.POLYTROPIC])
    oil_slope, gas_slope = oil / P[at.BULK_MODULUS], gas / (P[at.POLYTROPIC] * p)
    # w, -w', w''
    w, fall = oil + gas, oil_slope + gas_slope
    bend = oil_slope / P[at.BULK_MODULUS] + gas_slope * (1.0 + 1.0 / P[at.POLYTROPIC]) / p
    return w / fall, w * bend / (fall * fall) - 1.0


@kernel
def bulk_modulus(P, p):
    """beta(p) of oil with air [Pa]."""
    return stiffness_of_fluid(P, p)[0]


@kernel
def port(P, valve, filling, emptying, throttle, p):
    """Flow into a chamber of pressure p and its slope: valve edges, make-up and relief valve.

    filling, emptying are the openings to supply and tank; throttle (cushion) acts on what leaves through the
    valve.
    """
    from_supply, to_tank = P[at.SUPPLY] - p, p - P[at.TANK]
    d0 = P[at.TRANSITION]
    flow = valve * (filling * orifice(from_supply, d0) - emptying * orifice(to_tank, d0))
    slope = -valve * (filling * orifice_slope(from_supply, d0) + emptying * orifice_slope(to_tank, d0))
    if P[at.CUSHION_LENGTH] > 0.0:
        share = select(less(flow, 0.0), throttle, 1.0)
        flow, slope = flow * share, slope * share
    if P[at.MAKEUP] > 0.0:
        below = less(to_tank, 0.0)
        flow += select(below, P[at.MAKEUP] * orifice(-to_tank, d0), 0.0)
        slope -= select(below, P[at.MAKEUP] * orifice_slope(-to_tank, d0), 0.0)
    if P[at.RELIEF_PRESSURE] < np.inf:
        above = less(P[at.RELIEF_PRESSURE], p)
        flow -= select(above, P[at.RELIEF] * (p - P[at.RELIEF_PRESSURE]), 0.0)
        slope -= select(above, P[at.RELIEF], 0.0)
    return flow, slope


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
def volumes(P, y):
    """V1, V2 of the chambers [m3] and whether they change with y: not far beyond the ends of the stroke."""
    inside = smaller(larger(y, -BEYOND), P[at.LONGEST_STROKE] + BEYOND)
    V1 = P[at.DEAD_1] + P[at.AREA_1] * inside
    V2 = P[at.DEAD_2] + P[at.AREA_2] * (P[at.LONGEST_STROKE] - inside)
    moves = select(equal(inside, y), 1.0, 0.0)
    return larger(V1, 0.5 * P[at.DEAD_1]), larger(V2, 0.5 * P[at.DEAD_2]), moves


@kernel
def pressure_rates(P, p1, p2, x, y, v):
    """p1', p2' [Pa/s], their Jacobian (four numbers), the flows Q1, Q2 [m3/s] and beta(p1), beta(p2) [Pa]."""
    V1, V2, moves = volumes(P, y)
    forward, backward = openings(P, x)
    Q1, slope1 = port(P, P[at.VALVE_1], forward, backward, throttle(P, y), p1)
    Q2, slope2 = port(P, P[at.VALVE_2], backward, forward, throttle(P, P[at.LONGEST_STROKE] - y), p2)
    beta1, bend1 = stiffness_of_fluid(P, p1)
    beta2, bend2 = stiffness_of_fluid(P, p2)
    c1, c2 = beta1 / V1, beta2 / V2
    leak = P[at.LEAK_INTERNAL] * (p1 - p2)
    inflow1 = Q1 - P[at.AREA_1] * v * moves - leak - P[at.LEAK_1] * (p1 - P[at.TANK])
    inflow2 = Q2 + P[at.AREA_2] * v * moves + leak - P[at.LEAK_2] * (p2 - P[at.TANK])
    j11 = c1 * (slope1 - P[at.LEAK_INTERNAL] - P[at.LEAK_1]) + bend1 / V1 * inflow1
    j22 = c2 * (slope2 - P[at.LEAK_INTERNAL] - P[at.LEAK_2]) + bend2 / V2 * inflow2
    j12, j21 = c1 * P[at.LEAK_INTERNAL], c2 * P[at.LEAK_INTERNAL]
    return c1 * inflow1, c2 * inflow2, j11, j12, j21, j22, Q1, Q2, beta1, beta2


# ---- spool ----


@kernel
def move_spool(P, x, rate, u, h):
    """Position and rate of the spool after h seconds of constant command u, exactly."""
    if P[at.SPOOL_FREQUENCY] <= 0.0:
        if P[at.SPOOL_TIME] <= 0.0:
            return u, 0.0
        left = np.exp(-h / P[at.SPOOL_TIME])
        return u + (x - u) * left, (u - x) * left / P[at.SPOOL_TIME]
    w, zeta = P[at.SPOOL_FREQUENCY], P[at.SPOOL_DAMPING]
    decay, root = zeta * w, w * np.sqrt(abs(1.0 - zeta * zeta))
    fall = np.exp(-decay * h)
    c, s = fall, fall * h
    if root > 0.0:
        if zeta < 1.0:
            even, odd = fall * np.cos(root * h), fall * np.sin(root * h) / root
        else:
            slow, fast = np.exp((root - decay) * h), np.exp(-(root + decay) * h)
            even, odd = 0.5 * (slow + fast), 0.5 * (slow - fast) / root
        short = less(root * h, 1e-9)
        c, s = select(short, c, even), select(short, s, odd)
    e = x - u
    return u + e * c + (rate + decay * e) * s, rate * c - (w * w * e + decay * rate) * s


@kernel
def spool_rates(P, x, rate, u):
    """x', x'' of the spool under the command u, which `move_spool` integrates; 0 where it follows at once."""
    if P[at.SPOOL_FREQUENCY] <= 0.0:
        return ((u - x) / P[at.SPOOL_TIME] if P[at.SPOOL_TIME] > 0.0 else 0.0), 0.0
    w, zeta = P[at.SPOOL_FREQUENCY], P[at.SPOOL_DAMPING]
    return rate, w * (w * (u - x) - 2.0 * zeta * rate)


@kernel
def slewed(P, held, u, h):
    """Command that the spool sees after h seconds on the way from `held` to u, and its mean until then."""
    if P[at.SLEW_RATE] == np.inf:
        return u, u
    far, way = u - held, P[at.SLEW_RATE] * h
    beyond = less(way, abs(far))
    there = select(beyond, held + np.copysign(way, far), u)
    return there, select(beyond, 0.5 * (held + there), u - 0.5 * far * abs(far) / way)


# ---- pressures over one tick ----


@kernel
def tolerance(P, p, beta):
    """Error of a pressure that a sub-step may make [Pa], where the fluid is as stiff as beta [Pa]."""
    return (P[at.ATOL] + P[at.RTOL] * abs(p)) * smaller(beta / P[at.BULK_MODULUS], 1.0) ** STIFFNESS_SHARE


@kernel
def rosenbrock(P, p1, p2, x0, x1, y0, v0, y1, v1, h):
    """One sub-step of h: new pressures, the same by the first-order scheme, and the error in tolerances."""
    a1, a2, j11, j12, j21, j22, _, _, stiff1, stiff2 = pressure_rates(P, p1, p2, x0, y0, v0)
    e1, e2, _, _, _, _, _, _, _, _ = pressure_rates(P, p1, p2, x1, y1, v1)
    g = GAMMA * h
    m11, m12, m21, m22 = 1.0 - g * j11, -g * j12, -g * j21, 1.0 - g * j22
    det = m11 * m22 - m12 * m21
    d1, d2 = GAMMA * (e1 - a1), GAMMA * (e2 - a2)
    r1, r2 = a1 + d1, a2 + d2
    k1, k2 = (m22 * r1 - m12 * r2) / det, (m11 * r2 - m21 * r1) / det
    s1, s2, _, _, _, _, _, _, end1, end2 = pressure_rates(P, p1 + h * k1, p2 + h * k2, x1, y1, v1)
    r1, r2 = s1 - 2.0 * k1 - d1, s2 - 2.0 * k2 - d2
    l1, l2 = (m22 * r1 - m12 * r2) / det, (m11 * r2 - m21 * r1) / det
    error = larger(
        abs(0.5 * h * (k1 + l1)) / tolerance(P, p1, smaller(stiff1, end1)),
        abs(0.5 * h * (k2 + l2)) / tolerance(P, p2, smaller(stiff2, end2)),
    )
    first1 = p1 + h * (m22 * a1 - m12 * a2) / det
    first2 = p2 + h * (m11 * a2 - m21 * a1) / det
    return p1 + h * (1.5 * k1 + 0.5 * l1), p2 + h * (1.5 * k2 + 0.5 * l2), first1, first2, error


@kernel
def attempt(P, u, y, v, a, dt, now):
    """The numbers `now` of `advance_pressures` after one sub-step was tried, with the command u."""
    t, h, p1, p2, x, rate, held, attempts, forced = now
    finest = FINEST * dt
    h = smaller(h, dt - t)
    end, attempts = t + h, attempts + 1.0
    next_held, mean = slewed(P, held, u, h)
    next_x, next_rate = move_spool(P, x, rate, mean, h)
    n1, n2, first1, first2, error = rosenbrock(
        P, p1, p2, x, next_x,
        y + v * t + 0.5 * a * t * t, v + a * t, y + v * end + 0.5 * a * end * end, v + a * end, h,
    )  # fmt: skip
    finite = both(less(n1, HIGHEST_PRESSURE), less(n2, HIGHEST_PRESSURE))
    positive = both(both(less(0.0, n1), less(0.0, n2)), finite)
    factor = select(positive, smaller(larger(0.9 / np.sqrt(larger(error, 1e-12)), 0.25), 4.0), 0.25)
    missed = less(1.0, select(positive, error, np.inf))
    early = less(attempts, MOST_ATTEMPTS)
    rejected = both(missed, both(less(1.000001 * finest, h), early))
    n1 = select(positive, n1, larger(first1, LOWEST_PRESSURE))
    n2 = select(positive, n2, larger(first2, LOWEST_PRESSURE))
    shorter = larger(finest, h * smaller(factor, 0.9))
    longer = select(early, smaller(larger(h * factor, finest), dt), finest)
    return (
        select(rejected, t, end),
        select(rejected, shorter, longer),
        select(rejected, p1, n1),
        select(rejected, p2, n2),
        select(rejected, x, next_x),
        select(rejected, rate, next_rate),
        select(rejected, held, next_held),
        attempts,
        select(rejected, forced, select(missed, 1.0, forced)),
    )


@kernel
def advance_pressures(P, X, y, v, a, dt):
    """Pressures and spool in the state row X over a tick, the piston at y + v t + a t^2/2.

    Returns the number of sub-steps tried and 1 if one was forced, else 0. Never more than 160 + 64 of them.
    """
    p1, p2, u = X[at.PRESSURE_1], X[at.PRESSURE_2], X[at.VALVE_COMMAND]
    x, rate, held = X[at.SPOOL], X[at.SPOOL_RATE], X[at.SLEWED_COMMAND]
    now = (0.0, 0.5 * dt, p1, p2, x, rate, held, 0.0, 0.0)
    while True:
        goes_on, now = again(less(now[0], dt * (1.0 - 1e-12)), now)
        if not goes_on:
            break
        now = attempt(P, u, y, v, a, dt, now)
    _, _, p1, p2, x, rate, held, attempts, forced = now
    X[at.PRESSURE_1], X[at.PRESSURE_2] = p1, p2
    X[at.SPOOL], X[at.SPOOL_RATE], X[at.SLEWED_COMMAND] = x, rate, held
    return attempts, forced
