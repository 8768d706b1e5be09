"""What a file from outside may take: bytes that are kept of it, and bytes that are gone through.

Files say little of what they cost: kilobytes unpack to gigabytes, and bytes become objects. A reader asks for
what it is about to take, and is refused before it is taken.
"""

from __future__ import annotations

from flexdyn_ros.errors import StateError

#: bytes that one file may take in memory unless its reader is told otherwise
MOST_BYTES = 1 << 31
#: bytes of an object beside what it holds: a name, a record, an entry of a list
ENTRY = 100
#: bytes that a file may make its reader go through: so many, and so many for each of its own. What compresses
#: better than any log of a robot is refused early.
LEAST_WORK, WORK_PER_BYTE = 1 << 28, 200


class Budget:
    """Bytes of memory and of work that are left to the reader of a file.

    Parameters
    ----------
    name : str
        Of the file, as messages call it.
    size : int
        Its bytes.
    most_bytes : int
        What it may take in memory.
    """

    def __init__(self, name: str, size: int, most_bytes: int = MOST_BYTES) -> None:
        self._name, self._most = name, most_bytes
        self._work = LEAST_WORK + WORK_PER_BYTE * size
        self.kept = self.done = 0

    def keep(self, count: int, entries: int = 0) -> None:
        """Take bytes of memory, and objects beside; StateError if that is more than is left."""
        self.kept += count + ENTRY * entries
        if self.kept > self._most:
            raise StateError(f"{self._name} holds more than {self._most} bytes")

    def work(self, count: int, entries: int = 0) -> None:
        """Go through bytes, and objects beside; StateError if that is more than is left."""
        self.done += count + ENTRY * entries
        if self.done > self._work:
            raise StateError(
                f"{self._name} unpacks to more than {self._work} bytes, which is more than recordings of its "
                "size do"
            )

    @property
    def left(self) -> int:
        """Bytes of memory that are left."""
        return max(0, self._most - self.kept)
