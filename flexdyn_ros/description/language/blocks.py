"""`<flexdyn>` blocks of an XML document as statements."""

from __future__ import annotations

from typing import Any

from flexdyn_ros.description.language import schema
from flexdyn_ros.description.language.mistakes import part
from flexdyn_ros.description.language.statements import Statement
from flexdyn_ros.description.language.values import expected
from flexdyn_ros.description.language.vocabulary import Element
from flexdyn_ros.description.places import Place
from flexdyn_ros.description.urdf.markup import Document
from flexdyn_ros.description.urdf.markup import Element as Xml

_BLOCK = ("reference", "file", "version")


class Layer:
    """What one source states of the robot, of links and of joints; source names it in overrides."""

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
            place = doc.place(block)
            _check_block(block, place)
            if block.get("file") is not None:
                files.append((block.get("file", ""), place))
                continue
            names = known["link"] | known["joint"]
            reference = block.get("reference")
            if reference is not None and reference not in names:
                message = "there is no link or joint of that name"
                place.unknown(message, reference, names, "reference", expected="the name of a link or joint")
            _read_block(doc, block, reference, known, layer)
    for block in doc.root.iter("flexdyn"):
        if block.getparent() is not doc.root:
            message = "<flexdyn> is not a child of <robot>"
            doc.fail(message, block, None, "flexdyn", "it below <robot>")
    return files


def attributes_of(element: Xml) -> dict[str, str]:
    return {str(name): str(value) for name, value in element.attrib.items()}


def check_version(version: object, place: Place) -> None:
    """Refuse a version of the schema that is not this one."""
    if str(version).strip() != schema.VERSION:
        place.fail("unknown version of the schema", "version", version, schema.VERSION)


def _check_block(block: Xml, place: Place) -> None:
    attributes = attributes_of(block)
    for name, value in attributes.items():
        if name not in _BLOCK:
            place.unknown(f"unknown attribute '{name}'", name, _BLOCK, name, value=value)
    check_version(attributes.get("version", schema.VERSION), place)
    file = attributes.get("file")
    if file is not None and "reference" in attributes:
        place.fail("'file' and 'reference' exclude each other", "file", file, "one of them")
    if file is not None and len(block):
        place.fail("a block that names a file is empty otherwise", "file", file, "no elements")


def _read_block(doc: Document, block: Xml, reference: str | None, known: Any, layer: Layer) -> None:
    first: Element | None = None
    _refuse_text(doc, block)
    for element in block:
        with part():
            place = doc.place(element)
            scope = _scope_of(str(element.tag), reference, place)
            if scope is not schema.ROBOT:
                if reference not in known[scope.name]:
                    kinds = f"<{element.tag}> belongs to {scope.meaning}, but no {scope.name} has this name"
                    doc.fail(kinds, block, "reference", reference, f"the name of a {scope.name}")
                if first is not None and first is not scope:
                    message = "link and joint elements in one block"
                    place.fail(message, None, element.tag, "one block for each")
                first = scope
            _read_child(doc, element, layer.part(scope, reference or "", doc.place(block)))


def _scope_of(tag: str, reference: str | None, place: Place) -> Element:
    scope = schema.scope_of(tag)
    if scope is None:
        known = [child.name for each in schema.SCOPES for child in each.children]
        place.unknown(f"unknown element <{tag}>", tag, known)
    if reference is None and scope is not schema.ROBOT:
        where = f'<flexdyn reference="{scope.name.upper()}">'
        place.fail(f"<{tag}> belongs to {scope.meaning}", None, tag, f"a block {where}")
    if reference is not None and scope is schema.ROBOT:
        place.fail(f"<{tag}> belongs to the whole robot", None, tag, "a block <flexdyn> without reference")
    return scope


def _read_child(doc: Document, element: Xml, parent: Statement) -> None:
    """Read one element below its parent; refuse what the schema does not know, and what is stated twice."""
    place = doc.place(element)
    tag = str(element.tag)
    rule = parent.element.child(tag)
    if rule is None:
        known = [child.name for child in parent.element.children]
        place.unknown(f"unknown element <{tag}>", tag, known, expected="" if known else "no elements")
    statement = Statement(rule, place)
    _read_attributes(element, statement)
    _read_text(doc, element, statement)
    for child in element:
        with part():
            _read_child(doc, child, statement)
    siblings = parent.children.setdefault(tag, {})
    key = _key_of(statement, len(siblings))
    if key in siblings:
        first = siblings[key].place.line
        which = f" named '{key}'" if rule.key else ""
        place.fail(f"<{tag}>{which} is said twice, first in line {first}", rule.key, key or tag, "once")
    siblings[key] = statement


def _key_of(statement: Statement, count: int) -> object:
    """Name of a named element, count of a repeated one, "" of a single one and of the first of several."""
    rule = statement.element
    if rule.key is None and rule.more_by and count:
        return statement.get(rule.more_by)
    if rule.key is None:
        return count if rule.repeated else ""
    if rule.key not in statement.values:
        statement.missing(rule.key)
    return statement.get(rule.key)


def _read_attributes(element: Xml, statement: Statement) -> None:
    rule, place = statement.element, statement.place
    for name, raw in attributes_of(element).items():
        with part():
            attribute = rule.attribute(name)
            if attribute is None:
                known = [each.name for each in rule.attributes]
                message = f"unknown attribute '{name}' of <{rule.name}>"
                place.unknown(
                    message, name, known, name, value=raw, expected="" if known else "no attributes"
                )
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
        doc.fail("text where none is expected", element, None, found[:100], "elements or attributes")
