"""Elements in a tree: the nodes that carry their ends, and the numbers that the kernels read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from flexdyn_ros.description import RobotDescription
from flexdyn_ros.description.elements.lines import WORLD
from flexdyn_ros.errors import DescriptionError
from flexdyn_ros.families.packing import Header
from flexdyn_ros.families.trees.elements.kernels import views as layout
from flexdyn_ros.families.trees.flexible.kernels import views as flexible_views
from flexdyn_ros.families.trees.rigid.kernels.views import HEADER, work_size
from flexdyn_ros.families.trees.rigid.model import RigidTree
from flexdyn_ros.multibody.elements.kernels.law import Law
from flexdyn_ros.multibody.elements.kind import ElementKind
from flexdyn_ros.multibody.elements.registry import elements_of, place_of
from flexdyn_ros.numerics.algebra.placement import Placement
from flexdyn_ros.numerics.compiling.callbacks import Callback
from flexdyn_ros.robot.coordinates import Coordinate
from flexdyn_ros.robot.parameters import Parameter
from flexdyn_ros.robot.stations import section_of

#: of the descent to ends that meet: rounds, largest step of a joint [rad or m], and a length that is none [m]
_ROUNDS, _STEP, _TOUCHING = 25, 0.3, 1e-6


class End(NamedTuple):
    """The node of a tree that carries an end of an element (0: the world), and its placement there."""

    node: int
    placement: Placement


@dataclass(frozen=True)
class Element:
    """One element: its kind and record, its ends, and the numbers of its law."""

    kind: ElementKind
    record: Any
    base: End
    end: End
    numbers: tuple[float, ...]

    @property
    def name(self) -> str:
        """As the description has it."""
        return str(self.record.name)

    @property
    def inertia(self) -> Law | None:
        """What its mass takes; None without mass."""
        return None if self.kind.inertia is None else self.kind.inertia(self.record)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """NAME/coefficient."""
        return tuple(
            Parameter(f"{self.name}/{c.name}", self.numbers[c.place], c.unit, 0.0)
            for c in self.kind.coefficients(self.record)
        )

    def changed(self, values: Mapping[str, float]) -> Element:
        """With other values of its parameters."""
        numbers = list(self.numbers)
        for c in self.kind.coefficients(self.record):
            numbers[c.place] = float(values.get(f"{self.name}/{c.name}", numbers[c.place]))
        return replace(self, numbers=tuple(numbers))


def changed_elements(elements: Iterable[Element], values: Mapping[str, float]) -> tuple[Element, ...]:
    """Elements with other values of parameters, by their names; those of other things are passed over."""
    return tuple(element.changed(values) for element in elements)


def sections_of(description: RobotDescription) -> tuple[str, ...]:
    """The stations LINK@s that elements hang on."""
    ends = (name for _, record in elements_of(description) for name in (record.base, record.end))
    return tuple(dict.fromkeys(name for name in ends if section_of(name)[0]))


def placed_elements(description: RobotDescription, tree: RigidTree) -> tuple[Element, ...]:
    """The elements of a description in its tree, whose frames hold their stations.

    Raises
    ------
    DescriptionError
        If both ends of one are on one rigid body.
    """
    found = []
    for kind, record in elements_of(description):
        base, end = (_end_of(record, which, tree) for which in ("base", "end"))
        element = Element(kind, record, base, end, tuple(map(float, kind.numbers(record))))
        if element.base.node == element.end.node:
            what = (
                "the world"
                if element.base.node == 0
                else f"the body of link '{tree.body_links[element.base.node]}'"
            )
            place_of(description, kind, record).fail(
                f"both ends are on {what}", "end", record.end, "a frame that moves against the base"
            )
        found.append(element)
    return tuple(found)


def _end_of(record: Any, which: str, tree: RigidTree) -> End:
    """The end of an element that its attributes `which`, `which`_xyz and `which`_rpy say."""
    name, turn = getattr(record, which), getattr(record, f"{which}_rpy", (0.0, 0.0, 0.0))
    own = Placement.of(getattr(record, f"{which}_xyz"), turn)
    if name == WORLD and WORLD not in tree.frames:
        return End(0, own)
    frame = tree.frames[name]
    return End(frame.body, frame.placement @ own)


def refuse_lengths(
    description: RobotDescription, elements: Iterable[Element], coordinates: np.ndarray
) -> None:
    """DescriptionError for an element that cannot be as it is where all coordinates are zero."""
    for element, value in zip(elements, coordinates, strict=True):
        wrong = element.kind.refuse(element.record, float(value))
        if wrong is not None:
            message, attribute, expected = wrong
            place = place_of(description, element.kind, element.record)
            message = f"where all coordinates are zero {message}"
            place.fail(message, attribute, getattr(element.record, attribute, None), expected)


class Postures(NamedTuple):
    """How elements lie in postures of a robot.

    lengths: callable q (N, nq) -> coordinates (N, n) of the elements, and derivatives (N, n, nv); move:
    callable (q, dq) -> q; coordinates: of the robot.
    """

    lengths: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
    move: Callable[[np.ndarray, np.ndarray], np.ndarray]
    coordinates: tuple[Coordinate, ...]


def meeting_elements(
    description: RobotDescription, elements: Iterable[Element], postures: Postures, q: np.ndarray
) -> tuple[str, ...]:
    """A sentence for each element that has no line in some posture within limits that its joints allow.

    From rows of q (N, nq) the lengths l descend by dq = -l J^T / (J J^T), J = dl/dq, Newton's step to l = 0,
    each joint by at most `_STEP`. Other coordinates stay.
    """
    found = []
    for i, element in enumerate(elements):
        wrong = None if element.kind.driven else element.kind.refuse(element.record, 0.0)
        if wrong is None:
            continue
        at, nearest = _nearest(postures, i, q)
        if nearest > _TOUCHING:
            continue
        moved = (postures.lengths(q)[1][:, i] != 0.0).any(axis=0)
        where = [
            f"{c.name} = {at[c.q_index]:.4g}" for c in _moved(postures) if moved[c.v_index] and c.q_index >= 0
        ]
        message, attribute, expected = wrong
        place = place_of(description, element.kind, element.record)
        told = DescriptionError(
            f"where {', '.join(where)} {message}",
            file=place.file,
            line=place.line,
            element=place.element,
            attribute=attribute,
            value=getattr(element.record, attribute, None),
            expected=expected,
        )
        found.append(str(told))
    return tuple(found)


def _moved(postures: Postures) -> list[Coordinate]:
    """Coordinates that the descent moves: of joints, without translations that have no limit."""
    joints = (c for c in postures.coordinates if c.kind == "joint")
    return [c for c in joints if c.unit == "rad" or np.isfinite([c.lower, c.upper]).all()]


def _nearest(postures: Postures, i: int, q: np.ndarray) -> tuple[np.ndarray, float]:
    """The posture (nq,) in which element i is shortest, of those that the descent from rows of q passes, and
    its length."""
    joints = _moved(postures)
    limited = [c for c in joints if c.q_index >= 0]
    at, lower, upper = (np.array([getattr(c, x) for c in limited]) for x in ("q_index", "lower", "upper"))
    moves = np.isin(np.arange(len(postures.coordinates)), [c.v_index for c in joints])
    best, least = q[0], np.inf
    for _ in range(_ROUNDS):
        lengths, lines = (x[:, i] for x in postures.lengths(q))
        k = int(np.argmin(lengths))
        if lengths[k] < least:
            best, least = q[k], float(lengths[k])
        J = lines * moves
        square = np.maximum((J * J).sum(axis=1), _TOUCHING)
        q = postures.move(q, np.clip(-(lengths / square)[:, None] * J, -_STEP, _STEP))
        q[:, at] = np.clip(q[:, at], lower, upper)
    return best, least


class PackedElements:
    """Keeps the memory of a tree with elements alive and hands out its address.

    The header begins as that of the tree (base), so that the functions of both take the address. A rigid tree
    is given the words of a flexible one without flexible links.
    """

    def __init__(
        self, base: Any, tree: RigidTree, elements: tuple[Element, ...], entries: Any, own: Any
    ) -> None:
        m = tree.model
        self._base, self._elements = base, elements
        rows: list[list[int]] = []
        numbers: list[float] = []
        driven = 0
        for element in elements:
            at = len(numbers)
            numbers += [*element.base.placement.flat(), *element.end.placement.flat(), *element.numbers]
            by = driven if element.kind.driven else -1
            driven += element.kind.driven
            heavy = element.inertia
            weight = 0 if heavy is None else heavy.plain.address
            rows.append(
                [element.base.node, element.end.node, at, by, element.kind.law.plain.address, 0, weight, 0]
            )
        table, floats = np.array(rows, dtype=np.int64).ravel(), np.array(numbers)
        #: the arrays of floats that kernels read and parameters change
        self.floats = (*base.floats, floats)
        self._header = Header(*base.header.words, size=layout.ELEMENTS_HEADER)
        self.address = self._header.address
        if base.header.words.size == HEADER:
            # no flexible links: no numbers, and no node that carries one
            no_links = np.array([0, 0, *[-1] * (flexible_views.NODE_INTS * m.nb)], dtype=np.int64)
            links = {flexible_views.LINK_INTS: no_links, flexible_views.LINK_FLOATS: np.zeros(1)}
            self._header.put(links | {flexible_views.WORK_SIZE: work_size(m.nb, m.nq, m.nv)})
        words = {
            layout.COUNT: len(elements),
            layout.TABLE: table,
            layout.NUMBERS: floats,
            layout.HEAVY: sum(element.inertia is not None for element in elements),
        }
        self._header.put(words)
        self._table = table
        #: of the functions that the layer calls: their words, and themselves
        self._functions: dict[str, tuple[tuple[int, Callback], ...]] = {
            "balance": ((layout.BALANCE, entries.balance),),
            "slopes": ((layout.SLOPES, entries.slopes), (layout.OWN_SLOPES, own.slopes)),
            "bias_terms": ((layout.TERMS, entries.bias_terms),),
            "energy": ((layout.ENERGY, entries.energy),),
            "mass": ((layout.MASS, entries.mass),),
            "momenta": ((layout.MOMENTA, entries.momenta),),
        }
        #: numbers of work memory that the kernels take
        self.numbers = base.numbers + layout.room_size(len(elements), m.nv)

    def provide(self, names: Iterable[str]) -> None:
        """Write the addresses of what functions of the layer call, which are compiled now if need be."""
        for name in names:
            self._header.put({word: function.address for word, function in self._functions.get(name, ())})
            if name == "slopes":
                laws = [element.kind.law.tangents.address for element in self._elements]
                self._table[layout.LAW_ON_TANGENTS :: layout.COLUMNS] = laws
                heavy = [element.inertia for element in self._elements]
                weights = [0 if each is None else each.tangents.address for each in heavy]
                self._table[layout.INERTIA_ON_TANGENTS :: layout.COLUMNS] = weights

    def keep_table(self, table: np.ndarray, size: int) -> None:
        """Take the addresses of the tree's functions for fixed steps, and the size of their work memory."""
        self._header.put({layout.STEPS: table, layout.STEPS_WORK: size})
