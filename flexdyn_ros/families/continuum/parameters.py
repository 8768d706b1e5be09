"""Dynamic parameters of a soft arm: of the body on the tip of each section, then of the sections.

Ten numbers a body as of trees (trees/rigid/parameters.py), links on fixed joints lumped: LINK/mass, LINK/mx
my mz, LINK/ixx ixy ixz iyy iyz izz. For each section SECTION/section_mass, whose distribution and rotary
inertia go with it, SECTION/stiffness and SECTION/damping of its actuators (COORDINATE/stiffness and
COORDINATE/damping of each where the description gives them different ones), SECTION/bending_stiffness. tau
is linear in them, stops and lengths held. The frames of modal kinematics are not rigid: there tau is not
linear in the numbers of bodies, which are no parameters.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from flexdyn_ros.description import RobotDescription
from flexdyn_ros.description.elements.joints import Section
from flexdyn_ros.families.continuum.kernels.views import MODAL
from flexdyn_ros.families.continuum.model import ACTUATORS, SoftArm
from flexdyn_ros.robot.parameters import Parameter, changed_inertia, inertial_parameters

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
