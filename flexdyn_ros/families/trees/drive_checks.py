"""Doubts about how flexible links are driven: a joint without a rotor, a link without a hub.

What moves at once when such a joint is pushed is next to nothing, so that feedback that is sampled and held
makes vibrations grow (Franklin, Powell & Workman, Digital Control of Dynamic Systems, chapter 4).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from flexdyn_ros.description import Joint
from flexdyn_ros.description.elements.links import FlexibleLink
from flexdyn_ros.errors import FlexdynError
from flexdyn_ros.families.trees.flexible.model import settled_link
from flexdyn_ros.robot.analysis.sampled_feedback import joint_inertia, sampled_growth, sudden_inertia
from flexdyn_ros.robot.verbs import Robot

#: share of the inertia that a joint moves at which what moves at once is little
LITTLE = 0.01
#: period of the feedback that is tried [s], and its bandwidth where no mode of links gives one [rad/s]
PERIOD, BANDWIDTH = 1e-3, 10.0


def check_drives(robot: Robot) -> Iterator[tuple[bool, str]]:
    """(True if probably a mistake, text) of each joint that moves a flexible link without rotor or hub, and
    what feedback at 1 kHz does to the robot."""
    suspects = [joint for joint in robot.description.joints if _is_bare(robot, joint)]
    if not suspects:
        return
    try:
        q = robot.neutral()
        at_once, whole = sudden_inertia(robot, q), joint_inertia(robot, q)
        frequency, growth = _feedback(robot, q, whole)
    except (FlexdynError, np.linalg.LinAlgError):
        return
    for joint in suspects:
        i = robot.index(joint.name)
        if at_once[i] < LITTLE * whole[i]:
            unit = "kg m2" if robot.coordinates[i].unit == "rad" else "kg"
            # a drive is described where it has a largest effort
            yield (
                bool(np.isfinite(robot.coordinates[i].effort_limit)),
                f"joint '{joint.name}' drives a flexible link without <rotor> or hub: "
                f"{at_once[i]:.2g} {unit} of its {whole[i]:.3g} {unit} move at once: sampled "
                "feedback makes vibrations grow"
                + (f" (PD of {frequency:.3g} rad/s at 1 kHz: by {growth:.2g}/s)" if growth > 0.1 else "")
                + "; give its <rotor> inertia and gear_ratio, or the hub as <body station='root'>",
            )


def _is_bare(robot: Robot, joint: Joint) -> bool:
    """Whether a joint is driven, moves a flexible link at its root, and has neither rotor nor hub."""
    link = robot.description.flexible_links.get(joint.child)
    if link is None or joint.rotor is not None or joint.elasticity is not None:
        return False
    is_driven = any(c.name == joint.name and c.actuated for c in robot.coordinates)
    return is_driven and not _has_hub(robot, link)


def _has_hub(robot: Robot, link: FlexibleLink) -> bool:
    bodies = settled_link(robot.description, link).bodies
    return any(body.station == 0.0 for body in bodies)


def _feedback(robot: Robot, q: np.ndarray, inertia: np.ndarray) -> tuple[float, float]:
    """Bandwidth [rad/s] of critically damped PD feedback, half the first mode with joints locked, and its
    growth [1/s] when sampled."""
    modes = robot.modes(q, lock="joints").frequency
    w = np.pi * float(modes[0]) if modes.size and modes[0] > 0.0 else BANDWIDTH
    return w, sampled_growth(robot, q, w * w * inertia, 2.0 * w * inertia, PERIOD)
