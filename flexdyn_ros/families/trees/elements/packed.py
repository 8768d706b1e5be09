"""Elements in a tree as kernels see them, behind one address."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, ClassVar, NamedTuple

import numpy as np

from flexdyn_ros.families.trees.elements.kernels import (
    dense,
    inertias,
    joined_flexible,
    joined_rigid,
    parts,
    standing,
    steps,
    verbs,
)
from flexdyn_ros.families.trees.elements.kernels import joined as of_joined
from flexdyn_ros.families.trees.elements.kernels import views as layout
from flexdyn_ros.families.trees.elements.model import Element
from flexdyn_ros.families.trees.flexible.kernels import steps as flexible_steps
from flexdyn_ros.families.trees.layers import layer_header
from flexdyn_ros.families.trees.rigid.kernels import steps as rigid_steps
from flexdyn_ros.families.trees.rigid.model import RigidTree
from flexdyn_ros.multibody.elements.kernels import law
from flexdyn_ros.multibody.elements.kernels.standing import Standing
from flexdyn_ros.numerics.compiling.callbacks import Callback
from flexdyn_ros.numerics.verbs.table import Table

#: functions of a tree that know no elements
_OF_THE_TREE_ALONE = ("inverse", "inertia", "forward", "inverse_on_lanes", "forward_on_lanes")
#: velocities up to which a mass matrix is cheaper than the rows of masses between moving links
MOST_DENSE = 40
#: functions of trees alone, and what stands in their place where masses join inertias
_JOINED = (
    (rigid_steps.accelerate, {"accelerate": inertias.accelerate_rigid, **joined_rigid.functions}),
    (flexible_steps.accelerate, {"accelerate": inertias.accelerate_flexible, **joined_flexible.functions}),
)


class _Group(NamedTuple):
    """Elements of one kind that stand on the world and push on one body: their numbers, and their row."""

    kind: Standing
    numbers: np.ndarray
    row: list[int]


def _groups_of(elements: tuple[Element, ...], plain: bool) -> list[_Group]:
    """Runs of elements that push on one body, are driven or not, and are of one kind where they stand on the
    world; none if not all stand there."""
    places = [element.standing(plain) for element in elements]
    if None in places:
        return []
    found, efforts, first = [], 0, 0
    keys = [(x[0], x[1], e.kind.driven) for x, e in zip(places, elements, strict=True) if x is not None]
    for (node, kind, is_driven), run in groupby(enumerate(keys), key=lambda x: x[1]):
        count = len(list(run))
        numbers = np.array([x[2] for x in places[first : first + count] if x is not None]).ravel()
        row = [node, count, first, efforts if is_driven else -1, int(numbers.ctypes.data)]
        found.append(_Group(kind, numbers, [*row, *[0] * (standing.GROUP - len(row))]))
        first, efforts = first + count, efforts + count * is_driven
    return found


class PackedElements:
    """Keeps the memory of a tree with elements alive and hands out its address.

    The header begins as that of the tree (base), so that the functions of both take the address.
    """

    #: functions of trees whose elements stand on the world: of the tree, and of the layer around it
    standing_inner: ClassVar[Mapping[str, Callback]] = standing.inner
    standing_layer: ClassVar[Mapping[str, Callback]] = standing.layer
    #: which C functions of elements these call
    standing_calls: ClassVar[Sequence[tuple[int, str, frozenset[str]]]] = standing.ASKED

    def __init__(
        self, base: Any, tree: RigidTree, elements: tuple[Element, ...], inner: Table, *, plain: bool = True
    ) -> None:
        """plain: those that stand on the world are taken as what they are with these numbers, not as what
        they may become with others."""
        m = tree.model
        self._elements, self._nv, self._nb, alone = elements, m.nv, m.nb, inner
        #: functions of the tree with what inertias gain; None where elements are around something else
        self._joined = next((x for one, x in _JOINED if inner.get("accelerate") is one), None)
        rows: list[list[int]] = []
        numbers: list[float] = []
        driven = 0
        for element in elements:
            by = driven if element.kind.driven else -1
            driven += element.kind.driven
            nodes = element.base.node, element.end.node
            row = [*nodes, len(numbers), by, element.inertia is not None, *[0] * (layout.COLUMNS - 5)]
            if element.inertia is not None and self._joined is not None and 0 in nodes:
                end_is_held = nodes[1] == 0
                row[layout.JOINS], row[layout.END_IS_HELD] = max(nodes), end_is_held
                row[layout.WITH_MOMENT] = element.kind.passes_moment(element.record)[not end_is_held]
            rows.append(row)
            numbers += [*element.base.placement.flat(), *element.end.placement.flat(), *element.numbers]
        table, floats = np.array(rows, dtype=np.int64).ravel(), np.array(numbers)
        joined = sum(row[layout.JOINS] > 0 for row in rows)
        self._in_rows = sum(element.inertia is not None for element in elements) - joined
        #: what solves by the mass matrix, None: rows
        self._dense = None
        if self._in_rows > 0 and self._joined is not None and m.nv <= MOST_DENSE:
            self._dense = dense.solve_flexible if tree.flexible else dense.solve_rigid
            for row in rows:
                row[layout.JOINS] = 0
            self._in_rows, joined = self._in_rows + joined, 0
            table = np.array(rows, dtype=np.int64).ravel()
        elif self._joined is not None and joined > 0:
            inner = inner.with_rows(self._joined)
        given = [c.v_index for c in tree.coordinates if c.prescribed]
        #: groups of elements that all stand on the world; without any, they are not taken so
        self.groups: list[_Group] = []
        if alone.get("accelerate") is rigid_steps.accelerate and not (given or tree.has_mimic):
            self.groups = _groups_of(elements, plain)
        if self.groups:
            joined, inner = 0, alone.with_rows(self.standing_inner)
        #: all masses join inertias
        self.is_joined = self._in_rows == 0 and (joined > 0 or bool(self.groups))
        #: the arrays of floats that kernels read and parameters change
        self.floats = (*base.floats, floats, *(group.numbers for group in self.groups))
        self.header = layer_header(base, tree)
        self.address = self.header.address
        self._heavy = any(element.inertia is not None for element in elements)
        self._group_table = np.array([group.row for group in self.groups], dtype=np.int64).ravel()
        words = {
            layout.COUNT: len(elements),
            layout.TABLE: table,
            layout.NUMBERS: floats,
            layout.HEAVY: sum(element.inertia is not None for element in elements),
            layout.IN_ROWS: self._in_rows,
            layout.JOINED: 0 if joined == 0 else layout.IN_NODES if tree.flexible else layout.IN_WORLD,
            layout.NU: m.nv + driven,
            layout.INNER: inner,
            layout.GIVEN: given[0] if given else -1,
            layout.GROUPS: len(self.groups),
            layout.GROUP_TABLE: self._group_table,
            layout.EFFORTS_AT: m.nv,
        }
        self.header.put(words)
        #: rows of the elements, as kernels see them
        self.table = table
        self._own = {**verbs.layer, **steps.layer}
        if self._heavy:
            self._own |= verbs.heavy | (of_joined.layer if self.is_joined else {})
        elif "forward" in inner:
            self._own |= verbs.massless
        if driven:
            self._own |= verbs.driven | steps.driven
        if self.groups:
            self._own |= self.standing_layer
            del self._own["respond"]
        kept = {name: x for name, x in inner.items() if name not in _OF_THE_TREE_ALONE}
        #: the table of the tree, wrapped by the functions of the elements
        self.wrapped, self._within = Table({**kept, **self._own}, inner, self.open), inner
        #: numbers of work memory that the kernels take
        self.numbers = (
            base.numbers + layout.room_size(len(elements), m.nv) + inertias.ADDED * m.nb + 2 * driven
        )

    def coordinates(self, q: np.ndarray) -> tuple[np.ndarray, dict[int, float]]:
        """Lengths and angles (n,) of all elements, and of those with an axis its cosine with the line; by
        kernels that are interpreted: to compile them takes longer than all else in loading."""
        rows, speed = np.zeros(layout.ROWS * len(self._elements)), np.zeros(self._nv)
        layout.move_elements(self.address, np.zeros(self.numbers), q, speed, rows)
        results, slants = np.zeros((len(self._elements), law.RESULTS)), {}
        for i, (element, own) in enumerate(zip(self._elements, rows.reshape(-1, layout.ROWS), strict=True)):
            element.kind.law.kernel(np.array(element.numbers), own[: law.MOTION], results[i])
            axis = element.axis
            if axis is not None:
                turned = own[law.ROTATION : law.ROTATION + 9].reshape(3, 3) @ axis
                line = results[i, law.LINE + 9 :]
                slants[i] = float(turned @ line / np.linalg.norm(turned))
        return results[:, law.COORDINATE], slants

    def open(self, names: tuple[str, ...]) -> None:
        """Write the addresses of what functions of the layer call, which are compiled now if need be."""
        if "slopes" in names and not self.groups:
            self.header.put({layout.OWN_SLOPES: verbs.pushing["slopes"]})
            self.provide_laws("tangents", layout.LAW_ON_TANGENTS, layout.INERTIA_ON_TANGENTS)
        if {*names} & ({"inverse_on_lanes", "forward_on_lanes"} - self._of_groups):
            self.provide_laws("lanes", layout.LAW_ON_LANES, layout.INERTIA_ON_LANES)
        if "actuate" in names:
            self._within.provide("moved")
        if self.groups:
            self._provide_groups(names)
        if not (self._own.keys() - self._of_groups).isdisjoint(names):
            self.provide_parts()

    @property
    def _of_groups(self) -> frozenset[str]:
        """Functions of the layer that ask elements by their groups."""
        return frozenset(self.standing_layer if self.groups else ())

    def _provide_groups(self, names: tuple[str, ...]) -> None:
        """Write the addresses of what groups of elements do that these functions call."""
        for column, field, callers in self.standing_calls:
            if not callers.isdisjoint(names):
                for group, row in zip(
                    self.groups, self._group_table.reshape(len(self.groups), -1), strict=True
                ):
                    row[column] = getattr(group.kind, field).address

    def provide_parts(self) -> None:
        """Those of the functions on float64 numbers that all others call."""
        self.provide_laws("plain", layout.LAW, layout.INERTIA)
        words = {layout.OBSERVE: layout.observe_all}
        if self._heavy:
            words |= {layout.WEIGH: parts.weigh_all, layout.MASS_ROWS: parts.find_mass_rows}
        self.header.put(words)

    def provide_laws(self, number_type: str, law: int, inertia: int) -> None:
        """Write the addresses of laws and inertias for a number type into columns of the table."""
        for row, element in zip(self.table.reshape(-1, layout.COLUMNS), self._elements, strict=True):
            row[law] = getattr(element.kind.law, number_type).address
            if element.inertia is not None:
                row[inertia] = getattr(element.inertia, number_type).address

    def take_steps(self, size: int) -> int:
        """Numbers of work memory of steps, those of the tree alone take `size`."""
        arguments = size, len(self._elements), self._in_rows, self._nv, self._nb
        whole, at = steps.elements_steps_size(*arguments)
        self.header.put({layout.STEPS_WORK: size, layout.ADDED_AT: at})
        return whole

    @property
    def has_rows(self) -> bool:
        """Whether masses take rows of the small system, or the mass matrix."""
        return self._in_rows > 0

    @property
    def is_dense(self) -> bool:
        """Whether the mass matrix takes the place of rows: also links without mass move then."""
        return self._dense is not None

    def provide_rows(self) -> None:
        """The function of rows of the small system, or of the mass matrix, which only steps and elements with
        mass need."""
        chosen = {layout.SOLVE: steps.solve_rows} if self._dense is None else {layout.DENSE: self._dense}
        self.header.put(chosen)

    def keep_work(self, numbers: int) -> None:
        """Have memory for forward dynamics of single states."""
        self.header.put({layout.WORK: np.zeros(numbers)})
