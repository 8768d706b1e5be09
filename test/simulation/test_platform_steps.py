"""Compiled steps of platforms, driven by forces and by hydraulic cylinders."""

import numpy as np
import pytest

import flexdyn_ros
from flexdyn_ros import Trajectory, simulate
from flexdyn_ros.errors import StateError, UnknownNameError, UnsupportedError
from flexdyn_ros.simulation import OK, FusedHydraulics, Stepper, ValveOpenings

REST = np.zeros(6)


@pytest.fixture(scope="module")
def robot():
    return flexdyn_ros.load("stewart_1t")


def tilted(robot):
    """A pose beside home, and legs that move."""
    return robot.integrate(robot.neutral(), np.array([0.1, -0.08, 0.15, 0.05, -0.04, 0.06]), 1.0)


def test_a_platform_on_constant_leg_forces_keeps_its_energy_account(robot):
    q0 = tilted(robot)
    v0 = np.array([0.1, -0.2, 0.05, 0.1, 0.0, -0.1])
    tau = robot.inverse_dynamics(q0, REST, REST)
    for method, bound in (("rk4", 1e-9), ("rosenbrock", 1e-3), ("semi_implicit_euler", 1e-2)):
        stepper = Stepper(robot, 1e-3, method, q0=q0, v0=v0)
        before = stepper.energy().total
        assert stepper.advance(500, tau) == OK
        scale = abs(stepper.work) + stepper.energy().kinetic
        assert abs(stepper.energy().total - stepper.work - before) < bound * scale


def test_steps_agree_with_the_verbs(robot):
    """One short step against forward dynamics, with a wrench on the platform and one on a rod."""
    q0, v0 = tilted(robot), np.array([0.1, -0.2, 0.05, 0.1, 0.0, -0.1])
    tau = np.linspace(1e3, 3e3, 6)
    loads = {"platform": np.array([10.0, -20.0, 30.0, 200.0, 100.0, -300.0]), "leg_3_rod": np.full(6, 50.0)}
    stepper = Stepper(robot, 1e-6, "rk4", q0=q0, v0=v0)
    stepper.set_wrenches(loads)
    stepper.advance(1, tau)
    expected = robot.forward_dynamics(q0, v0, tau, loads)
    np.testing.assert_allclose(stepper.a, expected, rtol=1e-4, atol=1e-4)


def test_rk4_has_order_four_on_a_platform(robot):
    q0, v0 = tilted(robot), np.array([0.5, -0.4, 0.3, 0.2, 0.1, -0.1])
    tau = 1.05 * robot.inverse_dynamics(q0, REST, REST)
    ends = []
    for n in (25, 50, 100):
        stepper = Stepper(robot, 0.5 / n, "rk4", q0=q0, v0=v0)
        stepper.advance(n, tau)
        ends.append(np.concatenate([stepper.q, stepper.v]))
    ratio = np.linalg.norm(ends[0] - ends[1]) / np.linalg.norm(ends[1] - ends[2])
    assert ratio == pytest.approx(16.0, rel=0.15)


def test_legs_are_servoed_by_their_lengths(robot):
    stepper = Stepper(robot, 1e-3, q0=tilted(robot))
    target = robot.inverse_kinematics(robot.neutral()).length
    stepper.tau[:] = robot.inverse_dynamics(robot.neutral(), REST, REST)
    stepper.set_servo(2e6, 4e4)
    stepper.target_q[:] = target
    assert stepper.advance(3000) == OK
    np.testing.assert_allclose(robot.inverse_kinematics(stepper.q.copy()).length, target, atol=1e-5)


# ---- with cylinders ----


def test_fused_cylinders_do_to_the_last_digit_what_steps_by_hand_do(robot):
    u = np.array([0.1, -0.1, 0.05, 0.0, 0.02, -0.03])
    fused = Stepper(robot, 1e-3, "semi_implicit_euler")
    cylinders = FusedHydraulics(fused, "valve")
    by_hand = Stepper(robot, 1e-3, "semi_implicit_euler")
    state = cylinders.state()
    for _ in range(200):
        fused.advance(1, u)
        legs = robot.inverse_kinematics(by_hand.q.copy(), by_hand.v.copy())
        state = robot.hydraulics.step(state, legs.length, legs.rate, u, 1e-3)
        by_hand.advance(1, state.force)
    np.testing.assert_allclose(fused.q, by_hand.q, atol=1e-14)
    # the last digit of a length is 2e-9 N on a spring of oil of 1e7 N/m
    np.testing.assert_allclose(fused.effort, state.force, rtol=1e-12, atol=2e-16 * 5e7)
    np.testing.assert_allclose(cylinders.state().pressure_bore, state.pressure_bore, rtol=1e-12)


def test_check_18_frequencies_of_closed_valves():
    """Six frequencies against M^-1 J^T K_h J, 0.5 %; 2.5e-4 s steps err by (w h)^2/24 = 0.01 %."""
    robot = flexdyn_ros.load("stewart_1t", options=LOSSLESS)
    q0 = robot.neutral()
    J, M = robot.leg_jacobian(q0), robot.mass_matrix(q0)
    K = J.T @ np.diag(robot.hydraulics.stiffness(robot.inverse_kinematics(q0).length)) @ J
    L = np.linalg.cholesky(M)
    values, vectors = np.linalg.eigh(np.linalg.solve(L, np.linalg.solve(L, K).T))
    expected = np.sqrt(values) / (2 * np.pi)
    np.testing.assert_allclose(expected, (14.281, 14.281, 27.639, 29.532, 35.324, 35.324), rtol=2e-3)
    shapes = np.linalg.solve(L.T, vectors)
    for frequency, shape in zip(expected, shapes.T, strict=True):
        stepper = Stepper(robot, 2.5e-4, "semi_implicit_euler", v0=5e-4 * shape / abs(shape).max())
        FusedHydraulics(stepper, "valve")
        speeds = []
        for _ in range(round(10 / frequency / 2.5e-4)):
            assert stepper.advance(1, REST) == OK
            speeds.append(shape @ M @ stepper.v)
        speeds = np.array(speeds)
        at = np.flatnonzero(speeds[:-1] * speeds[1:] < 0)
        crossings = at + speeds[at] / (speeds[at] - speeds[at + 1])
        found = (len(crossings) - 1) / (2 * (crossings[-1] - crossings[0]) * 2.5e-4)
        assert found == pytest.approx(frequency, rel=0.005)


def test_cylinders_hold_and_move_the_platform(robot):
    stepper = Stepper(robot, 1e-3)
    cylinders = FusedHydraulics(stepper)
    hold = robot.inverse_dynamics(robot.neutral(), REST, REST)
    assert stepper.advance(1000, hold) == OK
    np.testing.assert_allclose(stepper.q[:3], robot.neutral()[:3], atol=5e-3)
    cylinders.command(np.full(6, 0.3), "valve")
    assert stepper.advance(300) == OK
    assert stepper.q[2] > robot.neutral()[2] + 0.03
    assert cylinders.mode == "valve"
    assert cylinders.faults == 0


def test_the_platform_rests_in_its_end_stops(robot):
    stepper = Stepper(robot, 1e-3)
    cylinders = FusedHydraulics(stepper, "valve")
    assert stepper.advance(3000, np.full(6, -0.5)) == OK
    state = cylinders.state()
    assert (state.flags & 2).all()
    assert (state.stroke > -2e-3).all()
    assert abs(stepper.v).max() < 1e-3


def test_a_fault_of_a_cylinder_stops_the_steps_at_the_last_good_state(robot):
    stepper = Stepper(robot, 1e-3)
    cylinders = FusedHydraulics(stepper, "valve")
    stepper.advance(10, np.full(6, 0.1))
    q = stepper.q.copy()
    cylinders.cylinders["spool_rate"][2] = np.inf
    assert stepper.advance(5) != OK
    assert cylinders.faults == 1
    np.testing.assert_array_equal(stepper.q, q)
    cylinders.fill()
    assert stepper.advance(5) == OK


def test_wrong_use_is_named(robot):
    with pytest.raises(UnsupportedError, match="no hydraulics"):
        FusedHydraulics(Stepper(flexdyn_ros.load("stewart_1t", options={"platform.hydraulics": None})))
    cylinders = FusedHydraulics(Stepper(robot))
    with pytest.raises(UnknownNameError, match="mode"):
        cylinders.mode = "position"
    with pytest.raises(StateError, match="6 finite numbers"):
        cylinders.command(np.full(6, np.nan))


# ---- staggered steps: the time-symmetric order of section 8.3 ----


def test_staggered_steps_do_what_the_specification_writes(robot):
    """V', pressures with the legs' accelerations, pose, V' again, mean; by hand through the verbs."""
    u = np.array([0.1, -0.1, 0.05, 0.0, 0.02, -0.03])
    q, v = tilted(robot), np.array([0.02, -0.03, 0.01, 0.02, 0.01, -0.02])
    fused = Stepper(robot, 1e-3, q0=q, v0=v)
    cylinders = FusedHydraulics(fused, "valve")
    assert fused.method == "staggered"
    state, h = cylinders.state(), 1e-3
    shortest = robot.hydraulics.model.column("shortest")
    for _ in range(100):
        fused.advance(1, u)
        # tau_n: of the pressures, at the rates that the legs have
        legs = robot.inverse_kinematics(q, v)
        state = robot.hydraulics.settled(state, legs.length)
        tau = force_of(robot.hydraulics, state, legs.length - shortest, legs.rate)
        a = robot.forward_dynamics(q, v, tau)
        legs = robot.inverse_kinematics(q, v, a)
        state = robot.hydraulics.step(state, legs.length, legs.rate, u, h, accelerations=legs.acceleration)
        q = robot.integrate(q, v + 0.5 * h * a, h)
        v = v + 0.5 * h * (a + robot.forward_dynamics(q, v + h * a, state.force))
    np.testing.assert_allclose(fused.q, q, atol=1e-12)
    np.testing.assert_allclose(fused.v, v, atol=1e-10)
    state = robot.hydraulics.settled(state, robot.inverse_kinematics(q).length)
    np.testing.assert_allclose(cylinders.state().pressure_bore, state.pressure_bore, rtol=1e-9)


def force_of(hydraulics, state, stroke, rate):
    """Net force (6,) of cylinders inside their strokes with such pressures, Stribeck friction written out."""
    c = hydraulics.model.column
    pressures = c("bore_area") * state.pressure_bore - c("rod_area") * state.pressure_rod
    pressures -= (c("bore_area") - c("rod_area")) * c("atmosphere")
    level = c("coulomb") + (c("static") - c("coulomb")) * np.exp(-((rate / c("stribeck")) ** 2))
    assert (stroke > 0.0).all()
    assert (stroke < c("stroke")).all()
    return pressures - level * np.tanh(rate / c("smoothing")) - c("viscous") * rate


LOSSLESS = {
    "platform.hydraulics.fluid.model": "constant",
    "platform.hydraulics.fluid.bulk_modulus": 1.2e9,
    "platform.hydraulics.fluid.air_fraction": None,
    "platform.hydraulics.friction": None,
    "platform.hydraulics.leakage": None,
}


def test_check_22_a_platform_on_lossless_oil_keeps_its_amplitude():
    """1 s at 1 ms of the fastest of the six modes (35 Hz): less than 1 % change."""
    robot = flexdyn_ros.load("stewart_1t", options=LOSSLESS)
    q0 = robot.neutral()
    modes = robot.modes(q0)
    M, shape = robot.mass_matrix(q0), modes.shape[:, -1]
    stepper = Stepper(robot, 1e-3, v0=0.01 * shape / abs(shape).max())
    FusedHydraulics(stepper, "valve")
    speeds = []
    for _ in range(1000):
        assert stepper.advance(1, REST) == OK
        speeds.append(shape @ M @ stepper.v)
    first, last = abs(np.array(speeds[:100])).max(), abs(np.array(speeds[-100:])).max()
    assert abs(last / first - 1.0) < 0.01


def test_staggered_steps_are_of_order_two():
    robot = flexdyn_ros.load("stewart_1t", options={"platform.hydraulics.friction": None})
    u = np.array([0.1, -0.1, 0.05, 0.1, 0.02, -0.03])
    ends = []
    for n in (50, 100, 200):
        stepper = Stepper(robot, 0.05 / n, "staggered", v0=np.full(6, 0.01))
        cylinders = FusedHydraulics(stepper, "valve")
        cylinders.sharpen(1e-9)
        assert stepper.advance(n, u) == OK
        ends.append(np.concatenate([stepper.q, stepper.v]))
    ratio = np.linalg.norm(ends[0] - ends[1]) / np.linalg.norm(ends[1] - ends[2])
    assert ratio == pytest.approx(4.0, rel=0.2)


def test_only_robots_with_actuators_step_staggered(robot):
    dry = flexdyn_ros.load("stewart_1t", options={"platform.hydraulics": None})
    with pytest.raises(UnsupportedError, match="staggered"):
        Stepper(dry, method="staggered")
    assert Stepper(robot).method == "rk4"  # no cylinders in use yet


# ---- simulate ----


def test_simulate_moves_a_platform_by_its_cylinders(robot):
    """`auto` is the staggered scheme; control asks for forces, and efforts are what the cylinders exert."""
    hold = robot.inverse_dynamics(robot.neutral(), REST, REST)
    run = simulate(robot, 0.5, dt=1e-3, control=1.02 * hold, record=("energy", "hydraulics"))
    assert run.method == "staggered"
    assert run.q[-1, 2] > robot.neutral()[2] + 0.01
    assert run.hydraulics.pressure_bore.shape == (501, 6)
    np.testing.assert_allclose(run.hydraulics.force[-1], 1.02 * hold, rtol=0.02)
    # samples hold mean forces of the step that leads away, cylinders the forces at the sample
    means = 0.5 * (run.hydraulics.force[1:] + run.hydraulics.force[:-1])
    np.testing.assert_allclose(run.tau[1:-1], means[1:], atol=20.0)
    scale = abs(run.work).max() + abs(run.energy.kinetic).max()
    assert abs(run.balance()).max() < 1e-3 * scale


def test_simulate_opens_valves_and_closes_them_when_told_nothing(robot):
    opened = simulate(robot, 0.3, control=ValveOpenings(np.full(6, 0.3)))
    assert opened.q[-1, 2] > robot.neutral()[2] + 0.03
    by_call = simulate(robot, 0.3, control=ValveOpenings(lambda t, q, v: np.full(6, 0.3)))
    np.testing.assert_array_equal(by_call.q, opened.q)
    cheaper = simulate(robot, 0.3, control=ValveOpenings(np.full(6, 0.3)), method="semi_implicit_euler")
    assert cheaper.method == "semi_implicit_euler"
    # of first order: no more apart than the platform moves in a step or two, at 0.3 m/s
    assert abs(cheaper.q[-1, 2] - opened.q[-1, 2]) < 6e-4
    closed = simulate(robot, 0.3)
    # what leaks past the pistons, 2e-6 m3/s, lifts the platform by 1.5 mm/s
    np.testing.assert_allclose(closed.q[-1, :3], robot.neutral()[:3], atol=1e-3)


def test_simulate_lets_forces_act_on_the_rods_by_other_methods(robot):
    hold = robot.inverse_dynamics(robot.neutral(), REST, REST)
    run = simulate(robot, 0.2, control=hold, method="rk4")
    np.testing.assert_array_equal(run.tau, np.tile(hold, (201, 1)))


def test_recorded_cylinders_are_saved_loaded_and_written_as_columns(robot, tmp_path):
    run = simulate(robot, 0.05, record=("energy", "hydraulics"), record_every=10)
    run.save(tmp_path / "run.npz")
    again = Trajectory.load(tmp_path / "run.npz", robot)
    np.testing.assert_array_equal(again.hydraulics.pressure_rod, run.hydraulics.pressure_rod)
    np.testing.assert_array_equal(again.hydraulics.flags, run.hydraulics.flags)
    assert "leg_3.pressure_bore" in run.columns
    np.testing.assert_array_equal(run["leg_3.pressure_bore"], run.hydraulics.pressure_bore[:, 2])
    pytest.importorskip("matplotlib")
    figure = run.plot(tmp_path / "run.png", panels=("position", "hydraulics"))
    titles = [ax.get_title("left") or ax.get_title() for ax in figure.axes]
    assert {"Bore side", "Rod side"} <= set(titles)
    # the valves stay shut: that is said, not drawn
    assert "spool" in figure.get_supxlabel()
    opened = simulate(robot, 0.05, control=ValveOpenings(np.full(6, 0.1)), record="hydraulics")
    drawn = opened.plot(tmp_path / "opened.png", panels=("hydraulics",)).axes
    assert "Valves" in [ax.get_title("left") or ax.get_title() for ax in drawn]


def test_a_terminal_event_stops_platform_and_cylinders_together(robot):
    def risen(t, q, v):
        return q[2] - robot.neutral()[2] - 0.02

    risen.terminal = True
    run = simulate(robot, 1.0, control=ValveOpenings(np.full(6, 0.3)), events=risen)
    assert run.status == 1
    assert run.q[-1, 2] == pytest.approx(robot.neutral()[2] + 0.02, abs=1e-9)


def test_valves_of_no_cylinders_and_other_mistakes_are_named(robot):
    dry = flexdyn_ros.load("stewart_1t", options={"platform.hydraulics": None})
    with pytest.raises(UnsupportedError, match="no hydraulics"):
        simulate(dry, 0.1, control=ValveOpenings(REST))
    with pytest.raises(UnsupportedError, match="bdf"):
        simulate(robot, 0.1, control=ValveOpenings(REST), method="bdf")
    with pytest.raises(UnsupportedError, match="no cylinders"):
        simulate(dry, 0.1, record="hydraulics")


@pytest.mark.parametrize("options", [{}, {"dt": 1e-3}], ids=["with error control", "by fixed steps"])
@pytest.mark.parametrize("constant", [True, False], ids=["constant", "by a law"])
def test_forces_of_cylinders_beyond_the_limits_are_clipped_and_recorded(robot, options, constant):
    limits = robot.effort_limits
    # two legs beyond their limits, one to either side
    force = limits * [0.1, 1.3, 0.2, -1.2, 0.15, 0.05]
    held = limits * [0.1, 1.0, 0.2, -1.0, 0.15, 0.05]

    def run(control, **more):
        law = control if constant else lambda t, q, v: control if t < 0.0035 else 0.1 * control
        return simulate(robot, 0.008, control=law, sample=1e-3, **options, **more)

    clipped, within, free = run(force, saturate=True), run(held, saturate=True), run(force)
    assert clipped.saturated.tolist() == [False] + [constant or i < 4 for i in range(8)]
    assert not within.saturated.any()
    assert not free.saturated.any()
    if constant:
        np.testing.assert_array_equal(clipped.q, within.q)
    assert np.abs(free.q - clipped.q).max() > 1e-7
