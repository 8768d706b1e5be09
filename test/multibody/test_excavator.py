"""The included excavator: linkages in closed form, forces of cylinders, energy, reactions of the pin."""

from __future__ import annotations

import re
from itertools import product

import numpy as np
import pytest
from scipy.linalg import eigh

import flexdyn_ros

G = 9.81
#: bell crank in the plane of the arm: pins of rocker, bucket, cylinder; rocker, link, lug of the bucket [m]
ROCKER, BUCKET, CYLINDER = np.array([2.48, 0.0]), np.array([2.925, 0.0]), np.array([0.42, 0.5])
A, B, C = 0.62, 0.60, 0.46
CURLS = (-1.6, -1.0, -0.3, 0.0, 0.6, 1.2, 1.5)
#: cylinder, bore, rod; two cylinders raise the boom
BORES = (
    ("boom_cylinder", 0.12 * 2**0.5, 0.085 * 2**0.5), ("arm_cylinder", 0.135, 0.095),
    ("bucket_cylinder", 0.115, 0.08),
)  # fmt: skip
ACTIVE = ("swing", "lift", "reach", "curl")


@pytest.fixture(scope="module")
def excavator():
    return flexdyn_ros.load("excavator")


def turned(angle):
    return np.array([np.cos(angle), np.sin(angle)])


def linkage(curl):
    """Directions of rocker and link, and their pins, at a curl of the bucket.

    The rocker ends where circles about both pins meet, on the side of the cylinder.
    """
    # lug of the bucket at 120 degrees of its axis, which stands at -60 degrees at zero
    pin = BUCKET + C * turned(curl + np.pi / 3.0)
    d = pin - ROCKER
    size = np.linalg.norm(d)
    rocker = np.arctan2(d[1], d[0]) + np.arccos((A**2 + size**2 - B**2) / (2.0 * A * size))
    end = ROCKER + A * turned(rocker)
    return rocker, np.arctan2(*(pin - end)[::-1]), end, pin


def cross(a, b):
    return a[0] * b[1] - a[1] * b[0]


def advantage(curl):
    """Moment on the bucket by the force of its cylinder [m], from three moments.

    Cylinder and link about the pin of the rocker, link about that of the bucket.
    """
    _, link, end, pin = linkage(curl)
    push = (end - CYLINDER) / np.linalg.norm(end - CYLINDER)
    along = turned(link)
    in_link = cross(end - ROCKER, push) / cross(end - ROCKER, along)
    return in_link * cross(pin - BUCKET, along)


def posed(robot, lift=0.0, reach=0.0, curl=0.0, swing=0.0):
    q = robot.neutral()
    rocker, link, _, _ = linkage(curl)
    q[:] = swing, lift, reach, curl, rocker - np.pi / 2.0, link - rocker + np.pi / 2.0
    return q


def test_it_is_what_it_says(excavator):
    assert excavator.actuators == ("swing", "boom_cylinder", "arm_cylinder", "bucket_cylinder")
    assert excavator.mobility == 4
    (loop,) = excavator.loops
    assert (loop.name, loop.type, loop.rows, loop.redundant) == ("bucket_pin", "revolute", 5, 3)
    assert flexdyn_ros.check("excavator").warnings == ()
    # boom, arm and bucket to the teeth, level
    q = posed(excavator, reach=np.pi / 2.0)
    foot, teeth = excavator.frames(q, ["boom", "teeth"])[:, :3, 3]
    assert 9.0 < np.linalg.norm(teeth - foot) < 10.2


@pytest.mark.parametrize("curl", CURLS)
def test_the_bell_crank_closes_where_circles_meet(excavator, curl):
    q = posed(excavator, excavator.neutral()[1], curl=curl)
    assert np.abs(excavator.loop_residual(q)).max() < 1e-14
    found = excavator.neutral()
    # in two parts: far from the neutral pose there is another branch
    for share in (0.5, 1.0):
        found[3] = share * curl
        found = excavator.assemble(found, lock=ACTIVE)
    np.testing.assert_allclose(found, q, atol=1e-11)


@pytest.mark.parametrize("curl", CURLS)
def test_the_cylinder_of_the_bucket_has_the_length_of_the_linkage(excavator, curl):
    _, _, end, _ = linkage(curl)
    state = excavator.cylinder_states(posed(excavator, 0.2, -0.3, curl), np.zeros(excavator.nv))
    np.testing.assert_allclose(state.length[2], np.linalg.norm(end - CYLINDER), rtol=1e-13)
    assert 0.0 < state.stroke[2] < 1.12


def test_check_tells_lengths_and_pressures_where_the_loops_are_closed(excavator):
    q, still = excavator.neutral(), np.zeros(excavator.nv)
    states, notes = excavator.cylinder_states(q, still), flexdyn_ros.check("excavator").notes
    tau = dict(zip(excavator.effort_names, excavator.inverse_dynamics(q, still, still), strict=True))
    for (name, bore, rod), length, stroke in zip(BORES, states.length, states.stroke, strict=True):
        first, second = (note for note in notes if note.startswith(name))
        assert f"length {length:.4g} m at zero, the rod is {stroke:.4g} of" in first
        bore_bar, rod_bar, force = map(float, re.findall(r" (-?[\d.e+]+) (?:bar|N)", second))
        assert force == pytest.approx(tau[name], rel=1e-3)
        A_1, A_2 = np.pi / 4.0 * bore**2, np.pi / 4.0 * (bore**2 - rod**2)
        # to four digits
        pushed = A_1 * bore_bar * 1e5 - A_2 * rod_bar * 1e5 - (A_1 - A_2) * 101325.0
        assert pushed == pytest.approx(force, abs=0.06e5 * (A_1 + A_2))


def test_cylinders_reach_as_far_as_their_joints(excavator):
    for name, place, lower, upper in (("lift", 0, -0.9, 0.88), ("reach", 1, -1.15, 1.12)):
        for value in (lower, upper):
            stroke = excavator.cylinder_states(
                posed(excavator, **{name: value}), np.zeros(excavator.nv)
            ).stroke
            assert 0.0 < stroke[place] < (1.334, 1.49)[place]


@pytest.mark.parametrize("curl", CURLS)
def test_its_mechanical_advantage_is_that_of_three_moments(excavator, curl):
    """A moment on the bucket is held by a force of the cylinder that moments about the pins give."""
    q, still = posed(excavator, 0.3, -0.2, curl), np.zeros(excavator.nv)
    load = {"bucket": [0.0, -30e3, 0.0, 0.0, 0.0, 0.0]}
    tau = excavator.inverse_dynamics(q, still, still, wrenches=load)
    tau = tau - excavator.inverse_dynamics(q, still, still)
    # 30 kN m about -y: turns as curl does
    np.testing.assert_allclose(tau[-1], -30e3 / advantage(curl), rtol=1e-10)


@pytest.mark.parametrize("pose", [(0.4, -0.3, 0.2), (-0.5, 0.8, -1.1), (0.7, 0.2, 1.2)])
def test_forces_at_rest_are_those_of_virtual_work(excavator, pose):
    """Force = slope of the potential energy on closed poses over slope of the length, by differences."""
    still = np.zeros(excavator.nv)
    tau = excavator.inverse_dynamics(posed(excavator, *pose), still, still)
    h = 1e-3
    steps = np.array([-2.0, -1.0, 1.0, 2.0])
    weights = np.array([1.0, -8.0, 8.0, -1.0]) / (12.0 * h)
    slopes, lengths = np.zeros(3), np.zeros((3, 3))
    for i in range(3):
        poses = [posed(excavator, *(np.array(pose) + k * h * np.eye(3)[i])) for k in steps]
        slopes[i] = weights @ [excavator.energy(x, still).gravity for x in poses]
        lengths[i] = weights @ [excavator.cylinder_states(x, still).length for x in poses]
    np.testing.assert_allclose(tau[-3:], np.linalg.solve(lengths, slopes), rtol=1e-8)
    assert np.abs(tau[1:6]).max() < 1e-6
    assert np.abs(tau[0]) < 1e-6


@pytest.mark.parametrize("load", [0.0, 1500.0])
def test_pressures_over_the_work_space_are_those_of_the_oil(excavator, load):
    robot = excavator.with_payload("bucket", load, com=(0.6, 0.0, 0.4)) if load else excavator
    ranges = np.linspace(-0.88, 0.86, 5), np.linspace(-1.1, 1.1, 5), np.linspace(-1.5, 1.4, 4)
    poses = np.array([posed(robot, *pose) for pose in product(*ranges)])
    states, names = robot.rest_states(poses), [state.name for state in robot.element_states]
    force = robot.inverse_dynamics(poses, np.zeros((len(poses), 6)), np.zeros((len(poses), 6)))[:, -3:]
    for k, (name, bore, rod) in enumerate(BORES):
        A = 0.25 * np.pi * bore**2
        low, high = (states[:, names.index(f"{name}/pressure_{port}")] for port in ("bore", "rod"))
        assert min(low.min(), high.min()) > 3e5
        assert max(low.max(), high.max()) < 350e5
        # pressures are absolute, air acts on the rod
        shaft = 0.25 * np.pi * rod**2
        exact = low * A - high * (A - shaft) - 101325.0 * shaft
        np.testing.assert_allclose(exact, force[:, k], atol=1.0)


def test_the_link_carries_only_its_weight_across(excavator):
    """The force on the pin is along the link, but for the weight of the link."""
    q, still = posed(excavator, 0.2, -0.4, 0.5), np.zeros(excavator.nv)
    load = {"bucket": [0.0, -40e3, 0.0, 0.0, 0.0, 0.0]}
    tau = excavator.inverse_dynamics(q, still, still, wrenches=load)
    found = excavator.loop_reactions(q, still, tau=tau, wrenches=load)
    R = excavator.frames(q, "link")[:3, :3]
    along, across = R[:, 0], R[:, 2]
    # on the bucket: half of 60 kg of a link whose centre of mass is in its middle
    np.testing.assert_allclose(found.force[0] @ across, 0.5 * 60.0 * -G * across[2], rtol=1e-9)
    # moment about the pin of the bucket: weight of the bucket and load
    arm_of_pin = excavator.frames(q, "link")[:3, 3] + 0.6 * along - excavator.frames(q, "bucket")[:3, 3]
    com = excavator.frames(q, "bucket")[:3, :3] @ [0.55, 0.0, 0.35]
    moment = np.cross(arm_of_pin, found.force[0]) + np.cross(com, [0.0, 0.0, -750.0 * G]) + [0.0, -40e3, 0.0]
    assert abs(moment[1]) < 1e-6
    # rows of the plane are determined, those that hold the plane are not
    assert found.determinate.tolist() == [True, True, False, False, False]


def test_it_keeps_its_energy():
    """Ten seconds on springs in place of oil: 1e-8 of the range of the energy."""
    text = flexdyn_ros.load("excavator").description.text
    excavator = flexdyn_ros.load(re.sub(r"<(supply|hydraulics)\b.*?</\1>", "", text, flags=re.DOTALL))
    assert excavator.hydraulics is None
    q = posed(excavator, 0.3, -0.2, 0.3)
    still = np.zeros(excavator.nv)
    hold = excavator.inverse_dynamics(q, still, still)
    rest = np.array(excavator.cylinder_states(q, still).length)
    stiffness = np.array([2e6, 1e6, 5e5])
    v = np.zeros(excavator.nv)
    v[:4] = 0.2, 0.12, -0.2, 0.4
    _, v = excavator.project(q, v)

    def springs(t, q, v):
        tau = hold.copy()
        tau[-3:] -= stiffness * (excavator.cylinder_states(q, v).length - rest)
        return tau

    run = flexdyn_ros.simulate(
        excavator, 10.0, q, v, control=flexdyn_ros.continuous(springs), rtol=1e-10, sample=0.1
    )
    stretch = excavator.cylinder_states(run.q, run.v).length - rest
    stored = (0.5 * stiffness * stretch**2 - hold[-3:] * stretch).sum(axis=1)
    both = np.array([excavator.energy(x, y)[:2] for x, y in zip(run.q, run.v, strict=True)])
    energy, span = both.sum(axis=1) + stored, both[:, 0].max()
    assert span > 1e3
    assert np.abs(energy - energy[0]).max() < 1e-8 * span
    assert np.abs(excavator.loop_residual(run.q)).max() < 1e-10
    assert np.abs(np.einsum("nij,nj->ni", excavator.loop_jacobian(run.q), run.v)).max() < 1e-9


def test_first_frequencies_are_those_of_oil_and_masses(excavator):
    """beta A^2 / V of both chambers on the lengths, on the motions that the linkage leaves."""
    pose = (0.3, -0.2, 0.3)
    q, still = posed(excavator, *pose), np.zeros(6)
    value = dict(
        zip([s.name for s in excavator.element_states], excavator.rest_states(q).tolist(), strict=True)
    )
    ports = ("bore", "rod")
    pressures = [np.array([value[f"{name}/pressure_{port}"] for name, _, _ in BORES]) for port in ports]
    lengths = np.array(excavator.cylinder_states(q, still).length)
    springs = excavator.hydraulics.stiffness(lengths, pressures)
    h = 1e-5
    ahead, back = (
        [posed(excavator, *(np.array(pose) + sign * h * e)) for e in np.eye(3)] for sign in (1.0, -1.0)
    )
    N = (np.array(ahead) - back).T / (2.0 * h)
    L = np.array([
        (excavator.cylinder_states(x, still).length - excavator.cylinder_states(y, still).length) / (2.0 * h)
        for x, y in zip(ahead, back, strict=True)
    ]).T  # fmt: skip
    squares = eigh(L.T @ np.diag(springs) @ L, N.T @ excavator.mass_matrix(q) @ N, eigvals_only=True)
    found = excavator.modes(q).frequency
    # the swing is free; weights have stiffness too
    assert abs(found[0]) < 1e-6
    np.testing.assert_allclose(found[1:], np.sqrt(squares) / (2.0 * np.pi), rtol=5e-3)


@pytest.mark.parametrize("load", [0.0, 1500.0])
def test_the_boom_comes_down_evenly_as_fast_as_its_oil(excavator, load):
    robot = excavator.with_payload("bucket", load, com=(0.6, 0.0, 0.4)) if load else excavator
    run = flexdyn_ros.simulate(
        robot, 2.5, posed(robot, 0.5), dt=1e-3,
        control=lambda t, q, v: {"boom_cylinder/valve": -0.3 * np.interp(t, [0, 0.5, 2, 2.5], [0, 1, 1, 0])},
    )  # fmt: skip
    assert not any("cavitates" in text for text in run.warnings)
    even = slice(1000, 2000)
    rate = robot.cylinder_states(run.q[even], run.v[even]).rate[:, 0]
    ring = 0.25 * np.pi * (BORES[0][1] ** 2 - BORES[0][2] ** 2)
    np.testing.assert_allclose(rate.mean(), -0.3 * 6e-3 / ring, rtol=0.03)
    assert rate.std() < 0.1 * abs(rate.mean())
    assert np.abs(robot.loop_residual(run.q)).max() < 1e-10


def test_it_stays_on_shut_valves(excavator):
    q = posed(excavator, 0.4, -0.3, 0.6)
    run = flexdyn_ros.simulate(excavator, 5.0, q, dt=1e-3)
    assert np.abs(run.q - q).max() < 1e-6
