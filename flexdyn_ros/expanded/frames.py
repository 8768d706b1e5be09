"""Frames that move against their parent, as six one-axis joints that any URDF tool can show.

The joints follow each other from the parent on: tx, ty, tz along the parent's axes, then rz, ry, rx, so that
the frame stands at the translation (tx, ty, tz), turned by R = Rz Ry Rx.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import asin, atan2

import numpy as np
from lxml import etree

from flexdyn_ros.numerics.algebra.placement import Placement

#: (suffix, type, axis) of the six joints, in their order
AXES = (
    ("tx", "prismatic", "1 0 0"),
    ("ty", "prismatic", "0 1 0"),
    ("tz", "prismatic", "0 0 1"),
    ("rz", "continuous", "0 0 1"),
    ("ry", "continuous", "0 1 0"),
    ("rx", "continuous", "1 0 0"),
)


# ---- writing ----


def set_origin(joint: etree._Element, placement: Placement) -> None:
    """Give a joint or visual this origin in place of the one it has."""
    for old in joint.findall("origin"):
        joint.remove(old)
    R = placement.R
    rpy = (atan2(R[2, 1], R[2, 2]), asin(min(1.0, max(-1.0, -R[2, 0]))), atan2(R[1, 0], R[0, 0]))
    origin = etree.Element("origin", xyz=_numbers(placement.p), rpy=_numbers(rpy))
    joint.insert(0, origin)


def add_fixed(root: etree._Element, name: str, parent: str, child: str, placement: Placement) -> None:
    """A new link on a fixed joint."""
    etree.SubElement(root, "link", name=child)
    _joint(root, name, "fixed", parent, child, placement)


def add_moving(
    root: etree._Element,
    frame: str,
    parent: str,
    placement: Placement,
    reach: float,
    axes: Sequence[tuple[str, str, str]] = AXES,
) -> tuple[str, ...]:
    """A new link `frame` on one-axis joints FRAME/tx ... below `parent`; returns their names.

    placement: where it stands while all are zero. reach: how far it can move along an axis [m], the limits of
    sliders. Without axes it hangs on a fixed joint of its own name.
    """
    if not axes:
        add_fixed(root, frame, parent, frame, placement)
        return ()
    names = []
    for number, (suffix, kind, axis) in enumerate(axes):
        last = number == len(axes) - 1
        child = frame if last else f"{frame}/{suffix}_link"
        etree.SubElement(root, "link", name=child)
        joint = _joint(root, f"{frame}/{suffix}", kind, parent, child, placement if number == 0 else None)
        etree.SubElement(joint, "axis", xyz=axis)
        if kind == "prismatic":
            limit_to(joint, -reach, reach)
        names.append(f"{frame}/{suffix}")
        parent = child
    return tuple(names)


def limit_to(joint: etree._Element, lower: float, upper: float) -> None:
    """Give a joint these limits in place of those it has; nothing drives it."""
    for old in joint.findall("limit"):
        joint.remove(old)
    limits = {"lower": f"{lower:.9g}", "upper": f"{upper:.9g}"}
    etree.SubElement(joint, "limit", limits, effort="0", velocity="100")


def named(root: etree._Element, tag: str) -> dict[str, etree._Element]:
    """The links or joints of a tree of elements by their names."""
    return {element.get("name", ""): element for element in root.findall(tag)}


def add_visual(link: etree._Element, shape: str, placement: Placement, **sizes: str) -> etree._Element:
    """A grey box, cylinder or sphere on a link; returns its element."""
    visual = etree.SubElement(link, "visual")
    geometry = etree.SubElement(visual, "geometry")
    etree.SubElement(geometry, shape, sizes)
    set_origin(visual, placement)
    return in_grey(visual)


def in_grey(visual: etree._Element) -> etree._Element:
    """The visual with a material: rviz draws what has none in red."""
    etree.SubElement(etree.SubElement(visual, "material", name="grey"), "color", rgba="0.6 0.6 0.63 1")
    return visual


def _joint(
    root: etree._Element, name: str, kind: str, parent: str, child: str, placement: Placement | None
) -> etree._Element:
    joint = etree.SubElement(root, "joint", name=name, type=kind)
    etree.SubElement(joint, "parent", link=parent)
    etree.SubElement(joint, "child", link=child)
    if placement is not None:
        set_origin(joint, placement)
    return joint


def _numbers(values: Sequence[float] | np.ndarray) -> str:
    return " ".join(repr(float(value) + 0.0) for value in values)


# ---- values ----


def yaw_pitch_roll(R: np.ndarray) -> np.ndarray:
    """Angles (..., 3) about z, y, x of R = Rz Ry Rx (..., 3, 3)."""
    pitch = np.arcsin(np.clip(-R[..., 2, 0], -1.0, 1.0))
    yaw, roll = np.arctan2(R[..., 1, 0], R[..., 0, 0]), np.arctan2(R[..., 2, 1], R[..., 2, 2])
    return np.stack((yaw, pitch, roll), axis=-1)


def yaw_pitch_roll_of_quaternion(quaternion: np.ndarray) -> np.ndarray:
    """Angles (..., 3) about z, y, x of quaternions x y z w (..., 4)."""
    x, y, z, w = np.moveaxis(quaternion, -1, 0)
    yaw = np.arctan2(2 * (x * y + w * z), 1 - 2 * (y * y + z * z))
    pitch = np.arcsin(np.clip(2 * (w * y - z * x), -1.0, 1.0))
    roll = np.arctan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y))
    return np.stack((yaw, pitch, roll), axis=-1)


def angle_rates(angles: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Rates of yaw, pitch, roll (..., 3) from the angular velocity (..., 3) in the axes of the parent.

    At a pitch of 90 degrees yaw and roll cannot be told apart; their rates are then limited.
    """
    yaw, pitch = angles[..., 0], angles[..., 1]
    along = np.cos(yaw) * w[..., 0] + np.sin(yaw) * w[..., 1]
    across = np.cos(yaw) * w[..., 1] - np.sin(yaw) * w[..., 0]
    cosine = np.cos(pitch)
    roll = along / np.where(np.abs(cosine) < 1e-6, 1e-6, cosine)
    return np.stack((w[..., 2] + roll * np.sin(pitch), across, roll), axis=-1)


def rows_of(x: np.ndarray, batch: tuple[int, ...]) -> np.ndarray:
    """x (..., n) for every sample of a batch, copied to rows (samples, n) as kernels take them."""
    full = np.broadcast_to(x, (*batch, x.shape[-1])) if batch else x
    return np.array(full, order="C").reshape(-1, x.shape[-1])
