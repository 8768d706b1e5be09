"""The builder of rigid trees: order, frames, lumped links, mimic chains, resistances, what it refuses."""

import numpy as np
import pytest
from models import joint, link, robot_text

import flexdyn_ros
from flexdyn_ros.description import read
from flexdyn_ros.families.trees.rigid.kernels.views import (
    ARMATURE,
    COULOMB,
    DAMPING,
    DOF_NUMBERS,
    STATIC,
    STIFFNESS,
)
from flexdyn_ros.families.trees.rigid.model import build_tree
from flexdyn_ros.numerics.algebra.manifold import FREE


def build(*parts):
    return build_tree(read(robot_text("robot", *parts)))


BALL = (1, 0, 0, 1, 0, 1)


def branching():
    """Joints in the file: right, left, deep (on left), rail (on deep) - and a tool fixed to deep."""
    return [
        *(link(name, 1.0, (0.1, 0, 0), BALL) for name in ("base", "r", "l", "d", "s", "tool")),
        joint("right", "revolute", "base", "r", axis=(0, 0, 1)),
        joint("left", "continuous", "base", "l", (0, 1, 0), axis=(0, 1, 0)),
        joint("rail", "prismatic", "d", "s", axis=(1, 0, 0)),
        joint("deep", "revolute", "l", "d", (0, 0, 1), axis=(1, 1, 0)),
        joint("mount", "fixed", "d", "tool", (0.5, 0, 0), (0, 0, 1.0)),
    ]


def test_coordinates_are_depth_first_in_the_order_of_the_file():
    tree = build(*branching())
    assert tree.q_names == ("right", "left", "deep", "rail")
    assert [c.body for c in tree.coordinates] == ["r", "l", "d", "s"]
    assert [c.unit for c in tree.coordinates] == ["rad", "rad", "rad", "m"]
    assert tree.model.turn[1:].tolist() == [1.0, 1.0, 1.0, 0.0]
    assert tree.model.slide[1:].tolist() == [0.0, 0.0, 0.0, 1.0]
    assert tree.model.parent.tolist() == [0, 0, 0, 2, 3]


def test_fixed_links_are_lumped_and_stay_frames():
    tree = build(*branching())
    assert set(tree.frames) == {"base", "r", "l", "d", "s", "tool"}
    assert tree.frames["tool"].body == tree.frames["d"].body
    mass = tree.model.inertia[0::10]
    assert mass.tolist() == [1.0, 1.0, 1.0, 2.0, 1.0]
    # the tool's frame, seen from the link that carries it
    d, tool = tree.frames["d"].placement, tree.frames["tool"].placement
    assert d.R.T @ (tool.p - d.p) == pytest.approx([0.5, 0, 0], abs=1e-15)
    assert (d.R.T @ tool.R)[0, :2] == pytest.approx([np.cos(1.0), -np.sin(1.0)])


def test_axes_become_z_by_exact_rotations():
    tree = build(*branching())
    for b in range(1, tree.model.nb):
        R = tree.model.placement[12 * b : 12 * b + 9].reshape(3, 3)
        assert np.abs(R @ R.T - np.eye(3)).max() <= 1e-15
        assert np.linalg.det(R) == pytest.approx(1.0)


def test_arrays_are_read_only():
    model = build(*branching()).model
    for array in model:
        if isinstance(array, np.ndarray):
            assert not array.flags.writeable


def test_a_chain_of_mimics_ends_at_its_leader():
    more = '<dynamics damping="2" friction="3"/>'
    limits = '<limit lower="-1" upper="1" effort="1" velocity="1"/>'
    tree = build(
        *(link(name, 1.0, (0.1, 0, 0), BALL) for name in "abcd"),
        joint("third", "revolute", "c", "d", axis=(0, 0, 1),
              more='<mimic joint="second" multiplier="3"/>' + limits),
        joint("second", "revolute", "b", "c", axis=(0, 0, 1),
              more='<mimic joint="first" multiplier="-2" offset="0.5"/>' + more + limits),
        joint("first", "revolute", "a", "b", axis=(0, 0, 1), more=more + limits),
    )  # fmt: skip
    assert tree.q_names == ("first",)
    assert tree.has_mimic
    assert tree.model.ratio[1:].tolist() == [1.0, -2.0, -6.0]
    assert tree.model.offset[1:].tolist() == [0.0, 0.5, 1.5]
    assert tree.model.dof[DAMPING] == 2.0 + 4.0 * 2.0
    assert tree.model.dof[COULOMB] == tree.model.dof[STATIC] == 3.0 + 2.0 * 3.0


def test_rotor_and_spring_go_to_their_coordinate():
    tree = build(
        *branching(),
        '<flexdyn reference="deep"><rotor inertia="0.01" gear_ratio="10"/>'
        '<joint_spring stiffness="7" reference="0.2"/></flexdyn>',
    )
    dof = tree.model.dof.reshape(-1, DOF_NUMBERS)
    assert dof[:, ARMATURE].tolist() == [0.0, 0.0, 1.0, 0.0]
    assert dof[:, STIFFNESS].tolist() == [0.0, 0.0, 7.0, 0.0]


def test_a_floating_base_has_seven_and_six():
    tree = build(*branching(), '<flexdyn><base type="floating"/></flexdyn>')
    assert tree.q_names[:7] == tuple(f"base/{n}" for n in ("x", "y", "z", "qx", "qy", "qz", "qw"))
    assert [c.name for c in tree.coordinates[:6]] == [
        f"base/{n}" for n in ("wx", "wy", "wz", "vx", "vy", "vz")
    ]
    assert [c.q_index for c in tree.coordinates[:6]] == [-1, -1, -1, 0, 1, 2]
    assert not any(c.actuated for c in tree.coordinates[:6])
    assert tree.model.joint_type[1] == FREE
    assert tree.neutral[6] == 1.0


def test_the_empty_root_above_a_floating_joint_is_a_frame_that_stays():
    robot = flexdyn_ros.load(
        robot_text(
            "free",
            '<link name="map"/>',
            link("hull", 1.0, (0.1, 0, 0), BALL),
            joint("float", "floating", "map", "hull"),
        )
    )
    q = robot.random(np.random.default_rng(0))
    np.testing.assert_array_equal(robot.frames(q, "map"), np.eye(4))


def test_joints_without_effort_are_not_actuated():
    passive = '<limit lower="-1" upper="1" effort="0" velocity="1"/>'
    tree = build(
        link("a", 0),
        link("b", 1.0, (0.1, 0, 0), BALL),
        joint("j", "revolute", "a", "b", axis=(0, 0, 1), more=passive),
    )
    assert not tree.coordinates[0].actuated


def test_a_joint_that_moves_no_mass_is_warned_of():
    tree = build(link("a", 0), link("b", 0), joint("j", "continuous", "a", "b", axis=(0, 0, 1)))
    assert "no mass" in tree.warnings[0]
    assert "b" in tree.warnings[0]


def test_random_takes_limits_of_zero_of_either_sign():
    text = """<robot name="r"><link name="a"/><link name="b"/>
    <joint name="j" type="revolute"><parent link="a"/><child link="b"/>
    <limit lower="0.0" upper="-0.0" effort="1" velocity="1"/></joint></robot>"""
    assert flexdyn_ros.load(text).random().tolist() == [0.0]


FAR = float(np.nextafter(1000.0, 2000.0))


@pytest.mark.parametrize(
    ("lower", "upper", "first", "last"),
    [
        (-0.3, 1.1, -0.3, 1.1),
        (-1000.0, -990.0, -1000.0, -990.0),
        (990.0, 1000.0, 990.0, 1000.0),
        # a limit that is too far is as if there were none: the other one still holds
        (-FAR, -990.0, -990.0 - np.pi, -990.0),
        (990.0, FAR, 990.0, 990.0 + np.pi),
        (-FAR, 0.2, -np.pi, 0.2),
        (-0.2, FAR, -0.2, np.pi),
        (-FAR, FAR, -np.pi, np.pi),
        (-3000.0, -2000.0, -np.pi, np.pi),
        (2000.0, 3000.0, -np.pi, np.pi),
    ],
)
def test_random_joints_are_within_limits_of_up_to_a_thousand(lower, upper, first, last):
    text = f"""<robot name="r"><link name="a"/><link name="b"/>
    <joint name="j" type="revolute"><parent link="a"/><child link="b"/>
    <limit lower="{lower!r}" upper="{upper!r}" effort="1" velocity="1"/></joint></robot>"""
    robot, rng = flexdyn_ros.load(text), np.random.default_rng(1)
    drawn = np.array([robot.random(rng)[0] for _ in range(300)])
    assert first <= drawn.min() < first + 0.05 * (last - first)
    assert last - 0.05 * (last - first) < drawn.max() <= last
