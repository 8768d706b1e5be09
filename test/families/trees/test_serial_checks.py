"""Acceptance checks of the serial specification, section 10, through the verbs of a robot, by their numbers.

Those that are not here are in test_flexible_robot.py (4, 6, 8, 12 to 14, 20, 22), test_two_link.py (1) and,
for the kernels of the second formulation, test/families/trees/test_lagrange_*.py; docs/acceptance.md has the
table.
"""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from flexible_robots import WORKED_EXAMPLE, WORKED_STATE, bent_state, branched
from models import joint, link, random_state, robot_text

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


@pytest.mark.parametrize("method", ["articulated", "lagrange"])
@pytest.mark.parametrize("joints", [6, 7])
def test_check_2_rigid_chains_with_axes_anywhere_equal_pinocchio(joints, method):
    """M and h to 1e-11 of their largest entries, accelerations to 1e-10."""
    from pinocchio_oracle import Oracle, model_of, pin

    rng = np.random.default_rng(joints)
    for _ in range(5):
        parts = [link("l0", 1.0)]
        for i in range(1, joints + 1):
            inertia = rng.uniform(0.02, 0.04, 3)
            tensor = (inertia[0], 1e-3, -2e-3, inertia[1], 1e-3, inertia[2])
            parts.append(link(f"l{i}", rng.uniform(0.5, 3.0), rng.uniform(-0.2, 0.2, 3), tensor))
            parts.append(
                joint(
                    f"j{i}", "continuous", f"l{i - 1}", f"l{i}",
                    xyz=rng.uniform(-0.4, 0.4, 3), rpy=rng.uniform(-3, 3, 3), axis=rng.standard_normal(3),
                )
            )  # fmt: skip
        robot = load(robot_text("chain", *parts), method=method)
        oracle = Oracle(robot, model_of(robot.description))
        q, v, _ = random_state(robot, rng)
        tau = rng.uniform(-5.0, 5.0, joints)
        M, h = oracle.mass_matrix(q), oracle.inverse_dynamics(q, v, np.zeros(joints))
        assert np.abs(robot.mass_matrix(q) - M).max() <= 1e-11 * np.abs(M).max()
        assert np.abs(robot.bias_forces(q, v) - h).max() <= 1e-11 * np.abs(h).max()
        a = pin.aba(oracle.model, oracle.model.createData(), q, v, tau)
        assert np.abs(robot.forward_dynamics(q, v, tau) - a).max() <= 1e-10 * np.abs(a).max()


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


@pytest.mark.parametrize("method", ["articulated", "lagrange"])
@pytest.mark.parametrize("stiffening", ["none", "full"])
def test_check_7_inverse_dynamics_undoes_forward_dynamics(stiffening, method):
    """Damping of links and joints and a wrench on a tip included: 1e-10 of the largest effort."""
    robot = load(branched(middle=True), stiffening=stiffening, method=method)
    for seed in range(5):
        q, v, _ = bent_state(robot, seed, 2.0)
        assert np.count_nonzero(robot.bias_terms(q, v).damping) > 10
        tau = np.random.default_rng(seed).uniform(-20.0, 20.0, robot.nv)
        wrenches = {"arm_link/tip": np.array([3.0, -1.0, 2.0, -8.0, 6.0, 9.0])}
        a = robot.forward_dynamics(q, v, tau, wrenches)
        load_of_tip = robot.jacobian(q, "arm_link/tip").T @ wrenches["arm_link/tip"]
        R = tau + load_of_tip - robot.bias_forces(q, v)
        assert np.abs(robot.mass_matrix(q) @ a - R).max() < 1e-10 * np.abs(R).max()
        assert np.abs(robot.inverse_dynamics(q, v, a, wrenches) - tau).max() < 1e-10 * np.abs(R).max()


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


@pytest.mark.parametrize(("field", "EI"), [("bending_y", EI_Z), ("bending_z", EI_Y)])
def test_check_10_tip_mass_and_inertia_with_matching_modes(field, EI):
    """A body of 0.7 of the beam's mass, 0.2 of its mass x length^2; roots of the determinant of its end."""
    mass, turn = 0.7 * MU * LENGTH, 0.2 * MU * LENGTH**3
    tip = f'<body name="tip"><mass value="{mass}"/><inertia ixx="{turn}" iyy="{turn}" izz="{turn}"/></body>'

    def f(b, m=0.7, j=0.2):
        """Shear and moment of cosh - cos and sinh - sin at s = 1 against the body's inertia."""
        c, s, ch, sh = np.cos(b), np.sin(b), np.cosh(b), np.sinh(b)
        moment = np.array([ch + c, sh + s]) - j * b**3 * np.array([sh + s, ch - c])
        shear = np.array([sh - s, ch + c]) + m * b * np.array([ch - c, sh - s])
        return (moment[0] * shear[1] - moment[1] * shear[0]) / np.cosh(b)

    robot = load(beam(f'{field}="3" boundary="clamped-body"', tip=tip), rotary_inertia="paper")
    assert omega(robot) == pytest.approx(_roots(f) ** 2 * np.sqrt(EI / MU) / LENGTH**2, rel=1e-10)


def test_check_10_tip_inertia_on_a_twisted_beam():
    """cos b = r b sin b with the body's polar inertia over the beam's, 1.7."""
    turn = 1.7 * POLAR * LENGTH
    tip = f'<body name="tip"><mass value="0.1"/><inertia ixx="{turn}" iyy="{turn}" izz="{turn}"/></body>'
    robot = load(beam('torsion="3" boundary="clamped-body"', tip=tip), rotary_inertia="paper")
    roots = _roots(lambda b: np.cos(b) - 1.7 * b * np.sin(b))
    assert omega(robot) == pytest.approx(roots * np.sqrt(GJ / POLAR) / LENGTH, rel=1e-10)


def _roots(f):
    """The first three positive roots of f, which changes its sign at each."""
    from scipy.optimize import brentq

    grid = np.linspace(0.05, 9.0, 2000)
    values = np.array([f(b) for b in grid])
    at = np.flatnonzero(values[:-1] * values[1:] < 0)[:3]
    return np.array([brentq(f, grid[i], grid[i + 1], xtol=1e-15, rtol=1e-15) for i in at])


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


#: half a turn of a uniform beam about its end takes this long [s]
PERIOD = 2 * np.pi * np.sqrt(2 * LENGTH / (3 * 9.81))


def pendulum(**options):
    """A slender beam of 1e8 times the stiffness, hanging along its axis."""
    text = beam('bending_z="2"', EI=1e8, gravity="9.81 0 0", axis="0 1 0", polar=2e-4)
    return load(text, **options)


@pytest.mark.parametrize("options", [{}, {"rotary_inertia": "paper"}, {"method": "lagrange"}], ids=str)
def test_check_15_a_stiff_link_swings_as_a_physical_pendulum(options):
    """Small vibration. Rotary inertia of the sections adds 1.4e-5 of the period, 3 Jyy / (2 mu L^2)."""
    w = omega(pendulum(**options), lock=())
    assert 2 * np.pi / w[0] == pytest.approx(PERIOD, rel=1e-4)


def test_check_15_a_stiff_link_released_at_a_small_angle():
    """The same by compiled steps of 1 ms: time between passages; 0.01 rad lengthens the period by 6e-6."""
    robot = pendulum()
    run = flexdyn_ros.simulate(robot, 2.0 * PERIOD, np.array([0.01, 0.0, 0.0]), dt=1e-3)
    x = run["hub"]
    i = np.flatnonzero(np.diff(np.sign(x)))
    passed = run.t[i] + x[i] / (x[i] - x[i + 1]) * (run.t[i + 1] - run.t[i])
    assert len(passed) == 4
    assert 2.0 * (passed[-1] - passed[0]) / 3.0 == pytest.approx(PERIOD, rel=1e-4)


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
    from flexdyn_ros.numerics.algebra.placement import rotation_of_rpy

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
from flexible_robots import WORKED_EXAMPLE, WORKED_STATE, branched, bent_state
import flexdyn_ros
found = []
for text in (WORKED_EXAMPLE, branched(middle=True)):
    robot = flexdyn_ros.load(text)
    q, v, a = bent_state(robot, 7)
    tau = robot.inverse_dynamics(q, v, a)
    h = robot.bias_forces(q, v)
    answers = robot.mass_matrix(q), h, tau, robot.forward_dynamics(q, v, tau)
    found.append([answer.tolist() for answer in answers])
print(json.dumps(found))
"""


def test_check_21_compiled_kernels_equal_the_interpreted_source():
    """M, h, efforts and accelerations."""
    source = [sys.executable, "-c", INTERPRETED, os.path.dirname(os.path.dirname(os.path.dirname(__file__)))]
    run = subprocess.run(
        source, env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True, text=True, timeout=550, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    for text, interpreted in zip(
        (WORKED_EXAMPLE, branched(middle=True)), json.loads(run.stdout), strict=True
    ):
        robot = flexdyn_ros.load(text)
        q, v, a = bent_state(robot, 7)
        tau = robot.inverse_dynamics(q, v, a)
        compiled = robot.mass_matrix(q), robot.bias_forces(q, v), tau, robot.forward_dynamics(q, v, tau)
        for ours, theirs in zip(compiled, interpreted, strict=True):
            assert np.abs(ours - np.array(theirs)).max() < 1e-12 * np.abs(ours).max()
