"""Bases of assumed modes against each other and against printed values; imported modes against the beam."""

import numpy as np
import pytest
from flexible_robots import bent_state, cantilever

import flexdyn_ros
from flexdyn_ros.errors import DescriptionError, UnsupportedError
from flexdyn_ros.families.trees.flexible.beams.imported_modes import shortening_of_slopes

ROOTS = np.array([1.875104068711961, 4.694091132974174, 7.854757438237613])


def frequencies(text, **options):
    robot = flexdyn_ros.load(text, options=options)
    return 2 * np.pi * robot.modes(robot.neutral(), lock="joints").frequency


@pytest.mark.parametrize(
    ("basis", "count", "tolerance"),
    [
        ("eigen", 3, 1e-10),
        # both span the polynomials of degree 9 that a clamped root admits: the third mode to 1e-5
        ("polynomial", 8, 1e-5),
        ("hermite", 8, 1e-5),
        # cubic elements: error (b/n)^4/720 = 3e-5 of the third mode at 20 elements, half of it in frequency
        ("finite_element", 3, 2e-5),
    ],
)
@pytest.mark.parametrize("field", ["bending_y", "bending_z"])
def test_bases_give_the_frequencies_of_a_cantilever(basis, count, tolerance, field):
    text = cantilever(f'{field}="{count}" basis="{basis}"')
    omega = frequencies(text, **{"formulation.rotary_inertia": "paper"})
    assert omega[:3] == pytest.approx(ROOTS**2 / 100 * np.sqrt(1.4e4 / 1.2), rel=tolerance)


@pytest.mark.parametrize(("basis", "count"), [("polynomial", 8), ("hermite", 8), ("finite_element", 3)])
@pytest.mark.parametrize(
    ("field", "speed"), [("torsion", np.sqrt(1e3 / 0.02)), ("axial", np.sqrt(1e6 / 1.2))]
)
def test_bases_give_the_frequencies_of_a_held_shaft(basis, count, field, speed):
    omega = frequencies(cantilever(f'{field}="{count}" basis="{basis}"'))
    assert omega[:3] == pytest.approx((np.arange(3) + 0.5) * np.pi / 10 * speed, rel=1e-4)


def test_hermite_coordinates_are_tip_deflection_and_tip_slope():
    robot = flexdyn_ros.load(cantilever('bending_y="4" bending_z="3" axial="3" torsion="2" basis="hermite"'))
    q = np.zeros(robot.nv)
    names = {
        "beam/bending_y/1": 0.2, "beam/bending_y/2": 0.05, "beam/bending_y/3": 0.3, "beam/bending_y/4": 0.1,
        "beam/bending_z/1": -0.1, "beam/bending_z/2": 0.03, "beam/bending_z/3": 0.4,
        "beam/axial/1": 0.01, "beam/axial/2": 0.02, "beam/torsion/1": 0.07, "beam/torsion/2": 0.2,
    }  # fmt: skip
    for name, value in names.items():
        q[robot.index(name)] = value
    tip = flexdyn_ros.load(robot.description.text, options={"formulation.stiffening": "none"}).deflections(
        q, [1.0]
    )["beam"]
    assert tip.displacement[0] == pytest.approx([0.01, 0.2, -0.1], abs=1e-14)
    assert tip.rotation[0] == pytest.approx([0.07, -0.03, 0.05], abs=1e-14)
    units = {c.name: c.unit for c in robot.coordinates}
    assert units["beam/bending_y/1"] == "m"
    assert units["beam/bending_y/2"] == units["beam/bending_z/2"] == "rad"


def test_hermite_modes_have_the_matrices_of_the_mobile_specification():
    """Its sections 4 and 5: K and M_ff of one axial and two bending functions in closed form."""
    text = cantilever('axial="1" bending_z="2" basis="hermite"', L=0.8, mu=1.25, EI=214.0)
    link = flexdyn_ros.load(text, options={"formulation.rotary_inertia": "none"}).modal_integrals("beam")
    L, m, EI, EA = 0.8, 1.0, 214.0, 1e6
    K = np.diag([EA / L, 12 * EI / L**3, 4 * EI / L])
    K[1, 2] = K[2, 1] = -6 * EI / L**2
    M = m * np.array([[1 / 3, 0, 0], [0, 13 / 35, -11 * L / 210], [0, -11 * L / 210, L**2 / 105]])
    assert link.stiffness == pytest.approx(K, rel=1e-12)
    assert link.modal_mass == pytest.approx(M, rel=1e-12)


TAPERED = """
<robot name="tapered"><link name="base"/><link name="beam"/><link name="tool"><inertial><mass value="0.6"/>
  <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial></link>
  <joint name="hub" type="continuous"><parent link="base"/><child link="beam"/></joint>
  <joint name="mount" type="fixed"><parent link="beam"/><child link="tool"/><origin xyz="2 0 0"/></joint>
  <flexdyn><gravity>0 0 0</gravity></flexdyn>
  <flexdyn reference="beam"><beam><table columns="station mass_per_length EIz EIy GJ EA polar_inertia">
    {rows} 1 0.5 80 60 40 4e4 0.002</table></beam><modes {modes}/></flexdyn></robot>
"""
SMOOTH = "0 3 900 500 300 2e5 0.01"
STEP = SMOOTH + " 0.4 2 400 300 200 1e5 0.006  0.4 1 200 150 90 8e4 0.004"
MANY = 'bending_y="20" bending_z="20" torsion="20" axial="20" basis="polynomial"'
FEW = 'bending_y="2" bending_z="2" torsion="1" axial="1"'


@pytest.mark.parametrize(("rows", "tolerance"), [(SMOOTH, 1e-5), (STEP, 4e-3)])
def test_own_modes_of_a_tapered_beam_need_few_coordinates(rows, tolerance):
    """Frequencies with two own modes of the real section, the body in them, against twenty polynomials.

    Both are upper bounds of the same beam. Across a step polynomials converge slowly, elements do not: theirs
    are the lower ones there.
    """
    modes = [MANY, FEW + ' basis="finite_element" elements="24" boundary="clamped-body"', FEW]
    many, own, uniform = (frequencies(TAPERED.format(rows=rows, modes=m))[:4] for m in modes)
    assert np.all(own < many * (1 + 1e-5))
    assert own == pytest.approx(many, rel=tolerance)
    assert np.abs(uniform / many - 1.0).max() > 0.02


def test_modes_with_a_body_on_the_tip_are_those_of_the_mean_beam():
    """Deflections of the tip by each mode, which know the beam by its mean mass and polar inertia alone."""
    modes = FEW + ' boundary="clamped-body"'
    mean = "0 1.75 900 500 300 2e5 0.006 1 1.75 80 60 40 4e4 0.006"
    tapered = TAPERED.format(rows=SMOOTH, modes=modes)
    uniform = TAPERED.format(rows="ROWS", modes=modes)
    uniform = uniform.replace(uniform[uniform.index("ROWS") : uniform.index("</table>")], mean)
    one, other = (
        robot.jacobian(robot.neutral(), "tool") for robot in map(flexdyn_ros.load, (tapered, uniform))
    )
    np.testing.assert_allclose(one, other, rtol=0.0, atol=1e-9)


@pytest.mark.parametrize("polar", [0.006, 0.0])
def test_a_shaft_with_a_disc_on_its_tip_turns_as_the_characteristic_equation_says(polar):
    """GJ = 40, L = 2, discs of I = 0.04 kg m2: GJ k = w^2 I tan(k L), w / k the speed of waves, and
    w^2 = GJ / (I L) where the shaft has no inertia."""
    rows = f"0 1.75 900 500 40 2e5 {polar} 1 1.75 80 60 40 4e4 {polar}"
    disc = '<body name="disc"><mass value="2"/><inertia ixx="0.03" iyy="0.02" izz="0.02" {}/></body>'
    text = TAPERED.format(rows="ROWS", modes='torsion="1" boundary="clamped-body"')
    text = text.replace(text[text.index("ROWS") : text.index("</table>")], rows)
    text = text.replace("</flexdyn></robot>", disc.format('ixy="0" ixz="0" iyz="0"') + "</flexdyn></robot>")
    (omega,) = frequencies(text)
    if not polar:
        assert omega**2 == pytest.approx(40.0 / (0.04 * 2.0), rel=1e-9)
    else:
        wave = omega / np.sqrt(40.0 / polar)
        assert 40.0 * wave == pytest.approx(omega**2 * 0.04 * np.tan(2.0 * wave), rel=1e-9)
        assert 2.0 * wave < np.pi / 2.0


HELD = np.sqrt(1.4e4 / 1.2) / 100
PINNED, CLAMPED = np.array([3.9266023, 7.0685827]) ** 2, np.array([4.7300407, 7.8532046]) ** 2
PAPER = {"formulation.rotary_inertia": "paper"}


def test_finite_elements_follow_their_boundaries():
    """Roots of tan b = tanh b and cos b cosh b = 1 (specification serial, section 4.2)."""
    pinned = cantilever('bending_y="2" basis="finite_element" boundary="clamped-pinned" elements="40"')
    assert frequencies(pinned, **PAPER) == pytest.approx(HELD * PINNED, rel=1e-5)
    clamped = cantilever('bending_z="2" basis="finite_element" boundary="clamped-clamped" elements="40"')
    assert frequencies(clamped, **PAPER) == pytest.approx(HELD * CLAMPED, rel=1e-5)


@pytest.mark.parametrize(
    ("boundary", "roots"), [("pinned-pinned", [np.pi, 2 * np.pi]), ("free-free", [4.730040745, 7.853204624])]
)
def test_boundaries_without_a_clamped_root_say_their_frequencies(boundary, roots):
    with pytest.raises(UnsupportedError) as error:
        flexdyn_ros.load(cantilever(f'bending_y="2" boundary="{boundary}"'))
    for root in roots:
        assert f"{root**2 * HELD / (2 * np.pi):.5g}" in str(error.value)


# ---------------------------------------- imported modes


def nodes_of(text, count=2001):
    """Imported modes made of a beam's own shapes on many nodes, by the trapezoidal rule."""
    robot = flexdyn_ros.load(text, options={"formulation.stiffening": "none"})
    s = np.linspace(0.0, 1.0, count)
    link = robot.modal_integrals("beam", s)
    weight = np.full(count, 1.0 / (count - 1))
    weight[[0, -1]] *= 0.5
    L, mu, polar = 10.0, 1.2, 0.02
    tensor = np.diag([polar, polar / 2, polar / 2]) * L
    return robot, {
        "nodes": np.outer(s, [L, 0.0, 0.0]),
        "node_mass": mu * L * weight,
        "node_inertia": weight[:, None, None] * tensor,
        "displacement": link.displacement,
        "rotation": link.rotation,
        "stiffness": link.stiffness,
        "root_node": np.array(0),
        "interface_nodes": np.array([count - 1, (count - 1) // 2]),
        "interface_joints": np.array(["wrist", "middle"]),
    }


BEAM = (
    '<beam length="10" mass_per_length="1.2" EIy="900" EIz="1400" GJ="1e3" polar_inertia="0.02"/>'
    '<modes bending_y="2" bending_z="2" torsion="1"/>'
)
FILE = '<beam length="10"/><modes file="{}"/>'


def carrier(inside):
    return f"""
<robot name="carrier"><link name="base"/><link name="beam"/>
  <link name="tool"><inertial><origin xyz="0.2 0.1 0"/><mass value="2"/>
    <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.2" iyz="0.01" izz="0.15"/></inertial></link>
  <link name="side"><inertial><mass value="1"/>
    <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
  <joint name="hub" type="continuous"><parent link="base"/><child link="beam"/><axis xyz="0 1 0.2"/></joint>
  <joint name="wrist" type="continuous"><parent link="beam"/><child link="tool"/><origin xyz="10 0 0"/>
    <axis xyz="0 0 1"/></joint>
  <joint name="middle" type="continuous"><parent link="beam"/><child link="side"/><origin xyz="5 0 0"/>
    <axis xyz="1 0 0"/></joint>
  <flexdyn reference="beam">{inside}</flexdyn></robot>"""


def carrier_with(file, change=lambda text: text):
    """A file of the carrier beside a file of modes: text may name files of packages only."""
    urdf = file.with_suffix(".urdf")
    urdf.write_text(change(carrier(FILE.format(file.name))))
    return urdf


@pytest.fixture(scope="module")
def imported(tmp_path_factory):
    beam, data = nodes_of(carrier(BEAM + '<attach joint="middle" station="0.5"/>'))
    file = tmp_path_factory.mktemp("modes") / "beam.npz"
    np.savez(file, **data)
    return beam, flexdyn_ros.load(carrier_with(file)), data, file


def test_imported_modes_of_a_beam_are_the_beam(imported):
    beam, robot, _, _ = imported
    assert [c.name for c in robot.coordinates if c.kind == "mode"] == [f"beam/mode/{k}" for k in range(1, 6)]
    q, v, a = bent_state(beam, 2)
    tau = beam.inverse_dynamics(q, v, a)
    # nodes stand for a continuous beam: the trapezoidal rule of 2000 parts, h^2
    assert robot.inverse_dynamics(q, v, a) == pytest.approx(tau, rel=1e-6, abs=1e-6 * np.abs(tau).max())
    assert np.abs(robot.mass_matrix(q) - beam.mass_matrix(q)).max() < 1e-6 * np.abs(beam.mass_matrix(q)).max()
    assert robot.energy(q, v).total == pytest.approx(beam.energy(q, v).total, rel=1e-5)
    names = ["tool", "side", "beam/tip", "beam@0.3"]
    assert robot.frames(q, names) == pytest.approx(beam.frames(q, names), abs=1e-6)
    ours, theirs = (r.deflections(q, [0.0, 0.3, 1.0])["beam"] for r in (robot, beam))
    assert ours.displacement == pytest.approx(theirs.displacement, abs=1e-6)
    assert ours.curvature == pytest.approx(theirs.curvature, abs=1e-3 * np.abs(theirs.curvature).max())
    back = robot.forward_dynamics(q, v, robot.inverse_dynamics(q, v, a))
    assert back == pytest.approx(a, abs=1e-9 * np.abs(a).max())


def test_what_hangs_on_nodes_of_imported_modes_loads_them_there(imported):
    beam, robot, _, _ = imported
    q, v, a = bent_state(beam, 2)
    push = {
        "tool": np.array([9.0, -7.0, 5.0, 30.0, -20.0, 40.0]),
        "beam/tip": np.array([3.0, 8, -4, 9, 6, 25]),
    }
    stations = [0.0, 0.30025, 0.70025]
    ours, theirs = (r.loads(q, v, a, wrenches=push, stations=stations)["beam"] for r in (robot, beam))
    assert np.abs(theirs.moment).min() > 0.0
    for found, expected in ((ours.force, theirs.force), (ours.moment, theirs.moment)):
        assert found == pytest.approx(expected, abs=1e-5 * np.abs(expected).max())


@pytest.fixture(scope="module")
def shortening(imported, tmp_path_factory):
    """File of the same modes that also says how they shorten the beam."""
    data = imported[2]
    file = tmp_path_factory.mktemp("modes") / "shortening.npz"
    np.savez(file, **data, shortening=shortening_of_slopes(data["nodes"], data["rotation"]))
    return file


@pytest.mark.parametrize("stiffening", ["none", "full"])
def test_imported_modes_that_shorten_stiffen_as_the_beam(shortening, stiffening):
    texts = carrier(BEAM + '<attach joint="middle" station="0.5"/>'), carrier_with(shortening)
    beam, robot = (flexdyn_ros.load(t, options={"formulation.stiffening": stiffening}) for t in texts)
    assert robot.warnings == beam.warnings
    q, v, a = bent_state(beam, 2)
    v[0] = 6.0  # fast enough for the stiffening to matter
    M, tau = beam.mass_matrix(q), beam.inverse_dynamics(q, v, a)
    # 2000 parts by the trapezoidal rule, twice
    assert np.abs(robot.mass_matrix(q) - M).max() < 1e-6 * np.abs(M).max()
    assert np.abs(robot.inverse_dynamics(q, v, a) - tau).max() < 2e-6 * np.abs(tau).max()
    assert robot.frames(q, "beam/tip") == pytest.approx(beam.frames(q, "beam/tip"), abs=1e-6)
    ours, theirs = (r.deflections(q, [0.3, 1.0])["beam"].displacement for r in (robot, beam))
    assert ours == pytest.approx(theirs, abs=1e-6)
    if stiffening == "full":
        plain = flexdyn_ros.load(texts[0], options={"formulation.stiffening": "none"})
        assert np.abs(plain.inverse_dynamics(q, v, a) - tau).max() > 1e-3 * np.abs(tau).max()


@pytest.mark.parametrize("stiffening", ["none", "full"])
@pytest.mark.parametrize("shortens", [False, True])
def test_imported_modes_by_both_methods(imported, shortening, shortens, stiffening):
    urdf = carrier_with(shortening if shortens else imported[3])
    robot, second = (
        flexdyn_ros.load(urdf, options={"formulation.stiffening": stiffening, "formulation.method": method})
        for method in ("articulated", "lagrange")
    )
    q, v, _ = bent_state(robot, 4)
    M, h = robot.mass_matrix(q), robot.bias_forces(q, v)
    # sums over 2001 nodes, of different order
    assert np.abs(second.mass_matrix(q) - M).max() < 1e-11 * np.abs(M).max()
    assert np.abs(second.bias_forces(q, v) - h).max() < 1e-10 * np.abs(h).max()


def test_imported_modes_off_the_axis_by_both_methods(imported, tmp_path):
    """Nodes beside the axis: the frames that hang on them are there, by either method."""
    data = dict(imported[2])
    x = data["nodes"][:, 0] / 10.0
    data["nodes"] = data["nodes"] + np.outer(x, [0.0, 0.3, -0.2])
    urdf = carrier_with(
        tmp_path / "bent.npz",
        lambda text: text.replace('xyz="10 0 0"', 'xyz="10 0.3 -0.2"').replace(
            'xyz="5 0 0"', 'xyz="5 0.15 -0.1"'
        ),
    )
    data["shortening"] = shortening_of_slopes(data["nodes"], data["rotation"])
    np.savez(tmp_path / "bent.npz", **data)
    robot, second = (
        flexdyn_ros.load(urdf, options={"formulation.method": method})
        for method in ("articulated", "lagrange")
    )
    q, v, _ = bent_state(robot, 5)
    M, h = robot.mass_matrix(q), robot.bias_forces(q, v)
    assert np.abs(second.mass_matrix(q) - M).max() < 1e-11 * np.abs(M).max()
    assert np.abs(second.bias_forces(q, v) - h).max() < 1e-10 * np.abs(h).max()


def test_imported_modes_without_shortening_are_warned_of(imported):
    _, robot, _, file = imported
    assert any("'shortening'" in text and "not stiffened" in text for text in robot.warnings)
    quiet = flexdyn_ros.load(carrier_with(file), options={"formulation.stiffening": "none"})
    assert not any("shortening" in text for text in quiet.warnings)


def test_an_imported_link_is_expanded_along_its_nodes(imported):
    """Segments, tip and attachment frames stand where those of the beam stand; children hang on them."""
    beam, robot, _, _ = imported
    q, v, _ = bent_state(beam, 3)
    ours, theirs = (
        flexdyn_ros.expand(robot),
        flexdyn_ros.expand(
            flexdyn_ros.load(beam.description.text, options={"formulation.stiffening": "none"})
        ),
    )
    found = dict(zip(ours.joint_names, ours.joint_positions(q), strict=True))
    rates = dict(zip(ours.joint_names, ours.joint_velocities(q, v), strict=True))
    positions = zip(theirs.joint_names, theirs.joint_positions(q), theirs.joint_velocities(q, v), strict=True)
    for name, position, rate in positions:
        assert found[name] == pytest.approx(position, abs=1e-6)
        assert rates[name] == pytest.approx(rate, abs=1e-5)
    assert 'link="beam/at/middle"' in ours.urdf


def test_mass_of_an_imported_link_is_that_of_its_nodes(imported):
    _, robot, data, file = imported
    assert robot.mass == pytest.approx(3.0 + data["node_mass"].sum(), rel=1e-12)
    rigid = flexdyn_ros.load(carrier_with(file), options={"formulation.flexible": False})
    assert rigid.mass == pytest.approx(robot.mass, rel=1e-12)
    assert rigid.mass_matrix(np.zeros(3)) == pytest.approx(
        robot.mass_matrix(robot.neutral())[np.ix_([0, 6, 7], [0, 6, 7])], rel=1e-12
    )


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"stiffness": None}, "'stiffness' is missing"),
        ({"stifness": np.eye(5)}, "unknown array 'stifness'"),
        ({"stiffness": -np.eye(5)}, "'stiffness' is not positive"),
        ({"stiffness": np.eye(4)}, "shape"),
        ({"rotation": lambda d: d["rotation"][:, :-1]}, "shape"),
        ({"nodes": lambda d: 1000 * d["nodes"]}, "beside the joint's origin"),
        ({"node_mass": lambda d: -d["node_mass"]}, "not positive"),
        ({"displacement": lambda d: d["displacement"] + 0.1}, "does not vanish at the root node"),
        ({"displacement": lambda d: np.nan * d["displacement"]}, "finite"),
        ({"interface_joints": np.array(["wrist", "wrong"])}, "'wrong' is no child joint"),
        ({"interface_nodes": np.array([1.5, 2.0])}, "whole numbers"),
        ({"root_node": np.array(5000)}, "is no node"),
        ({"damping": -np.eye(5)}, "adds energy"),
        ({"damping": np.eye(5) + np.diag([0.0, 0.0, 0.1, 0.0], 1)}, "'damping' is not symmetric"),
        ({"stiffness": np.eye(5) + np.diag([0.0, 0.0, 0.1, 0.0], 1)}, "'stiffness' is not symmetric"),
        ({"shortening": np.ones((2001, 5, 5))}, "'shortening' does not vanish at the root node"),
        ({"shortening": np.tile(np.eye(5, k=1), (2001, 1, 1))}, "not symmetric"),
        ({"shortening": np.zeros((5, 5, 2001))}, "shape"),
    ],
)  # fmt: skip
def test_a_wrong_file_of_modes_is_refused_with_the_array(imported, tmp_path, change, words):
    data = dict(imported[2])
    for key, value in change.items():
        if value is None:
            del data[key]
        else:
            data[key] = value(imported[2]) if callable(value) else value
    file = tmp_path / "wrong.npz"
    np.savez(file, **data)
    with pytest.raises(DescriptionError, match=words) as error:
        flexdyn_ros.load(carrier_with(file))
    assert "link 'beam'" in str(error.value)
    assert error.value.expected
