"""Versions of URDF: 1.0, 1.1 with quaternions, 1.2; other ones are refused, as urdfdom does.

Since 1.1 an `<origin>` may state its orientation as quat_xyzw. It becomes rpy here: whatever reads the
document or its text needs to know rpy only.
"""

from __future__ import annotations

from math import asin, atan2, hypot, isfinite, pi, sqrt

from flexdyn_ros.description.urdf.markup import Document, Element, as_float

VERSIONS = ("1.0", "1.1", "1.2")
QUATERNION = "quat_xyzw"


def settle_version(doc: Document) -> bool:
    """Refuse an unknown version; write the quaternions of the known ones as rpy. Whether any was written.

    Raises
    ------
    DescriptionError
        For a version that is not known, both rpy and quat_xyzw, or a quaternion without direction.
    """
    version = doc.root.get("version", VERSIONS[0])
    if version not in VERSIONS:
        doc.fail("unknown version of URDF", doc.root, "version", version, " or ".join(VERSIONS))
    if version == VERSIONS[0]:
        return False
    changed = False
    for parent in doc.root.iter("inertial", "visual", "collision", "joint"):
        for origin in parent.findall("origin"):
            if origin.get(QUATERNION) is not None:
                _write_angles(doc, origin)
                changed = True
    return changed


def _write_angles(doc: Document, origin: Element) -> None:
    text = origin.get(QUATERNION, "")
    if origin.get("rpy") is not None:
        doc.fail("both rpy and quat_xyzw", origin, QUATERNION, text, "one of the two")
    values = [as_float(word) for word in text.split()]
    numbers = [value for value in values if value is not None]
    if len(values) != 4 or len(numbers) != 4:
        doc.fail("not a quaternion", origin, QUATERNION, text, "four finite numbers x y z w")
    largest = max(map(abs, numbers))
    if largest < 1e-100:
        doc.fail("the quaternion has no direction", origin, QUATERNION, text, "a quaternion of unit length")
    scaled = [value / largest for value in numbers]
    length = sqrt(sum(value * value for value in scaled))
    unit = [value / length for value in scaled]
    assert all(map(isfinite, unit))
    del origin.attrib[QUATERNION]
    origin.set("rpy", " ".join(map(repr, _angles(*unit))))


def _angles(x: float, y: float, z: float, w: float) -> tuple[float, float, float]:
    """Roll, pitch, yaw of a unit quaternion; at pitch = +-90 deg the yaw is zero."""
    sine = 2.0 * (w * y - x * z)
    cosine_yaw, sine_yaw = w * w + x * x - y * y - z * z, 2.0 * (w * z + x * y)
    level = hypot(cosine_yaw, sine_yaw)
    if level < 1e-9:
        # roll and yaw are about one axis: their sum (or difference) is all that there is
        pitch = pi / 2 if sine > 0.0 else -pi / 2
        return (2.0 * atan2(x, w), pitch, 0.0)
    pitch = atan2(sine, level) if abs(sine) > 0.1 else asin(sine)
    roll = atan2(2.0 * (w * x + y * z), w * w - x * x - y * y + z * z)
    return (roll, pitch, atan2(sine_yaw, cosine_yaw))
