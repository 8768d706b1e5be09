"""Paths of the description that are `robot.parameters`: their values change a loaded robot.

Mass, centre of mass and inertia of a link, rotor inertia, damping, friction and spring of a joint. Whether
the robot is then the one that loading gives is tried before, at values that the study alone decides: a point
is computed in the same way wherever and whenever it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import isfinite
from typing import Any

import numpy as np

from flexdyn_ros.description.elements.urdf import Inertial
from flexdyn_ros.description.urdf.inertia import principal_moments
from flexdyn_ros.errors import FlexdynError
from flexdyn_ros.numerics.algebra.placement import RigidInertia
from flexdyn_ros.robot.verbs import Robot

_INERTIAL = ("mass", "mx", "my", "mz", "ixx", "ixy", "ixz", "iyy", "iyz", "izz")
_ENTRIES = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
_OF_LINK = re.compile(r"urdf\.links\.(.+)\.inertial\.(?:(mass)\.value|origin\.(xyz)|inertia\.(i[xyz]{2}))")
_OF_JOINT = re.compile(
    r"(?:urdf\.joints\.(.+)\.dynamics\.(damping|friction)|joints\.(.+)\.(rotor)\.inertia"
    r"|joints\.(.+)\.(spring)\.stiffness)"
)
#: numbers are added to what the bodies hold: those that are so many times smaller would lose digits
SMALLEST = 1e-3
#: how close a changed robot is to one that was loaded
CLOSE = 1e-12


def quick_paths(
    base: Robot, trials: Sequence[Mapping[str, Any]], loaded: Callable[[Mapping[str, object]], Robot]
) -> frozenset[str]:
    """The paths that change a loaded robot into the one that loading gives.

    trials: values of all paths at which both are compared, those of one link together; loaded: the robot that
    values of some paths give.
    """
    groups: dict[str, set[str]] = {}
    for path in (path for trial in trials for path in trial):
        of_link = _OF_LINK.fullmatch(path)
        if of_link or _OF_JOINT.fullmatch(path):
            groups.setdefault(of_link[1] if of_link else path, set()).add(path)
    found: set[str] = set()
    for paths in groups.values():
        try:
            if all(_agrees(base, {path: trial[path] for path in paths}, loaded) for trial in trials):
                found |= paths
        except (FlexdynError, LookupError, ValueError, TypeError):
            continue  # what loading says of the value is said by the points
    return frozenset(found)


def _agrees(base: Robot, given: Mapping[str, Any], loaded: Callable[[Mapping[str, object]], Robot]) -> bool:
    values = parameter_values(base, given)
    return values is not None and _same(base.with_parameters(values), loaded(given))


def parameter_values(base: Robot, values: Mapping[str, Any]) -> dict[str, float] | None:
    """Values for `with_parameters` of what paths of the description say; None if loading has to tell."""
    if not values:
        return {}
    known = {p.name: p.value for p in base.parameters}
    found: dict[str, float] = {}
    inertials: dict[str, Inertial] = {}
    for path, value in values.items():
        of_link = _OF_LINK.fullmatch(path)
        if of_link:
            link, *words = of_link.groups()
            changed = inertials.get(link) or base.description.link(link).inertial
            if changed is None or link in base.description.flexible_links:
                return None
            inertials[link] = _changed_inertial(changed, next(filter(None, words)), value)
            continue
        of_joint = _OF_JOINT.fullmatch(path)
        assert of_joint is not None, path
        name, word = (word for word in of_joint.groups() if word)
        if not _of_joint(base, name, word, float(value), known, found):
            return None
    for link, inertial in inertials.items():
        if f"{link}/mass" not in known or not _has_meaning(inertial):
            return None
        old = base.description.link(link).inertial
        assert old is not None
        names = [f"{link}/{name}" for name in _INERTIAL]
        own = np.array([known[name] for name in names])
        before, after = _flat(old), _flat(inertial)
        now = np.where(own == before, after, own + (after - before))
        if now[0] < SMALLEST * own[0]:
            return None
        found |= dict(zip(names, map(float, now), strict=True))
    return found


def _of_joint(
    base: Robot, name: str, word: str, value: float, known: Mapping[str, float], found: dict[str, float]
) -> bool:
    """Whether `found` got the parameter of a joint."""
    joint = next((j for j in base.description.joints if j.name == name), None)
    if joint is None or not isfinite(value) or value < 0.0:
        return False
    if word == "damping":
        key, old = "damping", joint.damping
    elif word == "friction":
        key, old = "friction", joint.friction
        if joint.dry_friction is not None:
            return False
    elif word == "rotor":
        if joint.rotor is None or value == 0.0:
            return False
        square = joint.rotor.gear_ratio**2
        key, old, value = "rotor", square * joint.rotor.inertia, square * value
    else:
        if joint.spring is None or value == 0.0:
            return False
        key, old = "stiffness", joint.spring.stiffness
    own = known.get(f"{name}/{key}")
    if own is None:
        return False
    now = value if own == old else own + (value - old)
    found[f"{name}/{key}"] = now
    return now == 0.0 or now >= SMALLEST * own


def _changed_inertial(inertial: Inertial, word: str, value: Any) -> Inertial:
    if word == "mass":
        return replace(inertial, mass=float(value))
    if word == "xyz":
        x, y, z = (float(number) for number in value)
        return replace(inertial, xyz=(x, y, z))
    entries = dict(zip(_ENTRIES, inertial.inertia, strict=True)) | {word: float(value)}
    ixx, ixy, ixz, iyy, iyz, izz = entries.values()
    return replace(inertial, inertia=(ixx, ixy, ixz, iyy, iyz, izz))


def _has_meaning(inertial: Inertial) -> bool:
    """Whether a body can be so; what cannot is refused, or warned of, as it is loaded."""
    if not all(map(isfinite, (inertial.mass, *inertial.xyz, *inertial.inertia))):
        return False
    low, middle, high = principal_moments(inertial.inertia)
    return inertial.mass > 0.0 and low >= 0.0 and high <= low + middle


def _flat(inertial: Inertial) -> np.ndarray:
    return RigidInertia.of(inertial.mass, inertial.xyz, inertial.inertia, inertial.rpy).flat()


def _same(one: Robot, other: Robot) -> bool:
    """Whether two robots are the same: numbers, inverse dynamics at a state, and what steps are chosen by."""
    if one.q_names != other.q_names or one.v_names != other.v_names or one.warnings != other.warnings:
        return False
    pairs = [(a.value, b.value) for a, b in zip(one.parameters, other.parameters, strict=True)]
    if [p.name for p in one.parameters] != [p.name for p in other.parameters] or not all(
        _close(a, b) for a, b in pairs
    ):
        return False
    for name in ("stiffness", "damping", "effort_limit", "lower", "upper"):
        mine, theirs = (getattr(robot.motion, name, None) for robot in (one, other))
        if (mine is None) != (theirs is None) or (mine is not None and not _close(mine, theirs)):
            return False
    q = one.random(np.random.default_rng(0))
    v, a = np.random.default_rng(1).uniform(-1.0, 1.0, (2, one.nv))
    return _close(one.inverse_dynamics(q, v, a), other.inverse_dynamics(q, v, a))


def _close(a: Any, b: object) -> bool:
    x, y = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    same = x == y  # infinite limits, too
    size = max(1e-12, float(np.abs(np.where(np.isfinite(y), y, 0.0)).max(initial=0.0)))
    with np.errstate(invalid="ignore"):
        return bool(np.all(same | (np.abs(x - y) <= CLOSE * size)))
