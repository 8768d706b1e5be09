"""Loops as kernels read them: words in the header of a tree, and the table that they wrap."""

from __future__ import annotations

from typing import Any

import numpy as np

from flexdyn_ros.families.trees.layers import layer_header
from flexdyn_ros.families.trees.loops.geometry import Geometry, Mount
from flexdyn_ros.families.trees.loops.kernels import rows, steps
from flexdyn_ros.families.trees.rigid.model import RigidTree
from flexdyn_ros.numerics.algebra.placement import Placement
from flexdyn_ros.numerics.verbs.table import Table

#: share of what the least pivot is at the neutral pose below which a pose is singular to steps
_NEARLY = 1e-4


class PackedLoops:
    """Keeps the memory of loops around what is packed in `base` alive.

    The header begins as that of the tree, so that the functions of all layers take the address.
    """

    def __init__(self, base: Any, tree: RigidTree, geometry: Geometry, inner: Table) -> None:
        self.header = layer_header(base, tree)
        self.address = self.header.address
        ends = [mount for loop in geometry.loops for mount in (loop.base, loop.end)]
        m = tree.model
        self.header.put(
            {
                rows.COUNT: len(geometry.loops),
                rows.ROWS: geometry.kinds.size,
                rows.KINDS: geometry.kinds,
                rows.LOOP_OF: geometry.loop_of,
                rows.LENGTHS: np.ascontiguousarray(geometry.lengths),
                rows.NODES: np.array([x.node for x in ends], dtype=np.int64),
                rows.PLACEMENTS: np.array([_in_node(x, tree).flat() for x in ends]),
                rows.INNER: inner,
                rows.MOVES: np.ones(m.nv, dtype=np.int64),
                rows.SIZES: np.ones(m.nv),
            }
        )
        #: times that rows were nearly fewer than at the neutral pose, and the share of pivots that says so
        self.lost = np.zeros(2)
        self.header.put({rows.LOST: self.lost})
        #: numbers of memory that a call takes
        self.room = int(rows.room_numbers(len(geometry.loops), geometry.kinds.size, m.nq, m.nv))
        #: the arrays of floats that kernels read and parameters change
        self.floats, self.numbers = base.floats, base.numbers
        self._inner = inner
        #: the table of what is within, wrapped by the functions of the loops
        self.wrapped = Table({**{name: x for name, x in inner.items() if name != "respond"}, **steps.functions}, inner, self._open)

    def close(self, rank: int, moves: np.ndarray, M: np.ndarray, J: np.ndarray) -> None:
        """Rank of the rows, marks (nv,) of what moves onto the loops, mass matrix and rows, at the neutral
        pose."""
        sizes = np.sqrt(np.maximum(np.diag(M), 1e-300))
        self.header.put({rows.RANK: rank, rows.MOVES: moves.astype(np.int64), rows.SIZES: sizes})
        values = np.linalg.svd(J / sizes, compute_uv=False)
        self.lost[1] = _NEARLY * (values[rank - 1] / values[0]) ** 2 if rank else 0.0

    def _open(self, names: tuple[str, ...]) -> None:
        """Write the address of what the functions of the layer call, compiled now if need be."""
        if not steps.functions.keys().isdisjoint(names):
            self.provide_rows()
            self.lost[0] = 0.0
            self._inner.provide("mass", "moved", "respond")

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
