"""The tab of runs: simulated here, or opened."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from flexdyn_ros.errors import FlexdynError, SimulationError
from flexdyn_ros.simulation.simulate import simulate
from flexdyn_ros.simulation.trajectory import Trajectory
from flexdyn_ros.view.drive import Drive
from flexdyn_ros.view.panels.jobs import Jobs, mark, marks, number, put
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
