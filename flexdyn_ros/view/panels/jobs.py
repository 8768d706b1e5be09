"""Work of buttons that may fail or take long: bounded, and what fails is shown on the page."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

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
