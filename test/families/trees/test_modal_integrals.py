"""Assumed modes: eigenfunctions, modal integrals, frequencies of cantilevers against analytic values."""

import numpy as np
import pytest
from reference.serial_examples import bending, cantilever, torsion
from scipy.linalg import eigh
from scipy.optimize import brentq
from serial_format import read_serial

import flexdyn_ros
from flexdyn_ros.errors import DescriptionError
from flexdyn_ros.families.trees.flexible.beams import modal_integrals, mode_shapes
from flexdyn_ros.families.trees.flexible.beams.modes import Beam, Mode, section_fields
from flexdyn_ros.families.trees.flexible.constants import link_constants
from flexdyn_ros.families.trees.lagrange.model import equations
from flexdyn_ros.numerics.algebra.placement import Placement

LENGTH, MU, EIY, EIZ, GJ, JX = 1.3, 2.1, 37.0, 23.0, 11.0, 0.004


def locked_frequencies(data, **options):
    """Angular frequencies (rad/s) of a one-link arm with its joint fixed, from K and M of the Lagrangian
    path."""
    arm = read_serial(data, rotary="paper", **options)
    n = arm.model.nv
    M = equations(arm.model, np.zeros(n), np.zeros(n)).M
    K = np.array([equations(arm.model, e, np.zeros(n)).elastic for e in np.eye(n)])
    rows = list(arm.mode_v[0])
    return np.sqrt(eigh(K[np.ix_(rows, rows)], M[np.ix_(rows, rows)], eigvals_only=True))


TABLE = {  # n: int phi, int s phi, phi'(1), int phi''^2 for clamped-free, unit tip (Meirovitch 1967)
    1: (0.39149587801981, 0.28441287185496, 1.37650548467254, 3.09059084208157),
    2: (-0.21696794755536, -0.04538339344319, 4.78077841021164, 121.379704628343),
    3: (0.12721264843306, 0.01620818718487, 7.84866604649050, 951.636566597868),
}


@pytest.mark.parametrize("n", [1, 2, 3])
def test_cantilever_shapes_have_the_tabulated_integrals(n):
    shape = mode_shapes.bending_shape(n)
    s, w = mode_shapes.gauss_legendre(32)
    phi = shape.value(s)
    computed = (w @ phi, w @ (s * phi), float(shape.slope(1.0)), w @ shape.curvature(s) ** 2)
    assert computed == pytest.approx(TABLE[n], rel=1e-12, abs=1e-13)
    assert w @ phi**2 == pytest.approx(0.25, rel=1e-13)
    assert float(shape.value(1.0)) == pytest.approx(1.0, abs=1e-14)


def test_cantilever_roots():
    exact = (1.875104068711961, 4.694091132974174, 7.854757438237613)
    assert [mode_shapes.bending_root(n) for n in (1, 2, 3)] == pytest.approx(exact, rel=1e-15)
    assert mode_shapes.bending_root(12) == pytest.approx(11.5 * np.pi, rel=1e-12)


@pytest.mark.parametrize("wrong", [(0,), (-1, 0.5, 0.5), (1, -0.1), (2, 0.5, -0.1)])
def test_modes_before_the_first_and_bodies_of_less_than_no_mass_have_no_root(wrong):
    with pytest.raises(ValueError, match=f"mode {wrong[0]}, .*: expected n >= 1 and ratios >= 0"):
        mode_shapes.bending_root(*wrong)


@pytest.mark.parametrize("n", [1, 5, 8, 12])
def test_high_shapes_keep_their_root_and_tip_conditions(n):
    """phi(0) = phi'(0) = phi''(1) = 0 hold to rounding times b^2 also where the textbook form has lost all
    digits."""
    shape = mode_shapes.bending_shape(n)
    assert abs(float(shape.value(0.0))) < 1e-13
    assert abs(float(shape.slope(0.0))) < 1e-13 * shape.root
    assert abs(float(shape.curvature(1.0))) < 1e-12 * shape.root**2


def test_cantilever_frequencies_in_both_planes_and_torsion():
    modes = [{"field": f, "shape": bending(n)} for f in "yz" for n in (1, 2, 3)]
    modes += [{"field": "twist", "shape": torsion(n)} for n in (1, 2, 3)]
    computed = locked_frequencies(cantilever(modes))
    b = np.array([1.875104068711961, 4.694091132974174, 7.854757438237613])
    flexure = [(b / LENGTH) ** 2 * np.sqrt(EI / MU) for EI in (EIZ, EIY)]
    twist = (np.arange(1, 4) - 0.5) * np.pi / LENGTH * np.sqrt(GJ / JX)
    exact = np.sort(np.concatenate([*flexure, twist]))
    assert np.sort(computed) == pytest.approx(exact, rel=1e-10)  # check 9


def tip_beam_root(n, mass_ratio, inertia_ratio):
    """n-th b of a clamped beam with tip mass and inertia, from the unexpanded 2x2 determinant (good for n <=
    3)."""

    def determinant(b):
        C, S, c, s = np.cosh(b), np.sinh(b), np.cos(b), np.sin(b)
        N, J = mass_ratio * b, inertia_ratio * b**3
        # phi = A (cosh - cos) + B (sinh - sin); EI phi''' = -M w^2 phi, EI phi'' = J w^2 phi'
        shear = (S - s + N * (C - c), C + c + N * (S - s))
        moment = (C + c - J * (S + s), S + s - J * (C - c))
        return (shear[0] * moment[1] - shear[1] * moment[0]) / C

    grid = np.linspace(0.05, 12.0, 4000)
    values = np.array([determinant(b) for b in grid])
    crossings = np.nonzero(values[:-1] * values[1:] < 0)[0]
    return brentq(determinant, grid[crossings[n - 1]], grid[crossings[n - 1] + 1], xtol=1e-15)


def test_tip_body_with_its_own_modes_has_the_exact_frequencies():
    M, J = 0.8, 0.06
    ratios = {"mass_ratio": M / (MU * LENGTH), "inertia_ratio": J / (MU * LENGTH**3)}
    modes = [{"field": "y", "shape": {**bending(n), **ratios}} for n in (1, 2, 3)]
    tip = {"mass": M, "inertia": [1e-9, 1e-9, J, 0, 0, 0]}
    computed = locked_frequencies(cantilever(modes, tip=tip))
    b = np.array([tip_beam_root(n, *ratios.values()) for n in (1, 2, 3)])
    exact = (b / LENGTH) ** 2 * np.sqrt(EIZ / MU)
    # check 10; the determinant itself is good to eps e^b, 1e-13 at the third mode
    assert computed == pytest.approx(exact, rel=1e-10)
    shaft = [{"field": "twist", "shape": {**torsion(n), "inertia_ratio": 0.7}} for n in (1, 2, 3)]
    tip = {"mass": 0.0, "inertia": [0.7 * JX * LENGTH, 0, 0, 0, 0, 0]}
    b = np.array([mode_shapes.torsion_root(n, 0.7) for n in (1, 2, 3)])
    assert np.cos(b) - 0.7 * b * np.sin(b) == pytest.approx(0.0, abs=1e-14)
    assert locked_frequencies(cantilever(shaft, tip=tip)) == pytest.approx(
        b / LENGTH * np.sqrt(GJ / JX), rel=1e-10
    )


@pytest.mark.parametrize(
    ("count", "printed"), [(1, 4.5317), (2, 3.92876), (3, 3.92675), (5, 3.926607), (8, 3.9266025)]
)
def test_hinged_link_with_clamped_modes_converges_to_the_pinned_free_beam(count, printed):
    data = cantilever([{"field": "y", "shape": bending(n)} for n in range(1, count + 1)])
    model = read_serial(data, rotary="paper").model
    n = model.nv
    M = equations(model, np.zeros(n), np.zeros(n)).M
    K = np.array([equations(model, e, np.zeros(n)).elastic for e in np.eye(n)])
    omega = np.sqrt(eigh(K, M, eigvals_only=True)[1:])
    b = LENGTH * (omega**2 * MU / EIZ) ** 0.25
    digits = len(str(printed).split(".")[1])
    assert b[0] == pytest.approx(printed, abs=0.51 * 10.0**-digits)
    if count == 8:  # check 11: exact roots of tan b = tanh b
        assert b[0] == pytest.approx(3.92660231, rel=1e-7)
        assert b[1] == pytest.approx(7.06858275, rel=1e-5)


@pytest.mark.parametrize(
    ("tip", "roots"), [("pinned", (3.92660231, 7.06858275)), ("clamped", (4.73004074, 7.85320462))]
)
def test_held_tips(tip, roots):
    for n, root in zip((1, 2), roots, strict=True):
        shape = mode_shapes.held_shape(n, tip)
        s, w = mode_shapes.gauss_legendre(40)
        assert shape.root == pytest.approx(root, rel=1e-8)
        assert [
            float(f(x)) for f, x in ((shape.value, 0.0), (shape.slope, 0.0), (shape.value, 1.0))
        ] == pytest.approx([0.0, 0.0, 0.0], abs=1e-11)
        end = shape.curvature if tip == "pinned" else shape.slope
        assert float(end(1.0)) == pytest.approx(0.0, abs=1e-9)
        assert w @ shape.value(s) ** 2 == pytest.approx(1.0, rel=1e-12)


# ---------------------------------------- integrals


def uniform_beam():
    c = mode_shapes.constant
    return Beam(LENGTH, c(MU), c(EIY), c(EIZ), c(GJ), c(500.0), c(JX), c(0.3 * JX), c(0.7 * JX))


def test_integrals_of_the_undeformed_beam_are_those_of_a_rod_with_thick_sections():
    C = modal_integrals.modal_integrals(uniform_beam(), ()).C
    m = MU * LENGTH
    exact = np.diag([m, m * LENGTH**2 / 3, 0.7 * JX * LENGTH, 0.3 * JX * LENGTH])
    exact[0, 1] = exact[1, 0] = m * LENGTH / 2
    assert pytest.approx(exact, rel=1e-14, abs=1e-16) == 2 * C


def test_axial_mode_has_the_frequency_of_a_fixed_free_rod():
    x = modal_integrals.modal_integrals(uniform_beam(), [Mode("axial", mode_shapes.axial_shape(1))])
    omega = np.sqrt(x.K[0, 0] / modal_integrals.modal_mass(x)[0, 0])
    assert omega == pytest.approx(np.pi / 2 / LENGTH * np.sqrt(500.0 / MU), rel=1e-13)


def test_foreshortening_of_a_parabola():
    """y = delta s^2: S(L) = int (2 s/L)^2 L ds = 4/(3 L), and S(s) = S(L) s^3."""
    modes = [Mode("bending_y", mode_shapes.polynomial_shape([0, 0, 1.0]))]
    for s in (1.0, 0.4):
        assert pytest.approx(4 / (3 * LENGTH) * s**3, rel=1e-14) == section_fields(LENGTH, modes, s).S


def test_signs_of_section_rotations():
    modes = [Mode(f, mode_shapes.polynomial_shape([0, 0, 1.0])) for f in ("bending_y", "bending_z")]
    tip = section_fields(2.0, modes)
    assert tip.u == pytest.approx(np.array([[0, 1, 0], [0, 0, 1]]))
    assert tip.th == pytest.approx(np.array([[0, 0, 1.0], [0, -1.0, 0]]))


def test_default_quadrature_is_exact_to_rounding():
    modes = [Mode(f, mode_shapes.bending_shape(n)) for f in ("bending_y", "bending_z") for n in (1, 3, 6)]
    a, b = (modal_integrals.modal_integrals(uniform_beam(), modes, points=n) for n in (None, 80))
    scale = np.sqrt(np.outer(np.diag(b.K), np.diag(b.K)))
    assert np.abs((a.K - b.K) / scale).max() < 1e-12
    assert np.abs(a.C2 - b.C2).max() < 1e-12 * np.abs(b.C2).max()


def test_modal_damping_gives_every_mode_its_ratio():
    modes = [
        Mode("bending_y", mode_shapes.polynomial_shape([0, 0, *c])) for c in ((1.0,), (0.0, 1.0), (0, 0, 1.0))
    ]
    x = modal_integrals.modal_integrals(uniform_beam(), modes)
    zeta = np.array([0.01, 0.03, 0.002])
    D, M = modal_integrals.modal_damping(x, zeta), modal_integrals.modal_mass(x)
    n = len(x.K)
    A = np.block([[np.zeros((n, n)), np.eye(n)], [-np.linalg.solve(M, x.K), -np.linalg.solve(M, D)]])
    roots = np.linalg.eigvals(A)
    roots = roots[roots.imag > 0]
    roots = roots[np.argsort(np.abs(roots))]
    assert -roots.real / np.abs(roots) == pytest.approx(zeta, rel=1e-8)
    assert modal_integrals.rayleigh_damping(x, 2.0, 0.0) == pytest.approx(2.0 * M)


def test_tip_body_integrals_are_those_of_the_moving_body():
    """C_k and C_kl of a body on the affine tip frame, against the kinetic energy of its points."""
    modes = [Mode("bending_y", mode_shapes.bending_shape(1)), Mode("torsion", mode_shapes.torsion_shape(1))]
    bare = modal_integrals.modal_integrals(uniform_beam(), modes)
    tip = section_fields(LENGTH, modes)
    mass, com = 0.7, np.array([0.05, -0.1, 0.2])
    loaded = modal_integrals.with_body(bare, modal_integrals.pseudo_inertia(mass, com, (0,) * 6), tip)
    added = modal_integrals.modal_mass(loaded) - modal_integrals.modal_mass(bare)
    motion = tip.u + np.cross(tip.th, com)
    assert added == pytest.approx(mass * motion @ motion.T, rel=1e-12)


TAPERED = """<robot name="tapered"><link name="base"/><link name="beam"/>
<joint name="hub" type="continuous"><parent link="base"/><child link="beam"/><axis xyz="0 0 1"/></joint>
<flexdyn reference="beam"><beam length="1.6"><table
columns="station mass_per_length EIy EIz GJ EA polar_inertia">0 4 60 70 30 4e4 0.03 0.3 3 30 50 20 3e4 0.02
0.3 2 20 30 15 2e4 0.01 1 1 8 9 6 1e4 0.006</table>
</beam><modes axial="2" bending_y="3" bending_z="2" torsion="2" basis="finite_element" elements="4"
boundary="{}"/></flexdyn></robot>"""


@pytest.mark.parametrize("boundary", ["clamped-free", "clamped-pinned", "clamped-clamped"])
def test_finite_element_shapes_are_one_at_the_tip_or_in_the_mean_square_if_it_is_held(boundary):
    """Of a beam in steps, whose elements are of two sizes."""
    robot = flexdyn_ros.load(TAPERED.format(boundary))
    s = np.linspace(0.0, 1.0, 4001)
    found = robot.modal_integrals("beam", s)
    # axial, bending in y and z are displacements, torsion is a rotation about the beam
    shapes = np.concatenate([found.displacement, found.rotation[:, :, :1]], axis=2)
    for shape, name in zip(shapes, found.names, strict=True):
        (own,) = shape.T[np.abs(shape).max(axis=0) > 0.0]
        is_bending = "bending" in name
        is_held = boundary == "clamped-clamped" or (boundary == "clamped-pinned" and is_bending)
        if is_held:
            assert np.trapezoid(own**2, s) == pytest.approx(1.0, rel=1e-5)
            assert own[-1] == pytest.approx(0.0, abs=1e-12)
            assert own[40] > 0.0
        else:
            assert own[-1] == pytest.approx(1.0, rel=1e-12)


def test_shapes_that_move_the_root_are_refused():
    with pytest.raises(DescriptionError, match="vanish at the root"):
        mode_shapes.polynomial_shape([0, 0.1, 1.0])
    mode_shapes.polynomial_shape([0, 1.0], clamped="torsion")


def test_mode_without_mass_is_refused():
    modes = [Mode("torsion", mode_shapes.torsion_shape(1))]
    x = modal_integrals.modal_integrals(uniform_beam(), modes, rotary="none")
    with pytest.raises(DescriptionError, match="has no mass"):
        modal_integrals.check_modal_mass(x, modes, "boom")


@pytest.mark.parametrize("rpy", [(0.0, 0.0, 0.0), (0.0, np.pi / 2, np.pi), (0.3, -0.7, 1.1)])
def test_only_constants_that_are_rounding_are_left_out(rpy):
    link = flexdyn_ros.load("canadarm2").functions.tree.flexible.links[0]
    constants = link_constants(link.integrals, Placement.of((0.1, 0.2, 0.3), rpy), link.damping, True)
    listed = constants.listed()
    m, P = constants.U.shape[:2]
    places, sizes = listed.places(m, P), [2 * len(listed.C), 2 * len(listed.X), 4 * len(listed.U)]
    C_at, _, U_at = (part.reshape(len(index), -1) for part, index in zip(
        np.split(places, np.cumsum(sizes)[:2]), listed, strict=True))  # fmt: skip
    C, U = np.zeros((m, 9 * m)), np.zeros((m, 3 * P))
    C[C_at[:, 1], C_at[:, 0]] = constants.C.ravel()[listed.C]
    U[U_at[:, 0], U_at[:, 3]] = constants.U.ravel()[listed.U]
    assert np.array_equal(U_at[:, 1], 3 * U_at[:, 0] + U_at[:, 3] - 3 * U_at[:, 2])
    for kept, whole in ((C, constants.C), (U, constants.U)):
        left_out = np.abs(kept.reshape(whole.shape) - whole)
        assert left_out.max() <= 3e-15 * np.abs(whole).max()
    if not any(rpy[:1]):  # the beam lies along an axis of the node, but for the rounding of cos(pi/2)
        assert len(listed.C) < 0.15 * C.size
        assert len(listed.U) < 0.25 * U.size


@pytest.mark.parametrize("rotary", ["consistent", "paper"])
@pytest.mark.parametrize("rpy", [(0.0, 0.0, 0.0), (0.3, -0.7, 1.1)])
def test_constants_that_are_zero_are_left_out(rpy, rotary):
    """Modes that twist a mere line of mass move nothing."""
    robot = flexdyn_ros.load("flexible_two_link", options={"formulation.rotary_inertia": rotary})
    link = robot.functions.tree.flexible.links[0]
    constants = link_constants(link.integrals, Placement.of((0.1, 0.2, 0.3), rpy), link.damping, True)
    twists = [mode.field == "torsion" for mode in link.modes]
    assert any(twists)
    assert np.any(constants.C[twists]) == (rotary == "consistent")
    X = constants.C[..., [1, 2, 0], [2, 0, 1]] - constants.C[..., [2, 0, 1], [1, 2, 0]]
    sizes = [np.abs(numbers).max() for numbers in (constants.C, constants.C, constants.U)]
    for numbers, index, size in zip((constants.C, X, constants.U), constants.listed(), sizes, strict=True):
        assert np.all(numbers.ravel()[index])
        left_out = np.delete(numbers.ravel(), index)
        assert np.abs(left_out).max(initial=0.0) <= 3e-15 * size
