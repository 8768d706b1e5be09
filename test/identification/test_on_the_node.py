"""From excitation on the simulator node to the identified file: what is recorded there tells the numbers."""

import signal
import warnings
from pathlib import Path

import numpy as np
import pytest
import yaml
from scipy.optimize import minimize_scalar

pytestmark = [pytest.mark.ros, pytest.mark.timeout(600)]
pytest.importorskip("rclpy")
pytest.importorskip("mcap")
pytest.importorskip("pandas")

from builtin_interfaces.msg import Duration  # noqa: E402
from node_process import Client, NodeProcess  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint  # noqa: E402

from flexdyn_ros import errors, load  # noqa: E402
from flexdyn_ros.identification import (  # noqa: E402
    Measurement,
    excite,
    fit_linear,
    write_joint_trajectory,
)
from flexdyn_ros.nodes import seconds_of  # noqa: E402

PRESET = Path(__file__).parents[2] / "config" / "identification.yaml"
SECONDS, CUTOFF = 5.0, 12.0
#: noise of encoders [rad], of efforts [N m], and by how much efforts come late [s]
OF_POSITION, OF_EFFORT, LATE = 2e-5, 0.02, 0.006
EFFORTS = ("shoulder.effort", "elbow.effort")
ARM = """<robot name="drawn">
  <link name="base"/>
  <link name="upper"><inertial><origin xyz="0.25 0 0"/><mass value="{upper}"/>
    <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.05" iyz="0" izz="0.05"/></inertial></link>
  <link name="lower"><inertial><origin xyz="0.2 0 0"/><mass value="{lower}"/>
    <inertia ixx="0.005" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.02"/></inertial></link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" effort="80" velocity="4"/>
    <dynamics damping="{damping}" friction="{friction}"/></joint>
  <joint name="elbow" type="revolute"><parent link="upper"/><child link="lower"/><origin xyz="0.5 0 0"/>
    <axis xyz="0 1 0"/><limit lower="-2" upper="2" effort="40" velocity="6"/>
    <dynamics damping="{damping}" friction="{friction}"/></joint>
</robot>"""
DRAWN = ARM.format(upper=3.0, lower=1.5, damping=0.0, friction=0.0)
#: heavier, and with friction that the model does not know
BUILT = ARM.format(upper=3.4, lower=1.9, damping=0.4, friction=0.6)


def recorded(folder, motion):
    """Path of what the node with the built arm records while it follows a motion."""
    (folder / "built.urdf").write_text(BUILT)
    trajectory = folder / "motion.yaml"
    write_joint_trajectory(motion, trajectory)
    written = yaml.safe_load(trajectory.read_text())
    points = [
        JointTrajectoryPoint(**{**point, "time_from_start": Duration(**point["time_from_start"])})
        for point in written["points"]
    ]
    message = JointTrajectory(joint_names=written["joint_names"], points=points)
    path = folder / "identification.mcap"
    given = {"description_file": folder / "built.urdf", "record_file": path}
    given |= {f"initial.positions.{name}": q for name, q in zip(motion.q_names, motion.q[0], strict=True)}
    arguments = ["--params-file", str(PRESET)]
    arguments += [text for name, value in given.items() for text in ("-p", f"{name}:={value}")]
    with NodeProcess("simulator", *arguments, log=folder / "simulator.txt") as node, Client() as client:
        node.wait_for_text("ready")
        client.listen(JointState, "/joint_states", 1)
        client.publish(JointTrajectory, "/simulator/joint_trajectory", message)
        begin = seconds_of(client.next("/joint_states").header.stamp)
        # in simulated time, which lags on a busy machine: a motion that is cut off tells other numbers
        client.until(
            lambda: seconds_of(client.last["/joint_states"].header.stamp) > begin + SECONDS + 1.0, "no end"
        )
        assert node.end(signal.SIGINT) == 0
    return path


def as_sensed(run):
    """The recording with noise of encoders and efforts, the latter late."""
    rng = np.random.default_rng(5)
    columns = {}
    for name in ("shoulder", "elbow"):
        columns[name] = run[name] + OF_POSITION * rng.standard_normal(len(run))
        effort = np.interp(run.t - LATE, run.t, run[f"{name}.effort"])
        columns[f"{name}.effort"] = effort + OF_EFFORT * rng.standard_normal(len(run))
    return Measurement.of(run.t, columns, name="recording")


def fitted(robot, data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.FlexdynWarning)
        return fit_linear(robot, data, cutoff=CUTOFF)


def put_back(run, late):
    return run.shifted(dict.fromkeys(EFFORTS, late))


def left(found, data):
    """What a fit leaves of the efforts while both joints move. Where one turns back, filtered rates have for
    some milliseconds another sign than friction has: a delay of efforts that is 1.4 ms too small would make
    up for it."""
    speeds = [np.interp(found.samples.t, data.t, np.gradient(data[x], data.t)) for x in ("shoulder", "elbow")]
    moves = np.min(np.abs(speeds), axis=0) > 0.5
    assert moves.mean() > 0.3
    return float(np.nanmean(found.residuals[moves] ** 2 / np.nanvar(found.samples.measured, axis=0)))


def test_a_recording_of_the_node_tells_masses_and_friction(tmp_path):
    robot = load(DRAWN)
    motion = excite(robot, SECONDS, {"position": 1.2, "velocity": 2.0, "acceleration": 8.0}, evaluations=10)
    run = Measurement.read(recorded(tmp_path, motion))
    assert run.step == pytest.approx(0.002, rel=1e-6)
    moving = np.flatnonzero(np.abs(run["shoulder"] - run["shoulder"][0]) > 1e-3)
    assert moving.size > 0.8 * SECONDS / 0.002
    run = run.between(run.t[moving[0]], run.t[moving[-1]])
    exact = fitted(robot, run).values
    for joint in ("shoulder", "elbow"):
        # the node records means over its steps; at their ends, half a step late, they would tell 0.427
        assert exact[f"{joint}/damping"] == pytest.approx(0.4, abs=0.01)
        assert exact[f"{joint}/friction"] == pytest.approx(0.6, abs=0.01)
    sensed = as_sensed(run)
    # a fit takes some of a delay for friction: the one that leaves least is the delay
    late = minimize_scalar(
        lambda late: left(fitted(robot, put_back(sensed, late)), sensed), bounds=(0.0, 0.02)
    ).x
    found = fitted(robot, put_back(sensed, late))
    # within a sample: friction takes its part of it
    assert late == pytest.approx(LATE, abs=run.step)
    built = {p.name: p.value for p in load(BUILT).parameters}
    for joint in ("shoulder", "elbow"):
        assert found.values[f"{joint}/friction"] == pytest.approx(built[f"{joint}/friction"], abs=0.06)
        # a millisecond of delay that is left is a thousandth of the slope of gravity as damping, and more
        assert found.values[f"{joint}/damping"] == pytest.approx(built[f"{joint}/damping"], abs=0.05)
    base = found.base.of(load(BUILT))
    leading = [found.base.parameters[i].name for i in found.base.leading]
    weight = leading.index("lower/mx")
    assert found.table["value"][weight] == pytest.approx(base[weight], rel=0.05)
    found.write_urdf(tmp_path / "identified.urdf")
    assert load(tmp_path / "identified.urdf").nv == 2
