"""The kinds of elements, in the order of their efforts and parameters; `<flexdyn>` knows what is here."""

from __future__ import annotations

from typing import Any

from flexdyn_ros.description import RobotDescription
from flexdyn_ros.description.language import schema
from flexdyn_ros.description.language.vocabulary import rule_of
from flexdyn_ros.multibody.elements import spring
from flexdyn_ros.multibody.elements.cylinder import driven
from flexdyn_ros.multibody.elements.kind import ElementKind

_KINDS: list[ElementKind] = [*driven.KINDS, *spring.KINDS]


def kinds() -> tuple[ElementKind, ...]:
    """All kinds of elements that are known."""
    return tuple(_KINDS)


def register(kind: ElementKind) -> None:
    """Make a kind of element known; twice is once.

    Raises
    ------
    ValueError
        If another element has its name.
    """
    if kind not in _KINDS:
        schema.add_element(kind.record)
        _KINDS.append(kind)


def unregister(kind: ElementKind) -> None:
    """Forget a kind that `register` has added."""
    _KINDS.remove(kind)
    schema.remove_element(kind.record)


def elements_of(description: RobotDescription) -> tuple[tuple[ElementKind, Any], ...]:
    """The elements of a description, with their kinds."""
    found = ((kind, description.extras.get(rule_of(kind.record).name, ())) for kind in _KINDS)
    return tuple((kind, record) for kind, records in found for record in records)
