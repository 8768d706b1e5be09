"""What a set-up says while it works: on standard error, so that the output of a command stays its own."""

from __future__ import annotations

import re
import shutil
import sys
import time
from dataclasses import dataclass
from typing import TextIO

from provision.lock import duration

#: seconds of silence: of a quiet set-up, and between two lines about a long step
SILENCE, AGAIN = 2.0, 30.0
#: `[ 12/50] flexible_aba.advance  3.1 s`, as ninja and the kernels' warm-up count
COUNT = re.compile(r"^\[\s*(\d+)/(\d+)\]\s+(\S+(?: \S+)*)", re.MULTILINE)


@dataclass
class Running:
    """A step under way: when it began, what was last heard of it, when that was told."""

    began: float
    detail: str = ""
    is_told: bool = False
    told: float = 0.0


class Progress:
    """Lines when steps begin and end; on a terminal one live line, elsewhere a line every half minute.

    A quiet one says nothing in its first two seconds of work, and nothing of what is over by then.
    """

    def __init__(self, quiet: bool, stream: TextIO = sys.stderr) -> None:
        self._stream = stream
        self._live = stream.isatty()
        self._shown_live = False
        self._quiet = quiet
        self._began: float | None = None
        self._running: dict[str, Running] = {}
        self.has_spoken = False

    def begin(self, step: str) -> None:
        self._began = self._began or time.monotonic()
        self._running[step] = Running(time.monotonic())
        self.refresh()

    def end(self, step: str, seconds: float, processor: float) -> None:
        running = self._running.pop(step)
        if not self._is_silent or running.is_told:
            self.say(f"{step}: {duration(seconds)} ({processor:.0f} s of processors)")

    def hear(self, step: str, output: str) -> str:
        """Keep the last count in the output of a step; what is known of the step now."""
        counts = COUNT.findall(output)
        if counts:
            done, total, name = counts[-1]
            self._running[step].detail = f"{done}/{total} {name.rsplit('/', 1)[-1][:40]}"
        return f"{step} {self._running[step].detail}".strip()

    @property
    def _is_silent(self) -> bool:
        return self._quiet and (self._began is None or time.monotonic() - self._began < SILENCE)

    def refresh(self) -> None:
        """Tell what is due."""
        if self._is_silent:
            return
        now = time.monotonic()
        for step, running in self._running.items():
            if not running.is_told:
                running.is_told, running.told = True, now
                if not self._live:
                    self.say(f"{step} ...")
            elif not self._live and now - running.told >= AGAIN:
                running.told = now
                self.say(f"{step} {running.detail} ({duration(now - running.began)})".replace("  ", " "))
        if self._live and self._running:
            parts = [[step, run.detail, duration(now - run.began)] for step, run in self._running.items()]
            line = "setup: " + " | ".join(" ".join(filter(None, part)) for part in parts)
            width = shutil.get_terminal_size().columns - 1
            self._stream.write("\r\x1b[K" + line[:width])
            self._stream.flush()
            self._shown_live = True

    def say(self, text: str) -> None:
        """A line that stays."""
        if self._shown_live:
            self._stream.write("\r\x1b[K")
            self._shown_live = False
        self._stream.write(f"setup: {text}\n")
        self._stream.flush()
        self.has_spoken = True

    def fail(self, cause: str, remedy: str) -> None:
        """The two lines of an end that was not wanted."""
        self.say(cause)
        self.say(remedy)
