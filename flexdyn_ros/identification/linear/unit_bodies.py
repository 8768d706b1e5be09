"""Bodies of robots without `parameters`: their ten numbers, and the efforts that each of these asks for.

Efforts are linear in mass, first moments and inertia of a body that is fixed to another one (Atkeson, An &
Hollerbach 1986): ten payloads whose numbers are linearly independent give the ten columns of the regressor.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf

import numpy as np

from flexdyn_ros.description import RobotDescription
from flexdyn_ros.description.elements.description import Joint
from flexdyn_ros.description.elements.urdf import ZERO, Inertial, Link
from flexdyn_ros.errors import UnsupportedError
from flexdyn_ros.identification.inertial import INERTIAL, about_com, tensor_of
from flexdyn_ros.numerics.algebra.placement import Placement, RigidInertia, rotation_of_rpy
from flexdyn_ros.robot.parameters import Parameter
from flexdyn_ros.robot.payload import Payload
from flexdyn_ros.robot.verbs import Robot

#: units of the ten numbers, and those that are not negative
_POSITIVE = ("mass", "ixx", "iyy", "izz")
_UNITS = ("kg", *3 * ("kg m",), *6 * ("kg m2",))
#: where ten balls lie, in radii of gyration: their numbers are linearly independent
_PLACES = (
    (0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (-1, 0, 0), (0, -1, 0), (0, 0, -1), (1, 1, 0), (1, 0, 1),
    (0, 1, 1),
)  # fmt: skip
#: radius of gyration of a body of which nothing is known [m], share of the robot's mass that it then has
GYRATION, LIGHTEST = 0.1, 1e-3
#: inertia of a ball about its centre, of that of the body
BALL = 0.1


@dataclass(frozen=True, eq=False)
class UnitBody:
    """A link that moves, and the links on fixed joints that move with it.

    Attributes
    ----------
    robot : Robot
    link : str
    numbers : (10,) array
        Mass, first moments and inertia about the origin of the link, in its axes.
    """

    robot: Robot
    link: str
    numbers: np.ndarray

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        every = zip(INERTIAL, self.numbers.tolist(), _UNITS, strict=True)
        return tuple(
            Parameter(f"{self.link}/{part}", x, unit, 0.0 if part in _POSITIVE else -inf)
            for part, x, unit in every
        )

    def columns(self, q: np.ndarray, v: np.ndarray, a: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """Regressor (..., nu, 10); tau are the efforts of the robot itself."""
        balls = self._balls
        more = [robot.inverse_dynamics(q, v, a) - tau for robot in self._loaded]
        return np.asarray(np.stack(more, axis=-1) @ np.linalg.inv([ball.flat() for ball in balls]).T)

    @cached_property
    def _balls(self) -> tuple[RigidInertia, ...]:
        """Ten bodies whose numbers are linearly independent, about as large as this one."""
        mass = max(float(self.numbers[0]), LIGHTEST * self.robot.mass)
        square = max(float(self.numbers[[4, 7, 9]].sum()), 0.0) / (2.0 * mass)
        radius = float(np.sqrt(square)) or GYRATION
        about = BALL * mass * radius**2
        return tuple(
            RigidInertia.of(mass, [radius * x for x in place], (about, 0.0, 0.0, about, 0.0, about))
            for place in _PLACES
        )

    @cached_property
    def _loaded(self) -> tuple[Robot, ...]:
        """The robot with one of the balls each, beside the payload that the link has."""
        held = [_of_payload(p) for p in self.robot.functions.payloads if p.frame == self.link]
        loaded = []
        for ball in self._balls:
            total = sum(held, start=ball)
            com, inertia = about_com(total.flat())
            loaded.append(self.robot.with_payload(self.link, total.mass, com.tolist(), tensor_of(inertia)))
        return tuple(loaded)

    def changed(self, description: RobotDescription, values: Mapping[str, float]) -> RobotDescription:
        """The description with other numbers of this body: its link takes the difference."""
        new = np.array(
            [values.get(f"{self.link}/{part}", x) for part, x in zip(INERTIAL, self.numbers, strict=True)]
        )
        if np.array_equal(new, self.numbers):
            return description
        found = _own(description.link(self.link)).flat() + (new - self.numbers)
        com, inertia = about_com(found)
        xx, xy, xz, yy, yz, zz = inertia
        inertial = Inertial(float(found[0]), (*com.tolist(),), ZERO, (xx, xy, xz, yy, yz, zz))
        links = (replace(x, inertial=inertial) if x.name == self.link else x for x in description.links)
        return replace(description, links=tuple(links))


def bodies_of(robot: Robot) -> tuple[UnitBody, ...]:
    """The rigid bodies that move."""
    found = []
    for link in _moving(robot.description):
        try:
            robot.functions.check_carrier(link)
        except UnsupportedError:
            continue
        found.append(UnitBody(robot, link, _lumped(robot, link).flat()))
    return tuple(found)


def _moving(description: RobotDescription) -> Iterator[str]:
    """Links that name a body: neither fixed to another rigid one, nor bending."""
    above = {joint.child: joint for joint in description.joints}
    sections = {section.joint for section in description.sections}
    for link in description.links:
        joint = above.get(link.name)
        stays = description.base.type == "fixed" if joint is None else _is_rigid(description, joint, sections)
        if not stays and link.name not in description.flexible_links:
            yield link.name


def _is_rigid(description: RobotDescription, joint: Joint, sections: set[str]) -> bool:
    """Whether a joint only lengthens the rigid link that it hangs on."""
    fixed = joint.type == "fixed" and joint.name not in sections
    return fixed and joint.parent not in description.flexible_links


def _lumped(robot: Robot, link: str) -> RigidInertia:
    """A link, its payload, and what is fixed to it."""
    description = robot.description
    total = _own(description.link(link))
    total = sum((_of_payload(p) for p in robot.functions.payloads if p.frame == link), start=total)
    sections = {section.joint for section in description.sections}
    for joint in description.children_of(link):
        if _is_rigid(description, joint, sections) and joint.child not in description.flexible_links:
            placement = Placement(rotation_of_rpy(joint.rpy), np.array(joint.xyz))
            total = total + _lumped(robot, joint.child).seen_from(placement)
    return total


def _own(link: Link) -> RigidInertia:
    inertial = link.inertial
    if inertial is None:
        return RigidInertia.zero()
    return RigidInertia.of(inertial.mass, inertial.xyz, inertial.inertia, inertial.rpy)


def _of_payload(payload: Payload) -> RigidInertia:
    return RigidInertia.of(payload.mass, payload.com, payload.inertia)
