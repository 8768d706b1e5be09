"""A soft arm in the simulator, without ROS running: forces, pressures, servos, deflections."""

import numpy as np
import pytest
from soft_arms import chain

pytestmark = pytest.mark.ros
pytest.importorskip("sensor_msgs.msg")

from sensor_msgs.msg import JointState  # noqa: E402
from std_msgs.msg import Float64MultiArray  # noqa: E402

import flexdyn_ros  # noqa: E402
from flexdyn_ros.nodes.ros.conversions import deflection_message  # noqa: E402
from flexdyn_ros.nodes.simulator.extras import Pressures  # noqa: E402
from flexdyn_ros.simulation.live.command_buffer import CommandBuffer, CommandError  # noqa: E402
from flexdyn_ros.simulation.live.simulation import Simulation, default_gains  # noqa: E402

AREA = 1e-4


@pytest.fixture(scope="module")
def robot():
    section = 'preset="bai2022" length="0.15"'
    text = chain(2, section, "0 0 9.81")
    driven = f'{section}><pressure area="{AREA}" maximum="4e5"/></section>'
    return flexdyn_ros.load(text.replace(f"{section}/>", driven))


def simulation(robot):
    buffer = CommandBuffer(robot, timeout=0.0)
    q0 = robot.neutral()
    k, d = default_gains(robot, q0)
    settings = {"dt": 1e-3, "method": "auto", "limits": "spring", "saturate": True}
    return Simulation(robot, buffer, q0, np.zeros(robot.nv), k, d, **settings)


def run(s, seconds):
    for _ in range(round(seconds / 1e-3)):
        assert s.tick(1)


def test_pressures_bring_the_arm_where_their_forces_hold_it(robot):
    s, pressures = simulation(robot), Pressures(robot)
    wanted = np.array([1.5e5, 2.5e5, 1.2e5, 1.1e5, 3.0e5, 2.0e5])
    pressures.take(Float64MultiArray(data=wanted.tolist()), s)
    # the slowest mode, 2 Hz, dies out with 0.75 1/s
    for _ in range(1000):
        assert s.tick(20)
    tau = AREA * (wanted - 101325.0)
    rest = robot.static_equilibrium(tau=tau)
    np.testing.assert_allclose(s.stepper.effort, tau, rtol=1e-12)
    np.testing.assert_allclose(s.stepper.q, rest.q, atol=2e-5)
    np.testing.assert_allclose(robot.pressures(rest.q, tau), wanted, rtol=1e-12)


def test_pressures_are_held_to_what_the_supply_can_do(robot):
    forces = Pressures(robot).forces(Float64MultiArray(data=[9e5, -1.0, 1e5, 1e5, 1e5, 1e5]))
    assert forces[0] == pytest.approx(AREA * (4e5 - 101325.0))
    assert forces[1] == pytest.approx(-AREA * 101325.0)


@pytest.mark.parametrize("data", [[], [1e5] * 5, [1e5, np.nan, 1e5, 1e5, 1e5, 1e5]])
def test_malformed_pressures_are_refused_whole_and_counted(robot, data):
    s, pressures = simulation(robot), Pressures(robot)
    with pytest.raises(CommandError, match="expected"):
        pressures.take(Float64MultiArray(data=data), s)
    assert s.buffer.rejected == 1
    run(s, 0.01)
    assert not s.stepper.effort.any()


def test_a_payload_leaves_the_pressures_of_a_lagging_supply_as_they_are():
    section = 'preset="bai2022" length="0.15"'
    supply = f'{section}><pressure area="{AREA}" time_constant="0.5"/></section>'
    arm = flexdyn_ros.load(chain(1, section, "0 0 9.81").replace(f"{section}/>", supply))
    s, pressures = simulation(arm), Pressures(arm)
    pressures.take(Float64MultiArray(data=[2e5, 1.5e5, 1.2e5]), s)
    run(s, 0.2)
    before = s.stepper.effort.copy()
    assert before.min() > 0.1
    s.set_payload("link_1", 0.1, np.zeros(3), None)
    run(s, 0.001)
    np.testing.assert_allclose(s.stepper.effort, before, rtol=0.02)


def test_actuators_take_position_commands_by_name(robot):
    s = simulation(robot)
    s.buffer.take_joint_state(JointState(name=list(robot.v_names), position=[0.01] * 6), 0.0, 0.0)
    run(s, 3.0)
    assert np.abs(s.stepper.q - 0.01).max() < 2e-3


def test_deflections_of_all_sections_are_published(robot):
    found = robot.deflections(np.array([0.0, 0.01, 0.02, 0.0, 0.02, 0.0]))
    message = deflection_message(robot, found)
    assert [link.link for link in message.links] == ["section_1", "section_2"]
    assert all(len(link.stations) == 21 for link in message.links)
