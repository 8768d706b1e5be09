"""Rows of closed joints: the numbers of machines.md, and their rates against differences of the residual."""

import numpy as np
import pytest
from machines import joint, robot, rod
from scipy.spatial.transform import Rotation

from flexdyn_ros import load
from flexdyn_ros.families.trees.loops.geometry import rotation_vector
from flexdyn_ros.multibody.constraints.kernels import residual as at
from flexdyn_ros.multibody.constraints.loop import ROWS, triad
from flexdyn_ros.multibody.elements.kernels import law
from flexdyn_ros.numerics.algebra.placement import rotation_of_rpy

KINDS = np.arange(10)
R1 = rotation_of_rpy((0.2, -0.3, 0.4)) @ triad((1.0, 2.0, 2.0))
R2 = rotation_of_rpy((-0.5, 0.6, 0.1)) @ triad((2.0, -1.0, 2.0))
P1, P2 = np.array([0.1, 0.2, 0.3]), np.array([0.6, -0.1, 0.7])
TWISTS = np.array([0.3, -0.2, 0.5, 0.1, 0.4, -0.2, -0.4, 0.1, 0.6, -0.3, 0.2, 0.5])


def motion_of(R1, p1, R2, p2, twists):
    w1, v1, w2, v2 = np.reshape(twists, (4, 3))
    return np.concatenate([p1, R1.ravel(), v1, w1, p2, R2.ravel(), v2, w2])


STILL = np.zeros(law.ACCELERATION)


def rows_of(motion, acceleration=STILL, length=0.0):
    """All ten rows, interpreted: of any number type."""
    rows = np.full((10, at.ROW), np.nan, dtype=np.result_type(motion, acceleration))
    for kind in KINDS:
        at.closed_row(kind, length, motion, acceleration, rows[kind])
    return rows


def rows_at(R1, p1, R2, p2, twists, acceleration=STILL):
    return rows_of(motion_of(R1, p1, R2, p2, twists), acceleration)


def test_the_numbers_of_the_worked_example():
    """W1: residuals, rates and J-dot v."""
    found = rows_at(R1, P1, R2, P2, TWISTS)
    residual = [
        0.4298261971983, -0.5476174402039, 0.1239539405854, 0.1906133589872, 0.9705836684919, 0.1470846349299,
        0.3447034910356, 0.9123664857234, 0.1883590623168, 0.7071067811865,
    ]  # fmt: skip
    rate = [
        -0.5203755569888, -0.5566764004233, 0.4745741932515, -0.4067704169068, 0.1088669251126,
        -0.1912408054271, -0.484812234046, 0.2352429501012, -0.1673820466444, 0.1979898987322,
    ]  # fmt: skip
    second = [
        0.1986423362019, 0.5302135591047, 0.7185936292577, -0.0908720123927, -0.1137545350352,
        -0.5857682667756, -0.036401266973, -0.2951268564845, 0.122083794597, 0.9203701863924,
    ]  # fmt: skip
    np.testing.assert_allclose(found[:, at.VALUE], residual, atol=2e-13)
    np.testing.assert_allclose(found[:, at.RATE], rate, atol=2e-13)
    np.testing.assert_allclose(found[:, at.SECOND], second, atol=2e-13)
    log = [0.5050019897498, 1.3366470101218, 0.2759522422347]
    np.testing.assert_allclose(rotation_vector(R1.T @ R2), log, atol=2e-13)


def moved(s, twists, accelerations):
    """Frames after a (complex) time s: the pose to second order, R = exp([w s + al s^2 / 2 + ...]) R."""
    out = []
    for R, p, w, v, al, a in zip(
        (R1, R2), (P1, P2), *(np.reshape(x, (2, 2, 3)).swapaxes(0, 1)[k] for x, k in
                              ((twists, 0), (twists, 1), (accelerations, 0), (accelerations, 1))), strict=True
    ):  # fmt: skip
        x = np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])
        y = np.array([[0, -al[2], al[1]], [al[2], 0, -al[0]], [-al[1], al[0], 0]])
        out += [(np.eye(3) + s * x + 0.5 * s * s * (y + x @ x)) @ R, p + s * v + 0.5 * s * s * a]
    return out


def test_lines_are_the_derivatives_of_the_residual():
    """By the complex step, along each of the twelve twists."""
    lines = rows_at(R1, P1, R2, P2, TWISTS)[:, at.LINE : at.LINE + 12]
    for k in range(12):
        frames = moved(1e-20j, np.eye(12)[k], np.zeros(12))
        slope = rows_at(*frames, np.zeros(12))[:, at.VALUE].imag / 1e-20
        np.testing.assert_allclose(lines[:, k], slope, atol=1e-14)


def test_second_derivatives_are_those_of_the_rate():
    """By the complex step of the rate along the motion, with accelerations."""
    rng = np.random.default_rng(2)
    acceleration = rng.standard_normal(12)
    found = rows_at(R1, P1, R2, P2, TWISTS, acceleration)
    frames = moved(1e-20j, TWISTS, acceleration)
    rate = rows_at(*frames, TWISTS + 1e-20j * acceleration)[:, at.RATE]
    np.testing.assert_allclose(found[:, at.RATE], rate.real, atol=1e-14)
    np.testing.assert_allclose(found[:, at.SECOND], rate.imag / 1e-20, atol=1e-13)


def test_rotation_vectors_are_those_of_scipy_half_turns_included():
    rng = np.random.default_rng(3)
    for angle in (0.0, 1e-9, 1e-3, 1.0, 3.0, np.pi - 1e-8, np.pi):
        n = rng.standard_normal(3)
        t = angle * n / np.linalg.norm(n)
        found = rotation_vector(Rotation.from_rotvec(t).as_matrix())
        assert min(np.abs(found - t).max(), np.abs(found + t).max() if angle > 3.1 else np.inf) < 1e-7


@pytest.mark.parametrize("type", ROWS)
def test_every_type_vanishes_where_its_joint_is_closed(type):
    """And no other row does: those that are left are the freedom of the joint."""
    away = np.array([0.3, -0.2, 0.4]) @ R1.T
    free = {"prismatic": (0, 0, 1), "cylindrical": (0, 0, 1), "planar": (1, 1, 0), "point_on_line": (0, 0, 1),
            "point_on_plane": (1, 1, 0), "distance": (1, 1, 1)}  # fmt: skip
    p2 = P1 + R1 @ (np.array(free.get(type, (0, 0, 0))) * (R1.T @ away) + 1e-200)
    turns = {"revolute": (0, 0, 0.7), "cylindrical": (0, 0, 0.7), "planar": (0, 0, 0.7),
             "universal": (0.5 * np.pi, 0, 0), "fixed": (0, 0, 0), "prismatic": (0, 0, 0)}  # fmt: skip
    R = R1 @ rotation_of_rpy(turns.get(type, (0.4, 0.5, 0.6)))
    rows = rows_of(motion_of(R1, P1, R, p2, np.zeros(12)), length=float(np.linalg.norm(p2 - P1)))
    assert np.abs(rows[list(ROWS[type]), at.VALUE]).max() < 1e-15
    # moved against each row, it is open
    for row in ROWS[type]:
        line = rows[row, at.LINE : at.LINE + 12]
        assert np.abs(line).max() > 0.4


@pytest.mark.parametrize("size", [0.0, 1e-4, 0.6, 1.5])
def test_turns_that_are_assembled_have_the_slopes_of_their_rotation_vector(size):
    """Of an arm of three skew joints whose hand is welded to the world, by central differences of log(Q)."""
    parts = (
        rod("a", 0.3, 1.0), rod("b", 0.4, 2.0), rod("c", 0.2, 1.5),
        joint("i", "ground", "a", axis=(0.0, 0.6, 0.8)),
        joint("j", "a", "b", at=(0.3, 0.0, 0.0), axis=(1.0, 0.0, 0.0)),
        joint("k", "b", "c", at=(0.4, 0.1, 0.0), axis=(0.0, 0.8, -0.6)),
    )  # fmt: skip
    weld = '<loop name="weld" type="fixed" base="world" base_xyz="0.7 0.1 0" end="c"/>'
    geometry = load(robot("arm", *parts, flexdyn=weld)).functions.layers[-1].closing.geometry
    q, h = size * np.array([0.7, -0.5, 0.9]), 1e-6
    phi, J = geometry.to_assemble(q)
    turns = geometry.at(q[None], np.zeros((1, 3))).turns[0, 0]
    np.testing.assert_allclose(phi[3:], Rotation.from_matrix(turns[0].T @ turns[1]).as_rotvec(), atol=1e-12)
    for i, e in enumerate(h * np.eye(3)):
        slope = (geometry.to_assemble(q + e)[0] - geometry.to_assemble(q - e)[0]) / (2.0 * h)
        np.testing.assert_allclose(J[:, i], slope, atol=1e-8)
