"""A four-bar on a cart with sprung wheels: against the multipliers of its open robot, and theorems."""

import re

import numpy as np
import pytest
from machines import joint, rod

import flexdyn_ros
from flexdyn_ros import export
from flexdyn_ros.errors import DescriptionError, UnsupportedError
from flexdyn_ros.families.trees.elements.kernels.views import ELEMENTS_HEADER
from flexdyn_ros.families.trees.flexible.kernels.views import FLEXIBLE_HEADER
from flexdyn_ros.families.trees.layers import _MOST_WORDS
from flexdyn_ros.families.trees.loops.kernels import rows
from flexdyn_ros.families.wheeled.kernels import tree_wheels

#: the tip of the coupler on a plane of the world that falls ahead
PLANE = (
    '<loop name="slides" type="point_on_plane" base="world" base_xyz="0.5 0 0.55" end="coupler"'
    ' end_xyz="0.5 0 0" axis="0.3 0 1"/><actuation active="crank_joint"/>'
)
SUSPENSION = '<suspension stiffness="{k}" damping="{d}" free_length="0.26"/>'
LOOP = (
    '<loop name="pin" type="revolute" base="coupler" base_xyz="0.5 0 0" end="rocker" end_xyz="0.4 0 0"'
    ' axis="0 1 0"/><assembly start="crank_joint -1.0 coupler_joint 0.6 rocker_joint -1.5"/>'
    '<actuation active="crank_joint"/>'
)


def cart(damping=50.0, base="floating", drive="", road="", loop=LOOP):
    """Four wheels of a floating base, two of a planar one."""
    sides = (0.3, -0.3) if base == "floating" else (0.0,)
    wheels = "".join(
        f'<wheel name="w{x}{y}" link="base_link" xyz="{x} {y} 0">{SUSPENSION.format(k=k, d=damping)}</wheel>'
        for x, k in ((-0.35, 476.0), (0.35, 584.0))
        for y in sides
    )
    return (
        '<robot name="cart"><link name="base_link"><inertial><mass value="18"/>'
        '<inertia ixx="0.45" ixy="0" ixz="0" iyy="0.84" iyz="0" izz="0.85"/></inertial></link>'
        + rod("crank", 0.2, 0.5)
        + rod("coupler", 0.5, 1.0)
        + rod("rocker", 0.4, 0.8)
        + joint("crank_joint", "base_link", "crank", at=(0.0, 0.0, 0.3))
        + joint("coupler_joint", "crank", "coupler", at=(0.2, 0.0, 0.0))
        + joint("rocker_joint", "base_link", "rocker", at=(0.5, 0.0, 0.3))
        + f'<flexdyn><gravity>0 0 -9.81</gravity><base type="{base}"/>{drive}'
        f'<formulation method="articulated"/>{wheels}{road}{loop}</flexdyn></robot>'
    )


def test_accelerations_are_those_of_the_multipliers_of_the_open_robot():
    """J of the loops, its rate by differences, M and h of the robot without loops."""
    robot, opened = flexdyn_ros.load(cart()), flexdyn_ros.load(cart(loop=""))
    assert robot.kind == "mobile"
    assert robot.mobility == 7
    rng, h = np.random.default_rng(0), 1e-6
    for _ in range(5):
        q, v = robot.project(robot.random(rng), rng.normal(size=robot.nv))
        tau = np.zeros(robot.nu)
        tau[robot.effort_names.index("crank_joint")] = 3.0
        a, J = robot.forward_dynamics(q, v, tau), robot.loop_jacobian(q)
        around = [robot.loop_jacobian(robot.integrate(q, s * v, 1.0)) for s in (h, -h)]
        rate = (around[0] - around[1]) / (2.0 * h) @ v
        M, bias = opened.mass_matrix(q), opened.bias_forces(q, v)
        m = len(J)
        both = np.block([[M, -J.T], [J, np.zeros((m, m))]])
        expected = np.linalg.lstsq(both, np.concatenate([tau - bias, -rate]), rcond=1e-12)[0][: robot.nv]
        np.testing.assert_allclose(a, expected, rtol=0.0, atol=1e-7 * np.abs(a).max())
        np.testing.assert_allclose(robot.inverse_dynamics(q, v, a), tau, rtol=0.0, atol=1e-9)


def test_energy_of_undamped_wheels_is_kept():
    robot = flexdyn_ros.load(cart(damping=0.0))
    q, v = robot.project(robot.neutral(), 0.3 * np.random.default_rng(1).normal(size=robot.nv))
    run = flexdyn_ros.simulate(robot, 0.5, q0=q, v0=v, method="dop853", rtol=1e-10)
    energy = robot.energy(run.q, run.v)
    assert np.ptp(energy.total) <= 1e-8 * np.ptp(energy.kinetic)
    assert max(np.abs(robot.loop_residual(q)).max() for q in run.q) <= 1e-10


@pytest.mark.parametrize("method", ["rk4", "rosenbrock"])
@pytest.mark.parametrize(
    "loop", [LOOP, LOOP + '<spring name="s" base="crank" end="rocker" stiffness="40"/>', PLANE]
)
def test_a_driven_base_takes_the_work_that_the_energy_gains(method, loop):
    """The drive's effort holds what the loops do to the base, in the compiled steps too."""
    robot = flexdyn_ros.load(cart(0.0, "planar", '<drive speed="1.0"/>', loop=loop))
    run = flexdyn_ros.simulate(robot, 0.5, dt=1e-3, method=method, sample=1e-3)
    energy = robot.energy(run.q, run.v).total
    assert np.ptp(run.work) > 1.0
    allowed = 1e-6 if method == "rk4" else 2e-3
    assert np.abs(energy - energy[0] - run.work).max() <= allowed * np.ptp(run.work)
    still = np.zeros((len(run.t), robot.nu))
    force = robot.inverse_dynamics(run.q, run.v, robot.forward_dynamics(run.q, run.v, still))[:, 0]
    middle = slice(1, -1)
    if method == "rk4":
        np.testing.assert_allclose(run.tau[middle, 0], force[middle], rtol=0.0, atol=1e-2 * np.ptp(force))


def test_wheels_of_the_floating_frame_refuse_loops():
    text = re.sub('method="articulated"', 'method="floating_frame"', cart(base="planar"))
    with pytest.raises(DescriptionError, match="a <loop> beside the method floating_frame is not possible"):
        flexdyn_ros.load(text)


def test_wheels_bear_a_mechanism_whose_joints_are_held():
    """The held joints close the loop alone: its rows have nothing to say to the base."""
    robot, opened = flexdyn_ros.load(cart()), flexdyn_ros.load(cart(loop=""))
    q = robot.neutral()
    found, expected = (one.static_equilibrium(q, hold="joints") for one in (robot, opened))
    np.testing.assert_allclose(found.q, expected.q, rtol=0.0, atol=1e-9)
    bias = opened.bias_forces(found.q, np.zeros(robot.nv))
    np.testing.assert_allclose(found.tau[6:], bias[6:], rtol=0.0, atol=1e-8)


def test_layers_have_words_of_their_own_in_the_header():
    ranges = [
        range(FLEXIBLE_HEADER, ELEMENTS_HEADER),
        range(tree_wheels.WHEELED, tree_wheels.WHEELED_HEADER),
        range(rows.FIRST, rows.LOOPS_HEADER),
    ]
    words = [word for each in ranges for word in each]
    assert len(words) == len({*words})
    assert max(words) < _MOST_WORDS


def test_inverse_dynamics_in_c_is_refused_on_a_driven_base(tmp_path):
    """What is written by default leaves it out."""
    robot = flexdyn_ros.load(cart(0.0, "planar", '<drive speed="1.0"/>'))
    with pytest.raises(UnsupportedError, match="loops with prescribed joints is not computed"):
        export.c(robot, tmp_path, ["inverse_dynamics"])
    export.c(robot, tmp_path)
    header = (tmp_path / f"{robot.name}.h").read_text()
    assert "_forward_dynamics" in header
    assert "_inverse_dynamics" not in header
