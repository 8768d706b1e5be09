"""Random mixtures with oil in their cylinders, on each kind of supply: rest, energy, slopes, order, runs."""

import warnings
from functools import cache
from itertools import product

import numpy as np
import pytest
from mixtures import random_mixture
from sampled import few

import flexdyn_ros
from flexdyn_ros.errors import FlexdynWarning
from flexdyn_ros.simulation import FusedHydraulics, Stepper

FAMILIES = ("rigid", "flexible", "elastic", "wheeled")
#: of each family one on each kind of supply, and two more; all 200 with --slow


def drawn(fast):
    """Families with seeds, of which the first `fast` are not slow."""
    return pytest.mark.parametrize(
        ("family", "seed"),
        [
            pytest.param(family, seed, marks=[] if seed < fast else [pytest.mark.slow])
            for family in FAMILIES
            for seed in range(50)
        ],
    )


EVERY = drawn(6)
#: where a robot takes a quarter of a second
HALF = drawn(3)
#: where it takes a second: each family, and each kind of supply
ONE = pytest.mark.parametrize(
    ("family", "seed"),
    few(list(product(FAMILIES, range(50))), [("rigid", 0), ("flexible", 1), ("elastic", 2), ("wheeled", 0)]),
)


@cache
def mixture(family, seed):
    """A random mixture with oil, made once."""
    return flexdyn_ros.load(random_mixture(seed, family, oil=True))


def held(robot, q):
    """Efforts of all coordinates and cylinders that hold the robot."""
    h = robot.bias_forces(q, np.zeros(robot.nv))
    return np.linalg.lstsq(robot.actuation_matrix(q), h, rcond=None)[0]


def stepped(robot, dt, method, tau):
    """A stepper at zero under efforts tau, its valves shut at the pressures that belong to them."""
    stepper = Stepper(robot, dt, method)
    oil = FusedHydraulics(stepper, "valve")
    oil.fill(tau[oil.places])
    stepper.tau[:] = tau
    oil.command(np.zeros(oil.places.size))
    return stepper, oil


def fastest(robot, tau):
    """Largest modulus of the eigenvalues on shut valves [1/s]."""
    A = robot.linearize(robot.neutral(), np.zeros(robot.nv), commands={}, tau=tau).A
    return np.abs(np.linalg.eigvals(A)).max()


def steps_of(robot, tau):
    """Methods, and steps of 1 ms or, where these are not stable, a few in its place."""
    few = 2.0 ** np.ceil(np.log2(max(1.0, 1e-3 * fastest(robot, tau))))
    return ("rosenbrock", 1e-3), ("staggered", 1e-3 / few)


@EVERY
def test_rest_states_hold(family, seed):
    robot = mixture(family, seed)
    q, still = robot.neutral(), np.zeros(robot.nv)
    tau = held(robot, q)
    # a pose may be unstable, but no faster than it falls
    growth = np.linalg.eigvals(robot.linearize(q, still, commands={}, tau=tau).A).real.max()
    for method, dt in steps_of(robot, tau):
        stepper, oil = stepped(robot, dt, method, tau)
        assert stepper.advance(round(0.2 / dt)) == 0, stepper.message
        assert np.abs(stepper.v).max() < 1e-10 * np.exp(0.2 * max(growth, 0.0)), method
        assert oil.faults == 0
    # forces of cylinders that nobody told: finite, and where they hold the robot alone they are these
    states = robot.rest_states(q)
    assert np.isfinite(states).all()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FlexdynWarning)
        alone = robot.inverse_dynamics(q[None], still[None], still[None], actuators="all")[0]
    if np.isfinite(alone).all():
        np.testing.assert_array_equal(states, robot.rest_states(q, tau=alone))


@EVERY
def test_energies_are_closed(family, seed):
    """Work of the pump = work on pistons + losses + what is stored more, while valves are open."""
    robot = mixture(family, seed)
    tau = held(robot, robot.neutral())

    def missing(method, dt):
        stepper, oil = stepped(robot, dt, method, tau)
        oil.sharpen(1e-7)
        assert stepper.advance(1) == 0
        before = oil.account()
        oil.command(np.full(oil.places.size, 0.3))
        assert stepper.advance(round(0.05 / dt)) == 0, stepper.message
        stored, pump, piston, loss = parts = np.subtract(oil.account(), before)
        return abs(pump - piston - loss - stored) / np.abs(parts).max()

    (implicit, dt), (staggered, short) = steps_of(robot, tau)
    assert missing(staggered, short) < 1e-3
    # lines follow the cylinders in implicit steps: what that misses goes with the step
    left = missing(implicit, dt)
    assert left < 0.025
    assert left < 1e-3 or missing(implicit, dt / 16) < 1e-3


@EVERY
def test_linear_equations_are_slopes_of_the_rates(family, seed):
    from flexdyn_ros.multibody.elements.cylinder.slopes import Rates

    robot = mixture(family, seed)
    memory, model, nv = robot.motion.memory, robot.hydraulics.model, robot.nv
    rates = Rates(model.names, model.parameters, model.supply_parameters)
    rng = np.random.default_rng([16, seed])
    size = np.array([1e-3 if c.kind not in ("joint", "base") else 0.05 for c in robot.coordinates])
    q, v = (
        robot.integrate(robot.neutral(), size * rng.standard_normal(nv), 1.0),
        0.2 * rng.standard_normal(nv),
    )
    units = np.array([state.unit for state in robot.element_states])
    # cylinders on bristles that are bent, spools and swivels aside of their ends
    z = robot.rest_states(q, tau=held(robot, q)) + 0.05 * (units == "-") + 1e-6 * (units == "m")
    u = np.full(memory.places.size, 0.2)
    A, B, names = robot.linearize(q, v, states=z, commands=u)
    assert names == tuple(state.name for state in robot.element_states)

    def slope(dq, v, z, u):
        place = robot.integrate(q, dq, 1.0)
        length, rate = (x[memory.places] for x in robot.functions.effort_motion(place, v))
        tau = np.zeros(robot.nu)
        tau[memory.places] = rates.forces(length, rate, z)
        return np.concatenate([robot.forward_dynamics(place, v, tau), rates.of(length, rate, z, u)])

    parts = [np.zeros(nv), v, z, u]
    steps = [np.full(nv, 1e-6), np.full(nv, 1e-6), np.where(units == "Pa", 10.0, 1e-6), np.full(u.size, 1e-6)]
    steps[2][units == "m"] = 1e-10
    found = [A[nv:, :nv], A[nv:, nv : 2 * nv], A[nv:, 2 * nv :], B[nv:, memory.places]]
    for k, columns in enumerate(found):
        for i, h in enumerate(steps[k]):
            ends = []
            for sign in (1.0, -1.0):
                moved = [part.copy() for part in parts]
                moved[k][i] += sign * h
                ends.append(slope(*moved))
            seen, told = (ends[0] - ends[1]) / (2.0 * h), columns[:, i]
            # accelerations and rates of states differ by many powers of ten
            for rows in (slice(nv), slice(nv, None)):
                bound = 1e-5 * max(np.abs(told[rows]).max(), np.abs(ends[0][rows]).max())
                np.testing.assert_allclose(seen[rows], told[rows], rtol=1e-4, atol=bound, err_msg=f"{k}, {i}")


@ONE
def test_positions_converge_with_order_two_while_valves_are_open(family, seed):
    # dry friction and cables that go slack have an order of their own
    text = random_mixture(seed, family, oil=True).replace('friction="0.5"', 'friction="0"')
    robot = flexdyn_ros.load(text.replace('tension_only="true"', 'tension_only="false"'))
    q, names = robot.neutral(), robot.hydraulics.names
    start = robot.rest_states(q)
    start[[state.name.endswith("/spool") for state in robot.element_states]] = 0.3
    given = {"q0": q, "states0": start, "control": {f"{name}/valve": 0.3 for name in names}}
    # bristles slip at the first motion
    order = 1.5 if 'model="lugre"' in text else 1.6
    with warnings.catch_warnings():
        # oil that cavitates where a valve lets a load run
        warnings.simplefilter("ignore", FlexdynWarning)
        exact = flexdyn_ros.simulate(robot, 2.0**-6, **given, rtol=1e-10, sample=2.0**-6).q[-1]

        def off(dt):
            run = flexdyn_ros.simulate(robot, 2.0**-6, **given, dt=dt, method="rosenbrock")
            return np.abs(robot.difference(exact, run.q[-1])).max()

        # edges that open or close, and oil springs that are fast against the step, have it later
        errors = [off(2.0**-14), off(2.0**-16)]
        if errors[1] > max(errors[0] * 0.25**order, 2e-9):
            errors = [errors[1], off(2.0**-18)]
    assert errors[1] <= max(errors[0] * 0.25**order, 2e-9)


@HALF
def test_runs_are_finite(family, seed):
    robot = mixture(family, seed)
    control = {f"{name}/valve": (-1.0) ** i * 0.5 for i, name in enumerate(robot.hydraulics.names)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FlexdynWarning)
        for given in ({"dt": 1e-3}, {"control": control, "dt": 1e-3}, {"control": control, "rtol": 1e-5}):
            run = flexdyn_ros.simulate(robot, 0.1, **given)
            assert run.t[-1] == pytest.approx(0.1), run.message
            assert np.isfinite(run.q).all()
            assert np.isfinite(run.states).all()
            pressures = [state.unit == "Pa" for state in robot.element_states]
            assert (run.states[:, pressures] > 0.0).all()
