"""Runs steps that depend on each other, beside each other where they can be."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from provision.failing import SetupError, explain
from provision.lock import Lock
from provision.progress import Progress

PAUSE = 0.05  # s between two looks
PR_SET_PDEATHSIG = 1
_library = ctypes.CDLL(None, use_errno=True)


@dataclass
class Step:
    """Something that is made once and again when what it is made from changes.

    Attributes
    ----------
    name
        Its name, also of its log.
    stamp
        The file that holds `key` once the step is done.
    key
        Hash of what it is made from.
    commands
        Gives the commands that make it, one after the other; may raise SetupError.
    lock
        Held while it runs.
    after
        Names of the steps that must be done before.
    hint
        The remedy where the cause of a failure is not known.
    niceness
        Added to that of the commands: how much they leave to those beside them.
    """

    name: str
    stamp: Path
    key: str
    commands: Callable[[], Iterable[list[str]]]
    lock: Lock
    after: tuple[str, ...] = ()
    hint: str = "the log tells more"
    niceness: int = 0
    environment: Mapping[str, str] = field(default_factory=dict)

    def is_done(self) -> bool:
        try:
            return self.stamp.read_text().strip() == self.key
        except OSError:
            return False


class Run:
    """Runs the steps that are not done."""

    def __init__(self, steps: Iterable[Step], folder: Path, logs: Path, progress: Progress) -> None:
        self._open = {step.name: step for step in steps}
        self._folder, self._logs, self._progress = folder, logs, progress
        self._processes: set[subprocess.Popen] = set()

    def __call__(self) -> None:
        """Run them all. Raises SetupError."""
        steps = list(self._open.values())
        if all(step.is_done() for step in steps):
            return
        self._logs.mkdir(parents=True, exist_ok=True)
        under_way = [self._make(step) for step in steps]
        try:
            while under_way:
                under_way = [making for making in under_way if next(making, making) is None]
                self._progress.refresh()
                time.sleep(PAUSE if under_way else 0.0)
        finally:
            for process in self._processes:
                stop(process)
            for step in steps:
                step.lock.release()

    def _make(self, step: Step) -> Iterator[None]:
        """Make a step; yields None wherever it waits.

        It is looked at when it is due: steps before it may have removed what it made before, and another
        set-up may have made it while this one waited.
        """
        while any(name in self._open for name in step.after):
            yield
        while not step.is_done() and not step.lock.take(self._progress.say):
            yield
        if not step.is_done():
            yield from self._commands(step)
        del self._open[step.name]
        if all(other.lock is not step.lock for other in self._open.values()):
            step.lock.release()

    def _commands(self, step: Step) -> Iterator[None]:
        """The commands of a step one after the other, their log, its stamp and times."""
        self._progress.begin(step.name)
        step.lock.note(step.name, step.name)
        step.stamp.unlink(missing_ok=True)
        log, began, processor = self._logs / f"{step.name}.log", time.monotonic(), 0.0
        where = f" (log: {log.relative_to(self._folder) if log.is_relative_to(self._folder) else log})"
        try:
            with log.open("wb") as output:
                for command in step.commands():
                    process = self._started(step, command, output)
                    while not (ended := os.wait4(process.pid, os.WNOHANG))[0]:
                        step.lock.note(step.name, self._progress.hear(step.name, log))
                        yield
                    self._processes.discard(process)
                    process.returncode = os.waitstatus_to_exitcode(ended[1])
                    processor += ended[2].ru_utime + ended[2].ru_stime
                    if process.returncode != 0:
                        raise explain(log.read_text(errors="replace"), process.returncode, step.hint)
        except SetupError as error:
            told = where if log.stat().st_size else ""
            raise SetupError(f"step '{step.name}' failed: {error.cause}{told}", error.remedy) from None
        step.lock.note(step.name, "")
        seconds = time.monotonic() - began
        step.stamp.parent.mkdir(parents=True, exist_ok=True)
        step.stamp.write_text(step.key + "\n")
        (self._logs / f"{step.name}.seconds").write_text(f"{seconds:.0f}\n")
        (self._logs / f"{step.name}.processor_seconds").write_text(f"{processor:.0f}\n")
        self._progress.end(step.name, seconds, processor)

    def _started(self, step: Step, command: list[str], output: BinaryIO) -> subprocess.Popen:
        """A command in a session of its own; it ends with the set-up, even if that is killed, and leaves the
        processors to others."""

        def prepare() -> None:
            _library.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
            os.nice(step.niceness)

        output.write(f"$ {' '.join(command)}\n".encode())
        output.flush()
        try:
            process = subprocess.Popen(
                command, cwd=self._folder, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                env={**os.environ, **step.environment}, start_new_session=True,
                preexec_fn=prepare,  # there is one thread only
            )  # fmt: skip
        except OSError as error:
            raise explain(f"{error.strerror}: {command[0]}", 127, step.hint) from None
        self._processes.add(process)
        return process


def stop(process: subprocess.Popen) -> None:
    """End a command and everything that it started."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError, subprocess.TimeoutExpired):
            os.killpg(process.pid, number)
            process.wait(3.0)
