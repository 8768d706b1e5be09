"""The tab of poses: a slider for each coordinate."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from flexdyn_ros.robot.coordinates import MODAL, pose_name
from flexdyn_ros.view.panels.controls import number
from flexdyn_ros.view.panels.jobs import Jobs

if TYPE_CHECKING:
    from viser import GuiApi

#: so many sliders of deformations are open at first
FEW = 8


class PoseTab:
    """Sliders of a viewer's coordinates, by their number in v: `sliders`."""

    def __init__(self, viewer: Any, gui: GuiApi, jobs: Jobs) -> None:
        self._viewer = viewer
        self.sliders: dict[int, Any] = {}
        self._sliding = threading.Lock()
        gui.add_button("Neutral pose").on_click(lambda _: self.take(viewer.robot.neutral()))
        gui.add_button("Move each in turn").on_click(lambda _: viewer.tour())
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
        low, high = float(reach.lower[c.v_index]), float(reach.upper[c.v_index])
        slider = gui.add_slider(
            f"{pose_name(c)} [{c.unit}]",
            min=low,
            max=high,
            step=(high - low) / 1000.0,
            initial_value=float(np.clip(0.0, low, high)),
            hint=f"{c.kind}, from the neutral position",
        )
        slider.on_update(self._slid)
        self.sliders[c.v_index] = slider

    def _slid(self, event: Any) -> None:
        if event.client is None:  # moved by us
            return
        x = np.zeros(self._viewer.robot.nv)
        # events come on several threads: the last to show a pose must be one that read the last values
        with self._sliding:
            for index, slider in self.sliders.items():
                x[index] = number(slider, slider.min, slider.max)
            self._viewer.pose(self._viewer.reach.configuration(x))

    def take(self, q: np.ndarray) -> None:
        """Show q (nq,), sliders too."""
        for index, value in enumerate(self._viewer.reach.values(q).tolist()):
            self.sliders[index].value = value
        self._viewer.pose(q)

    def _sag(self) -> None:
        """The shape that gravity gives the robot while its joints are held."""
        found = self._viewer.robot.static_equilibrium(self._viewer.q, hold="joints")
        self.take(found.q)
        self._viewer.panels.tell(f"at rest; residual {found.residual:.2g}")
