"""Nodes as forks of one process that has imported what they import, but rclpy.

A node that starts takes most of its processor time for imports that are the same for all. The fork runs
`python -m flexdyn_ros.nodes.MODULE` as the interpreter does, and is a process of its own with its exit code.
rclpy is not imported before: its library starts threads, which forks do not have. How nodes begin by
themselves is asked of fresh ones: `NodeProcess(..., fresh=True)`, test_colcon.py, test_ending.py, test_up.py.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import inspect
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

#: packages whose messages, services and actions nodes import
INTERFACES = (
    "action_msgs", "builtin_interfaces", "control_msgs", "diagnostic_msgs", "flexdyn_interfaces",
    "geometry_msgs", "lifecycle_msgs", "nav_msgs", "rcl_interfaces", "rosgraph_msgs", "sensor_msgs",
    "service_msgs", "std_msgs", "std_srvs", "tf2_msgs", "trajectory_msgs", "type_description_interfaces",
    "unique_identifier_msgs", "visualization_msgs",
)  # fmt: skip
#: what else nodes import before they are ready, and that does not import rclpy
MODULES = (
    "ament_index_python.packages", "asyncio", "concurrent.futures.thread", "llvmlite.binding", "logging",
    "numpy.ma", "queue", "rosidl_generator_py.generate_py_impl", "typing_extensions", "uuid", "yaml",
    "flexdyn_ros.control.feed_forward", "flexdyn_ros.control.feedback", "flexdyn_ros.control.goal_watch",
    "flexdyn_ros.control.input_shaping", "flexdyn_ros.expanded.colour_scale",
    "flexdyn_ros.expanded.kernels.kinematics", "flexdyn_ros.expanding",
    "flexdyn_ros.nodes.dynamics_server.services", "flexdyn_ros.nodes.dynamics_server.slices",
    "flexdyn_ros.nodes.parameters", "flexdyn_ros.nodes.ros.conversions", "flexdyn_ros.nodes.ros.oil_faults",
    "flexdyn_ros.nodes.simulator.extra", "flexdyn_ros.nodes.state_publisher.transforms",
    "flexdyn_ros.simulation.live.background", "flexdyn_ros.simulation.live.external_drive",
    "flexdyn_ros.simulation.live.hydraulic_policy", "flexdyn_ros.simulation.live.oil_drive",
    "flexdyn_ros.simulation.live.pace", "flexdyn_ros.simulation.live.platform_drive",
    "flexdyn_ros.simulation.live.simulation", "flexdyn_ros.simulation.recordings.topics",
)  # fmt: skip
#: families import what their robots need
ROBOTS = ("seven_joint_arm", "canadarm2", "stewart_1t", "delta", "soft_arm", "mobile_arm")
#: beginnings of variables that are read meanwhile: a fork has these of the process it is made from
READ_BEFORE = (
    "FLEXDYN", "HOME", "LANG", "LC_", "LD_", "MKL_", "NUMBA_", "OMP_", "OPENBLAS_", "PYTHON", "XDG_",
)  # fmt: skip
#: bytes of a request
MOST = 100_000


class Fork:
    """A node; `subprocess.Popen`, as far as `NodeProcess` needs it."""

    def __init__(self, nursery: Nursery, number: int, pid: int, watch: int, args: list[str]) -> None:
        self._nursery, self._number, self._watch = nursery, number, watch
        self.pid, self.args = pid, args
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """The exit code, None while the node lives."""
        return self._end(0.0)

    def wait(self, timeout: float | None = None) -> int:
        """The exit code, once the node has ended."""
        code = self._end(timeout)
        if code is None:
            raise subprocess.TimeoutExpired(self.args, timeout)
        return code

    def send_signal(self, number: int) -> None:
        """Nothing if the node has ended."""
        if self.poll() is None:
            signal.pidfd_send_signal(self._watch, number)

    def kill(self) -> None:
        """End it for good."""
        self.send_signal(signal.SIGKILL)

    def _end(self, timeout: float | None) -> int | None:
        if self.returncode is None and select.select([self._watch], [], [], timeout)[0]:
            self.returncode = self._nursery.code_of(self._number)
            os.close(self._watch)
        return self.returncode


class Nursery:
    """The process that forks, as seen by the tests."""

    def __init__(self, root: Path, environment: dict[str, str]) -> None:
        self._environment = environment
        self._line, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        command = [sys.executable, __file__, str(other.fileno())]
        self._process = subprocess.Popen(command, pass_fds=[other.fileno()], env=environment, cwd=root)
        other.close()
        self._codes: dict[int, int] = {}
        self._count = 0
        atexit.register(self._close)

    def fits(self, environment: dict[str, str]) -> bool:
        """Whether a process with these variables can be a fork."""
        return _read_before(environment) == _read_before(self._environment)

    def fork(self, module: str, arguments: list[str], log: Path, environment: dict[str, str]) -> Fork | None:
        """A node; None if it is not to be made so."""
        request = {"module": module, "arguments": arguments, "log": str(log), "environment": environment}
        text = json.dumps(request).encode()
        if len(text) > MOST:
            return None
        self._line.send(text)
        while True:
            told, watches = self._receive()
            if "pid" in told:
                number, self._count = self._count, self._count + 1
                return Fork(self, number, told["pid"], watches[0], ["flexdyn_ros.nodes", module, *arguments])

    def code_of(self, number: int) -> int:
        """The exit code of a fork that has ended."""
        while number not in self._codes:
            self._receive()
        return self._codes.pop(number)

    def _receive(self) -> tuple[dict[str, Any], list[int]]:
        text, watches, _, _ = socket.recv_fds(self._line, MOST, 1)
        if not text:
            raise RuntimeError(f"the process that forks nodes ended with {self._process.wait()}")
        told = json.loads(text)
        if "code" in told:
            self._codes[told["number"]] = told["code"]
        return told, watches

    def _close(self) -> None:
        self._line.close()
        self._process.wait()


def _read_before(environment: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name.startswith(READ_BEFORE)}


# ---- in the process that forks ----


def prepare() -> None:
    """Import what nodes import, from where `python -m` would."""
    sys.path[0] = os.getcwd()
    for package in INTERFACES:
        for kind in ("msg", "srv", "action"):
            try:
                importlib.import_module(f"{package}.{kind}")
            except ModuleNotFoundError as error:
                if error.name != f"{package}.{kind}":
                    raise
    for module in MODULES:
        importlib.import_module(module)
    import flexdyn_ros

    for robot in ROBOTS:
        flexdyn_ros.load(robot)
    assert "rclpy" not in sys.modules
    assert len(os.listdir("/proc/self/task")) == 1, "threads are not forked"
    # what rclpy's logger asks of `inspect` is looked for among all modules
    inspect.getframeinfo(inspect.currentframe())
    gc.collect()
    gc.freeze()


def serve(line: socket.socket) -> dict[str, Any]:
    """Fork for every request, and tell exit codes; the request, in the fork."""
    forks: dict[int, tuple[int, int]] = {}
    heard = select.poll()
    heard.register(line, select.POLLIN)
    count = 0
    while True:
        for file, _ in heard.poll():
            if file != line.fileno():
                pid, number = forks.pop(file)
                heard.unregister(file)
                os.close(file)
                code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
                line.send(json.dumps({"number": number, "code": code}).encode())
                continue
            text = line.recv(MOST)
            if not text:
                os._exit(0)
            pid = os.fork()
            if pid == 0:
                for other in (line.fileno(), *forks):
                    os.close(other)
                line.detach()
                return json.loads(text)
            watch = os.pidfd_open(pid)
            forks[watch] = pid, count
            count += 1
            heard.register(watch, select.POLLIN)
            socket.send_fds(line, [json.dumps({"pid": pid}).encode()], [watch])


def become(request: dict[str, Any]) -> None:
    """In the fork: what `python -m flexdyn_ros.nodes.MODULE ARGUMENTS >LOG 2>&1` does."""
    log = os.open(request["log"], os.O_WRONLY | os.O_APPEND)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.close(log)
    os.environ.clear()
    os.environ.update(request["environment"])
    signal.signal(signal.SIGINT, signal.default_int_handler)
    module = f"flexdyn_ros.nodes.{request['module']}"
    sys.orig_argv = [sys.executable, "-m", module, *request["arguments"]]
    sys.argv = ["-m", *request["arguments"]]
    # the package listens to signals and looks around at once where it is imported as that of a node
    importlib.reload(sys.modules["flexdyn_ros.nodes"])
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    # Ctrl-C is for the tests and the nodes; this process ends when the tests do
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    prepare()
    become(serve(socket.socket(fileno=int(sys.argv[1]))))
