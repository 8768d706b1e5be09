"""The shipped arms with flexible links: what they are, their rigid twins, how they relate."""

from pathlib import Path

import numpy as np
import pytest

import flexdyn_ros

URDF = Path(__file__).parents[3] / "urdf"
ARMS = {
    # name: coordinates, joints, mass [kg], gravity
    "canadarm2": (23, 5, 1049.534, (0.0, 0.0, -9.81)),
    "canadarm2_7": (25, 7, 1505.154, (0.0, 0.0, 0.0)),
    "flexible_two_link": (10, 2, 1.83005, (0.0, 0.0, -9.81)),
    "kane_beam": (4, 1, 12.0, (0.0, 0.0, 0.0)),
}


@pytest.mark.parametrize("name", ARMS)
def test_an_arm_is_what_its_file_says(name):
    nv, joints, mass, gravity = ARMS[name]
    robot = flexdyn_ros.load(name)
    assert (robot.nv, robot.bends, robot.warnings) == (nv, True, ())
    assert sum(c.kind == "joint" for c in robot.coordinates) == joints
    assert robot.mass == pytest.approx(mass, rel=1e-6)
    assert tuple(robot.gravity) == gravity
    assert "<gravity>" in (URDF / f"{name}.urdf").read_text()
    assert "ASSUMED" in (URDF / f"{name}.urdf").read_text()


@pytest.mark.parametrize("name", ARMS)
def test_the_rigid_twin_is_the_rigid_robot_of_the_plain_urdf(name):
    """To the rounding of the numbers in `<inertial>`: the remainder is dropped, six digits are given."""
    twin = flexdyn_ros.load(name, options={"formulation.flexible": False})
    text = (URDF / f"{name}.urdf").read_text()
    # the blocks of flexible links come last in these files, those of joints (rotors) before
    first = min(text.index(f'<flexdyn reference="{link}"') for link in twin.description.flexible_links)
    plain = text[:first] + "</robot>"
    rigid = flexdyn_ros.load(plain)
    assert twin.v_names == rigid.v_names
    q = np.linspace(-0.4, 0.9, twin.nq)
    M = rigid.mass_matrix(q)
    assert np.abs(twin.mass_matrix(q) - M).max() < 1e-5 * np.abs(M).max()
    robot = flexdyn_ros.load(name)
    joints = np.array([c.kind == "joint" for c in robot.coordinates])
    full = np.zeros(robot.nq)
    full[joints] = q
    assert robot.mass_matrix(full)[np.ix_(joints, joints)] == pytest.approx(
        twin.mass_matrix(q), rel=1e-11, abs=1e-9
    )


@pytest.mark.parametrize("name", [*ARMS, "mobile_arm"])
def test_the_rigid_twin_has_the_frames_of_the_undeformed_robot(name):
    robot, twin = (flexdyn_ros.load(name, options={"formulation.flexible": bends}) for bends in (True, False))
    assert twin.frame_names == robot.frame_names
    assert any(frame.endswith("/tip") for frame in twin.frame_names)
    q = np.linspace(-0.4, 0.9, twin.nq)
    full = np.zeros(robot.nq)
    full[[robot.q_names.index(coordinate) for coordinate in twin.q_names]] = q
    assert twin.frames(q) == pytest.approx(robot.frames(full), abs=1e-14)
    tip = next(frame for frame in twin.frame_names if frame.endswith("/tip"))
    wrench = {tip: np.arange(6.0)}
    joints = [robot.v_names.index(coordinate) for coordinate in twin.v_names]
    still, at_rest = np.zeros(twin.nv), np.zeros(robot.nv)
    pulled = robot.inverse_dynamics(full, at_rest, at_rest, wrench)
    assert twin.inverse_dynamics(q, still, still, wrench) == pytest.approx(pulled[joints], rel=1e-9, abs=1e-9)


def test_seven_joints_with_the_shoulder_locked_are_the_five_joint_arm():
    """Shoulder pitch, elbow and wrist lie alike in both; wrist and booms are the same bodies."""
    orbit = {"gravity": [0.0, 0.0, 0.0]}
    five, seven = (flexdyn_ros.load(name, options=orbit) for name in ("canadarm2", "canadarm2_7"))
    names = five.v_names
    at = np.array([seven.index(name) for name in names])
    q5 = five.random(np.random.default_rng(4))
    q7 = np.zeros(seven.nq)
    q7[at] = q5
    M = five.mass_matrix(q5)
    assert np.abs(seven.mass_matrix(q7)[np.ix_(at, at)] - M).max() < 1e-11 * np.abs(M).max()
    locked = [seven.modes(q7, lock="joints").frequency, five.modes(q5, lock="joints").frequency]
    assert locked[0] == pytest.approx(locked[1], rel=1e-9)


def test_the_kane_beam_is_that_of_the_benchmark():
    """Length, mass and stiffness of the serial specification, 3.9; the run is in test_flexible_robot.py."""
    robot = flexdyn_ros.load("kane_beam")
    first = robot.modes(robot.neutral(), lock="joints").frequency[0] * 2 * np.pi
    assert first == pytest.approx(1.875104068711961**2 * np.sqrt(1.4e4 / 1.2) / 100, rel=1e-9)
    assert robot.description.formulation.stiffening == "full"


def test_the_two_link_arm_bends_in_the_plane_of_the_table():
    robot = flexdyn_ros.load("flexible_two_link")
    rest = robot.static_equilibrium(hold="joints")
    assert np.abs(rest.q).max() < 1e-3
    wrench = {"tool0": np.array([0.0, 0.0, 0.0, 0.0, 0.5, 0.0])}
    bent = robot.static_equilibrium(hold="joints", wrenches=wrench)
    tip = robot.frames(bent.q, "tool0")[:3, 3] - robot.frames(rest.q, "tool0")[:3, 3]
    assert 5e-3 < tip[1] < 0.2
    assert abs(tip[2]) < 1e-3
