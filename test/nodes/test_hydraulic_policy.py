"""What hydraulic legs do with inputs that are fresh, old, missing or wrong, without ROS around it."""

from types import SimpleNamespace as Message

import numpy as np
import pytest

pytestmark = pytest.mark.ros
pytest.importorskip("flexdyn_interfaces.msg")

from hydraulic_cylinders import cylinder  # noqa: E402

from flexdyn_ros.description import read  # noqa: E402
from flexdyn_ros.multibody.elements.cylinder.hydraulics import Hydraulics  # noqa: E402
from flexdyn_ros.nodes import doubles  # noqa: E402
from flexdyn_ros.simulation.live.hydraulic_inputs import HydraulicRanges, ranges_of  # noqa: E402
from flexdyn_ros.simulation.live.hydraulic_policy import Actuation, Limits  # noqa: E402

NAMES = tuple(f"leg_{i}" for i in range(1, 7))
STALE_COMMAND, STALE_LEG_STATE, REJECTED, FAULT = 32, 64, 128, 32768


def legs(length=1.4, rate=0.0, names=NAMES, force=2260.0):
    n = len(names)
    return Message(
        name=list(names),
        position=doubles(np.broadcast_to(length, n)),
        velocity=doubles(np.broadcast_to(rate, n)),
        effort=doubles(np.broadcast_to(force, n)) if force is not None else [],
    )


def order(values, mode=0, names=()):
    return Message(mode=mode, names=list(names), values=doubles(values))


class Bench:
    """An actuation and a clock in ticks of 1 ms."""

    def __init__(self, **limits):
        hydraulics = cylinder(6)
        shortest = hydraulics.model.column("shortest")
        ranges = HydraulicRanges(NAMES, shortest, shortest + 0.6, np.full(6, 25e3), 2.0)
        self.actuation = Actuation(hydraulics, ranges, Limits(**limits))
        self.now = 100.0

    def run(self, ticks, *, state=None, command=None, dt=1e-3):
        """Whether each tick may publish forces."""
        told = []
        for _ in range(ticks):
            self.now += dt
            if state is not None:
                self.actuation.take_leg_state(state, self.now)
            if command is not None:
                self.actuation.take_command(command, self.now)
            told.append(self.actuation.tick(self.now))
        return told

    def flags(self):
        return int(np.bitwise_or.reduce(self.actuation.cylinders["flags"].astype(int)))

    def field(self, name):
        return self.actuation.cylinders[name].copy()


@pytest.fixture
def bench():
    bench = Bench()
    bench.run(3, state=legs(), command=order(np.full(6, 0.2)))
    return bench


def test_nothing_is_published_before_both_inputs_came():
    bench = Bench()
    assert not any(bench.run(5))
    assert not any(bench.run(5, state=legs()))
    assert bench.actuation.conditions() == ("waiting for command",)
    assert any(bench.run(2, state=legs(), command=order(np.zeros(6))))


def test_the_legs_begin_with_the_force_that_the_leg_state_tells():
    bench = Bench()
    bench.run(2, state=legs(force=3000.0), command=order(np.zeros(6)))
    # one tick of leakage between the chambers has passed
    np.testing.assert_allclose(bench.field("force"), 3000.0, rtol=1e-2)
    bench = Bench(p_initial=50e5)
    bench.run(2, state=legs(), command=order(np.zeros(6)))
    np.testing.assert_allclose(bench.field("pressure_bore"), 50e5, rtol=1e-3)


def test_inputs_are_matched_by_name_in_any_order():
    bench = Bench()
    shuffled = (3, 5, 0, 1, 4, 2)
    lengths = np.linspace(1.3, 1.5, 6)
    state = legs(lengths[list(shuffled)], names=[NAMES[i] for i in shuffled])
    values = np.linspace(-0.5, 0.5, 6)
    command = order(values[list(shuffled)], names=[NAMES[i] for i in shuffled])
    bench.run(2, state=state, command=command)
    np.testing.assert_allclose(bench.field("stroke"), lengths - 1.1, atol=1e-12)
    np.testing.assert_allclose(bench.field("valve_command"), values)


NAN = float("nan")
BAD_STATES = {
    "NaN length": legs([NAN, 1.4, 1.4, 1.4, 1.4, 1.4]),
    "infinite rate": legs(rate=[0, 0, np.inf, 0, 0, 0]),
    "name missing": legs(names=NAMES[:5]),
    "name twice": legs(names=(*NAMES[:5], "leg_1")),
    "sizes differ": Message(
        name=list(NAMES), position=doubles(np.ones(5)), velocity=doubles(np.ones(6)), effort=[]
    ),
    "no rates": Message(name=list(NAMES), position=doubles(np.full(6, 1.4)), velocity=[], effort=[]),
    "too fast": legs(rate=2.1),
    "too short": legs(1.04),
    "too long": legs(1.76),
}  # fmt: skip


@pytest.mark.parametrize("state", BAD_STATES.values(), ids=BAD_STATES)
def test_a_malformed_leg_state_is_refused_whole_and_does_not_refresh(bench, state):
    before = bench.actuation.seen[0].copy()
    assert not bench.actuation.take_leg_state(state, bench.now)
    np.testing.assert_array_equal(bench.actuation.seen[0], before)
    assert bench.run(1) == [True]
    assert bench.flags() & REJECTED
    assert not any(bench.run(30, state=state, command=order(np.zeros(6)))[25:])
    assert bench.flags() & STALE_LEG_STATE
    bench.run(1, state=legs(), command=order(np.zeros(6)))
    assert not bench.flags() & (REJECTED | STALE_LEG_STATE)


BAD_COMMANDS = {
    "NaN": order([0, 0, NAN, 0, 0, 0]),
    "sizes differ": order(np.zeros(5)),
    "unknown name": order(np.zeros(6), names=(*NAMES[:5], "leg_7")),
    "name missing": order(np.zeros(5), names=NAMES[:5]),
    "mode": order(np.zeros(6), mode=2),
    "valve beyond range": order(np.full(6, 1.02)),
    "force beyond range": order(np.full(6, 25.3e3), mode=1),
}


@pytest.mark.parametrize("command", BAD_COMMANDS.values(), ids=BAD_COMMANDS)
def test_a_malformed_command_is_refused_whole_and_does_not_refresh(bench, command):
    assert not bench.actuation.take_command(command, bench.now)
    bench.run(1, state=legs())
    assert bench.flags() & REJECTED
    np.testing.assert_allclose(bench.field("valve_command"), 0.2)
    bench.run(110, state=legs(), command=command)
    assert bench.flags() & STALE_COMMAND
    bench.run(1, state=legs(), command=order(np.zeros(6)))
    assert not bench.flags() & (REJECTED | STALE_COMMAND)


def test_a_valve_command_up_to_one_percent_beyond_is_clamped(bench):
    assert bench.actuation.take_command(order(np.full(6, 1.009)), bench.now)
    bench.run(1, state=legs())
    np.testing.assert_array_equal(bench.field("valve_command"), 1.0)


def test_valves_close_within_fifty_milliseconds_of_a_stale_command(bench):
    assert all(bench.run(99, state=legs()))
    np.testing.assert_allclose(bench.field("valve_command"), 0.2)
    assert all(bench.run(26, state=legs()))
    assert bench.flags() & STALE_COMMAND
    assert (abs(bench.field("valve_command")) < 0.12).all()
    assert all(bench.run(30, state=legs()))
    np.testing.assert_array_equal(bench.field("valve_command"), 0.0)
    bench.run(1, state=legs(), command=order(np.full(6, -0.3)))
    np.testing.assert_allclose(bench.field("valve_command"), -0.3)
    assert bench.actuation.counters.stale_commands == 1


def test_a_stale_command_may_lower_instead():
    bench = Bench(on_stale_command="lower", lower_opening=-0.04)
    bench.run(3, state=legs(), command=order(np.full(6, 0.2)))
    bench.run(200, state=legs())
    np.testing.assert_allclose(bench.field("valve_command"), -0.04)


def test_force_control_restarts_without_its_integral(bench):
    strong = cylinder(6, control={"ki": 300.0})
    bench.actuation.hydraulics = strong
    bench.actuation.reset()
    bench.run(300, state=legs(), command=order(np.full(6, 4000.0), mode=1))
    assert (abs(bench.field("integral")) > 0.0).all()
    bench.run(120, state=legs())
    np.testing.assert_array_equal(bench.field("integral"), 0.0)


def test_a_leg_state_is_carried_on_while_young_then_forces_stop(bench):
    moving, command = legs(1.4, 0.5), order(np.zeros(6))
    bench.run(1, state=moving, command=command)
    told = bench.run(19, command=command)
    assert all(told)
    np.testing.assert_allclose(bench.field("stroke"), 0.3 + 0.5 * 0.020, atol=1e-9)
    told = bench.run(5, command=command)
    assert not any(told[1:])
    assert bench.flags() & STALE_LEG_STATE
    np.testing.assert_array_equal(bench.field("valve_command"), 0.0)
    assert "no leg state" in bench.actuation.conditions()[0]
    assert bench.run(1, state=moving, command=command) == [True]
    assert bench.actuation.counters.stale_leg_states == 1


def test_a_carried_on_leg_stays_within_its_stroke(bench):
    bench.run(1, state=legs(1.699, 1.9), command=order(np.zeros(6)))
    bench.run(15, command=order(np.zeros(6)))
    assert (bench.field("stroke") <= 0.6 + 1.9e-3 + 1e-9).all()


def test_a_clock_that_goes_back_resets_and_one_that_leaps_makes_inputs_stale(bench):
    bench.now -= 50.0
    assert bench.run(1) == [False]
    assert bench.actuation.is_waiting
    bench.run(3, state=legs(), command=order(np.full(6, 0.2)))
    ticks = bench.actuation.counters.ticks
    before = bench.field("pressure_bore")
    bench.now += 10.0
    assert bench.run(1) == [False]
    assert bench.actuation.counters.ticks == ticks + 1
    assert bench.flags() & STALE_LEG_STATE
    # a step of five periods at most, not of ten seconds
    assert (abs(bench.field("pressure_bore") - before) < 20e5).all()


def test_a_clock_that_stands_still_keeps_inputs_and_pressures(bench):
    """As a simulation that pauses: each tick is one of the shortest."""
    before, ticks = bench.field("pressure_bore"), bench.actuation.counters.ticks
    assert bench.run(3, dt=0.0) == [True] * 3
    assert bench.actuation.conditions() == ()
    assert bench.actuation.counters.ticks == ticks + 3
    np.testing.assert_array_equal(bench.field("valve_command"), 0.2)
    change = abs(bench.field("pressure_bore") - before)
    assert (change > 0.0).all()
    assert (change < 20e5).all()


def test_measured_steps_are_clipped_to_a_fifth_and_five_periods(bench):
    command = order(np.full(6, 1.0))
    fast, slow = Bench(), Bench()
    for other, dt in ((fast, 1e-6), (slow, 0.015)):
        other.run(3, state=legs(), command=order(np.zeros(6)))
        other.run(1, state=legs(), command=command, dt=dt)
    spool = {}
    for dt in (2e-4, 5e-3):
        state = cylinder(6).initial(np.full(6, 2260.0), np.full(6, 1.4))
        after = cylinder(6).step(state, np.full(6, 1.4), np.zeros(6), np.ones(6), dt)
        spool[dt] = after.spool
    np.testing.assert_allclose(fast.field("spool"), spool[2e-4], rtol=1e-9)
    np.testing.assert_allclose(slow.field("spool"), spool[5e-3], rtol=1e-9)


def test_a_fault_stops_the_outputs_until_reset(bench):
    bench.actuation.cylinders["spool_rate"][:] = np.inf
    assert bench.run(1, state=legs(), command=order(np.zeros(6))) == [False]
    assert bench.flags() & FAULT
    assert not any(bench.run(10, state=legs(), command=order(np.zeros(6))))
    assert "fault" in bench.actuation.conditions()[0]
    bench.actuation.reset()
    assert any(bench.run(3, state=legs(), command=order(np.zeros(6))))
    assert not bench.flags() & FAULT


def test_disabled_legs_close_their_valves_and_go_on_when_enabled(bench):
    bench.actuation.enabled = False
    bench.run(60, state=legs(), command=order(np.full(6, 0.2)))
    np.testing.assert_array_equal(bench.field("valve_command"), 0.0)
    bench.actuation.enabled = True
    bench.run(1, state=legs(), command=order(np.full(6, 0.2)))
    np.testing.assert_allclose(bench.field("valve_command"), 0.2)


def test_random_messages_leave_finite_states_and_positive_pressures():
    rng = np.random.default_rng(4)
    bench = Bench()
    states, commands = list(BAD_STATES.values()), list(BAD_COMMANDS.values())
    published = 0
    for _ in range(3000):
        state = (
            rng.choice([None, *states])
            if rng.random() < 0.1
            else legs(rng.uniform(1.05, 1.75, 6), rng.uniform(-2, 2, 6))
        )
        if rng.random() < 0.1:
            command = rng.choice([None, *commands])
        elif rng.random() < 0.5:
            command = order(rng.choice([-1.0, 1.0], 6))
        else:
            command = order(rng.uniform(-25e3, 25e3, 6), mode=1)
        (told,) = bench.run(1, state=state, command=command, dt=rng.choice([1e-3, 1e-4, 0.03, 5e-3]))
        published += told
        if bench.actuation.cylinders is not None:
            assert np.isfinite(bench.actuation.cylinders.rows).all()
            assert (bench.field("pressure_bore") > 0.0).all()
            assert (bench.field("pressure_rod") > 0.0).all()
    assert published > 1500
    assert not bench.actuation.fault
    assert bench.actuation.counters.rejected > 150


def test_ranges_come_from_the_description():
    ranges = ranges_of(Hydraulics.of(read("stewart_1t")), 2.0)
    np.testing.assert_allclose(ranges.largest_force, 25e3)
    # without limits of the sliders, what the supply can push
    ranges = ranges_of(cylinder(6), 2.0)
    np.testing.assert_allclose(ranges.longest, 1.7)
    np.testing.assert_allclose(ranges.largest_force, np.pi / 4.0 * 0.05**2 * 160e5)


# ---- lockstep: time goes by the leg states ----


def in_lockstep(bench, ticks, begin=0, **state):
    """Whether each leg state of a clock that begins at so many milliseconds is answered."""
    told = []
    for k in range(begin, begin + ticks):
        bench.actuation.take_leg_state(legs(**state), 1e-3 * k)
        told.append(bench.actuation.tick_in_lockstep(1e-3 * k))
    return told


def test_in_lockstep_a_command_that_came_before_the_first_leg_state_gets_stale():
    bench = Bench(lockstep=True)
    assert bench.actuation.take_command(order(np.full(6, 0.3)), np.inf)
    assert all(in_lockstep(bench, 100))
    np.testing.assert_allclose(bench.field("valve_command"), 0.3)
    assert all(in_lockstep(bench, 60, begin=100))
    np.testing.assert_array_equal(bench.field("valve_command"), 0.0)
    assert bench.flags() & STALE_COMMAND
    assert bench.actuation.counters.stale_commands == 1


def test_in_lockstep_legs_without_a_command_hold_with_closed_valves():
    bench = Bench(lockstep=True, on_stale_command="lower")
    assert in_lockstep(bench, 1, force=2260.0) == [True]
    # one tick of leakage between the chambers has passed
    np.testing.assert_allclose(bench.field("force"), 2260.0, rtol=1e-2)
    assert all(in_lockstep(bench, 50, begin=1))
    np.testing.assert_array_equal(bench.field("valve_command"), 0.0)
    assert bench.actuation.conditions() == ("no command yet: valves closed",)


def moved(bench, numbers):
    """Whether each leg state of a motion by its millisecond is answered; a command comes with each."""
    told = []
    for k in numbers:
        now = 1e-3 * k
        bench.actuation.take_command(order(np.full(6, 0.3)), now)
        bench.actuation.take_leg_state(legs(1.3 + 0.2 * now, rate=0.2), now)
        told.append(bench.actuation.tick_in_lockstep(now))
    return told


def test_in_lockstep_leg_states_that_are_missing_are_gone_through():
    whole, some = Bench(lockstep=True), Bench(lockstep=True)
    assert all(moved(whole, range(100)))
    assert all(moved(some, [k for k in range(100) if k not in (20, 40, 41, 42, 43, 70)]))
    assert some.actuation.counters.missing_leg_states == 6
    assert np.ptp(whole.field("force")) == 0.0
    assert abs(whole.field("force")[0] - 2260.0) > 100.0
    for name in ("force", "pressure_bore", "pressure_rod", "stroke"):
        np.testing.assert_allclose(some.field(name), whole.field(name), rtol=1e-9, err_msg=name)


def test_in_lockstep_cylinders_are_filled_anew_after_leg_states_that_were_missing_for_long():
    bench = Bench(lockstep=True)
    assert all(moved(bench, range(50)))
    force = bench.field("force")[0]
    assert moved(bench, [1250]) == [True]
    # as cylinders that begin there with the force that they had
    fresh = Bench(lockstep=True)
    fresh.actuation.take_command(order(np.full(6, 0.3)), 1.25)
    fresh.actuation.take_leg_state(legs(1.55, rate=0.2, force=force), 1.25)
    assert fresh.actuation.tick_in_lockstep(1.25)
    for name in ("force", "pressure_bore", "pressure_rod", "stroke"):
        np.testing.assert_allclose(bench.field(name), fresh.field(name), rtol=1e-12, err_msg=name)
    assert all(moved(bench, range(1251, 1300)))
    assert not bench.actuation.fault
    assert np.isfinite(bench.actuation.cylinders.rows).all()
