"""Wheels behind the address of a tree: of a planar one as kernels/views.py takes them, of a general one as
kernels/tree_wheels.py does."""

from __future__ import annotations

from typing import Any

import numpy as np

from flexdyn_ros.description import RobotDescription
from flexdyn_ros.description.elements.wheels import Road
from flexdyn_ros.families.packing import Header
from flexdyn_ros.families.trees.flexible.kernels import views as flexible_views
from flexdyn_ros.families.trees.layers import layer_header
from flexdyn_ros.families.trees.rigid.model import RigidTree
from flexdyn_ros.families.wheeled.kernels import tree_wheels as layout
from flexdyn_ros.families.wheeled.kernels import tree_wheels_steps as steps
from flexdyn_ros.families.wheeled.kernels import tree_wheels_verbs as verbs
from flexdyn_ros.families.wheeled.kernels import views as planar
from flexdyn_ros.families.wheeled.model import MobileTables
from flexdyn_ros.families.wheeled.roads import PackedRoad
from flexdyn_ros.numerics.verbs.table import Table

#: functions of a tree that know no wheels and have nothing around them
OF_THE_TREE_ALONE = ("inverse", "forward", "forward_on_lanes")


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
        shift = planar.NODE_ROWS * tables.nodes
        wheels_at = shift + tables.modal
        vectors_at = wheels_at + planar.WHEEL_ROWS * wheels
        size = vectors_at + nq + 5 * nv
        table = tables.table.reshape(-1, planar.NODE_COLUMNS).copy()
        table[:, planar.MODAL_AT] += shift
        #: numbers of work memory that the kernels take, those of the planar tree or of the general one
        self.numbers = max(size, base.numbers)
        numbers, of_wheels = tables.numbers.copy(), tables.wheels.numbers.ravel().copy()
        #: the arrays of floats that kernels read and parameters change
        self.floats = (*base.floats, numbers, of_wheels)
        words = {
            planar.NODES: tables.nodes,
            planar.NODE_TABLE: table,
            planar.NODE_NUMBERS: numbers,
            planar.N_FLOATS: tables.numbers.size,
            planar.WHEELS: wheels,
            planar.WHEEL_TABLE: tables.wheels.table.ravel().copy(),
            planar.WHEEL_NUMBERS: of_wheels,
            planar.ROAD: self._road.address,
            planar.GIVEN: tables.prescribed.copy(),
            planar.EXACT: int(tables.exact),
            planar.SIZE: size,
            planar.WHEELS_AT: wheels_at,
            planar.VECTORS_AT: vectors_at,
        }
        self._header = Header(*base.header.words, size=planar.PLANAR_HEADER)
        self._header.put(words)
        self.address = self._header.address


class PackedWheels:
    """Keeps the memory of a tree on wheels alive and hands out its address.

    The header begins as that of the tree (base), so that the functions of both take the address.
    """

    def __init__(self, base: Any, description: RobotDescription, tree: RigidTree) -> None:
        m = tree.model
        self._road, self._count, self._nv = PackedRoad(description.road), len(description.wheels), m.nv
        table, numbers = _tables(description, tree)
        #: the arrays of floats that kernels read and parameters change
        self.floats = (*base.floats, numbers)
        self.header = layer_header(base, tree)
        self.address = self.header.address
        given = [c.v_index for c in tree.coordinates if c.prescribed]
        is_planar = description.base.type == "planar"
        words = {
            layout.WHEELS: len(description.wheels),
            layout.WHEEL_TABLE: table,
            layout.WHEEL_NUMBERS: numbers,
            layout.ROAD: self._road.address,
            layout.SMALL: int(is_planar and description.formulation.suspension != "exact"),
            layout.GIVEN: given[0] if given else -1,
        }
        self.header.put(words)
        #: numbers of work memory that the kernels take, of the tree and of kernels/tree_wheels.py; as
        #: tangents they hold slopes too
        self.numbers = base.numbers + layout.WHEEL_ROWS * len(description.wheels) + 7 + m.nv + m.nv**2 // 12

    def table(self, tree: Table) -> Table:
        """The table of the tree, wrapped by the functions of the wheels."""
        self.header.put({layout.INNER: tree})

        def open_slopes(names: tuple[str, ...]) -> None:
            if "slopes" in names:
                self.header.put({layout.OWN_SLOPES: verbs.pushing["slopes"]})

        alone = {name: x for name, x in tree.items() if name not in OF_THE_TREE_ALONE}
        return Table({**alone, **verbs.layer, **steps.functions}, tree, open_slopes)

    def take_steps(self, size: int) -> int:
        """Numbers of work memory of steps, those of the tree alone take `size`."""
        self.header.put({layout.INNER_WORK: size})
        return steps.wheeled_steps_size(size, self._count, self._nv)


def _tables(description: RobotDescription, tree: RigidTree) -> tuple[np.ndarray, np.ndarray]:
    """Table and numbers of the wheels, flat."""
    unilateral = description.road is not None and description.road.contact == "unilateral"
    names = [c.name for c in tree.coordinates]
    level = level_turns(tree)
    table, numbers = [], []
    for wheel in description.wheels:
        frame = tree.frames[wheel.link]
        mount = frame.placement.p + frame.placement.R @ np.array(wheel.xyz)
        at = (0, 0)
        if wheel.tyre is not None:
            hub = tree.coordinates[names.index(f"{wheel.name}/hub_z")]
            at = (hub.q_index, hub.v_index)
        spring, tyre = wheel.suspension, wheel.tyre
        rubber = (tyre.stiffness, tyre.damping, tyre.radius, tyre.mass) if tyre else (0.0,) * 4
        turn = level[frame.body]
        table.append([frame.body, *at, int(tyre is not None), int(unilateral)])
        springs = (spring.stiffness, spring.damping, spring.free_length)
        numbers.append([*mount, *(turn @ mount), *turn.ravel(), *springs, *rubber])
    return (
        np.array(table, dtype=np.int64).reshape(-1, layout.WHEEL_COLUMNS).ravel(),
        np.array(numbers, dtype=np.float64).reshape(-1, layout.WHEEL_SIZE).ravel(),
    )


def level_turns(tree: RigidTree) -> list[np.ndarray]:
    """World rotation of each node where all coordinates are zero."""
    m = tree.model
    turns = [np.eye(3)]
    for k in range(1, m.nb):
        own = np.eye(3)
        if m.joint_type[k] != flexible_views.SECTION:
            own = m.placement[12 * k : 12 * k + 9].reshape(3, 3)
        turns.append(turns[int(m.parent[k])] @ own)
    return turns
