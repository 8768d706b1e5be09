"""Wheeled arms in motion: energy, symmetries, drive; tolerances of the mobile specification, section 16."""

import numpy as np
import pytest
from mobile_arms import absolute, arm, chain, efforts, held

import flexdyn_ros
from flexdyn_ros.errors import StateError, UnsupportedError
from flexdyn_ros.simulation.steps.rates import rates_of

START = np.radians([-45.0, 120.0])


def start(robot, angles=START):
    """The held equilibrium of the default pose, and the speed of the drive."""
    v = np.zeros(robot.nv)
    v[0] = robot.description.drive.speed
    return held(robot, angles).q, v


def balance(robot, run):
    """Largest change of energy - work + dissipated [J]."""
    account = run.energy.total - run.work + run.dissipated
    return np.abs(account - account[0]).max()


@pytest.mark.parametrize(("flexible", "bound"), [(True, 1e-8), (False, 1e-6)])
def test_work_and_energy_balance_over_the_default_study(flexible, bound):
    robot = arm(formulation__flexible=flexible)
    q, v = start(robot)
    run = flexdyn_ros.simulate(
        robot, 0.25, q, v, dt=0.25, method="dop853", rtol=1e-9, atol=1e-11, control=efforts(robot, 45.0, -2.0)
    )
    assert balance(robot, run) <= bound
    assert run.energy.total[-1] > 50.0
    assert robot.wheel_forces(run.q, run.v).in_contact.all()


def test_power_identity_by_central_differences():
    robot = arm()
    rng = np.random.default_rng(5)
    h = 1e-6
    for _ in range(10):
        q = robot.random(rng) * 0.3
        q[1] += 0.2
        v = rng.normal(size=robot.nv) * 0.3
        v[[c.v_index for c in robot.coordinates if c.kind == "axial"]] *= 1e-3
        tau = efforts(robot, *rng.normal(size=2))
        a = robot.forward_dynamics(q, v, tau)
        rate = (
            robot.energy(q + h * v + 0.5 * h * h * a, v + h * a).total
            - robot.energy(q - h * v + 0.5 * h * h * a, v - h * a).total
        ) / (2.0 * h)
        given, taken = robot.wheel_powers(q, v)
        power = tau @ v + robot.drive_force(q, v, tau) * v[0] + given - taken
        assert rate == pytest.approx(power, rel=1e-4, abs=1e-4)


def test_held_equilibrium_on_a_flat_road_at_rest_stays_for_half_a_second():
    robot = arm(road={"kind": "flat"}, drive__speed=0.0)
    rest = held(robot, START)
    tau = rest.tau.copy()
    tau[0] = 0.0
    run = flexdyn_ros.simulate(
        robot, 0.5, rest.q, method="dop853", rtol=1e-9, atol=1e-12, dt=0.1, control=tau
    )
    assert np.abs(run.q - rest.q).max() <= 1e-10


def test_speed_over_a_flat_road_changes_nothing_else():
    runs = []
    for speed in (0.0, 0.7):
        robot = arm(road={"kind": "flat"}, drive__speed=speed)
        q, v = start(robot)
        runs.append(
            flexdyn_ros.simulate(
                robot,
                0.1,
                q,
                v,
                dt=0.01,
                method="dop853",
                rtol=1e-12,
                atol=1e-14,
                control=efforts(robot, 5, -1),
            )
        )
    assert np.abs(runs[0].q[:, 1:] - runs[1].q[:, 1:]).max() <= 1e-10
    assert np.allclose(runs[1].q[:, 0], 0.7 * runs[1].t, rtol=0.0, atol=1e-12)


def test_mirrored_arm_moves_as_the_mirror_image():
    robot = arm(road={"kind": "flat"})
    back = flexdyn_ros.load(
        "mobile_arm",
        options={
            "road": {"kind": "flat"},
            "drive.speed": -0.3,
            "wheel.rear.suspension": {"stiffness": 1168.0, "damping": 116.0},
            "wheel.front.suspension": {"stiffness": 952.0, "damping": 95.0},
        },
    )
    T = absolute(robot)
    q, v = start(robot)
    z = T @ q[1:]
    image = z * np.array([1, -1, -1, 1, -1, -1, -1, 1, -1, -1])
    image[[2, 6]] += np.pi
    p = np.append(0.0, np.linalg.solve(T, image))
    u = v * -1.0
    one = flexdyn_ros.simulate(
        robot, 0.05, q, v, dt=0.05, method="dop853", rtol=1e-12, atol=1e-14, control=efforts(robot, 5, -1)
    )
    two = flexdyn_ros.simulate(
        back, 0.05, p, u, dt=0.05, method="dop853", rtol=1e-12, atol=1e-14, control=efforts(back, -5, 1)
    )
    mirrored = (T @ one.q[-1, 1:]) * np.array([1, -1, -1, 1, -1, -1, -1, 1, -1, -1])
    mirrored[[2, 6]] += np.pi
    assert np.abs(T @ two.q[-1, 1:] - mirrored).max() <= 1e-9
    assert two.tau[-1, 0] == pytest.approx(-one.tau[-1, 0], rel=1e-7)


def test_effort_of_the_prescribed_coordinate_is_the_driving_force():
    robot = arm(formulation__flexible=False)
    q, v = start(robot)
    tau = efforts(robot, 45.0, -2.0)
    run = flexdyn_ros.simulate(robot, 0.05, q, v, dt=0.01, method="dop853", control=tau)
    force = robot.drive_force(run.q, run.v, np.broadcast_to(tau, run.q.shape))
    assert np.allclose(run.tau[:, 0], force, rtol=1e-9, atol=1e-9)
    with pytest.raises(StateError, match="prescribed"):
        robot.forward_dynamics(q, v, np.ones(robot.nv))


@pytest.mark.parametrize("method", ["rk4", "rosenbrock", "dop853"])
def test_a_prescribed_motion_is_followed(method):
    robot = arm(formulation__flexible=False)

    def motion(t):
        return 0.1 * np.sin(3.0 * t), 0.3 * np.cos(3.0 * t), -0.9 * np.sin(3.0 * t)

    q, _ = start(robot)
    tau = held(robot, START).tau
    tau[0] = 0.0
    run = flexdyn_ros.simulate(robot, 0.5, q, dt=1e-3, method=method, prescribed=motion, control=tau)
    assert np.abs(run.q[:, 0] - 0.1 * np.sin(3.0 * run.t)).max() <= 1e-6
    assert np.abs(run.v[:, 0] - 0.3 * np.cos(3.0 * run.t)).max() <= 1e-6


def test_a_base_starts_where_the_description_has_it_and_has_gone_on_until_then():
    robot = flexdyn_ros.load("mobile_arm", options={"drive.start": 0.5})
    for t0, x in ((0.0, 0.5), (0.2, 0.5 + 0.2 * 0.3)):
        run = flexdyn_ros.simulate(robot, 0.01, t0=t0)
        assert run["base/x"][[0, -1]] == pytest.approx([x, x + 0.01 * 0.3])


def test_a_start_that_contradicts_the_prescribed_place_of_the_base_is_refused():
    robot = arm(formulation__flexible=False)
    q, _ = start(robot)
    with pytest.raises(StateError, match=r"q0 of .base/x. is 0, .* prescribed: expected 0.5 at t = 0"):
        flexdyn_ros.simulate(robot, 0.1, q, prescribed=lambda t: (0.5, 0.0, 0.0))


def test_a_motion_is_refused_where_nothing_is_prescribed():
    robot = flexdyn_ros.load("mobile_arm", options={"drive": {"type": "force", "speed": None, "start": None}})
    with pytest.raises(UnsupportedError, match="prescribed"):
        flexdyn_ros.simulate(robot, 0.1, prescribed=lambda t: (t, 1.0, 0.0))
    assert not robot.coordinates[0].prescribed


def test_torques_without_equilibrium_are_reported():
    from flexdyn_ros.errors import ConvergenceError

    robot = arm(formulation__flexible=False)
    with pytest.raises(ConvergenceError):
        robot.static_equilibrium(held(robot, START).q, tau=efforts(robot, 45.0, -2.0))


@pytest.mark.slow
def test_stiffer_beams_tend_to_the_rigid_arm_as_one_over_stiffness():
    rigid = arm(formulation__flexible=False)
    q, v = start(rigid)
    options = {"dt": 0.0125, "method": "dop853", "rtol": 1e-9, "atol": 1e-11}
    straight = flexdyn_ros.simulate(rigid, 0.25, q, v, control=efforts(rigid, 45, -2), **options)
    root = straight.frames("link_2")
    tip = root[:, :3, 3] + 0.8 * root[:, :3, 0]
    errors = []
    for factor in (1.0, 10.0, 100.0):
        modulus = 210e9 * factor
        robot = arm(links__link_1__beam__material__E=modulus, links__link_2__beam__material__E=modulus)
        q, v = start(robot)
        run = flexdyn_ros.simulate(robot, 0.25, q, v, control=efforts(robot, 45, -2), **options)
        errors.append(np.abs(run.frames("link_2/tip")[:, :3, 3] - tip).max())
    assert errors[1] < errors[0] / 5.0
    assert errors[2] < errors[1] / 5.0


def test_lift_off_is_an_event_and_ends_the_simulation_if_asked():
    bump = {"kind": "bump", "start": 0.6, "height": 0.12, "length": 0.4}
    options = {
        "formulation.flexible": False,
        "road": bump | dict.fromkeys(("amplitude", "offset", "wavelength", "phase")),
        "drive.speed": 2.0,
    }
    found = {}
    for contact in ("monitor", "unilateral", "stop"):
        robot = flexdyn_ros.load("mobile_arm", options=options | {"road.contact": contact})
        rest = held(robot, np.radians([30.0, 30.0]))
        v = np.zeros(robot.nv)
        v[0] = 2.0
        tau = rest.tau.copy()
        tau[0] = 0.0
        run = flexdyn_ros.simulate(robot, 0.6, rest.q, v, dt=1e-3, method="rk4", control=tau)
        found[contact] = run
        names = [event.name for event in run.events]
        assert "front/contact" in names
        force = robot.wheel_forces(run.q, run.v).normal
        assert (force.min() >= 0.0) == (contact != "monitor")
    first = found["monitor"].events[0]
    assert found["stop"].status == 1
    assert found["stop"].t[-1] == pytest.approx(first.time, abs=1e-6)


def test_frames_that_hang_together_do_not_drift_apart_on_a_random_road():
    robot = flexdyn_ros.load(
        "mobile_arm",
        options={
            "formulation.flexible": False,
            "road": {"kind": "iso8608", "class": "C", "seed": 2}
            | dict.fromkeys(("amplitude", "offset", "wavelength", "phase", "start")),
        },
    )
    rest = held(robot, np.radians([60.0, -30.0]))
    v = np.zeros(robot.nv)
    v[0] = 0.3
    tau = rest.tau.copy()
    tau[0] = 0.0
    run = flexdyn_ros.simulate(robot, 2.0, rest.q, v, dt=1e-3, method="rk4", control=tau)
    tip = run.frames("link_1")[:, :3, :] @ np.array([0.8, 0.0, 0.0, 1.0])
    assert np.abs(tip - run.frames("link_2")[:, :3, 3]).max() <= 1e-10
    assert np.abs(run.q[:, 0] - 0.3 * run.t).max() <= 1e-10
    assert balance(robot, run) <= 1e-6


def bumpy(**options):
    """The rigid arm on a bump that throws its wheels off, its holding torques, and its start at 2 m/s."""
    bump = {"kind": "bump", "start": 0.6, "height": 0.12, "length": 0.4}
    robot = flexdyn_ros.load(
        "mobile_arm",
        options={
            "formulation.flexible": False,
            "road": bump | dict.fromkeys(("amplitude", "offset", "wavelength", "phase")),
            "drive.speed": 2.0,
        }
        | options,
    )
    rest = held(robot, np.radians([30.0, 30.0]))
    v, tau = np.zeros(robot.nv), rest.tau.copy()
    v[0], tau[0] = 2.0, 0.0
    return robot, rest.q, v, tau


@pytest.mark.parametrize("every", [1, 7])
def test_events_of_the_compiled_loop_are_those_of_single_steps(every):
    robot, q, v, tau = bumpy(**{"road.contact": "unilateral"})
    options = {"dt": 1e-3, "method": "rk4", "control": tau, "record_every": every}
    rolled = flexdyn_ros.simulate(robot, 0.6004, q, v, **options)
    walked = flexdyn_ros.simulate(robot, 0.6004, q, v, events=lambda t, q, v: 1.0, **options)
    assert [e.name for e in rolled.events] == ["front/contact", "front/contact", "rear/contact"]
    assert [e.time for e in rolled.events] == [e.time for e in walked.events]
    for name in ("t", "q", "v", "tau", "work", "dissipated"):
        assert np.array_equal(getattr(rolled, name), getattr(walked, name)), name


def test_the_road_that_moves_under_the_wheels_does_work():
    robot, q, v, tau = bumpy()
    run = flexdyn_ros.simulate(robot, 0.4, q, v, dt=2e-4, method="rk4", control=tau)
    given, taken = robot.wheel_powers(run.q, run.v)
    steps = np.diff(run.t)

    def integral(power):
        return np.append(0.0, np.cumsum(0.5 * steps * (power[1:] + power[:-1])))

    drive = integral(robot.drive_force(run.q, run.v, tau) * run.v[:, 0])
    motors = integral(run.v @ tau)
    assert np.allclose(run.dissipated, integral(taken), rtol=0.0, atol=2e-3)
    assert np.allclose(run.work, integral(given) + drive + motors, rtol=0.0, atol=2e-3)
    assert (np.diff(run.dissipated) >= 0.0).all()
    assert np.abs(integral(given)).max() > 1.0


@pytest.mark.parametrize("tyres", [False, True])
@pytest.mark.parametrize("bends", [False, True])
def test_rates_of_compiled_steps_are_those_of_the_verbs_by_both_methods(tyres, bends):
    tree = {"method": "articulated", "rotary_inertia": "none", "stiffening": "none"}
    road = '<road kind="sine" amplitude="0.01" offset="0.01" wavelength="0.4" phase="1.0"/>'
    rng = np.random.default_rng(3)
    for formulation in ({}, tree):
        options = {f"formulation.{k}": x for k, x in formulation.items()}
        robot = flexdyn_ros.load(chain((bends,), tyres=tyres, road=road), options=options)
        q, v = 0.01 * rng.normal(size=robot.nq), 0.1 * rng.normal(size=robot.nv)
        q[1] += 0.4 if tyres else 0.25
        if tyres:
            q[-2:] += 0.2
        tau = np.zeros(robot.nv)
        tau[robot.index("j1")] = 3.0
        if tyres:
            tau[-2:] = 1.0, -2.0
        rates = rates_of(robot, limits="report", saturate=False)
        rates.set_efforts(tau)
        a, _, work, taken = rates.rates(0.0, q, v)
        expected = robot.forward_dynamics(q, v, tau)
        assert np.abs(a - expected).max() <= 1e-10 * np.abs(expected).max()
        given, by_wheels = robot.wheel_powers(q, v)
        assert work == pytest.approx(tau @ v + robot.drive_force(q, v, tau) * v[0] + given, rel=1e-9)
        assert taken == pytest.approx(by_wheels + v @ robot.bias_terms(q, v).damping, rel=1e-9)


def test_both_methods_of_the_planar_arm_make_the_same_steps():
    tree = {"method": "articulated", "rotary_inertia": "none", "stiffening": "none"}
    runs = []
    for formulation in ({}, tree):
        robot = flexdyn_ros.load(
            "mobile_arm", options={f"formulation.{k}": x for k, x in formulation.items()}
        )
        q, v = start(robot)
        run = flexdyn_ros.simulate(
            robot, 0.02, q, v, dt=5e-5, method="rk4", control=efforts(robot, 45.0, -2.0)
        )
        runs.append(run)
    one, two = runs
    assert np.abs(one.q - two.q).max() <= 1e-9
    assert np.abs(one.tau[:-1, 0] - two.tau[:-1, 0]).max() <= 1e-8 * np.abs(one.tau[:, 0]).max()
    assert np.abs(one.work - two.work).max() <= 1e-8
    assert np.abs(one.dissipated - two.dissipated).max() <= 1e-8
