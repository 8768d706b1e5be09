"""Whether legs can get too near to the base-fixed axes of their universal joints within their strokes."""

from __future__ import annotations

from itertools import product
from math import asin, floor, isinf, pi

import numpy as np

from flexdyn_ros.description import RobotDescription
from flexdyn_ros.errors import DescriptionError
from flexdyn_ros.kernels.platform_kinematics import ANGLES, MOTION_COLUMNS
from flexdyn_ros.kernels.platform_verbs import find_pose_many, leg_jacobian_many, legs_many
from flexdyn_ros.model.packed_platform import PackedPlatform
from flexdyn_ros.model.platform_checks import LARGEST_K
from flexdyn_ros.model.platform_tables import LegFacts, PlatformTables

__all__ = ["check_reach", "limits_keep_clear"]

#: combinations of strokes that are tried: all ends, and so many at random
RANDOM_STROKES = 400


def limits_keep_clear(leg: LegFacts) -> bool:
    """True if the limits of the second joint alone keep |u . s| below LARGEST_K.

    The second angle, counted from where the leg is perpendicular to the first axis, has the sine +-u.s.
    """
    low, high = leg.angle_limits[1] + leg.offset
    if isinf(low) or isinf(high):
        return False
    steep = asin(LARGEST_K)
    # the first interval [steep, pi - steep] + n pi that does not end before `low`
    n = floor((low - (pi - steep)) / pi) + 1
    return bool(high < steep + n * pi)


def check_reach(description: RobotDescription, tables: PlatformTables, packed: PackedPlatform) -> None:
    """Refuse a platform one of whose legs can reach |u . s| = 0.95 within the strokes of all legs.

    Where joint limits do not rule it out, poses at the ends of all strokes and at random strokes are
    searched.

    Raises
    ------
    DescriptionError
    """
    suspects = [i for i, leg in enumerate(tables.legs) if not limits_keep_clear(leg)]
    if not suspects:
        return
    largest = _largest_k(tables, packed)
    assert description.platform is not None
    for i in suspects:
        if largest[i] >= LARGEST_K:
            leg, record = tables.legs[i], description.platform.legs[i]
            raise DescriptionError(
                f"within the strokes |u.s| reaches {largest[i]:.3g}: the leg lines up with the axis of "
                f"'{leg.joints[0]}', where its universal joint is singular",
                file=description.file,
                line=record.line,
                element=f"leg '{leg.name}'",
                attribute="slider",
                value=record.slider,
                expected=f"|u.s| < {LARGEST_K}; turn the axis, or limit joint '{leg.joints[1]}'",
            )


def _largest_k(tables: PlatformTables, packed: PackedPlatform) -> np.ndarray:
    """Largest |u . s| (6,) of each leg over poses of the home assembly that all joints' limits allow."""
    ends = np.array(list(product((0.0, 1.0), repeat=6)))
    share = np.concatenate([ends, np.random.default_rng(0).uniform(size=(RANDOM_STROKES, 6))])
    lengths = np.array([leg.shortest for leg in tables.legs]) + share * [leg.stroke for leg in tables.legs]
    q = np.tile(tables.neutral, (len(lengths) + 1, 1))
    iterations, residual = np.zeros(len(lengths), dtype=np.int64), np.empty(len(lengths))
    find_pose_many(packed.address, packed.work(), lengths, q[:-1], iterations, residual)
    J = np.empty((len(q), 6, 6))
    leg_jacobian_many(packed.address, packed.work(), q, J)
    side = np.linalg.det(J)
    table, still = np.empty((len(q), 6, MOTION_COLUMNS)), np.zeros((len(q), 6))
    legs_many(packed.address, q, still, still, table)
    angles, limits = table[..., ANGLES : ANGLES + 2], np.array([leg.angle_limits for leg in tables.legs])
    allowed = np.all((angles >= limits[..., 0]) & (angles <= limits[..., 1]), axis=(1, 2))
    found = (residual < 1e-9) & (side[:-1] * side[-1] > 0.0) & allowed[:-1]
    k = np.abs(np.einsum("nij,ij->ni", J[:-1][found][:, :, 3:], tables.axes))
    return k.max(axis=0, initial=0.0)
