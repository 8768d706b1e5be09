"""Hydraulic platforms that are part of a tree: the same oil as platforms alone, and shut valves that hold."""

import numpy as np
import pytest
from mounted_platforms import IDLE

import flexdyn_ros as fd
from flexdyn_ros.description import read
from flexdyn_ros.simulation import FusedHydraulics, Stepper, ValveOpenings

TEXT = read("stewart_1t").text
TREE = TEXT.replace("</robot>", IDLE + "</robot>")
OPENINGS = np.array([0.3, 0.3, -0.1, 0.2, 0.1, -0.2])
ARM = """<link name="arm"><inertial><origin xyz="0.8 0 0"/><mass value="60"/>
  <inertia ixx="1" iyy="20" izz="20" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="lift" type="revolute"><parent link="platform"/><child link="arm"/><origin xyz="0 0 0.3"/>
  <axis xyz="0 -1 0"/><limit lower="-1" upper="1" effort="2000" velocity="2"/></joint>"""


@pytest.fixture(scope="module")
def both():
    return fd.load(TREE), fd.load(TEXT)


def test_names_and_states(both):
    tree, alone = both
    assert tree.kind == "tree"
    assert tree.hydraulics.names == alone.hydraulics.names
    states = [state.name for state in tree.element_states]
    assert {"leg_1/pressure_bore", "leg_6/spool"} <= {*states}
    length = alone.inverse_kinematics(alone.neutral()).length
    force = np.linspace(1500.0, 2500.0, 6)
    one, other = (r.hydraulics.initial(force, length) for r in both)
    assert one.pressure_bore == pytest.approx(other.pressure_bore, rel=1e-12)


@pytest.mark.parametrize(("options", "bound"), [({}, 1e-8), ({"dt": 1e-3, "method": "staggered"}, 1e-8)])
def test_runs_are_those_of_the_platform_alone(both, options, bound):
    """Error control, and the staggered steps of the specification, with the same pressures."""
    runs = [fd.simulate(r, 0.2, control=ValveOpenings(OPENINGS), **options) for r in both]
    assert runs[0].method == runs[1].method
    assert np.ptp(runs[1].q, axis=0).max() > 0.01
    assert np.abs(runs[0].q - runs[1].q).max() <= bound
    assert np.abs(runs[0].v - runs[1].v).max() <= 1e3 * bound


def test_oil_in_a_fast_motion_is_that_of_the_platform_alone(both):
    """The tree looks where lengths of legs will be after the step, the platform how they accelerate."""
    start = {"v0": [1.5, -1.0, 0.5, 0.8, -1.2, 1.0], "dt": 1e-3, "method": "staggered"}
    runs = [fd.simulate(r, 1e-3, control=ValveOpenings(OPENINGS), **start) for r in both]
    pressures = [i for i, name in enumerate(runs[0].state_names) if "/pressure_" in name]
    tree, alone = (run.states[-1, pressures] for run in runs)
    change = np.abs(alone - runs[1].states[0, pressures])
    assert change.max() > 30e5
    assert np.abs(tree - alone).max() < 1e-5 * change.max()


def test_implicit_steps_come_near(both):
    """Both schemes against a run with error control, as oil.md 5 asks: 1e-5 m at 1 ms."""
    tree, alone = both
    exact = fd.simulate(alone, 0.2, control=ValveOpenings(OPENINGS)).q[-1]
    for method in ("rosenbrock", "staggered"):
        run = fd.simulate(tree, 0.2, control=ValveOpenings(OPENINGS), dt=1e-3, method=method)
        assert np.abs(run.q[-1] - exact).max() <= 1e-5


def test_frequencies_behind_shut_valves_are_those_of_the_springs(both):
    """M^-1 (J' K_h J + geometric stiffness of the legs' forces), at the pressures that hold the pose."""
    tree, alone = both
    q, still = alone.neutral(), np.zeros(6)
    J, tau = alone.leg_jacobian(q), alone.inverse_dynamics(q, still, still)
    length = alone.inverse_kinematics(q).length
    start = alone.hydraulics.initial(tau, length)
    springs = alone.hydraulics.stiffness(length, (start.pressure_bore, start.pressure_rod))
    K = J.T @ np.diag(springs) @ J
    found = tree.modes(q).frequency
    plain = np.sort(np.sqrt(np.linalg.eigvals(np.linalg.solve(alone.mass_matrix(q), K)).real)) / (2 * np.pi)
    assert found == pytest.approx(plain, rel=5e-3)


@pytest.mark.parametrize("method", ["rosenbrock", "staggered"])
def test_an_arm_on_shut_valves_does_not_sink(method):
    """Oil in one program and arm in another sink (google-deepmind/mujoco#1809); without leakage these hold.

    The arm swings to and fro for 1 s, then is held; the mean length of the legs over the last half second is
    that of the first one after the motion.
    """
    tight = TEXT.replace('<leakage internal="5e-13"/>', "").replace("<flexdyn>", ARM + "<flexdyn>", 1)
    robot = fd.load(tight)
    lift = robot.effort_names.index("lift")
    stepper = Stepper(robot, 1e-3, method)
    FusedHydraulics(stepper, "valve")
    tau, at = np.zeros(robot.nu), robot.q_names.index("lift")
    means = []
    for k in range(4000):
        goal = 0.4 * np.sin(2.0 * np.pi * min(k * 1e-3, 1.0))
        weight = robot.bias_forces(stepper.q, stepper.v)[lift]
        tau[lift] = weight + 6e3 * (goal - stepper.q[at]) - 900.0 * stepper.v[lift]
        assert stepper.advance(1, tau) == 0
        if k >= 2000:
            means.append(robot.cylinder_states(stepper.q, stepper.v).length)
    means = np.array(means)
    assert np.abs(means[-500:].mean(axis=0) - means[:500].mean(axis=0)).max() <= 1e-6


def test_check_names_the_supply_of_the_legs(both):
    legs = ", ".join(f"leg_{i}" for i in range(1, 7))
    for robot in both:
        note = f"platform/supply: constant 160 bar, tank at 3 bar, feeds {legs}"
        assert note in fd.check(robot.description.text).notes
