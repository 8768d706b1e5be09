"""Where something stands in a text, and errors that name the place."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from difflib import get_close_matches
from itertools import islice
from typing import NoReturn

from flexdyn_ros.errors import DescriptionError
from flexdyn_ros.records import frozen

#: words that are compared to find one that is near: the comparison is slow
_LONGEST_WORD, _MOST_WORDS = 64, 1000


def suggestion(word: str, known: Iterable[str], nearness: float = 0.6) -> str:
    """` (did you mean ...?)`, or nothing if no known word is near."""
    if len(word) > _LONGEST_WORD:
        return ""
    if "diameter" in word:
        radii = [name for name in islice(known, _MOST_WORDS) if "radius" in name]
        same = [name for name in radii if name == word.replace("diameter", "radius")] or radii[:1]
        if same and word not in known:
            return f" (did you mean {same[0]!r}, half of it?)"
    some = [name for name in islice(known, _MOST_WORDS) if len(name) <= _LONGEST_WORD]
    found = get_close_matches(word, some, n=2, cutoff=nearness)
    return f" (did you mean {' or '.join(repr(near) for near in found)}?)" if found else ""


@frozen
class Place:
    """File (or `options`), line, element path; expanded: the line is that of the text after xacro."""

    file: str | None
    line: int | None
    element: str | None
    expanded: bool = False

    def fail(
        self, message: str, attribute: str | None = None, value: object = None, expected: str | None = None
    ) -> NoReturn:
        """Raise the DescriptionError that names this place."""
        raise self.error(message, attribute, value, expected)

    def error(
        self, message: str, attribute: str | None = None, value: object = None, expected: str | None = None
    ) -> DescriptionError:
        """The DescriptionError that names this place."""
        if self.expanded:
            message += " (the line is that of the text after xacro expansion)"
        return DescriptionError(
            message,
            file=self.file,
            line=self.line,
            element=self.element,
            attribute=attribute,
            value=value,
            expected=expected,
        )

    def unknown(
        self,
        message: str,
        word: str,
        known: Collection[str],
        attribute: str | None = None,
        *,
        expected: str = "",
        value: object = None,
    ) -> NoReturn:
        """Refuse a word that is none of those known, and name the nearest of them."""
        expected = expected or "one of " + ", ".join(known)
        self.fail(message + suggestion(word, known), attribute, word if value is None else value, expected)
