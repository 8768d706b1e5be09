"""Responses of the services: the same in slices as in one go, and as many numbers as are counted."""

import numpy as np
import pytest

pytestmark = pytest.mark.ros
pytest.importorskip("flexdyn_interfaces.srv")

import flexdyn_ros  # noqa: E402
from flexdyn_ros.nodes import SERVICES, doubles, plain  # noqa: E402
from flexdyn_ros.nodes.dynamics_server.requests import POSE, STATION  # noqa: E402
from flexdyn_ros.nodes.dynamics_server.services import answering  # noqa: E402
from flexdyn_ros.nodes.dynamics_server.slices import done_at_once  # noqa: E402
from flexdyn_ros.nodes.ros.conversions import poses_from_matrices  # noqa: E402

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


def robot_for(name, robots):
    return robots["stewart_1t" if name.endswith("_kinematics") else "flexible_two_link"]


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


@pytest.mark.parametrize("name", BATCHES)
def test_an_answer_counts_as_many_numbers_as_it_holds(robots, name):
    service, robot = BY_NAME[name], robot_for(name, robots)
    request = request_of(name, robot, 9)
    response = done_at_once(answering(service, {robot.name: robot}, request, service.type.Response(), 100))
    fields = [field for field, kind in response.get_fields_and_field_types().items() if "sequence" in kind]
    held = sum(weight(getattr(response, field)) for field in fields) / 9
    counted = service.width(robot, request)
    if name == "inverse_kinematics":
        # a platform answers lengths, a soft arm positions: no more than both
        assert held <= counted
    else:
        assert held == counted


def weight(values):
    """Numbers that a field counts as."""
    if len(values) and hasattr(values[0], "position"):
        return POSE * len(values)
    if len(values) and hasattr(values[0], "links"):
        return STATION * sum(len(link.stations) for entry in values for link in entry.links)
    return len(values)
