"""Recordings say everything themselves: no library and no ROS is needed to decode them."""

import numpy as np
import pytest
from decoding import decoded_alone, moving_joints
from oil_robots import hanging

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
#: what is measured of a cylinder, as HydraulicState.msg has it
MEASURED = (
    "pressure_bore", "pressure_rod", "force", "spool", "force_hydraulic", "force_friction", "force_stop",
    "flow_bore", "flow_rod", "valve_command", "stroke",
)  # fmt: skip


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


def test_a_recording_of_cylinders_has_their_states_by_name(tmp_path):
    highlevel = pytest.importorskip("rosbags.highlevel")
    robot = flexdyn_ros.load(hanging(second_mass=100.0))
    opened = {"lift/valve": 0.3, "second_lift/valve": -0.2}
    run = flexdyn_ros.simulate(robot, 0.02, control=opened, record=("energy", "hydraulics"), dt=1e-3)
    run.to_bag(tmp_path / "run.mcap")
    with highlevel.AnyReader([tmp_path / "run.mcap"]) as reader:
        messages = [
            reader.deserialize(raw, connection.msgtype)
            for connection, _, raw in reader.messages()
            if connection.topic == "/simulator/hydraulic_state"
        ]
    assert len(messages) == run.t.size
    assert {tuple(message.names) for message in messages} == {("lift", "second_lift")}
    stamps = [message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec for message in messages]
    np.testing.assert_allclose(stamps, run.t, atol=1e-9)
    # forces, pressures and openings are as they were, each where its name says
    for name in MEASURED:
        found = np.array([getattr(message, name) for message in messages])
        np.testing.assert_array_equal(found, getattr(run.hydraulics, name), name)
    flags = np.array([message.flags for message in messages])
    np.testing.assert_array_equal(flags, run.hydraulics.flags)
    assert len(np.unique([getattr(run.hydraulics, name)[-1] for name in MEASURED[:4]])) == 8
