"""Controllers in processes of their own, against the simulator and the dynamics server."""

import signal
from contextlib import ExitStack

import numpy as np
import pytest

pytestmark = [pytest.mark.ros, pytest.mark.timeout(1200)]
pytest.importorskip("rclpy")
pytest.importorskip("flexdyn_interfaces.srv")

from malformed import JOINTS  # noqa: E402
from node_process import Client, NodeProcess  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_srvs.srv import Trigger  # noqa: E402
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint  # noqa: E402

import flexdyn_ros  # noqa: E402
from flexdyn_ros.control.closed_loop import joint_inertia  # noqa: E402
from flexdyn_ros.nodes.conversions import doubles, numbers_of, seconds_of  # noqa: E402

Q0 = np.array([0.0, -0.5, 0.0, -2.0, 0.0, 1.5, 0.0])
ROBOT = ["-p", "description_file:=seven_joint_arm"]
INITIAL = [x for name, q in zip(JOINTS, Q0, strict=True) for x in ("-p", f"initial.positions.{name}:={q}")]
GOAL = Q0 + np.array([0.4, 0.3, -0.2, 0.3, 0.2, -0.2, 0.5])
#: low, and time slow, so that a busy machine does not make the feedback late
BANDWIDTH, PACE = 6.0, ["-p", "real_time_factor:=0.4", "-p", "command_timeout:=1.0"]
CONTROLLERS = ("pd_controller", "computed_torque", "input_shaper")


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    return tmp_path_factory.mktemp("logs")


@pytest.fixture(scope="module")
def client():
    with Client("controllers_client") as client:
        yield client


@pytest.fixture(scope="module")
def nodes(logs):
    """One simulator and one controller in each of three namespaces, and the server that one of them asks."""
    started = {}
    namespace = {name: ["-r", f"__ns:=/{name}_lab"] for name in CONTROLLERS}
    for name in CONTROLLERS:
        rate = ["-p", "publish_rate_hz:=100.0", *PACE, "-r", "/clock:=clock"]
        started[f"{name}/simulator"] = NodeProcess(
            "simulator", *namespace[name], *ROBOT, *INITIAL, *rate, log=logs / f"{name}_simulator"
        )
        own = ["-p", f"bandwidth:={BANDWIDTH}"]
        if name == "input_shaper":
            own += ["-p", "frequencies:=[2.0]", "-p", "shaper:=zvd"]
        started[name] = NodeProcess(name, *namespace[name], *ROBOT, *own, log=logs / name)
    started["server"] = NodeProcess(
        "dynamics_server", *namespace["computed_torque"], *ROBOT, log=logs / "server"
    )
    try:
        for node in started.values():
            node.wait_for_text("ready")
        yield started
    finally:
        for node in started.values():
            node.__exit__()


class Recorder:
    """Joint states and controller states of one namespace."""

    def __init__(self, client, name):
        self.q, self.states = [], []
        client.node.create_subscription(JointState, f"/{name}_lab/joint_states", self._on_joints, 10)
        client.node.create_subscription(
            JointTrajectory, f"/{name}_lab/{name}/controller_state", self.states.append, 10
        )

    def _on_joints(self, message):
        # a test publishes some that are wrong
        if len(message.position) == len(message.name) and np.isfinite(message.position).all():
            at = dict(zip(message.name, message.position, strict=True))
            if set(JOINTS) <= at.keys():
                self.q.append([at[name] for name in JOINTS])


@pytest.fixture(scope="module")
def recorders(client, nodes):
    return {name: Recorder(client, name) for name in CONTROLLERS}


def trajectory(goal, seconds, names=JOINTS):
    """One point to be reached at rest, from the present reference."""
    k = len(names)
    point = JointTrajectoryPoint(
        positions=doubles(goal), velocities=doubles(np.zeros(k)), accelerations=doubles(np.zeros(k))
    )
    point.time_from_start.sec, point.time_from_start.nanosec = int(seconds), int(1e9 * (seconds % 1.0))
    return JointTrajectory(joint_names=list(names), points=[point])


def held_back_by_friction():
    """Errors [rad] at which feedback and Coulomb friction balance."""
    robot = flexdyn_ros.load("seven_joint_arm")
    friction = [robot.description.joint(name).friction for name in JOINTS]
    return 1.5 * np.array(friction) / (joint_inertia(robot, Q0) * BANDWIDTH**2)


def reference(state):
    return numbers_of(state.points[0].positions)


@pytest.fixture(scope="module")
def followed(client, recorders):
    """All of them have held for a while, and then followed a trajectory to GOAL."""
    for recorder in recorders.values():
        client.until(lambda r=recorder: len(r.states) > 20, "no controller_state")
        assert reference(recorder.states[-1]) == pytest.approx(Q0, abs=0.05)
    arrived = {
        name: lambda r=recorder: np.abs(reference(r.states[-1]) - GOAL).max() < 1e-6
        for name, recorder in recorders.items()
    }
    for name in CONTROLLERS:
        topic = f"/{name}_lab/{name}/joint_trajectory"
        begun = lambda r=recorders[name]: np.abs(reference(r.states[-1]) - Q0).max() > 0.1  # noqa: E731
        client.insist(JointTrajectory, topic, trajectory(GOAL, 1.0), begun, "no motion", every=8.0)
    for name in CONTROLLERS:
        client.until(arrived[name], "the reference does not arrive")
    counts = {name: len(recorder.q) for name, recorder in recorders.items()}
    for name, recorder in recorders.items():
        client.until(lambda r=recorder, n=counts[name]: len(r.q) > n + 150, "no joint states")


@pytest.mark.slow
@pytest.mark.usefixtures("followed")
@pytest.mark.parametrize("name", CONTROLLERS)
def test_a_controller_holds_and_then_follows_a_trajectory(name, client, recorders):
    recorder, goal = recorders[name], GOAL
    near = held_back_by_friction() + 0.01
    client.until(lambda: (np.abs(np.array(recorder.q[-1]) - goal) < near).all(), "the arm does not arrive")
    hold = flexdyn_ros.load("seven_joint_arm").inverse_dynamics(goal, np.zeros(7), np.zeros(7))
    effort = lambda: numbers_of(recorder.states[-1].points[3].effort)  # noqa: E731
    within = 0.1 * np.abs(hold).max()
    client.until(lambda: np.abs(effort() - hold).max() < within, "the efforts do not settle")
    state = recorder.states[-1]
    assert list(state.joint_names) == JOINTS
    ref, feedback, error, _ = state.points
    assert numbers_of(error.positions) == pytest.approx(
        numbers_of(ref.positions) - numbers_of(feedback.positions), abs=1e-12
    )


@pytest.mark.slow
@pytest.mark.usefixtures("followed")
def test_the_shaped_reference_ends_later_by_the_length_of_its_shaper(client, recorders):
    recorder = recorders["input_shaper"]
    client.until(lambda: len(recorder.states) > 1, "no controller_state")
    goal = reference(recorder.states[-1]).copy()
    goal[0] -= 0.4
    seen = []
    client.node.create_subscription(
        JointTrajectory,
        "/input_shaper_lab/input_shaper/controller_state",
        lambda m: seen.append((seconds_of(m.header.stamp), reference(m)[0])),
        10,
    )
    client.publish(JointTrajectory, "/input_shaper_lab/input_shaper/joint_trajectory", trajectory(goal, 1.0))
    client.until(lambda: bool(seen) and abs(seen[-1][1] - goal[0]) < 1e-9, "the reference does not arrive")
    t, x = np.array(seen).T
    moving = np.flatnonzero(np.abs(np.diff(x)) > 1e-12)
    # zvd of 2 Hz: one period more than the second of the trajectory
    assert t[moving[-1]] - t[moving[0]] == pytest.approx(1.5, abs=0.1)


@pytest.mark.parametrize("name", CONTROLLERS)
def test_bad_input_is_refused_and_the_controller_goes_on(name, client, nodes, recorders):
    recorder = recorders[name]
    client.until(lambda: len(recorder.states) > 0, "no controller_state")
    before = reference(recorder.states[-1]).copy()
    topic = f"/{name}_lab/{name}/joint_trajectory"
    unknown = trajectory([1.0], 1.0, ["no_such_joint"])
    no_number = trajectory(np.full(7, np.nan), 1.0)
    short = trajectory(Q0, 1.0)
    short.points[0].velocities = doubles([0.0])
    for message in (unknown, no_number, short, JointTrajectory()):
        client.publish(JointTrajectory, topic, message)
    nodes[name].wait_for_text("trajectory refused", timeout=20.0)
    states = f"/{name}_lab/joint_states"
    for message in (
        JointState(name=["x"], position=[1.0]),
        JointState(name=list(JOINTS), position=[float("nan")] * 7, velocity=[0.0] * 7),
        JointState(name=list(JOINTS), position=[0.0] * 3),
        JointState(),
    ):
        client.publish(JointState, states, message)
    n = len(recorder.states)
    client.until(lambda: len(recorder.states) > n + 50, "the controller fell silent")
    assert reference(recorder.states[-1]) == pytest.approx(before, abs=1e-9)
    assert nodes[name].alive


@pytest.mark.slow
@pytest.mark.usefixtures("followed")
def test_a_reset_of_the_robot_is_held_where_it_is(client, recorders):
    recorder = recorders["pd_controller"]
    client.call(Trigger, "/pd_controller_lab/simulator/reset")
    # it falls until the first command comes, and is held from there
    client.until(lambda: np.allclose(reference(recorder.states[-1]), Q0, atol=0.2), "the old reference stays")
    held = reference(recorder.states[-1]).copy()
    n = len(recorder.q)
    client.until(lambda: len(recorder.q) > n + 100, "no joint states")
    assert reference(recorder.states[-1]) == pytest.approx(held, abs=1e-12)
    assert (np.abs(np.array(recorder.q[-1]) - held) < held_back_by_friction() + 0.01).all()


def test_wrong_parameters_keep_nodes_unconfigured_with_a_reason(logs):
    wrong = {
        "joints:=[no_such_joint]": ("pd_controller", "no_such_joint"),
        "gains.no_such_joint.p:=1.0": ("pd_controller", "no_such_joint"),
        f"gains.{JOINTS[0]}.d:=-3.0": ("computed_torque", "-3.0"),
        "tip_frame:=nowhere": ("pd_controller", "nowhere"),
        "frequencies:=[-1.0]": ("input_shaper", "-1.0"),
    }
    with ExitStack() as stack:
        nodes = {}
        for i, (parameter, (name, _)) in enumerate(wrong.items()):
            more = ["-p", "deflection_compensation:=true"] if "tip" in parameter else []
            own = ["-r", f"__ns:=/wrong_{i}", *ROBOT, "-p", parameter, *more]
            nodes[parameter] = stack.enter_context(NodeProcess(name, *own, log=logs / f"wrong_{i}"))
        for parameter, (_, reason) in wrong.items():
            node = nodes[parameter]
            node.wait_for_text("cannot configure")
            node.wait_for_text(reason, timeout=5.0)
            assert node.end(signal.SIGINT) == 0


def test_controllers_end_with_exit_code_zero(nodes):
    codes = {name: nodes[name].end(signal.SIGINT) for name in CONTROLLERS}
    assert codes == dict.fromkeys(CONTROLLERS, 0)
