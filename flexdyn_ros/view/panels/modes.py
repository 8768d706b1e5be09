"""The tab of modes of vibration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.view.panels.controls import choice, number
from flexdyn_ros.view.panels.jobs import Jobs

if TYPE_CHECKING:
    from viser import GuiApi


class ModesTab:
    """Which mode swings, how far and how fast."""

    def __init__(self, viewer: Any, gui: GuiApi, jobs: Jobs) -> None:
        self._viewer = viewer
        self.locked = gui.add_checkbox("Joints locked", _has_more_than_joints(viewer.robot))
        gui.add_button("Find modes at this pose").on_click(lambda _: jobs.shortly(viewer.find_modes))
        self.list = gui.add_dropdown("Mode", ["none"])
        self.amplitude = gui.add_slider("Amplitude", min=0.0, max=3.0, step=0.05, initial_value=1.0)
        self.speed = gui.add_slider("Speed", min=0.1, max=3.0, step=0.05, initial_value=1.0)
        gui.add_button("Animate").on_click(lambda _: jobs.shortly(self._animate))
        gui.add_button("Stop").on_click(lambda _: viewer.mode and viewer.pose(viewer.mode.q))

    @property
    def number(self) -> int:
        """The mode that is chosen, from 0."""
        options = self.list.options
        return int(options.index(choice(self.list, options[0])))

    def amplitude_now(self) -> float:
        """In shares of the size of the robot, about 1."""
        return number(self.amplitude, 0.0, 3.0)

    def speed_now(self) -> float:
        """Swings per default swing."""
        return number(self.speed, 0.1, 3.0)

    def offer(self, labels: list[str]) -> None:
        """List modes."""
        if not labels:
            self.list.options = ["none"]
            self._viewer.panels.tell("no modes with a frequency here")
            return
        self.list.options = labels
        self.list.value = labels[0]

    def choose(self, index: int) -> None:
        """Select a mode, from 0."""
        self.list.value = self.list.options[index]

    def _animate(self) -> None:
        self._viewer.play_mode(0 if self.list.value == "none" else self.number)


def _has_more_than_joints(robot: Robot) -> bool:
    return any(c.kind not in ("joint", "base") for c in robot.coordinates)
