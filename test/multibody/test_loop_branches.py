"""Branches of closed poses, dead centres in runs, limits and changes that loops do not bear: what is said."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
from machines import FOUR_BAR_LOOP, FOUR_BAR_START, four_bar, four_bar_urdf, four_bars, joint, rod
from machines import robot as mechanism

import flexdyn_ros
from flexdyn_ros.errors import ConvergenceError, DescriptionError, StateError, UnknownNameError

ACTIVE = ("swing", "lift", "reach", "curl")
CRANK, COUPLER, ROCKER, GROUND = 0.3, 0.8, 0.6, 0.9


def closed_four_bar(crank, side):
    """Angles of coupler (relative) and rocker of W3, positive about +y, in closed form; side 1.0 or -1.0."""
    # angles counted from x towards -z
    end = CRANK * np.array([np.cos(crank), np.sin(crank)])
    d = np.array([GROUND, 0.0]) - end
    size = np.hypot(*d)
    inner = np.arccos((COUPLER**2 + size**2 - ROCKER**2) / (2.0 * COUPLER * size))
    coupler = np.arctan2(d[1], d[0]) + side * inner
    pin = end + COUPLER * np.array([np.cos(coupler), np.sin(coupler)])
    return coupler - crank, np.arctan2(pin[1], pin[0] - GROUND)


def side_of(robot, q):
    """Sign of the determinant of the two rows of the plane on coupler and rocker."""
    return np.sign(np.linalg.det(robot.loop_jacobian(q)[:2, 1:]))


def test_poses_stay_on_the_side_of_their_start():
    """From 80 random starts, crank held: the closed form on the same side, or refused by name."""
    robot, rng = four_bar(), np.random.default_rng(3)
    closed = refused = 0
    for start in rng.uniform(-np.pi, np.pi, (80, 3)):
        if np.abs(robot.loop_residual(start)).max() < 0.1:
            continue
        try:
            q = robot.assemble(start, lock=("crank_joint",))
        except ConvergenceError as error:
            refused += "branch" in str(error)
            continue
        closed += 1
        side = side_of(robot, q)
        assert side == side_of(robot, start)
        found = [closed_four_bar(start[0], s) for s in (1.0, -1.0)]
        gaps = [np.abs(np.exp(1j * q[1:]) - np.exp(1j * np.array(x))).max() for x in found]
        assert min(gaps) < 1e-11
    assert closed > 50
    assert closed + refused >= 70


def test_a_branch_that_is_lost_is_refused_with_both_poses():
    """From its neutral pose the bucket cannot turn by 1.5 rad at once: the rocker begins at a dead centre."""
    robot = flexdyn_ros.load("excavator")
    start = robot.neutral()
    start[3] = 1.5
    with pytest.raises(
        ConvergenceError,
        match=r"close in another branch only.*Start: .*rocker_joint -0\.18.*Closed: .*rocker_joint -1\.5",
    ):
        robot.assemble(start, lock=ACTIVE)
    q = robot.neutral()
    for curl in (0.75, 1.5):
        q[3] = curl
        q = robot.assemble(q, lock=ACTIVE)
    assert q[4] == pytest.approx(1.035338425719904, abs=1e-9)


def test_any_branch_takes_what_is_near():
    text = flexdyn_ros.load("excavator").description.text
    robot = flexdyn_ros.load(text.replace('<loop name="bucket_pin"', '<loop branch="any" name="bucket_pin"'))
    start = robot.neutral()
    start[3] = 1.5
    q = robot.assemble(start, lock=ACTIVE)
    assert np.abs(robot.loop_residual(q)).max() < 1e-12
    assert q[4] < -1.0


def test_a_pose_that_is_followed_is_the_nearest_in_the_metric_of_the_mass():
    """M d is in the range of J' (machines.md, check 12), gaps of more than 0.1 m."""
    robot = four_bar()
    start = np.array([-1.3, 0.5, -1.2])
    assert np.abs(robot.loop_residual(start)).max() > 0.1
    q = robot.assemble(start)
    J = robot.loop_jacobian(q)
    N = np.linalg.svd(J)[2][2:]
    d = robot.mass_matrix(start) @ robot.difference(start, q)
    assert np.linalg.norm(N @ d) < 1e-10 * np.linalg.norm(d)


def test_a_change_that_is_too_large_is_refused():
    start = FOUR_BAR_START.replace("<assembly", '<assembly maximum_change="0.2"')
    robot = four_bar(start=start)
    q = robot.neutral()
    assert np.abs(robot.assemble(q + [0.0, 0.05, 0.05]) - q).max() < 0.2
    far = q + [0.0, 0.4, 0.1]
    shown = ", ".join(f"{name} {x:.4g}" for name, x in zip(robot.q_names, far, strict=True))
    with pytest.raises(
        ConvergenceError,
        match=r"changes '\w+_joint' by 0\.\d+, more than maximum_change = 0\.2\. "
        rf"Start: {re.escape(shown)}\. Closed: ",
    ):
        robot.assemble(far)
    with pytest.raises(ConvergenceError, match="maximum_change"):
        robot.project(far, np.zeros(3))
    # small changes too, which are compiled otherwise
    narrow = four_bar(start=FOUR_BAR_START.replace("<assembly", '<assembly maximum_change="0.001"'))
    with pytest.raises(ConvergenceError, match=r"more than maximum_change = 0\.001"):
        narrow.project(q + [0.0, 0.01, 0.0], np.zeros(3))


def test_projection_of_a_state_far_away_tells_where_it_may_have_left_the_branch():
    """In the branch of the neutral pose the platform of a delta robot does not turn: answers in which it
    does, or is on the other side of a singular pose, are told, and no others."""
    robot, rng = flexdyn_ros.load("delta"), np.random.default_rng(1)
    home = np.linalg.slogdet(robot.loop_jacobian(robot.neutral())[:, 3:])[0]
    told = silent = 0
    for size in (50.0, 10.0, 3.0, 1.0):
        for along in (np.eye(9)[0], np.ones(9), *rng.uniform(-1.0, 1.0, (3, 9))):
            start = robot.integrate(robot.neutral(), size * along, 1.0)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                try:
                    q, _ = robot.project(start, np.zeros(9))
                except ConvergenceError:
                    continue
            texts = [str(w.message) for w in caught if "another branch than the neutral" in str(w.message)]
            turned = np.abs(q[6:9]).max() > 1e-6
            other = np.linalg.slogdet(robot.loop_jacobian(q)[:, 3:])[0] != home
            assert bool(texts) == (turned or other), (size, along)
            told, silent = told + bool(texts), silent + (not texts)
    assert told >= 3
    assert silent >= 3


@pytest.mark.parametrize(
    ("text", "attribute", "expected"),
    [
        (FOUR_BAR_LOOP.replace("<loop", '<loop branch="far"'), "branch", "near, any"),
        (FOUR_BAR_LOOP + '<assembly maximum_change="0"/>', "maximum_change", "> 0"),
    ],
)
def test_wrong_words_of_assembly_are_refused(text, attribute, expected):
    with pytest.raises(DescriptionError) as caught:
        flexdyn_ros.load(four_bar_urdf(loop=text, start=""))
    assert attribute in str(caught.value)
    assert expected in str(caught.value)


@pytest.mark.parametrize("options", [{"rtol": 1e-8}, {"dt": 1e-3}, {"rtol": 1e-8, "method": "radau"}])
def test_a_run_goes_on_behind_a_dead_centre_and_says_so_once(options):
    """Two four-bars fall flat, where five rows lose one of four ranks, and swing on."""
    robot = four_bars(2)
    q, v = robot.project(robot.neutral(), np.array([-1.0, 0.0, -1.0, 0.0, -1.0]))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run = flexdyn_ros.simulate(robot, 2.0, q, v, sample=0.01, **options)
    texts = [str(w.message) for w in caught if "dead centre" in str(w.message)]
    assert len(texts) == 1
    assert run.warnings == tuple(texts)
    # the rods lie along x
    i = int(np.argmax(run.q[:, 0] < -0.5 * np.pi))
    flat = np.interp(0.5 * np.pi, -run.q[i - 1 : i + 1, 0], run.t[i - 1 : i + 1])
    told = float(texts[0].split("t = ")[1].split(" s")[0])
    assert abs(told - flat) < 2e-4
    assert "'close_0', 'close_1'" in texts[0]
    energy = np.array([robot.energy(x, y)[:2] for x, y in zip(run.q, run.v, strict=True)])
    total = energy.sum(axis=1)
    assert np.abs(total - total[0]).max() < 1e-6 * np.ptp(energy[:, 0])
    assert run.t[-1] == pytest.approx(2.0)
    assert np.abs(robot.loop_residual(run.q)).max() < 1e-9


def test_runs_that_pass_no_dead_centre_say_nothing():
    robot = four_bar()
    run = flexdyn_ros.simulate(robot, 2.0, rtol=1e-8)
    assert run.warnings == ()
    # it swings to and fro, its determinant on one side
    assert len({side_of(robot, q) for q in run.q}) == 1


def flat(second, ground):
    """Two rods in line between two hinges of the ground."""
    parts = (
        rod("first", 1.0, 1.0),
        rod("second", second, 1.0),
        joint("hinge", "ground", "first"),
        joint("knee", "first", "second", at=(1.0, 0.0, 0.0)),
    )
    loop = f'<loop name="end" type="revolute" base="second" base_xyz="{second} 0 0" end="ground" axis="0 1 0"'
    return mechanism("flat", *parts, flexdyn=f'{loop} end_xyz="{ground} 0 0"/>')


def test_check_tells_a_shaky_structure():
    """Its knee moves in first order, and cannot move."""
    report = flexdyn_ros.check(flat(1.0, 2.0))
    assert any("a shaky structure, no mechanism" in text for text in report.warnings)
    # a triangle is stiff: rank 2 of 2
    report = flexdyn_ros.check(flat(1.0, 1.8))
    assert report.warnings == () or not any("shaky" in text for text in report.warnings)


def test_check_tells_a_neutral_pose_that_is_singular():
    """A parallelogram of rods that lie flat."""
    text = four_bars(1).description.text
    start = (
        '<assembly start="foot_0 -1.5707963267948966 top_0 1.5707963267948966 foot_1 -1.5707963267948966"/>'
    )
    report = flexdyn_ros.check(text.replace("<loop", f"{start}<loop", 1))
    told = "the neutral pose is singular (dead centre): the rank of the loops is 1 there and 2 beside it"
    assert any(told in text for text in report.warnings)
    assert flexdyn_ros.check(text).warnings == ()


def test_a_joint_limit_at_the_neutral_pose_is_told():
    limit = '<limit lower="-0.5" upper="0.5" effort="100" velocity="10"/>'
    text = four_bar_urdf().replace(
        '<joint name="crank_joint" type="continuous">', f'<joint name="crank_joint" type="revolute">{limit}'
    )
    report = flexdyn_ros.check(text)
    assert (
        "the neutral position of crank_joint, -1 rad, is outside its limits -0.5 to 0.5 rad" in report.notes
    )


def test_a_prescribed_base_of_a_closed_mechanism_is_refused_by_name():
    """Joints can be prescribed, and wheels by their drive; a free base cannot."""
    body = '<inertial><mass value="5"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    text = four_bar_urdf(more='<actuation active="crank_joint"/><base type="planar"/>')
    text = text.replace('<link name="ground"/>', f'<link name="ground">{body}</link>')
    robot = flexdyn_ros.load(text)
    assert robot.mobility == 4
    with pytest.raises(
        UnknownNameError, match=r"unknown joint to prescribe 'base/x'; known names: crank_joint"
    ):
        flexdyn_ros.simulate(robot, 0.1, prescribed={"base/x": lambda t: (0.1 * t, 0.1, 0.0)})


def test_changes_after_which_nothing_closes_are_refused_by_name():
    """A rod that is made too short, and masses that cannot be."""
    with pytest.raises(DescriptionError, match=r"loop 'rod_2b'.*cannot be closed.*of this loop are left"):
        flexdyn_ros.load("delta", options={"loop.rod_2b.length": 0.2})
    robot = four_bar()
    with pytest.raises(StateError, match=r"parameter 'crank/mass' is -5\.0, expected at least 0"):
        robot.with_parameters({"crank/mass": -5.0})
    # no inertia left in the plane: closed, but nothing to accelerate
    light = robot.with_payload("rocker", 50.0, com=(0.6, 0.0, 0.0))
    assert np.abs(light.loop_residual(light.neutral())).max() < 1e-12
