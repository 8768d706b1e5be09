"""Recursive Newton-Euler algorithm over any kind of number (Luh, Walker & Paul 1980; Craig, Introduction to
Robotics).

Vectors: angular velocity and acceleration, acceleration of the origin, force, moment, all in body axes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flexdyn_ros.derivation.algebra import (
    Angle,
    Matrix,
    Vector,
    add,
    apply,
    cross,
    dot,
    plus,
    product,
    rotation_about,
    scaled,
    transposed,
)
from flexdyn_ros.derivation.arm import Arm, Joint

#: is told the name of a vector, the number of its body, and the vector (3,)
Tell = Callable[[str, int, Vector], None]
Turn = tuple[Matrix, Vector]  # rotation {body} -> {parent}, origin in the parent
Motion = tuple[Vector, Vector, Vector]  # w, wd, vd


def newton_euler(
    arm: Arm, angles: Sequence[Angle], v: Vector, a: Vector, gravity: Vector, tell: Tell | None = None
) -> Vector:
    """Efforts per joint, without rotors.

    angles: position of each joint (sine and cosine, or displacement); v, a: rate and acceleration of each
    joint; gravity (3,): acceleration of free fall, base axes. tell: is told every vector on the way.
    """
    turns = [_placement(joint, angle) for joint, angle in zip(arm.joints, angles, strict=True)]
    motion = _outward(arm, turns, v, a, gravity)
    if tell is not None:
        for i, vectors in enumerate(motion):
            for name, vector in zip(("omega", "omega'", "v'"), vectors, strict=True):
                tell(name, i, vector)
    return _inward(arm, turns, motion, tell)


def _placement(joint: Joint, angle: Angle) -> Turn:
    """Rotation {body} -> {parent} and origin of the body in the parent."""
    if joint.revolute:
        return product(joint.rotation, rotation_about(joint.axis, angle.sine, angle.cosine)), joint.origin
    return joint.rotation, plus(joint.origin, apply(joint.rotation, scaled(angle.displacement, joint.axis)))


def _outward(arm: Arm, turns: list[Turn], v: Vector, a: Vector, gravity: Vector) -> list[Motion]:
    """(w, wd, vd) of every body."""
    motion: list[Motion] = []
    for i, joint in enumerate(arm.joints):
        R, P = turns[i]
        zero = [0, 0, 0]
        w, wd, vd = motion[joint.parent] if joint.parent >= 0 else (zero, zero, [-x for x in gravity])
        Rt = transposed(R)
        vd = apply(Rt, plus(cross(wd, P), cross(w, cross(w, P)), vd))
        w, wd = apply(Rt, w), apply(Rt, wd)
        rate, acceleration = scaled(v[i], joint.axis), scaled(a[i], joint.axis)
        if joint.revolute:
            wd = plus(wd, cross(w, rate), acceleration)
            w = plus(w, rate)
        else:
            vd = plus(vd, scaled(2, cross(w, rate)), acceleration)
        motion.append((w, wd, vd))
    return motion


def _inward(arm: Arm, turns: list[Turn], motion: list[Motion], tell: Tell | None) -> Vector:
    """Forces and moments from the tips to the base, projected on the joint axes."""
    n = len(arm.joints)
    force, moment = [[0, 0, 0] for _ in range(n)], [[0, 0, 0] for _ in range(n)]
    for i in range(n - 1, -1, -1):
        joint, (w, wd, vd) = arm.joints[i], motion[i]
        c, I = joint.com, joint.inertia
        F = scaled(joint.mass, plus(vd, cross(wd, c), cross(w, cross(w, c))))
        N = plus(apply(I, wd), cross(w, apply(I, w)))
        force[i] = plus(force[i], F)
        moment[i] = plus(moment[i], N, cross(c, F))
        if tell is not None:
            for name, vector in (("F", F), ("N", N), ("f", force[i]), ("n", moment[i])):
                tell(name, i, vector)
        if joint.parent >= 0:
            R, P = turns[i]
            f = apply(R, force[i])
            force[joint.parent] = plus(force[joint.parent], f)
            moment[joint.parent] = plus(moment[joint.parent], apply(R, moment[i]), cross(P, f))
    pairs = zip(arm.joints, force, moment, strict=True)
    return [dot(joint.axis, n if joint.revolute else f) for joint, f, n in pairs]


def gather(arm: Arm, per_joint: Vector) -> Vector:
    """Efforts per coordinate from efforts per joint: mimic joints add theirs, times their ratio."""
    tau: Vector = [0] * len(arm.coordinates)
    for joint, effort in zip(arm.joints, per_joint, strict=True):
        tau[joint.coordinate] = add(tau[joint.coordinate], joint.ratio * effort)
    return tau
