"""Robots whose cylinders are driven by oil, as URDF text."""

from __future__ import annotations

import re

import numpy as np

from flexdyn_ros.description import read

__all__ = [
    "CONSTANT",
    "COUNTERBALANCE",
    "FIXED",
    "FLUID",
    "HANGING",
    "HOLDING",
    "HOSE",
    "LINE",
    "LOWERED",
    "PUMP",
    "PUMPED",
    "SENSES",
    "SENSING",
    "SENSING_PUMP",
    "SMOOTH",
    "STOP",
    "K",
    "hanging",
    "stewart_on",
]

FLUID = '<fluid bulk_modulus="1.4e9" air_fraction="0.005"/>'
#: bore, rod, dead volumes of the cylinder of docs/theory/hydraulics.md, "Worked numbers", and a fast valve
_CYLINDER = """
<chambers bore="0.05" rod_diameter="0.036" dead_volume_bore="1e-4" dead_volume_rod="1e-4"/>
<valve rated_flow="6.666666666666667e-4" rated_pressure_drop="35e5" rating="edge" {valve}/>
<end_stop stiffness="1e8" damping="1"/>
"""
_SLIDE = """<link name="{link}"><inertial><mass value="{mass}"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="{joint}" type="prismatic"><parent link="base"/><child link="{link}"/><origin xyz="0 0 1"/>
<axis xyz="0 0 1"/><limit lower="-0.5" upper="0.5" effort="0" velocity="1"/></joint>
"""


def hanging(
    *,
    mass: float = 300.0,
    in_cylinder: str = "",
    in_supply: str = "",
    in_robot: str = "",
    valve: str = 'time_constant="0.01"',
    supply: str = 'pressure="160e5"',
    second_mass: float | None = None,
) -> str:
    """A load on a slide along z that a cylinder carries, its piston 0.17 m out where the slide is at zero;
    with a second mass another one beside it, on the same supply."""
    names = {"load": ("slide", "lift", mass)}
    if second_mass is not None:
        names["second_load"] = "second_slide", "second_lift", second_mass
    bodies = "".join(_SLIDE.format(link=link, joint=joint, mass=m) for link, (joint, _, m) in names.items())
    oil = f'<hydraulics supply="oil">{_CYLINDER.format(valve=valve)}{in_cylinder}</hydraulics>'
    cylinders = "".join(
        f'<cylinder name="{name}" base="base" end="{link}" minimum_length="0.83" stroke="0.4">{oil}'
        "</cylinder>"
        for link, (_, name, _) in names.items()
    )
    return f"""<robot name="hanging">
<link name="base"/>
{bodies}
<flexdyn version="1">
<gravity>0 0 -9.81</gravity>
<supply name="oil" {supply} tank_pressure="3e5">{FLUID}{in_supply}</supply>
{cylinders}
{in_robot}</flexdyn></robot>"""


HANGING = hanging()

PUMP = '<pump type="{}" displacement="1.2e-5" speed="157" {}/>'
COUNTERBALANCE = '<counterbalance port="bore" cracking_pressure="{}" pilot_ratio="{}" conductance="{}"/>'
CONSTANT, FIXED, SENSING = "constant_pressure", "fixed_displacement", "load_sensing"
LINE = 'line_volume="1e-3"'
SENSES = LINE + ' margin="2e6" maximum_pressure="2e7"'
STOP = '<end_stop stiffness="1e8" damping="1"/>'
HOSE = '<hose port="bore" volume="1e-4"/>'

#: flow constant of an edge of the valve
K = 6.666666666666667e-4 / np.sqrt(35e5)
HOLDING = (
    f'<counterbalance port="bore" cracking_pressure="90e5" pilot_ratio="4" conductance="{0.5 * K}" '
    'opening_range="20e5"/>'
)
#: 1,200 kg lowered by a valve whose rod edges are narrow
LOWERED = {"mass": 1200.0, "valve": 'time_constant="1e-4" flow_ratio="0.15"'}
SENSING_PUMP = (
    '<pump type="load_sensing" displacement="1.2e-5" speed="157" band="10e5" line_volume="2e-3" '
    'margin="20e5" maximum_pressure="250e5"/>'
)
#: friction without a jump
SMOOTH = (
    '<friction model="stribeck" coulomb="0" static="0" stribeck_velocity="0.01" smoothing_velocity="0.005" '
    'viscous="600"/>'
)
PUMPED = PUMP.format("constant_pressure", 'line_volume="2e-3" leakage="1e-12" band="10e5"')


def stewart_on(attributes: str, inside: str = "") -> str:
    """`stewart_1t` whose legs are on a supply of the robot, with these attributes and elements."""
    text = read("stewart_1t").text
    fluid = re.search(r"<fluid [^>]*/>", text)[0]
    text = re.sub(r"<supply [^>]*/>", '<supply name="oil"/>', text).replace(fluid, "")
    supply = f'<supply name="oil" tank_pressure="3e5" {attributes}>{fluid}{inside}</supply>'
    return text.replace("<flexdyn>", "<flexdyn>" + supply, 1)
