"""What holds for the verbs of every family: shapes, batches, `out`, refusals, names, payloads."""

import pickle
import warnings

import numpy as np
import pytest
from verb_cases import ROBOTS, Case

from flexdyn_ros.errors import DimensionError, StateError, UnknownNameError


@pytest.fixture(scope="module", params=ROBOTS)
def case(request):
    return Case(request.param)


def test_results_have_the_shape_of_the_batch(case):
    for name, (verb, shape) in case.verbs().items():
        one, many = verb(*case.state), verb(*case.batch)
        assert np.shape(one) == shape, name
        assert many.shape == (2, 3, *shape), name
        assert many.flags.c_contiguous, name
        assert many.dtype == np.float64, name
        assert np.shape(verb(*case.empty)) == (0, *shape), name
        alone = verb(*(x[1, 2] for x in case.batch[:4]), {case.frame: case.batch[4][case.frame][1, 2]})
        # lanes sum in another order; accelerations of modes are some 1e6 times their positions
        assert np.abs(many[1, 2] - alone).max() <= 1e-9 * (1.0 + np.abs(alone).max()), name


@pytest.mark.parametrize("count", [3, 8, 19])
def test_the_first_wrong_row_of_a_batch_is_named_wherever_it_lies(case, count):
    q, v, a, tau, _ = case.state
    robot, rng = case.robot, np.random.default_rng(count)
    for verb, names in (("inverse_dynamics", "qva"), ("forward_dynamics", "qvt")):
        rows = [np.tile(x, (count, 1)) for x in (q, v, a if names[2] == "a" else tau)]
        good = getattr(robot, verb)(*rows)
        assert np.isfinite(good).all()
        for number in (np.nan, np.inf, -np.inf):
            for i in range(3):
                wrong = [x.copy() for x in rows]
                at = rng.integers(count, size=2)
                wrong[i][at, rng.integers(wrong[i].shape[1])] = number
                with pytest.raises(StateError, match=f"of sample {at.min()} is"):
                    getattr(robot, verb)(*wrong)


def test_bad_states_are_refused(case):
    q, v, a, tau, w = case.state
    bad = q.copy()
    bad[-1] = np.nan
    many = case.batch[0].copy()
    many[1, 1, 0] = np.inf
    for name, (verb, _) in case.verbs().items():
        with pytest.raises(DimensionError):
            verb(q[:-1], v, a, tau, w)
        with pytest.raises(StateError, match=r"\[|quaternion"):
            verb(bad, v, a, tau, w)
        with pytest.raises(StateError, match="sample 4"):
            verb(many, *case.batch[1:])
        if case.robot.kind == "platform":
            with pytest.raises(StateError, match="quaternion"):
                verb(1.01 * q, v, a, tau, w)
        assert np.isfinite(np.asarray(verb(q, v, a, tau, w))).all(), name


def test_out_is_filled_by_every_verb_that_returns_an_array(case):
    r, frame = case.robot, case.frame
    q, v, a, tau, _ = case.batch
    calls = [
        lambda out: r.mass_matrix(q, out=out),
        lambda out: r.bias_forces(q, v, out=out),
        lambda out: r.actuation_matrix(q, out=out),
        lambda out: r.inverse_dynamics(q, v, a, out=out),
        lambda out: r.forward_dynamics(q, v, tau, out=out),
        lambda out: r.momentum(q, v, out=out),
        lambda out: r.center_of_mass(q, out=out),
        lambda out: r.frames(q, out=out),
        lambda out: r.jacobian(q, frame, out=out),
        lambda out: r.integrate(q, v, 0.1, out=out),
        lambda out: r.difference(q, q, out=out),
    ]
    for verb in calls:
        expected = verb(None)
        out = np.full(expected.shape, np.nan)
        assert verb(out) is out
        assert np.array_equal(out, expected)
        for wrong in (
            np.empty((*out.shape, 1)),
            np.empty(out.shape, np.float32),
            np.empty(out.shape, order="F"),
        ):
            with pytest.raises(DimensionError, match="out is"):
                verb(wrong)


def test_jacobians_of_several_frames_and_their_velocities(case):
    robot, (q, v, *_) = case.robot, case.batch
    names = robot.frame_names[-2:]
    both = robot.jacobian(q, names)
    assert both.shape == (2, 3, 2, 6, robot.nv)
    for k, name in enumerate(names):
        assert np.array_equal(both[..., k, :, :], robot.jacobian(q, name))
    velocities = robot.frame_velocity(q, v, names)
    assert velocities.shape == (2, 3, 2, 6)
    assert np.array_equal(velocities[..., 0, :], robot.frame_velocity(q, v, names[0]))
    # the linear part is the rate of the position
    h = 1e-6
    ahead, behind = (robot.frames(robot.integrate(q, v, s), names)[..., :3, 3] for s in (h, -h))
    assert velocities[..., 3:] == pytest.approx((ahead - behind) / (2.0 * h), abs=1e-6)
    # one state, a batch of velocities
    one = robot.frame_velocity(q[0, 0], v, names[0])
    assert one.shape == (2, 3, 6)


def test_unknown_names_are_refused(case):
    r, (q, v, a, tau, _) = case.robot, case.state
    for call in (
        lambda: r.index("nothing"),
        lambda: r.frames(q, [case.frame, "nothing"]),
        lambda: r.jacobian(q, "nothing"),
        lambda: r.modes(q, lock=["nothing"]),
        lambda: r.static_equilibrium(hold=["nothing"]),
        lambda: r.with_payload("nothing", 1.0),
        lambda: r.inverse_dynamics(q, v, a, {"nothing": np.zeros(6)}),
        lambda: r.forward_dynamics(q, v, tau, prescribed={"nothing": 0.0}),
        lambda: r.inverse_dynamics(q, v, a, unactuated="nothing"),
        lambda: r.linearize(q, v, tau, {"nothing": np.zeros(6)}),
    ):
        with pytest.raises(UnknownNameError, match="nothing"):
            call()


def test_sections_are_frames_by_fraction_or_word(case):
    r, q = case.robot, case.state[0]
    for body in r.deflections(q):
        assert np.array_equal(r.frames(q, f"{body}@root"), r.frames(q, f"{body}@0"))
        assert np.array_equal(r.frames(q, f"{body}@tip"), r.frames(q, f"{body}@1.0"))
        for wrong in ("1.2", "nan", "", "middle"):
            with pytest.raises(UnknownNameError):
                r.frames(q, f"{body}@{wrong}")


def test_a_robot_with_payload_pickles_and_is_immutable(case):
    r, q = case.robot, case.state[0]
    loaded = r.with_payload(case.frame, 2.0, (0.1, 0.0, 0.0), np.diag([0.1, 0.1, 0.1]))
    assert loaded.mass == pytest.approx(r.mass + 2.0)
    assert np.array_equal(pickle.loads(pickle.dumps(loaded)).mass_matrix(q), loaded.mass_matrix(q))
    assert np.allclose(loaded.with_payload(case.frame, 0.0).mass_matrix(q), r.mass_matrix(q), rtol=1e-12)
    with pytest.raises(AttributeError, match="immutable"):
        r.name = "other"
    with pytest.raises(AttributeError, match="immutable"):
        del r.name
    with pytest.raises(ValueError, match="read-only"):
        r.gravity[2] = 0.0


def test_prescribed_accelerations_are_kept_and_the_rest_follows(case):
    r, (q, v, _, tau, w) = case.robot, case.state
    held = int(np.flatnonzero(~case.given)[-1])
    a = r.forward_dynamics(q, v, tau, w, prescribed={r.v_names[held]: 0.5})
    assert a[held] == 0.5
    assert not a[case.given].any()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        many = r.forward_dynamics(*case.batch[:2], prescribed={r.v_names[held]: np.ones((2, 3))})
    assert np.array_equal(many[..., held], np.ones((2, 3)))
    rest = r.mass_matrix(q) @ a + r.bias_forces(q, v) - r.actuation_matrix(q) @ tau
    rest -= r.jacobian(q, case.frame).T @ w[case.frame]
    others = ~case.given & (np.arange(r.nv) != held)
    assert np.abs(rest[others]).max() < 1e-9 * (1.0 + np.abs(r.bias_forces(q, v)).max())
