"""A progress bar for simulations that take a while; rich is imported only when one is asked for."""

from __future__ import annotations

from typing import Any

from flexdyn_ros.errors import MissingExtraError
from flexdyn_ros.simulation.plan import Plan

__all__ = ["Progress"]


class Progress:
    """Context manager; `show(i)` moves the bar to step i of the plan."""

    def __init__(self, plan: Plan) -> None:
        self._steps = plan.times.size - 1
        self._task: Any = None
        self._bar: Any = self._make(plan) if plan.progress else None
        self._every = max(1, self._steps // 200)

    def _make(self, plan: Plan) -> Any:
        try:
            from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
            from rich.progress import Progress as Bar
        except ImportError:
            raise MissingExtraError("rich", "cli") from None
        bar = Bar(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f} %"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            transient=True,
        )
        self._task = bar.add_task(f"simulating {plan.robot.name}", total=self._steps)
        return bar

    def __enter__(self) -> Progress:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def show(self, step: int) -> None:
        """Move the bar."""
        if self._bar is not None and (step % self._every == 0 or step == self._steps):
            self._bar.update(self._task, completed=step)
