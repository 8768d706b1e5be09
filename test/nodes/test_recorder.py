"""The recorder of the simulator: what was published is in the file, whether the node ends or dies."""

import signal
import time

import numpy as np
import pytest

pytestmark = [pytest.mark.ros, pytest.mark.timeout(1200)]
pytest.importorskip("rclpy")
pytest.importorskip("flexdyn_interfaces.srv")
pytest.importorskip("mcap")

from node_process import NodeProcess  # noqa: E402
from pendulums import double_pendulum  # noqa: E402

from flexdyn_ros import Trajectory  # noqa: E402
from flexdyn_ros.simulation.bag import records  # noqa: E402
from flexdyn_ros.simulation.playback import recorded_robot  # noqa: E402


def simulator(tmp_path, path, *parameters):
    (tmp_path / "pendulum.urdf").write_text(double_pendulum().description.text)
    given = {"description_file": tmp_path / "pendulum.urdf", "record_file": path}
    given |= dict(parameters)
    arguments = [text for name, value in given.items() for text in ("-p", f"{name}:={value}")]
    return NodeProcess("simulator", *arguments, log=tmp_path / "simulator.txt")


def record(tmp_path, seconds, number, *parameters):
    """Path of a recording of a node that got a signal after some seconds, and its exit code."""
    path = tmp_path / "folder" / "run.mcap"
    with simulator(tmp_path, path, *parameters) as node:
        node.wait_for_text("ready")
        time.sleep(seconds)
        return path, node.end(number)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_what_is_published_is_recorded(number, tmp_path):
    path, code = record(tmp_path, 4.0, number)
    assert code == (0 if number == signal.SIGINT else -number)
    robot = recorded_robot(path)
    run = Trajectory.load(path, robot)
    assert run.q_names == ("shoulder", "elbow")
    # 100 Hz of simulated time once it runs, none left out; a machine that is busy runs it slower, a killed
    # node loses a second
    np.testing.assert_allclose(np.diff(run.t)[2:], 0.01, rtol=0, atol=1.1e-9)
    assert len(run) > 100
    topics = {topic for topic, _ in records(path)}
    assert {"/joint_states", "/simulator/state", "/simulator/energy", "/robot_description"} <= topics
    assert "/clock" not in topics


def test_a_file_that_cannot_be_written_is_refused(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with simulator(tmp_path, tmp_path / "file" / "run.mcap") as node:
        node.wait_for_text("parameter record_file")
        assert node.end(signal.SIGINT) == 0


@pytest.mark.slow
def test_a_minute_at_a_kilohertz_loses_no_sample(tmp_path):
    path, _ = record(tmp_path, 66.0, signal.SIGINT, ("publish_rate_hz", 1000.0))
    stamps = [m.log_time for topic, m in records(path) if topic == "/simulator/state"]
    assert len(stamps) > 55_000
    np.testing.assert_array_equal(np.diff(stamps)[2:], 10**6)
