"""Rods that close loops in an expanded description.

NAME/rod stands at the base of a loop of type `distance`, x along the rod, on joints NAME/x, NAME/y, NAME/z,
NAME/yaw and NAME/pitch.
"""

from __future__ import annotations

from typing import NamedTuple

from lxml import etree

from flexdyn_ros.description.elements.loops import Loop
from flexdyn_ros.families.trees.elements.expanded import SUFFIXES, Lines, add_pointer, add_tube
from flexdyn_ros.multibody.constraints.loop import loops_of
from flexdyn_ros.robot.verbs import Robot

#: radius as a share of the length, in pictures
_SLENDERNESS = 0.008


class Rod(NamedTuple):
    """The rod of a loop."""

    name: str
    record: Loop


def show_rods(root: etree._Element, robot: Robot) -> Lines:
    """Add the rods of all loops of type `distance`; what moves them."""
    rods = tuple(Rod(one.name, one) for one in loops_of(robot.description) if one.type == "distance")
    for rod in rods:
        length = float(rod.record.length or 0.0)
        link, _ = add_pointer(root, robot.description.root, rod.name, "rod")
        add_tube(link, _SLENDERNESS * length, length, 0.5)
    return Lines(robot, rods, SUFFIXES)
