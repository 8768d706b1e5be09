"""Rigid trees with payloads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from flexdyn_ros.errors import UnknownNameError
from flexdyn_ros.families.trees.rigid.model import RigidTree
from flexdyn_ros.numerics.algebra.placement import RigidInertia
from flexdyn_ros.robot.payload import Payload


def carry(tree: RigidTree, payloads: Sequence[Payload]) -> RigidTree:
    """The tree with payloads fixed to its frames; the tree itself stays as it is."""
    if not payloads:
        return tree
    inertia = tree.model.inertia.copy()
    for payload in payloads:
        if payload.frame not in tree.frames:
            raise UnknownNameError("frame", payload.frame, tuple(tree.frames))
        frame = tree.frames[payload.frame]
        body = RigidInertia.of(payload.mass, payload.com, payload.inertia).seen_from(frame.placement)
        inertia[10 * frame.body : 10 * frame.body + 10] += body.flat()
    inertia.setflags(write=False)
    return replace(tree, model=tree.model._replace(inertia=inertia))
