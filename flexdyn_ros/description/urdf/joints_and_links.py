"""Links and joints of a URDF. Tags of other tools (visual, gazebo, transmission, ...) are left alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import hypot, inf
from typing import NoReturn

from flexdyn_ros.description.elements.description import Joint
from flexdyn_ros.description.elements.urdf import ZERO, Inertia, Inertial, Limit, Link, Mimic
from flexdyn_ros.description.language.mistakes import part, read_all
from flexdyn_ros.description.places import suggestion
from flexdyn_ros.description.urdf.inertia import check_inertia
from flexdyn_ros.description.urdf.markup import (
    Children,
    Document,
    Element,
    children_by_tag,
    line_of,
    name_of,
    number,
    only_child,
    vector,
)

JOINT_TYPES = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")
# what URDF knows, by element: other words are left to other tools, unless they look like a typing mistake
_IN_LINK: dict[str, tuple[str, ...] | None] = {"inertial": (), "visual": None, "collision": None}
_IN_INERTIAL: dict[str, tuple[str, ...] | None] = {
    "origin": ("xyz", "rpy"),
    "mass": ("value",),
    "inertia": ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"),
}
_IN_JOINT: dict[str, tuple[str, ...] | None] = {
    "origin": ("xyz", "rpy"),
    "parent": ("link",),
    "child": ("link",),
    "axis": ("xyz",),
    "calibration": None,
    "dynamics": ("damping", "friction"),
    "limit": ("lower", "upper", "effort", "velocity"),
    "mimic": ("joint", "multiplier", "offset"),
    "safety_controller": None,
}
#: elements of a joint that mean one coordinate
_OF_ONE_AXIS = ("limit", "dynamics", "mimic")
#: attributes of the elements themselves; `type` of a link is an old one that says nothing
_OF_LINK, _OF_JOINT, _OF_INERTIAL = ("name", "type"), ("name", "type"), ()
#: unknown words that are compared with those of URDF, and that are told
_MOST_HINTS, _MOST_IGNORED = 500, 100


class _Unread:
    """Words that are not read: those near to one of URDF each time, others once."""

    def __init__(self, warnings: list[str], unread: list[str]) -> None:
        self._warnings, self._unread = warnings, unread
        self._hints: dict[str, str] = {}
        self._others: dict[str, tuple[str, int]] = {}

    def tell(self, word: str, shown: str, where: str, known: Iterable[str]) -> None:
        hint = self._typo(word, known)
        if hint:
            self._warnings.append(f"{where}: {shown} is ignored{hint}")
        elif shown in self._others:
            first, count = self._others[shown]
            self._others[shown] = (first, count + 1)
        elif len(self._others) < _MOST_IGNORED:
            self._others[shown] = (where, 1)

    def end(self) -> None:
        """Tell what was not read, each word once."""
        for shown, (where, count) in self._others.items():
            more = f" (and {count - 1} more)" if count > 1 else ""
            self._unread.append(f"{where}{more}: {shown} is no part of URDF that is read; it has no effect")

    def _typo(self, word: str, known: Iterable[str]) -> str:
        """The word of URDF that is nearly this one. Words of other tools come again and again; a text of
        hundreds of thousands of different ones is not worth the time."""
        hint = self._hints.get(word)
        if hint is None:
            hint = suggestion(word, known, 0.8) if len(self._hints) < _MOST_HINTS else ""
            self._hints[word] = hint
        return hint


def read_links(doc: Document, warnings: list[str], unread: list[str]) -> tuple[Link, ...]:
    """All `<link>` children of `<robot>`, in file order; repeated names refused.

    Adds what is probably a mistake to `warnings`, words that have no effect to `unread`.
    """
    links: dict[str, Link] = {}
    ignored = _Unread(warnings, unread)
    for element in doc.root.findall("link"):
        with part():
            name = _new_name(doc, element, links)
            # a link whose inertia is wrong is there all the same
            links[name] = Link(name, None, line_of(element))
            inertial = only_child(doc, element, "inertial")
            values = None if inertial is None else _read_inertial(doc, name, inertial, warnings)
            links[name] = Link(name, values, line_of(element))
            _note_unread(element, _OF_LINK, _IN_LINK, ignored)
            if inertial is not None:
                _note_unread(inertial, _OF_INERTIAL, _IN_INERTIAL, ignored)
    ignored.end()
    if not links:
        doc.fail("the robot has no links", doc.root, expected="at least one <link>")
    return tuple(links.values())


def read_joints(doc: Document, warnings: list[str], unread: list[str]) -> tuple[Joint, ...]:
    """All `<joint>` children of `<robot>`, in file order; repeated names refused. Lists: `read_links`."""
    joints: dict[str, Joint] = {}
    ignored = _Unread(warnings, unread)
    for element in doc.root.findall("joint"):
        with part():
            name = _new_name(doc, element, joints)
            joints[name] = _read_joint(doc, name, element, warnings)
            _note_unread(element, _OF_JOINT, _IN_JOINT, ignored)
    ignored.end()
    return tuple(joints.values())


def _new_name(doc: Document, element: Element, known: dict) -> str:
    name = name_of(doc, element)
    if name in known:
        first = known[name].line
        doc.fail(f"the name is used twice, first in line {first}", element, "name", name, "a name of its own")
    return name


def _note_unread(
    element: Element, own: tuple[str, ...], known: Mapping[str, tuple[str, ...] | None], unread: _Unread
) -> None:
    """Note attributes and children that are not read; None in `known`: an element of which nothing is."""
    for name in map(str, element.keys()):
        if name not in own and _is_plain(name):
            unread.tell(name, f"'{name}' of <{element.tag}>", _where(element, element), own)
    for child in element:
        tag = str(child.tag)
        attributes = known.get(tag, ())
        if tag not in known:
            if _is_plain(tag):
                unread.tell(tag, f"<{tag}>", _where(element, child), known)
            continue
        for name in map(str, child.keys() if attributes is not None else ()):
            if name not in (attributes or ()) and _is_plain(name):
                unread.tell(name, f"'{name}' of <{tag}>", _where(element, child), attributes or ())


def _is_plain(word: str) -> bool:
    """Whether a word is in no namespace: others are those of other tools."""
    return not (":" in word or word.startswith("{"))


def _where(element: Element, child: Element) -> str:
    named = element if element.get("name") is not None else element.getparent()
    named = element if named is None else named
    return f"{named.tag} '{named.get('name')}', line {line_of(child)}"


def _read_inertial(doc: Document, link: str, element: Element, warnings: list[str]) -> Inertial | None:
    mass_element = only_child(doc, element, "mass")
    tensor = only_child(doc, element, "inertia")
    origin = only_child(doc, element, "origin")
    if mass_element is None and tensor is None:
        warnings.append(f"link '{link}': <inertial> without <mass> and <inertia> is ignored")
        return None
    if mass_element is None:
        doc.fail("<mass> is missing", element, expected='<mass value="..."/>')
    mass = number(doc, mass_element, "value")
    if mass < 0:
        doc.fail("mass is negative", mass_element, "value", mass_element.get("value"), "mass >= 0 kg")
    if tensor is None:
        warnings.append(f"link '{link}': <inertial> without <inertia> is taken as a point mass")
        inertia = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    else:
        inertia = read_tensor(doc, tensor)
        label = f"link '{link}', line {line_of(tensor)}"
        check_inertia(_fail_at(doc, tensor), label, mass, inertia, warnings)
    return Inertial(mass, vector(doc, origin, "xyz", ZERO), vector(doc, origin, "rpy", ZERO), inertia)


def _fail_at(doc: Document, element: Element) -> Callable[..., NoReturn]:
    def fail(message: str, attribute: str | None, value: object, expected: str) -> NoReturn:
        doc.fail(message, element, attribute, value, expected)

    return fail


def read_tensor(doc: Document, element: Element) -> Inertia:
    """The six entries of `<inertia>`; off-diagonals may be left out, as many files do, the moments may
    not."""
    ixx, iyy, izz = (number(doc, element, key) for key in ("ixx", "iyy", "izz"))
    ixy, ixz, iyz = (number(doc, element, key, 0.0) for key in ("ixy", "ixz", "iyz"))
    return (ixx, ixy, ixz, iyy, iyz, izz)


def _read_joint(doc: Document, name: str, element: Element, warnings: list[str]) -> Joint:
    among = children_by_tag(element)
    kind = element.get("type")
    if kind not in JOINT_TYPES:
        # the rest is read as that of a joint about an axis with limits
        kind = "revolute"
    origin = only_child(doc, element, "origin", among)
    dynamics = only_child(doc, element, "dynamics", among)
    values = read_all(
        {
            "type": lambda: _read_type(doc, element),
            "parent": lambda: _link_of(doc, element, "parent", among),
            "child": lambda: _link_of(doc, element, "child", among),
            "xyz": lambda: vector(doc, origin, "xyz", ZERO),
            "rpy": lambda: vector(doc, origin, "rpy", ZERO),
            "axis": lambda: _read_axis(doc, element, kind, among),
            "limit": lambda: _read_limit(doc, element, kind, among, warnings),
            "damping": lambda: _not_negative(doc, dynamics, "damping"),
            "friction": lambda: _not_negative(doc, dynamics, "friction"),
            "mimic": lambda: _read_mimic(doc, element, kind, among, warnings),
        }
    )
    return Joint(
        **values,
        name=name,
        unused=tuple(tag for tag in _OF_ONE_AXIS if kind in ("floating", "planar") and tag in among),
        line=line_of(element),
    )


def _read_type(doc: Document, joint: Element) -> str:
    kind = joint.get("type")
    if kind not in JOINT_TYPES:
        doc.fail("unknown joint type", joint, "type", kind, "one of " + ", ".join(JOINT_TYPES))
    return kind


def _link_of(doc: Document, joint: Element, tag: str, among: Children) -> str:
    element = only_child(doc, joint, tag, among, required=True)
    assert element is not None
    return name_of(doc, element, "link")


def _not_negative(doc: Document, element: Element | None, attribute: str, default: float = 0.0) -> float:
    if element is None:
        return default
    value = number(doc, element, attribute, default)
    if value < 0:
        doc.fail("negative value", element, attribute, element.get(attribute), "a number >= 0")
    return value


def _read_axis(
    doc: Document, joint: Element, kind: str, among: Children
) -> tuple[float, float, float] | None:
    if kind in ("fixed", "floating"):
        return None
    element = only_child(doc, joint, "axis", among)
    axis = vector(doc, element, "xyz", (1.0, 0.0, 0.0))
    # scaled first, so that very long or short axes do not overflow
    largest = max(abs(c) for c in axis)
    if largest == 0.0 and element is not None:
        doc.fail("the axis has no direction", element, "xyz", element.get("xyz"), "a vector that is not zero")
    x, y, z = (c / largest for c in axis)
    length = hypot(x, y, z)
    return (x / length, y / length, z / length)


def _read_limit(doc: Document, joint: Element, kind: str, among: Children, warnings: list[str]) -> Limit:
    if kind in ("fixed", "floating"):
        return Limit()
    element = only_child(doc, joint, "limit", among)
    if element is None:
        if kind in ("revolute", "prismatic"):
            warnings.append(f"joint '{joint.get('name')}': {kind} without <limit>; it is taken as unlimited")
        return Limit()
    effort = _not_negative(doc, element, "effort", inf)
    velocity = _not_negative(doc, element, "velocity", inf)
    if kind == "continuous":
        return Limit(effort=effort, velocity=velocity)
    # URDF: an absent bound is 0, if the other one is there; with both absent nothing is limited
    if element.get("lower") is None and element.get("upper") is None:
        return Limit(effort=effort, velocity=velocity)
    lower, upper = number(doc, element, "lower", 0.0), number(doc, element, "upper", 0.0)
    if lower > upper:
        doc.fail("the lower limit is above the upper", element, "lower", lower, f"lower <= upper = {upper}")
    return Limit(lower, upper, effort, velocity)


def _read_mimic(
    doc: Document, joint: Element, kind: str, among: Children, warnings: list[str]
) -> Mimic | None:
    element = only_child(doc, joint, "mimic", among)
    if element is None:
        return None
    if kind in ("fixed", "floating"):
        warnings.append(f"joint '{joint.get('name')}': <mimic> of a {kind} joint is ignored")
        return None
    leader = name_of(doc, element, "joint")
    return Mimic(leader, number(doc, element, "multiplier", 1.0), number(doc, element, "offset", 0.0))
