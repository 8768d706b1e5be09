"""Services of a platform, without any process: kinematics both ways, dynamics, mistakes named."""

import numpy as np
import pytest

pytestmark = pytest.mark.ros
pytest.importorskip("flexdyn_interfaces.srv")

from geometry_msgs.msg import Pose, Twist  # noqa: E402

import flexdyn_ros  # noqa: E402
from flexdyn_interfaces.msg import ExternalWrench  # noqa: E402
from flexdyn_ros.nodes import (  # noqa: E402
    SERVICES,
    doubles,
    numbers_of,
)
from flexdyn_ros.nodes.dynamics_server.services import answer  # noqa: E402

BY_NAME = {service.name: service for service in SERVICES}


@pytest.fixture(scope="module")
def robot():
    return flexdyn_ros.load("stewart_1t")


@pytest.fixture(scope="module")
def ask(robot):
    def ask(name, **fields):
        service = BY_NAME[name]
        request = service.type.Request()
        for field, value in fields.items():
            setattr(request, field, doubles(value) if isinstance(value, np.ndarray) else value)
        return answer(service, {"stewart_1t": robot}, request, service.type.Response(), 1000)

    return ask


def pose_of(q):
    pose = Pose()
    p, o = pose.position, pose.orientation
    p.x, p.y, p.z, o.x, o.y, o.z, o.w = q.tolist()
    return pose


def numbers(pose):
    p, o = pose.position, pose.orientation
    return np.array([p.x, p.y, p.z, o.x, o.y, o.z, o.w])


def twist_of(v):
    twist = Twist()
    a, b = twist.angular, twist.linear
    a.x, a.y, a.z, b.x, b.y, b.z = v.tolist()
    return twist


def test_inverse_kinematics_answers_lengths_and_rates(robot, ask):
    rng = np.random.default_rng(0)
    q, v = np.array([robot.random(rng) for _ in range(20)]), rng.normal(size=(20, 6))
    legs = robot.inverse_kinematics(q, v)
    found = ask("inverse_kinematics", poses=[pose_of(x) for x in q], twists=[twist_of(x) for x in v])
    assert found.success
    assert all(found.converged)
    # poses go through rotation matrices and back
    np.testing.assert_allclose(numbers_of(found.lengths).reshape(20, 6), legs.length, atol=1e-14)
    np.testing.assert_allclose(numbers_of(found.rates).reshape(20, 6), legs.rate, atol=1e-13)
    still = ask("inverse_kinematics", poses=[pose_of(q[0])])
    assert still.success
    assert len(still.rates) == 0


def test_forward_kinematics_brings_the_poses_back_and_tells_what_it_refuses(robot, ask):
    rng = np.random.default_rng(1)
    q = np.array([robot.random(rng) for _ in range(20)])
    lengths = robot.inverse_kinematics(q).length
    found = ask("forward_kinematics", lengths=lengths.reshape(-1))
    assert found.success
    assert all(found.converged)
    assert max(found.residuals) < 1e-9
    for got, expected in zip(found.poses, q, strict=True):
        assert abs(robot.difference(numbers(got), expected)).max() < 1e-9
    near = ask("forward_kinematics", lengths=lengths[3], use_guess=True, guess=pose_of(q[3]))
    assert abs(robot.difference(numbers(near.poses[0]), q[3])).max() < 1e-9
    # below the base the same lengths close too: that branch is refused, and says so
    mirrored = q[3].copy()
    mirrored[2] = -mirrored[2]
    mirrored[3:5] = -mirrored[3:5]
    refused = ask("forward_kinematics", lengths=lengths[3], use_guess=True, guess=pose_of(mirrored))
    assert refused.success
    assert refused.converged == [False]


def test_dynamics_of_a_platform_over_the_services(robot, ask):
    rng = np.random.default_rng(2)
    q, v, a = robot.random(rng), rng.normal(size=6), rng.normal(size=6)
    w = rng.normal(size=6) * 100
    wrench = ExternalWrench(frame="platform")
    m, f = wrench.wrench.torque, wrench.wrench.force
    m.x, m.y, m.z, f.x, f.y, f.z = w.tolist()
    state = {"samples": 1, "positions": q, "velocities": v}
    tau = ask("inverse_dynamics", accelerations=a, wrenches=[wrench], **state)
    assert tau.success, tau.message
    np.testing.assert_allclose(
        numbers_of(tau.efforts), robot.inverse_dynamics(q, v, a, {"platform": w}), rtol=1e-12
    )
    back = ask("forward_dynamics", efforts=numbers_of(tau.efforts), wrenches=[wrench], **state)
    np.testing.assert_allclose(numbers_of(back.accelerations), a, atol=1e-9)
    B = ask("actuation_matrix", samples=1, positions=q)
    np.testing.assert_array_equal(numbers_of(B.values).reshape(6, 6), robot.actuation_matrix(q))
    told = ask("describe_robot")
    assert told.kind == "platform"
    assert (told.nq, told.nv, told.nu) == (7, 6, 6)
    assert list(told.effort_names) == [f"leg_{i}" for i in range(1, 7)]
    modes = ask("modes", samples=1, positions=robot.neutral())
    np.testing.assert_allclose(numbers_of(modes.frequencies), robot.modes(robot.neutral()).frequency)


def test_wrong_requests_are_named(ask):
    for name, fields, words in (
        ("inverse_kinematics", {}, "poses"),
        ("inverse_kinematics", {"poses": [Pose()] * 2, "twists": [Twist()]}, "twists"),
        ("inverse_kinematics", {"poses": [pose_of(np.full(7, np.nan))]}, "poses"),
        ("forward_kinematics", {"lengths": np.ones(7)}, "lengths"),
        ("forward_kinematics", {"lengths": np.array([1.4, 1.4, 1.4, 1.4, 1.4, np.nan])}, "lengths"),
        ("inverse_dynamics", {"samples": 1, "positions": np.ones(6)}, "positions"),
    ):
        found = ask(name, **fields)
        assert not found.success
        assert words in found.message
