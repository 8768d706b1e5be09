"""What acts on a robot, as arrows and numbers in the world: weight, contact, forces and moments in joints, pressures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from flexdyn_ros.errors import FlexdynError
from flexdyn_ros.robot.verbs import Robot

__all__ = ["LOADS", "Moment", "Vectors", "offered", "pressures_of"]


class Moment(NamedTuple):
    """What overlays are drawn of: q (nq,), v (nv,), tau (nu,), and whether the efforts are those that hold the
    robot where it is (else tau moves it)."""

    q: np.ndarray
    v: np.ndarray
    tau: np.ndarray
    held: bool


class Vectors(NamedTuple):
    """Arrows: where they are (k, 3) [m], and what they show (k, 3) [N or N m]."""

    at: np.ndarray
    value: np.ndarray


def _weight(robot: Robot, now: Moment) -> Vectors:
    gravity = np.asarray(robot.gravity, dtype=float)
    return Vectors(robot.center_of_mass(now.q)[None], robot.mass * gravity[None])


def _contact(robot: Robot, now: Moment) -> Vectors:
    """Of the road on the wheels, upwards."""
    found = robot.wheel_forces(now.q, now.v)
    body = robot.frames(now.q, robot.description.root)
    wheels = robot.description.wheels
    at = np.array([body[:3, :3] @ np.asarray(w.xyz) + body[:3, 3] for w in wheels])
    hang = np.array([w.suspension.free_length + (w.tyre.radius if w.tyre else 0.0) for w in wheels])
    at[:, 2] -= hang - np.asarray(found.travel)
    return Vectors(at, np.outer(found.normal, [0.0, 0.0, 1.0]))


def _reactions(robot: Robot, now: Moment) -> Any:
    a = np.zeros(robot.nv) if now.held else robot.forward_dynamics(now.q, now.v, now.tau)
    return robot.joint_reactions(now.q, now.v, a)


def _forces(robot: Robot, now: Moment) -> Vectors:
    if robot.description.platform is not None:
        return _leg_forces(robot, now)
    found = _reactions(robot, now)
    return Vectors(_places(robot, now.q, found.names), found.force)


def _moments(robot: Robot, now: Moment) -> Vectors:
    found = _reactions(robot, now)
    return Vectors(_places(robot, now.q, found.names), found.moment)


def _places(robot: Robot, q: np.ndarray, names: tuple[str, ...]) -> np.ndarray:
    """Origins (k, 3) of what joints carry."""
    description = robot.description
    links = [description.root if name == "base" else description.joint(name).child for name in names]
    return robot.frames(q, links)[:, :3, 3]


def _leg_forces(robot: Robot, now: Moment) -> Vectors:
    """Of the legs on the platform."""
    zero = np.zeros(robot.nv)
    tau = robot.inverse_dynamics(now.q, zero, zero) if now.held else now.tau
    platform = robot.description.platform
    assert platform is not None
    T = robot.frames(now.q, platform.link)
    at = np.array([leg.anchor for leg in platform.legs]) @ T[:3, :3].T + T[:3, 3]
    return Vectors(at, np.asarray(robot.inverse_kinematics(now.q).direction) * tau[:, None])


#: name, its label on the page, its unit, and how it is found
LOADS: dict[str, tuple[str, str, Callable[[Robot, Moment], Vectors]]] = {
    "weight": ("Centre of mass and weight", "N", _weight),
    "contact": ("Contact forces", "N", _contact),
    "forces": ("Forces in joints and legs", "N", _forces),
    "moments": ("Moments in joints", "N m", _moments),
}


def offered(robot: Robot) -> list[str]:
    """Names of LOADS that a robot has."""
    at = Moment(robot.neutral(), np.zeros(robot.nv), np.zeros(robot.nu), held=True)
    found = []
    for name, (_, _, vectors) in LOADS.items():
        try:
            vectors(robot, at)
        except (FlexdynError, AttributeError):
            continue
        found.append(name)
    return found


def pressures_of(robot: Robot, now: Moment) -> dict[str, np.ndarray]:
    """Absolute pressures [Pa] in the chambers of soft sections, by the frame that they are written at; {} where
    there are none."""
    if getattr(robot, "pressure_areas", None) is None:
        return {}
    zero = np.zeros(robot.nv)
    tau = robot.inverse_dynamics(now.q, zero, zero) if now.held else now.tau
    found = robot.pressures(now.q, tau).reshape(-1, 3)
    names = [f"{section.joint}@0.5" for section in robot.description.sections]
    return dict(zip(names, found, strict=True))
