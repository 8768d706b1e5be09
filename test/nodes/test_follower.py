"""The follower: states of a simulator reach a function, and the viewer shows them."""

import time

import numpy as np
import pytest

pytestmark = [pytest.mark.ros, pytest.mark.timeout(400)]
pytest.importorskip("rclpy")
pytest.importorskip("flexdyn_interfaces.msg")

from node_process import NodeProcess  # noqa: E402
from pendulums import double_pendulum, wheel  # noqa: E402

import flexdyn_ros  # noqa: E402
from flexdyn_ros.nodes import Follower  # noqa: E402


@pytest.fixture
def simulator(tmp_path):
    (tmp_path / "pendulum.urdf").write_text(double_pendulum().description.text)
    arguments = ["-r", "__ns:=/lab", "-p", f"description_file:={tmp_path / 'pendulum.urdf'}"]
    arguments += ["-p", "initial.positions.shoulder:=0.7", "-p", "on_stale_command:=zero"]
    with NodeProcess("simulator", *arguments, log=tmp_path / "simulator.txt") as node:
        node.wait_for_text("ready")
        yield node


def test_states_come_until_it_is_closed_and_others_are_passed_over(simulator):
    heard, others = [], []
    follower = Follower(double_pendulum(), lambda *state: heard.append(state), "lab")
    stranger = Follower(wheel(), lambda *state: others.append(state), "lab")
    deadline = time.monotonic() + 120.0
    while len(heard) < 20:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    follower.close()
    stranger.close()
    t = np.array([state[0] for state in heard])
    assert np.all(np.diff(t) > 0.0)
    q, v, tau, states = heard[-1][1:]
    assert states == {}
    assert (q.shape, v.shape, tau.shape) == ((2,), (2,), (2,))
    assert any(not np.array_equal(state[1], heard[0][1]) for state in heard)
    assert not others
    known = len(heard)
    time.sleep(0.5)
    assert len(heard) == known


def test_states_of_elements_come_with_them(tmp_path):
    robot, heard = flexdyn_ros.load("boom"), []
    arguments = ["-r", "__ns:=/crane", "-p", "description_file:=boom"]
    with NodeProcess("simulator", *arguments, log=tmp_path / "simulator.txt") as node:
        node.wait_for_text("ready")
        follower = Follower(robot, lambda *state: heard.append(state[4]), "crane")
        deadline = time.monotonic() + 120.0
        while not heard or not heard[-1]:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        follower.close()
    assert set(heard[-1]) == {state.name for state in robot.element_states}
    # a load-sensing pump stands by at its margin over the tank; the boom swings a little on shut valves
    assert heard[-1]["oil/pressure"] == pytest.approx(23e5, rel=0.01)
    assert 50e5 < heard[-1]["lift_cylinder/pressure_bore"] < 270e5
