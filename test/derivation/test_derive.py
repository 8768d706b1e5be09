# ruff: noqa: E501
"""Closed forms by two methods: the two-link arm's, agreement with the numeric path, rendering, counts."""

import importlib.util
import json
import pickle

import numpy as np
import pytest
from reference.two_link import closed_form

from flexdyn_ros import load
from flexdyn_ros.errors import MissingExtraError, UnsupportedError

sympy = pytest.importorskip("sympy")

from flexdyn_ros.derivation import derive  # noqa: E402

METHODS = ("newton_euler", "lagrange")
POINT = '<inertia ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"/>'
FULL = '<inertia ixx="0.02" ixy="0.001" ixz="-0.002" iyy="0.03" iyz="0.003" izz="0.04"/>'
DIAGONAL = '<inertia ixx="0.02" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.04"/>'
LIMIT = '<limit lower="-2" upper="2" effort="9" velocity="1"/>'

PENDULUM = f"""
<robot name="pendulum">
  <link name="base"/>
  <link name="upper"><inertial><origin xyz="0.8 0 0"/><mass value="1.7"/>{POINT}</inertial></link>
  <joint name="shoulder" type="continuous"><parent link="base"/><child link="upper"/><axis xyz="0 0 1"/></joint>
  <flexdyn><gravity>0 -9.81 0</gravity></flexdyn>
</robot>
"""
TWO_LINK = PENDULUM.replace('"pendulum"', '"two_link"').replace(
    "<flexdyn>",
    f"""
  <link name="lower"><inertial><origin xyz="0.6 0 0"/><mass value="0.9"/>{POINT}</inertial></link>
  <joint name="elbow" type="continuous"><parent link="upper"/><child link="lower"/>
    <origin xyz="0.8 0 0"/><axis xyz="0 0 1"/></joint>
  <flexdyn>""",
)
SPATIAL = f"""
<robot name="spatial">
  <link name="base"/>
  <link name="a"><inertial><origin xyz="0.1 0 0.2" rpy="0.3 0 0"/><mass value="1.5"/>{FULL}</inertial></link>
  <link name="b"><inertial><origin xyz="0.2 0.1 0"/><mass value="0.8"/>{DIAGONAL}</inertial></link>
  <link name="c"><inertial><origin xyz="0 0 0.15"/><mass value="0.5"/>{DIAGONAL}</inertial></link>
  <link name="tool"><inertial><mass value="0.2"/>{DIAGONAL}</inertial></link>
  <joint name="turn" type="revolute"><parent link="base"/><child link="a"/><axis xyz="0 0 1"/>{LIMIT}</joint>
  <joint name="lift" type="revolute"><parent link="a"/><child link="b"/><origin xyz="0 0.1 0.4" rpy="1.5708 0 0"/>
    <axis xyz="0 0 -1"/>{LIMIT}</joint>
  <joint name="push" type="prismatic"><parent link="b"/><child link="c"/>
    <origin xyz="0.3 0 0" rpy="0 1.5707963267948966 0"/><axis xyz="0 0 1"/>{LIMIT}</joint>
  <joint name="mount" type="fixed"><parent link="c"/><child link="tool"/><origin xyz="0 0.02 0.3"/></joint>
  <flexdyn><gravity>0 0 -9.81</gravity></flexdyn>
  <flexdyn reference="turn"><rotor inertia="0.0001" gear_ratio="50"/></flexdyn>
</robot>
"""
EXACT = SPATIAL.replace("1.5708 ", "1.5707963267948966 ")
TILTED = f"""
<robot name="tilted">
  <link name="base"/>
  <link name="a"><inertial><origin xyz="0.1 0 0.2"/><mass value="1.5"/>{FULL}</inertial></link>
  <link name="b"><inertial><origin xyz="0.2 0.1 0"/><mass value="0.8"/>{DIAGONAL}</inertial></link>
  <link name="side"><inertial><origin xyz="0 0.1 0"/><mass value="0.4"/>{DIAGONAL}</inertial></link>
  <joint name="one" type="revolute"><parent link="base"/><child link="a"/><origin xyz="0 0 0.1" rpy="0.3 -0.4 0.5"/>
    <axis xyz="0.6 0 0.8"/>{LIMIT}</joint>
  <joint name="two" type="revolute"><parent link="a"/><child link="b"/><origin xyz="0 0.1 0.4"/>
    <axis xyz="0 1 0"/>{LIMIT}</joint>
  <joint name="follower" type="revolute"><parent link="a"/><child link="side"/><origin xyz="0.2 0 0"/>
    <axis xyz="1 0 0"/>{LIMIT}<mimic joint="two" multiplier="-0.5" offset="0.3"/></joint>
  <flexdyn><gravity>1 0 -9.81</gravity></flexdyn>
</robot>
"""


def describe(text):
    return load(text).description


def run(derivation):
    """The generated module's names."""
    space = {}
    exec(derivation.python(), space)
    return space


@pytest.mark.parametrize("method", METHODS)
def test_two_link_arm_has_the_textbook_closed_form(method):
    d = derive(describe(TWO_LINK), method)
    m1, m2, L1, L2, p, g = (sympy.Symbol(x, real=True) for x in ("m1", "m2", "c1x", "c2x", "p2x", "g"))
    (q1, q2), (v1, v2) = d.q, d.v
    c2, s2, c12 = sympy.cos(q2), sympy.sin(q2), sympy.cos(q1 + q2)
    coupling = m2 * (L1 * L2 * c2 + L2**2)
    M = sympy.Matrix(
        [[m1 * L1**2 + m2 * (L1**2 + 2 * L1 * L2 * c2 + L2**2), coupling], [coupling, m2 * L2**2]]
    )
    c = m2 * L1 * L2 * s2 * sympy.Matrix([-(2 * v1 * v2 + v2**2), v1**2])
    gravity = sympy.Matrix([(m1 + m2) * L1 * g * sympy.cos(q1) + m2 * g * L2 * c12, m2 * g * L2 * c12])
    # the first mass sits at the elbow
    for ours, book in ((d.M, M), (d.c, c), (d.g, gravity)):
        assert sympy.simplify(ours.subs(p, L1) - book) == sympy.zeros(*book.shape)


@pytest.mark.parametrize("method", METHODS)
def test_generated_python_of_the_two_link_arm_gives_the_printed_numbers(method):
    module = run(derive(describe(TWO_LINK), method))
    q, v = (0.3, -0.8), (1.1, -0.7)
    exact = closed_form(np.array(q), np.array(v))
    for ours, book in zip(module["equations"](q, v), exact[:3], strict=True):
        assert np.array(ours) == pytest.approx(book, abs=1e-13)


@pytest.mark.parametrize("symbolic", [True, False])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("text", [EXACT, TILTED], ids=["spatial", "tilted"])
def test_generated_python_equals_the_numeric_robot(text, method, symbolic):
    robot = load(text)
    module = run(derive(robot.description, method, symbolic=symbolic))
    rng = np.random.default_rng(3)
    for _ in range(5):
        q, v, a = rng.uniform(-1.5, 1.5, (3, robot.nv))
        tau = robot.inverse_dynamics(q, v, a)
        # numbers that are kept are written with twelve digits
        assert np.array(module["inverse_dynamics"](q, v, a)) == pytest.approx(tau, rel=1e-10, abs=1e-10)
        M, c, g = module["equations"](q, v)
        assert np.array(M) == pytest.approx(robot.mass_matrix(q), rel=1e-10, abs=1e-10)
        terms = robot.bias_terms(q, v)
        assert np.array(g) == pytest.approx(terms.gravity, rel=1e-10, abs=1e-10)
        assert np.array(c) == pytest.approx(terms.velocity, rel=1e-10, abs=1e-10)


def test_both_methods_give_the_same_closed_form():
    d, e = (derive(describe(SPATIAL), method) for method in METHODS)
    assert (d.M, d.c, d.g) == (e.M, e.c, e.g)


def test_parameters_carry_values_and_rounded_angles_are_told():
    d = derive(describe(SPATIAL))
    assert d.parameters["m1"].value == 1.5
    assert d.parameters["m3"].value == pytest.approx(0.7)  # the tool on its fixed joint is lumped
    assert d.parameters["c3z"].value == pytest.approx((0.5 * 0.15 + 0.2 * 0.3) / 0.7)
    assert d.parameters["J1"].value == pytest.approx(0.25)
    assert any("rounded to quarter turns" in note for note in d.notes)
    assert not derive(describe(SPATIAL), symbolic=False).parameters


def test_counts_are_those_of_the_method():
    """Lagrange as it works needs several times the operations of Newton-Euler; their closed forms are one."""
    for text in (TWO_LINK, SPATIAL):
        newton_euler, lagrange = (derive(describe(text), method).counts for method in METHODS)
        assert lagrange.method.total > 3 * newton_euler.method.total
        assert newton_euler.closed == lagrange.closed
        assert newton_euler.shared.total < newton_euler.expanded.total


def test_counts_of_a_pendulum_by_hand():
    """m1 c1x^2 a1 + m1 g c1x cos q1.

    Newton-Euler: g s, g c (2 products), w x c, w x (w x c), wd x c (3), two sums, m F (2), c x F (1).
    The closed form c1x m1 (a1 c1x + g cos q1) as sympy orders it: see the text.
    """
    counts = derive(describe(PENDULUM), "newton_euler").counts
    assert counts.method[:2] == (2, 8)
    assert counts.closed[:2] == (1, 6)  # a1 c1x^2 m1 + c1x g m1 cos(q1): a square and five products


@pytest.mark.parametrize("method", METHODS)
def test_text_and_latex_name_every_term(method):
    d = derive(describe(TWO_LINK), method)
    text, latex = d.text(), d.latex()
    for entry in ("M[1,1]", "M[1,2] = M[2,1]", "c[2]", "g[1]", "joint shoulder", "multiplications"):
        assert entry in text
    for entry in ("M_{11}", r"\dot q_{1}", r"m_{2}", r"\cos", "align*"):
        assert entry in latex


def test_text_lists_the_parameters_with_values_and_units_in_a_part_of_its_own():
    d = derive(describe(TWO_LINK))
    parts = [part.splitlines() for part in d.text().strip("\n").split("\n\n")]
    (listed,) = (lines for lines in parts if lines[0].strip() == "parameters")
    rows = [line.split(maxsplit=4) for line in listed[1:]]
    assert [row[0] for row in rows] == list(d.parameters)
    for (_, equals, value, unit, meaning), p in zip(rows, d.parameters.values(), strict=True):
        assert (equals, unit, meaning) == ("=", p.unit, f"({p.meaning})")
        assert float(value) == pytest.approx(p.value, rel=1e-8)
    # numbers stand where symbols would
    assert "parameters" not in derive(describe(SPATIAL), symbolic=False).text()


def test_a_copy_from_another_process_has_the_same_counts():
    d = derive(load("two_link").description)
    again = pickle.loads(pickle.dumps(d))
    assert again == d
    assert again.counts == d.counts


def test_plain_data_is_json_that_sympy_reads_back():
    d = derive(describe(TWO_LINK))
    data = json.loads(json.dumps(d.as_dict()))
    names = {str(x): x for x in (*d.q, *d.v)} | {p: sympy.Symbol(p, real=True) for p in d.parameters}
    assert sympy.simplify(sympy.sympify(data["M"][0][1], locals=names) - d.M[0, 1]) == 0
    assert data["counts"]["method"] == {"additions": 16, "multiplications": 26, "functions": 0}
    assert data["parameters"]["g"]["value"] == 9.81
    assert "26 multiplications, 16 additions" in d.counts_table()


def test_left_out_effects_are_told():
    text = SPATIAL.replace(f"{LIMIT}</joint>", f'{LIMIT}<dynamics damping="0.4" friction="0.1"/></joint>', 1)
    assert "joint turn: damping, friction left out" in derive(describe(text)).notes


def test_what_cannot_be_derived_is_refused():
    floating = TWO_LINK.replace("<gravity>", "<base type='floating'/><gravity>")
    with pytest.raises(UnsupportedError, match="fixed base"):
        derive(describe(floating))
    with pytest.raises(UnsupportedError, match="0 coordinates"):
        derive(describe("<robot name='stone'><link name='base'/></robot>"))
    links = "".join(f"<link name='l{i}'/>" for i in range(5))
    joints = "".join(
        f"<joint name='j{i}' type='continuous'><parent link='l{i}'/><child link='l{i + 1}'/></joint>"
        for i in range(4)
    )
    with pytest.raises(UnsupportedError, match="4 coordinates"):
        derive(describe(f"<robot name='long'>{links}{joints}</robot>"))
    with pytest.raises(ValueError, match="expected one of newton_euler, lagrange"):
        derive(describe(TWO_LINK), "hamilton")


def test_missing_sympy_says_what_to_install(monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "sympy" else find(name))
    with pytest.raises(MissingExtraError, match=r"flexdyn_ros\[derive\]"):
        derive(describe(TWO_LINK))
