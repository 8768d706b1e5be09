"""Locks between set-ups. The file says who holds it, and at which step."""

from __future__ import annotations

import errno
import fcntl
import os
import time
from collections.abc import Callable
from pathlib import Path

from provision.failing import WRITABLE, SetupError

#: seconds after which a wait is told, and after which it is told again
TELL, AGAIN = 0.5, 30.0


class Lock:
    """An flock on a file, which ends with the process that holds it.

    Its descriptor is not handed on to children (Python opens files so), hence a compiler or a package
    manager that outlives a killed set-up does not keep others waiting.
    """

    def __init__(self, path: Path, holder: str) -> None:
        self.path, self.holder, self._file = path, holder, -1
        self._steps: dict[str, str] = {}
        self._since = 0.0
        self._told, self._when = "", 0.0

    def take(self, say: Callable[[str], object]) -> bool:
        """Try to take it; True if it is ours. Who has it otherwise is told."""
        if self._file >= 0:
            return True
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            file = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise SetupError(f"{self.path.parent} cannot be written ({error.strerror})", WRITABLE) from None
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
                os.close(file)
                self._tell(say)
                return False
            # a file system without locks: two set-ups at once are then the user's care
        self._file = file
        return True

    def note(self, step: str, words: str) -> None:
        """Tell those who wait what is being done of a step; no words: it is over."""
        if self._steps.get(step, "") == words:
            return
        if step not in self._steps:
            self._since = time.time()
        self._steps[step] = words
        text = " | ".join(filter(None, self._steps.values()))
        content = f"{os.getpid()}\n{self.holder}\n{text}\n{self._since:.0f}\n".encode()
        os.pwrite(self._file, content, 0)
        os.ftruncate(self._file, len(content))

    def _tell(self, say: Callable[[str], object]) -> None:
        """Say who holds it, and what is being done there: at the next step, or after a while."""
        now = time.monotonic()
        try:
            pid, command, step, since = self.path.read_text().splitlines()[:4]
            holder = (
                f"process {pid} ({command}), at step '{step}' since {duration(time.time() - float(since))}"
            )
        except (OSError, ValueError):
            step, holder = "", f"another process, which holds {self.path}"
        name = step.partition(" ")[0]
        if not self._when:
            self._told, self._when = "\0", now - AGAIN + TELL
        elif now - self._when >= AGAIN or (self._told not in ("\0", name)):
            self._told, self._when = name, now
            say(f"waits for {holder}")

    def release(self) -> None:
        if self._file >= 0:
            os.ftruncate(self._file, 0)
            os.close(self._file)
            self._file = -1


def duration(seconds: float) -> str:
    """Seconds for people: 12 s, 3 min 5 s."""
    whole = max(0, round(seconds))
    return f"{whole} s" if whole < 60 else f"{whole // 60} min {whole % 60} s"
