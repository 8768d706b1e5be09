"""Small robots for simulations: pendulums and floating bodies."""

from __future__ import annotations

from functools import cache

from models import joint, link, robot_text

import flexdyn_ros

_ROD = {"com": (0, 0, -0.5), "inertia": (1 / 12, 0, 0, 1 / 12, 0, 1e-3)}


@cache
def double_pendulum(more: str = "", kind: str = "continuous") -> flexdyn_ros.Robot:
    """Two rods of 1 kg and 1 m hanging down, on axes along y; `more` is put into both joints."""
    return flexdyn_ros.load(
        robot_text(
            "double_pendulum",
            '<link name="base"/>',
            link("upper", 1.0, **_ROD),
            link("lower", 1.0, **_ROD),
            joint("shoulder", kind, "base", "upper", axis=(0, 1, 0), more=more),
            joint("elbow", kind, "upper", "lower", xyz=(0, 0, -1), axis=(0, 1, 0), more=more),
        )
    )


@cache
def wheel(
    more: str = "", inertia: float = 0.01, kind: str = "continuous", extra: str = ""
) -> flexdyn_ros.Robot:
    """A balanced wheel about z: one coordinate of constant inertia [kg m2] and no gravity on it."""
    tensor = (inertia, 0, 0, inertia, 0, inertia)
    return flexdyn_ros.load(
        robot_text(
            "wheel",
            '<link name="base"/>',
            link("disc", 1.0, inertia=tensor),
            joint("axle", kind, "base", "disc", axis=(0, 0, 1), more=more),
            extra,
        )
    )


@cache
def tumbler(gravity: str = "0 0 0") -> flexdyn_ros.Robot:
    """A floating body of three different inertias with an arm that swings on it."""
    return flexdyn_ros.load(
        robot_text(
            "tumbler",
            link("body", 3.0, com=(0.02, -0.01, 0.03), inertia=(0.05, 0.002, 0.001, 0.08, 0.003, 0.11)),
            link("arm", 0.7, com=(0.2, 0, 0), inertia=(1e-3, 0, 0, 0.01, 0, 0.01)),
            joint("hinge", "continuous", "body", "arm", xyz=(0.1, 0.2, 0), axis=(0, 1, 1)),
            f'<flexdyn><gravity>{gravity}</gravity><base type="floating"/></flexdyn>',
        )
    )


class Verbs:
    """A robot that shows nothing but its verbs, as one of a family without compiled steps."""

    motion = None

    def __init__(self, robot: flexdyn_ros.Robot) -> None:
        self._robot = robot

    def __getattr__(self, name: str):
        return getattr(self._robot, name)
