"""Wheeled arms: beams that turn, hard tyres, equilibria (mobile specification, sections 12, 15, 16)."""

import warnings

import numpy as np
import pytest
from mobile_arms import absolute, arm, chain, efforts, held
from scipy.linalg import eigh

import flexdyn_ros
from flexdyn_ros.errors import FlexdynWarning

#: first in-plane frequency of a beam that turns at Omega about its root: many functions, two functions (15.2)
TURNING = {2.0: (3.622, 3.649), 5.0: (4.074, 4.192), 10.0: (5.049, 5.622)}
#: EI 200, mass per length 1.625, length 0.8 of the first link of `chain`
SCALE = np.sqrt(200.0 / 1.625) / 0.8**2


def turning_beam(functions, **formulation):
    """The first link of a cart, without gravity and stretch."""
    options = {f"formulation.{key}": value for key, value in formulation.items()}
    options |= {"links.l1.modes.bending_z": functions, "links.l1.modes.axial": 0, "gravity": [0.0, 0.0, 0.0]}
    options["links.l1.damping"] = None
    return flexdyn_ros.load(chain((True,)), options=options)


def first_frequency(robot, Omega):
    """Dimensionless, of the modes alone while the joint turns evenly: K = d tau / d q_f at a = 0."""
    n = robot.nv
    modes = [i for i, c in enumerate(robot.coordinates) if c.kind == "bending_z"]
    v = np.zeros(n)
    v[robot.index("j1")] = Omega * SCALE
    K = np.empty((len(modes), len(modes)))
    for column, i in enumerate(modes):
        e = np.zeros(n)
        e[i] = 1e-4  # forces are linear in small deflections: a central difference is exact to rounding
        change = robot.inverse_dynamics(e, v, 0 * v) - robot.inverse_dynamics(-e, v, 0 * v)
        K[:, column] = change[modes] / 2e-4
    M = robot.mass_matrix(np.zeros(n))[np.ix_(modes, modes)]
    squared = eigh(0.5 * (K + K.T), M, eigvals_only=True)[0] / SCALE**2
    return np.sqrt(squared) if squared >= 0.0 else -np.sqrt(-squared)


PATHS = {
    "floating_frame": {"stiffening": "geometric"},
    "articulated": {"method": "articulated", "rotary_inertia": "none", "stiffening": "full"},
}


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("Omega", TURNING)
def test_a_beam_that_turns_gets_stiffer(path, Omega):
    many, two = TURNING[Omega]
    assert first_frequency(turning_beam(8, **PATHS[path]), Omega) == pytest.approx(many, abs=6e-4)
    assert first_frequency(turning_beam(2, **PATHS[path]), Omega) == pytest.approx(two, abs=6e-4)


def test_without_stiffening_a_beam_that_turns_gets_softer_until_it_bends_away():
    robot = turning_beam(8)
    for Omega in (1.0, 3.0):
        assert first_frequency(robot, Omega) ** 2 == pytest.approx(12.36 - Omega**2, abs=5e-3)
    assert first_frequency(robot, 4.0) < 0.0


def test_hard_tyres_on_light_hubs_tend_to_wheels_without_mass():
    plain = flexdyn_ros.load(chain((True,)))
    rest = plain.static_equilibrium(hold=("j1",)).q
    # the hub sinks by what it carries over the stiffness: first order in 1/stiffness
    gaps = []
    for stiffness in (1e6, 1e7, 1e8):
        text = chain((True,), tyres=True)
        options = {
            f"wheel.{name}.{key}": value
            for name in ("rear", "front")
            for key, value in (
                ("suspension.free_length", 0.16),
                ("tyre.radius", 0.1),
                ("tyre.stiffness", stiffness),
                ("tyre.mass", 1e-3),
            )
        }
        robot = flexdyn_ros.load(text, options=options)
        found = robot.static_equilibrium(np.append(rest, [0.1, 0.1]), hold=("j1",)).q
        gaps.append(np.abs(found[: plain.nq] - rest).max())
        q, v = np.append(rest, [0.1, 0.1]), np.zeros(robot.nv)
        q[1] += 0.01
        low = robot.wheel_forces(np.append(q[:-2], [0.1, 0.1]), v).suspension
        assert np.allclose(low, plain.wheel_forces(q[: plain.nq], v[: plain.nv]).suspension, atol=1e-9)
    assert gaps[0] / gaps[1] == pytest.approx(10.0, rel=1e-3)
    assert gaps[1] / gaps[2] == pytest.approx(10.0, rel=1e-2)
    assert gaps[2] < 2e-6


@pytest.mark.parametrize("pose", [(-45.0, 120.0), (30.0, 30.0), (45.0, -20.0)])
@pytest.mark.parametrize("flexible", [True, False])
def test_a_held_equilibrium_leaves_nothing_over(pose, flexible):
    robot = arm(formulation__flexible=flexible)
    found = held(robot, np.radians(pose))
    at_rest = arm(formulation__flexible=flexible, drive__speed=0.0)
    q, v = found.q, np.zeros(robot.nv)
    left = at_rest.inverse_dynamics(q, v, v) - found.tau
    assert np.abs(left[1:]).max() <= 1e-9
    assert found.iterations <= 10
    z = absolute(robot) @ q[1:]
    joints = [robot.index("shoulder") - 1, robot.index("elbow") - 1]
    assert np.allclose(z[joints], np.radians(pose), rtol=0.0, atol=1e-13)


def test_a_run_warns_of_links_that_turned_too_fast_for_linear_strain():
    def run(torque, **options):
        robot = arm(**options)
        q = held(robot, np.radians([-45.0, 120.0])).q
        control = efforts(robot, torque, -2.0)
        return robot, flexdyn_ros.simulate(robot, 0.25, q, dt=5e-4, method="scaled_rk4", control=control)

    with pytest.warns(FlexdynWarning, match=r"link 'link_2' up to .* first clamped rate is 63") as caught:
        robot, fast = run(45.0)
    assert sum("turned so fast" in str(w.message) for w in caught) == 1
    # rates are those of the absolute angles
    joints = [robot.index(joint) - 1 for joint in ("shoulder", "elbow")]
    turned = np.abs(fast.v[:, 1:] @ absolute(robot)[joints].T).max(axis=0)
    assert robot.softening.shares(fast.v) * robot.softening.rates == pytest.approx(turned, rel=1e-12)
    assert turned[1] > 0.3 * 63.0
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="links turned so fast", category=FlexdynWarning)
        run(15.0)
        run(45.0, formulation__stiffening="geometric")
        run(45.0, formulation__flexible=False)


def test_check_reports_the_masses_of_the_links_the_loads_of_the_wheels_and_what_softens():
    report = flexdyn_ros.check("mobile_arm")
    assert [link.link for link in report.flexible] == ["link_1", "link_2"]
    assert [link.whole.mass for link in report.flexible] == [1.0, 1.3]
    assert [link.beam.mass for link in report.flexible] == pytest.approx([1.0, 1.3], rel=1e-12)
    assert report.warnings == ()
    loads = next(note for note in report.notes if "wheels carry" in note)
    rest = flexdyn_ros.load("mobile_arm").static_equilibrium(hold="joints")
    wheels = flexdyn_ros.load("mobile_arm").wheel_forces(rest.q, np.zeros(11)).normal
    assert f"rear {wheels[0]:.4g} N, front {wheels[1]:.4g} N" in loads
    assert wheels.sum() == pytest.approx(22.3 * 9.8, rel=1e-12)
    # 72 rad/s is the first clamped frequency of section 17, 11.4882 Hz
    assert any("link_1" in note and "beyond 72.2 rad/s" in note for note in report.notes)
    assert not any("softens" in note for note in flexdyn_ros.check("mobile_arm_spatial").warnings)
