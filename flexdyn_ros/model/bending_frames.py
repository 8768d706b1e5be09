"""Undeformed frames of what bends, in the expanded description, and how long it is there."""

from __future__ import annotations

from flexdyn_ros.description import RobotDescription
from flexdyn_ros.model.flexible import settled_link

__all__ = ["bending_frames"]


def bending_frames(description: RobotDescription) -> dict[str, tuple[str, float]]:
    """Frame and undeformed length [m] by the name of the flexible link or of the soft section's joint.

    LINK/beam has its x axis along the link, SECTION/base its z axis along the section.
    """
    frames = {
        name: (f"{name}/beam", float(settled_link(description, link).beam.length))
        for name, link in description.flexible_links.items()
    }
    frames |= {
        section.joint: (f"{section.joint}/base", float(section.length)) for section in description.sections
    }
    return frames
