"""How links bend: the topic of the simulator."""

from __future__ import annotations

from builtin_interfaces.msg import Time

from flexdyn_ros.nodes.simulator.extras.inputs import Extra, Setting
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.simulation.recordings.cdr import PatchedMessage
from flexdyn_ros.simulation.recordings.topics import DEFLECTION_PARTS, robot_deflection_layout


class DeflectionMessage:
    """LinkDeflections of a robot as bytes, at the default stations; for a topic that is published often."""

    def __init__(self, robot: Robot) -> None:
        bent = robot.deflections(robot.neutral())
        self._message = PatchedMessage(robot_deflection_layout(robot, bent, robot.description.root))
        self._links = tuple(bent)

    def filled(self, stamp: Time, bent: dict[str, object]) -> bytes:
        """The message of `robot.deflections(q)` for one q, with a stamp."""
        numbers = iter(self._message.numbers.values())
        for link in self._links:
            for name, _, _ in DEFLECTION_PARTS:
                next(numbers)[:] = getattr(bent[link], name)
        return self._message.stamped(stamp)


class Deflections(Extra):
    """`deflections`: how every flexible link bends, with strains and section forces."""

    def __init__(self, setting: Setting) -> None:
        self._simulation = setting.simulation
        self._publisher = setting.make("deflections")
        self._message = DeflectionMessage(setting.simulation.robot)

    def publish_slow(self, stamp: Time) -> None:
        """The present deflections."""
        bent = self._simulation.robot.deflections(self._simulation.stepper.q)
        self._publisher.publish(self._message.filled(stamp, bent))
