"""From the bytes of a source to its XML document: limits, xacro, and what text may not be."""

from __future__ import annotations

from dataclasses import replace

from flexdyn_ros.description.urdf import limits, markup, xacro_text
from flexdyn_ros.description.urdf.markup import Document


def parsed(raw: str | bytes, file: str | None, *, from_text: bool = False) -> tuple[Document, str]:
    """The parsed document and its text; the root is <robot>.

    A file is expanded if it is xacro. Text (no file) never is, nor a file that text has named (from_text):
    they are refused instead. Both are refused if they are larger than the limits of their origin.
    """
    data = raw.encode("utf-8", "surrogatepass") if isinstance(raw, str) else raw
    limits.screen(data, file)
    messages: tuple[str, ...] = ()
    expanded = file is not None and xacro_text.needs_expansion(data, file)
    if expanded and not from_text:
        # imported here: a plain URDF needs none of it
        from flexdyn_ros.description.urdf.xacro_process import expand

        assert file is not None
        raw, messages = expand(file)
        data = raw.encode("utf-8", "surrogatepass")
        limits.screen(data, file)
    doc = markup.parse(raw, file, expanded=expanded)
    limits.screen_tree(doc.root, data, file)
    if file is None or from_text:
        xacro_text.refuse_unexpanded(doc, data)
    if doc.root.tag != "robot":
        doc.fail("the root element is not <robot>", doc.root, value=str(doc.root.tag), expected="<robot>")
    doc = replace(doc, messages=messages)
    return doc, raw if isinstance(raw, str) else markup.decoded(raw, doc.root)
