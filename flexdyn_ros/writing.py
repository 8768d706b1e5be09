"""Files that take their place when they are complete: a full disk or an interruption leaves the old one."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path

#: how files are called until they are complete, beside those that they replace
PREFIX, SUFFIX = ".flexdyn-", ".writing"
#: links to links that are followed
MOST_LINKS = 40


@contextmanager
def beside(path: str | PathLike[str]) -> Iterator[Path]:
    """A path to write to, in the folder of a file that it replaces when all went well.

    The new file has owner and permissions of the old one. A symbolic link stays, and the file that it names
    is replaced. Pipes, terminals and other devices are written to as they are: nothing may take their place.

    Parameters
    ----------
    path : path
        The file to write; its folder exists.

    Raises
    ------
    OSError
        If the file cannot be written, with its name; the old file is as it was and nothing lies beside it.
    """
    target = _target(path)
    if target is None:
        yield Path(path)
        return
    try:
        draft, old = _draft(target)
    except OSError as error:
        raise _named(error, path) from None
    try:
        yield draft
        _complete(draft, old)
        os.replace(draft, target)
    except OSError as error:
        if error.filename in (None, str(draft)):
            raise _named(error, path) from error
        raise
    finally:
        with suppress(OSError):
            draft.unlink()


def write_bytes(path: str | PathLike[str], content: bytes) -> None:
    """Write a file whole or not at all; OSError names it."""
    with beside(path) as draft, draft.open("wb") as file:
        file.write(content)


def write_text(path: str | PathLike[str], text: str) -> None:
    """Write UTF-8 text whole or not at all, line ends as they are; OSError names the file."""
    write_bytes(path, text.encode("utf-8", "surrogateescape"))


def _target(path: str | PathLike[str]) -> Path | None:
    """The file that is replaced, links followed; None for what is written to as it is.

    Links of /proc (/dev/stdout leads there) name what a process has open, which has to stay that file.
    """
    place = os.path.abspath(os.fspath(path))
    for _ in range(MOST_LINKS):
        place = os.path.join(os.path.realpath(os.path.dirname(place)), os.path.basename(place))
        if place.startswith("/proc/"):
            return None
        if not os.path.islink(place):
            break
        place = os.path.join(os.path.dirname(place), os.readlink(place))
    found = Path(place)
    return None if found.exists() and not found.is_file() and not found.is_dir() else found


def _draft(target: Path) -> tuple[Path, os.stat_result | None]:
    """A new file beside the target, and what is known of the file that it replaces.

    A file that its owner protected from writing, or a folder, is not replaced.
    """
    old: os.stat_result | None = None
    with suppress(FileNotFoundError):
        old = target.stat()
    if old is not None:
        if stat.S_ISDIR(old.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not os.access(target, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    draft = target.with_name(f"{PREFIX}{os.urandom(8).hex()}{SUFFIX}")
    # what nobody else may read is not to be read while it is written
    mode = 0o666 if old is None else 0o600
    os.close(os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode))
    return draft, old


def _complete(draft: Path, old: os.stat_result | None) -> None:
    """Hand the file to the disk, where a full one tells it at the latest; give it owner and permissions."""
    sync(draft)
    if old is None:
        return
    # who may not give files away keeps them; file systems without permissions have none to give
    with suppress(PermissionError, NotImplementedError, AttributeError):
        os.chown(draft, old.st_uid, old.st_gid)
    with suppress(PermissionError, NotImplementedError):
        draft.chmod(stat.S_IMODE(old.st_mode))


def sync(path: Path) -> None:
    """Hand a file to the disk; OSError if that is full."""
    descriptor = os.open(path, os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _named(error: OSError, path: str | PathLike[str]) -> OSError:
    """The error with the name that the user gave."""
    return OSError(error.errno, error.strerror or str(error), os.fspath(path))
