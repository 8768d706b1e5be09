"""Elements in a tree: the nodes that carry their ends, their lengths, and what is wrong with these."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from flexdyn_ros.description import RobotDescription
from flexdyn_ros.description.elements.lines import WORLD
from flexdyn_ros.errors import DescriptionError
from flexdyn_ros.families.trees.rigid.model import RigidTree
from flexdyn_ros.multibody.elements.kernels.law import Law
from flexdyn_ros.multibody.elements.kernels.standing import Standing
from flexdyn_ros.multibody.elements.kind import ElementKind
from flexdyn_ros.multibody.elements.registry import elements_of, place_of
from flexdyn_ros.numerics.algebra.placement import Placement
from flexdyn_ros.robot.arguments import section_of
from flexdyn_ros.robot.interface import RobotInterface
from flexdyn_ros.robot.parameters import Parameter

#: of the search for ends that meet: postures, rounds, largest step [rad or m], and a length that is none [m]
_SAMPLE, _ROUNDS, _STEP, _TOUCHING = 17, 25, 0.3, 1e-6
#: a universal joint is singular where its first axis is along the line: largest cosine of the angle between
LARGEST_SLANT = 0.95


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
    def axis(self) -> Sequence[float] | None:
        """Axis of the universal joint on its base, in that frame; None without one."""
        return None if self.kind.axis is None else self.kind.axis(self.record)

    def standing(self, plain: bool) -> tuple[int, Standing, tuple[float, ...]] | None:
        """The body that it pushes on where it stands on the world, what it is there, and its numbers; None
        where it does not stand there alone."""
        nodes = self.base.node, self.end.node
        if 0 not in nodes:
            return None
        is_turned = nodes[1] == 0
        foot, upper = (self.end, self.base) if is_turned else (self.base, self.end)
        found = self.kind.standing(self.record, self.numbers, foot.placement, is_turned, plain)
        if found is None:
            return None
        return upper.node, found[0], (*foot.placement.p, *upper.placement.p, *found[1])

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
        error = _wrong_length(description, element, float(value), "the robot is neutral")
        if error is not None:
            raise error


def refuse_axes(
    description: RobotDescription, elements: Iterable[Element], slants: Mapping[int, float]
) -> None:
    """DescriptionError for an element along the axis of the universal joint on its base; slants: cosines of
    the angles between both where all coordinates are zero, by the number of the element."""
    for i, element in enumerate(elements):
        if abs(slants.get(i, 0.0)) >= LARGEST_SLANT:
            place_of(description, element.kind, element.record).fail(
                f"where the robot is neutral the line is along the axis of its base: cosine {slants[i]:.4g}",
                "axis",
                " ".join(f"{x:g}" for x in element.axis or ()),
                f"an axis across the line, |cosine| < {LARGEST_SLANT}",
            )


def _wrong_length(
    description: RobotDescription, element: Element, length: float, where: str
) -> DescriptionError | None:
    wrong = element.kind.refuse(element.record, length)
    if wrong is None:
        return None
    message, attribute, expected = wrong
    place = place_of(description, element.kind, element.record)
    value = getattr(element.record, attribute, None)
    return place.error(f"where {where} {message}", attribute, value, expected)


#: q (N, nq) -> coordinates (N, n) of elements, and their derivatives (N, n, nv)
Lengths = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


def meeting_elements(robot: RobotInterface, elements: Sequence[Element], lengths: Lengths) -> tuple[str, ...]:
    """A sentence for each element that has no line in a posture within limits, found from a sample of these.

    Their lengths l descend by dq = -l J^T / (J J^T), J = dl/dq, Newton's step to l = 0, each joint by at most
    `_STEP` a round. Modes, bases and translations without limits stay at zero.
    """
    near = [i for i, e in enumerate(elements) if not e.kind.driven and e.kind.refuse(e.record, 0.0)]
    if not near:
        return ()
    joints = [c for c in robot.coordinates if c.kind == "joint"]
    joints = [c for c in joints if c.unit == "rad" or np.isfinite([c.lower, c.upper]).all()]
    limited = [c for c in joints if c.q_index >= 0]
    at = np.array([c.q_index for c in limited], dtype=np.intp)
    lower, upper = np.array([(c.lower, c.upper) for c in limited]).reshape(-1, 2).T
    moves = np.isin(np.arange(robot.nv), [c.v_index for c in joints])
    rng, sample = np.random.default_rng(0), np.tile(robot.neutral(), (_SAMPLE, 1))
    for row in sample[1:]:
        row[at] = robot.random(rng)[at]
    found = []
    for i in near:
        q, least, nearest, changes = sample, np.inf, sample[0], np.zeros(robot.nv, dtype=bool)
        for _ in range(_ROUNDS):
            length, J = (x[:, i] for x in lengths(q))
            k = int(np.argmin(length))
            if length[k] < least:
                least, nearest = float(length[k]), q[k]
            J = J * moves
            changes |= J.any(axis=0)
            square = np.maximum((J * J).sum(axis=1), _TOUCHING)
            q = robot.integrate(q, np.clip(-(length / square)[:, None] * J, -_STEP, _STEP), 1.0)
            q[:, at] = np.clip(q[:, at], lower, upper)
        if least < _TOUCHING:
            where = (f"{c.name} = {nearest[c.q_index]:.4g}" for c in limited if changes[c.v_index])
            found.append(
                str(_wrong_length(robot.description, elements[i], 0.0, ", ".join(where) or "joints turn"))
            )
    return tuple(found)
