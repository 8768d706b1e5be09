"""The shape of the robot: one root, no loops, known links, mimic chains that end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import isinf
from typing import NoReturn

from flexdyn_ros.description.elements.description import Joint, RobotDescription
from flexdyn_ros.description.elements.urdf import Base, Limit, Link
from flexdyn_ros.description.places import suggestion
from flexdyn_ros.description.urdf.markup import Document


def free_base(robot: RobotDescription) -> RobotDescription:
    """A floating joint below a root link without inertia means a floating base: both leave the tree.

    Only where that joint is all that hangs on the root; a floating joint elsewhere stays a joint.
    Base.joint and Base.world keep the names, Base.xyz and rpy the joint's origin, which is warned of.
    """
    on_root = robot.children_of(robot.root)
    if len(on_root) != 1 or on_root[0].type != "floating" or robot.link(robot.root).inertial is not None:
        return robot
    joint = on_root[0]
    moved = any(joint.xyz) or any(joint.rpy)
    warning = f"joint '{joint.name}': <origin> of a floating base has no effect; its pose is in q"
    return replace(
        robot,
        warnings=robot.warnings + (warning,) * moved,
        root=joint.child,
        links=tuple(link for link in robot.links if link.name != robot.root),
        joints=tuple(other for other in robot.joints if other is not joint),
        base=Base("floating", joint.xyz, joint.rpy, joint.name, robot.root),
    )


def find_root(doc: Document, links: tuple[Link, ...], joints: tuple[Joint, ...]) -> str:
    """Name of the one root link; DescriptionError unless links and joints form one tree."""
    names = {link.name for link in links}
    parents: dict[str, Joint] = {}
    for joint in joints:
        _check_ends(doc, joint, names)
        if joint.child in parents:
            first = parents[joint.child].name
            _fail(
                doc,
                joint,
                f"link '{joint.child}' has two parent joints, also '{first}'",
                "child",
                joint.child,
            )
        parents[joint.child] = joint
    roots = [link.name for link in links if link.name not in parents]
    if len(roots) > 1:
        second = next(e for e in doc.root.findall("link") if e.get("name") == roots[1])
        some = ", ".join(roots[:5]) + (", ..." if len(roots) > 5 else "")
        doc.fail(
            "several links have no parent joint", second, "name", some, "one root, all else connected to it"
        )
    _check_loops(doc, links, parents)
    return roots[0]


#: joints that mimic one another in a row: every one of them is followed to the end of the chain
_LONGEST_CHAIN = 100
#: prefixes of a name that are tried
_MOST_PREFIXES = 20
_WHAT = {"mimic": ("joint", "the name of a movable joint that does not mimic this one")}


def _fail(doc: Document, joint: Joint, message: str, tag: str, value: str) -> NoReturn:
    element = next(e for e in doc.root.findall("joint") if e.get("name") == joint.name)
    at = element.find(tag)
    attribute, expected = _WHAT.get(tag, ("link", "a tree of links"))
    doc.fail(message, element if at is None else at, attribute, value, expected)


def _check_ends(doc: Document, joint: Joint, names: set[str]) -> None:
    for tag, link in (("parent", joint.parent), ("child", joint.child)):
        if link not in names:
            _fail(doc, joint, f"there is no link of that name{suggestion(link, names)}", tag, link)
    if joint.parent == joint.child:
        _fail(doc, joint, "a joint connects a link with itself", "child", joint.child)


def _check_loops(doc: Document, links: tuple[Link, ...], parents: Mapping[str, Joint]) -> None:
    """Every link must reach the root; a link that does not is on a loop or hangs on one."""
    safe: set[str] = set()
    for link in links:
        path: list[str] = []
        seen: set[str] = set()
        at = link.name
        while at in parents and at not in safe:
            if at in seen:
                _fail(doc, parents[at], "joints form a loop", "child", at)
            path.append(at)
            seen.add(at)
            at = parents[at].parent
        safe.update(path)


def settle_mimic(doc: Document, joints: tuple[Joint, ...], warnings: list[str]) -> tuple[Joint, ...]:
    """The joints with every mimic chain ending at a movable one-coordinate joint; anything else is refused.

    Leaders keep the limits of their followers, too.
    A leader that misses just the prefix which the mimicking joint carries itself (`left_q2` mimics `q1`,
    meant is `left_q1`: files merged from parts have it) is completed, with a warning.
    """
    by_name = {joint.name: joint for joint in joints}
    for joint in joints:
        if joint.mimic is not None and joint.mimic.joint not in by_name:
            leader = _completed(doc, joint, joint.mimic.joint, by_name)
            warnings.append(f"joint '{joint.name}': mimics '{joint.mimic.joint}', taken as '{leader}'")
            by_name[joint.name] = replace(joint, mimic=replace(joint.mimic, joint=leader))
    _check_chains(doc, by_name)
    return bound_leaders(by_name, warnings)


def _completed(doc: Document, joint: Joint, leader: str, by_name: Mapping[str, Joint]) -> str:
    ends = [i + 1 for i, letter in enumerate(joint.name) if letter in "_/"][:_MOST_PREFIXES]
    prefixes = [joint.name[:end] for end in ends]
    found = [prefix + leader for prefix in prefixes if prefix + leader in by_name]
    if len(found) != 1:
        _fail(doc, joint, f"there is no joint of that name{suggestion(leader, by_name)}", "mimic", leader)
    return found[0]


def _check_chains(doc: Document, by_name: Mapping[str, Joint]) -> None:
    settled: set[str] = set()
    for joint in by_name.values():
        chain: dict[str, None] = {}
        at = joint
        while at.mimic is not None and at.name not in settled:
            if at.name in chain:
                _fail(doc, at, "mimic joints form a circle", "mimic", at.mimic.joint)
            if len(chain) == _LONGEST_CHAIN:
                _fail(doc, at, f"a chain of more than {_LONGEST_CHAIN} mimic joints", "mimic", at.mimic.joint)
            chain[at.name] = None
            leader = by_name[at.mimic.joint]
            if leader.type in ("fixed", "floating", "planar"):
                _fail(doc, at, f"a {leader.type} joint cannot be mimicked", "mimic", at.mimic.joint)
            at = leader
        settled.update(chain)


def bound_leaders(joints: Mapping[str, Joint], warnings: list[str]) -> tuple[Joint, ...]:
    """The joints, leaders within the limits of all their followers; chains end at a joint that follows none.

    Limits of a follower that leave it no room (exporters write 0 for what was not given) bound nothing.
    """
    limits = {joint.name: joint.limit for joint in joints.values() if joint.mimic is None}
    for joint in joints.values():
        if joint.mimic is None:
            continue
        ratio, offset, leader = _leader_of(joint, joints)
        if ratio == 0.0:
            continue
        bounded = _bounded(limits[leader], joint.limit, ratio, offset)
        if bounded.lower > bounded.upper:
            warnings.append(
                f"joint '{joint.name}': its limits and those of '{leader}', which it mimics, exclude each "
                f"other; those of '{leader}' hold"
            )
            own = limits[leader]
            bounded = replace(bounded, lower=own.lower, upper=own.upper)
        limits[leader] = bounded
    return tuple(
        joint if joint.mimic is not None else replace(joint, limit=limits[joint.name])
        for joint in joints.values()
    )


def _leader_of(joint: Joint, joints: Mapping[str, Joint]) -> tuple[float, float, str]:
    """Ratio, offset and name of the joint at the end of a chain."""
    ratio, offset = 1.0, 0.0
    while joint.mimic is not None:
        offset += ratio * joint.mimic.offset
        ratio *= joint.mimic.multiplier
        joint = joints[joint.mimic.joint]
    return ratio, offset, joint.name


def _bounded(own: Limit, other: Limit, ratio: float, offset: float) -> Limit:
    lower, upper, effort, velocity = own.lower, own.upper, own.effort, own.velocity
    if other.lower < other.upper:
        ends = sorted(((other.lower - offset) / ratio, (other.upper - offset) / ratio))
        lower, upper = max(lower, ends[0]), min(upper, ends[1])
    if other.velocity > 0.0:
        velocity = min(velocity, other.velocity / abs(ratio))
    if other.effort > 0.0 and not isinf(other.effort):
        effort = min(effort, other.effort * abs(ratio))
    return Limit(lower, upper, effort, velocity)
