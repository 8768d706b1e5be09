"""Fits of inertias that bodies can have: at every scale, near former numbers, with bounds and priors; and
what they leave over is told."""

import re
import warnings

import numpy as np
import pytest
from identification.motions import measured, other_numbers, sums_of_sines

from flexdyn_ros import errors, load
from flexdyn_ros.identification import Measurement, fit_linear

pytest.importorskip("pandas")

LINK = (
    '<link name="{name}"><inertial><origin xyz="{c} 0 0"/><mass value="{m}"/><inertia ixx="{i}" ixy="0"'
    ' ixz="0" iyy="{j}" iyz="0" izz="{j}"/></inertial></link>'
)
ARM = """<robot name="two"><link name="w"/>{a}{b}
<joint name="one" type="continuous"><parent link="w"/><child link="a"/><axis xyz="0 1 0"/></joint>
<joint name="two" type="continuous"><parent link="a"/><child link="b"/><origin xyz="{l} 0 0"/>
<axis xyz="0 1 0"/></joint></robot>"""
#: friction that the description does not have
TRUE = {"one/damping": 2.0, "two/damping": 1.0, "one/friction": 1.5, "two/friction": 0.8}


def fitted(*arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.FlexdynWarning)
        return fit_linear(*arguments, **options)


def arm(mass=1.0, length=1.0):
    """Two links without friction, in gravity that grows with the length."""
    inertia = mass * length**2
    links = [
        LINK.format(name=name, m=m * mass, c=c * length, i=0.01 * inertia, j=j * inertia)
        for name, m, c, j in (("a", 2.0, 0.2, 0.03), ("b", 1.0, 0.15, 0.01))
    ]
    text = ARM.format(a=links[0], b=links[1], l=0.4 * length)
    return load(text, options={"gravity": [0.0, 0.0, -9.81 * length]})


def rubbing(robot, scale=1.0, noise=0.05, duration=6.0):
    """Data of the arm with friction, times a scale."""
    truth = robot.with_parameters({name: scale * value for name, value in TRUE.items()})
    t, q, v, a = sums_of_sines(robot, duration)
    tau = truth.inverse_dynamics(q, v, a)
    tau = tau + noise * tau.std(axis=0) * np.random.default_rng(0).standard_normal(tau.shape)
    return Measurement.of_motion(robot, t, q, v, a, tau)


def relative(found):
    return found.residuals / np.nanstd(found.samples.measured, axis=0)


@pytest.mark.parametrize("scale", [0.01, 1.0, 100.0, 1000.0])
def test_friction_that_a_description_does_not_have_is_found_at_every_mass(scale):
    robot = arm(mass=scale)
    data = rubbing(robot, scale)
    found, plain = fitted(robot, data), fitted(robot, data, consistent=False)
    for name, true in TRUE.items():
        assert found.values[name] / scale == pytest.approx(true, rel=0.1)
    for channel, rms in plain.rms.items():
        assert found.rms[channel] <= 1.001 * rms


@pytest.mark.parametrize("noise", [0.05, 1.0])
@pytest.mark.parametrize(("mass", "length"), [(0.01, 0.01), (0.01, 100.0), (100.0, 0.01), (100.0, 100.0)])
def test_mass_and_length_change_neither_relative_residuals_nor_parameters(mass, length, noise):
    """With the larger noise what plain least squares find no body can have."""
    one, other = arm(), arm(mass, length)
    first = fitted(one, rubbing(one, noise=noise, duration=2.0))
    second = fitted(other, rubbing(other, mass * length**2, noise, 2.0))
    assert relative(second) == pytest.approx(relative(first), abs=1e-6)
    powers = {"mass": 0, "mx": 1, "my": 1, "mz": 1}
    sizes = {"mass": 1.0, "mx": 0.2, "my": 0.2, "mz": 0.2}
    for name, value in first.values.items():
        part = name.rpartition("/")[2]
        unit = mass * length ** powers.get(part, 2)
        assert second.values[name] / unit == pytest.approx(value, rel=1e-6, abs=1e-6 * sizes.get(part, 0.03))


def test_numbers_stay_near_the_former_ones_at_the_cost_of_a_ten_thousandth_of_the_residual():
    start = load("seven_joint_arm")
    truth = other_numbers(start, share=0.3)
    data = measured(truth, noise=0.1, duration=2.0)
    found, plain = fitted(start, data), fitted(start, data, consistent=False)
    cost = np.linalg.norm(relative(found)) / np.linalg.norm(relative(plain))
    assert cost < 1.02
    masses = [p for p in start.parameters if p.name.endswith("/mass")]
    total = sum(p.value for p in masses)
    assert sum(found.values[p.name] for p in masses) == pytest.approx(total, rel=0.2)
    # several times further away numbers fit no better
    for p in masses:
        assert abs(found.values[p.name] - p.value) < 0.5 * total


def test_a_prior_of_the_total_mass_is_kept_and_costs_nothing_where_the_data_do_not_tell_it():
    start = load("seven_joint_arm")
    data = measured(other_numbers(start), noise=0.02)
    total = 1.4 * sum(p.value for p in start.parameters if p.name.endswith("/mass"))
    free = fitted(start, data)
    for name in ("*/mass", " + ".join(p.name for p in start.parameters if p.name.endswith("/mass"))):
        found = fitted(start, data, priors={name: (total, 0.05)})
        masses = [value for key, value in found.values.items() if key.endswith("/mass")]
        assert sum(masses) == pytest.approx(total, abs=0.1)
        assert found.base.rank == free.base.rank + 1
        for channel, rms in free.rms.items():
            assert found.rms[channel] <= 1.001 * rms


def test_a_prior_counts_as_a_measurement_of_its_deviation():
    """Against the closed form: the product of two normal distributions."""
    robot = arm()
    data = rubbing(robot)
    free = fitted(robot, data, consistent=False)
    value, deviation = free.values["two/damping"], free.deviations["two/damping"]
    prior = value + 3.0 * deviation
    found = fitted(robot, data, consistent=False, priors={"two/damping": (prior, deviation)})
    assert found.values["two/damping"] == pytest.approx(0.5 * (value + prior), abs=0.02 * deviation)
    assert found.deviations["two/damping"] == pytest.approx(deviation / np.sqrt(2.0), rel=0.02)


@pytest.mark.parametrize("consistent", [True, False])
def test_bounds_are_kept(consistent):
    robot = arm()
    data = rubbing(robot)
    bounds = {"two/damping": (0.2, 0.4), "a/mass + b/mass": (4.0, 4.5), "b/my": (0.0, 0.0)}
    found = fitted(robot, data, consistent, bounds=bounds)
    assert found.values["two/damping"] == pytest.approx(0.4, abs=1e-6)
    assert 4.0 - 1e-6 <= found.values["a/mass"] + found.values["b/mass"] <= 4.5 + 1e-6
    assert found.values["b/my"] == pytest.approx(0.0, abs=1e-6)
    # others take over what they can
    assert found.rms["two.effort"] > fitted(robot, data, consistent).rms["two.effort"]


def test_bounds_and_priors_of_nothing_are_refused():
    robot = arm()
    data = rubbing(robot)
    with pytest.raises(errors.UnknownNameError, match="hand/mass"):
        fitted(robot, data, priors={"a/mass + hand/mass": (1.0, 0.1)})
    with pytest.raises(errors.StateError, match=r"prior of a/mass is \(1.0, 0.0\), expected .*deviation > 0"):
        fitted(robot, data, priors={"a/mass": (1.0, 0.0)})
    with pytest.raises(errors.StateError, match=r"bounds of a/mass are \(2.0, 1.0\), expected"):
        fitted(robot, data, bounds={"a/mass": (2.0, 1.0)})
    with pytest.raises(errors.StateError, match="'a/mass': none of its numbers is fitted"):
        fitted(robot, data, parameters="b/*", bounds={"a/mass": (1.0, 2.0)})
    with pytest.raises(errors.StateError, match="no sum of parameters"):
        fitted(robot, data, bounds={"2 a/mass b/mass": (1.0, 2.0)})


def told_of(signs=(1.0, 1.0), turned=(1.0, 1.0), noise=0.05, only_noise=False):
    """The fit of data of the arm in which something is wrong, and its shares that are left over."""
    robot = arm()
    t, q, v, a = sums_of_sines(robot, 6.0)
    tau = robot.inverse_dynamics(q, v, a) * signs
    rng = np.random.default_rng(4)
    tau = rng.normal(size=tau.shape) if only_noise else tau + noise * rng.normal(size=tau.shape)
    found = fitted(robot, Measurement.of_motion(robot, t, q * turned, v * turned, a * turned, tau))
    return found, [text for text in found.warnings if "white" not in text and "cannot tell" not in text]


def test_a_good_fit_leaves_its_noise_and_warns_of_nothing():
    found, told = told_of()
    assert told == []
    shares = 0.05 / np.sqrt((found.samples.measured**2).mean(axis=0))
    assert list(found.left_over.values()) == pytest.approx(shares, rel=0.1)


@pytest.mark.parametrize("noise", [0.05, 0.0])
@pytest.mark.parametrize(("joint", "signs", "most"), [("one", (-1.0, 1.0), 1.0), ("two", (1.0, -1.0), 0.6)])
def test_an_effort_of_the_opposite_sign_is_guessed_and_nothing_is_worse_than_nothing(
    joint, signs, most, noise
):
    found, told = told_of(signs, noise=noise)
    assert any(f"{joint}.effort seems to have the opposite sign" in text for text in told)
    assert max(found.left_over.values()) <= most


def test_a_joint_that_counts_the_other_way_is_guessed():
    found, told = told_of(turned=(1.0, -1.0))
    assert any("two seems to count the other way" in text for text in told)
    assert max(found.left_over.values()) <= 1.0


def test_efforts_that_are_noise_are_told_to_be_left_over():
    found, told = told_of(only_noise=True)
    assert min(found.left_over.values()) > 0.9
    for name in ("one", "two"):
        assert any(re.match(rf"{name}\.effort: \d+(\.\d+)? % of it is left over", text) for text in told)


def test_all_efforts_of_the_opposite_sign_are_left_over_and_the_reason_is_told():
    found, told = told_of((-1.0, -1.0))
    assert max(found.left_over.values()) <= 1.0
    reason = next(text for text in told if text.startswith("numbers that bodies and joints can have leave"))
    assert "an inertia of a that no mass has" in reason
    assert "plain least squares" in reason
    assert reason.endswith("all efforts seem to have the opposite sign")


def test_numbers_stay_near_where_the_data_ask_for_what_no_body_can_have():
    """Rotors below zero: the residual would fall a little more with masses of tonnes, without any end."""
    start = load("seven_joint_arm")
    t, q, v, a = sums_of_sines(start, 3.0)
    tau = other_numbers(start).inverse_dynamics(q, v, a)
    tau = tau - 0.1 * np.abs(tau).max(axis=0) / np.abs(a).max(axis=0) * a
    tau = tau + 0.02 * tau.std(axis=0) * np.random.default_rng(3).standard_normal(tau.shape)
    data = Measurement.of_motion(start, t, q, v, a, tau)
    found = fitted(start, data)
    masses = [(p.name, p.value) for p in start.parameters if p.name.endswith("/mass")]
    total = sum(mass for _, mass in masses)
    assert sum(found.values[name] for name, _ in masses) < 1.5 * total
    assert any("the data ask for" in text and "/rotor" in text for text in found.warnings)


def test_masses_that_have_grown_far_are_told():
    start = arm()
    t, q, v, a = sums_of_sines(start, 3.0)
    heavier = {p.name: 20.0 * p.value for p in start.parameters if p.unit.startswith("kg")}
    tau = start.with_parameters(heavier).inverse_dynamics(q, v, a)
    told = fitted(start, Measurement.of_motion(start, t, q, v, a, tau)).warnings
    assert any(text.startswith("masses are") and "priors" in text for text in told)
