"""The simulator with a tree whose cylinders oil drives: valve commands, forces, shut valves, faults."""

from __future__ import annotations

import numpy as np
import pytest

pytestmark = [pytest.mark.ros, pytest.mark.timeout(400)]
pytest.importorskip("rclpy")
pytest.importorskip("flexdyn_interfaces.srv")

from diagnostic_msgs.msg import DiagnosticArray  # noqa: E402
from node_process import Client, NodeProcess  # noqa: E402
from oil_robots import HANGING, hanging  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_srvs.srv import Trigger  # noqa: E402

import flexdyn_ros  # noqa: E402
from flexdyn_interfaces import srv  # noqa: E402
from flexdyn_interfaces.msg import HydraulicCommand, HydraulicState  # noqa: E402
from flexdyn_ros.simulation.live.command_buffer import CommandBuffer  # noqa: E402
from flexdyn_ros.simulation.live.hydraulic_inputs import (  # noqa: E402
    HydraulicSetpoint,
    InputError,
    ranges_of,
    read_command,
)
from flexdyn_ros.simulation.live.oil_drive import OilDrive  # noqa: E402
from flexdyn_ros.simulation.live.simulation import Driven, Simulation, default_gains  # noqa: E402


@pytest.fixture
def simulation():
    robot = flexdyn_ros.load(HANGING)
    q = robot.neutral()
    gains = default_gains(robot, q)
    buffer = CommandBuffer(Driven.of(robot), (), "effort", 0.1, "hold", False, "zero", False)
    drive = OilDrive(robot, *gains, 0.1)
    return Simulation(robot, buffer, q, np.zeros(1), *gains, drive, dt=1e-3)


def test_without_a_command_the_valves_hold(simulation):
    for _ in range(200):
        assert simulation.tick(5)
    assert simulation.stepper.method == "rosenbrock"
    assert abs(simulation.stepper.q[0]) < 1e-6


def test_a_command_of_valves_moves_and_a_stale_one_shuts_them(simulation):
    setpoint = HydraulicSetpoint(force=False, values=np.array([0.4]))
    simulation.drive.take_setpoint(setpoint, simulation.stepper.t, np.inf)
    for _ in range(60):
        simulation.tick(1)
    assert simulation.stepper.v[0] > 0.05
    assert not simulation.drive.stale
    # old by both clocks
    simulation.drive.take_setpoint(setpoint, simulation.stepper.t - 1.0, 0.0)
    places = []
    for _ in range(500):
        simulation.tick(1)
        places.append(simulation.stepper.q[0])
    assert simulation.drive.stale
    assert simulation.drive.fused.state().valve_command[0] == 0.0
    # it swings on its oil, and goes nowhere
    assert np.ptp(places[100:]) < 1e-3


def test_commands_name_some_of_the_cylinders_and_mean_forces_or_openings():
    robot = flexdyn_ros.load(hanging(second_mass=100.0))
    gains = default_gains(robot, robot.neutral())
    buffer = CommandBuffer(Driven.of(robot), (), "effort", 0.1, "hold", False, "zero", False)
    drive = OilDrive(robot, *gains, 0.1)
    both = Simulation(robot, buffer, robot.neutral(), np.zeros(2), *gains, drive, dt=1e-3)
    ranges = ranges_of(robot.hydraulics, np.inf)
    opened = read_command(HydraulicCommand(names=["second_lift"], values=[0.3]), ranges, partial=True)
    np.testing.assert_array_equal(opened.values, [np.nan, 0.3])
    asked = HydraulicCommand(mode=HydraulicCommand.FORCE, names=["lift"], values=[3100.0])
    drive.take_setpoint(opened, 0.0, np.inf)
    for _ in range(50):
        both.tick(1)
    # one moves, the other holds
    assert both.stepper.v[1] > 0.05
    assert abs(both.stepper.q[0]) < 1e-6
    for k in range(150):
        drive.take_setpoint(read_command(asked, ranges, partial=True), both.stepper.t, np.inf)
        both.tick(1)
        if k == 20:
            assert drive.fused.mode == ("force", "valve")
    assert both.stepper.effort[2] == pytest.approx(3100.0, rel=0.05)
    # one is old by both clocks, the other is not
    drive.take_setpoint(opened, both.stepper.t - 1.0, 0.0)
    both.tick(1)
    assert drive.stale == ("second_lift",)
    assert any("closed of second_lift" in text for text in drive.remarks(both.stepper))
    with pytest.raises(InputError, match="lacks lift"):
        read_command(HydraulicCommand(names=["second_lift"], values=[0.3]), ranges)
    for names in (["second_lift", "second_lift"], ["lft"]):
        wrong = HydraulicCommand(names=names, values=[0.1] * len(names))
        with pytest.raises(InputError, match="names has"):
            read_command(wrong, ranges, partial=True)


def test_efforts_of_the_buffer_are_forces_that_the_cylinder_controls(simulation):
    stepper = simulation.stepper
    command = JointState(name=["lift"], effort=[3100.0])
    for _ in range(200):
        simulation.buffer.take_joint_state(command, stepper.t, 0.0)
        simulation.tick(1)
    force = stepper.effort[1]
    assert force == pytest.approx(3100.0, rel=0.05)
    assert stepper.v[0] > 0.0


def test_another_payload_and_another_state_keep_the_oil_in_use(simulation):
    simulation.set_payload("load", 100.0, np.zeros(3), None)
    for _ in range(100):
        assert simulation.tick(1)
    assert simulation.drive.fused.mode == "valve"
    assert abs(simulation.stepper.q[0]) < 2e-4
    simulation.set_state(np.array([0.05]), np.zeros(1))
    for _ in range(100):
        assert simulation.tick(1)
    assert abs(simulation.stepper.q[0] - 0.05) < 1e-6


def test_the_node_takes_hydraulic_commands_by_name(tmp_path):
    urdf = tmp_path / "hanging.urdf"
    urdf.write_text(HANGING)
    base = "/oil/simulator"
    arguments = ["-r", "__ns:=/oil", "-p", f"description_file:={urdf}", "-p", "thread_priority:=0"]
    arguments += ["-p", "start_paused:=true"]
    with (
        Client("oil_client") as client,
        NodeProcess("simulator", *arguments, log=tmp_path / "simulator.txt") as plant,
    ):
        client.listen(DiagnosticArray, "/diagnostics")
        client.listen(HydraulicState, f"{base}/hydraulic_state")
        client.listen(JointState, "/oil/joint_states")
        plant.wait_for_text("ready")
        heard = lambda: {f"{base}/hydraulic_state", "/oil/joint_states"} <= set(client.last)  # noqa: E731
        client.repeat(lambda: client.call(srv.Step, f"{base}/step", steps=1), heard, "no state")
        assert list(client.last[f"{base}/hydraulic_state"].names) == ["lift"]
        assert client.call(Trigger, f"{base}/resume").success

        def place():
            return client.next("/oil/joint_states").position[0]

        assert abs(place()) < 1e-4
        opened = HydraulicCommand(names=["lift"], values=[0.4])
        client.insist(
            HydraulicCommand, f"{base}/hydraulic_command", opened, lambda: place() > 0.02, "no rise", 0.05
        )
        closed = lambda: client.next(f"{base}/hydraulic_state").valve_command[0] == 0.0  # noqa: E731
        client.until(closed, "valves stay open")
        # what is no cylinder, or no number, is refused, and the node lives
        for name, value in (("lft", 0.1), ("lift", float("nan"))):
            wrong = HydraulicCommand(names=[name], values=[value])
            client.publish(HydraulicCommand, f"{base}/hydraulic_command", wrong)
        plant.wait_for_text("lft")
        assert np.isfinite(client.next(f"{base}/hydraulic_state").pressure_bore).all()
        assert plant.alive
