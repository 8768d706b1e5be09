"""Kinds of links from outside (test/toy_links.py): every verb, derivative, step and export works.

A chain of standard joints with lumped masses moves as `telescope` does.
"""

import ast
import pickle
import subprocess
import sys

import numpy as np
import pytest
from exported import COMPILERS, at_random, compiled
from scipy.integrate import quad
from toy_links import K3, MASS, SOURCES, C, K, L, arm, body, element, turning

import flexdyn_ros
from flexdyn_ros import export
from flexdyn_ros.errors import FlexdynError, UnsupportedError
from flexdyn_ros.multibody.links import registry
from flexdyn_ros.simulation.simulate import simulate
from flexdyn_ros.simulation.steps.stepper import Stepper

TOYS = pytest.mark.parametrize("name", SOURCES)


@pytest.fixture(scope="module", autouse=True)
def kinds(tmp_path_factory):
    folder = tmp_path_factory.mktemp("toys")
    for name, source in SOURCES.items():
        (folder / f"toy_{name}.py").write_text(source)
    sys.path.insert(0, str(folder))
    try:
        import toy_bow
        import toy_telescope
    finally:
        sys.path.remove(str(folder))
    found = {"telescope": toy_telescope.KIND, "bow": toy_bow.KIND}
    for kind in found.values():
        registry.register(kind)
    yield folder
    for kind in found.values():
        registry.unregister(kind)


@pytest.fixture(scope="module")
def robots(kinds):
    return {name: flexdyn_ros.load(arm(name)) for name in SOURCES}


def state(robot, seed=0):
    """q, v, a; deformations and modes of a size that matters."""
    rng = np.random.default_rng(seed)
    q = robot.random(rng)
    return q, rng.standard_normal(robot.nv), rng.standard_normal(robot.nv)


def differences(f, robot, q, h=1e-6):
    """Derivatives of f(q) along the velocity coordinates, the last axis."""
    steps = h * np.eye(robot.nv)
    both = [[f(robot.integrate(q, s * step, 1.0)) for s in (1.0, -1.0)] for step in steps]
    return np.stack([(a - b) / (2.0 * h) for a, b in both], axis=-1)


@TOYS
def test_inverse_and_forward_dynamics_undo_each_other(robots, name):
    robot = robots[name]
    for seed in range(5):
        q, v, a = state(robot, seed)
        tau = robot.inverse_dynamics(q, v, a)
        assert np.allclose(robot.forward_dynamics(q, v, tau), a, rtol=0, atol=1e-9)
        M, h = robot.mass_matrix(q), robot.bias_forces(q, v)
        assert np.allclose(M @ a + h, tau, rtol=0, atol=1e-11 * np.abs(tau).max())
        assert np.abs(sum(robot.bias_terms(q, v)) - h).max() <= 1e-11 * np.abs(h).max()
        assert np.allclose(M, M.T, rtol=0, atol=1e-13)
        assert np.linalg.eigvalsh(M).min() > 1e-4


@TOYS
def test_energy_is_that_of_the_mass_matrix_and_balances_power(robots, name):
    robot = robots[name]
    q, v, a = state(robot, 1)
    energy = robot.energy(q, v)
    assert energy.kinetic == pytest.approx(0.5 * v @ robot.mass_matrix(q) @ v, rel=1e-13)
    terms = robot.bias_terms(q, v)

    def potential(q):
        found = robot.energy(q, 0.0 * v)
        return np.array([found.gravity, found.elastic])

    gradient = differences(potential, robot, q)
    assert np.allclose(gradient, [terms.gravity, terms.elastic], rtol=1e-7, atol=1e-6)
    # d/dt of the energy along the motion is the power of the efforts less that of the dampers
    h = 1e-5

    def total(t):
        return robot.energy(robot.integrate(q, v + 0.5 * t * a, t), v + t * a).total

    power = robot.inverse_dynamics(q, v, a) @ v - terms.damping @ v
    assert (total(h) - total(-h)) / (2.0 * h) == pytest.approx(power, rel=1e-7)


@TOYS
@pytest.mark.parametrize("base", ["fixed", "floating"])
@pytest.mark.parametrize("method", ["rk4", "rosenbrock"])
def test_a_short_step_dissipates_the_power_of_dampers(kinds, name, base, method):
    """Also of a robot with more coordinates than bodies."""
    robot, h = flexdyn_ros.load(arm(name, f'<base type="{base}"/>', beam=base == "fixed")), 1e-5
    q, v, _ = state(robot, 1)
    stepper = Stepper(robot, h, q0=q, v0=v, method=method)
    assert stepper.advance(1, np.zeros(robot.nu)) == 0
    power = [v @ robot.bias_terms(q, v).damping for q, v in ((q, v), (stepper.q, stepper.v))]
    # both rules err by the square of the step
    assert stepper.dissipated == pytest.approx(0.5 * h * sum(power), rel=1e-4)


@TOYS
def test_frames_move_by_the_jacobian_and_masses_by_the_momentum(robots, name):
    robot = robots[name]
    q, v, a = state(robot, 2)
    h = 1e-6
    for frame in ("hand", "boom/tip", "boom@0.4", "whip/tip"):
        J = robot.jacobian(q, frame)

        def position(q, frame=frame):
            return robot.frames(q, frame)[:3, 3]

        assert np.allclose(J[3:], differences(position, robot, q), rtol=0, atol=1e-8)
        R = robot.frames(q, frame)[:3, :3]
        turned = differences(lambda q, frame=frame: robot.frames(q, frame)[:3, :3], robot, q)
        spin = np.einsum("ijk,lj->ilk", turned, R)
        assert np.allclose(J[:3], [spin[2, 1], spin[0, 2], spin[1, 0]], rtol=0, atol=1e-8)
        rates = [robot.jacobian(robot.integrate(q, v, s * h), frame) @ v for s in (1.0, -1.0)]
        rate = (rates[0] - rates[1]) / (2.0 * h)
        assert np.allclose(robot.frame_acceleration(q, v, a, frame), J @ a + rate, rtol=0, atol=1e-6)
    centre = differences(robot.center_of_mass, robot, q) @ v
    assert np.allclose(robot.momentum(q, v)[3:], robot.mass * centre, rtol=0, atol=1e-7)
    assert robot.mass == pytest.approx(MASS + 0.8 + 0.6 * 1.4)


@TOYS
def test_derivatives_are_those_of_differences(robots, name):
    robot = robots[name]
    q, v, a = state(robot, 3)
    dq, dv, _ = robot.inverse_dynamics_derivatives(q, v, a)
    assert np.allclose(dq, differences(lambda q: robot.inverse_dynamics(q, v, a), robot, q), atol=2e-6)
    h = 1e-6 * np.eye(robot.nv)
    found = [(robot.inverse_dynamics(q, v + s, a) - robot.inverse_dynamics(q, v - s, a)) / 2e-6 for s in h]
    assert np.allclose(dv.T, found, rtol=0, atol=1e-6)
    tau = robot.inverse_dynamics(q, v, a)
    A = robot.linearize(q, v, tau).A[robot.nv :, : robot.nv]
    expected = differences(lambda q: robot.forward_dynamics(q, v, tau), robot, q)
    assert np.allclose(A, expected, rtol=1e-5, atol=1e-4)


@TOYS
def test_a_batch_is_its_single_calls(robots, name):
    robot = robots[name]
    states = [state(robot, seed) for seed in range(17)]
    q, v, a = (np.array(x) for x in zip(*states, strict=True))
    for verb in ("inverse_dynamics", "forward_dynamics"):
        whole, method = getattr(robot, verb)(q, v, a), getattr(robot, verb)
        single = np.array([method(*x) for x in states])
        assert np.abs(whole - single).max() <= 1e-12 * np.abs(single).max()
    assert np.array_equal(robot.mass_matrix(q), np.array([robot.mass_matrix(x) for x in q]))
    taped = robot.linearize(np.tile(q, (4, 1)), np.tile(v, (4, 1)), np.tile(a, (4, 1))).A[:17]
    single = np.array([robot.linearize(*x).A for x in states])
    assert np.abs(taped - single).max() <= 1e-9 * np.abs(single).max()


@TOYS
@pytest.mark.parametrize(("method", "order"), [("rk4", 4), ("rosenbrock", 2)])
def test_steps_keep_their_order(name, method, order):
    robot = flexdyn_ros.load(arm(name, beam=False))
    q, v, _ = state(robot, 4)
    start, ends = (q, v), []
    for dt in (4e-3, 2e-3, 1e-3, 5e-5):
        stepper = Stepper(robot, dt, q0=start[0], v0=start[1], method=method)
        assert stepper.advance(round(0.2 / dt), np.zeros(robot.nu)) == 0
        ends.append(np.concatenate([stepper.q, stepper.v]))
    errors = [np.abs(end - ends[-1]).max() for end in ends[:-1]]
    assert np.log2(errors[0] / errors[1]) > order - 0.4
    assert np.log2(errors[1] / errors[2]) > order - 0.4
    run = simulate(robot, 0.3, q0=start[0], v0=start[1], method=method, dt=5e-4)
    error = run.energy.total - run.work + run.dissipated
    assert np.ptp(error) < 1e-3 * run.energy.kinetic.max()


@TOYS
@pytest.mark.skipif(not COMPILERS, reason="no C compiler")
def test_c_computes_the_same(robots, name, tmp_path):
    robot = robots[name]
    export.c(robot, tmp_path, ("inverse_dynamics", "forward_dynamics", "mass_matrix", "energy", "step"))
    toy, (q, v, a, tau) = compiled(tmp_path, robot.name), at_random(robot)
    n = robot.nv
    expected = robot.inverse_dynamics(q, v, a)
    found = toy.call("inverse_dynamics", q, v, a, sizes=[n])
    assert np.abs(found - expected).max() <= 1e-12 * np.abs(expected).max()
    M = robot.mass_matrix(q)
    assert (
        np.abs(toy.call("mass_matrix", q, sizes=[n * n]).reshape(n, n) - M).max() <= 1e-12 * np.abs(M).max()
    )
    expected = np.array([getattr(robot.energy(q, v), part) for part in ("kinetic", "gravity", "elastic")])
    found = toy.call("energy", q, v, sizes=[3])
    assert np.abs(found - expected).max() <= 1e-12 * np.abs(expected).max()
    expected = robot.forward_dynamics(q, v, tau)
    found = toy.call("forward_dynamics", q, v, tau, sizes=[n])
    assert np.abs(M @ (found - expected)).max() <= 1e-12 * np.abs(M).max() * np.abs(expected).max()
    stepper = Stepper(robot, 1e-4, q0=q, v0=v)
    assert stepper.advance(50, tau) == 0
    for _ in range(50):
        q, v = toy.step(q, v, tau, 1e-4)
    assert np.abs(q - stepper.q).max() <= 1e-9


def chain():
    """The telescope as standard joints, without springs: Simpson's rule is exact for its inertia, so that
    masses m/6, 2 m/3, m/6 at its root, in its middle, which slides by d/2, e/2, and on its tip, which slides
    by d, e, move the same."""
    parts = ['<robot name="chain"><link name="ground"/>', turning("shoulder", "ground", "boom", "0 0 0.5")]
    for link, share in (("boom", 1 / 6), ("middle", 2 / 3), ("end", 1 / 6)):
        parts.append(
            f'<link name="{link}"><inertial><mass value="{share * MASS!r}"/><inertia ixx="0" ixy="0" ixz="0" '
            'iyy="0" iyz="0" izz="0"/></inertial></link>'
        )
    slide = '<joint name="{}" type="prismatic"><parent link="{}"/><child link="{}"/><origin xyz="{} 0 0"/>'
    slide += '<axis xyz="{}"/><limit lower="-1" upper="1" effort="9" velocity="9"/>{}</joint>'
    half = '<mimic joint="{}" multiplier="0.5"/>'
    parts += [
        '<link name="x"/><link name="half_x"/>',
        slide.format("stretch", "boom", "x", L, "1 0 0", ""),
        slide.format("lean", "x", "end", 0, "0 0.8 0.6", ""),
        slide.format("half_stretch", "boom", "half_x", 0.5 * L, "1 0 0", half.format("stretch")),
        slide.format("half_lean", "half_x", "middle", 0, "0 0.8 0.6", half.format("lean")),
        body("hand", 0.8),
        turning("wrist", "end", "hand", "0 0.02 0", "0 0.3 1"),
        "<flexdyn><gravity>1 -2 -9</gravity></flexdyn></robot>",
    ]
    return flexdyn_ros.load("".join(parts))


def test_a_telescope_moves_as_a_chain_of_standard_joints():
    toy, other = flexdyn_ros.load(arm("telescope", beam=False)), chain()
    assert toy.v_names == ("shoulder", "boom/stretch", "boom/lean", "wrist")
    order = [other.index(name) for name in ("shoulder", "stretch", "lean", "wrist")]
    for seed in range(10):
        q, v, a = state(toy, seed)
        p, w, b = (np.zeros(4) for _ in range(3))
        p[order], w[order], b[order] = q, v, a
        (d, e), (dd, de) = q[1:3], v[1:3]
        own = np.zeros(4)
        own[1:3] = K * (d + e / 2) + K3 * d**3 + C * (dd + de / 2), K * (e + d / 2) + C * (de + dd / 2)
        expected = other.inverse_dynamics(p, w, b)[order] + own
        assert np.abs(toy.inverse_dynamics(q, v, a) - expected).max() <= 1e-10 * np.abs(expected).max()
        tau = expected - own
        forward = other.forward_dynamics(p, w, np.array([tau[order.index(i)] for i in range(4)]))[order]
        assert np.allclose(toy.forward_dynamics(q, v, expected), forward, rtol=0, atol=1e-10)
        M = other.mass_matrix(p)[np.ix_(order, order)]
        assert np.abs(toy.mass_matrix(q) - M).max() <= 1e-10 * np.abs(M).max()
        assert np.allclose(toy.frames(q, "hand"), other.frames(p, "hand"), rtol=0, atol=1e-12)
        assert np.allclose(toy.momentum(q, v), other.momentum(p, w), rtol=0, atol=1e-10)
        mine, theirs = toy.energy(q, v), other.energy(p, w)
        assert mine.kinetic == pytest.approx(theirs.kinetic, rel=1e-10)
        elastic = 0.5 * K * (d * d + d * e + e * e) + 0.25 * K3 * d**4
        assert mine.elastic == pytest.approx(elastic, rel=1e-10)
        assert theirs.elastic == 0.0
        # zero of gravity potentials is the same: both know where their masses are
        assert mine.gravity == pytest.approx(theirs.gravity, rel=1e-10)


def test_a_clamped_bow_moves_by_the_equation_of_its_arc():
    """m(t) t'' + m'(t) t'^2 / 2 + k t + k3 t^3 + c (1 + t^2) t' + dV/dt = 0, its integrals by quadrature of
    SciPy."""
    gravity = "<gravity>0 -9 0</gravity>"
    text = f'<robot name="clamped"><link name="boom"/><flexdyn>{gravity}{element("bow")}</flexdyn></robot>'
    robot = flexdyn_ros.load(text)
    assert robot.v_names == ("boom/bend",)

    def shape(s, t):
        """x, y of the arc and their derivatives by t."""
        f = s * t
        x, y = L * np.sin(f) / t, L * (1.0 - np.cos(f)) / t
        return x, y, L * s * np.cos(f) / t - x / t, L * s * np.sin(f) / t - y / t

    def mass(t):
        return MASS * quad(lambda s: shape(s, t)[2] ** 2 + shape(s, t)[3] ** 2, 0.0, 1.0, epsabs=1e-14)[0]

    for t, rate in ((0.9, 1.3), (-1.4, 0.4)):
        h = 1e-4
        slope = (mass(t - 2 * h) - 8 * mass(t - h) + 8 * mass(t + h) - mass(t + 2 * h)) / (12 * h)
        weight = 9.0 * MASS * quad(lambda s, t=t: shape(s, t)[3], 0.0, 1.0, epsabs=1e-14)[0]
        rest = 0.5 * slope * rate**2 + K * t + K3 * t**3 + C * (1.0 + t * t) * rate + weight
        q, v = np.array([t]), np.array([rate])
        assert robot.mass_matrix(q)[0, 0] == pytest.approx(mass(t), rel=1e-11)
        assert robot.bias_forces(q, v)[0] == pytest.approx(rest, rel=1e-9)


@TOYS
def test_a_free_robot_keeps_its_momentum(name):
    text = arm(name, '<base type="floating"/>').replace("1 -2 -9", "0 0 0")
    robot = flexdyn_ros.load(text.replace('<link name="ground"/>', body("ground", 2.0)))
    q, v, _ = state(robot, 5)
    run = simulate(robot, 0.1, q0=q, v0=v, rtol=1e-10, method="dop853")
    momentum = robot.momentum(run.q, run.v)
    assert np.abs(momentum - momentum[0]).max() <= 1e-8 * np.abs(momentum[0]).max()


@TOYS
def test_springs_hang_on_what_it_carries(name):
    """Layers around the tree work on it: a spring to the world, with its derivatives."""
    spring = (
        '<spring name="s" base="world" base_xyz="0 1 1" end="hand" end_xyz="0.1 0 0" stiffness="30" '
        'damping="1"/>'
    )
    robot = flexdyn_ros.load(arm(name, spring))
    q, v, a = state(robot, 6)
    tau = robot.inverse_dynamics(q, v, a)
    assert np.allclose(robot.forward_dynamics(q, v, tau), a, rtol=0, atol=1e-9)
    dq = robot.inverse_dynamics_derivatives(q, v, a)[0]
    assert np.allclose(dq, differences(lambda q: robot.inverse_dynamics(q, v, a), robot, q), atol=2e-6)
    rows = [np.tile(x, (17, 1)) for x in (q, v, tau)]
    assert np.allclose(robot.forward_dynamics(*rows), a, rtol=0, atol=1e-9)
    stepper = Stepper(robot, 1e-3, q0=0.1 * q, v0=0.1 * v, method="rosenbrock")
    assert stepper.advance(20, np.zeros(robot.nu)) == 0


@TOYS
def test_loops_close_around_it(name):
    """A rod from the world to what the link carries; assembly does not deform the link."""
    rod = (
        '<loop name="rod" type="distance" base="world" base_xyz="0 1 1" end="hand" end_xyz="0.1 0 0" '
        'length="1.1"/>'
    )
    robot = flexdyn_ros.load(arm(name, rod))
    held = [c.q_index for c in robot.coordinates if c.kind == "deformation"]
    assert held
    assert not robot.neutral()[held].any()
    q, v, _ = state(robot, 6)
    q, v = robot.project(0.3 * q, v)
    a = robot.forward_dynamics(q, v)
    # phi'' = 0 along q (+) (v s + a s^2 / 2)
    h = 1e-3
    ahead, behind = (robot.loop_residual(robot.integrate(q, v + 0.5 * s * a, s)) for s in (h, -h))
    assert abs(ahead + behind).max() < 1e-4 * h**2 * abs(a).max()
    force = robot.functions.layers[-1].closing.open.inverse_dynamics(q, v, a)
    lam = robot.loop_reactions(q, v, a=a).force[0]
    end = robot.jacobian(q, "hand")[3:] - np.cross(
        robot.frames(q, "hand")[:3, :3] @ [0.1, 0.0, 0.0], robot.jacobian(q, "hand")[:3], axisb=0, axisc=0
    )
    assert np.allclose(force, end.T @ lam, rtol=0, atol=1e-9 * (1.0 + abs(lam).max()))


@TOYS
def test_its_numbers_are_parameters(robots, name):
    robot = robots[name]
    assert {f"boom/{x}" for x in ("own_mass", "stiffness", "hardening", "damping")} <= {
        p.name for p in robot.parameters
    }
    q, v, a = state(robot, 7)
    found = robot.regressor(q, v, a)
    values = np.array([p.value for p in robot.parameters])
    tau = robot.inverse_dynamics(q, v, a)
    assert np.abs(found.Y @ values + found.tau0 - tau).max() <= 1e-10 * np.abs(tau).max()
    other = flexdyn_ros.load(arm(name).replace(element(name), element(name, mass=3.1)))
    heavier = robot.with_parameters({"boom/own_mass": 3.1})
    assert np.allclose(heavier.inverse_dynamics(q, v, a), other.inverse_dynamics(q, v, a), rtol=0, atol=1e-11)
    assert heavier.mass == pytest.approx(robot.mass + 3.1 - MASS)


@TOYS
def test_it_is_held_rigid_where_the_robot_is_to_be(robots, name):
    rigid = flexdyn_ros.load(arm(name), options={"formulation.flexible": False})
    assert rigid.v_names == ("shoulder", "wrist", "elbow")
    robot, q = robots[name], np.array([0.4, -0.3, 0.7])
    whole = robot.neutral()
    whole[[robot.q_names.index(n) for n in rigid.q_names]] = q
    for frame in ("hand", "boom/tip", "whip/tip"):
        assert np.allclose(robot.frames(whole, frame), rigid.frames(q, frame), rtol=0, atol=1e-12)
    places = [robot.index(n) for n in rigid.v_names]
    M = robot.mass_matrix(whole)[np.ix_(places, places)]
    assert np.allclose(M, rigid.mass_matrix(q), rtol=0, atol=1e-11)


@TOYS
def test_another_process_answers_from_what_this_one_compiled(kinds, robots, name):
    """No address of this process is in the kernels that the cache keeps."""
    robot = robots[name]
    q, v, a = state(robot, 10)
    expected = [robot.inverse_dynamics(q, v, a), robot.forward_dynamics(q, v, a), robot.linearize(q, v, a).A]
    program = f"""
import sys, numpy as np, flexdyn_ros
from flexdyn_ros.multibody.links import registry
# what lies before the arrays of the robot moves them
spare = np.zeros(12345)
sys.path.insert(0, {str(kinds)!r})
import toy_{name}
registry.register(toy_{name}.KIND)
robot = flexdyn_ros.load(sys.stdin.read())
q, v, a = (np.array(x) for x in {[x.tolist() for x in (q, v, a)]!r})
found = robot.inverse_dynamics(q, v, a), robot.forward_dynamics(q, v, a), robot.linearize(q, v, a).A
print(repr([x.tolist() for x in found]))
"""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, input=arm(name), capture_output=True, text=True, timeout=120, check=True)
    found = ast.literal_eval(done.stdout)
    assert all(np.array_equal(x, y) for x, y in zip(found, expected, strict=True))


def test_verbs_of_single_robots_work(robots):
    for robot in robots.values():
        q, v, a = state(robot, 8)
        again = pickle.loads(pickle.dumps(robot))
        assert np.array_equal(again.inverse_dynamics(q, v, a), robot.inverse_dynamics(q, v, a))
        loaded = robot.with_payload("boom/tip", 0.3)
        assert loaded.mass == pytest.approx(robot.mass + 0.3)
        rest = robot.static_equilibrium(hold=["shoulder", "wrist", "elbow"])
        tau = robot.inverse_dynamics(rest.q, 0 * v, 0 * v)
        assert (
            np.abs(tau[robot.index("boom/" + ("bend" if "boom/bend" in robot.v_names else "stretch"))]) < 1e-8
        )
        assert (robot.modes(rest.q, lock="joints").frequency > 0.0).all()
        report = flexdyn_ros.check(arm("bow" if "boom/bend" in robot.v_names else "telescope"))
        assert any(c.kind == "deformation" for c in report.coordinates)
        reactions = robot.joint_reactions(q, v, a)
        axis = robot.jacobian(q, "hand")[:3, robot.index("wrist")]
        found = reactions.of("wrist")[:3] @ axis
        assert found == pytest.approx(robot.inverse_dynamics(q, v, a)[robot.index("wrist")], rel=1e-9)


def test_what_is_not_possible_is_refused_by_name(robots):
    robot = robots["bow"]
    q, v, a = state(robot, 9)
    with pytest.raises(UnsupportedError, match="<bow>"):
        robot.loads(q, v, a)
    with pytest.raises(UnsupportedError, match="<bow>"):
        flexdyn_ros.expand(robot)
    with pytest.raises(FlexdynError, match="<bow> beside the method lagrange"):
        flexdyn_ros.load(arm("bow"), options={"formulation.method": "lagrange"})
    with pytest.raises(FlexdynError, match="deforms by a <telescope> already"):
        flexdyn_ros.load(arm("bow", element("telescope")))
    with pytest.raises(FlexdynError, match="deforms by a <beam> already"):
        flexdyn_ros.load(arm("bow", element("telescope", "whip")))
    with pytest.raises(FlexdynError, match="no link of that name"):
        flexdyn_ros.load(arm("bow", element("telescope", "bom")))
    with pytest.raises(FlexdynError, match="stiffness"):
        flexdyn_ros.load(arm("bow").replace(f'stiffness="{K}"', 'stiffness="-1"'))
