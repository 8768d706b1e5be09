"""What the package knows of a kind of element: one record of data and functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from flexdyn_ros.multibody.elements.kernels.law import Law
from flexdyn_ros.records import frozen

if TYPE_CHECKING:
    from flexdyn_ros.multibody.elements.kernels.standing import Standing


class Coefficient(NamedTuple):
    """A number that the element's force is linear in: its parameter ELEMENT/name, and its place among the
    numbers of the law."""

    name: str
    unit: str
    place: int


@frozen(kw_only=True)
class ElementKind:
    """A kind of element between two frames.

    Parameters
    ----------
    record : class made by `vocabulary.element`
        With the attributes of `Ends`; `RobotDescription.extras[name of the element]` holds its records.
    law : Law
        What it does; see kernels/law.py.
    inertia : callable (record) -> Law, optional
        What its mass takes; None for a record without mass.
    numbers : callable (record) -> sequence of float
        The numbers that the law takes.
    coefficients : callable (record) -> tuple of Coefficient
        Its parameters.
    refuse : callable (record, length) -> (message, attribute, expected) or None
        What is wrong where the coordinate is `length`: an error where all coordinates are zero; of length 0 a
        warning, where what is not driven has that in a posture within limits.
    driven : bool
        Whether it is an actuator: its effort acts along its coordinate.
    frees_joints : bool
        Whether joints between its ends have no actuator of their own where it is driven.
    is_drawn : bool
        Whether pictures show it as a line between its ends; links of the URDF show it otherwise.
    limits : callable (record) -> (effort, velocity, lower, upper)
        Largest effort and rate, and the range of the coordinate; 0 and infinite where there is none.
    unit : str
        Of the coordinate, m or rad.
    passes_moment : callable (record) -> (base, end)
        Whether its mass takes moments of the frames, or is pinned to them at their origins.
    axis : callable (record) -> vector or None, optional
        Axis in the base frame, of a universal joint there: the line must not come near it.
    standing : callable (record, numbers, foot, is_turned, plain) -> (Standing, numbers) or None, optional
        What it is where it stands on the world at the placement `foot` and its other end is a point of a body
        (kernels/standing.py), and its numbers behind both points. numbers: those of the law; is_turned: the
        foot is its end, not its base; plain: not what it may become with other parameters.
    """

    record: type
    law: Law
    inertia: Callable[[Any], Law | None] | None = None
    numbers: Callable[[Any], Sequence[float]]
    coefficients: Callable[[Any], tuple[Coefficient, ...]] = lambda record: ()
    refuse: Callable[[Any, float], tuple[str, str, str] | None] = lambda record, length: None
    driven: bool = False
    frees_joints: bool = True
    is_drawn: bool = True
    limits: Callable[[Any], tuple[float, float, float, float]] | None = None
    unit: str = "m"
    passes_moment: Callable[[Any], tuple[bool, bool]] = lambda record: (True, True)
    axis: Callable[[Any], Sequence[float] | None] | None = None
    standing: Callable[..., tuple[Standing, Sequence[float]] | None] = lambda *_: None
