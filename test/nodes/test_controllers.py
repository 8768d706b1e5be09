"""Controllers in processes of their own, against simulator and dynamics server; the test moves time."""

import signal
from contextlib import ExitStack

import numpy as np
import pytest

pytestmark = [pytest.mark.ros, pytest.mark.timeout(400)]
pytest.importorskip("rclpy")
pytest.importorskip("flexdyn_interfaces.srv")

from lockstep import Lab, advance, begin, point_trajectory, send  # noqa: E402
from malformed import JOINTS  # noqa: E402
from node_process import Client, NodeProcess  # noqa: E402
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue  # noqa: E402
from rcl_interfaces.srv import SetParametersAtomically  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_srvs.srv import Trigger  # noqa: E402
from trajectory_msgs.msg import JointTrajectory  # noqa: E402

import flexdyn_ros  # noqa: E402
from flexdyn_ros.control import joint_inertia  # noqa: E402
from flexdyn_ros.nodes import doubles, numbers_of, seconds_of  # noqa: E402

Q0 = np.array([0.0, -0.5, 0.0, -2.0, 0.0, 1.5, 0.0])
ROBOT = ["-p", "description_file:=seven_joint_arm"]
INITIAL = [x for name, q in zip(JOINTS, Q0, strict=True) for x in ("-p", f"initial.positions.{name}:={q}")]
GOAL = Q0 + np.array([0.4, 0.3, -0.2, 0.3, 0.2, -0.2, 0.5])
#: stiff beside the arm's own weight, which pulls it away from where it is held
BANDWIDTH = 10.0
CONTROLLERS = ("pd_controller", "computed_torque", "input_shaper")


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    return tmp_path_factory.mktemp("logs")


@pytest.fixture(scope="module")
def client():
    with Client("controllers_client") as client:
        yield client


@pytest.fixture(scope="module")
def labs():
    return {name: Lab(f"{name}_lab", name) for name in CONTROLLERS}


@pytest.fixture(scope="module")
def nodes(logs, labs):
    """One simulator and one controller in each of three namespaces, and the server that one of them asks."""
    started = {}
    for name, lab in labs.items():
        own = [*ROBOT, "-p", f"bandwidth:={BANDWIDTH}", "-p", "velocity_limits:=refuse"]
        if name == "computed_torque":
            own += ["-p", "answer_timeout:=1.0"]
        if name == "input_shaper":
            own += ["-p", "frequencies:=[2.0]", "-p", "shaper:=zvd"]
        started |= lab.start(logs, [*ROBOT, *INITIAL], own)
    server = ["-r", f"__ns:=/{labs['computed_torque'].name}", *ROBOT]
    started["server"] = NodeProcess("dynamics_server", *server, log=logs / "server")
    try:
        for node in started.values():
            node.wait_for_text("ready")
        yield started
    finally:
        for node in started.values():
            node.__exit__()


@pytest.fixture(scope="module")
def held(client, nodes, labs):
    """All controllers answer."""
    begin(client, list(labs.values()))
    advance(client, list(labs.values()), 0.2)


@pytest.fixture(scope="module")
def followed(client, held, labs):
    """All of them have held for a while, and then followed a trajectory to GOAL."""
    for lab in labs.values():
        send(client, lab, point_trajectory(GOAL, 1.0, JOINTS))
    advance(client, list(labs.values()), 2.2)


def positions(lab):
    return np.array(list(lab.of("positions", JOINTS).values()))


def held_back_by_friction():
    """Errors [rad] at which feedback and Coulomb friction balance."""
    robot = flexdyn_ros.load("seven_joint_arm")
    friction = [robot.description.joint(name).friction for name in JOINTS]
    return 1.5 * np.array(friction) / (joint_inertia(robot, Q0) * BANDWIDTH**2)


@pytest.mark.usefixtures("held")
@pytest.mark.parametrize("name", CONTROLLERS)
def test_an_arm_is_held_from_the_start(name, labs):
    lab = labs[name]
    # the servo holds until the first command comes, and the controller from where it finds the arm
    assert lab.reference() == pytest.approx(Q0, abs=1e-3)
    assert (np.abs(positions(lab) - Q0) < held_back_by_friction() + 1e-3).all()
    assert lab.missed <= 2


@pytest.mark.usefixtures("followed")
@pytest.mark.parametrize("name", CONTROLLERS)
def test_a_controller_holds_and_then_follows_a_trajectory(name, labs):
    lab = labs[name]
    assert lab.reference() == pytest.approx(GOAL, abs=1e-9)
    assert (np.abs(positions(lab) - GOAL) < held_back_by_friction() + 0.01).all()
    hold = flexdyn_ros.load("seven_joint_arm").inverse_dynamics(GOAL, np.zeros(7), np.zeros(7))
    state = lab.answers[-1]
    assert list(state.joint_names) == JOINTS
    ref, feedback, error, output = state.points
    assert np.abs(numbers_of(output.effort) - hold).max() < 0.1 * np.abs(hold).max()
    assert numbers_of(error.positions) == pytest.approx(
        numbers_of(ref.positions) - numbers_of(feedback.positions), abs=1e-12
    )
    assert lab.missed <= 10  # of some 250


@pytest.mark.usefixtures("followed")
def test_the_shaped_reference_ends_later_by_the_length_of_its_shaper(client, labs):
    lab = labs["input_shaper"]
    goal = lab.reference().copy()
    goal[0] -= 0.4
    first = len(lab.answers) - 1
    send(client, lab, point_trajectory(goal, 1.0, JOINTS))
    advance(client, [lab], 1.8)
    assert lab.reference()[0] == pytest.approx(goal[0], abs=1e-9)
    seen = [(seconds_of(m.header.stamp), m.points[0].positions[0]) for m in lab.answers[first:]]
    t, x = np.array(seen).T
    moving = np.flatnonzero(np.abs(np.diff(x)) > 1e-12)
    # zvd of 2 Hz: one period more than the second of the trajectory
    assert t[moving[-1] + 1] - t[moving[0]] == pytest.approx(1.5, abs=0.03)


@pytest.mark.usefixtures("held")
@pytest.mark.parametrize("name", CONTROLLERS)
def test_bad_input_is_refused_and_the_controller_goes_on(name, client, nodes, labs):
    lab = labs[name]
    before = lab.reference().copy()
    unknown = point_trajectory([1.0], 1.0, ["no_such_joint"])
    no_number = point_trajectory(np.full(7, np.nan), 1.0, JOINTS)
    short = point_trajectory(Q0, 1.0, JOINTS)
    short.points[0].velocities = doubles([0.0])
    fast = point_trajectory(before + 1.0, 0.02, JOINTS)
    for message in (unknown, no_number, short, fast, JointTrajectory()):
        client.publish(JointTrajectory, lab.trajectory_topic, message)
    nodes[f"{lab.name}/{name}"].wait_for_text("trajectory refused", timeout=60.0)
    for message in (
        JointState(name=["x"], position=[1.0]),
        JointState(name=list(JOINTS), position=[float("nan")] * 7, velocity=[0.0] * 7),
        JointState(name=list(JOINTS), position=[0.0] * 3),
        JointState(),
    ):
        client.publish(JointState, f"/{lab.name}/joint_states", message)
    missed = lab.missed
    advance(client, [lab], 0.2)
    assert lab.missed - missed < 10, "the controller fell silent"
    assert lab.reference() == pytest.approx(before, abs=1e-9)
    assert nodes[f"{lab.name}/{name}"].alive


def set_gains(client, lab, **values):
    """Whether gains of the last joint of a controller were taken, and why not."""
    kind, words = ParameterType.PARAMETER_DOUBLE, {}
    for name, value in values.items():
        words[f"gains.{JOINTS[-1]}.{name}"] = ParameterValue(type=kind, double_value=float(value))
    parameters = [Parameter(name=name, value=value) for name, value in words.items()]
    topic = f"/{lab.name}/{lab.controller}/set_parameters_atomically"
    result = client.call(SetParametersAtomically, topic, parameters=parameters).result
    return result.successful, result.reason


@pytest.mark.usefixtures("followed")
def test_gains_change_while_a_controller_runs(client, labs):
    lab = labs["pd_controller"]
    for wrong, reason in (({"p": -2.0}, "expected at least 0, or -1"), ({"p": 7.0, "d": np.nan}, "finite")):
        taken, why = set_gains(client, lab, **wrong)
        assert not taken
        assert reason in why
    goal = lab.reference().copy()
    hold = flexdyn_ros.load("seven_joint_arm").inverse_dynamics(goal, np.zeros(7), np.zeros(7))

    def feedback():
        """Effort on the last joint beside what holds the reference, and its errors of position and rate."""
        _, _, error, output = lab.answers[-1].points
        return output.effort[-1] - hold[-1], error.positions[-1], error.velocities[-1]

    for p, d in ((20.0, 1.0), (8.0, 0.4)):
        assert set_gains(client, lab, p=p, d=d) == (True, "")
        advance(client, [lab], 0.1)
        effort, error, rate = feedback()
        assert effort == pytest.approx(p * error + d * rate, abs=1e-9)
        assert lab.reference() == pytest.approx(goal, abs=1e-12)
    assert set_gains(client, lab, p=-1.0, d=-1.0) == (True, "")


@pytest.mark.usefixtures("followed")
@pytest.mark.parametrize("name", ["computed_torque", "input_shaper"])
def test_other_controllers_take_gains_too(name, client, labs):
    lab = labs[name]
    before = lab.reference().copy()
    assert set_gains(client, lab, p=90.0, d=12.0) == (True, "")
    advance(client, [lab], 0.2)
    assert lab.reference() == pytest.approx(before, abs=1e-9)
    assert (np.abs(positions(lab)[:-1] - before[:-1]) < held_back_by_friction()[:-1] + 0.02).all()
    assert set_gains(client, lab, p=-1.0, d=-1.0) == (True, "")


@pytest.mark.usefixtures("followed")
def test_a_reset_of_the_robot_is_held_where_it_is(client, labs):
    lab = labs["pd_controller"]
    assert client.call(Trigger, f"/{lab.name}/simulator/reset").success
    advance(client, [lab], 0.3)
    assert lab.reference() == pytest.approx(Q0, abs=1e-3)
    assert (np.abs(positions(lab) - lab.reference()) < held_back_by_friction() + 0.01).all()


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
            node.wait_for_text(reason, timeout=60.0)
            assert node.end(signal.SIGINT) == 0


def test_controllers_end_with_exit_code_zero(nodes):
    codes = {name: nodes[f"{name}_lab/{name}"].end(signal.SIGINT) for name in CONTROLLERS}
    assert codes == dict.fromkeys(CONTROLLERS, 0)
