"""The lumped model of a soft section against the exact one."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np

from flexdyn_ros.errors import UnsupportedError
from flexdyn_ros.loading import from_description
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.studies.experiments.registry import experiment


@experiment("error", "bias", "best_ratio", bending="rad", error="", bias="", best_ratio="")
def lumped_against_exact(
    robot: Robot, energy_ratio: float = 0.56, bending: float | None = None, states: int = 500, seed: int = 0
) -> dict[str, object]:
    """Kinetic energy of the lumped model of one soft section against that of the distributed mass.

    energy_ratio xi divides the energy of the mass in its centre; bending: angle of all states [rad], None for
    states all over the strokes; states: how many, with random directions, elongations and rates (seed).

    Results: error, root of the mean square of (lumped / exact - 1); bias, its mean; best_ratio, the xi of the
    least error over these states.
    """
    centred, exact = _energies(robot, bending, states, seed)
    ratio = centred / exact
    found = ratio / energy_ratio - 1.0
    return {
        "error": np.sqrt(np.mean(found**2)),
        "bias": np.mean(found),
        # least squares of ratio / xi - 1 in 1 / xi
        "best_ratio": np.sum(ratio**2) / np.sum(ratio),
    }


@lru_cache(maxsize=8)
def _models(robot: Robot) -> tuple[Robot, Robot]:
    """The section with its mass in its centre (xi = 1), and with distributed mass."""
    about = robot.description
    if len(robot.section_names) != 1:
        raise UnsupportedError(
            f"the lumped model is of one soft section; robot {robot.name!r} has another count"
        )
    form = replace(about.formulation, mass_model="lumped", energy_ratio=1.0)
    lumped = from_description(replace(about, formulation=form))
    form = replace(about.formulation, mass_model="distributed", energy_ratio=None, rotary_inertia="none")
    return lumped, from_description(replace(about, formulation=form))


def _energies(robot: Robot, bending: float | None, states: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    lumped, exact = _models(robot)
    low, high = robot.coordinates[0].lower, robot.coordinates[0].upper
    rng = np.random.default_rng(seed)
    v = rng.uniform(-0.05, 0.05, (states, 3))
    q = rng.uniform(low, high, (states, 3))
    if bending is not None:
        # the same directions, bent to one angle: it is proportional to the differences of the lengths
        mean = q.mean(axis=1, keepdims=True)
        angle = exact.arc_parameters(q)[:, 0, 1]
        q = mean + (q - mean) * (bending / angle)[:, None]
        q += np.maximum(low - q.min(axis=1, keepdims=True), 0.0)
        q -= np.maximum(q.max(axis=1, keepdims=True) - high, 0.0)
    return lumped.energy(q, v).kinetic, exact.energy(q, v).kinetic
