"""A robot that moves while knobs are turned: it goes where it is told, with the load and stiffness that are
set."""

import numpy as np
import pytest
from machines import Q, four_bar_urdf
from soft_arms import chain

import flexdyn_ros
from flexdyn_ros.view.drive import DAMPING, PACE, Drive


def run(drive, seconds):
    for _ in range(round(seconds / 0.04)):
        state = drive.advance(0.04)
    return state


def test_a_joint_goes_to_its_target_and_others_stay():
    robot = flexdyn_ros.load("flexible_two_link")
    drive = Drive(robot, robot.neutral())
    drive.set_target(robot.effort_names.index("elbow"), 0.5)
    q, v, _ = run(drive, 6.0)
    shoulder, elbow = (robot.q_names.index(name) for name in ("shoulder", "elbow"))
    assert q[elbow] == pytest.approx(0.5, abs=0.01)
    assert q[shoulder] == pytest.approx(0.0, abs=0.01)
    assert np.abs(v).max() < 0.05
    assert drive.t == pytest.approx(6.0)


def test_payload_and_stiffness_sag_as_statics_says():
    robot = flexdyn_ros.load("canadarm2")
    start = robot.static_equilibrium(robot.neutral(), hold="joints").q
    drive = Drive(robot, start)
    drive.set_payload(200.0)
    drive.set_stiffness(0.5)
    assert drive.robot.mass == pytest.approx(robot.mass + 200.0)
    run(drive, 20.0)
    # the mean of a slow vibration; under these joint angles statics finds the equilibrium by itself
    q = np.mean([drive.advance(0.04)[0] for _ in range(1000)], axis=0)
    expected = drive.robot.static_equilibrium(q, hold="joints").q
    tip = [drive.robot.frames(x, "tool0")[:3, 3] for x in (q, expected, start)]
    assert np.linalg.norm(tip[0] - tip[1]) < 0.05 * np.linalg.norm(tip[1] - tip[2])
    rigid = {n: 0.5 * p.value for n, p in ((p.name, p) for p in robot.parameters) if n.endswith("EIy")}
    assert {p.name: p.value for p in drive.robot.parameters if p.name in rigid} == rigid


def test_pressures_that_lag_stay_when_the_payload_changes():
    pressure = '<pressure area="1e-4" time_constant="0.5" maximum="4e5"/>'
    text = chain(1, 'preset="bai2022" length="0.15"', "0 0 -9.81")
    robot = flexdyn_ros.load(text.replace('length="0.15"/>', f'length="0.15">{pressure}</section>'))
    drive = Drive(robot, np.full(3, 0.002))
    run(drive, 0.4)
    before = drive._stepper.states
    assert np.abs(before - robot.rest_states(robot.neutral())).max() > 1e3
    drive.set_payload(0.05)
    np.testing.assert_allclose(drive._stepper.states, before, rtol=1e-14)


def test_an_open_valve_lets_a_leg_out_and_a_closed_one_holds():
    robot = flexdyn_ros.load("stewart_1t")
    drive = Drive(robot, robot.neutral())
    before = robot.inverse_kinematics(robot.neutral()).length
    q, _, _ = run(drive, 1.0)
    np.testing.assert_allclose(robot.inverse_kinematics(q).length, before, atol=2e-3)
    drive.set_target(2, 0.3)
    q, _, _ = run(drive, 0.5)
    moved = robot.inverse_kinematics(q).length - before
    assert moved[2] > 0.01
    assert np.abs(np.delete(moved, 2)).max() < 0.3 * moved[2]
    assert drive.cylinders.shape == (6, 2)
    assert np.all(drive.cylinders > 0.0)


@pytest.mark.parametrize("name", ["seven_joint_arm", "mobile_arm", "soft_arm_3", "stewart_electric"])
def test_every_family_holds_its_pose(name):
    robot = flexdyn_ros.load(name)
    drive = Drive(robot, robot.neutral())
    q, v, _ = run(drive, 3.0)
    # what springs carry settles by itself
    held = [c.v_index for c in robot.coordinates if c.kind in ("joint", "actuator", "platform")]
    assert np.abs(robot.difference(robot.neutral(), q))[held].max() < 0.05
    assert np.abs(v)[held].max() < 0.3


def test_valves_of_a_tree_open_from_rest_and_its_oil_holds_a_new_payload():
    robot = flexdyn_ros.load("boom")
    q = robot.static_equilibrium(hold=["lift", "fold", "tilt"]).q
    drive = Drive(robot, q)
    assert drive.targets.tolist() == [0.0, 0.0, 0.0]
    held = drive.cylinders
    for _ in range(10):
        at, _, effort = drive.advance(0.05)
    assert np.abs(at - q).max() < 1e-5
    np.testing.assert_allclose(drive.cylinders, held, rtol=1e-3)
    # the forces on the rods, which pressures and areas give
    ring = 0.25 * np.pi * (0.1**2 - 0.063**2)
    force = 0.25 * np.pi * 0.1**2 * held[0, 0] - ring * held[0, 1] - 0.25 * np.pi * 0.063**2 * 101325.0
    assert effort[robot.nv] == pytest.approx(force, rel=1e-3)
    drive.set_target(0, 0.3)
    for _ in range(20):
        raised, *_ = drive.advance(0.05)
    assert raised[0] - q[0] > 0.02
    drive.set_target(0, 0.0)
    drive.set_payload(200.0)
    forces = [drive.advance(0.05)[2][robot.nv] for _ in range(40)]
    # 200 kg 7 m out, on a lever of 0.61 m: 22 kN more
    assert np.mean(forces[20:]) > 1.3 * force


SLIDES = """<robot name="slides"><link name="base"/>
{x}
{y}
<joint name="along" type="prismatic"><parent link="base"/><child link="x"/><axis xyz="1 0 0"/>{limit}</joint>
<joint name="across" type="prismatic"><parent link="x"/><child link="y"/><axis xyz="0 1 0"/>{limit}</joint>
</robot>""".format(
    **{
        name: f'<link name="{name}"><inertial><mass value="{mass}"/>'
        '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>'
        for name, mass in (("x", 3), ("y", 2))
    },
    limit='<limit lower="-2" upper="2" effort="1e6" velocity="9"/>',
)


@pytest.mark.parametrize("name", ["slides", "four_bar"])
def test_what_weighs_nothing_goes_to_its_target_at_one_pace_whatever_its_inertia(name):
    """As x'' + 2 D w x' + w^2 x = 0 does."""
    if name == "slides":
        robot, step = flexdyn_ros.load(SLIDES), np.array([0.2, -0.3])
        q = robot.neutral()
    else:
        robot, step = flexdyn_ros.load(four_bar_urdf(), options={"gravity": [0, 0, 0]}), np.array([1e-3])
        q = Q
    drive, count = Drive(robot, q), len(step)
    for k in range(count):
        drive.set_target(k, q[k] + step[k])
    damped = PACE * np.sqrt(1.0 - DAMPING**2)
    for _ in range(10):
        at, *_ = drive.advance(0.04)
        fall, turn = DAMPING * PACE * drive.t, damped * drive.t
        left = np.exp(-fall) * (np.cos(turn) + DAMPING * PACE / damped * np.sin(turn))
        assert (at - q)[:count] == pytest.approx((1.0 - left) * step, abs=0.01 * np.abs(step).max())
