"""Platforms beside what else a tree has: on links that bend, beside loops, on wheels, two of them."""

import numpy as np
import pytest
from exported import COMPILERS, at_random, compiled, residual
from mounted_platforms import ARM, MAST, ON_MIDDLE, ON_ROOT, ON_TIP, loops_of, state_of_loops, with_arm

import flexdyn_ros as fd
from flexdyn_ros import export
from flexdyn_ros.expanding import expand

pytestmark = pytest.mark.usefixtures("quick_compiler")
MACHINES = {
    "tip": with_arm(ON_TIP + ARM),
    "middle": with_arm(ON_MIDDLE),
    "root": with_arm(ON_ROOT),
    "mast": with_arm(MAST),
}
EVERY = pytest.mark.parametrize("name", MACHINES)


def near(found, expected, tolerance):
    """Relative to the largest entry."""
    assert np.abs(found - expected).max() <= tolerance * np.abs(expected).max()


@EVERY
def test_it_is_a_tree_with_loops(name):
    """Accelerations and kinetic energy beside those of the open mechanism with three joints a leg, closed by
    spherical loops."""
    robot, loops = fd.load(MACHINES[name]), loops_of(MACHINES[name])
    shared = [c.name for c in robot.coordinates if c.kind != "platform"]
    for seed in range(3):
        rng = np.random.default_rng(seed)
        q, v, _, _ = at_random(robot, seed)
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
    robot = fd.load(MACHINES[name])
    for seed in range(3):
        q, v, a, tau = at_random(robot, seed)
        M = robot.mass_matrix(q)
        near(M, M.T, 1e-13)
        assert np.linalg.eigvalsh(M).min() > 0.0
        found = robot.forward_dynamics(q, v, robot.inverse_dynamics(q, v, a))
        assert residual(robot, q, v, tau, found, a) <= 1e-10
    again = fd.load(MACHINES[name]).forward_dynamics(q[None], v[None], tau[None])[0]
    near(again, robot.forward_dynamics(q, v, tau), 1e-9)


@EVERY
def test_energy_is_the_work_of_its_actuators(name):
    robot = fd.load(MACHINES[name])
    q, still = robot.neutral(), np.zeros(robot.nv)
    tau = robot.inverse_dynamics(q, still, still, actuators="all")
    push = np.isin(robot.effort_names, robot.actuators)
    tau[push] += np.resize([3.0, -2.0, 1.0, 2.0, -3.0, 1.5], push.sum())
    run = fd.simulate(robot, 0.1, q0=q, control=tau, rtol=1e-10)
    assert run.energy.kinetic.max() > 1e-3
    assert run.balance_error <= 1e-6


@EVERY
def test_derivatives_are_those_of_differences(name):
    robot = fd.load(MACHINES[name])
    q, v, _, tau = at_random(robot, 4)
    A = robot.linearize(q, v, tau).A[robot.nv :]
    h = 1e-5 * np.eye(robot.nv)
    by_q = [robot.forward_dynamics(robot.integrate(q, s * h, 1.0), v, tau) for s in (1, -1)]
    by_v = [robot.forward_dynamics(q, v + s * h, tau) for s in (1, -1)]
    found = np.hstack([((ahead - behind) / 2e-5).T for ahead, behind in (by_q, by_v)])
    assert np.abs(found - A).max() <= 1e-6 * np.abs(A).max()


@pytest.mark.skipif(not COMPILERS, reason="no C compiler")
@EVERY
def test_c_computes_the_same(name, tmp_path):
    robot = fd.load(MACHINES[name])
    export.c(robot, tmp_path, ("inverse_dynamics", "forward_dynamics"))
    library = compiled(tmp_path, robot.name)
    q, v, a, tau = at_random(robot, 3)
    expected = robot.inverse_dynamics(q, v, a)
    near(library.call("inverse_dynamics", q, v, a, sizes=[robot.nu]), expected, 1e-12)
    found = library.call("forward_dynamics", q, v, tau, sizes=[robot.nv])
    assert residual(robot, q, v, tau, found, robot.forward_dynamics(q, v, tau)) <= 1e-12


@EVERY
def test_pictures_stand_where_the_robot_is(name):
    """Rods of the expanded description end at their anchors."""
    robot = fd.load(MACHINES[name])
    shown = expand(robot)
    picture = fd.load(shown.urdf)
    rng = np.random.default_rng(1)
    for _ in range(2):
        q = robot.random(rng)
        at = dict(zip(shown.joint_names, shown.joint_positions(q), strict=True))
        pose = np.array([at[n] for n in picture.q_names])
        for platform in robot.description.platforms:
            top = robot.frames(q, platform.link)
            assert picture.frames(pose, platform.link) == pytest.approx(top, abs=2e-6)
            for leg in platform.legs:
                rod = picture.frames(pose, leg.slider.replace("_slide", "_rod"))
                assert rod[:3, 3] == pytest.approx((top @ [*leg.anchor, 1.0])[:3], abs=2e-6)
