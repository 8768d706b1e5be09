"""The rigid twin of a flexible robot, shown beside it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from flexdyn_ros.loading import from_description
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.simulation.trajectory import Trajectory
from flexdyn_ros.view.drawing.scene import RobotScene

#: room between the two [sizes of the robot]
APART = 0.15


def has_twin(robot: Robot) -> bool:
    """Whether a robot bends and would not as its rigid twin."""
    return robot.bends and bool(robot.description.formulation.flexible)


def rigid_twin(robot: Robot) -> Robot:
    """The same robot with rigid links and gears."""
    description = robot.description
    return from_description(
        replace(description, formulation=replace(description.formulation, flexible=False))
    )


class Twin:
    """The rigid twin of the robot of a viewer: in the same joint positions, or in a motion of its own.

    Attributes
    ----------
    robot : Robot
    shift : (3,) array
        From the robot to its twin in the picture [m].
    """

    def __init__(self, viewer: Any) -> None:
        self._viewer = viewer
        self.robot = rigid_twin(viewer.robot)
        names = viewer.robot.q_names
        self._same = np.array([names.index(name) for name in self.robot.q_names], dtype=np.intp)
        self._straight = viewer.robot.neutral()
        self._runs: tuple[Trajectory, Trajectory] | None = None
        low, high = viewer.picture.room
        extent = (high - low)[:2]
        axis = int(np.argmin(extent))
        self.shift = np.zeros(3)
        self.shift[axis] = extent[axis] + APART * viewer.shown.size
        scene = viewer.server.scene
        self._frame = scene.add_frame("/twin", show_axes=False, position=self.shift)
        self._scene = RobotScene(viewer.server, viewer.shown, "/twin")
        at = (*(0.5 * (low + high))[:2], high[2] + 0.1 * viewer.shown.size)
        self._label = scene.add_label("/twin/label", "rigid twin", position=at)

    def adopt(self, run: Trajectory, own: Trajectory) -> None:
        """Show `own` of the twin whenever `run` of the robot is shown."""
        self._runs = run, own

    def state_of(self, q: np.ndarray) -> np.ndarray:
        """Configuration (nq,) of the twin in the joint positions of the robot at q."""
        found: np.ndarray = q[self._same]
        return found

    def drawn_at(self, q: np.ndarray) -> np.ndarray:
        """Configuration (nq,) of the flexible robot, undeformed, that looks like the twin at q."""
        straight: np.ndarray = self._straight.copy()
        straight[self._same] = q
        return straight

    def moved(self) -> list[Callable[[], None]]:
        """What to do to show it as it is now."""
        viewer, text = self._viewer, "rigid twin, same joint positions"
        q = self.state_of(viewer.q)
        playback = viewer.playback if viewer.story == "run" else None
        if playback is not None and self._runs is not None and self._runs[0] is playback.trajectory:
            own, text = self._runs[1], "rigid twin, its own motion"
            q = own.q[min(int(np.searchsorted(own.t, viewer.shown_time - 1e-9)), len(own) - 1)]
        changes = self._scene.moved(self.drawn_at(q))
        if self._label.text != text:
            changes.append(partial(setattr, self._label, "text", text))
        return changes

    def remove(self) -> None:
        """Show it no more."""
        self._frame.remove()
