"""The door of the verbs: shapes, batches, types, `out`, names, threads, pickles."""

import pickle
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest
from models import QUADRUPED, joint, link, random_state, random_tree, real_robot, robot_text, two_link_arm

import flexdyn_ros
from flexdyn_ros.errors import (
    DescriptionError,
    DimensionError,
    FlexdynWarning,
    SingularityError,
    StateError,
    UnknownNameError,
)
from flexdyn_ros.robot import set_batch_threads


@pytest.fixture(scope="module")
def arm():
    return flexdyn_ros.load(two_link_arm())


@pytest.fixture(scope="module")
def free():
    return flexdyn_ros.load(random_tree(3, base="floating", joints=5))


def verbs(robot, tail="tip"):
    """Every verb of the protocol that takes a state, as functions of (q, v, x)."""
    return {
        "mass_matrix": lambda q, v, x: robot.mass_matrix(q),
        "bias_forces": lambda q, v, x: robot.bias_forces(q, v),
        "inverse_dynamics": lambda q, v, x: robot.inverse_dynamics(q, v, x),
        "forward_dynamics": lambda q, v, x: robot.forward_dynamics(q, v, x),
        "loaded": lambda q, v, x: robot.inverse_dynamics(q, v, x, {tail: np.ones(6)}),
        "prescribed": lambda q, v, x: robot.forward_dynamics(q, v, x, prescribed={robot.v_names[0]: 1.0}),
        "energy": lambda q, v, x: robot.energy(q, v).total,
        "momentum": lambda q, v, x: robot.momentum(q, v),
        "center_of_mass": lambda q, v, x: robot.center_of_mass(q),
        "frames": lambda q, v, x: robot.frames(q),
        "jacobian": lambda q, v, x: robot.jacobian(q, tail),
        "coriolis_matrix": lambda q, v, x: robot.coriolis_matrix(q, v),
        "linearize": lambda q, v, x: robot.linearize(q, v, x).A,
        "integrate": lambda q, v, x: robot.integrate(q, v, 0.1),
        "difference": lambda q, v, x: robot.difference(q, robot.integrate(q, v, 0.1)),
        "modes": lambda q, v, x: robot.modes(q).frequency,
        "actuation_matrix": lambda q, v, x: robot.actuation_matrix(q),
    }


@pytest.mark.parametrize("name", verbs(None))
def test_batches_equal_single_states(free, name):
    verb = verbs(free, free.frame_names[-1])[name]
    q, v, x = random_state(free, np.random.default_rng(1), (2, 19))
    many = verb(q, v, x)
    for i in [(0, 0), (0, 15), (1, 16), (1, 18)]:
        one = verb(q[i], v[i], x[i])
        # lanes work on sixteen samples at a time, in another order of the same sums
        assert np.abs(many[i] - one).max() <= 1e-11 * (np.abs(one).max() + 1e-9)
        assert many[i].shape == np.shape(one)
        assert np.asarray(many).dtype == np.float64
        assert np.asarray(many).flags.c_contiguous


@pytest.mark.parametrize("name", verbs(None))
def test_an_empty_batch_gives_an_empty_result(free, name):
    verb = verbs(free, free.frame_names[-1])[name]
    q, v, x = random_state(free, np.random.default_rng(1))
    one = np.shape(verb(q, v, x))
    for shape in ((0,), (3, 0)):
        state = (np.empty((*shape, n)) for n in (free.nq, free.nv, free.nv))
        assert np.shape(verb(*state)) == (*shape, *one)


def test_leading_dimensions_broadcast(arm):
    rng = np.random.default_rng(2)
    q, v, a = rng.normal(size=(3, 1, 2)), rng.normal(size=(4, 2)), rng.normal(size=2)
    tau = arm.inverse_dynamics(q, v, a)
    assert tau.shape == (3, 4, 2)
    assert tau[2, 1] == pytest.approx(arm.inverse_dynamics(q[2, 0], v[1], a), rel=1e-13)
    push = arm.inverse_dynamics(q, v, a, {"tip": rng.normal(size=(5, 1, 1, 6))})
    assert push.shape == (5, 3, 4, 2)
    given = arm.forward_dynamics(q[0], v, prescribed={"elbow": np.arange(4.0)})
    assert np.array_equal(given[:, 1], np.arange(4.0))


@pytest.mark.parametrize(
    "kind", [np.float32, np.float16, np.int64, np.int8, np.bool_, np.longdouble, ">f8", list]
)
def test_any_real_type_is_taken(arm, kind):
    q, v, a = np.array([1.0, 0.0]), np.array([0.0, 1.0]), np.array([1.0, 1.0])
    convert = (lambda x: x.tolist()) if kind is list else (lambda x: x.astype(kind))
    assert np.array_equal(arm.inverse_dynamics(*map(convert, (q, v, a))), arm.inverse_dynamics(q, v, a))


def test_read_only_strided_and_unaligned_arrays_are_taken(arm):
    q, v, a = random_state(arm, np.random.default_rng(3))
    expected = arm.inverse_dynamics(q, v, a)
    frozen = q.copy()
    frozen.setflags(write=False)
    strided = np.zeros((2, 3))
    strided[:, 1] = v
    raw = np.zeros(17, dtype=np.uint8)
    unaligned = raw[1:].view(np.float64)
    unaligned[:] = a
    assert np.array_equal(arm.inverse_dynamics(frozen, strided[:, 1], unaligned), expected)
    assert np.array_equal(arm.mass_matrix(frozen), arm.mass_matrix(q))
    reverse = np.array([q, q + 1, q + 2])[::-1]
    assert np.array_equal(arm.mass_matrix(reverse)[2], arm.mass_matrix(np.array([q]))[0])


def test_arguments_are_never_written_to(free):
    state = random_state(free, np.random.default_rng(4))
    for many in (False, True):
        given = [np.array([x, x]) if many else x for x in state]
        before = [x.copy() for x in given]
        for verb in verbs(free, free.frame_names[-1]).values():
            verb(*given)
        assert all(np.array_equal(x, y) for x, y in zip(given, before, strict=True))


def test_out_is_filled_and_returned(arm):
    q, v, a = random_state(arm, np.random.default_rng(5), (3,))
    calls = {
        (3, 2): [
            lambda out: arm.inverse_dynamics(q, v, a, out=out),
            lambda out: arm.forward_dynamics(q, v, a, out=out),
            lambda out: arm.forward_dynamics(q, v, a, prescribed={"elbow": 0.0}, out=out),
            lambda out: arm.bias_forces(q, v, out=out),
            lambda out: arm.integrate(q, v, 0.1, out=out),
            lambda out: arm.difference(q, q + v, out=out),
        ],
        (3, 3): [lambda out: arm.center_of_mass(q, out=out)],
        (3, 6): [lambda out: arm.momentum(q, v, out=out)],
        (3, 2, 2): [
            lambda out: arm.mass_matrix(q, out=out),
            lambda out: arm.actuation_matrix(q, out=out),
            lambda out: arm.coriolis_matrix(q, v, out=out),
        ],
        (3, 4, 4): [lambda out: arm.frames(q, "tip", out=out)],
        (3, 1, 4, 4): [lambda out: arm.frames(q, ["tip"], out=out)],
        (3, 6, 2): [lambda out: arm.jacobian(q, "tip", out=out)],
    }
    for shape, verbs_of_shape in calls.items():
        for verb in verbs_of_shape:
            out = np.full(shape, np.nan)
            assert verb(out) is out
            assert np.array_equal(out, verb(None))
            wrong = (
                (np.empty(shape, np.float32), "float32"),
                (np.empty((*shape, 1)), r"\(3, .*, 1\)"),
                (np.empty(shape, order="F"), "C-contiguous"),
                ([[0.0]], "list"),
            )
            for array, message in wrong:
                with pytest.raises(DimensionError, match=message):
                    verb(array)
            frozen = np.empty(shape)
            frozen.setflags(write=False)
            with pytest.raises(DimensionError, match="read-only"):
                verb(frozen)


def test_wrong_shapes_are_named(arm):
    z = np.zeros(2)
    with pytest.raises(DimensionError, match=r"v has shape \(3,\), expected \(\.\.\., 2\)"):
        arm.inverse_dynamics(z, np.zeros(3), z)
    with pytest.raises(DimensionError, match=r"q has shape \(\)"):
        arm.mass_matrix(1.0)
    with pytest.raises(DimensionError, match=r"do not broadcast: q \(3,\), v \(4,\), a \(\)"):
        arm.inverse_dynamics(np.zeros((3, 2)), np.zeros((4, 2)), z)
    with pytest.raises(DimensionError, match="tau is str 'full'"):
        arm.forward_dynamics(z, z, "full")
    with pytest.raises(DimensionError, match="expected an array of real numbers"):
        arm.mass_matrix(np.zeros(2, complex))
    with pytest.raises(DimensionError, match=r"wrenches\['tip'\] has shape \(3,\)"):
        arm.inverse_dynamics(z, z, z, {"tip": np.zeros(3)})


def test_numbers_that_are_not_finite_are_named(arm, free):
    z, bad = np.zeros(2), np.array([0.0, np.nan])
    for call, message in (
        (lambda: arm.inverse_dynamics(bad, z, z), r"q\[1\] is nan"),
        (lambda: arm.inverse_dynamics(z, z, bad), r"a\[1\] is nan"),
        (lambda: arm.forward_dynamics(z, z, np.array([np.inf, 0])), r"tau\[0\] is inf"),
        (lambda: arm.energy(z, bad), r"v\[1\] is nan"),
        (lambda: arm.mass_matrix(np.array([z, bad, z])), r"q\[1\] of sample 1 is nan"),
        (lambda: arm.inverse_dynamics(z, z, z, {"tip": np.full(6, np.nan)}), r"wrenches\['tip'\]\[0\]"),
        (lambda: arm.difference(z, bad), r"q1\[1\] is nan"),
    ):
        with pytest.raises(StateError, match=message):
            call()
    q = free.neutral()
    q[6] = 1.1
    zero = np.zeros(free.nv)
    for call in (free.mass_matrix, free.frames, lambda q: free.inverse_dynamics(q, zero, zero)):
        with pytest.raises(StateError, match="quaternion in q is not of unit length"):
            call(q)


def test_unknown_names_are_told_with_near_ones(arm):
    z = np.zeros(2)
    for call, message in (
        (lambda: arm.index("elbw"), "coordinate 'elbw'; did you mean elbow"),
        (lambda: arm.frames(z, "tpi"), "frame 'tpi'; did you mean tip"),
        (lambda: arm.jacobian(z, "hand"), "frame 'hand'"),
        (lambda: arm.inverse_dynamics(z, z, z, {"hand": np.zeros(6)}), "frame 'hand'"),
        (lambda: arm.forward_dynamics(z, z, prescribed={"knee": 0.0}), "coordinate 'knee'"),
        (lambda: arm.inverse_dynamics(z, z, z, unactuated="sometimes"), "unactuated 'sometimes'"),
    ):
        with pytest.raises(UnknownNameError, match=message):
            call()
    with pytest.raises(DescriptionError, match="seven_joint_arm"):
        flexdyn_ros.load("no_such_robot")


def test_a_singular_mass_matrix_raises_for_one_state_and_warns_in_a_batch():
    text = robot_text(
        "idle",
        link("base", 0),
        link("arm", 0),
        link("hand", 1.0, (0, 0, 0.5)),
        joint("a", "continuous", "base", "arm", axis=(0, 0, 1)),
        joint("b", "continuous", "arm", "hand", axis=(0, 1, 0)),
    )
    robot = flexdyn_ros.load(text)
    with pytest.raises(SingularityError, match="mass matrix"):
        robot.forward_dynamics(np.zeros(2), np.zeros(2))
    q = np.array([[0.0, 1.0], [0.0, 0.0]])
    with pytest.warns(FlexdynWarning, match="singular in 1 of 2 samples"):
        a = robot.forward_dynamics(q, np.zeros(2))
    assert np.isfinite(a[0]).all()
    assert np.isnan(a[1]).all()
    with pytest.warns(FlexdynWarning, match="singular in 1 of 2 samples"):
        linear = robot.linearize(q, np.zeros(2))
    assert np.isfinite(linear.A[0]).all()
    assert np.isnan(linear.A[1, 2:]).all()


def test_results_do_not_depend_on_the_number_of_threads(free):
    q, v, a = random_state(free, np.random.default_rng(6), (1000,))
    try:
        results = []
        for count in (1, 2, 3):
            set_batch_threads(count)
            results.append([verb(q, v, a) for verb in verbs(free, free.frame_names[-1]).values()])
    finally:
        set_batch_threads(None)
    for other in results[1:]:
        assert all(np.array_equal(x, y) for x, y in zip(results[0], other, strict=True))


def test_one_robot_serves_eight_threads():
    """Single calls (which share the robot's work memory) and batches, mixed."""
    robot = real_robot(QUADRUPED, True)
    rng = np.random.default_rng(7)
    states = [random_state(robot, rng, (300,)) for _ in range(8)]
    calls = [
        lambda q, v, a: robot.inverse_dynamics(q, v, a),
        lambda q, v, a: robot.forward_dynamics(q, v, a),
        lambda q, v, a: robot.mass_matrix(q),
    ]
    expected = [[call(*state) for call in calls] for state in states]
    wrong = []

    def work(i):
        q, v, a = states[i]
        for call, reference in zip(calls, expected[i], strict=True):
            if not np.array_equal(call(q, v, a), reference):
                wrong.append((i, "batch"))
            for s in range(300):
                one = call(q[s], v[s], a[s])
                if np.abs(one - reference[s]).max() > 1e-9 * (1 + np.abs(reference[s]).max()):
                    wrong.append((i, s))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_robots_pickle(free):
    loaded = free.with_payload(free.frame_names[-1], 2.0, (0.1, 0.2, 0.3))
    again = pickle.loads(pickle.dumps(loaded))
    q, v, a = random_state(loaded, np.random.default_rng(8))
    assert np.array_equal(again.inverse_dynamics(q, v, a), loaded.inverse_dynamics(q, v, a))
    assert again.coordinates == loaded.coordinates
    assert again.mass == pytest.approx(free.mass + 2.0)


def test_a_pickled_robot_works_in_another_process(arm):
    code = (
        "import pickle, sys; robot = pickle.load(sys.stdin.buffer);"
        "print(*robot.mass_matrix(robot.neutral()).ravel().tolist())"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], input=pickle.dumps(arm), capture_output=True, check=True, timeout=550
    )
    assert [float(x) for x in run.stdout.split()] == arm.mass_matrix(np.zeros(2)).ravel().tolist()


def test_no_warnings_on_good_arguments(free):
    q, v, a = random_state(free, np.random.default_rng(9), (5,))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for verb in verbs(free, free.frame_names[-1]).values():
            verb(q, v, a)


def test_a_robot_answers_the_protocol(arm):
    assert isinstance(arm, flexdyn_ros.Robot)


@pytest.mark.parametrize("name", verbs(None))
def test_every_verb_refuses_what_is_no_state(free, name):
    verb = verbs(free, "l5")[name]
    q, v, x = random_state(free, np.random.default_rng(5))
    for bad in (
        np.where(np.arange(free.nq) == free.nq - 1, np.nan, q),
        np.where(np.arange(free.nq) < 7, 2 * q, q),
    ):
        with pytest.raises(StateError):
            verb(bad, v, x)


def test_deflections_refuse_what_is_no_state(arm):
    assert arm.deflections(arm.neutral()) == {}
    with pytest.raises(StateError, match=r"q\[1\]"):
        arm.deflections([0.0, np.inf])


@pytest.mark.parametrize(
    ("dt", "error"), [(np.nan, StateError), (np.inf, StateError), ([0.1, 0.2], DimensionError)]
)
def test_integrate_refuses_what_is_no_time(arm, dt, error):
    with pytest.raises(error, match="dt"):
        arm.integrate(arm.neutral(), np.ones(arm.nv), dt)


def test_wrenches_and_prescribed_are_mappings(arm):
    q, v = arm.neutral(), np.zeros(arm.nv)
    with pytest.raises(DimensionError, match="wrenches is list"):
        arm.inverse_dynamics(q, v, v, [np.zeros(6)])
    with pytest.raises(DimensionError, match="prescribed is ndarray"):
        arm.forward_dynamics(q, v, prescribed=np.zeros(2))


def test_robots_are_immutable(arm):
    for name in ("name", "nq", "gravity", "something_new"):
        with pytest.raises(AttributeError, match="immutable"):
            setattr(arm, name, 0)
    with pytest.raises(ValueError, match="read-only"):
        arm.gravity[2] = 0.0


def massless_wrist() -> flexdyn_ros.Robot:
    """Two joints about one axis: its mass matrix is singular everywhere."""
    return flexdyn_ros.load(
        robot_text(
            "twice",
            link("base", 0),
            link("middle", 0),
            link("end", 1.0, inertia=(0.1, 0, 0, 0.1, 0, 0.1)),
            joint("first", "continuous", "base", "middle", axis=(0, 0, 1)),
            joint("second", "continuous", "middle", "end", axis=(0, 0, 1)),
        )
    )


def test_a_batch_of_one_is_a_batch_where_the_mass_matrix_is_singular():
    robot = massless_wrist()
    v = np.zeros(2)
    for verb in (
        lambda q: robot.forward_dynamics(q, v),
        lambda q: robot.linearize(q, v).B[..., 2:, :],
        lambda q: robot.modes(q).frequency,
    ):
        with pytest.raises(SingularityError):
            verb(np.zeros(2))
        for shape in ((1,), (3,), (2, 1)):
            with pytest.warns(FlexdynWarning) as told:
                result = verb(np.zeros((*shape, 2)))
            assert len(told) == 1
            assert f"{np.prod(shape)} of {np.prod(shape)}" in str(told[0].message)
            assert result.shape[: len(shape)] == shape
            assert np.isnan(result).all()


def test_no_centre_of_mass_where_nothing_moves():
    fixed = flexdyn_ros.load(robot_text("post", link("base", 2.0)))
    assert fixed.mass == 2.0
    with pytest.raises(SingularityError, match="centre of mass"):
        fixed.center_of_mass([])
