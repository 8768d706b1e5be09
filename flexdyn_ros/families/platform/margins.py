"""How far poses of a platform are from their limits, and whether a pose is of the right assembly."""

from __future__ import annotations

import numpy as np

from flexdyn_ros.families.platform.model import PlatformTables, beyond_limits
from flexdyn_ros.families.platform.refusals import LARGEST_K
from flexdyn_ros.families.platform.results import Legs, Margins

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
    inside = -beyond_limits(legs.angles, limits).max((-2, -1))
    # the second angle, counted from where the leg is perpendicular to the base-fixed axis, has the sine u.s
    tilt = np.arcsin(np.clip(np.abs(np.sin(legs.angles[..., 1] + offsets)), 0.0, 1.0))
    return np.minimum(inside, np.arcsin(LARGEST_K) - tilt.max(-1))


def _ball_margin(tables: PlatformTables, q: np.ndarray, legs: Legs) -> np.ndarray:
    limit = np.array([leg.ball_limit for leg in tables.legs])
    return (limit - _ball_angles(tables, legs, _rotations(q))[0]).min(-1)


def ball_motion(
    tables: PlatformTables, legs: Legs, q: np.ndarray, v: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Angles (..., 6) of the spherical joints from home, and their rates, at poses q (..., 7) with twists v
    (..., 6) and the legs there."""
    R = _rotations(q)
    angle, turned = _ball_angles(tables, legs, R)
    arms = np.einsum("...ij,kj->...ki", R, tables.anchors)
    w, s = v[..., None, :3], legs.direction
    point = v[..., None, 3:] + np.cross(w, arms)
    swing = (point - s * (point * s).sum(-1, keepdims=True)) / legs.length[..., None]
    slope = (np.cross(w, turned) * s).sum(-1) + (turned * swing).sum(-1)
    sine = np.sin(angle)
    return angle, np.where(sine > 1e-9, -slope / np.maximum(sine, 1e-9), 0.0)


def _ball_angles(tables: PlatformTables, legs: Legs, R: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Angles (..., 6) of the legs from their directions at home, and those directions (..., 6, 3) turned with
    the platform by R (..., 3, 3)."""
    home = np.array([leg.home_direction for leg in tables.legs])
    turned = np.einsum("...ij,kj->...ki", R, home)
    cross = np.linalg.norm(np.cross(turned, legs.direction), axis=-1)
    return np.arctan2(cross, (turned * legs.direction).sum(-1)), turned


def _rotations(q: np.ndarray) -> np.ndarray:
    """Rotation matrices (..., 3, 3) of the quaternions of q (..., 7)."""
    x, y, z, w = np.moveaxis(q[..., 3:], -1, 0)
    rows = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )
    return np.moveaxis(rows, (0, 1), (-2, -1))


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
