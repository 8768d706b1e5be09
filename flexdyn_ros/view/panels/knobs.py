"""The tab of a robot that moves while somebody turns knobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from flexdyn_ros.view.drive import Drive
from flexdyn_ros.view.panels.jobs import Jobs, number

if TYPE_CHECKING:
    from viser import GuiApi

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
        self._folder = gui.add_folder("Targets")
        self.payload: object = None
        self.stiffness: object = None

    def begin(self) -> None:
        """Begin to move from the pose that is shown; knobs appear."""
        drive = Drive(self._viewer.robot, self._viewer.q)
        if not self.targets:
            self._make(drive)
        for index, slider in self.targets.items():
            slider.value = float(np.clip(drive.targets[index], slider.min, slider.max))
        self._viewer.go(drive)

    def _make(self, drive: Drive) -> None:
        robot = drive.robot
        with self._folder:
            for i, (name, low, high, unit) in enumerate(_ranges(drive)):
                if low < high:
                    self.targets[i] = self._slider(
                        name, low, high, drive.targets[i], unit, lambda d, x, i=i: d.set_target(i, x)
                    )
        heaviest = HEAVIEST * robot.mass
        if drive.tip is not None:
            self.payload = self._slider(
                "payload", 0.0, heaviest, 0.0, f"kg at {drive.tip}", lambda d, x: d.set_payload(x)
            )
        if drive.has_stiffness:
            self.stiffness = self._slider(
                "stiffness, 10^", -SOFTEST, SOFTEST, 0.0, "EI, EA, GJ of all beams: times ten to this power",
                lambda d, x: d.set_stiffness(10.0**x),
            )  # fmt: skip

    def _slider(self, name: str, low: float, high: float, value: float, unit: str, turn: object) -> object:
        slider = self._gui.add_slider(
            name, min=low, max=high, step=(high - low) / 500.0,
            initial_value=float(np.clip(value, low, high)), hint=f"[{unit}]",
        )  # fmt: skip
        slider.on_update(lambda event: self._turned(event, slider, turn))
        return slider

    def _turned(self, event: Any, slider: Any, turn: Any) -> None:
        if event.client is not None:
            self._viewer.turn_knob(lambda drive: turn(drive, number(slider, slider.min, slider.max)))


def _ranges(drive: Drive) -> list[tuple[str, float, float, str]]:
    """Name, lowest, highest and unit of what is asked of each actuator; the same twice where it has no
    target."""
    robot = drive.robot
    if drive.valves:
        return [(f"valve of {name}", -1.0, 1.0, "opening") for name in robot.effort_names]
    if robot.legs:
        lengths = drive.targets
        return [
            (name, x - STROKE * x, x + STROKE * x, "m")
            for name, x in zip(robot.effort_names, lengths, strict=True)
        ]
    found = []
    for c in robot.coordinates:
        moves = c.actuated and c.q_index >= 0 and c.kind in DRIVEN
        low = c.lower if np.isfinite(c.lower) else -np.pi
        high = c.upper if np.isfinite(c.upper) else np.pi
        found.append((c.name, low, high, c.unit) if moves else (c.name, 0.0, 0.0, c.unit))
    return found
