"""Stribeck friction: the velocities by which it falls from its static to its Coulomb level, which efforts are
not linear in, by linear fits around what was found last."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from flexdyn_ros.description.elements.joints import DryFriction
from flexdyn_ros.errors import StateError
from flexdyn_ros.identification.linear.models import LinearModel, with_payloads
from flexdyn_ros.identification.linear.motions import Motion
from flexdyn_ros.loading import from_description
from flexdyn_ros.robot.parameters import Parameter, Regressor, checked_values, names_that_fit
from flexdyn_ros.robot.verbs import Robot

#: what follows the name of a joint
VELOCITY = "/stribeck_velocity"
#: where the search starts, as shares of the highest speed of a joint
SHARES = (0.01, 0.03, 0.1, 0.3)
#: static friction at the start, of Coulomb's, and the latter where there is none
STATIC, FRICTION = 1.5, 0.1
#: differences of a velocity, most rounds, the change by which it settles, and the most in one round
STEP, ROUNDS, SETTLED, MOST = 1e-4, 50, 1e-7, 2.0
#: friction below this share of a joint's largest effort is what rounding leaves
NOTHING = 1e-6

#: from a model to its estimates by name, and the weighted sum of the squares of what they leave
Fit = Callable[[LinearModel], tuple[Mapping[str, float], float]]


@dataclass(frozen=True, eq=False)
class StribeckModel(LinearModel):
    """A robot with Stribeck friction, with slopes as columns of the velocities.

    Attributes
    ----------
    robot : Robot
        Whose joints have such friction.
    joints : tuple of str
    """

    robot: Robot
    joints: tuple[str, ...]

    @cached_property
    def velocities(self) -> dict[str, float]:
        """Of each joint [rad/s or m/s]."""
        records = (self.robot.description.joint(joint).dry_friction for joint in self.joints)
        found = (record.stribeck_velocity for record in records if record is not None)
        return {joint: float(v) for joint, v in zip(self.joints, found, strict=True) if v is not None}

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        units = {c.name: f"{c.unit}/s" for c in self.robot.coordinates}
        more = (Parameter(f"{j}{VELOCITY}", v, units[j], 0.0) for j, v in self.velocities.items())
        return (*self.robot.parameters, *more)

    def regressor(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> Regressor:
        Y, tau0 = self.robot.regressor(q, v, a)
        columns = [self._slope(joint, q, v, a) for joint in self.joints]
        more = np.stack(columns, axis=-1)
        return Regressor(
            np.concatenate([Y, more], axis=-1), tau0 - more @ np.array([*self.velocities.values()])
        )

    def robot_with(self, values: Mapping[str, float], checked: bool = True) -> Robot:
        known = checked_values(values, self.parameters) if checked else dict(values)
        names = {f"{joint}{VELOCITY}": joint for joint in self.joints}
        robot = self.robot
        for name in names.keys() & known.keys():
            if known[name] > 0.0:
                robot = _with_friction(robot, names[name], stribeck_velocity=known[name])
        own = {name: value for name, value in known.items() if name not in names}
        return robot.with_parameters(own) if checked else Robot(robot.functions.with_parameters(own))

    def moved(self, values: Mapping[str, float], largest: Mapping[str, float]) -> StribeckModel:
        """The model around other friction, no velocity more than doubled or halved; `largest`: efforts of the
        joints."""
        robot = self.robot
        for joint, old in self.velocities.items():
            new = float(np.clip(values[f"{joint}{VELOCITY}"], old / MOST, old * MOST))
            robot = _with_friction(robot, joint, stribeck_velocity=new)
        levels = {
            f"{joint}/{part}": max(values[f"{joint}/{part}"], 0.0)
            for joint in self.joints
            for part in ("friction", "static")
        }
        for joint in self.joints:
            fall = levels[f"{joint}/static"] - levels[f"{joint}/friction"]
            if abs(fall) <= NOTHING * largest[joint]:
                raise StateError(
                    f"the data tell no dry friction of {joint} that falls with its speed: static and Coulomb "
                    f"friction come out as {levels[f'{joint}/static']:g} and {levels[f'{joint}/friction']:g}"
                )
        return StribeckModel(robot.with_parameters(levels), self.joints)

    def _slope(self, joint: str, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """Of the efforts (..., nu) by the velocity of one joint."""
        at = self.velocities[joint]
        ends = [
            _with_friction(self.robot, joint, stribeck_velocity=at * (1.0 + s * STEP)).inverse_dynamics(
                q, v, a
            )
            for s in (-1.0, 1.0)
        ]
        return np.asarray((ends[1] - ends[0]) / (2.0 * STEP * at))


def without_peak(joints: Sequence[str], values: Mapping[str, float]) -> tuple[str, ...]:
    """Sentences on joints whose friction does not fall."""
    return tuple(
        f"{joint}/static is below {joint}/friction: friction rises from rest, there is no Stribeck peak"
        for joint in joints
        if values[f"{joint}/static"] < values[f"{joint}/friction"]
    )


def stribeck_joints(robot: Robot, patterns: str | Sequence[str]) -> tuple[str, ...]:
    """Joints with coordinates of their own that fit patterns.

    Raises
    ------
    UnknownNameError
        For a pattern that fits none.
    """
    known = [c.name for c in robot.coordinates if c.kind == "joint" and c.q_index >= 0]
    return names_that_fit(known, patterns, "joint")


def stribeck_model(
    robot: Robot, joints: tuple[str, ...], motions: Sequence[Motion], fit: Fit
) -> StribeckModel:
    """The model around the velocities that leave least: the best of several starts, then Gauss-Newton.

    Raises
    ------
    UnsupportedError
        If the robot has no `parameters`.
    StateError
        If the velocities do not settle, or a joint turns out to have no such friction.
    """
    starts = [_model_at(robot, joints, motions, share) for share in SHARES]
    costs = [fit(model)[1] for model in starts]
    model = starts[int(np.argmin(costs))]
    places = {joint: robot.v_names.index(joint) for joint in joints}
    largest = {
        joint: max(float(np.abs(motion.tau[:, place]).max()) for motion in motions)
        for joint, place in places.items()
    }
    for _ in range(ROUNDS):
        values, _ = fit(model)
        new = model.moved(values, largest)
        before, after = (np.array([*m.velocities.values()]) for m in (model, new))
        model = new
        if np.all(np.abs(after - before) <= SETTLED * before):
            return model
    told = ", ".join(f"{joint} {v:.3g}" for joint, v in model.velocities.items())
    raise StateError(f"the Stribeck velocities do not settle ({told}): the data tell nothing of them")


def _model_at(
    robot: Robot, joints: tuple[str, ...], motions: Sequence[Motion], share: float
) -> StribeckModel:
    """With velocities of a share of the highest speeds."""
    known = {p.name: p.value for p in robot.parameters}
    for joint in joints:
        place = robot.v_names.index(joint)
        highest = max(float(np.abs(motion.v[:, place]).max()) for motion in motions)
        if highest == 0.0:
            raise StateError(f"{joint} stands still: the data tell nothing of its friction")
        level = known[f"{joint}/friction"] or FRICTION
        robot = _with_friction(robot, joint, static=STATIC * level, stribeck_velocity=share * highest)
        robot = robot.with_parameters({f"{joint}/friction": level, f"{joint}/static": STATIC * level})
    return StribeckModel(robot, joints)


def _with_friction(robot: Robot, joint: str, **friction: float) -> Robot:
    """The robot with other dry friction of a joint; parameters that were changed stay."""
    description = robot.description
    old = description.joint(joint)
    new = replace(old, dry_friction=replace(old.dry_friction or DryFriction(), **friction))
    joints = tuple(new if each.name == joint else each for each in description.joints)
    made = with_payloads(from_description(replace(description, joints=joints)), robot.functions.payloads)
    changes = dict(robot.functions.changes)
    return made.with_parameters(changes) if changes else made
