"""A hexapod that is part of a tree, for tests: an arm on it, a carriage below it."""

from __future__ import annotations

import re

import numpy as np

import flexdyn_ros as fd
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


def beam(link, station, **attributes):
    """What bends, with all legs of a hexapod at a station of it."""
    given = {"mass_per_length": "20", "EIy": "4e5", "EIz": "3e5"} | attributes
    words = " ".join(f'{name}="{value}"' for name, value in given.items())
    joints = ["platform", *(f"leg_{n}_u1" for n in range(1, 7))] if station else []
    attached = "".join(f'<attach joint="{name}" station="{station}"/>' for name in joints)
    modes = '<modes bending_y="2" bending_z="2"/>'
    return f'<flexdyn reference="{link}"><beam {words}/>{modes}{attached}<damping ratio="0.02"/></flexdyn>'


#: the link below the legs is a boom that bends, whose section at a station carries them
BOOM_BELOW = (
    joint("hinge", "revolute", "ground", "base_link", "0 1 0", rpy="0 0 0.2") + '<link name="ground"/>'
)
ON_TIP = BOOM_BELOW + beam("base_link", "tip", origin="-1.5 0 0", length="1.5")
ON_MIDDLE = BOOM_BELOW + beam("base_link", "0.6", origin="-0.9 0 0", length="1.5")
ON_ROOT = BOOM_BELOW + beam("base_link", "root", length="1.5")
#: the platform is a mast that bends, with an arm at its tip
MAST = (
    link("upper", 3, "0.02 0.01 0.1")
    + joint("shoulder", "revolute", "platform", "upper", "0.1 1 0", "0 0 0.4")
    + beam("platform", "", axis="0 0 1", length="0.4", EIy="900", EIz="700", mass_per_length="4")
)


#: the link below the legs is the coupler of a linkage of four bars
FOUR_BARS = (
    link("ground", 5, "0 0 0")
    + link("rocker", 4, "0.02 0 0.2")
    + joint("turn", "revolute", "ground", "rocker", "0 1 0", "-0.4 0 0")
    + joint("tilt", "revolute", "rocker", "base_link", "0 1 0.01", "0 0 0.5")
    + '<flexdyn><loop name="strut" type="distance" base="ground" base_xyz="0.5 0.1 0" end="base_link" '
    + 'end_xyz="0.8 0.1 0.05" length="0.6"/></flexdyn>'
)
#: the arm that it carries hangs on a rod from the platform
ROD = (
    '<flexdyn><loop name="rod" type="distance" base="platform" base_xyz="0.1 0.1 0.1" end="fore" '
    'end_xyz="0.2 0 0.05" length="0.35"/></flexdyn>'
)
#: a rod from the world holds the platform
TETHER = (
    '<flexdyn><loop name="tether" type="distance" base="world" base_xyz="0.9 0 0.2" end="platform" '
    'end_xyz="0.1 0 0.02" length="0.81"/></flexdyn>'
)


OIL = """<hydraulics>
  <cylinder bore="0.025" rod_diameter="0.014" dead_volume_bore="1e-5" dead_volume_rod="1e-5"/>
  <valve rated_flow="5e-5" rated_pressure_drop="3.5e6" rating="edge" time_constant="0.005"/>
  <fluid bulk_modulus="1.2e9" model="constant"/><supply pressure="7e6" tank_pressure="2e5"/>
  <leakage internal="1e-13"/>
  <friction model="stribeck" coulomb="2" static="3" stribeck_velocity="0.02" smoothing_velocity="0.005"
   viscous="100"/>
  <end_stop stiffness="1e7" damping="1"/></hydraulics>"""


CRANE = joint("crane", "revolute", "chassis", "base_link", "0.1 0.2 1", "0.1 0 0.4", "0 0 0.2")
#: a linkage of four bars on the bed of a truck
BED = (
    '<joint name="bed" type="fixed"><parent link="chassis"/><child link="ground"/>'
    + '<origin xyz="0 0 0.4"/></joint>'
    + FOUR_BARS
)


def truck(base="floating", suspension="exact", more=ARM, seat=CRANE):
    """A hexapod on a crane of a truck, on a road of waves."""
    sides = (0.5, -0.5) if base == "floating" else (0.0,)
    wheels = "".join(
        f'<wheel name="w{i}{j}" link="chassis" xyz="{x} {y} 0"><suspension stiffness="{k}" damping="40" '
        f'free_length="0.4"/><tyre stiffness="8000" damping="10" radius="0.2" mass="2"/></wheel>'
        for i, (x, k) in enumerate(((-0.6, 900), (0.7, 1000)))
        for j, y in enumerate(sides)
    )
    text = (
        link("chassis", 40, "0.05 0 0.1")
        + seat
        + f'<flexdyn><base type="{base}"/>{wheels}'
        + f'<formulation method="articulated" suspension="{suspension}"/>'
        + '<road kind="sine" amplitude="0.03" wavelength="1.5"/></flexdyn>'
    )
    return with_arm(text + more).replace('<link name="base_link"/>', link("base_link", 6, "0 0 0.01"))


def second(parent, origin, text=ELECTRIC):
    """Another hexapod, on a link: its own link `low` below and `high` above, legs `two_1` to `two_6`."""
    body = text[text.index("<link") : text.index("</platform>") + len("</platform>")]
    body = re.sub("<gravity>.*?</gravity>", "", body)
    for old, new in (("leg_", "two_"), ("base_link", "low"), ('"platform"', '"high"')):
        body = body.replace(old, new)
    return (
        body + f'</flexdyn><joint name="stand" type="fixed"><parent link="{parent}"/><child link="low"/>'
        f'<origin xyz="{origin}" rpy="0.1 0.2 0.3"/></joint>'
    )


def active(joints):
    """What has motors beside what is on no loop."""
    return f'<flexdyn><actuation active="{joints}"/></flexdyn>'


def with_arm(more=ARM):
    return ELECTRIC.replace("<flexdyn>", more + "<flexdyn>", 1)


def loops_of(text):
    """The same robot with its legs as links and spherical loops, and without `<platform>`."""
    loops = ""
    while "<platform " in text:
        begin, end = text.index("<platform "), text.index("</platform>") + len("</platform>")
        link = re.search('link="([^"]*)"', text[begin:end])[1]
        for leg in re.findall("<leg [^>]*>", text[begin:end]):
            slider, anchor = (re.search(f'{word}="([^"]*)"', leg)[1] for word in ("slider", "anchor"))
            loops += (
                f'<loop name="{slider}_closed" type="spherical" base="{slider.replace("_slide", "_rod")}" '
                f'end="{link}" end_xyz="{anchor}"/>'
            )
        text = text[:begin] + text[end:]
    return fd.load(text.replace("</robot>", f"<flexdyn>{loops}</flexdyn></robot>"))


def state_of_loops(robot, loops, q, v):
    """q, v of the robot with loops: its floating joints are relative to the links below."""
    values, speeds = {}, {}
    for mount in robot.description.mounts:
        name, mechanism = mount.platform.link, robot.mechanisms[mount.platform.link]
        pose, twist = robot.carried_motion(q, v, name)
        positions, rates = mechanism.leg_joints(pose, twist)
        names = [name for leg in mechanism.legs for name in leg.joints]
        values |= dict(zip(names, positions.ravel(), strict=True))
        speeds |= dict(zip(names, rates.ravel(), strict=True))
        pose = [*(pose[:3] - mount.joint.xyz), *pose[3:]]
        words = ("x", "y", "z", "qx", "qy", "qz", "qw")
        values |= dict(zip((f"{mount.joint.name}/{x}" for x in words), pose, strict=True))
        words = ("wx", "wy", "wz", "vx", "vy", "vz")
        speeds |= dict(zip((f"{mount.joint.name}/{x}" for x in words), twist, strict=True))
    values, speeds = (
        dict(zip(robot.q_names, q, strict=True)) | values,
        dict(zip(robot.v_names, v, strict=True)) | speeds,
    )
    return tuple(
        np.array([x[name] for name in names])
        for x, names in ((values, loops.q_names), (speeds, loops.v_names))
    )
