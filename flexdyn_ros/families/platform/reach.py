"""Whether legs can get too near to the base-fixed axes of their universal joints within their strokes."""

from __future__ import annotations

from itertools import product
from math import asin, floor, isinf, pi

import numpy as np

from flexdyn_ros.description import RobotDescription
from flexdyn_ros.families.platform.kernels.entries import find_pose_many, leg_jacobian_many, legs_many
from flexdyn_ros.families.platform.kernels.kinematics import ANGLES, MOTION_COLUMNS
from flexdyn_ros.families.platform.model import LegFacts, PlatformTables, beyond_limits
from flexdyn_ros.families.platform.packed import PackedPlatform
from flexdyn_ros.families.platform.refusals import LARGEST_K

#: combinations of strokes that are tried: all ends, and so many at random
RANDOM_STROKES = 400
#: the climb from there: strokes tried around the best, and how far from it, as shares of the strokes
NEIGHBOURS, FIRST_RADIUS, LAST_RADIUS = 48, 0.3, 2e-3


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
    searched, and from the best of them the search climbs on.

    Raises
    ------
    DescriptionError
    """
    suspects = [i for i, leg in enumerate(tables.legs) if not limits_keep_clear(leg)]
    if not suspects:
        return
    reach = _Reach(tables, packed)
    assert description.platform is not None
    for i in suspects:
        largest = reach.largest(i)
        if largest >= LARGEST_K:
            leg, record = tables.legs[i], description.platform.legs[i]
            description.place(record, f"leg '{leg.name}'").fail(
                f"within the strokes |u.s| reaches {largest:.3g}: the leg lines up with the axis of "
                f"'{leg.joints[0]}', where its universal joint is singular",
                "slider",
                record.slider,
                f"|u.s| < {LARGEST_K}; turn the axis, or limit joint '{leg.joints[1]}'",
            )


class _Reach:
    """|u . s| of the legs over poses of the home assembly that strokes and all joints' limits allow."""

    def __init__(self, tables: PlatformTables, packed: PackedPlatform) -> None:
        self._tables, self._packed = tables, packed
        self._shortest = np.array([leg.shortest for leg in tables.legs])
        self._stroke = np.array([leg.stroke for leg in tables.legs])
        self._limits = np.array([leg.angle_limits for leg in tables.legs])
        self._side = float(np.linalg.det(self._jacobians(tables.neutral[None].copy())[0]))
        ends = np.array(list(product((0.0, 1.0), repeat=6)))
        self._share = np.concatenate([ends, np.random.default_rng(0).uniform(size=(RANDOM_STROKES, 6))])
        self._k, self._q = self._at(self._share, tables.neutral)

    def largest(self, i: int) -> float:
        """Largest |u . s| of leg i that is found."""
        at = int(np.argmax(self._k[:, i]))
        best, share, q = float(self._k[at, i]), self._share[at], self._q[at]
        rng, radius = np.random.default_rng(i), FIRST_RADIUS
        while best < LARGEST_K and radius > LAST_RADIUS:
            around = np.clip(share + radius * rng.normal(size=(NEIGHBOURS, 6)), 0.0, 1.0)
            k, poses = self._at(around, q)
            at = int(np.argmax(k[:, i]))
            if k[at, i] > best:
                best, share, q = float(k[at, i]), around[at], poses[at]
            else:
                radius *= 0.6
        return best

    def _at(self, share: np.ndarray, start: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """|u . s| (n, 6) at shares (n, 6) of the strokes, -1 where no pose is allowed, and the poses (n, 7)
        found from one to start from."""
        lengths = np.ascontiguousarray(self._shortest + share * self._stroke)
        q = np.tile(start, (len(lengths), 1))
        iterations, residual = np.zeros(len(lengths), dtype=np.int64), np.empty(len(lengths))
        find_pose_many(self._packed.address, np.empty(self._packed.numbers), lengths, q, iterations, residual)
        J = self._jacobians(q)
        table, still = np.empty((len(q), 6, MOTION_COLUMNS)), np.zeros((len(q), 6))
        legs_many(self._packed.address, q, still, still, table)
        angles = table[..., ANGLES : ANGLES + 2]
        inside = beyond_limits(angles, self._limits) <= 0.0
        found = (residual < 1e-9) & (np.linalg.det(J) * self._side > 0.0) & np.all(inside, axis=(1, 2))
        k = np.abs(np.einsum("nij,ij->ni", J[:, :, 3:], self._tables.axes))
        return np.where(found[:, None], k, -1.0), q

    def _jacobians(self, q: np.ndarray) -> np.ndarray:
        J = np.empty((len(q), 6, 6))
        leg_jacobian_many(self._packed.address, np.empty(self._packed.numbers), q, J)
        return J
