"""Joints at which rounding may decide what their articulated inertia is.

The articulated inertia about a joint axis is at least that of the joint's own body and rotor, and rounding
leaves it uncertain by some 1e-16 of all that hangs on the joint. A body that has less than `LEAST_SHARE` of
that is weak: at some posture the recursion may divide by rounding, and then only the balance of forces tells.
The massless bodies within a joint that is a chain have the inertia of the body that the joint carries: their
axes are at angles to each other that do not change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flexdyn_ros.numerics.algebra.manifold import BALL, FREE, SCREW

from .kernels import views

if TYPE_CHECKING:
    from .model import RigidTree

#: share of the inertia behind a joint below which that of its own body does not keep the pivot from rounding
LEAST_SHARE = 1e-9
#: cosine of the angle between the axes of a chain above which they are not told apart well
_NEARLY_PARALLEL = 0.999


def weak_bodies(tree: RigidTree) -> tuple[int, ...]:
    """Bodies on moving joints whose own inertia is next to nothing beside what hangs on them, or zero."""
    m = tree.model
    bent = {link.node for link in tree.flexible.links} if tree.flexible else set()
    inertia = m.inertia.reshape(-1, 10)
    armature = m.dof.reshape(-1, views.DOF_NUMBERS)[:, views.ARMATURE]
    # of body and all it carries: mass, and bounds of the first and second moments about its origin
    mass = inertia[:, 0].tolist()
    first = np.linalg.norm(inertia[:, 1:4], axis=1).tolist()
    second = inertia[:, [4, 7, 9]].sum(axis=1).tolist()
    reach = np.linalg.norm(m.placement.reshape(-1, 12)[:, 9:], axis=1).tolist()
    found = []
    for b in range(m.nb - 1, 0, -1):
        kind = m.joint_type[b]
        if kind in (SCREW, FREE, BALL) and b not in bent:
            carried = _carried(tree, inertia, b)
            if carried != b:
                if _is_weak(FREE, inertia[carried], mass[b], second[b]) or _is_nearly_parallel(tree, b):
                    found.append(b)
            elif kind == SCREW:
                if _is_weak_screw(tree, b, inertia[b], _rotor(tree, armature, b), mass[b], second[b]):
                    found.append(b)
            elif _is_weak(kind, inertia[b], mass[b], second[b]):
                found.append(b)
        way = reach[b] + (abs(m.slide[b]) * _way(tree, b) if m.slide[b] else 0.0)
        p = m.parent[b]
        second[p] += second[b] + 2.0 * way * first[b] + way**2 * mass[b]
        first[p] += first[b] + way * mass[b]
        mass[p] += mass[b]
    return tuple(reversed(found))


def _rotor(tree: RigidTree, armature: np.ndarray, body: int) -> float:
    """Inertia of a rotor on the axis of the screw of a body."""
    ratio = tree.model.ratio[body]
    return float(armature[tree.model.v_index[body]] / ratio**2) if ratio else 0.0


def _carried(tree: RigidTree, inertia: np.ndarray, body: int) -> int:
    """The last body of the joint that a body belongs to; the body itself unless it is one within a chain."""
    m = tree.model
    while (
        body + 1 < m.nb
        and m.parent[body + 1] == body
        and m.joint_type[body + 1] == SCREW
        and tree.body_links[body + 1] == tree.body_links[body]
        and not inertia[body].any()
    ):
        body += 1
    return body


def _is_nearly_parallel(tree: RigidTree, body: int) -> bool:
    """Whether the next joint of a chain is of the same kind, about or along nearly the same axis."""
    m = tree.model
    same = m.turn[body] == m.turn[body + 1] and m.slide[body] == m.slide[body + 1]
    return bool(same and abs(m.placement[12 * (body + 1) + 8]) > _NEARLY_PARALLEL)


def _is_weak_screw(
    tree: RigidTree, body: int, own: np.ndarray, rotor: float, mass: float, second: float
) -> bool:
    turn, slide = tree.model.turn[body] ** 2, tree.model.slide[body] ** 2
    felt = turn * own[9] + slide * own[0] + rotor
    return not felt > LEAST_SHARE * (turn * second + slide * mass)


def _is_weak(kind: int, own: np.ndarray, mass: float, second: float) -> bool:
    if kind == BALL:
        about_origin = own[[4, 5, 6, 5, 7, 8, 6, 8, 9]].reshape(3, 3)
        return not np.linalg.eigvalsh(about_origin)[0] > LEAST_SHARE * second
    if not own[0] > LEAST_SHARE * mass:
        return True
    x, y, z = own[1:4] / own[0]
    about_origin = own[[4, 5, 6, 5, 7, 8, 6, 8, 9]].reshape(3, 3)
    c = np.array([x, y, z])
    least = np.linalg.eigvalsh(about_origin - own[0] * (c @ c * np.eye(3) - np.outer(c, c)))[0]
    return not least > LEAST_SHARE * second


def _way(tree: RigidTree, body: int) -> float:
    """The largest position of a joint, 1 m or rad where it has no limits."""
    c = tree.coordinates[tree.model.v_index[body]]
    ends = [abs(x) for x in (c.lower, c.upper) if np.isfinite(x)]
    return max(ends, default=1.0)
