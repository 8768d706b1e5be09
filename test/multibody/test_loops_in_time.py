"""Steps in time of closed mechanisms: they stay closed, converge with their order, and keep the energy."""

import warnings

import machines
import numpy as np
import pytest
from implicit_steps import accelerations
from machines import excavator

import flexdyn_ros
from flexdyn_ros.errors import ConvergenceError, FlexdynWarning, StateError
from flexdyn_ros.numerics.verbs import table
from flexdyn_ros.simulation.steps.stepper import OK, Stepper

METHODS = {"semi_implicit_euler": 1, "rk4": 4, "rosenbrock": 2}
ROBOTS = {
    "four_bar": machines.four_bar,
    "bricard": machines.bricard,
    "squeezer": machines.squeezer,
    "floating": lambda: flexdyn_ros.load(machines.FLOATING),
    "beam": lambda: flexdyn_ros.load(machines.BEAM),
    "excavator": excavator,
    "excavator without masses": lambda: excavator(heavy=False),
}


def start_of(robot, seed=0, speed=0.3):
    v = speed * np.random.default_rng(seed).standard_normal(robot.nv)
    return robot.project(robot.neutral(), v)


def held(stepper):
    """Servos of the cylinders hold their lengths."""
    robot = stepper.robot
    if robot.nu > robot.nv:
        gain = np.concatenate([np.zeros(robot.nv), np.full(robot.nu - robot.nv, 1.0)])
        stepper.set_servo(2e6 * gain, 1e5 * gain)
        stepper.target_q[:] = robot.functions.effort_motion(robot.neutral(), np.zeros(robot.nv))[0]
    return stepper


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("method", METHODS)
def test_loops_are_closed_after_every_step(name, method):
    robot = ROBOTS[name]()
    q, v = start_of(robot, speed=0.01 if name in ("beam", "squeezer") else 0.3)
    dt = {"squeezer": 1e-5, "beam": 1e-5}.get(name, 1e-3)
    stepper = held(Stepper(robot, dt, method, q0=q, v0=v))
    for _ in range(25):
        assert stepper.advance() == OK
        assert np.abs(robot.loop_residual(stepper.q.copy())).max() <= 1e-10
        assert np.abs(robot.loop_jacobian(stepper.q.copy()) @ stepper.v).max() <= 1e-9


@pytest.mark.parametrize("name", ["four_bar", "excavator"])
@pytest.mark.parametrize("method", METHODS)
def test_steps_converge_with_the_order_of_their_method(name, method):
    """Under efforts, with servos of cylinders; against short steps by the method of order four."""
    robot, order = ROBOTS[name](), METHODS[method]
    q, v = start_of(robot, seed=2)

    def end(dt, by=method):
        stepper = Stepper(robot, dt, by, q0=q, v0=v)
        if robot.nu > robot.nv:
            gain = np.concatenate([np.zeros(robot.nv), np.full(robot.nu - robot.nv, 1.0)])
            stepper.set_servo(1e5 * gain, 1e4 * gain)
            stepper.target_q[:] = robot.functions.effort_motion(robot.neutral(), np.zeros(robot.nv))[0]
        stepper.tau[0] = 2.0
        assert stepper.advance(round(0.32 / dt)) == OK
        return stepper.v.copy()

    exact = end(0.5e-3, "rk4")
    coarse, fine = (np.abs(end(dt) - exact).max() for dt in (0.016, 0.008))
    found = np.log2(coarse / fine)
    assert order - 0.35 < found < order + 1.2, (coarse, fine)


@pytest.mark.parametrize("name", ["squeezer", "excavator", "beam"])
@pytest.mark.parametrize("h", [0.0, 1e-3])
def test_an_implicit_step_solves_the_equations_of_both_forces_and_loops(name, h):
    """The row of the table against one dense system of accelerations and multipliers."""
    robot = ROBOTS[name]()
    q, v = start_of(robot, seed=4)
    motion = robot.motion
    motion.provide()
    rng = np.random.default_rng(5)
    force, extra = rng.standard_normal(robot.nv), np.zeros(robot.nu)
    extra[robot.nv :] = 3.0
    a = accelerations(motion, q, v, force, extra, h)
    # what is within is affine in the force
    within = lambda f: accelerations(motion, q, v, f, extra, h, motion.table._inner)  # noqa: E731
    zero = within(np.zeros(robot.nv))
    inverse = np.array([within(e) - zero for e in np.eye(robot.nv)]).T
    closure = robot.functions.layers[-1].closing.geometry.at(q[None], v[None])
    J, bias = closure.J[0], closure.bias[0]
    A = np.linalg.inv(inverse)
    m = len(J)
    K = np.block([[A, -J.T], [J, np.zeros((m, m))]])
    right = np.concatenate([A @ zero + force, -bias])
    expected = np.linalg.lstsq(K, right, rcond=1e-12)[0][: robot.nv]
    np.testing.assert_allclose(a, expected, rtol=0.0, atol=1e-9 * np.abs(expected).max())
    assert np.abs(J @ a + bias).max() < 1e-9 * np.abs(a).max()


def test_a_free_run_keeps_its_energy_for_ten_seconds():
    robot = machines.four_bar()
    q, v = machines.Q, robot.project(machines.Q, machines.V)[1]
    run = flexdyn_ros.simulate(robot, 10.0, q, v, rtol=1e-10, sample=0.01)
    total = np.asarray(run.energy.total)
    assert np.abs(total - total[0]).max() < 1e-8 * np.ptp(run.energy.kinetic)
    assert run.method == "dop853"
    assert np.abs(robot.loop_residual(run.q)).max() <= 1e-10
    assert np.abs(np.einsum("nij,nj->ni", robot.loop_jacobian(run.q), run.v)).max() <= 1e-9


@pytest.mark.parametrize("method", METHODS)
def test_what_the_way_back_onto_the_loops_takes_is_booked(method):
    """A step with and without it: the books differ by the energies of both ends."""
    robot = machines.four_bar()
    q, v = machines.Q, robot.project(machines.Q, machines.V)[1]
    words = robot.functions.table._words
    ends = []
    for closes in (True, False):
        stepper = Stepper(robot, 0.02, method, q0=q, v0=v)
        stepper.book_numerical_dissipation()
        kept = words[table.CONSTRAIN]
        words[table.CONSTRAIN] *= closes
        assert stepper.advance() == OK
        words[table.CONSTRAIN] = kept
        ends.append((stepper.energy().total, stepper.numerical_dissipation))
    (closed, booked), (open_, without) = ends
    assert abs(open_ - closed) > 1e-8
    np.testing.assert_allclose(booked - without, open_ - closed, rtol=1e-6)


def test_the_stepper_moves_states_onto_the_loops_and_says_by_how_much():
    robot = machines.four_bar()
    stepper = Stepper(robot, 1e-3)
    assert stepper.moved == ""
    stepper.set_state(machines.Q + [0.1, -0.05, 0.08], np.ones(3))
    np.testing.assert_allclose(stepper.q, [-0.8357371465324, 0.344424685081, -1.5598613534155], atol=1e-10)
    np.testing.assert_allclose(stepper.v, [3.1781955182917, -4.079001132096, 0.6121681413641], atol=1e-9)
    assert "the state is moved onto the constraints of robot 'four_bar': coordinates by up to 0.156" in (
        stepper.moved
    )
    before = stepper.q.copy()
    assert stepper.advance(5) == OK
    stepper.set_state(before, np.zeros(3))
    assert stepper.moved == ""


def test_a_state_from_which_loops_cannot_be_closed_is_refused_and_nothing_changes():
    robot = machines.four_bar(loop=machines.FOUR_BAR_LOOP.replace('"revolute"', '"spherical"').replace(
        ' axis="0 1 0"', ""
    ))  # fmt: skip
    stepper = Stepper(robot, 1e-3)
    before = stepper.q.copy(), stepper.v.copy()
    with pytest.raises(ConvergenceError, match="the loops cannot be closed from there"):
        stepper.set_state(np.array([0.0, np.pi, 0.0]))
    np.testing.assert_array_equal(stepper.q, before[0])


def test_steps_that_are_far_too_long_end_with_the_last_good_state():
    robot = machines.four_bar()
    q, v = machines.Q, robot.project(machines.Q, 20.0 * machines.V)[1]
    stepper = Stepper(robot, 0.3, "rk4", q0=q, v0=v)
    assert stepper.advance(10) != OK
    assert stepper.message
    assert np.abs(robot.loop_residual(stepper.q.copy())).max() <= 1e-10


def test_the_row_that_closes_loops_is_in_the_table_of_robots_with_loops_alone():
    tree = flexdyn_ros.load("two_link")
    assert "constrain" in machines.four_bar().functions.table
    assert "constrain" not in tree.functions.table
    tree.motion.provide()
    assert not tree.functions.table._words[table.CONSTRAIN]


def test_a_singular_pose_in_a_run_is_flagged_once_and_the_energy_goes_on():
    """Parallelograms pass their flat poses; where the motion goes beyond them the loops do not say."""
    robot = machines.four_bars(2)
    v = robot.project(robot.neutral(), np.array([-1.0, 1.0, -1.0, 1.0, -1.0]))[1]
    with pytest.warns(FlexdynWarning, match=r"singular pose \(dead centre\)") as told:
        run = flexdyn_ros.simulate(robot, 2.0, robot.neutral(), v, dt=1e-3, method="rk4")
    assert len(told) == 1
    total = np.asarray(run.energy.total)
    assert np.abs(total - total[0]).max() < 1e-6 * np.ptp(run.energy.kinetic)


def test_a_run_is_not_told_of_singular_poses_that_an_earlier_one_passed():
    robot = machines.four_bars(1)
    v = robot.project(robot.neutral(), np.array([-1.0, 1.0, -1.0]))[1]
    with pytest.warns(FlexdynWarning, match="singular pose"):
        flexdyn_ros.simulate(robot, 2.0, robot.neutral(), v, dt=1e-3, method="rk4")
    for _ in range(2):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            flexdyn_ros.simulate(robot, 0.01, robot.neutral(), v, dt=1e-3, method="rk4")


def test_soft_stops_act_on_joints_of_loops():
    """The rocker falls onto a stop and stays near it; energy is only lost there."""
    limit = '<limit lower="-1.65" upper="3" effort="0" velocity="9"/>'
    urdf = machines.four_bar_urdf().replace(
        '<joint name="rocker_joint" type="continuous">', '<joint name="rocker_joint" type="revolute">' + limit
    )
    robot = flexdyn_ros.load(urdf)
    run = flexdyn_ros.simulate(robot, 1.0, machines.Q, np.zeros(3), limits="spring")
    steps = flexdyn_ros.simulate(robot, 1.0, machines.Q, np.zeros(3), dt=1e-4, limits="spring")
    free = flexdyn_ros.simulate(robot, 1.0, machines.Q, np.zeros(3), dt=1e-3)
    assert free["rocker_joint"].min() < -1.75
    for each in (run, steps):
        assert each["rocker_joint"].min() > -1.70
        assert each.balance_error < 1e-3
        assert np.abs(robot.loop_residual(each.q)).max() <= 1e-10


def test_events_of_runs_with_error_control_lie_on_the_loops():
    robot = machines.four_bar()

    def low(t, q, v):
        return q[0] + 0.6

    low.terminal = True
    q, v = machines.Q, robot.project(machines.Q, machines.V)[1]
    run = flexdyn_ros.simulate(robot, 1.0, q, v, rtol=1e-9, events=[low])
    (event,) = run.events
    assert event.time < 1.0
    assert abs(event.q[0] + 0.6) < 1e-8
    assert np.abs(robot.loop_residual(event.q)).max() <= 1e-10
    assert np.abs(robot.loop_jacobian(event.q) @ event.v).max() <= 1e-9


def test_the_stiff_method_moves_a_closed_mechanism_as_the_explicit_one():
    robot = machines.squeezer()
    options = {"control": {"K1_joint": 0.033}, "sample": 0.01, "record": ()}
    first, second = (
        flexdyn_ros.simulate(robot, 0.01, method=method, rtol=1e-7, **options)
        for method in ("dop853", "extrapolated")
    )
    np.testing.assert_allclose(first.q[-1], second.q[-1], atol=2e-6)
    assert np.abs(robot.loop_residual(second.q)).max() <= 1e-10


def swing(t):
    """The crank turns by half a radian and back."""
    return -1.0 + 0.25 * (1.0 - np.cos(6.0 * t)), 1.5 * np.sin(6.0 * t), 9.0 * np.cos(6.0 * t)


@pytest.mark.parametrize("method", ["dop853", "extrapolated"])
def test_a_motion_prescribed_for_a_joint_moves_the_mechanism(method):
    """Against inverse dynamics: the efforts of the run are those of the only motion that there is."""
    robot = machines.four_bar()
    options = {"prescribed": {"crank_joint": swing}, "rtol": 1e-8, "sample": 0.05}
    run = flexdyn_ros.simulate(robot, 0.5, method=method, **options)
    np.testing.assert_allclose(run["crank_joint"], [swing(t)[0] for t in run.t], atol=1e-6)
    assert np.abs(robot.loop_residual(run.q)).max() <= 1e-10
    for i in (3, 7):
        _, speed, a = swing(run.t[i])
        q, v = robot.project(robot.assemble(run.q[i], lock=("crank_joint",)), run.v[i], ("crank_joint",))
        v *= speed / v[0]
        moved = robot.forward_dynamics(q, v, prescribed={"crank_joint": a})
        expected = robot.inverse_dynamics(q, v, moved)
        np.testing.assert_allclose(run.tau[i], expected, atol=1e-4)


def test_a_start_keeps_what_is_prescribed():
    robot = machines.four_bar()

    def turning(t):
        return -0.9 + 2.0 * t, 2.0, 0.0

    with pytest.warns(FlexdynWarning, match="the start is moved onto the constraints"):
        run = flexdyn_ros.simulate(robot, 0.05, prescribed={"crank_joint": turning})
    assert run.q[0, 0] == -0.9
    assert run.v[0, 0] == pytest.approx(2.0, abs=1e-12)
    assert np.abs(robot.loop_residual(run.q[0])).max() <= 1e-10


def test_motions_that_loops_do_not_allow_are_refused_by_name():
    robot = machines.four_bar()
    both = {
        "crank_joint": lambda t: (machines.Q[0], 1.0, 0.0),
        "rocker_joint": lambda t: (machines.Q[2], 0.0, 0.0),
    }
    with pytest.raises(StateError, match="loop 'close' opens at"):
        flexdyn_ros.simulate(robot, 0.1, prescribed=both)


@pytest.mark.parametrize("method", ["radau", "dop853"])
def test_events_of_methods_with_error_control_are_on_the_loops(method):
    """The crank passes an angle twice, where compiled steps find it and where energy is kept; a terminal
    event ends the run there."""
    robot = machines.four_bar()
    angle = robot.neutral()[0] + 0.2

    def passes(t, q, v):
        return q[0] - angle

    still = np.zeros(3)
    run = flexdyn_ros.simulate(robot, 1.5, v0=still, method=method, rtol=1e-9, sample=0.01, events=[passes])
    by_steps = flexdyn_ros.simulate(robot, 1.5, v0=still, dt=1e-4, method="rk4", events=[passes])
    assert len(run.events) == len(by_steps.events) > 0
    for found, expected in zip(run.events, by_steps.events, strict=True):
        assert found.time == pytest.approx(expected.time, abs=1e-6)
        assert np.abs(robot.loop_residual(found.q)).max() < 1e-10
        assert np.abs(robot.loop_jacobian(found.q) @ found.v).max() < 1e-9
        energy = sum(robot.energy(found.q, found.v)[:2])
        assert energy == pytest.approx(sum(robot.energy(run.q[0], run.v[0])[:2]), abs=1e-6)
    passes.terminal = True
    short = flexdyn_ros.simulate(robot, 1.5, v0=still, method=method, rtol=1e-9, sample=0.01, events=[passes])
    assert short.t[-1] == short.events[-1].time == pytest.approx(run.events[0].time, abs=1e-9)
    assert short.q[-1, 0] == pytest.approx(angle, abs=1e-7)
    assert np.all(np.diff(short.t) > 0.0)
