"""Trajectories: columns, files, frames."""

import csv

import numpy as np
import pytest
from pendulums import double_pendulum, tumbler, wheel

import flexdyn_ros
from flexdyn_ros.errors import DimensionError, StateError, UnknownNameError

LIMITED = '<limit lower="-0.5" upper="0.5" effort="2" velocity="10"/>'


@pytest.fixture(scope="module")
def run():
    q0 = tumbler().neutral()
    return flexdyn_ros.simulate(tumbler("0 0 -9.81"), 0.05, q0, control=np.arange(7) * 0.1)


def test_columns_have_names(run):
    assert (run["hinge"] == run.q[:, 7]).all()
    assert (run["hinge", "position"] == run.q[:, 7]).all()
    assert (run["hinge", "velocity"] == run.v[:, 6]).all()
    assert (run["base/wx", "velocity"] == run.v[:, 0]).all()
    assert (run["hinge", "effort"] == 6 * 0.1).all()
    assert (run["base/qw"] == run.q[:, 6]).all()
    assert (run["energy.kinetic"] == run.energy.kinetic).all()
    assert run.columns[0] == "time"
    for name in run.columns:
        assert run[name].shape == run.t.shape
    with pytest.raises(UnknownNameError, match=r"hinge_.*hinge"):
        run["hinge_"]
    with pytest.raises(UnknownNameError, match="speed"):
        run["hinge", "speed"]
    with pytest.raises(UnknownNameError, match="base/wx"):
        run["base/wx", "position"]


def test_frames_follow_the_samples(run):
    assert (run.frames("arm") == run.robot.frames(run.q, "arm")).all()
    assert run.deflections() == {}


def test_loads_follow_the_samples_with_the_accelerations_of_their_efforts(run):
    robot, push = run.robot, {"arm": np.array([0.0, 0.0, 0.0, 1.0, 2.0, 3.0])}
    for wrenches in (None, push):
        a = robot.forward_dynamics(run.q, run.v, run.tau, wrenches)
        expected = robot.loads(run.q, run.v, a, wrenches=wrenches)["arm"]
        found = run.loads(wrenches=wrenches)["arm"]
        assert (found.force == expected.force).all()
        assert found.moment.shape == (run.t.size, 1, 3)
    still = run.loads(a=np.zeros(7))["arm"].force
    assert (still == robot.loads(run.q, run.v, np.zeros(7))["arm"].force).all()
    assert np.abs(still - run.loads()["arm"].force).max() > 0.1


def test_save_and_load_give_back_every_number(run, tmp_path):
    stopped = flexdyn_ros.simulate(wheel(LIMITED, kind="revolute"), 2.0, v0=[1.3], limits="stop", record=())
    for original in (run, stopped):
        path = tmp_path / "run.npz"
        original.save(path)
        again = flexdyn_ros.Trajectory.load(path, original.robot)
        for name in original.__dataclass_fields__:
            a, b = getattr(original, name), getattr(again, name)
            if name == "events":
                assert len(a) == len(b)
                for x, y in zip(a, b, strict=True):
                    assert x[:3] == y[:3]
                    assert (x.q == y.q).all()
                    assert (x.v == y.v).all()
            elif name != "robot":
                assert np.array_equal(a, b) if a is not None else b is None, name
        assert again.columns == original.columns
        assert (
            again.frames(original.robot.frame_names[-1])[-1]
            == original.frames(original.robot.frame_names[-1])[-1]
        ).all()
        without = flexdyn_ros.Trajectory.load(path)
        with pytest.raises(StateError, match="robot"):
            without.frames("base")
    assert stopped.energy is None
    with pytest.raises(StateError, match="energy"):
        stopped.balance()


def test_files_that_are_no_trajectories_are_refused(run, tmp_path):
    text = tmp_path / "text.npz"
    text.write_text("nothing of the kind")
    other = tmp_path / "other.npz"
    np.savez(other, a=np.zeros(3))
    for path in (text, other):
        with pytest.raises(StateError, match="no saved trajectory"):
            flexdyn_ros.Trajectory.load(path)
    run.save(tmp_path / "run.npz")
    with pytest.raises(DimensionError, match="double_pendulum"):
        flexdyn_ros.Trajectory.load(tmp_path / "run.npz", double_pendulum())
    with np.load(tmp_path / "run.npz") as file:
        content = dict(file) | {"file_version": np.array(99)}
    np.savez(tmp_path / "future.npz", **content)
    with pytest.raises(StateError, match="version 99"):
        flexdyn_ros.Trajectory.load(tmp_path / "future.npz")


def test_csv_holds_every_number(run, tmp_path):
    run.to_csv(tmp_path / "run.csv")
    with (tmp_path / "run.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    assert tuple(rows[0]) == run.columns
    table = np.array(rows[1:], dtype=np.float64)
    for i, name in enumerate(run.columns):
        assert (table[:, i] == run[name]).all()
