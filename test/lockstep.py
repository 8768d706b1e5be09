"""Controllers and simulators in processes of their own whose time the test moves, so that a busy machine is
no late feedback: a step of the simulator, the controller's answer to that state, the next step."""

from __future__ import annotations

import time

from node_process import PATIENCE, Client, NodeProcess
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from flexdyn_interfaces.srv import Step
from flexdyn_ros.nodes import doubles, numbers_of, seconds_of

#: simulated time between states [s], and seconds of wall time after which an answer is taken for lost
PERIOD, LOST = 0.01, 5.0
#: the simulator stands until it is told to step, and publishes then only
STANDING = ["-p", "start_paused:=true", "-p", "publish_rate_hz:=0.1", "-p", "deflection_rate_hz:=0.1"]
STANDING += ["-p", "before_first_command:=hold", "-p", "command_timeout:=1.0", "-r", "/clock:=clock"]


class Lab:
    """A namespace with a simulator and a controller."""

    def __init__(self, name: str, controller: str) -> None:
        self.name, self.controller = name, controller
        self.state = None
        self.answers: list[JointTrajectory] = []
        self.commands: list[JointState] = []
        self.missed = 0

    @property
    def trajectory_topic(self) -> str:
        return f"/{self.name}/{self.controller}/joint_trajectory"

    def start(self, logs, simulator=(), controller=()) -> dict[str, NodeProcess]:
        """Both nodes, with arguments of their own."""
        space = ["-r", f"__ns:=/{self.name}"]
        arguments = {"simulator": [*space, *STANDING, *simulator], self.controller: [*space, *controller]}
        return {
            f"{self.name}/{node}": NodeProcess(node, *given, log=logs / f"{self.name}_{node}.txt")
            for node, given in arguments.items()
        }

    def listen(self, client: Client) -> None:
        """Hear what the controller says."""
        node, own = client.node, f"/{self.name}/{self.controller}"
        node.create_subscription(JointTrajectory, f"{own}/controller_state", self.answers.append, 10)
        node.create_subscription(JointState, f"/{self.name}/joint_commands", self.commands.append, 10)

    @property
    def time(self) -> float:
        return seconds_of(self.state.header.stamp)

    def of(self, what: str, names) -> dict[str, float]:
        """positions, velocities or efforts of the simulated robot by coordinate."""
        known = {"positions": self.state.position_names}.get(what, self.state.velocity_names)
        at = dict(zip(known, numbers_of(getattr(self.state, what)).tolist(), strict=True))
        return {name: at[name] for name in names}

    def reference(self):
        """Positions that the controller aims at."""
        return numbers_of(self.answers[-1].points[0].positions)

    def has_answered(self) -> bool:
        return (
            bool(self.answers)
            and self.state is not None
            and self.answers[-1].header.stamp == self.state.header.stamp
        )


def advance(client: Client, labs: list[Lab], seconds: float, patience: float = LOST) -> None:
    """Move the time of all labs; every state is answered before the next one."""
    for _ in range(round(seconds / PERIOD)):
        futures = [
            client.ask(Step, f"/{lab.name}/simulator/step", steps=round(PERIOD / 1e-3)) for lab in labs
        ]
        client.until(lambda f=futures: all(x.done() for x in f), "no answer from a simulator", PATIENCE)
        for lab, future in zip(labs, futures, strict=True):
            assert future.result().success, future.result().message
            lab.state = future.result().state
        deadline = time.monotonic() + patience
        client.until(
            lambda d=deadline: all(lab.has_answered() for lab in labs) or time.monotonic() > d, "never"
        )
        for lab in labs:
            lab.missed += not lab.has_answered()


def begin(client: Client, labs: list[Lab]) -> None:
    """Step until every controller answers; what was stepped before nodes knew each other is not missed."""
    for lab in labs:
        lab.listen(client)
        assert not client.call(Step, f"/{lab.name}/simulator/step", steps=0).success
    deadline = time.monotonic() + 180.0
    while not all(lab.has_answered() for lab in labs):
        assert time.monotonic() < deadline, "a controller does not answer"
        advance(client, labs, PERIOD, patience=0.5)
    for lab in labs:
        lab.missed = 0


def send(client: Client, lab: Lab, message: JointTrajectory) -> None:
    """A trajectory, sent again until the reference moves."""
    before = lab.reference().copy()
    for _ in range(10):
        client.publish(JointTrajectory, lab.trajectory_topic, message)
        advance(client, [lab], 5 * PERIOD)
        if abs(lab.reference() - before).max() > 0.0:
            return
    raise AssertionError(f"{lab.name} does not take the trajectory")


def point_trajectory(goal, seconds: float, names) -> JointTrajectory:
    """One point to be reached at rest, from the present reference."""
    from trajectory_msgs.msg import JointTrajectoryPoint

    rest = [0.0] * len(names)
    point = JointTrajectoryPoint(
        positions=doubles(goal), velocities=doubles(rest), accelerations=doubles(rest)
    )
    point.time_from_start.sec, point.time_from_start.nanosec = int(seconds), int(1e9 * (seconds % 1.0))
    return JointTrajectory(joint_names=list(names), points=[point])
