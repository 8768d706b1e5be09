"""The URDF as an expanded description shows it: without what is not for showing, some joints as chains."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from math import hypot, isfinite, pi

from lxml import etree

from flexdyn_ros.description import Joint, RobotDescription
from flexdyn_ros.description.elements.lines import DrivenCylinder, Ends
from flexdyn_ros.description.elements.loops import Loop
from flexdyn_ros.expanded.frames import limit_to
from flexdyn_ros.multibody.constraints.loop import loops_of
from flexdyn_ros.multibody.joints.floating import free_model
from flexdyn_ros.multibody.joints.joint import JointModel
from flexdyn_ros.multibody.joints.registry import joint_model


def shown_tree(description: RobotDescription, carried: Mapping[str, str]) -> etree._Element:
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
        if (prefix := carried.get(_end(joint, "child"))) is not None:
            _stand_on_parent(joint, prefix)
            model = free_model(prefix)
        _split(root, joint, model, reach_of(description))
    return root


def first_shown(description: RobotDescription, joint: Joint) -> str:
    """The joint of an expanded description that hangs on the parent link of a joint."""
    model = joint_model(description, joint)
    return model.picture[0].name if model.is_split else joint.name


def _stand_on_parent(joint: etree._Element, prefix: str) -> None:
    """The pose of a platform is counted from the link that carries it, not from home."""
    joint.set("name", prefix)
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


def _split(root: etree._Element, joint: etree._Element, model: JointModel, reach: float) -> None:
    """One-axis joints in place of a joint; the last carries the child link."""
    parent, child = _end(joint, "parent"), _end(joint, "child")
    origin = joint.find("origin")
    index = root.index(joint)
    root.remove(joint)
    travels = _travels(model, reach)
    for number, (name, kind, axis) in enumerate(model.picture):
        last = number == len(model.picture) - 1
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
            limit_to(new, *travels.get(name, (-reach, reach)))
        root.insert(index + number, new)
        parent = link


def _travels(model: JointModel, reach: float) -> dict[str, tuple[float, float]]:
    """Limits [m] of the joints that show the screws of a joint: those stated; elsewhere half a turn of what
    turns too, as far as sliders of joints without limits go, and the reach of what only slides."""
    travels = {}
    for screw in model.chain:
        coordinate = model.coordinates[screw.coordinate]
        for shown, ratio in screw.parts:
            free = pi * abs(screw.pitch) if screw.turns else reach
            lower, upper = sorted((ratio * coordinate.lower, ratio * coordinate.upper))
            travels[shown.name] = (lower if isfinite(lower) else -free, upper if isfinite(upper) else free)
    return travels


def reach_of(description: RobotDescription) -> float:
    """Length [m] that bounds how far points of the robot are from its root link: the longest way along its
    joints, origins and strokes end to end; then, for elements and loops, both their ends and the
    longest of them. Bodies that nothing holds go farther. 1 where all of it is zero."""
    ways, waiting = {description.root: 0.0}, [description.root]
    while waiting:
        link = waiting.pop()
        for joint in description.children_of(link):
            limits = (joint.limit.lower, joint.limit.upper) if joint.type == "prismatic" else ()
            stroke = max((abs(x) for x in limits if isfinite(x)), default=0.0)
            ways[joint.child] = ways[link] + hypot(*joint.xyz) + stroke
            waiting.append(joint.child)
    records = chain(loops_of(description), *description.extras.values())
    lines = [record for record in records if isinstance(record, Ends)]
    between = (hypot(*one.base_xyz) + hypot(*one.end_xyz) + _longest(one) for one in lines)
    return max(ways.values()) + max(between, default=0.0) or 1.0


def _longest(line: Ends) -> float:
    """The most that is between the ends of a rod or a cylinder [m]; 0 of what has no such length."""
    if isinstance(line, DrivenCylinder):
        return line.minimum_length + line.stroke
    return (line.length or 0.0) if isinstance(line, Loop) else 0.0


def _end(joint: etree._Element, tag: str) -> str:
    """Name of the parent or child link."""
    element = joint.find(tag)
    return "" if element is None else element.get("link", "")
