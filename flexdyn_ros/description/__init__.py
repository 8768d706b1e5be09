"""Robot descriptions: strict reading of URDF with `<flexdyn>` elements into frozen records."""

from flexdyn_ros.description.reader import read
from flexdyn_ros.description.robot import (
    Inertial,
    Joint,
    Limit,
    Link,
    Mimic,
    Override,
    RobotDescription,
)

__all__ = ["Inertial", "Joint", "Limit", "Link", "Mimic", "Override", "RobotDescription", "read"]
