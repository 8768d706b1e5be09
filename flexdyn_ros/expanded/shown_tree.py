"""The URDF as an expanded description shows it: without what is not for showing, some joints as chains."""

from __future__ import annotations

from collections.abc import Sequence

from lxml import etree

from flexdyn_ros.description import Joint, RobotDescription
from flexdyn_ros.multibody.joints.floating import free_model
from flexdyn_ros.multibody.joints.joint import Shown
from flexdyn_ros.multibody.joints.registry import joint_model

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
    models = {joint.name: joint_model(description, joint) for joint in description.joints}
    for joint in root.findall("joint"):
        model = models.get(joint.get("name", ""))
        if model is None or not model.is_split:
            continue
        if _end(joint, "child") == carried:
            _stand_on_parent(joint)
            model = free_model(PLATFORM)
        _split(root, joint, model.picture)
    return root


def first_shown(description: RobotDescription, joint: Joint) -> str:
    """The joint of an expanded description that hangs on the parent link of a joint."""
    model = joint_model(description, joint)
    return model.picture[0].name if model.is_split else joint.name


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


def _split(root: etree._Element, joint: etree._Element, picture: Sequence[Shown]) -> None:
    """One-axis joints in place of a joint; the last carries the child link."""
    parent, child = _end(joint, "parent"), _end(joint, "child")
    origin = joint.find("origin")
    index = root.index(joint)
    root.remove(joint)
    for number, (name, kind, axis) in enumerate(picture):
        last = number == len(picture) - 1
        link = child if last else f"{name}_link"
        if not last:
            root.append(etree.Element("link", name=link))
        new = etree.Element("joint", name=name, type=kind)
        etree.SubElement(new, "parent", link=parent)
        etree.SubElement(new, "child", link=link)
        if number == 0 and origin is not None:
            new.append(origin)
        etree.SubElement(new, "axis", xyz=" ".join(f"{x:.17g}" for x in axis))
        if kind == "prismatic":
            etree.SubElement(new, "limit", lower="-1e9", upper="1e9", effort="0", velocity="1e9")
        root.insert(index + number, new)
        parent = link


def _end(joint: etree._Element, tag: str) -> str:
    """Name of the parent or child link."""
    element = joint.find(tag)
    return "" if element is None else element.get("link", "")
