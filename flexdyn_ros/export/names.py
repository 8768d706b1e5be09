"""Names in exported files: those that are chosen, and those that C and its files can have."""

from __future__ import annotations

from collections.abc import Sequence

from flexdyn_ros.errors import ExportError, UnknownNameError

_KEYWORDS = (
    "auto break case char const continue default do double else enum extern float for goto if inline int "
    "long register restrict return short signed sizeof static struct switch typedef union unsigned void "
    "volatile while"
)
#: headers of the standard library, which a file NAME.h must not hide
_HEADERS = (
    "assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal stdalign stdarg "
    "stdatomic stdbool stddef stdint stdio stdlib stdnoreturn string tgmath threads time uchar wchar wctype"
)
#: files that come with NAME.c and NAME.h: an example, of FMUs, of libraries in the cache
_BESIDE = "main robot model fmi lanes rows steps call calls python"
#: names that Windows gives to devices, whatever the ending
_DEVICES = "con prn aux nul " + " ".join(f"{port}{i}" for port in ("com", "lpt") for i in range(10))
#: flexdyn: the prefix of what libraries in the cache offer
_RESERVED = frozenset(f"flexdyn {_KEYWORDS} {_HEADERS} {_BESIDE} {_DEVICES}".split())


def c_name(name: str) -> str:
    """A name as functions, macros and files of C can have it, beside all that comes with them.

    What would begin with a digit or an underscore (C keeps the latter), is a keyword or the name of another
    file, in whatever case, gets a prefix.
    """
    plain = "".join(c if c.isascii() and c.isalnum() else "_" for c in name)
    is_free = plain[:1].isalpha() and plain.lower() not in _RESERVED
    return plain if is_free else f"robot_{plain.lstrip('_')}"


def chosen_names(what: str, given: Sequence[str] | str, known: Sequence[str]) -> tuple[str, ...]:
    """One or several names, each once.

    Raises
    ------
    UnknownNameError
        For a name that is not known.
    ExportError
        If there is none.
    """
    names = (given,) if isinstance(given, str) else tuple(dict.fromkeys(given))
    if not names:
        raise ExportError(f"{what}: none is given, expected one or several of {', '.join(known)}")
    for name in names:
        UnknownNameError.check(what, name, known)
    return names
