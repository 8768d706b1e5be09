"""How entries end, and what they accept."""

from __future__ import annotations

#: status codes of entries
OK, BAD_SHAPE, NOT_FINITE, BAD_QUATERNION, SINGULAR = 0, 1, 2, 3, 4
#: largest deviation of a quaternion's length from one that is accepted
QUATERNION_TOLERANCE = 1e-6
