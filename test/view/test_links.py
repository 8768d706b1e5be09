"""Links that are picked, marked, pushed and followed, without a browser: numbers against mechanics."""

import asyncio
from types import SimpleNamespace
from unittest.mock import MagicMock

import numpy as np
import pytest

import flexdyn_ros
from flexdyn_ros.view.around.cameras import Cameras
from flexdyn_ros.view.drawing.link_marks import ellipsoid, facts_of
from flexdyn_ros.view.drawing.loads import Moment, Vectors, offered, pushes_of
from flexdyn_ros.view.drawing.overlays import HEAD, SHAFT, Overlays, shortened
from flexdyn_ros.view.drawing.shown_robot import ShownRobot
from flexdyn_ros.view.drive import Drive
from flexdyn_ros.view.panels.links import DIRECTIONS, LinksTab, _rows
from flexdyn_ros.view.panels.live_plots import Series, with_cursor
from flexdyn_ros.view.panels.run import RunTab
from flexdyn_ros.view.twin import Twin, has_twin, rigid_twin

pytest.importorskip("viser")
trimesh = pytest.importorskip("trimesh")


@pytest.fixture(scope="module")
def arm():
    return flexdyn_ros.load("canadarm2")


@pytest.fixture(scope="module")
def rigid():
    return flexdyn_ros.load("seven_joint_arm")


# ---- facts and marks ----


def test_an_ellipsoid_of_inertia_has_that_inertia():
    """Against the inertia that trimesh integrates over the surface."""
    R = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0]
    inertia = R @ np.diag([2.0, 3.0, 4.0]) @ R.T
    axes, directions = ellipsoid(5.0, inertia)
    assert np.linalg.det(directions) == pytest.approx(1.0)
    mesh = trimesh.creation.icosphere(subdivisions=5)
    mesh.vertices = mesh.vertices * axes @ directions.T
    mesh.density = 5.0 / mesh.volume
    np.testing.assert_allclose(mesh.moment_inertia, inertia, atol=0.01)


def test_a_ball_and_a_rod_have_the_ellipsoids_of_textbooks():
    ball, _ = ellipsoid(3.0, np.eye(3) * 0.4 * 3.0 * 0.2**2)
    np.testing.assert_allclose(ball, 0.2)
    # a thin rod of mass m and length l: m l2 / 12, as an ellipsoid with m a2 / 5 has
    rod, directions = ellipsoid(2.0, np.diag([0.0, 1.0, 1.0]) * 2.0 * 3.0**2 / 12.0)
    np.testing.assert_allclose(np.sort(rod), [0.0, 0.0, 3.0 * np.sqrt(5.0 / 12.0)], atol=1e-9)
    assert abs(directions[0, np.argmax(rod)]) == pytest.approx(1.0)


@pytest.mark.parametrize("name", ["seven_joint_arm", "two_link"])
def test_facts_of_links_move_with_the_kinetic_energy_of_the_robot(name):
    robot = flexdyn_ros.load(name)
    rng = np.random.default_rng(2)
    q, v = robot.random(rng), rng.normal(size=robot.nv)
    kinetic = 0.0
    for link, facts in facts_of(robot).items():
        if facts.inertia is None:
            continue
        speed, R = robot.frame_velocity(q, v, link), robot.frames(q, link)[:3, :3]
        center = speed[3:] + np.cross(speed[:3], R @ facts.center)
        turning = R.T @ speed[:3]
        kinetic += 0.5 * facts.mass * center @ center + 0.5 * turning @ facts.inertia @ turning
    assert kinetic == pytest.approx(robot.energy(q, v).kinetic, rel=1e-9)


@pytest.mark.parametrize("name", ["canadarm2", "mobile_arm", "stewart_1t", "seven_joint_arm"])
def test_masses_of_links_add_up(name):
    robot = flexdyn_ros.load(name)
    assert sum(facts.mass for facts in facts_of(robot).values()) == pytest.approx(robot.mass, rel=1e-6)


def picked(robot, q, v, *, held):
    now = Moment(q, v, np.zeros(robot.nu), q, held)
    marks = SimpleNamespace(facts=facts_of(robot))
    overlays = SimpleNamespace(has_moments="moments" in offered(robot))
    picture = SimpleNamespace(marks=marks, moment=lambda q: now, overlays=overlays)
    return SimpleNamespace(robot=robot, q=q, picture=picture)


@pytest.mark.parametrize("name", ["canadarm2", "mobile_arm_spatial", "stewart_1t", "soft_arm_3", "two_link"])
@pytest.mark.parametrize("held", [True, False])
def test_every_link_of_every_kind_of_robot_has_a_table(name, held):
    robot = flexdyn_ros.load(name)
    now = picked(robot, robot.neutral(), np.zeros(robot.nv), held=held)
    for link in facts_of(robot):
        rows = dict(_rows(now, link))
        assert {"mass", "position", "roll, pitch, yaw"} <= set(rows)
        assert "nan" not in str(rows)


def test_the_table_of_a_link_has_units_and_the_load_of_its_joint(rigid):
    q = rigid.random(np.random.default_rng(3))
    rows = dict(_rows(picked(rigid, q, np.zeros(7), held=True), "link_1"))
    assert rows["mass"] == "4.971 kg"
    assert rows["inertia about it, xx yy zz"].endswith(" kg m²")
    assert rows["position"].endswith(" m")
    # all that hangs on the first joint is all but the base, which has no mass
    weight = rigid.mass * 9.80665
    assert rows["force from its joint"] == f"{weight:.3g} N"
    assert "velocity" not in rows
    moving = dict(_rows(picked(rigid, q, np.ones(7), held=False), "link_1"))
    assert moving["velocity"].endswith(" m/s")
    assert moving["angular velocity"].endswith(" rad/s")


# ---- arrows ----


def test_moments_have_a_second_head_behind_the_first():
    arrows = np.array([[[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]], [[0.0, 0.0, 0.0], [0.0, 0.1, 0.0]]])
    second = shortened(arrows, 0.3)
    np.testing.assert_allclose(second[:, 1], [[0.7, 0.0, 0.0], [0.0, 0.05, 0.0]])
    np.testing.assert_array_equal(second[:, 0], arrows[:, 0])
    over = SimpleNamespace(_top={"moments": 0.0, "forces": 0.0}, _size=2.0)
    one = Vectors(np.zeros((1, 3)), np.array([[0.0, 0.0, 5.0]]))
    moments, forces = (Overlays._points(over, name, one) for name in ("moments", "forces"))
    assert forces.shape == (1, 2, 3)
    assert moments.shape == (2, 2, 3)
    np.testing.assert_array_equal(moments[0], forces[0])
    assert moments[0, 1, 2] - moments[1, 1, 2] == pytest.approx(HEAD[1] * SHAFT * 2.0, rel=1e-6)


# ---- pushes ----


def test_a_push_accelerates_as_the_equations_of_motion_say_and_ends():
    robot = flexdyn_ros.load("two_link")
    q, rest = np.array([0.3, 0.8]), np.zeros(2)
    drive = Drive(robot, q)
    # only the efforts that hold it
    drive._stepper.set_servo()
    wrench = np.array([0.4, -0.2, 0.3, 3.0, -8.0, 5.0])
    drive.push({"tip": wrench}, 0.003)
    # the efforts balance gravity: M a = J^T w
    expected = np.linalg.solve(robot.mass_matrix(q), robot.jacobian(q, "tip").T @ wrench)
    _, v, _ = drive.advance(1e-3)
    np.testing.assert_allclose(v / 1e-3, expected, atol=2e-3 * np.abs(expected).max())
    np.testing.assert_allclose(
        expected,
        robot.forward_dynamics(q, rest, robot.inverse_dynamics(q, rest, rest), {"tip": wrench}),
        rtol=1e-9,
    )
    assert drive.wrenches
    for _ in range(4):
        drive.advance(1e-3)
    assert not drive.wrenches


def test_the_mouse_pulls_at_the_point_that_it_holds(arm):
    q = arm.neutral()
    shown = ShownRobot(arm)
    middle = arm.frames(q, "boom_2@0.5")[:3, 3] + [0.0, 0.1, 0.0]
    frame, point = shown.grabbed("boom_2", middle, q)
    assert frame == "boom_2@0.5"
    T = arm.frames(q, frame)
    np.testing.assert_allclose(T[:3, :3] @ point + T[:3, 3], middle, atol=1e-12)
    drive = Drive(arm, q)
    drive.pull(frame, point, 100.0, 250.0)
    drive.advance(1e-3)
    np.testing.assert_allclose(drive.wrenches[frame][3:], 0.0, atol=1.0)
    drive.pull_to(middle + [0.0, 0.0, 2.0])
    drive.advance(1e-3)
    w = drive.wrenches[frame]
    np.testing.assert_allclose(w[3:], [0.0, 0.0, 200.0], atol=1.0)
    # no moment about the point that is held
    np.testing.assert_allclose(w[:3], np.cross(T[:3, :3] @ point, w[3:]), atol=1.0)
    drive.pull_to(middle + [0.0, 0.0, 50.0])
    drive.advance(1e-3)
    assert np.linalg.norm(drive.wrenches[frame][3:]) == pytest.approx(250.0)
    # and its arrow begins there
    found = pushes_of(arm, Moment(q, q, q, q, held=False, pushes=drive.wrenches))
    np.testing.assert_allclose(found.at[0, :2], middle[:2], atol=0.02)
    drive.release()
    drive.advance(1e-3)
    assert not drive.wrenches


def test_a_drag_pulls_by_the_weight_over_the_size_of_the_robot_until_the_mouse_lets_go(arm):
    q, shown, drive = arm.neutral(), ShownRobot(arm), Drive(arm, arm.neutral())
    place = arm.frames(q, "boom_2@0.5")[:3, 3]
    tab = object.__new__(LinksTab)
    tab._viewer = SimpleNamespace(source="drive", drive=drive, shown=shown, magnified_q=q)
    tab._weight = 1000.0
    drag, held = tab._dragging("boom_2"), "boom_2@0.5"

    def pull(phase, **positions):
        asyncio.run(drag(SimpleNamespace(phase=phase, **positions)))
        drive.advance(1e-3)
        return drive.wrenches

    assert not pull("update", end_position=tuple(place + 1.0))
    assert pull("start", start_position=tuple(place)).keys() == {held}
    force = pull("update", end_position=tuple(place + [0.0, 0.4, 0.3]))[held][3:]
    np.testing.assert_allclose(force, np.array([0.0, 400.0, 300.0]) / shown.size, atol=0.5)
    # what another scene moves is not pulled on
    tab._viewer.source = "run"
    assert pull("update", end_position=tuple(place))[held][4] > 350.0 / shown.size
    assert pull("end")
    tab._viewer.source = "drive"
    assert not pull("end")


def test_pushes_outlive_a_change_of_the_robot(arm):
    drive = Drive(arm, arm.neutral())
    drive.push({"boom_2": np.array([0.0, 0.0, 0.0, 0.0, 50.0, 0.0])})
    drive.set_payload(20.0)
    drive.advance(1e-3)
    assert drive._stepper.v[arm.v_names.index("wrist_yaw")] != 0.0
    assert drive.wrenches


def test_directions_are_signed_axes():
    assert list(DIRECTIONS) == ["+x", "-x", "+y", "-y", "+z", "-z"]
    np.testing.assert_array_equal(DIRECTIONS["-y"], [0.0, -1.0, 0.0])


# ---- cameras ----


class Client:
    """A page whose camera tells late what was asked of it."""

    def __init__(self):
        self.client_id = 1
        self.camera = SimpleNamespace(
            position=np.array([3.0, -4.0, 2.0]), look_at=np.zeros(3), image_width=1440, image_height=900
        )

    def atomic(self):
        from contextlib import nullcontext

        return nullcontext()


def test_cameras_move_with_a_link_and_keep_how_it_is_looked_at(arm):
    client = Client()
    server = SimpleNamespace(get_clients=lambda: {1: client}, on_client_connect=lambda call: None)
    picture = SimpleNamespace(room=(np.zeros(3), np.ones(3)))
    viewer = SimpleNamespace(robot=arm, magnified_q=arm.neutral(), server=server, picture=picture)
    cameras = Cameras(viewer)
    cameras.follow("tool0")
    cameras.move()
    start = arm.frames(viewer.magnified_q, "tool0")[:3, 3]
    q = arm.neutral()
    q[0] = 0.5
    viewer.magnified_q = q
    moved = arm.frames(q, "tool0")[:3, 3] - start
    assert np.linalg.norm(moved) > 1.0
    late = client.camera.position.copy(), client.camera.look_at.copy()
    for _ in range(3):
        cameras.move()
        np.testing.assert_allclose(client.camera.look_at, moved, atol=1e-9)
        np.testing.assert_allclose(client.camera.position, moved + [3.0, -4.0, 2.0], atol=1e-9)
        # an answer that comes late makes no difference
        client.camera.position, client.camera.look_at = late
    # who turns, keeps that
    client.camera.position, client.camera.look_at = moved + [0.0, -5.0, 0.0], moved.copy()
    viewer.magnified_q = arm.neutral()
    cameras.move()
    np.testing.assert_allclose(client.camera.position, [0.0, -5.0, 0.0], atol=1e-9)
    cameras.follow("")
    client.camera.position = np.ones(3)
    cameras.move()
    np.testing.assert_array_equal(client.camera.position, np.ones(3))


def test_a_phone_whose_page_takes_the_camera_of_desks_is_led_back_and_no_other(arm):
    room = np.array([-2.0, -1.0, 0.0]), np.array([5.0, 3.0, 4.0])
    desk, calls = SimpleNamespace(position=np.array([9.0, 8.0, 7.0])), []
    server = SimpleNamespace(initial_camera=desk, on_client_connect=calls.append)
    viewer = SimpleNamespace(
        server=server, picture=SimpleNamespace(room=room), source="tour", q=arm.neutral()
    )
    Cameras(viewer)
    (greet,) = calls
    client, updates = Client(), []
    client.camera.on_update, first = updates.append, client.camera.position
    greet(client)
    assert not updates
    np.testing.assert_array_equal(client.camera.position, first)

    client.camera.image_width, client.camera.image_height = 390, 844
    greet(client)
    (update,) = updates
    camera = client.camera
    above = np.array(camera.position), np.array(camera.look_at)
    assert np.linalg.norm(above[0] - first) > 1.0
    camera.position, camera.look_at = desk.position.copy(), np.zeros(3)
    update(camera)
    np.testing.assert_array_equal((camera.position, camera.look_at), above)
    camera.position = first
    update(camera)
    np.testing.assert_array_equal(camera.position, first)


# ---- time line, twin ----


def test_the_cursor_of_plots_is_at_the_present_time_and_leaves_the_lines_alone():
    t = np.linspace(0.0, 2.0, 5)
    series = Series(t, ("a",), np.array([[0.0, 1.0, 4.0, 9.0, 16.0]]), "m")
    times, line, cursor = with_cursor(series, 1.25)
    assert np.all(np.diff(times) >= 0.0)
    np.testing.assert_array_equal(times[cursor == 1.0], [1.25])
    np.testing.assert_allclose(line, np.interp(times, t, series.values[0]))
    assert np.isfinite(cursor).all()
    for now in (-1.0, 2.0, 3.0):
        times, _, cursor = with_cursor(series, now)
        assert times[np.argmax(cursor)] == np.clip(now, 0.0, 2.0)


@pytest.mark.parametrize(("name", "offered"), [("flexible_two_link", True), ("two_link", False)])
def test_a_rigid_twin_is_offered_where_something_bends(name, offered):
    gui = MagicMock()
    tab = RunTab(SimpleNamespace(robot=flexdyn_ros.load(name)), gui, MagicMock())
    assert (tab.twin is not None) == offered
    assert [call.args[0] for call in gui.add_checkbox.call_args_list] == ["Rigid twin"] * offered


@pytest.mark.parametrize("name", ["canadarm2_7", "mobile_arm_spatial", "kane_beam"])
def test_the_rigid_twin_is_where_the_undeformed_robot_is(name):
    robot = flexdyn_ros.load(name)
    assert has_twin(robot)
    assert not has_twin(rigid_twin(robot))
    other = rigid_twin(robot)
    twin = SimpleNamespace(
        _same=np.array([robot.q_names.index(name) for name in other.q_names]), _straight=robot.neutral()
    )
    q = other.random(np.random.default_rng(4))
    full = Twin.drawn_at(twin, q)
    np.testing.assert_array_equal(Twin.state_of(twin, full), q)
    frames = [frame for frame in other.frame_names if frame in robot.frame_names]
    np.testing.assert_allclose(robot.frames(full, frames), other.frames(q, frames), atol=1e-12)
