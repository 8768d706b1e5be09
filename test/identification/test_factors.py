"""Units are told by the ratio of columns that determine each other."""

import warnings
from math import pi

import numpy as np
import pytest

from flexdyn_ros import load
from flexdyn_ros.errors import StateError
from flexdyn_ros.identification import Measurement, fit_linear

T = np.arange(0.0, 6.0, 0.01)
SLIDER = """<robot name="slider"><link name="base"/><link name="cart"><inertial><mass value="3"/>
<inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial></link>
<joint name="slide" type="prismatic"><parent link="base"/><child link="cart"/><axis xyz="1 0 0"/>
<limit lower="-2" upper="2" effort="10" velocity="5"/></joint></robot>"""


def faults(robot, t=T, *, positions=1.0, rates=1.0, accelerations=None, size=1.0):
    columns = {}
    for k, joint in enumerate(robot.q_names):
        w = 1.3 + k
        columns |= {
            joint: positions * size * np.sin(w * T),
            f"{joint}.velocity": rates * size * w * np.cos(w * T),
        }
        columns[f"{joint}.effort"] = np.cos(T)
        if accelerations is not None:
            columns[f"{joint}.acceleration"] = -accelerations * size * w * w * np.sin(w * T)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [fault for fault in Measurement.of(t, columns).faults(robot) if "times" in fault.text]


@pytest.fixture(scope="module")
def arm():
    return load("two_link")


@pytest.mark.parametrize(
    ("factor", "unit"),
    [(1e3, "ms"), (1e6, "us"), (1e9, "ns"), (1 / 60, "minutes"), (1 / 3600, "hours"), (1 / 86400, "days")],
)
def test_times_in_other_units_are_told_with_the_factor(arm, factor, unit):
    found = faults(arm, factor * T)
    assert len(found) == 2
    for fault in found:
        assert f"is {factor:.3g} times the rate of" in fault.text
        assert f"times in {unit}" in fault.text
        assert fault.fatal
        assert fault.column == "time"


@pytest.mark.parametrize(("factor", "unit"), [(1e3, "ms"), (1e6, "us"), (1e9, "ns")])
def test_times_since_1970_in_other_units_are_told_without_velocities(arm, factor, unit):
    data = Measurement.of(factor * (T + 1.79e9), {arm.q_names[0]: np.sin(T)})
    assert f"likely {unit} since 1970" in data.faults(arm)[0].text
    again = Measurement.of(data.t, data.columns, units={"time": unit})
    assert again.t[-1] == pytest.approx(T[-1] + 1.79e9)
    assert not any("1970" in fault.text for fault in again.faults(arm))


@pytest.mark.parametrize(
    ("rates", "unit"), [(180 / pi, "deg/s"), (30 / pi, "rpm"), (0.5 / pi, "turns/s"), (-30 / pi, "rpm")]
)
def test_velocities_in_other_units_are_told_with_the_factor(arm, rates, unit):
    found = faults(arm, rates=rates)
    assert [
        f"{joint}.velocity is {rates:.3g} times" in x.text
        for joint, x in zip(arm.q_names, found, strict=True)
    ]
    assert all(f".velocity in {unit}" in fault.text and fault.fatal for fault in found)
    assert [fault.column for fault in found] == [f"{joint}.velocity" for joint in arm.q_names]


@pytest.mark.parametrize(("positions", "unit"), [(180 / pi, "degrees"), (0.5 / pi, "turns")])
def test_positions_in_other_units_are_told_with_the_factor(arm, positions, unit):
    found = faults(arm, positions=positions, size=0.02)
    assert len(found) == 2
    assert all(f"in {unit}" in fault.text and fault.fatal for fault in found)


@pytest.mark.parametrize(
    ("positions", "rates", "words"),
    [
        (1e3, 1.0, "slide in mm"), (1.0, 1e3, "slide.velocity in mm/s"), (1e2, 1.0, "slide in cm"),
        (1.0, 60.0, "slide.velocity in m/min"),
    ],
)  # fmt: skip
def test_units_of_sliders_are_told_with_the_factor(positions, rates, words):
    (found,) = faults(load(SLIDER), positions=positions, rates=rates)
    assert words in found.text
    assert f"{rates / positions:.3g} times" in found.text


def test_two_units_at_a_time_are_told(arm):
    found = faults(arm, positions=180 / pi, rates=30 / pi, size=0.02)
    assert "shoulder.velocity in rpm and shoulder in degrees" in found[0].text


def test_a_factor_of_no_unit_is_told_and_does_not_end_a_fit(arm):
    found = faults(arm, rates=2.5)
    assert "shoulder.velocity is 2.5 times the rate of shoulder: expected 1" in found[0].text
    assert not found[0].fatal


@pytest.mark.parametrize("rates", [1.2, 1 / 1.2, -1.2])
def test_a_small_factor_is_told_where_there_is_no_noise(arm, rates):
    found = faults(arm, rates=rates)
    assert len(found) == len(arm.q_names)
    assert f"shoulder.velocity is {rates:.3g} times the rate of shoulder" in found[0].text


def test_accelerations_in_other_units_are_told(arm):
    found = faults(arm, accelerations=180 / pi)
    assert "shoulder.acceleration is 57.3 times the rate of shoulder.velocity" in found[0].text
    assert "shoulder.acceleration in deg/s2" in found[0].text


@pytest.mark.parametrize("home", [0.0, 0.6])
def test_a_coarse_encoder_hides_no_factor_and_makes_none(arm, home):
    t = np.arange(0.0, 6.0, 0.001)
    # swings about where it begins, or to one side of it
    position = home + np.round(np.sin(1.3 * t + 2.5 * home) - np.sin(2.5 * home), 2)
    for factor in (1.0, -1.0, 30 / pi, -30 / pi):
        rates = factor * 1.3 * np.cos(1.3 * t + 2.5 * home)
        data = Measurement.of(t, {"shoulder": position, "shoulder.velocity": rates})
        found = [x for x in data.faults(arm) if "times the rate" in x.text or "sign" in x.text]
        told = f"is {factor:.3g} times the rate of shoulder: shoulder.velocity in rpm"
        if factor == -1.0:
            told = "has the opposite sign of the rate of shoulder"
        assert [x.text for x in found] == [f"shoulder.velocity {told}"] * (factor != 1.0)
        assert all(x.fatal and x.column == "shoulder.velocity" for x in found)


@pytest.mark.parametrize("factor", [1.0, 30 / pi])
def test_velocities_with_an_offset_are_compared_as_rates(arm, factor):
    t = np.arange(0.0, 60.0, 0.01)
    data = {"shoulder": np.sin(5.0 * t), "shoulder.velocity": factor * (5.0 * np.cos(5.0 * t) + 0.05)}
    found = [x.text for x in Measurement.of(t, data).faults(arm) if "times the rate" in x.text]
    assert [text.split(" times")[0] for text in found] == [
        f"shoulder.velocity is {x:.3g}" for x in (factor,) if x != 1.0
    ]


@pytest.mark.parametrize("factor", [1.0, 1.2, -0.8])
def test_velocities_that_jump_from_sample_to_sample_are_compared_as_integrals(arm, factor):
    """Linear between few samples, at times that are not equidistant."""
    rng = np.random.default_rng(3)
    t = np.cumsum(rng.uniform(0.01, 0.03, 24))
    rates = rng.normal(0.7, 5.0, 24)
    position = [0.4]
    for i in range(23):
        position.append(position[-1] + np.trapezoid(rates[i : i + 2], t[i : i + 2]))
    data = Measurement.of(t, {"shoulder": np.array(position), "shoulder.velocity": factor * rates})
    found = [x.text for x in data.faults(arm) if "the rate of" in x.text]
    told = f"shoulder.velocity is {factor:.3g} times the rate of shoulder: expected 1, give units or factors"
    assert found == ([told] if factor != 1.0 else [])


def test_right_units_are_not_told(arm):
    assert faults(arm, accelerations=1.0) == []
    assert faults(load(SLIDER), accelerations=1.0) == []


def test_a_fit_with_wrong_units_names_the_factor(arm):
    columns = {}
    for joint in arm.q_names:
        columns |= {joint: np.sin(T), f"{joint}.velocity": 30 / pi * np.cos(T), f"{joint}.effort": np.cos(T)}
    with pytest.raises(StateError, match=r"9\.55 times the rate of shoulder: shoulder\.velocity in rpm"):
        fit_linear(arm, Measurement.of(T, columns))
