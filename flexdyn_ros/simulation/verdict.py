"""What a run says of itself: whether its energy balances, and whether the model holds for its motion."""

from __future__ import annotations

import numpy as np

from flexdyn_ros.robot.analysis.bearable_step import OWN_STEPS, at_most, bearable_step
from flexdyn_ros.robot.analysis.small_deflections import beyond_linear, warning_of
from flexdyn_ros.simulation.trajectory import Trajectory

__all__ = ["LARGEST_IMBALANCE", "ROUNDING", "step_for", "verdict"]

#: largest balance error that is not worth a word
LARGEST_IMBALANCE = 1e-3
#: errors of the balance that are rounding: this share of the largest energy
ROUNDING = 1e-11
#: of the fixed steps
ORDERS = {"semi_implicit_euler": 1, "rosenbrock": 2, "staggered": 2, "rk4": 4, "scaled_rk4": 4}


def verdict(run: Trajectory) -> tuple[str, ...]:
    """What there is to warn of."""
    assert run.robot is not None
    found = [*_imbalance(run), *run.robot.functions.remarks(run.v)]
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
    if off <= ROUNDING * largest or not run.balance_error > LARGEST_IMBALANCE:
        return []
    step = bearable_step(run.robot, run.q[-1])
    fastest = ""
    if step is not None:
        fastest = (
            f"; its fastest mode, {step[1]}, has {step[2]:.4g} Hz, which rk4 bears with dt up to "
            f"{at_most(step[0])} s"
        )
    remedy = OWN_STEPS if run.is_fixed else "a smaller rtol makes it less"
    taken = f"with steps of {run.dt:g} s" if run.is_fixed else f"with samples every {run.dt:g} s"
    return [
        f"the energy of {run.robot_name!r} is off by {run.balance_error:.2g} of the largest kinetic energy "
        f"by method {run.method} {taken}{fastest}; {remedy}"
    ]


def step_for(wanted: float, found: float, dt: float, method: str) -> float:
    """Fixed step [s] with which an error found at steps of dt would be half of what is wanted, by the order
    of the method."""
    return dt * min(1.0, (0.5 * wanted / found) ** (1.0 / ORDERS.get(method, 2)))
