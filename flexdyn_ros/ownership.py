"""Whether a folder or file belongs to this user alone: what is executed or unpickled comes from such only."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from functools import cache
from pathlib import Path


def stranger(mark: os.stat_result, name: str | os.PathLike[str]) -> str:
    """Why others may have written to a file or folder, as a sentence; empty if nobody can have.

    Root is no stranger on the way to a folder, but is one for what lies in it: see `stranger_in`.
    """
    if not (stat.S_ISREG(mark.st_mode) or stat.S_ISDIR(mark.st_mode)):
        return f"{name} is neither a file nor a folder"
    if mark.st_uid != _me():
        return f"{name} belongs to user {mark.st_uid}, not to user {_me()}"
    return _written_by_others(mark, name)


def stranger_in(folder: Path) -> str:
    """Why others may change what is at the path of a folder: it, or a folder above it, is theirs or can be
    written by them. Empty if they cannot.

    The folder exists, and links in its path are resolved. Above it folders of root are trusted, and those in
    which everybody owns what he made (sticky, as /tmp).
    """
    return stranger(folder.stat(), folder) or _stranger_above(str(folder.parent))


def stranger_among(folder: Path) -> str:
    """Why a file or link directly in a folder is not this user's alone; empty if all are."""
    with os.scandir(folder) as entries:
        for entry in entries:
            # others may end while they are looked at: files of a process that is writing have passing names
            with suppress(FileNotFoundError):
                found = stranger(entry.stat(follow_symlinks=False), entry.path)
                if found:
                    return found
    return ""


def own_folder(folder: Path) -> tuple[Path, str]:
    """A folder, made if need be, without links in its path, and why it is not this user's alone.

    Raises
    ------
    OSError
        If it cannot be made.
    """
    found = Path(os.path.realpath(folder))
    missing = [place for place in (found, *found.parents) if not place.exists()]
    for place in reversed(missing):
        # whatever the mask for new files is: what is made here is of this user alone
        place.mkdir(mode=0o700, exist_ok=True)
    return found, stranger_in(found)


@cache
def _stranger_above(folder: str) -> str:
    for place in (Path(folder), *Path(folder).parents):
        mark = place.stat()
        if mark.st_uid not in (0, _me()):
            return f"{place} belongs to user {mark.st_uid}, not to user {_me()}"
        if not mark.st_mode & stat.S_ISVTX and (found := _written_by_others(mark, place)):
            return found
    return ""


def _written_by_others(mark: os.stat_result, name: str | os.PathLike[str]) -> str:
    if mark.st_mode & stat.S_IWOTH or (mark.st_mode & stat.S_IWGRP and not _is_alone_in(mark.st_gid)):
        return f"{name} can be written by others (chmod go-w)"
    return ""


@cache
def _is_alone_in(group: int) -> bool:
    """Whether a group is the private one of this user: where each user has one, new files are often writable
    by it."""
    try:
        import grp
        import pwd

        user, found = pwd.getpwuid(_me()), grp.getgrgid(group)
    except (ImportError, KeyError):
        return False
    return user.pw_gid == group and found.gr_name == user.pw_name and set(found.gr_mem) <= {user.pw_name}


def _me() -> int:
    """This user; systems without such numbers say 0 of every file too."""
    return os.geteuid() if hasattr(os, "geteuid") else 0
