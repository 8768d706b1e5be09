"""The text of an XML file with attributes changed in place: all else stays as it was, byte by byte."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from xml.parsers import expat
from xml.sax.saxutils import quoteattr

from flexdyn_ros.errors import StateError

_TAG_END = re.compile(rb"""(?:[^"'>]|"[^"]*"|'[^']*')*>""")


@dataclass(eq=False)
class Element:
    """An element: its tag and attributes, where its start tag begins and ends, where its end tag begins; all
    -1 in one that is new."""

    tag: str
    attributes: dict[str, str]
    begin: int
    end: int
    close: int = -1
    children: list[Element] = field(default_factory=list)

    def child(self, tag: str) -> Element | None:
        """The first child of a tag."""
        return next((element for element in self.children if element.tag == tag), None)


class Markup:
    """An XML text, and changes that are gathered for it.

    Parameters
    ----------
    text : bytes
        UTF-8.

    Raises
    ------
    StateError
        If it is no XML, or has a document type, which could stand for text that is not here.
    """

    def __init__(self, text: bytes) -> None:
        self.text = text
        self._changes: dict[int, tuple[Element, dict[str, str]]] = {}
        self._added: dict[int, tuple[Element, list[Element]]] = {}
        self._stack: list[Element] = []
        self.root = self._parsed()

    def _parsed(self) -> Element:
        parser = expat.ParserCreate("utf-8")
        found: list[Element] = []

        def start(tag: str, attributes: dict[str, str]) -> None:
            begin = parser.CurrentByteIndex
            match = _TAG_END.match(self.text, begin)
            assert match is not None
            element = Element(tag, attributes, begin, match.end())
            (self._stack[-1].children if self._stack else found).append(element)
            self._stack.append(element)

        def end(tag: str) -> None:
            self._stack.pop().close = parser.CurrentByteIndex

        def refuse(*details: object) -> None:
            raise StateError("the description has a document type: its numbers cannot be changed in place")

        parser.StartElementHandler, parser.EndElementHandler = start, end
        parser.StartDoctypeDeclHandler = refuse
        try:
            parser.Parse(self.text, True)
        except expat.ExpatError as error:
            raise StateError(f"the description is no XML: {error}") from None
        return found[0]

    # ---- changes ----

    def put(self, parent: Element, tag: str, **attributes: str) -> None:
        """Give attributes of a child other values; what is missing is added."""
        child = parent.child(tag)
        if child is None:
            child = Element(tag, {}, -1, -1)
            parent.children.append(child)
        if child.begin < 0:
            self._added.setdefault(id(parent), (parent, []))
            if child not in self._added[id(parent)][1]:
                self._added[id(parent)][1].append(child)
            child.attributes |= attributes
        else:
            held = self._changes.setdefault(id(child), (child, {}))
            held[1].update(attributes)

    def add(self, parent: Element, tag: str, **attributes: str) -> Element:
        """A new child, at the end of its parent."""
        child = Element(tag, dict(attributes), -1, -1)
        parent.children.append(child)
        self._added.setdefault(id(parent), (parent, []))[1].append(child)
        return child

    def result(self) -> bytes:
        """The text with the changes."""
        edits = [(e.begin, e.end, self._changed(e, told)) for e, told in self._changes.values()]
        for parent, children in self._added.values():
            if parent.begin >= 0:
                edits.append(self._insertion(parent, children))
        text = self.text
        for begin, end, new in sorted(edits, key=lambda edit: edit[:2], reverse=True):
            text = text[:begin] + new + text[end:]
        return text

    def _insertion(self, parent: Element, children: list[Element]) -> tuple[int, int, bytes]:
        """Children before the end tag of an element, in lines of their own where that has one."""
        before = self.text[: parent.begin].rpartition(b"\n")[2].decode()
        indent = before[: len(before) - len(before.lstrip())]
        texts = [_rendered(child) for child in children]
        if parent.close <= parent.begin:  # <parent/>
            tag = self.text[parent.begin : parent.end].rstrip()[:-2].rstrip().decode()
            return parent.begin, parent.end, f"{tag}>{''.join(texts)}</{parent.tag}>".encode()
        if self.text[: parent.close].rpartition(b"\n")[2].strip():
            return parent.close, parent.close, "".join(texts).encode()
        own = "".join(f"  {text}\n{indent}" for text in texts)
        return parent.close, parent.close, own.encode()

    def _changed(self, element: Element, attributes: dict[str, str]) -> bytes:
        """A start tag with other values."""
        tag = self.text[element.begin : element.end]
        for name, value in attributes.items():
            held = re.compile(rb"""(\s%s\s*=\s*)(?:"[^"]*"|'[^']*')""" % re.escape(name.encode()))
            match = held.search(tag)
            if match is not None:
                tag = tag[: match.end(1)] + quoteattr(value).encode() + tag[match.end() :]
            else:
                ending = b"/>" if tag.endswith(b"/>") else b">"
                tag = tag[: -len(ending)].rstrip() + f" {name}={quoteattr(value)}".encode() + ending
        return tag


def _rendered(element: Element) -> str:
    """A new element as text."""
    told = "".join(f" {name}={quoteattr(value)}" for name, value in element.attributes.items())
    inner = "".join(map(_rendered, element.children))
    return f"<{element.tag}{told}>{inner}</{element.tag}>" if inner else f"<{element.tag}{told}/>"
