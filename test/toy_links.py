"""Kinds of links from outside, as the texts of their modules, and arms that have one.

`telescope` stretches along its axis and leans aside; `bow` is a planar arc of constant curvature, whose
inertia and sections are integrals at each state.
"""

TELESCOPE = '''
"""A link that stretches along x by d and leans to 0.8 y + 0.6 z by e, the section at s by s d, s e. Springs
k (d + e / 2) + k3 d^3 and k (e + d / 2), and dampers like their linear parts, resist."""

from flexdyn_ros.description.language.vocabulary import element, not_negative, positive
from flexdyn_ros.multibody.links.kernels.answers import answers_of
from flexdyn_ros.multibody.links.kernels.answers import add_point, clear_inertia
from flexdyn_ros.multibody.links.registry import Coefficient, DeformingLink, LinkKind, OwnCoordinate
from flexdyn_ros.numerics.compiling.compiler import kernel


@element("telescope", "A link that stretches.", key="link", kw_only=True)
class Telescope(DeformingLink):
    length: float = positive("m", "length without force")
    mass: float = positive("kg", "mass, spread evenly")
    stiffness: float = positive("N/m", "k")
    hardening: float = not_negative("N/m3", "k3", default=0.0)
    damping: float = not_negative("N s/m", "c", default=0.0)


@kernel
def inertia(numbers, q, v, w, out):
    clear_inertia(out, 2)
    length, none = numbers[0] + q[0], 0.0 * q[0]
    # the rule of Gauss of two points is exact for quadratic integrands
    for i in range(2):
        s = 0.21132486540518711775 if i == 0 else 0.78867513459481288225
        u = (s + none, none, none, none, 0.8 * s + none, 0.6 * s + none)
        y, z = 0.8 * s * q[1], 0.6 * s * q[1]
        add_point(0.5 * numbers[1], s * length, y, z, u, none, none, none, v, w, out)


@kernel
def own_forces(numbers, q, v, out):
    k, k3, c, d, e = numbers[2], numbers[3], numbers[4], q[0], q[1]
    out.force[0] = (k + k3 * d * d) * d + 0.5 * k * e + c * (v[0] + 0.5 * v[1])
    out.force[1] = k * (e + 0.5 * d) + c * (v[1] + 0.5 * v[0])
    out.stiffness[0], out.stiffness[3] = k + 3.0 * k3 * d * d, k + 0.0 * d
    out.damping[0], out.damping[3] = c + 0.0 * d, c + 0.0 * d
    for i in range(1, 3):
        out.stiffness[i], out.damping[i] = 0.5 * k + 0.0 * d, 0.5 * c + 0.0 * d
    out.energy[0] = (0.5 * k + 0.25 * k3 * d * d) * d * d + 0.5 * k * e * (e + d)


@kernel
def station(numbers, s, q, pose, columns):
    for i in range(12):
        pose[i] = 0.0
    pose[0], pose[4], pose[8] = 1.0, 1.0, 1.0
    pose[9] = s[0] * (numbers[0] + q[0])
    pose[10], pose[11] = 0.8 * s[0] * q[1], 0.6 * s[0] * q[1]
    for i in range(12):
        columns[i] = 0.0
    columns[3], columns[10], columns[11] = s[0], 0.8 * s[0], 0.6 * s[0]


@kernel
def station_bias(numbers, s, q, v, bias):
    for i in range(6):
        bias[i] = 0.0


KIND = LinkKind(
    record=Telescope,
    answers=answers_of(inertia, own_forces, station, station_bias),
    coordinates=lambda record: tuple(OwnCoordinate(x, "m", 0.1 * record.length) for x in ("stretch", "lean")),
    numbers=lambda r: (r.length, r.mass, r.stiffness, r.hardening, r.damping),
    coefficients=lambda record: (
        Coefficient("own_mass", "kg", 1),
        Coefficient("stiffness", "N/m", 2),
        Coefficient("hardening", "N/m3", 3),
        Coefficient("damping", "N s/m", 4),
    ),
)
'''
BOW = '''
"""A link that bends in its x-y plane to an arc of the angle t: dh/ds = l (cos(s t), sin(s t)). A moment
k t + k3 t^3 and a damper c (1 + t^2) resist."""

import numpy as np

from flexdyn_ros.description.language.vocabulary import element, not_negative, positive
from flexdyn_ros.multibody.links.kernels.answers import answers_of
from flexdyn_ros.multibody.links.kernels.answers import add_point, clear_inertia
from flexdyn_ros.multibody.links.registry import Coefficient, DeformingLink, LinkKind, OwnCoordinate
from flexdyn_ros.numerics.compiling.compiler import kernel

POINTS = 8
_x, _w = np.polynomial.legendre.leggauss(POINTS)
AT, WEIGHT = tuple((0.5 + 0.5 * _x).tolist()), tuple((0.5 * _w).tolist())


@element("bow", "A link that bends to an arc.", key="link", kw_only=True)
class Bow(DeformingLink):
    length: float = positive("m", "length")
    mass: float = positive("kg", "mass, spread evenly")
    stiffness: float = positive("N m/rad", "k")
    hardening: float = not_negative("N m/rad3", "k3", default=0.0)
    damping: float = not_negative("N m s/rad", "c", default=0.0)


@kernel
def centre(length, s, t):
    """x, y of a point of the centre line, and their first two derivatives by t."""
    none = 0.0 * t
    x, y, dx, dy, ddx, ddy = none, none, none, none, none, none
    for i in range(POINTS):
        r, part = s * AT[i], length * s * WEIGHT[i]
        c, d = part * np.cos(r * t), part * np.sin(r * t)
        x, y = x + c, y + d
        dx, dy = dx - r * d, dy + r * c
        ddx, ddy = ddx - r * r * c, ddy - r * r * d
    return x, y, dx, dy, ddx, ddy


@kernel
def inertia(numbers, q, v, w, out):
    clear_inertia(out, 1)
    none, square = 0.0 * q[0], v[0] * v[0]
    for i in range(POINTS):
        x, y, dx, dy, ddx, ddy = centre(numbers[0], AT[i], q[0])
        u = (dx, dy, none)
        add_point(WEIGHT[i] * numbers[1], x, y, none, u, ddx * square, ddy * square, none, v, w, out)


@kernel
def own_forces(numbers, q, v, out):
    k, k3, c, t = numbers[2], numbers[3], numbers[4], q[0]
    out.force[0] = (k + k3 * t * t) * t + c * (1.0 + t * t) * v[0]
    out.stiffness[0] = k + 3.0 * k3 * t * t
    out.damping[0] = c * (1.0 + t * t)
    out.energy[0] = (0.5 * k + 0.25 * k3 * t * t) * t * t


@kernel
def station(numbers, s, q, pose, columns):
    x, y, dx, dy, _, _ = centre(numbers[0], s[0], q[0])
    c, d = np.cos(s[0] * q[0]), np.sin(s[0] * q[0])
    for i in range(12):
        pose[i] = 0.0
    pose[0], pose[1], pose[3], pose[4], pose[8] = c, -d, d, c, 1.0
    pose[9], pose[10] = x, y
    for i in range(6):
        columns[i] = 0.0
    columns[2], columns[3], columns[4] = s[0], dx, dy


@kernel
def station_bias(numbers, s, q, v, bias):
    _, _, _, _, ddx, ddy = centre(numbers[0], s[0], q[0])
    for i in range(6):
        bias[i] = 0.0
    bias[3], bias[4] = ddx * v[0] * v[0], ddy * v[0] * v[0]


KIND = LinkKind(
    record=Bow,
    answers=answers_of(inertia, own_forces, station, station_bias),
    coordinates=lambda record: (OwnCoordinate("bend", "rad", 0.5),),
    numbers=lambda r: (r.length, r.mass, r.stiffness, r.hardening, r.damping),
    station=lambda record, joint: min(1.0, max(0.0, joint.xyz[0] / record.length)),
    coefficients=lambda record: (
        Coefficient("own_mass", "kg", 1),
        Coefficient("stiffness", "N m/rad", 2),
        Coefficient("hardening", "N m/rad3", 3),
        Coefficient("damping", "N m s/rad", 4),
    ),
)
'''
SOURCES = {"telescope": TELESCOPE, "bow": BOW}
L, MASS, K, K3, C = 1.1, 2.4, 90.0, 400.0, 0.7
BEAM = (
    '<flexdyn reference="whip"><beam length="0.6" mass_per_length="1.4" EIy="90" EIz="70" GJ="40" '
    'polar_inertia="0.001"/><modes bending_y="1" bending_z="1"/><damping ratio="0.01"/></flexdyn>'
)
BODY = (0.05, 0.002, -0.001, 0.06, 0.003, 0.07)


def body(name, mass, more=""):
    """A rigid link with its mass off its origin."""
    return (
        f'<link name="{name}"><inertial><origin xyz="0.1 0.05 -0.03"/><mass value="{mass}"/>'
        f'<inertia ixx="{BODY[0]}" ixy="{BODY[1]}" ixz="{BODY[2]}" iyy="{BODY[3]}" iyz="{BODY[4]}" '
        f'izz="{BODY[5]}"/></inertial></link>{more}'
    )


def turning(name, parent, child, xyz, axis="0.1 1 0.3"):
    return (
        f'<joint name="{name}" type="continuous"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{xyz}" rpy="0.2 0.1 -0.3"/><axis xyz="{axis}"/></joint>'
    )


def element(name, link="boom", mass=MASS):
    numbers = f'length="{L}" mass="{mass}" stiffness="{K}" hardening="{K3}" damping="{C}"'
    return f'<{name} link="{link}" {numbers}/>'


def arm(name, more="", beam=True):
    """A deforming link between two joints, one of which a body and, with `beam`, a flexible link hang on."""
    text = (
        '<robot name="toy"><link name="ground"/><link name="boom"/>'
        + turning("shoulder", "ground", "boom", "0 0 0.5")
        + body("hand", 0.8)
        + turning("wrist", "boom", "hand", f"{L} 0.02 0", "0 0.3 1")
        + f"<flexdyn><gravity>1 -2 -9</gravity>{element(name)}{more}</flexdyn>"
    )
    if beam:
        text += '<link name="whip"/>' + turning("elbow", "hand", "whip", "0.3 0 0") + BEAM
    return text + "</robot>"
