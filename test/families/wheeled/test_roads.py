"""Roads: heights, slopes, and the statistics of ISO 8608."""

import pickle

import numpy as np
import pytest
from mobile_arms import chain

import flexdyn_ros
from flexdyn_ros.description.elements.wheels import Road, Wave
from flexdyn_ros.errors import StateError
from flexdyn_ros.families.wheeled.kernels.road import road_at
from flexdyn_ros.families.wheeled.roads import PackedRoad, enveloped, iso_road, iso_waves


def level(X):
    return 0.0, 0.0


ROADS = [
    Road("sine", start=0.2, amplitude=0.03, wavelength=0.4, phase=1.0, offset=0.03),
    Road("sines", offset=0.1, waves=(Wave(0.02, 0.7, 0.3), Wave(0.01, 0.2))),
    Road("bump", start=1.0, height=0.05, length=0.5),
    Road("step", start=1.0, height=0.05, length=0.5),
    Road("slope", start=0.5, grade=0.1),
    Road("table", points=((0.0, 0.0), (0.5, 0.1), (1.0, 0.05), (1.7, 0.08))),
    Road("iso8608", road_class="C", seed=3, lines=500, n_min=0.011, n_max=2.83),
    Road("callable", function=lambda X: (0.1 * np.sin(X), 0.1 * np.cos(X))),
]


@pytest.mark.parametrize("road", ROADS, ids=lambda road: road.kind)
def test_slope_and_curvature_are_derivatives(road):
    packed = PackedRoad(road)
    h = 1e-6
    for X in np.random.default_rng(0).uniform(-0.5, 2.0, 20):
        z, dz, ddz = road_at(packed.address, X)
        above, below = road_at(packed.address, X + h), road_at(packed.address, X - h)
        assert np.isfinite(z)
        assert dz == pytest.approx((above[0] - below[0]) / (2 * h), abs=1e-8)
        assert ddz == pytest.approx((above[1] - below[1]) / (2 * h), abs=1e-5)


def test_a_slope_is_level_before_its_start_and_straight_behind_it():
    packed = PackedRoad(Road("slope", start=0.5, grade=0.1))
    assert road_at(packed.address, -3.0) == (0.0, 0.0, 0.0)
    assert road_at(packed.address, 0.5) == (0.0, 0.0, 0.0)
    for X in (0.6, 7.0, 1234.5):
        z, slope, bend = road_at(packed.address, X)
        assert z == pytest.approx(0.1 * (X - 0.5), rel=1e-9)
        assert slope == pytest.approx(0.1, rel=1e-12)
        assert abs(bend) < 1e-12


def test_a_road_that_is_a_lambda_is_refused_by_name_when_pickled():
    robot = flexdyn_ros.load("mobile_arm", options={"road": lambda X: (0.0, 0.0)})
    with pytest.raises(StateError, match=r"road of this robot is the function '.*<lambda>'.*top level"):
        pickle.dumps(robot)
    named = flexdyn_ros.load("mobile_arm", options={"road": level})
    again = pickle.loads(pickle.dumps(named))
    assert again.description.road.function is level


def test_table_goes_through_its_points_and_on_level_beyond_them():
    packed = PackedRoad(ROADS[5])
    for X, z in ROADS[5].points:
        assert road_at(packed.address, X)[0] == pytest.approx(z, abs=1e-15)
        # each piece ends where the next one begins, as steep
        before, behind = (road_at(packed.address, X + step) for step in (-1e-9, 1e-9))
        assert before[0] == pytest.approx(z, abs=1e-8)
        assert before[1] == pytest.approx(behind[1], abs=1e-7)
    assert road_at(packed.address, 9.0) == (0.08, 0.0, 0.0)
    assert road_at(packed.address, -9.0) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("road_class", "rms"), [("A", 3.81e-3), ("B", 7.61e-3), ("C", 15.2e-3), ("D", 30.5e-3), ("E", 60.9e-3)]
)
def test_random_roads_have_the_variance_of_their_class(road_class, rms):
    amplitudes, _, _ = iso_waves(road_class, seed=1)
    assert np.sqrt(0.5 * amplitudes @ amplitudes) == pytest.approx(rms, rel=2e-3)


def test_waves_of_a_random_road_are_spread_over_phases_and_over_wave_numbers():
    """Phases are even over the circle; each octave has the variance of Gd = 256e-6 (n/0.1)^-2 over it."""
    amplitudes, k, phases = iso_waves("C", seed=2, lines=4000, n_min=0.02, n_max=1.28)
    for order in (1, 2, 3):
        # of directions at random the mean is about one over the root of their number
        assert abs(np.exp(1j * order * phases).mean()) < 4.0 / np.sqrt(4000)
    n = k / (2.0 * np.pi)
    for low in 0.02 * 2.0 ** np.arange(6):
        within = (low < n) & (n < 2.0 * low)
        variance = 256e-6 * 0.1**2 * (1.0 / low - 0.5 / low)
        assert 0.5 * np.sum(amplitudes[within] ** 2) == pytest.approx(variance, rel=5e-3)
    assert not np.isin(iso_waves("C", seed=3, lines=4000)[2], phases).any()


def test_the_same_seed_gives_the_same_road():
    X = np.linspace(0.0, 20.0, 50)
    one, two, other = (iso_road("B", seed=seed)(X)[0] for seed in (4, 4, 5))
    assert np.array_equal(one, two)
    assert not np.allclose(one, other)
    packed = PackedRoad(Road("iso8608", road_class="B", seed=4, lines=500, n_min=0.011, n_max=2.83))
    assert np.allclose([road_at(packed.address, x)[0] for x in X], one, rtol=0.0, atol=1e-14)


def test_road_read_as_a_function_moves_the_robot_as_the_same_sine():
    text = chain((True,), road='<road kind="sine" amplitude="0.03" wavelength="0.4"/>')
    k = 2 * np.pi / 0.4
    hill = {"road": lambda X: (0.03 * np.sin(k * X), 0.03 * k * np.cos(k * X))}
    sine, function = flexdyn_ros.load(text), flexdyn_ros.load(text, options=hill)
    q, v = sine.neutral(), np.full(sine.nv, 0.1)
    q[:2] = 0.13, 0.25
    assert np.allclose(sine.forward_dynamics(q, v), function.forward_dynamics(q, v), rtol=1e-12, atol=1e-11)


def test_a_function_that_fails_is_told_of_once_with_its_cause(caplog):
    packed = PackedRoad(Road("callable", function=lambda X: {}[X]))
    assert all(np.isnan(road_at(packed.address, X)[0]) for X in (0.5, 0.7))
    (record,) = caplog.records
    assert "X = 0.5" in record.getMessage()
    assert record.exc_info[0] is KeyError


def test_a_disc_rests_on_the_flanks_of_a_groove_and_bridges_it():
    groove = lambda X: (0.5 * np.abs(X), 0.5 * np.sign(X))  # noqa: E731
    hub = enveloped(groove, 0.3)
    # tangent to both flanks: the hub is r sqrt(1 + k^2) above the bottom
    assert hub(0.0)[0] == pytest.approx(0.3 * (np.sqrt(1.25) - 1.0), abs=1e-12)
    assert hub(2.0)[0] == pytest.approx(1.0 + 0.3 * (np.sqrt(1.25) - 1.0), abs=1e-12)
    assert hub(2.0)[1] == 0.5


def test_an_enveloped_road_is_never_below_the_road_and_has_the_slope_of_its_height():
    road = iso_road("D", 5, lines=40)
    hub = enveloped(road, 0.25)
    for X in np.linspace(0.0, 3.0, 12):
        z, slope = hub(X)
        assert z >= road(np.array([X]))[0][0] - 1e-12
        h = 1e-6
        assert slope == pytest.approx((hub(X + h)[0] - hub(X - h)[0]) / (2 * h), abs=1e-5)
    small = enveloped(road, 1e-4)
    assert small(1.0)[0] == pytest.approx(road(np.array([1.0]))[0][0], abs=1e-5)
    robot = flexdyn_ros.load(chain((False,)), options={"road": hub})
    rest = robot.static_equilibrium(hold="joints")
    assert robot.wheel_forces(rest.q, np.zeros(robot.nv)).in_contact.all()
    with pytest.raises(StateError, match="radius"):
        enveloped(road, 0.0)
