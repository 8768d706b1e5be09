"""The one section of an arm on a base at rest: closed form, quadrature, centre-of-mass lumps.

Each gives, for K = 1/2 x'^T D x', the matrix D, the velocity forces h, and the derivative of the mass moment
by x (through which gravity acts). See docs/theory/continuum.md, "Mass".
"""

from __future__ import annotations

import numpy as np

from flexdyn_ros.numerics.algebra.series import bending_functions, inertia_functions
from flexdyn_ros.numerics.compiling.compiler import inlined, kernel

from . import views as at
from .algebra import column, dot, put, put_column, sum2, vector
from .section import fill_nodes, put_inertia, slice_inertia, velocity_forces

#: of the lump with two coefficients: exact for bending and for elongation at the straight pose
BENDING_RATIO, ELONGATION_RATIO = 5.0 / 9.0, 3.0 / 4.0


@kernel
def put_mass_moment(W, m, x, C, B, C1, B1):
    """Rows COUPLING_SHIFT: m d beta/dx of the centre of mass beta = s (C u, B)."""
    ux, uy, s = x
    put_column(W, at.COUPLING_SHIFT, 0, (m * s * (C + C1 * ux * ux), m * s * C1 * ux * uy, m * s * B1 * ux))
    put_column(W, at.COUPLING_SHIFT, 1, (m * s * C1 * ux * uy, m * s * (C + C1 * uy * uy), m * s * B1 * uy))
    put_column(W, at.COUPLING_SHIFT, 2, (m * C * ux, m * C * uy, m * B))


@inlined
def closed_form(P, W):
    """The distributed mass, integrated (5.2): rows INERTIA and COUPLING_SHIFT, velocity forces in FORCE."""
    x, xd = vector(W, at.X), vector(W, at.XD)
    ux, uy, s = x
    m, kap = P[at.MASS], P[at.ROTARY]
    y = ux * ux + uy * uy
    S, B, C, S1, B1, b, S2, B2, b1 = bending_functions(y)
    c, d, cw, dw, c1, d1, cw1, dw1 = inertia_functions(y)
    s2 = s * s
    put_inertia(W, m * (s2 * c + kap * cw), m * (s2 * d + kap * dw), m * s * b, 2.0 * m * C, ux, uy)
    put_mass_moment(W, m, x, C, B, b, B1)
    w, v, sd = ux * xd[0] + uy * xd[1], xd[0] * xd[0] + xd[1] * xd[1], xd[2]
    Py, Qy, Q = s2 * c1 + kap * cw1, s2 * d1 + kap * dw1, s2 * d + kap * dw
    along = m * (2.0 * s * sd * d * w + 0.5 * Qy * w * w + (Q - 0.5 * Py) * v)
    across = m * (2.0 * s * sd * c + Py * w)
    axial = m * (2.0 * b * w * sd + s * (b1 - d) * w * w + s * (b - c) * v)
    put(W, at.FORCE, (along * ux + across * xd[0], along * uy + across * xd[1], axial))


@kernel
def add_product(W, factor, a, b):
    """INERTIA += factor (a b^T) for symmetric pairs of tuples."""
    for i in range(3):
        for j in range(3):
            ai = a[0] if i == 0 else (a[1] if i == 1 else a[2])
            bj = b[0] if j == 0 else (b[1] if j == 1 else b[2])
            W[at.INERTIA + 3 * i + j] += factor * ai * bj


@kernel
def lump(P, W, ratio, elongation):
    """The mass in its centre, as m / ratio; elongation > 0: another ratio along the line from the base (6).

    Gravity keeps the true mass.
    """
    x, xd = vector(W, at.X), vector(W, at.XD)
    ux, uy, s = x
    m = P[at.MASS]
    y = ux * ux + uy * uy
    S, B, C, S1, B1, C1, S2, B2, C2 = bending_functions(y)
    put_mass_moment(W, 1.0, x, C, B, C1, B1)
    w, v, sd = ux * xd[0] + uy * xd[1], xd[0] * xd[0] + xd[1] * xd[1], xd[2]
    Cd, Bd = C1 * w, B1 * w
    Cdd, Bdd = C2 * w * w + C1 * v, B2 * w * w + B1 * v
    k0, k1 = sd * C + s * Cd, 2.0 * sd * Cd + s * Cdd
    velocity = k0 * ux + s * C * xd[0], k0 * uy + s * C * xd[1], sd * B + s * Bd
    bias = k1 * ux + 2.0 * k0 * xd[0], k1 * uy + 2.0 * k0 * xd[1], 2.0 * sd * Bd + s * Bdd
    J0, J1, J2 = (
        column(W, at.COUPLING_SHIFT, 0),
        column(W, at.COUPLING_SHIFT, 1),
        column(W, at.COUPLING_SHIFT, 2),
    )
    put_column(W, at.COUPLING_SHIFT, 0, (m * J0[0], m * J0[1], m * J0[2]))
    put_column(W, at.COUPLING_SHIFT, 1, (m * J1[0], m * J1[1], m * J1[2]))
    put_column(W, at.COUPLING_SHIFT, 2, (m * J2[0], m * J2[1], m * J2[2]))
    for i in range(9):
        W[at.INERTIA + i] = 0.0 * y
    k = m / ratio
    add_product(W, k, (J0[0], J1[0], J2[0]), (J0[0], J1[0], J2[0]))
    add_product(W, k, (J0[1], J1[1], J2[1]), (J0[1], J1[1], J2[1]))
    add_product(W, k, (J0[2], J1[2], J2[2]), (J0[2], J1[2], J2[2]))
    on_x = k * dot(J0, bias), k * dot(J1, bias), k * dot(J2, bias)
    if elongation > 0.0:
        # K += 1/2 m (1/elongation - 1/ratio) (d|beta|/dt)^2
        more = m * (1.0 / elongation - 1.0 / ratio)
        beta = s * C * ux, s * C * uy, s * B
        square = dot(beta, beta)
        distance = np.sqrt(square)
        n = dot(J0, beta) / distance, dot(J1, beta) / distance, dot(J2, beta) / distance
        add_product(W, more, n, n)
        along = dot(beta, velocity)
        bend = (dot(velocity, velocity) + dot(beta, bias) - along * along / square) / distance
        on_x = sum2(on_x, (more * bend * n[0], more * bend * n[1], more * bend * n[2]))
    put(W, at.FORCE, on_x)


@inlined
def quadrature_at_rest(arm, P, W, E):
    """The distributed mass by Gauss-Legendre: rows INERTIA, COUPLING_SHIFT and FORCE."""
    x = vector(W, at.X)
    zero = 0.0 * x[0]
    fill_nodes(arm, P, E, x[0] * x[0] + x[1] * x[1])
    slice_inertia(arm, P, W, E, at.BASE)
    on_x, moment, force = velocity_forces(arm, P, W, E, (zero, zero, zero))
    put(W, at.FORCE, on_x)


@kernel
def only_section(arm, P, W, E):
    """Rows INERTIA, COUPLING_SHIFT and velocity forces in FORCE of the one section of an arm."""
    if arm.mass_model == at.CLOSED:
        closed_form(P, W)
    elif arm.mass_model == at.QUADRATURE:
        quadrature_at_rest(arm, P, W, E)
    elif arm.mass_model == at.LUMPED:
        lump(P, W, arm.numbers[at.ENERGY_RATIO], 0.0)
    else:
        lump(P, W, BENDING_RATIO, ELONGATION_RATIO)
    x = vector(W, at.X)
    zero = 0.0 * x[0]
    for j in range(3):
        put_column(W, at.COUPLING_TURN, j, (zero, zero, zero))
