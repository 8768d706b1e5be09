"""Kinematics of soft arms: acceptance checks and worked numbers of the continuum specification."""

import numpy as np
import pytest
from soft_arms import chain, one, two_sections

import flexdyn_ros
from flexdyn_ros.errors import DimensionError, StateError, UnknownNameError, UnsupportedError

L, R = 0.15, 0.0125


@pytest.fixture(scope="module")
def arm():
    return one()


def classical_pose(q, eta):
    """Rz(phi) Tx(lam) Ry(eta theta) Tx(-lam) Rz(-phi) (specification, sections 2 and 3)."""
    l1, l2, l3 = q
    D = np.sqrt(l1**2 + l2**2 + l3**2 - l1 * l2 - l2 * l3 - l1 * l3)
    theta, lam = 2 * D / (3 * R), (3 * L + l1 + l2 + l3) * R / (2 * D)
    phi = np.arctan2(np.sqrt(3) * (l3 - l2), l2 + l3 - 2 * l1)

    def turn(axis, angle):
        c, s = np.cos(angle), np.sin(angle)
        T = np.eye(4)
        i, j = {"z": (0, 1), "y": (2, 0)}[axis]
        T[i, i] = T[j, j] = c
        T[i, j], T[j, i] = -s, s
        return T

    def along(x):
        T = np.eye(4)
        T[0, 3] = x
        return T

    return turn("z", phi) @ along(lam) @ turn("y", eta * theta) @ along(-lam) @ turn("z", -phi)


def test_exact_pose_equals_the_classical_product_of_turns(arm):
    rng = np.random.default_rng(0)
    for q in rng.uniform(0, 0.03, (200, 3)):
        if arm.arc_parameters(q)[0, 1] < 1e-3:
            continue
        s = [0.0, 0.3, 0.77, 1.0]
        for eta, T in zip(s, arm.pose(q, s)):
            assert np.abs(T - classical_pose(q, eta)).max() < 1e-13


def test_rotations_are_orthonormal_over_the_whole_workspace(arm):
    q = np.random.default_rng(1).uniform(0, 0.03, (2000, 3))
    rotation = arm.pose(q, np.linspace(0, 1, 5))[..., :3, :3]
    assert np.abs(np.swapaxes(rotation, -1, -2) @ rotation - np.eye(3)).max() < 1e-14


def test_straight_pose_is_exact(arm):
    for l in (0.0, 0.011, 0.03):
        T = arm.pose([l, l, l], [0.25, 1.0])
        for eta, pose in zip((0.25, 1.0), T):
            assert np.array_equal(pose[:3, :3], np.eye(3))
            assert np.array_equal(pose[:2, 3], [0.0, 0.0])
            assert pose[2, 3] == pytest.approx(eta * (L + l), rel=1e-15)


def test_worked_pose_and_arc_parameters():
    arm = flexdyn_ros.load("soft_arm")
    q = [0.004, 0.022, 0.013]
    curvature, theta, phi = arm.arc_parameters(q)[0]
    assert theta == pytest.approx(0.8313843876, abs=5e-11)
    assert phi == pytest.approx(-0.5235987756, abs=5e-11)
    assert 1 / curvature == pytest.approx(0.1960585289, abs=5e-11)
    half, tip = arm.pose(q, [0.5, 1.0])
    assert np.abs(tip[:3, 3] - [0.0553769526, -0.0319718985, 0.1448607758]).max() < 6e-11
    assert np.abs(half[:3, 3] - [0.0144599650, -0.0083484647, 0.0791729966]).max() < 6e-11
    assert np.abs(tip[0, :3] - [0.7553901480, 0.1412255639, 0.6398758196]).max() < 6e-11
    assert tip[2, 2] == pytest.approx(0.6738535306, abs=6e-11)
    assert np.abs(arm.center_of_mass(q) - [0.0188950252, -0.0109090479, 0.0769124342]).max() < 6e-11


def test_a_longer_actuator_bends_the_arm_away_from_it(arm):
    tips = arm.frames(np.diag([0.02, 0.02, 0.02]), "link_1")[:, :3, 3]
    for k, tip in enumerate(tips):
        angle = 2 * np.pi * k / 3
        assert tip[:2] @ [np.cos(angle), np.sin(angle)] < -0.01


@pytest.mark.parametrize("q", [[0.004, 0.022, 0.013], [0.01, 0.01, 0.01], [0.01, 0.01 + 1e-9, 0.01]])
def test_jacobians_equal_central_differences(arm, q):
    for frame in ("link_1", "section_1@0.4"):
        check_jacobian(arm, np.array(q), frame)


def test_jacobians_of_several_sections_equal_central_differences():
    arm = two_sections()
    q = np.array([0.01, 0.02, 0.0, 0.015, 0.005, 0.012])
    for frame in ("tip", "plate", "first@0.5", "second@0.25", "second/base"):
        check_jacobian(arm, q, frame)
    check_jacobian(arm, np.full(6, 0.01), "tip")


def check_jacobian(arm, q, frame, h=2e-4):
    J, at = arm.jacobian(q, frame), arm.frames(q, frame)

    def rates(step):
        """(angular; linear) velocity from poses one step ahead and behind."""
        above, below = arm.frames(q + step, frame), arm.frames(q - step, frame)
        moved = (above - below) / (2 * np.abs(step).max())
        turn = moved[:3, :3] @ at[:3, :3].T
        turn = [turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]]
        return np.r_[0.5 * np.array(turn), moved[:3, 3]]

    for k in range(arm.nv):
        step = h * np.eye(arm.nv)[k]
        # rotations change by 80 rad/m: plain central differences leave h^2 / 6 of its cube. Three of them,
        # extrapolated, leave the sixth order: (80 h)^6 / 100 of 80
        coarse, middle, fine = rates(step), rates(step / 2), rates(step / 4)
        found = (64 * fine - 20 * middle + coarse) / 45
        assert np.abs(found - J[:, k]).max() < 1e-8


def test_worked_tip_of_two_sections():
    arm = two_sections()
    q = np.array([10, 20, 0, 15, 5, 12]) * 1e-3
    assert np.abs(arm.frames(q, "tip")[:3, 3] - [-0.0359515782, -0.1816568389, 0.2096962170]).max() < 6e-11
    assert np.abs(arm.center_of_mass(q) - [-0.0110757870, -0.0871303411, 0.1339403604]).max() < 6e-11


# ---- modal kinematics ----


def modal(order, **attributes):
    options = {"formulation.kinematics": "modal", "formulation.order": order}
    return one(options=options, **attributes)


def worst_deviation(approximate, exact, rng, upper=0.03):
    corners = np.array(np.meshgrid(*[[0, upper]] * 3)).reshape(3, -1).T
    q = np.concatenate([corners, rng.uniform(0, upper, (500, 3))])
    difference = approximate.pose(q, [1.0]) - exact.pose(q, [1.0])
    return np.abs(difference[..., :3, :3]).max(), np.linalg.norm(difference[..., :3, 3], axis=-1).max()


@pytest.mark.parametrize(
    ("order", "rotation", "position"),
    [
        (7, 1.0e-3, 2.2e-5),
        (8, 1.9e-4, 3.7e-6),
        (10, 4.3e-6, 7.8e-8),
        (11, 5.8e-7, 1.0e-8),
        (12, 7.1e-8, 1.2e-9),
    ],
)
def test_modal_pose_misses_the_exact_one_as_tabulated(arm, order, rotation, position):
    found = worst_deviation(modal(order), arm, np.random.default_rng(2))
    assert found[0] == pytest.approx(rotation, rel=0.06)
    assert found[1] == pytest.approx(position, rel=0.06)


def test_modal_order_eleven_is_good_to_the_stated_bound(arm):
    rotation, position = worst_deviation(modal(11), arm, np.random.default_rng(3))
    assert rotation < 6e-7
    assert position < 1.1e-8


def test_modal_rotation_error_grows_as_angle_to_order_plus_one(arm):
    approximate = modal(11)
    q = np.array([[0.0, 0.0, 0.015], [0.0, 0.0, 0.03]])
    error = np.abs(approximate.pose(q, [1.0]) - arm.pose(q, [1.0]))[:, 0, :3, :3].max(axis=(1, 2))
    assert np.log2(error[1] / error[0]) == pytest.approx(12, abs=0.15)


def test_modal_jacobian_equals_central_differences():
    arm, q, h = modal(11), np.array([0.004, 0.022, 0.013]), 1e-6
    J = arm.jacobian(q, "section_1@0.7")
    for k in range(3):
        step = h * np.eye(3)[k]
        moved = arm.frames(q + step, "section_1@0.7") - arm.frames(q - step, "section_1@0.7")
        assert np.abs(moved[:3, 3] / (2 * h) - J[3:, k]).max() < 1e-8


def test_modal_poses_of_several_sections_tend_to_the_exact_ones():
    exact = flexdyn_ros.load("soft_arm_3")
    q = np.random.default_rng(7).uniform(0, 0.03, (50, 9))
    for order, bound in ((11, 1e-5), (24, 1e-13)):
        options = {"formulation.kinematics": "modal", "formulation.order": order}
        robot = flexdyn_ros.load("soft_arm_3", options=options)
        for name in ("tip", "plate_1", "section_2@0.4"):
            assert np.abs(robot.frames(q, name) - exact.frames(q, name)).max() < bound
            assert np.abs(robot.jacobian(q, name) - exact.jacobian(q, name)).max() < 300 * bound


def test_modal_kinematics_are_refused_with_a_lump():
    options = {"formulation.kinematics": "modal", "formulation.mass_model": "lumped"}
    with pytest.raises(UnsupportedError, match="'lumped'"):
        flexdyn_ros.load("soft_arm", options=options)


# ---- inverse kinematics ----


def test_inverse_kinematics_of_one_section_is_a_round_trip(arm):
    q = np.random.default_rng(4).uniform(0, 0.03, (2000, 3))
    found = arm.inverse_kinematics(arm.pose(q, [1.0])[:, 0, :3, 3])
    assert found.converged.all()
    assert np.abs(found.q - q).max() < 1e-13
    straight = arm.inverse_kinematics([0.0, 0.0, 0.16])
    assert np.abs(straight.q - 0.01).max() < 1e-16


def test_inverse_kinematics_of_several_sections_reaches_points_and_poses():
    arm, rng = flexdyn_ros.load("soft_arm_3"), np.random.default_rng(5)
    q = np.array([arm.random(rng) for _ in range(5)])
    start = np.full(9, 0.015) + rng.uniform(-1e-3, 1e-3, 9)
    poses = arm.frames(q, "section_3/tip")
    reached = arm.inverse_kinematics(poses[:, :3, 3], start)
    assert reached.converged.all()
    assert np.abs(arm.frames(reached.q, "section_3/tip")[:, :3, 3] - poses[:, :3, 3]).max() < 1e-9
    near = arm.inverse_kinematics(poses, q[0] + 1e-3)
    assert near.converged[0]
    assert np.abs(arm.frames(near.q[0], "section_3/tip") - poses[0]).max() < 1e-9


# ---- deflections and names ----


def test_deflections_are_seen_from_the_section_base():
    arm = flexdyn_ros.load("soft_arm_3")
    q = np.random.default_rng(6).uniform(0, 0.03, 9)
    found = arm.deflections(q, [0.0, 0.5, 1.0])
    assert list(found) == ["section_1", "section_2", "section_3"]
    base, tip = arm.frames(q, ["section_2/base", "section_2/tip"])
    local = base[:3, :3].T @ (tip[:3, 3] - base[:3, 3])
    d = found["section_2"]
    assert np.abs(d.displacement[-1] - (local - [0, 0, 0.15])).max() < 1e-14
    # constant curvature: the rotation vector grows evenly, and its length is the bending angle
    assert np.abs(d.rotation[2] - 2 * d.rotation[1]).max() < 1e-14
    assert np.linalg.norm(d.rotation[2]) == pytest.approx(arm.arc_parameters(q)[1, 1], rel=1e-13)
    assert np.abs(d.curvature[0] * 0.15 - d.rotation[2]).max() < 1e-14
    assert d.axial_force[0] == pytest.approx(1700 * q[3:6].sum())
    # the moment does on the turn what the springs do on the actuators
    dq = np.array([1.0, -2.0, 0.5])
    turn = (
        arm.deflections(q + np.r_[0, 0, 0, dq, 0, 0, 0] * 1e-6, [1.0])["section_2"].rotation - d.rotation[2:]
    )[0]
    stretch = dq.mean() * 1e-6
    assert d.moment[0] @ turn + d.axial_force[0] * stretch == pytest.approx(
        1700 * q[3:6] @ dq * 1e-6, rel=1e-6
    )


def test_frames_have_names_and_wrong_ones_are_refused(arm):
    assert arm.frame_names == ("link_0", "link_1")
    q = [0.01, 0.0, 0.02]
    assert np.array_equal(arm.frames(q, "section_1@tip"), arm.frames(q, "link_1"))
    for name in ("section_1@1.5", "section_2@0.5", "section_1@x", "hand"):
        with pytest.raises(UnknownNameError, match="frame"):
            arm.frames(q, name)
    with pytest.raises(StateError, match="sections"):
        arm.pose(q, [1.5])
    with pytest.raises(DimensionError, match="target"):
        arm.inverse_kinematics([1.0, 2.0])
    with pytest.raises(StateError, match="q"):
        arm.deflections([np.nan, 0, 0])
    with pytest.raises(UnsupportedError, match="pressure"):
        arm.pressures(q, q)


def test_pressures_follow_from_forces():
    text = chain(1, 'preset="bai2022" length="0.15"').replace(
        'length="0.15"/>', 'length="0.15"><pressure area="1e-4" maximum="6e5"/></section>'
    )
    arm = flexdyn_ros.load(text)
    assert np.allclose(arm.pressures([0, 0, 0], [10.0, 0.0, 20.0]), 101325.0 + np.array([1e5, 0.0, 2e5]))
    limit = arm.coordinates[0].effort_limit
    assert limit == pytest.approx(1e-4 * (6e5 - 101325.0))
    assert arm.pressures(np.zeros(3), np.full(3, limit)) == pytest.approx(np.full(3, 6e5))


def test_inverse_kinematics_stays_within_the_strokes_and_says_where_it_cannot_reach():
    arm = flexdyn_ros.load("soft_arm_3")
    low = np.array([c.lower for c in arm.coordinates])
    high = np.array([c.upper for c in arm.coordinates])
    rng = np.random.default_rng(5)
    # near the ends of the strokes a free search leaves them
    q = low + (high - low) * rng.choice([0.02, 0.5, 0.98], (8, arm.nq))
    tip = f"{arm.section_names[-1]}/tip"
    targets = arm.frames(q, tip)[:, :3, 3]
    found = arm.inverse_kinematics(targets, 0.5 * (low + high))
    assert found.converged.all()
    assert ((found.q >= low) & (found.q <= high)).all()
    assert np.abs(arm.frames(found.q, tip)[:, :3, 3] - targets).max() < 1e-9
    far = arm.inverse_kinematics(targets[0] * 10.0)
    assert not far.converged
    assert ((far.q >= low) & (far.q <= high)).all()
    one = flexdyn_ros.load("soft_arm")
    length = one.functions.arm.sections[0].length
    base = one.frames(one.neutral(), f"{one.section_names[0]}/base")
    stretched = one.inverse_kinematics(base[:3, 3] + base[:3, :3] @ [0.0, 0.0, 3.0 * length])
    assert not stretched.converged
