"""The six equations of the legs, and wrenches beside them, against SciPy and against differences."""

import numpy as np
import pytest
from platforms import random_motion, random_platform, with_link
from scipy.linalg import lu

import flexdyn_ros
from flexdyn_ros.families.platform.kernels.lengths import solve_general


@pytest.mark.parametrize("seed", range(8))
def test_six_equations_are_solved_with_the_largest_pivots(seed):
    rng = np.random.default_rng(seed)
    A, b, x = rng.normal(size=(6, 6)) * 10.0 ** rng.integers(-2, 3, (6, 1)), rng.normal(size=6), np.empty(6)
    found = solve_general(np.column_stack((A, b)).ravel(), x)
    order, _, upper = lu(A)
    assert not np.array_equal(order, np.eye(6))
    pivots = np.abs(np.diag(upper))
    assert found == pytest.approx(pivots.min() / pivots.max(), rel=1e-12)
    np.testing.assert_allclose(x, np.linalg.solve(A, b), rtol=1e-9)


FRAMES = ["platform", "leg_2_rod", "leg_3_cylinder", "leg_5_cross"]


@pytest.fixture(scope="module")
def probed():
    text, _ = random_platform(0)
    for frame in FRAMES:
        origin = '<origin xyz="0.3 -0.2 0.4" rpy="0.5 -0.3 0.7"/>'
        text = with_link(text, frame, origin=origin, name=f"beside_{frame}")
    return flexdyn_ros.load(text)


@pytest.mark.parametrize("frame", FRAMES)
def test_a_wrench_beside_a_leg_works_along_the_motion_of_its_frame_by_differences(probed, frame):
    robot, name, rng = probed, f"beside_{frame}", np.random.default_rng(8)
    q, v, a = random_motion(robot, rng)
    w, h, T = rng.normal(size=6) * 100, 1e-6, robot.frames(q, name)
    load = []
    for e in np.eye(6):
        ahead, behind = (robot.frames(robot.integrate(q, s * e, h), name) for s in (1.0, -1.0))
        rate = (ahead - behind) / (2.0 * h)
        spin = rate[:3, :3] @ T[:3, :3].T
        load.append(w @ [spin[2, 1], spin[0, 2], spin[1, 0], *rate[:3, 3]])
    change = robot.inverse_dynamics(q, v, a, {name: w}) - robot.inverse_dynamics(q, v, a)
    expected = -np.linalg.solve(robot.actuation_matrix(q), load)
    np.testing.assert_allclose(change, expected, rtol=0.0, atol=1e-6 * np.abs(expected).max())
