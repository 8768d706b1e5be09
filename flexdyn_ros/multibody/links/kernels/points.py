"""The inertia of a link as a sum over points, for kinds that integrate over their length at each state."""

from __future__ import annotations

from flexdyn_ros.numerics.algebra.rotations import cross, load3
from flexdyn_ros.numerics.compiling.compiler import kernel


@kernel
def clear_inertia(out, m):
    """Set all numbers of an `Inertia` of m coordinates to zero."""
    for i in range(10):
        out.rigid[i] = 0.0
    for i in range(6):
        out.wrench[i] = 0.0
    for i in range(3 * m):
        out.s[i], out.a[i] = 0.0, 0.0
    for i in range(m * m):
        out.M[i] = 0.0
    for i in range(m):
        out.h[i] = 0.0


@kernel
def add_point(mass, hx, hy, hz, u, bx, by, bz, v, w, out):
    """Add a point of this mass at h, tangent fields u (3 m,) = dh/dq_k, coordinate after coordinate, and
    b = d2h/dq2 v v; w (3,): angular velocity of the root. See `Inertia`."""
    m = v.shape[0]
    dx, dy, dz = 0.0 * hx, 0.0 * hx, 0.0 * hx
    for k in range(m):
        dx += u[3 * k] * v[k]
        dy += u[3 * k + 1] * v[k]
        dz += u[3 * k + 2] * v[k]
    # g = w x (w x h + 2 h') + b
    wx, wy, wz = load3(w, 0)
    gx, gy, gz = cross(wx, wy, wz, hx, hy, hz)
    gx, gy, gz = cross(wx, wy, wz, gx + 2.0 * dx, gy + 2.0 * dy, gz + 2.0 * dz)
    gx, gy, gz = mass * (gx + bx), mass * (gy + by), mass * (gz + bz)
    px, py, pz = mass * hx, mass * hy, mass * hz
    rigid, wrench = out.rigid, out.wrench
    rigid[0] += mass
    rigid[1] += px
    rigid[2] += py
    rigid[3] += pz
    rigid[4] += py * hy + pz * hz
    rigid[5] -= px * hy
    rigid[6] -= px * hz
    rigid[7] += px * hx + pz * hz
    rigid[8] -= py * hz
    rigid[9] += px * hx + py * hy
    mx, my, mz = cross(hx, hy, hz, gx, gy, gz)
    wrench[0] += mx
    wrench[1] += my
    wrench[2] += mz
    wrench[3] += gx
    wrench[4] += gy
    wrench[5] += gz
    for k in range(m):
        ux, uy, uz = load3(u, 3 * k)
        ax, ay, az = cross(px, py, pz, ux, uy, uz)
        out.s[3 * k] += mass * ux
        out.s[3 * k + 1] += mass * uy
        out.s[3 * k + 2] += mass * uz
        out.a[3 * k] += ax
        out.a[3 * k + 1] += ay
        out.a[3 * k + 2] += az
        out.h[k] += ux * gx + uy * gy + uz * gz
        for l in range(m):
            out.M[m * k + l] += mass * (ux * u[3 * l] + uy * u[3 * l + 1] + uz * u[3 * l + 2])
