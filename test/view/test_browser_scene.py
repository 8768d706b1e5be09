"""Pages as a visitor sees them first: in frame, names, units, sliders, no errors of the console."""

import re

import numpy as np
import pytest
from browser import Page, browser, in_picture
from sampled import few

import flexdyn_ros
from flexdyn_ros.robot.coordinates import pose_name
from flexdyn_ros.view.opening import first_scene

pytest.importorskip("viser")
pytestmark = pytest.mark.timeout(600)

WIDTH, HEIGHT = 1120, 700
#: one of each robot type; one that does not bend is seen in test_browser.py too
ROBOTS = ("canadarm2", "mobile_arm_spatial", "soft_arm_3", "stewart_1t", "seven_joint_arm")


@pytest.fixture(scope="module")
def chrome():
    with browser() as chrome:
        yield chrome


def opened(name, port):
    from flexdyn_ros.view import Viewer

    viewer = Viewer(flexdyn_ros.load(name), port=port)
    first_scene(viewer)
    return viewer


@pytest.fixture(scope="module")
def visit(chrome):
    """Goes to the page of a viewer, always in the same tab."""
    tabs = []

    def visit(viewer, *size):
        if tabs:
            tabs[0].visit(viewer.port, *size)
        else:
            tabs.append(Page(chrome, viewer.port, *size))
        return tabs[0]

    return visit


@pytest.fixture(scope="module")
def desk(visit, request):
    """The viewer of a robot as it begins, and its page."""
    viewer = opened(request.param, 8360 + ROBOTS.index(request.param))
    yield viewer, visit(viewer, WIDTH, HEIGHT)
    viewer.close()


@pytest.fixture(scope="module")
def phone(visit):
    """A viewer and its page on a phone."""
    viewer = opened("canadarm2", 8366)
    yield viewer, visit(viewer, 390, 844)
    viewer.close()


def value(page, label):
    """What the field of a slider shows."""
    field = page.page.locator(f"text={label} >> visible=true >> xpath=ancestor::*[.//input][1]//input").last
    return float(field.input_value())


def seen_whole_with_names_and_units(viewer, page):
    """AssertionError unless the whole robot is in the picture, and its coordinates in the panel."""
    scene = viewer.server.scene
    for other in ("/shadow", "/label", "/overlay"):
        scene.get_handle_by_name(other).visible = False
    page.page.wait_for_timeout(2500)
    # what the library says of browsers without a graphics processor lies over the picture
    for button in page.page.locator(".mantine-Notification-closeButton").all():
        button.click()
    page.page.wait_for_timeout(500)
    before = page.picture()
    scene.get_handle_by_name("/robot").visible = False
    page.page.wait_for_timeout(1500)
    robot = np.abs(page.picture() - before).max(axis=-1) > 40
    scene.get_handle_by_name("/robot").visible = True
    rows, columns = np.nonzero(robot)
    assert robot.mean() > 0.003
    assert max(np.ptp(rows) / HEIGHT, np.ptp(columns) / (WIDTH - 330)) > 0.25
    assert 3 < rows.min() < rows.max() < HEIGHT - 4
    assert 3 < columns.min() < columns.max() < WIDTH - 330 - 4
    # sliders of modal coordinates are folded
    text = page.page.locator("body").inner_text()
    for c in viewer.robot.coordinates:
        if c.kind in ("joint", "base", "platform", "actuator"):
            assert f"{pose_name(c)} [{c.unit}]" in text
    assert not re.search(r"\b(base|platform)/[vw][xyz]\b", text)
    if viewer.robot.name == "canadarm2":
        assert re.search(r"\b\d+ kN m\b", text)
    assert not page.errors


@pytest.mark.parametrize("desk", few(ROBOTS, 1), indirect=True)
def test_the_first_page_shows_the_whole_robot_with_names_and_units(desk):
    viewer, page = desk
    assert page.page.title() == f"{viewer.robot.name} - flexdyn"
    seen_whole_with_names_and_units(viewer, page)


@pytest.mark.parametrize("desk", ["canadarm2"], indirect=True)
def test_fields_show_what_was_taken_and_sliders_follow_the_tour(desk):
    viewer, page = desk
    page.tab("Pose")
    limit = viewer.robot.coordinates[0].upper
    page.fill("shoulder_pitch", 99.0)
    page.until(lambda: abs(value(page, "shoulder_pitch") - limit) < 1e-2, "the field shows another number")
    assert viewer.q[0] == pytest.approx(limit, abs=1e-2)
    page.press("Neutral pose")
    page.until(lambda: abs(value(page, "shoulder_pitch")) < 1e-3, "the slider stayed behind")
    page.press("Cycle coordinates")
    page.until(lambda: abs(value(page, "shoulder_pitch")) > 0.1, "the slider does not follow the tour")
    assert not page.errors


@pytest.mark.parametrize("desk", ["canadarm2"], indirect=True)
@pytest.mark.parametrize("name", few(ROBOTS[1:], 3))
def test_robots_of_other_types_are_shown_whole_on_the_same_page(desk, name):
    """In two thirds of the processor time of a page of their own, on which --slow looks."""
    viewer, page = desk
    viewer.change_robot(flexdyn_ros.load(name))
    first_scene(viewer)
    page.page.get_by_text(viewer.robot.kind + ",").wait_for()
    seen_whole_with_names_and_units(viewer, page)


def test_a_phone_shows_the_robot_above_the_panel(phone):
    viewer, page = phone
    (client,) = viewer.server.get_clients().values()
    low, high = viewer.cameras.swept()
    corners = np.array([low, high, [low[0], high[1], low[2]], [high[0], low[1], high[2]]])

    def places():
        return in_picture(client.camera, corners, 390, 844).T

    # the page says where its camera stands before it hears where it is to stand
    page.until(lambda: np.abs(places()).max() < 1.0, "the robot is not in the picture")
    page.settle()
    x, y = places()
    assert np.abs(x).max() < 1.0
    assert y.max() < 1.0
    panel = page.page.get_by_role("tab", name="Look").bounding_box()
    top = 0.5 * (1.0 - y.min()) * 844
    assert top < panel["y"]
    assert not page.errors


def test_a_phone_that_begins_with_the_camera_of_desks_is_led_to_the_robot(phone):
    viewer, page = phone
    page.page.wait_for_timeout(1500)
    (client,) = viewer.server.get_clients().values()
    client.camera.position = viewer.server.initial_camera.position
    client.camera.look_at = viewer.server.initial_camera.look_at
    corners = np.array(viewer.cameras.swept())

    def is_seen():
        x, y = in_picture(client.camera, corners, 390, 844).T
        return np.abs(x).max() < 1.0 and y.min() > 0.0

    page.until(is_seen, "the robot is beside the picture or behind the panel")
    assert not page.errors


#: widths of panel and page, right end of the unit of the legend, left ends of scroll bars of the panel
PHONE_PANEL = """() => {
  const box = (e) => e.getBoundingClientRect(), panel = document.querySelector('.mantine-ScrollArea-root');
  const unit = [...document.querySelectorAll('span')].find((e) => /^[0-9.]+ k?N m$/.test(e.innerText));
  const bars = [...panel.querySelectorAll('.mantine-ScrollArea-scrollbar[data-orientation="vertical"]')];
  const places = bars.map((e) => box(e)).filter((b) => b.width);
  return [box(panel).width, innerWidth, box(unit).right, places.map((b) => b.left)];
}"""


def test_the_panel_of_a_phone_is_as_wide_as_the_page_and_its_scroll_bar_covers_nothing(phone):
    viewer, page = phone
    page.tab("Look")
    # nothing to plot, no plots
    assert page.page.get_by_text("Plot of").locator("visible=true").count() == 0
    viewer.play(flexdyn_ros.simulate(viewer.robot, 0.05, dt=1e-3))
    page.page.get_by_text("Plot of tip deflections").wait_for()
    page.until(lambda: page.page.evaluate(PHONE_PANEL)[3], "the tab is too short to scroll")
    panel, width, unit, bars = page.page.evaluate(PHONE_PANEL)
    assert panel == width == 390
    assert unit < min(bars) < 390
    assert not page.errors
