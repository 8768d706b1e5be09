"""Fields of messages as arrays and numbers, checked; messages are anything that has such fields."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from math import sqrt
from typing import Any

import numpy as np

from flexdyn_ros.errors import shortened
from flexdyn_ros.numerics.algebra.placement import rotation_of_quaternion


def doubles(values: Any) -> array:
    """A float64[] field from any array: row-major, copied once."""
    out = array("d")
    out.frombytes(np.ascontiguousarray(values, dtype=np.float64).tobytes())
    return out


def numbers_of(values: Any) -> np.ndarray:
    """A float64[] field as a float64 array that shares its memory."""
    return np.frombuffer(values, dtype=np.float64) if len(values) else np.empty(0)


#: makes what is raised from a text
MakeError = Callable[[str], Exception]


def checked_numbers(
    field: str,
    values: Any,
    size: int,
    of: str = "",
    error: MakeError = ValueError,
    *,
    only: Any = slice(None),
    nan: bool = False,
) -> np.ndarray:
    """A float64[] field of `size` numbers as a new array, or some of its entries, all finite (or NaN, if that
    is allowed); else an error that names the field, and `of` what there must be a number each."""
    if len(values) != size:
        raise error(f"{field} has {len(values)} numbers, expected {size}{of and f' (as many as {of})'}")
    array = np.array(numbers_of(values)[only])
    good = ~np.isinf(array) if nan else np.isfinite(array)
    if not good.all():
        at = int(np.argmin(good))
        where = np.arange(size)[only][at]
        raise error(f"{field}[{where}] is {array[at]}, expected a finite number")
    return array


def places_of(
    given: Sequence[str], wanted: Iterable[str], field: str = "name", error: MakeError = ValueError
) -> list[int]:
    """Where the wanted names are among the given ones, each of which must be there once."""
    at = {name: i for i, name in enumerate(given)}
    if len(at) < len(given):
        raise error(f"{field} has {shortened(twice(given))!r} more than once")
    missing = [name for name in wanted if name not in at]
    if missing:
        raise error(f"{field} lacks {', '.join(missing)}, expected all of {', '.join(wanted)}")
    return [at[name] for name in wanted]


def twice(names: Sequence[str]) -> str:
    """The first of the names that is there more than once."""
    counts = Counter(names)
    return next(name for name in names if counts[name] > 1)


def seconds_of(stamp: Any) -> float:
    """Seconds of a stamp."""
    return stamp.sec + 1e-9 * stamp.nanosec


def duration_seconds(duration: Any) -> float:
    """Seconds of a duration."""
    return duration.sec + 1e-9 * duration.nanosec


def is_stale(limit: float, *ages: Any) -> Any:
    """Whether something is older than `limit` [s] by every clock: simulated time pauses, and wall time goes
    on. ages: by each clock, numbers or arrays alike."""
    stale = ages[0] > limit
    for age in ages[1:]:
        stale = stale & (age > limit)
    return stale


def matrix_from_pose(pose: Any) -> np.ndarray:
    """Homogeneous matrix (4, 4) of a pose; ValueError unless its quaternion has unit length within 1e-3."""
    x, y, z, w = (pose.orientation.x, pose.orientation.y, pose.orientation.z, pose.orientation.w)
    n = sqrt(x * x + y * y + z * z + w * w)
    if not abs(n - 1.0) <= 1e-3:
        raise ValueError(f"quaternion has length {n:g}, expected 1")
    T = np.eye(4)
    T[:3, :3] = rotation_of_quaternion(x / n, y / n, z / n, w / n)
    T[:3, 3] = pose.position.x, pose.position.y, pose.position.z
    return T
