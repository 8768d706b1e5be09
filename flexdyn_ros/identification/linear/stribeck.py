"""Stribeck friction: the velocities by which it falls from its static to its Coulomb level, which efforts are
not linear in, by linear fits around what was found last.

The friction of a joint is s(v) (F + (S - F) e) with e = exp(-(v / V)^2): the sum of its columns of F and S in
the regressor is s, so that columns of other velocities V follow without another regressor.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from flexdyn_ros.description.elements.joints import DryFriction
from flexdyn_ros.errors import StateError
from flexdyn_ros.identification.linear.least_squares import Rows
from flexdyn_ros.identification.linear.models import LinearModel, linear_model, with_payloads
from flexdyn_ros.identification.linear.motions import Motion
from flexdyn_ros.loading import from_description
from flexdyn_ros.robot.parameters import Parameter, Regressor, checked_values, names_that_fit
from flexdyn_ros.robot.verbs import Robot

#: what follows the name of a joint
LEVELS, VELOCITY = ("/friction", "/static"), "/stribeck_velocity"
#: where the search starts, as shares of the highest speed of a joint
SHARES = (0.01, 0.03, 0.1, 0.3)
#: static friction at the start, of Coulomb's, and the latter where there is none
STATIC, FRICTION = 1.5, 0.1
#: most rounds, the change by which a velocity settles, of itself and of its deviation, the most in one round,
#: and halved steps that are tried for a better fit
ROUNDS, SETTLED, SHARE, MOST, HALVED = 50, 1e-7, 1e-3, 2.0, 5
#: velocities are searched for within these shares of the highest speed of a joint
LEAST, HIGHEST = 1e-4, 1.0
#: friction below this share of a joint's largest effort is what rounding leaves
NOTHING = 1e-6


@dataclass(frozen=True, eq=False)
class StribeckModel(LinearModel):
    """A robot with Stribeck friction, with slopes as columns of the velocities.

    Attributes
    ----------
    robot : Robot
        Whose joints have such friction.
    velocities, falls : mappings from joint
        Its velocity [rad/s or m/s], and its static less its Coulomb friction [N m or N].
    highest, largest : mappings from joint
        Its highest speed and effort.
    """

    robot: Robot
    velocities: Mapping[str, float]
    falls: Mapping[str, float]
    highest: Mapping[str, float]
    largest: Mapping[str, float]
    #: by the identity of a motion's q: columns (n, nu, joints) of friction that does not fall
    signs: dict[int, np.ndarray] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """Of the parameters of this friction."""
        return tuple(f"{joint}{end}" for joint in self.velocities for end in (*LEVELS, VELOCITY))

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        units = {c.name: f"{c.unit}/s" for c in self.robot.coordinates}
        more = (Parameter(f"{j}{VELOCITY}", v, units[j], 0.0) for j, v in self.velocities.items())
        return (*self.robot.parameters, *more)

    def regressor(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> Regressor:
        Y, tau0 = self.robot.regressor(q, v, a)
        names = [p.name for p in self.robot.parameters]
        places = np.array([[names.index(f"{j}{end}") for end in LEVELS] for j in self.velocities])
        self.signs[id(q)] = Y[..., places].sum(axis=-1)
        columns = self.columns(q, v)
        Y = np.concatenate([Y, columns[..., 2::3]], axis=-1)
        Y[..., places[:, 0]], Y[..., places[:, 1]] = columns[..., 0::3], columns[..., 1::3]
        return Regressor(Y, tau0 - columns[..., 2::3] @ np.array([*self.velocities.values()]))

    def states(self, rng: np.random.Generator, count: int) -> tuple[np.ndarray, ...]:
        return linear_model(self.robot).states(rng, count)

    def columns(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Columns (n, nu, 3 joints) of `names` at the samples of a motion whose regressor was made."""
        found = []
        for k, (joint, at) in enumerate(self.velocities.items()):
            s = self.signs[id(q)][..., k]
            ratio = (v[..., self.robot.v_names.index(joint)] / at)[..., None] ** 2
            e = np.exp(-ratio)
            found += [s * (1.0 - e), s * e, s * e * (2.0 * self.falls[joint] * ratio / at)]
        return np.stack(found, axis=-1)

    def renewed(self, rows: Rows, before: StribeckModel, chosen: Sequence[Parameter]) -> Rows:
        """Rows of this model, of those of one with other velocities."""
        names = [p.name for p in chosen]
        places = [names.index(name) for name in self.names]
        now, then = (np.array([*m.velocities.values()]) for m in (self, before))
        regressors, efforts, held = [], [], []
        for motion, Y, tau, old in zip(
            *(rows.motions, rows.regressors, rows.efforts, rows.held), strict=True
        ):
            new = motion.smoothed(self.columns(motion.q, motion.v))
            offset = Y[..., places[2::3]] @ then - new[..., 2::3] @ now
            Y = Y.copy()
            Y[..., places] = new
            regressors.append(Y)
            efforts.append(tau - offset)
            held.append(old + offset)
        return Rows(rows.motions, tuple(regressors), tuple(efforts), tuple(held))

    def robot_with(self, values: Mapping[str, float], checked: bool = True) -> Robot:
        known = checked_values(values, self.parameters) if checked else dict(values)
        robot = self.robot
        for joint, at in self.velocities.items():
            new = known.get(f"{joint}{VELOCITY}", at)
            robot = _with_friction(robot, joint, stribeck_velocity=new if new > 0.0 else at)
        own = {name: value for name, value in known.items() if not name.endswith(VELOCITY)}
        return robot.with_parameters(own) if checked else Robot(robot.functions.with_parameters(own))

    def moved(self, values: Mapping[str, float], share: float = 1.0) -> StribeckModel:
        """The model with a share of the way to other friction, no velocity more than doubled or halved."""
        levels = {joint: [max(values[f"{joint}{end}"], 0.0) for end in LEVELS] for joint in self.velocities}
        for joint, (coulomb, static) in levels.items():
            if abs(static - coulomb) <= NOTHING * self.largest[joint]:
                raise StateError(
                    f"the data tell no dry friction of {joint} that falls with its speed: static and Coulomb "
                    f"friction come out as {static:g} and {coulomb:g}"
                )
        falls = {j: self.falls[j] + share * (s - c - self.falls[j]) for j, (c, s) in levels.items()}
        velocities = {}
        for joint, old in self.velocities.items():
            top = self.highest[joint]
            low, high = max(old / MOST, LEAST * top), min(old * MOST, HIGHEST * top)
            new = float(np.clip(values[f"{joint}{VELOCITY}"], low, high))
            velocities[joint] = old + share * (new - old)
        return replace(self, velocities=velocities, falls=falls)


#: from a model to its estimates by name, their deviations, and the mean logarithm of what they leave
Fit = Callable[[StribeckModel], tuple[Mapping[str, float], Mapping[str, float], float]]


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


def first_model(robot: Robot, joints: tuple[str, ...], motions: Sequence[Motion]) -> StribeckModel:
    """The model from which the search starts.

    Raises
    ------
    StateError
        If a joint stands still.
    """
    known = {p.name: p.value for p in robot.parameters}
    highest, largest, falls = {}, {}, {}
    for joint in joints:
        place = robot.v_names.index(joint)
        highest[joint] = max(float(np.abs(motion.v[:, place]).max()) for motion in motions)
        largest[joint] = max(float(np.abs(motion.tau[:, place]).max()) for motion in motions)
        if highest[joint] == 0.0:
            raise StateError(f"{joint} stands still: the data tell nothing of its friction")
        level = known[f"{joint}/friction"] or FRICTION
        falls[joint] = (STATIC - 1.0) * level
        robot = _with_friction(
            robot, joint, static=STATIC * level, stribeck_velocity=SHARES[0] * highest[joint]
        )
        robot = robot.with_parameters({f"{joint}/friction": level, f"{joint}/static": STATIC * level})
    velocities = {joint: SHARES[0] * highest[joint] for joint in joints}
    return StribeckModel(robot, velocities, falls, highest, largest)


def stribeck_model(first: StribeckModel, fit: Fit) -> tuple[StribeckModel, tuple[str, ...]]:
    """The model around the velocities that leave least: the best of several starts, then damped Gauss-Newton;
    and sentences on velocities that the data do not tell.

    Raises
    ------
    StateError
        If a joint turns out to have no such friction.
    """
    starts = [
        replace(first, velocities={joint: share * top for joint, top in first.highest.items()})
        for share in SHARES
    ]
    model, (values, deviations, cost) = min(((m, fit(m)) for m in starts), key=lambda one: one[1][2])
    for _ in range(ROUNDS):
        for k in range(HALVED):
            new = model.moved(values, 0.5**k)
            other = fit(new)
            if other[2] < cost:
                break
        else:
            break
        change = {j: abs(v - model.velocities[j]) for j, v in new.velocities.items()}
        model, (values, deviations, cost) = new, other
        if all(
            step <= max(SETTLED * model.velocities[j], SHARE * deviations[f"{j}{VELOCITY}"])
            for j, step in change.items()
        ):
            break
    doubtful = [
        f"the data hardly tell the Stribeck velocity of {joint}: it comes out as {v:.3g} at the end of "
        f"{LEAST * model.highest[joint]:.3g} to {HIGHEST * model.highest[joint]:.3g}"
        for joint, v in model.velocities.items()
        if not LEAST * model.highest[joint] < v < HIGHEST * model.highest[joint]
    ]
    return model, tuple(doubtful)


def _with_friction(robot: Robot, joint: str, **friction: float) -> Robot:
    """The robot with other dry friction of a joint; parameters that were changed stay."""
    description = robot.description
    old = description.joint(joint)
    new = replace(old, dry_friction=replace(old.dry_friction or DryFriction(), **friction))
    joints = tuple(new if each.name == joint else each for each in description.joints)
    made = with_payloads(from_description(replace(description, joints=joints)), robot.functions.payloads)
    changes = dict(robot.functions.changes)
    return made.with_parameters(changes) if changes else made
