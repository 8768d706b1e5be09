"""Limits of joints that mimic others, as limits of the joints that they follow.

A follower at ratio * leader + offset keeps its limits only where its leader keeps them, divided by the ratio.
Velocities scale alike; by the power of both, an effort of the follower is ratio times as large at its leader.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import isinf

from flexdyn_ros.description.elements.description import Joint
from flexdyn_ros.description.elements.urdf import Limit


def bound_leaders(joints: Mapping[str, Joint], warnings: list[str]) -> tuple[Joint, ...]:
    """The joints, leaders within the limits of all their followers; chains end at a joint that follows none.

    Limits of a follower that leave it no room (exporters write 0 for what was not given) bound nothing.
    """
    limits = {joint.name: joint.limit for joint in joints.values() if joint.mimic is None}
    for joint in joints.values():
        if joint.mimic is None:
            continue
        ratio, offset, leader = _leader_of(joint, joints)
        if ratio == 0.0:
            continue
        bounded = _bounded(limits[leader], joint.limit, ratio, offset)
        if bounded.lower > bounded.upper:
            warnings.append(
                f"joint '{joint.name}': its limits and those of '{leader}', which it mimics, exclude each "
                f"other; those of '{leader}' hold"
            )
            own = limits[leader]
            bounded = replace(bounded, lower=own.lower, upper=own.upper)
        limits[leader] = bounded
    return tuple(
        joint if joint.mimic is not None else replace(joint, limit=limits[joint.name])
        for joint in joints.values()
    )


def _leader_of(joint: Joint, joints: Mapping[str, Joint]) -> tuple[float, float, str]:
    """Ratio, offset and name of the joint at the end of a chain."""
    ratio, offset = 1.0, 0.0
    while joint.mimic is not None:
        offset += ratio * joint.mimic.offset
        ratio *= joint.mimic.multiplier
        joint = joints[joint.mimic.joint]
    return ratio, offset, joint.name


def _bounded(own: Limit, other: Limit, ratio: float, offset: float) -> Limit:
    lower, upper, effort, velocity = own.lower, own.upper, own.effort, own.velocity
    if other.lower < other.upper:
        ends = sorted(((other.lower - offset) / ratio, (other.upper - offset) / ratio))
        lower, upper = max(lower, ends[0]), min(upper, ends[1])
    if other.velocity > 0.0:
        velocity = min(velocity, other.velocity / abs(ratio))
    if other.effort > 0.0 and not isinf(other.effort):
        effort = min(effort, other.effort * abs(ratio))
    return Limit(lower, upper, effort, velocity)
