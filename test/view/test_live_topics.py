"""`flexdyn view --ros`: a page that follows the simulator of another process."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from browser import Page, browser

pytestmark = [pytest.mark.ros, pytest.mark.timeout(900)]
pytest.importorskip("rclpy")
pytest.importorskip("flexdyn_interfaces.msg")
pytest.importorskip("viser")

from node_process import NodeProcess  # noqa: E402

ROOT = Path(__file__).parents[2]


def test_a_page_follows_the_states_of_a_simulator_and_its_sliders_too(tmp_path):
    start = ["-p", "initial.positions.elbow:=0.8", "-p", "before_first_command:=hold"]
    arguments = ["-r", "__ns:=/lab", "-p", "description_file:=two_link", *start]
    command = [sys.executable, "-m", "flexdyn_ros.cli.main", "view", "two_link", "--ros"]
    command += ["--namespace", "lab", "--port", "8372"]
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    with NodeProcess("simulator", *arguments, log=tmp_path / "simulator.txt") as node, browser() as chrome:
        node.wait_for_text("ready")
        with subprocess.Popen(
            command, stderr=subprocess.PIPE, text=True, cwd=ROOT, env=os.environ | {"PYTHONPATH": path}
        ) as viewer:
            try:
                port = int(re.search(r"http://localhost:(\d+)", viewer.stderr.readline())[1])
                page = Page(chrome, port, 960, 540)
                field = page.page.locator(
                    "text=elbow [rad] >> visible=true >> xpath=ancestor::*[.//input][1]//input"
                )
                page.until(lambda: abs(float(field.last.input_value()) - 0.8) < 0.05, "it does not follow")
                before = page.picture()
                words = [
                    "pub",
                    "--timeout",
                    "60",
                    "--namespace",
                    "lab",
                    "joint_commands",
                    "{name: [elbow], position: [-0.8]}",
                ]
                subprocess.run([*command[:3], *words], cwd=ROOT, timeout=120, check=True)
                page.until(lambda: abs(float(field.last.input_value()) + 0.8) < 0.1, "the joint stays")
                # the number may come some frames before the robot is drawn
                page.until(
                    lambda: np.mean(np.abs(page.picture() - before).max(axis=-1) > 40) > 0.002,
                    "it is drawn where it was",
                )
                page.page.get_by_text("Plot of rates").wait_for()
                assert not page.errors
                page.page.close()
            finally:
                viewer.send_signal(signal.SIGINT)
                assert viewer.wait(120.0) == 130
