"""From the bytes of a source to its XML document: limits, xacro, and what is refused in text."""

from __future__ import annotations

import re
from dataclasses import replace
from math import asin, atan2, hypot, isfinite, pi, sqrt
from typing import Any

from lxml import etree

from flexdyn_ros.description.urdf import limits, markup
from flexdyn_ros.description.urdf.markup import Document, Element, as_float
from flexdyn_ros.errors import DescriptionError


def parsed(
    raw: str | bytes, file: str | None, *, from_text: bool = False, arguments: Any = None
) -> tuple[Document, str]:
    """The parsed document and its text; the root is <robot>.

    A file is expanded if it is xacro. Text (no file) never is, nor a file that text has named (from_text):
    they are refused instead. Both are refused if they are larger than the limits of their origin. arguments:
    of xacro, name to value.
    """
    data = raw.encode("utf-8", "surrogatepass") if isinstance(raw, str) else raw
    limits.screen(data, file)
    messages: tuple[str, ...] = ()
    expanded = file is not None and needs_expansion(data, file)
    if arguments and (not expanded or from_text):
        message = "xacro arguments for what is no xacro file"
        expected = "a xacro file, or no arguments"
        raise DescriptionError(message, file=file, value=", ".join(map(str, arguments)), expected=expected)
    if expanded and not from_text:
        # imported here: a plain URDF needs none of it
        from flexdyn_ros.description.urdf.xacro_process import checked_arguments, expand

        assert file is not None
        raw, messages = expand(file, checked_arguments(arguments))
        data = raw.encode("utf-8", "surrogatepass")
        limits.screen(data, file)
    doc = markup.parse(raw, file, expanded=expanded)
    limits.screen_tree(doc.root, data, file)
    if file is None or from_text:
        refuse_unexpanded(doc, data)
    if doc.root.tag != "robot":
        doc.fail("the root element is not <robot>", doc.root, value=str(doc.root.tag), expected="<robot>")
    doc = replace(doc, messages=messages)
    if settle_version(doc):
        raw = etree.tostring(doc.root, encoding="unicode")
    return doc, raw if isinstance(raw, str) else markup.decoded(raw, doc.root)


_NAMESPACES = ("http://www.ros.org/wiki/xacro", "http://wiki.ros.org/xacro", "http://ros.org/wiki/xacro")
_USED = re.compile(rb"<xacro:\w|\$\{|\$\(")
_COMMENT = re.compile(rb"<!--.*?-->", re.DOTALL)
_IS_XACRO = "starts-with(name(), 'xacro:') or " + " or ".join(f"namespace-uri() = '{n}'" for n in _NAMESPACES)
_IS_EXPRESSION = "contains(., '${') or contains(., '$(')"
_EXPECTED = "expanded text; save it as a file: xacro runs only on files"


def needs_expansion(raw: bytes, file: str) -> bool:
    """Is a file xacro? By its name, or because it declares xacro's namespace and uses it."""
    if file.endswith(".xacro"):
        return True
    if not any(namespace.encode() in raw for namespace in _NAMESPACES):
        return False
    return _USED.search(_COMMENT.sub(b"", raw)) is not None


def refuse_unexpanded(doc: Document, raw: bytes) -> None:
    """Refuse xacro elements and expressions outside comments; nothing of them is evaluated.

    Raises
    ------
    DescriptionError
        With line, element, and the expression.
    """
    if not (b"$" in raw or b"&#" in raw or b"xacro" in raw or b"\0" in raw):
        return
    find: Any = doc.root.xpath
    for element in find(f"(//*[{_IS_XACRO}])[1]"):
        doc.fail("xacro in text of unknown origin", element, value=_qualified(element), expected=_EXPECTED)
    message = "an expression in text of unknown origin"
    for value in find(f"(//@*[{_IS_EXPRESSION} or {_IS_XACRO}])[1]"):
        doc.fail(message, value.getparent(), value.attrname, str(value)[:100], _EXPECTED)
    for text in find(f"(//text()[{_IS_EXPRESSION}])[1]"):
        doc.fail(message, text.getparent(), value=str(text).strip()[:100], expected=_EXPECTED)


def _qualified(element: Element) -> str:
    name = str(element.tag).rpartition("}")[2].removeprefix("xacro:")
    return f"<xacro:{name}>"


# Versions of URDF: 1.0, 1.1 with quaternions, 1.2; other ones are refused, as urdfdom does.
#
# Since 1.1 an `<origin>` may state its orientation as quat_xyzw. It becomes rpy here: whatever reads the
# document or its text needs to know rpy only.

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
