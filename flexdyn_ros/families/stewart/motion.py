"""Fixed steps of a platform, with or without hydraulic cylinders: its `Motion`."""

from __future__ import annotations

from typing import Any

import numpy as np

from flexdyn_ros.families.stewart.kernels.steps import HYDRAULIC_MOTION, PLATFORM_MOTION
from flexdyn_ros.families.stewart.kernels.views import LEGS
from flexdyn_ros.multibody.elements.cylinder.kernels import cylinder, forces
from flexdyn_ros.multibody.elements.cylinder.kernels.memory import (
    ACTUATOR_NUMBERS,
    ACTUATOR_PARAMETERS,
    ACTUATOR_STATES,
    PARAMETER_COUNT,
)
from flexdyn_ros.numerics.stepping.table import ENERGIES
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

    def actuators() -> np.ndarray:
        memory = np.zeros(ACTUATOR_NUMBERS)
        if hydraulics is not None:
            parameters = memory[ACTUATOR_PARAMETERS:ACTUATOR_STATES].reshape(LEGS, PARAMETER_COUNT)
            parameters[:] = hydraulics.model.parameters
        return memory

    own = PLATFORM_MOTION if hydraulics is None else HYDRAULIC_MOTION
    return Motion(
        robot=functions.moving.address,
        functions={ENERGIES: functions.entries.energy} | own,
        work_size=functions.memory.floats.size,
        place=functions.place,
        effort_limit=functions.effort_limits,
        lower=shortest,
        upper=shortest + stroke,
        stiffness=np.zeros(6),
        damping=np.zeros(6),
        actuators=None if hydraulics is None else actuators,
        switches=() if hydraulics is None else (cylinder.__name__, forces.__name__),
        keep=functions,
    )
