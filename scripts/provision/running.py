"""Runs steps that depend on each other, beside each other where they can be."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from provision.causes import explain
from provision.errors import SetupError
from provision.lock import Lock
from provision.progress import AGAIN, Progress

PAUSE = 0.05  # s between two looks
TELL_WAITING = 0.5  # s after which a wait for a lock is told
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
    renews_all
        Whether nothing under the same lock outlasts it.
    """

    name: str
    stamp: Path
    key: str
    commands: Callable[[], Iterable[list[str]]]
    lock: Lock
    after: tuple[str, ...] = ()
    hint: str = "the log tells more"
    niceness: int = 0
    renews_all: bool = False
    environment: Mapping[str, str] = field(default_factory=dict)

    def is_done(self) -> bool:
        try:
            return self.stamp.read_text().strip() == self.key
        except OSError:
            return False


class Job:
    """A step under way: its commands one after the other, in a session of their own, and its log."""

    def __init__(self, step: Step, folder: Path, logs: Path) -> None:
        self.step = step
        self.began = time.monotonic()
        self.processor = 0.0
        self._folder = folder
        self.log = logs / f"{step.name}.log"
        step.stamp.unlink(missing_ok=True)
        self._output = self.log.open("wb")
        self._process: subprocess.Popen | None = None
        self._commands = iter(step.commands())

    def is_over(self) -> bool:
        """Go on to the next command if one has ended; True after the last. SetupError if one failed."""
        while True:
            if self._process is not None:
                pid, status, usage = os.wait4(self._process.pid, os.WNOHANG)
                if pid == 0:
                    return False
                self._process.returncode = code = os.waitstatus_to_exitcode(status)
                self._process = None
                self.processor += usage.ru_utime + usage.ru_stime
                if code != 0:
                    raise explain(self.output(), code, self.step.hint)
            command = next(self._commands, None)
            if command is None:
                self._output.close()
                return True
            self._start(command)

    def _start(self, command: list[str]) -> None:
        self._output.write(f"$ {' '.join(command)}\n".encode())
        self._output.flush()
        try:
            self._process = subprocess.Popen(
                command,
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=self._output,
                stderr=subprocess.STDOUT,
                env={**os.environ, **self.step.environment},
                start_new_session=True,
                preexec_fn=self._prepare,  # there is one thread only
            )
        except OSError as error:
            raise explain(f"{error.strerror}: {command[0]}", 127, self.step.hint) from None

    def _prepare(self) -> None:
        """In the child: end with the set-up, even if that is killed; leave the processors to others."""
        _library.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        os.nice(self.step.niceness)

    def output(self, last: int | None = None) -> str:
        """What the commands printed, or the last so many bytes of it."""
        with self.log.open("rb") as file:
            if last is not None:
                file.seek(max(0, self.log.stat().st_size - last))
            return file.read().decode(errors="replace")

    def stop(self) -> None:
        """End the command and everything that it started."""
        if self._process is None:
            return
        for number, patience in ((signal.SIGTERM, 3.0), (signal.SIGKILL, 3.0)):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)
            try:
                self._process.wait(patience)
                break
            except subprocess.TimeoutExpired:
                continue
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)


class Run:
    """Runs the steps that are not done."""

    def __init__(self, steps: Iterable[Step], folder: Path, logs: Path, progress: Progress) -> None:
        steps = list(steps)
        renewed = {step.lock for step in steps if step.renews_all and not step.is_done()}
        self._waiting = {s.name: s for s in steps if s.lock in renewed or not s.is_done()}
        self._locks = {step.lock for step in self._waiting.values()}
        self._folder = folder
        self._logs = logs
        self._progress = progress
        self._jobs: list[Job] = []
        self._refused: dict[Lock, float] = {}
        self._told: dict[Lock, tuple[str, float]] = {}

    def __call__(self) -> bool:
        """Run them all; False if there was nothing to do. Raises SetupError."""
        if not self._waiting:
            return False
        try:
            self._logs.mkdir(parents=True, exist_ok=True)
            while self._waiting or self._jobs:
                self._begin()
                self._look()
                self._progress.refresh()
                if self._waiting or self._jobs:
                    time.sleep(PAUSE)
        finally:
            for job in self._jobs:
                job.stop()
            self._release(everything=True)
        return True

    def _begin(self) -> None:
        """Start every step that waits for nothing any more."""
        for step in list(self._waiting.values()):
            busy = self._waiting.keys() | {job.step.name for job in self._jobs}
            if busy & set(step.after):
                continue
            was_held = step.lock.is_held
            if not step.lock.take():
                self._tell_waiting(step.lock)
                continue
            self._refused.pop(step.lock, None)
            if not was_held:
                self._forget_what_others_did(step.lock)
            if step.name in self._waiting:
                del self._waiting[step.name]
                self._jobs.append(self._started(step))

    def _started(self, step: Step) -> Job:
        self._progress.begin(step.name)
        step.lock.note(step.name)
        try:
            return Job(step, self._folder, self._logs)
        except SetupError as error:
            raise self._failure(step, error) from None

    def _forget_what_others_did(self, lock: Lock) -> None:
        """Another set-up may have done our steps while we waited."""
        for step in list(self._waiting.values()):
            if step.lock is lock and step.is_done():
                del self._waiting[step.name]

    def _tell_waiting(self, lock: Lock) -> None:
        now = time.monotonic()
        if now - self._refused.setdefault(lock, now) < TELL_WAITING:
            return
        holder = lock.holder()
        step = holder.partition("step '")[2].partition(" ")[0]
        told, when = self._told.get(lock, ("", 0.0))
        if step != told or now - when >= AGAIN:
            self._told[lock] = step, now
            self._progress.say(f"waits for {holder}")

    def _look(self) -> None:
        """See which commands have ended."""
        for job in list(self._jobs):
            try:
                is_over = job.is_over()
            except SetupError as error:
                raise self._failure(job.step, error, job.log) from None
            if is_over:
                self._finish(job)
            else:
                job.step.lock.note(self._progress.hear(job.step.name, job.output(4000)))

    def _finish(self, job: Job) -> None:
        seconds = time.monotonic() - job.began
        self._jobs.remove(job)
        job.step.stamp.parent.mkdir(parents=True, exist_ok=True)
        job.step.stamp.write_text(job.step.key + "\n")
        (self._logs / f"{job.step.name}.seconds").write_text(f"{seconds:.0f}\n")
        (self._logs / f"{job.step.name}.processor_seconds").write_text(f"{job.processor:.0f}\n")
        self._progress.end(job.step.name, seconds, job.processor)
        self._release()

    def _release(self, everything: bool = False) -> None:
        """Give up the locks that no step needs any more."""
        running = {job.step.lock for job in self._jobs}
        needed = set() if everything else running | {step.lock for step in self._waiting.values()}
        for lock in self._locks - needed:
            lock.release()

    def _failure(self, step: Step, error: SetupError, log: Path | None = None) -> SetupError:
        where = ""
        if log is not None:
            where = f" (log: {log.relative_to(self._folder) if log.is_relative_to(self._folder) else log})"
        cause = f"step '{step.name}' failed: {error.cause}{where}"
        return SetupError(cause, f"remedy: {error.remedy}", error.code)
