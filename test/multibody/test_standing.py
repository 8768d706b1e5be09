"""Elements that stand on the world enter the recursions by groups; beside one that does not stand there all
are laws on frames: a damper without damping between two links makes a second formulation of the robot."""

import numpy as np
import pytest
from mounted_platforms import with_arm

import flexdyn_ros as fd
from flexdyn_ros.multibody.elements.kernels import standing_legs as legs

SIZE = 17


def inertial(rng, mass):
    a = rng.uniform(-0.3, 0.3, (3, 3))
    i = mass * (a @ a.T + 0.02 * np.eye(3))
    places = {"ixx": (0, 0), "ixy": (0, 1), "ixz": (0, 2), "iyy": (1, 1), "iyz": (1, 2), "izz": (2, 2)}
    inertia = " ".join(f'{name}="{i[place]:.17g}"' for name, place in places.items())
    origin = row(rng, -0.1, 0.1)
    return f'<inertial><origin xyz="{origin}"/><mass value="{mass}"/><inertia {inertia}/></inertial>'


def row(rng, low, high):
    return " ".join(f"{x:.17g}" for x in rng.uniform(low, high, 3))


def joint(rng, kind, parent, child):
    limit = (
        '<limit lower="-1" upper="1" effort="50" velocity="9"/>' if kind in ("revolute", "prismatic") else ""
    )
    axis = "" if kind in ("floating", "ball") else f'<axis xyz="{row(rng, 0.1, 1.0)}"/>'
    ball = (
        f'<flexdyn reference="{child}_joint"><joint_type>ball</joint_type></flexdyn>'
        if kind == "ball"
        else ""
    )
    kind = "floating" if ball else kind
    return ball + (
        f'<joint name="{child}_joint" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{row(rng, 0.1, 0.4)}" rpy="{row(rng, -1, 1)}"/>{axis}{limit}</joint>'
    )


def tree(seed, kinds, both):
    """A chain of joints with springs, dampers and cylinders between the world and its links."""
    rng = np.random.default_rng(seed)
    links = "".join(f'<link name="link{i}">{inertial(rng, 2.0 + i)}</link>' for i in range(1, len(kinds) + 1))
    joints = "".join(
        joint(rng, kind, f"link{i}" if i else "ground", f"link{i + 1}") for i, kind in enumerate(kinds)
    )
    far = [f"{x:.17g} {y:.17g} {z:.17g}" for x, y, z in rng.uniform(-1, 1, (5, 3)) + [5.0, -4.0, 3.0]]
    bodies = "<barrel mass='{m}' com='0.4' inertia='0.3' {b}/><rod mass='1.2' com='-0.3' inertia='0.1' {r}/>"
    plain, spinning = (
        bodies.format(m=2, b="", r=""),
        bodies.format(m=2, b="axis='1 0.2 -0.5' axial_inertia='0.05'", r="axial_inertia='0.02'"),
    )
    size = 'minimum_length="0.5" stroke="30"'
    last = len(kinds)
    elements = f"""
      <cylinder name="push" base="world" base_xyz="{far[0]}" end="link{last}" end_xyz="0.1 0.2 -0.1" {size}>
        <force/>{plain}</cylinder>
      <cylinder name="turned" base="link1" base_xyz="0.1 0 0.1" end="world" end_xyz="{far[1]}" {size}>
        <force/>{plain}</cylinder>
      <cylinder name="spun" base="world" base_xyz="{far[2]}" end="link{last}" end_xyz="0 0.1 0" {size}>
        <force/>{spinning}</cylinder>
      <cylinder name="light" base="world" base_xyz="{far[2]}" end="link1" end_xyz="0.2 0.1 0" {size}>
        <force/></cylinder>
      <spring name="soft" base="world" base_xyz="{far[3]}" end="link{last}" end_xyz="0 0 0.1" stiffness="90"
        damping="3" free_length="1"/>
      <spring name="rope" base="link1" base_xyz="0 0 0.1" end="world" end_xyz="{far[4]}" stiffness="70"
        damping="2" free_length="2" tension_only="true"/>
      <damper name="slow" base="world" base_xyz="{far[4]}" end="link{last}" end_xyz="0 0 0" damping="4"/>"""
    if both:
        elements += f'<damper name="none" base="link1" base_xyz="3 3 3" end="link{last}" damping="0"/>'
    parts = f'<link name="ground"/>{links}{joints}<flexdyn>{elements}</flexdyn>'
    return f'<robot name="standing">{parts}</robot>'


CASES = {
    "chain": ("revolute", "prismatic", "revolute"),
    "ball": ("revolute", "ball", "prismatic"),
    "floating": ("floating", "revolute", "prismatic"),
    "slide": ("prismatic", "floating"),
}


@pytest.fixture(scope="module", params=CASES)
def pair(request):
    """The robot by groups, and by laws."""
    made = [fd.load(tree(3, CASES[request.param], both)) for both in (False, True)]
    assert [bool(robot.functions.packed.groups) for robot in made] == [True, False]
    return made


def states(robot, seed=1):
    rng = np.random.default_rng(seed)
    q = np.array([robot.random(rng) for _ in range(SIZE)])
    return q, *rng.uniform(-1, 1, (2, SIZE, robot.nv)), rng.uniform(-9, 9, (SIZE, robot.nu))


def close(a, b, bound=1e-11):
    assert np.abs(a - b).max() <= bound * max(np.abs(b).max(), 1.0)


def test_accelerations_of_a_floating_robot_on_a_spring_ask_for_the_efforts_that_made_them():
    rng = np.random.default_rng(5)
    links = "".join(f'<link name="link{i}">{inertial(rng, 1.0)}</link>' for i in (1, 2))
    joints = joint(rng, "floating", "ground", "link1") + joint(rng, "revolute", "link1", "link2")
    spring = '<spring name="s" base="world" base_xyz="1 2 3" end="link2" stiffness="50" damping="1"/>'
    parts = f'<link name="ground"/>{links}{joints}<flexdyn>{spring}</flexdyn>'
    robot = fd.load(f'<robot name="afloat">{parts}</robot>')
    q, v, _, tau = (x[0] for x in states(robot))
    close(robot.inverse_dynamics(q, v, robot.forward_dynamics(q, v, tau)), tau)


def test_dynamics_are_those_of_laws_on_frames(pair):
    groups, laws = pair
    q, v, a, tau = states(groups)
    loads = {groups.frame_names[-1]: np.array([1.0, -2.0, 3.0, 4.0, 5.0, -6.0])}
    close(groups.inverse_dynamics(q, v, a), laws.inverse_dynamics(q, v, a))
    close(groups.forward_dynamics(q, v, tau), laws.forward_dynamics(q, v, tau))
    close(groups.inverse_dynamics(q, v, a, loads), laws.inverse_dynamics(q, v, a, loads))
    close(groups.forward_dynamics(q, v, tau, loads), laws.forward_dynamics(q, v, tau, loads))
    for state in range(3):
        one = q[state], v[state]
        close(groups.inverse_dynamics(*one, a[state]), laws.inverse_dynamics(*one, a[state]))
        close(groups.forward_dynamics(*one, tau[state]), laws.forward_dynamics(*one, tau[state]))
        close(groups.inverse_dynamics(*one, a[state], loads), laws.inverse_dynamics(*one, a[state], loads))


def test_derivatives_are_those_of_laws_on_frames(pair):
    groups, laws = pair
    q, v, _, tau = states(groups)
    ours, theirs = groups.linearize(q[0], v[0], tau[0]), laws.linearize(q[0], v[0], tau[0])
    close(ours.A, theirs.A, 1e-10)
    close(ours.B, theirs.B, 1e-10)


@pytest.mark.parametrize("method", ["rosenbrock", "semi_implicit_euler", "rk4"])
def test_steps_are_those_of_laws_on_frames(pair, method):
    groups, laws = pair
    q, v, _, _ = states(groups, 2)
    ours, theirs = (
        fd.simulate(robot, 0.05, q0=q[0], v0=v[0], dt=1e-3, method=method) for robot in (groups, laws)
    )
    close(ours.q[-1], theirs.q[-1], 1e-9)
    close(ours.v[-1], theirs.v[-1], 1e-9)


def test_one_spring_on_a_long_chain_has_room_for_all_links():
    rng = np.random.default_rng(5)
    links = "".join(f'<link name="link{i}">{inertial(rng, 1.0)}</link>' for i in range(1, 16))
    joints = "".join(joint(rng, "revolute", f"link{i}" if i else "ground", f"link{i + 1}") for i in range(15))
    spring = '<spring name="s" base="world" base_xyz="1 2 3" end="link15" stiffness="50" damping="1"/>'
    idle = '<damper name="none" base="link1" base_xyz="3 3 3" end="link15" damping="0"/>'
    parts = f'<link name="ground"/>{links}{joints}'
    groups, laws = (
        fd.load(f'<robot name="long">{parts}<flexdyn>{more}</flexdyn></robot>')
        for more in (spring, spring + idle)
    )
    q, v, _, tau = states(groups)
    close(groups.forward_dynamics(q, v, tau), laws.forward_dynamics(q, v, tau), 1e-9)
    ends = [
        fd.simulate(robot, 0.02, q0=q[0], v0=v[0], dt=1e-3, method="rosenbrock").q[-1]
        for robot in (groups, laws)
    ]
    close(*ends, 1e-9)


def test_parameters_are_those_of_laws_on_frames(pair):
    groups, laws = pair
    q, v, a, _ = states(groups)
    names = [
        "push/barrel_mass",
        "turned/rod_inertia",
        "spun/rod_axial_inertia",
        "soft/stiffness",
        "slow/damping",
    ]
    values = {p.name: 1.3 * p.value for p in groups.parameters if p.name in names}
    assert len(values) == len(names)
    changed = [robot.with_parameters(values).inverse_dynamics(q, v, a) for robot in (groups, laws)]
    close(*changed)
    assert np.abs(changed[0] - groups.inverse_dynamics(q, v, a)).max() > 1e-3


def test_an_arm_on_six_legs_is_that_of_laws_on_frames():
    text = with_arm()
    idle = '<damper name="none" base="platform" base_xyz="3 3 3" end="fore" damping="0"/>'
    groups, laws = fd.load(text), fd.load(text.replace("<flexdyn>", "<flexdyn>" + idle, 1))
    assert groups.functions.packed.groups
    assert not laws.functions.packed.groups
    q, v, a, tau = states(groups)
    close(groups.inverse_dynamics(q, v, a), laws.inverse_dynamics(q, v, a))
    close(groups.forward_dynamics(q, v, tau), laws.forward_dynamics(q, v, tau))


def test_parameters_of_legs_enter_derivatives_though_the_legs_are_round():
    """Moments across a leg are 0; it is taken as one with its mass on its axis, but not by parameters."""
    robot = fd.load(with_arm())
    q, v, _, tau = states(robot)
    name = next(p.name for p in robot.parameters if p.name.endswith("rod_moment_x"))
    found = robot.forward_dynamics_parameter_derivatives(q[0], v[0], tau[0], parameters=name)[..., 0]
    step = 1e-4
    here, near, far = (
        robot.with_parameters({name: x}).forward_dynamics(q[0], v[0], tau[0]) for x in (0.0, step, 2.0 * step)
    )
    assert np.abs(found).max() > 1e-3
    close(found, (4.0 * near - 3.0 * here - far) / (2.0 * step), 1e-6)


@pytest.mark.parametrize("universal", [False, True])
def test_the_short_formula_of_round_legs_is_that_of_any_leg(universal):
    """Any line, motion and gravity; masses on the axis of the leg, equal inertias across."""
    rng = np.random.default_rng(6)
    for _ in range(3):
        numbers = np.zeros(legs.STANDING_LEG)
        axis = rng.standard_normal(3)
        numbers[legs.AXIS : legs.AXIS + 3] = axis / np.linalg.norm(axis)
        numbers[legs.ROD_MASS], numbers[legs.CYLINDER_MASS] = 1.2, 2.3
        numbers[legs.ROD_MOMENT + 2], numbers[legs.CYLINDER_MOMENT + 2] = -0.4, 0.7
        numbers[legs.LEG_INERTIA : legs.LEG_INERTIA + 6] = 0.9, 0.0, 0.0, 0.9, 0.0, 0.11
        line, v, a, g = rng.standard_normal((4, 3))
        length = np.linalg.norm(line)
        given = numbers, 0, universal, line / length, length, 1.0 / length, v, a, g
        np.testing.assert_allclose(
            legs.force_of_plain_leg(*given), legs.force_of_leg(*given), rtol=0.0, atol=1e-12
        )


@pytest.mark.parametrize("universal", [False, True])
def test_a_leg_of_any_shape_obeys_the_principle_of_virtual_work(universal):
    """Of point masses anywhere on cylinder and rod, whose accelerations are differences of their places; a
    leg whose spin is neglected turns with s x s' alone."""
    rng = np.random.default_rng(4)
    for _ in range(3):
        u, line, v, a, g = rng.standard_normal((5, 3))
        u /= np.linalg.norm(u)
        (heavy, light), (barrel, rod) = rng.uniform(0.2, 1.0, (2, 4)), 0.3 * rng.standard_normal((2, 4, 3))

        def frame(place, u=u):
            """Leg axes, columns."""
            s = place / np.linalg.norm(place)
            y = np.cross(s, u)
            y /= np.linalg.norm(y)
            return np.array([np.cross(y, s), y, s]).T

        def points(place, frame=frame, barrel=barrel, rod=rod):
            """Point masses with the upper joint there."""
            R = frame(place)
            return np.concatenate([barrel @ R.T, place + rod @ R.T])

        R, length = frame(line), np.linalg.norm(line)
        s = line / length
        masses = np.concatenate([heavy, light])[:, None]
        h = 1e-4
        where = {k: line + k * h * v + 0.5 * (k * h) ** 2 * a for k in (-1, 0, 1)}
        if universal:
            behind, here, ahead = (points(where[k]) for k in (-1, 0, 1))
            acceleration = (ahead - 2.0 * here + behind) / h**2
            moved = [(points(line + 1e-6 * e) - points(line - 1e-6 * e)) / 2e-6 for e in np.eye(3)]
        else:
            rate = (v - (s @ v) * s) / length
            w = np.cross(s, rate)
            turning = np.cross(s, (a - (s @ a) * s - 2.0 * (s @ v) * rate) / length)
            arms = np.concatenate([barrel, rod]) @ R.T
            carried = np.repeat([0.0, 1.0], 4)[:, None]
            acceleration = carried * a + np.cross(turning, arms) + np.cross(w, np.cross(w, arms))
            moved = [carried * e + np.cross(np.cross(s, e) / length, arms) for e in np.eye(3)]
        expected = [(masses * (acceleration - g) * way).sum() for way in moved]

        numbers = np.zeros(legs.STANDING_LEG)
        numbers[legs.AXIS : legs.AXIS + 3] = u
        numbers[legs.ROD_MASS], numbers[legs.CYLINDER_MASS] = light.sum(), heavy.sum()
        numbers[legs.ROD_MOMENT : legs.ROD_MOMENT + 3] = light @ rod
        numbers[legs.CYLINDER_MOMENT : legs.CYLINDER_MOMENT + 3] = heavy @ barrel
        arms = np.concatenate([barrel, rod])
        I = np.einsum(
            "n,nij->ij",
            masses[:, 0],
            (arms**2).sum(1)[:, None, None] * np.eye(3) - arms[:, :, None] * arms[:, None],
        )
        numbers[legs.LEG_INERTIA : legs.LEG_INERTIA + 6] = I[np.triu_indices(3)]
        force = legs.force_of_leg(numbers, 0, universal, s, length, 1.0 / length, v, a, g)
        np.testing.assert_allclose(force, expected, rtol=0.0, atol=1e-5 * np.abs(expected).max())
