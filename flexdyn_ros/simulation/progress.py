"""How far a simulation is: a progress bar, rich being imported only for one, or a function that
is called, and that ends the simulation by raising."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from flexdyn_ros.errors import needs
from flexdyn_ros.escaping import printable
from flexdyn_ros.simulation.plan import Plan

#: seconds between two calls of a function that follows the progress
REPORT_PERIOD = 0.02
#: steps of the first compiled chunk for such a function
FIRST_CHUNK = 16


class Progress:
    """Context manager; `show(i)` moves the bar to step i of the plan, or tells its time."""

    def __init__(self, plan: Plan) -> None:
        self._steps, self._times = plan.times.size - 1, plan.times
        self._task: object = None
        self._tell: Callable[[float], object] | None = plan.progress if callable(plan.progress) else None
        self._bar: Any = self._make(plan) if plan.progress and self._tell is None else None
        #: time of the last call: simulated, wall
        self._reached, self._last_report = float(plan.times[0]), 0.0
        #: steps of the chunk under way, and when it began
        self._chunk, self._began = 0, 0.0
        self._every = max(1, self._steps // 200)

    def _make(self, plan: Plan) -> object:
        with needs("rich", ""):
            from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
            from rich.progress import Progress as Bar
        bar = Bar(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f} %"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            transient=True,
        )
        self._task = bar.add_task(f"simulating {printable(plan.robot.name)}", total=self._steps)
        return bar

    def __enter__(self) -> Progress:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def chunk(self, most: int) -> int:
        """Steps of the next compiled chunk: `most`, or what fits between two calls of the function."""
        if self._tell is None:
            return most
        now, before = time.monotonic(), self._chunk
        if before:
            wanted = before * REPORT_PERIOD / max(now - self._began, 1e-6)
            self._chunk = max(1, min(4 * before, int(wanted)))
        else:
            self._chunk = FIRST_CHUNK
        self._began = now
        return min(most, self._chunk)

    def reach(self, t: float) -> None:
        """Tell that the time t [s] is reached, if it is time to tell."""
        if self._tell is None:
            return
        self._reached = max(self._reached, t)
        now = time.monotonic()
        if now - self._last_report >= REPORT_PERIOD:
            self._last_report = now
            self._tell(self._reached)

    def show(self, step: int) -> None:
        """Move the bar."""
        if self._tell is not None:
            self.reach(float(self._times[step]))
        if self._bar is not None and (step % self._every == 0 or step == self._steps):
            self._bar.update(self._task, completed=step)
