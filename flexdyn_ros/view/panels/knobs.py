"""The tab of a robot that moves while somebody turns knobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from flexdyn_ros.view.drive import Drive
from flexdyn_ros.view.panels.jobs import Jobs, mark, marks, number, put

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
