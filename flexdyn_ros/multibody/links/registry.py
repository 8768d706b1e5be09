"""The kinds of links that deform, besides beams; `<flexdyn>` knows what is here."""

from __future__ import annotations

from typing import Any

from flexdyn_ros.description import RobotDescription
from flexdyn_ros.description.language import schema
from flexdyn_ros.description.language.vocabulary import rule_of
from flexdyn_ros.description.places import Place
from flexdyn_ros.multibody.links.kind import LinkKind

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
