"""A description that attacks a node is refused in time; the node stays alive, unconfigured, and obeys
SIGINT."""

import json
import os
import signal
import time
from pathlib import Path

import hostile
import pytest
import yaml

pytestmark = [pytest.mark.ros, pytest.mark.timeout(400)]
pytest.importorskip("rclpy")
pytest.importorskip("flexdyn_interfaces.srv")

from lifecycle_msgs.msg import State, Transition  # noqa: E402
from lifecycle_msgs.srv import ChangeState, GetState  # noqa: E402
from node_process import Client, NodeProcess  # noqa: E402
from std_msgs.msg import String  # noqa: E402

from flexdyn_ros.nodes.topics import LATCHED  # noqa: E402

#: of the processor of the node: reception of megabytes, and whatever a busy machine does meanwhile, included
SECONDS = 2.0
PENDULUM = (Path(__file__).parents[1] / "description" / "pendulum.urdf").read_text()


def attacks(marker):
    """Texts and the words of their refusal."""
    expression = "xacro runs only on files"
    found = {
        name: (hostile.robot(body.format(marker=marker)), expression)
        for name, body in hostile.EXPRESSIONS.items()
    }
    for name, text in hostile.DOCUMENT_TYPES.items():
        found[name] = (text.replace("SECRET", "file:///etc/hostname"), "entity declarations are not accepted")
    found["450,000 links"] = (hostile.LARGE["450,000 links without joints"](), "450001 links")
    found["a name of a file"] = ("/etc/hostname", "not the text of a description")
    found["a name of a robot"] = ("canadarm2", "not the text of a description")
    found["a file of blocks"] = (
        PENDULUM.replace("</robot>", '<flexdyn file="/etc/hostname"/></robot>'),
        "outside packages",
    )
    found["a file out of a package"] = (
        PENDULUM.replace("</robot>", '<flexdyn file="package://flexdyn_ros/../../etc/hostname"/></robot>'),
        "not the name of a file in a package",
    )
    return found


def processor_time(node):
    """Seconds that a process has used of the processor."""
    fields = Path(f"/proc/{node.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_a_node_outlives_every_attack_on_its_topic(tmp_path):
    marker = tmp_path / "marker"
    log = tmp_path / "log.txt"
    arguments = ["-r", "__ns:=/attacked", "-p", "autostart:=false"]
    os.environ["FLEXDYN_SECRET"] = "unheard-of"
    try:
        with NodeProcess("state_publisher", *arguments, log=log) as node, Client() as client:
            publisher = client.node.create_publisher(String, "/attacked/robot_description", LATCHED)

            def state():
                return client.call(GetState, "/attacked/state_publisher/get_state").current_state.id

            assert state() == State.PRIMARY_STATE_UNCONFIGURED
            configure = Transition(id=Transition.TRANSITION_CONFIGURE)
            for name, (text, words) in attacks(marker).items():
                publisher.publish(String(data=text))
                said, used = len(node.text()), processor_time(node)
                answer = client.call(
                    ChangeState, "/attacked/state_publisher/change_state", transition=configure
                )
                used = processor_time(node) - used
                assert not answer.success, name
                assert words in node.text()[said:], name
                assert "Traceback" not in node.text()[said:], name
                assert used < SECONDS, f"{name}: {used} s"
                assert state() == State.PRIMARY_STATE_UNCONFIGURED
            assert not marker.exists()
            assert "unheard-of" not in node.text()
            publisher.publish(String(data=PENDULUM))
            assert client.call(
                ChangeState, "/attacked/state_publisher/change_state", transition=configure
            ).success
            assert node.end(signal.SIGINT) == 0
    finally:
        del os.environ["FLEXDYN_SECRET"]


def test_a_parameter_is_text_too_and_its_attack_leaves_the_server_alive(tmp_path):
    marker = tmp_path / "marker"
    body = hostile.EXPRESSIONS["a shell by a chain of attributes in a lambda"].format(marker=marker)
    parameters = tmp_path / "parameters.yaml"
    content = {"/**": {"ros__parameters": {"robot_description": hostile.robot(body)}}}
    parameters.write_text(yaml.safe_dump(content, width=10_000))
    with NodeProcess("dynamics_server", "--params-file", str(parameters), log=tmp_path / "log.txt") as node:
        node.wait_for_text("cannot configure")
        node.wait_for_text("xacro runs only on files", timeout=10.0)
        assert node.alive
        assert node.end(signal.SIGINT) == 0
    assert not marker.exists()


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="processes are found in /proc")
def test_a_node_that_waits_for_xacro_obeys_sigint_and_leaves_no_process(tmp_path):
    file = tmp_path / "robot.xacro"
    file.write_text(hostile.robot('<link name="${9**9**9}"/>'))
    arguments = ["-p", f"description_file:={json.dumps(str(file))}"]
    with NodeProcess("state_publisher", *arguments, log=tmp_path / "log.txt") as node:
        deadline = time.monotonic() + 120.0
        while not (children := expanding(node.process.pid)):
            assert node.alive, node.text()
            assert time.monotonic() < deadline, "no process that expands"
            time.sleep(0.02)
        assert node.end(signal.SIGINT, timeout=20.0) == 0
        deadline = time.monotonic() + 5.0
        while any(is_running(child) for child in children):
            assert time.monotonic() < deadline, "the process that expands outlives its node"
            time.sleep(0.02)


def expanding(parent):
    """Processes of ours that a process has started."""
    found = []
    for children in Path(f"/proc/{parent}/task").glob("*/children"):
        try:
            found += [int(number) for number in children.read_text().split()]
        except OSError:
            continue
    return [number for number in found if is_running(number)]


def is_running(number):
    try:
        return b"xacro_child.py" in Path(f"/proc/{number}/cmdline").read_bytes()
    except OSError:
        return False
