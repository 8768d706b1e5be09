"""Joint states of the expanded robot, put through a plain URDF, show every link where it is."""

import sysconfig
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.ros
pytest.importorskip("tf2_msgs.msg")

from builtin_interfaces.msg import Time  # noqa: E402
from rclpy.serialization import deserialize_message  # noqa: E402
from tf2_msgs.msg import TFMessage  # noqa: E402

import flexdyn_ros  # noqa: E402
from flexdyn_ros.nodes import matrix_from_pose  # noqa: E402
from flexdyn_ros.nodes.state_publisher.transforms import JointTransforms, TransformMessage  # noqa: E402

DATA = Path(sysconfig.get_paths()["purelib"]) / "cmeel.prefix/share/example-robot-data/robots"
FLOATER = """<robot name="floater">
  <link name="ground"><inertial><mass value="1"/>
    <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
  <link name="carrier"/><link name="body"><inertial><mass value="1"/>
    <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link><link name="hand"/>
  <joint name="slide" type="prismatic"><parent link="ground"/><child link="carrier"/><axis xyz="0 1 1"/>
    <limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
  <joint name="free" type="floating"><parent link="carrier"/><child link="body"/>
    <origin xyz="1 2 3" rpy="0.1 0.2 0.3"/></joint>
  <joint name="turn" type="continuous"><parent link="body"/><child link="hand"/>
    <origin rpy="1 0 0"/><axis xyz="1 2 3"/></joint>
</robot>"""


def source(name):
    if name == "floater":
        return FLOATER
    if name.endswith(".urdf"):
        if not DATA.is_dir():
            pytest.skip("example-robot-data is not installed")
        return DATA / name
    return name


def moving_messages(transforms, names, positions):
    """Transforms of the joints that are named, as a subscriber gets them."""
    rows, position, quaternion = transforms.poses(names, positions)
    made = TransformMessage([transforms.frames_of(row) for row in rows.tolist()])
    return list(deserialize_message(made.filled(Time(), position, quaternion), TFMessage).transforms)


def poses_by_links(urdf, names, positions, root):
    """Pose of every link relative to the root, along the chain of transforms."""
    transforms = JointTransforms(urdf)
    messages = moving_messages(transforms, names, positions.tolist()) + transforms.fixed_messages(Time())
    waiting, poses = {m.child_frame_id: m for m in messages}, {root: np.eye(4)}
    while waiting:
        ready = [m for m in waiting.values() if m.header.frame_id in poses]
        assert ready, f"links without a way to {root}: {sorted(waiting)}"
        for m in ready:
            t = m.transform
            pose = type("Pose", (), {"position": t.translation, "orientation": t.rotation})
            poses[m.child_frame_id] = poses[m.header.frame_id] @ matrix_from_pose(pose)
            del waiting[m.child_frame_id]
    return poses


@pytest.mark.parametrize(
    "name",
    [
        "seven_joint_arm",
        "floater",
        "panda_description/urdf/panda.urdf",
        "ur_description/urdf/ur5_robot.urdf",
        "anymal_b_simple_description/robots/anymal.urdf",
        "icub_description/robots/icub.urdf",
    ],
)
def test_transforms_place_links_where_the_robot_has_them(name):
    robot = flexdyn_ros.load(source(name))
    expanded = flexdyn_ros.expand(robot)
    q = robot.random(np.random.default_rng(3))
    poses = poses_by_links(
        expanded.urdf, expanded.joint_names, expanded.joint_positions(q), robot.description.root
    )
    T0 = np.linalg.inv(robot.frames(q, robot.description.root))
    links = [link.name for link in robot.description.links]
    for link, T in zip(links, robot.frames(q, links), strict=True):
        np.testing.assert_allclose(poses[link], T0 @ T, atol=1e-9, err_msg=link)


def test_mimic_joints_follow_where_they_are_not_named():
    if not DATA.is_dir():
        pytest.skip("example-robot-data is not installed")
    robot = flexdyn_ros.load(DATA / "panda_description/urdf/panda.urdf")
    expanded = flexdyn_ros.expand(robot)
    q = robot.random(np.random.default_rng(0))
    values = dict(zip(expanded.joint_names, expanded.joint_positions(q).tolist(), strict=True))
    followers = [joint.name for joint in robot.description.joints if joint.mimic is not None]
    assert followers
    named = [name for name in values if name not in followers]
    transforms = JointTransforms(expanded.urdf)
    full = moving_messages(transforms, list(values), list(values.values()))
    short = moving_messages(transforms, named, [values[name] for name in named])
    key = lambda m: m.child_frame_id  # noqa: E731
    assert sorted(full, key=key) == sorted(short, key=key)


def test_fixed_frames_and_prefix():
    expanded = flexdyn_ros.expand(flexdyn_ros.load("seven_joint_arm"))
    (mount,) = JointTransforms(expanded.urdf, "left/").fixed_messages(Time())
    assert (mount.header.frame_id, mount.child_frame_id) == ("left/link_7", "left/tool0")


@pytest.mark.parametrize("positions", [[1.0], [1.0, float("nan")]])
def test_malformed_joint_states_are_refused(positions):
    expanded = flexdyn_ros.expand(flexdyn_ros.load("seven_joint_arm"))
    with pytest.raises(ValueError, match="position"):
        JointTransforms(expanded.urdf).poses(["shoulder_yaw", "elbow_pitch"], positions)


def test_unknown_joints_are_skipped():
    expanded = flexdyn_ros.expand(flexdyn_ros.load("seven_joint_arm"))
    assert moving_messages(JointTransforms(expanded.urdf), ["gripper"], [1.0]) == []
