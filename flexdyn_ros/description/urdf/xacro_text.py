"""Which descriptions are xacro: files are expanded, text of unknown origin is refused."""

from __future__ import annotations

import re
from typing import Any

from flexdyn_ros.description.urdf.markup import Document, Element

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
