"""Arrays of `.npz` files from outside: sizes are checked before anything is read, and nothing is unpickled.

A member of a few kilobytes may unpack to gigabytes, and its header may promise more than that. What the
headers of the archive and of the arrays say is compared with the limit and with each other first.
"""

from __future__ import annotations

import math
import zipfile
import zlib
from os import PathLike
from typing import IO, Any

import numpy as np

#: arrays in one file, letters of a header
_MOST_MEMBERS, _MOST_LETTERS = 100, 10_000
#: dimensions of an array; the longest of one that holds nothing, whose shape costs no bytes
_MOST_DIMENSIONS, _LONGEST_EMPTY = 32, 1 << 20
#: bytes that are unpacked at once
_BLOCK = 1 << 20
#: kinds of numbers and texts; everything else is an object or a record
_KINDS = "biufcUS"


class ArrayFileError(ValueError):
    """The file is no `.npz`, holds what is no plain array, or more than is accepted."""


def read_arrays(path: str | PathLike | IO[bytes], *, most_bytes: int) -> dict[str, np.ndarray]:
    """All arrays of a `.npz` file, by name.

    Parameters
    ----------
    path : path or open file
    most_bytes : int
        Bytes that the arrays together may take in memory.

    Raises
    ------
    ArrayFileError
        Naming the member, and what was expected.
    OSError
        If the file cannot be read.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            return _arrays(archive, most_bytes)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise ArrayFileError(f"no .npz file of numpy: {error}") from None


def _arrays(archive: zipfile.ZipFile, most_bytes: int) -> dict[str, np.ndarray]:
    members = archive.infolist()
    if len(members) > _MOST_MEMBERS:
        raise ArrayFileError(f"{len(members)} members, expected at most {_MOST_MEMBERS}")
    if len({member.filename for member in members}) < len(members):
        raise ArrayFileError("a member is there twice")
    if sum(member.file_size for member in members) > most_bytes + _MOST_LETTERS * len(members):
        size = sum(member.file_size for member in members)
        raise ArrayFileError(f"{size} bytes unpacked, expected at most {most_bytes}")
    return {_name(member): _array(archive, member) for member in members}


def _name(member: zipfile.ZipInfo) -> str:
    if not member.filename.endswith(".npy"):
        raise ArrayFileError(f"member {member.filename[:80]!r} is no array, expected NAME.npy")
    return member.filename.removesuffix(".npy")


def _array(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> np.ndarray:
    """One array: its header has been read first, and agrees with what the archive says of its size."""
    with archive.open(member) as file:
        shape, fortran_order, kind = _header(file, member.filename)
        count = math.prod(shape)
        # a sub-array or a text of no letters takes no bytes, however many there are
        if kind.kind not in _KINDS or kind.hasobject or (count and not kind.itemsize):
            raise ArrayFileError(f"{member.filename} holds {kind}, expected numbers or texts")
        if len(shape) > _MOST_DIMENSIONS or (not count and max(shape) > _LONGEST_EMPTY):
            raise ArrayFileError(
                f"{member.filename} has shape {str(shape)[:80]}, expected at most {_MOST_DIMENSIONS} "
                f"dimensions and, where there is nothing in it, {_LONGEST_EMPTY} of a kind"
            )
        if min(shape, default=0) < 0 or count * kind.itemsize > member.file_size:
            raise ArrayFileError(
                f"{member.filename} promises shape {shape}, its {member.file_size} bytes hold less"
            )
        data = np.empty(count * kind.itemsize, np.uint8)
        filled = 0
        while filled < data.size:
            read = file.readinto(data[filled : filled + _BLOCK])  # type: ignore[attr-defined]
            if not read:
                break
            filled += read
        if filled < data.size or file.read(1):
            raise ArrayFileError(f"{member.filename} does not hold the {count} numbers that it promises")
    array = data.view(kind) if data.size else np.zeros(count, kind)
    return array.reshape(shape, order="F" if fortran_order else "C")


def _header(file: IO[bytes], name: str) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    form: Any = np.lib.format
    try:
        version = form.read_magic(file)
        read = {(1, 0): form.read_array_header_1_0, (2, 0): form.read_array_header_2_0}.get(version)
        if read is None:
            raise ArrayFileError(f"{name} is of version {version}, expected 1.0 or 2.0")
        shape, fortran_order, kind = read(file, max_header_size=_MOST_LETTERS)
    except ArrayFileError:
        raise
    except Exception as error:  # noqa: BLE001  numpy's reader of literals runs into errors of many kinds
        raise ArrayFileError(f"{name} has no header of an array: {str(error)[:200]}") from None
    return shape, fortran_order, kind
