"""Small robots with a joint of each type that `<joint_type>` names, rigid ones and on a flexible link."""

from __future__ import annotations

import pytest
from models import JOINT_TYPES, joint, link, robot_text

import flexdyn_ros

#: what <joint_type> holds beside the numbers of the coordinates
WORDS = {
    "planar": "",
    "universal": 'axis="1 0.2 0" second_axis="0.1 1 0.3"',
    "cylindrical": 'axis="0.3 0.1 1"',
    "helical": 'axis="0.2 0 1" pitch="0.15"',
    "ball": "",
}
#: coordinates of the joint `J`
NAMES = {
    "planar": ("J/x", "J/y", "J/angle"),
    "universal": ("J/angle_1", "J/angle_2"),
    "cylindrical": ("J/angle", "J/displacement"),
    "helical": ("J",),
    "ball": ("J/wx", "J/wy", "J/wz"),
}
assert set(WORDS) == set(NAMES) == set(JOINT_TYPES)

EVERY = pytest.mark.parametrize("kind", [*JOINT_TYPES])
BOTH = pytest.mark.parametrize("flexible", [False, True], ids=["rigid", "flexible"])

BODY = (0.03, 0.002, -0.001, 0.04, 0.003, 0.05)


def urdf_type(kind: str) -> str:
    """The type that the URDF gives a joint."""
    return "planar" if kind == "planar" else "floating"


def with_joint(kind: str, *, flexible: bool = False, numbers: str = "", more: str = "") -> str:
    """An arm whose second joint `J` is of this type, with a revolute joint before and behind it.

    flexible: J hangs on the tip of a beam, and carries a second one. numbers: attributes of <joint_type>.
    """
    parts = [
        link("base", 0),
        link("upper", 0 if flexible else 1.7, (0.2, 0.05, 0), BODY),
        link("tool", 0.9, (0.1, 0.08, -0.05), BODY),
        link("lower", 0 if flexible else 1.1, (0.3, 0.0, 0.1), BODY),
        joint("first", "continuous", "base", "upper", (0, 0, 0.5), (0.1, 0.2, 0.3), axis=(0, 1, 0.2)),
        joint(
            "J",
            urdf_type(kind),
            "upper",
            "tool",
            (0.6, 0, 0),
            (0.3, -0.2, 0.1),
            axis=(0.2, 0.1, 1) if kind == "planar" else None,
        ),
        joint("last", "continuous", "tool", "lower", (0.2, 0.1, 0), (0.5, 0, 0.2), axis=(0, 0, 1)),
        f'<flexdyn reference="J"><joint_type {WORDS[kind]} {numbers}>{kind}</joint_type></flexdyn>',
        "<flexdyn><gravity>1 -2 -9</gravity></flexdyn>",
    ]
    if flexible:
        beam = (
            '<beam length="0.6" mass_per_length="1.4" EIy="90" EIz="70" GJ="40" polar_inertia="0.001"/>'
            '<modes bending_y="1" bending_z="1" torsion="1"/><damping ratio="0.01"/>'
        )
        parts += [f'<flexdyn reference="{name}">{beam}</flexdyn>' for name in ("upper", "lower")]
    return robot_text(f"with_{kind}", *parts, more)


def with_floating_joint(*, flexible: bool = False) -> str:
    """The same arm with a floating joint, which no `<joint_type>` needs."""
    text = with_joint("ball", flexible=flexible)
    start = text.index('<flexdyn reference="J">')
    return text[:start] + text[text.index("</flexdyn>", start) + 10 :]


def loaded(kind: str, flexible: bool = False, **more: str) -> flexdyn_ros.Robot:
    """The arm of `with_joint`."""
    return flexdyn_ros.load(with_joint(kind, flexible=flexible, **more))
