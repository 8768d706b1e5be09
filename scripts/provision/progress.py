"""What a set-up says while it works: on standard error, so that the output of a command stays its own."""

from __future__ import annotations

import re
import shutil
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from provision.lock import AGAIN, duration

#: seconds that a quiet set-up is silent
SILENCE = 2.0
#: `[ 12/50] flexible_aba.advance  3.1 s`, as ninja and the kernels' warm-up count
COUNT = re.compile(r"^\[\s*(\d+)/(\d+)\]\s+(\S+(?: \S+)*)", re.MULTILINE)


@dataclass
class Running:
    """A step under way: when it began, what was last heard of it, when that was told."""

    began: float
    detail: str = ""
    told: float = 0.0


class Progress:
    """Lines when steps begin and end; on a terminal one live line, elsewhere a line every half minute.

    A quiet one says nothing in its first two seconds of work, and nothing of what is over by then.
    """

    def __init__(self, quiet: bool) -> None:
        self._live, self._shown_live = sys.stderr.isatty(), False
        self._silence = SILENCE if quiet else 0.0
        self._speaks_from = float("inf") if quiet else 0.0
        self._running: dict[str, Running] = {}
        self.has_spoken = False

    def begin(self, step: str) -> None:
        now = time.monotonic()
        self._speaks_from = min(self._speaks_from, now + self._silence)
        self._running[step] = Running(now)
        self.refresh()

    def end(self, step: str, seconds: float, processor: float) -> None:
        if self._running.pop(step).told or time.monotonic() >= self._speaks_from:
            self.say(f"{step}: {duration(seconds)} ({processor:.0f} s of processors)")

    def hear(self, step: str, log: Path) -> str:
        """Keep the last count in the output of a step; what is known of the step now."""
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - 4000))
            counts = COUNT.findall(file.read().decode(errors="replace"))
        if counts:
            done, total, name = counts[-1]
            self._running[step].detail = f"{done}/{total} {name.rsplit('/', 1)[-1][:40]}"
        return f"{step} {self._running[step].detail}".strip()

    def refresh(self) -> None:
        """Tell what is due."""
        now = time.monotonic()
        if now < self._speaks_from:
            return
        parts = []
        for step, running in self._running.items():
            words = " ".join(filter(None, (step, running.detail)))
            since = duration(now - running.began)
            parts.append(f"{words} {since}")
            if not self._live and now - running.told >= AGAIN:
                self.say(f"{words} ({since})" if running.told else f"{step} ...")
                running.told = now
        if self._live and parts:
            line = "setup: " + " | ".join(parts)
            sys.stderr.write("\r\x1b[K" + line[: shutil.get_terminal_size().columns - 1])
            sys.stderr.flush()
            self._shown_live = True

    def say(self, text: str) -> None:
        """A line that stays."""
        clear = "\r\x1b[K" if self._shown_live else ""
        self._shown_live, self.has_spoken = False, True
        sys.stderr.write(f"{clear}setup: {text}\n")
        sys.stderr.flush()
