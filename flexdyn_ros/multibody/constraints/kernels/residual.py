"""Residuals of closed joints, their rates and their accelerations, for any number type.

Constraint frames (R1, p1), (R2, p2) with twists (w1, v1), (w2, v2); r = p2 - p1, columns c_i of R1, n of R2
(its third). Every row phi is linear in the twists, phi' = L (w1; v1; w2; v2), and

    phi'' = L (al1; a1; al2; a2) + quadratic part,

al, a the angular and the classical linear acceleration of the frames. By rows:

    d_i = c_i . r             phi'' - L a = c_i . (-2 w1 x r' + w1 x (w1 x r)),    r' = v2 - v1
    k_i = c_i . n             c_i . (-(w1 x w2) x n + W x (W x n)),                W = w2 - w1
    rho = vee(Q - Q') / 2,    rho' = E w, E = (tr(Q) 1 - Q) / 2, w = R1' W, Q = R1' R2
                              E (-R1' (w1 x w2)) + E([w] Q) w
    ell = |r|                 (|r'|^2 - ell'^2) / ell

The force that belongs to a row acts on the end, and its counterpart on the base, both at p2: L has r x c_i
for w1.
"""

from __future__ import annotations

import numpy as np

from flexdyn_ros.multibody.elements.kernels.law import (
    FRAME,
    OMEGA,
    POSITION,
    ROTATION,
    VELOCITY,
)
from flexdyn_ros.numerics.algebra.rotations import cross, load3, load9, store3, turn, unturn
from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.compiling.windows import window

#: kinds of rows: distances along the axes of the base, the axis of the end across and along these (K2 is
#: -k2), rotation, length
D1, D2, D3, K2, K1, K3, RHO1, RHO2, RHO3, ELL = range(10)

#: numbers of a row: residual, rate, second derivative without accelerations, L (12), all of it
VALUE, RATE, QUADRATIC, LINE, SECOND = 0, 1, 2, 3, 15
ROW = 16


@kernel
def closed_row(kind, length, motion, acceleration, row):
    """Write the numbers of one row of a closed joint.

    motion, acceleration: those of both frames, as laws of elements read them (elements/kernels/law.py), the
    accelerations without gravity; length: of the rod (ELL).
    """
    base, end = window(motion, 0, FRAME), window(motion, FRAME, FRAME)
    ax, ay, az = load3(base, POSITION)
    bx, by, bz = load3(end, POSITION)
    x, y, z = bx - ax, by - ay, bz - az
    ax, ay, az = load3(base, VELOCITY)
    bx, by, bz = load3(end, VELOCITY)
    vx, vy, vz = bx - ax, by - ay, bz - az
    ox, oy, oz = load3(base, OMEGA)
    ux, uy, uz = load3(end, OMEGA)
    wx, wy, wz = ux - ox, uy - oy, uz - oz
    gx, gy, gz = cross(ox, oy, oz, ux, uy, uz)
    none = 0.0 * x
    line = window(row, LINE, 12)
    if kind <= D3:
        cx, cy, cz = _axis(base, kind - D1)
        row[VALUE] = cx * x + cy * y + cz * z
        ax, ay, az = cross(x, y, z, cx, cy, cz)
        store3(line, 0, -ax, -ay, -az)
        store3(line, 3, -cx, -cy, -cz)
        store3(line, 6, none, none, none)
        store3(line, 9, cx, cy, cz)
        ax, ay, az = cross(ox, oy, oz, x, y, z)
        ax, ay, az = ax - 2.0 * vx, ay - 2.0 * vy, az - 2.0 * vz
        ax, ay, az = cross(ox, oy, oz, ax, ay, az)
        row[QUADRATIC] = cx * ax + cy * ay + cz * az
    elif kind == ELL:
        size = np.sqrt(x * x + y * y + z * z)
        cx, cy, cz = x / size, y / size, z / size
        row[VALUE] = size - length
        store3(line, 0, none, none, none)
        store3(line, 3, -cx, -cy, -cz)
        store3(line, 6, none, none, none)
        store3(line, 9, cx, cy, cz)
        rate = cx * vx + cy * vy + cz * vz
        row[QUADRATIC] = (vx * vx + vy * vy + vz * vz - rate * rate) / size
    else:
        if kind <= K3:
            nx, ny, nz = _axis(end, 2)
            cx, cy, cz = _axis(base, 2 if kind == K3 else K1 - kind)
            if kind == K2:
                cx, cy, cz = -cx, -cy, -cz
            row[VALUE] = cx * nx + cy * ny + cz * nz
            # g = -(w1 x w2) x n + W x (W x n)
            hx, hy, hz = cross(wx, wy, wz, nx, ny, nz)
            hx, hy, hz = cross(wx, wy, wz, hx, hy, hz)
            ax, ay, az = cross(gx, gy, gz, nx, ny, nz)
            row[QUADRATIC] = cx * (hx - ax) + cy * (hy - ay) + cz * (hz - az)
            cx, cy, cz = cross(nx, ny, nz, cx, cy, cz)
        else:
            r1, r2 = load9(base, ROTATION), load9(end, ROTATION)
            cx, cy, cz = _rotation_row(kind, r1, r2, wx, wy, wz, gx, gy, gz, row)
        store3(line, 0, -cx, -cy, -cz)
        store3(line, 3, none, none, none)
        store3(line, 6, cx, cy, cz)
        store3(line, 9, none, none, none)
    rate, second = none, row[QUADRATIC]
    for k in range(3):
        rate = rate + line[k] * base[OMEGA + k] + line[3 + k] * base[VELOCITY + k]
        rate = rate + line[6 + k] * end[OMEGA + k] + line[9 + k] * end[VELOCITY + k]
    for k in range(12):
        second = second + line[k] * acceleration[k]
    row[RATE], row[SECOND] = rate, second


@kernel
def _axis(frame, i):
    """Column i of the rotation of a frame."""
    return frame[ROTATION + i], frame[ROTATION + 3 + i], frame[ROTATION + 6 + i]


@kernel
def _rotation_row(kind, r1, r2, wx, wy, wz, gx, gy, gz, row):
    """Write residual and quadratic part of a row of rho; the row of E in world axes. W = (wx, wy, wz), w1 x
    w2 = (gx, gy, gz)."""
    # columns of Q = R1' R2, the axes of the end in those of the base
    q0, q3, q6 = unturn(r1, r2[0], r2[3], r2[6])
    q1, q4, q7 = unturn(r1, r2[1], r2[4], r2[7])
    q2, q5, q8 = unturn(r1, r2[2], r2[5], r2[8])
    sx, sy, sz = unturn(r1, wx, wy, wz)
    hx, hy, hz = unturn(r1, gx, gy, gz)
    # the columns of [w] Q, and its trace
    p0, p3, p6 = cross(sx, sy, sz, q0, q3, q6)
    p1, p4, p7 = cross(sx, sy, sz, q1, q4, q7)
    p2, p5, p8 = cross(sx, sy, sz, q2, q5, q8)
    trace, slope = q0 + q4 + q8, p0 + p4 + p8
    if kind == RHO1:
        row[VALUE] = 0.5 * (q7 - q5)
        ex, ey, ez = 0.5 * (trace - q0), -0.5 * q1, -0.5 * q2
        fx, fy, fz = 0.5 * (slope - p0), -0.5 * p1, -0.5 * p2
    elif kind == RHO2:
        row[VALUE] = 0.5 * (q2 - q6)
        ex, ey, ez = -0.5 * q3, 0.5 * (trace - q4), -0.5 * q5
        fx, fy, fz = -0.5 * p3, 0.5 * (slope - p4), -0.5 * p5
    else:
        row[VALUE] = 0.5 * (q3 - q1)
        ex, ey, ez = -0.5 * q6, -0.5 * q7, 0.5 * (trace - q8)
        fx, fy, fz = -0.5 * p6, -0.5 * p7, 0.5 * (slope - p8)
    row[QUADRATIC] = fx * sx + fy * sy + fz * sz - ex * hx - ey * hy - ez * hz
    return turn(r1, ex, ey, ez)
