"""The URDF as an expanded description shows it: without what is not for showing, floating joints split."""

from __future__ import annotations

from lxml import etree

from flexdyn_ros.description import RobotDescription
from flexdyn_ros.expanded.urdf_joints import SIX_AXES

#: of the six joints that carry a platform, whatever the URDF calls its floating joint
PLATFORM = "platform"


def shown_tree(description: RobotDescription, carried: str) -> etree._Element:
    """The URDF without what is not for showing, as a tree of elements; `carried` as of `Appearance`."""
    parser = etree.XMLParser(remove_comments=True, resolve_entities=False)
    root = etree.fromstring(description.text.encode(), parser)
    for element in list(root):
        if element.tag in ("flexdyn", "gazebo", "transmission", "ros2_control"):
            root.remove(element)
    for inertial in list(root.iter("inertial")):
        inertial.getparent().remove(inertial)
    root.set("name", description.name)
    _drop_base(root, description)
    floating = {joint.name for joint in description.joints if joint.type == "floating"}
    for joint in root.findall("joint"):
        if joint.get("name") not in floating:
            continue
        if _end(joint, "child") == carried:
            _stand_on_parent(joint)
        _split_floating(root, joint)
    return root


def _stand_on_parent(joint: etree._Element) -> None:
    """The pose of a platform is counted from the link that carries it, not from home."""
    joint.set("name", PLATFORM)
    for origin in joint.findall("origin"):
        joint.remove(origin)


def text_of(root: etree._Element) -> str:
    """The tree of elements as indented text."""
    etree.indent(root)
    return etree.tostring(root, encoding="unicode") + "\n"


def _drop_base(root: etree._Element, description: RobotDescription) -> None:
    """Take the floating joint of the base and the link above it out: odometry places the root link."""
    base = description.base
    for element in root.findall("joint") + root.findall("link"):
        is_joint = element.tag == "joint" and element.get("name") == base.joint
        if (base.joint and is_joint) or (
            base.world and element.tag == "link" and element.get("name") == base.world
        ):
            root.remove(element)


def _split_floating(root: etree._Element, joint: etree._Element) -> None:
    """Six one-axis joints in place of a floating one; the last carries the child link."""
    name, parent, child = joint.get("name", ""), _end(joint, "parent"), _end(joint, "child")
    origin = joint.find("origin")
    index = root.index(joint)
    root.remove(joint)
    for number, (suffix, kind, axis) in enumerate(SIX_AXES):
        last = number == len(SIX_AXES) - 1
        link = child if last else f"{name}/{suffix}_link"
        if not last:
            root.append(etree.Element("link", name=link))
        new = etree.Element("joint", name=f"{name}/{suffix}", type=kind)
        etree.SubElement(new, "parent", link=parent)
        etree.SubElement(new, "child", link=link)
        if number == 0 and origin is not None:
            new.append(origin)
        etree.SubElement(new, "axis", xyz=axis)
        if kind == "prismatic":
            etree.SubElement(new, "limit", lower="-1e9", upper="1e9", effort="0", velocity="1e9")
        root.insert(index + number, new)
        parent = link


def _end(joint: etree._Element, tag: str) -> str:
    """Name of the parent or child link."""
    element = joint.find(tag)
    return "" if element is None else element.get("link", "")
