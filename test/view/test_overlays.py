"""Arrows and numbers over the robot say what statics says."""

import re
import time

import numpy as np
import pytest

import flexdyn_ros
from flexdyn_ros.expanded.colour_scale import HOLD
from flexdyn_ros.view.drawing.loads import (
    LOADS,
    Moment,
    label_places,
    offered,
    pressures_of,
    rest_of,
    supplies_of,
)
from flexdyn_ros.view.drive import Drive


def held(robot, q):
    return Moment(q, np.zeros(robot.nv), np.zeros(robot.nu), q, held=True)


def test_weight_and_contact_balance_on_wheels_at_rest():
    robot = flexdyn_ros.load("mobile_arm")
    now = held(robot, robot.static_equilibrium(robot.neutral(), hold="joints").q)
    weight, contact = (LOADS[name][2](robot, now) for name in ("weight", "contact"))
    # 22.3 kg at 9.8 m/s2, on two wheels
    np.testing.assert_allclose(weight.value, [[0.0, 0.0, -9.8 * robot.mass]], rtol=1e-12)
    np.testing.assert_allclose(contact.value.sum(axis=0), -weight.value[0], rtol=1e-6, atol=1e-9)
    # and without a moment about the y axis: no effort acts on the base
    moments = [np.cross(v.at, v.value).sum(axis=0)[1] for v in (weight, contact)]
    assert sum(moments) == pytest.approx(0.0, abs=1e-3 * abs(moments[0]))


def test_the_base_carries_the_weight_of_an_arm_with_its_lever():
    robot = flexdyn_ros.load("canadarm2")
    now = held(robot, robot.static_equilibrium(robot.neutral(), hold="joints").q)
    weight, force, moment = (LOADS[name][2](robot, now) for name in ("weight", "forces", "moments"))
    np.testing.assert_allclose(force.value[0], -weight.value[0], rtol=1e-8, atol=1e-6)
    lever = weight.at[0] - moment.at[0]
    expected = -np.cross(lever, weight.value[0])
    np.testing.assert_allclose(moment.value[0], expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())


def test_forces_of_a_falling_arm_are_not_those_that_hold_it():
    robot = flexdyn_ros.load("two_link")
    q = robot.neutral()
    falling = Moment(q, np.zeros(2), np.zeros(2), q, held=False)
    force, moment = LOADS["forces"][2](robot, falling), LOADS["moments"][2](robot, falling)
    assert abs(force.value[0, 2]) < 0.9 * robot.mass * 9.81
    # a joint without effort transmits no moment about its axis
    axes = [joint.axis for joint in robot.description.joints if joint.type in ("revolute", "continuous")]
    assert abs(moment.value[1] @ np.asarray(axes[0])) < 1e-9


def test_the_base_of_a_moving_arm_feels_weight_and_what_changes_its_momentum():
    robot = flexdyn_ros.load("two_link")
    q, v, tau = np.array([0.4, -1.1]), np.array([1.5, -2.3]), np.array([0.7, 0.2])
    force = LOADS["forces"][2](robot, Moment(q, v, tau, q, held=False))
    a, h = robot.forward_dynamics(q, v, tau), 1e-5
    later, before = (robot.momentum(robot.integrate(q, v + 0.5 * t * a, t), v + t * a)[3:] for t in (h, -h))
    weight = LOADS["weight"][2](robot, held(robot, q)).value[0]
    np.testing.assert_allclose(force.value[0], (later - before) / (2 * h) - weight, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", ["stewart_1t", "stewart_electric"])
def test_legs_carry_the_platform(name):
    """Their forces at its joints hold the weight of all but what the legs' own joints carry."""
    robot = flexdyn_ros.load(name)
    now = held(robot, robot.neutral())
    force = LOADS["forces"][2](robot, now)
    np.testing.assert_allclose(
        np.linalg.norm(force.value, axis=1), np.abs(robot.inverse_dynamics(now.q, now.v, now.v)), rtol=1e-9
    )
    assert 0.5 < force.value.sum(axis=0)[2] / (9.80665 * robot.mass) < 1.1


def test_pressures_of_closed_cylinders_carry_the_legs():
    robot = flexdyn_ros.load("stewart_1t")
    now = rest_of(robot)
    found = pressures_of(robot, now)
    assert len(found) == 6
    tau = robot.inverse_dynamics(now.q, now.v, now.v)
    for leg, (bore, rod), force in zip(robot.description.platform.legs, found.values(), tau, strict=True):
        cylinder = leg.hydraulics.cylinder
        area = np.pi / 4.0 * cylinder.bore**2
        ring = area - np.pi / 4.0 * cylinder.rod_diameter**2
        # atmosphere on the rod
        push = area * bore - ring * rod - (area - ring) * 101325.0
        assert push == pytest.approx(force, rel=0.02, abs=20.0)


def test_a_soft_arm_with_chambers_tells_their_pressures():
    robot = flexdyn_ros.load("soft_arm")
    names = pressures_of(robot, rest_of(robot))
    assert ("pressure" in robot.description.text) == bool(names)


def test_robots_are_offered_what_they_have():
    assert offered(flexdyn_ros.load("mobile_arm")) == ["weight", "contact"]
    assert offered(flexdyn_ros.load("seven_joint_arm")) == ["weight", "forces", "moments"]
    assert offered(flexdyn_ros.load("stewart_1t")) == ["weight", "forces"]


def test_pressures_of_cylinders_between_frames_stand_at_their_middles():
    robot = flexdyn_ros.load("boom")
    now = rest_of(robot)
    found = pressures_of(robot, now)
    states = dict(zip([s.name for s in robot.element_states], robot.rest_states(now.q), strict=True))
    places = label_places(robot, now.q, tuple(found))
    assert list(found) == ["lift_cylinder", "fold_cylinder", "tilt_cylinder"]
    for name, pressures in found.items():
        assert pressures.tolist() == [states[f"{name}/pressure_{port}"] for port in ("bore", "rod")]
    # pins at (0.4, 0.7) on the base and (0.6, 2 - 0.1) on the first boom; on the second boom 0.2 below, at
    # three quarters of 3.2 m and at its tip
    np.testing.assert_allclose(places["lift_cylinder"], [0.5, 0.0, 1.3], atol=1e-12)
    np.testing.assert_allclose(places["tilt_cylinder"], [6.0, 0.0, 1.8], atol=1e-12)


def test_the_line_of_a_supply_has_its_pressure_at_rest_and_its_flow_when_a_rod_moves():
    robot = flexdyn_ros.load("boom")
    q = robot.static_equilibrium(hold=["lift", "fold", "tilt"]).q
    now = held(robot, q)
    states = dict(zip([s.name for s in robot.element_states], robot.rest_states(q), strict=True))
    pressure, flow = supplies_of(robot, now)["oil"]
    assert pressure == states["oil/pressure"]
    assert np.isnan(flow)
    drive = Drive(robot, q)
    drive.set_target(0, 0.3)
    volume = 0.0
    for _ in range(100):
        state = drive.advance(0.02)
        line, flow = supplies_of(robot, Moment(*state, state[0], held=False, states=drive.states))["oil"]
        volume += 0.02 * flow
    # a pump that senses the load stands above the line that it had at rest
    assert line > pressure + 15e5
    still = np.zeros(robot.nv)
    length, before = (robot.cylinder_states(x, still).length[0] for x in (state[0], q))
    # the pump gave what pushed the rod out, but for what the oil is compressed by
    assert volume == pytest.approx(0.25 * np.pi * 0.1**2 * (length - before), rel=0.06)


def test_supplies_of_constant_pressure_and_robots_without_any():
    robot = flexdyn_ros.load("boom")
    pump = re.search("<pump[^>]*/>", robot.description.text)[0]
    constant = flexdyn_ros.load(
        re.sub(
            "<supply[^>]*>",
            '<supply name="oil" pressure="210e5" tank_pressure="3e5">',
            robot.description.text,
        ).replace(pump, "")
    )
    assert supplies_of(constant, rest_of(constant))["oil"][0] == 210e5
    platform = flexdyn_ros.load("stewart_1t")
    pressure, flow = supplies_of(platform, rest_of(platform))["platform/supply"]
    assert pressure == 160e5
    assert np.isnan(flow)
    assert supplies_of(flexdyn_ros.load("hexapod_arm"), rest_of(flexdyn_ros.load("hexapod_arm"))) == {}


@pytest.fixture(scope="module")
def raised():
    """A boom whose lift cylinder goes out, and the run."""
    robot = flexdyn_ros.load("boom")
    q = robot.static_equilibrium(hold=["lift", "fold", "tilt"]).q
    return robot, flexdyn_ros.simulate(
        robot, 0.4, q, dt=2e-3, control=lambda t, q, v: {"lift_cylinder/valve": 0.3}
    )


@pytest.fixture
def viewer(raised):
    pytest.importorskip("viser")
    from flexdyn_ros.view import Viewer

    viewer = Viewer(raised[0], port=8370)
    viewer.panels.look.overlays["pressures"].value = True
    yield viewer
    viewer.close()


def labels(viewer):
    """What stands at the cylinders, in their order."""
    return [label.text for label in viewer.picture.overlays._labels.values()]


def written(states):
    """The same, and the line in the panel, of states by name."""
    pairs = [
        " ".join(f"{states[f'{name}/pressure_{port}'] / 1e5:.2f}" for port in ("bore", "rod")) + " bar"
        for name in ("lift_cylinder", "fold_cylinder", "tilt_cylinder")
    ]
    return pairs, f"<div>Supply oil: {states['oil/pressure'] / 1e5:.1f} bar"


def test_a_run_shows_the_pressures_that_it_recorded(raised, viewer):
    robot, run = raised
    viewer.play(run)
    for i in (0, 100, 200):
        viewer.show_moment(lambda i=i: viewer.show_still(float(run.t[i])))
        states = dict(zip(run.state_names, run.states[i], strict=True))
        expected, supply = written(states)
        viewer.playback.time, viewer.playback.playing = float(run.t[i]), False
        viewer.redraw_now()
        assert labels(viewer) == expected
        # the flow of the pump is no state
        assert f"{supply}</div>" in viewer.legend
    assert run["lift_cylinder/pressure_rod"][-1] != pytest.approx(
        run["lift_cylinder/pressure_rod"][0], rel=0.02
    )
    # a pose afterwards is held by shut valves
    viewer.pose(run.q[-1])
    viewer.redraw_now()
    rest = dict(zip(run.state_names, robot.rest_states(run.q[-1]), strict=True))
    assert (labels(viewer), rest["oil/pressure"] / 1e5) == (written(rest)[0], pytest.approx(22.99, abs=0.01))
    assert f"{written(rest)[1]}</div>" in viewer.legend


def test_states_from_elsewhere_and_a_robot_that_moves_show_theirs(raised, viewer):
    _, run = raised
    states = dict(zip(run.state_names, run.states[150], strict=True))
    viewer.follow(0.3, run.q[150], run.v[150], run.tau[150], states)
    viewer.redraw_now()
    expected, supply = written(states)
    assert labels(viewer) == expected
    assert f"{supply}</div>" in viewer.legend
    drive = Drive(raised[0], run.q[0])
    drive.set_target(0, 0.3)
    viewer.go(drive)
    deadline = time.monotonic() + 60.0
    while "pump" not in viewer.legend or float(re.search(r"pump ([-0-9.]+) l/min", viewer.legend)[1]) < 5.0:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    # without the box nothing is said
    viewer.panels.look.overlays["pressures"].value = False
    viewer.redraw_now()
    assert not {"Supply", "Push"} & set(re.findall(r"\w+", viewer.legend))
    assert labels(viewer) == ["", "", ""]


def test_colours_of_a_film_keep_their_scale_however_long_its_frames_take(raised, viewer):
    _, run = raised
    viewer.panels.look.colouring.value = "displacement"
    viewer.play(run)
    far = int(np.argmax(np.abs(run["boom_2/bending_z/1"])))
    straight = viewer.robot.neutral()

    def bent(share):
        viewer.q = straight + share * (run.q[far] - straight)

    with viewer.standing_still():
        viewer.show_moment(lambda: bent(1.0))
        top = viewer.scale[1]
        for _ in range(2):
            viewer.show_moment(lambda: bent(0.1))
            time.sleep(HOLD + 0.1)
        viewer.show_moment(lambda: bent(0.1))
        assert viewer.scale[1] == top > 0.0
