"""Responses as the memory that ROS reads: the messages that rclpy makes, without an object per number."""

import ctypes
import time

import numpy as np
import pytest

pytestmark = pytest.mark.ros
pytest.importorskip("flexdyn_interfaces.srv")

from rclpy.type_support import check_for_type_support  # noqa: E402

import flexdyn_ros  # noqa: E402
from flexdyn_ros.nodes import (  # noqa: E402
    SERVICES,
    doubles,
    plain,
)
from flexdyn_ros.nodes.dynamics_server.response_memory import LargeResponse, Memory, layout, request_id  # noqa: E402
from flexdyn_ros.nodes.dynamics_server.services import answering  # noqa: E402
from flexdyn_ros.nodes.dynamics_server.slices import done_at_once  # noqa: E402
from flexdyn_ros.nodes.ros.conversions import poses_from_matrices  # noqa: E402
from flexdyn_ros.numerics.algebra.placement import quaternion_of, quaternions_of  # noqa: E402

#: services whose responses hold arrays of samples
BY_NAME = {service.name: service for service in SERVICES}
BATCHES = [s.name for s in SERVICES if s.name not in ("describe_robot", "modes", "static_equilibrium")]


@pytest.fixture(scope="module")
def robots():
    return {name: flexdyn_ros.load(name) for name in ("flexible_two_link", "stewart_1t")}


def request_of(name, robot, n):
    """A request with n samples of a service."""
    rng = np.random.default_rng(0)
    q = np.stack([robot.random(rng) for _ in range(n)])
    v, a = rng.standard_normal((2, n, robot.nv))
    request = BY_NAME[name].type.Request(robot=robot.name)
    known = {
        "samples": n,
        "positions": doubles(q),
        "velocities": doubles(v),
        "accelerations": doubles(a),
        "efforts": doubles(np.ones((n, robot.nu))),
    }
    if name == "forward_kinematics":
        known["lengths"] = doubles(robot.inverse_kinematics(np.tile(robot.neutral(), (n, 1))).length)
    if name == "inverse_kinematics":
        known["poses"] = poses_from_matrices(np.tile(robot.frames(q[:1], robot.frame_names[-1]), (n, 1, 1)))
    if name == "jacobian":
        known["frame"] = robot.frame_names[-1]
    for field, value in known.items():
        if hasattr(request, field):
            setattr(request, field, value)
    return request


def sliced(work, size):
    """The result of work in slices of one size."""
    try:
        next(work)
        while True:
            work.send(size)
    except StopIteration as end:
        return end.value


def read_as_ros_does(response):
    """The message that rclpy reads from the memory of a response."""
    kind = response._kind
    check_for_type_support(kind)
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    address = pointer(type(kind)._CONVERT_TO_PY, None)
    memory = Memory()
    record = response.structure(memory)
    return ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p)(address)(record.ctypes.data)


def robot_for(name, robots):
    return robots["stewart_1t" if name.endswith("_kinematics") else "flexible_two_link"]


@pytest.mark.parametrize("name", BATCHES)
def test_a_large_response_is_what_the_message_says(robots, name):
    service, robot = BY_NAME[name], robot_for(name, robots)
    request = request_of(name, robot, 9)
    answers = {robot.name: robot}
    whole = done_at_once(answering(service, answers, request, service.type.Response(), 100))
    assert whole.success, whole.message
    large = done_at_once(answering(service, answers, request, LargeResponse(service.type.Response), 100))
    assert isinstance(large, LargeResponse)
    assert large.message() == whole
    found = read_as_ros_does(large)
    for field in whole.get_fields_and_field_types():
        if field == "poses":
            # vectors of quaternions are rounded otherwise than one at a time
            for a, b in zip(found.poses, whole.poses, strict=True):
                assert a.position == b.position
                for axis in "xyzw":
                    assert getattr(a.orientation, axis) == pytest.approx(
                        getattr(b.orientation, axis), abs=1e-15
                    )
        else:
            assert getattr(found, field) == getattr(whole, field), field


@pytest.mark.parametrize("name", BATCHES)
def test_slices_answer_what_one_go_answers(robots, name):
    service, robot = BY_NAME[name], robot_for(name, robots)
    request = request_of(name, robot, 9)

    def numbers(response):
        return np.array([x for field in plain(response).values() for x in flat(field)])

    def work():
        return answering(service, {robot.name: robot}, request, service.type.Response(), 100)

    whole = done_at_once(work())
    for size in (1, 4):
        np.testing.assert_allclose(numbers(sliced(work(), size)), numbers(whole), rtol=1e-10, atol=1e-10)


def flat(value):
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [x for entry in value for x in flat(entry)]
    return [] if isinstance(value, str) else [float(value)]


def test_quaternions_of_many_are_those_of_each():
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.standard_normal((500, 3, 3))).Q
    Q[np.linalg.det(Q) < 0] *= -1.0
    half_turns = [np.diag(d) for d in ([1.0, -1, -1], [-1.0, 1, -1], [-1.0, -1, 1], [1.0, 1, 1])]
    matrices = np.concatenate((Q, half_turns))
    np.testing.assert_allclose(quaternions_of(matrices), [quaternion_of(M) for M in matrices], atol=1e-15)


def test_three_thousand_deflections_become_memory_in_no_time(robots):
    """rclpy needs an object for each of 21 x 4 vectors of every link of every sample: seconds."""
    robot = robots["flexible_two_link"]
    service = BY_NAME["deflections"]
    request = request_of("deflections", robot, 3000)
    response = done_at_once(
        answering(service, {robot.name: robot}, request, LargeResponse(service.type.Response), 3000)
    )
    begin = time.thread_time()
    memory = Memory()
    record = response.structure(memory)
    assert time.thread_time() - begin < 0.5
    assert record["deflections"]["size"] == [3000]


def test_a_header_that_is_none_of_ours_is_not_read():
    class Strange:
        sequence_number = 7

    assert request_id(Strange()) is None


def test_types_that_cannot_be_laid_out_are_named():
    class Odd:
        @classmethod
        def get_fields_and_field_types(cls):
            return {"name": "wstring"}

    with pytest.raises(TypeError, match="wstring"):
        layout(Odd)
