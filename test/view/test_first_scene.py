"""What a viewer shows first: a robot at rest or moving gently within its limits, all of it in the picture."""

from itertools import product
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from browser import in_picture
from pendulums import double_pendulum

import flexdyn_ros
from flexdyn_ros.view import ShownRobot
from flexdyn_ros.view.around.stage import ABOVE_PANEL, aim, room_of
from flexdyn_ros.view.motion import Reach
from flexdyn_ros.view.opening import first_scene, gentle_run
from flexdyn_ros.view.panels.run import Jobs

pytest.importorskip("viser")
pytest.importorskip("trimesh")

URDFS = (path.name for path in (Path(__file__).parents[2] / "urdf").glob("*.urdf*"))
SHIPPED = sorted(name.partition(".")[0] for name in URDFS if "ros2_control" not in name)
#: size of a page, and of the panel on its right [pixels]
WIDTH, HEIGHT, PANEL = 1440, 900, 320
PHONE = 390, 844


@pytest.mark.parametrize("name", SHIPPED)
def test_all_that_moves_is_in_the_picture_beside_the_panel(name):
    from flexdyn_ros.view import Viewer

    viewer = Viewer(flexdyn_ros.load(name), port=8290)
    try:
        first_scene(viewer)
        corners = np.array(list(product(*zip(*viewer.cameras.swept()))))
        x, y = in_picture(viewer.server.initial_camera, corners).T
        phone = SimpleNamespace()
        aim(phone, "corner", *viewer.cameras.swept(), upright=PHONE[0] / PHONE[1])
        across, up = in_picture(phone, corners, *PHONE).T
    finally:
        viewer.close()
    assert x.min() > -1.0
    assert x.max() < 1.0 - 2.0 * PANEL / WIDTH
    assert np.abs(y).max() < 1.0
    # and it is not lost in it
    assert max(np.ptp(x), np.ptp(y)) > 0.5
    # a phone has its panel at the bottom
    assert np.abs(across).max() < 1.0
    assert up.max() < 1.0
    assert up.min() > 1.0 - 2.0 * ABOVE_PANEL


@pytest.mark.parametrize("name", ["seven_joint_arm", "two_link"])
def test_a_rigid_arm_moves_gently_within_its_limits_and_comes_back(name):
    robot = flexdyn_ros.load(name)
    run = gentle_run(robot)
    lower, upper = (np.array([getattr(c, end) for c in robot.coordinates]) for end in ("lower", "upper"))
    assert (run.q > lower).all()
    assert (run.q < upper).all()
    assert np.ptp(run.q, axis=0).min() > 0.05
    assert np.abs(run.v).max() < 1.0
    np.testing.assert_allclose(run.q[-1], run.q[0], atol=2e-3)


def test_a_slow_arm_keeps_its_velocity_limits():
    robot = flexdyn_ros.load("canadarm2", options={"formulation.flexible": False})
    run = gentle_run(robot)
    limits = np.array([c.velocity_limit for c in robot.coordinates])
    assert (np.abs(run.v).max(axis=0) < limits).all()
    assert np.ptp(run.q, axis=0).min() > 0.01


def test_the_room_of_a_robot_reaches_half_its_way_to_every_side():
    """Sliders along x and y that carry cubes, with other limits to each side."""
    cube = """<visual><geometry><box size="0.2 0.2 0.2"/></geometry></visual><inertial><mass value="1"/>
      <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>"""
    text = f"""<robot name="sliders">
      <link name="base"/><link name="a">{cube}</link><link name="b">{cube}</link>
      <joint name="x" type="prismatic"><parent link="base"/><child link="a"/><axis xyz="1 0 0"/>
        <limit lower="-2" upper="0.6" effort="1" velocity="1"/></joint>
      <joint name="y" type="prismatic"><parent link="a"/><child link="b"/><axis xyz="0 1 0"/>
        <limit lower="-3" upper="1" effort="1" velocity="1"/></joint></robot>"""
    robot = flexdyn_ros.load(text)
    low, high = room_of(ShownRobot(robot), Reach(robot))
    np.testing.assert_allclose(low, [-1.1, -1.6, -0.1], atol=1e-9)
    np.testing.assert_allclose(high, [0.4, 0.6, 0.1], atol=1e-9)


def test_the_first_robot_is_shown_again_as_it_was_given(monkeypatch):
    from flexdyn_ros.view import Viewer

    monkeypatch.setattr(Jobs, "in_background", Jobs.shortly)
    given = double_pendulum()
    viewer = Viewer(given, port=8410, robots=("two_link",))
    try:
        for name in ("two_link", given.name):
            viewer.panels.robots.value = name
            assert (viewer.robot.name, viewer.chosen) == (name, name)
            assert viewer.panels.robots.value == name
            assert (viewer.robot is given) == (name == given.name)
    finally:
        viewer.close()


def test_a_tour_and_a_mode_begin_where_the_robot_stands(monkeypatch):
    """However far the one before it went."""
    from flexdyn_ros.view import Viewer

    viewer = Viewer(flexdyn_ros.load("flexible_two_link"), port=8420)
    try:
        phases, in_turn = [], viewer.reach.in_turn
        monkeypatch.setattr(viewer.reach, "in_turn", lambda phase: phases.append(phase) or in_turn(phase))
        monkeypatch.setattr(viewer, "show_mode_at", phases.append)
        for begin in (viewer.tour, lambda: viewer.play_mode(1)) * 2:
            with viewer._lock:
                begin()
                phases.clear()
                for seconds in (0.0, 0.3, 0.1):
                    viewer._advance(seconds)
                assert phases[0] == 0.0
                # the same pace all along
                assert phases[1] > 0.0
                assert phases[2] == pytest.approx(phases[1] * 4.0 / 3.0)
    finally:
        viewer.close()
