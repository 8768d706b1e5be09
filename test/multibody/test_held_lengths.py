"""static_equilibrium in which cylinders keep their lengths, as on shut valves."""

import numpy as np
import pytest

import flexdyn_ros as fd
from flexdyn_ros.errors import UnknownNameError

CYLINDERS = ("lift_cylinder", "fold_cylinder", "tilt_cylinder")
LEGS = tuple(f"leg_{i}" for i in range(1, 7))


def at_rest(robot, found):
    """Efforts found hold the pose found."""
    still = np.zeros(robot.nv)
    a = robot.forward_dynamics(found.q, still, found.tau)
    assert np.abs(a).max() < 1e-6


def test_a_boom_on_its_cylinders_bends_and_turns():
    """The same forces, as tau, hold the pose found; links bend, and turn the joints a little."""
    robot = fd.load("boom")
    q = robot.neutral()
    q[[robot.q_names.index(name) for name in ("lift", "fold", "tilt")]] = 0.5, -0.6, 0.2
    still = np.zeros(robot.nv)
    found = robot.static_equilibrium(q, hold=CYLINDERS)
    at_rest(robot, found)
    assert found.stable
    # of moments of kN m
    assert found.residual < 1e-3
    assert 0 < found.iterations < 20
    before, after = (robot.cylinder_states(x, still).length for x in (q, found.q))
    assert after == pytest.approx(before, abs=1e-10)
    braked = robot.static_equilibrium(q, hold=["lift", "fold", "tilt"])
    assert np.abs(found.q - q).max() > 1e-3
    # cylinders hold what joints held: their moments about the joints are those of the brakes, nearly
    forces = found.tau[[robot.effort_names.index(name) for name in CYLINDERS]]
    lines = robot.actuation_matrix(found.q)[:, robot.nv :]
    at = [robot.v_names.index(name) for name in ("lift", "fold", "tilt")]
    assert (lines @ forces)[at] == pytest.approx(braked.tau[at], rel=0.02)


def test_one_line_of_the_closed_form():
    """W4: a boom at rest on its cylinder takes the force of its weight over the lever, to rounding."""
    robot = fd.load("boom_on_cylinder")
    q = np.array([0.4])
    found = robot.static_equilibrium(q, hold=["hoist"])
    assert found.q == pytest.approx(q, abs=1e-12)
    assert found.tau[1] == pytest.approx(1650.641767520537, rel=1e-11)


@pytest.mark.parametrize("start", [-0.3, -0.05, 0.1, 0.5])
def test_forces_of_cylinders_and_efforts_of_joints_come_to_rest(start):
    """Of the lever, too, which turns with the boom: a force that holds it in one pose may let it fall in the
    next."""
    robot, tau, h = fd.load("boom_on_cylinder"), np.array([0.7, 1650.0]), 1e-5
    found = robot.static_equilibrium([start], tau=tau)
    assert np.array_equal(found.tau, tau)
    at_rest(robot, found)
    ends = [robot.forward_dynamics(found.q + s, np.zeros(1), tau)[0] for s in (h, -h)]
    assert found.stable == (ends[0] - ends[1] < 0.0)
    assert found.iterations < 10


def test_a_force_that_stays_what_it_is_lets_the_boom_fall_from_where_it_holds_it():
    robot = fd.load("boom_on_cylinder")
    found = robot.static_equilibrium([0.35], tau=[0.0, 1650.641767520537])
    assert found.q == pytest.approx([0.4], abs=1e-9)
    assert not found.stable


def test_a_hexapod_on_its_legs_holds_an_arm():
    """Legs keep their lengths and the arm's joints are held: the pose stays, with the forces of the rest."""
    robot = fd.load("hexapod_arm")
    q, still = robot.neutral(), np.zeros(robot.nv)
    joints = [c.name for c in robot.coordinates if c.kind == "joint"]
    q[robot.q_names.index("elbow_pitch")] = 0.7
    found = robot.static_equilibrium(q, hold=[*LEGS, *joints])
    assert found.q == pytest.approx(q, abs=1e-11)
    assert found.tau == pytest.approx(robot.inverse_dynamics(q, still, still, actuators="all"), abs=1e-8)
    pushed = robot.static_equilibrium(q, hold=[*LEGS, *joints], wrenches={"tool": [0, 5, 0, 30, 0, -50]})
    assert pushed.q == pytest.approx(q, abs=1e-11)
    assert np.abs(pushed.tau - found.tau).max() > 1.0
    # a joint that nothing holds hangs down, seen from the world, on the legs that stay
    hung = robot.static_equilibrium(q, hold=[*LEGS, *joints[:-1]])
    at_rest(robot, hung)
    assert hung.tau[robot.effort_names.index("wrist_pitch")] == 0.0
    # one of the two states of rest beside the start, not one some turns away
    wrist = robot.q_names.index("wrist_pitch")
    for start in (-2.25, 1.0):
        q[wrist] = start
        beside = robot.static_equilibrium(q, hold=[*LEGS, *joints[:-1]])
        assert abs(beside.q[wrist] - start) < np.pi


def test_names_are_those_of_coordinates_and_cylinders():
    with pytest.raises(UnknownNameError, match="leg_7"):
        fd.load("hexapod_arm").static_equilibrium(hold=["leg_7"])


@pytest.mark.parametrize("payload", [0.0, 500.0, 2000.0])
@pytest.mark.parametrize("angles", [(0.6, -1.0, 0.3), (-0.2, -0.3, 0.0)])
def test_stiff_beams_do_not_keep_lengths_from_being_held(payload, angles):
    robot = fd.load("boom").with_payload("load_point", payload)
    q = robot.neutral()
    q[[robot.q_names.index(name) for name in ("lift", "fold", "tilt")]] = angles
    found = robot.static_equilibrium(q, hold=robot.hydraulics.names)
    before, after = (robot.cylinder_states(x, np.zeros(robot.nv)).length for x in (q, found.q))
    np.testing.assert_allclose(after, before, atol=1e-10)
    still = np.zeros(robot.nv)
    load = robot.inverse_dynamics(found.q, still, still)[: robot.nv]
    np.testing.assert_allclose(robot.actuation_matrix(found.q) @ found.tau, load, atol=1e-6)
