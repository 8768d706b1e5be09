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
    numbers = " ".join(map(repr, map(float, com)))
    places = {"xx": (0, 0), "yy": (1, 1), "zz": (2, 2), "xy": (0, 1), "xz": (0, 2), "yz": (1, 2)}
    tensor = " ".join(f'i{name}="{float(np.asarray(inertia)[at])!r}"' for name, at in places.items())
    return (
        f'<link name="{name}"><inertial><origin xyz="{numbers}"/><mass value="{mass!r}"/><inertia {tensor}/>'
        "</inertial></link>"
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


def four_bars(count):
    """N four-bars in a row (IFToMM A02): N + 1 upright rods on the ground, N couplers, plane x y."""
    rods = {"length": 1.0, "mass": 1.0}
    parts, loops = [], []
    for i in range(count + 1):
        parts += [rod(f"rod_{i}", **rods, along=(0.0, 1.0, 0.0))]
        parts += [joint(f"foot_{i}", "ground", f"rod_{i}", at=(float(i), 0.0, 0.0), axis=(0.0, 0.0, 1.0))]
    for i in range(count):
        parts += [rod(f"bar_{i}", **rods)]
        parts += [joint(f"top_{i}", f"rod_{i}", f"bar_{i}", at=(0.0, 1.0, 0.0), axis=(0.0, 0.0, 1.0))]
        loops += [
            f'<loop name="close_{i}" type="revolute" base="bar_{i}" base_xyz="1 0 0" end="rod_{i + 1}"'
            ' end_xyz="0 1 0" axis="0 0 1"/>'
        ]
    return flexdyn_ros.load(
        robot("four_bars", *parts, flexdyn="<gravity>0 -9.81 0</gravity>" + "".join(loops))
    )


#: Bricard's mechanism (IFToMM A04): directions of the moving bars, and of the joint before each; the last
#: joint closes the loop
BRICARD_BARS = ((1, 0, 0), (0, -1, 0), (0, 0, 1), (-1, 0, 0), (0, 1, 0))
BRICARD_AXES = ((0, 1, 0), (0, 0, 1), (1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 0, 0))


def bricard():
    """Six bars of 1 m, 1 kg and a square section of 0.1 m; the one along z from (0, 0, 0) is the ground."""
    across, axial, parts, at, parent = (1.0 + 0.1**2) / 12.0, 0.1**2 / 6.0, [], (0.0, 0.0, 0.0), "ground"
    for i, (along, axis) in enumerate(zip(BRICARD_BARS, BRICARD_AXES, strict=False)):
        n = np.array(along, dtype=float)
        parts += [body(f"bar_{i}", 1.0, 0.5 * n, across * np.eye(3) + (axial - across) * np.outer(n, n))]
        parts += [joint(f"joint_{i}", parent, f"bar_{i}", at=at, axis=axis)]
        at, parent = along, f"bar_{i}"
    loop = (
        '<loop name="close" type="revolute" base="world" base_xyz="0 0 1" end="bar_4" end_xyz="0 1 0"'
        ' axis="1 0 0"/>'
    )
    return flexdyn_ros.load(robot("bricard", *parts, flexdyn="<gravity>0 -9.81 0</gravity>" + loop))


#: Andrews' squeezer (Schiehlen 1990): body, parent, joint, mass, inertia about the centre of mass, that
SQUEEZER = (
    ("K1", "ground", (0.0, 0.0), 0.04325, 2.194e-6, (0.00092, 0.0)),
    ("K2", "K1", (0.007, 0.0), 0.00365, 4.41e-7, (-0.0115, 0.0)),
    ("K3", "ground", (-0.03635, 0.03273), 0.02373, 5.255e-6, (0.01043, -0.01874)),
    ("K5", "ground", (-0.06934, -0.00227), 0.0705, 1.169e-5, (0.02308, -0.00916)),
    ("K4", "K5", (0.04, 0.0), 0.00706, 5.667e-7, (0.0, -0.00579)),
    ("K7", "ground", (-0.06934, -0.00227), 0.05498, 1.912e-5, (0.00449, -0.01228)),
    ("K6", "K7", (0.0, -0.04), 0.00706, 5.667e-7, (0.00579, 0.0)),
)
SQUEEZED = {
    "K1": -0.06171389001427645, "K2": 0.0, "K3": 0.45527981916307038, "K5": 0.48736497954384255,
    "K4": 0.22266839016588588, "K7": 1.2305474445498212, "K6": -0.22266839016588588,
}  # fmt: skip


def squeezer():
    parts = []
    for name, parent, at, mass, inertia, com in SQUEEZER:
        parts += [body(name, mass, (*com, 0.0), inertia * np.eye(3))]
        parts += [joint(f"{name}_joint", parent, name, at=(*at, 0.0), axis=(0.0, 0.0, 1.0))]
    ends = {"K3": "0 -0.035 0", "K4": "0 -0.02 0", "K6": "0.02 0 0"}
    loops = "".join(
        f'<loop name="to_{name}" type="point_on_line" base="K2" base_xyz="-0.028 0 0" end="{name}"'
        f' end_xyz="{xyz}" axis="0 0 1"/>'
        for name, xyz in ends.items()
    )
    spring = (
        '<spring name="spring" base="K3" base_xyz="0.02 -0.018 0" end="world" end_xyz="0.014 0.072 0"'
        ' stiffness="4530" free_length="0.07785"/>'
    )
    start = " ".join(f"{name}_joint {value!r}" for name, value in SQUEEZED.items())
    more = f'<gravity>0 0 0</gravity><assembly start="{start}"/><actuation active="K1_joint"/>'
    return flexdyn_ros.load(robot("squeezer", *parts, flexdyn=loops + spring + more))


#: a four-bar on a floating base
FLOATING = four_bar_urdf(
    start='<assembly start="crank_joint -1 coupler_joint 0.55 rocker_joint -1.6"/>',
    more='<base type="floating"/><actuation active="crank_joint"/>',
)

#: a bending beam on a hinge whose tip slides on a plane
BEAM = """<robot name="beam"><link name="ground"/><link name="b"/>
<joint name="hinge" type="continuous"><parent link="ground"/><child link="b"/><axis xyz="0 1 0"/></joint>
<flexdyn><actuation active="hinge"/>
<loop name="tip" type="point_on_plane" base="world" end="b@tip" axis="0.2 0 1"/></flexdyn>
<flexdyn reference="b"><beam length="1.2" mass_per_length="2" EIy="50" EIz="50" GJ="1e4" EA="1e7"
 polar_inertia="1e-4"/><modes bending_z="3" bending_y="1"/></flexdyn></robot>"""


#: oil in a cylinder of 120 mm bore, and a pump for several
OIL = (
    '<hydraulics supply="oil"><chambers bore="0.12" rod_diameter="0.08" dead_volume_bore="1e-3"'
    ' dead_volume_rod="1e-3"/><valve rated_flow="2e-3" rated_pressure_drop="35e5" rating="edge"'
    ' time_constant="0.02"/><end_stop stiffness="1e8" damping="1"/></hydraulics>'
)
SUPPLY = (
    '<supply name="oil" pressure="250e5" tank_pressure="3e5"><fluid bulk_modulus="1.4e9"'
    ' air_fraction="0.005"/></supply>'
)


def _cylinder(name, base, base_xyz, end, end_xyz, minimum, stroke, inside):
    return (
        f'<cylinder name="{name}" base="{base}" base_xyz="{base_xyz}" end="{end}" end_xyz="{end_xyz}"'
        f' minimum_length="{minimum}" stroke="{stroke}">{inside}</cylinder>'
    )


def excavator(heavy=True, oil=False):
    """A boom, an arm and a bucket on three cylinders, the bucket by a bell crank: six joints, one loop."""
    masses = '<barrel mass="20" com="0.3" inertia="1.5"/><rod mass="10" com="-0.35" inertia="0.8"/>'
    inside = (masses if heavy else "") + (OIL if oil else '<force maximum="3e5"/>')
    rods = {"boom": (4.0, 800.0), "arm": (2.0, 300.0), "bucket": (1.0, 200.0)}
    rods |= {"crank": (0.5, 20.0), "link": (0.5, 20.0)}
    parts = [rod("house", 1.0, 2000.0, along=(0.0, 0.0, 1.0), axial=0.5)]
    parts += [rod(name, *size, axial=0.05) for name, size in rods.items()]
    parts += [
        joint("slew", "ground", "house", axis=(0, 0, 1)),
        joint("boom_joint", "house", "boom", at=(0.3, 0, 0.5)),
        joint("arm_joint", "boom", "arm", at=(4.0, 0, 0)),
        joint("bucket_joint", "arm", "bucket", at=(2.0, 0, 0)),
        joint("crank_joint", "arm", "crank", at=(1.6, 0, 0)),
        joint("link_joint", "crank", "link", at=(0.5, 0, 0)),
    ]
    loop = (
        '<loop name="bell" type="revolute" base="link" base_xyz="0.5 0 0" end="bucket" end_xyz="0.3 0 0.15"'
        ' axis="0 1 0"/><assembly start="boom_joint -0.5 arm_joint 1.2 bucket_joint 0.6 crank_joint -0.9'
        ' link_joint 1.2" lock="boom_joint arm_joint bucket_joint"/><actuation active="slew"/>'
    )
    cylinders = (
        _cylinder("boom_cylinder", "house", "0.6 0 -0.2", "boom", "2.0 0 0.2", 1.0, 2.5, inside),
        _cylinder("arm_cylinder", "boom", "1.8 0 0.5", "arm", "-0.4 0 0.2", 1.0, 3.0, inside),
        _cylinder("bucket_cylinder", "arm", "0.2 0 0.4", "crank", "0.45 0 0", 0.5, 3.0, inside),
    )
    gravity = "<gravity>0 0 -9.81</gravity>" + (SUPPLY if oil else "")
    return flexdyn_ros.load(robot("excavator", *parts, flexdyn=gravity + loop + "".join(cylinders)))
