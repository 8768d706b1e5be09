"""What the simulator publishes and hears beside the topics of every robot, family by family.

An extra is made by a function of EXTRAS from a `Setting`, if the robot has what it is about; the telemetry
calls it at its rates. A new family adds its function here and changes neither simulator nor telemetry.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from flexdyn_interfaces.msg import LinkDeflections
from flexdyn_ros.nodes.simulator.extras.deflections import DeflectionMessage
from flexdyn_ros.nodes.simulator.extras.inputs import Extra, Input
from flexdyn_ros.nodes.simulator.extras.platform_topics import PlatformTopics
from flexdyn_ros.nodes.simulator.extras.pressures import Pressures
from flexdyn_ros.nodes.simulator.extras.wheels import wheel_topics
from flexdyn_ros.nodes.simulator.simulation import Simulation
from flexdyn_ros.robot.coordinates import has_legs

__all__ = ["EXTRAS", "Extra", "Input", "Setting", "extras_of"]


@dataclass(frozen=True)
class Setting:
    """What extras are made from.

    make(kind, topic, depth) makes a publisher that is silent while the node is not active. `simulation` keeps
    its robot up to date: look there at every publication.
    """

    simulation: Simulation
    settings: Any
    make: Callable[..., Any]


class Deflections(Extra):
    """`deflections`: how every flexible link bends, with strains and section forces."""

    def __init__(self, setting: Setting) -> None:
        self._simulation = setting.simulation
        self._publisher = setting.make(LinkDeflections, "deflections", 10)
        self._message = DeflectionMessage(setting.simulation.robot)

    def publish_slow(self, stamp: Any) -> None:
        """The present deflections."""
        bent = self._simulation.robot.deflections(self._simulation.stepper.q)
        self._publisher.publish(self._message.filled(stamp, bent))


def _deflections(setting: Setting) -> Extra | None:
    robot = setting.simulation.robot
    return Deflections(setting) if robot.deflections(robot.neutral()) else None


def _platform(setting: Setting) -> Extra | None:
    return PlatformTopics(setting) if has_legs(setting.simulation.robot) else None


def _pressures(setting: Setting) -> Extra | None:
    sections = setting.simulation.robot.description.sections
    driven = bool(sections) and all(section.pressure is not None for section in sections)
    return Pressures(setting.simulation.robot) if driven else None


#: functions that make an extra, or None for a robot without what it is about
EXTRAS: tuple[Callable[[Setting], Extra | None], ...] = (
    _deflections,
    wheel_topics,
    _platform,
    _pressures,
)


def extras_of(setting: Setting) -> tuple[Extra, ...]:
    """The extras of a robot."""
    made = (make(setting) for make in EXTRAS)
    return tuple(extra for extra in made if extra is not None)
