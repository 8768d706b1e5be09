"""Loops as kernels read them: words in the header of a tree, and the table that they wrap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from flexdyn_ros.families.trees.flexible.kernels.kinematics import coordinates_of
from flexdyn_ros.families.trees.flexible.kernels.views import open_flexible
from flexdyn_ros.families.trees.layers import layer_header
from flexdyn_ros.families.trees.loops.kernels import rows, steps, traced
from flexdyn_ros.families.trees.loops.placing import Mount, PlacedLoop
from flexdyn_ros.families.trees.rigid.model import RigidTree
from flexdyn_ros.numerics.algebra.placement import Placement
from flexdyn_ros.numerics.verbs.table import Table

#: share of what the least pivot is at the neutral pose below which a pose is singular to steps
_NEARLY = 1e-4
#: share of the largest row below which one is nothing
_NOTHING = 1e-9


class PackedLoops:
    """Keeps the memory of loops around what is packed in `base` alive.

    The header begins as that of the tree, so that the functions of all layers take the address.
    """

    def __init__(self, base: Any, tree: RigidTree, loops: Sequence[PlacedLoop], inner: Table) -> None:
        self.header = layer_header(base, tree)
        self.address = self.header.address
        ends = [mount for loop in loops for mount in (loop.base, loop.end)]
        m, given = tree.model, [c.v_index for c in tree.coordinates if c.prescribed]
        #: kind of each row, and the number of its loop
        self.kinds = np.array([kind for loop in loops for kind in loop.rows], dtype=np.int64)
        self.loop_of = np.array([i for i, loop in enumerate(loops) for _ in loop.rows], dtype=np.int64)
        lengths = np.array([loops[i].record.length or 0.0 for i in self.loop_of])
        self.header.put(
            {
                rows.COUNT: len(loops),
                rows.ROWS: self.kinds.size,
                rows.KINDS: self.kinds,
                rows.LOOP_OF: self.loop_of,
                rows.LENGTHS: lengths,
                rows.NODES: np.array([x.node for x in ends], dtype=np.int64),
                rows.PLACEMENTS: np.array([_in_node(x, tree).flat() for x in ends]),
                rows.INNER: inner,
                rows.MOVES: np.ones(m.nv, dtype=np.int64),
                rows.SIZES: np.ones(m.nv),
                rows.GIVEN: given[0] if given else -1,
                rows.SUPPORTS: self._supports([x.node for x in ends]),
            }
        )
        #: times that rows were nearly fewer than at the neutral pose, and the share of pivots that says so
        self.lost = np.zeros(2)
        self.header.put({rows.LOST: self.lost})
        #: numbers of memory that a call takes
        self.room = int(rows.room_numbers(len(loops), self.kinds.size, m.nq, m.nv))
        #: the arrays of floats that kernels read and parameters change
        self.floats, self.numbers = base.floats, base.numbers
        self._inner = inner
        within = {name: x for name, x in inner.items() if name != "respond"}
        #: the table of what is within, wrapped by the functions of the loops
        self.wrapped = Table({**within, **steps.functions, **traced.functions}, inner, self._open)

    def _supports(self, nodes: Sequence[int]) -> np.ndarray:
        """Where the coordinates that move each node begin behind it, where the last end, then these."""
        model, found = open_flexible(self.address), []
        for node in nodes:
            moving: set[int] = set()
            while node > 0:
                first, count = coordinates_of(model, node)
                moving.update(range(first, first + count))
                node = model.tree.parent[node]
            found.append(sorted(moving))
        begins = len(nodes) + 1 + np.cumsum([0, *map(len, found)])
        return np.array([*begins, *(j for each in found for j in each)], dtype=np.int64)

    def close(self, rank: int, moves: np.ndarray, M: np.ndarray, J: np.ndarray) -> None:
        """Rank of the rows, marks (nv,) of what moves onto the loops, mass matrix and rows, at the neutral
        pose."""
        sizes = np.sqrt(np.maximum(np.diag(M), 1e-300))
        self.header.put({rows.RANK: rank, rows.MOVES: moves.astype(np.int64), rows.SIZES: sizes})
        values = np.linalg.svd(J / sizes, compute_uv=False)
        sizes_of_rows = np.linalg.norm(J / sizes, axis=1)
        taken = np.flatnonzero(sizes_of_rows > _NOTHING * sizes_of_rows.max(initial=0.0))
        # where only held coordinates could close the loops, none is
        closes = np.linalg.matrix_rank((J / sizes)[:, moves]) == rank
        held = ~moves if closes else np.zeros_like(moves)
        self.header.put(
            {
                rows.TAKING: taken.size,
                rows.TAKEN: taken,
                rows.SHARES: 1.0 / sizes_of_rows[taken],
                rows.HELD: np.concatenate([held, np.zeros_like(held)]).astype(np.int64),
            }
        )
        self.lost[1] = _NEARLY * (values[rank - 1] / values[0]) ** 2 if rank else 0.0

    def _open(self, names: tuple[str, ...]) -> None:
        """Write the address of what the functions of the layer call, compiled now if need be."""
        if not {*steps.functions, *traced.functions}.isdisjoint(names):
            self.provide_rows()
            self.lost[0] = 0.0
            self._inner.provide("accelerate", "mass", "moved", "respond")

    def provide_rows(self) -> None:
        """The function that sees the loops."""
        self.header.put({rows.SEE: rows.see_all})

    def take_steps(self, size: int) -> int:
        """Numbers of work memory of steps, those of what is within take `size`."""
        self.header.put({rows.STEPS_WORK: size})
        return size + self.room


def _in_node(mount: Mount, tree: RigidTree) -> Placement:
    """The constraint frame of one end in the axes of its node."""
    return mount.placement if mount.frame is None else tree.frames[mount.frame].placement @ mount.placement
