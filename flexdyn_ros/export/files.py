"""Exported files: the names that they and what is in them can have, and writing all of them or none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from flexdyn_ros.errors import ExportError, UnknownNameError
from flexdyn_ros.writing import beside, sync

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
_BESIDE = "table main robot model fmi lanes rows steps call calls python"
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


def write_all(folder: Path, files: dict[str, str]) -> list[Path]:
    """Write files into a folder: all, or none where that fails.

    Raises
    ------
    ExportError
    """
    paths = [folder / name for name in files]
    with replacing(*paths) as drafts:
        for draft, text in zip(drafts, files.values(), strict=True):
            draft.write_text(text, encoding="utf-8")
    return paths


@contextmanager
def replacing(*paths: Path) -> Iterator[list[Path]]:
    """Paths to write to, in the place of files of folders, which are made; ExportError if they cannot be
    written to."""
    folder = paths[0].parent
    try:
        for each in dict.fromkeys(path.parent for path in paths):
            each.mkdir(parents=True, exist_ok=True)
        with ExitStack() as stack:
            drafts = [stack.enter_context(beside(path)) for path in paths]
            yield drafts
            # a full disk is told before the first file is replaced
            for draft in drafts:
                sync(draft)
    except OSError as error:
        reason = error.strerror or str(error)
        raise ExportError(f"{folder} cannot be written to: {reason}; expected a folder of yours") from error
