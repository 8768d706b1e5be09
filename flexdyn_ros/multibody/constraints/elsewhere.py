"""Loops that tags of other tools close, as `<loop>` would: for `check`, which suggests them
(docs/how-to/close_loops.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from flexdyn_ros.description import RobotDescription
from flexdyn_ros.description.urdf.markup import Element, parse
from flexdyn_ros.errors import DescriptionError
from flexdyn_ros.multibody.constraints.loop import loops_of
from flexdyn_ros.numerics.algebra.placement import Placement

#: types of `<loop>` by those of SDF joints
_OF_SDF = {
    "revolute": "revolute", "continuous": "revolute", "prismatic": "prismatic", "ball": "spherical",
    "universal": "universal", "fixed": "fixed",
}  # fmt: skip
#: those with an axis; a cross of two axes is left to the reader
_AXIAL = ("revolute", "prismatic")
#: the loop joints of Isaac Sim
_OF_ISAAC = {"spherical": "spherical", "revolute": "revolute", "prismatic": "prismatic", "fixed": "fixed"}
_DECIMALS = 12


class Closed(NamedTuple):
    """A closing joint of another tool: the tag that says it, the type of loop, both links, the joint in their
    frames (None: given by the other one and the zero pose), and its axis in the joint's frame."""

    tag: str
    type: str
    base: str
    end: str
    in_base: Placement | None
    in_end: Placement | None
    axis: np.ndarray | None = None


def suggested_loops(description: RobotDescription) -> tuple[str, ...]:
    """A sentence with a `<loop>` for each closing joint that a tag of another tool names, where no loop joins
    these links yet."""
    try:
        root = parse(description.text).root
    except DescriptionError:
        return ()
    poses = _zero_poses(description)
    known = {frozenset((loop.base, loop.end)) for loop in loops_of(description)}
    found: list[str] = []
    for closed in _closings(root, poses):
        if {closed.base, closed.end} <= poses.keys() and frozenset((closed.base, closed.end)) not in known:
            found.append(
                f"{closed.tag} closes a loop between '{closed.base}' and '{closed.end}', which is open here; "
                f"{_element(closed, poses, len(found) + 1)} closes it"
            )
    return tuple(found)


def _zero_poses(description: RobotDescription) -> dict[str, Placement]:
    """Frames of links in the root where all coordinates are zero."""
    poses = {description.root: Placement.of((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))}
    waiting = [description.root]
    while waiting:
        link = waiting.pop()
        for joint in description.children_of(link):
            poses[joint.child] = poses[link] @ Placement.of(joint.xyz, joint.rpy)
            waiting.append(joint.child)
    return poses


def _closings(root: Element, poses: dict[str, Placement]) -> Iterator[Closed]:
    for element in root.iter():
        reader = _READERS.get(_local(element))
        if reader is None:
            continue
        try:
            if (closed := reader(element, poses)) is not None:
                yield closed
        except (ValueError, KeyError, IndexError, StopIteration):
            # words of another tool that it may know how to read
            continue


def _of_gazebo(joint: Element, poses: dict[str, Placement]) -> Closed | None:
    """An SDF joint in `<gazebo>`: its pose is in the child, its axis in the joint's frame."""
    above = joint.getparent()
    parent, child = (_text(joint, name) for name in ("parent", "child"))
    kind = _OF_SDF.get(joint.get("type", ""))
    if above is None or _local(above) != "gazebo" or kind is None or not parent or not child:
        return None
    numbers = [*_numbers(_text(joint, "pose") or "0 0 0 0 0 0")]
    in_end = Placement.of(tuple(numbers[:3]), tuple(numbers[3:6]))
    axis = joint.find("axis")
    direction = None if axis is None or kind not in _AXIAL else np.array([*_numbers(_text(axis, "xyz"))])
    if direction is not None and axis is not None and _text(axis, "use_parent_model_frame") in ("1", "true"):
        direction = (poses[child] @ in_end).R.T @ direction
    return Closed(f"<gazebo><joint name='{joint.get('name')}'>", kind, parent, child, None, in_end, direction)


def _of_ball(element: Element, _: dict[str, Placement]) -> Closed:
    """`<drake:ball_constraint>`: a point in each body."""

    def of(name: str, attribute: str) -> str:
        return _word(_child(element, f"ball_constraint_{name}"), attribute)

    p_a, p_b = _numbers(of("p_AP", "value")), _numbers(of("p_BQ", "value"))
    bodies = of("body_A", "name"), of("body_B", "name")
    return Closed("<drake:ball_constraint>", "spherical", *bodies, _point(p_a), _point(p_b))


def _of_bushing(element: Element, _: dict[str, Placement]) -> Closed:
    """`<drake:linear_bushing_rpy>` holds two frames together, softly; `<frame>` says where they are."""
    ends = []
    for name in ("frameA", "frameC"):
        frame = _word(_child(element, f"bushing_{name}"), "name")
        about = next(
            (e for e in element.getroottree().getroot().iter("frame") if e.get("name") == frame), None
        )
        if about is None:
            ends.append((str(frame), _point((0.0, 0.0, 0.0))))
        else:
            xyz, rpy = (_numbers(about.get(key, "0 0 0")) for key in ("xyz", "rpy"))
            ends.append((_word(about, "link"), Placement.of(xyz, rpy)))
    (a, in_a), (c, in_c) = ends
    free = [_numbers(_word(_child(element, "bushing_torque_stiffness"), "value"))]
    axes = [i for i, stiffness in enumerate(free[0]) if stiffness == 0.0]
    if len(axes) == 3:
        return Closed("<drake:linear_bushing_rpy>", "spherical", a, c, in_a, in_c)
    if len(axes) == 1:
        return Closed("<drake:linear_bushing_rpy>", "revolute", a, c, in_a, in_c, np.eye(3)[axes[0]])
    return Closed("<drake:linear_bushing_rpy>", "fixed", a, c, in_a, in_c)


def _of_mujoco(element: Element, _: dict[str, Placement]) -> Closed | None:
    """`<connect>` and `<weld>` of an `<equality>`: the anchor is in the first body."""
    above = element.getparent()
    if above is None or _local(above) != "equality":
        return None
    tag = _local(element)
    anchor = _point(_numbers(element.get("anchor", "0 0 0")))
    first, second = _word(element, "body1"), _word(element, "body2")
    kind = "spherical" if tag == "connect" else "fixed"
    return Closed(f"<equality><{tag}>", kind, first, second, anchor, None)


def _of_isaac(element: Element, _: dict[str, Placement]) -> Closed | None:
    """`<loop_joint>` with `<link1>` and `<link2>`, as the importer of Isaac Sim reads it."""
    kind = _OF_ISAAC.get(element.get("type", ""))
    ends = [e for e in element if _local(e) in ("link1", "link2")]
    if kind is None or len(ends) != 2:
        return None
    places = [Placement.of(_numbers(e.get("xyz", "0 0 0")), _numbers(e.get("rpy", "0 0 0"))) for e in ends]
    axis = element.find("axis")
    direction = None if axis is None or kind not in _AXIAL else np.asarray(_numbers(_word(axis, "xyz")))
    if kind in _AXIAL and direction is None:
        return None
    first, second = (_word(e, "link") for e in ends)
    name = f"<loop_joint name='{element.get('name')}'>"
    return Closed(name, kind, first, second, places[0], places[1], direction)


_READERS: dict[str, Callable[[Element, dict[str, Placement]], Closed | None]] = {
    "joint": _of_gazebo,
    "ball_constraint": _of_ball,
    "linear_bushing_rpy": _of_bushing,
    "connect": _of_mujoco,
    "weld": _of_mujoco,
    "loop_joint": _of_isaac,
}


def _element(closed: Closed, poses: dict[str, Placement], number: int) -> str:
    """The `<loop>`; an end that the tag does not place is where the other one is at the zero pose."""
    base, end = poses[closed.base], poses[closed.end]
    in_base, in_end = closed.in_base, closed.in_end
    if in_base is None:
        assert in_end is not None
        in_base = base.inverse() @ end @ in_end
    if in_end is None:
        in_end = end.inverse() @ base @ in_base
    words = [f'name="loop_{number}" type="{closed.type}"']
    for side, link, place in (("base", closed.base, in_base), ("end", closed.end, in_end)):
        words.append(f'{side}="{link}" {side}_xyz="{_shown(place.p)}"')
    if closed.type == "universal":
        words.append('axis="..." end_axis="..."')
    if closed.axis is not None:
        axes = [_shown(place.R @ closed.axis) for place in (in_base, in_end)]
        words.append(f'axis="{axes[0]}"' + (f' end_axis="{axes[1]}"' if axes[1] != axes[0] else ""))
    if closed.type == "fixed":
        turn = in_base.R @ in_end.R.T
        if not np.allclose(turn, np.eye(3), atol=10.0**-_DECIMALS):
            words.append(f'base_rpy="{_shown(_rpy(turn))}"')
    return f"<loop {' '.join(words)}/>"


def _rpy(R: np.ndarray) -> np.ndarray:
    """Roll, pitch and yaw of a rotation matrix."""
    pitch = np.arctan2(-R[2, 0], np.hypot(R[0, 0], R[1, 0]))
    return np.array([np.arctan2(R[2, 1], R[2, 2]), pitch, np.arctan2(R[1, 0], R[0, 0])])


def _shown(numbers: np.ndarray) -> str:
    return " ".join(f"{x + 0.0:.12g}" for x in np.round(numbers, _DECIMALS))


def _local(element: Element) -> str:
    """The tag without namespace or prefix."""
    return str(element.tag).rpartition("}")[2].rpartition(":")[2]


def _child(element: Element, name: str) -> Element:
    return next(e for e in element if _local(e) == name)


def _word(element: Element, name: str) -> str:
    """An attribute that must be there; KeyError."""
    return str(element.attrib[name])


def _text(element: Element, name: str) -> str:
    found = element.find(name)
    return "" if found is None else (found.text or "").strip()


def _numbers(text: str) -> tuple[float, float, float]:
    numbers: tuple[float, ...] = tuple(map(float, text.split()))
    return numbers  # type: ignore[return-value]


def _point(xyz: tuple[float, float, float]) -> Placement:
    return Placement.of(xyz, (0.0, 0.0, 0.0))
