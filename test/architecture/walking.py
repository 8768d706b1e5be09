"""Follow the five walks of docs/architecture.md and print the files whose functions ran: walking.py NUMBER.

Compiled kernels leave no trace; their sources do, interpreted as exporters read them. A file counts when a
function of it is called, not when it is imported.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import CodeType

import flexdyn_ros
from flexdyn_ros import export
from flexdyn_ros.export.tracing.equations import Equations
from flexdyn_ros.export.tracing.steps import step_functions

PACKAGE = Path(flexdyn_ros.__file__).parent
BEAM = """<robot name="cantilever"><link name="base"/><link name="boom"/>
<joint name="hinge" type="continuous"><parent link="base"/><child link="boom"/><axis xyz="0 1 0"/></joint>
<flexdyn reference="boom"><beam length="1.3" EIz="90" EIy="90" mass_per_length="0.7"/>
<modes bending_z="1"/></flexdyn></robot>"""

SWING = """<robot name="swing"><link name="base"/><link name="arm"><inertial><origin xyz="0.4 0 0"/>
<mass value="2"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="hinge" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/></joint>
<flexdyn><spring name="s" base="world" base_xyz="0 0 0.5" end="arm" end_xyz="0.7 0 0" stiffness="200"
damping="3"/></flexdyn></robot>"""


class Trail:
    """Files of the package whose functions are called, in any thread that starts after it was made."""

    def __init__(self) -> None:
        self.files: set[str] = set()
        self._functions: dict[CodeType, dict[str, object]] = {}
        self._is_on = False
        threading.setprofile(self._note)
        sys.setprofile(self._note)

    def _note(self, frame, event: str, argument: object) -> None:
        if self._is_on and event == "c_call" and (kept := getattr(_memory_of(argument), "kept", None)):
            self.files.add(_in_the_package(sys.modules[kept[-1].function.__module__].__file__))
        if self._is_on and event == "call" and frame.f_code.co_name not in ("<module>", "<genexpr>"):
            path = frame.f_code.co_filename
            if path.startswith(str(PACKAGE)):
                self.files.add(_in_the_package(path))
                self._functions[frame.f_code] = frame.f_globals

    @contextmanager
    def followed(self) -> Iterator[None]:
        self._is_on = True
        try:
            yield
        finally:
            self._is_on = False

    def follow_kernels(self, interpret: Callable[[], object]) -> None:
        """Add the kernels that `interpret` reads; what leads to them is the exporter's own."""
        before, self.files = self.files, set()
        with self.followed():
            interpret()
        kernels = {name for name in self.files if "/kernels/" in name or name.startswith("numerics/")}
        self.files = before | {name for name in kernels if not name.startswith("numerics/tracing/")}

    def keep_files_of(self, known: Callable[[str], bool]) -> None:
        """Keep files whose functions that ran stand in modules that are `known` by their paths, or name
        something of such modules."""
        self.files = {
            _in_the_package(code.co_filename)
            for code, its_globals in self._functions.items()
            if any(known(path) for path in (_in_the_package(code.co_filename), *_named(code, its_globals)))
        }


def _memory_of(function: object) -> object:
    """What a built-in function is bound to: of an entry, the words that it is called with."""
    return getattr(function, "__self__", None)


def _in_the_package(path: str) -> str:
    return Path(path).relative_to(PACKAGE).as_posix()


def _named(code: CodeType, its_globals: dict[str, object]) -> Iterator[str]:
    """Files of the modules that a function imports, or that have what it names."""
    for name in code.co_names:
        value = its_globals.get(name)
        module = name if "." in name else getattr(value, "__module__", None) or getattr(value, "__name__", "")
        if isinstance(module, str) and module.startswith("flexdyn_ros."):
            yield module.removeprefix("flexdyn_ros.").replace(".", "/") + ".py"


def beam_to_mass_matrix(trail: Trail) -> None:
    flexdyn_ros.load(BEAM).mass_matrix([0.1, 0.0])
    with trail.followed():
        robot = flexdyn_ros.load(BEAM.replace("1.3", "1.4"))
        robot.mass_matrix([0.1, 0.0])
    trail.follow_kernels(lambda: Equations(robot).function("mass_matrix"))


@contextmanager
def running(make, **given) -> Iterator[tuple]:
    """A node of this process that is active, a client beside it, and what waits for an answer."""
    import rclpy
    from rclpy.executors import SingleThreadedExecutor
    from rclpy.parameter import Parameter

    from flexdyn_ros.nodes.ros.executor import EnduringExecutor

    context, own = rclpy.Context(), rclpy.Context()
    rclpy.init(context=context)
    rclpy.init(context=own)
    overrides = [Parameter(name, value=value) for name, value in given.items()]
    node = make(context=context, autostart=False, parameter_overrides=overrides)
    client = rclpy.create_node("walker", context=own)
    executor = EnduringExecutor(node)
    mine = SingleThreadedExecutor(context=own)
    mine.add_node(client)
    node.trigger_configure()
    node.trigger_activate()
    threading.Thread(target=executor.spin, daemon=True).start()

    def until(is_there: Callable[[], bool], again: Callable[[], None] = lambda: None) -> None:
        deadline = time.monotonic() + 120.0
        while not is_there():
            if time.monotonic() > deadline:
                raise TimeoutError("nothing came")
            again()
            mine.spin_once(timeout_sec=0.05)

    try:
        yield node, client, until
    finally:
        context.try_shutdown()
        own.try_shutdown()


def command_to_position(trail: Trail) -> None:
    from sensor_msgs.msg import JointState

    from flexdyn_ros.nodes import Simulator

    with running(Simulator, description_file="flexible_two_link", use_clock=False) as (_, client, until):
        heard: list = []
        client.create_subscription(JointState, "/joint_states", heard.append, 10)
        commands = client.create_publisher(JointState, "/joint_commands", 10)
        command = JointState(name=["shoulder"], effort=[2.0])
        until(lambda: commands.get_subscription_count() > 0 and len(heard) > 20)
        with trail.followed():
            until(lambda: abs(heard[-1].effort[0] - 2.0) < 1e-9, lambda: commands.publish(command))
            count = len(heard)
            until(lambda: len(heard) > count + 5)
    trail.follow_kernels(lambda: step_functions(Equations(flexdyn_ros.load("flexible_two_link"))))


def request_to_efforts(trail: Trail) -> None:
    from flexdyn_interfaces.srv import InverseDynamics
    from flexdyn_ros.nodes import DynamicsServer

    robot = flexdyn_ros.load("soft_arm_3")
    q = robot.neutral().tolist()
    request = InverseDynamics.Request(
        samples=1, positions=q, velocities=[0.0] * robot.nv, accelerations=[0.0] * robot.nv
    )
    with running(DynamicsServer, description_file="soft_arm_3") as (_, client, until):
        service = client.create_client(InverseDynamics, "/dynamics_server/inverse_dynamics")
        until(service.service_is_ready)
        first = service.call_async(request)
        until(first.done)
        with trail.followed():
            answer = service.call_async(request)
            until(answer.done)
        assert answer.result().success, answer.result().message
    trail.follow_kernels(lambda: Equations(robot).function("inverse_dynamics"))


def valve_to_pressure(trail: Trail) -> None:
    from sensor_msgs.msg import JointState

    from flexdyn_interfaces.msg import HydraulicCommand, HydraulicState
    from flexdyn_ros.nodes import HydraulicActuators

    legs = [f"leg_{i}" for i in range(1, 7)]
    with running(HydraulicActuators, description_file="stewart_1t", lockstep=False) as (_, client, until):
        heard: list = []
        client.create_subscription(HydraulicState, "/hydraulic_actuators/hydraulic_state", heard.append, 10)
        states = client.create_publisher(JointState, "/hydraulic_actuators/leg_state", 10)
        valves = client.create_publisher(HydraulicCommand, "/hydraulic_actuators/command", 10)
        state = JointState(name=legs, position=[1.4] * 6, velocity=[0.0] * 6, effort=[2260.0] * 6)

        def send(opening: float) -> None:
            states.publish(state)
            valves.publish(HydraulicCommand(mode=HydraulicCommand.VALVE, values=[opening] * 6))

        until(lambda: len(heard) > 5, lambda: send(0.1))
        with trail.followed():
            until(lambda: abs(heard[-1].valve_command[0] - 0.3) < 1e-9, lambda: send(0.3))
    robot = flexdyn_ros.load("stewart_1t")
    trail.follow_kernels(lambda: Equations(robot).function("oil_rates"))


def of_springs(path: str) -> bool:
    """Whether a file is of springs or of elements in general."""
    of_elements = path.startswith(("multibody/elements/", "families/trees/elements/"))
    return path == "description/elements/lines.py" or (of_elements and "/cylinder/" not in path)


def spring_to_wrench_and_c(trail: Trail) -> None:
    flexdyn_ros.load(SWING).inverse_dynamics([0.1], [0.2], [0.3])
    with trail.followed(), TemporaryDirectory() as folder:
        robot = flexdyn_ros.load(SWING.replace('"200"', '"210"'))
        robot.element_forces([0.1], [0.2])
        robot.inverse_dynamics([0.1], [0.2], [0.3])
        export.c(robot, folder, ["inverse_dynamics"])
    trail.keep_files_of(of_springs)


WALKS = (
    beam_to_mass_matrix,
    command_to_position,
    request_to_efforts,
    valve_to_pressure,
    spring_to_wrench_and_c,
)

if __name__ == "__main__":
    found = Trail()
    WALKS[int(sys.argv[1])](found)
    sys.setprofile(None)
    sys.stdout.write(json.dumps(sorted(found.files)) + "\n")
