"""Messages and arrays say the same thing, and the swap of linear and angular happens once."""

import numpy as np
import pytest

pytestmark = pytest.mark.ros
pytest.importorskip("rclpy")
pytest.importorskip("flexdyn_interfaces.msg")

from geometry_msgs.msg import Pose, Quaternion, Wrench  # noqa: E402

from flexdyn_ros.nodes.ros import conversions as c  # noqa: E402
from flexdyn_ros.simulation.live import message_fields as fields  # noqa: E402


def random_rotation(rng):
    q = rng.standard_normal(4)
    x, y, z, w = q / np.linalg.norm(q)
    return fields.matrix_from_pose(Pose(orientation=Quaternion(x=x, y=y, z=z, w=w)))[:3, :3]


def test_doubles_survive_the_way_there_and_back():
    values = np.arange(6.0).reshape(2, 3)
    assert fields.numbers_of(fields.doubles(values)).tolist() == values.ravel().tolist()
    assert fields.doubles(values.T).tolist() == values.T.ravel().tolist()
    assert fields.numbers_of(fields.doubles([])).shape == (0,)


def test_poses_survive_the_way_there_and_back():
    rng = np.random.default_rng(1)
    for turn in [np.eye(3), np.diag([1.0, -1, -1]), np.diag([-1.0, 1, -1]), np.diag([-1.0, -1, 1])]:
        for _ in range(20):
            T = np.eye(4)
            T[:3, :3] = turn @ (random_rotation(rng) if _ else np.eye(3))
            T[:3, 3] = rng.standard_normal(3)
            np.testing.assert_allclose(fields.matrix_from_pose(c.pose_message(T)), T, atol=1e-14)


def test_a_quaternion_that_is_not_of_unit_length_is_refused():
    with pytest.raises(ValueError, match="length"):
        fields.matrix_from_pose(Pose(orientation=Quaternion(x=1.0, y=1.0, z=0.0, w=0.0)))


def test_wrenches_are_linear_first_outside_and_angular_first_inside():
    wrench = Wrench()
    wrench.force.x, wrench.torque.z = 1.0, 2.0
    assert c.wrench_vector(wrench).tolist() == [0, 0, 2, 1, 0, 0]
    assert c.wrench_message(c.wrench_vector(wrench)) == wrench
    twist = c.twist_message([1, 2, 3, 4, 5, 6])
    assert (twist.angular.x, twist.linear.x) == (1.0, 4.0)


def test_rows_of_a_jacobian_are_linear_first():
    J = np.arange(12.0).reshape(6, 2)
    assert c.rows_of_jacobian(J)[:3].tolist() == J[3:].tolist()
    assert c.rows_of_jacobian(J)[3:].tolist() == J[:3].tolist()


def test_stamps_hold_nanoseconds():
    assert c.time_message(1_500_000_001) == c.Time(sec=1, nanosec=500_000_001)
    assert fields.seconds_of(c.time_message(2_250_000_000)) == 2.25


def test_every_public_name_of_nodes_is_there_and_no_other():
    import flexdyn_ros.nodes as nodes

    assert all(getattr(nodes, name).__doc__ for name in nodes.__all__)
    assert set(nodes.__all__) <= set(dir(nodes))
    with pytest.raises(AttributeError, match="no attribute 'simulatr'"):
        nodes.simulatr  # noqa: B018
