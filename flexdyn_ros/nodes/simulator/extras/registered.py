"""What the simulator publishes and hears beside the topics of every robot, family by family.

An extra of EXTRAS is made from a `Setting`, if the robot has what it is about; the telemetry calls it at its
rates. A new family adds its extra here and changes neither simulator nor telemetry.
"""

from __future__ import annotations

from collections.abc import Callable

from flexdyn_ros.nodes.simulator.extras.deflections import Deflections
from flexdyn_ros.nodes.simulator.extras.inputs import Extra, Setting
from flexdyn_ros.nodes.simulator.extras.platform_topics import PlatformTopics
from flexdyn_ros.nodes.simulator.extras.pressures import Pressures
from flexdyn_ros.nodes.simulator.extras.wheels import WheelTopics
from flexdyn_ros.robot.coordinates import has_legs
from flexdyn_ros.robot.verbs import Robot


def _is_driven_by_pressure(robot: Robot) -> bool:
    sections = robot.description.sections
    return bool(sections) and all(section.pressure is not None for section in sections)


#: what a robot must have, and the extra that it then gets
EXTRAS: tuple[tuple[Callable[[Robot], object], Callable[[Setting], Extra]], ...] = (
    (lambda robot: robot.deflections(robot.neutral()), Deflections),
    (lambda robot: robot.description.wheels, WheelTopics),
    (has_legs, PlatformTopics),
    (_is_driven_by_pressure, lambda setting: Pressures(setting.simulation.robot)),
)


def extras_of(setting: Setting) -> tuple[Extra, ...]:
    """The extras of a robot."""
    return tuple(make(setting) for has, make in EXTRAS if has(setting.simulation.robot))
