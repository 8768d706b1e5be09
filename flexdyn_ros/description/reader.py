"""`read`: from a source to a checked RobotDescription."""

from __future__ import annotations

from typing import Any

from flexdyn_ros.description import markup, sources, topology, urdf
from flexdyn_ros.description.robot import RobotDescription


def read(
    source: Any, *, config: Any = None, options: Any = None, name: str | None = None
) -> RobotDescription:
    """Read a robot description: URDF with `<flexdyn>` elements, overridden by YAML files and options.

    Parameters
    ----------
    source
        Path, `package://` URI, XML text, or a urchin.URDF / urdfpy.URDF object; xacro is expanded.
    name
        Overrides the name of `<robot>`.

    Raises
    ------
    DescriptionError
        With file, line, element, attribute, value and what was expected.
    """
    raw, file = sources.resolve(source)
    doc = markup.parse(raw, file)
    if doc.root.tag != "robot":
        doc.fail("the root element is not <robot>", doc.root, value=str(doc.root.tag), expected="<robot>")
    warnings: list[str] = []
    links = urdf.read_links(doc, warnings)
    joints = urdf.read_joints(doc, warnings)
    root = topology.find_root(doc, links, joints)
    joints = topology.settle_mimic(doc, joints, warnings)
    return RobotDescription(
        name=name or markup.name_of(doc, doc.root),
        root=root,
        links=links,
        joints=joints,
        warnings=tuple(warnings),
        file=file,
        text=raw if isinstance(raw, str) else raw.decode("utf-8", "replace"),
    )
