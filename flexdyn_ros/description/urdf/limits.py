"""How large a description may be, checked before a tree is built of it, and once more on the tree.

Opening brackets and equals signs in the bytes are never fewer than the tags and attributes that the parser
makes of them, so that the tree of whatever passes is bounded. libxml2 bounds the depth (256).
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from flexdyn_ros.description.places import Place
from flexdyn_ros.errors import DescriptionError

#: letters of a name or of any other attribute, on which work is done that grows faster than its length
MOST_LETTERS = 65_536
LONGEST_NAME = 255


#: bytes of a YAML file (which is parsed slowly), and of a text file of numbers
MOST_YAML = 1_000_000
MOST_NUMBERS = 20_000_000
#: rows of a table, also of one that is given in place
MOST_ROWS = 100_000


class Limits(NamedTuple):
    """Most bytes, `<link>` elements, tags (start and end), and attributes."""

    size: int
    links: int
    tags: int
    attributes: int


#: text that comes over a topic, as a parameter, from a service or a recording, or is given to `load`
TEXT = Limits(10_000_000, 20_000, 1_000_000, 1_000_000)
#: a file that the user has named
FILE = Limits(50_000_000, 50_000, 3_000_000, 3_000_000)


def limits_of(file: str | None) -> Limits:
    """The limits of text (None) or of a file."""
    return TEXT if file is None else FILE


def screen(raw: bytes, file: str | None) -> None:
    """Refuse bytes that are too many, or would make too large a tree.

    Raises
    ------
    DescriptionError
        With what was counted and how much is accepted.
    """
    limits = limits_of(file)
    if len(raw) > limits.size:
        _refuse(file, "the text is too large", len(raw), limits.size, "bytes")
    if raw.count(b"<link ") > limits.links:
        # quicker than to build the tree; what is commented out does not count
        links = re.sub(rb"<!--.*?-->", b"", raw, flags=re.DOTALL).count(b"<link ")
        if links > limits.links:
            _refuse(file, "too many links", links, limits.links, "links")
    if raw.count(b"<") > limits.tags:
        _refuse(file, "too many elements", raw.count(b"<"), limits.tags, "tags")
    if raw.count(b"=") > limits.attributes:
        _refuse(file, "too many attributes", raw.count(b"="), limits.attributes, "attributes")


def screen_tree(root: Any, raw: bytes, file: str | None) -> None:
    """Refuse a tree with too many links, or with words that are too long to work on."""
    limits = limits_of(file)
    links = len(root.findall("link"))
    if links > limits.links:
        _refuse(file, "too many links", links, limits.links, "links")
    if len(raw) <= LONGEST_NAME:
        return
    find: Any = root.xpath
    too_long = f"name() = 'name' or string-length() > {MOST_LETTERS}"
    for found in find(f"(//@*[string-length() > {LONGEST_NAME}][{too_long}])[1]"):
        most = LONGEST_NAME if found.attrname == "name" else MOST_LETTERS
        place = Place(file, found.getparent().sourceline, str(found.getparent().tag))
        message, expected = f"an attribute of {len(found)} letters", f"at most {most} letters"
        place.fail(message, found.attrname, found[:40] + "...", expected)


def _refuse(file: str | None, message: str, count: int, most: int, what: str) -> None:
    expected = f"at most {most} {what}"
    if file is None:
        expected += f" in text ({FILE.size if what == 'bytes' else getattr(FILE, what)} in a file)"
    raise DescriptionError(message, file=file, value=f"{count} {what}", expected=expected)
