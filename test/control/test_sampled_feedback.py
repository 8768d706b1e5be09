"""What sampling does to feedback, against the simulated arm."""

import re
import warnings

import numpy as np
import pytest
from pendulums import double_pendulum
from scipy.linalg import expm

import flexdyn_ros
from flexdyn_ros.control import joint_inertia, pd, sampled_growth
from flexdyn_ros.errors import FlexdynWarning, SimulationError, StateError
from flexdyn_ros.simulation import Stepper


def test_a_sampled_mass_turns_unstable_at_twice_its_inertia():
    robot = flexdyn_ros.load(
        """<robot name="wheel"><link name="base"/><link name="disc"><inertial><mass value="1"/>
        <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="3"/></inertial></link>
        <joint name="axle" type="continuous"><parent link="base"/><child link="disc"/>
        <axis xyz="0 0 1"/></joint></robot>"""
    )
    h, inertia = 0.01, 3.0
    growth = [sampled_growth(robot, np.zeros(1), 0.0, d * inertia / h, h) for d in (0.5, 1.9, 2.1)]
    # v+ = (1 - D h / inertia) v; the position itself does not grow
    assert growth[0] == pytest.approx(0.0, abs=1e-6)
    assert growth[1] == pytest.approx(0.0, abs=1e-6)
    assert growth[2] == pytest.approx(np.log(1.1) / h, rel=1e-9)
    # held a whole sample longer: z^2 - z + D h / inertia, unstable from 1 on
    late = [sampled_growth(robot, np.zeros(1), 0.0, d * inertia / h, h, h) for d in (0.9, 1.1)]
    assert late[0] == pytest.approx(0.0, abs=1e-6)
    assert late[1] == pytest.approx(0.5 * np.log(1.1) / h, rel=1e-9)


def swing(robot, q, P, D, period, duration, servo=False):
    """Largest joint speed in the first and the last quarter after a kick, sampled or in the steps."""
    stepper = Stepper(robot, 1e-3, q0=q, v0=np.where(P > 0.0, 1e-4, 0.0))
    if servo:
        stepper.set_servo(P, D)
        stepper.target_q[:] = q
    speeds = []
    for _ in range(round(duration / period)):
        if not servo:
            stepper.set_efforts(P * (q - stepper.q) - D * stepper.v)
        assert stepper.advance(round(period / 1e-3)) == 0
        speeds.append(np.abs(stepper.v[P > 0.0]).max())
    k = len(speeds) // 4
    return max(speeds[:k]), max(speeds[-k:])


def test_growth_is_that_of_the_simulated_arm_and_its_own_servos_calm_it():
    robot = flexdyn_ros.load("canadarm2", options={"gravity": [0, 0, 0]})
    q = robot.neutral()
    inertia = joint_inertia(robot, q)
    P, D = 0.5 * inertia, 1.4 * inertia
    period = 0.01
    assert sampled_growth(robot, q, P, D, period) > 10.0
    first, last = swing(robot, q, P, D, period, 0.4)
    assert last > 100.0 * first
    first, last = swing(robot, q, 4.0 * inertia, 4.0 * inertia, period, 24.0, servo=True)
    assert last < 0.3 * first


def test_an_arm_whose_joints_have_inertia_is_calmed_by_samples():
    robot = flexdyn_ros.load("flexible_two_link")
    q = robot.neutral()
    inertia = joint_inertia(robot, q)
    P, D = 50.0 * inertia, 14.0 * inertia
    assert max(sampled_growth(robot, q, P, D, 0.01, delay) for delay in (0.0, 0.005, 0.01)) < 0.0
    first, last = swing(robot, q, P, D, 0.01, 2.0)
    assert last < 0.1 * first


@pytest.mark.parametrize("name", ["seven_joint_arm", "canadarm2", "flexible_two_link"])
@pytest.mark.parametrize("delay", [0.0, 0.004, 0.01])
def test_growth_is_that_of_transitions_by_scipy(name, delay):
    """Matrices have elements up to 1e6, of stiff modes."""
    robot = flexdyn_ros.load(name)
    q, nv, nu, period = robot.neutral(), robot.nv, robot.nu, 0.01
    P, D = 16.0 * joint_inertia(robot, q), 8.0 * joint_inertia(robot, q)
    A, B = robot.linearize(q, np.zeros(nv))

    def held(time):
        step = expm(np.block([[A, B], [np.zeros((nu, 2 * nv + nu))]]) * time)
        return step[: 2 * nv, : 2 * nv], step[: 2 * nv, 2 * nv :]

    (old, old_input), (rest, new_input) = held(delay), held(period - delay)
    K = np.hstack([np.eye(nu, nv) * P, np.eye(nu, nv) * D])
    loop = np.block([[rest @ old - new_input @ K, rest @ old_input], [-K, np.zeros((nu, nu))]])
    expected = np.log(np.abs(np.linalg.eigvals(loop)).max()) / period
    assert sampled_growth(robot, q, P, D, period, delay) == pytest.approx(expected, rel=1e-8)


def test_impossible_samples_are_refused():
    for period, delay in ((0.0, 0.0), (0.01, 0.02), (np.nan, 0.0)):
        with pytest.raises(StateError, match="period"):
            sampled_growth(double_pendulum(), np.zeros(2), 1.0, 1.0, period, delay)


#: an arm of two flexible links whose joints have neither rotor nor hub
BARE = """<robot name="bare"><link name="base"/><link name="upper"/><link name="fore"/>
  <link name="load"><inertial><mass value="0.8"/>
  <inertia ixx="0.001" ixy="0" ixz="0" iyy="0.001" iyz="0" izz="0.001"/></inertial></link>
  <joint name="pitch" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" effort="80" velocity="2"/></joint>
  <joint name="elbow" type="revolute"><parent link="upper"/><child link="fore"/><axis xyz="0 1 0"/>
    <origin xyz="1 0 0"/><limit lower="-2" upper="2" effort="40" velocity="2"/></joint>
  <joint name="grip" type="fixed"><parent link="fore"/><child link="load"/><origin xyz="0.8 0 0"/></joint>
  {links}{joints}</robot>"""
BEAM = """<flexdyn reference="{name}"><beam><tube outer_radius="{radius}" wall="0.002"/>
  <material name="aluminium"/></beam><modes bending_z="2"/><damping ratio="0.01"/>{hub}</flexdyn>"""
HUB = """<body name="hub_{name}" station="root"><mass value="0.5"/>
  <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></body>"""
ROTOR = '<flexdyn reference="{name}"><rotor inertia="1e-4" gear_ratio="50"/></flexdyn>'
STIFFNESS, KICK = 20.0, 1e-6


def bare_arm(*, hub=False, rotor=False):
    links = "".join(
        BEAM.format(name=name, radius=radius, hub=HUB.format(name=name) if hub else "")
        for name, radius in (("upper", 0.02), ("fore", 0.015))
    )
    joints = "".join(ROTOR.format(name=name) for name in ("pitch", "elbow")) if rotor else ""
    return BARE.format(links=links, joints=joints)


def held(robot, w=STIFFNESS):
    """A PD law about rest of the arm, joint by joint, and a state near that rest."""
    rest = robot.static_equilibrium(robot.neutral(), hold="joints").q
    inertia = joint_inertia(robot, robot.neutral())
    return pd(robot, robot.neutral(), w * w * inertia, 2.0 * w * inertia), rest + KICK * (
        np.arange(robot.nq) == 0
    )


@pytest.mark.parametrize("options", [{}, {"dt": 1e-3}, {"sample": 1e-3, "method": "extrapolated"}])
def test_a_run_that_sampling_made_explode_names_cause_and_remedy(options):
    robot = flexdyn_ros.load(bare_arm())
    law, q0 = held(robot)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            told = flexdyn_ros.simulate(robot, 0.3, q0, control=law, **options).warnings[0]
        except SimulationError as error:
            told = str(error)
    assert "control law makes motion grow by" in told
    assert "sampled every 0.001 s" in told
    assert re.search(
        "damping times sample at '(pitch|elbow)' is .* kg m2 and the inertia that moves at once", told
    )
    assert "<rotor>" in told
    assert "samples of" in told
    period = float(re.search(r"samples of (\S+) s", told)[1])
    assert 1e-7 < period < 1e-3
    run = flexdyn_ros.simulate(robot, 0.02, q0, control=law, sample=period)
    assert np.abs(run.q - q0).max() < 1e-3
    assert run.warnings == ()


@pytest.mark.parametrize("remedy", [{"rotor": True}, {"hub": True}])
def test_the_remedies_calm_the_arm_and_nothing_is_said(remedy):
    robot = flexdyn_ros.load(bare_arm(**remedy))
    law, q0 = held(robot, 2.0)
    calls = []

    def counted(t, q, v):
        calls.append(t)
        return law(t, q, v)

    run = flexdyn_ros.simulate(robot, 0.1, q0, control=counted)
    assert run.warnings == ()
    # a law of a good run is not called again
    assert calls == sorted(calls)


def test_a_rigid_arm_shaken_by_samples_is_told_too_and_so_are_gains_of_the_wrong_sign():
    robot = double_pendulum()
    inertia = joint_inertia(robot, np.zeros(2))
    with pytest.warns(FlexdynWarning, match="makes motion grow by .* when sampled every 0.01 s"):
        flexdyn_ros.simulate(
            robot, 1.0, [0.1, 0.0], control=pd(robot, np.zeros(2), 0.0, 300.0 * inertia), sample=0.01
        )
    bending = flexdyn_ros.load("flexible_two_link")
    law = pd(bending, bending.neutral(), -800.0, 0.0)
    with pytest.warns(FlexdynWarning, match="even if it acts at every instant"):
        flexdyn_ros.simulate(bending, 1.0, bending.neutral() + 0.01, control=law)


def test_check_warns_of_a_flexible_link_that_is_driven_without_rotor_or_hub():
    def told(**options):
        return [
            text
            for text in flexdyn_ros.check(bare_arm(**options)).warnings
            if "without <rotor> or hub" in text
        ]

    assert [text.split("'")[1] for text in told()] == ["pitch", "elbow"]
    robot = flexdyn_ros.load(bare_arm())
    q = robot.neutral()
    inertia = joint_inertia(robot, q)
    for text in told():
        w, growth = map(float, re.search(r"PD of (\S+) rad/s at 1 kHz: by (\S+)/s", text).groups())
        assert w == pytest.approx(np.pi * robot.modes(q, lock="joints").frequency[0], rel=5e-3)
        # critically damped; it is told in two digits
        expected = sampled_growth(robot, q, w * w * inertia, 2.0 * w * inertia, 1e-3)
        assert growth == float(f"{expected:.1e}")
    assert told(hub=True) == told(rotor=True) == []
