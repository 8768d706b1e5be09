"""Elements in two descriptions of one machine, the worked example of a boom on a cylinder, and MuJoCo."""

import re

import mujoco
import numpy as np
import pytest

import flexdyn_ros
from flexdyn_ros.errors import FlexdynError

BOOM = """<robot name="boom"><link name="base"/>
<link name="boom"><inertial><origin xyz="1.2 0 0"/><mass value="100"/>
  <inertia ixx="60" iyy="60" izz="60" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="lift" type="revolute"><parent link="base"/><child link="boom"/><axis xyz="0 -1 0"/>
  <limit lower="-1" upper="2" effort="0" velocity="3"/></joint>
<flexdyn><gravity>0 0 -9.81</gravity>{}</flexdyn></robot>"""
PINS = 'base="world" base_xyz="0.5 0 -0.6" end="boom" end_xyz="1 0 -0.1"'
CYLINDER = f'<cylinder name="c" {PINS} minimum_length="0.6" stroke="0.8">{{}}</cylinder>'
MASSES = '<barrel mass="20" com="0.3" inertia="1.5"/><rod mass="10" com="-0.35" inertia="0.8"/>'
ELASTIC = (
    '<flexdyn reference="lift"><rotor inertia="0.2" gear_ratio="5"/><joint_elasticity stiffness="9e3"'
    ' damping="40"/></flexdyn><flexdyn>'
)


def link(name, mass=2.0, com="0.1 0.2 -0.1"):
    return (
        f'<link name="{name}"><inertial><origin xyz="{com}"/><mass value="{mass}"/>'
        '<inertia ixx="0.2" iyy="0.3" izz="0.25" ixy="0.01" ixz="0" iyz="0.02"/></inertial></link>'
    )


def joint(name, kind, parent, child, axis="0 0 1", origin="0.3 0.1 0.2", rpy="0.2 -0.4 0.6"):
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{origin}" rpy="{rpy}"/><axis xyz="{axis}"/>'
        '<limit lower="-2" upper="2" effort="9" velocity="9"/></joint>'
    )


def arm(kind, axis, tags):
    """Two links behind each other, the second on a joint of that kind."""
    links = '<link name="l0"/>' + link("l1") + link("l2", 1.0)
    joints = joint("a", "revolute", "l0", "l1", "0 1 0") + joint("b", kind, "l1", "l2", axis)
    return f'<robot name="arm">{links}{joints}{tags}</robot>'


def alike(one, other, seed=0):
    """That two robots with the same coordinates answer alike."""
    rng = np.random.default_rng(seed)
    q, v, a = (rng.uniform(-0.6, 0.6, one.nv) for _ in range(3))
    tau = rng.uniform(-0.6, 0.6, one.nu)
    assert np.allclose(one.inverse_dynamics(q, v, a), other.inverse_dynamics(q, v, a), rtol=0, atol=1e-11)
    assert np.allclose(
        one.forward_dynamics(q, v, tau), other.forward_dynamics(q, v, tau), rtol=1e-9, atol=1e-9
    )
    assert one.energy(q, v).elastic == pytest.approx(other.energy(q, v).elastic, rel=1e-12)
    assert np.allclose(one.linearize(q, v, tau).A, other.linearize(q, v, tau).A, rtol=1e-8, atol=1e-8)


def test_a_spring_along_a_slider_is_a_spring_of_the_joint():
    # the origin of l2 is 0.9 m ahead of that of the joint along its axis
    along = (
        '<flexdyn><spring name="s" base="l1" base_xyz="{}" end="l2" stiffness="70" damping="3" '
        'free_length="0.7"/></flexdyn>'
    )
    z = flexdyn_ros.load(arm("prismatic", "0 0 1", "")).frames(np.zeros(2), ["l1", "l2"])
    T = np.linalg.inv(z[0]) @ z[1]
    point = T[:3, 3] - 0.9 * T[:3, 2]
    one = flexdyn_ros.load(arm("prismatic", "0 0 1", along.format(" ".join(map(repr, map(float, point))))))
    tags = '<flexdyn reference="b"><joint_spring stiffness="70" reference="-0.2"/></flexdyn>'
    text = arm("prismatic", "0 0 1", tags).replace(
        'effort="9" velocity="9"/></joint><flexdyn',
        'effort="9" velocity="9"/><dynamics damping="3"/></joint><flexdyn',
    )
    alike(one, flexdyn_ros.load(text))


def test_a_torsion_spring_about_a_hinge_is_a_spring_of_the_joint():
    tags = (
        '<flexdyn><torsion_spring name="s" base="l1" base_rpy="0.2 -0.4 0.6" end="l2" axis="1 2 -1" '
        'stiffness="30" damping="2" reference="0.3"/></flexdyn>'
    )
    one = flexdyn_ros.load(arm("revolute", "1 2 -1", tags))
    tags = '<flexdyn reference="b"><joint_spring stiffness="30" reference="0.3"/></flexdyn>'
    text = arm("revolute", "1 2 -1", tags)
    alike(one, flexdyn_ros.load(text.replace("</joint><flexdyn", '<dynamics damping="2"/></joint><flexdyn')))


def test_a_spring_on_a_tip_is_one_on_a_link_fixed_to_it():
    beam = """<robot name="beam"><link name="base"/><link name="arm"/><link name="hand"/>
    <joint name="j" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/></joint>
    <joint name="f" type="fixed"><parent link="arm"/><child link="hand"/><origin xyz="1 0 0"/></joint>
    <flexdyn reference="arm"><beam length="1" mass_per_length="2" EIy="60" EIz="50"/>
      <modes bending_y="2" bending_z="2"/></flexdyn>
    <flexdyn><spring name="s" base="world" base_xyz="0.4 0.3 -0.8" end="{}" end_xyz="0.05 0 0.1"
      stiffness="200" damping="5" free_length="0.2"/></flexdyn></robot>"""
    one, other = (flexdyn_ros.load(beam.format(end)) for end in ("arm@tip", "hand"))
    rng = np.random.default_rng(3)
    q, v, a = (0.05 * rng.standard_normal(one.nv) for _ in range(3))
    assert np.allclose(one.inverse_dynamics(q, v, a), other.inverse_dynamics(q, v, a), rtol=0, atol=1e-11)
    assert np.allclose(one.linearize(q, v).A, other.linearize(q, v).A, rtol=1e-9, atol=1e-8)


def test_the_worked_example_of_a_boom_on_a_cylinder():
    """Sources: computed by natural coordinates with a constant mass matrix, outside this package."""
    r = flexdyn_ros.load("boom_on_cylinder")
    q, v = np.array([0.4]), np.array([0.5])
    assert r.actuators == ("hoist",)
    cylinder = r.cylinder_states(q, v)
    assert cylinder.length == pytest.approx([1.0083510615139373], rel=1e-12)
    assert cylinder.stroke == pytest.approx([1.0083510615139373 - 0.69], rel=1e-12)
    assert cylinder.force_limits.tolist() == [[-6000.0, 6000.0]]
    assert r.actuation_matrix(q)[0, 1] == pytest.approx(0.718656275629, rel=1e-11)
    assert r.mass_matrix(q) == pytest.approx(np.array([[213.258593240009]]), rel=1e-12)
    assert r.bias_forces(q, v) == pytest.approx([1186.023492266085], rel=1e-12)
    assert r.bias_terms(q, v).gravity == pytest.approx([1186.244065044431], rel=1e-12)
    assert r.energy(q, v).gravity == pytest.approx(391.6939300595758, rel=1e-12)
    assert r.forward_dynamics(q, v, r.efforts({"hoist": 2000.0})) == pytest.approx(
        [1.178330285193], rel=1e-11
    )
    holding = r.bias_terms(q, v).gravity[0] / r.actuation_matrix(q)[0, 1]
    assert holding == pytest.approx(1650.641767520537, rel=1e-12)
    assert r.mass == pytest.approx(130.0)


@pytest.mark.parametrize("joint", ["stiff", "elastic"])
def test_masses_of_nothing_change_nothing(joint):
    light = MASSES.replace('"20"', '"0"').replace('"10"', '"0"').replace("1.5", "0").replace("0.8", "0")
    boom = BOOM if joint == "stiff" else BOOM.replace("<flexdyn>", ELASTIC)
    one, other = (flexdyn_ros.load(boom.format(CYLINDER.format(text))) for text in (light, ""))
    q, v, tau = np.array([0.4, 0.3])[: one.nv], np.array([0.5, -0.6])[: one.nv], 100.0 * np.arange(one.nu)
    assert one.forward_dynamics(q, v, tau) == pytest.approx(other.forward_dynamics(q, v, tau), rel=1e-12)


STATE = np.array([[0.4], [0.5], [0.6]])
SPINNING = (
    '<barrel mass="20" com="0.3" inertia="1.5" axial_inertia="0.4" axis="1 0.4 0.1"/>'
    '<rod mass="10" com="-0.35" inertia="0.8" axial_inertia="0.1"/>'
)
CHANGED = {
    "spring": f'<spring name="c" {PINS} stiffness="70" damping="3" free_length="0.2"/>',
    "torsion_spring": '<torsion_spring name="c" base="base" end="boom" axis="0 2 0" stiffness="30"'
    ' damping="2" reference="0.3"/>',
    "swinging": CYLINDER.format(MASSES),
    "spinning": CYLINDER.replace("world", "base").format(SPINNING),
}


@pytest.mark.parametrize("kind", CHANGED)
def test_parameters_that_change_are_other_numbers_of_the_description(kind):
    text = BOOM.format(CHANGED[kind])
    robot = flexdyn_ros.load(text)
    names = [name for p in robot.parameters if (name := p.name).startswith("c/")]
    assert len(names) == {"swinging": 4, "spinning": 6}.get(kind, 2)
    for name in names:
        part, _, attribute = name.removeprefix("c/").partition("_")
        at = text.index(f"<{part}") if attribute else text.index('name="c"')
        changed = text[:at] + re.sub(
            rf'\b{attribute or part}="[^"]*"', f'{attribute or part}="7"', text[at:], count=1
        )
        other = flexdyn_ros.load(changed)
        assert other.inverse_dynamics(*STATE) != pytest.approx(robot.inverse_dynamics(*STATE), abs=1e-6)
        alike(robot.with_parameters({name: 7.0}), other)


def test_joints_that_show_elements_have_the_rates_of_their_places():
    """Six of each, seen from a base that moves itself."""
    spring = (
        '<spring name="s" base="l1" base_xyz="0.1 0.3 0.2" end="l2" end_xyz="0.7 -0.4 0.5" stiffness="1"/>'
        '<cylinder name="c" base="world" base_xyz="0.4 -0.6 -0.5" end="l2" end_xyz="0.2 0.1 0.3"'
        f' minimum_length="0.2" stroke="4">{MASSES}</cylinder>'
    )
    robot = flexdyn_ros.load(arm("floating", "0 0 1", f'<flexdyn><base type="floating"/>{spring}</flexdyn>'))
    shown, rng, h = flexdyn_ros.expand(robot), np.random.default_rng(2), 1e-6
    q, v = (
        robot.integrate(robot.neutral(), 0.3 * rng.standard_normal(robot.nv), 1.0),
        rng.standard_normal(robot.nv),
    )
    ahead, behind = (shown.joint_positions(robot.integrate(q, v, step)) for step in (h, -h))
    named = [i for i, name in enumerate(shown.joint_names) if name.startswith(("s/", "c/"))]
    assert len(named) == 12
    rates = shown.joint_velocities(q, v)
    np.testing.assert_allclose(rates[named], ((ahead - behind) / (2.0 * h))[named], atol=1e-7)
    assert (np.abs(rates[named]) > 1e-3).all()


@pytest.mark.parametrize(("method", "bound"), [("rosenbrock", 3e-5), ("rk4", 1e-9)])
def test_elements_take_and_give_the_energy_that_runs_tell(method, bound):
    """Few steps, which interpreted kernels do too."""
    tags = (
        '<flexdyn><gravity>0 0 -9.81</gravity><spring name="s" base="world" base_xyz="0.2 0.6 -0.3" end="l2"'
        ' end_xyz="0.2 -0.1 0.3" stiffness="70" damping="6" free_length="0.2"/><torsion_spring name="t"'
        ' base="l0" end="l1" axis="0 1 0" stiffness="30" damping="2" reference="0.3"/><cylinder name="c"'
        ' base="l0" base_xyz="0.5 0 -0.6" end="l1" end_xyz="0.2 0.4 0.3" minimum_length="0.2" stroke="2">'
        f"{MASSES}</cylinder></flexdyn>"
    )
    robot = flexdyn_ros.load(arm("revolute", "0 0 1", tags))
    run = flexdyn_ros.simulate(
        robot, 0.01, [0.3, -0.4], [2.0, -3.0], dt=1e-3, method=method, control=[0.0, 0.0, 900.0]
    )
    assert abs(run.work[-1]) > 0.1
    assert run.dissipated[-1] > 0.05
    assert np.abs(run.balance()).max() < bound
    lengths = robot.cylinder_states(run.q[[0, -1]], run.v[[0, -1]]).length[:, 0]
    assert run.work[-1] == pytest.approx(900.0 * np.diff(lengths)[0], rel=1e-4)


@pytest.mark.parametrize("seed", range(5))
def test_springs_are_those_of_mujoco(seed):
    """Spatial tendons of MuJoCo with stiffness, damping and rest length, on an arm of two hinges."""
    rng = np.random.default_rng(seed)
    a, b = rng.uniform(-0.5, 0.5, 3), rng.uniform(-0.5, 0.5, 3)
    ends = [" ".join(map(repr, x.tolist())) for x in (a, b)]
    spring = (
        f'<spring name="s" base="world" base_xyz="{ends[0]}" end="l2" end_xyz="{ends[1]}" stiffness="80" '
        'damping="4" free_length="0.3"/>'
    )
    tags = f"<flexdyn><gravity>0 0 -9.81</gravity>{spring}</flexdyn>"
    ours = flexdyn_ros.load(arm("revolute", "0 0 1", tags))
    xml = ours.description.text.split("<flexdyn>")[0] + "</robot>"
    spec = mujoco.MjSpec.from_string(xml)
    spec.option.gravity = [0, 0, -9.81]
    spec.worldbody.add_site(name="a", pos=a)
    spec.body("l2").add_site(name="b", pos=b)
    tendon = spec.add_tendon(name="t", stiffness=80, damping=4, springlength=[0.3, 0.3])
    tendon.wrap_site("a")
    tendon.wrap_site("b")
    model = spec.compile()
    data = mujoco.MjData(model)
    q, v, tau = (rng.uniform(-1, 1, 2) for _ in range(3))
    data.qpos[:], data.qvel[:], data.qfrc_applied[:] = q, v, tau
    mujoco.mj_forward(model, data)
    assert np.allclose(ours.forward_dynamics(q, v, tau), data.qacc, rtol=1e-9, atol=1e-9)
    assert ours.element_forces(q, v).coordinate[0] == pytest.approx(float(data.ten_length[0]), rel=1e-12)


SPRING = f'<spring name="s" {PINS} stiffness="100"/>'
REFUSED = [
    (SPRING.replace('"world"', '"wrld"'), "wrld", "world"),
    (SPRING.replace('base="world"', 'base="boom"'), "both ends", "boom"),
    (SPRING.replace('base="world"', 'base="base"').replace('end="boom"', 'end="world"'), "both ends", "base"),
    (SPRING.replace('stiffness="100"', ""), "does nothing", "stiffness"),
    (SPRING.replace('"100"', '"-1"'), "stiffness", ">= 0"),
    (SPRING.replace('end="boom"', 'end="boom@0.5"'), "does not bend", "boom"),
    (SPRING.replace('name="s"', 'name="lift"'), "has this name", "lift"),
    (SPRING + SPRING.replace('"100"', '"200"'), "twice", "s"),
    (SPRING.replace("1 0 -0.1", "0.5 0 -0.6").replace('"100"', '"100" damping="1"'), "meet", "end_xyz"),
    (CYLINDER.format("").replace('"0.6"', '"1.4"'), "apart", "minimum_length"),
    (CYLINDER.format("").replace('name="c"', 'name="lift"'), "has this name", "lift"),
    (CYLINDER.format('<force maximum="1"/><electric maximum="1" speed="1"/>'), "in one cylinder", "one"),
    (CYLINDER.format('<rod mass="1" com="0.1"/>'), "com", "< 0"),
    (CYLINDER.format("<hydraulics/>"), "hydraulics", "'supply'"),
    ('<actuation passive="lfit"/>', "lfit", "lift"),
    ('<actuation passive="lift lift"/>', "twice", "lift"),
    ('<actuation passive="lift" active="lift"/>', "active and passive", "lift"),
]


@pytest.mark.parametrize(("text", "what", "named"), REFUSED)
def test_what_is_refused_is_named(text, what, named):
    with pytest.raises(FlexdynError) as refused:
        flexdyn_ros.load(BOOM.format(text))
    assert what in str(refused.value)
    assert named in str(refused.value)


def test_ends_that_meet_within_limits_are_a_warning():
    """At lift 0.6435 (3 4 5) the boom's point (1, 0, 0) is at (0.8, 0, 0.6)."""
    text = (
        '<spring name="s" base="world" base_xyz="0.8 0 0.6" end="boom" end_xyz="1 0 0" '
        'stiffness="9" free_length="0.2"/>'
    )
    (warning,) = flexdyn_ros.load(BOOM.format(text)).warnings
    for words in ("<text>", "spring 's'", "end_xyz", "lift = 0.6435", "the ends meet", "expected another"):
        assert words in warning
    beside = (
        text.replace('xyz="0.8 0', 'xyz="0.8 0.001'),
        text.replace(' free_length="0.2"', ""),
        text.replace('xyz="0.8 0 0.6"', 'xyz="0 0 -1"'),
    )
    for other in beside:
        assert flexdyn_ros.load(BOOM.format(other)).warnings == ()


MIXTURES = [
    ("mobile_arm", "method floating_frame"),
    ("soft_arm", "kind continuum"),
]


@pytest.mark.parametrize(("name", "what"), MIXTURES)
def test_what_cannot_be_mixed_yet_is_refused_by_name(name, what):
    end = flexdyn_ros.load(name).description.links[-1].name
    spring = {"base": "world", "base_xyz": [9, 9, 9], "end": end, "stiffness": 1.0}
    with pytest.raises(FlexdynError, match=what):
        flexdyn_ros.load(name, options={"spring": {"s": spring}})


def test_joints_that_a_cylinder_moves_are_passive_unless_named():
    one = flexdyn_ros.load(BOOM.format(CYLINDER.format("")).replace('effort="0"', 'effort="10"'))
    assert one.actuators == ("c",)
    active = CYLINDER.format("") + '<actuation active="lift"/>'
    assert flexdyn_ros.load(BOOM.format(active).replace('effort="0"', 'effort="10"')).actuators == (
        "lift",
        "c",
    )


def test_reactions_count_the_force_of_the_cylinder():
    """At rest the hinge and the pin on the boom carry its weight; no moment is left about the hinge."""
    r = flexdyn_ros.load(BOOM.format(CYLINDER.format("")))
    q, still = np.array([0.4]), np.zeros(1)
    tau = r.inverse_dynamics(q, still, still, actuators="all")
    found = r.joint_reactions(q, still, still, tau=tau)
    poses = r.frames(q, "boom")
    pin, foot = poses[:3, :3] @ [1.0, 0.0, -0.1] + poses[:3, 3], np.array([0.5, 0.0, -0.6])
    push = tau[1] * (pin - foot) / np.linalg.norm(pin - foot)
    assert found.of("lift")[3:] + push == pytest.approx([0.0, 0.0, 981.0], abs=1e-8)
    assert found.of("lift")[:3] == pytest.approx(np.zeros(3), abs=1e-8)
    without = r.joint_reactions(q, still, still)
    assert without.of("lift")[3:] == pytest.approx([0.0, 0.0, 981.0], abs=1e-8)
