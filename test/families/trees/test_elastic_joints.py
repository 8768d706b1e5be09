"""Elastic joints: two-mass oscillator, the stiff limit, every verb against the tree around which they lie."""

import pickle

import numpy as np
import pytest
from flexible_robots import bent_state, branched

import flexdyn_ros
from flexdyn_ros.errors import DescriptionError, DimensionError, StateError, UnknownNameError

K, D, J, N = 900.0, 3.0, 2e-4, 50.0
ELASTIC = f"""
  <flexdyn reference="turn"><rotor inertia="{J}" gear_ratio="{N}"/>
    <joint_elasticity stiffness="{K}" damping="{D}"/></flexdyn>
  <flexdyn reference="crane"><rotor inertia="3" gear_ratio="2"/>
    <joint_elasticity stiffness="5e4" damping="20"/></flexdyn>
</robot>"""

PENDULUM = f"""
<robot name="drive"><link name="base"/><link name="arm"><inertial><mass value="2"/>
  <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.3" iyz="0" izz="0.2"/></inertial></link>
  <joint name="hub" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" effort="30" velocity="4"/></joint>
  <flexdyn reference="hub"><rotor inertia="{J}" gear_ratio="{N}"/>
    <joint_elasticity stiffness="{K}" damping="{D}"/></flexdyn></robot>"""

RIGID = """
<robot name="rigid"><link name="base"><inertial><mass value="5"/>
    <inertia ixx="0.3" ixy="0" ixz="0" iyy="0.2" iyz="0" izz="0.4"/></inertial></link>
  <link name="one"><inertial><origin xyz="0.3 0 0.1"/><mass value="3"/>
    <inertia ixx="0.1" ixy="0.01" ixz="0" iyy="0.2" iyz="0" izz="0.15"/></inertial></link>
  <link name="two"><inertial><origin xyz="0.2 0.05 0"/><mass value="1.5"/>
    <inertia ixx="0.02" ixy="0" ixz="0.003" iyy="0.03" iyz="0" izz="0.04"/></inertial></link>
  <joint name="turn" type="continuous"><parent link="base"/><child link="one"/><axis xyz="0 0.6 0.8"/></joint>
  <joint name="crane" type="prismatic"><parent link="one"/><child link="two"/><origin xyz="0.5 0 0"/>
    <axis xyz="1 0 0"/><limit lower="-1" upper="1" effort="90" velocity="1"/></joint>
  <flexdyn><base type="{base}"/></flexdyn></robot>"""


def elastic(text):
    return text.strip().removesuffix("</robot>") + ELASTIC


ROBOTS = {
    "rigid": RIGID.format(base="fixed"),
    "floating": RIGID.format(base="floating"),
    "bending": branched(middle=True),
}


@pytest.fixture(params=ROBOTS, scope="module")
def pair(request):
    """The elastic robot, and the same with stiff joints (rotors on them)."""
    text = elastic(ROBOTS[request.param])
    stiff = text
    for spring in (f'stiffness="{K}" damping="{D}"', 'stiffness="5e4" damping="20"'):
        stiff = stiff.replace(f"<joint_elasticity {spring}/>", "")
    return flexdyn_ros.load(text), flexdyn_ros.load(stiff)


def together(robot, stiff):
    """Matrices T with q = Tq q_stiff and v = Tv v_stiff where springs are not wound."""
    Tq, Tv = np.eye(robot.nq, stiff.nq), np.eye(robot.nv, stiff.nv)
    for c in robot.coordinates[stiff.nv :]:
        joint = stiff.coordinates[stiff.index(c.name.removesuffix("/motor"))]
        Tq[c.q_index, joint.q_index] = Tv[c.v_index, joint.v_index] = 1.0
    return Tq, Tv


def test_motors_follow_all_other_coordinates(pair):
    robot, stiff = pair
    assert robot.q_names == (*stiff.q_names, "turn/motor", "crane/motor")
    assert robot.v_names == (*stiff.v_names, "turn/motor", "crane/motor")
    motor, joint = robot.coordinates[robot.index("crane/motor")], robot.coordinates[robot.index("crane")]
    assert (motor.kind, motor.unit, motor.actuated, joint.actuated) == ("motor", "m", True, False)
    assert (motor.q_index, motor.v_index) == (robot.nq - 1, robot.nv - 1)
    assert motor.effort_limit == joint.effort_limit
    assert robot.neutral().shape == robot.random().shape == (robot.nq,)
    again = pickle.loads(pickle.dumps(robot))
    assert np.array_equal(again.mass_matrix(robot.neutral()), robot.mass_matrix(robot.neutral()))


def test_a_driven_mass_vibrates_against_its_rotor():
    """omega^2 = k (1/I + 1/(N^2 J)); damping ratio d/(2 k) omega (Spong 1987, model of two inertias)."""
    robot = flexdyn_ros.load(PENDULUM)
    found = robot.modes(robot.neutral())
    omega = np.sqrt(K * (1 / 0.3 + 1 / (N**2 * J)))
    assert found.frequency == pytest.approx([0.0, omega / (2 * np.pi)], rel=1e-12, abs=1e-6)
    assert found.damping_ratio[1] == pytest.approx(D * omega / (2 * K), rel=1e-9)
    locked = robot.modes(robot.neutral(), lock=("hub/motor",)).frequency
    assert locked == pytest.approx([np.sqrt(K / 0.3) / (2 * np.pi)], rel=1e-12)


def test_joints_that_move_with_their_motors_are_stiff_joints(pair):
    """Along q_m = q_j the equations are those of the robot whose rotors sit on its joints."""
    robot, stiff = pair
    Tq, T = together(robot, stiff)
    q, v, a = bent_state(stiff, 4)
    M = stiff.mass_matrix(q)
    assert T.T @ robot.mass_matrix(Tq @ q) @ T == pytest.approx(M, rel=1e-12, abs=1e-12 * np.abs(M).max())
    tau = stiff.inverse_dynamics(q, v, a)
    assert T.T @ robot.inverse_dynamics(Tq @ q, T @ v, T @ a) == pytest.approx(
        tau, rel=1e-11, abs=1e-11 * np.abs(tau).max()
    )
    for ours, theirs in zip(robot.energy(Tq @ q, T @ v), stiff.energy(q, v)):
        assert ours == pytest.approx(theirs, rel=1e-12)
    for ours, theirs in zip(robot.bias_terms(Tq @ q, T @ v), stiff.bias_terms(q, v)):
        assert T.T @ ours == pytest.approx(theirs, rel=1e-10, abs=1e-10)
    frame = robot.frame_names[-1]
    assert np.array_equal(robot.frames(Tq @ q, frame), stiff.frames(q, frame))
    assert np.array_equal(robot.jacobian(Tq @ q, frame) @ T, stiff.jacobian(q, frame))
    assert np.array_equal(robot.center_of_mass(Tq @ q), stiff.center_of_mass(q))
    assert np.array_equal(robot.momentum(Tq @ q, T @ v), stiff.momentum(q, v))


def test_without_flexibility_the_rotors_sit_on_the_joints(pair):
    robot, stiff = pair
    rigid = flexdyn_ros.load(robot.description.text, options={"formulation.flexible": False})
    twin = flexdyn_ros.load(stiff.description.text, options={"formulation.flexible": False})
    assert rigid.v_names == twin.v_names
    assert np.array_equal(rigid.mass_matrix(rigid.neutral()), twin.mass_matrix(twin.neutral()))


def state(robot, seed=0):
    rng = np.random.default_rng(seed)
    return robot.random(rng), *rng.uniform(-1, 1, (2, robot.nv))


def test_the_two_dynamics_undo_each_other(pair):
    robot, _ = pair
    q, v, a = state(robot)
    frame, wrench = robot.frame_names[-1], np.array([1.0, -2.0, 0.5, 3.0, 1.0, -4.0])
    load = {frame: wrench}
    tau = robot.inverse_dynamics(q, v, a, load)
    assert robot.forward_dynamics(q, v, tau, load) == pytest.approx(a, rel=1e-9, abs=1e-9)
    terms = robot.mass_matrix(q) @ a + robot.bias_forces(q, v) - robot.jacobian(q, frame).T @ wrench
    assert tau == pytest.approx(terms, rel=1e-10, abs=1e-10 * np.abs(tau).max())
    assert sum(robot.bias_terms(q, v)) == pytest.approx(robot.bias_forces(q, v), rel=1e-11, abs=1e-10)
    free = robot.inverse_dynamics(q, v, a, unactuated="free")
    driven = np.array([c.actuated for c in robot.coordinates])
    moved = robot.forward_dynamics(q, v, free)
    assert np.abs(free[~driven]).max() < 1e-8 * np.abs(free).max()
    assert moved[driven] == pytest.approx(a[driven], rel=1e-8, abs=1e-8)
    given = robot.forward_dynamics(q, v, tau, prescribed={"turn/motor": 0.25})
    assert given[robot.index("turn/motor")] == 0.25
    held = robot.inverse_dynamics(q, v, given)
    others = np.arange(robot.nv) != robot.index("turn/motor")
    assert held[others] == pytest.approx(tau[others], rel=1e-8, abs=1e-8 * np.abs(tau).max())


def test_power_of_efforts_less_dissipation_is_the_rate_of_energy(pair):
    robot, _ = pair
    q, v, a = state(robot, 3)
    tau = robot.inverse_dynamics(q, v, a)

    def total(t):
        return robot.energy(robot.integrate(q, v * t + 0.5 * a * t * t, 1.0), v + a * t).total

    h = 2e-4
    rate = (8 * (total(h) - total(-h)) - (total(2 * h) - total(-2 * h))) / (12 * h)
    power = tau @ v - robot.bias_terms(q, v).damping @ v
    # error h^4, and rounding of the energy over h
    assert rate == pytest.approx(power, rel=1e-6, abs=1e-6 * np.abs(tau * v).sum())


def test_derivatives_are_those_of_differences(pair):
    robot, _ = pair
    q, v, a = state(robot, 5)
    tau = robot.inverse_dynamics(q, v, a)
    A, B = robot.linearize(q, v, tau)
    nv, h = robot.nv, 1e-6

    def rate(dq, dv, dt):
        return robot.forward_dynamics(robot.integrate(q, dq, 1.0), v + dv, tau + dt)

    def slope(i, place):
        steps = np.zeros((2, 3, nv))
        steps[0, place, i], steps[1, place, i] = h, -h
        return (rate(*steps[0]) - rate(*steps[1])) / (2 * h)

    # error of the differences: h^2, and rounding of the accelerations over h
    for i in range(nv):
        for found, place in ((A[nv:, i], 0), (A[nv:, nv + i], 1), (B[nv:, i], 2)):
            scale = np.abs(B if place == 2 else A[nv:]).max()
            assert found == pytest.approx(slope(i, place), rel=1e-4, abs=1e-6 * scale)
    C = robot.coriolis_matrix(q, v)
    assert C @ v == pytest.approx(robot.bias_terms(q, v).velocity, rel=1e-10, abs=1e-10)


def test_a_braked_motor_carries_the_load_through_its_spring():
    robot = flexdyn_ros.load(elastic(RIGID.format(base="fixed")))
    rest = robot.static_equilibrium(hold=("turn/motor", "crane/motor"))
    wound = rest.q[robot.index("turn")] - rest.q[robot.index("turn/motor")]
    assert rest.tau[robot.index("turn/motor")] == pytest.approx(-K * wound, rel=1e-8)
    assert abs(wound) > 1e-3
    assert rest.stable
    assert rest.tau[robot.index("turn")] == pytest.approx(0.0, abs=1e-8)


def test_batches_and_bad_arguments(pair):
    robot, _ = pair
    q, v, a = (np.stack([x, x]) for x in state(robot))
    assert robot.inverse_dynamics(q, v, a).shape == (2, robot.nu)
    assert np.array_equal(robot.mass_matrix(q)[1], robot.mass_matrix(q[0]))
    assert robot.forward_dynamics(q[:, None], v, a).shape == (2, 2, robot.nv)
    q[1, -1] = np.nan
    with pytest.raises(StateError, match=r"q\["):
        robot.inverse_dynamics(q, v, a)
    with pytest.raises(DimensionError, match="q has shape"):
        robot.mass_matrix(q[:, :-1])
    with pytest.raises(UnknownNameError):
        robot.index("turn/rotor")
    assert robot.difference(robot.neutral(), robot.integrate(robot.neutral(), v[0], 0.1)) == pytest.approx(
        0.1 * v[0]
    )


@pytest.mark.parametrize("method", ["rosenbrock", "rk4"])
def test_compiled_steps_equal_the_adaptive_oracle(pair, method):
    """Rows of motors are eliminated in the kernel; scipy's steps go by the verbs."""
    robot, _ = pair
    q = robot.random(np.random.default_rng(1))
    tau = np.where([c.kind == "motor" for c in robot.coordinates], 2.0, 0.0)
    wrench = np.array([0.0, 0.0, 0.0, 3.0, -2.0, 1.0])
    setup = {"q0": q, "control": tau, "wrenches": {robot.frame_names[-1]: wrench}}
    exact = flexdyn_ros.simulate(robot, 0.02, method="radau", dt=0.01, **setup)
    error, drift = [], []
    for dt in (8e-6, 4e-6) if robot.deflections(q) else (2e-4, 1e-4):
        every = int(0.01 / dt + 0.5)
        run = flexdyn_ros.simulate(robot, 0.02, method=method, dt=dt, record_every=every, **setup)
        assert run.method == method
        error.append(np.abs(run.q[-1] - exact.q[-1]).max() / np.abs(exact.q[-1] - q).max())
        total = run.energy.total - run.work + run.dissipated
        drift.append(np.ptp(total) / np.ptp(run.energy.kinetic))
    assert error[1] < 2e-4
    # the account of energy is as good as the method: it takes some from modes of kilohertz
    assert drift[1] < 1e-3 or drift[1] < 0.35 * drift[0]
    # rosenbrock is of order two; rk4 is at the oracle's tolerance already
    assert error[1] < 0.3 * error[0] or error[1] < 1e-7


def test_stiffer_springs_move_more_like_stiff_joints():
    """Error of the motion falls with the stiffness: 1/k (serial specification, section 6)."""
    stiff = flexdyn_ros.load(PENDULUM.replace(f'<joint_elasticity stiffness="{K}" damping="{D}"/>', ""))
    error = []
    for factor in (1.0, 1e2, 1e4):
        spring = f'stiffness="{K * factor}" damping="{30 * D}"'
        robot = flexdyn_ros.load(PENDULUM.replace(f'stiffness="{K}" damping="{D}"', spring))
        run = flexdyn_ros.simulate(robot, 0.5, control=np.array([0.0, 3.0]), dt=1e-4)
        assert run.method == "rosenbrock"
        same = flexdyn_ros.simulate(stiff, 0.5, control=np.array([3.0]), dt=1e-4)
        error.append(np.abs(run.q[:, 0] - same.q[:, 0]).max())
    assert error[1] < 0.03 * error[0]
    assert error[2] < 0.03 * error[1]


def test_an_elastic_joint_needs_a_rotor():
    with pytest.raises(DescriptionError, match="needs <rotor>"):
        flexdyn_ros.load(PENDULUM.replace(f'<rotor inertia="{J}" gear_ratio="{N}"/>', ""))
