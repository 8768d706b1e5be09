"""What was understood of a description, with model checks and warnings, as plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike

import numpy as np

from flexdyn_ros.description import Joint, Override
from flexdyn_ros.description.plausibility import doubts_of, questions_of
from flexdyn_ros.errors import SingularityError, UnsupportedError
from flexdyn_ros.families.record import FlexibleLinkReport
from flexdyn_ros.families.registry import family_of
from flexdyn_ros.loading import load
from flexdyn_ros.multibody.constraints.elsewhere import suggested_loops
from flexdyn_ros.robot.analysis.modes import MOST_ANALYSED, ModeReport, mode_table
from flexdyn_ros.robot.coordinates import MODAL, Coordinate
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.wording import section, table


@dataclass(frozen=True)
class Body:
    """One link: its mass [kg], of a flexible one that of beam and bodies; the joint that it hangs on, None
    for the root."""

    link: str
    mass: float
    joint: str | None
    joint_type: str | None
    parent: str | None


@dataclass(frozen=True)
class Mobility:
    """Numbers of the velocity coordinates, and names of those of joints.

    Attributes
    ----------
    coordinates, modes, actuated : int
        All (nv); those of modes; those that have an actuator.
    between_frames : tuple of str
        Actuators that are no coordinates: cylinders, legs.
    passive : tuple of str
        Coordinates of joints without an actuator of their own.
    held : tuple of str
        Coordinates of joints and base that springs between frames act on.
    """

    coordinates: int
    modes: int
    actuated: int
    between_frames: tuple[str, ...]
    passive: tuple[str, ...]
    held: tuple[str, ...]


@dataclass(frozen=True)
class SectionLoad:
    """Largest section force [N] and moment [N m] of a link, and at which fractions of its length."""

    link: str
    force: float
    force_station: float
    moment: float
    moment_station: float


@dataclass(frozen=True)
class Report:
    """Result of `check`.

    Attributes
    ----------
    name, kind, root, base : str
        Name and kind of the robot, its root link, type of its base.
    file : str or None
        Where the description came from; None for text.
    gravity : tuple of 3
        World axes [m/s2].
    mass : float
        Of all links [kg].
    nq, nv, nu : int
        Numbers of positions, velocities, efforts.
    bodies : tuple of Body
        One per link, in the order of the file.
    coordinates : tuple of Coordinate
    actuators : tuple of str
        Names of what drives the robot.
    mobility : Mobility
    loads : tuple of SectionLoad
        Of robots that bend or have elements: of every link that carries something, at rest under gravity at
        the neutral position, where actuators hold it (`Robot.loads`); empty where that is not computed, or
        actuators cannot hold the robot.
    overrides : tuple of Override
        Values that a file, YAML or an option put in place of earlier ones.
    flexible : tuple of FlexibleLinkReport
        Masses and modes of the flexible links.
    modes_free, modes_locked : tuple of ModeReport
        First modes at the neutral position, joints free and locked, with damping ratios; empty where the
        mass matrix is singular.
    frequencies_free, frequencies_locked : tuple of float
        First natural frequencies at the neutral position [Hz], joints free and locked; empty where the mass
        matrix is singular.
    warnings : tuple of str
        What is probably a mistake.
    notes : tuple of str
        What is no mistake but good to know: words of other tools that have no effect, where the neutral
        position is outside limits, numbers of soft sections and the origin of a preset's, what became of
        `<inertial>` elements, links without damping, modes too fast for steps of 1 ms.
    """

    name: str
    kind: str
    file: str | None
    root: str
    base: str
    gravity: tuple[float, float, float]
    mass: float
    nq: int
    nv: int
    nu: int
    bodies: tuple[Body, ...]
    coordinates: tuple[Coordinate, ...]
    actuators: tuple[str, ...]
    overrides: tuple[Override, ...]
    flexible: tuple[FlexibleLinkReport, ...]
    modes_free: tuple[ModeReport, ...]
    modes_locked: tuple[ModeReport, ...]
    frequencies_free: tuple[float, ...]
    frequencies_locked: tuple[float, ...]
    warnings: tuple[str, ...]
    notes: tuple[str, ...]
    mobility: Mobility
    loads: tuple[SectionLoad, ...]

    def _repr_html_(self) -> str:
        facts = f"{self.kind}, {self.base} base, nv = {self.nv}, {self.mass:.6g} kg"
        bodies = [(b.link, b.joint or "", b.joint_type or "(root)", f"{b.mass:.6g}") for b in self.bodies]
        told = [("warning", text) for text in self.warnings] + [("note", text) for text in self.notes]
        return section(
            f"Check of {self.name}",
            f"<p>{facts}</p>",
            table(("link", "joint", "type", "mass [kg]"), bodies),
            table(("", ""), told),
        )


def check(
    source: object,
    *,
    config: str | PathLike[str] | Sequence[str | PathLike[str]] | None = None,
    options: Mapping[str, object] | None = None,
    name: str | None = None,
    modes: int = 8,
    xacro: Mapping[str, object] | None = None,
) -> Report:
    """Read a robot and report bodies, coordinates, masses, overrides, first frequencies and warnings.

    Parameters
    ----------
    source, config, options, name, xacro
        As of `flexdyn_ros.load`.
    modes : int
        Number of frequencies, at most.

    Raises
    ------
    DescriptionError, UnsupportedError
        As of `flexdyn_ros.load`.
    """
    robot = load(source, config=config, options=options, name=name, xacro=xacro)
    description = robot.description
    x, y, z = robot.gravity.tolist()
    found = family_of(description).check(robot)
    of_beams = {report.link: report.mass for report in found.links}
    above = {joint.child: joint for joint in description.joints}
    mobility = _mobility(robot, found.held)
    free, locked = _modes(robot, modes, ()), _modes(robot, modes, "joints")
    return Report(
        name=robot.name,
        kind=robot.kind,
        file=description.file,
        root=description.root,
        base=description.base.type,
        gravity=(x, y, z),
        mass=robot.mass,
        nq=robot.nq,
        nv=robot.nv,
        nu=robot.nu,
        bodies=tuple(_body(robot, link.name, of_beams, above) for link in description.links),
        coordinates=robot.coordinates,
        actuators=robot.actuators,
        overrides=description.overrides,
        flexible=found.links,
        modes_free=free,
        modes_locked=locked,
        frequencies_free=tuple(mode.frequency for mode in free),
        frequencies_locked=tuple(mode.frequency for mode in locked),
        warnings=(*_of_robot(robot), *doubts_of(description), *found.warnings, *suggested_loops(description)),
        notes=(
            *description.unread,
            *_beyond_limits(robot),
            *questions_of(description),
            *found.notes,
            *(() if robot.functions.is_constrained else _idle(mobility)),
        ),
        mobility=mobility,
        loads=_loads(robot),
    )


def _body(robot: Robot, link: str, of_beams: Mapping[str, float], above: Mapping[str, Joint]) -> Body:
    inertial = robot.description.link(link).inertial
    mass = of_beams.get(link, inertial.mass if inertial else 0.0)
    joint = above.get(link)
    if joint is None:
        return Body(link, mass, None, None, None)
    return Body(link, mass, joint.name, joint.type, joint.parent)


def _modes(robot: Robot, count: int, lock: str | tuple[str, ...]) -> tuple[ModeReport, ...]:
    """First modes at the neutral position; none where the mass matrix is singular (a warning says so), or of
    so many coordinates that dense matrices take minutes (a note says so)."""
    if robot.nv > MOST_ANALYSED:
        return ()
    try:
        return mode_table(robot, count, lock)
    except SingularityError:
        return ()


def _mobility(robot: Robot, held: tuple[str, ...]) -> Mobility:
    own = {*robot.actuators}
    return Mobility(
        coordinates=robot.nv,
        modes=sum(c.kind in MODAL for c in robot.coordinates),
        actuated=len(own.intersection(robot.v_names)),
        between_frames=tuple(name for name in robot.actuators if name not in robot.v_names),
        passive=tuple(c.name for c in robot.coordinates if c.kind == "joint" and c.name not in own),
        held=held,
    )


def _idle(mobility: Mobility) -> tuple[str, ...]:
    """Ask about passive joints that neither cylinders nor springs move."""
    loose = [name for name in mobility.passive if name not in mobility.held]
    if not mobility.between_frames or len(loose) <= len(mobility.between_frames):
        return ()
    count = len(mobility.between_frames)
    return (
        f"{count} actuators between frames for {len(loose)} passive joints: {', '.join(loose)}; intended?",
    )


def _loads(robot: Robot) -> tuple[SectionLoad, ...]:
    """Largest loads at rest at the neutral position; those of links without any are left out."""
    if robot.nv > MOST_ANALYSED or not (robot.bends or robot.elements):
        return ()
    q, still = robot.neutral(), np.zeros(robot.nv)
    try:
        tau = robot.inverse_dynamics(q, still, still, actuators="all") if robot.elements else None
        every = robot.loads(q, still, still, tau)
    except (SingularityError, UnsupportedError):
        return ()
    loads = []
    for link, found in every.items():
        force, moment = (np.linalg.norm(x, axis=-1) for x in (found.force, found.moment))
        i, k = int(np.argmax(force)), int(np.argmax(moment))
        if force[i] > 0.0:
            places = float(found.station[i]), float(found.station[k])
            loads.append(SectionLoad(link, float(force[i]), places[0], float(moment[k]), places[1]))
    return tuple(loads)


def _of_robot(robot: Robot) -> tuple[str, ...]:
    """Warnings of the robot without those that only name words of other tools, which are notes."""
    return tuple(text for text in robot.warnings if text not in robot.description.unread)


def _beyond_limits(robot: Robot) -> tuple[str, ...]:
    """A note per coordinate whose neutral position is outside its limits."""
    q = robot.neutral()
    return tuple(
        f"the neutral position of {c.name}, {q[c.q_index]:g} {c.unit}, is outside its limits "
        f"{c.lower:g} to {c.upper:g} {c.unit}"
        for c in robot.coordinates
        if c.q_index >= 0 and not c.lower <= q[c.q_index] <= c.upper
    )
