"""Buttons of the page, pressed by the messages that a browser sends."""

import numpy as np
import pytest
from pendulums import double_pendulum
from visits import until, update, visit

import flexdyn_ros
from flexdyn_ros.view import Viewer


@pytest.fixture(scope="module")
def viewer():
    made = Viewer(double_pendulum(), port=8450)
    yield made
    made.close()


def test_buttons_of_views_turn_the_camera_to_where_they_say(viewer):
    handles = viewer.server.gui._gui_input_handle_from_uuid.values()
    (views,) = (h for h in handles if "top" in getattr(h, "options", ()))
    with visit(viewer) as wire:
        (client,) = viewer.server.get_clients().values()

        def looks_along(direction):
            way = np.subtract(client.camera.look_at, client.camera.position)
            cosine = np.dot(way, direction) / np.linalg.norm(way) / np.linalg.norm(direction)
            return cosine > np.cos(0.1 * np.pi)

        # x points to the front, z up; what is not offered is the first of them, from the corner
        ways = {"front": (-1, 0, 0), "side": (0, 1, 0), "corner": (-1, 1.6, -0.9), "top": (0, 0, -1)}
        for name in (*ways, "below"):
            along = ways.get(name, ways["corner"])
            assert not looks_along(along)
            wire.send(update(views, name))
            until(lambda along=along: looks_along(along), 5.0)


def test_buttons_of_the_time_line_go_back_and_on_by_a_sample(viewer):
    viewer.play(flexdyn_ros.simulate(viewer.robot, 0.05, sample=0.01))
    handles = viewer.server.gui._gui_input_handle_from_uuid.values()
    (steps,) = (h for h in handles if getattr(h, "options", ()) == ("back", "on"))
    viewer.panels.time_line.toggle()
    viewer.show_time(0.02)
    playback = viewer.playback

    def stands_at(sample):
        is_drawn = np.array_equal(viewer.q, playback.trajectory.q[sample])
        return is_drawn and abs(playback.time - 0.01 * sample) < 1e-6

    with visit(viewer) as wire:
        # what is not offered goes on
        for name, sample in (("on", 3), ("back", 2), ("back", 1), ("on", 2), ("across", 3)):
            wire.send(update(steps, name))
            until(lambda sample=sample: stands_at(sample), 5.0)
            assert not playback.playing


def test_controls_of_looks_change_the_picture_of_a_robot_that_stands_still(monkeypatch):
    robot = flexdyn_ros.load("flexible_two_link")
    made = Viewer(robot, port=8475)
    try:
        q = robot.neutral()
        is_joint = np.array([c.kind == "joint" for c in robot.coordinates])
        straight, q[is_joint] = q.copy(), (0.4, -0.7)
        straight[is_joint], q[~is_joint] = q[is_joint], 0.1
        made.pose(q)
        look, scene = made.panels.look, made.server.scene
        ghosts = {name: scene.get_handle_by_name(f"/ghost/{name}") for name in ("link_1", "link_2")}
        for visible in (True, False, True):
            look.ghost.value = visible
            until(lambda visible=visible: all(x.visible == visible for x in ghosts.values()), 5.0)
        for name, node in ghosts.items():
            pose = robot.frames(straight, name)
            along, *beside = ((node.vertices - pose[:3, 3]) @ pose[:3, :3]).T
            length = np.ptp(along)
            assert np.abs(beside).max() < 0.1 * length
        drawn, draw = [], made.picture.draw
        monkeypatch.setattr(made.picture, "draw", lambda: (drawn.append(look.factor()), draw()))
        for control, value in (
            (look.magnification, 7.0),
            *((box, True) for box in look.overlays.values()),
            (look.colouring, "strain"),
        ):
            drawn.clear()
            control.value = value
            until(lambda: drawn and drawn[-1] == 7.0, 5.0)
    finally:
        made.close()


def test_knobs_ask_a_joint_for_no_more_than_its_limits_or_a_turn_to_either_side():
    kinds = {
        "turns": ("continuous", ""),
        "bends": ("revolute", '<limit lower="-0.4" upper="0.9" effort="9" velocity="9"/>'),
        "slides": ("prismatic", '<limit lower="0.1" upper="0.7" effort="9" velocity="9"/>'),
    }
    text, parent = '<link name="base"/>', "base"
    for name, (kind, limit) in kinds.items():
        text += f"""<link name="l_{name}"><inertial><mass value="2"/>
          <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
          <joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="l_{name}"/>
          <axis xyz="0 0 1"/>{limit}</joint>"""
        parent = f"l_{name}"
    robot = flexdyn_ros.load(f'<robot name="three">{text}</robot>')
    made = Viewer(robot, port=8455)
    try:
        made.pose(np.array([0.3, 0.2, 0.4]))
        knobs = made.panels.knobs
        knobs.begin()
        ends = [(knobs.targets[i].min, knobs.targets[i].max) for i in range(3)]
        assert ends == [pytest.approx(x, abs=0.01) for x in ((-np.pi, np.pi), (-0.4, 0.9), (0.1, 0.7))]
        found = [knobs.targets[i].value for i in range(3)]
        assert found == pytest.approx([0.3, 0.2, 0.4], abs=0.01)
    finally:
        made.close()
