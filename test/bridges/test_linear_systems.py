"""Linear systems with names: the matrices of `linearize`, in python-control and in SciPy."""

import numpy as np
import pytest

import flexdyn_ros
from flexdyn_ros.bridges import linear_system
from flexdyn_ros.errors import DimensionError, StateError, UnknownNameError


@pytest.fixture(scope="module")
def arm():
    return flexdyn_ros.load("flexible_two_link")


@pytest.fixture(scope="module")
def system(arm):
    q = arm.neutral()
    q[arm.q_names.index("elbow")] = 0.7
    return linear_system(arm, q, outputs=["shoulder", "elbow"])


def test_states_inputs_and_outputs_have_names(arm, system):
    assert system.states == (*arm.v_names, *(f"{name}.velocity" for name in arm.v_names))
    assert (system.inputs, system.outputs) == (("shoulder", "elbow"), ("shoulder", "elbow"))
    assert system.C @ np.arange(2.0 * arm.nv) == pytest.approx([arm.index("shoulder"), arm.index("elbow")])


def test_the_step_response_is_that_of_the_nonlinear_arm(arm):
    """SciPy's response to a small effort against a simulation of the robot."""
    from scipy.signal import lsim

    q = arm.neutral()
    rest = arm.static_equilibrium(q, hold="joints")
    system = linear_system(arm, rest.q, tau=rest.tau, outputs=["shoulder", "link_2/bending_y/1"])
    small = np.array([1e-4, -2e-5])
    run = flexdyn_ros.simulate(
        arm, 0.3, rest.q, control=rest.tau + arm.efforts(small), rtol=1e-9, sample=1e-3
    )
    _, y, _ = lsim(system.to_scipy(), np.tile(small, (len(run), 1)), run.t)
    moved = np.column_stack([run[name] - run[name][0] for name in system.outputs])
    assert np.abs(y - moved).max(0) == pytest.approx(np.zeros(2), abs=2e-4 * np.abs(moved).max())


def test_python_control_has_the_same_poles_and_names(system):
    control = pytest.importorskip("control")
    found = system.to_control()
    assert found.state_labels[0] == "shoulder"
    assert found.state_labels[-1].endswith("_velocity")
    assert found.input_labels == ["shoulder", "elbow"]
    assert np.allclose(np.sort_complex(control.poles(found)), np.sort_complex(np.linalg.eigvals(system.A)))


def test_legs_drive_through_the_actuation_matrix():
    platform = flexdyn_ros.load("stewart_electric")
    q = platform.neutral()
    system = linear_system(platform, q)
    assert system.inputs == platform.actuators
    M, B = platform.mass_matrix(q), platform.actuation_matrix(q)
    assert np.allclose(system.B[platform.nv :], np.linalg.solve(M, B), rtol=1e-9)


def test_states_that_stand_still_can_be_left_out(system):
    names = ["link_1/torsion/1", "link_1/torsion/1.velocity"]
    smaller = system.without(names)
    kept = [i for i, name in enumerate(system.states) if name not in names]
    assert np.array_equal(smaller.A, system.A[np.ix_(kept, kept)])
    assert (smaller.B.shape, smaller.C.shape) == ((len(kept), 2), (2, len(kept)))
    with pytest.raises(UnknownNameError, match="torsion"):
        system.without(["link_1/torsion/2"])


def test_wrong_outputs_are_refused(arm):
    q = arm.neutral()
    with pytest.raises(UnknownNameError, match="shoulder"):
        linear_system(arm, q, outputs=["sholder"])
    with pytest.raises(DimensionError, match="tip"):
        linear_system(arm, q, outputs={"tip": [1.0]})
    with pytest.raises(StateError, match="tip"):
        linear_system(arm, q, outputs={"tip": np.full(2 * arm.nv, np.nan)})
    with pytest.raises(DimensionError, match="one motion"):
        linear_system(arm, np.tile(q, (2, 1)))


def test_locked_coordinates_are_no_states(arm):
    system = linear_system(arm, arm.neutral(), lock="joints")
    bending = [name for name in arm.v_names if "/" in name]
    assert system.states == (*bending, *(f"{name}.velocity" for name in bending))
    assert system.A.shape == (16, 16)
    assert system.B.shape == (16, 2)
    assert not system.B.any()
