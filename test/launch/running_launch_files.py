"""The launch files under launch_testing: every node comes up with its robot, and ends with exit code 0.

    launch_test test/launch/running_launch_files.py

`test_real_launch.py` runs this where launch_testing is installed.
"""

import unittest
from pathlib import Path

import launch_testing
import launch_testing.actions
import launch_testing.asserts
import pytest
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource

from launch import LaunchDescription

FOLDER = Path(__file__).resolve().parents[2] / "launch"
#: file, arguments, and robot of the nodes that must come up
CASES = {
    "bringup": ("bringup", {"robot": "two_link"}, ("simulator", "dynamics_server", "state_publisher")),
    "platform": (
        "platform",
        {"robot": "stewart_1t", "hydraulics": "external"},
        ("simulator", "dynamics_server", "hydraulic_actuators", "state_publisher"),
    ),
    "boom": (
        "platform",
        {"robot": "boom", "hydraulics": "external"},
        ("simulator", "dynamics_server", "hydraulic_actuators", "state_publisher"),
    ),
    "simulator": ("simulator", {"robot": "flexible_two_link", "start_paused": "true"}, ("simulator",)),
    "server": ("server", {"robot": "soft_arm_3"}, ("dynamics_server",)),
    "pd_controller": (
        "controllers",
        {"robot": "two_link", "controller": "pd_controller"},
        ("pd_controller",),
    ),
    "input_shaper": ("controllers", {"robot": "two_link", "controller": "input_shaper"}, ("input_shaper",)),
}
#: seconds; the machine may be busy
PATIENCE = 300.0


@pytest.mark.launch_test
@launch_testing.parametrize("case", list(CASES))
def generate_test_description(case):
    """One launch file, in a namespace of its own."""
    file, arguments, _ = CASES[case]
    included = IncludeLaunchDescription(
        PythonLaunchDescriptionSource(str(FOLDER / f"{file}.launch.py")),
        launch_arguments=[*arguments.items(), ("namespace", f"launched_{case}")],
    )
    return LaunchDescription([included, launch_testing.actions.ReadyToTest()])


class WhileTheyRun(unittest.TestCase):
    def test_every_node_is_ready(self, proc_info, proc_output, case):
        wanted = CASES[case][2]
        for executable in wanted:
            proc_output.assertWaitFor(
                "ready: ", process=executable, timeout=PATIENCE, strict_proc_matching=False
            )
        running = {name.rsplit("-", 1)[0] for name in proc_info.process_names()}
        assert running == set(wanted), running


@launch_testing.post_shutdown_test()
class AfterTheyEnded(unittest.TestCase):
    def test_every_node_ends_with_exit_code_zero(self, proc_info, case):
        launch_testing.asserts.assertExitCodes(proc_info)
