"""Dynamic parameters of a platform: ten numbers of the platform, of each cylinder and of each rod.

They are those of trees (trees/rigid/parameters.py), of the open mechanism: LINK/mass, LINK/mx my mz, LINK/ixx
ixy ixz iyy iyz izz, links on fixed joints lumped. Crosses are massless, joints are ideal, and efforts are not
linear in where joints are.
"""

from __future__ import annotations

from flexdyn_ros.description import RobotDescription
from flexdyn_ros.families.trees.rigid.model import RigidTree
from flexdyn_ros.families.trees.rigid.parameters import body_parameters
from flexdyn_ros.robot.parameters import Parameter


def mechanism_parameters(description: RobotDescription, tree: RigidTree) -> tuple[Parameter, ...]:
    """Those of the platform, then of cylinder and rod leg by leg."""
    platform = description.platform
    assert platform is not None
    crosses = {description.joint_to(description.joint(leg.slider).parent).parent for leg in platform.legs}
    return tuple(p for p in body_parameters(tree) if p.name.rpartition("/")[0] not in crosses)
