"""Experiments at rest: static equilibrium, and modes of vibration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from flexdyn_ros.errors import UnsupportedError
from flexdyn_ros.loading import from_description
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.studies.experiments.poses import (
    end_frame,
    held_joints,
    largest_moment,
    largest_strain,
    pose_of,
)
from flexdyn_ros.studies.experiments.registry import experiment


@experiment(
    "sag", "deflection", "strain", "largest_effort", "first_frequency", "mass", "stable", "largest_moment",
    sag="m", deflection="m", largest_effort="N m (N)", first_frequency="Hz", mass="kg", largest_moment="N m",
)  # fmt: skip
def static(
    robot: Robot,
    pose: Mapping[str, float] | Sequence[float] | None = None,
    force: Sequence[float] = (0.0, 0.0, 0.0),
    frame: str | None = None,
    hold: Sequence[str] | str = "joints",
) -> dict[str, object]:
    """Static equilibrium of a held robot under its weight and a force at a frame.

    pose: where joints are held; force (3,) [N] in world axes; hold: coordinates that are held.

    Results: sag, how much lower the frame hangs than undeformed [m]; deflection, how far it moved [m];
    strain, the largest of all fibres, NaN where no section is known; largest_effort of what is held;
    first_frequency of small vibrations there, held coordinates locked [Hz], 0 where nothing vibrates; mass
    [kg]; stable; largest_moment, of all sections of links that bend, by equilibrium (`Robot.loads`; soft arms
    and robots on wheels by the method floating_frame: from the mode shapes) [N m].
    """
    frame, q = end_frame(robot, frame), pose_of(robot, pose)
    hold = held_joints(robot) if hold == "joints" else hold
    wrench = np.concatenate([np.zeros(3), np.asarray(force, dtype=float)])
    wrenches = {frame: wrench} if wrench.any() else {}
    rest = robot.static_equilibrium(q, hold=hold, wrenches=wrenches)
    found = robot.modes(rest.q, lock=hold).frequency
    moved = robot.frames(rest.q, frame)[:3, 3] - robot.frames(q, frame)[:3, 3]
    return {
        "sag": -moved[2],
        "deflection": np.linalg.norm(moved),
        "strain": largest_strain(robot, rest.q),
        "largest_effort": np.abs(rest.tau).max(initial=0.0),
        "first_frequency": found[found > 0.0].min() if (found > 0.0).any() else 0.0,
        "mass": robot.mass,
        "stable": bool(rest.stable),
        "largest_moment": largest_moment(robot, rest.q, rest.tau, wrenches),
    }


@experiment("first_frequency", "stable", "mass", frequency="Hz", first_frequency="Hz", mass="kg")
def modes(
    robot: Robot,
    pose: Mapping[str, float] | Sequence[float] | None = None,
    lock: Sequence[str] | str = (),
    count: int = 6,
) -> dict[str, object]:
    """Frequencies and damping ratios of small vibrations about a pose.

    lock: coordinates that stand still, "joints" for all joints.

    Results: first_frequency, the lowest above zero [Hz]; frequency, the lowest `count` (list) [Hz];
    damping_ratio (list); stable; mass [kg].
    """
    found = robot.modes(pose_of(robot, pose), lock=lock)
    moving = found.frequency[found.frequency > 0.0]
    return {
        "first_frequency": moving[0] if moving.size else 0.0,
        "frequency": found.frequency[:count],
        "damping_ratio": found.damping_ratio[:count],
        "stable": not bool(found.unstable),
        "mass": robot.mass,
    }


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
