"""URDF text of a urchin.URDF or urdfpy.URDF object: links, joints and extension tags.

Meshes, visuals and collision shapes are left out: they have no part in the dynamics, and the caller has
the object.
"""

from __future__ import annotations

from math import asin, atan2, hypot
from typing import Any

from lxml import etree

from flexdyn_ros.errors import DescriptionError

_LIMIT = ("lower", "upper", "effort", "velocity")


def urdf_text(robot: Any) -> str:
    """The robot as URDF text, numbers in full precision."""
    root = etree.Element("robot", name=str(getattr(robot, "name", "") or "robot"))
    try:
        for link in robot.links:
            _add_link(root, link)
        for joint in robot.joints:
            _add_joint(root, joint)
    except (AttributeError, TypeError, IndexError, ValueError) as error:
        message = f"not an object of urchin or urdfpy: {error}"
        raise DescriptionError(
            message, value=type(robot).__name__, expected="urchin.URDF or urdfpy.URDF"
        ) from None
    _add_extensions(root, getattr(robot, "other_xml", None))
    etree.indent(root)
    return etree.tostring(root, encoding="unicode")


def _add_link(root: etree._Element, link: Any) -> None:
    element = etree.SubElement(root, "link", name=str(link.name))
    body = link.inertial
    if body is None:
        return
    inertial = etree.SubElement(element, "inertial")
    _add_origin(inertial, body.origin)
    etree.SubElement(inertial, "mass", value=_text(body.mass))
    tensor = body.inertia
    entries = {f"i{a}{b}": tensor[i][j] for i, a in enumerate("xyz") for j, b in enumerate("xyz") if i <= j}
    etree.SubElement(inertial, "inertia", {key: _text(value) for key, value in entries.items()})


def _add_joint(root: etree._Element, joint: Any) -> None:
    element = etree.SubElement(root, "joint", name=str(joint.name), type=str(joint.joint_type))
    etree.SubElement(element, "parent", link=str(joint.parent))
    etree.SubElement(element, "child", link=str(joint.child))
    _add_origin(element, joint.origin)
    if joint.joint_type not in ("fixed", "floating"):
        etree.SubElement(element, "axis", xyz=" ".join(map(_text, joint.axis)))
    _add_numbers(element, "limit", joint.limit, _LIMIT)
    _add_numbers(element, "dynamics", joint.dynamics, ("damping", "friction"))
    if joint.mimic is not None:
        leader = _add_numbers(element, "mimic", joint.mimic, ("multiplier", "offset"))
        leader.set("joint", str(joint.mimic.joint))


def _add_numbers(parent: etree._Element, tag: str, record: Any, names: tuple[str, ...]) -> Any:
    if record is None:
        return None
    values = {name: getattr(record, name) for name in names}
    return etree.SubElement(parent, tag, {name: _text(v) for name, v in values.items() if v is not None})


def _add_origin(parent: etree._Element, pose: Any) -> None:
    if pose is None:
        return
    xyz = " ".join(_text(pose[i][3]) for i in range(3))
    etree.SubElement(parent, "origin", xyz=xyz, rpy=" ".join(map(_text, _angles(pose))))


def _angles(pose: Any) -> tuple[float, float, float]:
    """Roll, pitch, yaw of a homogeneous matrix; at pitch = +-90 deg the yaw is put to zero."""
    R = [[float(pose[i][j]) for j in range(3)] for i in range(3)]
    level = hypot(R[0][0], R[1][0])
    if level > 1e-9:
        return (atan2(R[2][1], R[2][2]), atan2(-R[2][0], level), atan2(R[1][0], R[0][0]))
    return (atan2(-R[1][2], R[1][1]), asin(max(-1.0, min(1.0, -R[2][0]))), 0.0)


def _text(value: Any) -> str:
    return repr(float(value))


def _add_extensions(root: etree._Element, text: Any) -> None:
    """Tags that the object keeps as text, `<flexdyn>` among them."""
    if not text:
        return
    parser = etree.XMLParser(resolve_entities=False, no_network=True)
    for child in etree.fromstring(text, parser):
        if child.tag == "flexdyn":
            root.append(child)
