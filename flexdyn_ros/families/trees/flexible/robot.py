"""What a tree has beside its rigid parts when links bend: kernels, packed tables, deflections, sections.

Imported when the first robot with flexible links is loaded.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from flexdyn_ros.errors import DimensionError, StateError, UnknownNameError
from flexdyn_ros.families.trees.flexible.beams.properties import BeamLink
from flexdyn_ros.families.trees.flexible.deforming import DeformingModel
from flexdyn_ros.families.trees.flexible.kernels import entries, steps
from flexdyn_ros.families.trees.flexible.kernels import views as layout
from flexdyn_ros.families.trees.flexible.kernels.views import flexible_work_size
from flexdyn_ros.families.trees.flexible.model import FlexibleLinkModel
from flexdyn_ros.families.trees.motion import tree_table
from flexdyn_ros.families.trees.rigid.model import RigidTree
from flexdyn_ros.families.trees.rigid.packed import PackedTree
from flexdyn_ros.numerics.numbers.columns import ON_FLOATS, ON_LANES, ON_TANGENTS
from flexdyn_ros.robot.analysis.validity import Tip
from flexdyn_ros.robot.arguments import numbers, section_of
from flexdyn_ros.robot.results import Deflection

if TYPE_CHECKING:
    from flexdyn_ros.families.trees.lagrange.model import LagrangeModel


#: columns of what is linear in the modal coordinates at a station
_U, _TURN, _CURVATURE, _STRETCH = slice(0, 3), slice(3, 6), slice(6, 9), 9


class LinkShapes:
    """The shapes of a link at stations s (k,)."""

    def __init__(self, link: FlexibleLinkModel, s: np.ndarray) -> None:
        u, th, strain, S = link.beam.fields_along(link.modes, s)
        self._link, self._station = link, s
        m, k = u.shape[:2]
        # (m, k, 10) as a matrix
        self._fields = np.concatenate([u, th, strain], axis=2).reshape(m, 10 * k)
        self._shortening = 0.5 * np.moveaxis(S, 0, 1).reshape(m, -1) if link.foreshortened else None
        self._rigidity = link.beam.stiffness(s) * link.rigidity

    def deflection(self, q: np.ndarray) -> Deflection:
        """At rows of q (..., nq)."""
        delta, k = q.take(self._link.q, axis=-1), len(self._station)
        fields = _combined(delta, self._fields).reshape(*delta.shape[:-1], k, 10)
        if self._shortening is not None:
            slopes = _combined(delta, self._shortening).reshape(*delta.shape[:-1], k, delta.shape[-1])
            fields[..., 0] -= (slopes * delta[..., None, :]).sum(axis=-1)
        curvature, stretch = fields[..., _CURVATURE], fields[..., _STRETCH]
        return Deflection(
            station=self._station.copy(),
            displacement=fields[..., _U],
            rotation=fields[..., _TURN],
            curvature=curvature,
            strain=self._fibre_strain(curvature, stretch),
            moment=self._rigidity[:, :3] * curvature,
            axial_force=self._rigidity[:, 3] * stretch,
        )

    def _fibre_strain(self, curvature: np.ndarray, stretch: np.ndarray) -> np.ndarray:
        """Largest |strain| of any fibre, axial and bending (torsion leaves fibres their length to first
        order); NaN where the section is not known."""
        beam = self._link.beam
        section = beam.section if isinstance(beam, BeamLink) else None
        if section is None:
            return np.full(stretch.shape, np.nan)
        if section.is_round:
            bending = section.reach_z * np.hypot(curvature[..., 1], curvature[..., 2])
        else:
            bending = section.reach_z * np.abs(curvature[..., 1]) + section.reach_y * np.abs(
                curvature[..., 2]
            )
        return np.abs(stretch) + bending


def _combined(delta: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """delta (..., m) times rows (m, n), not by BLAS: a row of a batch is to the last digit what it is
    alone."""
    return np.einsum("...m,mi->...i", delta, rows)


def pack_flexible(tree: RigidTree) -> PackedTree:
    """The memory of a tree with flexible links."""
    m, flexible = tree.model, tree.flexible
    assert flexible is not None
    size = flexible_work_size(m.nb, m.nq, m.nv, flexible.blocks)
    ints = flexible.ints.copy()
    for link in flexible.others:
        # addresses of this process: those of single states now, which kernels may call interpreted
        link.kind.answers.provide(ON_FLOATS)
        row = 2 + layout.NODE_INTS * m.nb + layout.LINK_NUMBERS * link.row
        ints[row + layout.KIND] = link.kind.answers.address
    words = (len(flexible.links) + len(flexible.others), ints, flexible.numbers.copy(), size)
    return PackedTree(tree, size, words)


def provide_for(names: Iterable[str], others: Iterable[DeformingModel]) -> None:
    """Make ready what functions of these names call of links that are no beams."""
    for column in {_ON_VECTORS[name] for name in names if name in _ON_VECTORS}:
        for link in others:
            link.kind.answers.provide(column)


#: functions of the table that call kernels on lanes and on tangents
_ON_VECTORS = {
    "inverse_on_lanes": ON_LANES, "forward_on_lanes": ON_LANES,
    "slopes": ON_TANGENTS, "jacobian_rate": ON_TANGENTS,
}  # fmt: skip


#: stations of `deflections` if none are given
_EVENLY = np.linspace(0.0, 1.0, 21)
#: deflections of `random`, times the length of the link or rad, for the first mode of a field
SMALL = {"axial": 1e-4, "bending_y": 0.01, "bending_z": 0.01, "torsion": 0.02, "mode": 0.01}


class LinkIntegrals(NamedTuple):
    """What makes a link flexible, m modes, beam axes [SI].

    names (m): coordinates. C (4, 4), C_k (m, 4, 4), C_kl (m, m, 4, 4): 1/2 int h0 h0^T dm,
    1/2 int h0 u_k^T dm, 1/2 int u_k u_l^T dm of the link without bodies, unit-first (docs/theory/modes.md,
    "Integrals"). T (m, m): energy of the twist rate alone (rotary inertia `paper`). modal_mass (m, m): with
    the bodies that the link carries. stiffness, damping (m, m). station (k,), displacement, rotation
    (m, k, 3): shapes there, per unit of the coordinate.
    """

    names: tuple[str, ...]
    C: np.ndarray
    C_k: np.ndarray
    C_kl: np.ndarray
    T: np.ndarray
    modal_mass: np.ndarray
    stiffness: np.ndarray
    damping: np.ndarray
    station: np.ndarray
    displacement: np.ndarray
    rotation: np.ndarray


class Bending:
    """The flexible links of a tree; immutable.

    table: of functions; packed: the memory that they take.
    """

    def __init__(self, tree: RigidTree) -> None:
        assert tree.flexible is not None
        self.links: tuple[FlexibleLinkModel, ...] = tree.flexible.links
        self.others = tree.flexible.others
        self.packed = pack_flexible(tree)
        self.table = tree_table(tree, entries, steps, lambda names: provide_for(names, self.others))
        self._tree = tree
        self._by_name = {link.name: link for link in self.links}
        self._shapes: dict[tuple[str, bytes], LinkShapes] = {}

    def lagrange_model(self, formulation: Any) -> LagrangeModel:
        """The model of the method lagrange."""
        from flexdyn_ros.families.trees.lagrange.flexible_model import build_flexible_lagrange

        return build_flexible_lagrange(
            self._tree, affine=formulation.frame == "affine", foreshortened=formulation.stiffening != "none"
        )

    @cached_property
    def small(self) -> dict[int, float]:
        """Size of a small deflection, by the index in q of each coordinate of a link."""
        reach: dict[int, float] = {}
        for link in self.links:
            seen: dict[str, int] = {}
            for index, mode in zip(link.q, link.modes, strict=True):
                n = seen[mode.field] = seen.get(mode.field, 0) + 1
                angle = mode.field in ("torsion", "mode") or mode.shape.is_slope
                reach[int(index)] = SMALL[mode.field] * (1.0 if angle else link.beam.beam.length) / n**2
        for other in self.others:
            reach |= other.sizes
        return reach

    @cached_property
    def tips(self) -> tuple[Tip, ...]:
        """The tips of the flexible links."""
        end = np.ones(1)
        found = []
        for link in self.links:
            u, th = link.beam.fields_along(link.modes, end)[:2]
            found.append(Tip(link.name, link.beam.beam.length, link.q, u[:, 0], th[:, 0]))
        return tuple(found)

    def section_names(self, names: Iterable[Any], known: Any) -> tuple[str, ...]:
        """Those of `names` that are sections LINK@station of flexible links and not known yet."""
        flexible = {link.name for link in self.links} | {link.name for link in self.others}
        wanted = [name for name in names if isinstance(name, str) and name not in known]
        return tuple(dict.fromkeys(name for name in wanted if section_of(name)[0] in flexible))

    def integrals_of(self, name: str, stations: Sequence[float]) -> LinkIntegrals:
        """Constants of a flexible link by its name, and its shapes at stations."""
        link = next((each for each in self.links if each.name == name), None)
        if link is None:
            raise UnknownNameError("flexible link", name, tuple(each.name for each in self.links))
        s = _checked(stations)
        u, th = link.beam.fields_along(link.modes, s)[:2]
        its = link.integrals
        return LinkIntegrals(
            names=tuple(self._tree.coordinates[i].name for i in link.v),
            C=its.C.copy(),
            C_k=its.C1.copy(),
            C_kl=its.C2.copy(),
            T=its.T.copy(),
            modal_mass=link.modal_mass.copy(),
            stiffness=link.stiffness.copy(),
            damping=link.damping.copy(),
            station=s.copy(),
            displacement=u,
            rotation=th,
        )

    def deflections(
        self, q: np.ndarray, stations: Sequence[float] | np.ndarray | None
    ) -> dict[str, Deflection]:
        """Deformation of every flexible link at rows of q (..., nq), beam axes; see `Deflection`."""
        return {link.name: self.deflection_of(link.name, q, stations) for link in self.links}

    def stations(self, chosen: Any) -> np.ndarray:
        """Stations (k,) that are chosen, checked; 21 evenly spaced ones for None."""
        return _EVENLY if chosen is None else _checked(chosen)

    def deflection_of(self, name: str, q: np.ndarray, stations: Any) -> Deflection:
        """Deformation of the flexible link of that name."""
        s = self.stations(stations)
        key = name, s.tobytes()
        shapes = self._shapes.get(key)
        if shapes is None:
            if len(self._shapes) > 32 * len(self.links):
                self._shapes.clear()
            shapes = self._shapes[key] = LinkShapes(self._by_name[name], s)
        return shapes.deflection(q)


def _checked(stations: Sequence[float]) -> np.ndarray:
    s = numbers(stations, "stations")
    if s.ndim != 1:
        raise DimensionError(f"stations has shape {s.shape}, expected (k,)")
    if not np.all((s >= 0.0) & (s <= 1.0)):
        raise StateError("stations are fractions of the length, from 0 to 1")
    return s
