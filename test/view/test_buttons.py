"""Buttons of the page, pressed by the messages that a browser sends."""

import numpy as np
import pytest
from pendulums import double_pendulum

pytest.importorskip("viser")
pytest.importorskip("msgspec")
pytest.importorskip("websockets.sync.client")

from view.test_visitors import until, update, visit

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
