"""Which of the shipped rviz configurations shows a robot."""

from __future__ import annotations

from pathlib import Path

from flexdyn_ros.description.elements.description import RobotDescription
from flexdyn_ros.description.urdf.sources import own_share
from flexdyn_ros.errors import DescriptionError

__all__ = ["rviz_configuration", "rviz_family"]


def rviz_family(description: RobotDescription) -> str:
    """tree, flexible, mobile, continuum or platform."""
    bends = bool(description.flexible_links) and description.formulation.flexible
    return "flexible" if description.kind == "tree" and bends else description.kind


def rviz_configuration(description: RobotDescription) -> Path:
    """The file rviz/FAMILY.rviz.

    Raises
    ------
    DescriptionError
        If it was not installed.
    """
    name = f"{rviz_family(description)}.rviz"
    for share in own_share():
        if (share / "rviz" / name).is_file():
            return share / "rviz" / name
    raise DescriptionError("no rviz configuration", value=name, expected="the files of rviz/, installed")
