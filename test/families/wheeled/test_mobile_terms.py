"""The parts of the bias of wheeled arms whose joints have springs, dampers and dry friction."""

import numpy as np
import pytest
from mobile_arms import chain

import flexdyn_ros

JOINTS = """<flexdyn reference="j1"><joint_spring stiffness="40" reference="0.3"/></flexdyn>
<flexdyn reference="j2"><joint_spring stiffness="25" reference="-0.2"/></flexdyn>"""
DRY = '<dynamics damping="0.2" friction="1.7"/>'
METHODS = {
    "floating_frame": {},
    "articulated": {"formulation.method": "articulated", "formulation.rotary_inertia": "none",
                    "formulation.stiffening": "none"},
}  # fmt: skip


def sprung(method, tyres):
    text = chain((True, False), tyres=tyres, extra=JOINTS).replace('<dynamics damping="0.2"/>', DRY)
    return flexdyn_ros.load(text, options=METHODS[method])


def moving(robot):
    """Near the ground, everything moves."""
    rng = np.random.default_rng(9)
    q, v = 0.2 * rng.standard_normal(robot.nq), rng.standard_normal(robot.nv)
    q[1], q[[c.q_index for c in robot.coordinates if c.kind == "hub"]] = 0.25, 0.19
    return q, v


@pytest.mark.parametrize("tyres", [False, True])
@pytest.mark.parametrize("method", METHODS)
def test_elastic_forces_are_slopes_of_the_energy_and_dampers_take_power(method, tyres):
    """Wheels are what is external; the energies are quadratic, so that differences are exact."""
    robot = sprung(method, tyres)
    q, v = moving(robot)
    still, h = np.zeros(robot.nv), 1e-3
    slopes = [
        (robot.energy(q + e, still).elastic - robot.energy(q - e, still).elastic) / (2.0 * h)
        for e in h * np.eye(robot.nv)
    ]
    terms, rest = robot.bias_terms(q, v), robot.bias_terms(q, still)
    np.testing.assert_allclose(rest.elastic + rest.external, slopes, rtol=0.0, atol=1e-9 * np.max(slopes))
    np.testing.assert_allclose(terms.elastic, rest.elastic, rtol=1e-13)
    assert not terms.elastic[:3].any()
    assert not rest.damping.any()
    assert not rest.velocity.any()
    # joint by joint: viscous, and dry friction at full
    j1, j2 = robot.index("j1"), robot.index("j2")
    assert terms.damping[j1] == pytest.approx(0.1 * v[j1], rel=1e-12)
    assert terms.damping[j2] == pytest.approx(0.2 * v[j2] + 1.7 * np.sign(v[j2]), rel=1e-9)
    assert not terms.damping[:3].any()


@pytest.mark.parametrize("tyres", [False, True])
def test_every_part_of_the_bias_is_that_of_the_general_tree(tyres):
    frames, tree = (sprung(method, tyres) for method in METHODS)
    q, v = moving(frames)
    for name, one, two in zip(
        frames.bias_terms(q, v)._fields, frames.bias_terms(q, v), tree.bias_terms(q, v), strict=True
    ):
        assert np.abs(two).max() > 0.1, name
        np.testing.assert_allclose(one, two, rtol=0.0, atol=1e-10 * np.abs(two).max(), err_msg=name)
