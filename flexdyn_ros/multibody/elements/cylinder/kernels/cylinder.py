"""A servo-hydraulic cylinder on a supply of given pressure: two chambers, and their oil over one tick.

Equations and integration of docs/theory/hydraulics.md. The state is the oil s of each chamber, its volume at
atmospheric pressure: s' = Q/w(p), p = w^-1(V/s). A shut, tight chamber keeps its oil exactly, whatever the
step. The oil is integrated by the two-stage L-stable Rosenbrock scheme of order two of Verwer, Spee, Blom &
Hundsdorfer (1999), in sub-steps chosen by an error estimate; spool and piston move exactly. P is a
cylinder's row of parameters, X its state.

What decides how high the pressure is after a cavity has closed is not the pressure within it but its volume.
The error of an amount of oil is that of a volume: so it counts nearly as the error of the pressure that it
makes in oil without air, wherever the pressure is (`error_of`).
"""

from __future__ import annotations

import numpy as np

from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.numbers.functions import (
    again,
    both,
    equal,
    fails,
    holds,
    larger,
    less,
    select,
    smaller,
)

from . import memory as at
from .edges import check_valves, openings, spool_port, throttle
from .oil import (
    energies,
    fluid_of,
    oil_of,
    polished,
    pressure_at,
    pressure_of,
    volume_and_stiffness,
)
from .spool import advance_spool

#: of the Rosenbrock scheme, 1 - 1/sqrt(2): L-stable
GAMMA = 0.2928932188134524
#: smallest sub-step as a part of the tick, attempts after which nothing is rejected any more
FINEST, MOST_ATTEMPTS = 1.0 / 64.0, 160.0
#: least part of its oil that a forced step leaves in a chamber
LEAST_SHARE = 0.01
#: volume from which an amount of oil counts as not finite [m3]
MOST_OIL = 1e30
#: part by which oil may differ from that of its pressure: 0.1 Pa of stiff oil
SAME_OIL = 1e-10
#: rate by which oil follows the lengths where forces move the piston otherwise than foreseen [1/s], and
#: distance from which it does not [m]. A rate k takes k^2 h/2 of an oscillation's amplitude a second, with
#: ticks of h
FOLLOW, JUMP = 5.0, 2e-3
#: volumes grow no more beyond this distance from the ends of the stroke [m]
BEYOND = 1e-3


@kernel
def volumes(P, y):
    """V1, V2 of the chambers [m3] and whether they change with y: not far beyond the ends of the stroke."""
    inside = smaller(larger(y, -BEYOND), P[at.LONGEST_STROKE] + BEYOND)
    V1 = P[at.DEAD_1] + P[at.AREA_1] * inside
    V2 = P[at.DEAD_2] + P[at.AREA_2] * (P[at.LONGEST_STROKE] - inside)
    moves = select(equal(inside, y), 1.0, 0.0)
    return larger(V1, 0.5 * P[at.DEAD_1]), larger(V2, 0.5 * P[at.DEAD_2]), moves


@kernel(forceinline=True)
def port_flows(P, ps, x, y, p1, p2):
    """Flows through both ports with the spool at x and the piston at y [m3/s]: of the bore side from the
    supply with its slopes by p1, ps, p2 and the rest (tank, make-up and relief) with its slopes by p1, p2;
    then those of the rod side by p2, ps, p1 and p2, p1.
    """
    forward, backward = openings(P, x)
    held1 = (P[at.CRACKING_1], P[at.PILOT_1], P[at.COUNTERBALANCE_1], P[at.RANGE_1])
    held2 = (P[at.CRACKING_2], P[at.PILOT_2], P[at.COUNTERBALANCE_2], P[at.RANGE_2])
    in1, in1_1, in1_s, in1_2, out1, out1_1, out1_2 = spool_port(
        P, ps, P[at.VALVE_1], forward, backward, throttle(P, y), held1, p1, p2
    )
    in2, in2_2, in2_s, in2_1, out2, out2_2, out2_1 = spool_port(
        P, ps, P[at.VALVE_2], backward, forward, throttle(P, P[at.LONGEST_STROKE] - y), held2, p2, p1
    )
    check1, check1_1 = check_valves(P, p1)
    check2, check2_2 = check_valves(P, p2)
    bore = (in1, in1_1, in1_s, in1_2, out1 + check1, out1_1 + check1_1, out1_2)
    return bore, (in2, in2_2, in2_s, in2_1, out2 + check2, out2_2 + check2_2, out2_1)


@kernel(forceinline=True)
def oil_rates(P, ps, x, y, p1, w1, beta1, p2, w2, beta2):
    """Rates s1', s2' of the oil in the chambers [m3/s] with the spool at x and the piston at y.

    w and beta are those at the pressures p1, p2; a flow Q at a chamber's pressure is Q/w of oil.

    Returns s1', s2'; their slopes by p1, p2: of s1' by p1, p2, of s2' by p1, p2 [m3/(s Pa)]; their slopes by
    ps; the oil d that leaves the supply [m3/s] and its slopes by p1, p2, ps.
    """
    bore, rod = port_flows(P, ps, x, y, p1, p2)
    in1, in1_1, in1_s, in1_2, out1, out1_1, out1_2 = bore
    in2, in2_2, in2_s, in2_1, out2, out2_2, out2_1 = rod
    across = P[at.LEAK_INTERNAL]
    leak = across * (p1 - p2)
    f1 = (in1 + out1 - leak - P[at.LEAK_1] * (p1 - P[at.TANK])) / w1
    f2 = (in2 + out2 + leak - P[at.LEAK_2] * (p2 - P[at.TANK])) / w2
    # d(1/w)/dp = 1/(w beta)
    f1_1 = (in1_1 + out1_1 - across - P[at.LEAK_1]) / w1 + f1 / beta1
    f2_2 = (in2_2 + out2_2 - across - P[at.LEAK_2]) / w2 + f2 / beta2
    f1_2, f2_1 = (in1_2 + out1_2 + across) / w1, (in2_1 + out2_1 + across) / w2
    d1, d2 = in1 / w1, in2 / w2
    d_1 = in1_1 / w1 + d1 / beta1 + in2_1 / w2
    d_2 = in2_2 / w2 + d2 / beta2 + in1_2 / w1
    f1_s, f2_s = in1_s / w1, in2_s / w2
    return f1, f2, f1_1, f1_2, f2_1, f2_2, f1_s, f2_s, d1 + d2, d_1, d_2, f1_s + f2_s


@kernel
def pressure_rates(P, p1, p2, x, y, v):
    """p1', p2' [Pa/s] at the supply's constant pressure: p' = beta/V (w s' - V')."""
    V1, V2, moves = volumes(P, y)
    fluid = fluid_of(P)
    w1, beta1 = volume_and_stiffness(fluid, p1)
    w2, beta2 = volume_and_stiffness(fluid, p2)
    f1, f2, _, _, _, _, _, _, _, _, _, _ = oil_rates(P, P[at.SUPPLY], x, y, p1, w1, beta1, p2, w2, beta2)
    c1, c2 = beta1 / V1, beta2 / V2
    return c1 * (w1 * f1 - P[at.AREA_1] * v * moves), c2 * (w2 * f2 + P[at.AREA_2] * v * moves)


# ---- the oil in a row of states ----


@kernel
def oil_in(fluid, V, p, s):
    """Oil, pressure and stiffness of a chamber of volume V: by its oil s, by its pressure p where s <= 0."""
    if fails(less(0.0, s)):
        w, beta = volume_and_stiffness(fluid, p)
        return V / w, p, beta
    p, beta = pressure_of(fluid, V / s, p)
    return s, p, beta


@kernel
def settle_pressures(P, X, y):
    """Let the pressures in X be those of its oil with the piston at y; oil that is not known becomes that of
    the pressures."""
    X[at.OIL_STROKE] = y
    V1, V2, _ = volumes(P, y)
    fluid = fluid_of(P)
    X[at.OIL_1], X[at.PRESSURE_1], _ = oil_in(fluid, V1, X[at.PRESSURE_1], X[at.OIL_1])
    X[at.OIL_2], X[at.PRESSURE_2], _ = oil_in(fluid, V2, X[at.PRESSURE_2], X[at.OIL_2])


@kernel
def belongs(fluid, V, p, s):
    """Whether a chamber of volume V with oil s has the pressure p."""
    return s < MOST_OIL and abs(oil_of(fluid, V, p) - s) <= SAME_OIL * s


@kernel
def forget_oil(P, X):
    """Let oil in X that has other pressures than those in X be unknown: somebody wrote new pressures
    there."""
    V1, V2, _ = volumes(P, X[at.OIL_STROKE])
    fluid = fluid_of(P)
    if not belongs(fluid, V1, X[at.PRESSURE_1], X[at.OIL_1]):
        X[at.OIL_1] = 0.0
    if not belongs(fluid, V2, X[at.PRESSURE_2], X[at.OIL_2]):
        X[at.OIL_2] = 0.0


@kernel
def piston_of_oil(X, y, follow):
    """Stroke that the oil in X begins a tick with when the piston is said to be at y.

    follow 1: y. Less: where the last tick ended, and that part of the way from there to y. Whoever moves the
    piston with the forces of a tick that foresaw another motion may do so by any scheme: pressures follow
    the rates, as if they were integrated, and the lengths in the long run, so that shut valves hold. A
    piston that is said to be more than JUMP away is a new beginning: there the pressures stay, and the oil
    is another.
    """
    if follow == 1.0 or holds(less(X[at.OIL_1], 1e-300)):
        return y
    apart = y - X[at.OIL_STROKE]
    if abs(apart) > JUMP:
        X[at.OIL_1], X[at.OIL_2] = 0.0, 0.0
        return y
    return X[at.OIL_STROKE] + follow * apart


# ---- oil over one tick ----


@kernel
def error_of(P, change, s, p, beta):
    """Error `change` of the oil s of a chamber in units of what it may be; beta is the larger of a sub-step.

    It makes an error beta change/s of the pressure. Were beta that of oil without air, tolerances would hold
    volumes as they hold pressures of stiff oil; this counts to the power 3/4.
    """
    stiff = P[at.BULK_MODULUS]
    stiff *= np.sqrt(np.sqrt(beta / stiff))
    return abs(change) * stiff / (s * (P[at.ATOL] + P[at.RTOL] * abs(p)))


@kernel
def sub_step(P, ps, oil, x0, y0, x1, y1, h):
    """One sub-step of h of the Rosenbrock scheme; oil is (s1, p1, beta1, s2, p2, beta2).

    Returns the oil after it, that of the first-order scheme (s1, s2), the error in tolerances, whether stages
    are finite and positive, and at its beginning the rates (s1', s2') and what leaves the supply.
    """
    s1, p1, beta1, s2, p2, beta2 = oil
    fluid = fluid_of(P)
    V1, V2, _ = volumes(P, y0)
    W1, W2, _ = volumes(P, y1)
    w1, w2 = V1 / s1, V2 / s2
    a1, a2, f11, f12, f21, f22, _, _, d, _, _, _ = oil_rates(P, ps, x0, y0, p1, w1, beta1, p2, w2, beta2)
    # spool and piston at the end of the sub-step, the pressures of the same oil there by its slope: linear,
    # so that a valve that lets out what the piston displaces is no error
    e1, e2, _, _, _, _, _, _, _, _, _, _ = oil_rates(P, ps, x1, y1, p1, w1, beta1, p2, w2, beta2)
    q1, q2 = (V1 - W1) / V1 * beta1, (V2 - W2) / V2 * beta2
    e1, e2 = e1 + f11 * q1 + f12 * q2, e2 + f21 * q1 + f22 * q2
    # dp/ds = beta/s
    g, c1, c2 = GAMMA * h, beta1 / s1, beta2 / s2
    m11, m12, m21, m22 = 1.0 - g * f11 * c1, -g * f12 * c2, -g * f21 * c1, 1.0 - g * f22 * c2
    det = m11 * m22 - m12 * m21
    t1, t2 = GAMMA * (e1 - a1), GAMMA * (e2 - a2)
    r1, r2 = a1 + t1, a2 + t2
    k1, k2 = (m22 * r1 - m12 * r2) / det, (m11 * r2 - m21 * r1) / det
    z1, z2 = s1 + h * k1, s2 + h * k2
    good = both(both(less(0.0, z1), less(0.0, z2)), both(less(z1, MOST_OIL), less(z2, MOST_OIL)))
    z1, z2 = select(good, z1, s1), select(good, z2, s2)
    v1, v2 = W1 / z1, W2 / z2
    q1, b1 = pressure_at(fluid, v1, p1, w1, beta1)
    q2, b2 = pressure_at(fluid, v2, p2, w2, beta2)
    e1, e2, _, _, _, _, _, _, _, _, _, _ = oil_rates(P, ps, x1, y1, q1, v1, b1, q2, v2, b2)
    r1, r2 = e1 - 2.0 * k1 - t1, e2 - 2.0 * k2 - t2
    l1, l2 = (m22 * r1 - m12 * r2) / det, (m11 * r2 - m21 * r1) / det
    n1, n2 = s1 + h * (1.5 * k1 + 0.5 * l1), s2 + h * (1.5 * k2 + 0.5 * l2)
    error = larger(
        error_of(P, 0.5 * h * (k1 + l1), s1, p1, larger(beta1, b1)),
        error_of(P, 0.5 * h * (k2 + l2), s2, p2, larger(beta2, b2)),
    )
    first1, first2 = s1 + h * (m22 * a1 - m12 * a2) / det, s2 + h * (m11 * a2 - m21 * a1) / det
    good = both(good, both(both(less(0.0, n1), less(0.0, n2)), both(less(n1, MOST_OIL), less(n2, MOST_OIL))))
    n1 = select(good, n1, larger(first1, LEAST_SHARE * s1))
    n2 = select(good, n2, larger(first2, LEAST_SHARE * s2))
    v, v2 = W1 / n1, W2 / n2
    q1, b1 = pressure_at(fluid, v, q1, v1, b1)
    q2, b2 = pressure_at(fluid, v2, q2, W2 / z2, b2)
    return (n1, q1, b1, n2, q2, b2), error, good, (a1, a2, d)


@kernel
def powers(P, ps_enthalpy, oil, rates, y, v):
    """Power from the supply, on the piston, and lost [W]: of the oil (s1, p1, beta1, s2, p2, beta2) whose
    rates, and the oil that leaves the supply, are `rates`.

    d(s e)/dt = s' h - (p - p_atm) V' in each chamber, so that what is lost is what enters with the oil of the
    supply and does not arrive in the chambers.
    """
    s1, p1, _, s2, p2, _ = oil
    a1, a2, d = rates
    fluid = fluid_of(P)
    V1, V2, moves = volumes(P, y)
    _, h1 = energies(fluid, p1, V1 / s1)
    _, h2 = energies(fluid, p2, V2 / s2)
    given = d * ps_enthalpy
    piston = (P[at.AREA_1] * (p1 - P[at.ATMOSPHERE]) - P[at.AREA_2] * (p2 - P[at.ATMOSPHERE])) * v * moves
    return given, piston, given - a1 * h1 - a2 * h2


@kernel
def attempt(P, ps, ps_enthalpy, u, y, v, a, dt, now):
    """The numbers `now` of `advance_oil` after one sub-step was tried, with the command u."""
    t, h, s1, p1, beta1, s2, p2, beta2, x, rate, held, attempts, forced, given, worked, lost, last = now
    finest = FINEST * dt
    h = smaller(h, dt - t)
    end, attempts = t + h, attempts + 1.0
    next_x, next_rate, next_held = advance_spool(P, x, rate, held, u, h)
    oil = (s1, p1, beta1, s2, p2, beta2)
    new, error, positive, rates = sub_step(
        P, ps, oil, x, y + v * t + 0.5 * a * t * t, next_x, y + v * end + 0.5 * a * end * end, h
    )
    n1, q1, b1, n2, q2, b2 = new
    factor = select(positive, smaller(larger(0.9 / np.sqrt(larger(error, 1e-12)), 0.25), 4.0), 0.25)
    missed = less(1.0, select(positive, error, np.inf))
    early = less(attempts, MOST_ATTEMPTS)
    rejected = both(missed, both(less(1.000001 * finest, h), early))
    shorter = larger(finest, h * smaller(factor, 0.9))
    longer = select(early, smaller(larger(h * factor, finest), dt), finest)
    if P[at.SUPPLY_INDEX] >= 0.0:
        # by the trapezoidal rule: a weight for the beginning of a sub-step is half of it and of the last one
        power = powers(P, ps_enthalpy, oil, rates, y + v * t + 0.5 * a * t * t, v + a * t)
        weight = select(rejected, 0.0, 0.5 * (last + h))
        given, worked, lost = given + weight * power[0], worked + weight * power[1], lost + weight * power[2]
        last = select(rejected, last, h)
    return (
        select(rejected, t, end),
        select(rejected, shorter, longer),
        select(rejected, s1, n1),
        select(rejected, p1, q1),
        select(rejected, beta1, b1),
        select(rejected, s2, n2),
        select(rejected, p2, q2),
        select(rejected, beta2, b2),
        select(rejected, x, next_x),
        select(rejected, rate, next_rate),
        select(rejected, held, next_held),
        attempts,
        select(rejected, forced, select(missed, 1.0, forced)),
        given,
        worked,
        lost,
        last,
    )


@kernel
def advance_oil(P, X, ps, y, v, a, dt):
    """Oil, pressures and spool in the state row X over a tick at the supply's pressure ps, the piston at
    y + v t + a t^2/2. Energies are added up where the cylinder hangs on a supply of the description.

    Returns the number of sub-steps tried and 1 if one was forced, else 0. Never more than 160 + 64 of them.
    """
    u = X[at.VALVE_COMMAND]
    V1, V2, _ = volumes(P, y)
    fluid = fluid_of(P)
    s1, p1, beta1 = oil_in(fluid, V1, X[at.PRESSURE_1], X[at.OIL_1])
    s2, p2, beta2 = oil_in(fluid, V2, X[at.PRESSURE_2], X[at.OIL_2])
    x, rate, held = X[at.SPOOL], X[at.SPOOL_RATE], X[at.SLEWED_COMMAND]
    enthalpy = 0.0
    if P[at.SUPPLY_INDEX] >= 0.0:
        enthalpy = energies(fluid, ps, volume_and_stiffness(fluid, ps)[0])[1]
    now = (
        0.0, 0.5 * dt, s1, p1, beta1, s2, p2, beta2, x, rate, held, 0.0, 0.0,
        X[at.SUPPLY_WORK], X[at.PISTON_WORK], X[at.OIL_LOSS], 0.0,
    )  # fmt: skip
    while True:
        goes_on, now = again(less(now[0], dt * (1.0 - 1e-12)), now)
        if not goes_on:
            break
        now = attempt(P, ps, enthalpy, u, y, v, a, dt, now)
    _, _, s1, p1, beta1, s2, p2, beta2, x, rate, held, attempts, forced, given, worked, lost, last = now
    end = y + v * dt + 0.5 * a * dt * dt
    V1, V2, _ = volumes(P, end)
    p1, p2 = polished(fluid, V1 / s1, p1), polished(fluid, V2 / s2, p2)
    X[at.OIL_1], X[at.OIL_2], X[at.PRESSURE_1], X[at.PRESSURE_2] = s1, s2, p1, p2
    X[at.OIL_STROKE] = end
    X[at.SPOOL], X[at.SPOOL_RATE], X[at.SLEWED_COMMAND] = x, rate, held
    if P[at.SUPPLY_INDEX] >= 0.0:
        f1, f2, _, _, _, _, _, _, d, _, _, _ = oil_rates(
            P, ps, x, end, p1, V1 / s1, beta1, p2, V2 / s2, beta2
        )
        power = powers(P, enthalpy, (s1, p1, beta1, s2, p2, beta2), (f1, f2, d), end, v + a * dt)
        X[at.SUPPLY_WORK], X[at.PISTON_WORK] = given + 0.5 * last * power[0], worked + 0.5 * last * power[1]
        X[at.OIL_LOSS] = lost + 0.5 * last * power[2]
    return attempts, forced
