"""From a description to the arrays of a soft arm, behind one address as the entries of kernels/entries.py
take them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import NamedTuple

import numpy as np

from flexdyn_ros.description import RobotDescription
from flexdyn_ros.description.elements.joints import Section
from flexdyn_ros.errors import UnknownNameError, UnsupportedError
from flexdyn_ros.families.continuum.kernels import views
from flexdyn_ros.families.continuum.kernels.views import MODAL
from flexdyn_ros.families.packing import Header
from flexdyn_ros.numerics.algebra.placement import IDENTITY, Placement, RigidInertia
from flexdyn_ros.robot.coordinates import Coordinate
from flexdyn_ros.robot.parameters import Parameter, Payload, changed_inertia, inertial_parameters

#: pressure around the arm [Pa]: the standard atmosphere
ATMOSPHERE = 101325.0
#: actuators of a section
ACTUATORS = 3
#: part of the stroke over which the damping of a stop grows to half
STOP_RAMP = 0.01


class SectionFrame(NamedTuple):
    """A named frame: the slice that carries it, at eta of section i (-1 = the world), and its placement
    there.
    """

    name: str
    section: int
    eta: float
    placement: Placement


@dataclass(frozen=True)
class SoftArm:
    """A chain of soft sections, ready for packing.

    sections : tuple of Section, from base to tip
    bases : placement of each section's base frame in the tip frame before it, in the world for the first
    bodies : rigid body in each tip frame
    fixed_mass : mass of what is fixed to the world [kg]
    frames : mapping from link name to SectionFrame
    coordinates : tuple of Coordinate
    """

    sections: tuple[Section, ...]
    bases: tuple[Placement, ...]
    bodies: tuple[RigidInertia, ...]
    fixed_mass: float
    frames: dict[str, SectionFrame]
    coordinates: tuple[Coordinate, ...]
    gravity: np.ndarray
    rotary: bool
    mass_model: int
    energy_ratio: float
    order: int

    @property
    def mass(self) -> float:
        """Mass of sections and links, those fixed to the world included [kg]."""
        return self.fixed_mass + sum(s.mass for s in self.sections) + sum(b.mass for b in self.bodies)


def build_arm(description: RobotDescription, *, quadrature: bool = False) -> SoftArm:
    """The arm of a description of kind continuum.

    quadrature: integrate the mass of a single section numerically too, instead of in closed form.

    Raises
    ------
    UnsupportedError
        If the base is not fixed, or modal kinematics are asked with a lumped mass.
    """
    if description.base.type != "fixed":
        raise UnsupportedError(
            f"soft arms on a {description.base.type} base are not computed; a fixed one is"
        )
    sections = description.sections
    frames, bases, bodies, fixed = _place_links(description)
    formulation = description.formulation
    gravity = np.array(description.gravity)
    gravity.setflags(write=False)
    return SoftArm(
        sections=sections,
        bases=tuple(bases),
        bodies=tuple(bodies),
        fixed_mass=fixed,
        frames=frames,
        coordinates=_coordinates(description),
        gravity=gravity,
        rotary=formulation.rotary_inertia != "none",
        mass_model=_mass_model(description, quadrature),
        energy_ratio=float(formulation.energy_ratio or 0.0),
        order=int(formulation.order or 0),
    )


def _mass_model(description: RobotDescription, quadrature: bool) -> int:
    formulation = description.formulation
    if formulation.kinematics == "modal":
        if formulation.mass_model != "distributed":
            raise UnsupportedError(
                f"modal kinematics are computed with distributed mass, not with mass_model "
                f"'{formulation.mass_model}'; load with kinematics 'exact'"
            )
        return views.MODAL
    if len(description.sections) > 1 or quadrature:
        return views.QUADRATURE
    return {"distributed": views.CLOSED, "lumped": views.LUMPED, "lumped2": views.LUMPED2}[
        formulation.mass_model or "distributed"
    ]


def _place_links(
    description: RobotDescription,
) -> tuple[dict[str, SectionFrame], list[Placement], list[RigidInertia], float]:
    """Frames of all links, base placements and tip bodies of the sections, and the mass fixed to the
    world.
    """
    order = {section.joint: i for i, section in enumerate(description.sections)}
    base = Placement.of(description.base.xyz, description.base.rpy)
    frames = {description.root: SectionFrame(description.root, -1, 1.0, base)}
    bases: list[Placement] = [IDENTITY] * len(order)
    bodies = [RigidInertia.zero() for _ in order]
    waiting = [description.root]
    while waiting:
        at = frames[waiting.pop(0)]
        for joint in description.children_of(at.name):
            placement = at.placement @ Placement.of(joint.xyz, joint.rpy)
            if joint.name in order:
                i = order[joint.name]
                down = Placement(np.eye(3), np.array([0.0, 0.0, -description.sections[i].length]))
                bases[i] = placement @ down
                frames[joint.child] = SectionFrame(joint.child, i, 1.0, IDENTITY)
            else:
                frames[joint.child] = SectionFrame(joint.child, at.section, 1.0, placement)
            waiting.append(joint.child)
    fixed = 0.0
    for link in description.links:
        if link.inertial is None or link.name not in frames:
            continue
        inertial, at = link.inertial, frames[link.name]
        if at.section < 0:
            fixed += inertial.mass
            continue
        body = RigidInertia.of(inertial.mass, inertial.xyz, inertial.inertia, inertial.rpy)
        bodies[at.section] = bodies[at.section] + body.seen_from(at.placement)
    ordered = {link.name: frames[link.name] for link in description.links if link.name in frames}
    return ordered, bases, bodies, fixed


def _per_actuator(value: object) -> tuple[float, ...]:
    """One number per actuator of what the description gives once or three times."""
    return tuple(np.broadcast_to(np.asarray(value, dtype=float), ACTUATORS).tolist())


def _coordinates(description: RobotDescription) -> tuple[Coordinate, ...]:
    found = []
    for i, section in enumerate(description.sections):
        body = description.joint(section.joint).child
        limit = inf
        if section.pressure is not None and section.pressure.maximum is not None:
            # what pushes most, or pulls as vacuum does
            limit = section.pressure.area * max(section.pressure.maximum - ATMOSPHERE, ATMOSPHERE)
        for k in range(ACTUATORS):
            at = ACTUATORS * i + k
            found.append(
                Coordinate(
                    f"{section.joint}/actuator_{k + 1}",
                    "actuator",
                    "m",
                    at,
                    at,
                    body,
                    lower=_per_actuator(section.lower)[k],
                    upper=_per_actuator(section.upper)[k],
                    effort_limit=limit,
                )
            )
    return tuple(found)


def carry_payloads(arm: SoftArm, payloads: Sequence[Payload]) -> SoftArm:
    """The arm with payloads fixed to frames of its links; the arm itself stays as it is."""
    bodies, fixed = list(arm.bodies), arm.fixed_mass
    for payload in payloads:
        if payload.frame not in arm.frames:
            raise UnknownNameError("frame", payload.frame, tuple(arm.frames))
        frame = arm.frames[payload.frame]
        body = RigidInertia.of(payload.mass, payload.com, payload.inertia).seen_from(frame.placement)
        if frame.section < 0:
            fixed += payload.mass
        else:
            bodies[frame.section] = bodies[frame.section] + body
    return replace(arm, bodies=tuple(bodies), fixed_mass=fixed)


class PackedArm:
    """Keeps the memory of an arm alive and hands out the address of its header
    (kernels/views.py).
    """

    def __init__(self, arm: SoftArm) -> None:
        nodes = [np.polynomial.legendre.leggauss(section.quadrature) for section in arm.sections]
        counts = [section.quadrature for section in arm.sections]
        numbers = np.zeros(views.ARM_NUMBERS)
        numbers[:3] = arm.gravity
        numbers[views.ENERGY_RATIO] = arm.energy_ratio
        sections = [_numbers_of(arm, i, sum(counts[:i])) for i in range(len(counts))]
        tables = [np.column_stack([0.5 + 0.5 * x, 0.5 * w]).ravel() for x, w in nodes]
        floats = np.concatenate([numbers, *sections, *tables])
        #: numbers of work memory that the kernels take
        self.numbers = views.work_size(len(counts))
        words = len(counts), floats, arm.mass_model, arm.order, sum(counts)
        self._header = Header(*words)
        self.address = self._header.address
        #: the arrays of floats that kernels read
        self.floats = (floats,)


def _numbers_of(arm: SoftArm, i: int, first_node: int) -> np.ndarray:
    """The numbers (SECTION_NUMBERS,) of one section."""
    section = arm.sections[i]
    x = np.zeros(views.SECTION_NUMBERS)
    x[views.LENGTH], x[views.RADIUS], x[views.MASS] = section.length, section.radius, section.mass
    x[views.ROTARY] = 0.25 * section.disc_radius**2 if arm.rotary else 0.0
    x[views.SPRING : views.SPRING + 3] = section.stiffness
    x[views.DAMPER : views.DAMPER + 3] = section.damping
    x[views.LOWER : views.LOWER + 3], x[views.UPPER : views.UPPER + 3] = section.lower, section.upper
    x[views.STOP_SPRING], x[views.STOP_DAMPER] = section.limit_stiffness, section.limit_damping
    x[views.STOP_WIDTH] = STOP_RAMP * (max(_per_actuator(section.upper)) - min(_per_actuator(section.lower)))
    x[views.BENDING_SPRING] = section.bending_stiffness
    x[views.NODE_COUNT], x[views.FIRST_NODE] = section.quadrature, first_node
    x[views.PLACEMENT : views.PLACEMENT + 12] = arm.bases[i].flat()
    x[views.BODY : views.BODY + 10] = arm.bodies[i].flat()
    return x


# Dynamic parameters of a soft arm: of the body on the tip of each section, then of the sections.
#
# Ten numbers a body as of trees (trees/rigid/parameters.py), links on fixed joints lumped: LINK/mass,
# LINK/mx
# my mz, LINK/ixx ixy ixz iyy iyz izz. For each section SECTION/section_mass, whose distribution and rotary
# inertia go with it, SECTION/stiffness and SECTION/damping of its actuators (COORDINATE/stiffness and
# COORDINATE/damping of each where the description gives them different ones), SECTION/bending_stiffness. tau
# is linear in them, stops and lengths held. The frames of modal kinematics are not rigid: there tau is not
# linear in the numbers of bodies, which are no parameters.

_OF_ACTUATORS = {"stiffness": "N/m", "damping": "N s/m"}


def arm_parameters(description: RobotDescription, arm: SoftArm) -> tuple[Parameter, ...]:
    """The parameters, bodies first."""
    found: list[Parameter] = []
    if arm.mass_model != MODAL:
        for link, body in zip(_links_of(arm), arm.bodies, strict=True):
            found += inertial_parameters(link, body.flat())
    for described, section in zip(description.sections, arm.sections, strict=True):
        name = section.joint
        found.append(Parameter(f"{name}/section_mass", float(section.mass), "kg", 0.0))
        for part, places, own in _actuator_numbers(described):
            value = getattr(section, part)[places[0]]
            found.append(Parameter(own, float(value), _OF_ACTUATORS[part], 0.0))
        bending = float(section.bending_stiffness)
        found.append(Parameter(f"{name}/bending_stiffness", bending, "N m/rad2", 0.0))
    return tuple(found)


def changed_arm(description: RobotDescription, arm: SoftArm, values: Mapping[str, float]) -> SoftArm:
    """The arm with other values of these parameters."""
    bodies = (
        changed_inertia(link, body.flat(), values) or body
        for link, body in zip(_links_of(arm), arm.bodies, strict=True)
    )
    sections = (
        _changed_section(described, section, values)
        for described, section in zip(description.sections, arm.sections, strict=True)
    )
    return replace(arm, bodies=tuple(bodies), sections=tuple(sections))


def _changed_section(described: Section, section: Section, values: Mapping[str, float]) -> Section:
    numbers = {part: list(getattr(section, part)) for part in _OF_ACTUATORS}
    for part, places, name in _actuator_numbers(described):
        for k in places:
            numbers[part][k] = values.get(name, numbers[part][k])
    (s1, s2, s3), (d1, d2, d3) = numbers["stiffness"], numbers["damping"]
    return replace(
        section,
        mass=values.get(f"{section.joint}/section_mass", section.mass),
        stiffness=(s1, s2, s3),
        damping=(d1, d2, d3),
        bending_stiffness=values.get(f"{section.joint}/bending_stiffness", section.bending_stiffness),
    )


def _links_of(arm: SoftArm) -> Iterator[str]:
    """The link on the tip of each section."""
    return (coordinate.body for coordinate in arm.coordinates[::ACTUATORS])


def _actuator_numbers(described: Section) -> Iterator[tuple[str, tuple[int, ...], str]]:
    """Numbers of the actuators of a section: what, which actuators have it, and its name."""
    every = tuple(range(ACTUATORS))
    for part in _OF_ACTUATORS:
        if len(set(getattr(described, part))) == 1:
            yield part, every, f"{described.joint}/{part}"
        else:
            for k in every:
                yield part, (k,), f"{described.joint}/actuator_{k + 1}/{part}"
