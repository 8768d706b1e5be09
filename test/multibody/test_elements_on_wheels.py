"""Springs and cylinders on robots with wheels: against the tree without wheels, prescribed drives, steps."""

import pickle

import numpy as np
import pytest
from implicit_steps import left_over

import flexdyn_ros
from flexdyn_ros.errors import FlexdynError, StateError
from flexdyn_ros.expanded.shown_tree import reach_of

MASSES = '<barrel mass="20" com="0.3" inertia="1.5"/><rod mass="10" com="-0.35" inertia="0.8"/>'
TYRE = '<tyre stiffness="2e5" damping="300" radius="0.3" mass="15"/>'
DRIVE = '<drive type="speed" speed="0.5" start="0"/>'
ROPE = '<spring name="rope" base="world" base_xyz="9 0 1" end="chassis" stiffness="300" tension_only="true"/>'
WINCH = '<cylinder name="winch" base="world" base_xyz="9 0 1" end="boom" minimum_length="0.1" stroke="20"/>'
HEAVY_WINCH = WINCH.replace("/>", f">{MASSES}</cylinder>")


def truck(base="planar", *, tyre="", drive="", masses=MASSES, more="", method=""):
    """A boom on a cart, which a cylinder lifts."""
    side = 0.0 if base == "planar" else 0.5
    return f"""<robot name="truck">
    <link name="chassis"><inertial><origin xyz="0 0 0.2"/><mass value="400"/>
      <inertia ixx="80" iyy="200" izz="220" ixy="0" ixz="0" iyz="0"/></inertial></link>
    <joint name="luff" type="revolute"><parent link="chassis"/><child link="boom"/><origin xyz="0 0 0.6"/>
      <axis xyz="0 -1 0"/><limit lower="0" upper="0.8" effort="0" velocity="1"/></joint>
    <link name="boom"><inertial><origin xyz="1.2 0 0"/><mass value="100"/>
      <inertia ixx="6" iyy="60" izz="60" ixy="0" ixz="0" iyz="0"/></inertial></link>
    <flexdyn><base type="{base}"/>{method}{drive}
    <wheel name="front" link="chassis" xyz="0.9 {side} -0.1">
      <suspension stiffness="4e4" damping="2e3" free_length="0.4"/>{tyre}</wheel>
    <wheel name="rear" link="chassis" xyz="-0.8 {-side} -0.1">
      <suspension stiffness="4e4" damping="2e3" free_length="0.4"/></wheel>
    <road kind="sine" amplitude="0.01" wavelength="2"/>
    <cylinder name="hoist" base="chassis" base_xyz="0.5 0 0" end="boom" end_xyz="1 0 -0.1"
      minimum_length="0.6" stroke="0.7"><force maximum="20000"/>{masses}</cylinder>
    <spring name="coil" base="chassis" base_xyz="-0.3 0 0.3" end="boom" end_xyz="0.5 0 0.1"
      stiffness="4000" damping="30" free_length="0.7"/>{more}</flexdyn></robot>"""


def without_wheels(text):
    """The same tree without wheels, road and drive."""
    from lxml import etree

    root = etree.fromstring(text)
    for tag in ("wheel", "road", "drive"):
        for found in root.findall(f"flexdyn/{tag}"):
            found.getparent().remove(found)
    return etree.tostring(root, encoding="unicode")


def motion(robot, seed=0):
    rng = np.random.default_rng(seed)
    v, a = 0.5 * rng.standard_normal(robot.nv), rng.standard_normal(robot.nv)
    return robot.random(rng), v, a


@pytest.mark.parametrize("more", ["", HEAVY_WINCH], ids=["hoist", "hoist and winch"])
@pytest.mark.parametrize("tyre", ["", TYRE], ids=["no tyre", "tyre"])
def test_steps_balance_where_cylinders_swing_in_more_ways_than_the_truck(more, tyre):
    """Barrel and rod of one move in six ways, those of two in twelve; the truck in four or five."""
    robot = flexdyn_ros.load(truck(tyre=tyre, more=more))
    q, v, _ = motion(robot)
    assert left_over(robot, q, v, 0.0) < 1e-12


@pytest.mark.parametrize("method", ["rk4", "rosenbrock"])
@pytest.mark.parametrize("masses", ["", MASSES], ids=["light hoist", "heavy hoist"])
def test_a_step_takes_the_force_of_a_prescribed_drive_that_closes_the_balance(method, masses):
    robot = flexdyn_ros.load(truck(drive=DRIVE, more=HEAVY_WINCH, tyre=TYRE, masses=masses))
    q, v, _ = motion(robot)
    q[0], v[0] = 0.0, 0.5
    tau = np.zeros(robot.nu)
    tau[robot.nv :] = 700.0, -300.0
    run = flexdyn_ros.simulate(robot, 1e-6, q, v, control=tau, method=method, dt=1e-6)
    ends = list(zip(run.q, run.v, strict=True))
    force = np.mean([robot.drive_force(*end, tau) for end in ends])
    assert run.tau[0] == pytest.approx([force, *tau[1:]], rel=1e-6)
    a = np.mean([robot.forward_dynamics(*end, tau) for end in ends], axis=0)
    np.testing.assert_allclose((run.v[1] - v) / 1e-6, a, rtol=0.0, atol=1e-3)


@pytest.mark.parametrize("masses", ["", MASSES], ids=["massless", "masses"])
def test_wheels_push_at_the_tree_with_its_elements(masses):
    """A second description: the tree on no wheels, under their forces as wrenches on frames at the mounts."""
    text = truck("floating", masses=masses)
    on_wheels, tree = flexdyn_ros.load(text), flexdyn_ros.load(without_wheels(text))
    q, v, a = motion(on_wheels)
    normal = on_wheels.wheel_forces(q, v).normal
    pose, origin = tree.frames(q, "chassis"), np.zeros(6)
    for force, mount in zip(normal, ([0.9, 0.5, -0.1], [-0.8, -0.5, -0.1]), strict=True):
        up = np.array([0.0, 0.0, force])
        origin += np.concatenate([np.cross(pose[:3, :3] @ mount, up), up])
    wanted = tree.inverse_dynamics(q, v, a, {"chassis": origin})
    assert np.allclose(
        on_wheels.inverse_dynamics(q, v, a), wanted, rtol=0.0, atol=1e-11 * np.abs(wanted).max()
    )
    tau = 50.0 * np.arange(on_wheels.nu)
    wanted = tree.forward_dynamics(q, v, tau, {"chassis": origin})
    assert np.allclose(on_wheels.forward_dynamics(q, v, tau), wanted, rtol=1e-10, atol=1e-9)


@pytest.mark.parametrize("tyre", ["", TYRE], ids=["no tyre", "tyre"])
@pytest.mark.parametrize("base", ["planar", "floating"])
@pytest.mark.parametrize("masses", ["", MASSES], ids=["massless", "masses"])
def test_single_calls_balance(base, tyre, masses):
    robot = flexdyn_ros.load(truck(base, tyre=tyre, masses=masses))
    q, v, _ = motion(robot)
    tau = 100.0 * np.arange(robot.nu)
    a = robot.forward_dynamics(q, v, tau)
    force = robot.actuation_matrix(q) @ tau
    assert np.allclose(robot.mass_matrix(q) @ a + robot.bias_forces(q, v), force, rtol=0.0, atol=1e-8)
    assert np.allclose(robot.forward_dynamics([q] * 3, [v] * 3, tau), a, rtol=1e-11, atol=1e-10)
    again = pickle.loads(pickle.dumps(robot))
    assert np.array_equal(again.forward_dynamics(q, v, tau), a)


@pytest.mark.parametrize("more", ["", ROPE, WINCH], ids=["inside", "rope", "winch"])
@pytest.mark.parametrize("tyre", ["", TYRE], ids=["no tyre", "tyre"])
@pytest.mark.parametrize("masses", ["", MASSES], ids=["massless", "masses"])
def test_a_prescribed_drive_takes_what_elements_leave(more, tyre, masses):
    """The force of the drive closes the balance, and steps of rk4 find the same force."""
    robot = flexdyn_ros.load(truck(drive=DRIVE, more=more, tyre=tyre, masses=masses))
    q, v, _ = motion(robot)
    tau = np.zeros(robot.nu)
    tau[robot.nv :] = 700.0
    a = robot.forward_dynamics(q, v, tau, prescribed=0.3)
    assert a[0] == 0.3
    force = robot.actuation_matrix(q) @ tau
    force[0] += robot.drive_force(q, v, tau, acceleration=0.3)
    assert np.allclose(robot.mass_matrix(q) @ a + robot.bias_forces(q, v), force, rtol=0.0, atol=1e-7)
    assert robot.forward_dynamics(q, v, tau)[0] == 0.0
    with pytest.raises(StateError, match="prescribed"):
        robot.forward_dynamics(q, v, np.ones(robot.nu))
    at_rest = robot.neutral()
    at_rest[robot.q_names.index("base/z")] = 0.45
    at_rest[robot.q_names.index("luff")] = 0.4
    speed = np.zeros(robot.nv)
    speed[0] = 0.5
    run = flexdyn_ros.simulate(robot, 0.01, at_rest, speed, control=tau, method="rk4", dt=1e-4)
    begin, end = (robot.drive_force(run.q[k], run.v[k], tau) for k in (-2, -1))
    assert run.tau[-1, 0] == pytest.approx(end, abs=2.0 * abs(end - begin))
    assert abs(end - begin) < 1e-2 * abs(end)
    # its power is in the balance of the run
    assert run.balance_error < 1e-7


def test_a_robot_reaches_along_its_joints_and_its_longest_cylinder():
    description = flexdyn_ros.load(truck(more=WINCH)).description
    assert reach_of(description) == pytest.approx(0.6 + np.hypot(9.0, 1.0) + 20.1)


@pytest.mark.parametrize("drive", ["", DRIVE], ids=["free", "driven"])
@pytest.mark.parametrize(
    ("method", "order"), [("rosenbrock", 2.0), ("semi_implicit_euler", 1.0), ("rk4", 4.0)]
)
def test_fixed_steps_converge_by_their_order(method, order, drive):
    robot = flexdyn_ros.load(truck(drive=drive, more=WINCH))
    q, v = robot.neutral(), np.zeros(robot.nv)
    q[robot.q_names.index("base/z")], q[robot.q_names.index("luff")] = 0.45, 0.4
    v[0] = 0.5
    tau = np.zeros(robot.nu)
    tau[robot.nv :] = 3000.0, 200.0
    exact = flexdyn_ros.simulate(robot, 0.2, q, v, control=tau, method="dop853", rtol=1e-11, sample=0.1)
    assert exact.balance_error < 1e-9
    # rk4 comes to its order, and not to rounding, at larger steps
    steps = (5e-3, 2.5e-3) if order == 4.0 else (1e-3, 5e-4)
    runs = [flexdyn_ros.simulate(robot, 0.2, q, v, control=tau, method=method, dt=dt) for dt in steps]
    errors = [np.abs(run.q[-1] - exact.q[-1]).max() for run in runs]
    assert errors[0] < 1e-3
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.35)


def test_it_rests_on_its_wheels_and_its_cylinder():
    robot = flexdyn_ros.load(truck(more=""))
    tau = np.zeros(robot.nu)
    held = robot.static_equilibrium(hold=["luff"], tau=tau)
    down = robot.wheel_forces(held.q, np.zeros(robot.nv)).normal.sum()
    assert down == pytest.approx(9.80665 * robot.mass, rel=1e-3)
    assert robot.mass == 530.0


def test_planar_carts_with_elements_are_computed_by_the_general_method():
    assert flexdyn_ros.load(truck()).description.formulation.method == "articulated"
    with pytest.raises(FlexdynError, match=r"'hoist'.*beside the method floating_frame"):
        flexdyn_ros.load(truck(method='<formulation method="floating_frame"/>'))


def test_names_of_wheels_are_taken():
    with pytest.raises(FlexdynError, match="a wheel has this name"):
        flexdyn_ros.load(truck().replace('name="hoist"', 'name="front"'))


def test_motors_of_elastic_joints_stand_before_hubs():
    """One rigid truck, whose joint is as stiff as its spring is."""
    spring = '<joint_elasticity stiffness="3e8" damping="2e4"/>'
    block = '<flexdyn reference="luff"><rotor inertia="2" gear_ratio="3"/>{}</flexdyn></robot>'
    elastic, stiff = (
        flexdyn_ros.load(truck(tyre=TYRE).replace("</robot>", block.format(more))) for more in (spring, "")
    )
    assert elastic.v_names[-2:] == ("luff/motor", "front/hub_z")
    hub = elastic.coordinates[-1]
    assert (hub.kind, hub.unit, hub.v_index, hub.actuated) == ("hub", "m", elastic.nv - 1, False)
    assert hub.body == elastic.description.wheels[0].link
    q, v, _ = motion(stiff)
    T = np.zeros((elastic.nv, stiff.nv))
    for name in elastic.v_names:
        T[elastic.index(name), stiff.index(name.removesuffix("/motor"))] = 1.0
    tau = 100.0 * np.arange(stiff.nu)
    a = stiff.forward_dynamics(q, v, tau)
    force = np.concatenate([T @ tau[:-1] * 0.0, tau[-1:]])
    for name in stiff.v_names:
        driven = f"{name}/motor" if name == "luff" else name
        force[elastic.index(driven)] = tau[stiff.index(name)]
    moved = T @ a
    left = elastic.mass_matrix(T @ q) @ moved + elastic.bias_forces(T @ q, T @ v)
    wanted = elastic.actuation_matrix(T @ q) @ force
    # the spring carries what the rotor leaves, and nothing else changes
    assert np.allclose(T.T @ left, T.T @ wanted, rtol=0.0, atol=1e-9 * np.abs(wanted).max())
    found = elastic.forward_dynamics(T @ q, T @ v, force)
    assert np.allclose(
        elastic.mass_matrix(T @ q) @ found, wanted - elastic.bias_forces(T @ q, T @ v), atol=1e-6
    )
