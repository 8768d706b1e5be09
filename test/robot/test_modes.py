"""Modes against pendulums and springs whose frequencies are known in closed form."""

import numpy as np
import pytest
from models import joint, link, random_tree, robot_text, two_link_arm
from scipy.linalg import eigh

import flexdyn_ros
from flexdyn_ros.errors import DimensionError, FlexdynWarning, SingularityError, StateError, UnknownNameError

HANGING = np.array([-np.pi / 2, 0.0])


def pendulum(damping=0.0, friction=0.0, spring="", com=(0, 0, -0.5), axis=(0, 1, 0)):
    dynamics = f'<dynamics damping="{damping}" friction="{friction}"/>'
    return flexdyn_ros.load(
        robot_text(
            "pendulum",
            link("base", 0),
            link("bob", 2.0, com),
            joint("pivot", "continuous", "base", "bob", axis=axis, more=dynamics),
            "<flexdyn><gravity>0 0 -9.81</gravity></flexdyn>",
            spring,
        )
    )


def test_frequency_of_a_pendulum():
    modes = pendulum().modes(np.zeros(1))
    assert modes.frequency == pytest.approx([np.sqrt(9.81 / 0.5) / (2 * np.pi)], rel=1e-14)
    assert modes.damping_ratio == pytest.approx([0.0])
    # unit M-norm: M = m l^2
    assert np.abs(modes.shape) == pytest.approx(np.array([[1 / np.sqrt(2.0 * 0.25)]]))
    assert not modes.unstable


def test_damping_ratio_of_a_pendulum():
    critical = 2 * np.sqrt(2.0 * 0.25 * 2.0 * 9.81 * 0.5)
    for ratio in (0.01, 0.5, 0.999, 1.0, 3.0):
        modes = pendulum(damping=ratio * critical).modes(np.zeros(1))
        assert modes.damping_ratio == pytest.approx([ratio], rel=1e-12)


def test_upside_down_is_unstable():
    modes = pendulum().modes(np.array([np.pi]))
    assert modes.unstable
    assert modes.frequency == pytest.approx([0.0])
    assert np.isinf(modes.damping_ratio).all()


def test_a_joint_along_gravity_has_frequency_zero():
    modes = pendulum(com=(0.5, 0, 0), axis=(0, 0, 1)).modes(np.zeros(1))
    assert modes.frequency == [0.0]
    assert np.isinf(modes.damping_ratio).all()
    assert not modes.unstable


def test_a_joint_spring_counts_as_stiffness():
    spring = '<flexdyn reference="pivot"><joint_spring stiffness="30"/></flexdyn>'
    modes = pendulum(spring=spring).modes(np.zeros(1))
    expected = np.sqrt((2.0 * 9.81 * 0.5 + 30.0) / 0.5) / (2 * np.pi)
    assert modes.frequency == pytest.approx([expected], rel=1e-14)


def test_dry_friction_counts_with_its_slope_at_rest():
    modes = pendulum(friction=1e-4).modes(np.zeros(1))
    slope = 1e-4 / 1e-3
    assert modes.damping_ratio == pytest.approx([slope / (2 * np.sqrt(0.5 * 9.81))], rel=1e-12)


def test_two_link_arm_equals_the_eigenvalues_of_its_closed_form():
    arm = flexdyn_ros.load(two_link_arm())
    modes = arm.modes(HANGING)
    K = 9.81 * np.array([[2.6 * 0.8 + 0.9 * 0.6, 0.9 * 0.6], [0.9 * 0.6, 0.9 * 0.6]])
    M = arm.mass_matrix(HANGING)
    assert modes.frequency == pytest.approx(np.sqrt(eigh(K, M)[0]) / (2 * np.pi), rel=1e-12)
    assert modes.shape.T @ M @ modes.shape == pytest.approx(np.eye(2), abs=1e-13)
    assert modes.shape.T @ K @ modes.shape == pytest.approx(
        np.diag((2 * np.pi * modes.frequency) ** 2), abs=1e-11
    )


def test_locked_coordinates_have_no_part():
    arm = flexdyn_ros.load(two_link_arm())
    modes = arm.modes(HANGING, lock=["shoulder"])
    assert modes.frequency == pytest.approx([np.sqrt(9.81 / 0.6) / (2 * np.pi)], rel=1e-13)
    assert not modes.shape[0].any()
    nothing = arm.modes(HANGING, lock="joints")
    assert nothing.frequency.shape == (0,)
    assert nothing.shape.shape == (2, 0)


def test_coupled_damping_takes_the_ratios_of_the_complex_pairs():
    dampers = two_link_arm().replace(
        '<origin xyz="0.8 0.0 0.0" rpy="0.0 0.0 0.0"/><axis',
        '<dynamics damping="0.3"/><origin xyz="0.8 0.0 0.0" rpy="0.0 0.0 0.0"/><axis',
    )
    arm = flexdyn_ros.load(dampers)
    modes = arm.modes(HANGING)
    linear = arm.linearize(HANGING, np.zeros(2))
    roots = np.linalg.eigvals(linear.A)
    roots = roots[roots.imag > 0]
    ratios = -roots.real / np.abs(roots)
    assert ratios.max() > 0.01
    assert sorted(modes.damping_ratio) == pytest.approx(sorted(ratios), rel=1e-9)


def test_strong_coupled_damping_is_paired_with_every_mode():
    text = random_tree(11, base="fixed", joints=6, mimic=False, floating=False, kinds=("revolute",))
    text = text.replace("</axis>", "").replace("<limit", '<dynamics damping="40"/><limit')
    robot = flexdyn_ros.load(text)
    rest = robot.static_equilibrium(robot.random(np.random.default_rng(3)))
    modes = robot.modes(rest.q)
    moving = modes.frequency > 0
    assert moving.any()
    assert np.isfinite(modes.damping_ratio[moving]).all()
    assert (modes.damping_ratio[moving] > 0).all()
    # all roots together: sum of -2 zeta omega over the modes is the trace of the damping
    A = robot.linearize(rest.q, np.zeros(robot.nv)).A
    assert (np.linalg.eigvals(A).real <= 1e-9).all() == (not modes.unstable)


def test_batches_equal_single_states():
    robot = flexdyn_ros.load(random_tree(4, base="fixed", joints=4, floating=False, resistance=True))
    rng = np.random.default_rng(1)
    q = np.array([robot.random(rng) for _ in range(6)]).reshape(2, 3, robot.nq)
    modes = robot.modes(q)
    for i in np.ndindex(2, 3):
        one = robot.modes(q[i])
        assert np.array_equal(modes.frequency[i], one.frequency)
        assert np.array_equal(modes.damping_ratio[i], one.damping_ratio)
        assert modes.unstable[i] == one.unstable
    assert robot.modes(np.empty((0, robot.nq))).shape.shape == (0, robot.nv, robot.nv)


def test_wrong_arguments_are_named():
    arm = flexdyn_ros.load(two_link_arm())
    with pytest.raises(UnknownNameError, match=r"coordinate in lock 'sholder'.*shoulder"):
        arm.modes(HANGING, lock=["sholder"])
    with pytest.raises(DimensionError, match=r"q has shape \(3,\)"):
        arm.modes(np.zeros(3))
    with pytest.raises(StateError, match=r"q\[1\] is nan"):
        arm.modes(np.array([0.0, np.nan]))


def test_a_mass_matrix_that_is_singular_is_told():
    text = robot_text(
        "idle", link("base", 0), link("arm", 0), joint("pivot", "continuous", "base", "arm", axis=(0, 1, 0))
    )
    with pytest.raises(SingularityError, match="not positive definite"):
        flexdyn_ros.load(text).modes(np.zeros(1))


#: modes about steady rotation: a turntable about the vertical with a mass on springs along its x and y
MASS, STIFFNESS = 2.0, (800.0, 800.0)


def turntable(stiffness=STIFFNESS, damping=0.0):
    slides = "".join(
        f'<flexdyn reference="{name}"><joint_spring stiffness="{k}"/></flexdyn>'
        for name, k in zip("xy", stiffness, strict=True)
    )
    dynamics = f'<dynamics damping="{damping}" friction="0"/>'
    return flexdyn_ros.load(
        robot_text(
            "turntable",
            link("base", 0),
            link("table", 5.0, (0, 0, 0), (0.1, 0, 0, 0.1, 0, 0.2)),
            link("slide", 0),
            link("mass", MASS, (0, 0, 0), (0, 0, 0, 0, 0, 0)),
            joint("turn", "continuous", "base", "table", axis=(0, 0, 1)),
            joint("x", "prismatic", "table", "slide", axis=(1, 0, 0), more=dynamics),
            joint("y", "prismatic", "slide", "mass", axis=(0, 1, 0), more=dynamics),
            "<flexdyn><gravity>0 0 -9.81</gravity></flexdyn>",
            slides,
        )
    )


def rotating(robot, speed, lock="turn", **options):
    v = np.zeros(robot.nv)
    v[0] = speed
    return robot.modes(np.zeros(robot.nq), v=v, lock=lock, **options)


@pytest.mark.parametrize("speed", [0.0, 5.0, 15.0, 25.0])
def test_a_mass_on_springs_on_a_turntable_has_whirling_frequencies(speed):
    # x'' - 2 W y' + (k/m - W^2) x = 0 and y'' + 2 W x' + (k/m - W^2) y = 0: |w0 -+ W|
    found = rotating(turntable(), speed)
    natural = np.sqrt(STIFFNESS[0] / MASS)
    expected = np.sort(np.abs([natural - speed, natural + speed])) / (2 * np.pi)
    assert found.frequency == pytest.approx(expected, rel=1e-7)
    assert found.damping_ratio == pytest.approx([0.0, 0.0], abs=1e-9)
    assert not found.unstable
    if speed:
        # the mass runs on circles: both directions alike, a quarter of a period apart
        x, y = found.shape[1:]
        assert y / x == pytest.approx(np.array([y[0] / x[0], y[1] / x[1]]))
        assert np.abs(y / x) == pytest.approx([1.0, 1.0], rel=1e-7)
        assert (y / x).real == pytest.approx([0.0, 0.0], abs=1e-7)


def test_a_shaft_that_is_softer_in_one_direction_is_unstable_between_its_two_critical_speeds():
    # (k1/m - W^2) (k2/m - W^2) < 0, Smith 1933
    soft = turntable(stiffness=(800.0, 1152.0))
    assert [bool(rotating(soft, speed).unstable) for speed in (19.0, 21.0, 23.0, 25.0)] == [
        False,
        True,
        True,
        False,
    ]


def test_damping_and_rotation_together_are_the_eigenvalues_of_four_by_four_equations():
    speed, (k1, k2), d = 7.0, (800.0, 1000.0), 6.0
    found = rotating(turntable((k1, k2), d), speed)
    A = np.zeros((4, 4))
    A[:2, 2:] = np.eye(2)
    A[2:, :2] = np.diag([speed**2 - k1 / MASS, speed**2 - k2 / MASS])
    A[2:, 2:] = [[-d / MASS, 2 * speed], [-2 * speed, -d / MASS]]
    s = np.linalg.eigvals(A)
    s = s[s.imag > 0][np.argsort(np.abs(s[s.imag > 0]))]
    assert found.frequency == pytest.approx(np.abs(s) / (2 * np.pi), rel=1e-12)
    assert found.damping_ratio == pytest.approx(-s.real / np.abs(s), rel=1e-10)


def test_overdamped_coordinates_of_a_rotating_robot_keep_their_ratio():
    found = rotating(turntable((800.0, 8.0), 100.0), 0.0)
    expected = 100.0 / (2 * np.sqrt(np.array([8.0, 800.0]) * MASS))
    assert found.frequency == pytest.approx(np.sqrt(np.array([8.0, 800.0]) / MASS) / (2 * np.pi))
    assert found.damping_ratio == pytest.approx(expected)


def test_a_turntable_that_is_not_held_keeps_its_rotation_as_a_mode_of_frequency_zero():
    held, free = rotating(turntable(), 5.0), rotating(turntable(), 5.0, lock=())
    assert free.frequency[0] == 0.0
    assert np.isinf(free.damping_ratio[0])
    assert not free.unstable
    # at the axis the mass has no part in the table's inertia
    assert free.frequency[1:] == pytest.approx(held.frequency, rel=1e-7)


def test_modes_at_rest_and_with_no_speed_are_the_same():
    arm = flexdyn_ros.load("flexible_two_link")
    q = arm.static_equilibrium(arm.neutral(), hold="joints").q
    rest, still = arm.modes(q, lock="joints"), arm.modes(q, v=np.zeros(arm.nv), lock="joints")
    # damping that couples modes moves |s|, by the square of its ratio
    assert still.frequency == pytest.approx(rest.frequency, rel=5e-5)
    assert still.damping_ratio == pytest.approx(rest.damping_ratio, rel=1e-6)
    M = arm.mass_matrix(q)
    assert np.abs(np.einsum("ik,ij,jk->k", still.shape.conj(), M, rest.shape)) == pytest.approx(1.0, abs=1e-3)


#: first and second flapping frequency of a rotating uniform cantilever over sqrt(EI / mu L^4), by its speed
#: over the same (Wright, Smith, Thresher & Wang 1982, table 1, no hub)
FLAPPING = {0: (3.5160, 22.0345), 2: (4.1373, 22.6149), 6: (7.3604, 26.8091), 12: (13.1702, 37.6031)}


@pytest.fixture(scope="module")
def propeller():
    return flexdyn_ros.load(
        """<robot name="propeller">
        <link name="base"/><link name="hub"><inertial><mass value="1"/>
        <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link><link name="blade"/>
        <joint name="turn" type="continuous"><parent link="base"/><child link="hub"/><axis xyz="0 0 1"/>
        </joint>
        <joint name="root" type="fixed"><parent link="hub"/><child link="blade"/></joint>
        <flexdyn><gravity>0 0 0</gravity><formulation rotary_inertia="none"/></flexdyn>
        <flexdyn reference="blade"><beam length="2" mass_per_length="1.5" EIy="240" EIz="240"/>
        <modes bending_y="10" bending_z="10"/></flexdyn></robot>"""
    )


@pytest.mark.parametrize("speed", FLAPPING)
def test_a_rotating_beam_has_the_published_frequencies(propeller, speed):
    unit = np.sqrt(240.0 / (1.5 * 2.0**4))
    found = rotating(propeller, speed * unit)
    first, second = np.array(FLAPPING[speed]) * unit
    if speed == 0:
        assert found.frequency == pytest.approx(
            propeller.modes(np.zeros(propeller.nq), lock="turn").frequency
        )
    # what flaps out of the plane of rotation does not feel it; what lags in it is softer by W^2 (Southwell)
    expected = np.sort([first, second, *np.sqrt(np.array([first, second]) ** 2 - (speed * unit) ** 2)])
    assert 2 * np.pi * found.frequency[:4] == pytest.approx(expected, rel=2e-4)


def test_the_eigenvalues_of_linearize_are_those_modes(propeller):
    v = np.zeros(propeller.nv)
    v[0] = 30.0
    q = np.zeros(propeller.nq)
    A, B = propeller.linearize(q, v, lock="turn")
    assert A.shape == (40, 40)
    assert B.shape == (40, 21)
    assert not B[:, 0].any()
    found = rotating(propeller, 30.0).frequency
    assert np.sort(np.abs(np.linalg.eigvals(A)))[::2] / (2 * np.pi) == pytest.approx(found, rel=1e-6)


def test_a_motion_that_is_not_steady_has_no_modes():
    arm = flexdyn_ros.load(two_link_arm())
    with pytest.raises(StateError, match="not steady: the linear equation of 'elbow' changes"):
        arm.modes(np.zeros(2), v=np.array([1.0, 0.0]), lock="shoulder")


def test_a_rotating_state_out_of_balance_warns(propeller):
    q, v = np.zeros(propeller.nq), np.zeros(propeller.nv)
    q[1], v[0] = 0.01, 5.0
    with pytest.warns(FlexdynWarning, match="'blade/bending_y/1' would accelerate by"):
        propeller.modes(q, v=v, lock="turn")
