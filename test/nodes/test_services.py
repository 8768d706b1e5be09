"""What services answer, without any process: right numbers, or a named culprit."""

import numpy as np
import pytest

pytestmark = pytest.mark.ros
pytest.importorskip("flexdyn_interfaces.srv")

from hypothesis import given, settings  # noqa: E402
from malformed import requests  # noqa: E402

import flexdyn_ros  # noqa: E402
from flexdyn_interfaces import srv  # noqa: E402
from flexdyn_interfaces.action import Simulate  # noqa: E402
from flexdyn_interfaces.msg import ExternalWrench  # noqa: E402
from flexdyn_ros.nodes import (  # noqa: E402
    SERVICES,
    doubles,
    matrix_from_pose,
    numbers_of,
)
from flexdyn_ros.nodes.dynamics_server.services import answer  # noqa: E402

BY_NAME = {service.name: service for service in SERVICES}
ROBOTS = {}


@pytest.fixture(scope="module")
def robot():
    ROBOTS["arm"] = flexdyn_ros.load("seven_joint_arm", name="arm")
    ROBOTS["other"] = flexdyn_ros.load("seven_joint_arm", name="other")
    return ROBOTS["arm"]


def ask(name, robot="arm", **fields):
    service = BY_NAME[name]
    request = service.type.Request(robot=robot)
    for field, value in fields.items():
        setattr(request, field, doubles(value) if isinstance(value, np.ndarray) else value)
    return answer(service, ROBOTS, request, service.type.Response(), 1000)


def states(robot, n, seed=0):
    rng = np.random.default_rng(seed)
    q = np.stack([robot.random(rng) for _ in range(n)])
    return q, rng.standard_normal((n, robot.nv)), rng.standard_normal((n, robot.nv))


@pytest.mark.parametrize("n", [1, 3])
def test_efforts_may_be_given_by_the_names_of_actuators(robot, n):
    q, v, _ = states(robot, n)
    some = np.random.default_rng(5).standard_normal((n, 2))
    names = [robot.actuators[4], robot.actuators[1]]
    tau = robot.efforts({names[0]: some[:, 0], names[1]: some[:, 1]})
    state = {"samples": n, "positions": q, "velocities": v}
    by_name = ask("forward_dynamics", effort_names=names, efforts=some, **state)
    np.testing.assert_array_equal(
        by_name.accelerations, ask("forward_dynamics", efforts=tau, **state).accelerations
    )
    by_name = ask("linearize", effort_names=names, efforts=some, **state)
    np.testing.assert_array_equal(by_name.a, ask("linearize", efforts=tau, **state).a)


def test_a_bending_robot_takes_efforts_of_its_actuators_alone():
    from flexdyn_ros.nodes.dynamics_server.simulate_action import run_of

    bending = flexdyn_ros.load("flexible_two_link")
    names = list(bending.actuators)
    goal = Simulate.Goal(duration=0.01, dt=0.001, effort_names=names[:1], efforts=[2.0])
    run = run_of({"arm": bending}, goal)(lambda t: None)
    expected = flexdyn_ros.simulate(bending, 0.01, dt=1e-3, control=bending.efforts({names[0]: 2.0}))
    np.testing.assert_allclose(run.q, expected.q, atol=1e-12)
    assert np.abs(run.q[-1] - flexdyn_ros.simulate(bending, 0.01, dt=1e-3).q[-1]).max() > 1e-6


@pytest.mark.parametrize(
    ("names", "efforts", "part"),
    [
        (["knee"], [1.0], "knee"),
        (["shoulder_yaw", "shoulder_yaw"], [1.0, 1.0], "2 times"),
        (["shoulder_yaw"], [1.0, 2.0], "efforts has 2 numbers, expected 1"),
        (["shoulder_yaw"], [], "efforts has 0 numbers, expected 1"),
        (["shoulder_yaw"], [float("nan")], "efforts[0] is nan"),
    ],
)
def test_wrong_names_of_efforts_are_refused(robot, names, efforts, part):
    for service in ("forward_dynamics", "static_equilibrium"):
        fields = {"samples": 1} if service == "forward_dynamics" else {}
        state = {"positions": robot.neutral()} | ({"velocities": np.zeros(7)} if fields else {})
        found = ask(service, effort_names=names, efforts=np.array(efforts), **state, **fields)
        assert not found.success
        assert part in found.message


@pytest.mark.parametrize("n", [1, 5])
def test_dynamics_are_those_of_the_library(robot, n):
    q, v, a = states(robot, n)
    state = {"samples": n, "positions": q, "velocities": v}
    M = ask("mass_matrix", samples=n, positions=q)
    assert (M.rows, M.cols) == (7, 7)
    np.testing.assert_array_equal(numbers_of(M.values).reshape(n, 7, 7), robot.mass_matrix(q))
    tau = ask("inverse_dynamics", accelerations=a, **state)
    # a single state and a batch go through kernels of their own: equal to rounding
    np.testing.assert_allclose(
        numbers_of(tau.efforts).reshape(n, 7), robot.inverse_dynamics(q, v, a), rtol=1e-11
    )
    back = ask("forward_dynamics", efforts=robot.inverse_dynamics(q, v, a), **state)
    np.testing.assert_allclose(numbers_of(back.accelerations).reshape(n, 7), a, atol=1e-8)
    h = ask("bias_forces", **state)
    np.testing.assert_array_equal(numbers_of(h.values).reshape(n, 7), robot.bias_forces(q, v))
    parts = sum(
        numbers_of(getattr(h, part)) for part in ("velocity", "gravity", "elastic", "damping", "external")
    )
    np.testing.assert_allclose(parts, numbers_of(h.values), atol=1e-10)
    energy = ask("compute_energy", **state)
    np.testing.assert_array_equal(numbers_of(energy.kinetic), robot.energy(q, v).kinetic)
    linear = ask("linearize", efforts=a, **state)
    A, B = robot.linearize(q, v, a)
    np.testing.assert_array_equal(numbers_of(linear.a).reshape(n, linear.rows, linear.cols_a), A)
    np.testing.assert_array_equal(numbers_of(linear.b).reshape(n, linear.rows, linear.cols_b), B)


def test_kinematics_are_those_of_the_library(robot):
    q, _, _ = states(robot, 3)
    found = ask("frames", samples=3, positions=q, frames=["link_3", "tool0"])
    T = np.stack([matrix_from_pose(pose) for pose in found.poses]).reshape(3, 2, 4, 4)
    np.testing.assert_allclose(T, robot.frames(q, ["link_3", "tool0"]), atol=1e-14)
    J = ask("jacobian", samples=3, positions=q, frame="tool0")
    values = numbers_of(J.values).reshape(3, J.rows, J.cols)
    np.testing.assert_array_equal(values[:, :3], robot.jacobian(q, "tool0")[:, 3:])
    assert len(ask("frames", samples=1, positions=q[0]).poses) == len(robot.frame_names)


def test_names_reorder_positions(robot):
    q, _, _ = states(robot, 2)
    order = [3, 1, 0, 6, 5, 4, 2]
    names = [robot.q_names[i] for i in order]
    found = ask("mass_matrix", samples=2, names=names, positions=np.ascontiguousarray(q[:, order]))
    np.testing.assert_array_equal(numbers_of(found.values).reshape(2, 7, 7), robot.mass_matrix(q))


def test_wrenches_act_at_their_frame_in_their_axes(robot):
    q, v, a = states(robot, 2)
    pull = ExternalWrench(frame="tool0", axes="link_2")
    pull.wrench.force.x, pull.wrench.torque.y = 3.0, 4.0
    push = ExternalWrench(frame="link_4")
    push.wrench.force.z = 5.0
    found = ask(
        "inverse_dynamics", samples=2, positions=q, velocities=v, accelerations=a, wrenches=[pull, push, push]
    )
    R = robot.frames(q, "link_2")[:, :3, :3]
    w = np.concatenate((R @ [0.0, 4, 0], R @ [3.0, 0, 0]), axis=-1)
    tau = robot.inverse_dynamics(q, v, a, {"tool0": w, "link_4": [0, 0, 0, 0, 0, 10.0]})
    np.testing.assert_allclose(numbers_of(found.efforts).reshape(2, 7), tau, atol=1e-10)


def test_a_robot_is_described_completely(robot):
    found = ask("describe_robot")
    assert (found.kind, found.nq, found.nv, found.nu) == ("tree", 7, 7, 7)
    assert tuple(found.position_names) == robot.q_names
    assert [c.name for c in found.coordinates] == list(robot.v_names)
    assert found.coordinates[0].effort_limit == 87.0
    assert found.mass == robot.mass
    assert found.gravity.z == robot.gravity[2]
    assert found.description == robot.description.text
    assert "inertial" not in found.expanded_description


def test_modes_and_equilibrium_are_those_of_the_library(robot):
    q, _, _ = states(robot, 1)
    modes, rest = (
        ask("modes", samples=1, positions=q),
        ask("static_equilibrium", positions=q[0], held=["joints"]),
    )
    np.testing.assert_array_equal(numbers_of(modes.frequencies), robot.modes(q[0]).frequency)
    assert (modes.rows, modes.cols) == (7, len(modes.frequencies))
    assert ask("modes", samples=1, positions=q, count=2).cols == 2
    assert rest.success
    np.testing.assert_allclose(numbers_of(rest.efforts), robot.bias_forces(q[0], np.zeros(7)), atol=1e-9)


SEVEN = np.zeros(7)
BAD = np.array([0, 0, np.nan, 0, 0, 0, 0])


@pytest.mark.parametrize(
    ("name", "fields", "words"),
    [
        ("mass_matrix", {"robot": "nobody"}, "unknown robot 'nobody'"),
        ("mass_matrix", {"robot": ""}, "robot is empty, expected one of arm, other"),
        ("mass_matrix", {"samples": 0}, "samples is 0"),
        ("mass_matrix", {"samples": 1001, "positions": SEVEN}, "max_samples"),
        ("mass_matrix", {"samples": 4294967295, "positions": SEVEN}, "samples is 4294967295"),
        ("mass_matrix", {"samples": 2, "positions": SEVEN}, "positions has 7 numbers, expected 14"),
        ("mass_matrix", {"samples": 1, "positions": BAD}, r"positions\[2\] is nan"),
        ("mass_matrix", {"samples": 1, "positions": SEVEN, "names": ["elbow"]}, "elbow"),
        ("mass_matrix", {"samples": 1, "positions": SEVEN[:1], "names": ["elbow_pitch"]}, "names lacks"),
        (
            "mass_matrix",
            {"samples": 1, "positions": SEVEN[:1], "names": ["elbow_pitch"], "unlisted": 1},
            "names lacks",
        ),
        ("mass_matrix", {"samples": 1, "positions": SEVEN[:2], "names": ["elbow_pitch"] * 2}, "2 times"),
        ("mass_matrix", {"samples": 1, "positions": SEVEN, "unlisted": 7}, "unlisted is 7"),
        ("inverse_dynamics", {"samples": 1, "positions": SEVEN, "velocities": BAD}, r"velocities\[2\]"),
        (
            "forward_dynamics",
            {"samples": 1, "positions": SEVEN, "velocities": SEVEN},
            "efforts has 0 numbers",
        ),
        ("frames", {"samples": 1, "positions": SEVEN, "frames": ["hand"]}, "unknown frame 'hand'"),
        ("jacobian", {"samples": 1, "positions": SEVEN, "frame": ""}, "unknown frame ''"),
        (
            "deflections",
            {"samples": 1, "positions": SEVEN, "stations": np.array([0.5, 2.0])},
            "stations holds 2.0",
        ),
        ("modes", {"samples": 2, "positions": np.zeros(14)}, "samples is 2"),
        ("inverse_kinematics", {}, "do not offer"),
        ("forward_kinematics", {"lengths": np.zeros(6)}, "do not offer"),
    ],
)
def test_a_wrong_request_is_refused_with_the_culprit(robot, name, fields, words):
    found = ask(name, **({"robot": "arm"} | fields))
    assert not found.success
    import re

    assert re.search(words, found.message), found.message
    empty = BY_NAME[name].type.Response(success=False, message=found.message)
    assert found == empty, "a refusal is otherwise empty"


def test_a_wrong_wrench_is_refused(robot):
    state = {"samples": 1, "positions": SEVEN, "velocities": SEVEN, "accelerations": SEVEN}
    for frame, axes, words in (("hand", "", "hand"), ("tool0", "hand", "hand"), ("", "", "''")):
        found = ask("inverse_dynamics", wrenches=[ExternalWrench(frame=frame, axes=axes)], **state)
        assert not found.success
        assert words in found.message
    wrench = ExternalWrench(frame="tool0")
    wrench.wrench.force.x = float("inf")
    assert "wrenches[0]" in ask("inverse_dynamics", wrenches=[wrench], **state).message


def test_an_answer_that_would_be_too_large_is_refused_before_it_is_computed(robot):
    request = srv.Linearize.Request(robot="arm", samples=90000)
    found = answer(BY_NAME["linearize"], ROBOTS, request, srv.Linearize.Response(), 100000)
    assert not found.success
    assert "at most" in found.message


@settings(max_examples=400)
@given(requests())
def test_no_request_is_answered_with_an_internal_error(robot, drawn):
    name, request = drawn
    service = BY_NAME[name]
    found = answer(service, ROBOTS, request, service.type.Response(), 100)
    assert "internal error" not in found.message
    assert found.success == (found.message == "")
