"""`fit_output` of what actuators and sensors on frames show: cylinders, supplies of soft arms, IMUs."""

import warnings

import numpy as np
import pytest
from identification.cylinders import CYLINDERS, LEGS, STEP, SUPPLY, openings, soft_arm, supplied
from scipy.spatial.transform import Rotation

from flexdyn_ros import errors, load, simulate
from flexdyn_ros.identification import Measurement, fit_output
from flexdyn_ros.simulation import ValveOpenings

pytest.importorskip("pandas")


def fitted(*arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.FlexdynWarning)
        return fit_output(*arguments, **options)


def simulated(*arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.FlexdynWarning)
        return simulate(*arguments, **options)


@pytest.fixture(scope="module")
def platform():
    return load("stewart_1t")


@pytest.fixture(scope="module")
def run_of_platform():
    truth = load("stewart_1t", options=CYLINDERS)
    return simulated(
        truth, 0.25, dt=STEP, method="staggered", control=ValveOpenings(openings),
        record=("energy", "hydraulics"),
    )  # fmt: skip


@pytest.mark.parametrize("shown", [("pressure_bore", "pressure_rod"), ("stroke",)])
def test_cylinders_come_back_from_pressures_or_strokes(platform, run_of_platform, shown):
    outputs = [f"{leg}.{part}" for leg in LEGS for part in shown]
    found = fitted(platform, Measurement.of_trajectory(run_of_platform), list(CYLINDERS), outputs=outputs)
    assert dict(found.values) == pytest.approx(CYLINDERS, rel=1e-8)
    assert found.table["unit"].tolist()[:2] == ["Pa", "m3/(s Pa)"]
    assert found.table["start"].tolist() == [1.4e9, 5e-13, pytest.approx(2e-3 / 3.0), 600.0]


def test_a_gain_of_the_valves_hangs_together_with_what_they_let_through(platform, run_of_platform):
    """Twice the command through half the flow is the same, but for the lag of the spool, which is linear."""
    data = Measurement.of_trajectory(run_of_platform)
    halved = {f"{leg}.valve_command": 0.5 * data[f"{leg}.valve_command"] for leg in LEGS}
    data = Measurement.of(data.t, {**data.columns, **halved})
    factors = [f"{leg}.valve_command.factor" for leg in LEGS]
    truth = load("stewart_1t", options=CYLINDERS)
    found = fitted(truth, data, factors, outputs=[f"{leg}.pressure_bore" for leg in LEGS])
    assert [found.values[name] for name in factors] == pytest.approx(6 * [2.0], rel=1e-8)


def test_the_pose_at_the_start_is_found_from_strokes(platform):
    truth = load("stewart_1t", options=CYLINDERS)
    q0 = truth.integrate(truth.neutral(), np.array([0.02, -0.03, 0.01, 0.01, 0.02, 0.03]), 1.0)
    run = simulated(
        truth, 0.1, q0, dt=STEP, method="staggered", control=ValveOpenings(openings), record=("hydraulics",)
    )
    whole = Measurement.of_trajectory(run)
    names = [f"{leg}.{part}" for leg in LEGS for part in ("stroke", "pressure_bore", "valve_command")]
    found = fitted(platform, Measurement.of(run.t, {name: whole[name] for name in names}), list(CYLINDERS))
    assert dict(found.values) == pytest.approx(CYLINDERS, rel=1e-6)


def test_soft_sections_and_their_supplies_come_back_from_pressures_and_the_tip():
    data = supplied(soft_arm(stiffness=1850.0, damping=18.0), 0.3)
    path = "joints.section_1.section.pressure"
    wanted = {"section_1/stiffness": 1850.0, "section_1/damping": 18.0} | {
        f"{path}.{key}": value for key, value in SUPPLY.items()
    }
    first = {f"{path}.area": 9e-4, f"{path}.time_constant": 0.03}
    found = fitted(soft_arm(), data, list(wanted), start=first, initial="neutral")
    assert dict(found.values) == pytest.approx(wanted, rel=1e-7)


def test_an_imu_at_a_frame_tells_stiffness():
    start = load("flexible_two_link")
    truth = load("flexible_two_link", options={"links.link_2.beam.EIz": 2.1})
    run = simulated(
        truth, 0.3, dt=STEP, control=lambda t, q, v: {"shoulder": 0.6 * np.sin(7.0 * t), "elbow": 0.1}
    )
    # the arm lies flat: turning rate about z, and the second differences of where the tip is
    pose = run.frames("tool0")
    heading = np.unwrap(np.arctan2(pose[:, 1, 0], pose[:, 0, 0]))
    rate = np.gradient(heading, run.t)
    acceleration = np.gradient(np.gradient(pose[:, :3, 3], run.t, axis=0), run.t, axis=0) - truth.gravity
    along_y = np.einsum("nj,nj->n", pose[:, :3, 1], acceleration)
    inner = slice(5, -5)
    efforts = {f"{key}.effort": run[key, "effort"] for key in ("shoulder", "elbow")}
    for column, values in (("angular_velocity.z", rate), ("linear_acceleration.y", along_y)):
        seen = np.full(run.t.size, np.nan)
        seen[inner] = values[inner]
        columns = {"shoulder": run["shoulder"], f"tool0.{column}": seen, **efforts}
        data = Measurement.of(run.t, columns, held=run.held)
        found = fitted(start, data, ["link_2/EIz"], outputs=[f"tool0.{column}"], initial="neutral")
        # differences of places smooth what the rates of the frame do not
        assert found.values["link_2/EIz"] == pytest.approx(2.1, rel=2e-3)


PENDULUM = """<robot name="pendulum"><link name="base"/>
<link name="bob"><inertial><origin xyz="0.8 0 0"/><mass value="1.3"/>
<inertia ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"/></inertial></link><link name="imu"/>
<joint name="pivot" type="continuous"><parent link="base"/><child link="bob"/><axis xyz="0 1 0"/></joint>
<joint name="mount" type="fixed"><parent link="bob"/><child link="imu"/>
  <origin xyz="0.8 0 0" rpy="0.3 0.5 -0.4"/></joint>
<flexdyn><gravity>0 0 -9.81</gravity></flexdyn></robot>"""


def test_an_imu_on_a_pendulum_feels_its_rod_and_nothing_else():
    """A point on a massless rod, let go at an angle s below the horizontal: only the rod pulls, along itself,
    with g (3 sin q - 2 sin s) per mass."""
    robot, s = load(PENDULUM), 0.2
    run = simulated(robot, 0.6, [s], dt=1e-3, method="rk4")
    pull = -9.81 * (3.0 * np.sin(run["pivot"]) - 2.0 * np.sin(s))
    assert np.ptp(pull) > 10.0
    along = Rotation.from_euler("xyz", [0.3, 0.5, -0.4]).as_matrix()[0]
    felt = {f"imu.linear_acceleration.{axis}": along[i] * pull for i, axis in enumerate("xyz")}
    columns = {"pivot": run["pivot"], "pivot.effort": 0.0 * run.t, **felt}
    names = [f"{name}.offset" for name in felt]
    data, outputs = Measurement.of(run.t, columns, held=run.held), ["pivot", *felt]
    found = fitted(robot, data, names, outputs=outputs, initial="neutral", method="rk4")
    assert [found.values[name] for name in names] == pytest.approx([0.0, 0.0, 0.0], abs=1e-4)
    assert max(found.rms.values()) < 1e-4
    # a position that is measured and not compared is where the run begins all the same
    found = fitted(robot, data, names, outputs=list(felt), method="rk4")
    assert [found.values[name] for name in names] == pytest.approx([0.0, 0.0, 0.0], abs=1e-4)


def test_an_output_that_is_zero_throughout_has_the_offset_zero():
    """Also where it is predicted to the last bit, so that its residuals are nothing at all."""
    robot = load(PENDULUM.replace("0.3 0.5 -0.4", "0 0 0"))
    run = simulated(robot, 0.3, [0.2], dt=1e-3, method="rk4")
    sideways = "imu.linear_acceleration.y"
    columns = {"pivot": run["pivot"], "pivot.effort": 0.0 * run.t, sideways: 0.0 * run.t}
    data = Measurement.of(run.t, columns, held=run.held)
    with np.errstate(all="raise"):
        found = fitted(robot, data, [f"{sideways}.offset"], outputs=["pivot", sideways], initial="neutral")
    assert found.values[f"{sideways}.offset"] == pytest.approx(0.0, abs=1e-12)


def test_what_actuators_cannot_show_is_told(platform, run_of_platform):
    data = Measurement.of_trajectory(run_of_platform)
    with pytest.raises(errors.StateError, match=r"'leg_7\.stroke' cannot be predicted"):
        fit_output(platform, data, ["platform.hydraulics.leakage.internal"], outputs=["leg_7.stroke"])
    with pytest.raises(errors.StateError, match=r"leakage\.inner"):
        fit_output(platform, data, ["platform.hydraulics.leakage.inner"])
