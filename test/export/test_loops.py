"""C, CasADi and FMUs of closed mechanisms."""

from itertools import product

import machines
import numpy as np
import pytest
from closed_states import INVERSE, ROBOTS, possible, state_of
from exported import COMPILERS, compiled, exchanged_error, fmu_motion, fmu_name
from mixtures import random_closed_mixture
from sampled import few

import flexdyn_ros
from flexdyn_ros import export
from flexdyn_ros.errors import FlexdynWarning, SingularityError
from flexdyn_ros.simulation.steps.stepper import Stepper

pytestmark = pytest.mark.usefixtures("quick_compiler")


@pytest.mark.skipif(not COMPILERS, reason="no C compiler")
@pytest.mark.parametrize("name", ROBOTS)
def test_c_computes_the_same_accelerations(name, tmp_path):
    robot = ROBOTS[name]()
    export.c(robot, tmp_path, ["forward_dynamics"])
    arm = compiled(tmp_path, robot.name)
    for seed in range(5):
        state = state_of(robot, seed)
        expected = robot.forward_dynamics(*state)
        found = arm.call("forward_dynamics", *state, sizes=[robot.nv])
        assert np.abs(found - expected).max() <= 1e-12 * np.abs(expected).max()


@pytest.mark.skipif(not COMPILERS, reason="no C compiler")
@pytest.mark.parametrize(
    ("name", "method"),
    # every robot, and every method
    few(list(product(("four_bar", "bricard", "excavator"), ("rk4", "rosenbrock", "semi_implicit_euler"))), [
        ("four_bar", "rk4"), ("four_bar", "rosenbrock"), ("four_bar", "semi_implicit_euler"),
        ("bricard", "rk4"), ("excavator", "rosenbrock"),
    ]),
)  # fmt: skip
def test_steps_in_c_are_those_of_simulate_and_stay_on_the_loops(name, method, tmp_path):
    robot = ROBOTS[name]()
    export.c(robot, tmp_path, ["step"], method=method)
    arm = compiled(tmp_path, robot.name)
    q, v, tau = state_of(robot)
    stepper = Stepper(robot, 1e-3, method, q0=q, v0=v)
    assert stepper.advance(100, tau) == 0
    for _ in range(100):
        q, v = arm.step(q, v, tau, 1e-3)
        assert np.abs(robot.loop_residual(q)).max() <= 1e-10
        assert np.abs(robot.loop_jacobian(q) @ v).max() <= 1e-9
    assert np.abs(q - stepper.q).max() <= 1e-9
    assert np.abs(v - stepper.v).max() <= 1e-9 * max(1.0, np.abs(v).max())


@pytest.mark.skipif(not COMPILERS, reason="no C compiler")
@pytest.mark.parametrize(("family", "seed"), few([("flexible", 0), ("elastic", 4), ("rigid", 5)], 2))
def test_steps_of_random_mixtures_in_c_are_those_of_simulate(family, seed, tmp_path):
    """Loops beside springs, cylinders, motors; those of the first close in few poses only."""
    robot = flexdyn_ros.load(random_closed_mixture(seed, family))
    export.c(robot, tmp_path, ["step"], method="rosenbrock")
    arm = compiled(tmp_path, robot.name)
    rng = np.random.default_rng(seed)
    q, v = robot.project(robot.neutral(), 1e-2 * rng.standard_normal(robot.nv))
    tau = 0.1 * rng.standard_normal(robot.nu)
    stepper = Stepper(robot, 1e-3, "rosenbrock", q0=q, v0=v)
    assert stepper.advance(20, tau) == 0
    for _ in range(20):
        q, v = arm.step(q, v, tau, 1e-3)
    assert np.abs(robot.loop_residual(q)).max() <= 1e-10
    assert np.abs(q - stepper.q).max() <= 1e-9
    assert np.abs(v - stepper.v).max() <= 1e-8 * max(1.0, np.abs(v).max())


@pytest.mark.skipif(not COMPILERS, reason="no C compiler")
def test_parameters_are_inputs_in_c(tmp_path):
    robot = machines.four_bar()
    export.c(robot, tmp_path, ["forward_dynamics"], parameters=["rocker/*"])
    q, v, tau = state_of(robot)
    p = np.array([x.value for x in robot.parameters if x.name.startswith("rocker/")])
    names = [x.name for x in robot.parameters if x.name.startswith("rocker/")]
    p *= 2.0
    other = robot.with_parameters(dict(zip(names, p, strict=True)))
    expected = other.forward_dynamics(q, v, tau)
    found = compiled(tmp_path, robot.name).call("forward_dynamics", q, v, tau, p=p, sizes=[robot.nv])
    assert np.abs(expected - robot.forward_dynamics(q, v, tau)).max() > 1e-2
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-12 * np.abs(expected).max())


@pytest.mark.skipif(not COMPILERS, reason="no C compiler")
@pytest.mark.parametrize("name", ["four_bar", "excavator"])
def test_an_fmu_moves_as_simulate_does(name, tmp_path):
    pytest.importorskip("fmpy")
    robot = ROBOTS[name]()
    q0, v0, tau = state_of(robot)
    tau[[effort not in robot.actuators for effort in robot.effort_names]] = 0.0
    path = tmp_path / "closed.fmu"
    export.fmu(robot, path, q0=q0, v0=v0)
    expected = flexdyn_ros.simulate(robot, 0.2, q0, v0, control=tau, dt=1e-3, record_every=10)
    found = fmu_motion(path, robot, tau, "CoSimulation", 1e-2, 0.2, step_size=1e-2)
    assert np.abs(found - expected.q).max() <= 1e-6 * max(1.0, np.ptp(expected.q, axis=0).max())
    assert np.abs(robot.loop_residual(found)).max() <= 1e-6


@pytest.mark.skipif(not COMPILERS, reason="no C compiler")
@pytest.mark.parametrize(
    ("name", "fmi"),
    few(list(product(("four_bar", "excavator", "delta"), ("2.0", "3.0"))), [
        ("four_bar", "2.0"), ("four_bar", "3.0"), ("excavator", "3.0"), ("delta", "2.0"),
    ]),
)  # fmt: skip
def test_co_simulation_stays_on_the_loops_for_seconds(name, fmi, tmp_path):
    """Beside `simulate`, whose states are projected after each step as well."""
    fmpy = pytest.importorskip("fmpy")
    robot = {**ROBOTS, "delta": lambda: flexdyn_ros.load("delta")}[name]()
    q0, v0, _ = state_of(robot)
    tau = robot.inverse_dynamics(q0, np.zeros(robot.nv), np.zeros(robot.nv))
    export.fmu(robot, tmp_path / "closed.fmu", fmi, "co-simulation", q0=q0, v0=v0)
    names = [fmu_name("q", x) for x in robot.q_names], [fmu_name("v", x) for x in robot.v_names]
    given = {fmu_name(x): tau[robot.effort_names.index(x)] for x in robot.actuators}
    found = fmpy.simulate_fmu(
        str(tmp_path / "closed.fmu"), stop_time=3.0, step_size=1e-2, output_interval=1e-2,
        fmi_type="CoSimulation", output=[*names[0], *names[1]], start_values=given,
    )  # fmt: skip
    q, v = (np.array([[row[x] for x in kind] for row in found]) for kind in names)
    assert len(q) >= 300
    assert np.abs(robot.loop_residual(q)).max() <= 1e-10
    assert np.abs(np.einsum("nij,nj->ni", robot.loop_jacobian(q), v)).max() <= 1e-9
    run = flexdyn_ros.simulate(robot, 0.5, q0, v0, control=tau, dt=1e-3, record_every=10)
    assert np.abs(q[: len(run.q)] - run.q).max() <= 1e-6 * max(1.0, np.ptp(run.q, axis=0).max())


@pytest.mark.skipif(not COMPILERS, reason="no C compiler")
@pytest.mark.parametrize("name", ["four_bar", "excavator"])
def test_model_exchange_moves_as_simulate_does(name, tmp_path):
    pytest.importorskip("fmpy")
    robot = ROBOTS[name]()
    q0, v0, tau = state_of(robot)
    tau[[effort not in robot.actuators for effort in robot.effort_names]] = 0.0
    assert exchanged_error(robot, q0, v0, tau, tmp_path / "closed.fmu") <= 1e-6


def exchanged(robot, path, seconds, tolerance, **start):
    """Times, q (n, nq) and v (n, nv) of the model-exchange FMU by CVode, before and after each event."""
    fmpy = pytest.importorskip("fmpy")
    names = [fmu_name("q", x) for x in robot.q_names], [fmu_name("v", x) for x in robot.v_names]
    found = fmpy.simulate_fmu(
        str(path), stop_time=seconds, output_interval=1e-2, fmi_type="ModelExchange",
        relative_tolerance=tolerance, output=[*names[0], *names[1]], start_values=start,
    )  # fmt: skip
    return found["time"], *(np.array([[row[x] for x in kind] for row in found]) for kind in names)


@pytest.mark.skipif(not COMPILERS, reason="no C compiler")
@pytest.mark.parametrize("fmi", ["2.0", "3.0"])
def test_model_exchange_stays_on_the_loops_and_keeps_its_energy(fmi, tmp_path):
    """Ten seconds of a free four-bar: events move the states onto the loops, before they are open by 1e-8."""
    robot = machines.four_bar()
    export.fmu(robot, tmp_path / "closed.fmu", fmi, "model-exchange")
    t, q, v = exchanged(robot, tmp_path / "closed.fmu", 10.0, 1e-11)
    assert len(np.unique(t)) == 1001
    assert len(t) > 1001  # there were events
    assert np.abs(robot.loop_residual(q)).max() <= 1e-8
    speed = np.abs(v).max()
    assert np.abs(np.einsum("nij,nj->ni", robot.loop_jacobian(q), v)).max() <= 1e-8 * speed
    energy = np.array([robot.energy(*state)[:2] for state in zip(q, v, strict=True)])
    total = energy.sum(axis=1)
    assert np.abs(total - total[0]).max() <= 1e-7 * np.ptp(energy[:, 0])


@pytest.mark.skipif(not COMPILERS, reason="no C compiler")
def test_a_coarse_solver_is_on_the_loops_after_each_event(tmp_path):
    """States that its steps leave off them by micrometres; a state that is set is moved onto them too."""
    robot = machines.four_bar()
    export.fmu(robot, tmp_path / "closed.fmu", "3.0", "model-exchange")
    q0 = {
        fmu_name("q", name): x for name, x in zip(robot.q_names, machines.Q + [0.1, -0.05, 0.08], strict=True)
    }
    t, q, _ = exchanged(robot, tmp_path / "closed.fmu", 2.0, 1e-6, **q0)
    last = np.r_[np.diff(t) > 0.0, True]
    gap = np.abs(robot.loop_residual(q)).max(axis=1)
    assert gap.max() > 1e-8
    assert gap[last].max() <= 1e-9
    # nearly the closest pose, W16 of the specification: masses are those of the way there
    np.testing.assert_allclose(q[0], [-0.8357371465324, 0.344424685081, -1.5598613534155], atol=2e-2)


@pytest.mark.skipif(not COMPILERS, reason="no C compiler")
def test_co_simulation_moves_states_that_are_set_onto_the_loops(tmp_path):
    fmpy = pytest.importorskip("fmpy")
    robot = machines.four_bar()
    export.fmu(robot, tmp_path / "closed.fmu", "3.0", "co-simulation")
    names = [fmu_name("q", name) for name in robot.q_names]
    given = dict(zip(names, machines.Q + [0.1, -0.05, 0.08], strict=True))
    found = fmpy.simulate_fmu(
        str(tmp_path / "closed.fmu"), stop_time=0.1, step_size=1e-2, output=names, start_values=given
    )  # fmt: skip
    q = np.array([[row[name] for name in names] for row in found])
    assert np.abs(robot.loop_residual(q)).max() <= 1e-10
    np.testing.assert_allclose(q[0], machines.Q + [0.1, -0.05, 0.08], atol=0.3)


@pytest.mark.skipif(not COMPILERS, reason="no C compiler")
def test_model_exchange_of_a_delta_goes_where_a_run_with_error_control_goes(tmp_path):
    robot = flexdyn_ros.load("delta")
    export.fmu(robot, tmp_path / "closed.fmu", "3.0", "model-exchange")
    t, q, _ = exchanged(robot, tmp_path / "closed.fmu", 0.4, 1e-9)
    run = flexdyn_ros.simulate(robot, 0.4, rtol=1e-10, sample=1e-2)
    last = np.r_[np.diff(t) > 0.0, True]
    np.testing.assert_allclose(q[last], run.q, atol=1e-6 * np.ptp(run.q, axis=0).max())


@pytest.mark.skipif(not COMPILERS, reason="no C compiler")
def test_an_fmu_starts_on_the_loops(tmp_path):
    fmpy = pytest.importorskip("fmpy")
    robot = machines.four_bar()
    export.fmu(robot, tmp_path / "closed.fmu", q0=machines.Q + [0.1, -0.05, 0.08])
    model = fmpy.read_model_description(str(tmp_path / "closed.fmu"))
    starts = {x.name: x.start for x in model.modelVariables}
    q = np.array([float(starts[name]) for name in starts if name in robot.q_names])
    if q.size == robot.nq:
        assert np.abs(robot.loop_residual(q)).max() <= 1e-10


def test_casadi_computes_the_same_accelerations():
    pytest.importorskip("casadi")
    robot = machines.four_bar()
    state = state_of(robot)
    function = export.casadi(robot, "forward_dynamics")
    expected = robot.forward_dynamics(*state)
    found = np.asarray(function(*state)).ravel()
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-12 * np.abs(expected).max())


@pytest.mark.skipif(not COMPILERS, reason="no C compiler")
# springs of joints, and rigid links, are beside loops in no other way than links that bend
@pytest.mark.parametrize("name", few(list(INVERSE), INVERSE.keys() - {"rigid mixture", "elastic mixture"}))
def test_c_computes_the_efforts_of_the_actuators(name, tmp_path):
    """Those of the library, of least norm with two motors and with modes; by FD they make the motion."""
    robot = INVERSE[name]()
    export.c(robot, tmp_path, ["inverse_dynamics"])
    arm = compiled(tmp_path, robot.name)
    for seed in range(4):
        state, needed = possible(robot, seed)
        expected = robot.inverse_dynamics(*state)
        found = arm.call("inverse_dynamics", *state, sizes=[robot.nu])
        size = max(np.abs(expected).max(), np.abs(needed).max())
        # masses of modes of random mixtures differ by orders of magnitude
        error = 1e-9 if "mixture" in name else 1e-12
        assert np.abs(found - expected).max() <= error * size
        moved = robot.forward_dynamics(*state[:2], found)
        assert np.abs(moved - state[2]).max() <= max(10.0 * error, 1e-10) * max(1.0, np.abs(state[2]).max())
        passive = [c.kind == "joint" and c.name not in robot.actuators for c in robot.coordinates]
        assert not found[: robot.nv][passive].any()


@pytest.mark.skipif(not COMPILERS, reason="no C compiler")
def test_c_computes_efforts_where_loops_hold_all_modes(tmp_path):
    """A four-bar whose coupler bends out of the plane alone, where the hinges hold it."""
    rods = [machines.rod("crank", 0.3, 1.0), '<link name="coupler"/>', machines.rod("rocker", 0.6, 1.5)]
    joints = [
        machines.joint("crank_joint", "ground", "crank"),
        machines.joint("coupler_joint", "crank", "coupler", at=(0.3, 0.0, 0.0)),
        machines.joint("rocker_joint", "ground", "rocker", at=(0.9, 0.0, 0.0)),
    ]
    beam = (
        '</flexdyn><flexdyn reference="coupler"><beam length="0.8" mass_per_length="1.5" EIy="200" EIz="200"'
        ' GJ="50" EA="1e6" polar_inertia="0.001"/><modes bending_y="2"/></flexdyn><flexdyn>'
    )
    loop = machines.FOUR_BAR_LOOP.replace('base="coupler" base_xyz="0.8 0 0"', 'base="coupler@tip"')
    more = f'{loop}{machines.FOUR_BAR_START}<actuation active="crank_joint"/>{beam}'
    robot = flexdyn_ros.load(machines.robot("held", *rods, *joints, flexdyn=more))
    export.c(robot, tmp_path, ["inverse_dynamics"])
    q, v = robot.project(robot.neutral(), np.ones(robot.nv))
    a = robot.forward_dynamics(q, v, np.eye(robot.nu)[0])
    found = compiled(tmp_path, robot.name).call("inverse_dynamics", q, v, a, sizes=[robot.nu])
    np.testing.assert_allclose(found, np.eye(robot.nu)[0], rtol=0.0, atol=1e-11)


@pytest.mark.skipif(not COMPILERS, reason="no C compiler")
def test_motions_off_the_loops_and_impossible_ones_in_c(tmp_path):
    """The nearest accelerations that loops allow are taken; NaN where no actuator makes a motion."""
    robot = machines.four_bar()
    export.c(robot, tmp_path, ["inverse_dynamics"])
    q, v, _ = state_of(robot)
    a = np.array([3.0, -2.0, 5.0])
    with pytest.warns(FlexdynWarning, match="the nearest"):
        expected = robot.inverse_dynamics(q, v, a)
    found = compiled(tmp_path, robot.name).call("inverse_dynamics", q, v, a, sizes=[robot.nu])
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12 * np.abs(expected).max())
    robot = machines.bricard()
    (q, v, a), _ = possible(robot, 0)
    export.c(robot, tmp_path / "bricard", ["inverse_dynamics"])
    other = compiled(tmp_path / "bricard", robot.name)
    assert not other.call("inverse_dynamics", q, v, a, sizes=[robot.nu]).any()
    N = np.linalg.svd(robot.loop_jacobian(q))[2][-1]
    with pytest.raises(SingularityError):
        robot.inverse_dynamics(q, v, a + N)
    with pytest.raises(AssertionError, match="inverse_dynamics"):
        # the function says that results are not finite
        other.call("inverse_dynamics", q, v, a + N, sizes=[robot.nu])


@pytest.mark.skipif(not COMPILERS, reason="no C compiler")
def test_actuators_of_a_structure_do_nothing_in_c(tmp_path):
    """A rod more leaves the four-bar no motion."""
    at = (machines.four_bar().frames(machines.Q, "coupler") @ [0.4, 0.0, 0.0, 1.0])[:3]
    strut = (
        '<loop name="strut" type="distance" base="world" base_xyz="0.2 0 0.6" end="coupler" '
        f'end_xyz="0.4 0 0" length="{float(np.linalg.norm(at - [0.2, 0.0, 0.6]))!r}"/>'
    )
    robot = flexdyn_ros.load(machines.four_bar_urdf(loop=machines.FOUR_BAR_LOOP + strut))
    assert robot.mobility == 0
    export.c(robot, tmp_path, ["inverse_dynamics"])
    still = np.zeros(3)
    found = compiled(tmp_path, robot.name).call("inverse_dynamics", robot.neutral(), still, still, sizes=[3])
    np.testing.assert_array_equal(found, robot.inverse_dynamics(robot.neutral(), still, still))


def test_casadi_computes_the_same_efforts_and_their_derivatives():
    ca = pytest.importorskip("casadi")
    robot = machines.four_bar()
    state, needed = possible(robot, 1)
    function = export.casadi(robot, "inverse_dynamics")
    expected = robot.inverse_dynamics(*state)
    found = np.asarray(function(*state)).ravel()
    assert np.abs(found - expected).max() <= 1e-12 * np.abs(needed).max()
    # along the accelerations that the loops leave, the inertia that the crank feels
    a = ca.SX.sym("a", 3)
    slope = np.asarray(ca.Function("f", [a], [ca.jacobian(function(*state[:2], a), a)])(state[2]))
    N = np.linalg.svd(robot.loop_jacobian(state[0]))[2][-1]
    expected = N @ robot.mass_matrix(state[0]) @ N / N[0]
    np.testing.assert_allclose(slope @ N, [expected, 0.0, 0.0], rtol=0.0, atol=1e-10 * abs(expected))


def test_what_is_written_by_default(tmp_path):
    export.c(machines.four_bar(), tmp_path)
    header = (tmp_path / "four_bar.h").read_text()
    assert "four_bar_step" in header
    assert "four_bar_inverse_dynamics" in header
