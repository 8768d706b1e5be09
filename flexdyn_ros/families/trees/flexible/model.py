"""Flexible links in a tree: their nodes, coordinates and sections, and the constants that the kernels read.

A flexible link sits on the node of its own joint, or on a FIXED node if it has none. Children that do not
hang at its root, and bodies on its tip, sit on SECTION nodes (flexible/kernels/views.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from flexdyn_ros.description import Joint, RobotDescription
from flexdyn_ros.description.elements.links import FlexibleLink
from flexdyn_ros.description.places import Place
from flexdyn_ros.families.trees.flexible.beams.bases import chosen_modes
from flexdyn_ros.families.trees.flexible.beams.modal_integrals import (
    ModalIntegrals,
    check_modal_mass,
    modal_damping,
    modal_mass,
    rayleigh_damping,
    with_body,
)
from flexdyn_ros.families.trees.flexible.beams.modes import Mode
from flexdyn_ros.families.trees.flexible.beams.properties import BeamLink, beam_link
from flexdyn_ros.families.trees.flexible.constants import (
    LinkConstants,
    Listed,
    link_constants,
    section_constants,
)
from flexdyn_ros.families.trees.flexible.deforming import DeformingLinks, DeformingModel, Draft
from flexdyn_ros.families.trees.flexible.kernels import views as layout
from flexdyn_ros.numerics.algebra.placement import IDENTITY, Placement, RigidInertia
from flexdyn_ros.robot.arguments import section_of
from flexdyn_ros.robot.coordinates import Coordinate

if TYPE_CHECKING:
    from flexdyn_ros.families.trees.flexible.beams.imported_modes import ImportedLink, NodeStation

    #: a flexible link, its geometry and mass settled
    AnyLink = BeamLink | ImportedLink
    Station = float | NodeStation


@dataclass(frozen=True)
class FlexibleLinkModel:
    """A flexible link with its modes; q, v: indices of its modal coordinates; beam_in_node: its beam frame
    there; integrals: of the link without bodies, rotary: by which rule of rotary inertia; modal_mass: with
    the bodies it carries; numbers_at: where its constants begin in FlexibleTables.numbers; rigidity, density:
    by what GJ, EIy, EIz and EA of the beam, and its mass per length, are to be multiplied; parts: integrals
    by one of these alone, once they were asked for, for all links that differ in other values only."""

    name: str
    node: int
    beam_in_node: Placement
    beam: AnyLink
    modes: tuple[Mode, ...]
    q: np.ndarray
    v: np.ndarray
    foreshortened: bool
    modal_mass: np.ndarray
    stiffness: np.ndarray
    damping: np.ndarray
    integrals: ModalIntegrals
    rotary: str
    listed: Listed
    numbers_at: int = 0
    rigidity: tuple[float, ...] = (1.0, 1.0, 1.0, 1.0)
    density: float = 1.0
    parts: dict[str, ModalIntegrals] = field(default_factory=dict, compare=False, repr=False)


@dataclass(frozen=True)
class FlexibleTables:
    """What the kernels read beside the TreeModel: see flexible/kernels/views.py.

    links: beams, others: links of other kinds, behind these in the table. sections: (number of the beam,
    station) of each SECTION node of beams; mass: of the links, what sits on their ends left out [kg].
    """

    ints: np.ndarray
    numbers: np.ndarray
    blocks: int
    links: tuple[FlexibleLinkModel, ...]
    sections: Mapping[int, tuple[int, Station]]
    mass: float
    others: tuple[DeformingModel, ...] = ()


@dataclass
class _Seat:
    """A flexible link while the tree grows: its node, its placement there, and its SECTION nodes by
    station."""

    model: FlexibleLinkModel
    constants: LinkConstants
    node: int
    beam_in_node: Placement
    link_in_node: Placement
    sections: dict[Station, int] = field(default_factory=dict)


def settled_link(description: RobotDescription, link: FlexibleLink) -> AnyLink:
    """A flexible link with geometry, stiffness and mass settled: a beam, or imported modes."""
    if link.modes.file is None:
        return beam_link(description, link)
    from flexdyn_ros.families.trees.flexible.beams.imported_modes import imported_link

    return imported_link(description, link)


class FlexibleLinks:
    """Adds flexible links to a tree that is being built.

    Parameters
    ----------
    description : RobotDescription
    sections : names LINK@station of sections that are wanted as frames
    """

    def __init__(self, description: RobotDescription, sections: Iterable[str] = ()) -> None:
        self.description = description
        self.formulation = description.formulation
        self.sections = tuple(sections)
        self.beams: dict[str, AnyLink] = {
            name: settled_link(description, link) for name, link in description.flexible_links.items()
        }
        self.others = DeformingLinks(description, self.sections)
        self.seats: dict[str, _Seat] = {}
        self._subtrees: dict[str, RigidInertia] = {}

    @property
    def warnings(self) -> tuple[str, ...]:
        return tuple(text for beam in self.beams.values() for text in beam.warnings)

    # ---- rigid twin ----

    def rigid_inertia(self, link: str) -> RigidInertia:
        """Inertia of a link whose modes are dropped: beam and bodies, in the link frame."""
        beam = self.beams[link]
        return _rigid(self._undeformed(beam)).seen_from(beam.frame)

    def undeformed(self, link: str, station: float) -> Placement:
        """The frame of a section of a straight link, in the link frame."""
        beam = self.beams[link]
        return Placement(beam.frame.R, beam.frame.p + beam.frame.R @ beam.centre(station))

    def _undeformed(self, beam: AnyLink) -> np.ndarray:
        """Pseudo-inertia of the undeformed link about the beam's root, as the equations have it."""
        rotary = self.formulation.rotary_inertia or "consistent"
        P = 2.0 * beam.integrals((), rotary).C
        for body in beam.bodies:
            H = np.eye(4)
            H[1:, 0] = beam.centre(body.station)
            P = P + H @ body.P @ H.T
        return P

    # ---- growth ----

    def attach(self, draft: Draft, link: str, body: int, placement: Placement) -> None:
        """Give a flexible link its node, its modal coordinates, its bodies and the frame of its tip."""
        if body == 0 or draft.bodies[body].link != link:
            body, placement = draft.add_node(link, body, layout.FIXED, placement), IDENTITY
        beam = self.beams[link]
        if isinstance(beam, BeamLink):
            modes = chosen_modes(beam, self._hung(link), self.formulation.rotary_inertia or "consistent")
        else:
            modes = beam.modes
        first_q, first_v = len(draft.q_names), len(draft.coordinates)
        for mode, name in zip(modes, _names(modes), strict=True):
            unit = {"torsion": "rad", "mode": "1"}.get(mode.field, "rad" if mode.shape.is_slope else "m")
            coordinate = Coordinate(f"{link}/{name}", mode.field, unit, 0, 0, link, actuated=False)
            draft.add_axis(coordinate)
        beam_in_node = placement @ beam.frame
        model, constants = self._settle(link, modes, first_q, first_v, body, beam_in_node)
        seat = self.seats[link] = _Seat(model, constants, body, beam_in_node, placement)
        draft.elastic_inertia[body] = constants.rigid_inertia()
        for station_body in beam.bodies:
            node, offset = self._section(draft, seat, station_body.station)
            own = _rigid(station_body.P).seen_from(Placement(beam_in_node.R, offset))
            draft.bodies[node].inertia = draft.bodies[node].inertia + own
        draft.add_frame(link, body, placement)
        self._add_section_frame(draft, seat, f"{link}/tip", 1.0)
        for name in self.sections:
            carrier, station = section_of(name)
            if carrier == link and station is not None:
                self._add_section_frame(draft, seat, name, station)

    def seat(self, draft: Draft, joint: Joint) -> tuple[int, Placement]:
        """Node that carries a child joint of a flexible link, and the joint frame's placement in it
        (undeformed)."""
        if joint.parent in self.others:
            return self.others.seat(draft, joint)
        seat = self.seats[joint.parent]
        station = self.beams[joint.parent].attach[joint.name]
        node, _ = self._section(draft, seat, station)
        at = seat.link_in_node @ Placement.of(joint.xyz, joint.rpy)
        if node == seat.node:
            return node, at
        root = seat.beam_in_node.p
        return node, Placement(at.R, at.p - root - seat.beam_in_node.R @ seat.model.beam.centre(station))

    def _add_section_frame(self, draft: Draft, seat: _Seat, name: str, station: Station) -> None:
        node, offset = self._section(draft, seat, station)
        draft.add_frame(name, node, Placement(seat.beam_in_node.R, offset))

    def _section(self, draft: Draft, seat: _Seat, station: Station) -> tuple[int, np.ndarray]:
        """Node of a section (made when first asked for) and the section's undeformed centre in that node."""
        if station == 0.0:
            return seat.node, seat.beam_in_node.p
        if station not in seat.sections:
            name = draft.bodies[seat.node].link
            seat.sections[station] = draft.add_node(name, seat.node, layout.SECTION, IDENTITY)
        return seat.sections[station], np.zeros(3)

    def _hung(self, link: str) -> np.ndarray:
        """Pseudo-inertia of all that hangs on the tip at the zero pose, about the tip, beam axes."""
        beam = self.beams[link]
        tip = self.undeformed(link, 1.0)
        total = RigidInertia.zero()
        for joint in self.description.children_of(link):
            if beam.attach[joint.name] == 1.0:
                total = total + self._subtree(joint.child).seen_from(
                    tip.inverse() @ Placement.of(joint.xyz, joint.rpy)
                )
        return beam.tip_inertia() + _pseudo(total)

    def _subtree(self, link: str) -> RigidInertia:
        """Inertia of a link and all that hangs on it at the zero pose, in its frame; summed once for each."""
        order = [] if link in self._subtrees else [link]
        # parents before their children, at any depth; those below a link that was summed are known
        for name in order:
            children = (joint.child for joint in self.description.children_of(name))
            order += [child for child in children if child not in self._subtrees]
        for name in reversed(order):
            total = self._own_inertia(name)
            for joint in self.description.children_of(name):
                child = self._subtrees[joint.child]
                total = total + child.seen_from(Placement.of(joint.xyz, joint.rpy))
            self._subtrees[name] = total
        return self._subtrees[link]

    def _own_inertia(self, link: str) -> RigidInertia:
        """Inertia of an undeformed link, in its frame."""
        if link in self.beams:
            return self.rigid_inertia(link)
        own = self.others.rigid_inertia(link) if link in self.others else RigidInertia.zero()
        inertial = self.description.link(link).inertial
        if inertial is None:
            return own
        return own + RigidInertia.of(inertial.mass, inertial.xyz, inertial.inertia, inertial.rpy)

    def _settle(
        self,
        link: str,
        modes: tuple[Mode, ...],
        first_q: int,
        first_v: int,
        node: int,
        beam_in_node: Placement,
    ) -> tuple[FlexibleLinkModel, LinkConstants]:
        beam = self.beams[link]
        rotary = self.formulation.rotary_inertia or "consistent"
        # floating frames stiffen by forces, and keep displacements linear
        floating = self.formulation.method == "floating_frame"
        foreshortened = self.formulation.stiffening != "none" and not floating
        integrals = beam.integrals(modes, rotary)
        at = {b.station: beam.fields(modes, b.station) for b in beam.bodies if b.station > 0.0}
        whole = integrals
        for body in beam.bodies:
            if body.station > 0.0:
                whole = with_body(whole, body.P, at[body.station])
        place = self.description.place(self.description.flexible_links[link], "modes")
        check_modal_mass(whole, modes, link, place)
        mass = modal_mass(whole)
        _check_independence(link, mass, place)
        damping = self._damping(link, whole)
        constants = link_constants(integrals, beam_in_node, damping, foreshortened)
        model = FlexibleLinkModel(
            name=link,
            node=node,
            beam_in_node=beam_in_node,
            beam=beam,
            modes=modes,
            q=np.arange(first_q, first_q + len(modes)),
            v=np.arange(first_v, first_v + len(modes)),
            foreshortened=foreshortened,
            modal_mass=mass,
            stiffness=integrals.K,
            damping=damping,
            integrals=integrals,
            rotary=rotary,
            listed=constants.listed(),
        )
        return model, constants

    def _damping(self, link: str, whole: Any) -> np.ndarray:
        beam = self.beams[link]
        if not isinstance(beam, BeamLink) and beam.damping is not None:
            return beam.damping
        stated = beam.element.damping
        if stated is None:
            return np.zeros_like(whole.K)
        if stated.ratio is not None:
            return modal_damping(whole, stated.ratio)
        return rayleigh_damping(whole, stated.rayleigh_mass, stated.rayleigh_stiffness)

    # ---- arrays ----

    def tables(self, node_count: int) -> FlexibleTables:
        """The tables of flexible/kernels/views.py for a finished draft."""
        nodes = np.full((node_count, layout.NODE_INTS), -1, dtype=np.int64)
        nodes[:, 1:] = 0
        links, models, places, numbers = [], [], [], []
        size = blocks = place_count = 0
        for index, seat in enumerate(self.seats.values()):
            constants, model = seat.constants, seat.model
            m, P, listed = len(model.modes), len(constants.pairs), model.listed
            counts = [len(indices) for indices in listed]
            links.append(
                [
                    seat.node,
                    m,
                    model.q[0],
                    model.v[0],
                    place_count,
                    P,
                    *counts,
                    constants.first_slope,
                    constants.slopes,
                    size,
                    blocks,
                    layout.BEAM,
                    0,
                ]
            )
            models.append(replace(model, numbers_at=size))
            flat = constants.flat(listed)
            assert len(flat) == layout.link_floats(m, P, sum(counts))
            numbers.append(flat)
            places += [constants.pairs.ravel(), listed.places(m, P)]
            size += len(flat)
            place_count += len(places[-2]) + len(places[-1])
            blocks += layout.state_floats(m, P, constants.slopes)
            nodes[seat.node, layout.NODE_LINK] = index
            for station, node in seat.sections.items():
                fields = model.beam.fields(model.modes, station)
                flat = section_constants(fields, seat.beam_in_node)
                assert len(flat) == layout.section_floats(m)
                nodes[node] = [index, size, blocks]
                numbers.append(flat)
                size, blocks = size + len(flat), blocks + layout.columns_floats(m)
        others, blocks = self.others.fill(nodes, links, place_count, numbers, blocks)
        size = sum(map(len, numbers))
        ints = [np.array([place_count, size]), nodes.ravel(), np.array(links).ravel(), *places]
        return FlexibleTables(
            ints=np.concatenate(ints).astype(np.int64),
            numbers=np.concatenate(numbers),
            blocks=blocks,
            links=tuple(models),
            sections={
                node: (index, station)
                for index, seat in enumerate(self.seats.values())
                for station, node in seat.sections.items()
            },
            mass=float(sum(seat.constants.rigid[0] for seat in self.seats.values())) + self.others.mass,
            others=others,
        )


def _names(modes: tuple[Mode, ...]) -> list[str]:
    """field/number of each mode."""
    counts: dict[str, int] = {}
    names = []
    for mode in modes:
        counts[mode.field] = counts.get(mode.field, 0) + 1
        names.append(f"{mode.field}/{counts[mode.field]}")
    return names


def _rigid(P: np.ndarray) -> RigidInertia:
    """Mass, first moment and inertia about the origin from a pseudo-inertia."""
    second = P[1:, 1:]
    return RigidInertia(float(P[0, 0]), P[0, 1:].copy(), np.trace(second) * np.eye(3) - second)


def _pseudo(inertia: RigidInertia) -> np.ndarray:
    """The reverse of `_rigid`."""
    P = np.empty((4, 4))
    P[0, 0] = inertia.mass
    P[0, 1:] = P[1:, 0] = inertia.moment
    P[1:, 1:] = 0.5 * np.trace(inertia.inertia) * np.eye(3) - inertia.inertia
    return P


def _check_independence(link: str, mass: np.ndarray, place: Place) -> None:
    scale = 1.0 / np.sqrt(np.diag(mass))
    least = np.linalg.eigvalsh(mass * np.outer(scale, scale))[0]
    if not least > 1e-10:
        expected = "fewer modes, or for torsion a polar inertia of the beam"
        message = f"the modes of link '{link}' have no mass of their own"
        place.fail(message, value=float(least), expected=expected)
