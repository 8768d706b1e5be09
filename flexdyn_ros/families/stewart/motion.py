"""Fixed steps of a platform, with or without hydraulic cylinders: its `Motion`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from flexdyn_ros.families.stewart.kernels import steps
from flexdyn_ros.families.stewart.kernels.views import LEGS
from flexdyn_ros.multibody.elements.cylinder.hydraulics import Hydraulics
from flexdyn_ros.multibody.elements.cylinder.kernels import cylinder, edges, forces, oil, spool
from flexdyn_ros.multibody.elements.cylinder.kernels.memory import (
    ACTUATOR_NUMBERS,
    ACTUATOR_PARAMETERS,
    ACTUATOR_STATES,
    PARAMETER_COUNT,
    STATE_COUNT,
)
from flexdyn_ros.multibody.elements.cylinder.memories import CylinderMemory
from flexdyn_ros.robot.motion import ElementState, Motion


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
        table=table if hydraulics is None else table.with_rows(steps.hydraulic),
        work_size=functions.packed.take_steps(functions.heads.memory.floats.size),
        place=functions.place,
        effort_limit=functions.effort_limits,
        lower=shortest,
        upper=shortest + stroke,
        stiffness=np.zeros(6),
        damping=np.zeros(6),
        memory=None if hydraulics is None else LegMemory(hydraulics, functions),
        switches=()
        if hydraulics is None
        else tuple(m.__name__ for m in (cylinder, edges, forces, oil, spool)),
        keep=functions,
    )


@dataclass(frozen=True, eq=False)
class LegMemory(CylinderMemory):
    """Memory of the cylinders of a platform; their states are not among `Robot.element_states` yet."""

    hydraulics: Hydraulics
    functions: Any
    states: tuple[ElementState, ...] = ()
    places = np.arange(LEGS)

    def fresh(self) -> np.ndarray:
        """See `ElementMemory`; the cylinders are filled by simulation/steps/fused_hydraulics.py."""
        memory = np.zeros(ACTUATOR_NUMBERS)
        self.parameters(memory)[:] = self.hydraulics.model.parameters
        return memory

    def rows(self, memory: np.ndarray) -> np.ndarray:
        """See `CylinderMemory`."""
        return memory[ACTUATOR_STATES:].reshape(LEGS, STATE_COUNT)

    def parameters(self, memory: np.ndarray) -> np.ndarray:
        """See `CylinderMemory`."""
        return memory[ACTUATOR_PARAMETERS:ACTUATOR_STATES].reshape(LEGS, PARAMETER_COUNT)

    def lengths(self, q: np.ndarray) -> np.ndarray:
        """See `CylinderMemory`."""
        return np.asarray(self.functions.legwork.inverse_kinematics(q).length)

    def rates(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """See `CylinderMemory`."""
        found: np.ndarray = np.einsum("...ij,...i->...j", self.functions.robot.actuation_matrix(q), v)
        return found

    def holding(self, q: np.ndarray) -> np.ndarray:
        """See `CylinderMemory`."""
        rest = np.zeros(6)
        return np.asarray(self.functions.robot.inverse_dynamics(q, rest, rest))

    def rest(self, q: np.ndarray, v: np.ndarray | None, tau: np.ndarray | None) -> np.ndarray:
        """See `ElementMemory`."""
        return np.zeros((len(q), 0))

    def read(self, memory: np.ndarray) -> np.ndarray:
        """See `ElementMemory`."""
        return np.zeros(0)

    def write(self, memory: np.ndarray, states: np.ndarray) -> None:
        """See `ElementMemory`."""
