"""A hexapod that is part of a tree, for tests: an arm on it, a carriage below it."""

from __future__ import annotations

from flexdyn_ros.description import read

IDLE = '<flexdyn><damper name="idle" base="world" base_xyz="9 9 9" end="platform" damping="0"/></flexdyn>'
ELECTRIC = read("stewart_electric").text
INERTIAL = """<inertial><origin xyz="{com}"/><mass value="{mass}"/>
  <inertia ixx="0.03" iyy="0.04" izz="0.02" ixy="0.002" ixz="-0.001" iyz="0.003"/></inertial>"""


def link(name, mass, com):
    return f'<link name="{name}">{INERTIAL.format(mass=mass, com=com)}</link>'


def joint(name, kind, parent, child, axis, origin="0 0 0", rpy="0 0 0"):
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{origin}" rpy="{rpy}"/><axis xyz="{axis}"/>'
        '<limit lower="-2" upper="2" effort="90" velocity="9"/></joint>'
    )


ARM = (
    link("upper", 3, "0.02 0.01 0.1")
    + link("fore", 2, "0.2 0 0.03")
    + joint("shoulder", "revolute", "platform", "upper", "0.1 0 1", "0.03 0 0.05", "0.1 -0.2 0.3")
    + joint("elbow", "revolute", "upper", "fore", "0 1 0.2", "0 0.02 0.2")
)
#: the hexapod stands on a link that slides and turns
CARRIAGE = (
    link("rail", 8, "0 0.1 0")
    + '<link name="ground"/>'
    + joint("slide", "prismatic", "ground", "rail", "1 0.2 0.1", rpy="0.2 0.1 0")
    + joint("turn", "revolute", "rail", "base_link", "0.2 0.3 1", "0 0 0.1", "-0.1 0.3 0.2")
)


def with_arm(more=ARM):
    return ELECTRIC.replace("<flexdyn>", more + "<flexdyn>", 1)
