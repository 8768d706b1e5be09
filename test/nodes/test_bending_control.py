"""Controllers of arms that bend, and elastic joints, between processes; the test moves time."""

import numpy as np
import pytest

pytestmark = [pytest.mark.ros, pytest.mark.timeout(400)]
pytest.importorskip("rclpy")
pytest.importorskip("flexdyn_interfaces.srv")

from lockstep import STANDING, Lab, advance, begin, point_trajectory, send  # noqa: E402
from node_process import Client, NodeProcess  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402

import flexdyn_ros  # noqa: E402
from flexdyn_interfaces import srv  # noqa: E402
from flexdyn_ros.control import StaticShape  # noqa: E402
from flexdyn_ros.nodes import numbers_of  # noqa: E402

JOINTS = ("shoulder", "elbow")
START, GOAL = (0.4, -0.6), (0.8, -1.0)
#: gravity in the plane in which both links bend: the straight arm sags by some centimetres
GRAVITY = [0.0, -9.81, 0.0]
ROBOT = ["-p", "description_file:=flexible_two_link", "-p", f"options:=['gravity={GRAVITY}']"]
INITIAL = [x for name, q in zip(JOINTS, START, strict=True) for x in ("-p", f"initial.positions.{name}:={q}")]

CANADARM2 = ("shoulder_pitch", "elbow_pitch", "wrist_pitch", "wrist_yaw", "wrist_roll")
ORBIT = ["-p", "description_file:=canadarm2", "-p", "options:=['gravity=[0, 0, 0]']"]


@pytest.fixture(scope="module")
def client():
    with Client("bending_control_client") as client:
        yield client


@pytest.fixture(scope="module")
def labs(client, tmp_path_factory):
    """A two-link arm under each controller, and Canadarm2 in orbit."""
    logs = tmp_path_factory.mktemp("logs")
    labs = {
        "pd": Lab("bending_pd", "pd_controller"),
        "torque": Lab("bending_torque", "computed_torque"),
        "orbit": Lab("orbit", "input_shaper"),
    }
    own = {
        "pd": [*ROBOT, "-p", "deflection_compensation:=true", "-p", "tip_frame:=tool0"],
        "torque": [*ROBOT, "-p", "answer_timeout:=1.0"],
        "orbit": ORBIT,
    }
    started = {}
    for name, lab in labs.items():
        simulator = ORBIT if name == "orbit" else [*ROBOT, *INITIAL]
        started |= lab.start(logs, simulator, own[name])
    server = ["-r", f"__ns:=/{labs['torque'].name}", *ROBOT]
    started["server"] = NodeProcess("dynamics_server", *server, log=logs / "server.txt")
    try:
        for node in started.values():
            node.wait_for_text("ready")
        begin(client, list(labs.values()))
        labs["orbit"].log = started["orbit/input_shaper"]
        yield labs
    finally:
        for node in started.values():
            node.__exit__()


@pytest.fixture(scope="module")
def moved(client, labs):
    """Both two-link arms at their goal."""
    arms = [labs["pd"], labs["torque"]]
    advance(client, arms, 0.3)
    for lab in arms:
        send(client, lab, point_trajectory(GOAL, 1.5, JOINTS))
    advance(client, arms, 2.5)


@pytest.fixture(scope="module")
def robot():
    return flexdyn_ros.load("flexible_two_link", options={"gravity": GRAVITY})


def joint_configuration(robot, positions):
    q = robot.neutral()
    for name, value in zip(JOINTS, positions, strict=True):
        q[robot.index(name)] = value
    return q


@pytest.mark.usefixtures("moved")
def test_the_tip_of_a_sagging_arm_comes_where_that_of_the_straight_one_would_be(labs, robot):
    lab = labs["pd"]
    goal = joint_configuration(robot, GOAL)
    wanted = robot.frames(goal, "tool0")[:3, 3]
    reached = robot.frames(numbers_of(lab.state.positions), "tool0")[:3, 3]
    sagging = robot.frames(StaticShape(robot)(goal)[0], "tool0")[:3, 3]
    assert np.linalg.norm(sagging - wanted) > 0.02
    assert np.linalg.norm(reached - wanted) < 0.05 * np.linalg.norm(sagging - wanted)
    aimed = StaticShape(robot).aimed(goal, "tool0")
    efforts = numbers_of(lab.answers[-1].points[3].effort)
    hold = StaticShape(robot)(aimed)[1][[robot.index(name) for name in JOINTS]]
    assert efforts == pytest.approx(hold, abs=0.02 * np.abs(hold).max())
    assert lab.missed <= 10


@pytest.mark.usefixtures("moved")
def test_computed_torque_brings_the_joints_of_a_bending_arm_to_the_goal(labs, robot):
    lab = labs["torque"]
    assert list(lab.of("positions", JOINTS).values()) == pytest.approx(GOAL, abs=2e-3)
    goal = joint_configuration(robot, GOAL)
    hold = StaticShape(robot)(goal)[1][[robot.index(name) for name in JOINTS]]
    efforts = numbers_of(lab.answers[-1].points[3].effort)
    # the efforts of the shape that the weight bends the arm to, not of the straight one
    assert efforts == pytest.approx(hold, abs=0.02 * np.abs(hold).max())
    assert lab.missed <= 10


def test_canadarm2_in_orbit_is_left_to_the_servos_of_its_joints(client, labs):
    lab = labs["orbit"]
    lab.log.wait_for_text("go to the servos", timeout=60.0)
    goal = [0.02, -0.02, 0.02, 0.01, 0.02]
    send(client, lab, point_trajectory(goal, 1.0, CANADARM2))
    advance(client, [lab], 4.5)
    command = lab.commands[-1]
    assert len(command.position) == len(command.velocity) == len(command.effort) == 5
    assert lab.reference() == pytest.approx(goal, abs=1e-9)
    assert list(lab.of("positions", CANADARM2).values()) == pytest.approx(goal, abs=2e-4)
    assert max(map(abs, lab.of("velocities", CANADARM2).values())) < 2e-3
    # two modes are shaped: the reference ends later than the trajectory
    lab.log.wait_for_text("shaping zv for", timeout=60.0)


ELASTIC = """<robot name="elastic_arm">
  <link name="base"/>
  <link name="upper"><inertial><origin xyz="0.25 0 0"/><mass value="2"/>
    <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.05" iyz="0" izz="0.05"/></inertial></link>
  <link name="fore"><inertial><origin xyz="0.2 0 0"/><mass value="1"/>
    <inertia ixx="0.005" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.02"/></inertial></link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" effort="100" velocity="5"/></joint>
  <joint name="elbow" type="revolute"><parent link="upper"/><child link="fore"/><origin xyz="0.5 0 0"/>
    <axis xyz="0 1 0"/><limit lower="-2" upper="2" effort="50" velocity="5"/></joint>
  <flexdyn><gravity>0 0 -9.81</gravity></flexdyn>
  <flexdyn reference="shoulder"><rotor inertia="1e-4" gear_ratio="80"/>
    <joint_elasticity stiffness="800" damping="2"/></flexdyn>
  <flexdyn reference="elbow"><rotor inertia="5e-5" gear_ratio="80"/>
    <joint_elasticity stiffness="400" damping="1"/></flexdyn>
</robot>"""


def test_elastic_joints_are_simulated_served_and_moved_by_their_motors(client, tmp_path):
    path = tmp_path / "elastic_arm.urdf"
    path.write_text(ELASTIC)
    robot = flexdyn_ros.load(str(path))
    motors = ["shoulder/motor", "elbow/motor"]
    own = ["-r", "__ns:=/elastic", "-p", f"description_file:={path}"]
    # commands that last: six seconds are simulated in however long that takes
    standing = [x.replace("hold", "zero").replace("timeout:=1.0", "timeout:=0.0") for x in STANDING]
    with (
        NodeProcess("simulator", *own, *standing, log=tmp_path / "simulator.txt") as simulator,
        NodeProcess("dynamics_server", *own, log=tmp_path / "server.txt") as server,
    ):
        simulator.wait_for_text("ready")
        server.wait_for_text("ready")
        step = "/elastic/simulator/step"
        falls = client.call(srv.Step, step, steps=50).state
        alone = flexdyn_ros.simulate(robot, 0.05, dt=1e-3, limits="spring")
        assert list(falls.position_names) == ["shoulder", "elbow", *motors]
        np.testing.assert_allclose(numbers_of(falls.positions), alone.q[-1], rtol=0.0, atol=1e-12)

        q, v, a = numbers_of(falls.positions), numbers_of(falls.velocities), np.ones(4)
        answer = client.call(
            srv.InverseDynamics, "/elastic/dynamics_server/inverse_dynamics", samples=1,
            positions=q.tolist(), velocities=v.tolist(), accelerations=a.tolist(),
        )  # fmt: skip
        assert answer.success, answer.message
        np.testing.assert_allclose(numbers_of(answer.efforts), robot.inverse_dynamics(q, v, a), rtol=1e-12)

        told = client.call(srv.DescribeRobot, "/elastic/dynamics_server/describe_robot")
        assert [c.name for c in told.coordinates if c.actuated] == motors

        # motors go where they are told, links sag behind them by weight / stiffness
        target = [-0.8, 0.5]
        command = JointState(name=motors, position=target, velocity=[0.0, 0.0])
        taken = lambda s: abs(dict(zip(s.effort_names, s.efforts, strict=True))[motors[0]]) > 1.0  # noqa: E731
        for _ in range(20):
            client.publish(JointState, "/elastic/joint_commands", command)
            if taken(client.call(srv.Step, step, steps=20).state):
                break
        state = client.call(srv.Step, step, steps=6000).state
        at = dict(zip(state.position_names, state.positions, strict=True))
        assert [at[name] for name in motors] == pytest.approx(target, abs=1e-3)
        joints = robot.neutral()
        joints[:] = numbers_of(state.positions)
        weight = robot.bias_terms(joints, np.zeros(4)).gravity[:2]
        sag = np.array([at["shoulder"] - target[0], at["elbow"] - target[1]])
        assert sag == pytest.approx(-weight / np.array([800.0, 400.0]), abs=1e-3)
        assert np.abs(sag).max() > 0.005
        refused = JointState(name=["shoulder"], effort=[1.0])
        client.publish(JointState, "/elastic/joint_commands", refused)
        simulator.wait_for_text("not actuated", timeout=60.0)
