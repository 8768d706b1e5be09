"""95 % intervals hold what is true in 95 % of the fits."""

import warnings

import numpy as np
import pytest
from identification.motions import other_numbers, sums_of_sines

from flexdyn_ros import errors, load, simulate
from flexdyn_ros.identification import Measurement, fit_linear, fit_output

pytest.importorskip("pandas")

#: of 2,000 independent intervals 95 % +- 0.5 % (one deviation) cover; of a hundred fits the intervals of one
#: number 95 % +- 2.2 %, and the fewest of 62 numbers some three deviations less
POOLED, LEAST = (0.93, 0.97), 0.87


def covered(table, truth):
    return ((table.lower <= truth) & (truth <= table.upper)).to_numpy()


def check(hits):
    """hits (fits, numbers): whether each interval held the true number."""
    assert hits.size >= 2000
    assert POOLED[0] <= hits.mean() <= POOLED[1]
    assert hits.mean(axis=0).min() >= LEAST


@pytest.mark.slow
def test_intervals_of_a_rigid_arm_with_seven_joints_cover():
    start = load("seven_joint_arm")
    truth = other_numbers(start)
    t, q, v, a = sums_of_sines(start, 8.0, seed=3)
    tau = truth.inverse_dynamics(q, v, a)
    size = 0.01 * np.abs(tau).max(axis=0)
    hits = []
    for seed in range(100):
        noise = size * np.random.default_rng(seed).standard_normal(tau.shape)
        data = Measurement.of_motion(start, t, q, v, a, tau + noise)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", errors.FlexdynWarning)
            found = fit_linear(start, data)
        hits.append(covered(found.table, found.base.of(truth)))
    check(np.array(hits))


@pytest.mark.slow
def test_intervals_of_an_arm_with_two_bending_links_cover():
    options = {
        "links.link_1.beam.EIz": 31.0,
        "links.link_2.beam.EIz": 2.1,
        "links.link_2.damping.ratio": 0.03,
    }
    start = load("flexible_two_link")
    truth = load("flexible_two_link", options=options).with_parameters({"elbow/damping": 0.03})
    names = [
        "link_1/EIz",
        "link_2/EIz",
        "link_2/damping_ratio",
        "shoulder/damping",
        "elbow/damping",
        "elbow/rotor",
    ]
    true = np.array([31.0, 2.1, 0.03, 0.02, 0.03, 0.0224])

    def effort(t, q, v):
        return {
            "shoulder": 1.2 * np.sin(6.9 * t) + 0.8 * np.sin(20.7 * t + 1.0),
            "elbow": 0.3 * np.sin(10.7 * t) + 0.2 * np.cos(37.7 * t),
        }

    run = simulate(truth, 0.5, dt=1e-3, control=effort)
    efforts = {f"{key}.effort": run[key, "effort"] for key in ("shoulder", "elbow")}
    tip = run.frames("tool0")[:, 1, 3]
    seen = {"shoulder": run["shoulder"], "elbow": run["elbow"], "tool0.y": tip}
    hits = []
    for seed in range(340):
        rng = np.random.default_rng(seed)
        noisy = {key: x + 0.005 * np.ptp(x) * rng.standard_normal(x.size) for key, x in seen.items()}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", errors.FlexdynWarning)
            found = fit_output(start, Measurement.of(run.t, {**noisy, **efforts}), names)
        hits.append(covered(found.table, true))
    check(np.array(hits))
