"""The kinds of links that deform, besides beams; `<flexdyn>` knows what is here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from flexdyn_ros.description import Joint, RobotDescription
from flexdyn_ros.description.elements.urdf import Context
from flexdyn_ros.description.language import schema
from flexdyn_ros.description.language.statements import Statement
from flexdyn_ros.description.language.vocabulary import element, reference, rule_of
from flexdyn_ros.description.places import Place, suggestion
from flexdyn_ros.multibody.links.kernels.answers import Answers
from flexdyn_ros.records import frozen

_KINDS: list[LinkKind] = []


def kinds() -> tuple[LinkKind, ...]:
    """All kinds of links that are known."""
    return tuple(_KINDS)


def register(kind: LinkKind) -> None:
    """Make a kind of link known; registering again has no effect.

    Raises
    ------
    ValueError
        If another element has its name.
    """
    if kind not in _KINDS:
        schema.add_element(kind.record)
        _KINDS.append(kind)


def unregister(kind: LinkKind) -> None:
    """Forget a kind that `register` has added."""
    _KINDS.remove(kind)
    schema.remove_element(kind.record)


def deforming_links(description: RobotDescription) -> dict[str, tuple[LinkKind, Any]]:
    """Kind and record of each link that deforms and is no beam, by its name.

    Raises
    ------
    DescriptionError
        If two elements make a link deform.
    """
    found: dict[str, tuple[LinkKind, Any]] = {}
    for kind in _KINDS:
        tag = rule_of(kind.record).name
        records: Any = description.extras.get(tag, ())
        for record in records:
            name = record.link
            other = None
            if name in found:
                other = rule_of(found[name][0].record).name
            elif name in description.flexible_links:
                other = "beam"
            if other is not None:
                message = f"link '{name}' deforms by a <{other}> already"
                _place_of(description, kind, record).fail(message, "link", name, "one of them")
            found[name] = kind, record
    return found


def refuse_links(description: RobotDescription, why: str = "") -> None:
    """DescriptionError for the first such link, in robots that can have none (docs/limitations.md)."""
    for name, (kind, record) in deforming_links(description).items():
        tag = rule_of(kind.record).name
        message = f"a <{tag}> {why or f'in a robot of kind {description.kind}'} is not possible yet"
        _place_of(description, kind, record).fail(message, "link", name, f"no <{tag}>")


def _place_of(description: RobotDescription, kind: LinkKind, record: Any) -> Place:
    return description.place(record, f"{rule_of(kind.record).name} '{record.link}'")


# What the package knows of a kind of link that deforms: one record of data and functions.


class OwnCoordinate(NamedTuple):
    """A coordinate LINK/name of a link; unit: m or rad, 1 for none; size: of a small deformation, which
    `Robot.random` draws from."""

    name: str
    unit: str
    size: float


class Coefficient(NamedTuple):
    """A number that all forces of the link are linear in: its parameter LINK/name (not mass, mx, ... of the
    ten numbers of a body), its unit, and its place among the numbers."""

    name: str
    unit: str
    place: int


@element("deforming_link", "A link that deforms.", key="link", kw_only=True)
class DeformingLink:
    """Attribute `link` of an element that makes a link deform."""

    link: str = reference("link that deforms")
    line: int | None = None

    def check(self, statement: Statement, context: Context) -> None:
        if self.link not in context.links:
            message = f"there is no link of that name{suggestion(self.link, list(context.links))}"
            statement.fail(message, "link", "a link of the robot")


@frozen(kw_only=True)
class LinkKind:
    """A kind of link with coordinates of its own.

    The frame of the link is its root, which its joint moves. An `<inertial>` of the link is a rigid body
    fixed to the root, beside what the kind computes.

    Parameters
    ----------
    record : class made by `vocabulary.element`
        A subclass of `DeformingLink`; `RobotDescription.extras[name of the element]` holds its records.
    answers : Answers
        Its kernels; see kernels/answers.py.
    coordinates : callable (record) -> sequence of OwnCoordinate
        At least one. Zero is the undeformed link.
    numbers : callable (record) -> sequence of float
        Constants that the kernels take, at least one.
    station : callable (record, joint) -> float
        The section that a child joint hangs on, a fraction of the length, 0 for the root; the joint keeps the
        place that its `<origin>` gives it on the undeformed link.
    coefficients : callable (record) -> tuple of Coefficient
        Its parameters.
    """

    record: type
    answers: Answers
    coordinates: Callable[[Any], Sequence[OwnCoordinate]]
    numbers: Callable[[Any], Sequence[float]]
    station: Callable[[Any, Joint], float] = lambda record, joint: 1.0
    coefficients: Callable[[Any], tuple[Coefficient, ...]] = lambda record: ()
