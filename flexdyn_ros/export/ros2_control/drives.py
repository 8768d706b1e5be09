"""Drives of a robot as hardware: their limits, servos and stops, and where the robot starts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from flexdyn_ros.errors import ConvergenceError, UnsupportedError
from flexdyn_ros.export.tracing.hydraulics import Oil
from flexdyn_ros.robot.analysis.allocation import DRIVEN_KINDS
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.simulation.live.platform_drive import leg_gains
from flexdyn_ros.simulation.live.simulation import default_gains
from flexdyn_ros.simulation.steps.stiffness import stops_at

#: natural frequency times step of servos and stops at most: their forces are held during a step
_REACH = 0.2
#: share of a coordinate's inertia that damping takes in a step at most
_DAMPED = 0.5
#: poses that the least inertia of a joint is looked for at
_POSES = 100
#: stiffness that counts as none, of the largest; mobility of a joint that loops hold, of the largest
_NO_STIFFNESS, _HELD = 1e-9, 1e-9


class Drive(NamedTuple):
    """A driven joint, cylinder or leg.

    Attributes
    ----------
    name : str
        Of the component with its position, velocity and effort.
    is_joint : bool
        Whether the description has a joint of that name.
    unit : str
    lower, upper : float
        Limits of the position [rad, m].
    effort_limit : float
        [N m, N]
    u : int
        Place among the efforts.
    zero : float
        What is measured at position 0 [rad, m].
    q : int
        Place in q of its position, where that can be set alone before the start; -1: none.
    is_placed : bool
        Whether its position before the start is found together with those of all others.
    valve : int
        Place among the valves; -1: none.
    cylinder : str
        Of the component with its valve and chambers.
    """

    name: str
    is_joint: bool
    unit: str
    lower: float
    upper: float
    effort_limit: float
    u: int
    zero: float
    q: int
    is_placed: bool
    valve: int
    cylinder: str


def drives_of(robot: Robot, oil: Oil | None) -> list[Drive]:
    """Coordinates that efforts of their own drive, cylinders and legs; those of `oil` by their valves.

    Raises
    ------
    UnsupportedError
        If nothing drives the robot.
    """
    valves = {} if oil is None else {int(u): i for i, u in enumerate(oil.places)}
    # what bends is at rest in one position
    is_free = not (_is_closed(robot) and _yielding(robot))
    if robot.legs:
        return [
            Drive(
                leg.joints[2], True, "m", 0.0, leg.stroke, leg.effort_limit, i, leg.shortest, -1, is_free,
                valves.get(i, -1), leg.name,
            )
            for i, leg in enumerate(robot.legs)
        ]  # fmt: skip
    joints = {joint.name for joint in robot.description.joints}
    driven, found = set(robot.actuators), []
    for u, c in enumerate(robot.functions.effort_coordinates):
        if c.name not in driven or c.q_index < 0:
            continue
        is_alone = is_free and u < robot.nv and not robot.functions.is_constrained
        found.append(
            Drive(
                c.name, c.name in joints, c.unit, c.lower, c.upper, c.effort_limit, u, 0.0,
                c.q_index if is_alone else -1, is_free and not is_alone, valves.get(u, -1), c.name,
            )
        )  # fmt: skip
    if not found:
        raise UnsupportedError(
            f"target ros2_control of robot {robot.name!r}: nothing drives it; expected a driven joint"
        )
    return found


def _is_closed(robot: Robot) -> bool:
    """Whether cylinders, legs or loops tie coordinates together."""
    return robot.functions.is_constrained or bool(robot.legs or robot.functions.lines)


class Start(NamedTuple):
    """Where a robot starts.

    Attributes
    ----------
    q : (nq,) array
    modes : list of (place in q, place in v)
        What yields to the weight beside joints (modes, hubs, a base on wheels), where that has to be found
        when the positions of joints are known.
    compliance : (m, m) array
        Inverse of its stiffness at q; directions without one stay as they are.
    """

    q: np.ndarray
    modes: list[tuple[int, int]]
    compliance: np.ndarray


def start_of(robot: Robot, drives: list[Drive]) -> Start:
    """The neutral position within limits; with cylinders, legs or loops what yields is at rest there.

    Raises
    ------
    UnsupportedError, ConvergenceError
        If links bend in loops that cylinders drive; if there is no such rest.
    """
    home, rows = robot.neutral(), _yielding(robot)
    for d in drives:
        if d.q >= 0:
            home[d.q] = min(max(home[d.q], d.lower), d.upper)
    if all(d.q < 0 for d in drives):
        home, rows = _at_rest(robot, home) if rows else home, []
    return Start(home, rows, _compliance(robot, home, [v for _, v in rows]))


def _at_rest(robot: Robot, home: np.ndarray) -> np.ndarray:
    """The position where what bends or stands on wheels is at rest, and drives are where they are at home."""
    if robot.functions.is_constrained and robot.functions.lines:
        raise UnsupportedError(
            f"target ros2_control of robot {robot.name!r}: its links bend, or its base is on wheels, in "
            "loops that cylinders drive; expected rigid links"
        )
    # nothing supports a base without wheels
    base = [] if robot.functions.contacts else [c.name for c in robot.coordinates if c.kind == "base"]
    return np.asarray(robot.static_equilibrium(home, hold=(*robot.actuators, *base)).q)


def _yielding(robot: Robot) -> list[tuple[int, int]]:
    """Places in q and v of what yields to the weight; where coordinates are tied together, a base that
    nothing supports is not among it."""
    falls = _is_closed(robot) and not robot.functions.contacts
    return [
        (c.q_index, c.v_index) for c in robot.coordinates
        if c.kind not in DRIVEN_KINDS and not (falls and c.kind == "base")
        and c.q_index >= 0 and not c.prescribed and c.name not in robot.actuators
    ]  # fmt: skip


def _compliance(robot: Robot, home: np.ndarray, v: list[int]) -> np.ndarray:
    if not v:
        return np.zeros((0, 0))
    still = np.zeros(robot.nv)
    by_q, *_ = robot.inverse_dynamics_derivatives(home, still, still)
    stiffness = by_q[np.ix_(v, v)]
    scale = np.sqrt(np.abs(np.diagonal(stiffness)))
    scale[scale == 0.0] = 1.0
    compliance = np.linalg.pinv(stiffness / np.outer(scale, scale), rcond=_NO_STIFFNESS)
    return np.asarray(compliance / np.outer(scale, scale))


def servos_and_stops(robot: Robot, home: np.ndarray, dt: float) -> np.ndarray:
    """Stiffness and damping of servos, then of stops (4, nu): those of the live simulation, and no stiffer
    than steps that hold forces bear at any pose: with the least inertia a that a joint meets, w = sqrt(k/a)
    <= 0.2/dt and d <= a/(2 dt)."""
    motion = robot.motion
    assert motion is not None
    stiffness, damping = (leg_gains if robot.legs else default_gains)(robot, home)
    stops = stops_at(robot, motion, home, robot.mass_matrix(home), dt, None, None)
    least = _least_inertia(robot, home)
    stiffest, most = least * (_REACH / dt) ** 2, _DAMPED * least / dt
    return np.array(
        [
            np.minimum(x, bound)
            for x, bound in zip((stiffness, damping, *stops), 2 * (stiffest, most), strict=True)
        ]
    )


def _least_inertia(robot: Robot, home: np.ndarray) -> np.ndarray:
    """1 / (B' M^-1 B)_ii (nu,), of what loops leave, the least of poses within the limits."""
    rng = np.random.default_rng(0)
    most = np.zeros(robot.nu)
    q = home
    for _ in range(_POSES + 1):
        B = robot.actuation_matrix(q)
        most = np.maximum(most, np.einsum("ij,ij->j", B, robot.functions.inverse_inertia(q) @ B))
        try:
            q = robot.random(rng)
        except ConvergenceError:
            # loops that close in few poses
            break
    return np.asarray(1.0 / np.maximum(most, _HELD * most.max()))
