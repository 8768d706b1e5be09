"""Assignment of rows to columns, one each, by the Hungarian method.

SciPy's function lies in a package whose import takes longer than the rest of a command.
"""

from __future__ import annotations

import numpy as np


def assign(cost: np.ndarray) -> np.ndarray:
    """The column (n,) that each row of cost (n, m), n <= m, gets, no two the same: those of the least sum.

    Potentials u, v of rows and columns keep cost - u - v >= 0, with equality where a row has a column. Each
    row in turn gets one by a shortest path of exchanges (Kuhn 1955; Jonker and Volgenant 1987). Column 0 is
    that of the row that waits.
    """
    n, m = cost.shape
    u, v, owner = np.zeros(n), np.zeros(m + 1), np.full(m + 1, -1)
    for waiting in range(n):
        owner[0], at = waiting, 0
        least, before, seen = np.full(m + 1, np.inf), np.zeros(m + 1, dtype=int), np.zeros(m + 1, dtype=bool)
        while owner[at] >= 0:
            seen[at] = True
            left = np.concatenate([[np.inf], cost[owner[at]] - u[owner[at]] - v[1:]])
            shorter = ~seen & (left < least)
            least[shorter], before[shorter] = left[shorter], at
            following = int(np.argmin(np.where(seen, np.inf, least)))
            step = least[following]
            u[owner[seen]] += step
            v[seen] -= step
            least[~seen] -= step
            at = following
        while at:
            owner[at], at = owner[before[at]], int(before[at])
    columns = np.zeros(n, dtype=int)
    columns[owner[1:][owner[1:] >= 0]] = np.flatnonzero(owner[1:] >= 0)
    return columns
