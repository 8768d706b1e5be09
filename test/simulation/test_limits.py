"""Limits that coordinates pass are told by the command, its table and the picture."""

import numpy as np
import pytest

import flexdyn_ros
from flexdyn_ros.simulation import Stepper
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


SLIDES = """<robot name="slides"><link name="w"/>{}</robot>"""
SLIDE = """<link name="{name}_link"><inertial><mass value="{mass}"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="{name}" type="prismatic"><parent link="w"/><child link="{name}_link"/><axis xyz="1 0 0"/>
<limit lower="-0.3" upper="0.2" effort="0" velocity="9"/></joint>"""


@pytest.mark.parametrize("method", ["rk4", "rosenbrock"])
def test_bodies_rebound_from_stops_as_damped_oscillators(method):
    """At both ends, with damping and without; a stop takes what kinetic energy lacks."""
    mass, stiffness = np.array([2.0, 5.0, 3.0]), np.array([700.0, 2500.0, 900.0])
    damping = np.array([9.0, 40.0, 0.0])
    text = "".join(SLIDE.format(name=f"s{i}", mass=m) for i, m in enumerate(mass))
    robot = flexdyn_ros.load(SLIDES.format(text))
    ends, speed = np.array([0.2, -0.3, 0.2]), np.array([0.4, -0.7, 0.5])
    # just in touch: where damping sets in within a step, the method loses its order
    ends += 1e-10 * np.sign(speed)
    stepper = Stepper(robot, 2.5e-4, method, q0=ends, v0=speed, limits="spring")
    stepper.set_stops(stiffness, damping)
    decay = 0.5 * damping / mass
    rate = np.sqrt(stiffness / mass - decay**2)
    t = 0.05
    assert (rate * t < np.pi).all()
    # x'' + 2 decay x' + (rate^2 + decay^2) x = 0 from x = 0
    way = speed / rate * np.exp(-decay * t) * np.sin(rate * t)
    pace = speed * np.exp(-decay * t) * np.cos(rate * t) - decay * way
    stepper.advance(200)
    bound = 1e-7 if method == "rk4" else 1e-3
    np.testing.assert_allclose(stepper.q - ends, way, rtol=bound, atol=bound)
    np.testing.assert_allclose(stepper.v, pace, rtol=bound, atol=bound)
    taken = 0.5 * np.sum(mass * (speed**2 - pace**2))
    assert stepper.dissipated == pytest.approx(taken, rel=10.0 * bound)
