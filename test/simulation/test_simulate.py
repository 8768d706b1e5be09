"""simulate(): control, events, limits, sampling, failures."""

import numpy as np
import pytest
from pendulums import Verbs, double_pendulum, tumbler, wheel

import flexdyn_ros
from flexdyn_ros.errors import (
    DimensionError,
    SimulationError,
    StateError,
    UnknownNameError,
    UnsupportedError,
)

LIMITED = '<limit lower="-0.5" upper="0.5" effort="2" velocity="10"/>'


def crossing(t, q, v):
    return q[0] - 0.3


def falling(direction, terminal=False):
    def height(t, q, v):
        return q[0] ** 2 - 0.09

    height.direction, height.terminal = direction, terminal
    return height


# wheel: q = w t, so that events are known exactly


@pytest.mark.parametrize("method", ["rk4", "rosenbrock", "semi_implicit_euler", "dop853", "radau", "lsoda"])
def test_events_are_located_to_a_nanosecond(method):
    run = flexdyn_ros.simulate(wheel(), 1.0, v0=[0.77], events=crossing, method=method)
    assert [event.name for event in run.events] == ["crossing"]
    assert run.events[0].time == pytest.approx(0.3 / 0.77, abs=1e-9)
    assert run.events[0].q[0] == pytest.approx(0.3, abs=1e-9)
    assert run.status == 0


@pytest.mark.parametrize(("method", "bound"), [("rk4", 1e-9), ("rosenbrock", 1e-4), ("dop853", 1e-9)])
def test_events_on_a_swinging_arm_are_as_good_as_the_method(method, bound):
    exact = flexdyn_ros.simulate(
        double_pendulum(), 1.0, [2.0, 1.0], events=crossing, method="dop853", rtol=1e-13, atol=1e-13, dt=0.01
    )
    run = flexdyn_ros.simulate(double_pendulum(), 1.0, [2.0, 1.0], events=crossing, method=method, rtol=1e-10)
    assert len(run.events) == len(exact.events) > 0
    for a, b in zip(run.events, exact.events, strict=True):
        assert a.time == pytest.approx(b.time, abs=bound)


@pytest.mark.parametrize("method", ["rk4", "dop853"])
def test_direction_and_terminal_are_obeyed(method):
    arguments = {"q0": [-0.5], "v0": [1.0], "method": method}
    both = flexdyn_ros.simulate(wheel(), 1.0, events=falling(0), **arguments)
    down = flexdyn_ros.simulate(wheel(), 1.0, events=falling(-1), **arguments)
    up = flexdyn_ros.simulate(wheel(), 1.0, events=falling(1), **arguments)
    assert [e.time for e in both.events] == pytest.approx([0.2, 0.8])
    assert [e.time for e in down.events] == pytest.approx([0.2])
    assert [e.time for e in up.events] == pytest.approx([0.8])
    end = flexdyn_ros.simulate(wheel(), 1.0, events=[falling(-1), falling(1, terminal=True)], **arguments)
    assert end.status == 1
    assert end.t[-1] == pytest.approx(0.8, abs=1e-9)
    assert end.q[-1, 0] == pytest.approx(0.3, abs=1e-9)
    assert "height" in end.message
    assert np.diff(end.t).min() > 0.0


@pytest.mark.parametrize("speed", [-1.0, 1.0])
@pytest.mark.parametrize("method", ["rk4", "dop853"])
def test_a_value_that_starts_at_zero_has_not_passed_it(method, speed):
    run = flexdyn_ros.simulate(wheel(), 0.01, q0=[0.3], v0=[speed], events=crossing, method=method)
    assert not run.events


@pytest.mark.parametrize("method", ["rk4", "dop853", "lsoda"])
def test_a_run_ends_at_its_terminal_event_and_not_at_those_before(method):
    def passes(t, q, v):
        return q[0] + 0.3

    def ends(t, q, v):
        return q[0] - 0.3

    ends.terminal = True
    run = flexdyn_ros.simulate(wheel(), 1.0, [-0.5], [1.0], events=[passes, ends], method=method)
    assert [e.name for e in run.events] == ["passes", "ends"]
    assert [run.t[-1], run.q[-1, 0]] == pytest.approx([0.8, 0.3], abs=1e-9)


@pytest.mark.parametrize("method", ["rk4", "lsoda"])
def test_limits_report_or_stop(method):
    robot = wheel(LIMITED, kind="revolute")
    report = flexdyn_ros.simulate(robot, 1.0, v0=[-1.0], method=method)
    assert [(e.name, e.terminal) for e in report.events] == [("limit/axle/lower", False)]
    assert report.events[0].time == pytest.approx(0.5, abs=1e-9)
    assert report.t[-1] == 1.0
    stop = flexdyn_ros.simulate(robot, 1.0, v0=[-1.0], method=method, limits="stop")
    assert stop.status == 1
    assert [(e.name, e.terminal) for e in stop.events] == [("limit/axle/lower", True)]
    assert stop.q[-1, 0] == pytest.approx(-0.5, abs=1e-9)


@pytest.mark.parametrize("method", ["rk4", "rosenbrock", "dop853"])
def test_control_is_asked_once_a_step_and_held(method):
    asked = []

    def control(t, q, v):
        asked.append(t)
        return [np.floor(10 * t + 0.5)]

    run = flexdyn_ros.simulate(wheel(inertia=1.0), 0.5, dt=0.1, control=control, method=method)
    assert asked == pytest.approx([0.0, 0.1, 0.2, 0.3, 0.4])
    assert run.tau[:, 0] == pytest.approx([0, 1, 2, 3, 4, 4])
    assert run.v[:, 0] == pytest.approx([0, 0, 0.1, 0.3, 0.6, 1.0], abs=1e-9)


@pytest.mark.parametrize("method", ["rk4", "dop853", "lsoda"])
def test_the_last_sample_is_the_end_and_efforts_are_those_of_the_actuators(method):
    robot, how = flexdyn_ros.load("boom_on_cylinder"), {"dt": 1e-3, "record_every": 7, "method": method}
    run = flexdyn_ros.simulate(robot, 0.02, control=[1650.0], **how)
    assert run.t == pytest.approx([0.0, 0.007, 0.014, 0.02])
    assert run.tau.tolist() == [[0.0, 1650.0]] * 4
    with pytest.raises(DimensionError, match=r"control has shape \(3,\), expected \(2,\), .* or \(1,\)"):
        flexdyn_ros.simulate(robot, 0.02, control=[1650.0, 0.0, 0.0], **how)


def test_control_cannot_change_the_state_it_is_shown():
    def vandal(t, q, v):
        q[:] = v[:] = 17.0
        return np.zeros(2)

    spoilt = flexdyn_ros.simulate(double_pendulum(), 0.1, [1.0, 0.5], control=vandal)
    assert spoilt.q[-1] == pytest.approx(
        flexdyn_ros.simulate(double_pendulum(), 0.1, [1.0, 0.5], control=lambda t, q, v: np.zeros(2)).q[-1],
        abs=1e-14,
    )


def test_a_loop_that_calls_back_and_one_that_does_not_give_the_same_numbers():
    robot, tau = double_pendulum('<dynamics damping="0.2"/>'), np.array([0.5, -0.3])
    for method in ("rk4", "rosenbrock", "semi_implicit_euler"):
        fast = flexdyn_ros.simulate(robot, 0.0505, [2.0, 1.0], control=tau, method=method, record_every=3)
        slow = flexdyn_ros.simulate(
            robot, 0.0505, [2.0, 1.0], control=lambda t, q, v: tau, method=method, record_every=3
        )
        for name in ("t", "q", "v", "tau", "work", "dissipated", "saturated"):
            assert (getattr(fast, name) == getattr(slow, name)).all(), name


CART = """<robot name="cart"><link name="cart"><inertial><mass value="20"/>
<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
<link name="bob"><inertial><origin xyz="0 0 -0.4"/><mass value="3"/>
<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
<joint name="pivot" type="continuous"><parent link="cart"/><child link="bob"/><axis xyz="0 1 0"/></joint>
<flexdyn><gravity>0 0 -9.8</gravity><base type="planar"/><wheel name="w" link="cart" xyz="0 0 0">
<suspension stiffness="1000" damping="50" free_length="0.3"/></wheel>
<road kind="flat"/><drive type="speed" speed="1.5"/></flexdyn></robot>"""


@pytest.mark.parametrize(("method", "bound"), [("rk4", 1e-6), ("rosenbrock", 1e-3)])
def test_the_effort_of_a_sample_is_the_mean_of_the_step_that_follows(method, bound):
    """A cart that keeps its speed under a pendulum: the drive gives what the momentum takes in a step."""
    robot = flexdyn_ros.load(CART)
    q0, x = robot.neutral(), robot.v_names.index("base/x")
    q0[robot.q_names.index("pivot")] = 0.8
    how = {"dt": 1e-3, "method": method}
    run = flexdyn_ros.simulate(robot, 0.011, q0, **how)
    force = np.diff(robot.momentum(run.q, run.v)[:, 3]) / 1e-3
    assert np.ptp(force) > 0.02
    assert run.tau[:-1, x] == pytest.approx(force, abs=bound)
    # that of the last is the step that leads to it
    assert run.tau[-1, x] == run.tau[-2, x]
    few = flexdyn_ros.simulate(robot, 0.011, q0, record_every=7, **how)
    np.testing.assert_array_equal(few.tau[:-1], run.tau[:-1:7])
    asked = flexdyn_ros.simulate(robot, 0.011, q0, control=lambda t, q, v: np.zeros(4), **how)
    np.testing.assert_array_equal(asked.tau, run.tau)


def test_long_runs_are_the_same_in_chunks(monkeypatch):
    from flexdyn_ros.simulation.steps import fixed

    whole = flexdyn_ros.simulate(double_pendulum(), 0.2, [2.0, 1.0], record_every=2)
    monkeypatch.setattr(fixed, "CHUNKS", (7, 14))
    pieces = flexdyn_ros.simulate(double_pendulum(), 0.2, [2.0, 1.0], record_every=2)
    assert (whole.q == pieces.q).all()
    assert (whole.t == pieces.t).all()
    assert (whole.tau == pieces.tau).all()


def test_chunks_that_hold_no_sample_or_end_between_two_are_as_steps_one_by_one(monkeypatch):
    from flexdyn_ros.simulation.steps import fixed

    monkeypatch.setattr(fixed, "CHUNKS", (5, 5))
    limited = '<limit lower="-9" upper="9" effort="20" velocity="99"/>'
    robot, tau = double_pendulum(limited, "revolute"), np.array([90.0, 0.0])
    for every in (1, 3, 7, 13, 1000):
        options = {"method": "rk4", "record_every": every, "saturate": True}
        fast = flexdyn_ros.simulate(robot, 0.0425, [2.0, 1.0], control=tau, **options)
        slow = flexdyn_ros.simulate(robot, 0.0425, [2.0, 1.0], control=lambda t, q, v: tau, **options)
        assert fast.saturated[1:].all()
        for name in ("t", "q", "v", "tau", "work", "dissipated", "saturated"):
            np.testing.assert_array_equal(getattr(fast, name), getattr(slow, name), f"{name}, {every}")


@pytest.mark.parametrize("method", ["rk4", "dop853"])
@pytest.mark.parametrize(
    ("duration", "every", "times"),
    [
        (0.01, 4, [0, 0.004, 0.008, 0.01]),
        (0.01, 1000, [0, 0.01]),
        (0.0025, 1, [0, 0.001, 0.002, 0.0025]),
        (0.0005, 1, [0, 0.0005]),
        (0.0, 1, [0]),
        (0.008, 4, [0, 0.004, 0.008]),
    ],
)
def test_samples_lie_where_they_should(method, duration, every, times):
    run = flexdyn_ros.simulate(wheel(), duration, v0=[2.0], t0=1.0, record_every=every, method=method)
    assert run.t == pytest.approx(1.0 + np.array(times), abs=1e-12)
    assert run.q[:, 0] == pytest.approx(2.0 * np.array(times), abs=1e-9)
    assert len(run) == len(times) == run.tau.shape[0]


def test_saturation_is_recorded():
    robot = wheel(LIMITED, kind="revolute")
    for method in ("rk4", "rosenbrock", "dop853"):
        run = flexdyn_ros.simulate(robot, 0.01, control=[5.0], saturate=True, method=method)
        assert (run.tau == 2.0).all()
        assert run.saturated[1:].all()
        free = flexdyn_ros.simulate(robot, 0.01, control=[5.0], method=method)
        assert (free.tau == 5.0).all()
        assert not free.saturated.any()


@pytest.mark.parametrize("method", ["rk4", "semi_implicit_euler", "rosenbrock", "dop853", "lsoda"])
def test_a_run_that_takes_no_time_has_the_efforts_of_its_state(method):
    run = flexdyn_ros.simulate(double_pendulum(), 0.0, [0.3, 0.2], control=[0.3, -0.1], method=method)
    assert run.t.tolist() == [0.0]
    assert run.tau.tolist() == [[0.3, -0.1]]
    law = {"control": lambda t, q, v: q, "method": method}
    by_law = flexdyn_ros.simulate(double_pendulum(), 0.0, [0.3, 0.2], **law)
    assert by_law.tau.tolist() == [[0.3, 0.2]]
    robot = wheel(LIMITED, kind="revolute")
    clipped = flexdyn_ros.simulate(robot, 0.0, control=[-5.0], saturate=True, method=method)
    assert clipped.tau.tolist() == [[-2.0]]


def test_wrenches_may_be_a_law():
    def spring(t, q, v):
        return {"disc": [0, 0, -100.0 * q[0], 0, 0, 0]}

    for method, bound in (("dop853", 1e-6), ("rk4", 0.1)):
        run = flexdyn_ros.simulate(wheel(inertia=1.0), 1.0, v0=[1.0], wrenches=spring, method=method)
        assert run.q[:, 0] == pytest.approx(0.1 * np.sin(10 * run.t), abs=0.1 * bound)


@pytest.mark.parametrize("method", ["rk4", "semi_implicit_euler", "dop853"])
@pytest.mark.parametrize("calls_back", [False, True])
def test_divergence_raises_with_what_there_is(method, calls_back):
    robot = double_pendulum()
    gain = 1e6

    def feed(t, q, v):
        return gain * v

    if calls_back:
        with pytest.raises(SimulationError, match="double_pendulum") as caught:
            flexdyn_ros.simulate(robot, 1.0, [1.0, 0.5], [0.1, 0.1], control=feed, method=method)
        run = caught.value.trajectory
    else:
        robot = wheel(inertia=1e-8)
        with pytest.raises(SimulationError, match=r"diverged: .* after t = ") as caught:
            flexdyn_ros.simulate(
                robot, 100.0, control=[1e12], method=method, dt=1e-3 if method != "dop853" else 1.0
            )
        run = caught.value.trajectory
    assert run.status == -1
    assert run.message == str(caught.value)
    assert 1 <= len(run) < 1000
    assert np.isfinite(run.q).all()
    assert np.isfinite(run.v).all()
    assert np.isfinite(run.energy.total).all()
    assert (np.diff(run.t) > 0.0).all()


@pytest.mark.filterwarnings("ignore:the result overflows")
@pytest.mark.parametrize("method", ["rk4", "semi_implicit_euler"])
def test_a_state_beyond_all_numbers_is_told_as_any_that_diverges(method):
    with pytest.raises(SimulationError, match=r"no longer finite after t = 0 s") as caught:
        flexdyn_ros.simulate(double_pendulum(), 0.01, [0.3, 0.2], [1e200, 0.0], control=[1, 2], method=method)
    run = caught.value.trajectory
    assert (run.t.tolist(), run.v.tolist(), run.tau.tolist()) == ([0.0], [[1e200, 0.0]], [[1.0, 2.0]])


def test_wrong_arguments_name_the_culprit():
    robot = double_pendulum()
    wrong = [
        ({"q0": [1.0]}, DimensionError, r"q0 has shape \(1,\), expected \(2,\)"),
        ({"v0": [1.0, np.inf]}, StateError, r"v0\[1\] is inf"),
        ({"dt": 0.0}, StateError, "dt is 0"),
        ({"dt": np.nan}, StateError, "dt is nan"),
        ({"method": "rk5"}, UnknownNameError, "rk5.*rk4"),
        ({"limits": "hard"}, UnknownNameError, "hard"),
        ({"record_every": 0}, StateError, "record_every is 0"),
        ({"record": ("energie",)}, UnknownNameError, "energie.*energy"),
        ({"control": [1.0]}, DimensionError, "control has shape"),
        ({"control": lambda t, q, v: [1.0]}, DimensionError, "control at t = 0 s has shape"),
        ({"control": lambda t, q, v: [np.nan, 0.0]}, StateError, "control at t = 0 s"),
        ({"wrenches": {"nowhere": np.zeros(6)}}, UnknownNameError, "nowhere"),
        ({"wrenches": {"lower": np.zeros(5)}}, DimensionError, "lower"),
        ({"prescribed": lambda t: (0, 0, 0)}, UnsupportedError, "prescribed"),
        ({"events": [3]}, StateError, r"events\[0\] is 3"),
        ({"events": lambda t, q, v: np.nan}, StateError, "expected a finite number"),
        ({"rtol": -1.0}, StateError, "rtol is -1"),
    ]
    for arguments, error, message in wrong:
        with pytest.raises(error, match=message):
            flexdyn_ros.simulate(robot, 0.01, **arguments)
    with pytest.raises(StateError, match="duration is -1"):
        flexdyn_ros.simulate(robot, -1.0)
    with pytest.raises(StateError, match="unit length"):
        flexdyn_ros.simulate(tumbler(), 0.01, np.zeros(8))
    with pytest.raises(UnsupportedError, match="rosenbrock"):
        flexdyn_ros.simulate(Verbs(robot), 0.01, method="rosenbrock")


def test_progress_is_shown_only_when_asked(capsys):
    pytest.importorskip("rich")
    for method in ("rk4", "dop853"):
        run = flexdyn_ros.simulate(double_pendulum(), 0.05, [1.0, 0.0], method=method, progress=True)
        quiet = flexdyn_ros.simulate(double_pendulum(), 0.05, [1.0, 0.0], method=method)
        assert run.q[-1] == pytest.approx(quiet.q[-1], abs=1e-8)
