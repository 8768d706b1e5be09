"""Links, twins and other robots, in a real browser."""

import numpy as np
import pytest
from browser import Page, browser, in_picture

import flexdyn_ros

pytest.importorskip("viser")
pytestmark = pytest.mark.timeout(600)

WIDTH, HEIGHT = 1120, 700
#: Chromium calls it an error that viser's page stops what a touch would do; nothing fails
PASSIVE = "Unable to preventDefault inside passive event listener"


@pytest.fixture(scope="module")
def viewer():
    from flexdyn_ros.view import Viewer
    from flexdyn_ros.view.opening import first_scene

    viewer = Viewer(flexdyn_ros.load("canadarm2"), port=8330, robots=("canadarm2", "two_link"))
    first_scene(viewer)
    yield viewer
    viewer.close()


@pytest.fixture(scope="module")
def chrome():
    with browser() as chrome:
        yield chrome


@pytest.fixture(scope="module")
def desk(chrome, viewer):
    found = Page(chrome, viewer.port, WIDTH, HEIGHT)
    yield found
    found.page.close()


@pytest.fixture
def page(desk):
    desk.errors.clear()
    return desk


def place_of(viewer, frame):
    """Pixels of the origin of a frame in the page."""
    (client,) = viewer.server.get_clients().values()
    point = viewer.robot.frames(viewer.magnified_q, frame)[None, :3, 3]
    ((x, y),) = in_picture(client.camera, point)
    return 0.5 * (1.0 + x) * WIDTH, 0.5 * (1.0 - y) * HEIGHT


def test_a_click_picks_a_link_and_says_what_it_is(page, viewer):
    page.tab("Link")
    page.settle()

    def picked():
        # a page that has not drawn the link yet hears nothing
        page.page.mouse.click(*place_of(viewer, "boom_2@0.4"))
        page.page.wait_for_timeout(500)
        return viewer.panels.links.picked == "boom_2"

    page.until(picked, "the click was not heard")
    table = page.page.locator("table", has_text="mass")
    table.get_by_text("279.2 kg").wait_for()
    text = table.inner_text()
    for words in ("centre of mass", "kg m²", "position", "rad", "force from its joint", "kN"):
        assert words in text
    page.until(lambda: viewer.picture.marks._picked.visible, "the frame of the link is not shown")
    assert not page.errors


def test_frames_and_ellipsoids_are_switched(page, viewer):
    page.tab("Link")
    page.page.wait_for_timeout(500)
    viewer.pose(viewer.robot.neutral())
    seen = [page.picture()]

    def changed():
        # below what the page says about browsers without a graphics processor
        return np.mean(np.abs(page.picture() - seen[-1])[200:].max(axis=-1) > 40)

    page.page.wait_for_timeout(1000)
    page.until(lambda: changed() < 1e-4 or seen.append(page.picture()), "the picture does not come to rest")

    page.page.get_by_label("Frames of links").check()
    page.until(lambda: changed() > 0.001, "no frame appears")
    page.page.get_by_label("Inertia ellipsoids").check()
    page.until(lambda: changed() > 0.01, "no ellipsoid appears")
    page.page.get_by_label("Frames of links").uncheck()
    page.page.get_by_label("Inertia ellipsoids").uncheck()
    nodes = viewer.picture.marks._nodes.values()
    page.until(lambda: not any(node.visible for node in nodes), "they stay")
    assert not page.errors


def test_moments_have_a_sign_of_their_own_in_the_legend(page, viewer):
    viewer.rest()
    page.tab("Look")
    page.page.get_by_label("Moments in joints").check()
    page.page.get_by_text("\N{RIGHTWARDS TWO HEADED ARROW}").wait_for()
    page.page.get_by_text("Moments in joints: up to 104 kN m").wait_for()
    page.page.get_by_label("Moments in joints").uncheck()
    assert not page.errors


def test_the_camera_follows(page, viewer):
    viewer.panels.links.pick("boom_2")
    page.tab("Link")
    page.page.get_by_label("Camera follows").check()
    page.until(lambda: viewer.cameras.followed == "boom_2", "the box was not heard")
    page.page.wait_for_timeout(500)
    before = np.array(place_of(viewer, "boom_2"))
    q = viewer.robot.neutral()
    q[0] = -0.6
    viewer.pose(q)

    def in_place():
        return np.allclose(place_of(viewer, "boom_2"), before, rtol=0.0, atol=4.0)

    page.until(in_place, "the camera does not follow")
    page.settle()
    assert in_place()
    page.page.get_by_label("Camera follows").uncheck()
    page.until(lambda: viewer.cameras.followed == "", "it follows on")
    viewer.pose(viewer.robot.neutral())
    viewer.cameras.look_from("corner")
    assert not page.errors


def test_pushes_by_button_and_by_mouse(page, viewer):
    viewer.rest()
    viewer.panels.links.pick("boom_2")
    page.tab("Link")
    page.press("Push")
    page.until(lambda: viewer.source == "drive", "the push does not let it move")
    page.page.get_by_text("on boom\\_2 for 0.2 s").or_(
        page.page.get_by_text("on boom_2 for 0.2 s")
    ).wait_for()
    page.until(lambda: viewer.drive.t > 0.5, "time stands still")
    assert not viewer.drive.wrenches
    page.page.wait_for_timeout(2000)
    x, y = place_of(viewer, "boom_2@0.4")
    page.page.keyboard.down("Control")
    page.page.mouse.move(x, y)
    page.page.mouse.down()
    for step in range(1, 8):
        page.page.mouse.move(x, y - 15.0 * step)
        page.page.wait_for_timeout(100)
    page.until(lambda: bool(viewer.drive.wrenches), "the mouse does not pull")
    ((frame, wrench),) = viewer.drive.wrenches.items()
    assert frame.startswith("boom_2@")
    # upwards in the picture
    assert wrench[5] > 0.5 * np.linalg.norm(wrench[3:])
    page.page.get_by_text("Push: up to").wait_for()
    page.page.mouse.up()
    page.page.keyboard.up("Control")
    page.until(lambda: not viewer.drive.wrenches, "it pulls on")
    viewer.pose(viewer.robot.neutral())
    assert not [error for error in page.errors if PASSIVE not in error]


def test_a_rigid_twin_moves_beside_the_robot(page, viewer):
    page.tab("Run")
    page.page.get_by_label("Rigid twin").check()
    page.until(lambda: viewer.twin is not None, "there is no twin")
    page.until(lambda: viewer.twin._label.text == "rigid twin, same joint positions", "it says nothing")
    viewer.panels.run.duration.value = 0.2
    page.press("Simulate from this pose")
    page.until(lambda: viewer.source == "run", "no run")
    page.until(
        lambda: viewer.twin._label.text == "rigid twin, its own motion", "it does not say that it moves"
    )
    run, own = viewer.twin._runs
    expected = flexdyn_ros.simulate(
        viewer.twin.robot, 0.2, viewer.twin.state_of(run.q[0]), sample=2e-3, limits="spring"
    )
    np.testing.assert_allclose(own.q, expected.q, atol=1e-12)
    page.page.get_by_text("Time line").wait_for()
    page.page.locator(".uplot canvas").first.wait_for()
    page.page.get_by_label("Rigid twin").uncheck()
    page.until(lambda: viewer.twin is None, "it stays")
    viewer.pose(viewer.robot.neutral())
    assert not page.errors


def test_another_robot_is_chosen_on_the_page_and_the_first_again(page, viewer):
    for name, source in (("two_link", "run"), ("canadarm2", "rest")):
        page.page.get_by_role("combobox", name="Robot").click()
        page.page.get_by_role("option", name=name, exact=True).click()
        page.until(lambda name=name, source=source: (viewer.robot.name, viewer.source) == (name, source),
                   f"{name} does not come")  # fmt: skip
        page.page.get_by_role("tab", name="Look").wait_for()
        page.page.get_by_text(viewer.robot.kind + ",").wait_for()
        orange = page.picture()
        assert np.std(orange) > 5.0
    assert viewer.robot is viewer.given
    assert not page.errors
