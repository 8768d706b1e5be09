"""A planar tree's tables behind one address, as the entries of kernels/entries.py take them."""

from __future__ import annotations

from typing import Any

import numpy as np

from flexdyn_ros.description.elements.wheels import Road
from flexdyn_ros.families.packing import Header
from flexdyn_ros.families.wheeled.kernels import views as layout
from flexdyn_ros.families.wheeled.model import MobileTables
from flexdyn_ros.families.wheeled.roads import PackedRoad


class PackedMobile:
    """Keeps the memory of a planar tree alive and hands out its address.

    The header begins as that of the general tree (base), so that the entries of both take the address.

    Parameters
    ----------
    base : PackedTree
    tables : MobileTables
    road : Road, optional
    """

    def __init__(self, base: Any, tables: MobileTables, road: Road | None, nq: int, nv: int) -> None:
        self._base, self._road = base, PackedRoad(road)
        wheels = len(tables.wheels.names)
        shift = layout.NODE_ROWS * tables.nodes
        wheels_at = shift + tables.modal
        vectors_at = wheels_at + layout.WHEEL_ROWS * wheels
        size = vectors_at + nq + 5 * nv
        table = tables.table.reshape(-1, layout.NODE_COLUMNS).copy()
        table[:, layout.MODAL_AT] += shift
        #: numbers of work memory that the kernels take, those of the planar tree or of the general one
        self.numbers = max(size, base.numbers)
        numbers, of_wheels = tables.numbers.copy(), tables.wheels.numbers.ravel().copy()
        #: the arrays of floats that kernels read and parameters change
        self.floats = (*base.floats, numbers, of_wheels)
        words = {
            layout.NODES: tables.nodes,
            layout.NODE_TABLE: table,
            layout.NODE_NUMBERS: numbers,
            layout.N_FLOATS: tables.numbers.size,
            layout.WHEELS: wheels,
            layout.WHEEL_TABLE: tables.wheels.table.ravel().copy(),
            layout.WHEEL_NUMBERS: of_wheels,
            layout.ROAD: self._road.address,
            layout.GIVEN: tables.prescribed.copy(),
            layout.EXACT: int(tables.exact),
            layout.OWN_WORK: np.zeros(size),
            layout.SIZE: size,
            layout.WHEELS_AT: wheels_at,
            layout.VECTORS_AT: vectors_at,
        }
        self._header = Header(*base.header.words, size=layout.PLANAR_HEADER)
        self._header.put(words)
        self.address = self._header.address
