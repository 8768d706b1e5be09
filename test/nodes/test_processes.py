"""Nodes in processes of their own: they answer, survive, hold, and end with exit code 0."""

import itertools
import re
import signal
import time
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

pytestmark = [pytest.mark.ros, pytest.mark.timeout(400)]
pytest.importorskip("rclpy")
pytest.importorskip("flexdyn_interfaces.srv")

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus  # noqa: E402
from geometry_msgs.msg import WrenchStamped  # noqa: E402
from hypothesis import HealthCheck, given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from malformed import JOINTS, filled, name_lists, numbers, requests  # noqa: E402
from node_process import Client, NodeProcess  # noqa: E402
from rclpy.qos import DurabilityPolicy, QoSProfile  # noqa: E402
from rosgraph_msgs.msg import Clock  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_msgs.msg import Float64MultiArray, String  # noqa: E402
from std_srvs.srv import Trigger  # noqa: E402
from tf2_msgs.msg import TFMessage  # noqa: E402
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint  # noqa: E402

import flexdyn_ros  # noqa: E402
from flexdyn_interfaces import srv  # noqa: E402
from flexdyn_interfaces.msg import DynamicsState, Energy, ExternalWrench  # noqa: E402
from flexdyn_ros.nodes import (  # noqa: E402
    SERVICES,
    doubles,
    numbers_of,
)

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
Q0 = [0.0, -0.5, 0.0, -2.0, 0.0, 1.5, 0.0]
INITIAL = [x for name, q in zip(JOINTS, Q0, strict=True) for x in ("-p", f"initial.positions.{name}:={q}")]


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    return tmp_path_factory.mktemp("logs")


@pytest.fixture(scope="module")
def client():
    with Client() as client:
        yield client


@pytest.fixture(scope="module")
def simulator(logs):
    """In a namespace of its own, with a topic remapped."""
    arguments = [
        "-r",
        "__ns:=/lab",
        "-r",
        "joint_commands:=orders",
        "-p",
        "description_file:=seven_joint_arm",
        *INITIAL,
    ]
    wrench = ["-p", "wrench_joints:=[base, elbow_pitch]"]
    with NodeProcess("simulator", *arguments, *wrench, log=logs / "simulator.txt") as node:
        node.wait_for_text("ready")
        yield node


@pytest.fixture(scope="module")
def server(logs, simulator):
    """Gets its robot from the latched topic of the simulator."""
    with NodeProcess("dynamics_server", "-r", "__ns:=/lab", log=logs / "server.txt") as node:
        node.wait_for_text("ready")
        yield node


@pytest.fixture(scope="module")
def robot():
    return flexdyn_ros.load("seven_joint_arm")


@pytest.fixture
def running(simulator, client):
    """The simulator, reset and running; paused after, since a thousand steps a second take a processor."""
    assert call_trigger(client, "reset").success
    assert call_trigger(client, "resume").success
    yield simulator
    if simulator.alive:
        call_trigger(client, "pause")


def call_trigger(client, name):
    return client.call(Trigger, f"/lab/simulator/{name}")


def state_now(client):
    return client.call(srv.GetState, "/lab/simulator/get_dynamics_state").state


def health(client, name):
    """The next diagnostic status of that name."""
    found = {}

    def seen():
        message = client.last.get("/diagnostics")
        for status in message.status if message else ():
            if message is not found.get("before"):
                found[status.name] = status
        return name in found

    if "/diagnostics" not in client.count:
        client.listen(DiagnosticArray, "/diagnostics")
        client.count["/diagnostics"] = 0
    found["before"] = client.last.get("/diagnostics")
    client.until(seen, f"no diagnostics of {name}")
    return found[name]


# ---- answering ----


def test_the_server_answers_as_the_library_does(server, client, robot):
    q, v, a = robot.random(np.random.default_rng(0)), np.full(7, 0.1), np.full(7, 0.2)
    found = client.call(
        srv.InverseDynamics,
        "/lab/dynamics_server/inverse_dynamics",
        samples=1,
        positions=doubles(q),
        velocities=doubles(v),
        accelerations=doubles(a),
    )
    assert found.success, found.message
    np.testing.assert_allclose(numbers_of(found.efforts), robot.inverse_dynamics(q, v, a), rtol=1e-12)


def test_a_whole_trajectory_goes_into_one_request(server, client, robot):
    rng = np.random.default_rng(1)
    q = np.stack([robot.random(rng) for _ in range(2000)])
    v, a = rng.standard_normal((2, 2000, 7))
    found = client.call(
        srv.InverseDynamics,
        "/lab/dynamics_server/inverse_dynamics",
        samples=2000,
        positions=doubles(q),
        velocities=doubles(v),
        accelerations=doubles(a),
    )
    assert found.success, found.message
    np.testing.assert_allclose(numbers_of(found.efforts).reshape(2000, 7), robot.inverse_dynamics(q, v, a))


def test_the_server_lists_and_describes(server, client):
    found = client.call(srv.ListRobots, "/lab/dynamics_server/list_robots")
    assert (list(found.names), list(found.kinds)) == (["seven_joint_arm"], ["tree"])
    found = client.call(srv.DescribeRobot, "/lab/dynamics_server/describe_robot", robot="seven_joint_arm")
    assert found.success
    assert found.nv == 7


def test_the_simulator_publishes_what_it_promises(running, client, robot):
    topics = {
        "/lab/joint_states": (JointState, 10),
        "/lab/simulator/state": (DynamicsState, 10),
        "/lab/simulator/energy": (Energy, 10),
        "/lab/simulator/wrench/base": (WrenchStamped, 10),
        "/lab/simulator/wrench/elbow_pitch": (WrenchStamped, 10),
        "/clock": (Clock, 10),
    }
    for topic, (kind, qos) in topics.items():
        client.listen(kind, topic, qos)
    found = {topic: client.next(topic) for topic in topics}
    joints = found["/lab/joint_states"]
    assert joints.name == JOINTS
    assert all(
        len(x) == 7 and np.isfinite(x).all() for x in (joints.position, joints.velocity, joints.effort)
    )
    state = found["/lab/simulator/state"]
    assert list(state.position_names) == JOINTS
    assert (state.header.frame_id, state.robot) == ("world", "seven_joint_arm")
    energy = found["/lab/simulator/energy"]
    assert energy.total == pytest.approx(energy.kinetic + energy.gravity + energy.elastic)
    assert found["/lab/simulator/wrench/elbow_pitch"].header.frame_id == "link_4"
    before = found["/clock"].clock
    after = client.next("/clock").clock
    assert (after.sec, after.nanosec) > (before.sec, before.nanosec)


def test_a_late_joiner_gets_both_descriptions(simulator, robot):
    with Client("late") as late:
        for topic in ("/lab/robot_description", "/lab/expanded/robot_description"):
            late.listen(String, topic, LATCHED)
        late.until(lambda: len(late.last) == 2, "no descriptions")
        assert late.last["/lab/robot_description"].data == robot.description.text
        assert late.last["/lab/expanded/robot_description"].data == flexdyn_ros.expand(robot).urdf


def test_health_is_reported_every_second(running, client):
    status = health(client, "/lab/simulator: simulation")
    keys = {pair.key for pair in status.values}
    assert {"real_time_factor", "overruns", "step", "energy_balance_error", "lateness_p99"} <= keys


# ---- control of the simulation ----


def test_paused_time_stands_still_and_steps_advance_it_exactly(running, client):
    assert call_trigger(client, "pause").success
    before = client.call(srv.Step, "/lab/simulator/step", steps=1).time
    found = client.call(srv.Step, "/lab/simulator/step", steps=250, efforts=doubles(np.zeros(7)))
    assert found.success, found.message
    assert found.time == pytest.approx(before + 0.25, abs=1e-9)
    assert state_now(client).positions == found.state.positions


def test_lockstep_is_what_the_stepper_does(running, client, robot):
    from flexdyn_ros.simulation import Stepper

    call_trigger(client, "pause")
    call_trigger(client, "reset")
    tau = np.array([1.0, -20.0, 0.5, 3.0, 0.1, 0.2, 0.05])
    found = client.call(srv.Step, "/lab/simulator/step", steps=100, efforts=doubles(tau))
    stepper = Stepper(robot, 1e-3, q0=np.array(Q0), limits="spring", saturate=True)
    for _ in range(100):
        stepper.advance(1, tau)
    np.testing.assert_array_equal(numbers_of(found.state.positions), stepper.q)
    np.testing.assert_array_equal(numbers_of(found.state.velocities), stepper.v)


def test_reset_goes_back_to_the_parameters_at_time_zero(running, client):
    call_trigger(client, "pause")
    client.call(srv.Step, "/lab/simulator/step", steps=10)
    assert call_trigger(client, "reset").success
    state = state_now(client)
    assert list(state.positions) == Q0
    assert not any(state.velocities)
    assert (state.header.stamp.sec, state.header.stamp.nanosec) == (0, 0)


def test_a_state_is_saved_and_restored(running, client):
    call_trigger(client, "pause")
    client.call(srv.Step, "/lab/simulator/step", steps=100)
    saved = state_now(client)
    client.call(srv.Step, "/lab/simulator/step", steps=100)
    found = client.call(srv.SetState, "/lab/simulator/set_dynamics_state", state=saved)
    assert found.success, found.message
    state = state_now(client)
    assert (state.positions, state.velocities) == (saved.positions, saved.velocities)


def test_divergence_stops_at_the_last_good_state_and_waits_for_reset(running, client):
    wrench = ExternalWrench(frame="tool0")
    wrench.wrench.force.x = 1e200
    client.call(srv.ApplyWrench, "/lab/simulator/apply_wrench", wrench=wrench)
    client.until(
        lambda: health(client, "/lab/simulator: simulation").level == DiagnosticStatus.ERROR, "no ERROR"
    )
    held = state_now(client)
    assert np.isfinite(held.positions).all()
    assert not call_trigger(client, "resume").success
    assert not client.call(srv.Step, "/lab/simulator/step", steps=1).success
    assert call_trigger(client, "reset").success
    client.until(
        lambda: health(client, "/lab/simulator: simulation").level != DiagnosticStatus.ERROR, "still ERROR"
    )


@pytest.mark.parametrize(
    ("field", "value"), [("positions", 1e300), ("velocities", 1e300), ("velocities", 1e12)]
)
def test_a_state_in_which_nothing_can_be_computed_is_refused(running, client, field, value):
    state = state_now(client)
    setattr(state, field, doubles([value, *getattr(state, field)[1:]]))
    found = client.call(srv.SetState, "/lab/simulator/set_dynamics_state", state=state)
    assert not found.success
    assert found.message.startswith(f"state.{field}: {JOINTS[0]} is {value:g}, expected at most")
    assert np.isfinite(state_now(client).positions).all()


def test_the_life_cycle_is_asked_where_every_tool_asks(running, client):
    from lifecycle_msgs.msg import State
    from lifecycle_msgs.srv import GetState

    found = client.call(GetState, "/lab/simulator/get_state")
    assert found.current_state.id == State.PRIMARY_STATE_ACTIVE


@pytest.mark.parametrize("ending", ["pause", "reset"])
def test_a_long_step_ends_when_it_is_told_to(running, client, ending):
    assert not client.call(srv.Step, "/lab/simulator/step", steps=0).success
    call_trigger(client, "pause")
    future = client.ask(srv.Step, "/lab/simulator/step", steps=10_000_000)
    before = state_now(client).header.stamp
    client.until(lambda: state_now(client).header.stamp != before, "no step")
    assert call_trigger(client, ending).success
    client.until(future.done, "the step goes on", 10.0)
    assert not future.result().success
    assert re.match(rf"ended by {ending} after \d+ of 10000000 steps", future.result().message)
    held = state_now(client).header.stamp
    assert client.call(srv.Step, "/lab/simulator/step", steps=1).success
    assert state_now(client).header.stamp.nanosec == held.nanosec + 1_000_000


def test_an_inactive_node_refuses_and_says_why(running, server, client):
    from lifecycle_msgs.msg import Transition
    from lifecycle_msgs.srv import ChangeState

    asked = {
        "simulator": [(Trigger, "resume", {}), (srv.Step, "step", {"steps": 1})],
        "dynamics_server": [
            (srv.ListRobots, "list_robots", {}),
            (srv.MassMatrix, "mass_matrix", {"samples": 1, "positions": [0.0] * 7}),
        ],
    }
    for node, calls in asked.items():
        change = f"/lab/{node}/change_state"
        inactive = Transition(id=Transition.TRANSITION_DEACTIVATE)
        assert client.call(ChangeState, change, transition=inactive).success
        try:
            before = state_now(client).header.stamp
            for kind, name, fields in calls:
                found = client.call(kind, f"/lab/{node}/{name}", **fields)
                assert not found.success
                assert "the node is not active" in found.message
            if node == "simulator":
                assert state_now(client).header.stamp == before
        finally:
            active = Transition(id=Transition.TRANSITION_ACTIVATE)
            assert client.call(ChangeState, change, transition=active).success
        assert client.call(*calls[-1][:1], f"/lab/{node}/{calls[-1][1]}", **calls[-1][2]).success


def test_a_payload_is_refused_while_running_and_taken_while_paused(running, client, robot):
    fields = {"frame": "tool0", "mass": 1.0}
    refused = client.call(srv.SetPayload, "/lab/simulator/set_payload", **fields)
    assert not refused.success
    call_trigger(client, "pause")
    assert client.call(srv.SetPayload, "/lab/simulator/set_payload", **fields).success
    assert client.call(srv.SetPayload, "/lab/simulator/set_payload", frame="tool0", mass=0.0).success


# ---- commands ----


def positions(client):
    return np.array(client.next("/lab/joint_states").position)


def test_a_position_command_is_reached_on_the_remapped_topic(running, client):
    client.listen(JointState, "/lab/joint_states")
    target = np.array(Q0) + 0.05
    message = JointState(name=JOINTS, position=target.tolist())

    def reached():
        client.publish(JointState, "/lab/orders", message)
        return np.abs(positions(client) - target).max() < 2e-3

    client.until(reached, "the position was not reached")


def test_two_publishers_do_not_lose_each_others_commands(running, client):
    both = [client.node.create_publisher(JointState, "/lab/orders", 100) for _ in range(2)]
    halves = [JointState(name=names, effort=[0.0] * len(names)) for names in (JOINTS[:3], JOINTS[3:])]

    def accepted():
        values = health(client, "/lab/simulator: commands").values
        return int(next(pair.value for pair in values if pair.key == "accepted"))

    client.until(lambda: all(p.get_subscription_count() > 0 for p in both), "the topic is not found")
    # the other side may come to know a publisher later
    for publisher, half in zip(both, halves, strict=True):
        goal = accepted() + 1
        client.repeat(lambda p=publisher, h=half: p.publish(h), lambda g=goal: accepted() >= g, "not taken")
    before = accepted()
    for _ in range(25):
        for publisher, half in zip(both, halves, strict=True):
            publisher.publish(half)
    client.until(lambda: accepted() >= before + 50, "commands are lost", 20.0)
    for publisher in both:
        client.node.destroy_publisher(publisher)


def test_many_requests_at_once_are_all_answered(running, client):
    kind, name = srv.GetState, "/lab/simulator/get_dynamics_state"
    deep = client.node.create_client(kind, name, qos_profile=QoSProfile(depth=1000))
    client.until(deep.service_is_ready, "no service")
    one = deep.call_async(kind.Request())
    client.repeat(lambda: deep.call_async(kind.Request()), one.done, "no answer")
    futures = [deep.call_async(kind.Request()) for _ in range(300)]
    client.until(lambda: all(future.done() for future in futures), "requests are lost", 20.0)
    client.node.destroy_client(deep)


def test_an_array_and_a_trajectory_are_followed(running, client):
    client.listen(JointState, "/lab/joint_states")
    point = JointTrajectoryPoint(positions=(np.array(Q0) - 0.05).tolist())
    point.time_from_start.nanosec = 300_000_000
    client.insist(
        JointTrajectory,
        "/lab/simulator/joint_trajectory",
        JointTrajectory(joint_names=JOINTS, points=[point]),
        lambda: np.abs(positions(client) - np.array(Q0) + 0.05).max() < 2e-3,
        "the end was not reached",
        every=5.0,
    )
    client.insist(
        Float64MultiArray,
        "/lab/simulator/commands",
        Float64MultiArray(data=[0.0, -25.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
        lambda: abs(client.next("/lab/joint_states").effort[1] + 25.0) < 1e-6,
        "the array was not taken",
        every=0.01,
    )


def value_of(status, key):
    return next(pair.value for pair in status.values if pair.key == key)


def test_a_malformed_command_is_counted_and_changes_nothing(running, client):
    before = int(value_of(health(client, "/lab/simulator: commands"), "rejected"))
    client.insist(
        JointState,
        "/lab/orders",
        JointState(name=["nobody"], effort=[1.0]),
        lambda: int(value_of(health(client, "/lab/simulator: commands"), "rejected")) > before,
        "the rejection was not told",
    )
    status = health(client, "/lab/simulator: commands")
    assert "nobody" in value_of(status, "last_rejection")


CONTROLLER = """
import rclpy
from sensor_msgs.msg import JointState
rclpy.init()
node = rclpy.create_node("controller")
publisher = node.create_publisher(JointState, "/lab/orders", 10)
names = {names}
node.create_timer(0.005, lambda: publisher.publish(JointState(name=names, effort=[0.0, -15.0] + [0.0] * 5)))
rclpy.spin(node)
"""


def test_killing_the_controller_leaves_the_simulator_holding(running, client):
    import subprocess
    import sys

    client.listen(JointState, "/lab/joint_states")
    with subprocess.Popen([sys.executable, "-c", CONTROLLER.format(names=JOINTS)]) as controller:
        try:
            # an effort that no test before has asked for: states from before the reset may still come
            client.until(
                lambda: abs(client.next("/lab/joint_states").effort[1] + 15.0) < 1e-6,
                "the controller has no effect",
            )
        finally:
            controller.kill()
    client.until(
        lambda: "hold" in health(client, "/lab/simulator: commands").message,
        "a dead controller was not noticed",
    )
    assert health(client, "/lab/simulator: commands").level == DiagnosticStatus.WARN
    client.until(
        lambda: max(map(abs, client.next("/lab/joint_states").velocity)) < 1e-3, "it does not come to rest"
    )
    held = positions(client)
    for _ in range(50):
        client.next("/lab/joint_states")
    np.testing.assert_allclose(positions(client), held, atol=1e-3)


def test_wrenches_are_applied_by_service_and_topic(running, client):
    call_trigger(client, "pause")
    free = client.call(srv.Step, "/lab/simulator/step", steps=20).state
    call_trigger(client, "reset")
    wrench = ExternalWrench(frame="tool0")
    wrench.wrench.force.z = 30.0
    assert client.call(srv.ApplyWrench, "/lab/simulator/apply_wrench", wrench=wrench).success
    pushed = client.call(srv.Step, "/lab/simulator/step", steps=20).state
    assert np.abs(np.array(pushed.velocities) - np.array(free.velocities)).max() > 0.01
    wrench.frame = "hand"
    assert not client.call(srv.ApplyWrench, "/lab/simulator/apply_wrench", wrench=wrench).success
    wrench.frame, wrench.wrench.force.z = "tool0", float("nan")
    assert "finite" in client.call(srv.ApplyWrench, "/lab/simulator/apply_wrench", wrench=wrench).message


# ---- TF ----


def test_the_state_publisher_shows_the_robot(logs, running, client):
    with NodeProcess("state_publisher", "-r", "__ns:=/lab", log=logs / "state_publisher.txt") as node:
        node.wait_for_text("ready")
        client.listen(TFMessage, "/tf")
        client.listen(TFMessage, "/tf_static", LATCHED)
        client.until(lambda: {"/tf", "/tf_static"} <= set(client.last), "no transforms")
        assert len(client.last["/tf"].transforms) == 7
        fixed = [(t.header.frame_id, t.child_frame_id) for t in client.last["/tf_static"].transforms]
        assert fixed == [("link_7", "tool0"), ("world", "base_link")]
        assert node.end(signal.SIGINT) == 0


# ---- fuzzing: a thousand in all, besides those of test_services ----


def examples(strategy, count):
    """Drawn by hypothesis, a fixed number of them, the same ones in every run."""
    drawn = []

    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def collect(example):
        drawn.append(example)

    collect()
    return list(itertools.islice(itertools.cycle(drawn), count))


def test_malformed_requests_leave_the_server_answering(server, client):
    kinds = {service.name: service.type for service in SERVICES}
    for name, request in examples(requests(), 450):
        found = client.send(kinds[name], f"/lab/dynamics_server/{name}", request)
        assert found.success == (found.message == "")
        assert "internal error" not in found.message
    assert server.alive
    assert client.call(srv.ListRobots, "/lab/dynamics_server/list_robots").success


SIMULATOR_SERVICES = {
    "step": srv.Step,
    "get_dynamics_state": srv.GetState,
    "set_dynamics_state": srv.SetState,
    "apply_wrench": srv.ApplyWrench,
    "set_payload": srv.SetPayload,
}


@st.composite
def simulator_requests(draw):
    name = draw(st.sampled_from(sorted(SIMULATOR_SERVICES)))
    request = draw(filled(SIMULATOR_SERVICES[name]))
    if name == "step" and request.steps > 1000:
        request.steps = 2**32 - 1
    return name, request


def test_malformed_requests_leave_the_simulator_answering(running, client):
    for name, request in examples(simulator_requests(), 250):
        found = client.send(SIMULATOR_SERVICES[name], f"/lab/simulator/{name}", request)
        assert found.success == (found.message == "")
    assert running.alive
    assert call_trigger(client, "reset").success
    client.call(srv.ApplyWrench, "/lab/simulator/apply_wrench", wrench=ExternalWrench(frame="tool0"))
    assert np.isfinite(state_now(client).positions).all()


@st.composite
def arrays(draw):
    return [draw(numbers) for _ in range(draw(st.sampled_from([0, 0, 1, 7, 7, 8])))]


@st.composite
def messages(draw):
    """(type, topic, message)."""
    kind = draw(st.sampled_from(["orders", "commands", "trajectory", "wrench"]))
    if kind == "orders":
        message = JointState(
            name=draw(name_lists), position=draw(arrays()), velocity=draw(arrays()), effort=draw(arrays())
        )
        return JointState, "/lab/orders", message
    if kind == "commands":
        return Float64MultiArray, "/lab/simulator/commands", Float64MultiArray(data=draw(arrays()))
    if kind == "wrench":
        wrench = WrenchStamped()
        wrench.header.frame_id = draw(st.sampled_from(["", "tool0", "hand"]))
        wrench.wrench.force.x = draw(numbers)
        return WrenchStamped, "/lab/simulator/external_wrench", wrench
    trajectory = JointTrajectory(joint_names=draw(name_lists))
    for _ in range(draw(st.integers(0, 3))):
        point = JointTrajectoryPoint(
            positions=draw(arrays()), velocities=draw(arrays()), effort=draw(arrays())
        )
        point.time_from_start.sec = draw(st.sampled_from([-1, 0, 1, 2**31 - 1]))
        trajectory.points.append(point)
    return JointTrajectory, "/lab/simulator/joint_trajectory", trajectory


def test_malformed_messages_leave_the_simulator_answering(running, client):
    for kind, topic, message in examples(messages(), 300):
        client.publish(kind, topic, message)
        # an answer between two messages: none of them is lost in a queue of depth 1
        assert client.call(srv.GetState, "/lab/simulator/get_dynamics_state").success
    assert running.alive
    assert call_trigger(client, "reset").success
    assert np.isfinite(state_now(client).positions).all()


# ---- beginning and ending; these come last, since they end the nodes above ----


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_node_that_still_imports_ends_with_exit_code_zero(number, logs):
    with NodeProcess("simulator", "-r", "__ns:=/early", log=logs / f"early_{number}.txt", fresh=True) as node:
        # the interpreter has begun our code by then, and imports for longer
        time.sleep(0.8)
        assert node.end(number) == 0, node.text()


def test_every_node_ends_with_exit_code_zero(logs):
    """By one signal or two; what listens to them is the same in all nodes."""
    nodes = {
        "simulator": (signal.SIGINT, signal.SIGTERM),
        "dynamics_server": (signal.SIGTERM, signal.SIGTERM),
        "state_publisher": (signal.SIGINT,),
    }
    started = [
        NodeProcess(
            node,
            "-r",
            "__ns:=/ending",
            "-p",
            "description_file:=seven_joint_arm",
            log=logs / f"{node}_end.txt",
        )
        for node in nodes
    ]
    try:
        for node in started:
            node.wait_for_text("ready")
        codes = [node.end(*signals) for node, signals in zip(started, nodes.values(), strict=True)]
        assert codes == [0, 0, 0], [node.text() for node in started]
    finally:
        for node in started:
            node.__exit__()


def test_the_nodes_of_this_module_end_with_exit_code_zero(server, simulator):
    assert server.end(signal.SIGTERM) == 0
    assert simulator.end(signal.SIGINT, signal.SIGINT) == 0


BAD_PARAMETERS = {"on_stale_command": "panic", "step": "-1.0", "saturate": "3"}


def test_a_bad_parameter_is_refused_and_named(tmp_path):
    robot = ["-p", "description_file:=seven_joint_arm"]
    with ExitStack() as stack:
        nodes = {
            name: stack.enter_context(
                NodeProcess("simulator", "-p", f"{name}:={value}", *robot, log=tmp_path / f"{name}.txt")
            )
            for name, value in BAD_PARAMETERS.items()
        }
        for name, node in nodes.items():
            assert node.process.wait(300) == 1
            assert name in node.text()


WRONG_DESCRIPTIONS = {
    "no such file": ["description_file:=no_such_robot"],
    "cannot configure": ["robot_description:=<robot/>"],
    "no robot": ["description_timeout:=0.2"],
    "elbow: no such coordinate": ["description_file:=seven_joint_arm", "initial.positions.elbow:=1.0"],
    "joints names 'elbow'": ["description_file:=seven_joint_arm", "joints:=[elbow]"],
}


def test_a_wrong_description_leaves_the_node_alive_and_unconfigured(tmp_path):
    with ExitStack() as stack:
        nodes = {}
        for i, (words, parameters) in enumerate(WRONG_DESCRIPTIONS.items()):
            arguments = [x for parameter in parameters for x in ("-p", parameter)]
            node = NodeProcess("simulator", "-r", f"__ns:=/wrong_{i}", *arguments, log=tmp_path / f"{i}.txt")
            nodes[words] = stack.enter_context(node)
        for words, node in nodes.items():
            node.wait_for_text("cannot configure")
            node.wait_for_text(words, timeout=60.0)
            assert node.alive
            assert node.end(signal.SIGINT) == 0


def test_a_parameter_file_is_read(tmp_path, client):
    file = Path(tmp_path / "parameters.yaml")
    file.write_text(
        "/**/simulator:\n  ros__parameters:\n    description_file: seven_joint_arm\n    start_paused: true\n"
        "    step: 0.002\n    initial: {positions: {elbow_pitch: -1.25}}\n    use_clock: false\n"
    )
    arguments = ["--params-file", str(file), "-r", "__ns:=/filed"]
    with NodeProcess("simulator", *arguments, log=tmp_path / "log.txt") as node:
        node.wait_for_text("ready")
        found = client.call(srv.Step, "/filed/simulator/step", steps=5)
        assert found.time == pytest.approx(0.01)
        assert found.state.positions[3] == pytest.approx(-1.25, abs=0.01)
        assert node.end(signal.SIGTERM) == 0


def test_several_robots_are_served_by_name(tmp_path, client):
    robots = ["-p", "robots:=[left, right]"]
    files = [x for name in ("left", "right") for x in ("-p", f"{name}.description_file:=seven_joint_arm")]
    rigid = ["-p", "right.options:=['gravity=[0, 0, -1.6]']"]
    with NodeProcess(
        "dynamics_server", "-r", "__ns:=/two", *robots, *files, *rigid, log=tmp_path / "log.txt"
    ) as node:
        node.wait_for_text("ready")
        found = client.call(srv.ListRobots, "/two/dynamics_server/list_robots")
        assert list(found.names) == ["left", "right"]
        gravity = {
            name: client.call(srv.DescribeRobot, "/two/dynamics_server/describe_robot", robot=name).gravity.z
            for name in found.names
        }
        assert gravity["right"] == -1.6
        assert gravity["left"] < -9.0
        refused = client.call(srv.DescribeRobot, "/two/dynamics_server/describe_robot", robot="middle")
        assert not refused.success
        assert "middle" in refused.message
        assert node.end(signal.SIGINT) == 0
