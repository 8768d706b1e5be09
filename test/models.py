"""Robots for tests: files of example-robot-data, small arms as text, random trees of every joint type."""

from __future__ import annotations

import sysconfig
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import flexdyn_ros

PANDA = "panda_description/urdf/panda.urdf"
UR5 = "ur_description/urdf/ur5_robot.urdf"
QUADRUPED = "anymal_b_simple_description/robots/anymal.urdf"
HUMANOID = "talos_data/robots/talos_reduced.urdf"

#: a name and whether the base floats
REAL_ROBOTS = [(PANDA, False), (UR5, False), (QUADRUPED, True), (HUMANOID, True)]


@cache
def example_robot_data() -> Path | None:
    """Folder of the robots of the package example-robot-data, None if it is not installed."""
    for key in ("purelib", "platlib"):
        folder = Path(sysconfig.get_path(key)) / "cmeel.prefix/share/example-robot-data/robots"
        if folder.is_dir():
            return folder
    return None


def example_robot(name: str) -> str:
    """Path of one of its URDF files; skips the test where the package is absent."""
    folder = example_robot_data()
    if folder is None:
        pytest.skip("the data files of the package example-robot-data are not installed")
    return str(folder / name)


@cache
def real_robot(name: str, floating: bool = False) -> flexdyn_ros.Robot:
    """A robot of example-robot-data, on a floating base if told."""
    options = {"base.type": "floating"} if floating else None
    return flexdyn_ros.load(example_robot(name), options=options)


def link(name: str, mass: float, com=(0, 0, 0), inertia=(0, 0, 0, 0, 0, 0), rpy=(0, 0, 0)) -> str:
    """Text of a link; inertia = ixx ixy ixz iyy iyz izz."""
    if mass == 0:
        return f'<link name="{name}"/>'
    entries = " ".join(f'{key}="{value!r}"' for key, value in zip(TENSOR, map(float, inertia), strict=True))
    origin = f'<origin xyz="{numbers(com)}" rpy="{numbers(rpy)}"/>'
    inertial = f'<inertial>{origin}<mass value="{mass!r}"/><inertia {entries}/></inertial>'
    return f'<link name="{name}">{inertial}</link>'


def joint(
    name: str, kind: str, parent: str, child: str, xyz=(0, 0, 0), rpy=(0, 0, 0), axis=None, more: str = ""
) -> str:
    """Text of a joint."""
    text = f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
    text += f'<origin xyz="{numbers(xyz)}" rpy="{numbers(rpy)}"/>'
    if axis is not None:
        text += f'<axis xyz="{numbers(axis)}"/>'
    if kind in ("revolute", "prismatic") and "<limit" not in more:
        more += '<limit lower="-3" upper="3" effort="100" velocity="10"/>'
    return text + more + "</joint>"


TENSOR = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")


def numbers(vector) -> str:
    """Numbers as URDF writes vectors, in full precision."""
    return " ".join(repr(float(x)) for x in vector)


def robot_text(name: str, *parts: str) -> str:
    """Text of a robot."""
    return f'<robot name="{name}">' + "\n".join(parts) + "</robot>"


def two_link_arm(m1=1.7, m2=0.9, L1=0.8, L2=0.6, gravity="0 -9.81 0", more: str = "") -> str:
    """The planar arm with point masses at its link ends (serial specification, section 2.3)."""
    return robot_text(
        "two_link",
        link("base", 0),
        link("upper", m1, (L1, 0, 0)),
        link("lower", m2, (L2, 0, 0)),
        link("tip", 0),
        joint("shoulder", "continuous", "base", "upper", axis=(0, 0, 1)),
        joint("elbow", "continuous", "upper", "lower", (L1, 0, 0), axis=(0, 0, 1)),
        joint("tip_mount", "fixed", "lower", "tip", (L2, 0, 0)),
        f"<flexdyn><gravity>{gravity}</gravity></flexdyn>",
        more,
    )


#: joint types that `<joint_type>` names, and how many coordinates they have
JOINT_TYPES = {"planar": 3, "universal": 2, "cylindrical": 2, "helical": 1, "ball": 3}
#: all joint types
KINDS = ("revolute", "continuous", "prismatic", "fixed", "floating", *JOINT_TYPES)


def random_tree(
    seed: int,
    *,
    base: str | None = None,
    joints: int | None = None,
    mimic: bool = True,
    floating: bool = True,
    resistance: bool = False,
    kinds: tuple[str, ...] | None = None,
) -> str:
    """URDF text of a random tree; the same for the same arguments.

    base: fixed or floating (None: either); mimic, floating: whether such joints may occur; resistance:
    damping, friction, rotors and springs too. kinds: types of joints, by default those that URDF has a word
    for, without planar.
    """
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 11)) if joints is None else joints
    base = rng.choice(["fixed", "floating"]) if base is None else base
    kinds = kinds or ("revolute", "continuous", "prismatic", "fixed") + (("floating",) if floating else ())
    weights = np.array([{"floating": 0.4, "fixed": 0.6}.get(kind, 1.0) for kind in kinds])
    types: list[str] = []
    links = [_random_link(rng, 0)]
    parts: list[str] = []
    leaders: list[str] = []
    for i in range(1, n + 1):
        links.append(_random_link(rng, i))
        kind = str(rng.choice(kinds, p=weights / weights.sum()))
        parent = int(rng.integers(max(0, i - 3), i))
        more = ""
        if kind in JOINT_TYPES:
            types.append(_random_type(rng, kind, f"j{i}", resistance))
            kind = "planar" if kind == "planar" else "floating"
        elif kind not in ("fixed", "floating"):
            if mimic and leaders and rng.random() < 0.15:
                ratio, offset = rng.uniform(-2, 2), rng.uniform(-1, 1)
                more = f'<mimic joint="{rng.choice(leaders)}" multiplier="{ratio!r}" offset="{offset!r}"/>'
            else:
                leaders.append(f"j{i}")
            if resistance:
                friction = float(rng.choice([0.0, 0.5]))
                more += f'<dynamics damping="{rng.uniform(0, 2)!r}" friction="{friction!r}"/>'
        origin = rng.uniform(-0.6, 0.6, 3)
        parts.append(
            joint(
                f"j{i}",
                kind,
                f"l{parent}",
                f"l{i}",
                origin,
                rng.uniform(-3, 3, 3),
                _random_axis(rng, kind),
                more,
            )
        )
    order = rng.permutation(len(parts))
    gravity = numbers(rng.uniform(-10, 10, 3))
    tags = [f'<flexdyn><gravity>{gravity}</gravity><base type="{base}"/></flexdyn>']
    if resistance:
        tags += [_random_rotor(rng, name) for name in leaders if rng.random() < 0.4]
    return robot_text(f"random_{seed}", *links, *(parts[i] for i in order), *tags, *types)


def _random_type(rng: np.random.Generator, kind: str, name: str, resistance: bool) -> str:
    """Text of a block that makes a joint one of `JOINT_TYPES`."""
    attributes = {}
    if kind in ("universal", "helical", "cylindrical") and rng.random() < 0.7:
        attributes["axis"] = numbers(_random_axis(rng, kind))
        if kind == "universal":
            attributes["second_axis"] = numbers(rng.standard_normal(3))
    if kind == "helical":
        attributes["pitch"] = repr(float(rng.uniform(0.05, 0.5) * rng.choice([-1.0, 1.0])))
    if resistance:
        attributes["damping"] = numbers(rng.uniform(0, 2, JOINT_TYPES[kind]))
        attributes["friction"] = numbers(rng.choice([0.0, 0.5]) * np.ones(JOINT_TYPES[kind]))
    written = " ".join(f'{key}="{value}"' for key, value in attributes.items())
    return f'<flexdyn reference="{name}"><joint_type {written}>{kind}</joint_type></flexdyn>'


def _random_link(rng: np.random.Generator, i: int) -> str:
    box = rng.uniform(0.05, 0.5, 3) ** 2
    mass = float(rng.uniform(0.1, 5.0))
    diagonal = mass / 12.0 * (box.sum() - box)
    inertia = (diagonal[0], 0, 0, diagonal[1], 0, diagonal[2])
    return link(f"l{i}", mass, rng.uniform(-0.3, 0.3, 3), inertia, rng.uniform(-3, 3, 3))


def _random_axis(rng: np.random.Generator, kind: str):
    if kind in ("fixed", "floating"):
        return None
    if rng.random() < 0.5:
        return np.eye(3)[rng.integers(3)] * rng.choice([-1.0, 1.0])
    axis = rng.standard_normal(3)
    return axis * rng.uniform(0.5, 2.0) / np.linalg.norm(axis)


def _random_rotor(rng: np.random.Generator, name: str) -> str:
    text = f'<rotor inertia="{rng.uniform(1e-4, 1e-3)!r}" gear_ratio="{rng.uniform(10, 60)!r}"/>'
    text += f'<joint_spring stiffness="{rng.uniform(1, 50)!r}" reference="{rng.uniform(-1, 1)!r}"/>'
    return f'<flexdyn reference="{name}">{text}</flexdyn>'


def random_state(robot: flexdyn_ros.Robot, rng: np.random.Generator, shape: tuple[int, ...] = ()):
    """q (*shape, nq), v and a (*shape, nv)."""
    q = np.array([robot.random(rng) for _ in range(int(np.prod(shape)))]).reshape(*shape, robot.nq)
    return q, rng.uniform(-2, 2, (*shape, robot.nv)), rng.uniform(-5, 5, (*shape, robot.nv))


def assert_near(ours, reference, relative: float, what: str = "") -> None:
    """|ours - reference| <= relative * largest entry of the reference (or 1e-30)."""
    ours, reference = np.asarray(ours), np.asarray(reference)
    assert ours.shape == reference.shape, f"{what}: shape {ours.shape}, expected {reference.shape}"
    error = np.abs(ours - reference).max(initial=0.0)
    scale = np.abs(reference).max(initial=0.0) + 1e-30
    assert error <= relative * scale, (
        f"{what}: error {error:.3g}, {error / scale:.3g} of the largest entry {scale:.3g}"
    )


def without_mimic_and_resistance(path: str) -> str:
    """Text of a URDF file without `<mimic>` and `<dynamics>`: joints free of each other and of friction."""
    from lxml import etree

    root = etree.parse(path).getroot()
    for tag in ("mimic", "dynamics"):
        for element in list(root.iter(tag)):
            element.getparent().remove(element)
    return etree.tostring(root, encoding="unicode")


#: elastic joints of a rigid arm and of one that bends
_ROTOR = '<rotor inertia="1e-4" gear_ratio="50"/>'
ELASTIC_JOINTS = {"seven_joint_arm": ("shoulder_pitch", _ROTOR), "flexible_two_link": ("elbow", "")}


def elastic(name):
    """A shipped robot, one of whose joints is driven through a spring."""
    joint, rotor = ELASTIC_JOINTS[name]
    spring = '<joint_elasticity stiffness="900" damping="3"/>'
    text = flexdyn_ros.load(name).description.text
    tag = f'<flexdyn reference="{joint}">{rotor}{spring}</flexdyn>'
    return flexdyn_ros.load(text.replace("</robot>", f"{tag}</robot>"))
