"""Loops in descriptions: what is refused, and what it says; passive joints; reports."""

import machines
import numpy as np
import pytest
from machines import FOUR_BAR_LOOP, FOUR_BAR_START, four_bar, four_bar_urdf

import flexdyn_ros
from flexdyn_ros.errors import (
    ConvergenceError,
    DescriptionError,
    DimensionError,
    FlexdynError,
    UnknownNameError,
)

ENDS = 'base="coupler" base_xyz="0.8 0 0" end="rocker" end_xyz="0.6 0 0"'

WRONG = {
    "unknown type": (f'<loop name="l" type="screw" {ENDS}/>', "type", "fixed, revolute, prismatic"),
    "no axis": (f'<loop name="l" type="revolute" {ENDS}/>', "axis", "type = revolute needs it"),
    "axis of length 0": (f'<loop name="l" type="revolute" {ENDS} axis="0 0 0"/>', "axis", "a direction"),
    "universal with one axis": (
        f'<loop name="l" type="universal" {ENDS} axis="0 1 0"/>', "end_axis", "type = universal needs it",
    ),
    "no length": (f'<loop name="l" type="distance" {ENDS}/>', "length", "type = distance needs it"),
    "length 0": (f'<loop name="l" type="distance" {ENDS} length="0"/>', "length", "> 0"),
    "length of a joint": (f'<loop name="l" type="spherical" {ENDS} length="1"/>', "length", "has no meaning"),
    "axis of a ball": (f'<loop name="l" type="spherical" {ENDS} axis="0 1 0"/>', "axis", "has no meaning"),
    "turn of a rod": (
        f'<loop name="l" type="distance" {ENDS} length="1" base_rpy="0 0 1"/>', "base_rpy", "has no meaning",
    ),
    "second axis of a line": (
        f'<loop name="l" type="point_on_line" {ENDS} axis="0 1 0" end_axis="0 1 0"/>', "end_axis", "meaning",
    ),
    "unknown link": (
        '<loop name="l" type="spherical" base="copler" end="rocker"/>', "base", "did you mean 'coupler'",
    ),
    "one frame": ('<loop name="l" type="spherical" base="rocker" end="rocker"/>', "end", "both ends are"),
    "one body": (
        '<loop name="l" type="spherical" base="world" end="ground"/>', "end", "both ends are on the world",
    ),
    "station of a rigid link": (
        '<loop name="l" type="spherical" base="coupler@tip" end="rocker"/>', "base", "does not bend",
    ),
    "name of a joint": (FOUR_BAR_LOOP.replace('"close"', '"crank_joint"'), "name", "a joint has this name"),
    "rod that is too long": (
        '<loop name="l" type="distance" base="world" base_xyz="0 0 5" end="rocker" length="9"/>', "type",
        "cannot be closed",
    ),
    "start without a value": (FOUR_BAR_LOOP + '<assembly start="crank_joint"/>', "start", "without a value"),
    "start of no joint": (FOUR_BAR_LOOP + '<assembly start="crank 1"/>', "start", "no joint 'crank'"),
    "start of no number": (FOUR_BAR_LOOP + '<assembly start="crank_joint x"/>', "start", "no finite number"),
    "start of NaN": (FOUR_BAR_LOOP + '<assembly start="crank_joint nan"/>', "start", "no finite number"),
    "start twice": (FOUR_BAR_LOOP + '<assembly start="crank_joint 1 crank_joint 2"/>', "start", "twice"),
    "lock of no joint": (FOUR_BAR_LOOP + '<assembly lock="crank"/>', "lock", "no joint 'crank'"),
    "branch": (FOUR_BAR_LOOP.replace("<loop", '<loop branch="far"'), "branch", "near, any"),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
def test_a_loop_that_cannot_be_is_refused_by_name(what):
    text, attribute, expected = WRONG[what]
    with pytest.raises(DescriptionError) as caught:
        flexdyn_ros.load(four_bar_urdf(loop=text, start=""))
    message = str(caught.value)
    assert expected in message
    assert attribute in message
    assert "loop" in message or "assembly" in message
    assert caught.value.line


def test_loops_that_contradict_each_other_name_the_widest_gap():
    both = FOUR_BAR_LOOP + (
        '<loop name="rod" type="distance" base="world" base_xyz="0.45 0 0" end="coupler" length="3"/>'
    )
    with pytest.raises(
        DescriptionError, match=r"loop 'rod'.*from every start, 2\.\d+ m \(rad\) of this loop are left"
    ):
        flexdyn_ros.load(four_bar_urdf(loop=both))


def test_axes_that_are_opposed_and_frames_half_a_turn_apart_are_refused():
    axis = FOUR_BAR_LOOP.replace('axis="0 1 0"', 'axis="0 1 0" end_axis="0 -1 0"')
    with pytest.raises(DescriptionError, match=r"loop 'close'.*close only where its axes are opposed"):
        flexdyn_ros.load(four_bar_urdf(loop=axis))
    hinge = '<loop name="half" type="fixed" base="world" end="rod" end_rpy="0 3.1415926535897931 0"/>'
    text = machines.robot(
        "slide",
        machines.rod("rod", 1.0, 1.0),
        machines.joint("slide", "ground", "rod", axis=(1, 0, 0), type="prismatic").replace(
            "<axis", '<limit lower="-1" upper="1" effort="1" velocity="1"/><axis'
        ),
        flexdyn=hinge,
    )
    with pytest.raises(DescriptionError, match=r"loop 'half'.*3\.14159 m \(rad\) of this loop are left"):
        flexdyn_ros.load(text)


def test_an_assembly_without_a_loop_is_refused():
    with pytest.raises(DescriptionError, match="an <assembly> without a <loop>"):
        flexdyn_ros.load(four_bar_urdf(loop=""))


def test_joints_of_a_loop_are_passive_unless_they_are_named_active():
    assert four_bar(more="").actuators == ()
    assert four_bar().actuators == ("crank_joint",)
    assert four_bar(more='<actuation active="rocker_joint crank_joint"/>').actuators == (
        "crank_joint", "rocker_joint",
    )  # fmt: skip
    tree = flexdyn_ros.load(four_bar_urdf(loop="", start="", more=""))
    assert tree.actuators == tree.v_names


def test_a_start_in_line_is_displaced_and_check_tells_it():
    """All bars of the four-bar in line: a stationary point of the gap."""
    r = four_bar(start="")
    assert np.abs(r.loop_residual(r.neutral())).max() < 1e-12
    assert any("eight starts" in text for text in r.warnings)
    report = flexdyn_ros.check(four_bar_urdf(start=""))
    assert any("eight starts" in text for text in report.warnings)


def test_check_tells_rows_rank_and_mobility():
    report = flexdyn_ros.check(four_bar_urdf())
    (note,) = [text for text in report.notes if "mobility" in text]
    assert "3 velocities, 5 rows of loops of rank 2: mobility 1 (Gruebler's count: -2), 1 actuators" in note
    assert "'close' (revolute): 5 rows, 3 of them redundant" in note
    report = flexdyn_ros.check(four_bar_urdf(more=""))
    assert any("mobility 1" in text and "0 actuators; intended?" in text for text in report.notes)


def test_rank_does_not_depend_on_the_size_of_what_a_loop_holds():
    parts, loops = [], ""
    for name, length in (("long", 1.0), ("short", 1e-5)):
        parts += [
            machines.rod(name, length, 1.0, axial=1e-12),
            machines.joint(f"{name}_hinge", "ground", name),
        ]
        loops += (
            f'<loop name="{name}_rope" type="distance" base="world" base_xyz="{length} 0 1" end="{name}" '
            f'end_xyz="{length} 0 0" length="1"/>'
        )
    r = flexdyn_ros.load(machines.robot("held", *parts, flexdyn=loops))
    assert r.mobility == 0
    assert [loop.redundant for loop in r.loops] == [0, 0]


def test_a_changed_robot_is_assembled_again_and_keeps_its_loops():
    r = four_bar()
    heavy = r.with_payload("rocker", 2.0, com=(0.3, 0.0, 0.0))
    assert heavy.mobility == 1
    np.testing.assert_allclose(heavy.loop_residual(heavy.neutral()), 0.0, atol=1e-12)
    q, v = heavy.project(heavy.neutral(), machines.V)
    assert np.abs(heavy.forward_dynamics(q, v) - r.forward_dynamics(q, v)).max() > 0.1
    other = r.with_parameters({"rocker/mx": 0.9})
    assert [loop.name for loop in other.loops] == ["close"]
    assert np.abs(other.forward_dynamics(q, v) - r.forward_dynamics(q, v)).max() > 0.1


def test_robots_with_loops_pickle():
    import pickle

    r = four_bar()
    other = pickle.loads(pickle.dumps(r))
    q, v = r.project(machines.Q, machines.V)
    np.testing.assert_array_equal(other.forward_dynamics(q, v), r.forward_dynamics(q, v))


def test_wrong_arguments_are_refused():
    r = four_bar()
    q, v = r.project(machines.Q, machines.V)
    for wrong, error in (
        (lambda: r.assemble(q[:2]), DimensionError),
        (lambda: r.assemble(np.tile(q, (2, 1))), DimensionError),
        (lambda: r.assemble(q, lock=("elbow",)), UnknownNameError),
        (lambda: r.assemble(q, lock=("crank_joint", "rocker_joint", "coupler_joint")), None),
        (lambda: r.assemble(q + 0.1, lock=r.v_names), ConvergenceError),
        (lambda: r.project(q * np.nan, v), FlexdynError),
        (lambda: r.loop_reactions(q, v), DimensionError),
        (lambda: r.inverse_dynamics(q, v, v, actuators=("coupler_joint",)), UnknownNameError),
    ):
        if error is None:
            wrong()
            continue
        with pytest.raises(error):
            wrong()


def test_random_poses_are_closed():
    r = four_bar()
    rng = np.random.default_rng(1)
    poses = np.array([r.random(rng) for _ in range(5)])
    assert np.abs(r.loop_residual(poses)).max() < 1e-9
    assert (np.ptp(poses, axis=0) > 0.5).all()
    assert FOUR_BAR_START in four_bar_urdf()
