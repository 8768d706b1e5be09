"""States, efforts and payloads in requests to several nodes: arrays, or an error that names the field."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from flexdyn_ros.errors import UnknownNameError, shortened
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.simulation.live.message_fields import checked_numbers, numbers_of, twice
from flexdyn_ros.simulation.steps.stiffness import speed_bounds

#: a message of ROS: the classes that rosidl makes have no types
Message = Any
#: larger positions are none: at 1e9 rad a turn is known to a ten-millionth only
LARGEST_POSITION = 1e9


class RequestError(ValueError):
    """A field of a request is wrong; the message names field, value given, value expected."""


def column(request: object, field: str, samples: int, width: int) -> np.ndarray:
    """A float64[] field as (samples, width)."""
    values = numbers_of(getattr(request, field))
    if values.shape[0] != samples * width:
        raise RequestError(
            f"{field} has {values.shape[0]} numbers, expected {samples * width} ({samples} samples x {width})"
        )
    if not np.isfinite(values).all():
        at = int(np.flatnonzero(~np.isfinite(values))[0])
        raise RequestError(f"{field}[{at}] is {values[at]}, expected a finite number")
    return values.reshape(samples, width)


def efforts_of(robot: Robot, request: Any, samples: int) -> np.ndarray:
    """Efforts (samples, nu) of a request: of all coordinates in the robot's order, or of the actuators that
    its effort_names lists, and 0 of the others.

    Raises
    ------
    RequestError, UnknownNameError
    """
    names = list(request.effort_names)
    if not names:
        return column(request, "efforts", samples, robot.nu)
    if len(set(names)) < len(names):
        name = twice(names)
        raise RequestError(
            f"effort_names has {shortened(name)!r} {names.count(name)} times, expected each once"
        )
    given = column(request, "efforts", samples, len(names))
    tau: np.ndarray = robot.efforts({name: given[:, i] for i, name in enumerate(names)})
    return tau


def read_state(robot: Robot, state: Any) -> tuple[np.ndarray, np.ndarray]:
    """Positions (nq,) and velocities (nv,) of a DynamicsState, in the robot's order; no velocities: at rest.

    Raises
    ------
    RequestError, UnknownNameError
    """
    q = _ordered("position", "positions", state, robot.q_names)
    v = np.zeros(robot.nv)
    if len(state.velocities) or state.velocity_names:
        v = _ordered("velocity", "velocities", state, robot.v_names)
    if len(state.efforts) not in (0, robot.nu):
        raise RequestError(f"state.efforts has {len(state.efforts)} numbers, expected {robot.nu} or none")
    return q, v


def check_state(robot: Robot, q: np.ndarray, v: np.ndarray) -> None:
    """Refuse a state q (nq,), v (nv,) in which nothing can be computed: positions beyond any sense, energies
    that are not finite, speeds at which a simulation counts as diverged.

    Raises
    ------
    RequestError, StateError
    """
    far = np.flatnonzero(np.abs(q) > LARGEST_POSITION)
    if far.size:
        name, value = robot.q_names[far[0]], q[far[0]]
        raise RequestError(
            f"state.positions: {name} is {value:g}, expected at most {LARGEST_POSITION:g} in magnitude"
        )
    rest = np.zeros(robot.nv)
    with np.errstate(over="ignore", invalid="ignore"):
        bound = speed_bounds(robot, q, rest)
        fast = np.flatnonzero(~(np.abs(v) <= bound))
        if fast.size:
            name, value = robot.v_names[fast[0]], v[fast[0]]
            raise RequestError(
                f"state.velocities: {name} is {value:g}, expected at most {bound[fast[0]]:.3g} in magnitude: "
                "beyond, a simulation counts as diverged"
            )
        total = float(robot.energy(q, v).total)
    if not np.isfinite(total):
        raise RequestError(f"state has an energy of {total} J, expected a finite one")


def _ordered(field: str, plural: str, state: object, known: Sequence[str]) -> np.ndarray:
    """Numbers of a coordinate each, in the robot's order."""
    names, values = getattr(state, f"{field}_names"), getattr(state, plural)
    field, array = (
        f"state.{field}",
        checked_numbers(f"state.{plural}", values, len(known), error=RequestError),
    )
    if not names:
        return array
    for name in names[: len(known)]:
        UnknownNameError.check(f"coordinate in {field}_names", name, known)
    if len(names) != len(known) or len(set(names)) < len(names):
        raise RequestError(f"{field}_names has {len(names)} names, expected each of the {len(known)} once")
    order = {name: i for i, name in enumerate(names)}
    return array[[order[name] for name in known]]


def read_element_states(states: Any) -> dict[str, float] | np.ndarray:
    """Values of an ElementStates message by name; all of them in the robot's order where it has no names.

    Raises
    ------
    RequestError
    """
    names, values = list(states.names), numbers_of(states.values)
    if not names:
        return values
    if len(values) != len(names):
        raise RequestError(
            f"states.values has {len(values)} numbers, expected {len(names)}, one for each name"
        )
    if len(set(names)) < len(names):
        raise RequestError(f"states.names has {shortened(twice(names))!r} more than once")
    return dict(zip(names, values.tolist(), strict=True))


def read_payload(robot: Robot, request: Any) -> tuple[str, float, np.ndarray, np.ndarray | None]:
    """Frame, mass, centre of mass (3,), inertia (3, 3) or None of a SetPayload request.

    Raises
    ------
    RequestError, UnknownNameError
    """
    UnknownNameError.check("frame", request.frame, robot.frame_names)
    i = request.inertia
    com = np.array([request.com.x, request.com.y, request.com.z])
    inertia = np.array([[i.ixx, i.ixy, i.ixz], [i.ixy, i.iyy, i.iyz], [i.ixz, i.iyz, i.izz]])
    if not np.isfinite(request.mass) or request.mass < 0.0:
        raise RequestError(f"mass is {request.mass}, expected a finite number of at least 0")
    for name, array in (("com", com), ("inertia", inertia)):
        if not np.isfinite(array).all():
            raise RequestError(f"{name} holds a number that is not finite")
    return request.frame, request.mass, com, inertia if inertia.any() else None
