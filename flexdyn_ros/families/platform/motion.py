"""Fixed steps of a platform, with or without hydraulic cylinders: its `Motion`."""

from __future__ import annotations

from typing import Any

import numpy as np

from flexdyn_ros.families.platform.kernels.views import LEGS
from flexdyn_ros.families.trees.elements.kernels.oil import actuate
from flexdyn_ros.families.trees.elements.oil import OIL_SWITCHES, OilMemory
from flexdyn_ros.multibody.elements.cylinder.circuits import supplies_of_legs
from flexdyn_ros.multibody.elements.cylinder.hydraulics import Hydraulics
from flexdyn_ros.multibody.elements.cylinder.kernels.memory import SUPPLY_INDEX
from flexdyn_ros.multibody.elements.cylinder.memories import CylinderMemory
from flexdyn_ros.multibody.elements.cylinder.parameters import supply_parameters
from flexdyn_ros.robot.motion import Motion


def platform_motion(functions: Any) -> Motion:
    """Motion of a platform, by its `PlatformFunctions`; efforts act along the legs, whose lengths the servos
    and stops see.

    With hydraulics the memory of the actuators holds the cylinders; they are out of use (efforts are forces
    on the rods) until somebody sets their mode (simulation/steps/fused_hydraulics.py).
    """
    description, hydraulics = functions.description, functions.hydraulics
    assert description.platform is not None
    sliders = [description.joint(leg.slider) for leg in description.platform.legs]
    shortest = np.array([joint.xyz[2] for joint in sliders])
    stroke = np.array([joint.limit.upper for joint in sliders])
    table = functions.table
    return Motion(
        robot=functions.heads.moving.address,
        table=table if hydraulics is None else table.with_rows({"actuate": actuate}),
        work_size=functions.packed.take_steps(functions.heads.memory.floats.size),
        place=functions.place,
        effort_limit=functions.effort_limits,
        lower=shortest,
        upper=shortest + stroke,
        stiffness=np.zeros(6),
        damping=np.zeros(6),
        memory=None if hydraulics is None else LegMemory(_LegOil(functions, hydraulics)),
        switches=() if hydraulics is None else OIL_SWITCHES,
        keep=functions,
    )


class _LegOil:
    """The legs of a platform as `OilMemory` takes cylinders, each on the supply of constant pressure that it
    states."""

    elements = driven = places = np.arange(LEGS)

    def __init__(self, functions: Any, hydraulics: Hydraulics) -> None:
        self.functions = functions
        own, supplies = supplies_of_legs(functions.description.platform)
        names = [supply.name for supply in supplies]
        parameters = hydraulics.model.parameters.copy()
        parameters[:, SUPPLY_INDEX] = [names.index(name) for name in own]
        rows = np.array([supply_parameters(supply) for supply in supplies])
        model = hydraulics.model._replace(
            parameters=parameters, supplies=tuple(names), supply_parameters=rows, own=()
        )
        self.hydraulics = Hydraulics(model)


class LegMemory(OilMemory):
    """Memory of the cylinders of a platform; fixed steps are staggered."""

    method = CylinderMemory.method

    def scheme(self, method: str) -> float:
        return CylinderMemory.scheme(self, method)
