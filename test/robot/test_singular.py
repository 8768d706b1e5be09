"""A mass matrix that is singular to rounding is told, by every method, for single states and batches."""

from pathlib import Path

import numpy as np
import pytest

import flexdyn_ros
from flexdyn_ros.errors import FlexdynWarning, SimulationError, SingularityError

#: a base without mass turns against the first joint of the arm
LOOSE = {"base.type": "floating"}
#: two joints about one axis, nothing between them
COAXIAL = """
<robot name="coaxial"><link name="base"/><link name="between"/><link name="arm"><inertial>
    <origin xyz="0.3 0.1 0"/><mass value="2"/>
    <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.3" iyz="0" izz="0.37"/></inertial></link>
  <joint name="first" type="continuous"><parent link="base"/><child link="between"/>
    <origin rpy="0.3 0.2 0.1"/><axis xyz="0 0.6 0.8"/></joint>
  <joint name="second" type="continuous"><parent link="between"/><child link="arm"/><axis xyz="0 0.6 0.8"/>
  </joint></robot>"""
METHODS = ("articulated", "lagrange")
BODY = """<inertial><origin xyz="0.1 0 0"/><mass value="1"/>
    <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial>"""
TURNING = """<joint name="{name}" type="continuous"><parent link="{parent}"/><child link="{child}"/>
    <origin xyz="0.2 0 0"/></joint>"""


@pytest.mark.parametrize("flexible", [True, False])
@pytest.mark.parametrize("method", METHODS)
def test_a_base_without_mass_is_told(method, flexible):
    options = LOOSE | {"formulation.method": method, "formulation.flexible": flexible}
    robot = flexdyn_ros.load("canadarm2", options=options)
    rng = np.random.default_rng(1)
    q = np.array([robot.random(rng) for _ in range(5)])
    for one in q:
        with pytest.raises(SingularityError):
            robot.forward_dynamics(one, np.zeros(robot.nv))
    with pytest.warns(FlexdynWarning, match="5 of 5"):
        assert np.isnan(robot.forward_dynamics(q, np.zeros(robot.nv))).all()


@pytest.mark.parametrize("method", METHODS)
def test_two_joints_about_one_axis_are_told(method):
    robot = flexdyn_ros.load(COAXIAL, options={"formulation.method": method})
    q = np.random.default_rng(2).uniform(-3.0, 3.0, (5, 2))
    with pytest.warns(FlexdynWarning, match="5 of 5"):
        assert np.isnan(robot.forward_dynamics(q, 0.1 * q)).all()
    with pytest.raises(SingularityError):
        robot.forward_dynamics(q[0], q[1])


def test_bodies_without_mass_are_no_fault_where_the_motion_is_determined():
    robot = flexdyn_ros.load(
        COAXIAL.replace('<axis xyz="0 0.6 0.8"/></joint>', '<axis xyz="1 0 0"/></joint>', 1)
    )
    q, v = np.random.default_rng(3).uniform(-1.0, 1.0, (2, 4, 2))
    a = robot.forward_dynamics(q, v)
    assert robot.inverse_dynamics(q, v, a) == pytest.approx(0.0, abs=1e-11)


def test_singular_poses_of_a_platform_are_warned_of_once():
    robot = flexdyn_ros.load("stewart_1t")
    flat, still = robot.neutral(), np.zeros(6)
    flat[2] = 0.0
    with pytest.warns(FlexdynWarning, match="1 of 2") as told:
        tau = robot.inverse_dynamics(np.stack([flat, robot.neutral()]), still, still)
    assert len(told) == 1
    assert np.isnan(tau).all(axis=1).tolist() == [True, False]


#: random robots whose mass matrix is singular to rounding, though every pivot of its factors is above it
NEARLY = Path(__file__).parents[1] / "reference" / "nearly_singular"


@pytest.mark.parametrize("name", ["eight_joints", "five_joints"])
def test_accelerations_that_do_not_balance_the_efforts_are_not_answered(name):
    robot, state = flexdyn_ros.load(NEARLY / f"{name}.urdf"), np.load(NEARLY / f"{name}.npz")
    arguments = state["q"], state["v"], state["tau"]
    with pytest.raises(SingularityError, match=r"motion of 'j[0-9]'") as told:
        robot.forward_dynamics(*arguments)
    assert 0.0 <= told.value.measure < 1e-12
    with pytest.warns(FlexdynWarning, match="singular in 3 of 3"):
        assert np.isnan(robot.forward_dynamics(*(np.array([x] * 3) for x in arguments))).all()


def uneven_robot(rng):
    """A random tree whose bodies have masses of many sizes, or none; axes and origins often coincide."""
    count, parts = rng.integers(2, 9), ['<link name="l0"/>']
    for i in range(1, count + 1):
        kind, inertial = rng.integers(0, 4), ""
        if kind:
            mass = 10.0 ** rng.uniform(-18, 6) if kind == 1 else rng.uniform(0.1, 5.0)
            size = mass * (10.0 ** rng.uniform(-6, 0) if kind < 3 else 0.1) ** 2
            x, y, z = rng.normal(size=3) * rng.choice([0.0, 0.2])
            inertial = f"""<inertial><origin xyz="{x} {y} {z}"/><mass value="{mass}"/>
                <inertia ixx="{size}" iyy="{size}" izz="{size}" ixy="0" ixz="0" iyz="0"/></inertial>"""
        axis = np.eye(3)[rng.integers(3)] if rng.random() < 0.6 else rng.normal(size=3)
        origin, parent = (
            rng.normal(size=3) * rng.choice([0.0, 0.5]),
            i - 1 if rng.random() < 0.8 else rng.integers(i),
        )
        xyz, along = (" ".join(map(repr, map(float, x))) for x in (origin, axis))
        parts.append(f"""<link name="l{i}">{inertial}</link><joint name="j{i}" type="continuous">
            <parent link="l{parent}"/><child link="l{i}"/>
            <origin xyz="{xyz}"/><axis xyz="{along}"/></joint>""")
    return "<robot name='uneven'>" + "".join(parts) + "</robot>"


def test_whatever_forward_dynamics_answers_balances_the_efforts():
    rng, answered, raised, checked = np.random.default_rng(8), 0, 0, 0
    for _ in range(150):
        robot = flexdyn_ros.load(uneven_robot(rng))
        q, v, tau = robot.random(rng), rng.normal(size=robot.nv), rng.normal(size=robot.nv)
        if rng.random() < 0.3:
            q = np.round(q / (np.pi / 2)) * (np.pi / 2)
        checked += robot.functions.checked
        try:
            a = robot.forward_dynamics(q, v, tau)
        except SingularityError:
            raised += 1
            continue
        size = max(np.abs(tau).max(), np.abs(robot.bias_forces(q, v)).max())
        # UNBALANCED, and what rounding does between two ways to compute it
        assert np.abs(robot.inverse_dynamics(q, v, a) - tau).max() < 1.1e-5 * size
        answered += 1
    assert min(answered, raised, checked) > 20


def test_the_joint_that_moves_no_inertia_is_named(monkeypatch):
    # looked for up to so many velocities
    monkeypatch.setattr("flexdyn_ros.robot.analysis.modes.MOST_VELOCITIES", 2)
    links = ('<link name="w"/>', f'<link name="a">{BODY}</link>', '<link name="b"/>')
    joints = (
        TURNING.format(name="turn_a", parent="w", child="a"),
        TURNING.format(name="turn_b", parent="a", child="b"),
    )
    robot = flexdyn_ros.load("<robot name='r'>" + "".join(links + joints) + "</robot>")
    with pytest.raises(SingularityError, match="'turn_b' moves no inertia"):
        robot.forward_dynamics(robot.neutral(), np.zeros(2))
    with pytest.warns(FlexdynWarning, match=r"singular in 2 of 2 .*\(sample 0: .*'turn_b' moves no inertia"):
        robot.forward_dynamics(np.zeros((2, 2)), np.zeros(2))
    monkeypatch.setattr("flexdyn_ros.robot.analysis.modes.MOST_VELOCITIES", 1)
    with pytest.raises(SingularityError) as told:
        robot.forward_dynamics(robot.neutral(), np.zeros(2))
    assert "turn_b" not in str(told.value)


def test_robots_whose_bodies_weigh_something_are_not_checked():
    for name in ("seven_joint_arm", "canadarm2", "two_link"):
        assert not flexdyn_ros.load(name).functions.checked
    robot = flexdyn_ros.load(
        COAXIAL.replace('<axis xyz="0 0.6 0.8"/></joint>', '<axis xyz="1 0 0"/></joint>', 1)
    )
    assert robot.functions.checked
    # inertia beside that of what hangs far from a joint
    body = BODY.replace('"0.01"', '"1e-6"')
    for far, checked in ((10.0, False), (100.0, True)):
        robot = flexdyn_ros.load(
            f'<robot name="far"><link name="base"/><link name="a">{body}</link><link name="b">{body}</link>'
            + TURNING.format(name="turn", parent="base", child="a")
            + TURNING.format(name="bob", parent="a", child="b").replace("0.2 0 0", f"{far} 0 0")
            + "</robot>"
        )
        assert robot.functions.checked == checked


def test_accelerations_balance_efforts_of_cylinders_that_are_no_coordinates():
    """A universal joint, whose middle has no mass, and two cylinders on it: four efforts, two coordinates."""
    cylinder = (
        '<cylinder name="{}" base="base" base_xyz="{}" end="arm" end_xyz="{}" minimum_length="0.01"'
        ' stroke="9"/>'
    )
    robot = flexdyn_ros.load(
        COAXIAL.replace('<axis xyz="0 0.6 0.8"/>\n', '<axis xyz="1 0 0"/>\n').replace(
            "</robot>",
            f"""<flexdyn>{cylinder.format("one", "0.5 -0.3 0.2", "0.1 0.4 0.3")}
            {cylinder.format("two", "-0.4 0.2 0.6", "0.2 0.1 -0.5")}</flexdyn></robot>""",
        )
    )
    assert robot.functions.checked
    assert (robot.nu, robot.nv) == (4, 2)
    rng = np.random.default_rng(4)
    q, v = np.array([robot.random(rng) for _ in range(5)]), rng.normal(size=(5, 2))
    tau, wrench = 3.0 * rng.normal(size=(5, 4)), rng.normal(size=(5, 6))
    A, M = robot.actuation_matrix(q), robot.mass_matrix(q)
    for wrenches in (None, {"arm": wrench}):
        a = robot.forward_dynamics(q, v, tau, wrenches)
        applied = [actuation @ efforts for actuation, efforts in zip(A, tau, strict=True)]
        applied -= robot.bias_forces(q, v)
        if wrenches:
            applied += [J.T @ w for J, w in zip(robot.jacobian(q, "arm"), wrench, strict=True)]
        np.testing.assert_allclose(a, np.linalg.solve(M, applied[..., None])[..., 0], rtol=1e-9)


def test_a_run_of_a_robot_without_mass_ends_with_the_cause():
    text = (
        '<robot name="light"><link name="base"/><link name="arm"/><joint name="turn" type="continuous">'
        '<parent link="base"/><child link="arm"/><axis xyz="0 1 0"/></joint></robot>'
    )
    with pytest.raises(SimulationError, match=r"'turn' moves? no inertia"):
        flexdyn_ros.simulate(flexdyn_ros.load(text), 0.1)
