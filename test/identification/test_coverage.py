"""95 % intervals hold what is true in 95 % of the fits."""

import warnings
from functools import partial

import numpy as np
import pytest
from identification.cylinders import CYLINDERS, LEGS, openings, soft_arm, supplied
from identification.motions import other_numbers, sums_of_sines

from flexdyn_ros import errors, load, simulate
from flexdyn_ros.identification import Measurement, fit_linear, fit_output
from flexdyn_ros.simulation import ValveOpenings

pytest.importorskip("pandas")

#: of 2,000 independent intervals 95 % +- 0.5 % (one deviation) hold what is true; of some four hundred fits
#: the intervals of one number 95 % +- 1.1 %, and the fewest of 62 numbers some three deviations less
POOLED, EACH = (0.93, 0.97), (0.90, 0.99)
#: modes of each bending link: the arm moves in the plane of bending_y
FEW = {"bending_y": 1, "torsion": 0}
#: noise of what is compared, of its range
NOISE = 0.005


def check(hits):
    """hits (fits, numbers): whether each interval held the true number."""
    assert hits.size >= 2000
    assert POOLED[0] <= hits.mean() <= POOLED[1]
    assert EACH[0] <= hits.mean(axis=0).min()
    assert hits.mean(axis=0).max() <= EACH[1]


def held(fit, truth):
    """Whether each interval of a fit holds what is true."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.FlexdynWarning)
        found = fit()
    expected = truth if isinstance(truth, np.ndarray) else found.base.of(truth)
    return ((found.table.lower <= expected) & (expected <= found.table.upper)).to_numpy()


def repeated(start, t, seen, inputs, true, fits, **options):
    """Fits to what was seen with other noise each; they begin at the truth, which saves rounds."""
    hits = []
    for seed in range(fits):
        rng = np.random.default_rng(seed)
        noisy = {key: x + NOISE * np.ptp(x) * rng.standard_normal(x.size) for key, x in seen.items()}
        data = Measurement.of(t, {**noisy, **inputs}, held=True)
        hits.append(
            held(partial(fit_output, start, data, list(true), true, **options), np.array([*true.values()]))
        )
    return np.array(hits)


def quiet(*arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.FlexdynWarning)
        return simulate(*arguments, **options)


def noisy_fits(start, truth, duration, noise, fits, *, outliers=0.0, **options):
    """Whether each interval of linear fits with other noise each holds what is true; a share of the samples
    has ten times the noise."""
    t, q, v, a = sums_of_sines(start, duration, seed=3)
    tau = truth.inverse_dynamics(q, v, a)
    size = noise * np.abs(tau).max(axis=0)
    hits = []
    for seed in range(fits):
        rng = np.random.default_rng(seed)
        more = size * rng.standard_normal(tau.shape)
        more[rng.random(tau.shape) < outliers] *= 10.0
        data = Measurement.of_motion(start, t, q, v, a, tau + more)
        hits.append(held(partial(fit_linear, start, data, **options), truth))
    return np.array(hits)


@pytest.fixture
def rubbing():
    """An arm with two joints, and one with friction and other bodies."""
    start = load("two_link")
    friction = {f"{joint}/{part}": 0.5 for joint in ("shoulder", "elbow") for part in ("damping", "friction")}
    return start, other_numbers(start).with_parameters(friction)


def test_intervals_of_a_rigid_arm_with_two_joints_cover(rubbing):
    check(noisy_fits(*rubbing, 3.0, 0.01, 190))


def test_intervals_cover_where_outliers_count_less(rubbing):
    """They are as wide as outliers make them, though these count less: twice as wide as without any."""
    check(noisy_fits(*rubbing, 3.0, 0.003, 190, outliers=0.35, robust=True))


def test_outliers_that_count_less_leave_numbers_better_known(rubbing):
    start, truth = rubbing
    t, q, v, a = sums_of_sines(start, 3.0, seed=3)
    tau = truth.inverse_dynamics(q, v, a)
    rng, more = np.random.default_rng(5), []
    for size in np.abs(tau).max(axis=0):
        noise = 0.003 * size * rng.standard_normal(t.size)
        more.append(np.where(rng.random(t.size) < 0.1, 10.0, 1.0) * noise)
    tables = {}
    for robust in (False, True):
        for share in (0.0, 1.0):
            data = Measurement.of_motion(start, t, q, v, a, tau + share * np.transpose(more))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", errors.FlexdynWarning)
                tables[robust, share] = fit_linear(start, data, robust=robust).table.standard_deviation
            # without noise numbers are known to rounding, no better
            assert (tables[robust, share] > 0.0).all()
            assert (tables[robust, share] < (0.1 if share else 1e-6)).all()
    # 3.3 times the deviation with a tenth of ten times the noise (sqrt(0.9 + 0.1 * 100)), and 1.2 times in
    # Huber's way (sqrt(E psi^2) / E psi')
    ratio = tables[False, 1.0] / tables[True, 1.0]
    assert ratio.to_numpy() == pytest.approx(3.3 / 1.2, rel=0.2)


@pytest.mark.slow
def test_intervals_of_a_rigid_arm_with_seven_joints_cover():
    start = load("seven_joint_arm")
    check(noisy_fits(start, other_numbers(start), 8.0, 0.01, 400))


def shaking(t, q, v):
    return {
        "shoulder": 1.2 * np.sin(6.9 * t) + 0.8 * np.sin(20.7 * t + 1.0),
        "elbow": 0.3 * np.sin(10.7 * t) + 0.2 * np.cos(37.7 * t),
    }


def bending(**built):
    """The arm with one mode for each link."""
    few = {f"{link}.modes.{field}": n for link in ("link_1", "link_2") for field, n in FEW.items()}
    options = {f"links.{path}": value for path, value in {**few, **built}.items()}
    return load("flexible_two_link", options=options)


@pytest.mark.slow
def test_intervals_of_an_arm_with_two_bending_links_cover():
    truth = bending(**{"link_1.beam.EIz": 31.0, "link_2.beam.EIz": 2.1, "link_2.damping.ratio": 0.03})
    truth = truth.with_parameters({"elbow/damping": 0.03})
    true = {
        "link_1/EIz": 31.0, "link_2/EIz": 2.1, "link_2/damping_ratio": 0.03, "shoulder/damping": 0.02,
        "elbow/damping": 0.03, "elbow/rotor": 0.0224,
    }  # fmt: skip
    run = quiet(truth, 0.4, dt=1e-3, control=shaking)
    efforts = {f"{key}.effort": run[key, "effort"] for key in ("shoulder", "elbow")}
    tip = run.frames("tool0")[:, 1, 3]
    seen = {"shoulder": run["shoulder"], "elbow": run["elbow"], "tool0.y": tip}
    # with the noise told a fit takes one round: half the time
    noise = {key: NOISE * np.ptp(x) for key, x in seen.items()}
    check(repeated(bending(), run.t, seen, efforts, true, 340, noise=noise))


@pytest.mark.slow
def test_intervals_of_a_soft_section_cover():
    truth = soft_arm(stiffness=1850.0, damping=18.0)
    data = supplied(truth, 0.2)
    inputs = {key: x for key, x in data.columns.items() if key.endswith(".effort")}
    seen = {key: x for key, x in data.columns.items() if key not in inputs}
    path = "joints.section_1.section.pressure"
    true = {
        "section_1/stiffness": 1850.0, "section_1/damping": 18.0, f"{path}.area": 8e-4,
        f"{path}.time_constant": 0.02,
    }  # fmt: skip
    check(repeated(truth, data.t, seen, inputs, true, 500, initial="neutral"))


@pytest.mark.slow
def test_intervals_of_cylinders_cover():
    truth = load("stewart_1t", options=CYLINDERS)
    run = quiet(
        truth, 0.2, dt=1e-3, method="staggered", control=ValveOpenings(openings), record=("hydraulics",)
    )
    data = Measurement.of_trajectory(run)
    seen = {key: data[key] for leg in LEGS for key in (f"{leg}.pressure_bore", f"{leg}.pressure_rod")}
    inputs = {f"{leg}.valve_command": data[f"{leg}.valve_command"] for leg in LEGS}
    check(repeated(load("stewart_1t"), data.t, seen, inputs, CYLINDERS, 500))
