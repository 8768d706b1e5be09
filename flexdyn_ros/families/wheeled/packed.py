"""A planar tree's tables behind one address, as the entries of kernels/entries.py take them."""

from __future__ import annotations

from typing import Any

import numpy as np

from flexdyn_ros.description.elements.wheels import Road
from flexdyn_ros.families.wheeled.kernels import views as layout
from flexdyn_ros.families.wheeled.model import MobileTables
from flexdyn_ros.families.wheeled.roads import PackedRoad


class PackedMobile:
    """Keeps the memory of a planar tree alive and hands out its address.

    The header begins as that of the general tree (base), so that the entries of both take the address.

    Parameters
    ----------
    base : PackedTree or PackedFlexibleTree
    tables : MobileTables
    road : Road, optional
    """

    def __init__(self, base: Any, tables: MobileTables, road: Road | None, nq: int, nv: int) -> None:
        self._base, self._tables, self._road = base, tables, PackedRoad(road)
        self._table = tables.table.ravel().copy()
        self._numbers = tables.numbers.copy()
        self._wheel_table = tables.wheels.table.ravel().copy()
        self._wheel_numbers = tables.wheels.numbers.ravel().copy()
        self._prescribed = tables.prescribed.copy()
        wheels = len(tables.wheels.names)
        shift = layout.NODE_ROWS * tables.nodes
        wheels_at = shift + tables.modal
        vectors_at = wheels_at + layout.WHEEL_ROWS * wheels
        size = vectors_at + nq + 5 * nv
        table = self._table.reshape(-1, layout.NODE_COLUMNS)
        table[:, layout.MODAL_AT] += shift
        self._work = np.zeros(size)
        self._size = max(size, base.numbers)
        words = {
            layout.NODES: tables.nodes,
            layout.NODE_TABLE: self._table.ctypes.data,
            layout.NODE_NUMBERS: self._numbers.ctypes.data,
            layout.N_FLOATS: self._numbers.size,
            layout.WHEELS: wheels,
            layout.WHEEL_TABLE: self._wheel_table.ctypes.data,
            layout.WHEEL_NUMBERS: self._wheel_numbers.ctypes.data,
            layout.ROAD: self._road.address,
            layout.GIVEN: self._prescribed.ctypes.data,
            layout.EXACT: int(tables.exact),
            layout.OWN_WORK: self._work.ctypes.data,
            layout.SIZE: size,
            layout.WHEELS_AT: wheels_at,
            layout.VECTORS_AT: vectors_at,
        }
        self._header = np.zeros(layout.PLANAR_HEADER, dtype=np.int64)
        general = base._header
        assert general.size <= layout.PLANAR
        self._header[: general.size] = general
        for word, value in words.items():
            self._header[word] = value
        self.address = int(self._header.ctypes.data)

    @property
    def numbers(self) -> int:
        """Numbers of work memory that the kernels take, those of the planar tree or of the general one."""
        return self._size
