"""Mechanisms with closed loops: thin rods in the plane, Andrews' squeezer, Bricard's mechanism."""

import numpy as np

import flexdyn_ros

AXIAL = 1e-4


def rod(name, length, mass, along=(1.0, 0.0, 0.0), axial=AXIAL):
    """A thin rod from the origin of its link along a direction, inertia m l^2 / 12 across, axial m along."""
    along = np.array(along)
    across = mass * length**2 / 12.0
    I = across * (np.eye(3) - np.outer(along, along)) + axial * mass * np.outer(along, along)
    return body(name, mass, 0.5 * length * along, I)


def body(name, mass, com, inertia):
    numbers = " ".join(map(repr, np.asarray(com, dtype=float).tolist()))
    I = np.asarray(inertia, dtype=float)
    return (
        (
            f'<link name="{name}"><inertial><origin xyz="{numbers}"/><mass value="{mass!r}"/><inertia ixx="{I[0, 0]!r}"'
            f' iyy="{I[1, 1]!r}" izz="{I[2, 2]!r}" ixy="{I[0, 1]!r}" ixz="{I[0, 2]!r}" iyz="{I[1, 2]!r}"/></inertial></link>'
        )
        .replace("np.float64(", "")
        .replace(")", "")
    )


def joint(name, parent, child, at=(0.0, 0.0, 0.0), axis=(0.0, 1.0, 0.0), type="continuous"):
    xyz, along = (" ".join(map(repr, map(float, x))) for x in (at, axis))
    return (
        f'<joint name="{name}" type="{type}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{xyz}"/><axis xyz="{along}"/></joint>'
    )


def robot(name, *parts, flexdyn=""):
    return f'<robot name="{name}"><link name="ground"/>{"".join(parts)}<flexdyn>{flexdyn}</flexdyn></robot>'


FOUR_BAR_LOOP = (
    '<loop name="close" type="revolute" base="coupler" base_xyz="0.8 0 0" end="rocker" end_xyz="0.6 0 0"'
    ' axis="0 1 0"/>'
)
FOUR_BAR_START = '<assembly start="crank_joint -1 coupler_joint 0.55 rocker_joint -1.6" lock="crank_joint"/>'
#: the four-bar of machines.md, W3: assembled positions and velocities there
Q = np.array([-1.0, 0.550917732477, -1.599521250488])
V = np.array([2.0, -2.463539761342, 0.573386618780])


def four_bar_urdf(loop=FOUR_BAR_LOOP, more='<actuation active="crank_joint"/>', start=FOUR_BAR_START):
    parts = (
        rod("crank", 0.3, 1.0),
        rod("coupler", 0.8, 2.0),
        rod("rocker", 0.6, 1.5),
        joint("crank_joint", "ground", "crank"),
        joint("coupler_joint", "crank", "coupler", at=(0.3, 0.0, 0.0)),
        joint("rocker_joint", "ground", "rocker", at=(0.9, 0.0, 0.0)),
    )
    return robot("four_bar", *parts, flexdyn=f"<gravity>0 0 -9.81</gravity>{loop}{start}{more}")


def four_bar(**changes):
    return flexdyn_ros.load(four_bar_urdf(**changes))
