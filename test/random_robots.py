"""Random robots of every family, as URDF text; the same for the same seed."""

from __future__ import annotations

import numpy as np
from models import KINDS, random_tree
from platforms import random_platform
from soft_arms import fixed, rigid

__all__ = ["FAMILIES", "random_robot"]

FAMILIES = ("rigid", "jointed", "flexible", "soft", "mobile", "platform")


def random_robot(family: str, seed: int) -> str:
    """A robot of a family: four to a dozen coordinates, masses of kilograms, stiffness as it is built."""
    return {
        "rigid": _rigid,
        "jointed": _jointed,
        "flexible": _flexible,
        "soft": _soft,
        "mobile": _mobile,
        "platform": lambda number: random_platform(number)[0],
    }[family](seed)


def _rigid(seed: int) -> str:
    return random_tree(seed, joints=2 + seed % 5, mimic=False, floating=seed % 2 == 0, resistance=True)


def _jointed(seed: int) -> str:
    """Joints of every type, those of `<joint_type>` too."""
    return random_tree(seed, joints=2 + seed % 4, mimic=False, resistance=True, kinds=KINDS)


def _flexible(seed: int) -> str:
    """One to three flexible links in a row, turned against each other, with damping or without."""
    rng = np.random.default_rng([1, seed])
    parts, tags = ['<link name="l0"/>'], []
    count = int(rng.integers(1, 4))
    length = 0.0
    for i in range(1, count + 1):
        axis = rng.choice(["0 0 1", "0 1 0", "1 0 0"], p=[0.45, 0.45, 0.1])
        turn = rng.uniform(-1.0, 1.0, 3)
        parts.append(
            f'<link name="l{i}"/><joint name="j{i}" type="continuous"><parent link="l{i - 1}"/>'
            f'<child link="l{i}"/><origin xyz="{length!r} 0 0" rpy="{_row(turn)}"/><axis xyz="{axis}"/>'
            f'<dynamics damping="{rng.uniform(0.0, 0.5)!r}" friction="0"/></joint>'
        )
        length = float(rng.uniform(0.5, 1.5))
        # thin enough to swing at some hertz, stiff enough to bend by less than a tenth
        stiffness = float(10.0 ** rng.uniform(2.2, 3.5))
        modes = {
            "bending_y": int(rng.integers(0, 3)),
            "bending_z": int(rng.integers(1, 3)),
            "torsion": int(rng.integers(0, 2)),
        }
        asked = " ".join(f'{name}="{number}"' for name, number in modes.items() if number)
        damping = f'<damping ratio="{rng.uniform(0.0, 0.03)!r}"/>' if rng.random() < 0.7 else ""
        tags.append(
            f'<flexdyn reference="l{i}"><beam length="{length!r}" '
            f'mass_per_length="{rng.uniform(0.5, 2.0)!r}" EIy="{stiffness!r}" EIz="{0.7 * stiffness!r}" '
            f'GJ="{0.5 * stiffness!r}" polar_inertia="0.001"/><modes {asked}/>{damping}'
            f'<body name="tip{i}"><mass value="{rng.uniform(0.05, 0.4)!r}"/></body></flexdyn>'
        )
    gravity = f"<flexdyn><gravity>{_row(rng.uniform(-3.0, 3.0, 3))}</gravity></flexdyn>"
    return f'<robot name="random_flexible_{seed}">{"".join(parts)}{gravity}{"".join(tags)}</robot>'


def _soft(seed: int) -> str:
    """One to three soft sections with plates of different masses."""
    rng = np.random.default_rng([2, seed])
    count = int(rng.integers(1, 4))
    text = rigid("link_0")
    for i in range(1, count + 1):
        length = float(rng.uniform(0.1, 0.2))
        text += rigid(f"link_{i}", float(rng.uniform(0.0, 0.05)), "0 0 0.01", (1e-5, 1e-5, 1e-5))
        text += fixed(f"section_{i}", f"link_{i - 1}", f"link_{i}", length, float(rng.uniform(-1.0, 1.0)))
        text += (
            f'<flexdyn reference="section_{i}"><section length="{length!r}" radius="0.0125" '
            f'mass="{rng.uniform(0.05, 0.2)!r}" stiffness="{rng.uniform(800.0, 2500.0)!r}" '
            f'damping="{rng.uniform(0.0, 15.0)!r}" lower="-0.02" upper="0.03"/></flexdyn>'
        )
    gravity = f"<flexdyn><gravity>{_row(rng.uniform(-7.0, 7.0, 3))}</gravity></flexdyn>"
    return f'<robot name="random_soft_{seed}">{gravity}{text}</robot>'


def _mobile(seed: int) -> str:
    """A cart on two wheels with one or two links, over waves, with or without tyres."""
    from mobile_arms import chain

    rng = np.random.default_rng([3, seed])
    bending = tuple(bool(x) for x in rng.integers(0, 2, int(rng.integers(1, 3))))
    road = (
        f'<road kind="sine" amplitude="{rng.uniform(0.0, 0.02)!r}" wavelength="{rng.uniform(0.5, 2.0)!r}"/>'
    )
    return chain(bending, tyres=seed % 2 == 1, mount_z=0.0, road=road)


def _row(values: np.ndarray) -> str:
    return " ".join(repr(float(x)) for x in values)
