"""All nodes through kills, stops, resets, floods and wrong clocks, in lockstep.

The platform waits for its forces, the arm's controller for its states; simulators own the clocks. What
happens and what must hold afterwards: `test/chaos.py`.
"""

import sys

import pytest

pytestmark = [pytest.mark.ros, pytest.mark.timeout(3600)]
pytest.importorskip("rclpy")
pytest.importorskip("flexdyn_interfaces.srv")
pytest.importorskip("mcap")

from chaos import SEED, storm  # noqa: E402


def test_ten_random_faults_in_lockstep_leave_all_nodes_running(tmp_path):
    storm(tmp_path, SEED, lockstep=True, events=10)


@pytest.mark.slow
def test_two_hundred_random_faults_in_lockstep_leave_all_nodes_running(tmp_path, capsys):
    figures = storm(tmp_path, SEED + 1, lockstep=True, events=200, between=20)
    with capsys.disabled():
        sys.stdout.write(f"\n{figures}\n")
