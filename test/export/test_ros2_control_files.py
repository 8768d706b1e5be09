"""Files beside the program of a package for ros2_control: description and controllers fit each other."""

import pytest
import yaml
from lxml import etree

import flexdyn_ros
from flexdyn_ros import export


@pytest.mark.parametrize(
    ("name", "driven", "told"),
    [("two_link", ("shoulder", "elbow"), ()), ("boom_on_cylinder", ("hoist",), ("lift",))],
)
def test_joint_states_have_also_what_is_no_joint_of_the_description(tmp_path, name, driven, told):
    """A cylinder is no joint: without the parameter the broadcaster would leave its length out."""
    robot = flexdyn_ros.load(name)
    export.ros2_control(robot, tmp_path)
    listed = yaml.safe_load((tmp_path / "config" / "controllers.yaml").read_text())
    trajectory = listed.pop("joint_trajectory_controller")["ros__parameters"]
    assert trajectory["joints"] == list(driven)
    (block,) = (tmp_path / "description").iterdir()
    parts = {x.get("name"): x for x in etree.parse(block).iter("joint", "gpio")}
    assert parts.keys() == {*driven, *told}
    for kind in ("command", "state"):
        for part, element in parts.items():
            has = [x.get("name") for x in element.findall(f"{kind}_interface")]
            asked = trajectory[f"{kind}_interfaces"] if part in driven else []
            assert set(asked) <= set(has)
            assert has or (part in told and kind == "command")
    # all joints that move are told, none is commanded that only follows
    joints = {c.name for c in robot.coordinates}
    assert joints <= parts.keys()
    types = listed.pop("controller_manager")["ros__parameters"]
    assert types["joint_state_broadcaster"]["type"] == "joint_state_broadcaster/JointStateBroadcaster"
    if set(parts) <= joints:
        assert listed == {}
    else:
        assert listed == {"joint_state_broadcaster": {"ros__parameters": {"use_urdf_to_filter": False}}}
