"""Moves of joints that turn freely, beside SciPy's rotations: small turns and large ones, and back again."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from flexdyn_ros.numerics.algebra.manifold import BALL, FREE, SCREW, displacement, move, turn_quaternion

#: turns [rad] on both sides of 0.02, where a series ends
SIZES = (0.0, 1e-9, 1e-3, 0.015, 0.0199, 0.0201, 0.5, 2.0, 3.1)


def turns(size, count=4):
    """Quaternions x y z w and vectors of turns of a size."""
    rng = np.random.default_rng(7)
    vectors = rng.standard_normal((count, 3))
    return (
        Rotation.random(count, rng=rng).as_quat(),
        size * vectors / np.linalg.norm(vectors, axis=1, keepdims=True),
    )


@pytest.mark.parametrize("size", SIZES)
def test_a_turn_of_a_quaternion_is_the_exponential_from_the_left(size):
    for quaternion, vector in zip(*turns(size), strict=True):
        found = turn_quaternion(*quaternion, *vector)
        assert np.linalg.norm(found) == pytest.approx(1.0, abs=1e-15)
        expected = (Rotation.from_rotvec(vector) * Rotation.from_quat(quaternion)).as_quat()
        expected *= np.sign(expected @ found)
        np.testing.assert_allclose(found, expected, rtol=0.0, atol=4e-16)


@pytest.mark.parametrize("size", SIZES[1:])
def test_a_turn_by_complex_numbers_is_that_of_its_derivative(size):
    """The rate of exp([r]) along r is that of a turn about an axis that stays."""
    (quaternion, *_), (vector, *_) = turns(size)
    axis = vector / size
    moved = turn_quaternion(*quaternion, *(vector + 1e-30j * axis))
    there = np.real(moved)
    x, w = there[:3], there[3]
    expected = 0.5 * np.append(w * axis + np.cross(axis, x), -axis @ x)
    np.testing.assert_allclose(np.imag(moved) / 1e-30, expected, rtol=0.0, atol=1e-13)


class Chart:
    """A screw, a free body, a ball joint and another screw, behind one another."""

    nb, nv, nq = 5, 11, 13
    joint_type = (-1, SCREW, FREE, BALL, SCREW)
    # of quaternions, three numbers before them
    q_index, v_index = (0, 0, 1, 5, 12), (0, 0, 1, 7, 10)
    q_of_v = (0, -1, -1, -1, 1, 2, 3, -1, -1, -1, 12)


@pytest.mark.parametrize("size", SIZES)
def test_the_way_between_two_places_leads_from_one_to_the_other(size):
    (one, two, *_), (first, second, *_) = turns(size)
    q = np.array([0.3, 1.0, -2.0, 3.0, *one, *two, 0.7])
    v = np.array([0.4, *first, 5.0, -6.0, 7.0, *second, -0.8])
    out = np.empty(Chart.nq)
    move(Chart, q, v / 0.25, 0.25, out)
    for k, quaternion, vector in ((4, one, first), (8, two, second)):
        expected = Rotation.from_rotvec(vector) * Rotation.from_quat(quaternion)
        assert (expected.inv() * Rotation.from_quat(out[k : k + 4])).magnitude() < 1e-14
    np.testing.assert_allclose(out[[0, 1, 2, 3, 12]], [0.7, 6.0, -8.0, 10.0, -0.1], atol=1e-15)
    back = np.empty(Chart.nv)
    for sign in (1.0, -1.0):
        # both quaternions of a rotation
        out[4:12] *= sign
        displacement(Chart, np.zeros(Chart.nv), q, out, back)
        np.testing.assert_allclose(back, v, rtol=0.0, atol=2e-14)
    move(Chart, q, v, 1.0, q)
    np.testing.assert_allclose(np.abs(q), np.abs(out), atol=1e-15)


def test_joints_that_turn_on_and_on_take_the_short_way():
    wraps, back = np.zeros(Chart.nv), np.empty(Chart.nv)
    wraps[10] = 1
    q = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0])
    for angle, expected in (
        (3.0, 3.0),
        (3.3, 3.3 - 2.0 * np.pi),
        (-3.3, 2.0 * np.pi - 3.3),
        (14.0, 14.0 - 4.0 * np.pi),
    ):
        there = q.copy()
        there[[0, 12]] = angle
        displacement(Chart, wraps, q, there, back)
        assert back[0] == angle
        assert back[10] == pytest.approx(expected, abs=1e-14)
