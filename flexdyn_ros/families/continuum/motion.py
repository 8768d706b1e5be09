"""Fixed steps of soft arms: their `Motion`, and the lag of what feeds their actuators."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from flexdyn_ros.families.continuum.kernels import section as stops
from flexdyn_ros.families.continuum.kernels.steps import CONTINUUM_MOTION, LAGGING_MOTION, slice_code
from flexdyn_ros.families.continuum.kernels.views import work_size
from flexdyn_ros.families.continuum.model import ATMOSPHERE, PackedArm, SectionFrame, SoftArm
from flexdyn_ros.robot.motion import ElementState, Lag, Motion, actuator_limits


def continuum_motion(
    arm: SoftArm, packed: PackedArm, place: Callable[[Iterable[str]], tuple[Motion, np.ndarray, np.ndarray]]
) -> Motion:
    """Motion of an arm that `packed` holds."""
    effort_limit, lower, upper = actuator_limits(arm.coordinates)
    lag = supply_lag(arm)
    return Motion(
        robot=packed.address,
        functions=CONTINUUM_MOTION if lag is None else LAGGING_MOTION,
        work_size=work_size(len(arm.sections)),
        place=place,
        effort_limit=effort_limit,
        lower=lower,
        upper=upper,
        stiffness=np.concatenate([section.stiffness for section in arm.sections]),
        damping=np.concatenate([section.damping for section in arm.sections]),
        stiff=True,
        losses_follow=True,
        memory=lag,
        switches=(stops.__name__,),
        keep=packed,
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


def slice_points(frames: Iterable[SectionFrame]) -> tuple[np.ndarray, np.ndarray]:
    """Bodies (k,) and points (k, 3) by which the steps know frames."""
    chosen = tuple(frames)
    bodies = np.array([slice_code(f.section, f.eta) for f in chosen], dtype=np.int64)
    return bodies, np.array([f.placement.p for f in chosen], dtype=np.float64).reshape(len(chosen), 3)
