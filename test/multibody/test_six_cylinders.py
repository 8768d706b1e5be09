"""A free body on six cylinders is a platform: methods equal families/platform, whose equations others check
(test/families/platform/test_platform_checks.py, worked numbers, what version 0.2 says).

The robot is H1 of the literature's size, shipped as `stewart_1t` (docs/theory/platform.md, "Worked example").
"""

from pathlib import Path

import numpy as np
import pytest

import flexdyn_ros as fd
from flexdyn_ros.errors import DescriptionError
from flexdyn_ros.families.trees.elements import packed
from flexdyn_ros.families.trees.elements.kernels.views import JOINS

ROOT = Path(__file__).parents[2]
HOME = 1.146818566
FEET, ANCHORS = (-10, 10, 110, 130, 230, 250), (-52, 52, 68, 172, 188, -68)
CASES = ("ideal", "electric", "massless", "none", "universal")
DRIVES = {"electric": "<electric maximum='25000' speed='0.6'/>"}


def around(radius, degrees, z=0.0):
    """A point of a circle, as text."""
    angle = np.radians(degrees)
    return f"{radius * np.cos(angle):.17g} {radius * np.sin(angle):.17g} {z:.17g}"


def six_cylinders(case):
    """A free body on six cylinders that stand on the ground; its coordinates begin at zero at home."""
    legs = ""
    for i, (foot, anchor) in enumerate(zip(FEET, ANCHORS, strict=True), 1):
        axis = f"axis='{around(1.0, foot + 90)}' axial_inertia='0.12'" if case == "universal" else ""
        spin = "axial_inertia='0.012'" if case == "universal" else ""
        swinging = (
            f"<barrel mass='45' com='0.40' inertia='4.5' {axis}/>"
            f"<rod mass='20' com='-0.45' inertia='1.6' {spin}/>"
        )
        legs += f"""<cylinder name="leg_{i}" base="ground" base_xyz="{around(1.2, foot)}" end="platform"
          end_xyz="{around(0.9, anchor)}" minimum_length="1.10" stroke="0.60">
          {DRIVES.get(case, "<force/>")}{"" if case == "massless" else swinging}</cylinder>"""
    return f"""<robot name="free_body"><link name="ground"/><link name="foundation"/>
      <joint name="bolts" type="fixed"><parent link="ground"/><child link="foundation"/></joint>
      <link name="platform"><inertial><origin xyz="0 0 0.30"/><mass value="1000"/>
        <inertia ixx="280" ixy="0" ixz="0" iyy="280" iyz="0" izz="420"/></inertial></link>
      <joint name="platform" type="floating"><parent link="ground"/>
        <child link="platform"/><origin xyz="0 0 {HOME}"/></joint>
      <flexdyn><gravity>0 0 -9.80665</gravity>{legs}</flexdyn></robot>"""


def shipped(case, folder):
    """The platform; without masses of legs, as `case` says."""
    text = (ROOT / "urdf/stewart_1t.urdf.xacro").read_text()
    begin, end = text.index("<hydraulics>"), text.index("</hydraulics>") + len("</hydraulics>")
    text = text[:begin] + text[end:]
    if case == "massless":
        for mass in ("45", "20"):
            text = text.replace(f'<mass value="{mass}"/>', '<mass value="0"/>')
        for old in ('ixx="4.5"', 'iyy="4.5"', 'izz="0.12"', 'ixx="1.6"', 'iyy="1.6"', 'izz="0.012"'):
            text = text.replace(old, f'{old[:3]}="0"')
    spin = "universal" if case == "universal" else "none"
    path = folder / f"{case}.urdf.xacro"
    path.write_text(text)
    return fd.load(path, options={"formulation": {"leg_spin": spin}})


@pytest.fixture(scope="module", params=CASES)
def both(request, tmp_path_factory):
    platform = shipped(request.param, tmp_path_factory.mktemp("platform"))
    return fd.load(six_cylinders(request.param)), platform, request.param


def poses(robot, count=12, seed=3):
    """Poses within strokes, twists and accelerations."""
    rng = np.random.default_rng(seed)
    q = np.array([robot.random(rng) for _ in range(count)])
    return q, 0.5 * rng.standard_normal((count, 6)), rng.standard_normal((count, 6))


def seen(q):
    """The same poses as coordinates of the free body."""
    return q - np.array([0.0, 0.0, HOME, 0.0, 0.0, 0.0, 0.0])


def near(found, expected, tolerance=1e-11):
    """Relative to the largest entry."""
    assert np.abs(found - expected).max() <= tolerance * np.abs(expected).max()


def test_lengths_and_rates(both):
    free, platform, _ = both
    q, v, _ = poses(platform)
    legs, cylinders = platform.inverse_kinematics(q, v), free.cylinder_states(seen(q), v)
    near(cylinders.length, legs.length, 1e-13)
    near(cylinders.rate, legs.rate, 1e-12)
    near(cylinders.stroke, legs.stroke, 1e-12)
    near(free.actuation_matrix(seen(q))[..., 6:], platform.actuation_matrix(q))


def test_mass_matrix_bias_and_energy(both):
    free, platform, case = both
    q, v, _ = poses(platform)
    near(free.mass_matrix(seen(q)), platform.mass_matrix(q))
    near(free.bias_forces(seen(q), v), platform.bias_forces(q, v))
    one, other = free.energy(seen(q), v), platform.energy(q, v)
    near(one.kinetic, other.kinetic)
    near(one.gravity, other.gravity)
    one, other = free.momentum(seen(q), v), platform.momentum(q, v)
    near(one[:, :3], other[:, :3])
    near(one[:, 3:], other[:, 3:])
    assert free.mass == pytest.approx(platform.mass, rel=1e-14), case


def test_inverse_and_forward_dynamics(both):
    free, platform, _ = both
    q, v, a = poses(platform)
    tau = platform.inverse_dynamics(q, v, a)
    needed = free.inverse_dynamics(seen(q), v, a)
    near(np.einsum("nji,nj->ni", platform.leg_jacobian(q), tau), needed[:, :6])
    efforts = np.concatenate([np.zeros_like(v), tau], axis=-1)
    near(free.forward_dynamics(seen(q), v, efforts), a, 1e-10)
    tau = 3000.0 + 500.0 * a
    efforts = np.concatenate([np.zeros_like(v), tau], axis=-1)
    expected = platform.forward_dynamics(q, v, tau)
    near(free.forward_dynamics(seen(q), v, efforts), expected)
    near(np.array([free.forward_dynamics(*row) for row in zip(seen(q), v, efforts, strict=True)]), expected)


def test_derivatives(both):
    free, platform, _ = both
    q, v, _ = (x[0] for x in poses(platform))
    tau = np.linspace(2000.0, 3000.0, 6)
    one = free.linearize(seen(q), v, np.concatenate([np.zeros(6), tau]))
    other = platform.linearize(q, v, tau)
    near(one.A, other.A, 1e-10)
    near(one.B[:, 6:], other.B, 1e-10)


@pytest.mark.parametrize("case", ["none", "universal"])
def test_worked_pose_of_the_platform(case):
    """Pose and forces of docs/theory/platform.md to the printed digits."""
    free = fd.load(six_cylinders(case))
    turn = np.array([0.05, -0.07, 0.09, 0.99])
    q = np.concatenate([[0.06, -0.04, 1.17], turn / np.linalg.norm(turn)])
    v = np.array([0.2, -0.1, 0.25, 0.3, -0.2, 0.15])
    a = np.array([-0.6, 0.9, 0.4, 1.0, -0.5, 0.8])
    force, moment, arm = np.array([200.0, -150.0, -300.0]), np.array([30.0, -20.0, 10.0]), [0.1, 0.05, 0.4]
    wrench = np.concatenate([moment + np.cross(arm, force), force])
    printed = {
        "universal": (2297.07428, 1459.89302, 2624.91517, 2593.33272, 3437.59174, 2589.42760),
        "none": (2297.07402, 1459.90238, 2624.90518, 2593.32675, 3437.59276, 2589.41425),
    }
    needed = free.inverse_dynamics(seen(q), v, a, {"platform": wrench})[:6]
    tau = np.linalg.solve(free.actuation_matrix(seen(q))[:, 6:], needed)
    assert np.abs(tau - printed[case]).max() < 6e-6
    efforts = np.concatenate([np.zeros(6), np.full(6, 3000.0)])
    found = free.forward_dynamics(seen(q), v, efforts, {"platform": wrench})
    if case == "universal":
        expected = (1.57442652, -2.67381108, 2.35047512, 1.42657926, -0.0180900606, 3.19113843)
        assert np.abs(found - expected).max() < 6e-9


#: two arms that turn about skew axes, and a cylinder of 1.0 m and more from one to the other
ARMS = """<robot name="arms"><link name="ground"/>
  <link name="one">{inertia}</link><link name="two">{inertia}</link>
  <joint name="a" type="continuous"><parent link="ground"/><child link="one"/>
    <origin rpy="0.3 0.2 -0.1"/><axis xyz="0 1 0.3"/></joint>
  <joint name="b" type="continuous"><parent link="ground"/><child link="two"/>
    <origin xyz="0 0.2 1.2" rpy="0.1 -0.2 0.4"/><axis xyz="0.2 1 0"/></joint>{more}</robot>"""
INERTIA = """<inertial><origin xyz="{com}"/><mass value="{mass}"/>
  <inertia ixx="{across}" iyy="{across}" izz="{along}" ixy="0" ixz="0" iyz="0"/></inertial>"""
ARM = INERTIA.format(com="0.2 0.1 0", mass=5, across=0.3, along=0.4)
SWINGING = """<flexdyn><cylinder name="c" base="one" base_xyz="0.3 0 0.1" end="two" end_xyz="0.4 0.1 -0.1"
  minimum_length="0.6" stroke="1.5"><barrel mass="4" com="0.3" inertia="0.5" axial_inertia="0.2"
  axis="1 0.4 0.1"/><rod mass="2" com="-0.25" inertia="0.3" axial_inertia="0.1"/></cylinder></flexdyn>"""


def arms_with_loop():
    """The same cylinder as links on a universal joint, a slider and a spherical loop."""
    across = np.array([1.0, 0.4, 0.1]) / np.linalg.norm([1.0, 0.4, 0.1])
    links = "".join(
        f'<link name="{name}">{inertia}</link>'
        for name, inertia in (
            ("cross", ""),
            ("barrel", INERTIA.format(com="0 0 0.3", mass=4, across=0.5, along=0.2)),
            ("rod", INERTIA.format(com="0 0 -0.25", mass=2, across=0.3, along=0.1)),
        )
    )
    second = np.cross(across, [0.0, 0.0, 1.0])
    x, y = (" ".join(map(repr, each.tolist())) for each in (across, second / np.linalg.norm(second)))
    joints = f"""<joint name="u1" type="continuous"><parent link="one"/><child link="cross"/>
      <origin xyz="0.3 0 0.1"/><axis xyz="{x}"/></joint>
    <joint name="u2" type="continuous"><parent link="cross"/><child link="barrel"/><axis xyz="{y}"/></joint>
    <joint name="slide" type="prismatic"><parent link="barrel"/><child link="rod"/><origin xyz="0 0 1"/>
      <axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="0" velocity="9"/></joint>"""
    loop = """<flexdyn><loop name="ball" type="spherical" base="rod" end="two" end_xyz="0.4 0.1 -0.1"/>
    </flexdyn>"""
    return fd.load(ARMS.format(inertia=ARM, more=links + joints + loop))


@pytest.mark.parametrize("seed", range(4))
def test_a_cylinder_that_spins_between_moving_links_is_a_loop(seed):
    """Its pin's axis, inertia and acceleration move with the base: the leg's spin follows."""
    rng = np.random.default_rng(seed)
    cylinder, loop = fd.load(ARMS.format(inertia=ARM, more=SWINGING)), arms_with_loop()
    at = [loop.v_names.index(name) for name in ("a", "b")]
    q0 = loop.neutral()
    q0[at] = rng.uniform(-0.3, 0.3, 2)
    q = loop.assemble(q0, lock=("a", "b"))
    rates = rng.uniform(-1.0, 1.0, 2)
    J = loop.loop_jacobian(q)
    others = [i for i in range(loop.nv) if i not in at]
    v = np.zeros(loop.nv)
    v[at] = rates
    v[others] = np.linalg.lstsq(J[:, others], -J[:, at] @ rates, rcond=None)[0]
    tau = np.zeros(loop.nv)
    tau[at] = rng.uniform(-5.0, 5.0, 2)
    expected = loop.forward_dynamics(q, v, tau)[at]
    efforts = np.append(tau[at], 0.0)
    near(cylinder.forward_dynamics(q[at], rates, efforts), expected, 1e-9)
    near(cylinder.inverse_dynamics(q[at], rates, expected)[:2], tau[at], 1e-9)
    kinetic = cylinder.energy(q[at], rates).kinetic
    assert kinetic == pytest.approx(float(loop.energy(q, v).kinetic), rel=1e-9)
    near(cylinder.momentum(q[at], rates), loop.momentum(q, v), 1e-9)
    near(cylinder.center_of_mass(q[at]), loop.center_of_mass(q), 1e-9)


REFUSED = [
    (' axis="1 0.4 0.1"', "", "axial inertia"),
    ('axis="1 0.4 0.1"', 'axis="0 0 0"', "no length"),
    ('axis="1 0.4 0.1"', 'axis="-0.25 0.83 0.93"', "along the axis of its base"),
    (
        '<barrel mass="4" com="0.3" inertia="0.5" axial_inertia="0.2"\n  axis="1 0.4 0.1"/>',
        "",
        "rod without spin",
    ),
]


@pytest.mark.parametrize(("old", "new", "what"), REFUSED)
def test_spin_without_an_axis_is_refused(old, new, what):
    assert old in SWINGING or old.strip() in SWINGING
    text = SWINGING.replace(old.strip(), new)
    with pytest.raises(DescriptionError, match=what):
        fd.load(ARMS.format(inertia=ARM, more=text))


BEAM = """<robot name="beam"><link name="ground"/><link name="beam"/><link name="two">{inertia}</link>
  <joint name="a" type="continuous"><parent link="ground"/><child link="beam"/>
    <origin rpy="0.3 0.2 -0.1"/><axis xyz="0 1 0.3"/></joint>
  <joint name="b" type="continuous"><parent link="beam"/><child link="two"/>
    <origin xyz="0.9 0 0" rpy="0.1 -0.2 0.4"/><axis xyz="0.2 1 0"/></joint>
  <flexdyn reference="beam"><beam length="0.9" mass_per_length="4" EIy="900" EIz="700" GJ="300"/>
    <modes bending_y="2" bending_z="2"/></flexdyn>{cylinders}</robot>"""


def swinging(name, base, base_xyz, end, end_xyz, spins):
    """A cylinder with masses, its base pin a universal joint if it spins."""
    axial = ('axial_inertia="0.2"', 'axial_inertia="0.1"') if spins else ("", "")
    axis = 'axis="0.1 1 0.1"' if spins else ""
    return f"""<cylinder name="{name}" base="{base}" base_xyz="{base_xyz}" end="{end}" end_xyz="{end_xyz}"
      minimum_length="0.3" stroke="2"><barrel mass="4" com="0.3" inertia="0.5" {axial[0]} {axis}/>
      <rod mass="2" com="-0.25" inertia="0.3" {axial[1]}/></cylinder>"""


STANDING = ("world", "0.3 0.4 -0.9"), ("two", "0.3 0.1 -0.2")
ON_A_STATION = ("world", "0.3 0.1 -0.9"), ("beam@0.6", "0 0 -0.1")
BETWEEN = ("beam@0.3", "0 0.1 -0.3"), ("two", "0.4 0.1 -0.3")


@pytest.mark.parametrize("spins", [False, True])
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("text", ["rigid", "flexible", "both", "rows"])
def test_masses_on_the_world_join_the_inertia_of_links(text, turned, spins, monkeypatch):
    """Single states take the recursion with the gains of inertias, or rows or the mass matrix of a step;
    batches the mass matrix of the verbs."""
    if text == "rows":
        monkeypatch.setattr(packed, "MOST_DENSE", 0)
    places = {"rigid": [STANDING], "flexible": [STANDING, ON_A_STATION]}.get(text, [STANDING, BETWEEN])
    ends = [place[::-1] if turned else place for place in places]
    cylinders = "".join(swinging(f"c{i}", *a, *b, spins) for i, (a, b) in enumerate(ends))
    beam = BEAM.format(inertia=ARM, cylinders=f"<flexdyn>{cylinders}</flexdyn>")
    robot = fd.load(beam, options={"formulation": {"flexible": False}} if text == "rigid" else None)
    joined = robot.functions.layers[0].packed.table.reshape(len(places), -1)[:, JOINS]
    assert (joined > 0).sum() == {"rigid": 1, "flexible": 2, "both": 0, "rows": 1}[text]
    rng = np.random.default_rng(5)
    for _ in range(3):
        q, v = 0.02 * rng.standard_normal(robot.nv), rng.standard_normal(robot.nv)
        tau = rng.standard_normal(robot.nu)
        a = robot.forward_dynamics(q, v, tau)
        M, h = robot.mass_matrix(q), robot.bias_forces(q, v)
        near(M @ a, robot.actuation_matrix(q) @ tau - h, 1e-9)
        near(a, robot.forward_dynamics(np.array([q]), np.array([v]), np.array([tau]))[0], 1e-9)
    # a batch of seventeen, with and without a wrench
    q, v = 0.02 * rng.standard_normal((17, robot.nv)), rng.standard_normal((17, robot.nv))
    tau, wrench = rng.standard_normal((17, robot.nu)), {"two": rng.standard_normal((17, 6))}
    J = robot.jacobian(q, "two")
    for given, more in ((None, 0.0), (wrench, np.einsum("nij,ni->nj", J, wrench["two"]))):
        a = robot.forward_dynamics(q, v, tau, given)
        needed = np.einsum("nij,nj->ni", robot.actuation_matrix(q), tau) - robot.bias_forces(q, v) + more
        near(np.einsum("nij,nj->ni", robot.mass_matrix(q), a), needed, 1e-9)
