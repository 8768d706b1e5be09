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

from . import memory as at

#: of the Rosenbrock scheme, 1 - 1/sqrt(2): L-stable
GAMMA = 0.2928932188134524
#: smallest sub-step as a part of the tick, attempts after which nothing is rejected any more
FINEST, MOST_ATTEMPTS = 1.0 / 64.0, 160
#: power of beta/beta_l by which tolerances shrink: 1 would hold volumes as the default holds pressures, at
#: half more sub-steps; 3/4 stays within the bounds of check 16 with few
STIFFNESS_SHARE = 0.75
#: pressure below which a stage is not evaluated, and that a forced step leaves behind [Pa]
LOWEST_STAGE, LOWEST_PRESSURE = 1.0, 100.0
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
def specific_volume(P, p):
    """w(p): volume of a mass of fluid relative to that at atmospheric pressure."""
    air = P[at.AIR]
    oil = np.exp(-(p - P[at.ATMOSPHERE]) / P[at.BULK_MODULUS])
    if air == 0.0:
        return oil
    return (1.0 - air) * oil + air * (P[at.ATMOSPHERE] / p) ** (1.0 / P[at.POLYTROPIC])


@kernel
def stiffness_of_fluid(P, p):
    """beta(p) = -w / (dw/dp) of oil with air [Pa] and its slope d beta/dp.

    beta tends to n p, so that a pressure stays positive.
    """
    air = P[at.AIR]
    if air == 0.0:
        return P[at.BULK_MODULUS], 0.0
    p = max(p, LOWEST_STAGE)
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
    if flow < 0.0:
        flow, slope = flow * throttle, slope * throttle
    if P[at.MAKEUP] > 0.0 and to_tank < 0.0:
        flow += P[at.MAKEUP] * orifice(-to_tank, d0)
        slope -= P[at.MAKEUP] * orifice_slope(-to_tank, d0)
    if p > P[at.RELIEF_PRESSURE]:
        flow -= P[at.RELIEF] * (p - P[at.RELIEF_PRESSURE])
        slope -= P[at.RELIEF]
    return flow, slope


@kernel
def openings(P, x):
    """Openings x+ (bore to supply, rod to tank) and x- (the other two edges) at spool position x."""
    x = min(max(x, -1.0), 1.0)
    forward = max(max(x - P[at.OVERLAP], 0.0) + P[at.NULL_OPENING], 0.0)
    backward = max(max(-x - P[at.OVERLAP], 0.0) + P[at.NULL_OPENING], 0.0)
    return forward, backward


@kernel
def throttle(P, distance):
    """What a cushion leaves of the outlet at this distance from the end of the stroke."""
    if P[at.CUSHION_LENGTH] <= 0.0:
        return 1.0
    share = min(max(distance / P[at.CUSHION_LENGTH], 0.0), 1.0)
    return P[at.CUSHION_MINIMUM] + (1.0 - P[at.CUSHION_MINIMUM]) * share


@kernel
def volumes(P, y):
    """V1, V2 of the chambers [m3] and whether they change with y: not far beyond the ends of the stroke."""
    inside = min(max(y, -BEYOND), P[at.LONGEST_STROKE] + BEYOND)
    V1 = P[at.DEAD_1] + P[at.AREA_1] * inside
    V2 = P[at.DEAD_2] + P[at.AREA_2] * (P[at.LONGEST_STROKE] - inside)
    moves = 1.0 if inside == y else 0.0
    return max(V1, 0.5 * P[at.DEAD_1]), max(V2, 0.5 * P[at.DEAD_2]), moves


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
    if root * h < 1e-9:
        c = np.exp(-decay * h)
        s = c * h
    elif zeta < 1.0:
        fall = np.exp(-decay * h)
        c, s = fall * np.cos(root * h), fall * np.sin(root * h) / root
    else:
        slow, fast = np.exp((root - decay) * h), np.exp(-(root + decay) * h)
        c, s = 0.5 * (slow + fast), 0.5 * (slow - fast) / root
    e = x - u
    return u + e * c + (rate + decay * e) * s, rate * c - (w * w * e + decay * rate) * s


@kernel
def slewed(P, held, u, h):
    """Command that the spool sees after h seconds on the way from `held` to u, and its mean until then."""
    far = u - held
    if abs(far) <= P[at.SLEW_RATE] * h:
        return u, u - 0.5 * far * abs(far) / (P[at.SLEW_RATE] * h)
    there = held + np.copysign(P[at.SLEW_RATE] * h, far)
    return there, 0.5 * (held + there)


# ---- pressures over one tick ----


@kernel
def tolerance(P, p, beta):
    """Error of a pressure that a sub-step may make [Pa], where the fluid is as stiff as beta [Pa]."""
    return (P[at.ATOL] + P[at.RTOL] * abs(p)) * min(beta / P[at.BULK_MODULUS], 1.0) ** STIFFNESS_SHARE


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
    error = max(
        abs(0.5 * h * (k1 + l1)) / tolerance(P, p1, min(stiff1, end1)),
        abs(0.5 * h * (k2 + l2)) / tolerance(P, p2, min(stiff2, end2)),
    )
    first1 = p1 + h * (m22 * a1 - m12 * a2) / det
    first2 = p2 + h * (m11 * a2 - m21 * a1) / det
    return p1 + h * (1.5 * k1 + 0.5 * l1), p2 + h * (1.5 * k2 + 0.5 * l2), first1, first2, error


@kernel
def advance_pressures(P, X, y, v, a, dt):
    """Pressures and spool in the state row X over a tick, the piston at y + v t + a t^2/2.

    Returns the number of sub-steps tried and whether one was forced. Never more than 160 + 64 of them.
    """
    p1, p2, x, rate, held = (
        X[at.PRESSURE_1],
        X[at.PRESSURE_2],
        X[at.SPOOL],
        X[at.SPOOL_RATE],
        X[at.SLEWED_COMMAND],
    )
    t, h, finest = 0.0, 0.5 * dt, FINEST * dt
    attempts, forced = 0, False
    while t < dt * (1.0 - 1e-12):
        h = min(h, dt - t)
        attempts += 1
        end = t + h
        next_held, mean = slewed(P, held, X[at.VALVE_COMMAND], h)
        next_x, next_rate = move_spool(P, x, rate, mean, h)
        n1, n2, first1, first2, error = rosenbrock(
            P, p1, p2, x, next_x,
            y + v * t + 0.5 * a * t * t, v + a * t, y + v * end + 0.5 * a * end * end, v + a * end, h,
        )  # fmt: skip
        positive = n1 > 0.0 and n2 > 0.0 and n1 < np.inf and n2 < np.inf
        factor = 0.25
        if positive:
            factor = min(max(0.9 / np.sqrt(max(error, 1e-12)), 0.25), 4.0)
        if (not positive or error > 1.0) and h > 1.000001 * finest and attempts < MOST_ATTEMPTS:
            h = max(finest, h * min(factor, 0.9))
            continue
        if not positive:
            n1, n2 = max(first1, LOWEST_PRESSURE), max(first2, LOWEST_PRESSURE)
        forced |= not positive or error > 1.0
        t, p1, p2, x, rate, held = end, n1, n2, next_x, next_rate, next_held
        h = finest if attempts >= MOST_ATTEMPTS else min(max(h * factor, finest), dt)
    X[at.PRESSURE_1], X[at.PRESSURE_2], X[at.SPOOL], X[at.SPOOL_RATE], X[at.SLEWED_COMMAND] = (
        p1,
        p2,
        x,
        rate,
        held,
    )
    return attempts, forced
