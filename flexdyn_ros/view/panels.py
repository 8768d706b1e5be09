"""The controls beside the picture."""

from __future__ import annotations

import logging
import math
import re
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from flexdyn_ros.errors import FlexdynError, SimulationError
from flexdyn_ros.simulation.simulate import simulate
from flexdyn_ros.simulation.trajectory import Trajectory
from flexdyn_ros.view.camera import PRESETS
from flexdyn_ros.view.capture import RATE, film, picture
from flexdyn_ros.view.motion import DEFORMATION, Playback
from flexdyn_ros.view.shown_robot import COLOURINGS

__all__ = ["Panels"]

SPEEDS = ("0.1", "0.25", "0.5", "1", "2", "5")
#: frames of a film: at most so many, and of a mode one swing
FRAMES, MODE_FRAMES = 240, 32
#: bytes that a recording from the browser may take in memory, unpacked
UPLOAD = 1 << 28
#: the slider of time is moved so often per second
SLIDER_RATE = 10.0
#: seconds of a run from the page
SHORTEST, LONGEST = 0.01, 1000.0
#: largest magnification
MAGNIFICATION = 100.0
#: what visitors may have done at once: pressed a button that takes a moment, or one that takes long
MOMENTS, LONG_JOBS = 4, 1

_logger = logging.getLogger(__name__)


class Panels:
    """All controls of a viewer; they call it, and it asks them."""

    def __init__(self, viewer: Any) -> None:
        self._viewer, self._gui = viewer, viewer.server.gui
        self._sliders: dict[int, Any] = {}
        self._moved = 0.0
        self._sliding = threading.Lock()
        self._moments_left = threading.BoundedSemaphore(MOMENTS)
        self._long_jobs_left = threading.BoundedSemaphore(LONG_JOBS)
        gui = self._gui
        self.paint(dark=False)
        gui.set_panel_label(viewer.robot.name)
        self._status = gui.add_markdown(_summary(viewer.robot))
        self._legend = gui.add_html("")
        tabs = gui.add_tab_group()
        with tabs.add_tab("Pose"):
            self._make_pose()
        with tabs.add_tab("Modes"):
            self._make_modes()
        with tabs.add_tab("Run"):
            self._make_run()
        with tabs.add_tab("Look"):
            self._make_look()

    # ---- what the viewer asks ----

    @property
    def magnification(self) -> float:
        """Factor of all deformations."""
        return 1.0 if self._magnification is None else _number(self._magnification, 1.0, MAGNIFICATION)

    @property
    def colouring(self) -> str:
        """What tubes are coloured by."""
        return _choice(self._colouring, COLOURINGS[0])

    @property
    def joints_locked(self) -> bool:
        """Whether modes are those with locked joints."""
        return bool(self._locked.value)

    @property
    def mode_number(self) -> int:
        """The mode that is chosen, from 0."""
        options = self._mode_list.options
        return options.index(_choice(self._mode_list, options[0]))

    @property
    def mode_amplitude(self) -> float:
        """In shares of the size of the robot, about 1."""
        return _number(self._amplitude, 0.0, 3.0)

    @property
    def mode_speed(self) -> float:
        """Swings per default swing."""
        return _number(self._mode_speed, 0.1, 3.0)

    # ---- what the viewer says ----

    def tell(self, text: str) -> None:
        """A line at the top."""
        self._viewer.message = text
        self._status.content = _summary(self._viewer.robot) + f"\n\n*{literal(text.strip())}*"

    def legend(self, html: str) -> None:
        """What the colours mean."""
        self._legend.content = html

    def highlight(self, colouring: str, *, magnification: float) -> None:
        """Colour by a quantity, magnify deformations, show what is undeformed."""
        self._colouring.value = colouring
        if self._magnification is not None:
            self._magnification.value = min(magnification, MAGNIFICATION)
        if self._ghost is not None:
            self._ghost.value = True
            self._show_ghost(True)
        self._viewer.restart_colours()

    def list_modes(self, labels: list[str]) -> None:
        """Offer modes."""
        if not labels:
            self._mode_list.options = ["none"]
            self.tell("no modes with a frequency here")
            return
        self._mode_list.options = labels
        self._mode_list.value = labels[0]

    def choose_mode(self, number: int) -> None:
        """Select a mode, from 0."""
        self._mode_list.value = self._mode_list.options[number]

    def adopt(self, playback: Playback) -> None:
        """Controls for a trajectory that begins to play."""
        span = max(playback.end - playback.start, 1e-6)
        self._time.min, self._time.max, self._time.step = playback.start, playback.end, span / 1000.0
        self._time.disabled = self._play.disabled = False
        self._play.label = "Pause"
        playback.speed = self._chosen_speed
        t = playback.trajectory
        self.tell(f"{t.method or 'recording'}: {len(t)} samples, {span:g} s")

    def follow_time(self, seconds: float) -> None:
        """Move the slider of time, not at every frame."""
        if time.monotonic() - self._moved > 1.0 / SLIDER_RATE:
            self._moved = time.monotonic()
            self._time.value = float(np.clip(seconds, self._time.min, self._time.max))

    # ---- tabs ----

    def _make_pose(self) -> None:
        gui, viewer = self._gui, self._viewer
        gui.add_button("Neutral pose").on_click(lambda _: self._take_pose(viewer.robot.neutral()))
        gui.add_button("Move each in turn").on_click(lambda _: viewer.tour())
        if viewer.bends:
            gui.add_button("Static deflection").on_click(lambda _: self._shortly(self._sag))
        rows = viewer.robot.coordinates
        for title, chosen, is_open in (
            ("Joints", [c for c in rows if c.kind not in DEFORMATION], True),
            ("Deformation", [c for c in rows if c.kind in DEFORMATION], False),
        ):
            if chosen:
                with gui.add_folder(title, expand_by_default=is_open or len(chosen) < 8):
                    for c in chosen:
                        self._add_slider(c)

    def _add_slider(self, c: Any) -> None:
        reach = self._viewer.reach
        low, high = float(reach.lower[c.v_index]), float(reach.upper[c.v_index])
        slider = self._gui.add_slider(
            c.name,
            min=low,
            max=high,
            step=(high - low) / 1000.0,
            initial_value=float(np.clip(0.0, low, high)),
            hint=f"{c.kind} [{c.unit}] from the neutral position",
        )
        slider.on_update(self._slid)
        self._sliders[c.v_index] = slider

    def _slid(self, event: Any) -> None:
        if event.client is None:  # moved by us
            return
        x = np.zeros(self._viewer.robot.nv)
        # events come on several threads: the last to show a pose must be one that read the last values
        with self._sliding:
            for index, slider in self._sliders.items():
                x[index] = _number(slider, slider.min, slider.max)
            self._viewer.pose(self._viewer.reach.configuration(x))

    def _take_pose(self, q: np.ndarray) -> None:
        for index, value in enumerate(self._viewer.reach.values(q).tolist()):
            self._sliders[index].value = value
        self._viewer.pose(q)

    def _sag(self) -> None:
        """The shape that gravity gives the robot while its joints are held."""
        found = self._viewer.robot.static_equilibrium(self._viewer.q, hold="joints")
        self._take_pose(found.q)
        self.tell(f"at rest; residual {found.residual:.2g}")

    def _make_modes(self) -> None:
        gui, viewer = self._gui, self._viewer
        self._locked = gui.add_checkbox("Joints locked", _has_more_than_joints(viewer.robot))
        gui.add_button("Find modes at this pose").on_click(lambda _: self._shortly(viewer.find_modes))
        self._mode_list = gui.add_dropdown("Mode", ["none"])
        self._amplitude = gui.add_slider("Amplitude", min=0.0, max=3.0, step=0.05, initial_value=1.0)
        self._mode_speed = gui.add_slider("Speed", min=0.1, max=3.0, step=0.05, initial_value=1.0)
        gui.add_button("Animate").on_click(lambda _: self._shortly(self._animate))
        gui.add_button("Stop").on_click(lambda _: viewer.mode and viewer.pose(viewer.mode.q))

    def _animate(self) -> None:
        number = 0 if self._mode_list.value == "none" else self.mode_number
        self._viewer.play_mode(number)

    def _make_run(self) -> None:
        gui = self._gui
        self._duration = gui.add_number("Duration [s]", 4.0, min=SHORTEST, max=LONGEST, step=0.5)
        gui.add_button("Simulate from this pose").on_click(lambda _: self._in_background(self._simulate))
        upload = gui.add_upload_button("Open a recording (.npz, .mcap)", mime_type=".npz,.mcap")
        upload.on_upload(lambda event: self._shortly(lambda: self._open(event.target.value)))
        self._play = gui.add_button("Play", disabled=True)
        self._play.on_click(lambda _: self._toggle())
        self._time = gui.add_slider(
            "Time [s]", min=0.0, max=1.0, step=0.001, initial_value=0.0, disabled=True
        )
        self._time.on_update(self._scrub)
        self._speed = gui.add_dropdown("Speed", SPEEDS, initial_value="1")
        self._speed.on_update(self._change_speed)

    def _simulate(self) -> None:
        viewer, duration = self._viewer, _number(self._duration, SHORTEST, LONGEST)
        self.tell(f"simulating {duration:g} s ...")
        try:
            found = simulate(viewer.robot, duration, viewer.q, sample=min(2e-3, duration / 100.0))
        except SimulationError as error:
            if error.trajectory is None or len(error.trajectory) < 2:
                raise
            viewer.play(error.trajectory)
            self.tell(str(error))
            return
        viewer.play(found)

    def _open(self, file: Any) -> None:
        """Play a file that came from the browser."""
        kind = Path(file.name).suffix.lower()
        if kind not in (".npz", ".mcap"):
            raise FlexdynError(f"{file.name!r} is no recording; expected .npz or .mcap")
        with TemporaryDirectory() as folder:
            path = Path(folder) / f"run{kind}"
            path.write_bytes(file.content)
            self._viewer.play(Trajectory.load(path, self._viewer.robot, most_bytes=UPLOAD))

    def _toggle(self) -> None:
        playback = self._viewer.playback
        if playback is not None:
            playback.playing = not playback.playing or self._viewer.source != "run"
            self._viewer.source = "run"
            self._play.label = "Pause" if playback.playing else "Play"

    def _scrub(self, event: Any) -> None:
        playback = self._viewer.playback
        if event.client is None or playback is None:
            return
        playback.playing = False
        self._play.label = "Play"
        self._moved = time.monotonic() + 0.3  # leave the slider to the hand that moves it
        self._viewer.show_time(_number(self._time, playback.start, playback.end))

    @property
    def _chosen_speed(self) -> float:
        return float(_choice(self._speed, "1"))

    def _change_speed(self, _: Any) -> None:
        if self._viewer.playback is not None:
            self._viewer.playback.speed = self._chosen_speed

    def _make_look(self) -> None:
        gui, viewer = self._gui, self._viewer
        self._magnification: Any = None
        if viewer.bends:
            self._magnification = gui.add_slider(
                "Magnification", min=1.0, max=MAGNIFICATION, step=1.0, initial_value=1.0
            )
            self._magnification.on_update(lambda _: viewer.redraw())
        options = COLOURINGS if viewer.shown.tubes else COLOURINGS[:1]
        self._colouring = gui.add_dropdown("Colour by", options, initial_value="none")
        self._colouring.on_update(lambda _: viewer.restart_colours())
        self._ghost: Any = None
        if viewer.shown.tubes:
            self._ghost = gui.add_checkbox("Undeformed shape", False)
            self._ghost.on_update(lambda _: self._show_ghost(bool(self._ghost.value)))
        night = gui.add_checkbox("Dark", False)
        night.on_update(lambda _: self.paint(dark=bool(night.value)))
        views = gui.add_button_group("View", tuple(PRESETS))
        views.on_click(lambda _: viewer.look_from(_choice(views, next(iter(PRESETS)))))
        gui.add_button("Screenshot").on_click(
            lambda event: self._shortly(lambda: self._screenshot(event.client))
        )
        gui.add_button("Film").on_click(lambda event: self._in_background(lambda: self._film(event.client)))

    def paint(self, *, dark: bool) -> None:
        """By day or by night, the page and what is around the robot."""
        self._gui.configure_theme(
            show_logo=False, show_share_button=False, control_width="medium", dark_mode=dark
        )
        self._viewer.stage.paint(dark=dark)

    def _show_ghost(self, visible: bool) -> None:
        self._viewer.ghost.visible = visible
        self._viewer.redraw()

    def _screenshot(self, client: Any) -> None:
        if client is not None:
            client.send_file_download(
                f"{self._viewer.robot.name}.png", picture(client), save_immediately=True
            )

    def _film(self, client: Any) -> None:
        """A swing of the mode, or the trajectory from its begin to its end, as a file."""
        if client is None:
            return
        viewer = self._viewer
        source, viewer.source = viewer.source, "pose"
        try:
            moments = self._moments(source)
            name, content = film(client, moments, lambda n: self.tell(f"film: frame {n} of {len(moments)}"))
        finally:
            viewer.source = source
        client.send_file_download(name, content, save_immediately=True)
        self.tell(f"{name}: {len(moments)} frames, {len(content) / 1e6:.2g} MB")

    def _moments(self, source: str) -> list[Callable[[], None]]:
        viewer = self._viewer
        if source == "mode":
            phases = np.linspace(0.0, 2.0 * np.pi, MODE_FRAMES, endpoint=False)
            return [partial(viewer.show_moment, partial(viewer.show_mode_at, phase)) for phase in phases]
        if viewer.playback is None:
            return [lambda: None]
        seconds = (viewer.playback.end - viewer.playback.start) / viewer.playback.speed
        n = int(np.clip(seconds * RATE, 2, FRAMES))
        times = np.linspace(viewer.playback.start, viewer.playback.end, n)
        return [partial(viewer.show_moment, partial(viewer.show_still, t)) for t in times.tolist()]

    # ---- work that may fail or take long ----

    def _shortly(self, action: Callable[[], Any]) -> None:
        """Do what takes a moment, unless as much as may be done at once is being done."""
        self._do(action, self._moments_left)

    def _in_background(self, action: Callable[[], Any]) -> None:
        """Do what takes long, one at a time."""
        threading.Thread(target=self._do, args=(action, self._long_jobs_left), daemon=True).start()

    def _do(self, action: Callable[[], Any], places: threading.Semaphore) -> None:
        if not places.acquire(blocking=False):
            self.tell("busy: wait for what was begun before")
            return
        try:
            self._attempt(action)
        finally:
            places.release()

    def _attempt(self, action: Callable[[], Any]) -> None:
        """Do it; what fails is shown on the page."""
        try:
            action()
        except (FlexdynError, ValueError, OSError, TimeoutError) as error:
            self.tell(str(error))
        except Exception as error:
            # files of visitors may hold anything
            _logger.exception("an action of the page failed")
            self.tell(f"{type(error).__name__}: {error}")


def literal(text: str) -> str:
    """Text that a page of Markdown shows as it is; else HTML in it would be obeyed, scripts too."""
    return re.sub(r"([!-/:-@\[-`{-~])", r"\\\1", " ".join(text.split()))


def _number(handle: Any, low: float, high: float) -> float:
    """The number of a control, within its limits, whatever a browser sent; low if it is none."""
    value = float(handle.value)
    return float(np.clip(value, low, high)) if math.isfinite(value) else low


def _choice(handle: Any, default: str) -> str:
    """What was chosen, or the default if a browser sent what is not offered."""
    return str(handle.value) if handle.value in handle.options else default


def _has_more_than_joints(robot: Any) -> bool:
    return any(c.kind not in ("joint", "base") for c in robot.coordinates)


def _summary(robot: Any) -> str:
    name = literal(robot.name)
    return f"**{name}**: {robot.kind}, {robot.nv} coordinates, {robot.mass:.4g} kg"
