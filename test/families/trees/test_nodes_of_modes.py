"""Where the nodes of imported modes lie: those of the sections from root to tip, and others."""

import numpy as np
import pytest

import flexdyn_ros

ARM = """<robot name="arm"><link name="base"/><link name="boom"/>
<joint name="hinge" type="continuous"><parent link="base"/><child link="boom"/><axis xyz="0 1 0"/></joint>
<flexdyn reference="boom"><beam length="2"/><modes file="%s"/></flexdyn></robot>"""
#: two of them share the section at 1.2 m
ALONG = [[0, 0, 0], [0.5, 0, 0], [1.2, 0, 0.1], [1.2, 0, -0.3], [2, 0, 0]]
#: in the section of the root, behind it (one as far as a node is before it), beyond the tip
ELSEWHERE = [[0, 0.2, 0], [0, -0.1, 0.3], [-0.5, 0, 0], [-0.7, 0.1, 0], [2.6, 0, 0]]


def arm(folder, positions, displacement, rotation):
    count = len(positions)
    slopes = np.zeros((count, 2, 2))
    slopes[:, 0, 0] = 0.1 * np.arange(count)
    np.savez(
        folder / f"{count}.npz",
        nodes=np.array(positions, dtype=float),
        node_mass=np.linspace(1.0, 2.0, count),
        displacement=displacement,
        rotation=rotation,
        stiffness=np.array([[900.0, 80.0], [80.0, 700.0]]),
        root_node=np.array(0),
        interface_nodes=np.zeros(0, dtype=int),
        interface_joints=np.zeros(0, dtype=str),
        shortening=slopes,
    )
    (folder / f"{count}.urdf").write_text(ARM % f"{count}.npz")
    return flexdyn_ros.load(folder / f"{count}.urdf")


def test_sections_are_those_of_nodes_between_root_and_tip(tmp_path):
    """The mean of the nodes of a section, and lines between sections; what moves elsewhere changes none."""
    nodes = ALONG + ELSEWHERE
    u, turn = np.random.default_rng(2).uniform(-1.0, 1.0, (2, 2, len(nodes), 3))
    u[:, 0] = turn[:, 0] = 0.0
    few, many = (arm(tmp_path, nodes[:k], u[:, :k], turn[:, :k]) for k in (len(ALONG), len(nodes)))
    assert many.mass > few.mass
    q, stations = np.array([0.4, 1e-3, -2e-3]), np.array([0.0, 0.1, 0.25, 0.5, 0.6, 0.9, 1.0])
    mine, same = (robot.deflections(q, stations)["boom"] for robot in (many, few))
    for name in ("displacement", "rotation"):
        np.testing.assert_array_equal(getattr(mine, name), getattr(same, name))
    moved, turned = np.einsum("m,mkx->kx", q[1:], u), np.einsum("m,mkx->kx", q[1:], turn)
    moved[:, 0] -= 0.5 * 0.1 * np.arange(len(nodes)) * q[1] ** 2
    for found, of_nodes in ((mine.displacement, moved), (mine.rotation, turned)):
        table = [of_nodes[0], of_nodes[1], of_nodes[2:4].mean(axis=0), of_nodes[4]]
        for axis, column in enumerate(np.transpose(table)):
            expected = np.interp(2.0 * stations, [0.0, 0.5, 1.2, 2.0], column)
            assert found[:, axis] == pytest.approx(expected, abs=1e-15)
