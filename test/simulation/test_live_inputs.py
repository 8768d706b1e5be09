"""What drives a live simulation, without ROS: paths through points, commands of cylinders, their forces."""

from types import SimpleNamespace

import numpy as np
import pytest
from oil_robots import HANGING, hanging
from scipy.interpolate import BPoly

import flexdyn_ros
from flexdyn_ros.loading import from_description
from flexdyn_ros.multibody.elements.cylinder.circuits import without_oil
from flexdyn_ros.simulation import Stepper
from flexdyn_ros.simulation.live.command_buffer import CommandBuffer
from flexdyn_ros.simulation.live.external_drive import ExternalDrive
from flexdyn_ros.simulation.live.hydraulic_inputs import (
    HydraulicSetpoint,
    InputError,
    ranges_of,
    read_command,
)
from flexdyn_ros.simulation.live.joint_path import hermite, on_spline
from flexdyn_ros.simulation.live.oil_drive import OilDrive
from flexdyn_ros.simulation.live.pose_path import read_pose_path
from flexdyn_ros.simulation.live.simulation import Driven, Simulation
from flexdyn_ros.simulation.steps.stepper import OK


@pytest.mark.parametrize("order", [0, 1, 2])
def test_a_path_is_the_polynomial_of_least_degree_between_its_points(order):
    """SciPy's, from the derivatives at both ends of each span."""
    rng = np.random.default_rng(order)
    times = np.array([0.3, 0.7, 1.9, 4.0])
    tables = rng.standard_normal((3, 4, 2))
    x, v, a = (table if i <= order else None for i, table in enumerate(tables))
    coefficients = hermite(times, x[:-1], x[1:], v, a)
    assert coefficients.shape == (3, 2 * (order + 1), 2)
    expected = BPoly.from_derivatives(times, np.swapaxes(tables[: order + 1], 0, 1))
    for time in (*times[:-1], *np.linspace(0.31, 3.99, 17)):
        span, *found = on_spline(times, coefficients, time)
        assert times[span] <= time < times[span + 1]
        for k, values in enumerate(found):
            np.testing.assert_allclose(values, expected(time, k), rtol=1e-9, atol=1e-10)


def command(values, mode=0, names=()):
    return SimpleNamespace(mode=mode, names=list(names), values=np.array(values, dtype=float))


def test_a_command_says_whether_it_means_forces_and_is_clamped_to_its_range():
    robot = flexdyn_ros.load(hanging(second_mass=100.0))
    ranges = ranges_of(robot.hydraulics, np.inf)
    assert ranges.names == ("lift", "second_lift")
    # of bore and supply
    greatest = 0.25 * np.pi * 0.05**2 * 160e5
    np.testing.assert_allclose(ranges.largest_force, greatest, rtol=1e-12)
    np.testing.assert_allclose(ranges.shortest, 0.83)
    np.testing.assert_allclose(ranges.longest, 1.23)

    valves = read_command(command([0.25, -1.005]), ranges)
    assert valves.force is False
    assert valves.values.tolist() == [0.25, -1.0]
    forces = read_command(command([-1.005 * greatest, 300.0], 1, ("second_lift", "lift")), ranges)
    assert forces.force is True
    np.testing.assert_array_equal(forces.values, [300.0, -ranges.largest_force[1]])
    alone = read_command(command([0.5], 0, ("second_lift",)), ranges, partial=True)
    np.testing.assert_array_equal(alone.values, [np.nan, 0.5])

    for wrong, words in (
        (command([0.1, 0.2], 2), "mode is 2, expected VALVE"),
        (command([0.1]), "values has 1 numbers, expected 2"),
        (command([0.1, -1.02]), "value of second_lift is -1.02, expected at most 1$"),
        (command([1.02 * greatest, 0.0], 1), "value of lift is .* N, expected at most .* N"),
        (command([0.1, 0.2], 0, ("lift", "left")), "names has 'left'"),
        (command([0.1], 0, ("lift",)), "lacks second_lift"),
    ):
        with pytest.raises(InputError, match=words):
            read_command(wrong, ranges)


MASS, GRAVITY = 300.0, 9.81


class External:
    """A load on a slide whose cylinder gets its force from elsewhere; the servo of whoever commands pulls."""

    def __init__(self, **options):
        dry = without_oil(flexdyn_ros.load(HANGING).description, ["lift"])
        self.robot = robot = from_description(dry)
        self.lift = robot.effort_names.index("lift")
        self.stepper = Stepper(robot, 1e-3, "rk4")
        self.damping = np.where(np.arange(robot.nu) == self.lift, 900.0, 70.0)
        self.drive = ExternalDrive(robot, ["lift"], self.damping, **options)
        self.sent = []
        self.drive.send = lambda: self.sent.append(self.stepper.steps)
        self.drive.begin(self.stepper)

    def advance(self, steps):
        def obey(setpoint):
            self.stepper.set_servo(np.full(2, 5e3) * (np.arange(2) == self.lift), 0.0)

        return self.drive.advance(self.stepper, None, steps, obey)

    def force(self, stamp, value):
        self.drive.gate.take(stamp, {"lift": value})


def test_in_lockstep_a_load_moves_by_forces_from_elsewhere_alone():
    external = External(steps_per_force=3)
    stepper = external.stepper
    assert stepper.tau[external.lift] == pytest.approx(MASS * GRAVITY, rel=1e-12)
    assert external.advance(5) == OK
    # it waits for a force, and has told of its state
    assert (stepper.steps, external.sent) == (0, [0])
    assert external.drive.waiting_since is not None
    z = v = 0.0
    for stamp, force in ((1, 3500.0), (2, 2000.0)):
        external.force(stamp, force)
        assert external.advance(2) == external.advance(2) == OK
        a, t = force / MASS - GRAVITY, 3e-3
        z, v = z + v * t + 0.5 * a * t**2, v + a * t
        assert stepper.q[0] == pytest.approx(z, rel=1e-9)
        assert stepper.v[0] == pytest.approx(v, rel=1e-9)
        assert stepper.servo_stiffness[external.lift] == stepper.servo_damping[external.lift] == 0.0
    assert (stepper.steps, external.sent) == (6, [0, 3, 6])
    length, rate = external.drive.lengths_and_rates(stepper)
    np.testing.assert_allclose([*length, *rate], [1.0 + z, v], rtol=1e-9)


def test_freely_the_newest_force_acts_and_a_stale_one_leaves_the_damper():
    external = External(lockstep=False)
    stepper, drive = external.stepper, external.drive
    # before the first force, that of rest
    assert external.advance(4) == OK
    assert abs(stepper.v[0]) < 1e-12
    external.force(1, 2500.0)
    drive.gate.wall_time = np.inf
    assert external.advance(2) == OK
    assert external.advance(2) == OK
    assert not drive.stale
    v = 4e-3 * (2500.0 / MASS - GRAVITY)
    assert stepper.v[0] == pytest.approx(v, rel=1e-9)
    drive.gate.wall_time = -np.inf
    assert external.advance(100) == OK
    assert drive.stale
    rate, limit = external.damping[external.lift] / MASS, -MASS * GRAVITY / external.damping[external.lift]
    assert stepper.v[0] == pytest.approx(limit + (v - limit) * np.exp(-0.1 * rate), rel=1e-9)
    assert external.sent[-1] == 108


STIFFNESS, DAMPING = np.array([0.0, 0.0, 5e4, 3e4]), np.array([0.0, 0.0, 7e3, 4e3])


def moved_by(**command):
    """Two loads on oil from a state in motion, after a command to their cylinders has acted for 8 ms."""
    robot = flexdyn_ros.load(hanging(second_mass=100.0))
    assert robot.effort_names[2:] == ("lift", "second_lift")
    buffer = CommandBuffer(Driven.of(robot), (), "effort", 0.0, "hold", False, "zero", False)
    drive = OilDrive(robot, STIFFNESS, DAMPING, 0.1)
    simulation = Simulation(robot, buffer, robot.neutral(), np.zeros(2), STIFFNESS, DAMPING, drive, dt=1e-3)
    simulation.set_state(np.array([0.03, -0.02]), np.array([0.04, -0.01]))
    fields = {"position": [], "velocity": [], "effort": [], **command}
    stamp = SimpleNamespace(sec=0, nanosec=0)
    buffer.take_joint_state(
        SimpleNamespace(
            name=["second_lift", "lift"], header=SimpleNamespace(stamp=stamp),
            **{name: np.array(values, dtype=float) for name, values in fields.items()},
        ), 0.0, 0.0,
    )  # fmt: skip
    assert simulation.tick(8)
    assert drive.fused.mode == "force"
    return np.concatenate((simulation.stepper.q, simulation.stepper.v, simulation.stepper.effort))


def test_servos_of_cylinders_on_oil_ask_for_the_forces_of_springs_and_dampers():
    # lengths of 0.98 and 1.03 m, rates of -0.01 and 0.04 m/s
    springs = np.array([3e4, 5e4]) * [0.99 - 0.98, 1.01 - 1.03]
    dampers = np.array([4e3, 7e3]) * [0.06 + 0.01, -0.02 - 0.04]
    still = -np.array([4e3, 7e3]) * [-0.01, 0.04]
    for command, force in (
        ({"position": [0.99, 1.01], "velocity": [0.06, -0.02]}, springs + dampers),
        ({"position": [0.99, 1.01]}, springs + still),
        ({"velocity": [0.06, -0.02]}, dampers),
    ):
        found, expected = moved_by(**command), moved_by(effort=force)
        np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9)
        assert np.abs(expected - moved_by(effort=force + [50.0, 0.0])).max() > 1e-4


def on_two_supplies():
    """Two loads, each on oil of its own."""
    text = hanging(second_mass=100.0)
    supply = text[text.index("<supply ") : text.index("</supply>") + len("</supply>")]
    head, end = text.replace(supply, supply + supply.replace('"oil"', '"own"')).rsplit('supply="oil"', 1)
    return f'{head}supply="own"{end}'


def test_cylinders_on_oil_beside_those_of_another_process_move_as_they_do_alone():
    whole = flexdyn_ros.load(on_two_supplies())
    robot = from_description(without_oil(whole.description, ["lift"]))
    place = robot.effort_names.index("lift")

    def driven(robot, drive, inner):
        simulation = Simulation(
            robot, CommandBuffer(Driven.of(robot), (), "effort", 0.0, "hold", False, "zero", False),
            robot.neutral(), np.zeros(2), np.zeros(4), np.zeros(4), drive, dt=1e-3,
        )  # fmt: skip
        opening = np.where(np.array(robot.hydraulics.names) == "second_lift", 0.3, np.nan)
        inner.take_setpoint(HydraulicSetpoint(False, opening), 0.0, np.inf)
        return simulation

    inner, alone = OilDrive(robot, *np.zeros((2, 4)), np.inf), OilDrive(whole, *np.zeros((2, 4)), np.inf)
    outer = ExternalDrive(robot, ["lift"], np.zeros(4), inner=inner, steps_per_force=8)
    found, expected = driven(robot, outer, inner), driven(whole, alone, alone)
    outer.gate.take(1, {"lift": 3500.0})
    assert found.tick(8)
    assert expected.tick(8)
    assert found.stepper.steps == expected.stepper.steps == 8
    a, t = 3500.0 / MASS - GRAVITY, 8e-3
    slide, second = (robot.q_names.index(name) for name in ("slide", "second_slide"))
    np.testing.assert_allclose(found.stepper.q[slide], 0.5 * a * t**2, rtol=1e-9)
    assert found.stepper.tau[place] == 3500.0
    assert expected.stepper.q[second] > 1e-5
    np.testing.assert_allclose(found.stepper.q[second], expected.stepper.q[second], rtol=1e-9)


def test_a_drive_tells_of_each_cylinder_what_is_wrong_with_it():
    robot = flexdyn_ros.load(
        hanging(second_mass=100.0, in_cylinder='<leakage external_bore="1e-13" external_rod="4e-13"/>')
    )
    stepper, drive = Stepper(robot, 1e-3, "rosenbrock"), OilDrive(robot, STIFFNESS, DAMPING, 0.1)

    def remarks():
        drive.begin(stepper)
        assert stepper.advance(1) == OK
        return drive.remarks(stepper)

    assert remarks() == ()
    # as much as is described is no fault
    for leaks, told in (((4e-13, 5e-13), "second_lift"), ((6e-13, 2e-13), "lift")):
        for name, leak in zip(("lift", "second_lift"), leaks, strict=True):
            stepper.set_leakage(name, leak)
        assert remarks() == (f"'{told}' leaks {max(leaks):g} m3/(s Pa) to the tank",)
    # the first piston is pushed out as far as it goes, 0.23 m above where it began
    stepper.set_leakage("lift", 0.0)
    stepper.set_state([0.2301, 0.0], np.zeros(2))
    assert remarks() == ("'lift' stands at the end of its stroke",)
    stepper.set_state([0.0, -0.1701], np.zeros(2))
    assert remarks() == ("'second_lift' stands at the end of its stroke",)


# ---- paths of a pose ----


def pose_message(times, poses, stamp=0.0, **twists):
    """A path through poses (n, 7) [m], with twists or their rates (n, 6), angular first."""

    def parts(seconds):
        return SimpleNamespace(sec=int(seconds), nanosec=round(1e9 * (seconds % 1.0)))

    def vectors(row):
        names = [dict(zip("xyz", row[k : k + 3], strict=True)) for k in (0, 3)]
        return SimpleNamespace(angular=SimpleNamespace(**names[0]), linear=SimpleNamespace(**names[1]))

    points = []
    for k, (time, pose) in enumerate(zip(times, poses, strict=True)):
        target = SimpleNamespace(
            translation=SimpleNamespace(**dict(zip("xyz", pose[:3], strict=True))),
            rotation=SimpleNamespace(**dict(zip("xyzw", pose[3:], strict=True))),
        )
        given = {
            name: [vectors(twists[name][k])] if name in twists else []
            for name in ("velocities", "accelerations")
        }
        points.append(SimpleNamespace(transforms=[target], time_from_start=parts(time), **given))
    header = SimpleNamespace(stamp=parts(stamp))
    return SimpleNamespace(joint_names=["platform"], points=points, header=header)


TWIST = np.array([0.1, -0.2, 0.15, 0.03, 0.02, -0.04])


@pytest.mark.parametrize("stamp", [0.0, 1.75])
def test_a_pose_path_through_uneven_points_of_one_motion_is_that_motion(stamp):
    """Steady turning about one axis and steady shifting, until the last span brings it to rest."""
    robot = flexdyn_ros.load("stewart_1t")
    home, now = robot.neutral(), 2.0
    begin = stamp or now
    times = begin + np.array([0.125, 0.5, 2.0, 2.375, 3.5])
    poses = np.array([robot.integrate(home, TWIST * (t - now), 1.0) for t in times])
    path = read_pose_path(pose_message(times - begin, poses, stamp), robot, now, home, TWIST)
    assert path.end == times[-1]
    for time in np.linspace(now, times[-2] - 1e-9, 23):
        pose, twist, rate = path(time)
        away = robot.difference(robot.integrate(home, TWIST * (time - now), 1.0), pose)
        np.testing.assert_allclose(away, 0.0, atol=1e-9)
        np.testing.assert_allclose(twist, TWIST, rtol=1e-8)
        np.testing.assert_allclose(rate, 0.0, atol=1e-7)
    pose, twist, _ = path(times[-1])
    np.testing.assert_allclose(robot.difference(poses[-1], pose), 0.0, atol=1e-12)
    np.testing.assert_allclose(twist, 0.0, atol=1e-12)


def test_a_pose_path_with_twists_and_their_rates_is_the_motion_that_has_them():
    robot = flexdyn_ros.load("stewart_1t")
    home, times = robot.neutral(), np.array([0.5, 0.75, 1.25])

    def at(power):
        # one turn and way by s = t^3, and its derivatives
        return np.array([(t**3, 3.0 * t**2, 6.0 * t)[power] for t in times])[:, None]

    poses = np.array([robot.integrate(home, TWIST * t**3, 1.0) for t in times])
    message = pose_message(times, poses, velocities=at(1) * TWIST, accelerations=at(2) * TWIST)
    path = read_pose_path(message, robot, 0.0, home, np.zeros(6))
    for time in np.linspace(0.0, 1.25, 17):
        pose, twist, rate = path(time)
        away = robot.difference(robot.integrate(home, TWIST * time**3, 1.0), pose)
        np.testing.assert_allclose(away, 0.0, atol=1e-9)
        np.testing.assert_allclose(twist, 3.0 * time**2 * TWIST, atol=1e-9)
        np.testing.assert_allclose(rate, 6.0 * time * TWIST, atol=1e-9)


def test_twists_of_a_pose_path_are_rates_of_its_poses_where_the_axis_of_turning_changes():
    robot = flexdyn_ros.load("stewart_1t")
    home = robot.neutral()
    ways = np.array([[0.2, -0.1, 0.05, 0.1, 0.0, 0.02], [0.0, 0.15, -0.2, 0.05, 0.1, 0.0], np.zeros(6)])
    poses = [robot.integrate(home, way, 1.0) for way in ways]
    path = read_pose_path(pose_message([0.75, 1.75, 2.5], poses), robot, 0.0, home, 0.5 * TWIST)
    h = 1e-4
    for time in (0.3, 0.6, 1.1, 1.6, 2.1):
        before, (_, twist, rate), after = path(time - h), path(time), path(time + h)
        slope = robot.difference(before[0], after[0]) / (2.0 * h)
        # the twist is that of the turn to third order
        np.testing.assert_allclose(twist, slope, atol=2e-3 * np.abs(slope).max())
        np.testing.assert_allclose(rate, (after[1] - before[1]) / (2.0 * h), atol=5e-3)
