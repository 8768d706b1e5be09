"""`<flexdyn>` blocks of an XML document as statements."""

from __future__ import annotations

from typing import Any

from flexdyn_ros.description.language import schema
from flexdyn_ros.description.language.mistakes import part
from flexdyn_ros.description.language.statements import Place, Statement
from flexdyn_ros.description.language.values import expected, suggestion
from flexdyn_ros.description.language.vocabulary import Element
from flexdyn_ros.description.urdf.markup import Document, element_path, line_of
from flexdyn_ros.description.urdf.markup import Element as Xml

_BLOCK = ("reference", "file", "version")


class Layer:
    """What one source says: of the robot, of links, of joints. source names it in the list of overrides."""

    def __init__(self, source: str, place: Place) -> None:
        self.source = source
        self.robot = Statement(schema.ROBOT, place)
        self.links: dict[str, Statement] = {}
        self.joints: dict[str, Statement] = {}

    def part(self, scope: Element, name: str, place: Place) -> Statement:
        """The statement of the robot, or of the link or joint of that name (made if it is not there)."""
        if scope is schema.ROBOT:
            return self.robot
        parts = self.links if scope is schema.LINK else self.joints
        return parts.setdefault(name, Statement(scope, place))


def read_blocks(doc: Document, known: dict[str, set[str]], layer: Layer) -> list[tuple[str, Place]]:
    """Add the blocks of a document to a layer; returns the files that it names, with the place of each."""
    files: list[tuple[str, Place]] = []
    for block in doc.root.findall("flexdyn"):
        with part():
            place = place_of(doc, block)
            _check_block(block, place)
            if block.get("file") is not None:
                files.append((block.get("file", ""), place))
                continue
            reference = block.get("reference")
            if reference is not None:
                _check_reference(reference, known, place)
            _read_block(doc, block, reference, known, layer)
    _refuse_nested(doc)
    return files


def attributes_of(element: Xml) -> dict[str, str]:
    return {str(name): str(value) for name, value in element.attrib.items()}


def place_of(doc: Document, element: Xml) -> Place:
    return Place(doc.file, line_of(element), element_path(element), doc.expanded)


def _check_block(block: Xml, place: Place) -> None:
    for name, value in attributes_of(block).items():
        if name not in _BLOCK:
            message = f"unknown attribute '{name}'{suggestion(name, _BLOCK)}"
            place.fail(message, name, value, "one of " + ", ".join(_BLOCK))
    version = block.get("version")
    if version is not None and version.strip() != schema.VERSION:
        place.fail("unknown version of the schema", "version", version, schema.VERSION)
    if block.get("file") is None:
        return
    if block.get("reference") is not None:
        place.fail("'file' and 'reference' exclude each other", "file", block.get("file"), "one of them")
    if len(block):
        place.fail("a block that names a file is empty otherwise", "file", block.get("file"), "no elements")


def _check_reference(name: str, known: dict[str, set[str]], place: Place) -> None:
    if name not in known["link"] | known["joint"]:
        hint = suggestion(name, known["link"] | known["joint"])
        message = f"there is no link or joint of that name{hint}"
        place.fail(message, "reference", name, "the name of a link or joint")


def _read_block(doc: Document, block: Xml, reference: str | None, known: Any, layer: Layer) -> None:
    first: Element | None = None
    _refuse_text(doc, block)
    for element in block:
        with part():
            place = place_of(doc, element)
            scope = _scope_of(str(element.tag), reference, place)
            if scope is not schema.ROBOT:
                if reference not in known[scope.name]:
                    kinds = f"<{element.tag}> belongs to {scope.meaning}, but no {scope.name} has this name"
                    place_of(doc, block).fail(kinds, "reference", reference, f"the name of a {scope.name}")
                if first is not None and first is not scope:
                    place.fail(
                        "link and joint elements in one block", None, element.tag, "one block for each"
                    )
                first = scope
            _read_child(doc, element, layer.part(scope, reference or "", place_of(doc, block)))


def _scope_of(tag: str, reference: str | None, place: Place) -> Element:
    scope = schema.scope_of(tag)
    if scope is None:
        known = [child.name for each in schema.SCOPES for child in each.children]
        place.fail(
            f"unknown element <{tag}>{suggestion(tag, known)}", None, tag, "one of " + ", ".join(known)
        )
    if reference is None and scope is not schema.ROBOT:
        where = f'<flexdyn reference="{scope.name.upper()}">'
        place.fail(f"<{tag}> belongs to {scope.meaning}", None, tag, f"a block {where}")
    if reference is not None and scope is schema.ROBOT:
        place.fail(f"<{tag}> belongs to the whole robot", None, tag, "a block <flexdyn> without reference")
    return scope


def _read_child(doc: Document, element: Xml, parent: Statement) -> None:
    """Read one element below its parent; refuse what the schema does not know, and what is said twice."""
    place = place_of(doc, element)
    tag = str(element.tag)
    rule = parent.element.child(tag)
    if rule is None:
        known = [child.name for child in parent.element.children]
        message = f"unknown element <{tag}>{suggestion(tag, known)}"
        place.fail(message, None, tag, f"one of {', '.join(known)}" if known else "no elements")
    statement = Statement(rule, place)
    _read_attributes(element, statement)
    _read_text(doc, element, statement)
    for child in element:
        with part():
            _read_child(doc, child, statement)
    siblings = parent.children.setdefault(tag, {})
    key = key_of(statement, len(siblings))
    if key in siblings:
        first = siblings[key].place.line
        which = f" named '{key}'" if rule.key else ""
        place.fail(f"<{tag}>{which} is said twice, first in line {first}", rule.key, key or tag, "once")
    siblings[key] = statement


def key_of(statement: Statement, count: int) -> Any:
    """Name of a named element, count of a repeated one, "" of a single one."""
    rule = statement.element
    if rule.key is None:
        return count if rule.repeated else ""
    if rule.key not in statement.values:
        attribute = rule.attribute(rule.key)
        assert attribute is not None
        statement.fail(f"attribute '{rule.key}' of <{rule.name}> is missing", rule.key, expected(attribute))
    return statement.get(rule.key)


def _read_attributes(element: Xml, statement: Statement) -> None:
    rule, place = statement.element, statement.place
    for name, raw in attributes_of(element).items():
        with part():
            attribute = rule.attribute(name)
            if attribute is None:
                known = [each.name for each in rule.attributes]
                message = f"unknown attribute '{name}' of <{rule.name}>{suggestion(name, known)}"
                place.fail(message, name, raw, f"one of {', '.join(known)}" if known else "no attributes")
            statement.set(attribute, raw, place)


def _read_text(doc: Document, element: Xml, statement: Statement) -> None:
    attribute = statement.element.text
    text = (element.text or "").strip()
    if attribute is None:
        _refuse_text(doc, element)
    elif text:
        statement.set(attribute, text, statement.place)
    elif statement.element.settings == (attribute,):
        message = f"<{statement.element.name}> is empty"
        statement.place.fail(message, attribute.name, "", expected(attribute))


def _refuse_text(doc: Document, element: Xml) -> None:
    texts = [element.text, *(child.tail for child in element)]
    found = next((text.strip() for text in texts if text and text.strip()), None)
    if found is not None:
        place_of(doc, element).fail(
            "text where none is expected", None, found[:100], "elements or attributes"
        )


def _refuse_nested(doc: Document) -> None:
    for block in doc.root.iter("flexdyn"):
        if block.getparent() is not doc.root:
            place_of(doc, block).fail(
                "<flexdyn> is not a child of <robot>", None, "flexdyn", "it below <robot>"
            )
