"""What a method takes from the energies by itself, booked from each step's own defect."""

from __future__ import annotations

import numpy as np
import pytest

import flexdyn_ros

OSCILLATOR = """<robot name="oscillator"><link name="base"/>
  <link name="mass"><inertial><mass value="2"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>
  </inertial></link>
  <joint name="slide" type="prismatic"><parent link="base"/><child link="mass"/><axis xyz="0 0 1"/>
    <limit lower="-9" upper="9" effort="1000" velocity="100"/>
    <dynamics damping="3"/></joint>
  <flexdyn version="1"/>
  <flexdyn reference="slide"><joint_spring stiffness="800"/></flexdyn>
</robot>"""


def lost(run) -> np.ndarray:
    return -run.balance()


@pytest.mark.parametrize("method", ["rosenbrock", "rk4", "semi_implicit_euler"])
def test_of_a_linear_oscillator_the_booked_loss_is_all_that_the_balance_lacks(method) -> None:
    robot = flexdyn_ros.load(OSCILLATOR)
    run = flexdyn_ros.simulate(robot, 1.0, q0=[0.05], v0=[0.3], control=[2.0], dt=0.02, method=method)
    assert np.abs(lost(run)).max() > 1e-5 * run.energy.total.max()
    np.testing.assert_allclose(run.numerical_dissipation, lost(run), atol=1e-12)


@pytest.mark.parametrize("method", ["rosenbrock", "rk4", "semi_implicit_euler"])
def test_of_a_chain_of_slides_on_springs_it_is_all_that_the_balance_lacks(method) -> None:
    """Linear too, and each moves the next."""
    parts = "".join(
        f'<link name="m{i}"><inertial><mass value="{i}"/>'
        '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        f'<joint name="s{i}" type="prismatic"><parent link="{f"m{i - 1}" if i > 1 else "base"}"/>'
        f'<child link="m{i}"/><axis xyz="{i - 1} 0 1"/><limit lower="-9" upper="9" effort="99" velocity="9"/>'
        f'<dynamics damping="{i}"/></joint>'
        f'<flexdyn reference="s{i}"><joint_spring stiffness="{500 * i}"/></flexdyn>'
        for i in (1, 2, 3)
    )
    robot = flexdyn_ros.load(f'<robot name="chain"><link name="base"/>{parts}<flexdyn version="1"/></robot>')
    start = {"q0": [0.05, -0.02, 0.04], "v0": [0.3, 0.4, -0.5], "control": [2.0, 0.0, -3.0]}
    run = flexdyn_ros.simulate(robot, 0.5, **start, dt=0.01, method=method)
    assert np.abs(lost(run)).max() > 1e-6 * run.energy.total.max()
    np.testing.assert_allclose(run.numerical_dissipation, lost(run), atol=1e-12)


@pytest.mark.parametrize(
    ("method", "dt", "share"),
    [("rosenbrock", 1e-3, 0.08), ("rk4", 2e-4, 0.01), ("semi_implicit_euler", 1e-4, 0.02)],
)
def test_of_a_bending_arm_it_is_what_the_balance_lacks_but_for_the_turning_inertia(method, dt, share) -> None:
    run = flexdyn_ros.simulate(flexdyn_ros.load("canadarm2"), 0.25, dt=dt, method=method)
    assert np.abs(lost(run) - run.numerical_dissipation).max() < share * np.abs(lost(run)).max()


@pytest.mark.parametrize(
    ("method", "dt"), [("rosenbrock", 1e-3), ("rk4", 2e-4), ("semi_implicit_euler", 1e-4)]
)
def test_of_a_soft_arm_it_is_what_the_balance_lacks(method, dt) -> None:
    run = flexdyn_ros.simulate(flexdyn_ros.load("soft_arm_3"), 0.25, dt=dt, method=method)
    np.testing.assert_allclose(run.numerical_dissipation, lost(run), atol=1e-3 * np.abs(lost(run)).max())


def test_steps_longer_than_a_vibration_take_it_away_and_book_it() -> None:
    robot = flexdyn_ros.load("kane_beam")
    bent = robot.neutral()
    bent[robot.index("beam/bending_y/3")] = 1e-3
    run = flexdyn_ros.simulate(robot, 0.2, q0=bent, dt=20e-3, method="rosenbrock")
    assert run.numerical_dissipation[-1] > 0.5 * run.energy.total[0]
    assert abs(lost(run) - run.numerical_dissipation)[-1] < 0.02 * run.numerical_dissipation[-1]


def test_the_booking_changes_no_number_of_the_motion() -> None:
    robot = flexdyn_ros.load("canadarm2")
    for method, dt in (("rosenbrock", 1e-3), ("rk4", 2e-4)):
        booked = flexdyn_ros.simulate(robot, 0.02, dt=dt, method=method)
        bare = flexdyn_ros.simulate(robot, 0.02, dt=dt, method=method, record=())
        assert bare.numerical_dissipation is None
        np.testing.assert_array_equal(booked.q, bare.q)
        np.testing.assert_array_equal(booked.work, bare.work)


def test_step_by_step_it_is_the_same_as_in_the_compiled_loop() -> None:
    robot = flexdyn_ros.load("soft_arm_3")
    loop = flexdyn_ros.simulate(robot, 0.05, dt=1e-3, method="rosenbrock")
    steps = flexdyn_ros.simulate(
        robot, 0.05, dt=1e-3, method="rosenbrock", control=lambda t, q, v: np.zeros(robot.nu)
    )
    np.testing.assert_array_equal(loop.numerical_dissipation, steps.numerical_dissipation)


def test_a_saved_run_keeps_it_and_runs_with_error_control_have_none(tmp_path) -> None:
    robot = flexdyn_ros.load("soft_arm_3")
    run = flexdyn_ros.simulate(robot, 0.02, dt=1e-3, method="rosenbrock")
    run.save(tmp_path / "run.npz")
    again = flexdyn_ros.Trajectory.load(tmp_path / "run.npz")
    np.testing.assert_array_equal(run.numerical_dissipation, again.numerical_dissipation)
    default = flexdyn_ros.simulate(robot, 0.02)
    assert default.numerical_dissipation is None
    default.save(tmp_path / "default.npz")
    assert flexdyn_ros.Trajectory.load(tmp_path / "default.npz").numerical_dissipation is None


@pytest.mark.parametrize("wrong", [np.zeros(3), np.array("none"), np.zeros((21, 2))])
def test_a_file_in_which_it_does_not_fit_is_refused(tmp_path, wrong) -> None:
    flexdyn_ros.simulate(flexdyn_ros.load("soft_arm_3"), 0.02, dt=1e-3, method="rosenbrock").save(
        tmp_path / "run.npz"
    )
    with np.load(tmp_path / "run.npz") as file:
        content = {name: file[name] for name in file.files}
    np.savez(tmp_path / "wrong.npz", **(content | {"numerical_dissipation": wrong}))
    with pytest.raises(flexdyn_ros.errors.StateError, match="numerical_dissipation is not a number"):
        flexdyn_ros.Trajectory.load(tmp_path / "wrong.npz")
