"""What a tree has beside itself when it stands on wheels: kernels and tables of the planar tree.

Imported when the first robot with wheels is loaded.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from flexdyn_ros.description import RobotDescription
from flexdyn_ros.families.trees.rigid.model import RigidTree
from flexdyn_ros.families.wheeled.hubs import Hubs
from flexdyn_ros.families.wheeled.kernels import entries as mobile
from flexdyn_ros.families.wheeled.kernels import steps
from flexdyn_ros.families.wheeled.model import MobileTables, build_mobile
from flexdyn_ros.families.wheeled.packed_wheels import PackedMobile
from flexdyn_ros.numerics.verbs.table import Table
from flexdyn_ros.robot.motion import Motion

#: entries of the general tree that wheels leave as they are
_GEOMETRY = ("frames", "jacobian", "jacobian_rate", "momenta", "load")


class Rolling:
    """Wheels of a tree; immutable.

    table: of functions; packed: the memory that they take by its address;
    tables: of the planar tree, None for the method `articulated`. eliminated (nv,): marks the coordinates
    whose acceleration the recursion cannot take as given; hubs: between springs and tyres.
    """

    def __init__(self, description: RobotDescription, tree: RigidTree, table: Table, packed: Any) -> None:
        self.tables: MobileTables | None = None
        floating = description.formulation.method == "floating_frame"
        kinds = [c.kind for c in tree.coordinates]
        self.eliminated = np.array([floating and kind not in ("base", "joint") for kind in kinds], dtype=bool)
        if floating:
            self.tables = build_mobile(description, tree)
            self.packed: Any = PackedMobile(
                packed, self.tables, description.road, tree.model.nq, tree.model.nv
            )
            geometry = {name: table[name] for name in _GEOMETRY}
            self.table = Table({**mobile.functions, **steps.functions, **geometry})
        else:
            from flexdyn_ros.families.wheeled.packed_wheels import PackedWheels

            self.packed = PackedWheels(packed, description, tree)
            self.table = self.packed.table(table)
        self.hubs = Hubs(description, tree)

    def motion(self, general: Motion) -> Motion:
        """Fixed steps on wheels, from those of the general tree."""
        if self.tables is None:
            size = self.packed.take_steps(general.work_size)
        else:
            # the last number is the power that the road gives
            size = max(general.work_size, self.packed.numbers) + 1
        return replace(general, work_size=size, losses_follow=True)
