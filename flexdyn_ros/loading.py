"""From a description to a robot: the front door of the library."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any, NoReturn

from flexdyn_ros.description import RobotDescription, read
from flexdyn_ros.description.urdf.sources import Origin
from flexdyn_ros.errors import DescriptionError
from flexdyn_ros.families.registry import families, family_of, find_installed
from flexdyn_ros.robot.arguments import section_of
from flexdyn_ros.robot.verbs import Robot


def load(
    source: object,
    *,
    config: str | PathLike[str] | Sequence[str | PathLike[str]] | None = None,
    options: Mapping[str, object] | None = None,
    name: str | None = None,
    origin: Origin = "any",
    xacro: Mapping[str, object] | None = None,
) -> Robot:
    """Load a robot.

    Parameters
    ----------
    source : path, "package://..." URI, XML text, name of a shipped robot, urchin.URDF or urdfpy.URDF
    config : path of a YAML file, or several; later ones win
    options : mapping, nested or with dotted paths, e.g. {"formulation.flexible": False}; wins over everything
    name : replaces `<robot name>`
    origin : "text" for text of unknown origin (from a topic, a parameter, a service), never taken for the
    name
        of a file; "recording" if the options are such, too; "file" for the name of a file; "any" takes for
        text what begins with `<`. Text is data: xacro in it is refused, it may name files of packages only,
        and is at most 10 MB with 20,000 links. A file is the user's own: xacro is expanded, in a process with
        limits, and it may name files beside itself; at most 50 MB with 50,000 links.
    xacro : values of the arguments of a xacro file, by their names; unknown arguments are refused, and all
        where the source is no xacro file

    Raises
    ------
    DescriptionError
        If anything in the description is wrong; says where, what was given and what was expected.
    UnsupportedError
        If the description is right but asks for a family or formulation that is not computed.
    """
    layers: dict[str, Any] = {
        "config": config,
        "options": options,
        "name": name,
        "origin": origin,
        "xacro": xacro,
    }
    families()
    try:
        description = read(source, **layers)
    except DescriptionError:
        # an element may be that of a family of another package
        if not find_installed():
            raise
        description = read(source, **layers)
    robot = from_description(description)
    if hasattr(source, "links") and hasattr(source, "joints"):
        robot.keep_urdf(source)
    return robot


def from_description(description: RobotDescription) -> Robot:
    """The robot of a description that has been read already."""
    family = family_of(description)
    if description.kind != family.kind:
        description = replace(description, kind=family.kind)
    family.refuse(description)
    robot = Robot(family.functions(description))
    _refuse_clashes(robot)
    return robot


def _refuse_clashes(robot: Robot) -> None:
    """Refuse names of joints and links that equal those which a coordinate or frame gets by itself.

    Raises
    ------
    DescriptionError
        With the line of the joint or link.
    """
    description = robot.description
    for names in (robot.q_names, robot.v_names, robot.effort_names):
        if len(set(names)) < len(names):
            twice = next(name for name, count in Counter(names).items() if count > 1)
            joint = next((joint for joint in description.joints if joint.name == twice), None)
            _refuse(description, "joint", twice, None if joint is None else joint.line)
    bent = {*description.flexible_links, *(section.joint for section in description.sections)}
    frames = Counter(robot.frame_names) if bent else {}
    for link in description.links if bent else ():
        body = link.name.removesuffix("/tip")
        is_frame = (body != link.name and body in bent) or section_of(link.name)[0] in bent
        if is_frame or frames.get(link.name, 0) > 1:
            _refuse(description, "link", link.name, link.line)


def _refuse(description: RobotDescription, what: str, name: str, line: int | None) -> NoReturn:
    made = "a coordinate" if what == "joint" else "a frame"
    raise DescriptionError(
        f"the name of a {what} is that of {made} which the robot has by itself",
        file=description.file,
        line=line,
        element=f"robot/{what}[{name}]",
        attribute="name",
        value=name,
        expected="a name of its own",
    )
