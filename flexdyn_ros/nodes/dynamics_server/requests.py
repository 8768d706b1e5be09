"""Reading requests of the services: names, sizes and numbers become arrays, or an error that names the
field."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import Any

import numpy as np

from flexdyn_ros.errors import UnknownNameError
from flexdyn_ros.nodes.dynamics_server.slices import Progress, in_slices
from flexdyn_ros.nodes.ros.conversions import wrench_vector
from flexdyn_ros.nodes.ros.requests import Message
from flexdyn_ros.nodes.ros.requests import RequestError as RequestError
from flexdyn_ros.nodes.ros.requests import column as column
from flexdyn_ros.nodes.ros.requests import efforts_of as efforts_of
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.simulation.live.message_fields import twice

REFUSE, ZERO, STATIC = 0, 1, 2
_MODAL = ("axial", "bending_y", "bending_z", "torsion", "mode")


def robot_of(robots: Mapping[str, Robot], name: str) -> Robot:
    """The robot that a request names; an empty name means the only one.

    Raises
    ------
    RequestError, UnknownNameError
    """
    if name:
        UnknownNameError.check("robot", name, robots)
        return robots[name]
    if len(robots) != 1:
        raise RequestError(f"robot is empty, expected one of {', '.join(robots)}")
    return next(iter(robots.values()))


def read_states(
    robot: Robot, request: Message, fields: Sequence[str], max_samples: int
) -> Generator[Progress, int, tuple[np.ndarray, ...]]:
    """Positions (samples, nq), in the robot's order, and the other fields (samples, nv or nu) of a request;
    in slices, since static deflections may have to be found.

    Raises
    ------
    RequestError, UnknownNameError
    """
    samples = request.samples
    if not 1 <= samples <= max_samples:
        raise RequestError(f"samples is {samples}, expected 1 to {max_samples} (parameter max_samples)")
    if request.unlisted not in (REFUSE, ZERO, STATIC):
        raise RequestError(f"unlisted is {request.unlisted}, expected 0 (REFUSE), 1 (ZERO) or 2 (STATIC)")
    positions, static = _positions(robot, request, samples)
    rows = [
        efforts_of(robot, request, samples)
        if field == "efforts"
        else column(request, field, samples, robot.nv)
        for field in fields
    ]
    if static:
        yield from _bend(robot, positions, static)
    return positions, *rows


def _positions(robot: Robot, request: Message, samples: int) -> tuple[np.ndarray, list[str]]:
    """Positions in the robot's order, and the names of coordinates whose static deflection is still to be
    found."""
    if not request.names:
        return column(request, "positions", samples, robot.nq), []
    names = list(request.names)
    order = {name: i for i, name in enumerate(robot.q_names)}
    for name in names:
        if name not in order:
            raise UnknownNameError("coordinate in names", name, robot.q_names)
    if len(set(names)) < len(names):
        name = twice(names)
        raise RequestError(f"names has {name!r} {names.count(name)} times, expected each coordinate once")
    given = column(request, "positions", samples, len(names))
    missing = [name for name in robot.q_names if name not in set(names)]
    positions = np.empty((samples, robot.nq))
    positions[:, [order[name] for name in names]] = given
    if missing:
        _check_missing(robot, request.unlisted, missing)
        positions[:, [order[name] for name in missing]] = 0.0
    return positions, missing if request.unlisted == STATIC else []


def _check_missing(robot: Robot, unlisted: int, missing: list[str]) -> None:
    """Coordinates that names leaves out: only modal ones may be missing, and only if the request says what
    they are."""
    kinds = {c.name: c.kind for c in robot.coordinates}
    rigid = [name for name in missing if kinds.get(name) not in _MODAL]
    if rigid or unlisted == REFUSE:
        some = ", ".join((rigid or missing)[:8])
        raise RequestError(f"names lacks {some}, expected all of the robot's {robot.nq} position_names")


def _bend(
    robot: Robot, positions: np.ndarray, missing: list[str]
) -> Generator[Progress, int, tuple[np.ndarray, ...]]:
    """Put the static deflection under gravity into the missing coordinates of every row."""
    held = [c.name for c in robot.coordinates if c.name not in set(missing)]

    def bend(part: slice) -> tuple[np.ndarray, ...]:
        for row in positions[part]:
            row[:] = robot.static_equilibrium(row, hold=held).q
        return ()

    return (yield from in_slices(len(positions), bend, "static deflections"))


def read_wrenches(robot: Robot, messages: Sequence[Any], q: np.ndarray) -> dict[tuple[str, str], np.ndarray]:
    """Wrenches (6,) (moment; force) of a request by their frame and that of their axes ("": the world's);
    several in the same axes on one frame add up. q (1, nq): any configuration.

    Raises
    ------
    RequestError, UnknownNameError
    """
    loads: dict[tuple[str, str], np.ndarray] = {}
    for i, message in enumerate(messages):
        w = wrench_vector(message.wrench)
        if not np.isfinite(w).all():
            raise RequestError(f"wrenches[{i}].wrench holds {w[~np.isfinite(w)][0]}, expected finite numbers")
        key = message.frame, message.axes
        if key not in loads:
            if message.axes:
                robot.frames(q, message.axes)
            robot.frames(q, message.frame)
        loads[key] = loads[key] + w if key in loads else w
    return loads


def loads_of(
    robot: Robot, wrenches: Mapping[tuple[str, str], np.ndarray], q: np.ndarray
) -> dict[str, np.ndarray] | None:
    """The wrenches as frame -> (samples, 6) (moment; force) in world axes, at q (samples, nq)."""
    turned: dict[str, np.ndarray] = {}
    loads: dict[str, np.ndarray] = {}
    for (frame, axes), w in wrenches.items():
        if axes:
            if axes not in turned:
                turned[axes] = robot.frames(q, axes)[..., :3, :3]
            w = np.concatenate((turned[axes] @ w[:3], turned[axes] @ w[3:]), axis=-1)
        loads[frame] = loads[frame] + w if frame in loads else w
    return loads or None


# Size of a request, known before any work on it: samples, and entries of its lists for every sample.

#: most entries of a list that says what is computed for every sample
MOST_ENTRIES = 1000
#: numbers in one response: rclpy converts it in one go, for 15 to 20 ms if it is as large as this (30 ms is
#: what may be), and no other thread has the interpreter meanwhile
LARGEST_ANSWER = 3_000_000
#: one geometry_msgs/Pose, or one station of a bent link, takes as long as so many numbers
POSE = STATION = 500
#: these lists; others have as many entries as samples or coordinates
LISTS = ("stations", "wrenches", "frames", "locked", "held")


def samples_of(request: Message) -> int:
    """Samples that a request asks for, whatever the field is called."""
    if hasattr(request, "samples"):
        return int(request.samples)
    if hasattr(request, "lengths"):
        return max(1, len(request.lengths) // 6)
    return max(1, len(getattr(request, "poses", ())))


def size_of(request: Message) -> int:
    """Samples times entries of lists: the measure of the work on a request."""
    return samples_of(request) * (1 + sum(len(getattr(request, field, ())) for field in LISTS))


def check_answer(samples: int, width: int) -> None:
    """Refuse a request whose response would hold `width` numbers for each sample, if they are too many.

    Raises
    ------
    RequestError
    """
    if samples * width > LARGEST_ANSWER:
        raise RequestError(
            f"samples is {samples}, whose answer would hold {samples * width} numbers, expected at most"
            f" {LARGEST_ANSWER}, thus {LARGEST_ANSWER // width} samples: ask for fewer samples, frames or"
            " stations at a time, or call the library"
        )


def check_lists(robot: Robot, request: Message) -> None:
    """Refuse lists that are longer than any use of them.

    Raises
    ------
    RequestError
    """
    bounds = dict.fromkeys(LISTS, MOST_ENTRIES)
    bounds["frames"] = max(MOST_ENTRIES, len(robot.frame_names))
    bounds |= {"names": robot.nq, "effort_names": len(robot.coordinates) + len(robot.actuators)}
    for field, most in bounds.items():
        count = len(getattr(request, field, ()))
        if count > most:
            raise RequestError(f"{field} has {count} entries, expected at most {most}")
