"""The tabs of poses, with a slider for each coordinate, and of modes."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from flexdyn_ros.robot.coordinates import MODAL, pose_name
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.view.panels.run import Jobs, choice, marks, number, put

if TYPE_CHECKING:
    from viser import GuiApi


#: so many sliders of deformations are open at first
FEW = 8
#: sliders that follow a motion are moved so often per second
SLIDER_RATE = 10.0


class PoseTab:
    """Sliders of a viewer's coordinates, by their number in v: `sliders`."""

    def __init__(self, viewer: Any, gui: GuiApi, jobs: Jobs) -> None:
        self._viewer = viewer
        self.sliders: dict[int, Any] = {}
        self._sliding, self._moved = threading.Lock(), 0.0
        #: values of sliders that the robot has, or had; others are what a visitor has just sent
        self._taken: dict[int, float] = {}
        gui.add_button("Neutral pose").on_click(lambda _: self.take(viewer.robot.neutral()))
        gui.add_button("Cycle coordinates").on_click(lambda _: viewer.tour())
        if viewer.bends:
            gui.add_button("Static deflection").on_click(lambda _: jobs.shortly(self._sag))
        rows = viewer.robot.coordinates
        for title, chosen, is_open in (
            ("Base", [c for c in rows if c.kind in ("base", "platform")], True),
            ("Joints", [c for c in rows if c.kind not in ("base", "platform", *MODAL)], True),
            ("Modes", [c for c in rows if c.kind in MODAL], False),
        ):
            if chosen:
                with gui.add_folder(title, expand_by_default=is_open or len(chosen) < FEW):
                    for c in chosen:
                        self._add_slider(gui, c)

    def _add_slider(self, gui: GuiApi, c: Any) -> None:
        reach = self._viewer.reach
        low, high, step = marks(float(reach.lower[c.v_index]), float(reach.upper[c.v_index]))
        slider = gui.add_slider(
            f"{pose_name(c)} [{c.unit}]",
            min=low,
            max=high,
            step=step,
            initial_value=float(np.clip(0.0, low, high)),
            hint=f"{c.kind}, from the neutral position",
        )
        slider.on_update(lambda event: self._slid(event, c.v_index))
        self.sliders[c.v_index], self._taken[c.v_index] = slider, slider.value

    def _slid(self, event: Any, index: int) -> None:
        if event.client is None:  # moved by us
            self._taken[index] = self.sliders[index].value
            return
        # leave the sliders to the hand that moves them
        self._moved = time.monotonic() + 0.3
        viewer, slider = self._viewer, self.sliders[index]
        # events come on several threads: the last to show a pose must be one that read the last value
        with self._sliding:
            x = viewer.reach.values(viewer.mode.q if viewer.source == "mode" else viewer.q)
            x[index] = self._taken[index] = number(slider, slider.min, slider.max)
            q = viewer.reach.configuration(x, index)
            if q is not None:
                viewer.pose(q)

    def take(self, q: np.ndarray) -> None:
        """Show q (nq,), sliders too."""
        self._set(q)
        self._viewer.pose(q)

    def follow(self, q: np.ndarray) -> None:
        """Move the sliders to q (nq,), not at every frame, nor before what a visitor sent is taken."""
        waits = any(slider.value != self._taken[index] for index, slider in self.sliders.items())
        if not waits and time.monotonic() - self._moved > 1.0 / SLIDER_RATE:
            self._moved = time.monotonic()
            self._set(q)

    def _set(self, q: np.ndarray) -> None:
        """Put the sliders at q (nq,), where they are elsewhere."""
        for index, value in enumerate(self._viewer.reach.values(q).tolist()):
            put(self.sliders[index], value)

    def _sag(self) -> None:
        """The shape that gravity gives the robot while its joints are held."""
        found = self._viewer.robot.static_equilibrium(self._viewer.q, hold="joints")
        self.take(found.q)
        self._viewer.panels.tell(f"at rest; residual {found.residual:.2g}")


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
