"""The tab of runs: simulated here, or opened."""

from __future__ import annotations

import logging
import math
import re
import threading
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from flexdyn_ros.errors import FlexdynError, SimulationError
from flexdyn_ros.simulation.simulate import simulate
from flexdyn_ros.simulation.trajectory import Trajectory
from flexdyn_ros.view.drive import Drive
from flexdyn_ros.view.twin import has_twin

if TYPE_CHECKING:
    from viser import GuiApi

#: bytes that a recording from the browser may take in memory, unpacked
UPLOAD = 1 << 28
#: seconds of a run from the page
SHORTEST, LONGEST = 0.01, 1000.0


class RunTab:
    """Where a run comes from."""

    def __init__(self, viewer: Any, gui: GuiApi, jobs: Jobs) -> None:
        self._viewer = viewer
        self.duration = gui.add_number("Duration [s]", 4.0, min=SHORTEST, max=LONGEST, step=0.5)
        self.twin: Any = None
        if has_twin(viewer.robot):
            self.twin = gui.add_checkbox(
                "Rigid twin", False, hint="beside it; simulated, too, with its own motion"
            )
            self.twin.on_update(lambda _: jobs.in_background(self._show_twin))
        gui.add_button("Simulate from this pose").on_click(lambda _: jobs.in_background(self._simulate))
        upload = gui.add_upload_button("Open a recording (.npz, .mcap)", mime_type=".npz,.mcap")
        upload.on_upload(lambda event: jobs.shortly(lambda: self.open(event.target.value)))

    def _show_twin(self) -> None:
        self._viewer.show_twin(shown=bool(self.twin.value))

    def _simulate(self) -> None:
        viewer, duration = self._viewer, number(self.duration, SHORTEST, LONGEST)
        viewer.panels.tell(f"simulating {duration:g} s ...")
        how: dict[str, Any] = {"sample": min(2e-3, duration / 100.0), "limits": "spring"}
        twin, q, message = viewer.twin, viewer.q.copy(), ""
        try:
            found = simulate(viewer.robot, duration, q, **how)
        except SimulationError as error:
            if error.trajectory is None or len(error.trajectory) < 2:
                raise
            found, message = error.trajectory, str(error)
        if twin is not None:
            twin.adopt(found, simulate(twin.robot, duration, twin.state_of(q), **how))
        self._play(found)
        if message:
            viewer.panels.tell(message)

    def open(self, file: Any) -> None:
        """Play a file that came from the browser."""
        kind = Path(file.name).suffix.lower()
        if kind not in (".npz", ".mcap"):
            raise FlexdynError(f"{file.name!r} is no recording; expected .npz or .mcap")
        with TemporaryDirectory() as folder:
            path = Path(folder) / f"run{kind}"
            path.write_bytes(file.content)
            self._play(Trajectory.load(path, self._viewer.robot, most_bytes=UPLOAD))

    def _play(self, run: Trajectory) -> None:
        """Play a run, seen from where all of it is in the picture."""
        self._viewer.play(run)
        self._viewer.cameras.keep_in_sight()


# The tab of a robot that moves while somebody turns knobs.

#: kinds of coordinates whose actuators have a target
DRIVEN = ("joint", "actuator", "platform")
#: largest payload [masses of the robot], and stiffness [its own], as powers of ten
HEAVIEST, SOFTEST = 0.5, 1.0
#: legs of a platform are asked to move so far [strokes]
STROKE = 0.3


class KnobsTab:
    """Targets of joints, payload, stiffness of beams, openings of valves, for `Drive`."""

    def __init__(self, viewer: Any, gui: GuiApi, jobs: Jobs) -> None:
        self._viewer, self._gui = viewer, gui
        self.targets: dict[int, Any] = {}
        gui.add_button("Start live simulation").on_click(lambda _: jobs.shortly(self.begin))
        gui.add_button("Hold this pose").on_click(lambda _: viewer.pose(viewer.q))
        self._folder = gui.add_folder("Targets and load", visible=False)
        self.payload: object = None
        self.stiffness: object = None

    def begin(self) -> None:
        """Begin to move from the pose that is shown; knobs appear."""
        drive = Drive(self._viewer.robot, self._viewer.q)
        if not self.targets:
            self._make(drive)
        for index, slider in self.targets.items():
            put(slider, drive.targets[index])
        self._viewer.go(drive)

    def _make(self, drive: Drive) -> None:
        self._folder.visible = True
        with self._folder:
            for i, (name, low, high, hint) in enumerate(_ranges(drive)):
                if low < high:
                    self.targets[i] = self._slider(
                        name, low, high, drive.targets[i], hint,
                        lambda d, x, i=i: d.set_target(i, x),
                    )  # fmt: skip
            if drive.tip is not None:
                heaviest = HEAVIEST * drive.robot.mass
                self.payload = self._slider(
                    "payload [kg]", 0.0, heaviest, 0.0, f"at {drive.tip}", lambda d, x: d.set_payload(x)
                )
            if drive.has_stiffness:
                self.stiffness = self._slider(
                    "stiffness, 10^", -SOFTEST, SOFTEST, 0.0,
                    "EI, EA, GJ of all beams: times ten to this power", lambda d, x: d.set_stiffness(10.0**x),
                )  # fmt: skip

    def _slider(self, name: str, low: float, high: float, value: float, hint: str, turn: object) -> object:
        low, high, step = marks(low, high)
        slider = self._gui.add_slider(
            name, min=low, max=high, step=step, initial_value=mark(value, low, high, step), hint=hint
        )
        slider.on_update(lambda event: self._turned(event, slider, turn))
        return slider

    def _turned(self, event: Any, slider: Any, turn: Any) -> None:
        if event.client is not None:
            self._viewer.turn_knob(lambda drive: turn(drive, number(slider, slider.min, slider.max)))


def _ranges(drive: Drive) -> list[tuple[str, float, float, str]]:
    """Label, lowest, highest and hint of what is asked of each actuator; the same twice where it has no
    target."""
    robot = drive.robot
    if drive.valves:
        return [(f"valve of {name}", -1.0, 1.0, "opening") for name in robot.hydraulics.names]
    if robot.legs:
        lengths = drive.targets
        return [
            (f"{name} [m]", x - STROKE * x, x + STROKE * x, "length")
            for name, x in zip(robot.effort_names, lengths, strict=True)
        ]
    found = []
    for c in robot.coordinates:
        moves = c.actuated and c.q_index >= 0 and c.kind in DRIVEN
        low = c.lower if np.isfinite(c.lower) else -np.pi
        high = c.upper if np.isfinite(c.upper) else np.pi
        found.append((f"{c.name} [{c.unit}]", *((low, high) if moves else (0.0, 0.0)), c.kind))
    return found


# Work of buttons that may fail or take long: bounded, and told on the page if it fails; values of inputs.

#: what visitors may have done at once: pressed a button that takes a moment, or one that takes long
MOMENTS, LONG_JOBS = 4, 1

_logger = logging.getLogger(__name__)


class Jobs:
    """Does what buttons ask for; tell(text) hears what went wrong."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._moments_left = threading.BoundedSemaphore(MOMENTS)
        self._long_jobs_left = threading.BoundedSemaphore(LONG_JOBS)

    def shortly(self, action: Callable[[], object]) -> None:
        """Do what takes a moment, unless as much as may be done at once is being done."""
        self._do(action, self._moments_left)

    def in_background(self, action: Callable[[], object]) -> None:
        """Do what takes long, one at a time."""
        threading.Thread(target=self._do, args=(action, self._long_jobs_left), daemon=True).start()

    def _do(self, action: Callable[[], object], places: threading.Semaphore) -> None:
        if not places.acquire(blocking=False):
            self._tell("busy: wait for what was begun before")
            return
        try:
            self.attempt(action)
        finally:
            places.release()

    def attempt(self, action: Callable[[], object]) -> None:
        """Do it; what fails is shown on the page."""
        try:
            action()
        except (FlexdynError, ValueError, OSError, TimeoutError) as error:
            self._tell(str(error))
        except Exception as error:
            # files of visitors may hold anything
            _logger.exception("an action of the page failed")
            self._tell(f"{type(error).__name__}: {error}")


def literal(text: str) -> str:
    """Text that a page of Markdown shows as it is; else HTML in it would be obeyed, scripts too."""
    return re.sub(r"([!-/:-@\[-`{-~])", r"\\\1", " ".join(text.split()))


def number(handle: Any, low: float, high: float) -> float:
    """The number of a control, within its limits, whatever a browser sent; low if it is none. The control
    then shows what was taken."""
    value = float(handle.value)
    taken = float(np.clip(value, low, high)) if math.isfinite(value) else low
    if taken != value:
        handle.value = taken
    return taken


def marks(low: float, high: float) -> tuple[float, float, float]:
    """Ends and step of a slider from low to high, at most a hundredth of them narrower, in few digits: the
    step is a power of ten, so that the field beside the slider shows no more of them."""
    power = int(np.floor(np.log10((high - low) / 200.0)))
    step = 10.0**power
    first, last = np.ceil(low / step - 1e-9), np.floor(high / step + 1e-9)
    return round(first * step, -power), round(last * step, -power), step


def put(slider: Any, value: float) -> None:
    """Put a slider at the mark next to a value, if it is not there."""
    near = mark(value, slider.min, slider.max, slider.step)
    if not abs(slider.value - near) <= 0.5 * slider.step:
        slider.value = near


def mark(value: float, low: float, high: float, step: float) -> float:
    """The mark of a slider next to a value; a power of ten is the step."""
    return round(step * round(float(np.clip(value, low, high)) / step), 12)


def choice(handle: Any, default: str) -> str:
    """What was chosen, or the default if a browser sent what is not offered."""
    return str(handle.value) if handle.value in handle.options else default
