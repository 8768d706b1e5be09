"""Base parameters of platforms, soft arms, arms on wheels and with elastic joints, from Newton's and Euler's
equations of each body beside the recursions of the families."""

import re
import warnings
from pathlib import Path

import numpy as np
import pytest

from flexdyn_ros import errors, load
from flexdyn_ros.identification import Measurement, base_parameters, fit_linear

pytest.importorskip("pandas")

#: of central differences in time [s]
STEP = 1e-5
ELASTIC = """<robot name="elastic">
  <link name="world"/>
  <link name="upper"><inertial><origin xyz="0.3 0.05 0.1"/><mass value="2"/>
    <inertia ixx="0.02" ixy="0.001" ixz="0" iyy="0.05" iyz="0" izz="0.06"/></inertial></link>
  <link name="fore"><inertial><origin xyz="0.2 0 0"/><mass value="1.2"/>
    <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.02"/></inertial></link>
  <joint name="shoulder" type="continuous"><parent link="world"/><child link="upper"/><axis xyz="0 1 0"/>
    <dynamics damping="0.2" friction="0.1"/></joint>
  <joint name="elbow" type="continuous"><parent link="upper"/><child link="fore"/><origin xyz="0.6 0 0"/>
    <axis xyz="0 1 0"/></joint>
  <flexdyn reference="shoulder"><rotor inertia="1e-4" gear_ratio="80"/>
    <joint_elasticity stiffness="900" damping="1.5"/></flexdyn>
  <flexdyn reference="elbow"><rotor inertia="5e-5" gear_ratio="50"/></flexdyn>
</robot>"""


def robot_of(name):
    return load(ELASTIC if name == "elastic" else name)


def skew(x):
    return np.array([[0.0, -x[2], x[1]], [x[2], 0.0, -x[0]], [-x[1], x[0], 0.0]])


def of_inertia(w):
    """L with I w = L (ixx, ixy, ixz, iyy, iyz, izz)."""
    x, y, z = w
    return np.array([[x, y, z, 0, 0, 0], [0, x, 0, y, z, 0], [0, 0, x, 0, y, z]])


def wrench_of(R, w, dw, acceleration):
    """(6, 10): moment about the origin of a body and force, world axes, by its ten numbers in its own axes,
    from its angular velocity, that one's rate, and the acceleration of its origin less gravity (Atkeson, An &
    Hollerbach 1986, equation 8)."""
    w, dw, a = R.T @ w, R.T @ dw, R.T @ acceleration
    A = np.zeros((6, 10))
    A[:3, 1:4] = -skew(a)
    A[:3, 4:] = of_inertia(dw) + skew(w) @ of_inertia(w)
    A[3:, 0] = a
    A[3:, 1:4] = skew(dw) + skew(w) @ skew(w)
    A[:3], A[3:] = R @ A[:3], R @ A[3:]
    return A


def columns_of(robot, link, q, v, a):
    """B^-1 J^T A: efforts by the numbers of one body, from the motion of its frame alone."""
    J = robot.jacobian(q, link)
    ends = [robot.jacobian(robot.integrate(q, v, s * STEP), link) for s in (-1.0, 1.0)]
    twist = J @ v
    rate = (ends[1] - ends[0]) @ v / (2.0 * STEP) + J @ a
    A = wrench_of(robot.frames(q, link)[:3, :3], twist[:3], rate[:3], rate[3:] - robot.gravity)
    return np.linalg.solve(robot.actuation_matrix(q), J.T @ A)


@pytest.mark.parametrize(
    ("name", "link"),
    [("stewart_1t", "platform"), ("stewart_1t", "leg_2_cylinder"), ("stewart_1t", "leg_5_rod"),
     ("soft_arm_3", "plate_1"), ("soft_arm_3", "tip"), ("mobile_arm_spatial", "base_link"),
     ("elastic", "upper"), ("elastic", "fore")],
)  # fmt: skip
def test_columns_of_a_body_are_its_newton_euler_equations(name, link):
    robot = robot_of(name)
    base = base_parameters(robot, parameters=f"{link}/*")
    rng = np.random.default_rng(2)
    rows, states = [], 12
    for _ in range(states):
        q, (v, a) = robot.random(rng), rng.uniform(-1.0, 1.0, (2, robot.nv))
        rows.append(columns_of(robot, link, q, v, a))
    W = np.vstack(rows)
    # efforts depend on the base parameters alone, and each of these makes a difference
    assert np.abs(W - W[:, base.leading] @ base.matrix).max() < 1e-6 * np.abs(W).max()
    assert np.linalg.matrix_rank(W / np.linalg.norm(W, axis=0).max(), tol=1e-7) == base.rank


def test_the_rank_of_a_platform_is_that_of_the_equations_of_its_bodies():
    robot = load("stewart_1t")
    bodies = ["platform", *(f"leg_{n}_{part}" for n in range(1, 7) for part in ("cylinder", "rod"))]
    rng = np.random.default_rng(4)
    rows = []
    for _ in range(40):
        q, (v, a) = robot.random(rng), rng.uniform(-1.0, 1.0, (2, robot.nv))
        rows.append(np.hstack([columns_of(robot, body, q, v, a) for body in bodies]))
    W = np.vstack(rows)
    size = np.linalg.norm(W, axis=0)
    W /= np.where(size > 0.0, size, 1.0)
    # central differences leave 1e-9 of noise: the gap lies above
    sizes = np.linalg.svd(W, compute_uv=False)
    assert base_parameters(robot).rank == int((sizes > 1e-6 * sizes[0]).sum()) == 82


def states_of(robot, count, seed=6):
    rng = np.random.default_rng(seed)
    q = np.array([robot.random(rng) for _ in range(count)])
    v, a = rng.uniform(-1.0, 1.0, (2, count, robot.nv))
    return q, v, a


def measured(robot, count=200):
    q, v, a = states_of(robot, count)
    return Measurement.of_motion(robot, 0.01 * np.arange(count), q, v, a, robot.inverse_dynamics(q, v, a))


@pytest.mark.parametrize(
    ("name", "options"),
    [("soft_arm_3", {"joints.section_2.section.stiffness": 1850.0, "joints.section_3.section.damping": 11.0,
                     "joints.section_1.section.mass": 0.17}),
     ("elastic", {"joints.shoulder.joint_elasticity.stiffness": 820.0, "joints.elbow.rotor.inertia": 6e-5}),
     ("stewart_1t", {})],
)  # fmt: skip
def test_efforts_tell_the_numbers_of_robots_without_parameters(name, options):
    start = robot_of(name)
    truth = load(ELASTIC if name == "elastic" else name, options=options)
    if name == "stewart_1t":
        truth = truth.with_payload("platform", 120.0, (0.2, -0.1, 0.4), 9.0 * np.eye(3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.FlexdynWarning)
        # plates without inertia lie on the edge of what bodies can have, where a solver rounds
        chosen = ["section_*", "tip/*"] if name == "soft_arm_3" else None
        found = fit_linear(start, measured(truth), parameters=chosen)
    assert found.table["value"].to_numpy() == pytest.approx(found.base.of(truth), rel=1e-7, abs=1e-9)
    state = states_of(start, 20, seed=9)
    expected = truth.inverse_dynamics(*state)
    assert np.abs(found.robot.inverse_dynamics(*state) - expected).max() < 1e-8 * np.abs(expected).max()


@pytest.mark.parametrize(
    ("name", "chosen", "path"),
    [("soft_arm_3", ["section_2/stiffness", "tip/mass"], "joints.section_2.section.stiffness"),
     ("elastic", ["shoulder/elasticity_stiffness", "shoulder/damping"],
      "joints.shoulder.joint_elasticity.stiffness")],
)  # fmt: skip
def test_the_file_has_what_was_found(tmp_path, name, chosen, path):
    file = tmp_path / "start.urdf"
    file.write_text(robot_of(name).description.text)
    start, truth = load(file), load(file, options={path: 1500.0})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.FlexdynWarning)
        found = fit_linear(start, measured(truth), parameters=chosen)
    found.write_urdf(tmp_path / "identified.urdf")
    state = states_of(start, 5)
    expected = truth.inverse_dynamics(*state)
    read = load(tmp_path / "identified.urdf").inverse_dynamics(*state)
    assert np.abs(read - expected).max() < 1e-8 * np.abs(expected).max()


def test_numbers_that_efforts_are_linear_in_are_told_by_name():
    names = [p.name for p in base_parameters(load("soft_arm"), parameters="*").parameters]
    assert names[10:] == [
        "section_1/section_mass", "section_1/stiffness", "section_1/damping", "section_1/bending_stiffness",
    ]  # fmt: skip
    few = base_parameters(load("mobile_arm"), parameters="*/suspension_*")
    assert few.rank == 4
    assert few.units[:2] == ("N/m", "N s/m")


def _documented():
    """Rows of the table of docs/identification.md: robot, default, with "*"."""
    text = (Path(__file__).parents[2] / "docs" / "identification.md").read_text()
    return re.findall(r"^\| `(\w+)` \| (\d+ of \d+) \| (\d+ of \d+) \|", text, re.MULTILINE)


# the platform is tested above, it takes seconds
@pytest.mark.parametrize(
    "row", [row for row in _documented() if row[0] != "stewart_1t"], ids=lambda row: row[0]
)
def test_the_page_says_how_many_numbers_can_be_known(row):
    robot = load(row[0])
    found = (base_parameters(robot), base_parameters(robot, parameters="*"))
    assert row[1:] == tuple(f"{base.rank} of {len(base.parameters)}" for base in found)


def test_the_page_lists_robots_of_every_family():
    assert {load(name).kind for name, *_ in _documented()} == {"tree", "continuum", "mobile", "platform"}
