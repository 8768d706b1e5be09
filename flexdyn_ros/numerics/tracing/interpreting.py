"""Kernels interpreted on numbers of another type: their float memory as arrays of objects.

Kernels reach models, work memory and each other through addresses (numerics/compiling/memory.py,
numerics/verbs/table.py). While a `Memory` is in use, what lies at an address is an array of Python
objects: a copy of the floats that are there, or what was put in their place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from flexdyn_ros.numerics.compiling import memory
from flexdyn_ros.numerics.tracing.graph import objects


class Memory:
    """What interpreted kernels see at addresses.

    Attributes
    ----------
    read : list of tuple (address, n)
        Float memory that was copied because nothing was put in its place, in the order in which it was asked
        for.
    """

    def __init__(self) -> None:
        #: what is called in place of C functions, by their addresses
        self.functions: dict[int, Callable[..., Any]] = {}
        self._blocks: list[tuple[int, np.ndarray]] = []
        self.read: list[tuple[int, int]] = []

    def put(self, address: int, array: np.ndarray) -> np.ndarray:
        """Let an array of objects lie at an address, and at its own."""
        self._blocks += [(address, array), (array.ctypes.data, array)]
        return array

    def room(self, values: np.ndarray | list) -> np.ndarray:
        """An array of objects with a place of its own."""
        array = objects(list(values))
        self._blocks.append((array.ctypes.data, array))
        return array

    def floats(self, address: int, n: int) -> np.ndarray:
        """What lies at an address, as `floats_at` gives it."""
        found = self._known(address, n)
        if found is None:
            self.read.append((address, n))
            found = self.put(address, objects(memory.real_floats_at(address, n).tolist()))
        return found

    def ints(self, address: int, n: int) -> np.ndarray:
        """Integers: what was put there, else those that are there."""
        found = self._known(address, n)
        return memory.real_ints_at(address, n) if found is None else found

    def function(self, address: int) -> Callable[..., Any] | None:
        """What is called in place of a C function."""
        return self.functions.get(address)

    def _known(self, address: int, n: int) -> np.ndarray | None:
        for start, array in self._blocks:
            first = address - start
            if 0 <= first <= 8 * (array.size - n):
                return array[first // 8 : first // 8 + n]
        return None

    @contextmanager
    def in_use(self) -> Iterator[Memory]:
        """Interpreted kernels of this thread see this memory."""
        with memory.seen_through(self):
            yield self
