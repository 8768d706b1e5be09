"""Spool of a servo valve: second or first order, moved exactly, behind a limit of its command's rate."""

from __future__ import annotations

import numpy as np

from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.numbers.functions import less, select

from . import memory as at


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


@kernel
def advance_spool(P, x, rate, held, u, h):
    """Position, rate and slewed command of the spool after h seconds on the way to the command u.

    A spool with a lag sees the mean of its slewed command; one without is where that is.
    """
    there, mean = slewed(P, held, u, h)
    if P[at.SPOOL_FREQUENCY] <= 0.0 and P[at.SPOOL_TIME] <= 0.0:
        return there, 0.0, there
    x, rate = move_spool(P, x, rate, mean, h)
    return x, rate, there
