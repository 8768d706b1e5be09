"""The arm to derive: joints, placements and inertias as numbers, and those numbers dressed as parameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from flexdyn_ros.derivation.algebra import Matrix, Scalar, Vector, add, half
from flexdyn_ros.description import RobotDescription
from flexdyn_ros.errors import UnsupportedError
from flexdyn_ros.numerics.algebra.placement import Placement, RigidInertia

LARGEST = 3  # coordinates; beyond, closed forms are of no use to a reader
#: a constant rotation whose entries are this close to 0 and 1 is taken as exact: URDF files write 1.5708
SNAP = 4e-6


class Parameter(NamedTuple):
    """A number of the description that may appear as a symbol: name, value, unit, meaning."""

    name: str
    value: float
    unit: str
    meaning: str


Dress = Callable[[Parameter], Scalar]


@dataclass(frozen=True)
class Joint:
    """A moving joint with the body it carries; all numbers are of the kind that the dress makes.

    coordinate: index of its coordinate; position = ratio q + offset (mimic joints). rotation (3, 3), origin
    (3,): joint frame at zero in the parent body's. axis (3,): unit, body axes. mass, com (3,), inertia (3,
    3): about the com. pseudo_inertia (4, 4): [1, x, y, z] second moments about the body origin.
    """

    name: str
    parent: int
    revolute: bool
    coordinate: int
    ratio: Scalar
    offset: float
    rotation: Matrix
    origin: Vector
    axis: Vector
    mass: Scalar
    com: Vector
    inertia: Matrix
    pseudo_inertia: Matrix


@dataclass(frozen=True)
class Arm:
    """Joints in depth-first order, gravity (3,) in base axes, rotor inertia per coordinate, names, notes."""

    joints: tuple[Joint, ...]
    gravity: Vector
    rotors: Vector
    coordinates: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    notes: tuple[str, ...]


def read_arm(description: RobotDescription, dress: Dress, *, snap: float = SNAP) -> Arm:
    """The arm of a description; every number that is not zero goes through `dress`.

    Raises ------ UnsupportedError Flexible parts, a base that moves, joints other than revolute, continuous,
    prismatic and fixed, no coordinate or more than three.
    """
    return _Reader(description, dress, snap).read()


@dataclass
class _Body:
    joint: Scalar
    parent: int
    placement: Placement
    inertia: RigidInertia


class _Reader:
    """Collects bodies, then dresses their numbers."""

    def __init__(self, description: RobotDescription, dress: Dress, snap: float) -> None:
        self.description, self.snap = description, snap
        self._dress = dress
        self.parameters: dict[str, Parameter] = {}
        self.notes: list[str] = []

    def read(self) -> Arm:
        self._refuse()
        bodies = self._bodies()
        leaders = [b.joint for b in bodies if b.joint.mimic is None]
        names = tuple(j.name for j in leaders)
        if not 1 <= len(names) <= LARGEST:
            raise UnsupportedError(
                f"'{self.description.name}' has {len(names)} coordinates; "
                f"closed forms are derived for 1 to {LARGEST}"
            )
        joints = tuple(self._joint(i, b, names) for i, b in enumerate(bodies))
        rotors = [self._rotor(i, j) for i, j in enumerate(leaders)]
        gravity = self._gravity()
        self._note_what_is_left_out()
        return Arm(joints, gravity, rotors, names, tuple(self.parameters.values()), tuple(self.notes))

    def _refuse(self) -> None:
        d = self.description
        flexible = d.formulation.flexible and (d.flexible_links or any(j.elasticity for j in d.joints))
        if d.extras:
            tags = ", ".join(f"<{tag}>" for tag in d.extras)
            raise UnsupportedError(f"closed forms are derived for trees alone; '{d.name}' has {tags}")
        if d.platform is not None or d.sections or d.wheels or flexible:
            raise UnsupportedError(
                f"closed forms are derived for rigid trees, and '{d.name}' is none: derive its rigid twin, "
                "with --rigid in a terminal, or loaded with options={'formulation.flexible': False}"
            )
        if d.base.type != "fixed":
            raise UnsupportedError(f"closed forms are derived for a fixed base, not for a {d.base.type} one")
        for j in d.joints:
            if j.type not in ("revolute", "continuous", "prismatic", "fixed"):
                raise UnsupportedError(f"closed forms know no joint of type '{j.type}' (joint '{j.name}')")

    def _bodies(self) -> list[_Body]:
        """One per moving joint; links on fixed joints are lumped."""
        d = self.description
        bodies: list[_Body] = []
        carried = {d.root: (-1, Placement.of((0.0, 0.0, 0.0), (0.0, 0.0, 0.0)))}
        stack = list(reversed(d.children_of(d.root)))
        while stack:
            joint = stack.pop()
            body, placement = carried[joint.parent]
            at = placement @ Placement.of(joint.xyz, joint.rpy)
            if joint.type != "fixed":
                bodies.append(_Body(joint, body, at, RigidInertia.zero()))
                body, at = len(bodies) - 1, Placement.of((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
            carried[joint.child] = (body, at)
            inertial = d.link(joint.child).inertial
            if inertial is not None and body >= 0:
                own = RigidInertia.of(inertial.mass, inertial.xyz, inertial.inertia, inertial.rpy)
                bodies[body].inertia = bodies[body].inertia + own.seen_from(at)
            stack.extend(reversed(d.children_of(joint.child)))
        return bodies

    def dress(self, name: str, value: float, scale: float, unit: str, meaning: str) -> Scalar:
        """The parameter's number or symbol; the integer 0 if it vanishes beside `scale`."""
        if abs(value) <= 1e-12 * scale or value == 0.0:
            return 0
        self.parameters[name] = Parameter(name, float(value), unit, meaning)
        return self._dress(self.parameters[name])

    def _joint(self, index: int, body: _Body, names: tuple[str, ...]) -> Joint:
        n, joint = index + 1, body.joint
        ratio, offset, leader = self.description.leader_of(joint)
        p = np.asarray(body.placement.p, dtype=float)
        origin = [
            self.dress(f"p{n}{x}", p[k], np.abs(p).max(), "m", f"origin of joint {joint.name}, {x}")
            for k, x in enumerate("xyz")
        ]
        rotation = self._rotation(np.asarray(body.placement.R, dtype=float), joint.name)
        axis = [self._constant(x) for x in joint.axis]
        mass, com, inertia, P = self._inertia(n, joint.child, body.inertia)
        return Joint(
            name=joint.name,
            parent=body.parent,
            revolute=joint.type != "prismatic",
            coordinate=names.index(leader.name),
            ratio=self._constant(ratio),
            offset=offset,
            rotation=rotation,
            origin=origin,
            axis=axis,
            mass=mass,
            com=com,
            inertia=inertia,
            pseudo_inertia=P,
        )

    def _rotation(self, R: np.ndarray, joint: str) -> Matrix:
        """Constant rotation; quarter turns exactly, others as plain numbers."""
        rounded = np.round(R)
        error = np.abs(R - rounded).max()
        if error < self.snap:
            if error > 1e-12:
                self.notes.append(
                    f"origin of joint {joint}: rotation rounded to quarter turns (by {error:.1e})"
                )
            return [[int(x) for x in row] for row in rounded]
        return [[self._constant(x) for x in row] for row in R]

    def _constant(self, x: float) -> Scalar:
        """A number that is no parameter: integers exactly, others as plain values."""
        if abs(x - round(x)) < 1e-12:
            return round(x)
        return self._dress(Parameter("", float(x), "", ""))

    def _inertia(self, n: int, link: str, body: RigidInertia) -> tuple[Scalar, Vector, Matrix, Matrix]:
        m = float(body.mass)
        h = np.asarray(body.moment, dtype=float)
        about_origin = np.asarray(body.inertia, dtype=float)
        c = h / m if m > 0.0 else np.zeros(3)
        about_com = about_origin - m * (c @ c * np.eye(3) - np.outer(c, c))
        size = np.abs(about_origin).max()
        mass = self.dress(f"m{n}", m, 1.0, "kg", f"mass of {link}")
        com = [
            self.dress(f"c{n}{x}", c[k], np.abs(c).max(), "m", f"centre of mass of {link}, {x}")
            for k, x in enumerate("xyz")
        ]
        inertia = [[0] * 3 for _ in range(3)]
        for i in range(3):
            for j in range(i, 3):
                name = f"I{n}{'xyz'[i]}{'xyz'[j]}"
                meaning = f"inertia of {link} about its centre of mass, {'xyz'[i]}{'xyz'[j]}"
                inertia[i][j] = inertia[j][i] = self.dress(name, about_com[i, j], size, "kg m2", meaning)
        return mass, com, inertia, _pseudo_inertia(mass, com, inertia)

    def _rotor(self, index: int, joint: Scalar) -> Scalar:
        if joint.rotor is None:
            return 0
        value = joint.rotor.gear_ratio**2 * joint.rotor.inertia
        return self.dress(f"J{index + 1}", value, 1.0, "kg m2", f"reflected rotor inertia of {joint.name}")

    def _gravity(self) -> Vector:
        base = self.description.base
        g = np.asarray(Placement.of(base.xyz, base.rpy).R, dtype=float).T @ np.asarray(
            self.description.gravity
        )
        size = np.abs(g).max()
        if np.count_nonzero(np.abs(g) > 1e-12 * size) == 1:
            k = int(np.abs(g).argmax())
            strength = self.dress("g", abs(g[k]), 1.0, "m/s2", "gravity")
            return [0 if i != k else (strength if g[k] > 0 else -strength) for i in range(3)]
        return [
            self.dress(f"g{x}", g[k], size, "m/s2", f"acceleration of free fall along base {x}")
            for k, x in enumerate("xyz")
        ]

    def _note_what_is_left_out(self) -> None:
        for j in self.description.joints:
            left_out = [
                name
                for name, there in (("damping", j.damping), ("friction", j.friction), ("spring", j.spring))
                if there
            ]
            if left_out and j.type != "fixed":
                self.notes.append(f"joint {j.name}: {', '.join(left_out)} left out")


def _pseudo_inertia(mass: Scalar, com: Vector, inertia: Matrix) -> Matrix:
    """int [1, x][1, x]^T dm about the body origin; S = tr(I)/2 - I about the com."""
    P: Matrix = [[0] * 4 for _ in range(4)]
    P[0][0] = mass
    for i in range(3):
        P[0][1 + i] = P[1 + i][0] = mass * com[i]
        others = [inertia[k][k] for k in range(3) if k != i]
        twice = add(*others, -inertia[i][i])
        P[1 + i][1 + i] = add(half(twice), mass * (com[i] * com[i]))
        for j in range(i):
            entry = add(-inertia[i][j], mass * (com[i] * com[j]))
            P[1 + i][1 + j] = P[1 + j][1 + i] = entry
    return P
