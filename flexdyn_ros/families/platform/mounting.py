"""Platforms that are part of a tree: what stands on the world alone is robot.py.

Platform and whatever it carries are bodies of the tree, on a free joint from the world; the legs are elements
(multibody/elements/leg.py) between the link that they stand on and the platform. Geometry, checks and what
legs are beside their dynamics come from the same platform alone, in the frame of that link: the mechanism.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from flexdyn_ros.description import RobotDescription
from flexdyn_ros.description.elements.oil import (
    SharedSupply,
)
from flexdyn_ros.description.elements.platforms import Platform
from flexdyn_ros.description.elements.urdf import Base
from flexdyn_ros.families.platform.robot import PlatformFunctions
from flexdyn_ros.families.trees.elements.layer import Elements
from flexdyn_ros.families.trees.flexible.kernels.kinematics import place_flexible
from flexdyn_ros.families.trees.flexible.kernels.views import carve_flexible
from flexdyn_ros.families.trees.layers import Layer, layer_header
from flexdyn_ros.families.trees.rigid.kernels import views as tree_views
from flexdyn_ros.families.trees.robot import TreeFunctions
from flexdyn_ros.multibody.elements.cylinder.circuits import on_supply
from flexdyn_ros.multibody.elements.leg import MountedLeg
from flexdyn_ros.numerics.algebra.placement import (
    Placement,
    quaternion_of,
    quaternions_of,
    rotation_of_quaternion,
)
from flexdyn_ros.robot.verbs import Robot

#: where records of legs and supplies are among the extras of a description
LEGS, SUPPLIES = "leg", "supply"


def mechanism_of(description: RobotDescription) -> RobotDescription:
    """Platform and legs alone, as a description whose root is the link that they stand on."""
    joint = description.platform_joint
    assert joint is not None
    kept = {joint.parent, joint.child}
    inner = [joint]
    for name in description.leg_joints:
        inner.append(description.joint(name))
        kept.add(inner[-1].child)
    waiting = list(kept - {joint.parent})
    while waiting:
        for below in description.children_of(waiting.pop()):
            if below.type == "fixed":
                inner.append(below)
                kept.add(below.child)
                waiting.append(below.child)
    platform = description.platform
    assert platform is not None
    # oil of supplies with names is that of the tree
    dry = (
        replace(leg, hydraulics=None) if leg.hydraulics and leg.hydraulics.supply.name else leg
        for leg in platform.legs
    )
    return replace(
        description,
        root=joint.parent,
        platform=replace(platform, legs=tuple(dry)),
        links=tuple(
            replace(link, inertial=None) if link.name == joint.parent else link
            for link in description.links
            if link.name in kept
        ),
        joints=tuple(each for each in description.joints if each in inner),
        base=Base(),
        flexible_links={},
        extras={},
        kind="platform",
    )


def mounted_legs(
    functions: PlatformFunctions, lines: Platform, base: str, end: str, supplies: dict[Any, SharedSupply]
) -> Iterator[MountedLeg]:
    """The legs of a mechanism as elements between two links; adds their own supplies of oil to `supplies`."""
    for leg, record in zip(lines.legs, functions.tables.leg_records(base, end), strict=True):
        hydraulics = None if leg.hydraulics is None else on_supply(leg.hydraulics, supplies)
        yield replace(record, hydraulics=hydraulics, line=leg.line)


def mounted_functions(description: RobotDescription) -> TreeFunctions:
    """Functions of a tree with a platform in it.

    Raises
    ------
    DescriptionError, UnsupportedError
        For a platform that would be refused alone.
    """
    joint = description.platform_joint
    assert joint is not None
    supplies: dict[Any, SharedSupply] = {}
    mechanism = PlatformFunctions(mechanism_of(description))
    assert description.platform is not None
    legs = tuple(mounted_legs(mechanism, description.platform, joint.parent, joint.child, supplies))
    extras = {**description.extras, LEGS: legs}
    if supplies:
        extras[SUPPLIES] = (*description.extras.get(SUPPLIES, ()), *supplies.values())
    return TreeFunctions(replace(description, extras=extras), layers=(Mounting, Elements))


class Mounting(Layer):
    """A platform that stands on a link of a tree: its home pose, and its mechanism."""

    offers = ("mechanism", "carried_pose", "carried_motion")

    def __init__(self, functions: Any) -> None:
        super().__init__(functions)
        joint = functions.description.platform_joint
        self._joint, self._header = joint, layer_header(functions.packed, functions.tree)
        self._at = functions.q_names.index("platform/x")
        home = self._pose(functions.home, joint.parent) @ Placement.of(joint.xyz, joint.rpy)
        functions.home = functions.home.copy()
        functions.home[self._at : self._at + 7] = [*home.p, *quaternion_of(home.R)]

    @cached_property
    def mechanism(self) -> Robot:
        """The platform and its legs alone, standing on the world; its poses are those in the axes of the link
        that carries them."""
        return Robot(PlatformFunctions(mechanism_of(self.functions.description)))

    def carried_pose(self, q: np.ndarray) -> np.ndarray:
        """Poses (..., 7) of the platform in the axes of the link that carries its legs, for q (..., nq)."""
        q = np.asarray(q, dtype=float)
        carrier, own = (
            self.functions.robot.frames(q, name) for name in (self._joint.parent, self._joint.child)
        )
        inverse = np.swapaxes(carrier[..., :3, :3], -1, -2)
        moved = np.einsum("...ij,...j->...i", inverse, own[..., :3, 3] - carrier[..., :3, 3])
        turned = inverse @ own[..., :3, :3]
        flat = quaternions_of(turned.reshape(-1, 3, 3)).reshape(*turned.shape[:-2], 4)
        return np.concatenate([moved, flat], axis=-1)

    def carried_motion(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Poses (..., 7) and twists (..., 6) of the platform against the link that carries its legs, in the
        axes of that link, for q (..., nq), v (..., nv)."""
        robot, (base, own) = self.functions.robot, (self._joint.parent, self._joint.child)
        pose = self.carried_pose(q)
        R, moving = robot.frames(q, base)[..., :3, :3], robot.frame_velocity(q, v, base)
        twist = robot.frame_velocity(q, v, own) - moving
        arm = robot.frames(q, own)[..., :3, 3] - robot.frames(q, base)[..., :3, 3]
        twist[..., 3:] -= np.cross(moving[..., :3], arm)
        angular, linear = (x[..., None, :] @ R for x in (twist[..., :3], twist[..., 3:]))
        seen = np.concatenate([angular[..., 0, :], linear[..., 0, :]], axis=-1)
        return np.broadcast_to(pose, (*seen.shape[:-1], 7)), seen

    def random(self, q: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """q (nq,) with the platform within its strokes."""
        own = self.mechanism.random(rng)
        pose = self._pose(q, self._joint.parent) @ Placement(rotation_of_quaternion(*own[3:]), own[:3])
        q[self._at : self._at + 7] = [*pose.p, *quaternion_of(pose.R)]
        return q

    def check_start(self, q: np.ndarray) -> str:
        return str(self.mechanism.functions.check_start(self.carried_pose(q)))

    def _pose(self, q: np.ndarray, link: str) -> Placement:
        """Pose of a link in the world, by kernels that are interpreted."""
        frame, m = self.functions.tree.frames[link], self.functions.tree.model
        if frame.body == 0:
            return frame.placement
        memory = np.zeros(self.functions.packed.numbers)
        place_flexible(self._header.address, memory, q)
        bodies = carve_flexible(memory, m.nb, m.nq, m.nv).tree.bodies
        own = bodies[tree_views.BODY_ROWS * frame.body :]
        R = own[tree_views.WORLD_ROTATION :][:9].reshape(3, 3)
        return Placement(R.copy(), own[tree_views.WORLD_ORIGIN :][:3].copy()) @ frame.placement
