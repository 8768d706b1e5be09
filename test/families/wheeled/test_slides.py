"""A prismatic joint of an arm on wheels, along an axis that stands obliquely."""

import re

import numpy as np

import flexdyn_ros

PITCH = 0.4
C, S = float(np.cos(PITCH)), float(np.sin(PITCH))


def sliding(joint: str, inertial: str):
    """The shipped arm on wheels with a rigid second link, on a slide; a hand turns on its end."""
    text = flexdyn_ros.load("mobile_arm").description.text
    text = re.sub(r'<flexdyn reference="link_2">.*?</flexdyn>', "", text, flags=re.DOTALL)
    link = f"""<link name="link_2"><inertial>{inertial}<mass value="1.3"/>
      <inertia ixx="1e-3" ixy="0" ixz="0" iyy="0.07" iyz="0" izz="0.07"/></inertial></link>"""
    text = re.sub(r"<link name=\"link_2\">.*?</link>", link, text)
    slide = (
        f'<joint name="elbow" type="prismatic"><parent link="link_1"/><child link="link_2"/>{joint}'
        '<limit lower="-1" upper="1" effort="90" velocity="1"/></joint>'
    )
    return flexdyn_ros.load(re.sub(r'<joint name="elbow".*?</joint>', slide, text))


def test_two_descriptions_of_an_oblique_slide_are_one_machine():
    """A turned frame with its axis along x, or a straight one with an oblique axis and a turned link."""
    turned = sliding(
        f'<origin xyz="0.8 0 0" rpy="0 {PITCH!r} 0"/><axis xyz="1 0 0"/>', '<origin xyz="0.4 0 0.1"/>'
    )
    com = [float(0.4 * C + 0.1 * S), 0.0, float(0.1 * C - 0.4 * S)]
    straight = sliding(
        f'<origin xyz="0.8 0 0"/><axis xyz="{C!r} 0 {-S!r}"/>',
        f'<origin xyz="{com[0]!r} 0 {com[2]!r}" rpy="0 {PITCH!r} 0"/>',
    )
    rng = np.random.default_rng(6)
    q = turned.integrate(turned.neutral(), 0.1 * rng.standard_normal(turned.nv), 1.0)
    v, a = rng.standard_normal((2, turned.nv))
    tau = turned.inverse_dynamics(q, v, a)
    for found, expected in (
        (turned.mass_matrix(q), straight.mass_matrix(q)),
        (tau, straight.inverse_dynamics(q, v, a)),
        (turned.center_of_mass(q), straight.center_of_mass(q)),
        (turned.frames(q, "link_2")[:3, 3], straight.frames(q, "link_2")[:3, 3]),
    ):
        assert np.allclose(found, expected, rtol=0.0, atol=1e-11 * np.abs(expected).max())


def test_velocity_terms_of_an_oblique_slide_are_those_of_its_mass_matrix():
    """Christoffel's symbols: h = (dM/dt) v - grad(v' M v) / 2, with differences of M; all rates are plain."""
    robot = sliding('<origin xyz="0.8 0 0" rpy="0 0.4 0"/><axis xyz="1 0 0"/>', '<origin xyz="0.4 0 0.1"/>')
    rng, h = np.random.default_rng(7), 1e-5
    q = robot.neutral() + 0.1 * rng.standard_normal(robot.nq)
    v = rng.standard_normal(robot.nv)
    slopes = [(robot.mass_matrix(q + e) - robot.mass_matrix(q - e)) / (2.0 * h) for e in h * np.eye(robot.nq)]
    expected = np.einsum("kij,k,j->i", slopes, v, v) - 0.5 * np.einsum("ijk,j,k->i", slopes, v, v)
    found = robot.bias_terms(q, v).velocity
    assert np.allclose(found, expected, rtol=0.0, atol=1e-7 * np.abs(expected).max())
