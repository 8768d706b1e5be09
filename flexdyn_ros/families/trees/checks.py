"""Model checks and warnings of robots that bend: masses, modes, and what is beyond the model."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from flexdyn_ros.description import Joint, RobotDescription
from flexdyn_ros.description.elements.links import FlexibleLink
from flexdyn_ros.errors import FlexdynError, FlexdynWarning
from flexdyn_ros.families.record import FlexibleLinkReport, Inertia
from flexdyn_ros.families.trees.flexible.beams.properties import BeamLink
from flexdyn_ros.families.trees.flexible.model import settled_link
from flexdyn_ros.robot.analysis.modes import MOST_ANALYSED, mode_table
from flexdyn_ros.robot.analysis.sampled_feedback import joint_inertia, sampled_growth, sudden_inertia
from flexdyn_ros.robot.analysis.validity import LARGEST_DEFLECTION, LARGEST_ROTATION, at_most, bearable_step
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.wording import percent

if TYPE_CHECKING:
    from flexdyn_ros.families.trees.flexible.model import AnyLink


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


#: length over half height of the section below which shear, which is not in the model, counts
SLENDER = 10.0
#: default rate of the simulator's steps [Hz]: modes above half of it are damped by an implicit step, those
#: far above it ask for another model
STEP_RATE, FAR_ABOVE = 1000.0, 20.0


def report_links(description: RobotDescription) -> tuple[FlexibleLinkReport, ...]:
    """Masses and modes of the flexible links, in the order of the file; also of the rigid twin's."""
    found = []
    for name, link in description.flexible_links.items():
        settled = settled_link(description, link)
        balance = settled.balance
        found.append(
            FlexibleLinkReport(
                link=name,
                length=settled.beam.length,
                modes=_modes_in_words(settled),
                whole=Inertia.of(balance.T),
                beam=Inertia.of(balance.B),
                bodies=Inertia.of(balance.P),
                remainder=Inertia.of(balance.R),
                outcome=balance.outcome,
                notes=balance.notes,
                mass=float(balance.B[0, 0] + sum(body.P[0, 0] for body in balance.bodies)),
            )
        )
    return tuple(found)


def _modes_in_words(link: AnyLink) -> str:
    modes = link.element.modes
    if not isinstance(link, BeamLink):
        return f"{len(link.modes)} imported"
    counts = [(name, getattr(modes, name)) for name in ("axial", "bending_y", "bending_z", "torsion")]
    fields = ", ".join(f"{count} {name}" for name, count in counts if count)
    return f"{fields}; {modes.basis}, {modes.boundary}"


def check_tree(
    robot: Robot, links: tuple[FlexibleLinkReport, ...]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Warnings (probably mistakes) and notes (good to know) on a robot with flexible links."""
    notes = [text for link in links for text in link.notes]
    doubts: list[str] = []
    if not links or not robot.description.formulation.flexible:
        return (), tuple(notes)
    description = robot.description
    for link in description.flexible_links.values():
        doubts += _shortness(settled_link(description, link))
        if link.damping is None and link.modes.file is None:
            notes.append(f"link '{link.link}': no <damping>, its vibrations are undamped")
    if robot.nv > MOST_ANALYSED:
        notes.append(
            f"{robot.nv} coordinates: modes, rest under gravity and drives are for up to {MOST_ANALYSED}"
        )
        return tuple(doubts), tuple(notes)
    for found in (_fast_modes(robot), _large_deflections(robot), check_drives(robot)):
        for is_warning, text in found:
            (doubts if is_warning else notes).append(text)
    return tuple(doubts), tuple(notes)


def _shortness(link: AnyLink) -> Iterator[str]:
    if isinstance(link, BeamLink) and link.section is not None:
        half = max(link.section.reach_y, link.section.reach_z)
        if link.beam.length < SLENDER * half:
            yield (
                f"link '{link.element.link}': {link.beam.length:g} m long and {2 * half:g} m high: shear, "
                "which is not in the model, softens so short a beam"
            )


def _fast_modes(robot: Robot) -> Iterator[tuple[bool, str]]:
    """The highest mode against the rate of steps."""
    try:
        modes = robot.modes(robot.neutral(), lock="joints")
    except FlexdynError:
        return
    yield from _bearable_step(robot)
    if not modes.frequency.size or modes.frequency[-1] <= 0.5 * STEP_RATE:
        return
    highest = float(modes.frequency[-1])
    name = mode_table(robot, len(modes.frequency), "joints")[-1].mostly
    if float(modes.frequency[0]) > FAR_ABOVE * STEP_RATE:
        yield (
            True,
            f"even the slowest mode with the joints held has {float(modes.frequency[0]):.4g} Hz: a length, "
            "mass or stiffness in another unit?",
        )
    far = highest > FAR_ABOVE * STEP_RATE
    yield (
        far,
        f"the highest mode (mostly {name}) has {highest:.4g} Hz; steps of 1 ms do not follow modes above "
        "500 Hz" + (": ask for fewer modes of that field" if far else ", an implicit method damps them"),
    )


def _bearable_step(robot: Robot) -> Iterator[tuple[bool, str]]:
    """The fastest mode with all joints free, and what explicit fixed steps bear of it."""
    found = bearable_step(robot, robot.neutral())
    if found is not None:
        step, name, frequency = found
        yield (
            False,
            f"with all joints free the highest mode (mostly {name}) has {frequency:.4g} Hz: rk4 is "
            f"stable up to dt = {at_most(step)} s",
        )


def _large_deflections(robot: Robot) -> Iterator[tuple[bool, str]]:
    """Deflections at rest under gravity, joints held at the neutral position, against what is small."""
    lock = [c.name for c in robot.coordinates if c.kind in ("joint", "motor", "base")]
    free = [c.name for c in robot.coordinates if c.kind == "platform"]
    # lengths are held in trees without loops
    lock += free if robot.functions.is_constrained else [*robot.description.legs]
    try:
        with warnings.catch_warnings():
            # said below, of every station
            warnings.simplefilter("ignore", FlexdynWarning)
            rest: Any = robot.static_equilibrium(hold=lock)
    except FlexdynError as error:
        yield True, f"no state of rest near the neutral position with the joints held: {error}"
        return
    if not rest.stable:
        yield True, "at rest with the joints held the robot is not stable: it buckles under its own weight"
    for name, bent in robot.deflections(rest.q).items():
        length = settled_link(robot.description, robot.description.flexible_links[name]).beam.length
        bend = float(np.abs(bent.displacement).max()) / length
        turn = float(np.abs(bent.rotation).max())
        if bend > LARGEST_DEFLECTION or turn > LARGEST_ROTATION:
            yield (
                True,
                f"link '{name}' bends by {percent(bend, 3)} of its length and turns by {turn:.3g} rad under "
                "its load at rest: beyond the small deformations of the model "
                f"({percent(LARGEST_DEFLECTION)}, {LARGEST_ROTATION:g} rad)"
                + (": a length, mass or stiffness in another unit?" if bend > 1.0 else ""),
            )
