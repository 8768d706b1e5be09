"""What the package knows of a kind of link that deforms: one record of data and functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from flexdyn_ros.description import Joint
from flexdyn_ros.description.elements.urdf import Context
from flexdyn_ros.description.language.statements import Statement
from flexdyn_ros.description.language.vocabulary import element, reference
from flexdyn_ros.description.places import suggestion
from flexdyn_ros.multibody.links.kernels.answers import Answers


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


@dataclass(frozen=True, kw_only=True)
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
