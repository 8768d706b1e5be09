"""Attributes of a URDF set by dotted paths: `urdf.joints.elbow.dynamics.damping`,
`urdf.links.boom.inertial.mass.value`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lxml import etree

from flexdyn_ros.errors import DescriptionError, UnknownNameError


def edited(text: str, values: Mapping[str, Any]) -> str:
    """The text of a URDF with other values.

    Raises
    ------
    DescriptionError
        If the URDF has no such element or attribute. What it lacks is not added: it would need values beside.
    """
    content = text.encode() if isinstance(text, str) else text
    root = etree.fromstring(content, etree.XMLParser(resolve_entities=False, no_network=True))
    for path, value in values.items():
        _set(root, path, value)
    return etree.tostring(root, encoding="unicode")


def _set(root: Any, path: str, value: Any) -> None:
    words = path.split(".")[1:]
    tag = {"links": "link", "joints": "joint"}.get(words[0] if words else "")
    if tag is None or len(words) < 4:
        _fail(path, "not a path of the URDF", "urdf.links.NAME.ELEMENT.ATTRIBUTE or urdf.joints...")
    names = [str(e.get("name")) for e in root.findall(tag)]
    count = next((n for n in range(len(words) - 2, 0, -1) if ".".join(words[1 : 1 + n]) in names), 0)
    if not count:
        _fail(path, str(UnknownNameError(str(tag), words[1], names)), f"the name of a {tag}")
    element = root.findall(tag)[names.index(".".join(words[1 : 1 + count]))]
    *inner, attribute = words[1 + count :]
    for word in inner:
        below = element.find(word)
        if below is None:
            _fail(
                path, f"<{element.tag}> has no <{word}>", "one of " + ", ".join(str(e.tag) for e in element)
            )
        element = below
    if attribute not in element.attrib:
        _fail(path, f"<{element.tag}> has no attribute '{attribute}'", "one of " + ", ".join(element.attrib))
    element.set(
        attribute, " ".join(map(_written, value)) if isinstance(value, list | tuple) else _written(value)
    )


def _written(value: Any) -> str:
    return repr(value) if isinstance(value, float) else str(value)


def _fail(path: str, message: str, expected: str) -> None:
    raise DescriptionError(message, file="<urdf>", element=path, expected=expected)
