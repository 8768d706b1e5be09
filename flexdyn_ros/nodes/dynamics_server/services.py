"""The verbs as services: each function reads a request, asks the robot, and fills the response; no ROS node.

A function here takes (robot, request, response, max_samples) and raises for anything that is wrong;
`answering` turns what it raises into success=false and a message. One that has samples is a generator of
slices (nodes/dynamics_server/slices.py).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

import flexdyn_ros
from flexdyn_interfaces import srv
from flexdyn_ros.errors import FlexdynError, SingularityError, UnsupportedError, shortened
from flexdyn_ros.nodes.dynamics_server.requests import (
    POSE,
    STATION,
    RequestError,
    check_answer,
    check_lists,
    column,
    efforts_of,
    loads_of,
    read_states,
    read_wrenches,
    robot_of,
    samples_of,
)
from flexdyn_ros.nodes.dynamics_server.slices import Progress, Work, done_at_once, in_slices
from flexdyn_ros.nodes.ros.conversions import (
    bending_frames_of,
    coordinate_message,
    deflection_message,
    poses_from_matrices,
    rows_of_jacobian,
    vector_message,
)
from flexdyn_ros.nodes.ros.requests import Message
from flexdyn_ros.numerics.algebra.placement import quaternion_of
from flexdyn_ros.robot.results import BiasTerms, Energy
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.simulation.live.message_fields import doubles, matrix_from_pose, numbers_of

#: stations of `deflections` where a request names none
STATIONS = 21
#: characters of the message of a response
LONGEST_MESSAGE = 2000
#: slices of a request that has samples
Steps = Generator[Progress, int, None]
Handler = Callable[[Robot, Message, Message, int], Steps | None]


class Service(NamedTuple):
    """A service: name below the node's, type, what answers it, numbers that a response holds for each sample,
    of (robot, request), largest size of a request that it answers at once (requests.py)."""

    name: str
    type: Any
    handler: Handler
    width: Callable[[Robot, Message], int] = lambda robot, request: 0
    quick: int = 512


def answer(
    service: Service, robots: Mapping[str, Robot], request: Message, response: Message, max_samples: int
) -> Message:
    """The response to a request, computed in one go; see `answering`."""
    return done_at_once(answering(service, robots, request, response, max_samples))


def answering(
    service: Service, robots: Mapping[str, Robot], request: Message, response: Message, max_samples: int
) -> Work:
    """Slices of the work on a request, which return the response; success=false and a message for whatever is
    wrong with it. Raises nothing."""
    try:
        robot = robot_of(robots, request.robot)
        check_lists(robot, request)
        check_answer(samples_of(request), service.width(robot, request))
        steps = service.handler(robot, request, response, max_samples)
        if steps is not None:
            yield from steps
    except Exception as error:  # noqa: BLE001  a request must never end the server
        return refusal(service, error)
    response.success = True
    return response


def refusal(service: Service, error: Exception) -> Message:
    """The response that says what is wrong."""
    response = service.type.Response()
    response.success = False
    if isinstance(error, FlexdynError | RequestError):
        response.message = shortened(str(error), LONGEST_MESSAGE)
    elif isinstance(error, MemoryError):
        response.message = "not enough memory for this request, expected fewer samples"
    else:
        response.message = shortened(f"internal error: {type(error).__name__}: {error}", LONGEST_MESSAGE)
    return response


def _verb(robot: Robot, name: str) -> Callable[..., Any]:
    verb: Callable[..., Any] | None = getattr(robot, name, None)
    if verb is None:
        raise UnsupportedError(f"robots of kind '{robot.kind}' do not offer {name}")
    return verb


def _good(values: np.ndarray) -> np.ndarray:
    """The values, or SingularityError if they are not all finite: a response holds no NaN."""
    if not np.isfinite(values).all():
        bad = ~np.isfinite(values).reshape(len(values), -1).all(axis=1)
        raise SingularityError(
            "the mass matrix is singular, or the result overflows, in "
            f"{int(bad.sum())} of {len(values)} samples, the first of which is sample {int(np.argmax(bad))}"
        )
    return values


def _put(response: Message, **fields: np.ndarray) -> None:
    """Set fields of a response to arrays of numbers."""
    for name, value in fields.items():
        setattr(response, name, doubles(value))


def _put_matrix(response: Message, values: np.ndarray) -> None:
    response.rows, response.cols = values.shape[1:]
    _put(response, values=values)


def _of_states(
    robot: Robot,
    request: Message,
    max_samples: int,
    fields: Sequence[str],
    compute: Callable[..., tuple[np.ndarray, ...]],
) -> Generator[Progress, int, tuple[np.ndarray, ...]]:
    """What compute(q, fields ...) answers for the states of a request, slice by slice."""
    states = yield from read_states(robot, request, fields, max_samples)
    return (yield from in_slices(len(states[0]), lambda part: compute(*(values[part] for values in states))))


# ---- what the robot is ----


def describe_robot(robot: Robot, request: Message, response: Message, max_samples: int) -> None:
    response.kind, response.nq, response.nv, response.nu = robot.kind, robot.nq, robot.nv, robot.nu
    response.coordinates = [coordinate_message(c) for c in robot.coordinates]
    response.position_names, response.velocity_names = list(robot.q_names), list(robot.v_names)
    response.effort_names, response.frame_names = list(robot.effort_names), list(robot.frame_names)
    response.mass = robot.mass
    response.gravity = vector_message(robot.gravity)
    response.description = robot.description.text
    response.warnings = list(robot.warnings)
    try:
        response.expanded_description = flexdyn_ros.expand(robot).urdf
    except UnsupportedError as error:
        response.warnings = [*response.warnings, str(error)]


# ---- dynamics ----


def mass_matrix(robot: Robot, request: Message, response: Message, max_samples: int) -> Steps:
    (M,) = yield from _of_states(robot, request, max_samples, (), lambda q: (robot.mass_matrix(q),))
    _put_matrix(response, _good(M))


def actuation_matrix(robot: Robot, request: Message, response: Message, max_samples: int) -> Steps:
    (B,) = yield from _of_states(robot, request, max_samples, (), lambda q: (robot.actuation_matrix(q),))
    _put_matrix(response, _good(B))


def bias_forces(robot: Robot, request: Message, response: Message, max_samples: int) -> Steps:
    def compute(q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, ...]:
        return robot.bias_forces(q, v), *robot.bias_terms(q, v)

    found = yield from _of_states(robot, request, max_samples, ("velocities",), compute)
    _put(response, values=_good(found[0]), **dict(zip(BiasTerms._fields, found[1:], strict=True)))


def inverse_dynamics(robot: Robot, request: Message, response: Message, max_samples: int) -> Steps:
    q, v, a = yield from read_states(robot, request, ("velocities", "accelerations"), max_samples)
    wrenches = read_wrenches(robot, request.wrenches, q[:1])

    def compute(part: slice) -> tuple[np.ndarray, ...]:
        loads = loads_of(robot, wrenches, q[part])
        if request.free_unactuated:
            return (robot.inverse_dynamics(q[part], v[part], a[part], loads, unactuated="free"),)
        return (robot.inverse_dynamics(q[part], v[part], a[part], loads),)

    if len(q) == 1 and not request.wrenches and not request.free_unactuated:
        tau = robot.inverse_dynamics(q[0], v[0], a[0])[None]
    else:
        (tau,) = yield from in_slices(len(q), compute)
    _put(response, efforts=_good(tau))


def forward_dynamics(robot: Robot, request: Message, response: Message, max_samples: int) -> Steps:
    q, v, tau = yield from read_states(robot, request, ("velocities", "efforts"), max_samples)
    wrenches = read_wrenches(robot, request.wrenches, q[:1])
    names = [c.name for c in robot.coordinates if c.prescribed]
    given = column(request, "prescribed", len(q), len(names)) if len(request.prescribed) else None

    def compute(part: slice) -> tuple[np.ndarray, ...]:
        prescribed = None if given is None else {name: given[part, i] for i, name in enumerate(names)}
        loads = loads_of(robot, wrenches, q[part])
        return (robot.forward_dynamics(q[part], v[part], tau[part], loads, prescribed=prescribed),)

    if len(q) == 1 and not request.wrenches and given is None:
        a = robot.forward_dynamics(q[0], v[0], tau[0])[None]
    else:
        (a,) = yield from in_slices(len(q), compute)
    _put(response, accelerations=_good(a))


def compute_energy(robot: Robot, request: Message, response: Message, max_samples: int) -> Steps:
    found = yield from _of_states(robot, request, max_samples, ("velocities",), robot.energy)
    _put(response, **{part: _good(x) for part, x in zip(Energy._fields, found, strict=True)})


def linearize(robot: Robot, request: Message, response: Message, max_samples: int) -> Steps:
    A, B = yield from _of_states(robot, request, max_samples, ("velocities", "efforts"), robot.linearize)
    response.rows, response.cols_a, response.cols_b = A.shape[-2], A.shape[-1], B.shape[-1]
    _put(response, a=_good(A), b=_good(B))


# ---- kinematics ----


def frames(robot: Robot, request: Message, response: Message, max_samples: int) -> Steps:
    names = list(request.frames) or list(robot.frame_names)
    (T,) = yield from _of_states(robot, request, max_samples, (), lambda q: (robot.frames(q, names),))
    response.poses = poses_from_matrices(_good(T))


def jacobian(robot: Robot, request: Message, response: Message, max_samples: int) -> Steps:
    def compute(q: np.ndarray) -> tuple[np.ndarray, ...]:
        return (rows_of_jacobian(robot.jacobian(q, request.frame)),)

    (J,) = yield from _of_states(robot, request, max_samples, (), compute)
    _put_matrix(response, _good(J))


def deflections(robot: Robot, request: Message, response: Message, max_samples: int) -> Steps:
    (q,) = yield from read_states(robot, request, (), max_samples)
    stations = numbers_of(request.stations)
    wrong = stations[~((stations >= 0.0) & (stations <= 1.0))]
    if wrong.size:
        raise RequestError(f"stations holds {wrong[0]}, expected fractions of the length from 0 to 1")
    wanted = stations if len(stations) else None
    known: dict[str, Any] = {}

    def compute(part: slice) -> tuple[np.ndarray, ...]:
        known.update(robot.deflections(q[part], wanted))
        return tuple(values for bent in known.values() for values in bent[1:])

    found = iter((yield from in_slices(len(q), compute)))
    bent = {link: type(d)(d.station, *(next(found) for _ in d[1:])) for link, d in known.items()}
    response.deflections = [deflection_message(robot, bent, (i,)) for i in range(len(q))]


# ---- about one configuration ----


def modes(robot: Robot, request: Message, response: Message, max_samples: int) -> Steps:
    if request.samples != 1:
        raise RequestError(f"samples is {request.samples}, expected 1")
    (q,) = yield from read_states(robot, request, (), max_samples)
    locked = "joints" if list(request.locked) == ["joints"] else tuple(request.locked)
    found = _verb(robot, "modes")(q[0], lock=locked)
    count = len(found.frequency) if request.count == 0 else min(request.count, len(found.frequency))
    _put(response, frequencies=found.frequency[:count], damping_ratios=found.damping_ratio[:count])
    response.rows, response.cols = found.shape.shape[0], count
    _put(response, shapes=found.shape[:, :count])
    response.unstable = bool(found.unstable)


def static_equilibrium(robot: Robot, request: Message, response: Message, max_samples: int) -> None:
    q0 = column(request, "positions", 1, robot.nq)[0] if len(request.positions) else robot.neutral()
    tau = efforts_of(robot, request, 1)[0] if len(request.efforts) or request.effort_names else None
    wrenches = loads_of(robot, read_wrenches(robot, request.wrenches, q0[None]), q0[None])
    loads = {frame: w.reshape(-1, 6)[0] for frame, w in wrenches.items()} if wrenches else None
    held = "joints" if list(request.held) == ["joints"] else tuple(request.held)
    found = _verb(robot, "static_equilibrium")(q0, hold=held, tau=tau, wrenches=loads)
    _put(response, positions=found.q, efforts=found.tau)
    response.residual, response.stable = float(found.residual), bool(found.stable)


# ---- platform and soft arm ----


def inverse_kinematics(robot: Robot, request: Message, response: Message, max_samples: int) -> Steps:
    solve = _verb(robot, "inverse_kinematics")
    n = len(request.poses)
    if not 1 <= n <= max_samples:
        raise RequestError(f"poses has {n} entries, expected 1 to {max_samples}")
    if request.twists and len(request.twists) != n:
        raise RequestError(f"twists has {len(request.twists)} entries, expected {n} (as poses) or none")
    poses, twists = request.poses, request.twists

    def matrices(part: slice) -> np.ndarray:
        return np.stack([_matrix(poses[i], f"poses[{i}]") for i in range(part.start, part.stop)])

    def lengths(part: slice) -> tuple[np.ndarray, ...]:
        if not twists:
            return (solve(_poses(matrices(part)), None).length,)
        v = np.stack([_twist(twists[i], f"twists[{i}]") for i in range(part.start, part.stop)])
        legs = solve(_poses(matrices(part)), v)
        return legs.length, legs.rate

    def positions(part: slice) -> tuple[np.ndarray, ...]:
        found = solve(matrices(part))
        return found.q, np.broadcast_to(found.converged, part.stop - part.start)

    if robot.legs:
        length, *rate = yield from in_slices(n, lengths)
        _put(response, lengths=_good(length), rates=_good(rate[0]) if rate else np.zeros(0))
        response.converged = [True] * n
        return
    q, converged = yield from in_slices(n, positions)
    _put(response, positions=_good(q))
    response.converged = converged.tolist()


def forward_kinematics(robot: Robot, request: Message, response: Message, max_samples: int) -> Steps:
    solve = _verb(robot, "forward_kinematics")
    samples = len(request.lengths) // 6
    if not 1 <= samples <= max_samples:
        raise RequestError(f"lengths has {len(request.lengths)} numbers, expected 6 to {6 * max_samples}")
    lengths = column(request, "lengths", samples, 6)
    guess = _poses(_matrix(request.guess, "guess")[None])[0] if request.use_guess else None

    def compute(part: slice) -> tuple[np.ndarray, ...]:
        found = solve(lengths[part], guess, strict=False)
        return robot.frames(found.q, robot.functions.end_frame), found.converged, found.residual

    T, converged, residual = yield from in_slices(samples, compute)
    response.poses = poses_from_matrices(T)
    _put(response, residuals=residual)
    response.converged = converged.tolist()


def _poses(T: np.ndarray) -> np.ndarray:
    """Coordinates (N, 7) of a platform from homogeneous matrices (N, 4, 4)."""
    return np.stack([np.concatenate((matrix[:3, 3], quaternion_of(matrix[:3, :3]))) for matrix in T])


def _twist(twist: Any, field: str) -> np.ndarray:
    """(angular; linear) (6,) of a Twist."""
    a, b = twist.angular, twist.linear
    v = np.array([a.x, a.y, a.z, b.x, b.y, b.z])
    if not np.isfinite(v).all():
        raise RequestError(f"{field} holds a number that is not finite")
    return v


def _matrix(pose: Any, field: str) -> np.ndarray:
    try:
        T = matrix_from_pose(pose)
    except ValueError as error:
        raise RequestError(f"{field}: {error}") from None
    if not np.isfinite(T).all():
        raise RequestError(f"{field} holds a number that is not finite")
    return T


# ---- the table ----


def _poses_of(robot: Robot, request: Message) -> int:
    return POSE * (len(request.frames) or len(robot.frame_names))


def _stations_of(robot: Robot, request: Message) -> int:
    return STATION * len(bending_frames_of(robot)) * (len(request.stations) or STATIONS)


#: every service of a robot; ListRobots is the server's own
SERVICES: tuple[Service, ...] = (
    Service("describe_robot", srv.DescribeRobot, describe_robot, quick=0),
    Service("mass_matrix", srv.MassMatrix, mass_matrix, lambda r, _: r.nv * r.nv),
    Service("actuation_matrix", srv.ActuationMatrix, actuation_matrix, lambda r, _: r.nv * r.nu),
    Service("bias_forces", srv.BiasForces, bias_forces, lambda r, _: (1 + len(BiasTerms._fields)) * r.nv),
    Service("inverse_dynamics", srv.InverseDynamics, inverse_dynamics, lambda r, _: r.nu),
    Service("forward_dynamics", srv.ForwardDynamics, forward_dynamics, lambda r, _: r.nv),
    Service("compute_energy", srv.ComputeEnergy, compute_energy, lambda *_: len(Energy._fields)),
    Service("frames", srv.Frames, frames, _poses_of, quick=16),
    Service("jacobian", srv.Jacobian, jacobian, lambda r, _: 6 * r.nv),
    Service("deflections", srv.Deflections, deflections, _stations_of, quick=4),
    Service("modes", srv.Modes, modes, quick=0),
    Service("linearize", srv.Linearize, linearize, lambda r, _: 2 * r.nv * (2 * r.nv + r.nu), quick=8),
    Service("static_equilibrium", srv.StaticEquilibrium, static_equilibrium, quick=0),
    # lengths and rates of six legs, or positions of a soft arm, and whether they are reached
    Service("inverse_kinematics", srv.InverseKinematics, inverse_kinematics, lambda r, _: 13 + r.nq, quick=0),
    Service("forward_kinematics", srv.ForwardKinematics, forward_kinematics, lambda *_: POSE + 2, quick=0),
)
