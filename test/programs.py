"""Programs in processes of their own that do not begin with nothing: forked from one that did what many do.

From there on each has an interpreter of its own: arguments, folder, environment, outputs, the end.
"""

from __future__ import annotations

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
from collections.abc import Mapping
from pathlib import Path


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


class Server:
    """Runs programs one after the other; ends with its `with` block."""

    def __init__(self) -> None:
        environment = os.environ | {"MPLBACKEND": "Agg"}
        self._process = subprocess.Popen(
            [sys.executable, __file__],
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
        with tempfile.TemporaryDirectory() as outputs:
            job = {
                "program": str(program), "arguments": arguments, "folder": str(folder), "outputs": outputs,
                "environment": {**os.environ, **environment}, "timeout": timeout,
            }  # fmt: skip
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            self._process.stdin.write(json.dumps(job) + "\n")
            self._process.stdin.flush()
            code = int(self._process.stdout.readline())
            said = [(Path(outputs) / name).read_text(encoding="utf-8") for name in ("stdout", "stderr")]
        return subprocess.CompletedProcess([str(program), *arguments], code, *said)


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
    sys.path[:] = [str(Path(job["program"]).parent), *given, *own]
    sys.argv[:] = [job["program"], *job["arguments"]]


if __name__ == "__main__":
    simulate_and_draw()
    # collections of a child would write to, and so copy, all that is there
    gc.freeze()
    assert threading.active_count() == 1, "no process is forked while threads run"
    become(taken := serve())
    runpy.run_path(taken["program"], run_name="__main__")
