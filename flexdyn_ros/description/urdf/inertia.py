"""Is an inertia tensor that of a body?"""

from __future__ import annotations

from collections.abc import Callable
from math import acos, cos, pi, sqrt
from typing import NoReturn

# rounding of printed numbers: relative to the largest entry, and a radius of gyration of a micrometre
_RELATIVE, _GYRATION = 1e-7, 1e-6
# Published robots hold tensors with a negative principal moment (in example-robot-data down to -0.39 of the
# largest): such a link is accepted with a warning. Beyond half the largest it is refused.
_TOLERATED = 0.5


def check_inertia(
    fail: Callable[..., NoReturn], label: str, mass: float, inertia: tuple[float, ...], warnings: list[str]
) -> None:
    """Refuse a tensor with a negative moment of inertia, warn of one that no body can have.

    fail(message, attribute, value, expected) raises the error at its place; label names the body in warnings.
    """
    ixx, _, _, iyy, _, izz = inertia
    slack = _RELATIVE * max(map(abs, inertia)) + _GYRATION**2 * mass
    for name, value in (("ixx", ixx), ("iyy", iyy), ("izz", izz)):
        if value < -slack:
            fail("a moment of inertia is negative", name, value, "a number >= 0 kg m2")
    low, middle, high = principal_moments(inertia)
    if low < -slack - _TOLERATED * high:
        given = f"principal moments {low:.6g}, {middle:.6g}, {high:.6g}"
        fail("the inertia is not positive semi-definite", None, given, "principal moments >= 0 kg m2")
    if low < -slack:
        moment = f"a principal moment is {low:.3g} kg m2"
        warnings.append(f"{label}: inertia is not positive semi-definite, {moment}")
    elif high > low + middle + slack:
        moments = f"{high:.6g} > {low:.6g} + {middle:.6g} kg m2"
        warnings.append(f"{label}: inertia violates the triangle inequality, {moments}")
    if mass == 0.0 and any(inertia):
        warnings.append(f"{label}: inertia without mass")


def principal_moments(inertia: tuple[float, ...]) -> tuple[float, float, float]:
    """Eigenvalues, ascending, of the symmetric tensor (ixx, ixy, ixz, iyy, iyz, izz).

    The trigonometric closed form of O. K. Smith, CACM 4 (1961) 168, so that reading a plain URDF does not
    need numpy; good to about 1e-8 of the largest entry.
    """
    scale = max(map(abs, inertia))
    if scale == 0.0:
        return (0.0, 0.0, 0.0)
    a, d, e, b, f, c = (entry / scale for entry in inertia)
    mean = (a + b + c) / 3
    p = sqrt(((a - mean) ** 2 + (b - mean) ** 2 + (c - mean) ** 2 + 2 * (d * d + e * e + f * f)) / 6)
    if p == 0.0:
        return (mean * scale,) * 3
    a, b, c, d, e, f = (a - mean) / p, (b - mean) / p, (c - mean) / p, d / p, e / p, f / p
    half_det = (a * (b * c - f * f) - d * (d * c - f * e) + e * (d * f - b * e)) / 2
    angle = acos(max(-1.0, min(1.0, half_det))) / 3
    high = mean + 2 * p * cos(angle)
    low = mean + 2 * p * cos(angle + 2 * pi / 3)
    return (low * scale, (3 * mean - high - low) * scale, high * scale)
