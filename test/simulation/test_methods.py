"""What the integration methods claim: order, energy, momentum, stability, and that they do what they say."""

import numpy as np
import pytest
from models import HUMANOID, PANDA, QUADRUPED, real_robot
from pendulums import Verbs, double_pendulum, tumbler, wheel

import flexdyn_ros
from flexdyn_ros.simulation import OK, Stepper

ORDERS = {"semi_implicit_euler": 1, "rosenbrock": 2, "rk4": 4}
START = {"double_pendulum": ([2.0, 1.0], [0.0, 0.0])}


def tumbling(robot):
    q = robot.neutral()
    q[3:7] = np.array([0.1, -0.2, 0.3, 0.9]) / np.linalg.norm([0.1, -0.2, 0.3, 0.9])
    return q, np.array([1.0, 7.0, 0.5, 0.3, -0.2, 0.1, 2.0])


def observed_order(robot, q0, v0, method, dt, span, **options):
    """log2 of the ratio of the errors with dt and dt/2, against a fine solution of the adaptive oracle."""
    tight = {"rtol": 1e-12, "atol": 1e-13}
    exact = flexdyn_ros.simulate(robot, span, q0, v0, method="dop853", dt=span, **tight, **options)
    errors = []
    for h in (dt, dt / 2):
        end = flexdyn_ros.simulate(robot, span, q0, v0, method=method, dt=h, **options)
        apart = robot.difference(exact.q[-1], end.q[-1])
        errors.append(np.abs(np.concatenate([apart, end.v[-1] - exact.v[-1]])).max())
    return np.log2(errors[0] / errors[1])


@pytest.mark.parametrize("method", ORDERS)
def test_methods_show_their_order_on_a_double_pendulum(method):
    order = observed_order(double_pendulum(), [2.0, 1.0], [0.0, 0.0], method, 0.004, 0.4)
    assert order == pytest.approx(ORDERS[method], abs=0.2)


@pytest.mark.parametrize("method", ORDERS)
def test_methods_show_their_order_on_a_tumbling_body(method):
    robot = tumbler("0 0 -9.81")
    order = observed_order(robot, *tumbling(robot), method, 0.005, 0.5)
    assert order == pytest.approx(ORDERS[method], abs=0.25)


@pytest.mark.parametrize("method", ORDERS)
def test_methods_show_their_order_with_springs_damping_and_friction(method):
    more = '<dynamics damping="0.5" friction="0.3"/>'
    robot = flexdyn_ros.load(
        double_pendulum(more).description.text.replace(
            "</robot>",
            '<flexdyn reference="elbow"><joint_spring stiffness="30" reference="0.4"/>'
            '<friction static="0.5" stribeck_velocity="0.5" smoothing_velocity="0.5"/></flexdyn>'
            '<flexdyn reference="shoulder"><friction static="0.3" smoothing_velocity="0.5"/></flexdyn>'
            "</robot>",
        )
    )
    order = observed_order(robot, [2.0, 1.0], [0.0, 1.0], method, 0.002, 0.2)
    assert order == pytest.approx(ORDERS[method], abs=0.3)


def test_rk4_keeps_the_energy_of_a_free_double_pendulum_over_ten_seconds():
    run = flexdyn_ros.simulate(double_pendulum(), 10.0, [2.0, 1.0], dt=1e-3, method="rk4")
    assert np.abs(run.balance()).max() < 1e-8 * run.energy.kinetic.max()


@pytest.mark.parametrize(("method", "bound"), [("rk4", 1e-9), ("rosenbrock", 1e-4), ("dop853", 1e-9)])
def test_a_floating_robot_keeps_its_momentum(method, bound):
    robot = tumbler()
    q0, v0 = tumbling(robot)
    run = flexdyn_ros.simulate(robot, 2.0, q0, v0, method=method, dt=1e-3, rtol=1e-11, atol=1e-12)
    momentum = robot.momentum(run.q, run.v)
    assert np.abs(momentum - momentum[0]).max() < bound * np.abs(momentum[0]).max()
    assert np.abs(np.linalg.norm(run.q[:, 3:7], axis=1) - 1.0).max() < 1e-12


@pytest.mark.parametrize("frequency", [1e3, 1e6])
@pytest.mark.parametrize("ratio", [0.0, 0.01, 1.0, 100.0])
def test_a_stiff_spring_and_damper_come_to_rest_at_1_ms(frequency, ratio):
    inertia, k = 0.01, 0.01 * frequency**2
    robot = wheel(
        f'<dynamics damping="{2 * ratio * frequency * inertia!r}"/>',
        extra=f'<flexdyn reference="axle"><joint_spring stiffness="{k!r}"/></flexdyn>',
    )
    run = flexdyn_ros.simulate(robot, 5.0, [0.1], [3.0], dt=1e-3)
    assert run.method == "rosenbrock"
    energy = run.energy.total
    assert (energy <= energy[0] * (1.0 + 1e-12)).all()
    if frequency > 1e4 or ratio > 0.0:
        # nothing is left but the slow creep of an overdamped spring, rate w / (2 ratio)
        assert abs(run.q[-1, 0]) < 0.11 * np.exp(-5.0 * min(frequency / (2 * max(ratio, 1e-9)), 2.0)) + 1e-9


@pytest.mark.parametrize("inertia", [1e-4, 1e-2, 1.0])
@pytest.mark.parametrize("drive", [0.0, 0.5, 0.99])
def test_dry_friction_stops_a_joint_and_holds_it(inertia, drive):
    robot = wheel('<dynamics friction="1.0"/>', inertia=inertia)
    span = 1.5 * inertia * 0.5 / (1.0 - drive) + 0.6
    run = flexdyn_ros.simulate(robot, span, v0=[0.5], control=np.array([drive]), method="rosenbrock")
    creep = 1e-3 * np.arctanh(drive)
    assert run.v[-100:, 0] == pytest.approx(np.full(100, creep), abs=1e-6)
    assert run.v.min() > -0.1


def test_coulomb_friction_takes_the_time_it_should():
    run = flexdyn_ros.simulate(wheel('<dynamics friction="1.0"/>', inertia=1.0), 0.4, v0=[0.5])
    assert run.v[:, 0] == pytest.approx(0.5 - run.t, abs=2e-3)


@pytest.mark.parametrize("floating", [False, True])
@pytest.mark.parametrize("method", ["semi_implicit_euler", "rk4"])
def test_compiled_steps_are_the_steps_by_hand(method, floating):
    robot = real_robot(QUADRUPED, True) if floating else double_pendulum('<dynamics damping="0.1"/>')
    rng = np.random.default_rng(3)
    q, v = robot.random(rng), rng.standard_normal(robot.nv)
    tau, h = rng.standard_normal(robot.nv), 1e-3
    wrenches = {robot.frame_names[-1]: rng.standard_normal(6)}
    arguments = {"dt": h, "method": method, "control": tau, "wrenches": wrenches}
    compiled = flexdyn_ros.simulate(robot, 0.05, q, v, **arguments)
    for i in range(50):
        if method == "semi_implicit_euler":
            v = v + h * robot.forward_dynamics(q, v, tau, wrenches)
            q = robot.integrate(q, v, h)
            assert compiled.q[i + 1] == pytest.approx(q, rel=1e-12, abs=1e-12)
            assert compiled.v[i + 1] == pytest.approx(v, rel=1e-11, abs=1e-11)
    by_verbs = flexdyn_ros.simulate(Verbs(robot), 0.05, compiled.q[0], compiled.v[0], **arguments)
    scale = max(1.0, np.abs(compiled.v).max())
    assert np.abs(compiled.q - by_verbs.q).max() < 1e-12 * scale
    assert np.abs(compiled.v - by_verbs.v).max() < 1e-11 * scale


@pytest.mark.parametrize(
    ("name", "floating"),
    [(PANDA, False), (QUADRUPED, True), (HUMANOID, True)],
    ids=["panda", "anymal", "talos"],
)
def test_rosenbrock_agrees_with_the_oracle_on_real_robots(name, floating):
    """Mimic joints (panda), friction and damping included."""
    robot = real_robot(name, floating)
    rng = np.random.default_rng(5)
    q0, v0 = robot.random(rng), 0.5 * rng.standard_normal(robot.nv)
    exact = flexdyn_ros.simulate(robot, 0.05, q0, v0, method="dop853", dt=0.05)
    errors = []
    for dt in (5e-4, 2.5e-4):
        run = flexdyn_ros.simulate(robot, 0.05, q0, v0, method="rosenbrock", dt=dt)
        errors.append(np.abs(run.v[-1] - exact.v[-1]).max())
    assert errors[1] < 0.35 * errors[0] + 1e-9
    assert errors[1] < 1e-2 * np.abs(exact.v).max()


def test_auto_is_rk4_unless_the_joints_are_too_fast_for_it():
    free, damped = double_pendulum(), wheel('<dynamics damping="100"/>', inertia=0.01)
    assert flexdyn_ros.simulate(free, 0.01, dt=1e-3).method == "rk4"
    assert flexdyn_ros.simulate(damped, 0.01, dt=1e-3).method == "rosenbrock"
    assert flexdyn_ros.simulate(damped, 1e-4, dt=1e-5).method == "rk4"
    stepper = Stepper(free, 1e-3)
    assert stepper.method == "rk4"
    stepper.set_servo(1e5, 1e3)
    assert stepper.method == "rosenbrock"
    assert stepper.advance(10) == OK


@pytest.mark.filterwarnings("ignore::flexdyn_ros.errors.FlexdynWarning")
def test_auto_without_compiled_steps_is_dop853_unless_dt_asks_a_rigid_robot_for_fixed_steps():
    rigid, bending = double_pendulum(), flexdyn_ros.load("flexible_two_link")
    for robot, dt, method in (
        (rigid, None, "dop853"), (rigid, 1e-3, "rk4"), (bending, None, "dop853"), (bending, 1e-3, "dop853"),
    ):  # fmt: skip
        start = np.linspace(0.3, 0.8, robot.nq) * [c.kind == "joint" for c in robot.coordinates]
        run = flexdyn_ros.simulate(Verbs(robot), 0.004, start, dt=dt)
        assert (run.method, run.is_fixed) == (method, method == "rk4")
        assert run.t == pytest.approx([0.0, 1e-3, 2e-3, 3e-3, 4e-3])
        compiled = flexdyn_ros.simulate(robot, 0.004, start, method="dop853")
        assert np.abs(run.q - compiled.q).max() < 1e-8


@pytest.mark.parametrize("method", ["dop853", "bdf"])
def test_a_law_without_sampling_is_recorded_as_it_acts_at_the_samples(method):
    robot = double_pendulum()

    def law(t, q, v):
        return np.array([3.0 * np.cos(5.0 * t) - 0.5 * v[0], -0.2 * q[1]])

    run = flexdyn_ros.simulate(
        robot, 0.5, [0.4, -0.2], control=flexdyn_ros.continuous(law), method=method, sample=0.05
    )
    expected = [law(t, q, v) for t, q, v in zip(run.t, run.q, run.v, strict=True)]
    np.testing.assert_allclose(run.tau, expected, atol=1e-12)
    assert not run.saturated.any()
