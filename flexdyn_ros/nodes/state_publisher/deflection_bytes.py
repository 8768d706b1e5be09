"""LinkDeflections read from the bytes of a message: arrays instead of an object per vector.

Messages of a topic follow each other with the same links and stations: where their numbers stand is found
once, and only looked up again when anything but the numbers has changed.

Layout: OMG DDS-XTypes 1.3, section 7.4.3 (PLAIN_CDR, little endian).
"""

from __future__ import annotations

import struct
from typing import NamedTuple

import numpy as np

from flexdyn_ros.nodes.state_publisher.marker_bytes import HEADER, aligned

__all__ = ["Bent", "DeflectionReader", "read_deflections"]


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
    """Goes through a message field by field; data is `aligned`.

    numbers: which bytes are numbers that change from message to message, or nothing at all.
    """

    def __init__(self, data: np.ndarray) -> None:
        if len(data) < HEADER or data[1] != 1:
            raise ValueError("a message that is not in little-endian CDR")
        self._data, self._at = data, HEADER
        self.numbers = np.zeros(len(data), dtype=bool)

    def _align(self, size: int) -> None:
        begin, self._at = self._at, self._at + -(self._at - HEADER) % size
        # nobody says what is between fields
        self.numbers[begin : self._at] = True

    def word(self) -> int:
        self._align(4)
        self._at += 4
        return int(struct.unpack_from("<I", self._data.data, self._at - 4)[0])

    def text(self) -> str:
        size = self.word()
        self._at += size
        if size == 0 or self._at > len(self._data):
            raise ValueError("no LinkDeflections message: a text that does not end")
        return self._data[self._at - size : self._at - 1].tobytes().decode()

    def doubles(self, width: int = 1, count: int | None = None, *, change: bool = True) -> np.ndarray:
        """`count` numbers, or a sequence whose elements have `width` of them; whether they change."""
        size = width * (self.word() if count is None else count)
        if not size:
            return np.zeros(0)
        self._align(8)
        begin, self._at = self._at, self._at + 8 * size
        if self._at > len(self._data):
            raise ValueError("no LinkDeflections message: fewer numbers than it says")
        self.numbers[begin : self._at] = change
        return self._data[begin : self._at].view("<f8")


class DeflectionReader:
    """Reads the messages of a topic one after the other."""

    def __init__(self) -> None:
        self._data = self._structure = np.zeros(0, np.uint8)
        self._fixed = np.zeros(0, np.intp)
        self._links: list[Bent] = []

    def read(self, data: bytes) -> tuple[tuple[int, int], list[Bent]]:
        """Stamp (seconds, nanoseconds) and links of a LinkDeflections message; their arrays hold until the
        next one is read.

        Raises
        ------
        ValueError
            If it is not one, or its arrays have not one entry per station.
        """
        given = np.frombuffer(data, np.uint8)
        known = len(self._fixed) > 0 and len(given) == len(self._data)
        if not (known and np.array_equal(given[self._fixed], self._structure)):
            self._learn(data)
        self._data[:] = given
        seconds, nanoseconds = struct.unpack_from("<II", data, HEADER)
        return (seconds, nanoseconds), self._links

    def _learn(self, data: bytes) -> None:
        """Go through a message whose structure is new."""
        self._fixed = np.zeros(0, np.intp)
        room = aligned(data)
        try:
            reader = _Reader(room)
            reader.word(), reader.word()
            reader.numbers[HEADER : HEADER + 8] = True
            reader.text(), reader.text()
            self._links = [_read_link(reader) for _ in range(reader.word())]
        except (struct.error, UnicodeDecodeError) as error:
            raise ValueError(f"no LinkDeflections message: {error}") from None
        self._fixed = np.flatnonzero(~reader.numbers)
        self._data, self._structure = room, room[self._fixed]


def read_deflections(data: bytes) -> tuple[tuple[int, int], list[Bent]]:
    """`DeflectionReader.read` of a single message."""
    return DeflectionReader().read(data)


def _read_link(reader: _Reader) -> Bent:
    link, frame = reader.text(), reader.text()
    length = float(reader.doubles(count=1, change=False)[0])
    stations = reader.doubles(change=False)
    displacement, rotation, _ = (reader.doubles(3).reshape(-1, 3) for _ in range(3))
    strain = reader.doubles()
    moment = reader.doubles(3).reshape(-1, 3)
    reader.doubles()
    if {len(displacement), len(rotation), len(strain), len(moment)} != {len(stations)}:
        raise ValueError(f"link {link!r} has arrays of other lengths than its {len(stations)} stations")
    return Bent(link, frame, length, stations, displacement, rotation, strain, moment)
