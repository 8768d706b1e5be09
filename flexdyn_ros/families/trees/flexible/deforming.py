"""Links of other kinds than beams in a tree: their nodes, coordinates and sections, and their numbers.

Such a link has a FIXED node of its own, whose frame is that of the link. Children hang on SECTION nodes as
those of beams do (flexible/kernels/views.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from flexdyn_ros.description import Joint, RobotDescription
from flexdyn_ros.description.language.vocabulary import rule_of
from flexdyn_ros.families.trees.flexible.kernels import views as layout
from flexdyn_ros.multibody.links.kernels.answers import (
    forces_size,
    inertia_size,
    open_forces,
    open_inertia,
)
from flexdyn_ros.multibody.links.registry import LinkKind, deforming_links
from flexdyn_ros.numerics.algebra.placement import IDENTITY, Placement, RigidInertia
from flexdyn_ros.robot.arguments import section_of
from flexdyn_ros.robot.coordinates import Coordinate
from flexdyn_ros.robot.parameters import INERTIAL, Parameter

#: kind of the coordinates of such links
DEFORMATION = "deformation"


@dataclass(frozen=True)
class DeformingModel:
    """A link with coordinates of its own that is no beam.

    q, v : indices of its coordinates; row: its number in the table of links; numbers (n,): of its kernels,
    which begin at numbers_at in FlexibleTables.numbers.
    """

    name: str
    kind: LinkKind
    record: Any
    node: int
    q: np.ndarray
    v: np.ndarray
    numbers: np.ndarray
    row: int = 0
    numbers_at: int = 0

    @property
    def sizes(self) -> dict[int, float]:
        """Size of a small deformation, by the index in q."""
        return {int(i): c.size for i, c in zip(self.q, self.kind.coordinates(self.record), strict=True)}

    def slopes(self) -> tuple[np.ndarray, np.ndarray]:
        """Stiffness and damping (m, m) of the undeformed link."""
        m = len(self.q)
        found = open_forces(np.zeros(forces_size(m)), m)
        _, own_forces, _, _ = self.kind.answers.kernels
        own_forces(self.numbers, np.zeros(m), np.zeros(m), found)
        return np.array(found.stiffness).reshape(m, m), np.array(found.damping).reshape(m, m)

    @property
    def mass(self) -> float:
        """Mass of the link [kg]."""
        return _rigid_inertia(self.kind, self.numbers, len(self.q)).mass

    def parameters(self) -> Iterator[Parameter]:
        """Those that its forces are linear in."""
        for name, unit, place in self.kind.coefficients(self.record):
            yield Parameter(f"{self.name}/{name}", float(self.numbers[place]), unit, 0.0)

    def with_parameters(self, values: Mapping[str, float]) -> DeformingModel:
        """The link with other values of these."""
        numbers = self.numbers.copy()
        for name, _, place in self.kind.coefficients(self.record):
            numbers[place] = values.get(f"{self.name}/{name}", numbers[place])
        return replace(self, numbers=numbers)


@dataclass
class _Seat:
    """A link while the tree grows, and its SECTION nodes by station."""

    model: DeformingModel
    sections: dict[float, int] = field(default_factory=dict)


class DeformingLinks:
    """Adds links of other kinds than beams to a tree that is being built.

    Parameters
    ----------
    description : RobotDescription
    sections : names LINK@station of sections that are wanted as frames
    """

    def __init__(self, description: RobotDescription, sections: Iterable[str] = ()) -> None:
        self._links = deforming_links(description)
        self._sections = tuple(map(section_of, sections))
        self.seats: dict[str, _Seat] = {}

    def __contains__(self, link: str) -> bool:
        return link in self._links

    # ---- the undeformed link: kernels, interpreted ----

    def _numbers(self, link: str) -> tuple[LinkKind, np.ndarray, np.ndarray]:
        """Kind, numbers, and coordinates (m,) that are zero."""
        kind, record = self._links[link]
        own = np.array([float(x) for x in kind.numbers(record)])
        return kind, own, np.zeros(len(kind.coordinates(record)))

    def rigid_inertia(self, link: str) -> RigidInertia:
        """Inertia of the undeformed link, in its frame."""
        kind, numbers, zero = self._numbers(link)
        return _rigid_inertia(kind, numbers, len(zero))

    def undeformed(self, link: str, station: float) -> Placement:
        """The frame of a section of the undeformed link, in the link frame."""
        kind, numbers, zero = self._numbers(link)
        pose = np.zeros(12)
        kind.answers.kernels[2](numbers, np.array([station]), zero, pose, np.zeros(6 * len(zero)))
        return Placement(pose[:9].reshape(3, 3), pose[9:])

    # ---- growth ----

    def hold(self, draft: Draft, link: str, body: int, placement: Placement) -> None:
        """Fix the undeformed link to a body, with the frames of its sections."""
        draft.bodies[body].inertia += self.rigid_inertia(link).seen_from(placement)
        for name, station in self._frames(link):
            draft.add_frame(name, body, placement @ self.undeformed(link, station))

    def attach(self, draft: Draft, link: str, body: int, placement: Placement) -> int:
        """Give the link its node, its coordinates and the frames of its sections; returns the node."""
        node = draft.add_node(link, body, layout.FIXED, placement)
        kind, record = self._links[link]
        for coefficient in kind.coefficients(record):
            if coefficient.name in INERTIAL:
                message = f"<{rule_of(kind.record).name}>: '{coefficient.name}' is a parameter of every body"
                raise ValueError(f"{message}: expected a name of its own")
        first_q, first_v = len(draft.q_names), len(draft.coordinates)
        for name, unit, _ in kind.coordinates(record):
            draft.add_axis(Coordinate(f"{link}/{name}", DEFORMATION, unit, 0, 0, link, actuated=False))
        _, numbers, zero = self._numbers(link)
        own = np.arange(len(zero))
        self.seats[link] = _Seat(
            DeformingModel(link, kind, record, node, first_q + own, first_v + own, numbers)
        )
        draft.elastic_inertia[node] = self.rigid_inertia(link)
        for name, station in self._frames(link):
            draft.add_frame(name, *self._section(draft, link, station))
        return node

    def _frames(self, link: str) -> Iterator[tuple[str, float]]:
        """Names and stations of the sections of a link that are frames."""
        yield f"{link}/tip", 1.0
        for carrier, station in self._sections:
            if carrier == link and station is not None:
                yield f"{link}@{station!r}", station

    def seat(self, draft: Draft, joint: Joint) -> tuple[int, Placement]:
        """Node that carries a child joint of a link, and the joint frame's placement in it."""
        kind, record = self._links[joint.parent]
        station = float(kind.station(record, joint))
        at = Placement.of(joint.xyz, joint.rpy)
        if station == 0.0:
            return self.seats[joint.parent].model.node, at
        node, _ = self._section(draft, joint.parent, station)
        return node, self.undeformed(joint.parent, station).inverse() @ at

    def _section(self, draft: Draft, link: str, station: float) -> tuple[int, Placement]:
        """Node of a section (made when first asked for), and the section's frame there."""
        seat = self.seats[link]
        if station == 0.0:
            return seat.model.node, self.undeformed(link, 0.0)
        if station not in seat.sections:
            seat.sections[station] = draft.add_node(link, seat.model.node, layout.SECTION, IDENTITY)
        return seat.sections[station], IDENTITY

    # ---- arrays ----

    def fill(
        self, nodes: np.ndarray, rows: list[list[int]], places: int, numbers: list[np.ndarray], blocks: int
    ) -> tuple[tuple[DeformingModel, ...], int]:
        """Add rows of the table of links, numbers, and what nodes say of these links; the models, and how
        many numbers of work memory all links take."""
        size, found = sum(map(len, numbers)), []
        for seat in self.seats.values():
            model = replace(seat.model, row=len(rows), numbers_at=size)
            m, n = len(model.q), len(model.numbers)
            nothing = [0] * 6
            own = [model.node, m, model.q[0], model.v[0], places, *nothing, size, blocks, layout.BEAM, n]
            nodes[model.node, layout.NODE_LINK] = len(rows)
            rows.append(own)
            numbers.append(model.numbers)
            size, blocks = size + n, blocks + layout.state_floats(m, 0, 0)
            for station, node in seat.sections.items():
                nodes[node] = [model.row, size, blocks]
                numbers.append(np.array([station]))
                size, blocks = size + 1, blocks + layout.columns_floats(m)
            found.append(model)
        return tuple(found), blocks

    @property
    def mass(self) -> float:
        """Mass of the links that deform [kg]."""
        return float(sum(seat.model.mass for seat in self.seats.values()))


def _rigid_inertia(kind: LinkKind, numbers: np.ndarray, m: int) -> RigidInertia:
    """Inertia of an undeformed link of m coordinates, in its frame, by its kernel, interpreted."""
    found = open_inertia(np.zeros(inertia_size(m)), m)
    kind.answers.kernels[0](numbers, np.zeros(m), np.zeros(m), np.zeros(3), found)
    mass, x, y, z, xx, xy, xz, yy, yz, zz = np.array(found.rigid).tolist()
    return RigidInertia(mass, np.array([x, y, z]), np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))


# What links that deform take of the tree that they are added to (trees/rigid/model.py).


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
