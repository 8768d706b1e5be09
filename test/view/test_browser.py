"""The viewer in a real browser, headless and rendered in software: it loads, shows, moves, animates."""

import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from browser import Page, browser
from pendulums import double_pendulum

import flexdyn_ros

ROOT = Path(__file__).parents[2]
pytest.importorskip("viser")
pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def viewer():
    from flexdyn_ros.view import Viewer

    viewer = Viewer(flexdyn_ros.load("canadarm2"), port=8310)
    yield viewer
    viewer.close()


@pytest.fixture(scope="module")
def chrome():
    with browser() as chrome:
        yield chrome


@pytest.fixture(scope="module")
def page(chrome, viewer):
    return Page(chrome, viewer.port)


def changed(before, after):
    """Share of pixels that differ by more than what antialiasing does."""
    return np.mean(np.abs(after - before).max(axis=-1) > 40)


def test_the_page_loads_without_errors_and_the_canvas_is_not_blank(page):
    picture = page.picture()
    assert not page.errors
    # the robot is a hundredth of the picture at least, and of the colour of its tubes
    orange = (picture[..., 0] > picture[..., 2] + 30) & (picture[..., 0] > 100)
    assert np.mean(orange) > 0.002
    assert np.std(picture) > 5.0


def test_a_slider_moves_the_geometry(page, viewer):
    before = page.picture()
    page.tab("Pose")
    page.fill("shoulder_pitch", -0.9)
    page.until(lambda: abs(viewer.q[0] + 0.9) < 0.02, "the slider was not heard")
    page.until(lambda: changed(before, page.picture()) > 0.005, "the picture stayed as it was")
    page.press("Neutral pose")
    page.until(lambda: viewer.q[0] == 0.0, "the button was not heard")
    assert not page.errors


def test_html_in_a_message_is_text_on_the_page(page, viewer):
    viewer.panels.tell("<img src=x onerror='window.owned=1'><script>window.owned=1</script> is no recording")
    page.page.get_by_text("<script>window.owned=1</script> is no recording").wait_for()
    assert page.page.evaluate("window.owned") is None
    assert not page.errors


def test_a_mode_is_animated_with_its_frequency(page, viewer):
    page.tab("Modes")
    page.press("Find modes at this pose")
    page.until(lambda: viewer.mode is not None, "no modes")
    page.press("Animate")
    page.until(lambda: viewer.source == "mode", "nothing is animated")
    frequency = viewer.robot.modes(viewer.robot.neutral(), lock="joints").frequency[0]
    page.until(lambda: viewer.picture.label.visible, "no label")
    assert viewer.picture.label.text.startswith(f"mode 1: {frequency:.4g} Hz")
    pictures = [page.picture()]
    page.until(
        lambda: pictures.append(page.picture()) or changed(pictures[0], pictures[-1]) > 0.002,
        "the mode stands still",
    )
    page.press("Stop")
    page.until(lambda: viewer.source == "pose", "it does not stop")
    assert not page.errors


def test_a_run_is_played_scrubbed_and_plotted(page, viewer):
    run = flexdyn_ros.simulate(viewer.robot, 0.05, v0=np.full(23, 0.01), dt=1e-3)
    viewer.play(run)
    page.tab("Run")
    page.press("Pause")
    page.until(lambda: not viewer.playback.playing, "it goes on")

    def scrubbed():
        # a place of the slider that was sent before the pause may come while it is typed: type again
        page.fill("Time [s]", 0.03)
        page.page.wait_for_timeout(300)
        return viewer.playback.index == 30

    page.until(scrubbed, "the slider of time was not heard")
    assert np.array_equal(viewer.q, run.q[30])
    page.page.locator(".uplot canvas").first.wait_for()
    page.press("Play")
    page.until(lambda: viewer.playback.playing, "it stays")
    viewer.pose(viewer.robot.neutral())
    assert not page.errors


def test_tubes_take_the_colours_of_a_quantity(page, viewer):
    viewer.pose(viewer.robot.random(np.random.default_rng(0)))
    before = page.picture()
    viewer.panels.look.colouring.value = "moment"
    viewer.restart_colours()
    page.until(lambda: changed(before, page.picture()) > 0.001, "the colours stayed")
    page.tab("Look")
    page.page.get_by_text("moment, from mode shapes").wait_for()
    viewer.panels.look.colouring.value = "none"
    viewer.pose(viewer.robot.neutral())


def test_a_screenshot_is_a_file(page, tmp_path):
    """Of as many pixels as the page draws, those of a half of its width and height."""
    page.tab("Look")
    with page.page.expect_download() as waiting:
        page.press("Screenshot")
    path = tmp_path / "shot.png"
    waiting.value.save_as(path)
    assert waiting.value.suggested_filename == "canadarm2.png"
    import imageio.v3 as imageio

    assert imageio.imread(path).shape[:2] == (270, 480)


@pytest.mark.slow
def test_a_film_is_a_file(page, viewer, tmp_path):
    viewer.play_mode(0)
    page.tab("Look")
    with page.page.expect_download() as waiting:
        page.press("Film")
    waiting.value.save_as(tmp_path / "film")
    assert waiting.value.suggested_filename in ("robot.gif", "robot.mp4")
    assert (tmp_path / "film").stat().st_size > 10_000


def test_keys_do_what_buttons_do(page, viewer):
    (client,) = viewer.server.get_clients().values()
    viewer.pose(viewer.robot.random(np.random.default_rng(3)))
    page.tab("Look")
    page.page.mouse.click(60, 500)
    page.page.keyboard.press("3")
    page.until(lambda: abs(client.camera.position[0] - client.camera.look_at[0]) < 1e-3, "not from the side")
    page.page.keyboard.press("n")
    page.until(lambda: not viewer.q.any(), "the key of the neutral pose was not heard")
    bright = page.picture().mean()
    page.page.keyboard.press("t")
    page.until(lambda: page.picture().mean() < bright - 60.0, "it stays day")
    page.page.keyboard.press("t")
    page.until(lambda: page.picture().mean() > bright - 20.0, "it stays night")
    assert not page.errors


def test_knobs_move_the_robot_while_it_runs(page, viewer):
    page.tab("Drive")
    page.press("Start live simulation")
    page.until(lambda: viewer.source == "drive", "it does not begin")
    page.page.get_by_text("Targets").wait_for()
    index = viewer.robot.q_names.index("elbow_pitch")
    page.fill("elbow_pitch", 0.6)
    page.until(lambda: abs(viewer.q[index] - 0.6) < 0.2, "the joint does not go where it is told")
    # with its unit, in the tab where it belongs
    assert page.page.get_by_text("elbow_pitch [rad]").locator("visible=true").count() == 1
    page.tab("Look")
    page.until(lambda: page.page.get_by_text("payload").locator("visible=true").count() == 0, "it is here")
    page.tab("Drive")
    page.fill("payload", 100.0)
    page.until(lambda: abs(viewer.drive.robot.mass - viewer.robot.mass - 100.0) < 2.0, "it carries nothing")
    page.fill("stiffness, 10^", 0.5)
    names = [p.name for p in viewer.robot.parameters]
    rigid = names.index("boom_1/EIy")
    page.until(
        lambda: (
            abs(viewer.drive.robot.parameters[rigid].value / viewer.robot.parameters[rigid].value - 10**0.5)
            < 0.1
        ),
        "it is as stiff as before",
    )
    page.press("Hold this pose")
    page.until(lambda: viewer.source == "pose", "it does not stop")
    viewer.pose(viewer.robot.neutral())
    assert not page.errors


def test_presets_turn_the_camera(page, viewer):
    before = page.picture()
    page.tab("Look")
    page.press("top")
    page.until(lambda: changed(before, page.picture()) > 0.01, "the camera stayed")
    assert not page.errors


@pytest.mark.slow
@pytest.mark.parametrize("name", ["canadarm2", "stewart_1t", "mobile_arm", "soft_arm_3", "seven_joint_arm"])
def test_one_command_reaches_a_robot_that_is_worth_seeing(chrome, name):
    """At rest in the colours of its bending moment, or moving."""
    command = [sys.executable, "-m", "flexdyn_ros.cli.main", "view", name, "--port", "8340"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=ROOT) as process:
        try:
            said = process.stderr.readline()
            port = int(re.search(r"http://localhost:(\d+)", said)[1])
            page = Page(chrome, port, 720, 420)
            before = page.picture()
            if name in ("canadarm2", "mobile_arm"):
                page.page.get_by_text("moment, from mode shapes").wait_for()
                yellow = (before[..., 0] > 150) & (before[..., 1] > 150) & (before[..., 2] < 80)
                assert yellow.any()
            else:
                page.until(lambda: changed(before, page.picture()) > 0.002, "it stands still")
            assert not page.errors
            page.page.close()
        finally:
            process.send_signal(signal.SIGINT)
            assert process.wait(120.0) == 130


def test_a_robot_that_does_not_bend_is_shown_too(page):
    """The last one: it leaves the page of the others."""
    from flexdyn_ros.view import Viewer

    viewer = Viewer(double_pendulum(), port=8320)
    try:
        page.visit(viewer.port, 720, 420)
        viewer.play(flexdyn_ros.simulate(viewer.robot, 1.0, [0.5, 0.0]))
        before = page.picture()
        page.until(lambda: changed(before, page.picture()) > 0.002, "it hangs still")
        assert not page.errors
    finally:
        viewer.close()
