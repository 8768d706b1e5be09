"""Safe XML with line numbers, and the small parsers of URDF's text: numbers, vectors, names.

Entities are not expanded and nothing is fetched. Every error is a DescriptionError that names its place.
"""

from __future__ import annotations

import re
from math import isfinite
from typing import Any, NoReturn, cast

from lxml import etree

from flexdyn_ros.description.places import Place
from flexdyn_ros.errors import DescriptionError
from flexdyn_ros.records import frozen

Element = etree._Element
Children = dict[object, list[Element]]
Vec3 = tuple[float, float, float]
_REQUIRED: Any = object()
_DECLARATIONS = tuple(
    word.encode(encoding)
    for encoding in ("utf-8", "utf-16-le", "utf-16-be")
    for word in ("<!ENTITY", "<!DOCTYPE")
)


@frozen
class Document:
    """An XML document: its root, its file (None for text), whether lines are those of the expanded xacro
    text, and the messages of xacro."""

    root: Element
    file: str | None = None
    expanded: bool = False
    messages: tuple[str, ...] = ()

    def place(self, element: Element | None = None) -> Place:
        """Where an element stands; of None, the file alone."""
        if element is None:
            return Place(self.file, None, None, self.expanded)
        return Place(self.file, line_of(element), element_path(element), self.expanded)

    def fail(
        self,
        message: str,
        element: Element | None = None,
        attribute: str | None = None,
        value: object = None,
        expected: str | None = None,
    ) -> NoReturn:
        """Raise the DescriptionError that names the place of an element."""
        self.place(element).fail(message, attribute, value, expected)


def line_of(element: Element) -> int | None:
    """Line of the element's start tag, counted from 1."""
    return cast("int | None", element.sourceline)


def element_path(element: Element) -> str:
    """Path for people, as `robot/link[boom]/inertial/mass`."""
    parts: list[str] = []
    node: Element | None = element
    while node is not None:
        label = next((node.get(key) for key in ("name", "reference") if node.get(key)), None)
        tag = node.tag if isinstance(node.tag, str) else "?"
        parts.append(f"{tag}[{label}]" if label and node.getparent() is not None else tag)
        node = node.getparent()
    return "/".join(reversed(parts))


def parse(text: str | bytes, file: str | None = None, *, expanded: bool = False) -> Document:
    """Parse XML; DescriptionError with line if it is not well formed or declares a document type."""
    raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    if not raw.strip():
        raise DescriptionError("the description is empty", file=file, expected="XML with root <robot>")
    for declared in _DECLARATIONS:
        at = raw.find(declared)
        if at >= 0 and not _is_commented(raw, at):
            line = raw.count(b"\n", 0, at) + 1
            _refuse_declarations(file, line)
    root = _tree(raw, file, "utf-8" if isinstance(text, str) else None)
    _drop_default_namespace(root)
    return Document(root, file, expanded)


def _tree(raw: bytes, file: str | None, encoding: str | None) -> Element:
    parser: Any = _parser(encoding)
    try:
        return _checked(etree.fromstring(raw, parser), file)
    except etree.XMLSyntaxError as error:
        # tags as <sensor:contact> without a declared prefix are common in extensions of simulators;
        # the log of the parser is that of this text, the log of the error may hold other texts' entries
        log = list(parser.error_log)
        if log and all(entry.domain_name == "NAMESPACE" for entry in log):
            return _checked(etree.fromstring(raw, _parser(encoding, recover=True)), file)
        line = error.lineno or None
        message = f"not well-formed XML: {error.msg}"
        raise DescriptionError(message, file=file, line=line, expected="well-formed XML") from None
    except (ValueError, LookupError) as error:
        raise DescriptionError(f"not readable as XML: {error}", file=file, expected="XML text") from None


def _parser(encoding: str | None, recover: bool = False) -> etree.XMLParser:
    return etree.XMLParser(
        encoding=encoding,
        recover=recover,
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        dtd_validation=False,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
    )


def _checked(root: Element | None, file: str | None) -> Element:
    if root is None:
        raise DescriptionError("no XML element found", file=file, expected="XML with root <robot>")
    about: Any = root.getroottree().docinfo
    if about.doctype:
        _refuse_declarations(file, None)
    return root


def _is_commented(raw: bytes, at: int) -> bool:
    return raw.rfind(b"<!--", 0, at) > raw.rfind(b"-->", 0, at)


def _refuse_declarations(file: str | None, line: int | None) -> NoReturn:
    message = "document types and entity declarations are not accepted"
    raise DescriptionError(message, file=file, line=line, element="<!DOCTYPE>", expected="XML without them")


def _drop_default_namespace(root: Element) -> None:
    """`<robot xmlns="...">` puts every tag in a namespace; ours have none."""
    tag = root.tag
    if not isinstance(tag, str) or not tag.startswith("{"):
        return
    prefix = tag[: tag.index("}") + 1]
    for element in root.iter(etree.Element):
        if isinstance(element.tag, str) and element.tag.startswith(prefix):
            element.tag = element.tag[len(prefix) :]


def decoded(raw: bytes, root: Element) -> str:
    """Text of a document read from bytes, by the encoding that it declares."""
    encoding = root.getroottree().docinfo.encoding or "utf-8"
    return raw.decode(encoding, "replace").removeprefix("\ufeff")


def children_by_tag(element: Element) -> Children:
    """The children of each tag, found in one pass."""
    found: Children = {}
    for child in element:
        found.setdefault(child.tag, []).append(child)
    return found


def only_child(
    doc: Document, element: Element, tag: str, among: Children | None = None, *, required: bool = False
) -> Element | None:
    """The child of that tag, None if absent; more than one, or a missing required one, is refused.

    among: `children_by_tag(element)`, where several children are asked for.
    """
    found = list(element.iterchildren(tag)) if among is None else among.get(tag, ())
    if len(found) > 1:
        doc.fail(f"more than one <{tag}>", found[1], expected=f"at most one <{tag}>")
    if not found:
        if required:
            doc.fail(f"<{tag}> is missing", element, expected=f"one <{tag}>")
        return None
    return found[0]


def name_of(doc: Document, element: Element, attribute: str = "name") -> str:
    """A required, non-empty name."""
    value = element.get(attribute)
    if value is None or not value.strip():
        doc.fail("a name is missing", element, attribute, value, "a non-empty name")
    return value


def number(doc: Document, element: Element, attribute: str, default: Any = _REQUIRED) -> float:
    """A finite number; the default if the attribute is absent."""
    text = element.get(attribute)
    if text is None:
        if default is _REQUIRED:
            doc.fail("attribute is missing", element, attribute, expected="a number")
        return default
    value = as_float(text)
    if value is None:
        doc.fail("not a finite number", element, attribute, text, "a finite number")
    return value


def vector(doc: Document, element: Element | None, attribute: str, default: Vec3) -> Vec3:
    """Three finite numbers; the default if element or attribute is absent."""
    text = None if element is None else element.get(attribute)
    if element is None or text is None:
        return default
    values = [as_float(word) for word in text.split()]
    numbers = [value for value in values if value is not None]
    if len(values) != 3 or len(numbers) != 3:
        doc.fail("not a vector", element, attribute, text, "three finite numbers separated by blanks")
    return (numbers[0], numbers[1], numbers[2])


_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)


def as_float(text: str) -> float | None:
    """The number that the text is, None if it is none or not finite."""
    text = text.strip()
    if _NUMBER.fullmatch(text) is None:
        return None
    value = float(text)
    return value if isfinite(value) else None
