"""From the bytes of a source to its XML document: limits, xacro, and what is refused in text."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from lxml import etree

from flexdyn_ros.description.urdf import limits, markup, versions
from flexdyn_ros.description.urdf.markup import Document, Element
from flexdyn_ros.errors import DescriptionError


def parsed(
    raw: str | bytes, file: str | None, *, from_text: bool = False, arguments: Any = None
) -> tuple[Document, str]:
    """The parsed document and its text; the root is <robot>.

    A file is expanded if it is xacro. Text (no file) never is, nor a file that text has named (from_text):
    they are refused instead. Both are refused if they are larger than the limits of their origin. arguments:
    of xacro, name to value.
    """
    data = raw.encode("utf-8", "surrogatepass") if isinstance(raw, str) else raw
    limits.screen(data, file)
    messages: tuple[str, ...] = ()
    expanded = file is not None and needs_expansion(data, file)
    if arguments and (not expanded or from_text):
        message = "xacro arguments for what is no xacro file"
        expected = "a xacro file, or no arguments"
        raise DescriptionError(message, file=file, value=", ".join(map(str, arguments)), expected=expected)
    if expanded and not from_text:
        # imported here: a plain URDF needs none of it
        from flexdyn_ros.description.urdf.xacro_process import checked_arguments, expand

        assert file is not None
        raw, messages = expand(file, checked_arguments(arguments))
        data = raw.encode("utf-8", "surrogatepass")
        limits.screen(data, file)
    doc = markup.parse(raw, file, expanded=expanded)
    limits.screen_tree(doc.root, data, file)
    if file is None or from_text:
        refuse_unexpanded(doc, data)
    if doc.root.tag != "robot":
        doc.fail("the root element is not <robot>", doc.root, value=str(doc.root.tag), expected="<robot>")
    doc = replace(doc, messages=messages)
    if versions.settle_version(doc):
        raw = etree.tostring(doc.root, encoding="unicode")
    return doc, raw if isinstance(raw, str) else markup.decoded(raw, doc.root)


_NAMESPACES = ("http://www.ros.org/wiki/xacro", "http://wiki.ros.org/xacro", "http://ros.org/wiki/xacro")
_USED = re.compile(rb"<xacro:\w|\$\{|\$\(")
_COMMENT = re.compile(rb"<!--.*?-->", re.DOTALL)
_IS_XACRO = "starts-with(name(), 'xacro:') or " + " or ".join(f"namespace-uri() = '{n}'" for n in _NAMESPACES)
_IS_EXPRESSION = "contains(., '${') or contains(., '$(')"
_EXPECTED = "expanded text; save it as a file: xacro runs only on files"


def needs_expansion(raw: bytes, file: str) -> bool:
    """Is a file xacro? By its name, or because it declares xacro's namespace and uses it."""
    if file.endswith(".xacro"):
        return True
    if not any(namespace.encode() in raw for namespace in _NAMESPACES):
        return False
    return _USED.search(_COMMENT.sub(b"", raw)) is not None


def refuse_unexpanded(doc: Document, raw: bytes) -> None:
    """Refuse xacro elements and expressions outside comments; nothing of them is evaluated.

    Raises
    ------
    DescriptionError
        With line, element, and the expression.
    """
    if not (b"$" in raw or b"&#" in raw or b"xacro" in raw or b"\0" in raw):
        return
    find: Any = doc.root.xpath
    for element in find(f"(//*[{_IS_XACRO}])[1]"):
        doc.fail("xacro in text of unknown origin", element, value=_qualified(element), expected=_EXPECTED)
    message = "an expression in text of unknown origin"
    for value in find(f"(//@*[{_IS_EXPRESSION} or {_IS_XACRO}])[1]"):
        doc.fail(message, value.getparent(), value.attrname, str(value)[:100], _EXPECTED)
    for text in find(f"(//text()[{_IS_EXPRESSION}])[1]"):
        doc.fail(message, text.getparent(), value=str(text).strip()[:100], expected=_EXPECTED)


def _qualified(element: Element) -> str:
    name = str(element.tag).rpartition("}")[2].removeprefix("xacro:")
    return f"<xacro:{name}>"
