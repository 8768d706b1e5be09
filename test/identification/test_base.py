"""Base parameters: rank by Pinocchio's regressor, textbook combinations, what their name promises."""

import re
from pathlib import Path

import numpy as np
import pytest

from flexdyn_ros import errors, load
from flexdyn_ros.identification import base_parameters
from flexdyn_ros.identification.base import reduced

PENDULUM = """<robot name="pendulum">
  <link name="world"/>
  <link name="arm"><inertial><origin xyz="0.3 0.1 0.2"/><mass value="2"/>
    <inertia ixx="0.02" ixy="0.001" ixz="0" iyy="0.03" iyz="0" izz="0.04"/></inertial></link>
  <joint name="hinge" type="continuous"><parent link="world"/><child link="arm"/><axis xyz="0 1 0"/></joint>
</robot>"""


def example_robot(name):
    pin = pytest.importorskip("pinocchio", reason="the test oracle Pinocchio (package pin) is not installed")
    folder = Path(pin.__file__).parents[4] / "share" / "example-robot-data" / "robots"
    if not folder.is_dir():
        pytest.skip("example-robot-data is not installed")
    return pin, (folder / name).read_text()


def rank_by_pinocchio(pin, text):
    """Rank of the stacked joint torque regressor at random states, by singular values."""
    model = pin.buildModelFromXML(text)
    data, rng = model.createData(), np.random.default_rng(3)
    rows = []
    for _ in range(60):
        q, v, a = (rng.uniform(-2.0, 2.0, size) for size in (model.nq, model.nv, model.nv))
        rows.append(pin.computeJointTorqueRegressor(model, data, q, v, a))
    W = np.vstack(rows)
    size = np.linalg.norm(W, axis=0)
    # columns of nothing but rounding stay what they are
    W /= np.where(size > 1e-9 * size.max(), size, 1.0)
    sizes = np.linalg.svd(W, compute_uv=False)
    return int((sizes > 1e-9 * sizes[0]).sum())


@pytest.mark.parametrize(
    "name",
    ["panda_description/urdf/panda.urdf", "ur_description/urdf/ur10_robot.urdf",
     "ur_description/urdf/ur5_robot.urdf"],
)  # fmt: skip
def test_the_rank_is_that_of_pinocchios_regressor(name):
    pin, text = example_robot(name)
    # Pinocchio moves both fingers of the hand
    text = re.sub(r"<mimic [^>]*/>", "", text)
    base = base_parameters(load(text))
    assert base.rank == rank_by_pinocchio(pin, text)
    assert base.condition < 100.0


#: a, alpha and d of each joint, and masses of the UR10e (Universal Robots, "DH parameters for calculations of
#: kinematics and dynamics")
UR10E = (
    (0.0, np.pi / 2.0, 0.1807, 7.369), (-0.6127, 0.0, 0.0, 13.051), (-0.57155, 0.0, 0.0, 3.989),
    (0.0, np.pi / 2.0, 0.17415, 2.1), (0.0, -np.pi / 2.0, 0.11985, 1.98), (0.0, 0.0, 0.11655, 0.615),
)  # fmt: skip


def ur10e():
    """URDF of the arm by its Denavit-Hartenberg parameters: each joint turns about z of the frame before."""
    links, joints, origin = ['<link name="base"/>'], [], 'xyz="0 0 0"'
    for i, (a, alpha, d, mass) in enumerate(UR10E, 1):
        links.append(
            f'<link name="link_{i}"><inertial><origin xyz="{0.5 * a} 0.01 {0.5 * d}"/><mass value="{mass}"/>'
            '<inertia ixx="0.03" ixy="0" ixz="0" iyy="0.04" iyz="0" izz="0.02"/></inertial></link>'
        )
        parent = f"link_{i - 1}" if i > 1 else "base"
        joints.append(
            f'<joint name="joint_{i}" type="revolute"><parent link="{parent}"/><child link="link_{i}"/>'
            f'<origin {origin}/><axis xyz="0 0 1"/>'
            '<limit lower="-6" upper="6" effort="330" velocity="3"/></joint>'
        )
        origin = f'xyz="{a} 0 {d}" rpy="{alpha} 0 0"'
    return f'<robot name="ur10e">{"".join(links + joints)}</robot>'


def test_the_rank_of_a_ur10e_is_that_of_pinocchios_regressor():
    pin = pytest.importorskip("pinocchio", reason="the test oracle Pinocchio (package pin) is not installed")
    assert base_parameters(load(ur10e())).rank == rank_by_pinocchio(pin, ur10e()) == 36


def test_a_pendulum_tells_its_moments_and_its_inertia_about_the_axis():
    base = base_parameters(load(PENDULUM))
    assert base.names == ("arm/mx", "arm/mz", "arm/iyy")
    assert base.units == ("kg m", "kg m", "kg m2")
    assert base.single == base.names
    # iyy about the hinge: 0.03 + 2 (0.3^2 + 0.2^2)
    assert base.of(load(PENDULUM)) == pytest.approx([0.6, 0.4, 0.29], rel=1e-12)
    assert set(base.without_effect) == {
        "arm/mass", "arm/my", "arm/ixx", "arm/ixy", "arm/ixz", "arm/iyz", "arm/izz",
    }  # fmt: skip


def test_a_rotor_is_grouped_with_the_inertia_about_the_axis():
    base = base_parameters(load(PENDULUM), parameters=["arm/*", "*/rotor"])
    (row,) = [row for row in base.matrix if np.count_nonzero(row) > 1]
    grouped = {base.parameters[i].name for i in np.flatnonzero(row)}
    assert grouped == {"arm/iyy", "hinge/rotor"}
    assert row[np.flatnonzero(row)] == pytest.approx(1.0)


@pytest.mark.parametrize("name", ["two_link", "seven_joint_arm", "flexible_two_link"])
def test_efforts_depend_on_the_base_parameters_alone(name):
    robot = load(name)
    base = base_parameters(robot, parameters="*")
    rng = np.random.default_rng(5)
    q = np.array([robot.random(rng) for _ in range(20)])
    v, a = rng.uniform(-2.0, 2.0, (2, 20, robot.nv))
    Y, _ = robot.regressor(q, v, a)
    # Y p = Y_lead b for every p
    assert np.abs(Y - Y[..., base.leading] @ base.matrix).max() < 1e-8 * np.abs(Y).max()
    assert base.rank < len(robot.parameters)
    p = rng.standard_normal(len(robot.parameters))
    assert base.of(p) == pytest.approx(base.matrix @ p)


def test_other_states_give_the_same_combinations():
    robot = load("seven_joint_arm")
    one, other = base_parameters(robot), base_parameters(robot, seed=1)
    # pivots may differ, the space may not
    both = np.vstack([one.matrix, other.matrix])
    assert one.rank == other.rank == np.linalg.matrix_rank(both, tol=1e-6)


def test_the_first_of_equal_columns_leads_whatever_rounding_says():
    parameters = base_parameters(load("two_link"), parameters="upper/*").parameters[:4]
    rng = np.random.default_rng(3)
    for _ in range(50):
        W = rng.normal(size=(40, 4))
        W[:, 2] = 3.0 * W[:, 1]
        W[:, 1:] *= 1.0 + 1e-15 * rng.normal(size=(40, 3))
        base = reduced(W, parameters)
        assert base.leading.tolist() == [0, 1, 3]
        assert np.abs(base.matrix[1] - [0.0, 1.0, 3.0, 0.0]).max() < 1e-12


def test_wrong_patterns_and_values_are_told():
    with pytest.raises(errors.UnknownNameError, match="elbow/damp"):
        base_parameters(load("two_link"), parameters="elbow/damp")
    with pytest.raises(errors.UnknownNameError, match="section_1/mas"):
        base_parameters(load("soft_arm"), parameters="section_1/mas")
    base = base_parameters(load("two_link"))
    with pytest.raises(errors.DimensionError, match="expected"):
        base.of(np.zeros(3))
