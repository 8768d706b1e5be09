"""Work of buttons that may fail or take long: bounded, and told on the page if it fails; values of inputs."""

from __future__ import annotations

import logging
import math
import re
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from flexdyn_ros.errors import FlexdynError

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
    if abs(slider.value - near) > 0.5 * slider.step:
        slider.value = near


def mark(value: float, low: float, high: float, step: float) -> float:
    """The mark of a slider next to a value; a power of ten is the step."""
    return round(step * round(float(np.clip(value, low, high)) / step), 12)


def choice(handle: Any, default: str) -> str:
    """What was chosen, or the default if a browser sent what is not offered."""
    return str(handle.value) if handle.value in handle.options else default
