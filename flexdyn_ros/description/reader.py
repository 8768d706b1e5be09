"""`read`: from a source to a checked RobotDescription."""

from __future__ import annotations

from typing import Any

from flexdyn_ros.description.elements.description import RobotDescription
from flexdyn_ros.description.language import mistakes
from flexdyn_ros.description.urdf import joints_and_links as urdf
from flexdyn_ros.description.urdf import markup, sources, topology
from flexdyn_ros.description.urdf.markup import Document
from flexdyn_ros.description.urdf.parsing import parsed
from flexdyn_ros.errors import DescriptionError

_MOST_WARNINGS = 1000


def read(
    source: object,
    *,
    config: object = None,
    options: object = None,
    name: str | None = None,
    origin: sources.Origin = "any",
    xacro: object = None,
) -> RobotDescription:
    """Read a robot description: URDF with `<flexdyn>` elements, overridden by YAML files and options.

    Parameters
    ----------
    source
        Path, `package://` URI, XML text, or a urchin.URDF / urdfpy.URDF object. A file that is xacro is
        expanded, in a process with limits; text is data: xacro and expressions in it are refused, it names
        files of packages only, and is at most 10 MB with 20,000 links (a file: 50 MB, 50,000 links).
    config
        Path of a YAML file, or a list of them; the later one wins.
    options
        Mapping, nested or with dotted paths, or a list of `path=value`; wins over all else.
    name
        Overrides the name of `<robot>`.
    origin
        "text": the source is text and never taken for the name of a file, as text from a topic must be;
        "recording": both the text and the options are data of this kind; "file": the source names a file;
        "any": text begins with `<`.
    xacro
        Values of the arguments of a xacro file, by their names.

    Raises
    ------
    DescriptionError
        With file, line, element, attribute, value and what was expected.
    """
    doc, text = parsed(*sources.resolve(source, origin), arguments=xacro)
    warnings: list[str] = [f"xacro: {message}" for message in doc.messages]
    unread: list[str] = []
    links = urdf.read_links(doc, warnings, unread)
    joints = urdf.read_joints(doc, warnings, unread)
    _look_ahead(doc, config, options)
    root = topology.find_root(doc, links, joints)
    joints = topology.settle_mimic(doc, joints, warnings)
    robot = RobotDescription(
        name=name or markup.name_of(doc, doc.root),
        root=root,
        links=links,
        joints=joints,
        warnings=(*_shortened(warnings), *_shortened(unread)),
        unread=_shortened(unread),
        file=doc.file,
        text=text,
    )
    if config is None and options is None and next(doc.root.iter("flexdyn"), None) is None:
        return topology.free_base(robot)
    # imported here: a plain URDF needs none of it
    from flexdyn_ros.description.language.layers import extend

    return extend(robot, doc, config, options, origin)


def _look_ahead(doc: Document, config: object, options: object) -> None:
    """While mistakes are collected and some were found: those of the `<flexdyn>` blocks, of YAML files and
    options too; then give up."""
    if not mistakes.any_found():
        return
    from flexdyn_ros.description.language.blocks import Layer, read_blocks
    from flexdyn_ros.description.language.layers import read_settings

    known = {tag: {str(e.get("name")) for e in doc.root.findall(tag)} for tag in ("link", "joint")}
    layer = Layer("urdf", doc.place(doc.root))
    with mistakes.part():
        read_blocks(doc, known, layer)
    read_settings(layer, known, config, (options, "options"), [])
    mistakes.end_of_stage()


def find_mistakes(source: object, **options: Any) -> list[DescriptionError]:
    """All mistakes of a description, in the order of their lines, what has none first, as far as it can be
    read; arguments as of `read`.

    What the first look shows: elements, values, names, each part by itself. Only where these are right, what
    they are together.
    """
    with mistakes.collected() as found:
        read(source, **options)
    return sorted(found, key=lambda error: (error.file or "", error.line or 0))


def _shortened(warnings: list[str]) -> tuple[str, ...]:
    """At most so many as somebody might read: nodes log each of them."""
    more = len(warnings) - _MOST_WARNINGS
    if more <= 0:
        return tuple(warnings)
    return (*warnings[:_MOST_WARNINGS], f"{more} more warnings of this kind are left out")
