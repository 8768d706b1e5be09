"""Locks between set-ups. The file says who holds it, and at which step."""

from __future__ import annotations

import errno
import fcntl
import os
import time
from pathlib import Path

from provision.errors import SetupError


class Lock:
    """An flock on a file, which ends with the process that holds it.

    Its descriptor is not handed on to children (Python opens files so), hence a compiler or a package
    manager that outlives a killed set-up does not keep others waiting.
    """

    def __init__(self, path: Path, holder: str) -> None:
        self.path = path
        self._holder = holder
        self._file = -1

    @property
    def is_held(self) -> bool:
        return self._file >= 0

    def take(self) -> bool:
        """Try to take it; True if it is ours."""
        if self.is_held:
            return True
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            file = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise SetupError(
                f"{self.path.parent} cannot be written ({error.strerror})",
                "make it writable; for compiled kernels NUMBA_CACHE_DIR=FOLDER names another place",
            ) from None
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
                os.close(file)
                return False
            # a file system without locks: two set-ups at once are then the user's care
        self._file = file
        self.note("beginning")
        return True

    def note(self, step: str) -> None:
        """Tell those who wait what is being done."""
        if self.is_held:
            os.ftruncate(self._file, 0)
            os.pwrite(self._file, f"{os.getpid()}\n{self._holder}\n{step}\n{time.time():.0f}\n".encode(), 0)

    def holder(self) -> str:
        """Who holds it, and what is being done there."""
        try:
            pid, command, step, since = self.path.read_text().splitlines()[:4]
            return f"process {pid} ({command}), at step '{step}' since {duration(time.time() - float(since))}"
        except (OSError, ValueError):
            return f"another process, which holds {self.path}"

    def release(self) -> None:
        if self.is_held:
            os.ftruncate(self._file, 0)
            os.close(self._file)
            self._file = -1


def duration(seconds: float) -> str:
    """Seconds for people: 12 s, 3 min 5 s."""
    whole = max(0, round(seconds))
    return f"{whole} s" if whole < 60 else f"{whole // 60} min {whole % 60} s"
