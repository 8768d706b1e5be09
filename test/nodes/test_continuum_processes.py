"""Simulator, dynamics server and state publisher with a soft arm, each a process of its own."""

import os
import signal
import subprocess
import sys

import numpy as np
import pytest

pytestmark = [pytest.mark.ros, pytest.mark.timeout(400)]
pytest.importorskip("rclpy")
pytest.importorskip("flexdyn_interfaces.srv")

from geometry_msgs.msg import Pose, WrenchStamped  # noqa: E402
from node_process import PATIENCE, ROOT, Client, NodeProcess  # noqa: E402
from rclpy.qos import DurabilityPolicy, QoSProfile  # noqa: E402
from scipy.spatial.transform import Rotation  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from soft_arms import chain  # noqa: E402
from std_msgs.msg import Float64MultiArray  # noqa: E402
from std_srvs.srv import Trigger  # noqa: E402
from tf2_msgs.msg import TFMessage  # noqa: E402
from visualization_msgs.msg import MarkerArray  # noqa: E402

import flexdyn_ros  # noqa: E402
from flexdyn_interfaces import srv  # noqa: E402
from flexdyn_interfaces.msg import DynamicsState, ElementStates, LinkDeflections  # noqa: E402
from flexdyn_ros.families.continuum.model import ATMOSPHERE  # noqa: E402
from flexdyn_ros.nodes import numbers_of  # noqa: E402

LATCHED = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)
AREA, UPPER = 1e-4, 0.03
NODE = "/soft/simulator"
HEARD = ("/soft/joint_states", "/soft/deflections")


def text():
    """A hanging arm of two sections driven by pressures that lag by 20 ms."""
    section = 'preset="bai2022" length="0.15"'
    pressure = f'<pressure area="{AREA}" time_constant="0.02" maximum="1.5e6"/>'
    return chain(2, section, "0 0 9.81").replace(f"{section}/>", f"{section}>{pressure}</section>")


@pytest.fixture(scope="module")
def robot():
    return flexdyn_ros.load(text())


@pytest.fixture(scope="module")
def client():
    with Client("soft_client") as client:
        client.listen(DynamicsState, f"{NODE}/state")
        client.listen(JointState, "/soft/joint_states")
        client.listen(LinkDeflections, "/soft/deflections")
        client.listen(ElementStates, f"{NODE}/element_states")
        yield client


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("arm") / "arm.urdf"
    path.write_text(text())
    return path


@pytest.fixture(scope="module")
def simulator(file):
    arguments = ["-r", "__ns:=/soft", "-p", f"description_file:={file}", "-p", "start_paused:=true"]
    arguments += ["-p", "command_timeout:=0.0"]
    with NodeProcess("simulator", *arguments, log=file.with_name("simulator.txt")) as node:
        node.wait_for_text("ready")
        yield node


def step(client, steps, **fields):
    answer = client.call(srv.Step, f"{NODE}/step", steps=steps, **fields)
    assert answer.success, answer.message
    return numbers_of(answer.state.positions), numbers_of(answer.state.efforts)


def test_steps_of_the_node_are_those_of_the_library_with_the_lag_of_the_supply(simulator, client, robot):
    assert client.call(Trigger, f"{NODE}/reset").success
    tau = [10.0, 20.0, 0.0, 5.0, 0.0, 15.0]
    q, effort = step(client, 50, efforts=tau)
    alone = flexdyn_ros.simulate(robot, 0.05, dt=1e-3, control=np.array(tau), limits="spring", saturate=True)
    np.testing.assert_allclose(q, alone.q[-1], rtol=0.0, atol=1e-12)
    # two and a half time constants after the step, the mean of the last millisecond
    np.testing.assert_allclose(effort, np.array(tau) * (1 - np.exp(-2.5)), rtol=0.01)


def test_pressures_are_published_read_and_set_by_name(simulator, client, robot):
    assert client.call(Trigger, f"{NODE}/reset").success
    tau = np.array([10.0, 20.0, 0.0, 5.0, 0.0, 15.0])
    step(client, 30, efforts=tau.tolist())
    found = client.call(srv.GetElementStates, f"{NODE}/get_element_states").states
    assert found.robot == robot.name
    assert list(found.names) == [state.name for state in robot.element_states]
    expected = ATMOSPHERE + tau / AREA * (1 - np.exp(-1.5))
    np.testing.assert_allclose(numbers_of(found.values), expected, rtol=1e-9)
    # a state that is set finds pressures at rest
    state = client.call(srv.GetState, f"{NODE}/get_dynamics_state").state
    answer = client.call(srv.SetState, f"{NODE}/set_dynamics_state", state=state)
    assert answer.success
    assert "at rest" in answer.message
    after = client.call(srv.GetElementStates, f"{NODE}/get_element_states").states
    assert numbers_of(after.values).tolist() == [ATMOSPHERE] * 6
    # another pressure, the others at rest, and on from there as the library does
    request = {"names": ["section_2/pressure_1"], "values": [2.0e5]}
    kind, name = srv.SetElementStates, f"{NODE}/set_element_states"
    answer = client.call(kind, name, states=ElementStates(**request))
    assert answer.success, answer.message
    q0, v0 = numbers_of(state.positions), numbers_of(state.velocities)
    q, _ = step(client, 20, efforts=tau.tolist())
    alone = flexdyn_ros.simulate(
        robot, 0.02, q0, v0, states0={"section_2/pressure_1": 2.0e5}, dt=1e-3, control=tau, limits="spring"
    )
    np.testing.assert_allclose(q, alone.q[-1], rtol=0.0, atol=1e-12)
    before = client.call(srv.GetElementStates, f"{NODE}/get_element_states").states
    for names, values, expected in (
        (["section_9/pressure_1"], [1e5], "section_9/pressure_1"),
        (["section_1/pressure_1"] * 2, [1e5, 2e5], "more than once"),
        (["section_1/pressure_1"], [], "0 numbers, expected 1"),
        ([], [1e5], r"expected (6,)"),
        (["section_1/pressure_1"], [0.0], "above 0"),
        (["section_1/pressure_1"], [np.nan], "finite"),
    ):
        answer = client.call(kind, name, states=ElementStates(names=names, values=values))
        assert not answer.success
        assert expected in answer.message
    after = client.call(srv.GetElementStates, f"{NODE}/get_element_states").states
    assert numbers_of(after.values).tolist() == numbers_of(before.values).tolist()
    assert client.call(Trigger, f"{NODE}/resume").success
    published = client.next(f"{NODE}/element_states")
    assert client.call(Trigger, f"{NODE}/pause").success
    assert (published.robot, published.names) == (found.robot, found.names)
    assert len(published.values) == 6


def test_steps_take_efforts_by_the_names_of_actuators(simulator, client, robot):
    named = {robot.actuators[3]: 15.0, robot.actuators[0]: 10.0}
    found = []
    for fields in (
        {"efforts": robot.efforts(named).tolist()},
        {"effort_names": list(named), "efforts": list(named.values())},
    ):
        assert client.call(Trigger, f"{NODE}/reset").success
        found.append(step(client, 20, **fields)[0])
    np.testing.assert_array_equal(*found)
    assert np.abs(found[0]).max() > 1e-6
    answer = client.call(srv.Step, f"{NODE}/step", steps=1, effort_names=["knee"], efforts=[1.0])
    assert not answer.success
    assert "knee" in answer.message


def test_pressures_and_forces_are_taken_from_topics(simulator, client, robot):
    assert client.call(Trigger, f"{NODE}/reset").success
    assert client.call(Trigger, f"{NODE}/resume").success
    pressures = np.array([1.5e5, 2.5e5, 1.2e5, ATMOSPHERE, 3.0e5, 2.0e5])

    def exerts(tau):
        return lambda: (
            f"{NODE}/state" in client.last
            and np.abs(numbers_of(client.last[f"{NODE}/state"].efforts) - tau).max() < 1e-6
        )

    message = Float64MultiArray(data=pressures.tolist())
    wanted = exerts(AREA * (pressures - ATMOSPHERE))
    client.insist(Float64MultiArray, f"{NODE}/pressure_commands", message, wanted, "no such pressures")
    tau = np.array([3.0, 0.0, 1.0, 0.0, 2.0, 0.0])
    message = JointState(name=list(robot.effort_names), effort=tau.tolist())
    client.insist(JointState, "/soft/joint_commands", message, exerts(tau), "no such forces")
    # one pressure too few is refused, and what was told before stays
    client.publish(Float64MultiArray, f"{NODE}/pressure_commands", Float64MultiArray(data=[1e5] * 5))
    client.next(f"{NODE}/state")
    assert exerts(tau)()
    assert client.call(Trigger, f"{NODE}/pause").success


def test_strokes_end_in_a_soft_stop_without_a_rebound(simulator, client, robot):
    assert client.call(Trigger, f"{NODE}/reset").success
    # 120 N on springs of 1700 N/m would lengthen by 70 mm
    tau = [120.0, 120.0, 120.0, 0.0, 0.0, 0.0]
    lengths = np.array([step(client, 10, efforts=tau)[0][0] for _ in range(60)])
    assert lengths.max() > UPPER
    assert lengths.max() < 1.02 * UPPER
    assert np.diff(lengths).min() > -1e-6
    assert np.abs(np.diff(lengths[-10:])).max() < 1e-6


def test_a_wrench_anywhere_on_the_arm_moves_it_as_in_the_library(simulator, client, robot):
    assert client.call(Trigger, f"{NODE}/reset").success
    message = WrenchStamped()
    message.header.frame_id = "section_1@0.5"
    message.wrench.force.x = 0.8

    def pulled():
        # weight lengthens all three alike
        q, _ = step(client, 1)
        return abs(q[0] - q[1]) > 1e-6

    client.insist(WrenchStamped, f"{NODE}/external_wrench", message, pulled, "the wrench does nothing", 5.0)
    q0 = client.call(srv.GetState, f"{NODE}/get_dynamics_state").state
    q, _ = step(client, 20)
    R = robot.frames(numbers_of(q0.positions), "section_1@0.5")[:3, :3]
    # in the axes of the slice, which turns little meanwhile
    alone = flexdyn_ros.simulate(
        robot,
        0.02,
        numbers_of(q0.positions),
        numbers_of(q0.velocities),
        dt=1e-3,
        limits="spring",
        wrenches={"section_1@0.5": np.r_[0, 0, 0, R @ [0.8, 0, 0]]},
    )
    moved = np.abs(q - numbers_of(q0.positions)).max()
    assert np.abs(q - alone.q[-1]).max() < 0.02 * moved
    assert client.call(Trigger, f"{NODE}/reset").success


def test_shape_deflections_transforms_and_markers_are_those_of_the_library(simulator, client, robot, file):
    expanded = flexdyn_ros.expand(robot)
    arguments = ["-r", "__ns:=/soft", "-p", f"description_file:={file}"]
    log = file.with_name("state_publisher.txt")
    with NodeProcess("state_publisher", *arguments, log=log) as node:
        node.wait_for_text("ready")
        client.listen(TFMessage, "/tf")
        client.listen(TFMessage, "/tf_static", LATCHED)
        client.listen(MarkerArray, "/soft/deformation_markers")
        step(client, 300, efforts=[20.0, 0.0, 5.0, 0.0, 15.0, 0.0])
        seen = {}

        def one_step():
            state = client.call(srv.Step, f"{NODE}/step", steps=1).state
            seen.update(q=numbers_of(state.positions), stamp=state.header.stamp, drawn=[])

        def shown():
            # other messages of the topic hold what changes seldom
            seen["drawn"] = seen["drawn"] or meshes(client, seen["stamp"])
            headers = [getattr(client.last.get(topic), "header", None) for topic in HEARD]
            headers += [client.last["/tf"].transforms[0].header if "/tf" in client.last else None]
            of_this_step = all(header and header.stamp == seen["stamp"] for header in headers)
            return "/tf_static" in client.last and seen["drawn"] and of_this_step

        # steps until both sides know each other
        client.repeat(one_step, shown, "not everything is shown")
        q, drawn = seen["q"], seen["drawn"]
        states = client.last["/soft/joint_states"]
        assert tuple(states.name) == tuple(expanded.joint_names)
        np.testing.assert_allclose(numbers_of(states.position), expanded.joint_positions(q), atol=1e-12)
        links = client.last["/soft/deflections"].links
        assert [link.link for link in links] == ["section_1", "section_2"]
        tip = links[1].displacements[-1]
        expected = robot.deflections(q)["section_2"].displacement[-1]
        np.testing.assert_allclose((tip.x, tip.y, tip.z), expected, atol=1e-12)
        assert [marker.header.frame_id for marker in drawn] == ["section_1/base", "section_2/base"]
        frames = {t.child_frame_id: t for name in ("/tf", "/tf_static") for t in client.last[name].transforms}
        T, name = np.eye(4), "link_2"
        while name in frames:
            T = matrix(frames[name].transform) @ T
            name = frames[name].header.frame_id
        assert name in ("world", "link_0")
        np.testing.assert_allclose(T, robot.frames(q, "link_2"), atol=1e-9)
        # the last triangles close the tube where the section ends, seen from its base
        end = {(p.x, p.y, p.z) for p in drawn[0].points[-30:]}
        base, tip = robot.frames(q, ["section_1/base", "section_1/tip"])
        local = base[:3, :3].T @ (tip[:3, 3] - base[:3, 3])
        np.testing.assert_allclose(np.mean(list(end), axis=0), local, atol=1e-4)


def meshes(client, stamp):
    """The markers that show how sections bend at a time."""
    message = client.last.get("/soft/deformation_markers")
    markers = message.markers if message else []
    bent = markers and markers[0].ns.startswith("deformation/")
    return markers if bent and markers[0].header.stamp == stamp else []


def test_inverse_kinematics_is_served(client, robot, file, tmp_path):
    arguments = ["-r", "__ns:=/soft", "-p", f"description_file:={file}"]
    with NodeProcess("dynamics_server", *arguments, log=tmp_path / "server.txt") as node:
        node.wait_for_text("ready")
        q = np.array([[0.01, 0.02, 0.005, 0.015, 0.003, 0.01], [0.012, 0.004, 0.02, 0.0, 0.006, 0.013]])
        poses = robot.frames(q, "section_2/tip")
        name = "/soft/dynamics_server/inverse_kinematics"
        answer = client.call(srv.InverseKinematics, name, poses=[pose(T) for T in poses])
        assert answer.success, answer.message
        assert answer.converged == [True, True]
        assert not len(answer.lengths)
        found = numbers_of(answer.positions).reshape(2, 6)
        np.testing.assert_allclose(robot.frames(found, "section_2/tip"), poses, atol=1e-8)
        far = Pose()
        far.position.x, far.orientation.w = 9.0, 1.0
        answer = client.call(srv.InverseKinematics, name, poses=[far])
        assert answer.success, answer.message
        assert answer.converged == [False]
        assert not client.call(srv.InverseKinematics, name, poses=[]).success


def pose(T):
    found = Pose()
    found.position.x, found.position.y, found.position.z = T[:3, 3].tolist()
    turn = Rotation.from_matrix(T[:3, :3]).as_quat().tolist()
    found.orientation.x, found.orientation.y, found.orientation.z, found.orientation.w = turn
    return found


def matrix(transform):
    T, r, t = np.eye(4), transform.rotation, transform.translation
    T[:3, :3] = Rotation.from_quat([r.x, r.y, r.z, r.w]).as_matrix()
    T[:3, 3] = t.x, t.y, t.z
    return T


def test_up_starts_the_nodes_of_the_hanging_arm(client):
    command = [sys.executable, "-m", "flexdyn_ros.cli.main", "up", "soft_arm_3", "--namespace", "hung"]
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    client.listen(JointState, "/hung/joint_states")
    with subprocess.Popen(command, env={**os.environ, "PYTHONPATH": path}, stderr=subprocess.DEVNULL) as up:
        try:
            found = client.call(srv.DescribeRobot, "/hung/dynamics_server/describe_robot")
            assert found.success, found.message
            assert (found.kind, found.nq, found.nu) == ("continuum", 9, 9)
            expanded = flexdyn_ros.expand(flexdyn_ros.load("soft_arm_3"))
            states = client.next("/hung/joint_states", patience=PATIENCE)
            assert tuple(states.name) == tuple(expanded.joint_names)
            assert np.isfinite(numbers_of(states.position)).all()
        finally:
            up.send_signal(signal.SIGINT)
            try:
                code = up.wait(120.0)
            finally:
                up.kill()
    assert code == 130
