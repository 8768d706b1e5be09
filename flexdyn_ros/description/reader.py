"""`read`: from a source to a checked RobotDescription."""

from __future__ import annotations

import os
from typing import Any

from flexdyn_ros.description import markup, sources, topology, urdf
from flexdyn_ros.description.assembly import assemble
from flexdyn_ros.description.blocks import Layer, place_of, read_blocks
from flexdyn_ros.description.markup import Document
from flexdyn_ros.description.merging import merge
from flexdyn_ros.description.robot import Override, RobotDescription
from flexdyn_ros.description.statements import Place


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
    doc, text = open_document(source)
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
    overrides: list[Override] = []
    layer = _all_layers(doc, robot, config, options, overrides)
    return assemble(robot, layer, tuple(overrides))


def open_document(source: Any) -> tuple[Document, str]:
    """The parsed document of a source and its text, xacro expanded."""
    raw, file = sources.resolve(source)
    doc, text = _parsed(raw, file)
    return doc, text


def _parsed(raw: str | bytes, file: str | None) -> tuple[Document, str]:
    from flexdyn_ros.description import xacro_text

    expanded = xacro_text.needs_expansion(raw, file)
    if expanded:
        raw = xacro_text.expand(raw, file)
    doc = markup.parse(raw, file, expanded=expanded)
    if doc.root.tag != "robot":
        doc.fail("the root element is not <robot>", doc.root, value=str(doc.root.tag), expected="<robot>")
    return doc, raw if isinstance(raw, str) else markup.decoded(raw, doc.root)


def _all_layers(
    doc: Document, robot: RobotDescription, config: Any, options: Any, overrides: list[Override]
) -> Layer:
    """URDF < `<flexdyn file>` < YAML < options, laid over each other."""
    known = {"link": {link.name for link in robot.links}, "joint": {joint.name for joint in robot.joints}}
    layer = Layer("urdf", place_of(doc, doc.root))
    files = read_blocks(doc, known, layer)
    if files:
        merge(layer, _file_layer(files, known, place_of(doc, doc.root)), overrides)
    if config is not None or options is not None:
        from flexdyn_ros.description import settings

        for path in [config] if isinstance(config, (str, os.PathLike)) else config or []:
            merge(layer, settings.read_config(path, known), overrides)
        if options is not None:
            merge(layer, settings.read_options(options, known), overrides)
    return layer


def _file_layer(files: list[tuple[str, Place]], known: dict[str, set[str]], where: Place) -> Layer:
    """What the files named by `<flexdyn file>` say; the root of each is <robot> with <flexdyn> blocks
    only."""
    layer = Layer("<flexdyn file>", where)
    for name, place in files:
        try:
            path = sources.find_file(name, beside=place.file)
        except sources.DescriptionError as error:
            place.fail(error.message, "file", name, error.expected)
        doc, _ = _parsed(sources.read_bytes(path), str(path))
        for element in doc.root:
            if element.tag != "flexdyn":
                doc.fail(f"<{element.tag}> in a file of <flexdyn> blocks", element, value=str(element.tag),
                         expected="<flexdyn> blocks only")  # fmt: skip
        more = read_blocks(doc, known, layer)
        if more:
            more[0][1].fail("a file of <flexdyn> blocks names another", "file", more[0][0], "blocks only")
    return layer
