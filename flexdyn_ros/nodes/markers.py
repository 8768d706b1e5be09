"""Deflections as lines coloured along bending links, for viewers that know markers."""

from __future__ import annotations

from typing import Any

import numpy as np
from geometry_msgs.msg import Point
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from flexdyn_interfaces.msg import LinkDeflection, LinkDeflections

__all__ = ["deformation_markers"]


def deformation_markers(message: LinkDeflections, settings: Any) -> MarkerArray:
    """One LINE_STRIP per bending link, in its undeformed beam frame, magnified; none for a rigid robot."""
    return MarkerArray(
        markers=[
            _strip(link, i, message.header.stamp, settings)
            for i, link in enumerate(message.links)
            if len(link.stations) > 1 and len(link.displacements) == len(link.stations)
        ]
    )


def _strip(link: LinkDeflection, number: int, stamp: Any, settings: Any) -> Marker:
    marker = Marker(ns=f"deformation/{link.link}", id=number, type=Marker.LINE_STRIP, action=Marker.ADD)
    marker.header.stamp, marker.header.frame_id = stamp, settings.frame_prefix + link.frame_id
    marker.pose.orientation.w = 1.0
    marker.scale.x = 0.01 * link.length
    d = np.array([(u.x, u.y, u.z) for u in link.displacements]) * settings.magnification
    along = np.array(link.stations) * link.length
    # beams lie along the x axis of their frame, soft sections along the z axis of SECTION/base
    d[:, 2 if link.frame_id.endswith("/base") else 0] += along
    marker.points = [Point(x=x, y=y, z=z) for x, y, z in d.tolist()]
    marker.colors = [_colour(share) for share in _shares(link, settings.colour)]
    return marker


def _shares(link: LinkDeflection, colour: str) -> list[float]:
    """0 to 1 along the link: strain, displacement or moment as a share of its greatest value."""
    if colour == "strain":
        values = np.abs(np.array(link.strains))
    else:
        vectors = link.displacements if colour == "displacement" else link.moments
        values = np.linalg.norm(np.array([(u.x, u.y, u.z) for u in vectors]).reshape(-1, 3), axis=1)
    if len(values) != len(link.stations):
        values = np.zeros(len(link.stations))
    top = values.max()
    return (values / top if top > 0.0 else values).tolist()


def _colour(share: float) -> ColorRGBA:
    """Blue at 0 to red at 1."""
    return ColorRGBA(r=float(share), g=0.2, b=float(1.0 - share), a=1.0)
