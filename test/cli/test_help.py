"""The list of commands imports none of them."""

import subprocess
import sys

PROGRAM = """
import sys
from flexdyn_ros.cli.commands import COMMANDS, app
try:
    app(["--help"], prog_name="flexdyn")
except SystemExit:
    pass
heavy = {"numba", "numpy", "flexdyn_ros.checking", "flexdyn_ros.robot.verbs"} & set(sys.modules)
assert not heavy, heavy
"""


def test_help_is_quick_and_tells_of_every_command():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60, check=True
    )
    from flexdyn_ros.cli.commands import COMMANDS

    assert [name for name in COMMANDS if f" {name} " not in done.stdout] == []
