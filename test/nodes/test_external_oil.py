"""Oil of trees in a process of its own: by names of cylinders, beside joints, in lockstep, on record."""

import signal

import numpy as np
import pytest

pytestmark = [pytest.mark.ros, pytest.mark.timeout(400)]
pytest.importorskip("rclpy")
pytest.importorskip("flexdyn_interfaces.srv")

from node_process import Client, NodeProcess  # noqa: E402
from oil_robots import hanging  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_srvs.srv import SetBool, Trigger  # noqa: E402

import flexdyn_ros  # noqa: E402
from flexdyn_interfaces import srv  # noqa: E402
from flexdyn_interfaces.msg import HydraulicCommand, HydraulicState  # noqa: E402
from flexdyn_ros.nodes.simulator.cylinders import ExternalTopics  # noqa: E402
from flexdyn_ros.nodes.simulator.extra import Setting  # noqa: E402
from flexdyn_ros.simulation import FusedHydraulics, Stepper  # noqa: E402
from flexdyn_ros.simulation.live.command_buffer import CommandBuffer, CommandError  # noqa: E402
from flexdyn_ros.simulation.live.external_drive import ExternalDrive  # noqa: E402
from flexdyn_ros.simulation.live.simulation import Driven, Simulation, default_gains  # noqa: E402

SPACE = "/boomed"
AT = f"{SPACE}/hydraulic_actuators"


class Pair:
    """Both nodes of a robot, stepped, beside the same robot with its cylinders in the compiled steps."""

    def __init__(self, client, tmp_path, name, *more):
        file = ["-r", f"__ns:={SPACE}", "-p", f"description_file:={name}"]
        own = ["-p", "hydraulics:=external", "-p", "start_paused:=true", "-p", "method:=rk4", *more]
        wired = ["-p", "command_timeout:=3600.0", "-r", "~/leg_state:=leg_states"]
        wired += ["-r", "~/leg_force:=joint_commands"]
        log = tmp_path / "simulator.txt"
        self.plant = NodeProcess("simulator", *file, *own, "-r", "/clock:=clock", log=log)
        self.oil = NodeProcess("hydraulic_actuators", *file, *wired, log=tmp_path / "oil.txt")
        self.client, robot = client, flexdyn_ros.load(name)
        self.stepper = Stepper(robot, 1e-3, "rk4")
        self.fused = FusedHydraulics(self.stepper, "valve")

    def __enter__(self):
        for node in (self.plant, self.oil):
            node.__enter__()
            node.wait_for_text("ready")
        return self

    def __exit__(self, *what):
        self.plant.__exit__(*what)
        self.oil.__exit__(*what)

    def taken(self):
        """Commands and states of cylinders that the oil has taken."""
        words = self.client.call(SetBool, f"{AT}/enable", data=True).message.split("; ")[1].split(" ")
        return int(words[0]), int(words[3])

    def command(self, message):
        before = self.taken()[0]
        self.client.insist(
            HydraulicCommand, f"{AT}/command", message, lambda: self.taken()[0] > before, "not taken", 5.0
        )

    def step(self, n):
        answer = self.client.call(srv.Step, f"{SPACE}/simulator/step", steps=n)
        assert answer.success, answer.message
        return answer.state


@pytest.fixture
def client():
    with Client("external_oil_client") as client:
        yield client


@pytest.mark.parametrize("name", ["boom"])
def test_nodes_in_lockstep_equal_the_fused_run_and_record_pressures(tmp_path, client, name):
    file = tmp_path / "run.mcap"
    with Pair(client, tmp_path, name, "-p", f"record_file:={file}") as pair:
        names, stepper = pair.fused.hydraulics.names, pair.stepper
        client.listen(HydraulicState, f"{AT}/hydraulic_state")
        openings = np.array([0.3, -0.2, 0.1])
        # by names, in another order
        pair.command(HydraulicCommand(names=names[::-1], values=openings[::-1].tolist()))
        state = pair.step(300)
        pair.fused.command(openings)
        stepper.advance(300)
        places = np.array([*stepper.q])
        np.testing.assert_allclose(state.positions, places, rtol=0.0, atol=1e-9)
        np.testing.assert_allclose(
            np.array(state.efforts)[-3:], stepper.effort[-3:], rtol=1e-9, atol=0.0
        )
        assert abs(places - stepper.robot.neutral()).max() > 0.01
        client.until(lambda: pair.taken()[1] == 301, "the last state is not answered")
        # the node is one tick ahead: it has answered the state that the simulator has now
        stepper.advance(1)
        client.until(
            lambda: client.last[f"{AT}/hydraulic_state"].header.stamp.nanosec == 300_000_000, "no pressures"
        )
        seen = client.last[f"{AT}/hydraulic_state"]
        np.testing.assert_allclose(seen.pressure_bore, pair.fused.cylinders["pressure_bore"], rtol=1e-9)
        assert pair.oil.end(signal.SIGINT) == 0
        assert pair.plant.end(signal.SIGINT) == 0
    from rosbags.highlevel import AnyReader
    from rosbags.typesys import Stores, get_typestore

    with AnyReader([file], default_typestore=get_typestore(Stores.ROS2_JAZZY)) as reader:
        counts = {c.topic: c.msgcount for c in reader.connections}
    assert counts[f"{AT}/hydraulic_state"] >= 300
    assert counts[f"{SPACE}/leg_states"] >= 300
    assert f"{SPACE}/simulator/element_states" not in counts
