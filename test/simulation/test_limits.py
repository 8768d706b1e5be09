"""Limits that coordinates pass are told by the command, its table and the picture."""

import numpy as np
import pytest

import flexdyn_ros
from flexdyn_ros.simulation.events import limits_passed, watches, zeros_in_step
from flexdyn_ros.simulation.limits import departures, in_words
from flexdyn_ros.simulation.plots.panels import panels_of

ARM = """<robot name="arm"><link name="w"/><link name="a"><inertial><origin xyz="0.5 0 0"/><mass value="1"/>
<inertia ixx="0.01" iyy="0.01" izz="0.01"/></inertial></link><joint name="hinge" type="revolute">
<parent link="w"/><child link="a"/><axis xyz="0 1 0"/>
<limit lower="-0.5" upper="0.5" effort="10" velocity="3"/></joint></robot>"""


@pytest.fixture(scope="module")
def fallen():
    return flexdyn_ros.simulate(flexdyn_ros.load(ARM), 1.0)


def test_limits_that_were_passed_are_named_with_their_first_times(fallen):
    left = departures(fallen, fallen.robot.coordinates)
    assert [one.time for one in left] == sorted(one.time for one in left)
    place, speed = sorted(left)
    assert (place.name, place.quantity, place.limit, place.unit) == ("hinge", "position", 0.5, "rad")
    first = fallen.t[np.flatnonzero(fallen.q[:, 0] > 0.5)[0]]
    assert place.time == first
    assert place.farthest == fallen.q[:, 0].max()
    assert (speed.quantity, speed.limit) == ("velocity", 3.0)
    assert speed.farthest == np.abs(fallen.v[:, 0]).max() > 3.0
    told = in_words((place, speed))
    assert told.startswith(f"1 coordinate left its limits: hinge at {first:.3g} s; 1 coordinate was faster")


def test_a_run_within_limits_has_nothing_to_tell():
    robot = flexdyn_ros.load(ARM)
    short = flexdyn_ros.simulate(robot, 0.05)
    assert departures(short, robot.coordinates) == ()
    assert in_words(()) == ""


def test_the_picture_shows_the_limit_that_was_passed(fallen):
    pytest.importorskip("matplotlib")
    (axes, *_) = fallen.plot().axes
    dotted = [
        line for line in axes.get_lines() if len(set(line.get_ydata())) == 1 and len(line.get_ydata()) == 2
    ]
    assert [line.get_ydata()[0] for line in dotted if line.get_ydata()[0] == 0.5] == [0.5]
    assert "dop853, rtol 1e-6" in axes.figure.get_suptitle()


def test_the_panel_of_speeds_has_a_limit_for_both_directions(fallen):
    (position,), (speed,) = (panels_of(fallen, quantity) for quantity in ("position", "velocity"))
    assert position.limits == (("hinge", 0.5),)
    assert sorted(speed.limits) == [("hinge", -3.0), ("hinge", 3.0)]


def test_a_run_says_which_coordinates_left_their_limits():
    arm = flexdyn_ros.load("seven_joint_arm")
    fallen, short = (flexdyn_ros.simulate(arm, seconds) for seconds in (1.0, 0.01))
    assert "4 coordinates left their limits: wrist_pitch at 0.028 s, elbow_pitch at" in repr(fallen)
    assert "4 coordinates left their limits" in fallen._repr_html_()
    assert "limits" not in repr(short)


def test_a_single_sample_beyond_a_limit_is_told():
    robot = flexdyn_ros.load("seven_joint_arm")
    q = robot.neutral()
    name = next(c.name for c in robot.coordinates if np.isfinite(c.upper))
    i = robot.index(name)
    q[robot.coordinates[i].q_index] = robot.coordinates[i].upper + 0.01
    (event,) = limits_passed(robot, np.array([0.5]), q[None], np.zeros((1, robot.nv)))
    assert (event.time, event.name) == (0.5, f"limit/{name}/upper")
    assert limits_passed(robot, np.zeros(0), np.zeros((0, robot.nq)), np.zeros((0, robot.nv))) == []


@pytest.mark.parametrize("share", [0.01, 0.2, 0.5, 0.7, 0.9, 0.999])
@pytest.mark.parametrize("value", [np.exp, np.sign], ids=["smooth", "jumping"])
def test_few_looks_find_an_event_to_rounding_wherever_in_a_step_it_lies(value, share):
    looks = []

    def event(t, q, v):
        looks.append(t)
        # never exactly zero
        return value(t - share) - value(0.0) or 1.0

    nothing = np.zeros(0)
    begin = event(0.0, nothing, nothing)
    _, zeros = zeros_in_step(watches(event), [begin], 0.0, 1.0, lambda s: (nothing, nothing))
    assert [place for place, _ in zeros] == pytest.approx([share], rel=0.0, abs=1e-15)
    assert len(looks) < 70
