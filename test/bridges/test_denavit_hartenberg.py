"""Denavit-Hartenberg tables: URDFs with the frames of the textbooks; what is wrong in a table is named."""

import numpy as np
import pytest

import flexdyn_ros
from flexdyn_ros.bridges import read_table
from flexdyn_ros.errors import DescriptionError

#: UR5, from its maker (standard convention)
UR5 = """joint, type, a, alpha, d, theta
# a and d in metres, angles in degrees
pan, revolute, 0, 90, 0.089159, 0
lift, revolute, -0.425, 0, 0, 0
elbow, revolute, -0.39225, 0, 0, 0
wrist_1, revolute, 0, 90, 0.10915, 0
wrist_2, revolute, 0, -90, 0.09465, 0

wrist_3, revolute, 0, 0, 0.0823, 0
"""

#: a chain with all that a table can hold, for both conventions
CHAIN = """
name: chain
joints:
  - {joint: turn, a: 0.3, alpha: 0.4, d: 0.2, theta: -0.7, lower: -2, upper: 2, velocity: 3, effort: 50,
     mass: 2.0, x: 0.1, y: -0.02, z: 0.05, ixx: 0.02, iyy: 0.03, izz: 0.04, ixy: 0.001}
  - {joint: slide, type: prismatic, a: -0.1, alpha: -1.1, d: 0.4, theta: 0.5, lower: 0, upper: 0.6, mass: 1.5,
     z: -0.1, ixx: 0.01, iyy: 0.011, izz: 0.012}
  - {joint: hand, type: continuous, a: 0.05, alpha: 1.5708, d: 0.0, theta: 0.2, mass: 0.4, x: 0.03,
     ixx: 0.001, iyy: 0.002, izz: 0.002}
"""


def written(tmp_path, text, name="table.csv"):
    path = tmp_path / name
    path.write_text(text)
    return path


def rotation(axis, angle):
    """Rodrigues' formula."""
    K = np.cross(np.eye(3), np.asarray(axis, dtype=float))
    T = np.eye(4)
    T[:3, :3] += np.sin(angle) * K + (1 - np.cos(angle)) * K @ K
    return T


def translation(*p):
    T = np.eye(4)
    T[:3, 3] = p
    return T


def frames_of(rows, q, convention):
    """All frames of a table, by the products of its convention."""
    T, found = np.eye(4), []
    for row, x in zip(rows, q, strict=True):
        theta, d = row["theta"], row["d"]
        theta, d = (theta, d + x) if row["type"] == "prismatic" else (theta + x, d)
        about_z = rotation((0, 0, 1), theta) @ translation(0, 0, d)
        about_x = translation(row["a"], 0, 0) @ rotation((1, 0, 0), row["alpha"])
        T = T @ about_z @ about_x if convention == "standard" else T @ about_x @ about_z
        found.append(T)
    return found


def test_a_published_arm_stands_where_its_maker_says(tmp_path):
    """Universal Robots: at zero angles the flange of a UR5 is at (-817.25, -191.45, -5.491) mm."""
    arm = read_table(written(tmp_path, UR5), convention="standard", degrees=True)
    robot = flexdyn_ros.load(arm.to_urdf())
    assert robot.q_names == ("pan", "lift", "elbow", "wrist_1", "wrist_2", "wrist_3")
    assert robot.frames(np.zeros(6), "tool0")[:3, 3] == pytest.approx([-0.81725, -0.19145, -0.005491])


@pytest.mark.parametrize("convention", ["standard", "modified"])
def test_frames_and_inertia_are_those_of_the_table(tmp_path, convention):
    table = read_table(written(tmp_path, CHAIN, "chain.yaml"), convention=convention)
    robot = flexdyn_ros.load(table.to_urdf())
    for q in ([0.0, 0.0, 0.0], [0.6, 0.35, -1.3]):
        expected = frames_of(table.rows, q, convention)
        assert robot.frames(np.array(q), "tool0") == pytest.approx(expected[-1], abs=1e-12)
        centres = [
            T @ [*(row.get(axis, 0.0) for axis in "xyz"), 1.0]
            for T, row in zip(expected, table.rows, strict=True)
        ]
        masses = [row["mass"] for row in table.rows]
        assert robot.center_of_mass(np.array(q)) == pytest.approx(
            np.average(centres, axis=0, weights=masses)[:3], abs=1e-12
        )


@pytest.mark.parametrize("convention", ["standard", "modified"])
def test_the_mass_matrix_is_that_of_the_bodies_in_their_frames(tmp_path, convention):
    """Kinetic energy of the bodies at the table's frames, by finite differences of these."""
    table = read_table(written(tmp_path, CHAIN, "chain.yaml"), convention=convention)
    robot = flexdyn_ros.load(table.to_urdf())
    q, v, h = np.array([0.4, 0.2, 0.9]), np.array([0.7, -0.3, 1.1]), 1e-5
    kinetic = 0.0
    before, now, after = (frames_of(table.rows, q + s * v, convention) for s in (-h, 0.0, h))
    for row, T0, T, T1 in zip(table.rows, before, now, after, strict=True):
        rate = (T1 - T0) / (2 * h)
        centre = rate @ [*(row.get(axis, 0.0) for axis in "xyz"), 1.0]
        W = T[:3, :3].T @ rate[:3, :3]
        w = np.array([W[2, 1], W[0, 2], W[1, 0]])
        moment = np.diag([row["ixx"], row["iyy"], row["izz"]])
        moment[0, 1] = moment[1, 0] = row.get("ixy", 0.0)
        kinetic += 0.5 * row["mass"] * centre @ centre + 0.5 * w @ moment @ w
    assert 0.5 * v @ robot.mass_matrix(q) @ v == pytest.approx(kinetic, rel=1e-7)


@pytest.mark.parametrize("alpha", [90.0, -90.0])
@pytest.mark.parametrize("theta", [90.0, -90.0])
def test_frames_whose_x_points_along_z_before_stand_where_they_should(tmp_path, alpha, theta):
    """Of roll and yaw only the sum is determined there."""
    text = f"joint, type, a, alpha, d, theta\none, revolute, 0.1, {alpha}, 0.2, {theta}\n"
    table = read_table(written(tmp_path, text), convention="modified", degrees=True)
    (expected,) = frames_of(table.rows, [0.3], "modified")
    found = flexdyn_ros.load(table.to_urdf()).frames(np.array([0.3]), "tool0")
    assert found == pytest.approx(expected, abs=1e-12)


def test_limits_and_types_come_along(tmp_path):
    robot = flexdyn_ros.load(
        read_table(written(tmp_path, CHAIN, "chain.yaml"), convention="modified").to_urdf()
    )
    turn, slide, hand = robot.coordinates
    assert (turn.lower, turn.upper, turn.velocity_limit, turn.effort_limit) == (-2.0, 2.0, 3.0, 50.0)
    assert (slide.unit, slide.upper) == ("m", 0.6)
    assert hand.upper == np.inf


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (
            "lift, revolute, -0.425, pi/2, 0, 0",
            ["table.csv:3", "row 1", "alpha", "pi/2", "nothing is evaluated"],
        ),
        ("lift, revolute, -0.425, 0, 0", ["table.csv:3", "theta", "missing"]),
        ("lift, revolute, nan, 0, 0, 0", ["'a'", "nan", "finite"]),
        ("lift, spherical, 0, 0, 0, 0", ["type", "spherical", "revolute"]),
        ("lift, prismatic, 0, 0, 0, 0", ["limits", "lower"]),
        ("lift, revolute, 0, 0, 0, 0, 7", ["unknown column"]),
        ("tool0_mount, revolute, 0, 0, 0, 0", ["taken"]),
    ],
)
def test_a_mistake_in_a_row_is_named(tmp_path, line, words):
    path = written(tmp_path, f"joint, type, a, alpha, d, theta\n\n{line}\n")
    with pytest.raises(DescriptionError) as caught:
        read_table(path, convention="standard")
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("t.csv", "joint, a\n", ["no joints"]),
        ("t.txt", "", [".txt", ".csv"]),
        ("t.yaml", "joints: 3\n", ["joints"]),
        ("t.yaml", "joints: [}\n", ["t.yaml:1", "YAML"]),
        ("t.yaml", "joints: [3]\n", ["row 1", "mapping"]),
        ("t.yaml", "{joints: [], angels: degrees}\n", ["angels"]),
        ("t.yaml", "{joints: [], angles: turns}\n", ["turns"]),
        ("t.yaml", "!!python/object/apply:os.getcwd []\n", ["YAML"]),
    ],
)
def test_a_file_that_is_no_table_is_refused(tmp_path, name, text, words):
    with pytest.raises(DescriptionError) as caught:
        read_table(written(tmp_path, text, name), convention="standard")
    for word in words:
        assert word in str(caught.value)


def test_nobody_guesses_the_convention(tmp_path):
    with pytest.raises(DescriptionError, match="convention"):
        read_table(written(tmp_path, UR5))
