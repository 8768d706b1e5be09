"""Random platforms for tests: URDF text, and the same robot as plain numbers in leg axes for references."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

GRAVITY = np.array([0.3, -0.5, -9.7])


class Body(NamedTuple):
    """mass, centre of mass (3,) and inertia (3, 3) about it, in some axes."""

    mass: float
    com: np.ndarray
    inertia: np.ndarray


class PlatformNumbers(NamedTuple):
    """A platform without URDF: world A, u (6, 3); anchors B (6, 3) and body in platform axes; legs' bodies
    in leg axes, cylinders from A, rods from B; home pose (7,)."""

    A: np.ndarray
    B: np.ndarray
    u: np.ndarray
    platform: Body
    cylinders: tuple[Body, ...]
    rods: tuple[Body, ...]
    gravity: np.ndarray
    home: np.ndarray


def cloud(rng: np.random.Generator, mass: float, centre, spread) -> Body:
    """A body of twelve random points: any such inertia is physical."""
    points = np.asarray(centre) + rng.normal(size=(12, 3)) * spread
    masses = rng.uniform(0.5, 1.5, 12)
    masses *= mass / masses.sum()
    com = masses @ points / mass
    d = points - com
    inertia = sum(m * (x @ x * np.eye(3) - np.outer(x, x)) for m, x in zip(masses, d, strict=True))
    return Body(mass, com, inertia)


def leg_frame(p, R, B, A, u) -> np.ndarray:
    """Columns x, y, s of section 2 of the parallel specification."""
    s = p + R @ B - A
    s = s / np.linalg.norm(s)
    y = np.cross(s, u)
    y = y / np.linalg.norm(y)
    return np.column_stack([np.cross(y, s), y, s])


def random_platform(seed: int, *, leg_spin: str = "universal") -> tuple[str, PlatformNumbers]:
    """URDF text and numbers of a platform without symmetry: off-axis masses, tilted axes, skew frames."""
    rng = np.random.default_rng(seed)
    base = Rotation.from_rotvec(rng.normal(size=3) * 0.3)
    stand = rng.normal(size=3)
    azimuth = np.radians([-10, 10, 110, 130, 230, 250])
    above = np.radians([-52, 52, 68, 172, 188, 292])
    feet = np.column_stack([1.2 * np.cos(azimuth), 1.2 * np.sin(azimuth), 0 * azimuth])
    feet = feet + rng.uniform(-0.1, 0.1, (6, 3))
    anchors = np.column_stack([0.9 * np.cos(above), 0.9 * np.sin(above), 0 * above])
    anchors = anchors + rng.uniform(-0.1, 0.1, (6, 3))
    tangent = np.column_stack([-np.sin(azimuth), np.cos(azimuth), 0 * azimuth])
    tangent = np.array([Rotation.from_rotvec(rng.normal(size=3) * 0.12).apply(t) for t in tangent])
    at_home = Rotation.from_rotvec(rng.normal(size=3) * 0.1)
    p_home = np.array([0.0, 0.0, 1.15]) + rng.uniform(-0.05, 0.05, 3)
    platform = cloud(rng, 900.0, [0.1, -0.05, 0.3], 0.4)
    cylinders = tuple(cloud(rng, 45.0, [0.05, -0.03, 0.4], [0.1, 0.06, 0.3]) for _ in range(6))
    rods = tuple(cloud(rng, 20.0, [-0.04, 0.02, -0.45], [0.05, 0.08, 0.2]) for _ in range(6))
    parts = [link("base_link"), link("platform", platform)]
    parts.append(
        f'<joint name="platform" type="floating"><parent link="base_link"/><child link="platform"/>'
        f"{origin(p_home, at_home)}</joint>"
    )
    legs = []
    for i in range(6):
        E = leg_frame(p_home, at_home.as_matrix(), anchors[i], feet[i], tangent[i])
        length = np.linalg.norm(p_home + at_home.apply(anchors[i]) - feet[i])
        turn = Rotation.from_rotvec([0, 0, rng.uniform(-3, 3)])  # leg axes in the cylinder's
        first, second = rng.uniform(-0.4, 0.4, 2)
        tilt = Rotation.random(random_state=rng)  # frame of the second joint in the cross
        b = turn.apply([0, 1, 0])
        cylinder = Rotation.from_matrix(E) * turn.inv()
        cross = cylinder * Rotation.from_rotvec(-second * b) * tilt.inv()
        a = cross.inv().apply(tangent[i])
        foot = cross * Rotation.from_rotvec(-first * a)
        n = i + 1
        own = [Body(x.mass, turn.apply(x.com), turn.as_matrix() @ x.inertia @ turn.as_matrix().T)
               for x in (cylinders[i], rods[i])]  # fmt: skip
        limit = '<limit lower="-1.2" upper="1.2" effort="0" velocity="10"/>'
        parts += [
            link(f"leg_{n}_cross"),
            link(f"leg_{n}_cylinder", own[0]),
            link(f"leg_{n}_rod", own[1]),
            f'<joint name="leg_{n}_u1" type="revolute"><parent link="base_link"/>'
            f'<child link="leg_{n}_cross"/>{origin(feet[i], foot)}<axis xyz="{text(a)}"/>{limit}</joint>',
            f'<joint name="leg_{n}_u2" type="revolute"><parent link="leg_{n}_cross"/>'
            f'<child link="leg_{n}_cylinder"/>{origin(np.zeros(3), tilt)}<axis xyz="{text(b)}"/>'
            f"{limit}</joint>",
            f'<joint name="leg_{n}_slide" type="prismatic"><parent link="leg_{n}_cylinder"/>'
            f'<child link="leg_{n}_rod"/><origin xyz="0 0 {float(length) - 0.3!r}"/><axis xyz="0 0 1"/>'
            '<limit lower="0" upper="0.6" effort="25000" velocity="1"/></joint>',
        ]
        legs.append(f'<leg name="leg_{n}" slider="leg_{n}_slide" anchor="{text(anchors[i])}"/>')
    stated = f'<base type="fixed" xyz="{text(stand)}" rpy="{text(base.as_euler("xyz"))}"/>'
    tags = (
        f"<flexdyn><gravity>{text(GRAVITY)}</gravity>{stated}"
        f'<formulation leg_spin="{leg_spin}"/><platform link="platform">{"".join(legs)}</platform></flexdyn>'
    )
    robot = f'<robot name="random_{seed}">{"".join(parts)}{tags}</robot>'
    world = base * at_home
    return robot, PlatformNumbers(
        A=stand + base.apply(feet),
        B=anchors,
        u=base.apply(tangent),
        platform=platform,
        cylinders=cylinders,
        rods=rods,
        gravity=GRAVITY,
        home=np.concatenate([stand + base.apply(p_home), world.as_quat()]),
    )


def text(x) -> str:
    """Numbers with all their digits."""
    return " ".join(repr(float(v)) for v in x)


def origin(p, turn: Rotation) -> str:
    """An <origin>."""
    return f'<origin xyz="{text(p)}" rpy="{text(turn.as_euler("xyz"))}"/>'


def link(name: str, body: Body | None = None) -> str:
    """A <link>."""
    if body is None:
        return f'<link name="{name}"/>'
    I = body.inertia
    names = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    values = (I[0, 0], I[0, 1], I[0, 2], I[1, 1], I[1, 2], I[2, 2])
    entries = " ".join(f'{key}="{float(value)!r}"' for key, value in zip(names, values, strict=True))
    return (
        f'<link name="{name}"><inertial><origin xyz="{text(body.com)}"/><mass value="{float(body.mass)!r}"/>'
        f"<inertia {entries}/></inertial></link>"
    )


def random_motion(robot, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A pose within the workspace, a twist and its rate."""
    return robot.random(rng), rng.normal(size=6) * 0.5, rng.normal(size=6) * 2.0


def with_link(text: str, frame: str, inertial: str = "", origin: str = "", name: str = "load") -> str:
    """The description with a link fixed to a frame."""
    mount = f'{origin}<parent link="{frame}"/><child link="{name}"/>'
    link = f'<link name="{name}">{inertial}</link><joint name="mount_{name}" type="fixed">{mount}</joint>'
    return text.replace("<flexdyn>", link + "<flexdyn>", 1)
