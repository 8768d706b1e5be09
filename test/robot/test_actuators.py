"""`robot.actuators`, `robot.efforts`, and controls of `simulate` that name what drives the robot."""

import numpy as np
import pytest
from pendulums import double_pendulum

import flexdyn_ros
from flexdyn_ros.errors import DimensionError, StateError, UnknownNameError

ROBOTS = ["seven_joint_arm", "flexible_two_link", "soft_arm", "mobile_arm", "stewart_electric"]


@pytest.mark.parametrize("name", [*ROBOTS, "canadarm2_7", "mobile_arm_spatial", "soft_arm_3"])
def test_actuators_are_what_drives_the_robot_and_efforts_puts_them_in_their_places(name):
    robot = flexdyn_ros.load(name)
    kinds = {c.name: c.kind for c in robot.coordinates}
    assert 0 < len(robot.actuators) <= robot.nu
    assert {kinds.get(a, "leg") for a in robot.actuators} <= {"joint", "motor", "actuator", "leg"}
    u = np.arange(1.0, len(robot.actuators) + 1.0)
    tau = robot.efforts(u)
    assert tau.shape == (robot.nu,)
    named = {a: x for a, x in zip(robot.effort_names, tau, strict=True) if x != 0.0}
    assert named == dict(zip(robot.actuators, u, strict=True))
    assert (robot.efforts(dict(zip(robot.actuators, u, strict=True))) == tau).all()
    assert robot.efforts(np.ones((2, 3, u.size))).shape == (2, 3, robot.nu)
    assert (robot.efforts({}) == 0.0).all()


def test_modes_bases_and_links_on_elastic_joints_are_no_actuators():
    bending = flexdyn_ros.load("flexible_two_link")
    assert bending.actuators == ("shoulder", "elbow")
    assert bending.nu > 2
    wheeled = flexdyn_ros.load("mobile_arm")
    assert not [a for a in wheeled.actuators if a.startswith("base/")]
    assert flexdyn_ros.load("stewart_electric").actuators == flexdyn_ros.load("stewart_electric").effort_names


def test_unknown_actuators_are_refused_with_a_guess():
    robot = flexdyn_ros.load("flexible_two_link")
    with pytest.raises(UnknownNameError, match="unknown actuator 'elbo'; did you mean elbow"):
        robot.efforts({"elbo": 1.0})
    mode = next(c.name for c in robot.coordinates if not c.actuated)
    with pytest.raises(UnknownNameError, match="unknown actuator"):
        robot.efforts({mode: 1.0})
    with pytest.raises(StateError, match="'elbow' is nan"):
        robot.efforts({"elbow": np.nan})
    with pytest.raises(DimensionError, match=r"expected \(..., 2\)"):
        robot.efforts(np.zeros(3))


@pytest.mark.parametrize("name", ROBOTS)
def test_simulate_takes_efforts_of_all_coordinates_of_actuators_or_by_name(name):
    robot = flexdyn_ros.load(name)
    u = np.linspace(0.1, 0.3, len(robot.actuators))
    tau, named = robot.efforts(u), dict(zip(robot.actuators, u, strict=True))
    options = {"dt": 1e-3, "duration": 3e-3}
    expected = flexdyn_ros.simulate(robot, control=tau, **options)
    for control in (u, named):
        for given in (control, lambda t, q, v, control=control: control):
            run = flexdyn_ros.simulate(robot, control=given, **options)
            assert run.q == pytest.approx(expected.q, rel=1e-12, abs=1e-14)
            assert run.tau == pytest.approx(expected.tau, rel=1e-12, abs=1e-12)


def test_simulate_refuses_controls_that_do_not_fit_the_robot():
    robot = flexdyn_ros.load("flexible_two_link")
    for given in (np.zeros(1), lambda t, q, v: np.zeros(1)):
        with pytest.raises(DimensionError, match=r"as many as actuators"):
            flexdyn_ros.simulate(robot, 0.01, dt=1e-3, control=given)
    for given in ({"shoulde": 1.0}, lambda t, q, v: {"shoulde": 1.0}):
        with pytest.raises(UnknownNameError, match="did you mean shoulder"):
            flexdyn_ros.simulate(robot, 0.01, dt=1e-3, control=given)
    with pytest.raises(StateError, match="control at t = 0 s of actuator 'elbow' is inf"):
        flexdyn_ros.simulate(robot, 0.01, dt=1e-3, control=lambda t, q, v: {"elbow": np.inf})
    with pytest.raises(DimensionError, match="holds arrays"):
        flexdyn_ros.simulate(robot, 0.01, dt=1e-3, control={"elbow": np.zeros(3)})
    assert double_pendulum().actuators == double_pendulum().effort_names
