"""What a TreeRobot has beside its tree when it stands on wheels: kernels and tables of the planar tree.

Imported when the first robot with wheels is loaded.
"""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from flexdyn_ros.description import RobotDescription
from flexdyn_ros.dynamics.motion import Motion
from flexdyn_ros.errors import UnsupportedError
from flexdyn_ros.kernels import mobile
from flexdyn_ros.model.mobile import build_mobile
from flexdyn_ros.model.packed_mobile import PackedMobile
from flexdyn_ros.model.tree import RigidTree

__all__ = ["Rolling"]

#: entries that wheels change; the others are those of the general tree
_DYNAMICS = (
    "inverse_dynamics_one",
    "forward_dynamics_one",
    "mass_matrix_one",
    "inverse_dynamics_many",
    "inverse_dynamics_loaded",
    "forward_dynamics_many",
    "forward_dynamics_loaded",
    "partial_dynamics_many",
    "mass_matrix_many",
    "bias_terms_many",
    "energy_many",
    "inverse_dynamics_derivatives_many",
)
_GEOMETRY = ("frames_many", "jacobian_many", "momenta_many", "integrate_many", "difference_many")


class Rolling:
    """Wheels and floating frames of a tree on a planar base; immutable.

    kernels: entries by the names of kernels/flexible.py; packed: the memory that they take by its address.
    """

    def __init__(self, description: RobotDescription, tree: RigidTree, kernels: Any, packed: Any) -> None:
        if description.formulation.method != "floating_frame":
            raise UnsupportedError(
                f"wheels with method '{description.formulation.method}' are not computed yet; "
                "'floating_frame' (planar base) is"
            )
        self.tables = build_mobile(description, tree)
        self.packed = PackedMobile(packed, self.tables, description.road, tree.model.nq, tree.model.nv)
        entries = {name: getattr(mobile, name) for name in _DYNAMICS}
        entries |= {name: getattr(kernels, name) for name in _GEOMETRY}
        self.kernels: Any = SimpleNamespace(**entries)

    def motion(self, general: Motion) -> Motion:
        """Fixed steps on wheels, from those of the general tree."""
        from flexdyn_ros.kernels.mobile_steps import MOBILE_MOTION
        from flexdyn_ros.kernels.motion import LOAD

        functions = MOBILE_MOTION | {LOAD: general.functions[LOAD]}
        size = max(general.work_size, self.packed.work().size)
        return replace(general, functions=functions, work_size=size, keep=self.packed)
