"""Fixed steps of soft arms: their `Motion`, and the lag of what feeds their actuators."""

from __future__ import annotations

from typing import Any

import numpy as np

from flexdyn_ros.families.continuum.kernels import section as stops
from flexdyn_ros.families.continuum.kernels import steps
from flexdyn_ros.families.continuum.model import ATMOSPHERE, SoftArm
from flexdyn_ros.robot.motion import ElementState, Lag, Motion, actuator_limits


def continuum_motion(functions: Any) -> Motion:
    """Motion of an arm, by its `ContinuumFunctions`."""
    arm = functions.arm
    effort_limit, lower, upper = actuator_limits(arm.coordinates)
    lag = supply_lag(arm)
    return Motion(
        robot=functions.heads.moving.address,
        table=functions.table if lag is None else functions.table.with_rows(steps.lagging),
        work_size=functions.heads.memory.floats.size,
        place=functions.place,
        effort_limit=effort_limit,
        lower=lower,
        upper=upper,
        stiffness=np.concatenate([section.stiffness for section in arm.sections]),
        damping=np.concatenate([section.damping for section in arm.sections]),
        stiff=True,
        losses_follow=True,
        memory=lag,
        switches=(stops.__name__,),
        keep=functions,
    )


def supply_lag(arm: SoftArm) -> Lag | None:
    """How the supplies of the sections' pressures lag; None if none does.

    A pressure lies between vacuum and its <pressure maximum>.
    """
    rows = np.zeros((3, len(arm.sections)))
    states: list[ElementState] = []
    for i, section in enumerate(arm.sections):
        p = section.pressure
        if p is not None:
            highest = np.inf if p.maximum is None else p.maximum
            rows[:, i] = p.time_constant, p.area, p.area * (highest - ATMOSPHERE)
            if p.time_constant > 0.0:
                states += [
                    ElementState(f"{section.joint}/pressure_{k}", "Pa", section.joint) for k in (1, 2, 3)
                ]
    time_constant, area, largest = np.repeat(rows, 3, axis=1)
    return Lag(tuple(states), time_constant, area, ATMOSPHERE, largest) if states else None
