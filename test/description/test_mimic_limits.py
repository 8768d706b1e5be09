"""Limits of followers bound their leaders; random positions keep limits, however wide."""

import numpy as np
import pytest

import flexdyn_ros

INERTIAL = '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'


def joint(name, limits, mimic="", kind="revolute"):
    lower, upper, effort, velocity = limits
    return (
        f'<link name="{name}_link">{INERTIAL}</link><joint name="{name}" type="{kind}"><parent link="w"/>'
        f'<child link="{name}_link"/><axis xyz="0 1 0"/>'
        f'<limit lower="{lower}" upper="{upper}" effort="{effort}" velocity="{velocity}"/>{mimic}</joint>'
    )


def mimic(leader, ratio, offset=0.0):
    return f'<mimic joint="{leader}" multiplier="{ratio}" offset="{offset}"/>'


def robot(*joints):
    return flexdyn_ros.load(f'<robot name="r"><link name="w"/>{"".join(joints)}</robot>')


NEAR = joint("near", (-3, 3, 5, 10))


@pytest.mark.parametrize(
    ("followers", "limits"),
    [
        ([joint("far", (-0.6, 0.6, 5, 2), mimic("near", 1.5, 0.1))], (-0.7 / 1.5, 0.5 / 1.5, 5, 2 / 1.5)),
        ([joint("far", (-0.2, 0.6, 2, 4), mimic("near", -0.5))], (-1.2, 0.4, 1, 8)),
        (
            [
                joint("far", (-1, 0.5, 100, 3), mimic("near", -1, 0.1)),
                joint("end", (-0.8, 0.6, 4, 3), mimic("far", 2, 0.2)),
            ],
            # end = -2 near + 0.4
            (-0.1, 0.6, 5, 1.5),
        ),
        ([joint("far", (0, 0, 0, 0), mimic("near", 1))], (-3, 3, 5, 10)),
        ([joint("far", (-1, 1, 1, 1), mimic("near", 0))], (-3, 3, 5, 10)),
        ([joint("far", (-1, 1, 1, 9), mimic("near", 1), "continuous")], (-3, 3, 1, 9)),
    ],
    ids=["offset", "negative", "chain", "zeros of exporters", "ratio 0", "continuous"],
)
def test_limits_of_followers_bound_the_leader(followers, limits):
    for order in ([NEAR, *followers], [*followers, NEAR]):
        c = robot(*order).coordinates[0]
        np.testing.assert_allclose((c.lower, c.upper, c.effort_limit, c.velocity_limit), limits, atol=1e-12)


def test_a_continuous_leader_is_bounded_too():
    follower = joint("far", (-1, 1, 1, 1), mimic("near", 4))
    c = robot(joint("near", (-3, 3, 5, 10), "", "continuous"), follower).coordinates[0]
    assert (c.lower, c.upper) == (-0.25, 0.25)


def test_followers_whose_limits_exclude_those_of_the_leader_are_told():
    found = robot(NEAR, joint("far", (1, 2, 1, 1), mimic("near", 0.1)))
    assert (found.coordinates[0].lower, found.coordinates[0].upper) == (-3, 3)
    assert any("'far'" in text and "exclude each other" in text for text in found.warnings)


def test_a_leader_that_lacks_the_prefix_of_its_follower_is_found_and_told():
    """Files that are merged from parts have it; the follower turns with the joint of its own part."""
    arms = [
        joint(f"{side}_{name}", (-3, 3, 5, 10), motion)
        for side in ("left", "right_inner")
        for name, motion in (("near", ""), ("far", mimic("near", 2)))
    ]
    found = robot(*arms)
    assert found.q_names == ("left_near", "right_inner_near")
    for side in ("left", "right_inner"):
        (told,) = (text for text in found.warnings if f"joint '{side}_far'" in text)
        assert "mimics 'near'" in told
        assert f"'{side}_near'" in told
    tips = found.frames(np.array([0.2, -0.5]), ["left_far_link", "right_inner_far_link"])
    np.testing.assert_allclose(np.arctan2(tips[:, 0, 2], tips[:, 0, 0]), [0.4, -1.0], atol=1e-12)


def test_random_positions_and_events_keep_the_limits_of_followers():
    found = robot(NEAR, joint("far", (-0.6, 0.6, 5, 2), mimic("near", 1.5, 0.1)))
    rng = np.random.default_rng(0)
    assert max(abs(1.5 * found.random(rng)[0] + 0.1) for _ in range(300)) <= 0.6 + 1e-12
    run = flexdyn_ros.simulate(found, 1.0, q0=np.zeros(1), v0=np.array([1.0]))
    assert "limit/near/upper" in [event.name for event in run.events]


@pytest.mark.parametrize("kind", ["prismatic", "revolute"])
@pytest.mark.parametrize("limits", [(-0.1, 0.1), (1, 2), (0, 20), (-20, 20), (-30, -25)])
def test_random_positions_fill_the_limits(kind, limits):
    lower, upper = limits
    found = robot(joint("slide", (lower, upper, 9, 9), "", kind))
    rng = np.random.default_rng(0)
    seen = np.array([found.random(rng)[0] for _ in range(400)])
    assert seen.min() >= lower
    assert seen.max() <= upper
    assert np.ptp(seen) > 0.9 * (upper - lower)


@pytest.mark.parametrize("limits", [(-1e16, 1e16), (3, 1e16), (-1e16, -5)])
def test_random_positions_stay_near_where_limits_are_as_good_as_none(limits):
    found = robot(joint("slide", (*limits, 9, 9), "", "prismatic"))
    seen = [found.random(np.random.default_rng(i))[0] for i in range(50)]
    assert limits[0] <= min(seen)
    assert max(seen) <= limits[1]
    assert np.ptp(seen) < 10.0
