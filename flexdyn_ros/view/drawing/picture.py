"""The picture of a viewer: a robot, what stands around it, and what is laid over it, at an instant."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from flexdyn_ros.expanded.colour_scale import EQUILIBRIUM, ColourRange
from flexdyn_ros.robot.results import Loads
from flexdyn_ros.view.around.stage import Stage, aim, room_of
from flexdyn_ros.view.drawing.colours import legend
from flexdyn_ros.view.drawing.link_marks import LinkMarks
from flexdyn_ros.view.drawing.loads import Moment, along_links
from flexdyn_ros.view.drawing.overlays import Overlays
from flexdyn_ros.view.drawing.scene import Ghost, RobotScene, at_once
from flexdyn_ros.view.drawing.shown_robot import STATIONS
from flexdyn_ros.view.motion import magnified


class Picture:
    """All nodes that show the robot of a viewer, in the scene of its server.

    Parameters
    ----------
    viewer : Viewer
    quality : {"high", "low"}

    Attributes
    ----------
    room : pair of (3,) arrays
        Corners of the box that the robot needs [m].
    range : ColourRange
        Of the colours.
    """

    def __init__(self, viewer: Any, quality: str) -> None:
        self._viewer = viewer
        scene, shown = viewer.server.scene, viewer.shown
        low, high = self.room = room_of(shown, viewer.reach)
        self.range, self.labelled, self._balanced = ColourRange(), True, False
        self.stage = Stage(scene, shown, low, high, rich=quality == "high")
        self.scene = RobotScene(viewer.server, shown)
        self.ghost = Ghost(scene, shown)
        self.overlays = Overlays(scene, viewer.robot, shown.size)
        self.marks = LinkMarks(scene, viewer.robot, shown.size)
        above = high[2] + 0.1 * float(np.max(high - low))
        self.label = scene.add_label("/label", "", position=(*(0.5 * (low + high))[:2], above), visible=False)
        aim(viewer.server.initial_camera, "corner", low, high)

    def restart(self) -> None:
        """Let the scales of colours and arrows grow from nothing."""
        self.range.restart()
        self.overlays.restart()

    def draw(self) -> None:
        """Show the state that the viewer has now."""
        viewer = self._viewer
        panels = viewer.panels
        q = viewer.magnified_q
        loads = self._loads()
        self._balanced = bool(loads)
        changes = self.scene.moved(q, panels.colouring, self._top, (viewer.q, viewer.v), loads)
        changes += self.ghost.moved(magnified(viewer.robot, viewer.q, 0.0))
        changes += self.stage.moved(q)
        chosen = panels.look.chosen_overlays()
        now = self.moment(q)
        changes += self.overlays.moved(chosen, now)
        changes += self.marks.moved(panels.links.chosen_marks(), panels.links.picked, q)
        if viewer.twin is not None:
            changes += viewer.twin.moved()
        text = self.caption if self.labelled else ""
        at_once(viewer.server, lambda: self._assign(changes, text))
        panels.legend(legend(*self.scale) + self.overlays.legend(chosen, now))

    def _top(self, largest: float) -> float:
        # films and pages are made at another pace than that of what they show
        now = 0.0 if self._viewer.source == "still" else time.monotonic()
        return self.range.take(largest, now)

    @property
    def scale(self) -> tuple[str, float]:
        """Quantity that colours the tubes, and the value of the last colour."""
        chosen = self._viewer.panels.colouring
        return EQUILIBRIUM if chosen == "moment" and self._balanced else chosen, self.range.top

    def _loads(self) -> dict[str, Loads]:
        """What colours of moments are taken from: equilibrium at rest and in motions by efforts; {} for
        poses and modes, which say nothing of accelerations, and for states from elsewhere, whose efforts may
        be missing."""
        viewer = self._viewer
        if viewer.panels.colouring != "moment" or viewer.story not in ("rest", "run", "drive"):
            return {}
        drive = viewer.drive if viewer.story == "drive" else None
        robot = viewer.robot if drive is None else drive.robot
        return along_links(robot, self.moment(viewer.q), STATIONS)

    def moment(self, q: np.ndarray) -> Moment:
        """What acts on the robot now, which is drawn at q (nq,)."""
        viewer = self._viewer
        held = viewer.story not in ("run", "live", "drive")
        drive = viewer.drive if viewer.story == "drive" else None
        v = np.zeros(viewer.robot.nv) if held else viewer.v
        if drive is None:
            return Moment(viewer.q, v, viewer.tau, q, held, {} if held else viewer.states)
        return Moment(viewer.q, v, viewer.tau, q, held, drive.states, drive.wrenches)

    def _assign(self, changes: list[Callable[[], None]], text: str) -> None:
        for change in changes:
            change()
        if self.label.text != text:
            self.label.text, self.label.visible = text, bool(text)

    @property
    def caption(self) -> str:
        """What is said above the robot."""
        viewer, words = self._viewer, []
        factor = viewer.panels.magnification
        if viewer.story == "mode" and viewer.mode is not None:
            words.append("mode " + viewer.mode.labels()[viewer.panels.modes.number])
        if viewer.story == "rest":
            words.append("at rest under gravity")
        if viewer.bends and factor != 1.0 and viewer.story != "mode":
            words.append(f"deformation × {factor:g}")
        return ", ".join(words)

    @property
    def title(self) -> str:
        """What is said on pictures: robot, what it does, time [s]."""
        viewer = self._viewer
        time = viewer.shown_time if viewer.story == "run" else None
        if viewer.story == "drive" and viewer.drive is not None:
            time = viewer.drive.t
        words = (viewer.robot.name, self.caption, "" if time is None else f"t = {time:.2f} s")
        return "   ".join(filter(None, words))
