"""`hydraulic_actuators` in a process of its own: waits, answers, refuses, stops, resumes, ends."""

import signal

import numpy as np
import pytest

pytestmark = [pytest.mark.ros, pytest.mark.timeout(400)]
pytest.importorskip("rclpy")
pytest.importorskip("flexdyn_interfaces.msg")

from diagnostic_msgs.msg import DiagnosticArray  # noqa: E402
from node_process import Client, NodeProcess  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_srvs.srv import SetBool, Trigger  # noqa: E402

from flexdyn_interfaces.msg import HydraulicCommand, HydraulicState  # noqa: E402
from flexdyn_ros.nodes import doubles  # noqa: E402

NAMES = [f"leg_{i}" for i in range(1, 7)]
HOME = "/hydraulic_actuators"
FORCE, STATE = f"{HOME}/leg_force", f"{HOME}/hydraulic_state"


def legs(length=1.4, stamp=(0, 0), names=NAMES):
    n = len(names)
    message = JointState(name=names, position=[length] * n, velocity=[0.0] * n, effort=[2260.0] * n)
    message.header.stamp.sec, message.header.stamp.nanosec = stamp
    return message


def valves(value):
    return HydraulicCommand(mode=HydraulicCommand.VALVE, values=[value] * 6)


@pytest.fixture
def client():
    with Client("hydraulic_client") as client:
        client.listen(JointState, FORCE)
        client.listen(HydraulicState, STATE)
        client.listen(DiagnosticArray, "/diagnostics")
        yield client


def node(tmp_path, *parameters):
    arguments = ["-p", "description_file:=stewart_1t"]
    for parameter in parameters:
        arguments += ["-p", parameter]
    return NodeProcess("hydraulic_actuators", *arguments, log=tmp_path / "hydraulic_actuators.txt")


def status(client):
    def found():
        message = client.last.get("/diagnostics")
        return message is not None and any(s.name == "hydraulic_actuators: legs" for s in message.status)

    client.last.pop("/diagnostics", None)
    client.until(found, "no diagnostics")
    return next(s for s in client.last["/diagnostics"].status if s.name == "hydraulic_actuators: legs")


def test_the_node_waits_answers_refuses_stops_and_resumes(tmp_path, client):
    with node(tmp_path, "lockstep:=false", "state_timeout:=0.3", "command_timeout:=0.5") as process:
        process.wait_for_text("ready")
        assert status(client).message == "waiting for leg state and command"
        assert client.count.get(FORCE, 0) == 0

        def feed():
            client.publish(JointState, f"{HOME}/leg_state", legs())
            client.publish(HydraulicCommand, f"{HOME}/command", valves(0.2))

        def fed(condition):
            feed()
            return condition()

        client.until(lambda: fed(lambda: client.count.get(FORCE, 0) > 200), "no forces")
        force = client.last[FORCE]
        assert list(force.name) == NAMES
        assert np.isfinite(force.effort).all()
        state = client.last[STATE]
        assert (np.array(state.pressure_bore) > 0.0).all()
        np.testing.assert_allclose(state.stroke, 0.3, atol=1e-12)
        np.testing.assert_allclose(
            np.array(state.force),
            np.array(state.force_hydraulic) - np.array(state.force_friction) + np.array(state.force_stop),
        )

        # malformed
        def send_bad():
            for bad in (legs(float("nan")), legs(3.0), legs(names=NAMES[:3]), JointState()):
                client.publish(JointState, f"{HOME}/leg_state", bad)
            wrong = HydraulicCommand(mode=7, values=[0.0] * 6)
            client.publish(HydraulicCommand, f"{HOME}/command", wrong)

        client.repeat(
            send_bad, lambda: int(value(status(client), "rejected")) >= 2, "nothing was refused", 5.0
        )
        # no leg states any more: no forces, but the state says why
        client.until(lambda: client.last[STATE].flags[0] & HydraulicState.STALE_LEG_STATE, "not stale")
        quiet = {"forces": 0, "since": 0}

        def silent():
            # forces that were sent before may come after states that were sent later
            if client.count[FORCE] != quiet["forces"]:
                quiet.update(forces=client.count[FORCE], since=client.count[STATE])
            return client.count[STATE] > quiet["since"] + 50

        client.until(silent, "forces go on")
        count = client.count[FORCE]
        client.until(lambda: fed(lambda: client.count[FORCE] > count + 20), "did not resume")
        answer = client.call(SetBool, f"{HOME}/enable", data=False)
        assert answer.success
        client.until(lambda: fed(lambda: client.last[STATE].valve_command[0] == 0.0), "valves stay open")
        assert client.call(SetBool, f"{HOME}/enable", data=True).success
        assert client.call(Trigger, f"{HOME}/reset").success
        client.until(lambda: fed(lambda: client.last[STATE].valve_command[0] == 0.2), "did not go on")
        assert process.end(signal.SIGINT) == 0


def has_come(client, before, nanoseconds):
    """Whether a force of this time came after so many others."""
    return client.count.get(FORCE, 0) > before and client.last[FORCE].header.stamp.nanosec == nanoseconds


def value(status, key):
    return next(pair.value for pair in status.values if pair.key == key)


def test_in_lockstep_every_leg_state_gets_one_force_and_a_repeated_one_the_same(tmp_path, client):
    with node(tmp_path, "lockstep:=true") as process:
        process.wait_for_text("ready")
        client.insist(
            HydraulicCommand, f"{HOME}/command", valves(0.1),
            lambda: int(value(status(client), "commands")) > 0, "command not taken",
        )  # fmt: skip
        efforts = []
        for k in (1, 2, 2, 3):
            before = client.count.get(FORCE, 0)
            client.insist(
                JointState, f"{HOME}/leg_state", legs(stamp=(0, k * 1_000_000)),
                lambda n=before, k=k: has_come(client, n, k * 1_000_000), "no force",
            )  # fmt: skip
            efforts.append(client.last[FORCE].effort[0])
        assert efforts[1] == efforts[2]
        assert len(set(efforts)) == 3
        assert process.end(signal.SIGTERM) == 0


def test_a_robot_without_hydraulics_is_refused_and_the_node_stays_alive(tmp_path):
    arguments = ("-p", "description_file:=seven_joint_arm")
    with NodeProcess("hydraulic_actuators", *arguments, log=tmp_path / "refused.txt") as process:
        process.wait_for_text("has no platform with <hydraulics>")
        assert process.alive
        assert process.end(signal.SIGINT) == 0


def test_arrays_of_flags_and_numbers_fit_the_message():
    from hydraulic_cylinders import cylinder

    from flexdyn_ros.multibody.elements.cylinder.hydraulics import Cylinders
    from flexdyn_ros.nodes.ros.conversions import fill_hydraulic_state

    hydraulics = cylinder(6)
    cylinders = Cylinders(hydraulics, hydraulics.initial(np.linspace(0, 60e3, 6)))
    message = HydraulicState(names=NAMES)
    fill_hydraulic_state(message, cylinders)
    assert message.force == doubles(cylinders["force"])
    assert list(message.flags) == [0, 0, 0, 512, 512, 512]
