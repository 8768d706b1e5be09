"""Modes of a closed mechanism that turns steadily, against the motion of its own two coordinates."""

import numpy as np
import pytest
from machines import joint, robot, rod

import flexdyn_ros
from flexdyn_ros.errors import StateError

SPEED = 3.0
LOOP = (
    '<loop name="pin" type="revolute" base="coupler" base_xyz="0.5 0 0" end="rocker" end_xyz="0.4 0 0"'
    ' axis="0 1 0"/>'
)


def governor():
    """A four-bar that hangs from a shaft, which turns about gravity; a spring holds the rocker."""
    parts = (
        rod("shaft", 0.3, 2.0, axial=0.05),
        rod("crank", 0.3, 0.5),
        rod("coupler", 0.5, 1.0),
        rod("rocker", 0.4, 0.8),
        joint("turn", "ground", "shaft", axis=(0.0, 0.0, 1.0)),
        joint("crank_joint", "shaft", "crank"),
        joint("coupler_joint", "crank", "coupler", at=(0.3, 0.0, 0.0)),
        joint("rocker_joint", "shaft", "rocker", at=(0.45, 0.0, 0.1)),
    )
    start = '<assembly start="crank_joint 1.4 coupler_joint -0.9 rocker_joint 1.7"/>'
    spring = (
        '<torsion_spring name="s" base="shaft" end="rocker" axis="0 1 0" stiffness="40" reference="1.2"'
        ' damping="0.3"/>'
    )
    active = '<actuation active="turn crank_joint"/>'
    text = robot("governor", *parts, flexdyn=f"<gravity>0 0 -9.81</gravity>{LOOP}{start}{spring}{active}")
    return flexdyn_ros.load(text)


@pytest.fixture(scope="module")
def machine():
    return governor()


def state(robot, x, rates):
    """The state with the shaft and the crank as given."""
    q = robot.neutral()
    q[:2] = x
    q = robot.assemble(q, lock=("turn", "crank_joint"))
    N = robot.functions.motions(q)
    return q, N @ np.linalg.solve(N[:2], rates)


def test_modes_are_those_of_shaft_and_crank(machine):
    """x'' = f(x, x') by differences; efforts at shaft and crank hold the motion."""
    x0, rates0 = machine.neutral()[:2], np.array([SPEED, 0.0])
    q, v = state(machine, x0, rates0)
    tau = machine.inverse_dynamics(q, v, np.zeros(machine.nv))
    assert np.abs(machine.forward_dynamics(q, v, tau)).max() <= 1e-9

    def f(x, rates):
        return machine.forward_dynamics(*state(machine, x, rates), tau)[:2]

    h, eye, none = 1e-4, np.eye(2), np.zeros(2)

    def slopes(dx, dv):
        ends = [f(x0 + step * dx, rates0 + step * dv) for step in (h, -h)]
        return (ends[0] - ends[1]) / (2.0 * h)

    by = [[slopes(a, none) for a in eye], [slopes(none, a) for a in eye]]
    A = np.block([[np.zeros((2, 2)), eye], [np.array(x).T for x in by]])
    s = np.linalg.eigvals(A)
    fastest = s[np.argmax(s.imag)]
    found = machine.modes(q, v=v)
    assert found.frequency.shape == (2,)
    assert found.shape.shape == (machine.nv, 2)
    assert found.frequency[-1] == pytest.approx(abs(fastest) / (2.0 * np.pi), rel=1e-6)
    assert found.damping_ratio[-1] == pytest.approx(-fastest.real / abs(fastest), rel=1e-5)
    # turning stiffens
    assert found.frequency[-1] > 1.005 * machine.modes(q).frequency[-1]
    # shapes are motions on the loops
    assert (
        np.abs(machine.loop_jacobian(q) @ found.shape[:, -1]).max() <= 1e-9 * np.abs(found.shape[:, -1]).max()
    )


def test_a_locked_shaft_leaves_the_crank(machine):
    """x'' = f(x, x') of the crank, while an effort at the shaft keeps its speed."""
    start, turn = np.array([machine.neutral()[1], 0.0]), np.eye(machine.nu)[0]
    q, v = state(machine, machine.neutral()[:2], np.array([SPEED, 0.0]))
    found = machine.modes(np.tile(q, (2, 1)), v=v, lock=("turn",))
    assert found.frequency.shape == (2, 1)
    np.testing.assert_array_equal(found.shape[:, 0], 0.0)
    tau = machine.inverse_dynamics(q, v, np.zeros(machine.nv))

    def f(x):
        at = state(machine, [machine.neutral()[0], x[0]], np.array([SPEED, x[1]]))
        free, driven = (machine.forward_dynamics(*at, u)[:2] for u in (tau, tau + turn))
        return free[1] - (driven - free)[1] * free[0] / (driven - free)[0]

    h = 1e-4
    stiffness, damping = ((f(start - dx) - f(start + dx)) / (2.0 * h) for dx in h * np.eye(2))
    np.testing.assert_allclose(found.frequency, np.sqrt(stiffness) / (2.0 * np.pi), rtol=1e-6)
    np.testing.assert_allclose(found.damping_ratio, 0.5 * damping / np.sqrt(stiffness), rtol=1e-5)


def test_a_crank_that_moves_is_not_steady(machine):
    q, v = state(machine, machine.neutral()[:2], np.array([SPEED, 1.0]))
    with pytest.raises(StateError, match="not steady"):
        machine.modes(q, v=v)
