"""Graphs of the verbs compute what the compiled verbs do: every family, formulation and option."""

import numpy as np
import pytest
from exported import at_random, evaluated, residual
from flexible_robots import branched
from models import PANDA, elastic, example_robot, two_link_arm
from random_robots import FAMILIES, random_robot

import flexdyn_ros
from flexdyn_ros.errors import DescriptionError, UnknownNameError, UnsupportedError
from flexdyn_ros.export.tracing.actuation import holding_efforts
from flexdyn_ros.export.tracing.equations import Equations
from flexdyn_ros.numerics.tracing.graph import Graph

ROBOTS = (
    "canadarm2", "flexible_two_link", "kane_beam", "mobile_arm", "mobile_arm_spatial", "seven_joint_arm",
    "soft_arm", "soft_arm_3", "stewart_1t", "two_link",
)  # fmt: skip


def check(robot, seed=0):
    q, v, a, tau = at_random(robot, seed)
    traced = Equations(robot)
    found = evaluated(traced.function("inverse_dynamics"), q=q, v=v, a=a)
    expected = robot.inverse_dynamics(q, v, a)
    assert np.abs(found - expected).max() <= 1e-12 * np.abs(expected).max()
    M = evaluated(traced.function("mass_matrix"), q=q)
    assert np.abs(M - robot.mass_matrix(q)).max() <= 1e-12 * np.abs(M).max()
    energy = evaluated(traced.function("energy"), q=q, v=v)
    assert energy == pytest.approx(tuple(robot.energy(q, v)), rel=1e-12, abs=1e-12)
    b = robot.forward_dynamics(q, v, tau)
    assert (
        residual(robot, q, v, tau, evaluated(traced.function("forward_dynamics"), q=q, v=v, tau=tau), b)
        <= 1e-12
    )
    names = robot.frame_names[-2:]
    positions, rotations = evaluated(traced.function("frames", names), q=q)
    poses = robot.frames(q, names)
    assert np.abs(positions - poses[:, :3, 3]).max() <= 1e-13 * max(1.0, np.abs(poses).max())
    assert np.abs(rotations - poses[:, :3, :3]).max() <= 1e-13


@pytest.mark.parametrize("name", ROBOTS)
def test_shipped_robots(name):
    check(flexdyn_ros.load(name))


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("seed", range(4))
def test_random_robots_of_every_family(family, seed):
    check(flexdyn_ros.load(random_robot(family, seed)), seed)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_two_hundred_random_robots_of_every_family(family):
    checked, seed = 0, 0
    while checked < 200:
        try:
            robot = flexdyn_ros.load(random_robot(family, seed))
        except DescriptionError:
            robot = None  # a platform that no legs can carry
        if robot is not None and robot.nv:
            check(robot, seed)
            checked += 1
        seed += 1
    assert seed < 400


@pytest.mark.parametrize("stiffening", ["none", "full"])
def test_stiffening(stiffening):
    check(flexdyn_ros.load("canadarm2", options={"formulation.stiffening": stiffening}))


def test_models_of_soft_arms():
    check(flexdyn_ros.load("soft_arm", options={"formulation.mass_model": "lumped2"}))
    check(flexdyn_ros.load("soft_arm_3", options={"formulation.kinematics": "modal"}))


def test_branched_flexible_tree_on_a_floating_base():
    check(flexdyn_ros.load(branched(middle=True, base="floating")))


def test_elastic_joints_and_friction():
    joint = (
        '<flexdyn reference="shoulder"><rotor inertia="1e-4" gear_ratio="80"/>'
        '<joint_elasticity stiffness="500" damping="2"/></flexdyn>'
        '<flexdyn reference="elbow"><friction static="1.1" smoothing_velocity="0.01"/></flexdyn>'
    )
    robot = flexdyn_ros.load(two_link_arm(more=joint))
    assert robot.nv == 3
    check(robot)


@pytest.mark.filterwarnings("ignore::flexdyn_ros.errors.FlexdynWarning")
def test_mimic_joints():
    check(flexdyn_ros.load(example_robot(PANDA)))


def test_method_lagrange_has_the_equations_of_the_recursions():
    check(flexdyn_ros.load("flexible_two_link", options={"formulation.method": "lagrange"}))


@pytest.mark.parametrize("name", ["boom", "boom_on_cylinder", "canadarm2", "flexible_two_link"])
def test_efforts_that_hold_a_robot_leave_it_at_rest_wherever_it_is_bent(name):
    """Those of cylinders at the joints, and what the deflections of links need beside them."""
    robot = flexdyn_ros.load(name)
    holding, rng, still = holding_efforts(Equations(robot)), np.random.default_rng(5), np.zeros(robot.nv)
    for _ in range(3):
        q = robot.random(rng)
        tau = evaluated(holding, q=q)
        falls = np.abs(robot.forward_dynamics(q, still)).max()
        assert np.abs(robot.forward_dynamics(q, still, tau)).max() <= 1e-9 * max(falls, 1.0)
        expected = robot.inverse_dynamics(q, still, still, actuators="all")
        np.testing.assert_allclose(tau, expected, rtol=1e-9, atol=1e-6)


def test_equations_of_the_seven_joint_arm_are_short():
    traced = Equations(flexdyn_ros.load("seven_joint_arm"))
    operations = {}
    for verb in ("inverse_dynamics", "forward_dynamics"):
        function = traced.function(verb)
        graph = function.graph
        operations[verb] = sum(
            graph.nodes[i][0] not in ("constant", "input") for i in graph.needed(function.results)
        )
    assert operations["inverse_dynamics"] <= 1082
    assert operations["forward_dynamics"] <= 2600


# ---- parameters ----


@pytest.mark.parametrize("motors", [False, True], ids=["stiff", "elastic"])
def test_parameters_are_inputs(motors):
    robot = elastic("seven_joint_arm") if motors else flexdyn_ros.load("seven_joint_arm")
    traced = Equations(robot, ["link_3/*", "*damping*", *(["*/elasticity_*", "*/rotor"] if motors else [])])
    p = 1.1 * traced.parameters.values + 0.01
    changed = robot.with_parameters(dict(zip(traced.parameters.names, p, strict=True)))
    q, v, a, _ = at_random(robot)
    found = evaluated(traced.function("inverse_dynamics"), q=q, v=v, a=a, p=p)
    expected = changed.inverse_dynamics(q, v, a)
    assert np.abs(expected - robot.inverse_dynamics(q, v, a)).max() > 0.1
    assert np.abs(found - expected).max() <= 1e-12 * np.abs(expected).max()
    M = evaluated(traced.function("mass_matrix"), q=q, p=p).reshape(robot.nv, robot.nv)
    assert np.abs(M - changed.mass_matrix(q)).max() <= 1e-12 * np.abs(M).max()


@pytest.mark.parametrize(
    ("name", "chosen", "more"),
    [
        ("stewart_1t", ["platform/*", "leg_1_rod/*"], 0.01),
        ("soft_arm_3", ["plate_2/*", "section_1/*"], 1e-7),
        ("mobile_arm", ["base_link/*", "rear/*", "link_1/*", "elbow/*"], 1e-3),
    ],
)
def test_parameters_of_other_families_are_inputs(name, chosen, more):
    """Of a platform those that make a leg lose its symmetry are too."""
    robot = flexdyn_ros.load(name)
    traced = Equations(robot, chosen)
    p = 1.1 * traced.parameters.values + more
    changed = robot.with_parameters(dict(zip(traced.parameters.names, p, strict=True)))
    q, v, a, _ = at_random(robot)
    found = evaluated(traced.function("inverse_dynamics"), q=q, v=v, a=a, p=p)
    expected = changed.inverse_dynamics(q, v, a)
    assert np.abs(expected - robot.inverse_dynamics(q, v, a)).max() > 0.01
    assert np.abs(found - expected).max() <= 1e-12 * np.abs(expected).max()
    a[..., robot.functions.prescribed] = 0.0
    tau = changed.inverse_dynamics(q, v, a)
    found = evaluated(traced.function("forward_dynamics"), q=q, v=v, tau=tau, p=p)
    assert np.abs(found - a).max() <= 1e-9 * np.abs(a).max()


def test_unknown_parameters_and_verbs_are_refused():
    robot = flexdyn_ros.load("two_link")
    with pytest.raises(UnknownNameError, match="parameter"):
        Equations(robot, ["wheel/mass"])
    with pytest.raises(UnknownNameError, match="verb"):
        Equations(robot).function("inverse_kinematics")


def test_a_robot_that_does_not_move_has_no_equations():
    with pytest.raises(UnsupportedError, match="no joint that moves"):
        Equations(flexdyn_ros.load('<robot name="block"><link name="block"/></robot>'))


def test_affine_frames_are_refused_by_name():
    robot = flexdyn_ros.load("canadarm2", options={"formulation.preset": "paper"})
    with pytest.raises(UnsupportedError, match="canadarm2"):
        Equations(robot).function("inverse_dynamics")


# ---- numbers ----


def test_equal_operations_are_one_node_and_constants_are_folded():
    graph = Graph()
    x, y = graph.inputs("x", 2)
    assert (x * y).index == (y * x).index
    assert 0.0 * x == 0.0
    assert (x + 0.0) is x
    assert (1.0 * x) is x
    assert isinstance(x - x, float)
    opposite = -x
    assert (-opposite).index == x.index


def test_numbers_cannot_be_branched_on():
    (x,) = Graph().inputs("x", 1)
    with pytest.raises(UnsupportedError, match="branch"):
        bool(x < 1.0)
    with pytest.raises(UnsupportedError, match="value"):
        float(x)
