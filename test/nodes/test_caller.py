"""`flexdyn call`: values in, values out, and complaints that name the field."""

import threading

import pytest

pytestmark = pytest.mark.ros
pytest.importorskip("rclpy")
pytest.importorskip("flexdyn_interfaces.srv")

import rclpy  # noqa: E402
from rclpy.executors import SingleThreadedExecutor  # noqa: E402
from rclpy.parameter import Parameter  # noqa: E402

import flexdyn_ros  # noqa: E402
from flexdyn_interfaces.srv import InverseDynamics, SetState  # noqa: E402
from flexdyn_ros.errors import FlexdynError, UnknownNameError  # noqa: E402
from flexdyn_ros.nodes import (  # noqa: E402
    call,
    fill,
    plain,
)
from flexdyn_ros.nodes.one_shot import types  # noqa: E402


def test_values_go_into_a_request_and_come_back():
    request = InverseDynamics.Request()
    wrench = {"frame": "tool0", "wrench": {"force": {"x": 1, "y": 0.5}}}
    fill(request, {"samples": 2, "names": ["a"], "positions": [1, 2.5], "wrenches": [wrench]})
    values = plain(request)
    assert values["positions"] == [1.0, 2.5]
    assert values["wrenches"][0]["wrench"]["force"] == {"x": 1.0, "y": 0.5, "z": 0.0}
    again = InverseDynamics.Request()
    fill(again, values)
    assert again == request


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"smell": 1}, "smell: no such field"),
        ({"samples": "two"}, "samples is 'two', expected uint32"),
        ({"samples": 1.5}, "samples is 1.5, expected uint32"),
        ({"samples": True}, "samples is True"),
        ({"positions": 1.0}, "positions is 1.0, expected a list"),
        ({"positions": [1.0, "a"]}, r"positions\[1\] is 'a', expected double"),
        ({"wrenches": [3]}, r"wrenches\[0\] is 3, expected a mapping"),
        ({"wrenches": [{"wrench": {"force": {"w": 1}}}]}, r"wrenches\[0\].wrench.force.w: no such field"),
    ],
)
def test_values_that_do_not_fit_are_named(fields, complaint):
    with pytest.raises(ValueError, match=complaint):
        fill(InverseDynamics.Request(), fields)


def test_every_service_is_known_by_its_name():
    assert types()["set_dynamics_state"] is SetState
    assert {"mass_matrix", "inverse_dynamics", "list_robots", "step", "reset", "enable"} <= set(types())
    with pytest.raises(UnknownNameError, match="mass_matrx"):
        call("mass_matrx", {})
    with pytest.raises(FlexdynError, match="no service /nobody/dynamics_server/list_robots"):
        call("list_robots", {}, namespace="nobody", timeout=0.2)


def test_a_server_is_asked(capsys, monkeypatch):
    from typer.testing import CliRunner

    from flexdyn_ros.cli import app
    from flexdyn_ros.nodes import DynamicsServer

    rclpy.init()
    server = DynamicsServer(
        namespace="asked", parameter_overrides=[Parameter("description_file", value="seven_joint_arm")]
    )
    executor = SingleThreadedExecutor()
    executor.add_node(server)
    thread = threading.Thread(target=executor.spin, daemon=True)
    thread.start()
    try:
        answer = call(
            "compute_energy", {"samples": 1, "positions": [0.0] * 7, "velocities": [0.0] * 7}, "asked", 60.0
        )
        robot = flexdyn_ros.load("seven_joint_arm")
        energy = robot.energy(robot.neutral(), [0.0] * 7)
        assert answer["gravity"] == [pytest.approx(energy.gravity, rel=1e-14)]
        asked = ["--namespace", "asked", "--timeout", "60"]
        shown = CliRunner().invoke(app, ["call", "list_robots", *asked])
        assert shown.exit_code == 0
        assert "names: [seven_joint_arm]" in shown.stdout
        # as many samples as there are positions, of the robot's order or of the names that are given
        for fields in (
            {"positions": [0.0] * 21},
            {"positions": [0.1] * 14, "names": list(reversed(robot.q_names))},
            {"positions": [0.0] * 7},
        ):
            given = len(fields["positions"]) // 7
            answer = call("mass_matrix", fields, "asked", 60.0)
            assert answer["success"], answer["message"]
            assert len(answer["values"]) == given * 49
            moved = call("bias_forces", {**fields, "velocities": [0.0] * 7 * given}, "asked", 60.0)
            assert len(moved["values"]) == given * 7
        odd = call("mass_matrix", {"positions": [0.0] * 8}, "asked", 60.0)
        assert not odd["success"]
        assert "positions" in odd["message"]
        refused = CliRunner().invoke(app, ["call", "mass_matrix", "{samples: 1, positions: [1]}", *asked])
        assert refused.exit_code == 1
        assert "success: false" in refused.stdout
    finally:
        executor.shutdown()
        thread.join(10.0)
        server.destroy_node()
        rclpy.try_shutdown()
