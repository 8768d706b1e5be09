"""The time line of a run: play, pause, single samples, speed, and where in time it is."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from flexdyn_ros.view.motion import Playback
from flexdyn_ros.view.panels.run import choice, number

if TYPE_CHECKING:
    from viser import GuiApi

SPEEDS = ("0.1", "0.25", "0.5", "1", "2", "5")
#: the slider of time is moved so often per second
SLIDER_RATE = 10.0


class TimeLine:
    """Controls of a run that is played, below the tabs while there is one; plots beside it show its time."""

    def __init__(self, viewer: Any, gui: GuiApi) -> None:
        self._viewer = viewer
        self._moved = 0.0
        self._folder = gui.add_folder("Time line", visible=False)
        with self._folder:
            self.time = gui.add_slider("Time [s]", min=0.0, max=1.0, step=0.001, initial_value=0.0)
            self.time.on_update(self._scrub)
            self._play = gui.add_button("Play")
            self._play.on_click(lambda _: self.toggle())
            step = gui.add_button_group("Step", ("back", "on"))
            step.on_click(lambda _: self.step(-1 if choice(step, "on") == "back" else 1))
            self.speed = gui.add_dropdown("Speed", SPEEDS, initial_value="1")
            self.speed.on_update(self._change)
            self.loop = gui.add_checkbox("Loop", True)
            self.loop.on_update(self._change)

    @property
    def chosen_speed(self) -> float:
        """Simulated seconds per second."""
        return float(choice(self.speed, "1"))

    def adopt(self, playback: Playback) -> None:
        """Controls for a trajectory that begins to play."""
        span = max(playback.end - playback.start, 1e-6)
        self.time.min, self.time.max, self.time.step = playback.start, playback.end, span / 1000.0
        self._folder.visible = True
        self.mark(playing=True)
        playback.speed, playback.loop = self.chosen_speed, bool(self.loop.value)
        t = playback.trajectory
        self._viewer.panels.tell(f"{t.method or 'recording'}: {len(t)} samples, {span:g} s")

    def follow(self, playback: Playback) -> None:
        """Move the slider of time, not at every frame."""
        self.mark(playing=playback.playing)
        if time.monotonic() - self._moved > 1.0 / SLIDER_RATE:
            self._moved = time.monotonic()
            self.time.value = float(np.clip(playback.time, self.time.min, self.time.max))

    def mark(self, *, playing: bool) -> None:
        """Say what the button does while the run is played, or is not."""
        label = "Pause" if playing else "Play"
        if self._play.label != label:
            self._play.label = label

    def toggle(self) -> None:
        """Play or pause."""
        playback = self._viewer.playback
        if playback is not None:
            if not playback.playing and playback.time >= playback.end:
                playback.time = playback.start
            playback.playing = not playback.playing or self._viewer.source != "run"
            self._viewer.source = "run"
            self.mark(playing=playback.playing)

    def step(self, count: int) -> None:
        """Pause, and go on by so many samples."""
        playback = self._viewer.playback
        if playback is None:
            return
        t = playback.trajectory.t
        playback.playing = False
        self.mark(playing=False)
        at = float(t[np.clip(playback.index + count, 0, len(t) - 1)])
        self._moved, self.time.value = time.monotonic() + 0.3, at
        self._viewer.show_time(at)

    def _scrub(self, event: Any) -> None:
        playback = self._viewer.playback
        if event.client is None or playback is None:
            return
        playback.playing = False
        self.mark(playing=False)
        self._moved = time.monotonic() + 0.3  # leave the slider to the hand that moves it
        self._viewer.show_time(number(self.time, playback.start, playback.end))

    def _change(self, _: object) -> None:
        if self._viewer.playback is not None:
            self._viewer.playback.speed = self.chosen_speed
            self._viewer.playback.loop = bool(self.loop.value)
