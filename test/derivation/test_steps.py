"""What the methods compute on the way to the equations of motion, and the shipped arm that shows it."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

sympy = pytest.importorskip("sympy")

import flexdyn_ros  # noqa: E402
from flexdyn_ros.cli import app  # noqa: E402
from flexdyn_ros.derivation import derive  # noqa: E402


@pytest.fixture(scope="module")
def arm():
    return flexdyn_ros.load("two_link").description


def test_the_shipped_arm_has_point_masses_and_hangs_in_a_vertical_plane(arm):
    robot = flexdyn_ros.load("two_link")
    q = [0.3, 0.5]
    heights = robot.frames(q, ["upper", "lower", "tip"])[:, 2, 3]
    assert heights == pytest.approx([0.0, sympy.sin(0.3), sympy.sin(0.3) + sympy.sin(0.8)], abs=1e-12)
    assert robot.mass_matrix(q)[1, 1] == pytest.approx(1.0)
    assert set(derive(arm).parameters) == {"m1", "c1x", "p2x", "m2", "c2x", "g"}


def test_lagrange_equations_of_the_energies_are_the_equations_of_motion(arm):
    d = derive(arm, "lagrange", steps=True)
    K, U, L = (step.value[0] for step in d.steps)
    assert [step.name for step in d.steps] == ["K", "U", "L"]
    assert sympy.simplify(L - K + U) == 0
    for i in range(2):
        momentum = sympy.diff(L, d.v[i])
        rate = sum(sympy.diff(momentum, x) * y for x, y in zip(d.q + d.v, d.v + d.a, strict=True))
        assert sympy.simplify(rate - sympy.diff(L, d.q[i]) - d.tau[i]) == 0


SERIAL = """<robot name="serial"><link name="base"/>
<link name="a"><inertial><origin xyz="0.1 0.2 -0.3"/><mass value="1.5"/>{0}</inertial></link>
<link name="b"><inertial><origin xyz="0.3 0 0.1"/><mass value="0.8"/>{0}</inertial></link>
<link name="c"><inertial><origin xyz="0 -0.1 0.2"/><mass value="0.5"/>{0}</inertial></link>
{1}<flexdyn><gravity>1 -2 -9</gravity></flexdyn></robot>""".format(
    '<inertia ixx="0.02" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.04"/>',
    "".join(
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{xyz}"/><axis xyz="{axis}"/>'
        '<limit lower="-2" upper="2" effort="9" velocity="1"/></joint>'
        for name, kind, parent, child, xyz, axis in (
            ("slide", "prismatic", "base", "a", "0.2 0.1 0.4", "0 0 1"),
            ("turn", "revolute", "a", "b", "0.5 -0.3 0.2", "0 1 0"),
            ("lift", "revolute", "b", "c", "0.1 0.4 0.6", "1 0 0"),
        )
    ),
)


def test_energies_are_those_of_the_robot_from_the_origin_of_its_base():
    """The potential of gravity, too, is the weight of all masses where they are, without an offset."""
    robot = flexdyn_ros.load(SERIAL)
    d = derive(robot.description, "lagrange", symbolic=False, steps=True)
    K, U, _ = (step.value[0] for step in d.steps)
    for seed in range(3):
        q, v = np.random.default_rng(seed).uniform(-1.0, 1.0, (2, 3))
        state = dict(zip(d.q + d.v, [*q, *v], strict=True))
        centre = robot.center_of_mass(q)
        assert float(U.subs(state)) == pytest.approx(-robot.mass * (robot.gravity @ centre), rel=1e-9)
        assert float(K.subs(state)) == pytest.approx(robot.energy(q, v).kinetic, rel=1e-9)


def test_the_moments_of_the_recursion_are_the_efforts(arm):
    d = derive(arm, "newton_euler", steps=True)
    steps = {step.name: step.value for step in d.steps}
    assert set(steps) == {f"{x}_{i}" for x in ("omega", "omega'", "v'", "F", "N", "f", "n") for i in (1, 2)}
    for i in range(2):
        assert sympy.simplify(steps[f"n_{i + 1}"][2] - d.tau[i]) == 0
    assert steps["omega_2"] == (0, 0, d.v[0] + d.v[1])
    # point masses have no moment of inertia about themselves
    assert steps["N_1"] == steps["N_2"] == (0, 0, 0)
    assert derive(arm).steps == ()


def test_the_command_prints_steps_and_rigid_twins():
    text = CliRunner().invoke(app, ["derive", "two_link", "--steps"]).output
    for words in ("omega_2 = (0, 0, v1 + v2)", "F_1 =", "n_2 =", "K =", "U =", "L ="):
        assert words in text
    latex = CliRunner().invoke(app, ["derive", "two_link", "--steps", "--as", "latex"]).output
    assert r"\dot \omega_{1}" in latex
    found = json.loads(CliRunner().invoke(app, ["derive", "two_link", "--steps", "--json"]).output)
    assert found["lagrange"]["steps"]["U"]
    assert CliRunner().invoke(app, ["derive", "two_link", "--steps", "--as", "python"]).exit_code == 2
    refused = CliRunner().invoke(app, ["derive", "flexible_two_link"]).exception
    assert "--rigid in a terminal" in str(refused)
    done = CliRunner().invoke(app, ["derive", "flexible_two_link", "--rigid", "--method", "newton_euler"])
    assert done.exit_code == 0
    assert "elbow" in done.output
