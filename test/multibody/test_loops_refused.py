"""Nothing ignores a loop: each method and each use of a robot honours it, is that of the open tree by the
contract, or refuses it by name."""

import machines
import numpy as np
import pytest
from machines import four_bar, four_bar_urdf

import flexdyn_ros
from flexdyn_ros import control, export
from flexdyn_ros.derivation.derive import derive
from flexdyn_ros.description import read
from flexdyn_ros.errors import DescriptionError, UnsupportedError
from flexdyn_ros.robot.verbs import Robot

NAMED = r"robot 'four_bar' has loops \('close'\): .* not computed with loops yet"

#: what the robot is, and what does not depend on its constraints
FACTS = {
    "actuators", "bends", "deflections", "difference", "driven", "efforts", "element_states", "elements",
    "given_accelerations", "hydraulics", "index", "integrate", "keep_urdf", "legs", "mass", "motion",
    "parameters", "pressure_areas", "refuse_given_effort", "rest_states", "section_names", "tips", "urdf",
    "wheel_names", "with_parameters", "with_payload",
}  # fmt: skip
#: those of the open tree, at any q (CONTRACT 14.4)
OPEN = {
    "actuation_matrix", "bias_forces", "bias_terms", "center_of_mass", "energy", "frame_acceleration",
    "frame_velocity", "frames", "jacobian", "mass_matrix", "momentum", "regressor",
}  # fmt: skip
#: those that honour loops
CLOSED = {
    "forward_dynamics", "forward_dynamics_derivatives", "forward_dynamics_parameter_derivatives",
    "inverse_dynamics", "inverse_dynamics_derivatives", "joint_reactions", "linearize", "loads", "modes",
    "neutral", "random", "static_equilibrium",
}  # fmt: skip
USES = {
    "multistep methods": lambda r: flexdyn_ros.simulate(r, 0.01, method="bdf"),
    "lsoda": lambda r: flexdyn_ros.simulate(r, 0.01, method="lsoda"),
    "FMU of a controller": lambda r: export.controller_fmu(r, "nowhere.fmu", law="pd"),
}


@pytest.fixture(scope="module")
def robot():
    return four_bar()


def test_every_method_of_a_robot_is_in_one_of_the_lists():
    """A method that is added says here what it does with loops."""
    public = {name for name in dir(Robot) if not name.startswith("_")}
    listed = [FACTS, OPEN, CLOSED]
    assert public <= set().union(*listed)
    assert sum(map(len, listed)) == len(set().union(*listed))


@pytest.mark.parametrize("name", USES)
def test_uses_that_would_ignore_loops_refuse_them(robot, name):
    with pytest.raises(UnsupportedError, match=NAMED):
        USES[name](robot)


def test_what_control_does_not_do_with_loops():
    excavator, rest = flexdyn_ros.load("excavator"), np.zeros(6)
    with pytest.raises(UnsupportedError, match=r"has loops \('bucket_pin'\): .*'free'\) of cylinders"):
        excavator.inverse_dynamics(excavator.neutral(), rest, rest, unactuated="free")
    with pytest.raises(UnsupportedError, match="as many actuators as motions"):
        control.FeedForward(four_bar(more='<actuation passive="crank_joint"/>'), machines.Q, 1.0)
    beam = flexdyn_ros.load(machines.BEAM)
    with pytest.raises(UnsupportedError, match=r"deflections at a tip are .* by joints alone"):
        control.pd(beam, beam.neutral(), 1.0, 1.0, tip="b@tip")(0.0, beam.neutral(), np.zeros(beam.nv))


@pytest.mark.parametrize("name", sorted(OPEN))
def test_methods_of_the_open_tree_are_those_of_the_robot_without_loops(robot, name):
    tree = flexdyn_ros.load(four_bar_urdf(loop="", start=""))
    q, v, a = np.random.default_rng(1).uniform(-1.0, 1.0, (3, 3))
    arguments = {
        "actuation_matrix": (q,), "center_of_mass": (q,), "mass_matrix": (q,), "frames": (q,),
        "jacobian": (q, "rocker"), "frame_velocity": (q, v, "rocker"), "regressor": (q, v, a),
        "frame_acceleration": (q, v, a, "rocker"),
    }.get(name, (q, v))  # fmt: skip
    found, expected = (getattr(r, name)(*arguments) for r in (robot, tree))
    np.testing.assert_allclose(
        np.hstack([*map(np.ravel, found)]), np.hstack([*map(np.ravel, expected)]), rtol=1e-13
    )


def test_closed_forms_refuse_loops():
    with pytest.raises(UnsupportedError, match="<loop>"):
        derive(read(four_bar_urdf(start="")))


def test_the_expanded_description_shows_poses_of_all_joints(robot):
    """A picture: it is not simulated, and shows a closed pose where it is given one."""
    expanded = flexdyn_ros.expand(robot)
    assert expanded.joint_names == robot.v_names
    np.testing.assert_array_equal(expanded.joint_positions(machines.Q), machines.Q)


def test_the_viewer_shows_and_moves_closed_mechanisms(robot):
    pytest.importorskip("viser")
    from flexdyn_ros.view.drawing.shown_robot import ShownRobot
    from flexdyn_ros.view.drive import Drive
    from flexdyn_ros.view.motion import Reach

    ShownRobot(robot)
    reach = Reach(robot)
    q = reach.configuration(np.array([0.2, 0.0, 0.0]), 0)
    assert q[0] == machines.Q[0] + 0.2
    assert np.abs(robot.loop_residual(q)).max() <= 1e-10
    # the crank cannot be turned so far that the bars do not reach
    assert reach.configuration(np.array([0.0, 3.0, 0.0]), 1) is None
    drive = Drive(robot, robot.neutral())
    drive.set_target(0, -0.9)
    for _ in range(100):
        q, _, _ = drive.advance(0.05)
    assert abs(q[0] + 0.9) < 0.04
    assert np.abs(robot.loop_residual(q)).max() <= 1e-10


def test_controllers_of_other_robots_refuse_loops(robot):
    pytest.importorskip("rclpy")
    from flexdyn_ros.nodes.controllers import controller

    class Node(controller.Controller):
        def __init__(self):
            self._settings = None

    given, controller.load_robot = controller.load_robot, lambda node, settings: robot
    try:
        with pytest.raises(UnsupportedError, match=NAMED):
            Node().setup()
    finally:
        controller.load_robot = given


@pytest.mark.parametrize("options", [{"formulation.method": "lagrange"}])
def test_other_formulations_refuse_loops(options):
    with pytest.raises(DescriptionError, match="a <loop> beside the method lagrange is not possible yet"):
        flexdyn_ros.load(four_bar_urdf(), options=options)


@pytest.mark.parametrize("name", ["mobile_arm", "soft_arm"])
def test_other_kinds_of_robots_refuse_loops(name):
    text = flexdyn_ros.load(name).description.text
    link = flexdyn_ros.load(name).description.root
    loop = f'<flexdyn><loop name="l" type="spherical" base="world" end="{link}"/></flexdyn></robot>'
    with pytest.raises(
        DescriptionError,
        match=r"a <loop> (in a robot of kind|beside the method floating_frame)",
    ):
        flexdyn_ros.load(text.replace("</robot>", loop))
