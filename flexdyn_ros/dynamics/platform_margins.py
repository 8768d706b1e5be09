"""How far poses of a platform are from their limits, and whether a pose is of the right assembly."""

from __future__ import annotations

import numpy as np

from flexdyn_ros.dynamics.platform_results import Legs, Margins
from flexdyn_ros.model.platform_checks import LARGEST_K
from flexdyn_ros.model.platform_tables import PlatformTables

__all__ = ["MASK_BITS", "WARN_AT", "homogeneous", "margins_of"]

#: what each bit of `Margins.mask` says
MASK_BITS = {
    1: "a leg is shorter than its stroke allows",
    2: "a leg is longer than its stroke allows",
    4: "a universal joint is beyond its limits",
    8: "a spherical joint is beyond its limit",
    16: "legs touch",
    32: "the smallest singular value is below 0.2",
    64: "the pose is beyond a singularity: the determinant has another sign than at home",
}
#: smallest singular value below which a pose is marked
WARN_AT = 0.2


def homogeneous(J: np.ndarray, reach: float) -> np.ndarray:
    """The leg Jacobian (..., 6, 6) with its angular columns divided by the platform's size: all entries
    without unit."""
    J = np.array(J)
    J[..., :3] /= reach
    return J


def margins_of(tables: PlatformTables, q: np.ndarray, legs: Legs, J: np.ndarray, home_sign: float) -> Margins:
    """Margins of poses q (n, 7) whose legs and leg Jacobians (n, 6, 6) are given; see `Margins`."""
    Jh = homogeneous(J, tables.reach)
    values, determinant = np.linalg.svd(Jh, compute_uv=False), np.linalg.det(Jh)
    strokes = np.array([leg.stroke for leg in tables.legs])
    low, high = legs.stroke, strokes - legs.stroke
    angle = _angle_margin(tables, legs)
    ball = _ball_margin(tables, q, legs)
    clearance = _clearance(tables, legs)
    checks = (
        low.min(-1),
        high.min(-1),
        angle,
        ball,
        clearance,
        values[:, -1] - WARN_AT,
        determinant * home_sign,
    )
    mask = np.zeros(len(q), dtype=np.int64)
    for bit, margin in zip(MASK_BITS, checks, strict=True):
        mask |= np.where(margin < 0.0, bit, 0)
    return Margins(np.minimum(low, high).min(-1), angle, ball, clearance, values, determinant, mask)


def _angle_margin(tables: PlatformTables, legs: Legs) -> np.ndarray:
    limits = np.array([leg.angle_limits for leg in tables.legs])
    offsets = np.array([leg.offset for leg in tables.legs])
    inside = np.minimum(legs.angles - limits[..., 0], limits[..., 1] - legs.angles).min((-2, -1))
    # the second angle, counted from where the leg is perpendicular to the base-fixed axis, has the sine u.s
    tilt = np.arcsin(np.clip(np.abs(np.sin(legs.angles[..., 1] + offsets)), 0.0, 1.0))
    return np.minimum(inside, np.arcsin(LARGEST_K) - tilt.max(-1))


def _ball_margin(tables: PlatformTables, q: np.ndarray, legs: Legs) -> np.ndarray:
    home = np.array([leg.home_direction for leg in tables.legs])
    limit = np.array([leg.ball_limit for leg in tables.legs])
    turned = np.einsum("nij,kj->nki", _rotations(q), home)
    cross = np.linalg.norm(np.cross(turned, legs.direction), axis=-1)
    angle = np.arctan2(cross, (turned * legs.direction).sum(-1))
    return (limit - angle).min(-1)


def _rotations(q: np.ndarray) -> np.ndarray:
    """Rotation matrices (n, 3, 3) of the quaternions of q (n, 7)."""
    x, y, z, w = q[:, 3:].T
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    ).transpose(2, 0, 1)


def _clearance(tables: PlatformTables, legs: Legs) -> np.ndarray:
    """Smallest distance between the axes of two legs with a diameter, less half of both."""
    thick = [i for i, leg in enumerate(tables.legs) if leg.diameter > 0.0]
    best = np.full(len(legs.length), np.inf)
    feet = tables.feet
    for n, i in enumerate(thick):
        for j in thick[n + 1 :]:
            span_i, span_j = (legs.direction[:, k] * legs.length[:, k, None] for k in (i, j))
            apart = segment_distance(feet[i], span_i, feet[j], span_j)
            best = np.minimum(best, apart - 0.5 * (tables.legs[i].diameter + tables.legs[j].diameter))
    return best


def segment_distance(a: np.ndarray, u: np.ndarray, b: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Distance (n,) of the segments a + s u and b + t v, 0 <= s, t <= 1; u, v (n, 3) are not zero.

    The nearest points are those of the lines where these lie within both segments; else one is an end.
    """
    w = np.broadcast_to(a - b, u.shape)
    uu, uv, vv = (u * u).sum(-1), (u * v).sum(-1), (v * v).sum(-1)
    uw, vw = (u * w).sum(-1), (v * w).sum(-1)
    area = uu * vv - uv * uv
    skew = area > 1e-14 * uu * vv
    s = np.where(skew, np.clip((uv * vw - vv * uw) / np.where(skew, area, 1.0), 0.0, 1.0), 0.0)
    t = np.clip((uv * s + vw) / vv, 0.0, 1.0)
    s = np.clip((uv * t - uw) / uu, 0.0, 1.0)
    return np.linalg.norm(w + s[:, None] * u - t[:, None] * v, axis=-1)
