"""Faults of oil while a node runs: a pump that stops, a cylinder that leaks, by parameters."""

from __future__ import annotations

import numpy as np
import pytest

pytestmark = [pytest.mark.ros, pytest.mark.timeout(300)]
pytest.importorskip("rclpy")
pytest.importorskip("flexdyn_interfaces.srv")

from diagnostic_msgs.msg import DiagnosticArray  # noqa: E402
from node_process import Client, NodeProcess  # noqa: E402
from oil_robots import hanging  # noqa: E402
from rcl_interfaces.srv import SetParametersAtomically  # noqa: E402
from rclpy.parameter import Parameter  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402

import flexdyn_ros  # noqa: E402
from flexdyn_interfaces.msg import ElementStates, HydraulicCommand  # noqa: E402
from flexdyn_ros.errors import StateError, UnknownNameError, UnsupportedError  # noqa: E402
from flexdyn_ros.simulation import FusedHydraulics, Stepper  # noqa: E402

PUMP = '<pump type="constant_pressure" displacement="1.2e-5" speed="157" line_volume="2e-3"/>'
TEXT = hanging(in_supply=PUMP)


def test_leakage_lets_a_load_sink_in_the_library_too():
    robot = flexdyn_ros.load(TEXT)
    stepper = Stepper(robot, 1e-3, "rosenbrock")
    FusedHydraulics(stepper, "valve")
    assert stepper.oil_settings() == ({"oil": 157.0}, {"lift": 0.0})
    assert stepper.advance(200) == 0
    assert abs(stepper.q[0]) < 1e-6
    stepper.set_leakage("lift", 1e-8)
    assert stepper.oil_settings()[1] == {"lift": 1e-8}
    assert stepper.advance(200) == 0
    assert np.isfinite(stepper.q).all()
    assert stepper.q[0] < -1e-3
    with pytest.raises(UnknownNameError, match="lft"):
        stepper.set_leakage("lft", 0.0)
    for wrong in (-1.0, np.nan):
        with pytest.raises(StateError, match="leakage of cylinder 'lift'"):
            stepper.set_leakage("lift", wrong)
    dry = Stepper(flexdyn_ros.load("two_link"), 1e-3)
    assert dry.oil_settings() == ({}, {})
    with pytest.raises(UnsupportedError, match="no cylinders"):
        dry.set_leakage("lift", 0.0)


def test_a_node_takes_faults_tells_them_and_lives(tmp_path):
    urdf = tmp_path / "hanging.urdf"
    urdf.write_text(TEXT)
    base = "/fault/simulator"
    arguments = ["-r", "__ns:=/fault", "-p", f"description_file:={urdf}", "-p", "thread_priority:=0"]
    with (
        Client("fault_client") as client,
        NodeProcess("simulator", *arguments, log=tmp_path / "simulator.txt") as plant,
    ):
        plant.wait_for_text("ready")
        client.listen(JointState, "/fault/joint_states")
        client.listen(DiagnosticArray, "/diagnostics", 100)
        client.listen(ElementStates, f"{base}/element_states")

        def change(name, value):
            parameters = [Parameter(name, value=value).to_parameter_msg()]
            topic = f"{base}/set_parameters_atomically"
            return client.call(SetParametersAtomically, topic, parameters=parameters).result

        def place():
            states = client.next(f"{base}/element_states").values
            assert len(states) == 4
            assert np.isfinite(states).all()
            return client.next("/fault/joint_states").position[0]

        def told(part, text):
            def heard():
                place()
                last = client.last.get("/diagnostics")
                return last is not None and any(
                    s.name.endswith(f"simulator: {part}") and text in s.message for s in last.status
                )

            client.until(heard, f"{part} do not tell {text!r}", 40.0)

        def open_valve(opening, until, what):
            command = HydraulicCommand(names=["lift"], values=[opening])
            client.insist(HydraulicCommand, f"{base}/hydraulic_command", command, until, what, 0.05)

        told("cylinders", "hydraulics fused")
        assert abs(place()) < 1e-4
        assert change("supplies.oil.speed", 0.0).successful
        told("cylinders", "the pump of 'oil' stands still")
        # valves are shut: the load stays though the pump stands still
        assert abs(place()) < 1e-4
        assert change("supplies.oil.speed", 157.0).successful
        # at full speed into the stop, 0.23 m up
        open_valve(1.0, lambda: place() > 0.2295, "does not rise to its stop")
        told("cylinders", "'lift' stands at the end of its stroke")
        wrong = HydraulicCommand(names=["lift"], values=[float("nan")])
        client.publish(HydraulicCommand, f"{base}/hydraulic_command", wrong)
        told("commands", "refused")
        assert change("cylinders.lift.leakage", 1e-8).successful
        told("cylinders", "'lift' leaks 1e-08 m3/(s Pa) to the tank")
        client.until(lambda: place() < -0.01, "the load does not sink", 40.0)
        for value in (-1.0, float("nan")):
            refused = change("cylinders.lift.leakage", value)
            assert not refused.successful
            assert "cylinders.lift.leakage" in refused.reason
        assert np.isfinite(place())
        assert plant.alive
