"""Forces and pressures of a platform's legs as arrows and text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from geometry_msgs.msg import Point, Vector3
from visualization_msgs.msg import Marker

from flexdyn_ros.expanding import appearance_of
from flexdyn_ros.nodes.state_publisher.scenery import TEXT, new_marker
from flexdyn_ros.robot.verbs import Robot

#: of legs that push and that pull
PUSH, PULL = (0.80, 0.25, 0.15, 1.0), (0.15, 0.35, 0.75, 1.0)
#: arrow of the greatest force, shaft of an arrow, height of a text [shares of the length of a leg]
LONGEST, SHAFT, LETTERS = 0.5, 0.035, 0.06


class LegMarkers:
    """One arrow and one text per leg, in the frame of its rod: they move with it.

    Parameters
    ----------
    robot : Robot
        A platform.
    prefix : str
        Put before the names of frames.

    Attributes
    ----------
    force, bore, rod : dict
        By name of the leg: force on the rod, positive pushing [N], and pressures [Pa absolute].
    """

    def __init__(self, robot: Robot, prefix: str) -> None:
        legs = appearance_of(robot.description).legs
        self._frames = {name: prefix + rod for name, (_, rod) in legs.items()}
        q = robot.neutral()
        self._length = float(np.mean(robot.inverse_kinematics(q, np.zeros(robot.nv)).length))
        finite = robot.effort_limits[np.isfinite(robot.effort_limits)]
        self._full = float(finite.max()) if finite.size else 9.81 * robot.mass
        self.force: dict[str, float] = {}
        self.bore: dict[str, float] = {}
        self.rod: dict[str, float] = {}

    def take(self, place: dict[str, float], names: Any, values: Any) -> None:
        """Keep values by the names of the legs; others are passed over."""
        place.update(
            (name, value) for name, value in zip(names, values, strict=False) if name in self._frames
        )

    def markers(self) -> list[object]:
        """What is known of each leg."""
        made = []
        for number, (name, frame) in enumerate(self._frames.items()):
            if name not in self.force or not np.isfinite(self.force[name]):
                continue
            made.append(self._arrow(number, frame, self.force[name]))
            made.append(self._text(number, frame, name))
        return made

    def _arrow(self, number: int, frame: str, force: float) -> Any:
        """Beside the rod, from its upper end: away from it if the leg pulls, towards it if it pushes."""
        marker = new_marker("leg_force", number, Marker.ARROW, frame, PUSH if force >= 0.0 else PULL)
        reach = max(LONGEST * self._length * min(abs(force) / self._full, 1.0), 1e-3)
        aside = 3.0 * SHAFT * self._length
        low, high = Point(x=aside, z=-reach), Point(x=aside)
        marker.points = [low, high] if force >= 0.0 else [high, low]
        marker.scale = Vector3(x=SHAFT * self._length, y=2.0 * SHAFT * self._length, z=0.0)
        return marker

    def _text(self, number: int, frame: str, name: str) -> Any:
        marker = new_marker("leg_text", number, Marker.TEXT_VIEW_FACING, frame, TEXT)
        marker.pose.position = Point(x=6.0 * SHAFT * self._length, z=-0.15 * self._length)
        marker.scale.z = LETTERS * self._length
        marker.text = _words(self.force[name], self.bore, self.rod, name)
        return marker


def _words(force: float, bore: Mapping[str, float], rod: Mapping[str, float], name: str) -> str:
    text = f"{1e-3 * force:.1f} kN"
    if name in bore and name in rod:
        text += f"\n{1e-5 * bore[name]:.0f} | {1e-5 * rod[name]:.0f} bar"
    return text
