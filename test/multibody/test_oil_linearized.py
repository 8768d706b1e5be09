"""Linear equations about states of robots on oil, by openings of valves."""

import numpy as np
import pytest
from oil_robots import HANGING, hanging
from scipy.linalg import expm, null_space

import flexdyn_ros
from flexdyn_ros.errors import StateError, UnknownNameError, UnsupportedError
from flexdyn_ros.simulation import FusedHydraulics, Stepper

_SMOOTH = (
    '<friction model="stribeck" coulomb="50" static="80" stribeck_velocity="0.01" smoothing_velocity="0.005" '
    'viscous="600"/>'
)
_PUMP = (
    '<pump type="constant_pressure" displacement="1.2e-5" speed="157" line_volume="2e-3" leakage="1e-12" '
    'band="10e5" time_constant="0.05"/>'
)
PUMPED = hanging(in_cylinder=_SMOOTH, in_supply=_PUMP, second_mass=100.0)
#: sizes of perturbations; load sensing wakes up from 1e-4 of the spool on
_SIZES = {"pressure_bore": 1e3, "pressure_rod": 1e3, "pressure": 1e3, "spool": 2e-5}


def after(robot, seconds, q, v, states, openings):
    """(q, v, states) of a run with controlled error."""
    run = flexdyn_ros.simulate(robot, seconds, q, v, states0=states, control=openings, rtol=1e-11)
    return np.concatenate([run.q[-1], run.v[-1], run.states[-1]])


@pytest.mark.parametrize(
    ("text", "openings"),
    [(HANGING, {}), (PUMPED, {"lift/valve": 0.4, "second_lift/valve": -0.2}), ("boom", {})],
    ids=["shut", "moving", "boom"],
)
def test_small_motions_are_those_of_runs(text, openings):
    robot = flexdyn_ros.load(text)
    names = [f"{name}/valve" for name in robot.hydraulics.names]
    control = dict.fromkeys(names, 0.0) | openings
    # any state will do: what follows begins from this one
    settle = flexdyn_ros.simulate(robot, 1.0, control=control, rtol=1e-6)
    q, v, z = settle.q[-1], settle.v[-1], settle.states[-1]
    found = robot.linearize(q, v, states=z, commands=openings)
    assert found.state_names == tuple(state.name for state in robot.element_states)
    A, B, _ = found
    nv, ns, T = robot.nv, z.size, 2e-4
    # x(T) - what it is undisturbed = expm(A T) dx + int expm(A s) ds B du
    n = 2 * nv + ns
    both = np.zeros((n + len(names), n + len(names)))
    both[:n, :n] = A
    at = [robot.effort_names.index(name) for name in robot.hydraulics.names]
    both[:n, n:] = B[:, at]
    expected = expm(both * T)[:n]
    sizes = [1e-6] * nv + [1e-5] * nv
    sizes += [_SIZES.get(name.rpartition("/")[2], 1e-3) for name in found.state_names]
    sizes += [2e-5] * len(names)
    scale = np.array(sizes[:n])
    for k, size in enumerate(sizes):
        ends = []
        for sign in (1.0, -1.0):
            x = np.concatenate([q, v, z])
            opened = dict(control)
            if k < n:
                x[k] += sign * size
            else:
                opened[names[k - n]] += sign * size
            ends.append(after(robot, T, x[:nv], x[nv : 2 * nv], x[2 * nv :], opened))
        seen = (ends[0] - ends[1]) / (2.0 * size)
        # what is as large as it is for the state itself
        np.testing.assert_allclose(
            seen / scale * size, expected[:, k] / scale * size, rtol=2e-3, atol=2e-3, err_msg=f"column {k}"
        )


@pytest.mark.parametrize("text", [PUMPED, "boom"], ids=["slides", "boom"])
def test_slopes_are_those_of_the_equations_where_the_robot_moves(text):
    # central differences of v' and z' at a state in motion: lengths turn with the robot
    from flexdyn_ros.multibody.elements.cylinder.slopes import Rates

    robot = flexdyn_ros.load(text)
    memory = robot.motion.memory
    model, at = robot.hydraulics.model, memory.places
    rates = Rates(model.names, model.parameters, model.supply_parameters)
    rng = np.random.default_rng(3)
    q, v = robot.neutral(), 0.2 * rng.standard_normal(robot.nv)
    z = robot.rest_states(q) + np.array([0.05 * (s.unit == "-") for s in robot.element_states])
    u = np.full(at.size, 0.2)
    A, B, _ = robot.linearize(q, v, states=z, commands=u)

    def slope(v, q, z, u):
        length, rate = (x[at] for x in robot.functions.effort_motion(q, v))
        tau = np.zeros(robot.nu)
        tau[at] = rates.forces(length, rate, z)
        return np.concatenate([v, robot.forward_dynamics(q, v, tau), rates.of(length, rate, z, u)])

    nv, n = robot.nv, A.shape[0]
    for k in range(n):
        ends = []
        size = [1e-6, 1e-5, 10.0][min(k // nv, 2)]
        if k >= 2 * nv and robot.element_states[k - 2 * nv].unit != "Pa":
            size = 1e-5
        for sign in (1.0, -1.0):
            step = np.zeros(n)
            step[k] = sign * size
            there = robot.integrate(q, step[:nv], 1.0)
            ends.append(slope(v + step[nv : 2 * nv], there, z + step[2 * nv :], u))
        seen = (ends[0] - ends[1]) / (2.0 * size)
        np.testing.assert_allclose(A[:, k], seen, rtol=2e-5, atol=1e-6 * np.abs(A[:, k]).max())
    for k in range(at.size):
        ends = [slope(v, q, z, u + sign * 1e-5 * np.eye(at.size)[k]) for sign in (1.0, -1.0)]
        seen = (ends[0] - ends[1]) / 2e-5
        np.testing.assert_allclose(B[:, at[k]], seen, rtol=2e-5, atol=1e-6 * np.abs(seen).max())


def test_platforms_have_them_too():
    robot = flexdyn_ros.load("stewart_1t")
    q, v = robot.neutral(), np.zeros(6)
    found = robot.linearize(q, v, commands={})
    assert found.state_names[:3] == ("leg_1/pressure_bore", "leg_1/pressure_rod", "leg_1/spool")
    # steps of the library go where they say, from other pressures
    stepper = Stepper(robot, 1e-5)
    oil = FusedHydraulics(stepper, "valve")
    oil.sharpen(1e-9)
    ends = []
    for sign in (1.0, -1.0):
        stepper.set_state(q, v)
        oil.fill()
        state = oil.state()
        bore = state.pressure_bore.copy()
        bore[0] += sign * 1e4
        zero = np.zeros(6)
        oil.set_state(state._replace(pressure_bore=bore, oil_bore=zero, oil_rod=zero))
        oil.command(np.zeros(6), "valve")
        assert stepper.advance(50) == 0
        ends.append(stepper.v.copy())
    expected = expm(found.A * 5e-4)[6:12, 12]
    np.testing.assert_allclose(
        (ends[0] - ends[1]) / 2e4, expected, rtol=2e-3, atol=1e-3 * np.abs(expected).max()
    )


def test_without_friction_their_eigenvalues_are_the_modes_of_shut_valves():
    robot = flexdyn_ros.load(HANGING)
    values = np.linalg.eigvals(robot.linearize(robot.neutral(), np.zeros(1), commands={}).A)
    seen = np.abs(values.imag).max() / (2.0 * np.pi)
    np.testing.assert_allclose(seen, robot.modes(robot.neutral()).frequency[0], rtol=1e-9)


def test_batches_and_locks():
    robot = flexdyn_ros.load(PUMPED)
    q = np.array([[0.0, 0.0], [0.05, -0.02]])
    v = np.array([[0.1, 0.0], [0.0, -0.1]])
    A, B, names = robot.linearize(q, v, commands={"lift/valve": 0.1})
    assert names == robot.linearize(q[0], v[0], commands={}).state_names
    assert A.shape == (2, 12, 12)
    assert B.shape == (2, 12, robot.nu)
    for k in range(2):
        one = robot.linearize(q[k], v[k], commands=[0.1, 0.0])
        np.testing.assert_array_equal(A[k], one.A)
        np.testing.assert_array_equal(B[k], one.B)
    locked = robot.linearize(q[0], v[0], commands={}, lock="slide")
    assert locked.A.shape == (10, 10)
    assert len(locked.state_names) == 8


def test_what_it_refuses():
    robot = flexdyn_ros.load(HANGING)
    q, v = robot.neutral(), np.zeros(1)
    with pytest.raises(UnknownNameError, match="did you mean lift/valve"):
        robot.linearize(q, v, commands={"lif/valve": 0.1})
    with pytest.raises(StateError, match="expected an opening from -1 to 1"):
        robot.linearize(q, v, commands=[np.nan])
    with pytest.raises(StateError, match="absolute pressure"):
        robot.linearize(q, v, commands={}, states={"lift/pressure_bore": -1.0})
    with pytest.raises(UnsupportedError, match="together with commands"):
        robot.linearize(q, v, states={"lift/pressure_bore": 1e6})
    with pytest.raises(UnsupportedError, match="no cylinders on oil"):
        flexdyn_ros.load("two_link").linearize(np.zeros(2), np.zeros(2), commands={})
    slow = flexdyn_ros.load(hanging(valve='time_constant="0.01" slew_rate="20"'))
    with pytest.raises(UnsupportedError, match="slew_rate of the valve of cylinder 'lift' is 20"):
        slow.linearize(q, v, commands={})


def test_a_closed_mechanism_moves_as_its_linear_equations_say():
    """Pressures, openings and moves along the loops of `excavator`, about its rest behind shut valves."""
    robot, T = flexdyn_ros.load("excavator"), 2e-3
    names = [f"{name}/valve" for name in robot.hydraulics.names]
    q, v = robot.neutral(), np.zeros(robot.nv)
    z = robot.rest_states(q)
    A, B, states = robot.linearize(q, v, commands={})
    assert states == tuple(state.name for state in robot.element_states)
    n, nv = len(A), robot.nv
    at = [robot.effort_names.index(name) for name in robot.hydraulics.names]
    both = np.zeros((n + len(names), n + len(names)))
    both[:n, :n], both[:n, n:] = A, B[:, at]
    expected = expm(both * T)[:n]
    along = null_space(robot.loop_jacobian(q))

    def ended(x, openings):
        place = robot.integrate(q, x[:nv], 1.0)
        given = {"q0": place, "v0": x[nv : 2 * nv], "states0": z + x[2 * nv :], "rtol": 1e-12, "atol": 1e-14}
        run = flexdyn_ros.simulate(robot, T, control=dict(zip(names, openings, strict=True)), **given)
        return np.concatenate([robot.difference(q, run.q[-1]), run.v[-1], run.states[-1] - z])

    moves = [np.concatenate([1e-6 * way, np.zeros(n - nv + 3)]) for way in along.T]
    moves += [np.concatenate([np.zeros(nv), 1e-5 * way, np.zeros(n - 2 * nv + 3)]) for way in along.T]
    moves += [2e3 * np.eye(n + 3)[2 * nv + k] for k, x in enumerate(states) if "pressure_" in x]
    moves += [1e-3 * np.eye(n + 3)[n + k] for k in range(3)]
    for move in moves:
        found = 0.5 * (ended(move[:n], move[n:]) - ended(-move[:n], -move[n:]))
        told = expected @ move
        for part in (slice(nv), slice(nv, 2 * nv), slice(2 * nv, None)):
            size = np.abs(told[part]).max()
            assert np.abs(found - told)[part].max() <= 2e-3 * size + 1e-12, (move, part)
