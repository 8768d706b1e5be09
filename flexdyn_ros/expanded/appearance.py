"""What views draw a robot by, beside its links and joints: one record, which each family fills."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from math import cos, pi, sin
from typing import NamedTuple

import numpy as np

from flexdyn_ros.description.elements.links import ISection, Rectangle, Rod, Tube
from flexdyn_ros.description.elements.wheels import Wheel
from flexdyn_ros.records import frozen

#: points around a round section, and its radius as a share of the length where none is stated
AROUND, SLENDERNESS = 20, 0.022


class Centreline(NamedTuple):
    """Undeformed centre line of what bends.

    frame : LINK/beam, whose x axis is along the link, or SECTION/base, whose z axis is along the section
    length : [m]
    section : of a beam, None where it is not known
    radius : of a round one without a section [m], 0 where it is not known
    """

    frame: str
    length: float
    section: object = None
    radius: float = 0.0


@frozen(kw_only=True)
class Appearance:
    """Facts of a description for pictures.

    Parameters
    ----------
    centrelines : mapping
        Of what bends, by the name of the flexible link or of the soft section's joint.
    spans : tuple of float
        Distances between neighbouring joints that no joint's origin tells [m].
    plates : mapping
        Points (k, 3) that links which are plates reach through [m], in their own axes.
    legs : mapping
        Links (cylinder, rod) of each leg by its name.
    carried : mapping
        What the six joints that show the pose of a link on legs are called, by the link: it is counted from
        the link below, whatever the URDF says.
    wheels : tuple of Wheel
    road : callable, optional
        Abscissas (n,) -> heights (n,) of the ground [m]; None where the ground is nobody's.
    """

    centrelines: Mapping[str, Centreline] = field(default_factory=dict)
    spans: tuple[float, ...] = ()
    plates: Mapping[str, np.ndarray] = field(default_factory=dict)
    legs: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    carried: Mapping[str, str] = field(default_factory=dict)
    wheels: tuple[Wheel, ...] = ()
    road: Callable[[np.ndarray], np.ndarray] | None = None

    def has_strain(self, name: str) -> bool:
        """Whether the strain of what bends is known: it needs the size of the section."""
        line = self.centrelines.get(name)
        return line is not None and (line.section is not None or line.radius > 0.0)

    def shown_quantity(self, colour: str) -> str:
        """The quantity that colours show: moments where strains are asked for and no link has any."""
        is_unknown = colour == "strain" and not any(map(self.has_strain, self.centrelines))
        return "moment" if is_unknown else colour

    def outline(self, name: str, length: float, around: int = AROUND) -> np.ndarray:
        """Outline (n, 2) of what bends [m], in the two axes across its centre line.

        Parameters
        ----------
        name : str
            Of the link, or of the section's joint.
        length : float
            [m], which the radius is taken from where the section is not known.
        around : int
            Points of a round outline.
        """
        line = self.centrelines.get(name, Centreline("", length))
        shape = line.section
        if isinstance(shape, Rectangle | ISection):
            w, h = 0.5 * shape.width, 0.5 * shape.height
            return np.array([[-w, -h], [w, -h], [w, h], [-w, h]])
        radius = line.radius or SLENDERNESS * length
        if isinstance(shape, Tube | Rod):
            radius = shape.outer_radius if isinstance(shape, Tube) else shape.radius
        angles = [2.0 * pi * i / around for i in range(around)]
        return radius * np.array([[cos(a), sin(a)] for a in angles])

    def bar_radius(self, offsets: np.ndarray, bent: Mapping[str, float], share: float) -> float:
        """Radius of bars between joints [m].

        That share of the median distance between neighbouring joints, offsets (n,) and `spans`, but between
        once and four times the radius of the thickest of what bends, whose lengths [m] are given.
        """
        radius = share * float(np.median(offsets))
        around = [float(np.max(np.abs(self.outline(name, length)))) for name, length in bent.items()]
        return float(np.clip(radius, max(around), 4.0 * max(around))) if around else radius
