"""What closed mechanisms say of accelerations that their loops do not allow, and when they say nothing."""

import warnings

import numpy as np
import pytest
from machines import body, four_bars, joint, robot, rod

import flexdyn_ros
from flexdyn_ros.errors import FlexdynWarning


def balanced():
    """A four-bar in the plane x z whose parts turn about their centres of mass: no force acts, whatever the
    speed, but that of its loop."""
    parts = (
        body("crank", 1.0, (0.0, 0.0, 0.0), 0.02 * np.eye(3)),
        body("coupler", 2.0, (0.0, 0.0, 0.0), 0.05 * np.eye(3)),
        body("rocker", 1.5, (0.0, 0.0, 0.0), 0.04 * np.eye(3)),
        joint("crank_joint", "ground", "crank"),
        joint("coupler_joint", "crank", "coupler", at=(0.3, 0.0, 0.0)),
        joint("rocker_joint", "ground", "rocker", at=(0.9, 0.0, 0.0)),
    )
    loop = (
        '<loop name="close" type="revolute" base="coupler" base_xyz="0.8 0 0" end="rocker" end_xyz="0.6 0 0"'
        ' axis="0 1 0"/>'
    )
    start = '<assembly start="crank_joint -1 coupler_joint 0.55 rocker_joint -1.6" lock="crank_joint"/>'
    return flexdyn_ros.load(robot("balanced", *parts, flexdyn=f"<gravity>0 0 0</gravity>{loop}{start}"))


def test_a_crank_that_turns_evenly_moves_the_rest_as_the_square_of_its_speed():
    """No speed makes accelerations contradict each other; slopes by differences of poses."""
    r = balanced()
    h, q = 1e-3, r.neutral()
    near = [r.assemble(q + [s, 0.0, 0.0], lock=("crank_joint",)) for s in (-h, 0.0, h)]
    np.testing.assert_allclose([pose[0] - q[0] for pose in near], [-h, 0.0, h], atol=1e-12)
    slope, curvature = (near[2] - near[0]) / (2.0 * h), (near[2] - 2.0 * near[1] + near[0]) / h**2
    q, v = r.project(q, slope)
    for speed in (1e-3, 1.0, 1e4):
        a = r.forward_dynamics(q, speed / v[0] * v, prescribed={"crank_joint": 0.0}) / speed**2
        np.testing.assert_allclose(a, curvature, rtol=1e-5, atol=1e-5)


def test_parts_in_balance_that_turn_freely_keep_their_energy():
    r = balanced()
    q, v = r.project(r.neutral(), [1.0, 0.0, 0.0])
    speeds = np.array([[1.0], [1e4], [-3e-3]])
    none = {"rocker": np.zeros(6)}
    a = r.forward_dynamics(q, v)
    assert np.abs(a).max() > 0.1
    # M is constant, so that this is the rate of v' M v / 2
    assert v @ r.mass_matrix(q) @ a == pytest.approx(0.0, abs=1e-12)
    poses = np.tile(q, (3, 1))
    for wrenches in (None, none):
        found = r.forward_dynamics(poses, speeds * v, wrenches=wrenches)
        np.testing.assert_allclose(found, speeds**2 * a, rtol=1e-10)


def slider_crank(name, size, away):
    """Parts and loop of a crank and a rod twice as long, whose end slides along x."""
    parts = rod(f"{name}_crank", size, 1.0), rod(f"{name}_rod", 2.0 * size, 1.0)
    joints = (
        joint(f"{name}_foot", "ground", f"{name}_crank", at=(0.0, away, 0.0)),
        joint(f"{name}_pin", f"{name}_crank", f"{name}_rod", at=(size, 0.0, 0.0)),
    )
    end = f'end="{name}_rod" end_xyz="{2.0 * size} 0 0"'
    loop = f'<loop name="{name}" type="point_on_line" base="world" base_xyz="0 {away} 0" {end} axis="1 0 0"/>'
    start = f"{name}_foot -0.5 {name}_pin {float(0.5 + np.arcsin(0.5 * np.sin(0.5)))!r}"
    return "".join((*parts, *joints)), loop, start


@pytest.mark.parametrize("names", [("large", "small"), ("small", "large")])
def test_the_loop_that_accelerations_miss_most_for_their_size_is_named(names):
    """One of 2 m/s2 in hundreds counts for less than one of 0.3 m/s2 in units."""
    sizes = {"large": 100.0, "small": 1.0}
    parts, loops, starts = zip(
        *(slider_crank(x, sizes[x], 3.0 * i) for i, x in enumerate(names)), strict=True
    )
    active = '<actuation active="large_foot small_foot"/>'
    flexdyn = f'<gravity>0 0 0</gravity>{"".join(loops)}<assembly start="{" ".join(starts)}"/>{active}'
    r = flexdyn_ros.load(robot("two", *parts, flexdyn=flexdyn))
    q, still = r.neutral(), np.zeros(r.nv)
    a = r.forward_dynamics(q, still, r.efforts({"large_foot": 2e4, "small_foot": 1.0}))
    assert np.abs(100.0 * a[r.index("large_foot")]) > 50.0
    cosine = np.cos(q[r.index("small_foot")] + q[r.index("small_pin")])
    missed = {"large": 2.0, "small": 0.3}
    wrong = a.copy()
    for name, size in sizes.items():
        wrong[r.index(f"{name}_pin")] += missed[name] / (2.0 * size * cosine)
    with pytest.warns(FlexdynWarning, match="the accelerations open loop 'small' at 0.3 m/s2"):
        r.inverse_dynamics(q, still, wrong)
    # alone, each is named
    for name in sizes:
        one = a.copy()
        one[r.index(f"{name}_pin")] = wrong[r.index(f"{name}_pin")]
        with pytest.warns(FlexdynWarning, match=f"open loop '{name}' at {missed[name]:g} m/s2"):
            r.inverse_dynamics(q, still, one)


def test_a_singular_pose_between_two_samples_is_told_and_one_ahead_is_not():
    """A parallelogram whose bars come to lie in line by six steps, of which the last alone is recorded."""
    r = four_bars(1)
    turn = np.array([{"foot_0": -1.0, "foot_1": -1.0, "top_0": 1.0}[name] for name in r.v_names])
    start = {"q0": (0.5 * np.pi - 0.05) * turn, "v0": 4.0 * turn, "dt": 5e-3, "method": "rk4"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = flexdyn_ros.simulate(r, 0.01, **start, record_every=2)
    assert -0.5 * np.pi < run["foot_0"][-1] < -0.5 * np.pi + 0.02
    with pytest.warns(FlexdynWarning, match="passed a singular pose") as told:
        run = flexdyn_ros.simulate(r, 0.03, **start, record_every=6)
    assert len(told) == 1
    assert len(run.t) == 2
    assert run["foot_0"][-1] < -0.5 * np.pi - 0.02
