"""A program of ours in a process of its own, with limits of time, memory and output.

It reads what may hold anything, and may go wrong in any way: what is left of it after its time is ended, with
all that it started. It ends too when this process goes away.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import subprocess

#: what the interpreter itself needs of the environment
NEEDED = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "SYSTEMROOT")
#: processes that one may have started, and rounds in which they are ended
_MOST_STARTED = 1000
#: sets the limits, reads the request, then runs the program; standard input closes when the parent goes away,
#: and the signal that the system then sends ends the process. At its end all that it has started is ended.
_BEGIN = """
import io, os, select, sys
script, seconds, memory, written = sys.argv[1], *map(int, sys.argv[2:5])
try:
    import fcntl, resource, signal
    for name, most in (("CPU", seconds + 1), ("AS", memory), ("FSIZE", written), ("CORE", 0)):
        what = getattr(resource, "RLIMIT_" + name)
        hard = resource.getrlimit(what)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(what, (most, most))
    signal.alarm(seconds + 2)
except (ImportError, OSError, ValueError, AttributeError):
    pass
# all that is asked: from here on standard input only ends, and what arrives later would be taken for its end
request = sys.stdin.buffer.readline()
try:
    fcntl.fcntl(0, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(0, fcntl.F_SETFL, fcntl.fcntl(0, fcntl.F_GETFL) | os.O_ASYNC)
    if select.select([0], [], [], 0.0)[0]:
        os._exit(1)
except (NameError, ImportError, OSError, ValueError, AttributeError):
    pass
sys.stdin = io.TextIOWrapper(io.BytesIO(request), "utf-8")
def children():
    found = []
    for name in os.listdir("/proc") if os.path.isdir("/proc/self") else ():
        try:
            with open(f"/proc/{int(name)}/stat") as file:
                if file.read().rpartition(")")[2].split()[1] == str(os.getpid()):
                    found.append(int(name))
        except (OSError, ValueError, IndexError):
            pass
    return found
try:
    # what the program starts stays below this process, in whatever session: PR_SET_CHILD_SUBREAPER
    import ctypes
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
except (ImportError, OSError, AttributeError):
    pass
sys.argv = [script]
import runpy
try:
    runpy.run_path(script, run_name="__main__")
except BaseException:
    import traceback
    traceback.print_exc()
    code = 1
else:
    code = 0
for _ in range(1000):
    started = children()
    for number in started:
        os.kill(number, 9)
        os.waitpid(number, 0)
    if not started:
        break
# there is nothing to tidy up, and it would take as long as to start
os._exit(code)
"""


class Ended(NamedTuple):
    """What a process wrote, its exit code (less the signal that ended it), and whether its time was up or its
    output too long."""

    data: bytes
    code: int
    is_late: bool
    is_long: bool


def run_limited(
    script: Path,
    request: Mapping[str, object],
    *,
    seconds: int,
    memory: int,
    output: int,
    written: int = 0,
    pass_fds: Sequence[int] = (),
    environment: Mapping[str, str] | None = None,
) -> Ended:
    """Run a program that reads one line of JSON and writes an answer.

    Parameters
    ----------
    script : path
        The program. Its interpreter reads no user settings and takes nothing from the present folder.
    request : mapping
        Goes to its standard input, which stays open while this process lives.
    seconds, memory, output, written : int
        Limits: of the time, by the clock [s]; of the address space, of the output, of a file that is written
        [bytes].
    pass_fds : sequence of int
        Open files that it gets.
    environment : mapping, optional
        Beside what an interpreter needs.
    """
    # imported here: most that reads files starts no process
    import subprocess

    limits = (str(seconds), str(memory), str(written))
    child = subprocess.Popen(
        [sys.executable, "-I", "-S", "-B", "-c", _BEGIN, str(script), *limits],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={name: os.environ[name] for name in NEEDED if name in os.environ} | dict(environment or {}),
        pass_fds=tuple(pass_fds),
        start_new_session=True,
    )
    is_late = is_long = False
    try:
        data, is_late, is_long = _answer(child, json.dumps(dict(request)).encode(), seconds, output)
    finally:
        _end(child, is_late or is_long)
    return Ended(data, child.returncode, is_late, is_long)


def _answer(
    child: subprocess.Popen[bytes], request: bytes, seconds: float, most: int
) -> tuple[bytes, bool, bool]:
    """What a process writes until it closes its output, and whether it was too late or too long."""
    import selectors

    deadline = time.monotonic() + seconds
    assert child.stdin is not None
    assert child.stdout is not None
    with suppress(BrokenPipeError):
        child.stdin.write(request + b"\n")
        child.stdin.flush()
    data = bytearray()
    with selectors.DefaultSelector() as selector:
        selector.register(child.stdout, selectors.EVENT_READ)
        while selector.select(max(0.0, deadline - time.monotonic())):
            part = os.read(child.stdout.fileno(), 1 << 20)
            data += part
            if not part or len(data) > most:
                return bytes(data), False, len(data) > most
    return bytes(data), True, False


def _end_started(parent: int) -> None:
    """End what a process that still runs has started, in other sessions too, where the system lists it.

    The process stands still meanwhile. Whatever loses its parent comes to the process itself.
    """
    with suppress(ProcessLookupError, PermissionError):
        os.kill(parent, signal.SIGSTOP)
    for _ in range(_MOST_STARTED):
        started = _descendants(parent)
        for number in started:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(number, signal.SIGKILL)
        if not started:
            return


def _descendants(parent: int) -> list[int]:
    """Numbers of the running processes below a process."""
    below: dict[int, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, ValueError, IndexError):
            state, above = (folder / "stat").read_text().rpartition(")")[2].split()[:2]
            if state not in ("Z", "X"):
                below.setdefault(int(above), []).append(int(folder.name))
    found = list(below.get(parent, ()))
    for number in found:
        found += below.get(number, ())
    return found


def _end(child: subprocess.Popen[bytes], at_once: bool) -> None:
    """End the process and whatever it may have started; wait for it."""
    import subprocess

    with suppress(subprocess.TimeoutExpired):
        # where it has closed its output, it ends by itself, and its exit code tells what ended it
        child.wait(0.0 if at_once else 0.5)
    _end_started(child.pid)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    for stream in (child.stdin, child.stdout):
        if stream is not None:
            with suppress(BrokenPipeError):
                stream.close()
