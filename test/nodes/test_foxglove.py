"""`flexdyn up --foxglove`, seen by a client of its protocol (foxglove.websocket.v1, written out here)."""

import asyncio
import json
import re
import struct
import time
from importlib import import_module
from pathlib import Path

import pytest

pytest.importorskip("rclpy")
pytest.importorskip("flexdyn_interfaces")
pytest.importorskip("foxglove")
websockets = pytest.importorskip("websockets")

from node_process import NodeProcess  # noqa: E402
from rclpy.serialization import deserialize_message  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_msgs.msg import String  # noqa: E402
from tf2_msgs.msg import TFMessage  # noqa: E402
from visualization_msgs.msg import MarkerArray  # noqa: E402

from flexdyn_ros.nodes.topics import TOPICS  # noqa: E402

pytestmark = [pytest.mark.ros, pytest.mark.timeout(400)]
ROOT = Path(__file__).parents[2]
TYPES = {
    "/joint_states": JointState, "/expanded/robot_description": String, "/tf": TFMessage,
    "/tf_static": TFMessage, "/deformation_markers": MarkerArray,
}  # fmt: skip


async def talk(port, *, seconds=30.0):
    """What a client hears: channels and messages by topic, clock, parameters, capabilities."""
    heard = {"channels": {}, "messages": {}, "time": 0, "parameters": {}, "capabilities": []}
    numbers = {}
    address = f"ws://127.0.0.1:{port}"
    # all that comes is taken at once: the server closes the connection of a client that lags behind
    options = {"subprotocols": ["foxglove.sdk.v1"], "max_size": None, "max_queue": None}
    async with websockets.connect(address, **options) as socket:
        end = time.monotonic() + seconds
        asked = False
        while time.monotonic() < end:
            frame = await asyncio.wait_for(socket.recv(), seconds)
            if isinstance(frame, bytes):
                if frame[0] == 1:
                    number, stamp = struct.unpack_from("<IQ", frame, 1)
                    heard["messages"].setdefault(numbers[number], (stamp, frame[13:]))
                elif frame[0] == 2:
                    (heard["time"],) = struct.unpack_from("<Q", frame, 1)
            else:
                message = json.loads(frame)
                if message["op"] == "serverInfo":
                    heard["capabilities"] = message["capabilities"]
                elif message["op"] == "advertise":
                    wanted = []
                    for channel in message["channels"]:
                        heard["channels"][channel["topic"]] = channel
                        numbers[channel["id"]] = channel["topic"]
                        wanted.append({"id": channel["id"], "channelId": channel["id"]})
                    # foxglove-sdk 0.30 may not know a channel yet at the moment that it advertises it
                    await asyncio.sleep(0.3)
                    await socket.send(json.dumps({"op": "subscribe", "subscriptions": wanted}))
                elif message["op"] == "parameterValues":
                    heard["parameters"] |= {x["name"]: x.get("value") for x in message["parameters"]}
            if set(TYPES) <= set(heard["messages"]) and not asked:
                asked = True
                request = {"op": "getParameters", "parameterNames": [], "id": "all"}
                await socket.send(json.dumps(request))
                change = {"name": "/simulator.real_time_factor", "value": 7.0}
                await socket.send(json.dumps({"op": "setParameters", "parameters": [change], "id": "set"}))
            if heard["parameters"] and heard["time"]:
                return heard
    raise AssertionError(
        {key: list(value) if isinstance(value, dict) else value for key, value in heard.items()}
    )


def test_a_client_sees_topics_robot_transforms_markers_and_parameters(tmp_path):
    robot = ("-p", "description_file:=flexible_two_link")
    with (
        NodeProcess("simulator", *robot, log=tmp_path / "simulator.txt") as simulator,
        NodeProcess("state_publisher", *robot, log=tmp_path / "state_publisher.txt") as shown,
        NodeProcess("foxglove", "-p", "foxglove_port:=0", log=tmp_path / "foxglove.txt") as server,
    ):
        # kernels may have to be compiled first
        end, port = time.monotonic() + 300.0, r"ws://127\.0\.0\.1:(\d+)"
        while not (found := re.search(port, server.text())) or not all(
            "ready" in node.text() for node in (simulator, shown)
        ):
            assert time.monotonic() < end, server.text()
            time.sleep(0.1)
        time.sleep(2.0)
        heard = asyncio.run(talk(int(found[1])))
        again = asyncio.run(talk(int(found[1])))
    for topic, kind in TYPES.items():
        channel = heard["channels"][topic]
        assert (channel["encoding"], channel["schemaEncoding"]) == ("cdr", "ros2msg")
        assert channel["schema"]
        # latched topics come to a second client too
        for one in (heard, again):
            assert deserialize_message(one["messages"][topic][1], kind) != kind(), topic
    states = deserialize_message(heard["messages"]["/joint_states"][1], JointState)
    assert {"shoulder", "elbow"} <= set(states.name)
    assert "<robot" in deserialize_message(heard["messages"]["/expanded/robot_description"][1], String).data
    # simulated time, not that of the machine
    assert 0 < heard["time"] < 1000 * 10**9
    # nobody else's parameters: read, and not set
    assert heard["parameters"]["/simulator.description_file"] == "flexible_two_link"
    assert again["parameters"]["/simulator.real_time_factor"] == 1.0
    assert not {"clientPublish", "services"} & set(heard["capabilities"])


def test_the_layout_shows_topics_and_fields_that_there_are():
    layout = json.loads((ROOT / "config" / "foxglove_layout.json").read_text())
    panels = layout["configById"]
    text = json.dumps(layout["layout"])
    assert all(f'"{panel}"' in text for panel in panels)
    named = {one["value"] for panel in panels.values() for one in panel.get("paths", ())}
    named |= {f"{topic}." for topic in panels["3D!robot"]["topics"]}
    named |= {f"{panels['DiagnosticSummary!health']['topicToRender']}."}
    named |= {f"{panels['3D!robot']['layers']['urdf']['topic']}."}
    known = {
        re.sub("^~", f"/{node}", topic.name) if topic.name[0] in "~/" else f"/{topic.name}": topic
        for node in ("simulator", "state_publisher")
        for topic in TOPICS[node]
        if topic.direction == "out"
    }
    for path in named:
        topic, *fields = re.sub(r"\[\d+\]", "", path).rstrip(".").split(".")
        kind = known[topic].message_type
        for field in fields:
            inner = re.sub(r"sequence<|>|\[\d*\]", "", kind.get_fields_and_field_types()[field])
            if "/" in inner:
                package, name = inner.split("/")
                kind = getattr(import_module(f"{package}.msg"), name)
