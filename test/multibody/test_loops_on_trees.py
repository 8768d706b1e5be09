"""Loops between any frames of any tree: floating, flexible; against differences and theorems."""

import numpy as np
import pytest
from machines import Q, V, body, four_bar, four_bar_urdf, joint, robot, rod

import flexdyn_ros
from flexdyn_ros.description.elements.loops import Loop
from flexdyn_ros.errors import FlexdynWarning, SingularityError
from flexdyn_ros.families.trees.loops.geometry import Geometry
from flexdyn_ros.families.trees.loops.placing import Mount, PlacedLoop
from flexdyn_ros.multibody.constraints.kernels import residual
from flexdyn_ros.multibody.constraints.loop import ROWS, triad
from flexdyn_ros.numerics.algebra.placement import Placement

#: a floating body with two arms, one of which bends
TREE = """<robot name="arms"><link name="world"/><link name="hull">
<inertial><origin xyz="0.1 0 0.05"/><mass value="5"/>
<inertia ixx="0.3" iyy="0.4" izz="0.5" ixy="0.01" ixz="0.02" iyz="0.03"/></inertial></link>
<joint name="free" type="floating"><parent link="world"/><child link="hull"/></joint>
<link name="boom"/><link name="fore"><inertial><origin xyz="0.2 0 0"/><mass value="0.7"/>
<inertia ixx="0.01" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="stick"><inertial><origin xyz="0 0.2 0.1"/><mass value="0.9"/>
<inertia ixx="0.02" iyy="0.01" izz="0.03" ixy="0" ixz="0.002" iyz="0"/></inertial></link>
<joint name="shoulder" type="continuous"><parent link="hull"/><child link="boom"/><origin xyz="0.2 0.1 0"/>
<axis xyz="0 1 0"/></joint>
<joint name="elbow" type="continuous"><parent link="boom"/><child link="fore"/><origin xyz="1 0 0"/>
<axis xyz="0.6 0 0.8"/></joint>
<joint name="hip" type="continuous"><parent link="hull"/><child link="stick"/><origin xyz="-0.2 0.1 0"/>
<axis xyz="0 0.6 0.8"/></joint>
<flexdyn reference="boom"><beam length="1" mass_per_length="1.2" EIy="40" EIz="50" GJ="30" EA="1e4"
 polar_inertia="0.002"/><modes bending_y="1" bending_z="1" torsion="1"/><attach joint="elbow" station="tip"/>
</flexdyn><flexdyn><gravity>0.3 -0.2 -9.81</gravity>{loops}</flexdyn></robot>"""


@pytest.fixture(scope="module")
def tree():
    return flexdyn_ros.load(TREE.format(loops=""))


def mounted(tree, type, frames=("boom@0.4", "stick")):
    """A loop of this type between a station and a link, at oblique constraint frames."""
    seeing = tree.functions.seeing(frames).robot
    rng = np.random.default_rng(len(type))
    mounts = []
    for frame in frames:
        place = Placement.of(rng.uniform(-0.3, 0.3, 3), rng.uniform(-1, 1, 3))
        place = place @ Placement(triad(tuple(rng.uniform(-1, 1, 3))), np.zeros(3))
        mounts.append(Mount(frame, seeing.functions.frame(frame).body, place))
    record = Loop(name="l", base=frames[0], end=frames[1], type=type, length=0.4)
    return Geometry(seeing, [PlacedLoop(record, *mounts)])


@pytest.mark.parametrize("type", ROWS)
def test_rates_and_accelerations_of_rows_are_those_of_the_residual_in_time(tree, type):
    """Along q(t) = q (+) v t, at stations of a link that bends, on a floating body: differences of eighth
    order of the residual, and of its rate."""
    geometry, rng = mounted(tree, type), np.random.default_rng(7)
    q, v = tree.random(rng), rng.uniform(-1.0, 1.0, tree.nv)
    h = 0.01
    ahead = h * np.concatenate([np.arange(1.0, 5.0), -np.arange(1.0, 5.0)])
    weights = np.array([4 / 5, -1 / 5, 4 / 105, -1 / 280]) / h
    weights = np.concatenate([weights, -weights])
    path = np.array([tree.integrate(q, v, s) for s in ahead])
    near = geometry.at(path, np.tile(v, (8, 1)))
    here = geometry.at(q[None], v[None])
    np.testing.assert_allclose(here.rate[0], here.J[0] @ v, atol=1e-12)
    np.testing.assert_allclose(here.rate[0], weights @ near.residual, atol=1e-10)
    # twists of a floating body in world axes: v is constant along the path, and so is a = 0
    np.testing.assert_allclose(here.bias[0], weights @ near.rate, atol=1e-10)


@pytest.mark.parametrize("type", ROWS)
def test_compiled_rows_are_those_of_frames_by_the_verbs(tree, type):
    """Frames, Jacobians and accelerations of verbs, at the origin of each frame, moved to the constraint
    frames; of these the rows, interpreted."""
    geometry, rng = mounted(tree, type), np.random.default_rng(8)
    robot, loop = geometry.robot, geometry.loops[0]
    q, v = tree.random(rng), rng.uniform(-1.0, 1.0, tree.nv)
    here, motion, pushed, J = geometry.at(q[None], v[None]), [], [], []
    for mount in (loop.base, loop.end):
        T, own = robot.frames(q, mount.frame), robot.jacobian(q, mount.frame)
        bias = robot.frame_acceleration(q, v, np.zeros(robot.nv), mount.frame)
        o = T[:3, :3] @ mount.placement.p
        at_o = np.vstack([own[:3], own[3:] + np.cross(own[:3].T, o).T])
        w, speed = np.split(at_o @ v, 2)
        linear = bias[3:] + np.cross(bias[:3], o) + np.cross(w, np.cross(w, o))
        motion += [T[:3, 3] + o, (T[:3, :3] @ mount.placement.R).ravel(), speed, w]
        pushed += [bias[:3], linear]
        J.append(at_o)
    row, length = np.zeros(residual.ROW), loop.record.length
    for r, kind in enumerate(loop.rows):
        residual.closed_row(kind, length, np.concatenate(motion), np.concatenate(pushed), row)
        found = [x[0, r] for x in (here.residual, here.rate, here.bias)]
        expected = row[[residual.VALUE, residual.RATE, residual.SECOND]]
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12)
        line = row[residual.LINE : residual.LINE + 12]
        np.testing.assert_allclose(here.lines[0, r], line, rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(here.J[0, r], line @ np.vstack(J), rtol=1e-12, atol=1e-12)


LOOP = '<loop name="l" type="distance" base="boom@0.4" end="stick" end_xyz="0 0.4 0.1" length="0.62"/>'


def test_forces_of_a_loop_leave_the_momentum_of_a_floating_robot():
    """Gravity alone changes momentum; both ends of the loop are on the robot. And the energy is kept."""
    r = flexdyn_ros.load(TREE.format(loops=LOOP))
    assert (r.loops[0].rows, r.loops[0].redundant, r.mobility) == (1, 0, r.nv - 1)
    rng = np.random.default_rng(3)
    q, v = r.project(r.neutral(), rng.uniform(-1.0, 1.0, r.nv))
    a = r.forward_dynamics(q, v)
    h = 1e-4

    def state(s):
        return r.integrate(q, s * v + 0.5 * s * s * a, 1.0), v + s * a

    rate = (r.momentum(*state(h)) - r.momentum(*state(-h))) / (2.0 * h)
    weight = r.functions.mass * r.gravity
    expected = np.concatenate([np.cross(r.center_of_mass(q), weight), weight])
    np.testing.assert_allclose(rate, expected, atol=2e-5)
    energies = [sum(r.energy(*state(s))) for s in (h, -h)]
    damped = v @ r.bias_terms(q, v).damping
    assert abs((energies[0] - energies[1]) / (2 * h) + damped) < 2e-5
    assert (
        np.abs(
            r.loop_jacobian(q) @ a + r.functions.layers[-1].closing.geometry.at(q[None], v[None]).bias[0]
        ).max()
        < 1e-10
    )


def test_inverse_dynamics_gives_back_the_motion_of_a_floating_flexible_robot():
    r = flexdyn_ros.load(TREE.format(loops=LOOP + '<actuation active="shoulder hip"/>'))
    rng = np.random.default_rng(5)
    q, v = r.project(r.neutral(), rng.uniform(-0.5, 0.5, r.nv))
    tau = r.efforts({"shoulder": 3.0, "hip": -2.0, "elbow": 0.5})
    a = r.forward_dynamics(q, v, tau)
    found = r.inverse_dynamics(q, v, a)
    np.testing.assert_allclose(r.forward_dynamics(q, v, found), a, rtol=1e-8, atol=1e-8)
    # nothing is left to modes and the base
    free = [i for i, c in enumerate(r.coordinates) if c.kind != "joint"]
    np.testing.assert_allclose(found[free], 0.0, atol=1e-8)


def test_actuated_accelerations_are_met_under_wrenches():
    """unactuated="free" on a floating flexible robot: joints accelerate as told, nothing acts elsewhere."""
    r = flexdyn_ros.load(TREE.format(loops=LOOP + '<actuation active="shoulder hip"/>'))
    rng, at = np.random.default_rng(5), [c.v_index for c in r.coordinates if c.actuated]
    q, v = r.project(r.neutral(), rng.uniform(-0.5, 0.5, r.nv))
    a, load = rng.uniform(-2.0, 2.0, r.nv), {"fore": np.array([0.5, -0.3, 0.4, 2.0, -3.0, 1.0])}
    tau = r.inverse_dynamics(q, v, a, load, unactuated="free")
    assert [r.v_names[i] for i in at] == ["shoulder", "elbow", "hip"]
    np.testing.assert_allclose(r.forward_dynamics(q, v, tau, load)[at], a[at], rtol=1e-8)
    np.testing.assert_allclose(np.delete(tau, at), 0.0, atol=1e-8)


def test_derivatives_by_parameters_are_nan_off_the_loops_alone():
    r = four_bar()
    q, v = r.project(Q, V)
    names, tau = ("coupler/mass", "rocker/mx"), [1.0, 0.0, 0.0]
    with pytest.warns(FlexdynWarning, match="1 of 2 states are off the loops"):
        found = r.forward_dynamics_parameter_derivatives(np.array([q + 0.01, q]), v, tau, parameters=names)
    assert np.isnan(found[0]).all()
    expected = r.forward_dynamics_parameter_derivatives(q, v, tau, parameters=names)
    np.testing.assert_allclose(found[1], expected, rtol=1e-12)


@pytest.mark.parametrize(("kind", "unit"), [("continuous", "N m"), ("prismatic", "N")])
def test_what_no_actuator_gives_is_told_in_the_unit_of_the_joint(kind, unit):
    """Two equal bodies that a rod ties to each other move alike, and nothing drives them."""
    limit = '<limit lower="-9" upper="9" effort="0" velocity="9"/><axis'
    parts = []
    for i, size in ((1, 0.0), (2, 1.0)):
        name = f"b{i}"
        parts += [body(name, 2.0, (0.0, 0.0, 0.5), 0.1 * np.eye(3))]
        axis = {"continuous": (0.0, 1.0, 0.0), "prismatic": (1.0, 0.0, 0.0)}[kind]
        hinge = joint(f"j{i}", "ground", name, at=(size, 0.0, 0.0), axis=axis, type=kind)
        parts += [hinge.replace("<axis", limit) if kind == "prismatic" else hinge]
    tie = (
        '<loop name="rod" type="distance" base="b1" base_xyz="0 0 1" end="b2" end_xyz="0 0 1" length="1"/>'
        '<gravity>0 0 0</gravity><actuation passive="j1 j2"/>'
    )
    r = flexdyn_ros.load(robot("pair", *parts, flexdyn=tie))
    a = np.array([3.0, 3.0])
    effort = (2.0 if kind == "prismatic" else 0.6) * 3.0
    with pytest.raises(SingularityError, match=rf"in which 'j\d' moves most, {effort:.4g} {unit} are left"):
        r.inverse_dynamics(r.neutral(), np.zeros(2), a)


def test_linear_equations_are_differences_of_forward_dynamics():
    r = flexdyn_ros.load(TREE.format(loops=LOOP))
    rng = np.random.default_rng(6)
    q, v = r.project(r.neutral(), rng.uniform(-0.5, 0.5, r.nv))
    found = r.forward_dynamics_derivatives(q, v)
    h = 1e-6

    def off(q, v):
        """Accelerations off the loops."""
        return r.functions.layers[-1]._forces.solve(q, v, None, None, None, np.inf)[1].a[0]

    for i, e in enumerate(np.eye(r.nv)):
        dq = (off(r.integrate(q, e, h), v) - off(r.integrate(q, e, -h), v)) / (2.0 * h)
        dv = (off(q, v + h * e) - off(q, v - h * e)) / (2.0 * h)
        np.testing.assert_allclose(found.dq[:, i], dq, rtol=1e-5, atol=1e-4)
        np.testing.assert_allclose(found.dv[:, i], dv, rtol=1e-5, atol=1e-5)


def test_a_loop_with_the_rest_of_a_joint_is_that_joint():
    """A double pendulum whose elbow is a loop: a free link and a revolute loop against a revolute joint."""
    parts = rod("upper", 0.5, 1.0), rod("lower", 0.4, 0.8), joint("shoulder", "ground", "upper")
    tree = flexdyn_ros.load(robot("tree", *parts, joint("elbow", "upper", "lower", at=(0.5, 0, 0))))
    slides, chain = [], "ground"
    for name, axis in (("x", (1, 0, 0)), ("z", (0, 0, 1))):
        slides += [rod(f"c{name}", 0.1, 1e-9)]
        slides += [
            joint(name, chain, f"c{name}", axis=axis, type="prismatic").replace(
                "<axis", '<limit lower="-9" upper="9" effort="0" velocity="9"/><axis'
            )
        ]
        chain = f"c{name}"
    loop = '<loop name="elbow" type="revolute" base="upper" base_xyz="0.5 0 0" end="lower" axis="0 1 0"/>'
    start = '<assembly start="x 0.5"/>'
    cut = flexdyn_ros.load(robot("cut", *parts, *slides, joint("turn", chain, "lower"), flexdyn=loop + start))
    q, v = np.array([0.4, -0.7]), np.array([0.9, 1.3])
    a = tree.forward_dynamics(q, v)
    names = cut.v_names
    total = q.sum()
    x, z = 0.5 * np.cos(q[0]), -0.5 * np.sin(q[0])
    values = {"shoulder": q[0], "x": x, "z": z, "turn": total}
    rates = {"shoulder": v[0], "x": v[0] * z, "z": -v[0] * x, "turn": v.sum()}
    at = np.array([values[name] for name in names])
    speed = np.array([rates[name] for name in names])
    assert np.abs(cut.loop_residual(at)).max() < 1e-12
    found = dict(zip(names, cut.forward_dynamics(at, speed), strict=True))
    np.testing.assert_allclose([found["shoulder"], found["turn"] - found["shoulder"]], a, rtol=1e-7)


def test_more_actuators_than_motions_on_a_floating_base_share_by_least_norm():
    """Efforts that only tension the loop neither turn the base nor grow."""
    more = '<base type="floating"/><actuation active="crank_joint coupler_joint rocker_joint"/>'
    hull = body("ground", 5.0, (0.1, 0.2, 0.3), np.diag([0.3, 0.4, 0.5]))
    r = flexdyn_ros.load(four_bar_urdf(more=more).replace('<link name="ground"/>', hull))
    rng = np.random.default_rng(5)
    for _ in range(5):
        q, v = r.project(r.neutral(), rng.uniform(-1.0, 1.0, r.nv))
        tau = np.concatenate([np.zeros(6), rng.uniform(-1.0, 1.0, 3)])
        found = r.inverse_dynamics(q, v, r.forward_dynamics(q, v, tau))
        N = np.linalg.svd(r.loop_jacobian(q))[2][2:].T
        expected = np.linalg.pinv(N[6:].T, rcond=1e-10) @ N[6:].T @ tau[6:]
        np.testing.assert_allclose(found[6:], expected, atol=1e-9)
        np.testing.assert_allclose(found[:6], 0.0, atol=1e-9)


def test_a_mechanism_in_balance_stays_where_it_is():
    """Balanced shafts on an oblique cardan joint: nothing moves but by the rounding of gravity."""
    shafts = [body(name, 1.0, (0.0, 0.0, 0.0), np.diag([0.02, 0.026, 0.032])) for name in ("in", "out")]
    parts = (
        joint("a", "ground", "in", axis=(0.1, 0.2, 1.0)),
        joint("b", "ground", "out", axis=(0.6, 0.1, 0.8)),
    )
    loop = '<loop name="u" type="universal" base="in" end="out" axis="1 0 0" end_axis="0 1 0"/>'
    r = flexdyn_ros.load(robot("shafts", *shafts, *parts, flexdyn="<gravity>0 0 -9.81</gravity>" + loop))
    q, rest = r.neutral(), np.zeros(2)
    for at in (q, np.array([q, q])):
        np.testing.assert_allclose(r.forward_dynamics(at, rest), 0.0, atol=1e-12)
    assert np.isfinite(r.linearize(q, rest).A).all()


def test_a_loop_with_an_elastic_crank_comes_to_rest_far_from_where_it_begins():
    """The motor is free: no step of Newton's iteration leads there, a damped motion does, to hang at rest."""
    elastic = (
        '<flexdyn reference="crank_joint"><rotor inertia="1e-4" gear_ratio="50"/>'
        '<joint_elasticity stiffness="800" damping="0"/></flexdyn></robot>'
    )
    robot = flexdyn_ros.load(four_bar_urdf().replace("</robot>", elastic))
    found = robot.static_equilibrium()
    still = np.zeros(robot.nv)
    assert found.stable
    assert np.abs(robot.loop_residual(found.q)).max() < 1e-12
    assert np.abs(robot.forward_dynamics(found.q, still)).max() < 1e-9
    # as low as the crank's whole turn has it
    heights = [
        robot.energy(robot.assemble(found.q + turn, lock=["crank_joint"]), still).gravity
        for turn in (np.array([x, 0.0, 0.0, x]) for x in np.linspace(-0.5, 0.5, 11))
    ]
    assert np.argmin(heights) == 5
