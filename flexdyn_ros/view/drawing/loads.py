"""What acts on a robot, as arrows and numbers in the world: weight, contact, forces and moments in joints,
pressures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import nan
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from flexdyn_ros.errors import FlexdynError
from flexdyn_ros.expanding import appearance_of
from flexdyn_ros.robot.results import Loads
from flexdyn_ros.robot.verbs import Robot

#: states of a cylinder that its label shows
PORTS = ("pressure_bore", "pressure_rod")


class Moment(NamedTuple):
    """What overlays are drawn of.

    q (nq,), v (nv,), tau (nu,): the state. shown (nq,): where the robot is drawn, which may be magnified.
    held: whether efforts are those that hold the robot where it is; else tau moves it. states: those of
    elements by name, where they are known, and SUPPLY/pump_flow [m3/s]. pushes: wrenches (moment; force) (6,)
    of the visitor, by frame.
    """

    q: np.ndarray
    v: np.ndarray
    tau: np.ndarray
    shown: np.ndarray
    held: bool
    states: Mapping[str, float] = MappingProxyType({})
    pushes: Mapping[str, np.ndarray] = MappingProxyType({})


class Vectors(NamedTuple):
    """Arrows: where they are (k, 3) [m], and what they show (k, 3) [N or N m]."""

    at: np.ndarray
    value: np.ndarray


def _weight(robot: Robot, now: Moment) -> Vectors:
    gravity = np.asarray(robot.gravity, dtype=float)
    return Vectors(robot.center_of_mass(now.shown)[None], robot.mass * gravity[None])


def _contact(robot: Robot, now: Moment) -> Vectors:
    """Of the road on the wheels, upwards."""
    found = robot.wheel_forces(now.q, now.v)
    body = robot.frames(now.shown, robot.description.root)
    wheels = appearance_of(robot.description).wheels
    at = np.array([body[:3, :3] @ np.asarray(w.xyz) + body[:3, 3] for w in wheels])
    hang = np.array([w.suspension.free_length + (w.tyre.radius if w.tyre else 0.0) for w in wheels])
    at[:, 2] -= hang - np.asarray(found.travel)
    return Vectors(at, np.outer(found.normal, [0.0, 0.0, 1.0]))


def _reactions(robot: Robot, now: Moment) -> Any:
    a = np.zeros(robot.nv) if now.held else robot.forward_dynamics(now.q, now.v, now.tau)
    return robot.joint_reactions(now.q, now.v, a)


def _forces(robot: Robot, now: Moment) -> Vectors:
    if robot.legs:
        return _leg_forces(robot, now)
    found = _reactions(robot, now)
    return Vectors(_places(robot, now.shown, found.names), found.force)


def _moments(robot: Robot, now: Moment) -> Vectors:
    found = _reactions(robot, now)
    return Vectors(_places(robot, now.shown, found.names), found.moment)


def pushes_of(robot: Robot, now: Moment) -> Vectors:
    """Forces of the visitor, each at the point of its line of action that is nearest to its frame."""
    at, value = np.zeros((len(now.pushes), 3)), np.zeros((len(now.pushes), 3))
    for k, (frame, wrench) in enumerate(now.pushes.items()):
        value[k] = wrench[3:]
        at[k] = robot.frames(now.shown, frame)[:3, 3]
        at[k] += np.cross(value[k], wrench[:3]) / max(float(value[k] @ value[k]), 1e-24)
    return Vectors(at, value)


def reaction_of(robot: Robot, link: str, now: Moment) -> tuple[np.ndarray, np.ndarray] | None:
    """Force and moment (3,), (3,) [N, N m] that the joint of a link transmits to it, world axes, of a robot
    to which moments are `offered`; None where it has no such joint, or the equations cannot be solved."""
    above = (joint.name for joint in robot.description.joints if joint.child == link)
    name = "base" if link == robot.description.root else next(above, "")
    try:
        found = _reactions(robot, now)
    except FlexdynError:
        return None
    if name not in found.names:
        return None
    i = found.names.index(name)
    return found.force[i], found.moment[i]


def _places(robot: Robot, q: np.ndarray, names: tuple[str, ...]) -> np.ndarray:
    """Origins (k, 3) of what joints carry."""
    description = robot.description
    links = [description.root if name == "base" else description.joint(name).child for name in names]
    return robot.frames(q, links)[:, :3, 3]


def _leg_forces(robot: Robot, now: Moment) -> Vectors:
    """Of the legs on the platform."""
    tau = _efforts(robot, now)
    platform = robot.functions.end_frame
    T = robot.frames(now.shown, platform)
    at = appearance_of(robot.description).plates[platform] @ T[:3, :3].T + T[:3, 3]
    return Vectors(at, np.asarray(robot.inverse_kinematics(now.q).direction) * tau[:, None])


#: name, its label on the page, its unit, and how it is found
LOADS: dict[str, tuple[str, str, Callable[[Robot, Moment], Vectors]]] = {
    "weight": ("Centre of mass and weight", "N", _weight),
    "contact": ("Contact forces", "N", _contact),
    "forces": ("Forces in joints and legs", "N", _forces),
    "moments": ("Moments in joints", "N m", _moments),
}


def along_links(robot: Robot, now: Moment, stations: Sequence[float]) -> dict[str, Loads]:
    """Loads at stations of the links by the accelerations of the moment, which efforts give; {} where these
    are not known (something is beyond its limits, where stops act), and for robots without loads."""
    limits, at = robot.functions.limits, robot.functions.limited_motion(now.q, now.v)[0]
    if not now.held and ((at < limits.lower) | (at > limits.upper)).any():
        return {}
    try:
        a = np.zeros(robot.nv) if now.held else robot.forward_dynamics(now.q, now.v, now.tau, now.pushes)
        return robot.loads(now.q, now.v, a, now.tau, now.pushes, stations=stations)
    except FlexdynError:
        return {}


def offered(robot: Robot) -> list[str]:
    """Names of LOADS that a robot has."""
    at = rest_of(robot)
    found = []
    for name, (_, _, vectors) in LOADS.items():
        try:
            vectors(robot, at)
        except (FlexdynError, AttributeError):
            continue
        found.append(name)
    return found


def rest_of(robot: Robot) -> Moment:
    """Held in the neutral position."""
    q = robot.neutral()
    return Moment(q, np.zeros(robot.nv), np.zeros(robot.nu), q, held=True)


def pressures_of(robot: Robot, now: Moment) -> dict[str, np.ndarray]:
    """Absolute pressures [Pa] in the chambers of soft sections and cylinders, by the frame or cylinder that
    they are written at; {} where there are none."""
    if robot.hydraulics is not None:
        value, legs = states_of(robot, now), appearance_of(robot.description).legs if robot.legs else {}
        return {
            legs[name][0] if name in legs else name: np.array([value[f"{name}/{port}"] for port in PORTS])
            for name in robot.hydraulics.names
        }
    if robot.pressure_areas is None:
        return {}
    found = robot.pressures(now.q, _efforts(robot, now)).reshape(-1, 3)
    names = [f"{section}@0.5" for section in robot.section_names]
    return dict(zip(names, found, strict=True))


def supplies_of(robot: Robot, now: Moment) -> dict[str, tuple[float, float]]:
    """Absolute pressure [Pa] in the line of each supply of cylinders, and the flow of its pump
    [m3/s], NaN where that is not known; {} where there are none."""
    if robot.hydraulics is None:
        return {}
    value = states_of(robot, now)
    # what is no state is constant
    return {
        name: (value.get(f"{name}/pressure", line.pressure), value.get(f"{name}/pump_flow", nan))
        for name, line in robot.hydraulics.model.lines.items()
    }


def states_of(robot: Robot, now: Moment) -> Mapping[str, float]:
    """States of elements that are known, else those of shut valves in balance, by name."""
    names = [state.name for state in robot.element_states]
    if all(name in now.states for name in names):
        return now.states
    rest = robot.rest_states(now.q, tau=None if now.held else now.tau)
    return dict(zip(names, rest.tolist(), strict=True))


def label_places(robot: Robot, q: np.ndarray, names: Sequence[str]) -> dict[str, np.ndarray]:
    """Places (3,) in the world of what `pressures_of` names: origins of frames, middles of cylinders [m]."""
    lines = {element.name: element.record for element in robot.elements}
    found = {}
    for name in names:
        ends = [(name, (0.0, 0.0, 0.0))]
        if name in lines:
            line = lines[name]
            ends = [(line.base, line.base_xyz), (line.end, line.end_xyz)]
        points = [np.asarray(xyz) for frame, xyz in ends if frame == "world"]
        poses = ((robot.frames(q, frame), xyz) for frame, xyz in ends if frame != "world")
        points += [T[:3, :3] @ np.asarray(xyz) + T[:3, 3] for T, xyz in poses]
        found[name] = np.mean(points, axis=0)
    return found


def _efforts(robot: Robot, now: Moment) -> np.ndarray:
    """Efforts (nu,) of the actuators."""
    zero = np.zeros(robot.nv)
    return robot.inverse_dynamics(now.q, zero, zero) if now.held else now.tau
