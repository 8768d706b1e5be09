"""The tab of runs: simulated here, or opened."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from flexdyn_ros.errors import FlexdynError, SimulationError
from flexdyn_ros.simulation.simulate import simulate
from flexdyn_ros.simulation.trajectory import Trajectory
from flexdyn_ros.view.panels.jobs import Jobs, number
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
