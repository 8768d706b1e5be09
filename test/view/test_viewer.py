"""The viewer without a browser: what it shows is where the library says it is."""

import gzip
import threading
import time
from functools import cache
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from pendulums import double_pendulum, tumbler

import flexdyn_ros
from flexdyn_ros.expanded.colour_scale import colours_of
from flexdyn_ros.robot.coordinates import MODAL
from flexdyn_ros.view import ShownRobot, aim
from flexdyn_ros.view.around.stage import PRESETS, room_of
from flexdyn_ros.view.around.surroundings import DARK, LIGHT
from flexdyn_ros.view.drawing.colours import legend
from flexdyn_ros.view.drawing.tubes import PIECES, prism
from flexdyn_ros.view.motion import AMPLITUDE, ModeMotion, Playback, Reach, magnified, rest_of
from flexdyn_ros.view.panels.live_plots import (
    QUANTITIES,
    History,
    LivePlot,
    Series,
    readable,
    samples_of,
    series_of,
)

pytest.importorskip("viser")
pytest.importorskip("trimesh")

URDFS = (path.name for path in (Path(__file__).parents[2] / "urdf").glob("*.urdf*"))
SHIPPED = sorted(name.partition(".")[0] for name in URDFS if "ros2_control" not in name)


@pytest.fixture(scope="module")
def arm():
    return flexdyn_ros.load("canadarm2")


@pytest.fixture(scope="module")
def shown(arm):
    return ShownRobot(arm)


@pytest.fixture(scope="module")
def viewer(arm):
    from flexdyn_ros.view import Viewer

    viewer = Viewer(arm, port=8270)
    yield viewer
    viewer.close()


def test_tubes_follow_the_sections_of_the_beam(arm, shown):
    q = arm.random(np.random.default_rng(1))
    assert [tube.name for tube in shown.tubes] == ["boom_1", "boom_2"]
    for tube, state in zip(shown.tubes, shown.tube_states(q), strict=True):
        middle = arm.frames(q, f"{tube.name}@{7.5 / PIECES!r}")
        # pieces are chords: off the curve by curvature length^2 / 8
        curvature = np.linalg.norm(arm.deflections(q)[tube.name].curvature, axis=-1).max()
        np.testing.assert_allclose(
            state.position[7], middle[:3, 3], rtol=0, atol=curvature * (7.11 / PIECES) ** 2 / 8.0
        )
        np.testing.assert_allclose(state.rotation[7], middle[:3, :3], rtol=0, atol=1e-3)
        assert state.length.sum() == pytest.approx(7.11, abs=0.02)


def test_pieces_of_a_tube_leave_no_gap_where_it_bends():
    arm = flexdyn_ros.load("soft_arm_3")
    shown = ShownRobot(arm)
    bent = shown.tube_states(np.array([0.0, 0.024, 0.024] * 3))
    for tube, state in zip(shown.tubes, bent, strict=True):
        reach = 0.5 * tube.scales(state)[:, tube.along]
        ends = (
            state.position[:, None]
            + reach[:, None, None] * np.array([-1.0, 1.0])[:, None] * (state.rotation[:, None, :, tube.along])
        )
        # the outer edge of each piece lies behind the plane in which the next one begins
        over = np.einsum("ki,ki->k", ends[:-1, 1] - ends[1:, 0], state.rotation[1:, :, tube.along])
        turn = np.linalg.norm(np.diff(state.rotation[:, :, tube.along], axis=0), axis=-1)
        assert np.all(over >= tube.radius * turn)
        assert np.all(over < 0.3 * state.length[1:])


def test_the_road_is_a_ribbon_under_the_wheels():
    from flexdyn_ros.view import Viewer
    from flexdyn_ros.view.around.ground import ribbon

    viewer = Viewer(flexdyn_ros.load("mobile_arm"), port=8295)
    try:
        points = viewer.picture.stage.road.points(1.0)
        # the description's own formula: 0.03 + 0.03 sin(2 pi (x + 0.35) / 0.4 + pi)
        expected = 0.03 + 0.03 * np.sin(2 * np.pi * (points[:, 0] + 0.35) / 0.4 + np.pi)
        np.testing.assert_allclose(points[:, 2], expected, atol=1e-12)
        assert points[0, 0] < 0.0
        assert points[-1, 0] > 2.0
        before = viewer.picture.stage.road._nodes
        # the lines across it lie on it, not below
        marks = before[1].points
        height = marks[..., 2] - viewer.picture.stage.road.ground(marks[..., 0])
        assert np.all((height > 0.0) & (height < 0.01))
        q = viewer.robot.neutral()
        viewer.picture.stage.road.show(q)
        assert viewer.picture.stage.road._nodes is before
        q[viewer.robot.q_names.index("base/x")] = 3.0
        viewer.picture.stage.road.show(q)
        assert viewer.picture.stage.road._nodes is not before
    finally:
        viewer.close()
    vertices, faces = ribbon(points, 0.5)
    a, b, c = (vertices[faces[:, i]] for i in range(3))
    assert np.all(np.cross(b - a, c - a)[:, 2] > 0.0)


def test_colours_say_what_the_deflections_say(arm, shown):
    q = arm.random(np.random.default_rng(2))
    found = arm.deflections(q, (np.arange(PIECES) + 0.5) / PIECES)
    for tube, state in zip(shown.tubes, shown.tube_states(q, "moment"), strict=True):
        np.testing.assert_array_equal(state.value, np.linalg.norm(found[tube.name].moment, axis=-1))
    assert colours_of(np.array([0.0, 1.0])).tolist() == [[68, 1, 84], [253, 231, 37]]
    assert "N m" in legend("moment", 3.0)
    assert legend("none", 3.0) == ""


def test_colours_of_velocity_are_the_change_of_the_displacement(arm, shown):
    rng = np.random.default_rng(9)
    q, v = arm.random(rng), rng.normal(size=arm.nv)
    stations = (np.arange(PIECES) + 0.5) / PIECES
    h = 1e-4
    ahead, behind = (arm.deflections(arm.integrate(q, v, s * h), stations) for s in (1, -1))
    for tube, state in zip(shown.tubes, shown.tube_states(5.0 * q, "velocity", (q, v)), strict=True):
        rate = (ahead[tube.name].displacement - behind[tube.name].displacement) / (2 * h)
        np.testing.assert_allclose(state.value, np.linalg.norm(rate, axis=1), rtol=1e-6)
    assert not any(state.value.any() for state in shown.tube_states(q, "velocity"))
    assert "m/s" in legend("velocity", 3.0)


def test_magnified_tubes_have_the_colours_of_the_robot_as_it_is(arm, shown):
    q = arm.random(np.random.default_rng(11))
    once = shown.tube_states(q, "moment")
    magnified_ones = shown.tube_states(magnified(arm, q, 10.0), "moment", (q, np.zeros(arm.nv)))
    for a, b in zip(once, magnified_ones, strict=True):
        np.testing.assert_array_equal(a.value, b.value)
        assert np.abs(a.position - b.position).max() > 1e-3


def picture_of(camera, points, aspect):
    """Places of points (k, 3) in a camera's picture: across and up, both of -1..1."""
    ahead = camera.look_at - camera.position
    ahead = ahead / np.linalg.norm(ahead)
    right = np.cross(ahead, camera.up_direction)
    right = right / np.linalg.norm(right)
    away = points - camera.position
    half = (away @ ahead) * np.tan(0.5 * camera.fov)
    assert np.all(half > 0.0)
    return np.stack((away @ right / half / aspect, away @ np.cross(right, ahead) / half), axis=-1)


@cache
def places_of(name):
    """Lowest and highest place of a robot; corners of what is shown at rest and while it is moved in turn."""
    robot = flexdyn_ros.load(name)
    shown, reach = ShownRobot(robot), Reach(robot)
    configurations = [robot.neutral()]
    if not any(c.kind in MODAL for c in robot.coordinates):
        configurations += [
            reach.in_turn(phase) for phase in np.linspace(0, 2 * np.pi * robot.nv, 8 * robot.nv)
        ]
    corners = [np.array(list(product(*zip(*shown.bounds(q), strict=True)))) for q in configurations]
    return *room_of(shown, reach), corners


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("name", SHIPPED)
def test_the_whole_robot_is_in_the_picture(name, preset):
    """Also while it is moved in turn; left of the panel, which has 335 of 1280 pixels."""
    low, high, shown = places_of(name)
    camera = SimpleNamespace(up_direction=None)
    aim(camera, preset, low, high)
    for corners in shown:
        places = picture_of(camera, corners, 1280 / 720)
        assert np.all(np.abs(places) < 1.0)
        assert places[:, 0].max() < 1.0 - 2.0 * 335 / 1280
    if preset == "corner":
        corners = np.array(list(product(*zip(low, high, strict=True))))
        assert np.ptp(picture_of(camera, corners, 1280 / 720), axis=0).max() > 0.7


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_tubes_are_closed_and_look_outwards(arm, axis):
    import trimesh

    tube = ShownRobot(arm).tubes[0]._replace(along=axis)
    mesh = trimesh.Trimesh(*prism(tube))
    assert mesh.is_watertight
    assert mesh.volume == pytest.approx(np.pi * (0.022 * 7.11) ** 2, rel=0.02)


def test_every_link_of_a_robot_without_visuals_has_a_shape(arm, shown):
    links = {shape.link for shape in shown.shapes}
    assert {"boom_1", "boom_2", "wrist_1", "wrist_2", "wrist_3", "boom_1@1"} <= links
    # the bar from the first boom to the elbow ends where the elbow is
    q = arm.random(np.random.default_rng(3))
    bar = next(shape for shape in shown.shapes if shape.link == "boom_1@1")
    T = shown.link_poses(q)["boom_1@1"]
    elbow = arm.frames(q, "boom_2")[:3, 3]
    points = bar.vertices @ T[:3, :3].T + T[:3, 3]
    # the round end of a bar of the thickness of the boom
    assert np.min(np.linalg.norm(points - elbow, axis=1)) == pytest.approx(0.022 * 7.11, rel=1e-6)


def test_visuals_of_a_urdf_are_where_the_links_are():
    robot = flexdyn_ros.load("seven_joint_arm")
    shown = ShownRobot(robot)
    assert len(shown.shapes) >= 8
    q = robot.random(np.random.default_rng(4))
    for link, T in shown.link_poses(q).items():
        np.testing.assert_allclose(T, robot.frames(q, link), rtol=0, atol=1e-14)


def test_links_that_only_the_expanded_description_has_are_placed_by_its_joints():
    """Against the frames of the robot, for links that it has as well."""
    robot = flexdyn_ros.load("seven_joint_arm")
    shown = ShownRobot(robot)
    q = robot.random(np.random.default_rng(5))
    expected = shown.link_poses(q)
    from flexdyn_ros.view.drawing.shown_robot import _chain

    shown._chain, shown._direct = _chain(shown._urdf, set(expected)), (robot.description.root,)
    found = shown.link_poses(q)
    for link, T in expected.items():
        np.testing.assert_allclose(found[link], T, rtol=0, atol=1e-12)


def test_a_tour_moves_one_coordinate_after_the_other():
    robot = double_pendulum()
    reach = Reach(robot)
    np.testing.assert_allclose(reach.in_turn(np.pi / 2), [np.pi / 2, 0.0], atol=1e-12)
    np.testing.assert_allclose(reach.in_turn(3.5 * np.pi), [0.0, -np.pi / 2], atol=1e-12)


def test_the_room_of_a_slide_ends_where_its_tour_turns():
    robot = flexdyn_ros.load("""<robot name="lift"><link name="base"/><link name="car"><inertial>
        <mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
        <visual><geometry><box size="0.2 0.2 0.2"/></geometry></visual></link>
        <joint name="rail" type="prismatic"><parent link="base"/><child link="car"/><axis xyz="0 0 1"/>
        <limit lower="-1" upper="2" effort="1" velocity="1"/></joint></robot>""")
    shown = ShownRobot(robot)
    beyond = np.subtract(room_of(shown, Reach(robot)), shown.bounds(robot.neutral()))
    np.testing.assert_allclose(beyond, [[0.0, 0.0, -0.5], [0.0, 0.0, 1.0]], rtol=0, atol=1e-12)


@pytest.mark.parametrize("make", [double_pendulum, tumbler, lambda: flexdyn_ros.load("canadarm2")])
def test_sliders_go_there_and_back(make):
    robot = make()
    reach = Reach(robot)
    x = 0.4 * np.maximum(reach.lower, -1.0) + 0.1 * np.minimum(reach.upper, 1.0)
    np.testing.assert_allclose(reach.values(reach.configuration(x)), x, rtol=0, atol=1e-12)
    assert np.all(reach.lower < reach.upper)


def test_a_robot_at_rest_bends_as_statics_says_and_shows_it(arm):
    q, factor = rest_of(arm, arm.neutral(), 16.0)
    np.testing.assert_allclose(q, arm.static_equilibrium(arm.neutral(), hold="joints").q, atol=1e-12)
    assert factor == 1.0
    # 0.02 m of 1.9 m: twice is no more than 4 %
    mobile = flexdyn_ros.load("mobile_arm")
    assert rest_of(mobile, mobile.neutral(), 1.9)[1] == 2.0
    # gravity is across the strips, along what bends
    flat = flexdyn_ros.load("flexible_two_link")
    assert rest_of(flat, flat.neutral(), 1.0) is None


def test_magnification_changes_deformations_only(arm):
    q = arm.random(np.random.default_rng(6))
    shown = magnified(arm, q, 10.0)
    joints = [c.q_index for c in arm.coordinates if c.kind == "joint"]
    others = [c.q_index for c in arm.coordinates if c.kind != "joint"]
    np.testing.assert_array_equal(shown[joints], q[joints])
    np.testing.assert_array_equal(shown[others], 10.0 * q[others])
    assert magnified(arm, q, 1.0) is q


def test_a_mode_moves_the_robot_by_a_share_of_its_size(arm, shown):
    motion = ModeMotion.about(arm, arm.neutral(), shown.size, shown.points, locked=True)
    expected = arm.modes(arm.neutral(), lock="joints").frequency
    np.testing.assert_array_equal(motion.modes.frequency, expected[expected > 1e-6])
    assert motion.labels()[0].startswith(f"1: {expected[expected > 1e-6][0]:.4g} Hz")
    far = shown.points(motion.at(0, np.pi / 2, 1.0)) - shown.points(arm.neutral())
    # to first order in the amplitude, 6 % of 16 m
    assert np.max(np.linalg.norm(far, axis=1)) == pytest.approx(AMPLITUDE * shown.size, rel=0.05)
    np.testing.assert_array_equal(motion.at(0, 0.0, 1.0), arm.neutral())
    # the phase goes once around in a period of the mode
    phases = 0.7 + 1e-4 * np.array([-0.5, 0.5])
    before, after = (motion.at(0, phase, 1.0) for phase in phases)
    seconds = np.ptp(phases) / (2.0 * np.pi * motion.modes.frequency[0])
    rate = motion.rate(0, 0.7, 1.0)
    assert arm.difference(before, after) / seconds == pytest.approx(
        rate, rel=1e-6, abs=1e-6 * np.abs(rate).max()
    )


def test_a_trajectory_is_played_paused_and_begun_anew():
    run = flexdyn_ros.simulate(double_pendulum(), 0.5, [0.3, 0.0])
    playback = Playback(run)
    playback.advance(0.2)
    np.testing.assert_array_equal(playback.state()[0], run.q[200])
    playback.playing = False
    playback.advance(0.2)
    assert playback.time == 0.2
    playback.playing = True
    playback.advance(0.4)
    assert playback.time == 0.0


@pytest.mark.parametrize("quantity", QUANTITIES)
def test_plots_are_drawn_from_the_numbers(arm, quantity):
    history = History()
    rng = np.random.default_rng(7)
    for i in range(5):
        history.add(0.1 * i, arm.random(rng), rng.normal(size=23), np.arange(23.0))
    series = series_of(arm, quantity, history.arrays())
    assert series.values.shape == (len(series.names), 5)
    assert np.all(np.isfinite(series.values))
    _, q, v, _ = history.arrays()
    if quantity == "energies":
        np.testing.assert_allclose(series.values[-1], arm.energy(q, v).total)
    if quantity == "rates":
        np.testing.assert_array_equal(series.values[0], v[:, 0])
        assert series.unit == "rad/s"
    if quantity == "tip deflections":
        expected = arm.deflections(q, [1.0])["boom_2"].displacement[:, 0]
        for axis, letter in ((1, "y"), (2, "z")):
            row = series.values[series.names.index(f"boom_2 {letter}")]
            np.testing.assert_array_equal(row, expected[:, axis])
            assert row.min() < 0.0 < row.max()
    if quantity == "modal coordinates":
        assert len(series.names) == 8  # those that move most
    history.add(0.0, q[0], v[0], np.zeros(23))
    assert len(history) == 1


@pytest.mark.parametrize(
    ("top", "unit", "shown", "named"),
    [(0.0, "m", 0.0, "m"), (6e-18, "rad/s", 0.0, "rad/s"), (2.5e-4, "m", 250.0, "\N{MICRO SIGN}m"),
     (0.03, "rad/s, m/s", 30.0, "mrad/s, mm/s"), (7.0, "J", 7.0, "J"), (4e5, "N m, N", 400.0, "kN m, kN")],
)  # fmt: skip
def test_numbers_at_the_ticks_of_plots_are_short(top, unit, shown, named):
    found = readable(Series(np.arange(2.0), ("a",), np.array([[0.0, -top]]), unit))
    np.testing.assert_allclose(found.values, [[0.0, -shown]], rtol=1e-12)
    assert found.unit == named


def test_a_run_that_is_not_looped_stays_at_its_end():
    playback = Playback(flexdyn_ros.simulate(double_pendulum(), 0.2, [0.3, 0.0]), loop=False)
    playback.advance(1.0)
    assert not playback.playing
    assert playback.time == playback.end


def test_long_trajectories_are_thinned_for_plots():
    run = flexdyn_ros.simulate(double_pendulum(), 1.0, [0.3, 0.0])
    t, q, _, _ = samples_of(run)
    assert t.size == 400
    assert t[0] == run.t[0]
    assert t[-1] == run.t[-1]
    np.testing.assert_array_equal(q[-1], run.q[-1])


def until(condition, seconds=20.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_what_moves_the_robot_can_be_changed(viewer, arm):
    q = arm.random(np.random.default_rng(8))
    viewer.pose(q)
    tube, state = viewer.picture.scene._tubes[0], viewer.shown.tube_states(q)[0]
    expected = tube._tube.surface(state.frames)
    until(lambda: np.allclose(tube._surface.vertices, expected, atol=1e-4))
    viewer.play_mode(1)
    assert viewer.source == "mode"
    assert viewer.picture.label.text != "" or not viewer.picture.label.visible
    before = viewer.q.copy()
    until(lambda: not np.array_equal(viewer.q, before))
    run = flexdyn_ros.simulate(arm, 0.02, v0=np.full(23, 0.01), dt=2e-3)
    viewer.play(run)
    viewer.playback.speed = 0.05
    until(lambda: viewer.playback.time > 0.0 and viewer.source == "run")
    viewer.show_time(0.01)
    viewer.playback.playing = False
    viewer.show_time(0.01)
    np.testing.assert_array_equal(viewer.q, run.q[5])
    viewer.follow(3.0, q, np.zeros(23), np.zeros(23))
    assert viewer.source == "live"
    np.testing.assert_array_equal(viewer.q, q)


def test_a_rigid_twin_stands_beside_the_robot_and_both_are_in_sight(viewer):
    viewer.pose(viewer.robot.neutral())
    alone, room = viewer.cameras.swept(), viewer.picture.room
    viewer.show_twin(shown=True)
    shift = viewer.twin.shift
    axis = int(np.argmax(np.abs(shift)))
    assert np.count_nonzero(shift) == 1
    assert room[0][axis] + shift[axis] > room[1][axis]
    low, high = viewer.cameras.swept()
    np.testing.assert_allclose(low, alone[0])
    np.testing.assert_allclose(high, alone[1] + shift)
    assert viewer.twin._label.position[2] > room[1][2]
    viewer.show_twin(shown=False)


def test_ground_and_sky_are_bands_without_gaps(viewer):
    import trimesh

    for part in ("ground", "sky"):
        node = viewer.server.scene.get_handle_by_name(f"/surroundings/{part}")
        band = trimesh.Trimesh(node.vertices, node.faces, process=False)
        assert band.euler_number == 0
        assert band.is_winding_consistent
        # no face crosses the band
        assert band.area_faces == pytest.approx(np.tile(band.area_faces[:2], len(band.faces) // 2), rel=1e-3)


def test_the_sky_is_lighter_than_the_ground_where_they_meet():
    for palette in (LIGHT, DARK):
        assert min(palette.low) > max(palette.far)


def test_a_pose_without_modes_is_told_and_not_fatal(viewer):
    viewer.panels.modes.offer([])
    assert "no modes" in viewer.message
    assert viewer._thread.is_alive()


def test_closing_ends_all_threads(arm):
    from flexdyn_ros.view import Viewer

    before = set(threading.enumerate())
    other = Viewer(double_pendulum(), port=8290)
    assert other.port >= 8290
    assert set(threading.enumerate()) - before
    other.close()
    assert not other._thread.is_alive()
    other.close()
    assert not set(threading.enumerate()) - before


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_memory_stays_flat_for_ten_minutes(viewer):
    """Of the server, while a mode is animated."""

    def resident():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4096 / 1e6

    viewer.play_mode(0)
    time.sleep(60.0)
    before = resident()
    time.sleep(540.0)
    # garbage comes and goes; what grew with every frame would be 16 000 frames by then
    assert resident() - before < 20.0


def test_a_run_goes_on_by_single_samples(viewer):
    viewer.play(flexdyn_ros.simulate(viewer.robot, 0.05, sample=0.01))
    viewer.panels.time_line.toggle()
    viewer.show_time(0.02)
    viewer.panels.time_line.step(1)
    assert viewer.playback.time == pytest.approx(0.03)
    assert np.array_equal(viewer.q, viewer.playback.trajectory.q[3])
    viewer.panels.time_line.step(-1)
    assert viewer.playback.time == pytest.approx(0.02)
    assert not viewer.playback.playing
    viewer.pose(viewer.robot.neutral())


def test_the_page_has_the_name_of_the_robot_and_the_terminal_one_address(capfd):
    from urllib.request import urlopen

    from flexdyn_ros.view import Viewer

    viewer = Viewer(double_pendulum(), port=8390)
    try:
        page = urlopen(viewer.address).read()
        page = page if page.startswith(b"<") else gzip.decompress(page)
    finally:
        viewer.close()
    assert b"<title>double_pendulum - flexdyn</title>" in page
    assert "viser" not in capfd.readouterr().out


def test_sliders_are_grouped_as_the_report_groups_coordinates(monkeypatch):
    from viser import GuiApi

    from flexdyn_ros.view import Viewer

    folders, add = [], GuiApi.add_folder

    def noted(gui, label, *more, **options):
        folders.append(label)
        return add(gui, label, *more, **options)

    monkeypatch.setattr(GuiApi, "add_folder", noted)
    Viewer(flexdyn_ros.load("mobile_arm"), port=8391).close()
    assert {"Base", "Joints", "Modes"} <= set(folders)


@pytest.mark.parametrize(
    ("low", "high"), [(-2.8973, 2.8973), (-0.336592, 0.3366), (0.0, 525.2), (-3e-7, 1e-7)]
)
def test_sliders_have_ends_and_steps_of_few_digits(low, high):
    from flexdyn_ros.view.panels.run import marks

    first, last, step = marks(low, high)
    assert low <= first < last <= high
    assert last - first > 0.99 * (high - low)
    assert 200 <= (last - first) / step + 2 <= 2002
    assert max(len(f"{abs(x):.12g}") for x in (first, last)) <= len("0.336") or step < 1e-6


def test_sliders_follow_whatever_moves_and_one_moves_one_coordinate(viewer):
    panel, robot = viewer.panels.pose, viewer.robot
    q = robot.random(np.random.default_rng(4))
    viewer.pose(q)
    # the viewer does so four times a second while a page is open
    panel._moved = 0.0
    viewer.panels.refresh()
    assert panel.sliders[0].value == pytest.approx(q[0], abs=0.51 * panel.sliders[0].step)
    # what a visitor moves; nothing else takes the place of its slider
    panel.sliders[1].value = 0.25
    panel._slid(SimpleNamespace(client=0), 1)
    expected = viewer.reach.values(q)
    expected[1] = 0.25
    np.testing.assert_allclose(viewer.reach.values(viewer.q), expected, atol=1e-12)
    viewer.pose(robot.neutral())


def test_sliders_follow_a_run_while_somebody_looks(viewer, monkeypatch):
    class Somebody(dict):
        def __bool__(self):
            return True

    monkeypatch.setattr(viewer.server, "get_clients", Somebody)
    viewer.pose(viewer.robot.neutral())
    slider = viewer.panels.pose.sliders[0]
    until(lambda: slider.value == 0.0)
    viewer.play(flexdyn_ros.simulate(viewer.robot, 0.2, v0=np.where(viewer.robot.driven, 1.0, 0.0)))
    until(lambda: slider.value > 0.05)
    assert viewer.source == "run"
    viewer.pose(viewer.robot.neutral())
    until(lambda: slider.value == 0.0)


def test_sliders_follow_the_tour(viewer):
    q = viewer.reach.in_turn(0.5 * np.pi)
    viewer.panels.pose._moved = 0.0
    viewer.panels.pose.follow(q)
    sliders = [viewer.panels.pose.sliders[i] for i in range(viewer.robot.nv)]
    found, steps = (np.array([getattr(s, name) for s in sliders]) for name in ("value", "step"))
    assert (np.abs(found - viewer.reach.values(q)) <= 0.5001 * steps).all()
    assert np.ptp(found) > 0.0
    viewer.pose(viewer.robot.neutral())


def test_knobs_begin_where_the_robot_is_with_nothing_to_carry(viewer):
    robot, knobs = viewer.robot, viewer.panels.knobs
    q = robot.neutral()
    q[0] = 0.3
    viewer.pose(q)
    knobs.begin()
    try:
        assert viewer.source == "drive"
        assert {robot.v_names[i] for i in knobs.targets} == set(np.array(robot.v_names)[robot.driven])
        assert knobs.targets[0].value == pytest.approx(0.3, abs=0.51 * knobs.targets[0].step)
        load = knobs.payload
        assert (load.min, load.value) == (0.0, 0.0)
        assert load.max == pytest.approx(0.5 * robot.mass, rel=0.01)
        assert (knobs.stiffness.min, knobs.stiffness.value, knobs.stiffness.max) == (-1.0, 0.0, 1.0)
    finally:
        viewer.pose(robot.neutral())


def test_a_plot_offers_deflections_of_robots_that_bend(viewer, monkeypatch):
    from viser import GuiApi

    offered, add = [], GuiApi.add_dropdown

    def noted(gui, label, options, **more):
        offered.append((tuple(options), more["initial_value"]))
        return add(gui, label, options, **more)

    monkeypatch.setattr(GuiApi, "add_dropdown", noted)
    for robot in (viewer.robot, double_pendulum()):
        LivePlot(viewer.server, robot, "tip deflections")
    rigid = tuple(name for name in QUANTITIES if name not in ("tip deflections", "modal coordinates"))
    assert offered == [(QUANTITIES, "tip deflections"), (rigid, "rates")]


@pytest.mark.parametrize(("sent", "taken"), [(5.0, 2.0), (-1.0, 0.0), (1.5, 1.5), (np.nan, 0.0)])
def test_a_control_shows_the_number_that_was_taken(sent, taken):
    from flexdyn_ros.view.panels.run import number

    handle = SimpleNamespace(value=sent)
    assert number(handle, 0.0, 2.0) == taken == handle.value


def test_a_name_is_text_in_the_title_of_the_page():
    from flexdyn_ros.view.page import with_additions

    page = with_additions("<head><title>Viser</title></head>", r"\g<9>\1 & <b>")
    assert r"<title>\g&lt;9&gt;\1 &amp; &lt;b&gt;</title>" in page
