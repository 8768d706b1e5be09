"""Platforms beside what else a tree has: on links that bend, beside loops, on wheels, two of them."""

import pickle
import re
from functools import cache

import numpy as np
import pytest
from exported import COMPILERS, at_random, compiled, residual
from mounted_platforms import (
    ARM,
    BED,
    CARRIAGE,
    ELECTRIC,
    FOUR_BARS,
    MAST,
    OIL,
    ON_MIDDLE,
    ON_ROOT,
    ON_TIP,
    ROD,
    TETHER,
    active,
    loops_of,
    second,
    state_of_loops,
    truck,
    with_arm,
)
from sampled import few
from scipy.linalg import null_space

import flexdyn_ros as fd
from flexdyn_ros import export
from flexdyn_ros.errors import DescriptionError, UnknownNameError
from flexdyn_ros.expanding import expand
from flexdyn_ros.multibody.elements.cylinder.circuits import circuits_of

pytestmark = pytest.mark.usefixtures("quick_compiler")
#: an arm on the second of two
ON_HIGH = ARM.replace('"platform"', '"high"')
MACHINES = {
    "tip": with_arm(ON_TIP + ARM),
    "middle": with_arm(ON_MIDDLE),
    "root": with_arm(ON_ROOT),
    "mast": with_arm(MAST),
    "four_bars": with_arm(FOUR_BARS + ARM + active("turn")),
    "rod": with_arm(FOUR_BARS + ARM + ROD + active("turn shoulder")),
    "tether": with_arm(TETHER + ARM),
    "stacked": with_arm(second("platform", "0.02 0 0.1") + ON_HIGH),
    "side by side": with_arm(CARRIAGE + second("rail", "0.9 0 0.1") + ON_HIGH),
    "truck": truck(),
    "linkage": truck(more=active("turn"), seat=BED),
    "lane": truck("planar", "small_angle", ""),
}
EVERY = pytest.mark.parametrize("name", MACHINES)


@cache
def machine(name):
    """A machine, read once."""
    return fd.load(MACHINES[name])


def state_of(robot, seed):
    """q, v on the loops, efforts of the actuators, and a motion that they make."""
    q, v, a, tau = at_random(robot, seed)
    if not robot.functions.is_constrained:
        return q, v, a, tau
    q, v = robot.project(q, v)
    tau[~np.isin(robot.effort_names, robot.actuators)] = 0.0
    return q, v, robot.forward_dynamics(q, v, tau), tau


def near(found, expected, tolerance):
    """Relative to the largest entry."""
    assert np.abs(found - expected).max() <= tolerance * np.abs(expected).max()


@EVERY
def test_it_is_a_tree_with_loops(name):
    """Accelerations and kinetic energy beside those of the open mechanism with three joints a leg, closed by
    spherical loops."""
    robot, loops = machine(name), loops_of(MACHINES[name])
    shared = [c.name for c in robot.coordinates if c.kind != "platform"]
    for seed in range(3):
        rng = np.random.default_rng(seed)
        q, v, _, _ = state_of(robot, seed)
        given = {n: rng.uniform(-20, 20) for n in robot.actuators}
        sliders = {leg.joints[2]: leg.name for m in robot.mechanisms.values() for leg in m.legs}
        tau = np.array([given.get(n, 0.0) for n in robot.effort_names])
        efforts = np.array([given.get(sliders.get(n, n), 0.0) for n in loops.effort_names])
        at, there = ([r.v_names.index(n) for n in shared] for r in (robot, loops))
        state = state_of_loops(robot, loops, q, v)
        assert np.abs(loops.loop_residual(state[0])).max() <= 1e-9
        near(robot.forward_dynamics(q, v, tau)[at], loops.forward_dynamics(*state, efforts)[there], 1e-8)
        assert robot.energy(q, v).kinetic == pytest.approx(float(loops.energy(*state).kinetic), rel=1e-9)


@EVERY
def test_dynamics_are_inverse_to_each_other(name):
    robot = machine(name)
    for seed in range(3):
        q, v, a, tau = state_of(robot, seed)
        M = robot.mass_matrix(q)
        near(M, M.T, 1e-13)
        assert np.linalg.eigvalsh(M).min() > 0.0
        found = robot.forward_dynamics(q, v, robot.inverse_dynamics(q, v, a))
        assert residual(robot, q, v, tau, found, a) <= 1e-10
    again = fd.load(MACHINES[name]).forward_dynamics(q[None], v[None], tau[None])[0]
    near(again, robot.forward_dynamics(q, v, tau), 1e-9)


@EVERY
def test_energy_is_the_work_of_its_actuators(name):
    robot = machine(name)
    q, still = robot.neutral(), np.zeros(robot.nv)
    tau = robot.inverse_dynamics(q, still, still, actuators="all")
    push = np.isin(robot.effort_names, robot.actuators)
    tau[push] += np.resize([3.0, -2.0, 1.0, 2.0, -3.0, 1.5], push.sum())
    run = fd.simulate(robot, 0.1, q0=q, control=tau, rtol=1e-10)
    assert run.energy.kinetic.max() > 1e-3
    assert run.balance_error <= 1e-6


@EVERY
def test_derivatives_are_those_of_differences(name):
    robot = machine(name)
    q, v, _, tau = state_of(robot, 4)
    A = robot.linearize(q, v, tau).A[robot.nv :]
    tangents = np.eye(robot.nv)
    if robot.functions.is_constrained:
        # by velocities alone: loops stay closed
        tangents = null_space(robot.loop_jacobian(q))
    h = 1e-5 * tangents.T
    by_v = [robot.forward_dynamics(q, v + s * h, tau) for s in (1, -1)]
    found = (by_v[0] - by_v[1]).T / 2e-5
    assert np.abs(found - A[:, robot.nv :] @ tangents).max() <= 1e-6 * np.abs(A).max()
    if not robot.functions.is_constrained:
        by_q = [robot.forward_dynamics(robot.integrate(q, s * h, 1.0), v, tau) for s in (1, -1)]
        assert np.abs((by_q[0] - by_q[1]).T / 2e-5 - A[:, : robot.nv]).max() <= 1e-6 * np.abs(A).max()


@pytest.mark.skipif(not COMPILERS, reason="no C compiler")
# on a link that bends, between loops, on wheels, one on another: of each kind one
@pytest.mark.parametrize("name", few(list(MACHINES), ["mast", "rod", "stacked", "truck"]))
def test_c_computes_the_same(name, tmp_path):
    robot = machine(name)
    export.c(robot, tmp_path, ("inverse_dynamics", "forward_dynamics"))
    library = compiled(tmp_path, robot.name)
    q, v, a, tau = state_of(robot, 3)
    expected = robot.inverse_dynamics(q, v, a)
    near(library.call("inverse_dynamics", q, v, a, sizes=[robot.nu]), expected, 1e-12)
    found = library.call("forward_dynamics", q, v, tau, sizes=[robot.nv])
    assert residual(robot, q, v, tau, found, robot.forward_dynamics(q, v, tau)) <= 1e-12


@EVERY
def test_legs_are_at_home_where_it_is_neutral(name):
    robot = machine(name)
    q, expected = robot.neutral(), np.full(6 * len(robot.mechanisms), 0.375)
    if name != "tether":
        assert robot.cylinder_states(q, np.zeros(robot.nv)).length == pytest.approx(expected, abs=1e-9)
    # the rod of three may tie drawn platforms to what else is drawn
    out = 0.02 if name in ("rod", "tether") else 0.0
    for seed in range(3):
        used = robot.cylinder_states(robot.random(np.random.default_rng(seed)), np.zeros(robot.nv)).stroke
        assert used.min() >= -out
        assert used.max() <= 0.15 + out


@EVERY
def test_oil_in_the_legs_moves_it(name):
    """Fixed implicit steps come near to a run with error control, with a valve that opens."""
    robot = fd.load(MACHINES[name].replace("</platform>", OIL + "</platform>"))
    leg = robot.description.platform.legs[0].name
    control = fd.simulation.ValveOpenings(np.resize([0.2, -0.1, 0.1, 0.0], len(robot.hydraulics.names)))
    exact, fixed = (fd.simulate(robot, 0.05, control=control, **o) for o in ({}, {"dt": 5e-4}))
    assert {f"{leg}/pressure_bore", f"{leg}/spool"} <= {state.name for state in robot.element_states}
    moved = np.abs(exact.q[-1] - exact.q[0]).max()
    assert moved > 1e-3
    assert np.abs(fixed.q[-1] - exact.q[-1]).max() <= 1e-2 * moved


@EVERY
def test_pictures_stand_where_the_robot_is(name):
    """Rods of the expanded description end at their anchors."""
    robot = machine(name)
    shown = expand(robot)
    picture = fd.load(shown.urdf)
    rng = np.random.default_rng(1)
    for _ in range(2):
        q = robot.random(rng)
        at = dict(zip(shown.joint_names, shown.joint_positions(q), strict=True))
        pose = np.array([at[n] for n in picture.q_names])
        for platform in robot.description.platforms:
            root = np.linalg.inv(robot.frames(q, robot.description.root))
            top = root @ robot.frames(q, platform.link)
            assert picture.frames(pose, platform.link) == pytest.approx(top, abs=2e-6)
            for leg in platform.legs:
                rod = picture.frames(pose, leg.slider.replace("_slide", "_rod"))
                assert rod[:3, 3] == pytest.approx((top @ [*leg.anchor, 1.0])[:3], abs=2e-6)


@EVERY
def test_it_is_checked(name):
    """What bends and what stands on wheels is at rest where joints and legs are held."""
    report = fd.check(MACHINES[name])
    assert report.mass == pytest.approx(machine(name).mass)
    assert not any("no state of rest" in text for text in report.warnings)


@pytest.mark.parametrize("name", few(["lane", "mast", "rod"], 1))
def test_forces_are_linear_in_parameters(name):
    robot = machine(name)
    q, v, a, _ = state_of(robot, 2)
    Y, rest = robot.regressor(q, v, a)
    opened = robot.mass_matrix(q) @ a + robot.bias_forces(q, v)
    needed = Y @ np.array([p.value for p in robot.parameters]) + rest
    near(needed[: robot.nv], opened, 1e-9)


#: what the beam of a mast weighs, where nothing else is said of its mass
INERTIAL = re.compile('(?<=<link name="platform">)\\s*<inertial>.*?</inertial>', re.DOTALL)
SLENDER = (
    '<inertial><origin xyz="0 0 0.2"/><mass value="1.6"/>'
    + '<inertia ixx="{0}" iyy="{0}" izz="0" ixy="0" ixz="0" iyz="0"/></inertial>'.format(1.6 * 0.4**2 / 12)
)


@pytest.mark.parametrize(
    ("mixed", "alone"),
    [
        (MACHINES["middle"], ELECTRIC),
        (MACHINES["mast"], ELECTRIC),
        (INERTIAL.sub("", MACHINES["mast"]), INERTIAL.sub(SLENDER, ELECTRIC)),
    ],
    ids=["on a beam", "a mast that is told its mass", "a mast that weighs what its beam does"],
)
def test_a_mechanism_is_the_platform_alone_that_does_not_bend(mixed, alone):
    """Without the link below and without the arm on it."""
    mechanism, expected = fd.load(mixed).mechanism, fd.load(alone)
    assert mechanism.mass == pytest.approx(expected.mass, rel=1e-12)
    assert not mechanism.bends
    for seed in range(2):
        q, v, a, _ = at_random(expected, seed)
        near(mechanism.mass_matrix(q), expected.mass_matrix(q), 1e-10)
        near(mechanism.inverse_dynamics(q, v, a), expected.inverse_dynamics(q, v, a), 1e-10)
        near(mechanism.inverse_kinematics(q, v).length, expected.inverse_kinematics(q, v).length, 1e-13)


def test_two_platforms_have_names_of_their_own():
    robot = fd.load(MACHINES["side by side"].replace("</platform>", OIL + "</platform>"))
    pose = ("x", "y", "z", "qx", "qy", "qz", "qw")
    assert {f"{link}/{x}" for link in ("platform", "high") for x in pose} <= {*robot.q_names}
    assert robot.effort_names[robot.nv :] == tuple(
        f"{leg}_{n}" for leg in ("two", "leg") for n in range(1, 7)
    )
    assert {*robot.mechanisms} == {"platform", "high"}
    assert robot.mechanism is robot.mechanisms["high"]
    supplies = {circuit.supply.name for circuit in circuits_of(robot.description)}
    assert supplies == {"platform/supply", "high/supply"}
    q = robot.neutral()
    for link, mechanism in robot.mechanisms.items():
        assert robot.carried_pose(q, link) == pytest.approx(mechanism.neutral(), abs=1e-12)
    with pytest.raises(UnknownNameError, match="platform 'rail'"):
        robot.carried_pose(q, "rail")
    report = fd.check(robot.description.text)
    assert sum("stands on" in note for note in report.notes) == 2
    again = pickle.loads(pickle.dumps(robot))
    v, tau = np.zeros(robot.nv), np.ones(robot.nu)
    near(again.forward_dynamics(q, v, tau), robot.forward_dynamics(q, v, tau), 1e-12)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (
            MACHINES["stacked"].replace('<platform link="high"', '<platform link="platform"'),
            "'platform' already",
        ),
        (MACHINES["stacked"].replace('name="two_2" slider', 'name="leg_2" slider'), "a leg has this name"),
    ],
)
def test_what_two_platforms_may_not_share(text, what):
    with pytest.raises(DescriptionError, match=what):
        fd.load(text)
