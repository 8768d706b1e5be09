"""What links that deform take of the tree that they are added to (trees/rigid/model.py)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from flexdyn_ros.numerics.algebra.placement import Placement, RigidInertia
from flexdyn_ros.robot.coordinates import Coordinate


class Node(Protocol):
    """A body of a tree that is being built."""

    link: str
    inertia: RigidInertia


class Draft(Protocol):
    """A tree while it grows."""

    @property
    def bodies(self) -> Sequence[Node]: ...
    @property
    def coordinates(self) -> Sequence[Coordinate]: ...
    @property
    def q_names(self) -> Sequence[str]: ...
    @property
    def elastic_inertia(self) -> dict[int, RigidInertia]: ...
    def add_node(self, link: str, parent: int, kind: int, placement: Placement) -> int: ...
    def add_axis(self, coordinate: Coordinate) -> tuple[int, int]: ...
    def add_frame(self, name: str, body: int, placement: Placement) -> None: ...
