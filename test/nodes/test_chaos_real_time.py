"""All nodes through kills, stops, resets, floods and wrong clocks, in real time.

All run by one clock, which jumps; leg forces and efforts come when they come. What
happens and what must hold afterwards: `test/chaos.py`.
"""

import sys

import pytest

pytestmark = [pytest.mark.ros, pytest.mark.timeout(3600)]
pytest.importorskip("rclpy")
pytest.importorskip("flexdyn_interfaces.srv")
pytest.importorskip("mcap")

from chaos import SEED, storm  # noqa: E402


@pytest.mark.slow
def test_ten_random_faults_in_real_time_leave_all_nodes_running(tmp_path):
    storm(tmp_path, SEED, lockstep=False, events=10)


@pytest.mark.slow
def test_two_hundred_random_faults_in_real_time_leave_all_nodes_running(tmp_path, capsys):
    figures = storm(tmp_path, SEED + 1, lockstep=False, events=200, between=20)
    with capsys.disabled():
        sys.stdout.write(f"\n{figures}\n")
