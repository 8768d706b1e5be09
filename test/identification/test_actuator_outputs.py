"""`fit_output` of what actuators and sensors on frames show: cylinders, supplies of soft arms, IMUs."""

import warnings

import numpy as np
import pytest

from flexdyn_ros import errors, load, simulate
from flexdyn_ros.identification import Measurement, fit_output
from flexdyn_ros.simulation import ValveOpenings

pytest.importorskip("pandas")

STEP = 1e-3
#: numbers of the cylinders: bulk modulus, leakage, gain of the valves, friction of the seals
CYLINDERS = {
    "platform.hydraulics.fluid.bulk_modulus": 1.2e9,
    "platform.hydraulics.leakage.internal": 8e-13,
    "platform.hydraulics.valve.rated_flow": 6e-4,
    "platform.hydraulics.friction.viscous": 750.0,
}
RATES = 2.0 * np.pi * np.array([3.0, 4.0, 5.0, 3.5, 4.5, 5.5])
LEGS = tuple(f"leg_{n}" for n in range(1, 7))
SUPPLY = {"area": 8e-4, "time_constant": 0.02}


def openings(t, q, v):
    return 0.15 * np.sin(RATES * t + np.arange(6))


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


def soft_arm(**section):
    pressure = " ".join(f'{key}="{value}"' for key, value in SUPPLY.items())
    given = " ".join(f'{key}="{value}"' for key, value in section.items())
    return load(f"""<robot name="soft">
      <link name="base_link"/><link name="tip"><inertial><origin xyz="0 0 0.01"/><mass value="0.05"/>
        <inertia ixx="1e-5" ixy="0" ixz="0" iyy="1e-5" iyz="0" izz="1e-5"/></inertial></link>
      <joint name="section_1" type="fixed"><parent link="base_link"/><child link="tip"/>
        <origin xyz="0 0 0.15"/></joint>
      <flexdyn reference="section_1"><section preset="bai2022" {given}><pressure {pressure}/></section>
      </flexdyn></robot>""")


def test_soft_sections_and_their_supplies_come_back_from_pressures_and_the_tip():
    truth, start = soft_arm(stiffness=1850.0, damping=18.0), soft_arm()
    run = simulated(
        truth, 0.3, dt=STEP, control=lambda t, q, v: 15.0 + 12.0 * np.sin([19.0 * t, 23.0 * t, 29.0 * t])
    )
    # T f' = c - f from zero: the exact answer to commands that are held
    force = np.zeros((run.t.size, 3))
    command = 15.0 + 12.0 * np.sin(np.outer(run.t, [19.0, 23.0, 29.0]))
    for i in range(run.t.size - 1):
        force[i + 1] = command[i] + (force[i] - command[i]) * np.exp(-STEP / SUPPLY["time_constant"])
    names = [f"section_1/actuator_{n}" for n in (1, 2, 3)]
    tip = run.frames("tip")[:, :3, 3]
    data = Measurement.of(
        run.t,
        {f"{name}.pressure": 101325.0 + force[:, i] / SUPPLY["area"] for i, name in enumerate(names)}
        | {f"{name}.effort": command[:, i] for i, name in enumerate(names)}
        | {"tip.x": tip[:, 0], "tip.y": tip[:, 1], "tip.z": tip[:, 2]},
    )
    path = "joints.section_1.section.pressure"
    wanted = {"section_1/stiffness": 1850.0, "section_1/damping": 18.0} | {
        f"{path}.{key}": value for key, value in SUPPLY.items()
    }
    first = {f"{path}.area": 9e-4, f"{path}.time_constant": 0.03}
    found = fitted(start, data, list(wanted), start=first, initial="neutral")
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
        data = Measurement.of(run.t, {"shoulder": run["shoulder"], f"tool0.{column}": seen, **efforts})
        found = fitted(start, data, ["link_2/EIz"], outputs=[f"tool0.{column}"], initial="neutral")
        # differences of places smooth what the rates of the frame do not
        assert found.values["link_2/EIz"] == pytest.approx(2.1, rel=2e-3)


def test_what_actuators_cannot_show_is_told(platform, run_of_platform):
    data = Measurement.of_trajectory(run_of_platform)
    with pytest.raises(errors.StateError, match=r"'leg_7\.stroke' cannot be predicted"):
        fit_output(platform, data, ["platform.hydraulics.leakage.internal"], outputs=["leg_7.stroke"])
    with pytest.raises(errors.StateError, match=r"leakage\.inner"):
        fit_output(platform, data, ["platform.hydraulics.leakage.inner"])
