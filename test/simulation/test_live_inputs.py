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
from flexdyn_ros.simulation.live.external_drive import ExternalDrive
from flexdyn_ros.simulation.live.hydraulic_inputs import InputError, ranges_of, read_command
from flexdyn_ros.simulation.live.joint_path import hermite, on_spline
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
