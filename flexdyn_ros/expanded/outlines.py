"""Outlines of what bends, for pictures: of beams by their section, of soft sections by their discs."""

from __future__ import annotations

from math import cos, pi, sin

import numpy as np

from flexdyn_ros.description import RobotDescription
from flexdyn_ros.description.elements.links import ISection, Rectangle, Rod, Tube

#: points around a round section, and its radius as a share of the length where none is stated
AROUND, SLENDERNESS = 20, 0.022


def outline(description: RobotDescription, name: str, length: float, around: int = AROUND) -> np.ndarray:
    """Outline (n, 2) of a flexible link or soft section [m], in the two axes across its centre line.

    Parameters
    ----------
    name : str
        Of the link, or of the section's joint.
    length : float
        [m], which the radius is taken from where the section is not known.
    around : int
        Points of a round outline.
    """
    radius = SLENDERNESS * length
    for section in description.sections:
        if section.joint == name:
            radius = max(section.radius, section.disc_radius)
    link = description.flexible_links.get(name)
    shape = link.beam.section if link is not None and link.beam is not None else None
    if isinstance(shape, Rectangle | ISection):
        w, h = 0.5 * shape.width, 0.5 * shape.height
        return np.array([[-w, -h], [w, -h], [w, h], [-w, h]])
    if isinstance(shape, Tube | Rod):
        radius = shape.outer_radius if isinstance(shape, Tube) else shape.radius
    angles = [2.0 * pi * i / around for i in range(around)]
    return radius * np.array([[cos(a), sin(a)] for a in angles])
