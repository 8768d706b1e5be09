"""From the bytes of a source to its XML document: limits, xacro, and what text may not be."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from lxml import etree

from flexdyn_ros.description.urdf import limits, markup, versions, xacro_text
from flexdyn_ros.description.urdf.markup import Document
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
    expanded = file is not None and xacro_text.needs_expansion(data, file)
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
        xacro_text.refuse_unexpanded(doc, data)
    if doc.root.tag != "robot":
        doc.fail("the root element is not <robot>", doc.root, value=str(doc.root.tag), expected="<robot>")
    doc = replace(doc, messages=messages)
    if versions.settle_version(doc):
        raw = etree.tostring(doc.root, encoding="unicode")
    return doc, raw if isinstance(raw, str) else markup.decoded(raw, doc.root)
