"""What a browser draws, pixel by pixel: colours are those of the scale, and no picture has parts of two
instants."""

import asyncio
import threading
from contextlib import contextmanager

import numpy as np
import pytest
from browser import CALM, ROUGH, Page, browser
from models import joint, robot_text

import flexdyn_ros
from flexdyn_ros.expanded.colour_scale import STOPS, colours_of
from flexdyn_ros.view.drawing.loads import along_links
from flexdyn_ros.view.drawing.shown_robot import STATIONS

pytest.importorskip("viser")

from viser import infra

from flexdyn_ros.view import Viewer

pytestmark = pytest.mark.timeout(600)

#: of the page [pixels]
SIZE = (960, 540)
#: the page draws fewer pixels where it is slow, unless told
SHARP = "/?fixedDpr=1"


@pytest.fixture(scope="module")
def chrome():
    with browser() as chrome:
        yield chrome


@contextmanager
def seen_from_the_side(chrome, viewer, script=CALM + ROUGH):
    """The page of a viewer, which is closed after, and its client."""
    page = Page(chrome, viewer.port, *SIZE, path=SHARP, script=script)
    try:
        viewer.cameras.look_from("side")
        (client,) = viewer.server.get_clients().values()
        page.until(lambda: abs(client.camera.position[0] - client.camera.look_at[0]) < 1e-3, "no side view")
        yield page, client
        assert not page.errors
    finally:
        page.page.close()
        viewer.close()


# ---- colours ----


def pixels_of(client, points):
    """Where points (k, 3) are in the picture: across and down [pixels]."""
    camera = client.camera
    ahead = camera.look_at - camera.position
    ahead = ahead / np.linalg.norm(ahead)
    right = np.cross(ahead, camera.up_direction)
    right = right / np.linalg.norm(right)
    away = points - camera.position
    scale = 0.5 * SIZE[1] / np.tan(0.5 * camera.fov) / (away @ ahead)
    across, up = (away @ right) * scale, (away @ np.cross(right, ahead)) * scale
    return np.stack((0.5 * SIZE[0] + across, 0.5 * SIZE[1] - up), axis=-1).round().astype(int)


def distance_from_scale(pixel, low=0.0, high=1.0):
    """Largest difference of a channel from the nearest colour of a part of the scale."""
    scale = colours_of(np.linspace(low, high, 201)).astype(int)
    return np.abs(scale - pixel).max(axis=-1).min()


@pytest.mark.parametrize("dark", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["light", "dark"])
def test_tubes_have_the_colours_of_the_legend(chrome, dark):
    viewer = Viewer(flexdyn_ros.load("canadarm2"), port=8350)
    assert viewer.rest()
    viewer.picture.ghost.visible = False
    viewer.panels.paint(dark=dark)
    with seen_from_the_side(chrome, viewer) as (page, client):
        page.settle()
        picture = page.picture()
        loads = along_links(viewer.robot, viewer.picture.moment(viewer.q), STATIONS)
        states = viewer.shown.tube_states(viewer.q, "moment", loads=loads)
        top = max(state.value.max() for state in states)
        seen = 0
        for state in states:
            share = state.value / top
            places = pixels_of(client, state.position)
            # a ray that is not square to the tube meets a neighbour of the piece behind whose middle it goes
            for k in range(6, len(share) - 6):
                x, y = places[k]
                near = share[k - 2 : k + 3]
                assert distance_from_scale(picture[y, x], near.min(), near.max()) <= 3
                seen += 1
        assert seen > 90
        legend = page.page.locator("div[style*='linear-gradient']").first.bounding_box()
        shot = page.screenshot()
        row = shot[int(legend["y"] + 0.5 * legend["height"])].astype(int)
        for share in np.linspace(0.05, 0.95, 19):
            pixel = row[int(legend["x"] + share * legend["width"])]
            assert distance_from_scale(pixel, share - 0.01, share + 0.01) <= 3


def test_the_scale_of_colours_is_that_of_the_legend():
    assert colours_of(np.linspace(0.0, 1.0, len(STOPS))).tolist() == STOPS.tolist()


# ---- one instant ----

#: columns in which the four parts of the lift are [m]
PARTS = {"post": -0.45, "boom": 0.5, "hand": 1.15, "finger": 2.0}
#: samples each drawn picture: how far down the first pixel of each column is that the empty picture has not
SAMPLER = """
window.tops = []; let empty = null, columns = [], changed = false;
const original_ = HTMLCanvasElement.prototype.getContext;
HTMLCanvasElement.prototype.getContext = function(kind, ...rest) {
  const context = original_.call(this, kind, ...rest);
  if (context && kind.startsWith('webgl') && !context.watched) {
    context.watched = true; window.canvas3d = this;
    for (const name of ['drawElements', 'drawElementsInstanced']) {
      const draw = context[name].bind(context);
      context[name] = (...a) => { changed = true; return draw(...a); };
    }
  }
  return context;
};
function column(x) {
  const copy = document.createElement('canvas');
  copy.width = 1; copy.height = window.canvas3d.height;
  const flat = original_.call(copy, '2d', {willReadFrequently: true});
  flat.drawImage(window.canvas3d, x, 0, 1, copy.height, 0, 0, 1, copy.height);
  return flat.getImageData(0, 0, 1, copy.height).data;
}
window.watch = (places) => { columns = places; empty = columns.map(column); window.tops = []; };
function sample() {
  if (changed && empty) window.tops.push(columns.map((x, i) => {
    const now = column(x);
    for (let y = 0; y < now.length / 4; y++)
      for (let c = 0; c < 3; c++) if (Math.abs(now[4 * y + c] - empty[i][4 * y + c]) > 40) return y;
    return -1;
  }));
  changed = false; requestAnimationFrame(sample);
}
requestAnimationFrame(sample);
"""


def lift():
    """Two rigid and two bending parts side by side on one slider."""
    inertial = (
        '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    )
    box = '<visual><origin xyz="{} 0 0"/><geometry><box size="0.3 0.2 0.2"/></geometry></visual>'
    beam = '<beam length="1" mass_per_length="1" EIy="10" EIz="10" GJ="10"/><modes bending_y="1"/>'
    return flexdyn_ros.load(
        robot_text(
            "lift",
            '<link name="world"/>',
            f'<link name="post">{inertial}{box.format(-0.45)}</link>',
            '<link name="boom"/>',
            f'<link name="hand">{inertial}{box.format(0.15)}</link>',
            '<link name="finger"/>',
            joint("slide", "prismatic", "world", "post", axis=(0, 0, 1)),
            joint("grip", "fixed", "post", "boom"),
            joint("wrist", "fixed", "boom", "hand", xyz=(1.0, 0, 0)),
            joint("knuckle", "continuous", "hand", "finger", xyz=(0.45, 0, 0), axis=(0, 1, 0)),
            '<flexdyn version="1"/>',
            f'<flexdyn reference="boom">{beam}</flexdyn><flexdyn reference="finger">{beam}</flexdyn>',
        )
    )


@pytest.mark.parametrize("colour", ["none", "moment"])
def test_a_moment_is_sent_as_one_by_the_loop_that_collects_messages(monkeypatch, colour):
    """So that no browser gets a part of it: in one atomic part, which no collection interrupts."""
    viewer = Viewer(lift(), port=8361)
    atomic, send = viewer.server.atomic, infra.WebsockMessageHandler.queue_message
    parts, sent = [], []

    @contextmanager
    def counted():
        with atomic():
            parts.append("open")
            try:
                yield
            finally:
                parts[-1] = "done"

    def noted(server, message):
        if type(message).__name__.startswith("Scene"):
            sent.append((len(parts), parts[-1:] == ["open"], threading.get_ident()))
        send(server, message)

    def move():
        q = viewer.robot.neutral()
        q[viewer.robot.q_names.index("slide")] = 0.3
        viewer.pose(q)

    try:
        viewer.panels.look.colouring.value = colour
        viewer.redraw_now()
        with viewer.standing_still():
            monkeypatch.setattr(viewer.server, "atomic", counted)
            monkeypatch.setattr(infra.WebsockMessageHandler, "queue_message", noted)
            viewer.show_moment(move)
            monkeypatch.undo()
        loop = asyncio.run_coroutine_threadsafe(ident(), viewer.server.get_event_loop()).result(10)
    finally:
        viewer.close()
    assert len(sent) >= 4  # each part of the robot is moved
    assert set(sent) == {(1, True, loop)}


async def ident():
    return threading.get_ident()


@pytest.mark.slow
@pytest.mark.parametrize("colour", ["none", "moment"])
def test_no_picture_has_parts_of_two_instants(chrome, colour):
    """A marker in every part: the first pixel of it from above. All parts ride on one slider, far at each
    step."""
    viewer = Viewer(lift(), port=8360)
    viewer.panels.look.colouring.value = colour
    slide = viewer.robot.q_names.index("slide")

    def put(height):
        q = viewer.robot.neutral()
        q[slide] = height
        viewer.show_moment(lambda: viewer.pose(q))

    with seen_from_the_side(chrome, viewer, script=ROUGH + SAMPLER) as (page, client):
        places = pixels_of(client, np.array([[x, 0.0, 0.0] for x in PARTS.values()]))[:, 0].tolist()
        put(50.0)
        page.settle()
        page.page.evaluate("(places) => window.watch(places)", places)
        put(0.0)
        page.until(lambda: min(page.page.evaluate("window.tops.at(-1)") or [-1]) >= 0, "no part is seen")
        page.settle()
        rest = np.array(page.page.evaluate("window.tops.at(-1)"))
        page.page.evaluate("window.tops = []")
        rng = np.random.default_rng(3)
        while page.page.evaluate("window.tops.length") < 500:
            put(rng.uniform(0.0, 0.6))
            page.page.wait_for_timeout(25)
        moved = np.array(page.page.evaluate("window.tops")) - rest
        assert len(set(moved[:, 0].tolist())) > 12
        # 1 pixel for each of two edges that are rounded
        torn = np.ptp(moved, axis=1) > 3
        assert not torn.any(), f"{torn.sum()} of {len(moved)} pictures: {moved[torn][:5].tolist()}"
