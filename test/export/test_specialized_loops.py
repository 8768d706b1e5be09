"""Functions that are compiled for one closed mechanism: answers, and what they say, of the general ones."""

import pickle

import machines
import numpy as np
import pytest
from closed_states import INVERSE, possible, state_of
from exported import COMPILERS
from sampled import few

import flexdyn_ros
from flexdyn_ros import export
from flexdyn_ros.errors import DimensionError, FlexdynWarning, SingularityError, StateError

pytestmark = [
    pytest.mark.skipif(not COMPILERS, reason="no C compiler"), pytest.mark.usefixtures("own_compiler")
]  # fmt: skip


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    """A folder of their own for compiled libraries."""
    monkeypatch.setattr("flexdyn_ros.export.native.library.cache_folder", lambda: tmp_path / "kernels")


#: compiled with optimization; the others without, which takes a third of the time
OPTIMIZED = ("delta", "two motors", "beam")


@pytest.mark.parametrize(
    "name",
    # springs of joints, and rigid links, are beside loops in no other way than links that bend
    few(list(INVERSE), INVERSE.keys() - {"rigid mixture", "elastic mixture"}),
)
def test_a_specialized_mechanism_answers_as_the_general_one(name, own_cache, request):
    """Single states and batches of any length, by functions on lanes; M and h are those of the open tree."""
    if name not in OPTIMIZED:
        request.getfixturevalue("quick_compiler_here")
    robot = INVERSE[name]()
    native = export.specialized(robot)
    assert native.functions.origin is not None
    found = [possible(robot, seed) for seed in range(9)]
    q, v, a = (np.array([state[i] for state, _ in found]) for i in range(3))
    tau, force = (
        np.random.default_rng(2).standard_normal((9, robot.nu)),
        max(np.abs(x).max() for _, x in found),
    )
    error = 1e-9 if "mixture" in name else 1e-11
    for count in (None, 1, 8, 9):
        at = 0 if count is None else slice(count)
        state, motion = (q[at], v[at], tau[at]), (q[at], v[at], a[at])
        expected = robot.forward_dynamics(*state)
        near = {"rtol": 0.0, "atol": error * np.abs(expected).max()}
        np.testing.assert_allclose(native.forward_dynamics(*state), expected, **near)
        expected = robot.inverse_dynamics(*motion)
        size = max(np.abs(expected).max(), force)
        np.testing.assert_allclose(native.inverse_dynamics(*motion), expected, rtol=0.0, atol=error * size)
    np.testing.assert_allclose(native.mass_matrix(q[0]), robot.mass_matrix(q[0]), rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(native.bias_forces(q, v), robot.bias_forces(q, v))


def test_a_specialized_mechanism_says_what_the_general_one_says(own_cache):
    robot = machines.four_bar()
    native = export.specialized(robot)
    q, v, tau = state_of(robot)
    open_at, opening, off = q + [0.01, 0.0, 0.0], v + [0.0, 0.1, 0.0], np.array([3.0, -2.0, 5.0])
    for at, speed in ((open_at, v), (q, opening)):
        for third, verb in ((tau, "forward_dynamics"), (off, "inverse_dynamics")):
            for r in (robot, native):
                with pytest.raises(StateError, match="open"):
                    getattr(r, verb)(at, speed, third)
    with pytest.warns(FlexdynWarning, match="1 of 2"):
        found = native.forward_dynamics(np.array([q, open_at]), v, tau)
    assert np.isnan(found[1]).all()
    np.testing.assert_allclose(found[0], robot.forward_dynamics(q, v, tau), rtol=1e-11)
    with pytest.warns(FlexdynWarning, match="the nearest"):
        found = native.inverse_dynamics(q, v, off)
    with pytest.warns(FlexdynWarning, match="the nearest"):
        np.testing.assert_allclose(found, robot.inverse_dynamics(q, v, off))
    wrench = {"rocker": np.arange(6.0)}
    for verb, third in (("forward_dynamics", tau), ("inverse_dynamics", robot.forward_dynamics(q, v))):
        expected = getattr(robot, verb)(q, v, third, wrench)
        np.testing.assert_allclose(getattr(native, verb)(q, v, third, wrench), expected)
    for bad in (q[:2], np.nan * q):
        with pytest.raises((DimensionError, StateError)):
            native.forward_dynamics(bad, v, tau)
    again = pickle.loads(pickle.dumps(native))
    run, expected = (flexdyn_ros.simulate(r, 0.1, q, v, dt=1e-3) for r in (again, robot))
    np.testing.assert_array_equal(run.q, expected.q)


@pytest.mark.usefixtures("quick_compiler_here")
def test_a_specialized_mechanism_tells_singular_poses_and_impossible_motions(own_cache):
    robot = machines.four_bars(1)
    native = export.specialized(robot)
    # the parallelogram that lies flat
    flat, angles = np.zeros(robot.nv), {"foot_0": -0.5, "foot_1": -0.5, "top_0": 0.5}
    for name, turn in angles.items():
        flat[robot.v_names.index(name)] = turn * np.pi
    for r in (robot, native):
        with pytest.warns(FlexdynWarning, match="in a singular pose"):
            assert np.isfinite(r.forward_dynamics(flat, np.zeros(robot.nv), np.ones(robot.nu))).all()
    robot = machines.bricard()
    native = export.specialized(robot)
    (q, v, a), _ = possible(robot, 0)
    N = np.linalg.svd(robot.loop_jacobian(q))[2][-1]
    with pytest.raises(SingularityError):
        native.inverse_dynamics(q, v, a + N)
