"""Programs in processes of their own that do not begin with nothing: forked from one that did what many do.

From there on each has an interpreter of its own: arguments, folder, environment, outputs, the end.
"""

from __future__ import annotations

import atexit
import functools
import gc
import json
import os
import runpy
import signal
import subprocess
import sys
import tempfile
import threading
import time
import types
from collections.abc import Mapping
from pathlib import Path
from unittest.mock import patch


def simulate_and_draw() -> None:
    """What takes most programs a second: imports, and a first run and figure of any size."""
    import io

    import rich.table  # noqa: F401
    import scipy.interpolate
    import scipy.optimize  # noqa: F401
    from matplotlib import pyplot

    import flexdyn_ros

    flexdyn_ros.simulate(flexdyn_ros.load("two_link"), 1e-2)
    pyplot.figure().add_subplot().set_xlabel("time [s]")
    pyplot.savefig(io.BytesIO())
    pyplot.close()


def compile_something() -> None:
    """What takes most processes that compile a kernel a second: Numba, and its first compilation."""
    import numba

    import flexdyn_ros  # noqa: F401
    from flexdyn_ros.numerics.compiling.compiler import entry

    with tempfile.TemporaryDirectory() as folder, patch.dict(os.environ, NUMBA_CACHE_DIR=folder):
        numba.config.reload_config()
        entry("float64(float64)")(lambda x: 2.0 * x).load()
    # what would have told of a long compilation ends now
    for thread in set(threading.enumerate()) - {threading.main_thread()}:
        thread.join(10.0)
    numba.config.reload_config()


def compile_with_numba_alone() -> None:
    """The same where the package is not known yet: programs bring their own copies of it."""
    import numba
    from numba.core import entrypoints

    # else Numba would call the package's entry point
    entrypoints._already_initialized = True
    numba.njit("float64(float64)")(lambda x: 2.0 * x)
    entrypoints._already_initialized = False
    assert "flexdyn_ros" not in sys.modules


class Server:
    """Runs programs one after the other, in forks of a process that did `prepare`, a function of this file;
    ends with its `with` block."""

    def __init__(self, prepare: str = "simulate_and_draw") -> None:
        environment = os.environ | {"MPLBACKEND": "Agg"}
        self._process = subprocess.Popen(
            [sys.executable, __file__, prepare],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def run(
        self, program: Path, *arguments: str, folder: Path, timeout: float = 550.0, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        """The finished program; killed, with the code of that, after `timeout` seconds."""
        return self._done({"program": str(program)}, arguments, folder, timeout, environment)

    def run_text(
        self, text: str, *arguments: str, folder: Path, timeout: float = 550.0, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        """The finished `python -c TEXT ARGUMENTS`."""
        return self._done({"text": text, "program": "-c"}, arguments, folder, timeout, environment)

    def _done(
        self, job: dict, arguments: tuple[str, ...], folder: Path, timeout: float, environment: dict[str, str]
    ) -> subprocess.CompletedProcess[str]:
        with tempfile.TemporaryDirectory() as outputs:
            job |= {
                "arguments": arguments, "folder": str(folder), "outputs": outputs,
                "environment": {**os.environ, **environment}, "timeout": timeout,
            }  # fmt: skip
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            self._process.stdin.write(json.dumps(job) + "\n")
            self._process.stdin.flush()
            code = int(self._process.stdout.readline())
            said = [(Path(outputs) / name).read_text(encoding="utf-8") for name in ("stdout", "stderr")]
        return subprocess.CompletedProcess([job["program"], *arguments], code, *said)


@functools.cache
def compiling_server(prepare: str = "compile_something") -> Server:
    """The one of this process of tests, for programs that compile."""
    server = Server(prepare)
    atexit.register(server.__exit__)
    return server


# ---- in the process that forks ----


def serve() -> Mapping:
    """Fork for each line of the standard input and answer with exit codes; returns in the forked process."""
    for line in iter(sys.stdin.readline, ""):
        job = json.loads(line)
        child = os.fork()
        if child == 0:
            return job
        killer = threading.Timer(job["timeout"], os.kill, (child, signal.SIGKILL))
        killer.start()
        _, status = os.waitpid(child, 0)
        killer.cancel()
        killer.join()
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()
    sys.exit()


def become(job: Mapping) -> None:
    """Take arguments, folder, environment and outputs of a job."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    for number, name in ((1, "stdout"), (2, "stderr")):
        file = os.open(Path(job["outputs"]) / name, os.O_WRONLY | os.O_CREAT)
        os.dup2(file, number)
        os.close(file)
    os.chdir(job["folder"])
    os.environ.clear()
    os.environ.update(job["environment"])
    time.tzset()
    given = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    own = [path for path in sys.path[1:] if path not in given]
    sys.path[:] = ["" if "text" in job else str(Path(job["program"]).parent), *given, *own]
    sys.argv[:] = [job["program"], *job["arguments"]]
    if "numba" in sys.modules:
        sys.modules["numba"].config.reload_config()


def run_text(text: str) -> None:
    """As `python -c` does, in a module __main__ without a file."""
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    exec(compile(text, "<string>", "exec"), main.__dict__)


if __name__ == "__main__":
    {f.__name__: f for f in (simulate_and_draw, compile_something, compile_with_numba_alone)}[sys.argv[1]]()
    # collections of a child would write to, and so copy, all that is there
    gc.freeze()
    assert threading.active_count() == 1, "no process is forked while threads run"
    become(taken := serve())
    if "text" in taken:
        run_text(taken["text"])
    else:
        runpy.run_path(taken["program"], run_name="__main__")
