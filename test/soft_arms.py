"""Soft arms for tests: text of arms of n sections, the example of the continuum specification's section
14.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import flexdyn_ros

#: a state with its speed and effort of one section, and of two
Q = np.array([0.004, 0.022, 0.013])
V = np.array([0.05, -0.03, 0.02])
TAU = np.array([5.0, 30.0, 20.0])
Q2 = np.array([10, 20, 0, 15, 5, 12]) * 1e-3
V2 = np.array([0.1, -0.05, 0.02, -0.04, 0.06, 0.03])
TAU2 = np.array([20.0, 30, 5, 22, 8, 15])
NO_ROTARY = {"formulation.rotary_inertia": "none"}


def rigid(
    name: str, mass: float = 0.0, com: str = "0 0 0", inertia: tuple[float, ...] = (0.0, 0.0, 0.0)
) -> str:
    if not mass:
        return f'<link name="{name}"/>'
    xx, yy, zz = inertia
    return (
        f'<link name="{name}"><inertial><origin xyz="{com}"/><mass value="{mass}"/>'
        f'<inertia ixx="{xx}" ixy="0" ixz="0" iyy="{yy}" iyz="0" izz="{zz}"/></inertial></link>'
    )


def fixed(name: str, parent: str, child: str, z: float, yaw: float = 0.0) -> str:
    return (
        f'<joint name="{name}" type="fixed"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="0 0 {z!r}" rpy="0 0 {yaw!r}"/></joint>'
    )


def chain(n: int, section: str, gravity: str = "0 0 -9.81", base: str = "") -> str:
    """n equal sections without plates; `section` holds the attributes of <section>, length among them."""
    length = section.split('length="')[1].split('"')[0]
    body = "".join(rigid(f"link_{i}") for i in range(n + 1))
    for i in range(n):
        body += fixed(f"section_{i + 1}", f"link_{i}", f"link_{i + 1}", float(length))
        body += f'<flexdyn reference="section_{i + 1}"><section {section}/></flexdyn>'
    return f'<robot name="chain"><flexdyn><gravity>{gravity}</gravity>{base}</flexdyn>{body}</robot>'


def split_rod(n: int, gravity: str = "0 0 0", k: float = 1700.0, d: float = 0.0) -> str:
    """The rod of preset bai2022 in n sections: k -> n k, d -> n d, m -> m/n, L -> L/n (section 10.6)."""
    section = (
        f'length="{0.15 / n!r}" radius="0.0125" mass="{0.15 / n!r}" stiffness="{n * k}" damping="{n * d}" '
        f'lower="{-0.03 / n!r}" upper="{0.03 / n!r}"'
    )
    return chain(n, section, gravity)


def one(gravity: str = "0 0 -9.81", options: Mapping[str, Any] | None = None, **attributes: float) -> Any:
    """One section of preset bai2022."""
    more = " ".join(f'{name}="{value!r}"' for name, value in attributes.items())
    text = chain(1, f'preset="bai2022" length="0.15" {more}', gravity)
    return flexdyn_ros.load(text, options=options)


def two_sections() -> Any:
    """The worked example with a plate and a payload (section 14)."""
    third = 3.141592653589793 / 3
    text = (
        '<robot name="two"><flexdyn><gravity>0 0 -9.81</gravity></flexdyn>'
        + rigid("base")
        + rigid("plate", 0.02, "0 0 0.01")
        + rigid("tip", 0.05, "0 0 0.02", (1e-5, 1e-5, 5e-6))
        + fixed("first", "base", "plate", 0.15)
        + fixed("second", "plate", "tip", 0.13, third)
        + '<flexdyn reference="first"><section length="0.15" radius="0.0125" mass="0.15" stiffness="1700" '
        'damping="15" lower="0" upper="0.03"/></flexdyn>'
        '<flexdyn reference="second"><section length="0.12" radius="0.01" mass="0.1" stiffness="1500" '
        'damping="12" lower="0" upper="0.03"/></flexdyn></robot>'
    )
    return flexdyn_ros.load(text)


def random_states(n: int, count: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """States and efforts of `count` samples: q, v, tau (count, n)."""
    rng = np.random.default_rng(seed)
    q = rng.uniform(0, 0.03, (count, n))
    return q, rng.uniform(-0.2, 0.2, (count, n)), rng.uniform(-50, 50, (count, n))


def relative(a: np.ndarray, b: np.ndarray) -> float:
    """Largest difference as a share of the largest value of `a`."""
    return np.abs(a - b).max() / np.abs(a).max()
