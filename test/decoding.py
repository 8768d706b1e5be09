"""Recordings decoded by a process without this library and without ROS, as Foxglove and PlotJuggler do."""

import json
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import pytest

#: decodes a file by its own schemas and tells last numbers; imports of ours and of ROS are refused
READER = """
import json, sys

class Refusal:
    def find_spec(self, name, path=None, target=None):
        assert name.split(".")[0] not in REFUSED, name

REFUSED = {"flexdyn_ros", "flexdyn_interfaces", "rclpy", "rosidl_parser", "rosbags", "sensor_msgs"}
sys.meta_path.insert(0, Refusal())
from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory

found = {"topics": {}, "schemas": {}}
with open(sys.argv[1], "rb") as file:
    reader = make_reader(file, validate_crcs=True, decoder_factories=[DecoderFactory()])
    summary = reader.get_summary()
    found["profile"] = reader.get_header().profile
    for schema, channel, message, decoded in reader.iter_decoded_messages():
        found["schemas"][schema.name] = schema.encoding
        found["topics"].setdefault(channel.topic, [channel.message_encoding, 0])[1] += 1
        if channel.topic == "/simulator/state":
            found["q"] = list(decoded.positions)
        if channel.topic == "/joint_states":
            found["joints"] = list(decoded.name)
        if channel.topic == "/expanded/robot_description":
            found["urdf"] = decoded.data
    found["count"] = summary.statistics.message_count
print(json.dumps(found))
"""


def decoded_alone(path):
    """What a recording says by its own schemas: topics with encodings and counts, last state, description."""
    pytest.importorskip("mcap_ros2.reader")
    answer = subprocess.run(
        [sys.executable, "-I", "-c", READER, str(path)], capture_output=True, text=True, timeout=60
    )
    assert answer.returncode == 0, answer.stderr
    found = json.loads(answer.stdout)
    assert found["profile"] == "ros2"
    assert set(found["schemas"].values()) == {"ros2msg"}
    assert {encoding for encoding, _ in found["topics"].values()} == {"cdr"}
    assert sum(count for _, count in found["topics"].values()) == found["count"]
    return found


def moving_joints(urdf):
    """Names of the joints of a description that joint_states must tell."""
    joints = ElementTree.fromstring(urdf).findall("joint")
    return {joint.get("name") for joint in joints if joint.get("type") not in ("fixed", "floating")}
