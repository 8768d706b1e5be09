"""Where the loops of a description are in its tree."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from flexdyn_ros.description import RobotDescription
from flexdyn_ros.description.elements.lines import WORLD
from flexdyn_ros.description.elements.loops import Loop
from flexdyn_ros.families.trees.rigid.model import RigidTree
from flexdyn_ros.multibody.constraints.loop import ROWS, loops_of, place_of_loop, triad
from flexdyn_ros.numerics.algebra.placement import Placement
from flexdyn_ros.robot.arguments import section_of


class Mount(NamedTuple):
    """The frame of the tree that carries an end of a loop (None: the world), its node, and the constraint
    frame in it."""

    frame: str | None
    node: int
    placement: Placement


class PlacedLoop(NamedTuple):
    """One loop, and its constraint frames."""

    record: Loop
    base: Mount
    end: Mount

    @property
    def rows(self) -> tuple[int, ...]:
        """Kinds of its rows."""
        return ROWS[self.record.type]


def stations_of(description: RobotDescription) -> tuple[str, ...]:
    """The stations LINK@s that loops hang on."""
    ends = (name for record in loops_of(description) for name in (record.base, record.end))
    return tuple(dict.fromkeys(name for name in ends if section_of(name)[0]))


def placed_loops(description: RobotDescription, tree: RigidTree) -> tuple[PlacedLoop, ...]:
    """The loops of a description in its tree, whose frames hold their stations.

    Raises
    ------
    DescriptionError
        If both ends of one are on one rigid body, or on the world.
    """
    found = []
    for record in loops_of(description):
        loop = PlacedLoop(record, *(_mount_of(record, which, tree) for which in ("base", "end")))
        if loop.base.node == loop.end.node:
            node = loop.base.node
            what = "the world" if node == 0 else f"the body of link '{tree.body_links[node]}'"
            place_of_loop(description, record).fail(
                f"both ends are on {what}", "end", record.end, "a frame that moves against the base"
            )
        found.append(loop)
    return tuple(found)


def _mount_of(record: Loop, which: str, tree: RigidTree) -> Mount:
    """The constraint frame that the attributes of one end say: its z axis is the axis."""
    name, axis = getattr(record, which), record.axis
    if which == "end" and record.end_axis is not None:
        axis = record.end_axis
    turned = Placement.of(getattr(record, f"{which}_xyz"), getattr(record, f"{which}_rpy") or (0.0, 0.0, 0.0))
    own = turned @ Placement(triad(axis), np.zeros(3))
    if name == WORLD and WORLD not in tree.frames:
        return Mount(None, 0, own)
    return Mount(name, int(tree.frames[name].body), own)
