"""Fixed steps of soft arms: their `Motion`."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from flexdyn_ros.dynamics.motion import Motion, actuator_limits
from flexdyn_ros.kernels.continuum_steps import CONTINUUM_MOTION, slice_code
from flexdyn_ros.kernels.continuum_views import work_size
from flexdyn_ros.model.continuum import PackedArm, SectionFrame, SoftArm

__all__ = ["continuum_motion", "slice_points"]


def continuum_motion(
    arm: SoftArm,
    packed: PackedArm,
    place: Callable[[Iterable[str]], tuple[Motion, np.ndarray, np.ndarray]],
) -> Motion:
    """Motion of an arm that `packed` holds."""
    effort_limit, lower, upper = actuator_limits(arm.coordinates)
    return Motion(
        robot=packed.address,
        functions=CONTINUUM_MOTION,
        work_size=work_size(len(arm.sections)),
        place=place,
        effort_limit=effort_limit,
        lower=lower,
        upper=upper,
        stiffness=np.concatenate([section.stiffness for section in arm.sections]),
        damping=np.concatenate([section.damping for section in arm.sections]),
        stiff=True,
        keep=packed,
    )


def slice_points(frames: Iterable[SectionFrame]) -> tuple[np.ndarray, np.ndarray]:
    """Bodies (k,) and points (k, 3) by which the steps know frames."""
    chosen = tuple(frames)
    bodies = np.array([slice_code(f.section, f.eta) for f in chosen], dtype=np.int64)
    return bodies, np.array([f.placement.p for f in chosen], dtype=np.float64).reshape(len(chosen), 3)
