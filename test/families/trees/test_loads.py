"""Loads along links by equilibrium: closed forms, sums over particles, reactions in joints, many modes."""

import pickle
import re

import numpy as np
import pytest
from flexible_robots import bent_state, branched
from models import elastic

import flexdyn_ros
from flexdyn_ros.errors import DimensionError, FlexdynWarning, StateError, UnknownNameError, UnsupportedError

#: [m, kg/m, N m2]
LENGTH, MU, EI = 2.0, 0.9, 300.0
BEAM = """<robot name="arm"><link name="base"/><link name="beam"/>{links}
<joint name="root" type="{joint}"><parent link="base"/><child link="beam"/><axis xyz="{axis}"/></joint>
{joints}
<flexdyn><gravity>{gravity}</gravity></flexdyn><flexdyn reference="beam">
<beam length="2" mass_per_length="0.9" EIy="300" EIz="300" GJ="200" EA="1e5" polar_inertia="1e-4"/>
<modes {modes}/>{more}</flexdyn></robot>"""


def beam(
    modes="bending_z='1'", *, joint="fixed", axis="0 0 1", gravity="0 0 0", more="", links="", joints="", **o
):
    text = BEAM.format(
        modes=modes, joint=joint, axis=axis, gravity=gravity, more=more, links=links, joints=joints
    )
    return flexdyn_ros.load(text, options={f"formulation.{name}": value for name, value in o.items()})


def point(name, mass, parent, xyz, joint="fixed"):
    """A point mass on a joint."""
    return (
        f'<link name="{name}"><inertial><mass value="{mass}"/><inertia ixx="0" ixy="0" ixz="0" iyy="0" '
        'iyz="0" izz="0"/></inertial></link>',
        f'<joint name="to_{name}" type="{joint}"><parent link="{parent}"/><child link="{name}"/>'
        f'<origin xyz="{xyz}"/><axis xyz="0 0 1"/></joint>',
    )


def at_rest(robot, q, **options):
    still = np.zeros(robot.nv)
    return robot.loads(q, still, still, **options)


def of_joints(robot, q, v, a, wrenches=None):
    """Loads (6,) = (moment; force) at the root of every link from `joint_reactions`, axes of the section."""
    found, reactions = {}, robot.joint_reactions(q, v, a, wrenches)
    bent = {} if not robot.bends else {link.name: link.beam.frame for link in robot.functions.bending.links}
    for joint in robot.description.joints:
        if joint.name in reactions.names:
            T, w = robot.frames(q, joint.child), -reactions.of(joint.name)
            R, p = T[:3, :3], np.zeros(3)
            if joint.child in bent:
                R, p = R @ bent[joint.child].R, R @ bent[joint.child].p
            found[joint.child] = np.concatenate([R.T @ (w[:3] - np.cross(p, w[3:])), R.T @ w[3:]])
    return found


def roots(loads):
    return {name: np.concatenate([each.moment[0], each.force[0]]) for name, each in loads.items()}


# ---- closed forms ----


def test_a_cantilever_with_one_mode_has_the_moments_of_statics_under_a_tip_force():
    """F (L - x) to rounding, where the curvature of the mode is off by 14 %; without foreshortening, so that
    the arm of the force stays L."""
    robot, F = beam(stiffening="none"), 7.0
    load = {"beam/tip": np.array([0.0, 0.0, 0.0, 0.0, 0.0, -F])}
    q = robot.static_equilibrium(wrenches=load).q
    found, arm = at_rest(robot, q, wrenches=load)["beam"], LENGTH * (1.0 - np.linspace(0.0, 1.0, 21))
    assert abs(q[0]) > 0.05
    assert found.moment[0, 1] == pytest.approx(F * LENGTH, rel=1e-10)
    np.testing.assert_allclose(found.moment, np.outer(F * arm, [0.0, 1.0, 0.0]), rtol=0, atol=1e-12)
    slope = robot.deflections(q)["beam"].rotation[:, 1]
    np.testing.assert_allclose(
        found.force, F * np.stack([np.sin(slope), 0.0 * slope, -np.cos(slope)], axis=1), rtol=0, atol=1e-12
    )
    curvature = robot.deflections(q)["beam"].moment[0, 1]
    assert abs(curvature / found.moment[0, 1] - 1.0) > 0.1


def test_a_cantilever_with_one_mode_has_the_moments_of_statics_under_its_weight():
    robot, w = beam(gravity="0 0 -9.81", stiffening="none"), MU * 9.81
    q = robot.static_equilibrium().q
    found = at_rest(robot, q)["beam"]
    out = LENGTH * (1.0 - found.station)
    assert found.moment[0, 1] == pytest.approx(w * LENGTH**2 / 2.0, rel=1e-10)
    np.testing.assert_allclose(found.moment[:, 1], w * out**2 / 2.0, rtol=0, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(found.force, axis=1), w * out, rtol=0, atol=1e-12)


def test_foreshortening_shortens_the_arms_of_forces():
    """The tip moves towards the root by sigma: the arm is that of the frames."""
    robot = beam("bending_z='2'")
    load = {"beam/tip": np.array([0.0, 0.0, 0.0, 0.0, 0.0, -20.0])}
    q = robot.static_equilibrium(wrenches=load).q
    at = [robot.frames(q, name)[0, 3] for name in ("beam/tip", "beam@0.5")]
    assert LENGTH - at[0] > 5e-3
    found = at_rest(robot, q, wrenches=load, stations=[0.5, 0.0])["beam"]
    np.testing.assert_allclose(found.moment[:, 1], [20.0 * (at[0] - at[1]), 20.0 * at[0]], rtol=1e-12)


def spinning():
    """A body at 0.2, a child with one of its own at 0.6."""
    links, joints = zip(
        point("child", 0.7, "beam", "1.2 0 0"), point("more", 0.3, "child", "0.1 0 0"), strict=True
    )
    more = '<attach joint="to_child" station="auto"/><body name="b" station="0.2"><mass value="0.5"/></body>'
    return beam("bending_y='2'", joint="continuous", links="".join(links), joints="".join(joints), more=more)


def test_tension_of_a_spinning_beam_jumps_where_bodies_and_children_sit():
    """w^2 (mu (L^2 - x^2) / 2 + sum m r of what is farther out), straight and steady."""
    robot, w = spinning(), 3.0
    q, v, a = np.zeros(robot.nq), np.zeros(robot.nv), np.zeros(robot.nv)
    v[0] = w
    s = np.array([0.0, 0.1, 0.2, 0.2 + 1e-6, 0.4, 0.6, 0.6 + 1e-6, 0.8, 1.0])
    found = robot.loads(q, v, a, stations=s)["beam"]
    tension = w**2 * MU * (LENGTH**2 - (LENGTH * s) ** 2) / 2.0
    tension += w**2 * 0.5 * 0.4 * (s <= 0.2) + w**2 * (0.7 * 1.2 + 0.3 * 1.3) * (s <= 0.6)
    np.testing.assert_allclose(found.force[:, 0], tension, rtol=1e-12, atol=1e-12)
    assert found.force[2, 0] - found.force[3, 0] == pytest.approx(w**2 * 0.5 * 0.4, rel=1e-4)
    np.testing.assert_allclose(found.moment, np.zeros((9, 3)), atol=1e-12)


def test_a_bent_spinning_beam_has_in_total_what_its_joint_transmits():
    robot = spinning()
    q, v, a = bent_state(robot, 4)
    for name, load in of_joints(robot, q, v, a).items():
        np.testing.assert_allclose(roots(robot.loads(q, v, a))[name], load, rtol=1e-11, atol=1e-11)


# ---- independent sums ----


def test_loads_inside_a_moving_link_are_those_of_its_particles():
    """Accelerations of 60 particles outward of a section by differences of their places in time: the frames
    know nothing of the equations of motion. The sections' own inertia is left out (rotary inertia `none`)."""
    robot = beam(
        "axial='1' bending_y='3' bending_z='2'",
        joint="continuous", axis="0.2 0.6 0.7", gravity="1 -2 -9", rotary_inertia="none",
    )  # fmt: skip
    q, v, a = bent_state(robot, 1)
    s, w = np.polynomial.legendre.leggauss(60)
    s, w = 0.3 + 0.35 * (s + 1.0), 0.35 * w * LENGTH
    names, h = [f"beam@{x!r}" for x in s.tolist()], 1e-3

    def places(t):
        return robot.frames(q + t * v + 0.5 * t * t * a, names)[:, :3, 3]

    ahead, here, behind = places(h), places(0.0), places(-h)
    coarse = (ahead - 2.0 * here + behind) / h**2
    fine = (places(0.5 * h) - 2.0 * here + places(-0.5 * h)) / (0.5 * h) ** 2
    force = -(MU * w)[:, None] * ((4.0 * fine - coarse) / 3.0 - robot.gravity)
    section = robot.frames(q, "beam@0.3")
    moment = np.cross(here - section[:3, 3], force).sum(axis=0) @ section[:3, :3]
    found = robot.loads(q, v, a, stations=[0.3])["beam"]
    np.testing.assert_allclose(found.force[0], force.sum(axis=0) @ section[:3, :3], rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(found.moment[0], moment, rtol=1e-7, atol=1e-7)


# ---- reactions in joints ----


def slewing(robot, seed=2):
    """All joints and modes move; accelerations are those that efforts give."""
    rng = np.random.default_rng(seed)
    q, v, _ = bent_state(robot, seed, 0.3)
    return q, v, robot.forward_dynamics(q, v, 1e3 * rng.standard_normal(robot.nu))


def test_the_booms_of_a_slewing_canadarm_agree_with_the_reactions_at_both_ends():
    robot = flexdyn_ros.load("canadarm2")
    q, v, a = slewing(robot)
    assert np.abs(v[1:10]).min() > 1e-3
    loads, joints = robot.loads(q, v, a), robot.joint_reactions(q, v, a)
    for boom, inner, outer in (
        ("boom_1", "shoulder_pitch", "elbow_pitch"),
        ("boom_2", "elbow_pitch", "wrist_pitch"),
    ):
        ends = (inner, boom, f"{boom}@0", 0), (outer, robot.description.joint(outer).child, f"{boom}/tip", -1)
        for joint, child, section, k in ends:
            w, T = -joints.of(joint), robot.frames(q, section)
            force, arm = w[3:], robot.frames(q, child)[:3, 3] - T[:3, 3]
            moment = w[:3] + np.cross(arm, force)
            if k == -1:
                # housings sit on the tip, beside the joint's child
                force, moment = (
                    x + y for x, y in zip((force, moment), housing(robot, q, v, a, boom), strict=True)
                )
            np.testing.assert_allclose(
                loads[boom].force[k], force @ T[:3, :3], rtol=1e-9, atol=1e-9 * np.abs(force).max()
            )
            np.testing.assert_allclose(
                loads[boom].moment[k], moment @ T[:3, :3], rtol=1e-9, atol=1e-9 * np.abs(moment).max()
            )


def housing(robot, q, v, a, boom):
    """Force, and moment about the tip, of inertia and weight of the body on the tip of a boom, world axes."""
    body = next(b for b in robot.description.flexible_links[boom].bodies if b.station == 1.0)
    tip = f"{boom}/tip"
    R, c = robot.frames(q, tip)[:3, :3], np.array(body.xyz)
    w, acceleration = robot.frame_velocity(q, v, tip)[:3], robot.frame_acceleration(q, v, a, tip)
    c, I = R @ c, R @ np.diag([body.inertia[0], body.inertia[3], body.inertia[5]]) @ R.T
    alpha = acceleration[:3]
    of_centre = acceleration[3:] - robot.gravity + np.cross(alpha, c) + np.cross(w, np.cross(w, c))
    force = -body.mass * of_centre
    return force, np.cross(c, force) - I @ alpha - np.cross(w, I @ w)


LOADED = {
    "trunk@0.3": np.arange(1.0, 7.0),
    "tool": np.ones(6),
    "trunk": -np.ones(6),
    "mast/tip": np.full(6, 2.0),
}


@pytest.mark.parametrize("base", ["fixed", "floating"])
@pytest.mark.parametrize(
    "options",
    [{}, {"stiffening": "none"}, {"method": "lagrange"}],
    ids=lambda o: next(iter(o.values()), "full"),
)
def test_a_branched_tree_in_motion_has_the_reactions_at_all_roots(base, options):
    options = {f"formulation.{name}": value for name, value in options.items()}
    robot = flexdyn_ros.load(branched(middle=True, base=base), options=options)
    q, v, a = bent_state(robot, 3)
    found = roots(robot.loads(q, v, a, wrenches=LOADED))
    expected = of_joints(robot, q, v, a, LOADED)
    assert set(found) - set(expected) == {"base"}
    for name, load in expected.items():
        np.testing.assert_allclose(found[name], load, rtol=1e-10, atol=1e-10, err_msg=name)


def test_payloads_and_other_parameters_count():
    robot = flexdyn_ros.load(branched(middle=True))
    robot = robot.with_payload("trunk@0.3", 2.0, (0.1, 0.2, 0.05), np.diag([0.1, 0.2, 0.25]))
    robot = robot.with_payload("arm_link", 1.0, (0.1, 0.0, 0.0)).with_payload(
        "mast/tip", 0.5, (0.0, 0.1, 0.0)
    )
    changed = {"trunk/mass_per_length": 3.3, "mast/mass_per_length": 1.1, "tool/mass": 0.8}
    robot = robot.with_parameters(changed)
    q, v, a = bent_state(robot, 3)
    found = roots(robot.loads(q, v, a))
    for name, load in of_joints(robot, q, v, a).items():
        np.testing.assert_allclose(found[name], load, rtol=1e-10, atol=1e-10, err_msg=name)


def test_a_floating_base_that_falls_freely_is_given_nothing_and_its_links_are_loaded_by_the_motion():
    robot = flexdyn_ros.load(branched(base="floating"))
    q, v, _ = bent_state(robot, 6)
    loads = robot.loads(q, v, robot.forward_dynamics(q, v, np.zeros(robot.nu)))
    root = loads[robot.description.root]
    size = np.abs(loads["trunk"].force).max()
    assert size > 0.1
    np.testing.assert_allclose(root.force, np.zeros((1, 3)), atol=1e-10 * size)
    np.testing.assert_allclose(root.moment, np.zeros((1, 3)), atol=1e-10 * size)


def test_a_link_on_a_floating_joint_loads_its_carrier_by_the_efforts_on_it():
    """What the effort on a free body does to it acts on the beam that it is coupled to."""
    links, joints = point("free", 0.4, "beam", "2 0 0.1", "floating")
    links = (
        links.replace('ixx="0"', 'ixx="0.01"')
        .replace('iyy="0"', 'iyy="0.01"')
        .replace('izz="0"', 'izz="0.01"')
    )
    robot = beam(
        "bending_y='1' bending_z='1'", joint="continuous", links=links, joints=joints, gravity="0 0 -9.81"
    )
    q, v, a = bent_state(robot, 2)
    found = robot.loads(q, v, a)
    at = robot.frames(q, "free")
    acceleration = robot.frame_acceleration(q, v, a, "free")
    force = -0.4 * (acceleration[3:] - robot.gravity)
    w = at[:3, :3].T @ robot.frame_velocity(q, v, "free")[:3]
    moment = -0.01 * at[:3, :3].T @ acceleration[:3] - np.cross(w, 0.01 * w)
    np.testing.assert_allclose(found["free"].force[0], force @ at[:3, :3], rtol=1e-10)
    np.testing.assert_allclose(found["free"].moment[0], moment, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(
        roots(found)["beam"], of_joints(robot, q, v, a)["beam"], rtol=1e-10, atol=1e-10
    )
    free = robot.forward_dynamics(q, v, np.zeros(robot.nu))
    np.testing.assert_allclose(robot.loads(q, v, free)["free"].force, np.zeros((1, 3)), atol=1e-10)


def test_the_rate_of_twist_of_the_paper_loads_sections_though_no_joint():
    """With rotary inertia `paper` it is in the equation of the torsion mode alone."""
    robot = beam("torsion='2'", joint="continuous", axis="1 0 0", rotary_inertia="paper")
    a = np.array([0.0, 3.0, -2.0])
    found = robot.loads(np.zeros(3), np.zeros(3), a)["beam"]
    s, w = np.polynomial.legendre.leggauss(40)
    s, w = 0.5 * (s + 1.0), 0.5 * w * LENGTH
    twist = robot.deflections(a, s)["beam"].rotation[:, 0]
    assert found.moment[0, 0] == pytest.approx(-1e-4 * (w @ twist), rel=1e-12)
    assert of_joints(robot, np.zeros(3), np.zeros(3), a)["beam"] == pytest.approx(np.zeros(6), abs=1e-15)


# ---- many modes ----


def relative_rest(robot, rate, acceleration):
    """State of a beam on a turning joint whose modes are at rest against it, by Newton's method."""
    q, v, a = np.zeros(robot.nq), np.zeros(robot.nv), np.zeros(robot.nv)
    v[0], a[0] = rate, acceleration
    for _ in range(8):
        residual = robot.inverse_dynamics(q, v, a)[1:]
        q[1:] -= np.linalg.solve(robot.inverse_dynamics_derivatives(q, v, a)[0][1:, 1:], residual)
    assert np.abs(robot.inverse_dynamics(q, v, a)[1:]).max() < 1e-9
    return q, v


def test_with_ten_modes_moments_of_curvatures_agree_to_a_thousandth():
    """A beam with a load that turns, speeds up and vibrates, under gravity: curvatures come to the loads."""
    links, joints = point("load", 0.5, "beam", "2 0 0")
    off = {}
    for modes in ("bending_y='1' bending_z='1'", "bending_y='5' bending_z='5' basis='polynomial'"):
        robot = beam(modes, joint="continuous", gravity="0 0 -1", links=links, joints=joints)
        q, v = relative_rest(robot, 0.7, 1.5)
        slow = robot.modes(q, lock=[robot.v_names[0]]).shape[:, :2].sum(axis=1)
        v = v + 0.02 * slow / np.abs(slow).max()
        a = robot.forward_dynamics(q, v, np.zeros(robot.nu), prescribed={"root": 1.5})
        loads, curved = robot.loads(q, v, a)["beam"].moment, robot.deflections(q)["beam"].moment
        off[robot.nv - 1] = np.abs(curved - loads)[:, 1:].max(axis=0) / np.abs(loads)[:, 1:].max(axis=0)
    assert (off[10] < 1e-3).all()
    assert (off[2] > 0.03).all()


# ---- imported modes ----


def test_imported_modes_have_the_loads_of_their_nodes(tmp_path):
    """2000 nodes of a beam, each with its share of mass: the beam's loads, by the trapezoidal rule."""
    whole = beam(
        "bending_y='2' bending_z='2'", joint="continuous", gravity="0 0 -9.81", rotary_inertia="none"
    )
    s = np.linspace(0.0, 1.0, 2001)
    shapes = whole.modal_integrals("beam", s)
    mass = np.full(2001, MU * LENGTH / 2000.0)
    mass[[0, -1]] *= 0.5
    slopes = shapes.rotation[:, :, 1:]
    part = np.einsum("kna,lna->nkl", slopes, slopes)
    part = 0.5 * (part[1:] + part[:-1]) * LENGTH / 2000.0
    arrays = {
        "nodes": np.outer(LENGTH * s, [1.0, 0.0, 0.0]), "node_mass": mass,
        "displacement": shapes.displacement, "rotation": shapes.rotation,
        "stiffness": shapes.stiffness, "root_node": np.array(0),
        "interface_nodes": np.zeros(0, dtype=int), "interface_joints": np.zeros(0, dtype="U1"),
        "shortening": np.concatenate([np.zeros((1, 4, 4)), np.cumsum(part, axis=0)]),
    }  # fmt: skip
    np.savez(tmp_path / "beam.npz", **arrays)
    text = BEAM.format(
        joint="continuous", axis="0 0 1", gravity="0 0 -9.81", links="", joints="", modes="", more=""
    )
    head, _, tail = text.partition("<beam ")
    (tmp_path / "arm.urdf").write_text(head + '<modes file="beam.npz"/>' + tail.partition("<modes />")[2])
    robot = flexdyn_ros.load(tmp_path / "arm.urdf")
    q, v, a = bent_state(whole, 5)
    middle = np.linspace(0.0, 1.0, 2001)[[0, 700, 1400]] + np.array([0.0, 0.25e-3, 0.25e-3])
    rng = np.random.default_rng(6)
    push = {frame: 20.0 * rng.standard_normal(6) for frame in ("beam/tip", "beam@0.6")}
    found, expected = (r.loads(q, v, a, wrenches=push, stations=middle)["beam"] for r in (robot, whole))
    np.testing.assert_allclose(found.force, expected.force, atol=1e-5 * np.abs(expected.force).max())
    np.testing.assert_allclose(found.moment, expected.moment, atol=1e-5 * np.abs(expected.moment).max())
    np.testing.assert_allclose(
        roots({"beam": found})["beam"], of_joints(robot, q, v, a, push)["beam"], rtol=1e-9, atol=1e-9
    )


# ---- arguments ----


@pytest.mark.parametrize("name", ["canadarm2", "seven_joint_arm"])
def test_a_batch_is_its_states(name):
    robot = flexdyn_ros.load(name)
    states = [bent_state(robot, seed) for seed in range(17)]
    q, v, a = (np.array(part) for part in zip(*states, strict=True))
    push = np.random.default_rng(0).standard_normal((17, 6))
    end = robot.frame_names[-1]
    found = robot.loads(q, v, a, wrenches={end: push}, stations=[0.0, 0.4, 1.0])
    for i, state in enumerate(states):
        one = robot.loads(*state, wrenches={end: push[i]}, stations=[0.0, 0.4, 1.0])
        assert list(one) == list(found)
        for link, each in one.items():
            for ours, alone in zip(found[link][1:], each[1:], strict=True):
                assert ours.shape == (17, *alone.shape)
                np.testing.assert_allclose(
                    ours[i], alone, rtol=1e-12, atol=1e-12 * max(1.0, np.abs(alone).max())
                )


def test_arguments_broadcast_and_have_any_leading_shape():
    robot = flexdyn_ros.load("canadarm2")
    q, v, a = (np.array(part) for part in zip(*(bent_state(robot, i) for i in range(6)), strict=True))
    found = robot.loads(q.reshape(2, 3, -1), v[0], a[0].tolist(), np.zeros(robot.nu))
    assert found["boom_1"].moment.shape == found["boom_1"].force.shape == (2, 3, 21, 3)
    assert found["tool0"].moment.shape == (2, 3, 1, 3)
    assert found["boom_1"].station.shape == (21,)
    assert (found["boom_1"].moment.dtype, found["tool0"].force.dtype) == (np.float64, np.float64)
    one = robot.loads(q[4], v[0], a[0])
    np.testing.assert_allclose(found["boom_2"].moment[1, 1], one["boom_2"].moment, rtol=1e-11, atol=1e-7)
    assert robot.loads(q[:0], v[:0], a[:0])["boom_1"].moment.shape == (0, 21, 3)
    none = robot.loads(np.zeros((2, 0, robot.nq)), v[0], a[0], wrenches={"tool0": np.zeros(6)})
    assert none["tool0"].force.shape == (2, 0, 1, 3)
    spring = elastic("flexible_two_link")
    empty = (np.zeros((0, n)) for n in (spring.nq, spring.nv, spring.nv))
    assert all(len(each.force) == 0 for each in spring.loads(*empty).values())
    assert robot.loads(q[0], v[0], a[0], stations=[])["boom_1"].moment.shape == (0, 3)


def test_efforts_change_nothing():
    """Joints transmit what the motion takes, whatever drives them."""
    robot = flexdyn_ros.load("canadarm2")
    q, v, a = bent_state(robot)
    with_efforts = robot.loads(q, v, a, np.full(robot.nu, 1e3))
    for name, each in robot.loads(q, v, a).items():
        np.testing.assert_array_equal(with_efforts[name].moment, each.moment)


def test_a_wrench_at_a_station_counts_inward_of_it():
    robot = flexdyn_ros.load("canadarm2")
    q, v, a = bent_state(robot)
    load = np.array([10.0, -20.0, 30.0, 400.0, 500.0, -600.0])
    s = [0.0, 0.4, 0.41, 1.0]
    with_it, without = (robot.loads(q, v, a, wrenches=w, stations=s) for w in ({"boom_1@0.4": load}, None))
    change = with_it["boom_1"].force - without["boom_1"].force
    for k, section in enumerate(("boom_1@0", "boom_1@0.4")):
        T = robot.frames(q, section)
        np.testing.assert_allclose(change[k], T[:3, :3].T @ load[3:], rtol=1e-9)
        arm = robot.frames(q, "boom_1@0.4")[:3, 3] - T[:3, 3]
        moment = T[:3, :3].T @ (load[:3] + np.cross(arm, load[3:]))
        np.testing.assert_allclose(
            (with_it["boom_1"].moment - without["boom_1"].moment)[k], moment, rtol=1e-8
        )
    np.testing.assert_allclose(change[2:], np.zeros((2, 3)), atol=1e-9)
    np.testing.assert_allclose(with_it["boom_2"].moment, without["boom_2"].moment, rtol=1e-12)
    base = with_it["base_link"].force - without["base_link"].force
    np.testing.assert_allclose(base[0], robot.frames(q, "base_link")[:3, :3].T @ load[3:], rtol=1e-9)


def test_rigid_links_have_their_origin():
    robot = flexdyn_ros.load("canadarm2", options={"formulation.flexible": False})
    q, v, a = bent_state(robot)
    found = robot.loads(q, v, a, stations=[0.5])
    assert set(found) == {link.name for link in robot.description.links}
    assert all(each.station.tolist() == [0.0] and each.force.shape == (1, 3) for each in found.values())
    for name, load in of_joints(robot, q, v, a).items():
        np.testing.assert_allclose(roots(found)[name], load, rtol=1e-12, atol=1e-9)


def test_elastic_joints_pass_their_loads_on():
    robot = elastic("flexible_two_link")
    inner = flexdyn_ros.load("flexible_two_link")
    q, v, a = bent_state(inner)
    motors = robot.nq - inner.nq
    whole = (np.concatenate([x, np.ones(motors)]) for x in (q, v, a))
    found, expected = robot.loads(*whole), inner.loads(q, v, a)
    for name in expected:
        np.testing.assert_allclose(found[name].moment, expected[name].moment, rtol=1e-12, atol=1e-9)


def test_links_on_wheels_are_those_of_the_tree_without_its_root():
    """The same description without wheels is a tree on a floating base."""
    robot = flexdyn_ros.load("mobile_arm_spatial")
    wheels = re.compile(r"<wheel .*?</wheel>|<road[^>]*/>", re.DOTALL)
    plain = flexdyn_ros.load(wheels.sub("", robot.description.text))
    assert (robot.kind, plain.kind, plain.v_names) == ("mobile", "tree", robot.v_names)
    q, v, a = bent_state(plain, 2)
    found, expected = robot.loads(q, v, a), plain.loads(q, v, a)
    assert set(expected) - set(found) == {robot.description.root}
    for name, each in found.items():
        np.testing.assert_allclose(each.moment, expected[name].moment, rtol=1e-11, atol=1e-11)
        np.testing.assert_allclose(each.force, expected[name].force, rtol=1e-11, atol=1e-11)


def test_what_is_not_computed_is_refused_by_name():
    for name, words in (
        ("stewart_1t", "platform"),
        ("soft_arm_3", "continuum"),
        ("mobile_arm", "floating_frame"),
    ):
        robot = flexdyn_ros.load(name)
        with pytest.raises(UnsupportedError, match=words):
            robot.loads(robot.neutral(), np.zeros(robot.nv), np.zeros(robot.nv))
    robot = flexdyn_ros.load("flexible_two_link", options={"formulation.preset": "paper"})
    with pytest.raises(UnsupportedError, match="loads with affine section frames"):
        at_rest(robot, robot.neutral())


def test_wrong_arguments_are_told():
    robot = flexdyn_ros.load("canadarm2")
    q, v = robot.neutral(), np.zeros(robot.nv)
    for bad in ((q[1:], v, v), (q, v[1:], v), (q, v, v[1:]), (q, v, v, v[1:])):
        with pytest.raises(DimensionError, match="expected"):
            robot.loads(*bad)
    for at, name in enumerate(("q", "v", "a", "tau")):
        given = [q.copy(), v.copy(), v.copy(), v.copy()]
        given[at][2] = np.nan
        with pytest.raises(StateError, match=rf"{name}\[2\] is nan"):
            robot.loads(*given)
    with pytest.raises(UnknownNameError, match="hand"):
        robot.loads(q, v, v, wrenches={"hand": np.zeros(6)})
    with pytest.raises(StateError, match=r"wrenches\['tool0'\]"):
        robot.loads(q, v, v, wrenches={"tool0": np.full(6, np.nan)})
    with pytest.raises(StateError, match="stations are fractions"):
        robot.loads(q, v, v, stations=[1.5])
    with pytest.raises(DimensionError, match="stations"):
        robot.loads(q, v, v, stations=[[0.5]])
    with pytest.raises(StateError, match="overflows"):
        robot.loads(q, np.full(robot.nv, 1e200), v)
    large = np.array([v, np.full(robot.nv, 1e200)])
    with pytest.warns(FlexdynWarning, match="overflows float64 in 1 of 2"):
        found = robot.loads(q, large, v)["boom_1"].moment
    assert np.isnan(found[1]).all()
    assert np.isfinite(found[0]).all()


def test_loads_are_a_table_and_robots_with_them_pickle():
    robot = flexdyn_ros.load("canadarm2")
    found = at_rest(robot, robot.neutral())
    assert "moment y [N m]" in str(found["boom_1"])
    again = at_rest(pickle.loads(pickle.dumps(robot)), robot.neutral())
    np.testing.assert_array_equal(again["boom_1"].moment, found["boom_1"].moment)
