"""Acceptance checks of the serial specification, section 10, through the verbs of a robot, by their numbers.

Those that are not here are in test_flexible_robot.py (4, 6 to 8, 12 to 14, 20, 22), test_two_link.py (1),
test_pinocchio.py (2) and, for the kernels of the second formulation, test/kernels/test_lagrange_*.py;
docs/acceptance.md has the table.
"""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from flexible_robots import WORKED_EXAMPLE, WORKED_STATE, bent_state, branched

import flexdyn_ros

ROOTS = np.array([1.875104068711961, 4.694091132974174, 7.854757438237613])
MU, EI_Y, EI_Z, GJ, POLAR, LENGTH = 1.2, 900.0, 1400.0, 300.0, 0.02, 3.0


def beam(modes, *, joint="continuous", tip="", EI=1.0, gravity="0 0 0", axis="0 0 1", polar=POLAR):
    return f"""
<robot name="beam"><link name="base"/><link name="beam"/>
  <joint name="hub" type="{joint}"><parent link="base"/><child link="beam"/><axis xyz="{axis}"/></joint>
  <flexdyn><gravity>{gravity}</gravity></flexdyn>
  <flexdyn reference="beam">
    <beam length="{LENGTH}" mass_per_length="{MU}" EIy="{EI_Y * EI}" EIz="{EI_Z * EI}" GJ="{GJ}" EA="1e6"
      polar_inertia="{polar}"/><modes {modes}/>{tip}</flexdyn></robot>"""


def load(text, **formulation):
    return flexdyn_ros.load(text, options={f"formulation.{key}": value for key, value in formulation.items()})


def omega(robot, lock="joints"):
    return 2 * np.pi * robot.modes(robot.neutral(), lock=lock).frequency


def test_check_5_mass_matrix_is_positive_definite_on_1000_states():
    """Joints anywhere, section rotations up to 0.3 rad."""
    robot = flexdyn_ros.load(branched(middle=True))
    rng = np.random.default_rng(5)
    q = np.array([robot.random(rng) for _ in range(1000)])
    modal = [c.q_index for c in robot.coordinates if "/" in c.name]
    turned = max(np.abs(d.rotation).max() for d in robot.deflections(q).values())
    q[:, modal] *= 0.3 / turned
    M = robot.mass_matrix(q)
    largest = np.abs(M).max(axis=(1, 2))
    assert np.all(np.abs(M - np.swapaxes(M, 1, 2)).max(axis=(1, 2)) <= 1e-12 * largest)
    assert np.linalg.eigvalsh(M)[:, 0].min() > 0.0


@pytest.mark.parametrize(
    ("modes", "exact"),
    [
        ('bending_y="3"', ROOTS**2 * np.sqrt(EI_Z / MU) / LENGTH**2),
        ('bending_z="3"', ROOTS**2 * np.sqrt(EI_Y / MU) / LENGTH**2),
        ('torsion="3"', (np.arange(3) + 0.5) * np.pi * np.sqrt(GJ / POLAR) / LENGTH),
        ('axial="3"', (np.arange(3) + 0.5) * np.pi * np.sqrt(1e6 / MU) / LENGTH),
    ],
)
def test_check_9_cantilever_frequencies(modes, exact):
    assert omega(load(beam(modes), rotary_inertia="paper")) == pytest.approx(exact, rel=1e-10)


def test_check_10_tip_mass_and_inertia_with_matching_modes():
    """A body of 0.7 of the beam's mass, 0.2 of its mass x length^2; roots of the determinant of its end."""
    mass, turn = 0.7 * MU * LENGTH, 0.2 * MU * LENGTH**3
    tip = f'<body name="tip"><mass value="{mass}"/><inertia ixx="{turn}" iyy="{turn}" izz="{turn}"/></body>'

    def f(b, m=0.7, j=0.2):
        """Shear and moment of cosh - cos and sinh - sin at s = 1 against the body's inertia."""
        c, s, ch, sh = np.cos(b), np.sin(b), np.cosh(b), np.sinh(b)
        moment = np.array([ch + c, sh + s]) - j * b**3 * np.array([sh + s, ch - c])
        shear = np.array([sh - s, ch + c]) + m * b * np.array([ch - c, sh - s])
        return (moment[0] * shear[1] - moment[1] * shear[0]) / np.cosh(b)

    from scipy.optimize import brentq

    grid = np.linspace(0.05, 9.0, 2000)
    values = np.array([f(b) for b in grid])
    at = np.flatnonzero(values[:-1] * values[1:] < 0)[:3]
    roots = np.array([brentq(f, grid[i], grid[i + 1], xtol=1e-15, rtol=1e-15) for i in at])
    robot = load(beam('bending_y="3" boundary="clamped-body"', tip=tip), rotary_inertia="paper")
    assert omega(robot) == pytest.approx(roots**2 * np.sqrt(EI_Z / MU) / LENGTH**2, rel=1e-10)


@pytest.mark.parametrize(
    ("count", "printed"), [(1, 4.5317), (2, 3.92876), (3, 3.92675), (5, 3.926607), (8, 3.9266025)]
)
def test_check_11_a_free_joint_makes_clamped_modes_pinned_ones(count, printed):
    w = omega(load(beam(f'bending_y="{count}"'), rotary_inertia="paper"), lock=())[1:]
    b = LENGTH * (w**2 * MU / EI_Z) ** 0.25
    assert b[0] == pytest.approx(printed, abs=0.51 * 10.0 ** -len(str(printed).split(".")[1]))
    if count == 8:
        assert b[0] == pytest.approx(3.92660231, rel=1e-7)
        assert b[1] == pytest.approx(7.06858275, rel=1e-5)


def test_check_15_a_stiff_link_swings_as_a_physical_pendulum():
    """Period 2 pi sqrt(2 L / 3 g) of a line mass; rotary inertia of sections would lengthen it."""
    text = beam('bending_z="2"', EI=1e8, gravity="9.81 0 0", axis="0 1 0")
    w = omega(load(text, rotary_inertia="none"), lock=())
    assert 2 * np.pi / w[0] == pytest.approx(2 * np.pi * np.sqrt(2 * LENGTH / (3 * 9.81)), rel=1e-4)


@pytest.mark.parametrize("stiffening", ["none", "full"])
def test_check_16_angular_momentum_about_a_vertical_base_joint(stiffening):
    from scipy.integrate import solve_ivp

    robot = load(WORKED_EXAMPLE.replace("0 -9.81 0", "0 0 0"), stiffening=stiffening)
    n = robot.nv

    def rate(_, y):
        return np.concatenate([y[n:], robot.forward_dynamics(y[:n], y[n:])])

    start = np.concatenate(WORKED_STATE)
    run = solve_ivp(
        rate, (0.0, 0.1), start, method="DOP853", rtol=1e-11, atol=1e-13, t_eval=np.linspace(0, 0.1, 6)
    )
    L = robot.momentum(run.y[:n].T, run.y[n:].T)[:, 2]
    assert np.abs(L - L[0]).max() < 1e-9 * np.abs(L[0])
    assert np.ptp(run.y[n]) > 0.1  # the joint's rate itself does change


def test_check_17_paper_and_consistent_agree_without_rotary_inertia():
    text = WORKED_EXAMPLE.replace(' polar_inertia="0.002"', "").replace(
        '<mass value="0.2"/>', '<mass value="0.2"/><inertia ixx="0.003" iyy="0.002" izz="0.002"/>'
    )
    paper, consistent = (load(text, rotary_inertia=rotary) for rotary in ("paper", "consistent"))
    q, v = WORKED_STATE
    assert paper.mass_matrix(q) == pytest.approx(consistent.mass_matrix(q), rel=1e-12)
    assert paper.bias_forces(q, v) == pytest.approx(consistent.bias_forces(q, v), rel=1e-12)


def test_check_18_affine_and_rotated_frames_differ_by_the_orders_they_should():
    options = {"rotary_inertia": "paper", "method": "lagrange", "stiffening": "none"}
    affine, so3 = (load(WORKED_EXAMPLE, frame=frame, **options) for frame in ("affine", "so3"))
    joints = np.array([c.kind == "joint" for c in so3.coordinates])
    sizes, rigid, whole = np.array([0.4, 0.2, 0.1]), [], []
    for size in sizes:
        q = np.where(joints, WORKED_STATE[0], size * WORKED_STATE[0])
        difference = affine.mass_matrix(q) - so3.mass_matrix(q)
        rigid.append(np.abs(difference[np.ix_(joints, joints)]).max())
        whole.append(np.abs(difference).max())
    assert np.polyfit(np.log(sizes), np.log(rigid), 1)[0] == pytest.approx(2.0, abs=0.1)
    assert np.polyfit(np.log(sizes), np.log(whole), 1)[0] == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize("method", ["articulated", "lagrange"])
def test_check_19_turning_base_and_gravity_together_changes_nothing(method):
    from flexdyn_ros.model.placement import rotation_of_rpy

    turned = rotation_of_rpy((0.7, -0.4, 1.9)) @ np.array([0.7, -1.1, -9.5])
    text = branched()
    other = text.replace("0.7 -1.1 -9.5", " ".join(map(repr, turned.tolist()))).replace(
        '<base type="fixed"/>', '<base type="fixed" xyz="3 -2 1" rpy="0.7 -0.4 1.9"/>'
    )
    assert other.count('rpy="0.7 -0.4 1.9"') == 1
    one, two = load(text, method=method), load(other, method=method)
    for seed in range(3):
        q, v, _ = bent_state(one, seed)
        for ours, theirs in (
            (one.mass_matrix(q), two.mass_matrix(q)),
            (one.bias_forces(q, v), two.bias_forces(q, v)),
        ):
            assert np.abs(ours - theirs).max() < 1e-12 * np.abs(ours).max()


INTERPRETED = """
import json, sys
import numpy as np
sys.path.insert(0, sys.argv[1])
from flexible_robots import branched, bent_state
import flexdyn_ros
robot = flexdyn_ros.load(branched(middle=True))
q, v, a = bent_state(robot, 7)
tau = robot.inverse_dynamics(q, v, a)
print(json.dumps([robot.mass_matrix(q).tolist(), tau.tolist(), robot.forward_dynamics(q, v, tau).tolist()]))
"""


def test_check_21_compiled_kernels_equal_the_interpreted_source():
    run = subprocess.run(
        [sys.executable, "-c", INTERPRETED, os.path.dirname(os.path.dirname(__file__))],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True, text=True, timeout=200, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    robot = flexdyn_ros.load(branched(middle=True))
    q, v, a = bent_state(robot, 7)
    tau = robot.inverse_dynamics(q, v, a)
    compiled = robot.mass_matrix(q), tau, robot.forward_dynamics(q, v, tau)
    for ours, theirs in zip(compiled, json.loads(run.stdout), strict=True):
        # accelerations of modes of 1e-4 kg: rounding of the efforts times the condition of M
        tolerance = 1e-12 if ours is not compiled[2] else 1e-9
        assert np.abs(ours - np.array(theirs)).max() < tolerance * np.abs(ours).max()
