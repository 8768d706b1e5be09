"""The tab of runs: simulated here or opened, played, paused, scrubbed."""

from __future__ import annotations

import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from flexdyn_ros.errors import FlexdynError, SimulationError
from flexdyn_ros.simulation.simulate import simulate
from flexdyn_ros.simulation.trajectory import Trajectory
from flexdyn_ros.view.motion import Playback
from flexdyn_ros.view.panels.jobs import Jobs, choice, number

if TYPE_CHECKING:
    from viser import GuiApi

SPEEDS = ("0.1", "0.25", "0.5", "1", "2", "5")
#: bytes that a recording from the browser may take in memory, unpacked
UPLOAD = 1 << 28
#: the slider of time is moved so often per second
SLIDER_RATE = 10.0
#: seconds of a run from the page
SHORTEST, LONGEST = 0.01, 1000.0


class RunTab:
    """Where a run comes from, and how it is played."""

    def __init__(self, viewer: Any, gui: GuiApi, jobs: Jobs) -> None:
        self._viewer = viewer
        self._moved = 0.0
        self.duration = gui.add_number("Duration [s]", 4.0, min=SHORTEST, max=LONGEST, step=0.5)
        gui.add_button("Simulate from this pose").on_click(lambda _: jobs.in_background(self._simulate))
        upload = gui.add_upload_button("Open a recording (.npz, .mcap)", mime_type=".npz,.mcap")
        upload.on_upload(lambda event: jobs.shortly(lambda: self.open(event.target.value)))
        self._play = gui.add_button("Play", disabled=True)
        self._play.on_click(lambda _: self.toggle())
        step = gui.add_button_group("Step", ("back", "on"))
        step.on_click(lambda _: self.step(-1 if choice(step, "on") == "back" else 1))
        self.time = gui.add_slider("Time [s]", min=0.0, max=1.0, step=0.001, initial_value=0.0, disabled=True)
        self.time.on_update(self._scrub)
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
        self.time.disabled = self._play.disabled = False
        self._play.label = "Pause"
        playback.speed, playback.loop = self.chosen_speed, bool(self.loop.value)
        t = playback.trajectory
        self._viewer.panels.tell(f"{t.method or 'recording'}: {len(t)} samples, {span:g} s")

    def follow(self, playback: Playback) -> None:
        """Move the slider of time, not at every frame."""
        if not playback.playing:
            self._play.label = "Play"
        if time.monotonic() - self._moved > 1.0 / SLIDER_RATE:
            self._moved = time.monotonic()
            self.time.value = float(np.clip(playback.time, self.time.min, self.time.max))

    def _simulate(self) -> None:
        viewer, duration = self._viewer, number(self.duration, SHORTEST, LONGEST)
        viewer.panels.tell(f"simulating {duration:g} s ...")
        try:
            found = simulate(
                viewer.robot, duration, viewer.q, sample=min(2e-3, duration / 100.0), limits="spring"
            )
        except SimulationError as error:
            if error.trajectory is None or len(error.trajectory) < 2:
                raise
            viewer.play(error.trajectory)
            viewer.panels.tell(str(error))
            return
        viewer.play(found)

    def open(self, file: Any) -> None:
        """Play a file that came from the browser."""
        kind = Path(file.name).suffix.lower()
        if kind not in (".npz", ".mcap"):
            raise FlexdynError(f"{file.name!r} is no recording; expected .npz or .mcap")
        with TemporaryDirectory() as folder:
            path = Path(folder) / f"run{kind}"
            path.write_bytes(file.content)
            self._viewer.play(Trajectory.load(path, self._viewer.robot, most_bytes=UPLOAD))

    def toggle(self) -> None:
        """Play or pause."""
        playback = self._viewer.playback
        if playback is not None:
            if not playback.playing and playback.time >= playback.end:
                playback.time = playback.start
            playback.playing = not playback.playing or self._viewer.source != "run"
            self._viewer.source = "run"
            self._play.label = "Pause" if playback.playing else "Play"

    def step(self, count: int) -> None:
        """Pause, and go on by so many samples."""
        playback = self._viewer.playback
        if playback is None:
            return
        t = playback.trajectory.t
        playback.playing, self._play.label = False, "Play"
        at = float(t[np.clip(playback.index + count, 0, len(t) - 1)])
        self._moved, self.time.value = time.monotonic() + 0.3, at
        self._viewer.show_time(at)

    def _scrub(self, event: Any) -> None:
        playback = self._viewer.playback
        if event.client is None or playback is None:
            return
        playback.playing = False
        self._play.label = "Play"
        self._moved = time.monotonic() + 0.3  # leave the slider to the hand that moves it
        self._viewer.show_time(number(self.time, playback.start, playback.end))

    def _change(self, _: object) -> None:
        if self._viewer.playback is not None:
            self._viewer.playback.speed = self.chosen_speed
            self._viewer.playback.loop = bool(self.loop.value)
