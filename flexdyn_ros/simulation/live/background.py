"""Work that takes longer than a node may be silent: done in a thread of its own, its result handed over."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

#: how long work lets others go on whenever it is asked whether it is wanted [s]: a thread that wants the
#: interpreter would else wait for it as long as `sys.getswitchinterval`, many times a message
BREATH = 2e-5
#: work: is given a function to be called often, which ends it when it is no longer wanted; returns the result
Work = Callable[[Callable[[], None]], object]


class _Ended(Exception):
    """The work is no longer wanted."""


class Background:
    """One piece of work at a time; a newer one ends the one before. To be called in the executor's thread;
    results are handed over there.

    Parameters
    ----------
    node : Node
        Whose executor hands the result over.
    done : callable(result)
        Told when work is done.
    failed : callable(error)
        Told when work raised an exception.
    """

    def __init__(self, node: Any, done: Callable[[Any], None], failed: Callable[[Exception], None]) -> None:
        self._node, self._done, self._failed = node, done, failed
        self._wanted: threading.Event | None = None

    @property
    def is_busy(self) -> bool:
        """Whether work goes on whose result has not been handed over."""
        return self._wanted is not None

    def begin(self, work: Work) -> None:
        """Do this, and no longer what was done before."""
        self.end()
        self._wanted = threading.Event()
        self._wanted.set()
        threading.Thread(target=self._run, args=(work, self._wanted), name="background", daemon=True).start()

    def end(self) -> None:
        """Do no more; no result will follow."""
        if self._wanted is not None:
            self._wanted.clear()
        self._wanted = None

    def _run(self, work: Work, wanted: threading.Event) -> None:
        def look() -> None:
            if not wanted.is_set():
                raise _Ended
            time.sleep(BREATH)

        try:
            result = work(look)
        except _Ended:
            return
        except Exception as error:  # noqa: BLE001  handed over in the executor's thread
            self._hand_over(wanted, self._failed, error)
        else:
            self._hand_over(wanted, self._done, result)

    def _hand_over(self, wanted: threading.Event, tell: Callable[[Any], None], what: object) -> None:
        def in_executor() -> None:
            if wanted.is_set():
                self._wanted = None
                tell(what)

        executor = self._node.executor
        if executor is not None:
            executor.create_task(in_executor)
