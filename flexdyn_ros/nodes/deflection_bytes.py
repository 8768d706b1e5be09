"""LinkDeflections read from the bytes of a message: arrays instead of an object per vector.

Layout: OMG DDS-XTypes 1.3, section 7.4.3 (PLAIN_CDR, little endian).
"""

from __future__ import annotations

import struct
from typing import NamedTuple

import numpy as np

__all__ = ["Bent", "read_deflections"]

HEADER = 4


class Bent(NamedTuple):
    """One bent link in the axes of its undeformed frame; k stations.

    stations (k,) [-], displacement (k, 3) [m], rotation (k, 3) [rad], strain (k,) [-], moment (k, 3) [N m].
    """

    link: str
    frame: str
    length: float
    stations: np.ndarray
    displacement: np.ndarray
    rotation: np.ndarray
    strain: np.ndarray
    moment: np.ndarray


class _Reader:
    """Goes through a message field by field."""

    def __init__(self, data: bytes) -> None:
        if len(data) < HEADER or data[1] != 1:
            raise ValueError("a message that is not in little-endian CDR")
        self._data, self._at = data, HEADER

    def _align(self, size: int) -> None:
        self._at += -(self._at - HEADER) % size

    def word(self) -> int:
        self._align(4)
        self._at += 4
        return int(struct.unpack_from("<I", self._data, self._at - 4)[0])

    def text(self) -> str:
        size = self.word()
        self._at += size
        return self._data[self._at - size : self._at - 1].decode()

    def doubles(self, width: int = 1, count: int | None = None) -> np.ndarray:
        """`count` numbers, or a sequence whose elements have `width` of them."""
        size = width * (self.word() if count is None else count)
        if not size:
            return np.zeros(0)
        self._align(8)
        self._at += 8 * size
        return np.frombuffer(self._data, "<f8", size, self._at - 8 * size)


def read_deflections(data: bytes) -> tuple[tuple[int, int], list[Bent]]:
    """Stamp (seconds, nanoseconds) and links of a LinkDeflections message.

    Raises
    ------
    ValueError
        If it is not one, or its arrays have not one entry per station.
    """
    try:
        reader = _Reader(data)
        stamp = (reader.word(), reader.word())
        reader.text(), reader.text()
        return stamp, [_read_link(reader) for _ in range(reader.word())]
    except (struct.error, UnicodeDecodeError) as error:
        raise ValueError(f"no LinkDeflections message: {error}") from None


def _read_link(reader: _Reader) -> Bent:
    link, frame = reader.text(), reader.text()
    length = float(reader.doubles(count=1)[0])
    stations = reader.doubles()
    displacement, rotation, _ = (reader.doubles(3).reshape(-1, 3) for _ in range(3))
    strain = reader.doubles()
    moment = reader.doubles(3).reshape(-1, 3)
    reader.doubles()
    if {len(displacement), len(rotation), len(strain), len(moment)} != {len(stations)}:
        raise ValueError(f"link {link!r} has arrays of other lengths than its {len(stations)} stations")
    return Bent(link, frame, length, stations, displacement, rotation, strain, moment)
