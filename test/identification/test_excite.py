"""`excite`: motions keep their limits, begin and end at rest, and say more than others."""

import numpy as np
import pytest
import yaml
from identification.motions import other_numbers
from pendulums import wheel

from flexdyn_ros import errors, load
from flexdyn_ros.identification import (
    Measurement,
    base_parameters,
    excite,
    fit_linear,
    write_joint_trajectory,
)


def information(robot, motion):
    """Mean logarithm of the singular values of the regressor of the base parameters, efforts scaled."""
    base = base_parameters(robot)
    names = [p.name for p in robot.parameters]
    columns = [names.index(base.parameters[i].name) for i in base.leading]
    a = np.gradient(motion.v, motion.t, axis=0)
    W = robot.regressor(motion.q, motion.v, a).Y[..., columns] / np.std(motion.tau, axis=0)[:, None]
    return np.mean(np.log(np.linalg.svd(W.reshape(-1, len(columns)), compute_uv=False)))


def condition(robot, motion):
    """Condition number of that regressor, efforts scaled by their root mean squares."""
    base = base_parameters(robot)
    names = [p.name for p in robot.parameters]
    a = np.gradient(motion.v, motion.t, axis=0)
    W = robot.regressor(motion.q, motion.v, a).Y[
        ..., [names.index(base.parameters[i].name) for i in base.leading]
    ]
    W = W / np.sqrt(np.mean(motion.tau**2, axis=0))[:, None]
    return np.linalg.cond(W.reshape(-1, base.rank))


@pytest.fixture(scope="module")
def robot():
    return load("seven_joint_arm")


LIMITS = {"position": 1.2, "velocity": {"elbow_pitch": 0.7}, "acceleration": 3.0}


@pytest.fixture(scope="module")
def motion(robot):
    return excite(robot, 10.0, LIMITS, evaluations=40)


def test_limits_are_kept_and_used(robot, motion):
    a = np.gradient(motion.v, motion.t, axis=0)
    assert np.abs(motion.q).max() <= 1.2
    assert np.abs(motion["elbow_pitch", "velocity"]).max() <= 0.7 * (1 + 1e-3)
    assert np.abs(a).max() <= 3.0 * 1.01
    for c in robot.coordinates:
        assert motion[c.name].min() >= c.lower
        assert motion[c.name].max() <= c.upper
        assert np.abs(motion[c.name, "effort"]).max() <= c.effort_limit
        # some limit is reached: positions, rates or accelerations
        shares = (np.ptp(motion[c.name]) / 2.4, np.abs(a[:, c.v_index]).max() / 3.0)
        assert max(*shares, np.abs(motion[c.name, "velocity"]).max() / min(c.velocity_limit, 2.0)) > 0.5


def test_it_begins_and_ends_at_rest_at_the_same_place(motion):
    assert motion.t[[0, -1]] == pytest.approx([0.0, 10.0])
    assert np.abs(motion.v[[0, -1]]).max() < 1e-9
    assert motion.q[0] == pytest.approx(motion.q[-1], abs=1e-9)
    assert np.abs(np.diff(motion.v[:3], axis=0) / 0.01).max() < 0.2  # no jump of the acceleration


def test_positions_rates_and_efforts_belong_together(robot, motion):
    rates = np.gradient(motion.q, motion.t, axis=0)[1:-1]
    assert np.abs(rates - motion.v[1:-1]).max() < 1e-3
    a = np.gradient(motion.v, motion.t, axis=0)[1:-1]
    tau = robot.inverse_dynamics(motion.q[1:-1], motion.v[1:-1], a)
    assert np.abs(tau - motion.tau[1:-1]).max() < 2e-2 * np.abs(motion.tau).max()


def test_it_says_more_than_motions_that_were_drawn(robot, motion):
    drawn = [information(robot, excite(robot, 10.0, LIMITS, evaluations=1, seed=seed)) for seed in range(2)]
    assert information(robot, motion) > max(drawn)


def test_the_condition_number_is_another_criterion():
    robot = load("two_link")
    limits = {"velocity": 2.0}
    one = excite(robot, 6.0, limits, "condition", evaluations=150)
    few = excite(robot, 6.0, limits, "condition", evaluations=1)

    assert condition(robot, one) < condition(robot, few)


@pytest.mark.parametrize(("evaluations", "first"), [(40, 5), (12, 2)])
def test_progress_tells_the_criterion_of_the_best_motion_so_far(evaluations, first):
    """A tenth are drawn before the search begins, one at least."""
    robot, told = load("two_link"), []
    motion = excite(
        robot, 6.0, {"velocity": 2.0}, "condition", evaluations=evaluations,
        progress=lambda *now: told.append(now),
    )  # fmt: skip
    numbers, values = zip(*told, strict=True)
    assert numbers == tuple(range(first, evaluations + 1))
    assert all(np.diff(values) <= 0.0)
    assert values[-1] < values[0]
    # the logarithm of the condition number, to what other samples of the same motion make of it
    assert values[-1] == pytest.approx(np.log(condition(robot, motion)), abs=0.1)


@pytest.mark.parametrize("criterion", ["d_optimal", "condition"])
def test_one_parameter_alone_is_enough_to_be_told(criterion):
    robot = wheel(inertia=0.3)
    assert base_parameters(robot).rank == 1
    motion = excite(robot, 3.0, {"position": 1.0}, criterion, evaluations=5)
    found = np.polyfit(np.gradient(motion.v[:, 0], motion.t)[1:-1], motion.tau[1:-1, 0], 1)
    assert found == pytest.approx([0.3, 0.0], abs=1e-3)
    assert 0.1 < np.abs(motion.q).max() <= 1.0


def test_links_that_bend_stay_within_the_deflection():
    robot = load("flexible_two_link")
    limits = {"deflection": 0.004, "velocity": 3.0, "acceleration": 20.0}
    motion = excite(robot, 4.0, limits, evaluations=40)
    far = max(np.linalg.norm(d.displacement[:, 0], axis=-1).max() for d in motion.deflections([1.0]).values())
    assert 0.0005 < far <= 0.004
    modal = [i for i, c in enumerate(robot.coordinates) if c.kind != "joint"]
    assert np.abs(motion.q[:, modal]).max() > 0.0


def test_springs_of_links_that_bend_hold_what_the_motion_asks_of_them():
    """Little is left of the modal forces that the links would have were they straight."""
    robot = load("flexible_two_link")
    motion = excite(robot, 6.0, {"velocity": 2.0, "acceleration": 5.0}, evaluations=1)
    modal = [c.v_index for c in robot.coordinates if c.kind != "joint"]
    straight = motion.q.copy()
    straight[:, modal] = 0.0
    a = np.gradient(motion.v, motion.t, axis=0)
    straightened = robot.inverse_dynamics(straight, motion.v, a)
    force, left = (np.abs(tau[:, modal]).max(axis=0) for tau in (straightened, motion.tau))
    assert (left < 0.1 * force + 1e-5 * force.max()).all()


def test_a_fit_takes_it(robot, motion, tmp_path):
    pytest.importorskip("pandas")
    motion.to_csv(tmp_path / "motion.csv")
    found = fit_linear(robot, Measurement.read(tmp_path / "motion.csv").between(0.2, 9.8))
    for channel, rms in found.rms.items():
        assert rms < 1e-3 * np.abs(found.samples.measured[:, found.samples.channels.index(channel)]).max()


def test_a_fit_takes_efforts_at_the_instants_of_the_samples(robot, motion):
    pytest.importorskip("pandas")
    assert not motion.held
    found = fit_linear(robot, motion)
    assert found.base.of(found.robot) == pytest.approx(found.base.of(robot), rel=1e-6, abs=1e-8)


def test_a_joint_that_is_held_tells_nothing_of_itself_and_the_others_come_back(robot):
    pytest.importorskip("pandas")
    held = "upper_arm_roll"
    motion = excite(robot, 6.0, {"position": {held: (0.3, 0.3)}, "acceleration": 3.0}, evaluations=10)
    assert np.ptp(motion[held]) == 0.0
    truth = other_numbers(robot)
    a = np.gradient(motion.v, motion.t, axis=0)
    tau = truth.inverse_dynamics(motion.q, motion.v, a)
    data = Measurement.of_motion(robot, motion.t, motion.q, motion.v, a, tau)
    with pytest.warns(errors.FlexdynWarning, match=f"{held}: constant"):
        found = fit_linear(robot, data)
    assert found.base.of(found.robot) == pytest.approx(found.base.of(truth), rel=1e-8, abs=1e-9)
    assert f"{held}/rotor" in found.base.without_effect


def test_it_is_written_as_a_joint_trajectory(motion, tmp_path):
    write_joint_trajectory(motion, tmp_path / "motion.yaml")
    read = yaml.safe_load((tmp_path / "motion.yaml").read_text())
    assert read["joint_names"] == list(motion.q_names)
    assert len(read["points"]) == len(motion)
    assert read["points"][150]["time_from_start"] == {"sec": 1, "nanosec": 500_000_000}
    assert read["points"][150]["positions"] == motion.q[150].tolist()


def test_limits_that_cannot_be_kept_are_told(robot):
    with pytest.raises(errors.StateError, match="no motion keeps the limits"):
        excite(robot, 5.0, {"effort": 1e-3}, evaluations=5)
    with pytest.raises(errors.UnknownNameError, match="'speed'"):
        excite(robot, 5.0, {"speed": 1.0})
    with pytest.raises(errors.StateError, match="no room"):
        excite(robot, 5.0, {"position": (5.0, 6.0)})
    with pytest.raises(errors.StateError, match="duration is 0"):
        excite(robot, 0.0)
    with pytest.raises(errors.UnknownNameError, match="a_optimal"):
        excite(robot, 5.0, criterion="a_optimal")


def test_a_motion_in_which_no_joint_may_move_is_refused():
    with pytest.raises(errors.StateError, match="no joint has room"):
        excite(load("two_link"), 2.0, limits={"position": 0.0})


@pytest.mark.parametrize(("kind", "reach"), [("continuous", "3.14159"), ("prismatic", "1")])
def test_without_limits_of_a_joint_half_a_turn_or_a_metre_is_room(kind, reach):
    limit = '<limit lower="-9" upper="9" effort="5" velocity="5"/>' if kind == "prismatic" else ""
    with pytest.raises(errors.StateError, match=f"axle has no room: position from 5 to {reach}$"):
        excite(wheel(limit, kind=kind), 2.0, {"position": (5.0, 6.0)})
    with pytest.raises(errors.StateError, match=f"axle has no room: position from -{reach} to -5$"):
        excite(wheel(limit, kind=kind), 2.0, {"position": (-6.0, -5.0)})


def test_a_robot_without_joints_is_told_that_there_is_nothing_to_excite():
    text = """<robot name="stand"><link name="base"/><link name="plate"><inertial><mass value="1"/>
    <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
    <joint name="weld" type="fixed"><parent link="base"/><child link="plate"/></joint></robot>"""
    with pytest.raises(errors.UnsupportedError, match="stand has no joint that moves: there is nothing"):
        excite(load(text), 1.0)
