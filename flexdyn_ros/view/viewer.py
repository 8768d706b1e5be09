"""`Viewer`: a robot in a browser page, moved by sliders, modes, trajectories or live topics."""

from __future__ import annotations

import io
import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout

import numpy as np

from flexdyn_ros.errors import FlexdynError, needs
from flexdyn_ros.robot.coordinates import MODAL
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.simulation.trajectory import Trajectory
from flexdyn_ros.view.around.cameras import Cameras
from flexdyn_ros.view.drawing.overlays import names_of
from flexdyn_ros.view.drawing.picture import Picture
from flexdyn_ros.view.drawing.shown_robot import ShownRobot
from flexdyn_ros.view.drive import Drive
from flexdyn_ros.view.motion import ModeMotion, Playback, Reach, magnified, rest_of
from flexdyn_ros.view.panels.live_plots import History, LivePlots, samples_of
from flexdyn_ros.view.panels.panels import Panels
from flexdyn_ros.view.twin import Twin

#: pictures and plots per second
FRAME_RATE, PLOT_RATE = 30.0, 4.0
#: what addresses ask of the page: low quality is half as many pixels across and down
QUALITIES = {"high": "", "low": "/?fixedDpr=0.5"}
#: seconds that the animation of a mode takes for one swing at speed 1
SWING = 1.6
#: seconds in which pages take what was sent before all of it is replaced
SETTLE = 0.3
#: sources that move by themselves
MOVING = ("tour", "mode", "run", "drive")

_logger = logging.getLogger(__name__)


class Viewer:
    """A page that shows a robot of any family; begins to serve at once.

    Parameters
    ----------
    robot : Robot
    host, port : str, int
        Where to serve; the next free port if this one is taken (see `port`).
    quality : {"high", "low"}
        Low: no shadow, ground and sky, and the browser draws a quarter of the pixels and stretches them, for
        machines that render in software (see `address`).
    allow_hosts : iterable of str
        Further names, `NAME` or `NAME:PORT`, by which browsers reach the page, through a tunnel or a proxy.
        Requests for other hosts than these, `host` and this machine, and web sockets of pages of other
        servers are refused.
    robots : iterable of str
        Shipped robots that pages may change to; the page offers none if left out.

    Attributes
    ----------
    port : int
        That it has.
    address : str
        Of the page, as a browser on this machine opens it.
    source : {"pose", "rest", "tour", "mode", "run", "drive", "live"}
        What moves the robot.
    q : (nq,) array
        Configuration that is shown, before magnification.

    Raises
    ------
    MissingExtraError
        If viser is not installed.
    FlexdynError
        If a name in allow_hosts is none, or this version of viser does not let the viewer check who visits.
    """

    def __init__(
        self,
        robot: Robot,
        *,
        host: str = "127.0.0.1",
        port: int = 8080,
        quality: str = "high",
        allow_hosts: Iterable[str] = (),
        robots: Iterable[str] = (),
    ) -> None:
        with needs("viser", "view"):
            from flexdyn_ros.view.guard import guarded_server
            from flexdyn_ros.view.visitors import Visitors
        visitors = Visitors(host, allow_hosts, lambda text: self.panels.tell(text))
        self.given, self.robots = robot, tuple(robots)
        self.robot, self.chosen, self._quality = robot, robot.name, quality
        self._lock = threading.RLock()
        self._ending = threading.Event()
        self.server = guarded_server(visitors, host, port, lambda: f"{self.robot.name} - flexdyn")
        self.port: int = self.server.get_port()
        name = "localhost" if host in ("127.0.0.1", "0.0.0.0", "::1", "::") else host
        self.address = f"http://{name}:{self.port}{QUALITIES[quality]}"
        self._show(robot, ShownRobot(robot), Reach(robot))
        self.cameras = Cameras(self)
        self._thread = threading.Thread(target=self._loop, name="viewer", daemon=True)
        self._thread.start()

    def _show(self, robot: Robot, shown: ShownRobot, reach: Reach) -> None:
        """Begin with a robot in its neutral position."""
        self.robot, self.shown, self.reach = robot, shown, reach
        self.q, self.v = robot.neutral(), np.zeros(robot.nv)
        self.tau = np.zeros(robot.nu)
        self.states: Mapping[str, float] = {}
        self.source = "pose"
        self.mode: ModeMotion | None = None
        self.playback: Playback | None = None
        self.drive: Drive | None = None
        self.twin: Twin | None = None
        self.history = History()
        self.message, self.legend, self._still_of = "", "", ""
        self.shown_time, self._phase = 0.0, 0.0
        self._fresh, self._dirty = True, True
        self.picture = Picture(self, self._quality)
        self.panels = Panels(self)
        self._plots = LivePlots(self.server, robot)

    # ---- what the page and other programs ask for ----

    def change_robot(self, robot: Robot, chosen: str = "") -> None:
        """Show another robot on the same pages, in its neutral position; `chosen` is its name among
        `robots`."""
        # what compiles or takes long is done while the robot before is shown
        shown, reach = ShownRobot(robot), Reach(robot)
        names_of(robot)
        self.pose(self.q)
        time.sleep(SETTLE)
        with self._lock:
            self.chosen = chosen
            dark = self.panels.is_dark
            self.server.gui.reset()
            self.server.scene.reset()
            self._show(robot, shown, reach)
            self.panels.paint(dark=dark)
            self.panels.look.night.value = dark
            self.cameras.restart()

    def show_twin(self, *, shown: bool) -> None:
        """Show the rigid twin beside the robot, or no more."""
        with self._lock:
            if self.twin is not None:
                self.twin.remove()
            self.twin = Twin(self) if shown else None
            self._dirty = True
        self.cameras.frame_scene()

    def pose(self, q: np.ndarray) -> None:
        """Show a configuration (nq,) and stop whatever moves."""
        with self._lock:
            self.source, self.q, self.v = "pose", np.array(q, dtype=float), np.zeros(self.robot.nv)
            self._dirty = True

    def rest(self) -> bool:
        """Show the robot as gravity bends it while its joints are held, in colours of its bending moment,
        beside its undeformed shape; False, and nothing happens, where gravity does not bend it.

        Raises
        ------
        FlexdynError
            If there is no state of rest near the present configuration.
        """
        found = rest_of(self.robot, self.q, self.shown.size)
        if found is None:
            return False
        q, factor = found
        self.panels.highlight("moment", magnification=factor)
        with self._lock:
            self.pose(q)
            self.source = "rest"
        return True

    def play_mode(self, number: int = 0) -> None:
        """Animate a mode of vibration about the present configuration; find the modes first if need be.

        Raises
        ------
        FlexdynError
            If the robot has no modes here.
        """
        if self.mode is None or number >= self.mode.modes.frequency.size:
            self.find_modes()
        with self._lock:
            if self.mode is not None and self.mode.modes.frequency.size:
                self.panels.modes.choose(number)
                self.source, self._phase = "mode", 0.0

    def find_modes(self) -> None:
        """Modes about the present configuration; joints locked where something else is left to move."""
        with self._lock:
            q = self.mode.q if self.source == "mode" and self.mode else self.q
        locked = self.panels.joints_locked
        found = ModeMotion.about(self.robot, q, self.shown.size, self.shown.points, locked=locked)
        with self._lock:
            self.mode = found
        self.panels.modes.offer(found.labels())

    def tour(self) -> None:
        """Move one coordinate after the other."""
        with self._lock:
            self.source, self._phase = "tour", 0.0

    def play(self, trajectory: Trajectory) -> None:
        """Play a trajectory of this robot."""
        with self._lock:
            self.playback, self.source, self._fresh = Playback(trajectory), "run", True
        self.panels.adopt(self.playback)

    def go(self, drive: Drive) -> None:
        """Let the robot move by itself, as `Drive` moves it."""
        with self._lock:
            self.history.clear()
            self.drive, self.source, self._fresh = drive, "drive", True

    def turn_knob(self, turn: Callable[[Drive], None]) -> None:
        """Change what the robot that moves by itself is asked for; nothing while none does."""
        with self._lock:
            if self.drive is not None:
                turn(self.drive)

    def follow(
        self,
        t: float,
        q: np.ndarray,
        v: np.ndarray,
        tau: np.ndarray,
        states: Mapping[str, float] | None = None,
    ) -> None:
        """Show a state that comes from elsewhere, at a time t [s], with states of elements by name."""
        with self._lock:
            if self.source != "live":
                self.history.clear()
            self.source = "live"
            self.q, self.v, self.tau = (np.array(x, dtype=float) for x in (q, v, tau))
            self.states = states or {}
            self.history.add(t, self.q, self.v, self.tau)
            self._dirty = True

    def restart_colours(self) -> None:
        """Let the scale of colours grow from nothing."""
        self._dirty = True
        self.picture.restart()

    def redraw(self) -> None:
        """Draw again although nothing moved."""
        self._dirty = True

    def redraw_now(self) -> None:
        """Draw at once, in the caller's thread."""
        self.show_moment(lambda: None)

    @property
    def scale(self) -> tuple[str, float]:
        """Quantity that colours the tubes, and the value of the last colour."""
        return self.picture.scale

    @contextmanager
    def standing_still(self, *, labelled: bool = True) -> Iterator[None]:
        """While others show single moments, with a label above the robot or without."""
        self.picture.labelled = labelled
        source, self._still_of, self.source = self.source, self.source, "still"
        try:
            yield
        finally:
            self.source, self._still_of, self.picture.labelled = source, "", True
            self._dirty = True

    @contextmanager
    def unlabelled(self) -> Iterator[None]:
        """While a picture is made that says by itself what it shows."""
        self.picture.labelled = False
        self.redraw_now()
        try:
            yield
        finally:
            self.picture.labelled = True
            self._dirty = True

    @property
    def story(self) -> str:
        """Source of the present motion, also while the robot stands still for a film."""
        return self._still_of or self.source

    @property
    def length(self) -> float:
        """Seconds that what moves the robot takes once, at its speed; 0 where nothing does."""
        if self.source == "run" and self.playback is not None:
            return (self.playback.end - self.playback.start) / self.playback.speed
        if self.source == "mode":
            return SWING
        return SWING * self.reach.turns if self.source == "tour" else 0.0

    def show_moment(self, move: Callable[[], None]) -> None:
        """Move, and draw at once, in the caller's thread."""
        with self._lock:
            move()
            self._draw()

    def close(self) -> None:
        """Stop serving; again does nothing."""
        self._ending.set()
        self._thread.join(5.0)
        with redirect_stdout(io.StringIO()):
            self.server.stop()

    @property
    def magnified_q(self) -> np.ndarray:
        """Configuration (nq,) in which the robot is drawn."""
        factor = self.panels.magnification if self.story != "mode" else 1.0
        return magnified(self.robot, self.q, factor)

    @property
    def bends(self) -> bool:
        """True if there are deformations to magnify."""
        return any(c.kind in MODAL for c in self.robot.coordinates)

    # ---- time ----

    def _loop(self) -> None:
        before, plotted = time.monotonic(), 0.0
        while not self._ending.wait(max(0.0, 1.0 / FRAME_RATE - (time.monotonic() - before))):
            now = time.monotonic()
            elapsed, before = now - before, now
            try:
                with self._lock:
                    self._advance(elapsed)
                    if self._dirty or self.source in MOVING:
                        self._draw()
                        self.cameras.move()
                    if now - plotted > 1.0 / PLOT_RATE and self.server.get_clients():
                        plotted = now
                        self._plot()
                        self.panels.refresh()
            except FlexdynError as error:
                self._stand_still(str(error))
            except Exception as error:
                # a recording of anyone may hold anything; the picture must not stop for good
                _logger.exception("the picture could not be drawn")
                self._stand_still(f"{type(error).__name__}: {error}")

    def _stand_still(self, text: str) -> None:
        """Say what went wrong, in the neutral position."""
        self.panels.tell(text)
        self.pose(self.robot.neutral())

    def _advance(self, elapsed: float) -> None:
        """Go on by wall seconds."""
        if self.source == "run" and self.playback is not None:
            was_playing = self.playback.playing
            self.playback.advance(elapsed)
            self.q, self.v, self.tau, self.states = self.playback.state()
            self.shown_time = self.playback.time
            if was_playing:
                # the slider of a run that is paused belongs to whoever moves it
                self.panels.time_line.follow(self.playback)
        elif self.source == "drive" and self.drive is not None:
            self.q, self.v, self.tau = self.drive.advance(elapsed)
            self.history.add(self.drive.t, self.q, self.v, self.tau)
        elif self.source == "tour":
            self._phase += 2.0 * np.pi * elapsed / SWING
            self.q, self.v = self.reach.in_turn(self._phase), np.zeros(self.robot.nv)
            self.panels.pose.follow(self.q)
        elif self.source == "mode" and self.mode is not None:
            self._phase += 2.0 * np.pi * elapsed / SWING * self.panels.modes.speed_now()
            self.show_mode_at(self._phase)

    def show_mode_at(self, phase: float) -> None:
        """Take the state of the chosen mode at a phase [rad], as it is at its own frequency."""
        assert self.mode is not None
        modes = self.panels.modes
        number, amplitude = modes.number, modes.amplitude_now()
        self.q, self.v = self.mode.at(number, phase, amplitude), self.mode.rate(number, phase, amplitude)

    def show_time(self, seconds: float) -> None:
        """Take the state of the trajectory at a time [s]."""
        if self.playback is not None:
            self.playback.time = seconds
            self.source, self.shown_time = "run", seconds
            self.q, self.v, self.tau, self.states = self.playback.state()
            self._dirty = True

    def show_still(self, seconds: float) -> None:
        """Take the state of the trajectory at a time [s], and leave its own time alone."""
        assert self.playback is not None
        self.q, self.v, self.tau, self.states = self.playback.sample_at(seconds)
        self.shown_time = seconds

    def _draw(self) -> None:
        self._dirty = False  # first: what changes meanwhile is drawn the next time
        self.picture.draw()

    def _plot(self) -> None:
        if self.source == "run" and self.playback is not None:
            samples, now = samples_of(self.playback.trajectory), self.playback.time
        elif self.source in ("live", "drive") and len(self.history) > 1:
            samples, now, self._fresh = self.history.arrays(), None, True
        else:
            return
        self._plots.show(samples, now, fresh=self._fresh)
        self._fresh = False
