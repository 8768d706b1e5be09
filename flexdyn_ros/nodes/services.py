"""The verbs as services: each function reads a request, asks the robot, and fills the response; no ROS node.

A function here takes (robot, request, response, max_samples) and raises for anything that is wrong; `answer`
turns what it raises into success=false and a message.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

import flexdyn_ros
from flexdyn_interfaces import srv
from flexdyn_ros.errors import FlexdynError, SingularityError, UnsupportedError
from flexdyn_ros.nodes.conversions import (
    coordinate_message,
    doubles,
    matrix_from_pose,
    numbers_of,
    pose_message,
    poses_from_matrices,
    quaternion_of,
    rows_of_jacobian,
    vector_message,
)
from flexdyn_ros.nodes.deflections import deflection_message
from flexdyn_ros.nodes.requests import (
    RequestError,
    check_result_size,
    column,
    read_states,
    read_wrenches,
    robot_of,
)

__all__ = ["SERVICES", "Service", "answer"]

Handler = Callable[[Any, Any, Any, int], None]


class Service(NamedTuple):
    """A service: name below the node's, type, what answers it, how many samples it answers at once."""

    name: str
    type: Any
    handler: Handler
    quick: int = 512


def answer(service: Service, robots: Mapping[str, Any], request: Any, response: Any, max_samples: int) -> Any:
    """The response to a request; success=false and a message for whatever is wrong with it. Never raises."""
    try:
        service.handler(robot_of(robots, request.robot), request, response, max_samples)
    except (FlexdynError, RequestError) as error:
        return _refusal(service, str(error))
    except MemoryError:
        return _refusal(service, "not enough memory for this request, expected fewer samples")
    except Exception as error:  # noqa: BLE001  a request must never end the server
        return _refusal(service, f"internal error: {type(error).__name__}: {error}")
    response.success = True
    return response


def _refusal(service: Service, message: str) -> Any:
    response = service.type.Response()
    response.success = False
    response.message = message
    return response


def _verb(robot: Any, name: str) -> Callable[..., Any]:
    verb = getattr(robot, name, None)
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


def _fill_matrix(response: Any, values: np.ndarray) -> None:
    response.rows, response.cols = values.shape[1:]
    response.values = doubles(values)


# ---- what the robot is ----


def describe_robot(robot: Any, request: Any, response: Any, max_samples: int) -> None:
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


def mass_matrix(robot: Any, request: Any, response: Any, max_samples: int) -> None:
    check_result_size(request.samples, robot.nv * robot.nv)
    (q,) = read_states(robot, request, (), max_samples)
    _fill_matrix(response, _good(robot.mass_matrix(q)))


def actuation_matrix(robot: Any, request: Any, response: Any, max_samples: int) -> None:
    check_result_size(request.samples, robot.nv * robot.nu)
    (q,) = read_states(robot, request, (), max_samples)
    _fill_matrix(response, _good(robot.actuation_matrix(q)))


def bias_forces(robot: Any, request: Any, response: Any, max_samples: int) -> None:
    q, v = read_states(robot, request, ("velocities",), max_samples)
    terms = robot.bias_terms(q, v)
    response.values = doubles(_good(robot.bias_forces(q, v)))
    response.velocity, response.gravity = doubles(terms.velocity), doubles(terms.gravity)
    response.elastic, response.damping = doubles(terms.elastic), doubles(terms.damping)
    response.external = doubles(terms.external)


def inverse_dynamics(robot: Any, request: Any, response: Any, max_samples: int) -> None:
    q, v, a = read_states(robot, request, ("velocities", "accelerations"), max_samples)
    wrenches = read_wrenches(robot, request.wrenches, q) if request.wrenches else None
    if request.free_unactuated:
        tau = robot.inverse_dynamics(q, v, a, wrenches, unactuated="free")
    elif len(q) == 1 and wrenches is None:
        tau = robot.inverse_dynamics(q[0], v[0], a[0])[None]
    else:
        tau = robot.inverse_dynamics(q, v, a, wrenches)
    response.efforts = doubles(_good(tau))


def forward_dynamics(robot: Any, request: Any, response: Any, max_samples: int) -> None:
    q, v, tau = read_states(robot, request, ("velocities", "efforts"), max_samples)
    wrenches = read_wrenches(robot, request.wrenches, q) if request.wrenches else None
    names = [c.name for c in robot.coordinates if c.prescribed]
    prescribed = None
    if len(request.prescribed):
        given = column(request, "prescribed", len(q), len(names))
        prescribed = {name: given[:, i] for i, name in enumerate(names)}
    if len(q) == 1 and wrenches is None and prescribed is None:
        a = robot.forward_dynamics(q[0], v[0], tau[0])[None]
    else:
        a = robot.forward_dynamics(q, v, tau, wrenches, prescribed=prescribed)
    response.accelerations = doubles(_good(a))


def compute_energy(robot: Any, request: Any, response: Any, max_samples: int) -> None:
    q, v = read_states(robot, request, ("velocities",), max_samples)
    energy = robot.energy(q, v)
    response.kinetic = doubles(_good(energy.kinetic))
    response.gravity, response.elastic = doubles(_good(energy.gravity)), doubles(_good(energy.elastic))


def linearize(robot: Any, request: Any, response: Any, max_samples: int) -> None:
    check_result_size(request.samples, 2 * robot.nv * (2 * robot.nv + robot.nu))
    q, v, tau = read_states(robot, request, ("velocities", "efforts"), max_samples)
    A, B = robot.linearize(q, v, tau)
    response.rows, response.cols_a, response.cols_b = A.shape[-2], A.shape[-1], B.shape[-1]
    response.a, response.b = doubles(_good(A)), doubles(_good(B))


# ---- kinematics ----


def frames(robot: Any, request: Any, response: Any, max_samples: int) -> None:
    (q,) = read_states(robot, request, (), max_samples)
    names = list(request.frames) or list(robot.frame_names)
    check_result_size(request.samples, 7 * len(names))
    response.poses = poses_from_matrices(_good(robot.frames(q, names)))


def jacobian(robot: Any, request: Any, response: Any, max_samples: int) -> None:
    check_result_size(request.samples, 6 * robot.nv)
    (q,) = read_states(robot, request, (), max_samples)
    _fill_matrix(response, rows_of_jacobian(_good(robot.jacobian(q, request.frame))))


def deflections(robot: Any, request: Any, response: Any, max_samples: int) -> None:
    (q,) = read_states(robot, request, (), max_samples)
    stations = numbers_of(request.stations)
    wrong = stations[~((stations >= 0.0) & (stations <= 1.0))]
    if wrong.size:
        raise RequestError(f"stations holds {wrong[0]}, expected fractions of the length from 0 to 1")
    check_result_size(request.samples, 16 * max(21, len(stations)))
    bent = robot.deflections(q, stations if len(stations) else None)
    response.deflections = [deflection_message(robot, bent, (i,)) for i in range(len(q))]


# ---- about one configuration ----


def modes(robot: Any, request: Any, response: Any, max_samples: int) -> None:
    if request.samples != 1:
        raise RequestError(f"samples is {request.samples}, expected 1")
    (q,) = read_states(robot, request, (), max_samples)
    locked = "joints" if list(request.locked) == ["joints"] else tuple(request.locked)
    found = _verb(robot, "modes")(q[0], lock=locked)
    count = len(found.frequency) if request.count == 0 else min(request.count, len(found.frequency))
    response.frequencies = doubles(found.frequency[:count])
    response.damping_ratios = doubles(found.damping_ratio[:count])
    response.rows, response.cols = found.shape.shape[0], count
    response.shapes = doubles(found.shape[:, :count])
    response.unstable = bool(found.unstable)


def static_equilibrium(robot: Any, request: Any, response: Any, max_samples: int) -> None:
    q0 = column(request, "positions", 1, robot.nq)[0] if len(request.positions) else robot.neutral()
    tau = column(request, "efforts", 1, robot.nu)[0] if len(request.efforts) else None
    wrenches = read_wrenches(robot, request.wrenches, q0[None])
    loads = {frame: w.reshape(-1, 6)[0] for frame, w in wrenches.items()} if wrenches else None
    held = "joints" if list(request.held) == ["joints"] else tuple(request.held)
    found = _verb(robot, "static_equilibrium")(q0, hold=held, tau=tau, wrenches=loads)
    response.positions, response.efforts = doubles(found.q), doubles(found.tau)
    response.residual, response.stable = float(found.residual), bool(found.stable)


# ---- platform and soft arm ----


def inverse_kinematics(robot: Any, request: Any, response: Any, max_samples: int) -> None:
    solve = _verb(robot, "inverse_kinematics")
    if not request.poses or len(request.poses) > max_samples:
        raise RequestError(f"poses has {len(request.poses)} entries, expected 1 to {max_samples}")
    if request.twists and len(request.twists) != len(request.poses):
        raise RequestError(
            f"twists has {len(request.twists)} entries, expected {len(request.poses)} (as poses) or none"
        )
    targets = np.stack([_matrix(pose, f"poses[{i}]") for i, pose in enumerate(request.poses)])
    if robot.kind == "platform":
        twists = [_twist(twist, f"twists[{i}]") for i, twist in enumerate(request.twists)]
        legs = solve(_poses(targets), np.stack(twists) if twists else None)
        response.lengths = doubles(_good(legs.length))
        response.rates = doubles(_good(legs.rate)) if twists else doubles([])
        response.converged = [True] * len(targets)
        return
    found = solve(targets)
    response.positions = doubles(_good(found.q))
    response.converged = [bool(c) for c in np.broadcast_to(found.converged, len(targets))]


def forward_kinematics(robot: Any, request: Any, response: Any, max_samples: int) -> None:
    solve = _verb(robot, "forward_kinematics")
    samples = len(request.lengths) // 6
    if not 1 <= samples <= max_samples:
        raise RequestError(f"lengths has {len(request.lengths)} numbers, expected 6 to {6 * max_samples}")
    lengths = column(request, "lengths", samples, 6)
    guess = _poses(_matrix(request.guess, "guess")[None])[0] if request.use_guess else None
    found = solve(lengths, guess, strict=False)
    response.poses = [pose_message(T) for T in robot.frames(found.q, robot.description.platform.link)]
    response.converged = [bool(c) for c in found.converged]
    response.residuals = doubles(found.residual)


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


#: every service of a robot; ListRobots is the server's own
SERVICES: tuple[Service, ...] = (
    Service("describe_robot", srv.DescribeRobot, describe_robot),
    Service("mass_matrix", srv.MassMatrix, mass_matrix),
    Service("actuation_matrix", srv.ActuationMatrix, actuation_matrix),
    Service("bias_forces", srv.BiasForces, bias_forces),
    Service("inverse_dynamics", srv.InverseDynamics, inverse_dynamics),
    Service("forward_dynamics", srv.ForwardDynamics, forward_dynamics),
    Service("compute_energy", srv.ComputeEnergy, compute_energy),
    Service("frames", srv.Frames, frames, quick=16),
    Service("jacobian", srv.Jacobian, jacobian),
    Service("deflections", srv.Deflections, deflections, quick=4),
    Service("modes", srv.Modes, modes, quick=0),
    Service("linearize", srv.Linearize, linearize, quick=8),
    Service("static_equilibrium", srv.StaticEquilibrium, static_equilibrium, quick=0),
    Service("inverse_kinematics", srv.InverseKinematics, inverse_kinematics, quick=0),
    Service("forward_kinematics", srv.ForwardKinematics, forward_kinematics, quick=0),
)
