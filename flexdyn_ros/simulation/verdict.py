"""What a run says of itself: whether its energy balances, and whether the model holds for its motion."""

from __future__ import annotations

from typing import Any

import numpy as np

from flexdyn_ros.dynamics.mobile_judgement import TOO_FAST, Softening
from flexdyn_ros.dynamics.small_deflections import beyond_linear, warning_of
from flexdyn_ros.errors import FlexdynError
from flexdyn_ros.simulation.trajectory import Trajectory

__all__ = ["LARGEST_IMBALANCE", "bearable_step", "verdict"]

#: largest balance error that is not worth a word
LARGEST_IMBALANCE = 1e-3
#: errors of the balance that are rounding: this share of the largest energy
ROUNDING = 1e-11
#: errors that are small beside what went to and fro, where few samples hold next to no kinetic energy
UNSEEN = 1e-6
#: step times rate that rk4 bears: of vibrations, and of what is damped away (Hairer & Wanner 1996, IV.2)
BEARS_VIBRATION, BEARS_DAMPING = 2.828, 2.785


def verdict(run: Trajectory) -> tuple[str, ...]:
    """What there is to warn of."""
    found = [*_imbalance(run), *_softening(run)]
    bent = beyond_linear(run.robot, run.q, run.t)
    if bent:
        found.append(f"robot {run.robot_name!r}: {warning_of(bent)}")
    return tuple(found)


def _imbalance(run: Trajectory) -> list[str]:
    energy = run.energy
    if energy is None or len(run) < 2:
        return []
    off = float(np.abs(run.balance()).max())
    largest = max(float(np.abs(part).max()) for part in (*energy, run.work, run.dissipated))
    swing = max(float(np.ptp(part)) for part in (*energy, run.work, run.dissipated))
    if off <= max(ROUNDING * largest, UNSEEN * swing) or not run.balance_error > LARGEST_IMBALANCE:
        return []
    step = bearable_step(run.robot, run.q[-1])
    fastest = ""
    if step is not None:
        fastest = (
            f"; its fastest mode, {step[1]}, has {step[2]:.4g} Hz, which rk4 bears with dt up to "
            f"{step[0]:.2g} s"
        )
    remedy = "without dt the run chooses its own steps" if run.is_fixed else "a smaller rtol makes it less"
    taken = f"with steps of {run.dt:g} s" if run.is_fixed else f"with samples every {run.dt:g} s"
    return [
        f"the energy of {run.robot_name!r} is off by {run.balance_error:.2g} of the largest kinetic energy "
        f"by method {run.method} {taken}{fastest}; {remedy}"
    ]


def bearable_step(robot: Any, q: np.ndarray) -> tuple[float, str, float] | None:
    """Largest step that rk4 bears at q [s], the coordinate that moves most in the fastest mode, and its
    frequency [Hz]; None where nothing vibrates or modes cannot be found."""
    try:
        import warnings

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            modes = robot.modes(q)
    except FlexdynError:
        return None
    if not modes.frequency.size or not modes.frequency[-1] > 0.0:
        return None
    omega = 2.0 * np.pi * modes.frequency
    with np.errstate(invalid="ignore"):
        ratio = np.where(np.isfinite(modes.damping_ratio), modes.damping_ratio, 0.0)
    damped = omega * (ratio + np.sqrt(np.maximum(ratio**2 - 1.0, 0.0)))
    step = min(BEARS_VIBRATION / omega[-1], BEARS_DAMPING / max(damped.max(), 1e-300))
    moved = np.abs(modes.shape[:, -1]) * np.sqrt(np.diagonal(robot.mass_matrix(q)))
    return float(step), str(robot.v_names[int(np.argmax(moved))]), float(modes.frequency[-1])


def _softening(run: Trajectory) -> list[str]:
    """Links that turned so fast that linear strain without stiffening makes them too soft."""
    softening: Softening | None = getattr(run.robot, "softening", None)
    if softening is None:
        return []
    shares = softening.shares(run.v)
    fast = [
        f"link '{link}' up to {share * rate:.3g} rad/s (its first clamped rate is {rate:.3g} rad/s)"
        for link, share, rate in zip(softening.links, shares, softening.rates, strict=True)
        if share > TOO_FAST
    ]
    if not fast:
        return []
    text = f"links turned so fast that without stiffening they are over {100 * TOO_FAST**2:.0f} % too soft: "
    return [f"{text}{'; '.join(fast)}; formulation.stiffening 'geometric' stiffens them"]
