"""Where `flexdyn simulate` starts: state, time, and the efforts that carry the weight there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf
from pathlib import Path
from typing import NamedTuple

import numpy as np
import typer

from flexdyn_ros.cli.terminal import named_numbers
from flexdyn_ros.errors import SingularityError, UnknownNameError
from flexdyn_ros.robot.coordinates import units_of
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.simulation.steps.drive import drive_of, initial_motion
from flexdyn_ros.simulation.trajectory import Trajectory


class Start(NamedTuple):
    """q (nq,), v (nv,), None for the description's own; tau (nu,) of what is held [N m, N]; time t [s];
    states of elements by name, those left out at rest."""

    q: np.ndarray | None
    v: np.ndarray | None
    tau: np.ndarray
    t: float
    states: dict[str, float]


def start_of(
    robot: Robot,
    source: str,
    hold: str | None,
    q_texts: list[str] | None,
    v_texts: list[str] | None,
    topics: list[str] | None = None,
) -> Start:
    """The start that --from, --hold, --q and --v say.

    Parameters
    ----------
    source : "neutral", "rest", or the name of a saved trajectory
    hold : names of actuators with commas between them, "all", "none"; None: all at rest, else none
    q_texts, v_texts : NAME=VALUE texts, which replace single numbers of that start
    topics : the topics of states of a recording that has several

    Raises
    ------
    ConvergenceError
        If there is no rest near the start.
    DimensionError, StateError, UnknownNameError
        If a trajectory is none of this robot's, or held names are none of its actuators.
    """
    positions = named_numbers(q_texts, robot.q_names, "--q")
    speeds = named_numbers(v_texts, robot.v_names, "--v")
    q, v, t, states = _named_state(robot, source, topics or ())
    if positions or source == "rest":
        q = _replaced(initial_motion(robot, drive_of(robot, None), t)[0] if q is None else q, positions)
    if speeds:
        v = _replaced(initial_motion(robot, drive_of(robot, None), t)[1] if v is None else v, speeds)
    held = _held_names(robot, hold, source)
    tau = np.zeros(robot.nu)
    if source == "rest":
        q, tau = _rest(robot, q, held)
        states = dict(zip(_state_names(robot), robot.rest_states(q, tau=tau).tolist(), strict=True))
    elif held:
        start = initial_motion(robot, drive_of(robot, None), t)[0] if q is None else q
        tau = _carried(robot, start, held)
    return Start(q, v, tau, t, states)


def doubts_of(robot: Robot, start: Start, tau: np.ndarray, hold: str | None) -> Iterator[str]:
    """Sentences on a start beyond limits, efforts tau (nu,) where nothing drives or beyond what drives can,
    and on holding where there is nothing to hold."""
    if hold == "all" and not robot.actuators:
        yield f"--hold all: {robot.name} has no actuators, there is nothing to hold"
    for c in robot.coordinates:
        if start.q is not None and c.q_index >= 0 and not c.lower <= start.q[c.q_index] <= c.upper:
            at, limits = f"{start.q[c.q_index]:g}", f"{c.lower:g} to {c.upper:g} {c.unit}"
            yield f"{c.name} starts at {at} {c.unit}, outside its limits {limits}"
        if start.v is not None and abs(start.v[c.v_index]) > c.velocity_limit:
            speed, most = f"{start.v[c.v_index]:g} {c.unit}/s", f"{c.velocity_limit:g} {c.unit}/s"
            yield f"{c.name} starts at {speed}, faster than its limit {most}"
    most_efforts = {c.name: c.effort_limit for c in robot.coordinates if c.actuated}
    for name, effort, unit in zip(robot.effort_names, tau.tolist(), units_of(robot)[2], strict=True):
        most_effort = most_efforts.get(name, inf)
        if effort and name not in robot.actuators:
            yield f"{name} gets {effort:g} {unit}, but no actuator drives it: a force on that coordinate"
        elif abs(effort) > most_effort:
            yield f"{name} gets {effort:.4g} {unit}, more than its limit {most_effort:g} {unit}"


def _named_state(
    robot: Robot, source: str, topics: Sequence[str]
) -> tuple[np.ndarray | None, np.ndarray | None, float, dict[str, float]]:
    """Position, velocity, time and states of elements that --from names; None where it names none."""
    if source in ("neutral", "rest"):
        return None, None, 0.0, {}
    if not Path(source).exists():
        raise typer.BadParameter(
            f"{source!r} is no file, expected rest, neutral, or a trajectory (.npz, .mcap, .db3, a folder)",
            param_hint="--from",
        )
    run = Trajectory.load(source, robot, topics=topics)
    recorded = zip(run.state_names, run.states[-1].tolist(), strict=True)
    states = {name: value for name, value in recorded if name in _state_names(robot)}
    return run.q[-1].copy(), run.v[-1].copy(), float(run.t[-1]), states


def _state_names(robot: Robot) -> tuple[str, ...]:
    return tuple(state.name for state in robot.element_states)


def _replaced(values: np.ndarray, numbers: dict[int, float]) -> np.ndarray:
    values = values.copy()
    for index, number in numbers.items():
        values[index] = number
    return values


def _held_names(robot: Robot, hold: str | None, source: str) -> tuple[str, ...]:
    """The actuators that are held."""
    if hold is None:
        hold = "all" if source == "rest" else "none"
    if hold in ("all", "none"):
        return robot.actuators if hold == "all" else ()
    names = tuple(name.strip() for name in hold.split(",") if name.strip())
    for name in names:
        if name not in robot.actuators:
            raise UnknownNameError("actuator in --hold", name, ("all", "none", *robot.actuators))
    return names


def _rest(robot: Robot, q: np.ndarray | None, held: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Position of rest near q, and the efforts of what is held; legs that are held keep the pose, cylinders
    their lengths; with loops, cylinders carry the weight where the joints are."""
    own = tuple(name for name in held if name in robot.v_names)
    if robot.elements and own != held and robot.functions.is_constrained:
        joints = [c.name for c in robot.coordinates if c.kind == "joint"]
        tau = _carried(robot, robot.static_equilibrium(q, hold=joints).q, held)
        return robot.static_equilibrium(q, tau=tau, hold=own).q, tau
    by_legs = robot.effort_names != robot.v_names
    by_lines = by_legs and set(held) <= {*robot.v_names, *robot.functions.lines}
    found = robot.static_equilibrium(q, hold=robot.v_names if by_legs and held and not by_lines else held)
    return found.q, np.where(np.isin(robot.effort_names, held), found.tau, 0.0)


def _carried(robot: Robot, q: np.ndarray, held: tuple[str, ...]) -> np.ndarray:
    """Efforts of what is held against gravity and springs at q, everything at rest there."""
    still = np.zeros(robot.nv)
    try:
        tau = robot.inverse_dynamics(q, still, still, actuators="all" if robot.elements else None)
    except SingularityError:
        # of joints that neither cylinders nor actuators of their own can hold
        tau = robot.inverse_dynamics(q, still, still)
    return np.where(np.isin(robot.effort_names, held), tau, 0.0)
