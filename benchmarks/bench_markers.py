"""Cost of showing a robot that bends in rviz: processor time of markers and expanded joint states at 50 Hz.

    python benchmarks/bench_markers.py [--robot canadarm2] [--seconds 10] [--quick]

One node does what simulator and state publisher do for the picture, and nothing else: expanded joint states
(positions, velocities, efforts of all virtual joints), deflections read from bytes, meshes of about 3000
corners written as bytes, both published by ROS. Counted is the processor time of the whole process, with the
middleware included; another process hears both topics, so that messages really leave. /tf is told apart.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

sys.path[:0] = [str(Path(__file__).parents[1])]
os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
os.environ.setdefault("ROS_DOMAIN_ID", "87")

import program  # noqa: E402
import rclpy  # noqa: E402
from builtin_interfaces.msg import Time  # noqa: E402
from rclpy.serialization import serialize_message  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from tf2_msgs.msg import TFMessage  # noqa: E402
from visualization_msgs.msg import MarkerArray  # noqa: E402

import flexdyn_ros  # noqa: E402
from flexdyn_ros.nodes.ros.conversions import deflection_message  # noqa: E402
from flexdyn_ros.nodes.ros.robot_parameters import StatePublisherParameters  # noqa: E402
from flexdyn_ros.nodes.state_publisher.picture import Picture  # noqa: E402
from flexdyn_ros.nodes.state_publisher.transforms import JointTransforms, TransformMessage  # noqa: E402
from flexdyn_ros.simulation.recordings.cdr import PatchedMessage  # noqa: E402
from flexdyn_ros.simulation.recordings.topics import joint_layout  # noqa: E402

RATE = 50.0
LISTENER = """
import rclpy
from rclpy.executors import ExternalShutdownException
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage
from visualization_msgs.msg import MarkerArray
rclpy.init()
node = rclpy.create_node("listener")
for kind, topic in ((JointState, "joint_states"), (MarkerArray, "deformation_markers"), (TFMessage, "/tf")):
    node.create_subscription(kind, topic, lambda message: None, 10, raw=True)
try:
    rclpy.spin(node)
except (KeyboardInterrupt, ExternalShutdownException):
    pass
"""


class Show:
    """The work of one picture, part by part."""

    def __init__(self, robot: object, node: object) -> None:
        self.robot, self.expanded = robot, flexdyn_ros.expand(robot)
        self.settings = StatePublisherParameters(colour="moment")
        self.picture = Picture(robot, self.expanded, "world", self.settings)
        self.transforms = JointTransforms(self.expanded.urdf)
        self.joints = node.create_publisher(JointState, "joint_states", 10)
        self.markers = node.create_publisher(MarkerArray, "deformation_markers", 10)
        self.tf = node.create_publisher(TFMessage, "/tf", 100)
        self.message = PatchedMessage(joint_layout(self.expanded.joint_names))
        rng = np.random.default_rng(0)
        self.states = [(0.1 * robot.random(rng), 0.1 * rng.normal(size=robot.nv)) for _ in range(20)]
        self.bytes = []
        for n, (q, _) in enumerate(self.states):
            bent = deflection_message(robot, robot.deflections(q))
            bent.header.stamp = Time(sec=n)
            self.bytes.append(bytes(serialize_message(bent)))
        self.corners = 0

    def joint_states(self, n: int) -> None:
        q, v = self.states[n % 20]
        position, velocity, effort = self.message.numbers.values()
        position[:], velocity[:] = self.expanded.joint_state(q, v)
        effort[:] = self.expanded.joint_efforts(np.zeros(self.robot.nu))
        self.joints.publish(self.message.stamped(Time(sec=n)))

    def meshes(self, n: int) -> None:
        made = self.picture.mesh_message(self.bytes[n % 20])
        self.corners = sum(len(tube.corners) for tube in self.picture._mesh._tubes)
        self.markers.publish(made)

    def transforms_too(self, n: int) -> None:
        names, values = self.expanded.joint_names, self.message.numbers["position"]
        rows, position, quaternion = self.transforms.poses(names, values)
        if n == 0:
            frames = [self.transforms.frames_of(row) for row in rows.tolist()]
            self.template = TransformMessage(frames)
        self.tf.publish(self.template.filled(Time(sec=n), position, quaternion))


def share(parts: list, seconds: float) -> float:
    """Processor time per wall time [%] of parts called at RATE."""
    for part in parts:
        part(0)
    time.sleep(0.2)
    began, spent, n = time.monotonic(), time.process_time(), 0
    while time.monotonic() - began < seconds:
        n += 1
        for part in parts:
            part(n)
        time.sleep(max(0.0, began + n / RATE - time.monotonic()))
    return 100.0 * (time.process_time() - spent) / (n / RATE)


def main() -> None:
    parser = program.parser(__doc__)
    parser.add_argument("--robot", default="canadarm2")
    parser.add_argument("--seconds", type=float, default=10.0)
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.seconds = 0.2
    rclpy.init()
    node = rclpy.create_node("bench_markers")
    show = Show(flexdyn_ros.load(arguments.robot), node)
    listener = subprocess.Popen([sys.executable, "-c", LISTENER])
    try:
        time.sleep(0.5 if arguments.quick else 3.0)
        rows = {
            "joint states": [show.joint_states],
            "mesh markers": [show.meshes],
            "both": [show.joint_states, show.meshes],
            "both and /tf": [show.joint_states, show.meshes, show.transforms_too],
        }
        results = {name: share(parts, arguments.seconds) for name, parts in rows.items()}
        print(
            f"{arguments.robot}: {len(show.expanded.joint_names)} joints, meshes of {show.corners} corners, "
            f"{RATE:g} Hz, load of the machine {os.getloadavg()[0]:.1f}"
        )
        for name, value in results.items():
            print(f"  {name}: {value:.1f} % of a core")
    finally:
        listener.kill()
        listener.wait()
        rclpy.try_shutdown()


if __name__ == "__main__":
    main()
