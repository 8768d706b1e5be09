"""`read`: from a source to a checked RobotDescription."""

from __future__ import annotations

from typing import Any

from flexdyn_ros.description import markup, sources, topology, urdf
from flexdyn_ros.description.markup import Document
from flexdyn_ros.description.robot import RobotDescription


def read(
    source: Any, *, config: Any = None, options: Any = None, name: str | None = None
) -> RobotDescription:
    """Read a robot description: URDF with `<flexdyn>` elements, overridden by YAML files and options.

    Parameters
    ----------
    source
        Path, `package://` URI, XML text, or a urchin.URDF / urdfpy.URDF object; xacro is expanded.
    config
        Path of a YAML file, or a list of them; the later one wins.
    options
        Mapping, nested or with dotted paths, or a list of `path=value`; wins over all else.
    name
        Overrides the name of `<robot>`.

    Raises
    ------
    DescriptionError
        With file, line, element, attribute, value and what was expected.
    """
    doc, text = parsed(*sources.resolve(source))
    warnings: list[str] = []
    links = urdf.read_links(doc, warnings)
    joints = urdf.read_joints(doc, warnings)
    root = topology.find_root(doc, links, joints)
    joints = topology.settle_mimic(doc, joints, warnings)
    robot = RobotDescription(
        name=name or markup.name_of(doc, doc.root),
        root=root,
        links=links,
        joints=joints,
        warnings=tuple(warnings),
        file=doc.file,
        text=text,
    )
    robot = topology.free_base(robot)
    if config is None and options is None and next(doc.root.iter("flexdyn"), None) is None:
        return robot
    # imported here: a plain URDF needs none of it
    from flexdyn_ros.description.layers import extend

    return extend(robot, doc, config, options)


def parsed(raw: str | bytes, file: str | None) -> tuple[Document, str]:
    """The parsed document and its text, xacro expanded; the root is <robot>."""
    from flexdyn_ros.description import xacro_text

    expanded = xacro_text.needs_expansion(raw, file)
    if expanded:
        raw = xacro_text.expand(raw, file)
    doc = markup.parse(raw, file, expanded=expanded)
    if doc.root.tag != "robot":
        doc.fail("the root element is not <robot>", doc.root, value=str(doc.root.tag), expected="<robot>")
    return doc, raw if isinstance(raw, str) else markup.decoded(raw, doc.root)
