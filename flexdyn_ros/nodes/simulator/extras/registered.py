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
from flexdyn_ros.robot.verbs import Robot

#: what a robot must have, and the extra that it then gets
EXTRAS: tuple[tuple[Callable[[Robot], object], Callable[[Setting], Extra]], ...] = (
    (lambda robot: robot.deflections(robot.neutral()), Deflections),
    (lambda robot: robot.wheel_names, WheelTopics),
    (lambda robot: robot.legs, PlatformTopics),
    (lambda robot: robot.pressure_areas is not None, lambda setting: Pressures(setting.simulation.robot)),
)


def extras_of(setting: Setting) -> tuple[Extra, ...]:
    """The extras of a robot."""
    return tuple(make(setting) for has, make in EXTRAS if has(setting.simulation.robot))
