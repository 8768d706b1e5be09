"""Nodes end with exit code 0 when told to, however often and however late."""

import os
import signal
import subprocess
import sys
import textwrap

import pytest

pytestmark = [pytest.mark.ros, pytest.mark.timeout(300)]
pytest.importorskip("rclpy")

PROGRAM = """
    import os, signal, sys
    from flexdyn_ros.nodes.ros.managed import ManagedNode, run

    class Node(ManagedNode):
        def __init__(self):
            super().__init__("ends", autostart=False)
            # it is told to end as soon as it runs
            self.create_timer(0.0, lambda: os.kill(os.getpid(), signal.SIGINT))

    class Late:
        def __del__(self):
            # modules are torn down when handlers of signals have gone
            os.kill(os.getpid(), number)

    number = int(sys.argv[1])
    late = Late()
    sys.exit(run(Node, []))
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_the_interpreter_ends_does_not_become_the_exit_code(number):
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(PROGRAM), str(int(number))],
        capture_output=True, text=True, timeout=250, check=False, env=os.environ,
    )  # fmt: skip
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)
