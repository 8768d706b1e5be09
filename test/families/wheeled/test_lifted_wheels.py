"""Wheels off the ground, and the hubs of wheels: energy, mass and momentum are those of the forces."""

import numpy as np
import pytest
from mobile_arms import chain
from scipy.linalg import expm

import flexdyn_ros
from flexdyn_ros.export.tracing.calling import accelerations
from flexdyn_ros.numerics.tracing.interpreting import Memory
from flexdyn_ros.simulation import Stepper

CART = """<robot name="r"><link name="cart"><inertial><mass value="20"/>
<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
<flexdyn><gravity>0 0 -9.8</gravity><base type="planar"/><wheel name="w" link="cart" xyz="0 0 0">
<suspension stiffness="1000" damping="{damping}" free_length="0.3"/>{tyre}</wheel>
<road kind="flat" contact="unilateral"/><drive type="speed" speed="0"/>
<formulation method="{method}"/></flexdyn></robot>"""
TYRE = '<tyre stiffness="20000" damping="{damping}" radius="0.1" mass="1"/>'
METHODS = ["floating_frame", "articulated"]


def lifted(method, damping, tyre=False):
    """A cart that is thrown up, its wheel off the ground."""
    rubber = TYRE.format(damping=damping) if tyre else ""
    robot = flexdyn_ros.load(CART.format(damping=damping, tyre=rubber, method=method))
    q, v = robot.neutral(), np.zeros(robot.nv)
    q[1], v[1] = 0.5, 1.0
    if tyre:
        q[1], q[-1], v[-1] = 0.6, 0.2, 1.0
    return robot, q, v


@pytest.mark.parametrize("method", METHODS)
def test_a_wheel_in_the_air_stores_nothing_and_takes_nothing(method):
    for tyre in (False, True):
        robot, q, v = lifted(method, 50, tyre)
        assert robot.wheel_forces(q, v).normal == 0.0
        assert robot.wheel_powers(q, v) == (0.0, 0.0)
        spring = 0.5 * 1000 * (0.3 - 0.4) ** 2 if tyre else 0.0
        assert robot.energy(q, v).elastic == pytest.approx(spring, abs=1e-12)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("tyre", [False, True])
def test_a_wheel_that_touches_the_ground_lightly_pushes_and_never_pulls(method, tyre):
    robot, q, v = lifted(method, 0, tyre)
    for push in (0.3, -0.3):
        # 0.3 N is a third of a millimetre of the spring, or a sixtieth of it of the tyre
        if tyre:
            q[-1] = 0.1 - push / 20000
        else:
            q[1] = 0.3 - push / 1000
        normal, spring = max(push, 0.0), 1000 * (0.3 - (q[1] - q[-1])) if tyre else max(push, 0.0)
        assert robot.wheel_forces(q, v).normal == pytest.approx(normal, abs=1e-10)
        external = robot.bias_terms(q, v).external
        assert external[1] == pytest.approx(-spring, abs=1e-10)
        if tyre:
            assert external[-1] == pytest.approx(spring - normal, abs=1e-10)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("step", ["rosenbrock", "semi_implicit_euler"])
def test_an_implicit_step_in_the_air_changes_the_momentum_by_the_weight_alone(method, step):
    # steps of a general tree know the slopes of hubs, not those of what carries them: to the second order
    for tyre in (False, True) if (method, step) != ("articulated", "rosenbrock") else (False,):
        robot, q, v = lifted(method, 50, tyre)
        stepper = Stepper(robot, 1e-2, step, q0=q, v0=v)
        assert stepper.advance(1) == 0
        change = robot.momentum(stepper.q, stepper.v) - robot.momentum(q, v)
        assert change[3:] == pytest.approx([0.0, 0.0, -robot.mass * 9.8 * 1e-2], rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_a_damper_that_lets_go_of_the_ground_loses_what_its_spring_still_holds(method):
    robot, q, v = lifted(method, 50)
    # 0.02 m shorter than free, and lengthening so fast that the force is none
    q[1], v[1] = 0.28, 1.0
    assert robot.wheel_forces(q, v).normal == 0.0
    assert robot.wheel_powers(q, v)[1] == pytest.approx(1000 * 0.02 * 1.0, rel=1e-12)
    # beyond free and shortening so fast that it pushes: all of the force's power is lost
    q[1], v[1] = 0.31, -1.0
    force = 50 * 1.0 - 1000 * 0.01
    assert robot.wheel_forces(q, v).normal == pytest.approx(force, rel=1e-12)
    assert robot.wheel_powers(q, v)[1] == pytest.approx(force * 1.0, rel=1e-12)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("suspension", ["small_angle", "exact"])
def test_mass_momentum_and_centre_of_mass_include_the_hubs(method, suspension):
    options = {"formulation.method": method, "formulation.suspension": suspension}
    if method == "articulated":
        options |= {"formulation.rotary_inertia": "none", "formulation.stiffening": "none"}
    bare = flexdyn_ros.load(chain((False,), mount_z=-0.1), options=options)
    robot = flexdyn_ros.load(chain((False,), tyres=True, mount_z=-0.1), options=options)
    rng = np.random.default_rng(4)
    q, v = 0.2 * rng.normal(size=robot.nq), rng.normal(size=robot.nv)
    n = bare.nq
    assert robot.mass == pytest.approx(bare.mass + 2 * 1.5, rel=1e-14)
    # what the hubs add is a point mass each, at its coordinate's height
    hubs = robot.momentum(q, v) - bare.momentum(q[:n], v[:n])
    assert hubs[5] == pytest.approx(1.5 * v[n:].sum(), rel=1e-12)
    first = robot.mass * robot.center_of_mass(q) - bare.mass * bare.center_of_mass(q[:n])
    assert first[2] == pytest.approx(1.5 * q[n:].sum(), rel=1e-12)
    h = 1e-6
    ends = [robot.center_of_mass(robot.integrate(q, v, step)) for step in (-h, h)]
    assert robot.mass * (ends[1] - ends[0]) / (2 * h) == pytest.approx(robot.momentum(q, v)[3:], abs=1e-7)
    # about the world's y axis: place and speed of each hub by hand
    cart, twist = robot.frames(q, "cart"), robot.jacobian(q, "cart") @ v
    angular = 0.0
    for x, height, rise in zip((-0.35, 0.35), q[n:], v[n:], strict=True):
        arm = cart[:3, :3] @ [x, 0.0, -0.1] if suspension == "exact" else np.array([x, 0.0, 0.0])
        turn = np.cross(twist[:3], arm) if suspension == "exact" else np.zeros(3)
        place, speed = cart[:3, 3] + arm, twist[3:] + turn
        angular += 1.5 * (height * speed[0] - place[0] * rise)
    assert hubs[1] == pytest.approx(angular, rel=1e-12)


def test_the_weight_of_hubs_is_gravity_in_every_method():
    found = []
    for method in METHODS:
        text = CART.format(damping=1, tyre=TYRE.format(damping=0), method=method)
        robot = flexdyn_ros.load(text)
        terms = robot.bias_terms(np.array([0.0, 0.4, 0.0, 0.1]), np.zeros(4))
        assert terms.gravity == pytest.approx([0.0, 20 * 9.8, 0.0, 9.8], abs=1e-12)
        assert terms.external == pytest.approx(np.zeros(4), abs=1e-10)
        found.append(terms)
    assert np.allclose(found[0], found[1], rtol=0, atol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_an_implicit_step_bears_a_tyre_that_is_stiff_against_its_hub(method):
    """Both masses on their springs in closed form; the hub has 226 Hz, at which rk4 takes 2 ms at most."""
    tyre = '<tyre stiffness="2e5" damping="20" radius="0.1" mass="0.1"/>'
    robot, h = flexdyn_ros.load(CART.format(damping=50, tyre=tyre, method=method)), 4e-3
    springs, dampers = (np.array([[s, -s], [-s, s + t]]) for s, t in ((1000.0, 2e5), (50.0, 20.0)))
    M = np.diag([20.0, 0.1])
    rest = np.linalg.solve(springs, [-20.0 * 9.8 + 1000.0 * 0.3, -0.1 * 9.8 - 1000.0 * 0.3 + 2e5 * 0.1])
    q, v = robot.neutral(), np.zeros(robot.nv)
    q[[1, 3]] = rest + [0.03, 0.0]
    A = np.block(
        [[np.zeros((2, 2)), np.eye(2)], [-np.linalg.solve(M, springs), -np.linalg.solve(M, dampers)]]
    )
    stepper = Stepper(robot, h, "rosenbrock", q0=q, v0=v)
    for k in range(1, 26):
        assert stepper.advance(1) == 0
        expected = rest + (expm(k * h * A) @ [0.03, 0.0, 0.0, 0.0])[:2]
        assert np.abs(stepper.q[[1, 3]] - expected).max() < 1e-4
    assert abs(stepper.q[1] - q[1]) > 5e-3


@pytest.mark.parametrize("method", METHODS)
def test_a_boom_that_is_mounted_at_an_angle_is_one_that_has_turned_by_it(method):
    beams = "".join(
        f'<flexdyn reference="{link}"><beam length="2" mass_per_length="1.5" EIy="400" EIz="400" GJ="400" '
        'EA="1e6" polar_inertia="0"/><modes bending_z="1"/></flexdyn>'
        for link in ("boom", "jib")
    )
    boom = (
        '<link name="boom"/><joint name="lift" type="continuous"><parent link="cart"/><child link="boom"/>'
        '<origin xyz="0.1 0 0.2" rpy="0 {} 0"/><axis xyz="0 1 0"/></joint>'
        '<link name="jib"/><joint name="fold" type="continuous"><parent link="boom"/><child link="jib"/>'
        f'<origin xyz="2 0 0"/><axis xyz="0 1 0"/></joint>{beams}<flexdyn>'
    )
    cart = CART.format(damping=50, tyre="", method=method)
    tilted, straight = (flexdyn_ros.load(cart.replace("<flexdyn>", boom.format(x), 1)) for x in (0.3, 0.0))
    assert tilted.q_names == straight.q_names
    q, v, tau = np.array([0.1, 0.25, 0.05, 0.2, 0.03, 0.4, -0.02]), np.linspace(0.1, 0.5, 7), np.zeros(7)
    turned = q.copy()
    turned[straight.q_names.index("lift")] += 0.3
    found, expected = tilted.forward_dynamics(q, v, tau), straight.forward_dynamics(turned, v, tau)
    np.testing.assert_allclose(found, expected, rtol=1e-10)
    np.testing.assert_allclose(tilted.mass_matrix(q), straight.mass_matrix(turned), rtol=1e-10, atol=1e-12)


# ---- runs ----


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("tyre", [False, True])
@pytest.mark.parametrize("damping", [0, 50])
def test_a_cart_that_jumps_and_lands_keeps_its_energy_balance(method, tyre, damping):
    robot, q, v = lifted(method, damping, tyre)
    run = flexdyn_ros.simulate(robot, 1.0, q, v, method="rk4", dt=1e-4, record_every=10)
    assert {event.name for event in run.events} == {"w/contact"}
    balance = run.energy.total - run.work + run.dissipated
    assert np.ptp(balance) <= 1e-5 * run.energy.total[0]
    assert (np.diff(run.dissipated) >= 0.0).all()
    assert (run.dissipated[-1] > 50.0) == (damping > 0)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("tyre", [False, True])
@pytest.mark.parametrize("damping", [0, 50])
def test_a_default_run_of_a_cart_that_jumps_and_lands_keeps_its_energy_balance(method, tyre, damping):
    """What the damper takes has kinks where the motion has none: its error bounds the steps too."""
    robot, q, v = lifted(method, damping, tyre)
    run = flexdyn_ros.simulate(robot, 1.0, q, v)
    assert run.balance_error < 1e-4
    fine = flexdyn_ros.simulate(robot, 1.0, q, v, rtol=1e-9)
    assert fine.balance_error < 1e-6


@pytest.mark.parametrize("method", ["rk4", "dop853"])
def test_a_run_that_begins_in_the_air_ends_where_the_wheel_leaves_the_ground_again(method):
    robot, q, v = lifted("floating_frame", 0)
    found = {}
    for contact in ("monitor", "stop"):
        robot = flexdyn_ros.load(robot.description.text, options={"road.contact": contact})
        found[contact] = flexdyn_ros.simulate(robot, 1.5, q, v, method=method, dt=0.01)
    landing, leaving = found["monitor"].events[:2]
    assert leaving.time > landing.time + 0.1
    assert found["stop"].status == 1
    assert found["stop"].t[-1] == pytest.approx(leaving.time, abs=1e-6)


@pytest.mark.parametrize("tyre", [False, True])
@pytest.mark.parametrize("damping", [0, 50])
def test_a_step_ends_where_a_wheel_lands_wherever_that_is(tyre, damping):
    """A step across the landing may miss the kink of the force: of forty starts some were off by 1e-5."""
    robot, q, v = lifted("floating_frame", damping, tyre)
    for height in np.linspace(-1e-4, 1e-4, 8):
        run = flexdyn_ros.simulate(robot, 0.5, [*q[:1], q[1] + height, *q[2:]], v, rtol=1e-9)
        assert run.balance_error < 1e-6
        assert [event.name for event in run.events] == ["w/contact"] * len(run.events)
        landing = run.events[0]
        assert abs(robot.wheel_forces(landing.q, landing.v).normal[0]) < 1e-3


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("step", ["rosenbrock", "semi_implicit_euler"])
def test_the_energy_balance_of_implicit_steps_on_landing_falls_with_the_step(method, step):
    robot, q, v = lifted(method, 50, tyre=True)
    found = []
    for dt in (4e-4, 1e-4):
        run = flexdyn_ros.simulate(robot, 0.6, q, v, method=step, dt=dt)
        found.append(np.ptp(run.energy.total - run.work + run.dissipated))
    assert found[1] <= 0.4 * found[0]
    assert found[1] <= 0.02 * run.energy.total[0]


class Rooms(Memory):
    """Memory that knows where it gave room."""

    def __init__(self):
        super().__init__()
        self.given = []

    def room(self, values):
        array = super().room(values)
        self.given.append(range(array.ctypes.data, array.ctypes.data + 8 * array.size))
        return array


@pytest.mark.parametrize("wheels", [1, 3, 9])
def test_steps_on_wheels_stay_within_the_memory_that_they_ask_for(wheels):
    text = CART.format(damping=50, tyre="", method="articulated")
    head, _, tail = text.partition("<wheel")
    wheel, _, tail = ("<wheel" + tail).partition("</wheel>")
    places = ((f'"w{k}"', f'"{0.1 * k} 0 0"') for k in range(wheels))
    more = "".join(wheel.replace('"w"', name).replace('"0 0 0"', at) + "</wheel>" for name, at in places)
    robot = flexdyn_ros.load(head + more + tail)
    q, v, zeros, memory = np.array([0.0, 0.2, 0.01]), np.array([0.5, -0.2, 0.3]), np.zeros(3), Rooms()
    with memory.in_use():
        found = accelerations(robot.motion, memory, q, v, zeros, zeros, 0.0, zeros)
    assert found.astype(float) == pytest.approx(robot.forward_dynamics(q, v), rel=1e-12)
    assert (robot.wheel_forces(q, v).normal > 0.0).all()
    # what is read elsewhere belongs to the robot
    assert memory.read
    assert not any(address in room for address, _ in memory.read for room in memory.given)
