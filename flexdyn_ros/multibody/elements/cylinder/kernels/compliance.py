"""Oil in one linearly implicit step of a robot: what a cylinder is as a row with a compliance.

docs/theory/hydraulics.md, "Oil in an implicit step". Let b = gamma h; in a stage (1 - b J) k = r of the
state (q, v, s) the oil s is eliminated. With the slopes P_s = diag(beta/s) and P_y = (-beta_1 A1/V1, beta_2
A2/V2) of the pressures, a = (A1, -A2), and G the slopes of s' by the pressures,

    k_eff = -a (1 - b P_s G)^-1 P_y,

which is the oil spring of shut valves for G = 0, and falls to what lets oil pass for large b. The stage then
has the rows of the bodies alone, with b d + b^2 k_eff along each cylinder's line, the right side

    -b k_eff (j r_q) + b a P_s (1 - b G P_s)^-1 r_s,

and afterwards k_s = (1 - b G P_s)^-1 (r_s + b G P_y (j k_q)). Lines keep their pressure while the
cylinders move (stages.py), so that each cylinder has a stiffness of its own.
"""

from __future__ import annotations

from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.numbers.functions import less, select

from . import memory as at
from .cylinder import volumes
from .friction import dry_friction


@kernel
def pressure_slopes(P, y, s1, beta1, s2, beta2):
    """Slopes of p1, p2 by their oil [Pa/m3], and by the stroke [Pa/m]."""
    V1, V2, moves = volumes(P, y)
    by_y = (-beta1 * P[at.AREA_1] / V1 * moves, beta2 * P[at.AREA_2] / V2 * moves)
    return beta1 / s1, beta2 / s2, by_y[0], by_y[1]


@kernel
def eliminated(P, y, oil, G, b):
    """k_eff of a cylinder [N/m] with the piston at y, and the slopes G of s', row by row.

    oil : (s1, p1, beta1, s2, p2, beta2); b = gamma h [s].

    Returns k_eff; the row a P_s (1 - b G P_s)^-1 of the right side; (1 - b G P_s)^-1, row by row; and the
    column (1 - b G P_s)^-1 b G P_y: k_s = inverse r_s + column (j k_q).
    """
    s1, _, beta1, s2, _, beta2 = oil
    g11, g12, g21, g22 = G
    c1, c2, y1, y2 = pressure_slopes(P, y, s1, beta1, s2, beta2)
    m11, m12, m21, m22 = 1.0 - b * g11 * c1, -b * g12 * c2, -b * g21 * c1, 1.0 - b * g22 * c2
    det = m11 * m22 - m12 * m21
    inverse = (m22 / det, -m12 / det, -m21 / det, m11 / det)
    a1, a2 = P[at.AREA_1] * c1, -P[at.AREA_2] * c2
    row = (a1 * inverse[0] + a2 * inverse[2], a1 * inverse[1] + a2 * inverse[3])
    r1, r2 = b * (g11 * y1 + g12 * y2), b * (g21 * y1 + g22 * y2)
    column = (inverse[0] * r1 + inverse[1] * r2, inverse[2] * r1 + inverse[3] * r2)
    stiffness = -(P[at.AREA_1] * y1 - P[at.AREA_2] * y2) - (a1 * column[0] + a2 * column[1])
    return stiffness, row, inverse, column


@kernel
def resistance(P, v):
    """Secant of the friction over the rate v, viscous part included [N s/m]: d of an implicit step."""
    if P[at.FRICTION_LAW] == at.NO_FRICTION:
        return 0.0
    if P[at.FRICTION_LAW] == at.LUGRE_LAW:
        return P[at.VISCOUS] + P[at.BRISTLE_DAMPING]
    slow = less(abs(v), 1e-3 * P[at.SMOOTHING])
    v = select(slow, P[at.SMOOTHING], v)
    secant = dry_friction(P[at.COULOMB], P[at.STATIC], P[at.STRIBECK], P[at.SMOOTHING], v) / v
    return P[at.VISCOUS] + select(slow, P[at.STATIC] / P[at.SMOOTHING], secant)
