"""What kernels find behind one address: a header of integers, addresses of arrays among them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np


class Header:
    """Words that kernels read at `address`; keeps the arrays that they point to.

    words: numbers, or what has an address (arrays, tables, compiled functions), in whose place that stands.
    size: of the header, if it is longer.
    """

    def __init__(self, *words: Any, size: int = 0) -> None:
        self._kept: dict[int, object] = {}
        self.words = np.zeros(max(size, len(words)), dtype=np.int64)
        self.address = int(self.words.ctypes.data)
        self.put(dict(enumerate(words)))

    def put(self, words: Mapping[int, Any]) -> None:
        """Write words at these places."""
        self._kept.update(words)
        for place, word in words.items():
            is_array = isinstance(word, np.ndarray)
            self.words[place] = word.ctypes.data if is_array else getattr(word, "address", word)
