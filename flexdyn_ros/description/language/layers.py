"""Values of URDF, files of blocks, YAML and options, laid over each other and added to the robot."""

from __future__ import annotations

import os
from typing import Any

from flexdyn_ros.description.elements.assembly import assemble
from flexdyn_ros.description.elements.description import Override, RobotDescription
from flexdyn_ros.description.language import settings
from flexdyn_ros.description.language.blocks import Layer, read_blocks
from flexdyn_ros.description.language.mistakes import end_of_stage, part
from flexdyn_ros.description.language.statements import DELETED, Statement, Value
from flexdyn_ros.description.places import Place
from flexdyn_ros.description.urdf import sources, topology
from flexdyn_ros.description.urdf.limits import FILE
from flexdyn_ros.description.urdf.markup import Document
from flexdyn_ros.description.urdf.parsing import parsed
from flexdyn_ros.description.urdf.sources import Origin
from flexdyn_ros.errors import DescriptionError

#: what text may ask for: modes of a link, and of the robot; finite elements; modes squared times elements
#: (or the points of other bases, or rows of a table) and stations; soft sections; wheels
MODES_OF_LINK, MODES, ELEMENTS, EFFORT, SECTIONS, WHEELS = 40, 2000, 1000, 1_000_000, 100, 1000
#: bodies and children of flexible links, each of which takes the shapes at a station
STATIONS = 1000
_POINTS = 5


def extend(
    robot: RobotDescription, doc: Document, config: object, options: object, origin: Origin = "any"
) -> RobotDescription:
    """The robot with all values of `<flexdyn>`, YAML and options.

    origin "text" and "recording": it may ask for no more modes than are prepared in seconds; of a recording
    the options are text of unknown origin, too.
    """
    overrides: list[Override] = []
    options_place = None if origin == "recording" else "options"
    layer = _all_layers(doc, robot, config, (options, options_place), overrides)
    extended = assemble(_with_base(robot, layer), layer, tuple(overrides))
    if origin in ("text", "recording"):
        screen_flexible(extended)
    return extended


def _with_base(robot: RobotDescription, layer: Layer) -> RobotDescription:
    """The robot with a floating base where the URDF states one: a joint with `<joint_type>` is no base."""
    free = topology.free_base(robot)
    joint, world = free.base.joint, free.base.world
    if joint is None or world is None:
        return robot
    stated = layer.joints.get(joint)
    if stated is not None and stated.child("joint_type") is not None:
        return robot
    for name, part_of_base in ((joint, stated), (world, layer.links.get(world))):
        if part_of_base is not None:
            message = f"'{name}' is part of the floating base, and leaves the tree"
            part_of_base.place.fail(message, "reference", name, "a link or joint of the tree")
    return free


def _all_layers(
    doc: Document,
    robot: RobotDescription,
    config: object,
    options_and_place: tuple[object, str | None],
    overrides: list[Override],
) -> Layer:
    """URDF < `<flexdyn file>` < YAML < options, laid over each other."""
    known = {"link": {link.name for link in robot.links}, "joint": {joint.name for joint in robot.joints}}
    layer = Layer("urdf", doc.place(doc.root))
    files = read_blocks(doc, known, layer)
    if files:
        merge(layer, _file_layer(files, known, doc.place(doc.root)), overrides)
    read_settings(layer, known, config, options_and_place, overrides)
    end_of_stage()
    return layer


def read_settings(
    layer: Layer,
    known: dict[str, set[str]],
    config: Any,
    options_and_place: tuple[object, str | None],
    overrides: list[Override],
) -> None:
    """YAML files and options, laid over a layer; known: names of links and joints."""
    for path in [config] if isinstance(config, (str, os.PathLike)) else config or []:
        with part():
            merge(layer, settings.read_config(path, known), overrides)
    options, options_place = options_and_place
    if options is not None:
        with part():
            merge(layer, settings.read_options(options, known, options_place), overrides)


def _file_layer(files: list[tuple[str, Place]], known: dict[str, set[str]], where: Place) -> Layer:
    """Values of the files named by `<flexdyn file>`; the root of each is <robot> with <flexdyn> blocks
    only."""
    layer = Layer("<flexdyn file>", where)
    for name, place in files:
        try:
            path = sources.find_reference(name, place.file)
        except DescriptionError as error:
            place.fail(error.message, "file", name, error.expected)
        content = sources.read_bytes(path, FILE.size)
        doc, _ = parsed(content, str(path), from_text=place.file is None)
        for element in doc.root:
            if element.tag != "flexdyn":
                doc.fail(f"<{element.tag}> in a file of <flexdyn> blocks", element, value=str(element.tag),
                         expected="<flexdyn> blocks only")  # fmt: skip
        more = read_blocks(doc, known, layer)
        if more:
            more[0][1].fail("a file of <flexdyn> blocks names another", "file", more[0][0], "blocks only")
    return layer


def screen_flexible(description: RobotDescription) -> None:
    """Refuse text of unknown origin that asks for more modes, elements, sections or wheels than are prepared
    in about ten seconds.

    A few words ask for them, and integrals over a link grow with the square of its modes: the size of the
    text is no measure.
    """
    modes = elements = effort = stations = 0
    for link in description.flexible_links.values():
        given = link.modes
        count = sum(given.counts.values())
        table = None if link.beam is None else link.beam.table
        rows = 0 if table is None else len(table.rows)
        own = given.elements if given.basis == "finite_element" else 0
        here = len(link.bodies) + len(link.attach)
        points = max(_POINTS, own, rows) + here
        if count > MODES_OF_LINK:
            _refuse_many(f"link '{link.link}': too many modes", count, MODES_OF_LINK, link.line)
        modes, effort, elements = modes + count, effort + points * count**2, elements + own
        stations += here
    for what, number, most in (
        ("modes", modes, MODES),
        ("finite elements", elements, ELEMENTS),
        ("modes squared times elements, rows or stations", effort, EFFORT),
        ("bodies and joints along flexible links", stations, STATIONS),
        ("soft sections", len(description.sections), SECTIONS),
        ("wheels", len(description.wheels), WHEELS),
    ):
        if number > most:
            _refuse_many(f"too many {what}", number, most, None)


def _refuse_many(message: str, count: int, most: int, line: int | None) -> None:
    expected = f"at most {most} in text of unknown origin (a file may have more)"
    raise DescriptionError(message, line=line, element="robot/flexdyn", value=count, expected=expected)


# Layers of statements laid over each other: later wins attribute by attribute, named elements merge by
# name.


def merge(below: Layer, above: Layer, overrides: list[Override]) -> None:
    """Lay a layer over another, in place; every value that it replaces is recorded with both values."""
    _merge(below.robot, above.robot, "", above.source, overrides)
    for word in ("links", "joints"):
        parts: dict[str, Statement] = getattr(below, word)
        for name, child in getattr(above, word).items():
            _merge_child(parts, name, child, f"{word}.{name}", above.source, overrides)


def _merge(below: Statement, above: Statement, path: str, source: str, overrides: list[Override]) -> None:
    for name, value in above.values.items():
        _merge_value(below, name, value, path + name, source, overrides)
    _drop_replaced(below, above, path, source, overrides)
    for tag, children in above.children.items():
        mine = below.children.setdefault(tag, {})
        rule = above.element.child(tag)
        if rule is not None and rule.repeated and rule.key is None and children:
            counts = f"{len(mine)} elements", f"{len(children)} elements"
            overrides.append(Override(path + tag, *counts, source))
            mine.clear()
        for key, child in children.items():
            at = path + tag + (f".{key}" if key != "" else "")
            _merge_child(mine, key, child, at, source, overrides)


def _drop_replaced(below: Statement, above: Statement, path: str, source: str, overrides: list) -> None:
    """Drop values of an earlier source where a later one gives an alternative to them."""
    gone: list[str] = []
    for group in below.element.one_of:
        others = [name for other in below.element.one_of if other is not group for name in other]
        is_other = any(_is_given(above, name) for name in others)
        if is_other and not any(_is_given(above, name) for name in group):
            gone += group
    for attribute in below.element.settings:
        other, allowed = attribute.only or ("", ())
        if _is_given(above, other) and below.get(other) not in allowed and attribute.name not in above.values:
            gone.append(attribute.name)
    for name in gone:
        value = below.values.pop(name, None)
        if value is not None:
            overrides.append(Override(path + name, value.value, None, source))


def _is_given(statement: Statement, name: str) -> bool:
    value = statement.values.get(name)
    return value is not None and value.value is not DELETED


def _merge_child(
    mine: dict, key: object, child: Any, path: str, source: str, overrides: list[Override]
) -> None:
    if child is DELETED:
        if mine.pop(key, None) is not None:
            overrides.append(Override(path, "present", None, source))
        return
    if key not in mine:
        mine[key] = Statement(child.element, child.place)
    _merge(mine[key], child, path + ".", source, overrides)


def _merge_value(
    below: Statement, name: str, value: Value, path: str, source: str, overrides: list[Override]
) -> None:
    old = below.values.get(name)
    attribute = below.element.setting(name)
    default = None if attribute is None else attribute.default
    before = default if old is None else old.value
    after = default if value.value is DELETED else value.value
    if value.value is DELETED:
        below.values.pop(name, None)
    else:
        below.values[name] = value
    if name != below.element.key and before != after:
        text = below.element.text
        is_all = text is not None and text.name == name and not below.element.attributes
        overrides.append(Override(path.rpartition(".")[0] if is_all else path, before, after, source))
