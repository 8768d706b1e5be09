"""Shapes for links that have none, so that an expanded description can be seen: bars from the origin of a
link to its joints, hubs about axes, plates and cylinders of platforms.

Only descriptions without a single visual of their own are given shapes; they are named, so that whoever draws
better ones can tell them apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from math import acos, atan2

import numpy as np
from lxml import etree

from flexdyn_ros.description import Joint, RobotDescription
from flexdyn_ros.expanded.appearance import Appearance
from flexdyn_ros.expanded.frames import add_visual, named
from flexdyn_ros.numerics.algebra.placement import Placement, rotation_of_rpy

#: name of the visuals that are made here
GENERATED = "generated_shape"
#: radius of a bar, as a share of the median distance between joints
SLENDERNESS = 0.05
#: of a hub and of a plate, in radii of a bar
HUB, PLATE = 1.5, 1.2
#: shortest bar [m]
SHORTEST = 1e-6


def add_shapes(
    root: etree._Element, description: RobotDescription, appearance: Appearance, links: Iterable[str]
) -> None:
    """Give shapes to some links of the tree of elements, unless the user's text has visuals.

    Parameters
    ----------
    root : element
        The expanded description.
    description : RobotDescription
        Tells how far it is from joint to joint.
    appearance : Appearance
        Of this description.
    links : names
        Of rigid links that the tree of elements has.
    """
    if "<visual" in description.text:
        return
    bent = {name: line.length for name, line in appearance.centrelines.items()}
    r = _radius(description, appearance, bent)
    plates = appearance.plates
    joints = {joint.child: joint for joint in description.joints}
    elements, soft = named(root, "link"), {*bent}
    for link in links:
        if link in plates:
            _add_plate(elements[link], plates[link], r)
        else:
            _add_bars(elements[link], description, link, joints.get(link), soft, r)
        joint = joints.get(link)
        if joint is not None and joint.type in ("revolute", "continuous") and joint.limit.effort != 0.0:
            size = {"radius": f"{HUB * r:.6g}", "length": f"{2.2 * HUB * r:.6g}"}
            _add(elements[link], "cylinder", np.zeros(3), np.asarray(joint.axis), size)


def _radius(description: RobotDescription, appearance: Appearance, bent: Mapping[str, float]) -> float:
    offsets = [float(np.linalg.norm(joint.xyz)) for joint in description.joints]
    lengths = [*(x for x in offsets if x > 1e-3), *appearance.spans] or [1.0]
    return appearance.bar_radius(np.array(lengths), bent, SLENDERNESS)


def _add_plate(element: etree._Element, points: np.ndarray, r: float) -> None:
    """A disc through points in a plane across z."""
    middle = points.mean(axis=0)
    radius = float(np.max(np.linalg.norm((points - middle)[:, :2], axis=1)))
    size = {"radius": f"{radius:.6g}", "length": f"{PLATE * r:.6g}"}
    _add(element, "cylinder", middle, np.array([0.0, 0.0, 1.0]), size)


def _add_bars(
    element: etree._Element,
    description: RobotDescription,
    link: str,
    joint: Joint | None,
    soft: Set[str],
    r: float,
) -> None:
    """From the origin to every joint; a link that carries nothing is as long on the other side of its centre
    of mass, and slides in what it hangs on if its joint does."""
    children = description.children_of(link)
    ends = [np.asarray(c.xyz) for c in children if not c.is_free and c.name not in soft]
    ends += [np.zeros(3) for c in children if c.name in soft]
    inertial = description.link(link).inertial
    if not ends and inertial is not None:
        ends = [2.0 * np.asarray(inertial.xyz)]
    width = 0.6 * r if joint is not None and joint.type == "prismatic" else r
    for end in ends:
        length = float(np.linalg.norm(end))
        if length > SHORTEST:
            size = {"radius": f"{min(width, 0.5 * length):.6g}", "length": f"{length:.6g}"}
            _add(element, "cylinder", 0.5 * end, end / length, size)


def _add(
    element: etree._Element, shape: str, middle: np.ndarray, axis: np.ndarray, size: dict[str, str]
) -> None:
    """A shape about an axis; URDF has cylinders along z."""
    x, y, z = axis.tolist()
    R = rotation_of_rpy((0.0, acos(min(1.0, max(-1.0, z))), atan2(y, x)))
    add_visual(element, shape, Placement(R, middle), **size).set("name", GENERATED)
