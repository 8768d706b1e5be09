"""`Identified.write_urdf`: the user's description with the numbers that were identified."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from difflib import unified_diff
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING
from xml.parsers import expat
from xml.sax.saxutils import quoteattr

import numpy as np

from flexdyn_ros.description import RobotDescription
from flexdyn_ros.description.elements.urdf import ZERO, Inertial
from flexdyn_ros.errors import FlexdynWarning, StateError, UnsupportedError
from flexdyn_ros.families.registry import family_of
from flexdyn_ros.identification.linear.added import is_added
from flexdyn_ros.identification.linear.models import (
    INERTIAL,
    about_com,
    bodies_and_joints,
    is_inertial,
    linear_model,
    with_payloads,
)
from flexdyn_ros.identification.output.adjustable import path_of
from flexdyn_ros.identification.output.channels import SENSOR
from flexdyn_ros.loading import load
from flexdyn_ros.numerics.algebra.placement import RigidInertia
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.simulation.recordings.topics import options_of
from flexdyn_ros.writing import beside

if TYPE_CHECKING:
    from flexdyn_ros.identification.fitted import Fitted


_TAG_END = re.compile(rb"""(?:[^"'>]|"[^"]*"|'[^']*')*>""")


@dataclass(eq=False)
class Element:
    """An element: its tag and attributes, where its start tag begins and ends, where its end tag begins; all
    -1 in one that is new."""

    tag: str
    attributes: dict[str, str]
    begin: int = -1
    end: int = -1
    close: int = -1
    children: list[Element] = field(default_factory=list)

    def child(self, tag: str) -> Element | None:
        """The first child of a tag."""
        return next((element for element in self.children if element.tag == tag), None)


class Markup:
    """An XML text, and changes that are gathered for it.

    Parameters
    ----------
    text : bytes
        UTF-8.

    Raises
    ------
    StateError
        If it is no XML, or has a document type, which could stand for text that is not here.
    """

    def __init__(self, text: bytes) -> None:
        self.text = text
        self._changes: dict[int, tuple[Element, dict[str, str]]] = {}
        self._added: dict[int, tuple[Element, list[Element]]] = {}
        self._stack: list[Element] = []
        self.root = self._parsed()

    def _parsed(self) -> Element:
        parser = expat.ParserCreate("utf-8")
        found: list[Element] = []

        def start(tag: str, attributes: dict[str, str]) -> None:
            begin = parser.CurrentByteIndex
            match = _TAG_END.match(self.text, begin)
            assert match is not None
            element = Element(tag, attributes, begin, match.end())
            (self._stack[-1].children if self._stack else found).append(element)
            self._stack.append(element)

        def end(tag: str) -> None:
            self._stack.pop().close = parser.CurrentByteIndex

        def refuse(*details: object) -> None:
            raise StateError("the description has a document type: its numbers cannot be changed in place")

        parser.StartElementHandler, parser.EndElementHandler = start, end
        parser.StartDoctypeDeclHandler = refuse
        try:
            parser.Parse(self.text, True)
        except expat.ExpatError as error:
            raise StateError(f"the description is no XML: {error}") from None
        return found[0]

    # ---- changes ----

    def put(self, parent: Element, tag: str, **attributes: str) -> None:
        """Give attributes of a child other values; what is missing is added."""
        child = parent.child(tag)
        if child is None:
            self.add(parent, tag, **attributes)
        elif child.begin < 0:
            child.attributes |= attributes
        else:
            held = self._changes.setdefault(id(child), (child, {}))
            held[1].update(attributes)

    def add(self, parent: Element, tag: str, **attributes: str) -> Element:
        """A new child, at the end of its parent."""
        child = Element(tag, dict(attributes))
        parent.children.append(child)
        self._added.setdefault(id(parent), (parent, []))[1].append(child)
        return child

    def result(self) -> bytes:
        """The text with the changes."""
        edits = [(e.begin, e.end, self._changed(e, told)) for e, told in self._changes.values()]
        for parent, children in self._added.values():
            if parent.begin >= 0:
                edits.append(self._insertion(parent, children))
        text = self.text
        for begin, end, new in sorted(edits, key=lambda edit: edit[:2], reverse=True):
            text = text[:begin] + new + text[end:]
        return text

    def _insertion(self, parent: Element, children: list[Element]) -> tuple[int, int, bytes]:
        """Children before the end tag of an element, in lines of their own where that has one."""
        before = self.text[: parent.begin].rpartition(b"\n")[2].decode()
        indent = before[: len(before) - len(before.lstrip())]
        texts = [_rendered(child) for child in children]
        if parent.close <= parent.begin:  # <parent/>
            tag = self.text[parent.begin : parent.end].rstrip()[:-2].rstrip().decode()
            return parent.begin, parent.end, f"{tag}>{''.join(texts)}</{parent.tag}>".encode()
        if self.text[: parent.close].rpartition(b"\n")[2].strip():
            return parent.close, parent.close, "".join(texts).encode()
        own = "".join(f"  {text}\n{indent}" for text in texts)
        return parent.close, parent.close, own.encode()

    def _changed(self, element: Element, attributes: dict[str, str]) -> bytes:
        """A start tag with other values."""
        tag = self.text[element.begin : element.end]
        for name, value in attributes.items():
            held = re.compile(rb"""(\s%s\s*=\s*)(?:"[^"]*"|'[^']*')""" % re.escape(name.encode()))
            match = held.search(tag)
            if match is not None:
                tag = tag[: match.end(1)] + quoteattr(value).encode() + tag[match.end() :]
            else:
                ending = b"/>" if tag.endswith(b"/>") else b">"
                tag = tag[: -len(ending)].rstrip() + f" {name}={quoteattr(value)}".encode() + ending
        return tag


def _rendered(element: Element) -> str:
    """A new element as text."""
    told = "".join(f" {name}={quoteattr(value)}" for name, value in element.attributes.items())
    inner = "".join(map(_rendered, element.children))
    return f"<{element.tag}{told}>{inner}</{element.tag}>" if inner else f"<{element.tag}{told}/>"


#: changes smaller than this share are none
SAME = 1e-14
#: how close the robot that is read back is to the identified one
CLOSE = 1e-9
#: numbers of a joint that moves
_OF_JOINTS = ("damping", "friction", "rotor", "stiffness")
_OF_FRICTION = ("static", "stribeck_velocity")
_PATH = re.compile(r"(links|joints)\.(.+)\.(\w+)\.(\w+)")


def write_urdf(identified: Fitted, path: str | PathLike[str]) -> str:
    """Write the description with changed numbers only, after it was read back; returns the changes as a
    unified diff.

    A description that is xacro is written expanded. Payloads and gains of sensors have no place in it; a
    warning names them.

    Raises
    ------
    UnsupportedError
        If a number has no place in the file.
    StateError
        If the file that would be written does not give the identified robot.
    """
    old = source_of(identified.start)
    new = new_text(identified, old)
    _put(identified, Path(path), new)
    before, after = (text.decode(errors="replace").splitlines(keepends=True) for text in (old, new))
    return "".join(unified_diff(before, after, identified.start.description.file or "robot", str(path)))


def _put(identified: Fitted, target: Path, new: bytes) -> None:
    """Put the file in its place after it was read back, or nothing."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with beside(target) as draft:
        if draft != target:
            draft.write_bytes(new)
            _check(identified, draft)
            return
        # a pipe or a terminal takes what was read back elsewhere
        with TemporaryDirectory() as folder:
            read = Path(folder) / "robot.urdf"
            read.write_bytes(new)
            _check(identified, read)
        target.write_bytes(new)


def source_of(robot: Robot) -> bytes:
    """Bytes of the user's file; of text, and of what xacro made, the text."""
    file = robot.description.file
    if file is not None and Path(file).is_file():
        content = Path(file).read_bytes()
        if b"xacro" not in content:
            return content
    return robot.description.text.encode()


def new_text(identified: Fitted, old: bytes) -> bytes:
    """The description with other numbers."""
    markup = Markup(old)
    start = identified.start
    before = {p.name: p.value for p in bodies_and_joints(start, linear_model(start))}
    places = places_of(start.description)
    movable = {joint.name for joint in start.description.joints if joint.axis is not None}
    changed = {
        name: value
        for name, value in identified.values.items()
        if name not in before or abs(value - before[name]) > SAME * max(abs(before[name]), 1e-12)
    }
    bodies = dict.fromkeys(n.rpartition("/")[0] for n in changed if n in before and is_inertial(n))
    for link in bodies:
        _set_inertial(markup, identified, link, before)
    left_out = []
    for name, value in changed.items():
        if name in before and is_inertial(name):
            continue
        owner, _, part = name.rpartition("/")
        if owner in movable and (part in _OF_FRICTION or (name in before and part in _OF_JOINTS)):
            _set_joint(markup, start, owner, part, value)
        elif name.startswith("payload.") or SENSOR.fullmatch(name) or is_added(name):
            left_out.append(name)
        elif part == "mass_per_length" and start.description.link(owner).inertial is not None:
            raise UnsupportedError(
                f"{name} has no place of its own in the file: the <inertial> of {owner} is the sum of beam "
                "and bodies"
            )
        else:
            _set_path(markup, places.get(name) or path_of(name), value)
    if left_out:
        text = f"the description has no place for {', '.join(left_out)}"
        warnings.warn(text, FlexdynWarning, 4)
    return markup.result()


# ---- bodies ----


def _set_inertial(markup: Markup, identified: Fitted, link: str, before: Mapping[str, float]) -> None:
    robot = identified.start
    if link in robot.description.flexible_links:
        raise UnsupportedError(
            f"the inertia of the flexible link {link} has no place of its own in the file: its <inertial> is "
            "the sum of beam and bodies"
        )
    record = robot.description.link(link).inertial
    element = _named(markup, "link", link)
    names = [f"{link}/{part}" for part in INERTIAL]
    own = np.array([before[name] for name in names])
    found = np.array([identified.values.get(name, before[name]) for name in names])
    inertial = element.child("inertial") or markup.add(element, "inertial")
    if record is None:
        record = Inertial(0.0, ZERO, ZERO, (0.0,) * 6)
    alone = RigidInertia.of(record.mass, record.xyz, record.inertia, record.rpy).flat()
    numbers = alone + (found - own)
    com, tensor = about_com(numbers, record.rpy)
    markup.put(inertial, "origin", xyz=_vector(com))
    markup.put(inertial, "mass", value=_number(numbers[0]))
    markup.put(inertial, "inertia", **dict(zip(INERTIAL[4:], map(_number, tensor), strict=True)))


# ---- joints and paths ----


def _set_joint(markup: Markup, robot: Robot, joint: str, part: str, value: float) -> None:
    record = robot.description.joint(joint)
    if part in ("damping", "friction"):
        element = _named(markup, "joint", joint)
        markup.put(element, "dynamics", **{part: _number(value)})
    elif part == "rotor":
        ratio = record.rotor.gear_ratio if record.rotor is not None else 1.0
        _set_flexdyn(markup, joint, "rotor", "inertia", value / ratio**2)
    elif part == "stiffness":
        _set_flexdyn(markup, joint, "joint_spring", "stiffness", value)
    else:
        _set_flexdyn(markup, joint, "friction", part, value)


def _set_path(markup: Markup, path: str, value: float) -> None:
    match = _PATH.fullmatch(path)
    if match is None:
        raise UnsupportedError(
            f"{path} has no place in the file: expected links.NAME.ELEMENT.ATTRIBUTE or joints..."
        )
    _set_flexdyn(markup, match[2], {"spring": "joint_spring"}.get(match[3], match[3]), match[4], value)


def _set_flexdyn(markup: Markup, reference: str, tag: str, attribute: str, value: float) -> None:
    """An attribute of an element of a link or joint in <flexdyn>."""
    all_blocks = [b for b in markup.root.children if b.tag == "flexdyn"]
    of_reference = [b for b in all_blocks if b.attributes.get("reference") == reference]
    blocks = [b for b in of_reference if b.child(tag)] or of_reference
    block = blocks[0] if blocks else markup.add(markup.root, "flexdyn", reference=reference)
    markup.put(block, tag, **{attribute: _number(value)})


def _named(markup: Markup, tag: str, name: str) -> Element:
    for element in markup.root.children:
        if element.tag == tag and element.attributes.get("name") == name:
            return element
    raise UnsupportedError(f"the file has no <{tag} name={name!r}>: its numbers cannot be changed there")


def _number(value: float) -> str:
    return repr(float(value))


def _vector(values: np.ndarray) -> str:
    return " ".join(map(_number, values))


# ---- read back ----


def _check(identified: Fitted, path: Path) -> None:
    """StateError unless the file gives the identified robot."""
    start = identified.start
    # what was told beside the file is in the file now, where it was identified
    kept = {k: v for k, v in options_of(start).items() if k not in {path_of(n) for n in identified.values}}
    read = load(path, options=kept or None, name=start.name)
    q = start.neutral()
    v = np.linspace(-1.0, 1.0, start.nv)
    read = with_payloads(read, identified.robot.functions.payloads)
    for state in (q, start.random(np.random.default_rng(0))):
        expected, found = (robot.inverse_dynamics(state, v, v[::-1]) for robot in (identified.robot, read))
        if np.abs(found - expected).max() > CLOSE * max(float(np.abs(expected).max()), 1e-9):
            raise StateError("the description that would be written does not give the identified robot")


#: of a joint: part of the name and path below `joints.JOINT`
_OF_JOINT = {
    "rotor": "rotor.inertia",
    "stiffness": "joint_spring.stiffness",
    "elasticity_stiffness": "joint_elasticity.stiffness",
    "elasticity_damping": "joint_elasticity.damping",
}


def places_of(description: RobotDescription) -> dict[str, str]:
    """Paths of parameters, as options have them, by the parameters' names."""
    return dict(_places(description))


def _places(description: RobotDescription) -> Iterator[tuple[str, str]]:
    for joint in description.joints:
        for part in ("damping", "friction"):
            yield f"{joint.name}/{part}", f"urdf.joints.{joint.name}.dynamics.{part}"
        for part, path in _OF_JOINT.items():
            yield f"{joint.name}/{part}", f"joints.{joint.name}.{path}"
    yield from family_of(description).parameter_paths(description)
