"""The cameras of the pages of a viewer: what they see at first, presets, and one that follows a link."""

from __future__ import annotations

from typing import Any

import numpy as np

from flexdyn_ros.view.around.stage import aim
from flexdyn_ros.view.motion import magnified

#: states of a run whose room is looked at
LOOKS = 50
#: pages narrower than this share of their height are those of phones, with the panel at the bottom
UPRIGHT = 0.75
#: a camera that differs by more than this from where it was put was moved by its visitor [of the distance]
MOVED = 1e-3
#: a motion that leaves the room that is seen by less than this stays in the picture [of the room]
SLACK = 0.02


class Cameras:
    """All cameras of a viewer.

    Attributes
    ----------
    followed : str
        Frame that they move with; "" where they stand.
    """

    def __init__(self, viewer: Any) -> None:
        self._viewer = viewer
        self.restart()
        viewer.server.on_client_connect(self._greet)

    def restart(self) -> None:
        """Follow nothing; there may be another robot."""
        self.followed = ""
        self._first: tuple[np.ndarray, np.ndarray] = self._viewer.picture.room
        # of each page that follows: from the frame to what it looks at, and from there to the eye
        self._kept: dict[int, tuple[np.ndarray, np.ndarray]] = {}

    def look_from(self, preset: str) -> None:
        """Turn all cameras to one of camera.PRESETS."""
        low, high = self._viewer.shown.bounds(self._viewer.q)
        for client in self._viewer.server.get_clients().values():
            aim(client.camera, preset, low, high, upright=_upright(client.camera))
        self._kept.clear()

    def begin_at(self, preset: str) -> None:
        """Let pages that are opened from now on look from one of camera.PRESETS, without a place for
        panels."""
        low, high = self._viewer.shown.bounds(self._viewer.q)
        room = self._viewer.picture.room
        low, high = np.minimum(low, room[0]), np.maximum(high, room[1])
        aim(self._viewer.server.initial_camera, preset, low, high, beside_panel=False)

    def frame_scene(self) -> None:
        """Let all pages, and those that are opened from now on, see all that the present scene moves
        through."""
        self._first = low, high = self.swept()
        aim(self._viewer.server.initial_camera, "corner", low, high)
        for client in self._viewer.server.get_clients().values():
            aim(client.camera, "corner", low, high, upright=_upright(client.camera))
        self._kept.clear()

    def keep_in_sight(self) -> None:
        """See all that the present scene moves through, where that is more than was seen before."""
        low, high = self.swept()
        first_low, first_high = self._first
        slack = SLACK * float(np.max(first_high - first_low))
        if (low < first_low - slack).any() or (high > first_high + slack).any():
            self.frame_scene()

    def swept(self) -> tuple[np.ndarray, np.ndarray]:
        """Corners (3,), (3,) of a box that holds the robot wherever the present scene takes it [m]."""
        viewer = self._viewer
        states = [viewer.q]
        if viewer.source == "run" and viewer.playback is not None:
            q = viewer.playback.trajectory.q
            states = list(q[:: max(1, len(q) // LOOKS)])
        elif viewer.source == "mode" and viewer.mode is not None:
            modes = viewer.panels.modes
            states = [viewer.mode.at(modes.number, s * np.pi / 2, modes.amplitude_now()) for s in (-1.0, 1.0)]
        elif viewer.source == "tour":
            room: tuple[np.ndarray, np.ndarray] = viewer.picture.room
            return room
        factor = viewer.panels.magnification if viewer.story != "mode" else 1.0
        boxes = [viewer.shown.bounds(magnified(viewer.robot, q, factor)) for q in states]
        if viewer.twin is not None:
            boxes += [(low + viewer.twin.shift, high + viewer.twin.shift) for low, high in boxes]
        low, high = zip(*boxes, strict=True)
        return np.min(low, axis=0), np.max(high, axis=0)

    def follow(self, frame: str) -> None:
        """Move with a frame from now on, or stand: ""."""
        self.followed = frame
        self._kept.clear()
        self.move()

    def move(self) -> None:
        """Move all cameras with the frame that they follow; who turns or zooms meanwhile, keeps that."""
        if not self.followed:
            return
        viewer = self._viewer
        at = viewer.robot.frames(viewer.magnified_q, self.followed)[:3, 3]
        for client in viewer.server.get_clients().values():
            camera = client.camera
            view = np.asarray(camera.position) - np.asarray(camera.look_at)
            shift, kept = self._kept.get(client.client_id, (np.asarray(camera.look_at) - at, view))
            # places come back late from the browser: only directions and distances are its own
            if np.linalg.norm(view - kept) > MOVED * np.linalg.norm(kept):
                kept = view
            self._kept[client.client_id] = shift, kept
            with client.atomic():
                camera.position = at + shift + kept
                camera.look_at = at + shift

    def _greet(self, client: Any) -> None:
        """Show a phone the robot above the panel."""
        upright = _upright(client.camera)
        if not upright:
            return
        desk, room = self._viewer.server.initial_camera, self.swept()

        def aim_above_panel(camera: Any) -> None:
            # a page that still loads may take the camera of desks after this one
            if np.allclose(camera.position, desk.position):
                aim(camera, "corner", *room, upright=upright)

        aim(client.camera, "corner", *room, upright=upright)
        client.camera.on_update(aim_above_panel)


def _upright(camera: Any) -> float:
    """Width by height of the page of a phone; 0 of others."""
    share = camera.image_width / max(camera.image_height, 1)
    return float(share) if share < UPRIGHT else 0.0
