"""The schema as XML Schema (XSD 1.0), for editors: all of `<flexdyn>`, nothing of the URDF around it.

An attribute that has a meaning only beside another value, exclusive groups and references are checked by the
reader alone: an XSD of that version cannot express them.
"""

from __future__ import annotations

from lxml import etree

from flexdyn_ros.description.language import schema
from flexdyn_ros.description.language.vocabulary import Attribute, Element

_XS = "http://www.w3.org/2001/XMLSchema"
_NUMBER = r"[+\-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+\-]?[0-9]+)?"
_FACETS = {">": "minExclusive", ">=": "minInclusive", "<": "maxExclusive", "<=": "maxInclusive"}
_BASES = {"integer": "integer", "boolean": "truth", "vector": "vector", "numbers": "numbers", "name": "name"}


def schema_xsd() -> str:
    """The XSD of a URDF with `<flexdyn>` blocks, and of files that hold only such blocks."""
    root = etree.Element(_tag("schema"), nsmap={"xs": _XS})
    _add_types(root)
    _add_robot(root)
    _add_block(root)
    etree.indent(root)
    text = etree.tostring(root, encoding="unicode")
    return '<?xml version="1.0" encoding="utf-8"?>\n' + text + "\n"


def _tag(name: str) -> str:
    return f"{{{_XS}}}{name}"


def _add(parent: etree._Element, tag: str, **attributes: str) -> etree._Element:
    return etree.SubElement(parent, _tag(tag), attributes)


def _note(parent: etree._Element, text: str) -> None:
    documentation = _add(_add(parent, "annotation"), "documentation")
    documentation.text = text


def _add_types(root: etree._Element) -> None:
    """Numbers without NaN and infinity, vectors, names."""

    def add(name: str, base: str, facet: str, value: str) -> None:
        _add(_restriction(_add(root, "simpleType", name=name), base), facet, value=value)

    add("number", "xs:double", "pattern", _NUMBER)
    add("integer", "xs:integer", "pattern", r"[+\-]?[0-9]+")
    _add_words(_add(root, "simpleType", name="truth"), ("true", "false"))
    add("name", "xs:token", "minLength", "1")
    _add(_add(root, "simpleType", name="list"), "list", itemType="number")
    add("vector", "list", "length", "3")
    add("numbers", "list", "minLength", "1")


def _restriction(simple: etree._Element, base: str) -> etree._Element:
    return _add(simple, "restriction", base=base)


def _add_robot(root: etree._Element) -> None:
    """`<robot>`: anything may stand in it; what is declared here (`<flexdyn>`) is checked."""
    robot = _add(_add(root, "element", name="robot"), "complexType", mixed="true")
    content = _add(robot, "sequence")
    _add(content, "any", processContents="lax", minOccurs="0", maxOccurs="unbounded")
    _add(robot, "anyAttribute", processContents="lax")


def _add_block(root: etree._Element) -> None:
    element = _add(root, "element", name="flexdyn")
    _note(element, "Flexibility of one link or joint (reference), of the whole robot, or in another file.")
    block = _add(element, "complexType")
    choice = _add(block, "choice", minOccurs="0", maxOccurs="unbounded")
    for scope in schema.SCOPES:
        for child in scope.children:
            _add_element(choice, child)
    _add(block, "attribute", name="reference", type="name")
    _add(block, "attribute", name="file", type="name")
    version = _add(_add(block, "attribute", name="version"), "simpleType")
    _add(_restriction(version, "xs:token"), "enumeration", value=schema.VERSION)


def _add_element(parent: etree._Element, rule: Element) -> None:
    element = _add(parent, "element", name=rule.name)
    _note(element, rule.meaning)
    if rule.text is not None and not rule.attributes and not rule.children:
        element.set("type", _BASES[rule.text.type])
        return
    kind = _add(element, "complexType")
    if rule.text is not None:
        kind.set("mixed", "true")
    if rule.children:
        choice = _add(kind, "choice", minOccurs="0", maxOccurs="unbounded")
        for child in rule.children:
            _add_element(choice, child)
    for attribute in rule.attributes:
        _add_attribute(kind, attribute)


def _add_attribute(parent: etree._Element, rule: Attribute) -> None:
    use = "required" if rule.required else "optional"
    attribute = _add(parent, "attribute", name=rule.name, use=use)
    _note(attribute, rule.meaning + (f" [{rule.unit}]" if rule.unit else ""))
    if rule.type == "choice":
        _add_words(_add(attribute, "simpleType"), rule.choices)
    elif rule.type == "station":
        _add_station(attribute, rule)
    elif rule.type in ("number", "integer"):
        _add_bounded(_add(attribute, "simpleType"), rule, rule.type)
    elif rule.counts or (rule.type == "numbers" and rule.bounds):
        _add_lists(_add(attribute, "simpleType"), rule)
    else:
        attribute.set("type", _BASES.get(rule.type, "name"))


def _add_words(simple: etree._Element, words: tuple[str, ...]) -> None:
    restriction = _restriction(simple, "xs:token")
    for word in words:
        _add(restriction, "enumeration", value=word)


def _add_station(attribute: etree._Element, rule: Attribute) -> None:
    union = _add(_add(attribute, "simpleType"), "union")
    _add_bounded(_add(union, "simpleType"), Attribute("", "number", "", least=0.0, most=1.0), "number")
    _add_words(_add(union, "simpleType"), ("root", "tip", *rule.choices))


def _add_bounded(simple: etree._Element, rule: Attribute, base: str) -> None:
    restriction = _restriction(simple, base)
    for sign, bound in rule.bounds.items():
        _add(restriction, _FACETS[sign], value=f"{bound:g}")


def _add_lists(simple: etree._Element, rule: Attribute) -> None:
    """A list of any length, or of one of those that it may have."""
    union = _add(simple, "union")
    for facet, count in [("length", count) for count in rule.counts] or [("minLength", 1)]:
        restriction = _add(_add(union, "simpleType"), "restriction")
        items = _add(_add(_add(restriction, "simpleType"), "list"), "simpleType")
        _add_bounded(items, rule, "number")
        _add(restriction, facet, value=str(count))
