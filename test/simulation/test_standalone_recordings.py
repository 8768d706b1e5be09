"""Recordings say everything themselves: no library and no ROS is needed to decode them."""

import numpy as np
import pytest
from decoding import decoded_alone, moving_joints

import flexdyn_ros

pytest.importorskip("rosbags")

#: robots, and what their recordings have beside states, joints and descriptions
ROBOTS = {
    "seven_joint_arm": set(),
    "flexible_two_link": {"/deflections"},
    "soft_arm": {"/deflections"},
    "mobile_arm": {"/odom"},
    "stewart_electric": set(),
    "excavator": set(),
}


@pytest.mark.parametrize("name", ROBOTS)
def test_a_recording_of_every_family_is_decoded_by_what_is_in_it(tmp_path, name):
    run = flexdyn_ros.simulate(flexdyn_ros.load(name), 0.02)
    path = tmp_path / "run.mcap"
    run.to_bag(path)
    found = decoded_alone(path)
    assert set(found["topics"]) >= {"/simulator/state", "/joint_states", "/robot_description"} | ROBOTS[name]
    np.testing.assert_array_equal(found["q"], run.q[-1])
    # the description that is shown has every joint of joint_states, and no other that moves
    assert moving_joints(found["urdf"]) == set(found["joints"])
