"""A Coriolis matrix C(q, v) for which dM/dt - 2 C is skew-symmetric.

Per body, with twist V, spatial inertia I and momentum f = I V in world coordinates, the force I dV/dt + B V
with

    B = 1/2 (V x* I - I V x + f x~*),   B + B^T = dI/dt,   B V = V x* I V   (f x~*: V -> V x* f)

so that C = sum J^T (I dJ/dt + B J) over the bodies has the property (Niemeyer & Slotine 1990). Summed over
subtrees it costs two products per pair of related joints (Echeandia & Wensing 2021, algorithm 1).
"""

from __future__ import annotations

from flexdyn_ros.numerics.algebra.manifold import BALL, FREE
from flexdyn_ros.numerics.algebra.rotations import cross, load3, load9, symmetric, turn
from flexdyn_ros.numerics.compiling.compiler import entry, kernel, leaf
from flexdyn_ros.numerics.compiling.memory import ints_at
from flexdyn_ros.numerics.compiling.status import NOT_FINITE, OK
from flexdyn_ros.numerics.compiling.windows import window
from flexdyn_ros.numerics.verbs.samples import finite

from . import views as at
from .entries import status_of_q
from .kinematics import move_all
from .views import carve_data, open_tree


@entry(
    "int64(int64, float64[::1], float64[:,::1], float64[:,::1], float64[:,:,:,::1], float64[:,:,::1])",
    nogil=True,
)
def coriolis_many(address, work, q, v, blocks, C):
    """C(q, v) (N, nv, nv) for rows of q, v; blocks (4, nb, 6, 6) is work space."""
    head = ints_at(address, at.HEADER)
    model = open_tree(address)
    data = carve_data(work, model.nb, model.nq, model.nv)
    for s in range(q.shape[0]):
        status = status_of_q(model, q[s], head[at.N_FREE])
        if status == OK and not finite(v[s], model.nv):
            status = NOT_FINITE
        if status != OK:
            return status + 8 * s
        move_all(model, data, q[s], v[s])
        write_coriolis(model, data, blocks[0], blocks[1], blocks[2], blocks[3], C[s])
    return OK


@kernel
def write_coriolis(model, data, S, Sd, I, B, C):
    """Write C from what `move_all` wrote; S, Sd hold columns of joints as rows, I and B the blocks of
    subtrees."""
    for b in range(1, model.nb):
        write_axes(model, data, b, S[b], Sd[b])
        write_inertia(model, data, b, I[b], B[b])
    for b in range(model.nb - 1, 0, -1):
        p = model.parent[b]
        if p > 0:
            for i in range(6):
                for j in range(6):
                    I[p, i, j] += I[b, i, j]
                    B[p, i, j] += B[b, i, j]
    C[:] = 0.0
    for b in range(1, model.nb):
        for c in range(rates_of(model.joint_type[b])):
            write_column(model, b, c, S, Sd, I[b], B[b], C)


@kernel
def rates_of(kind):
    """Velocity coordinates of a joint."""
    if kind == FREE:
        return 6
    return 3 if kind == BALL else 1


@kernel
def write_axes(model, data, b, S, Sd):
    """Twists of the joint's unit rates about the world origin (rows of S), and their rates of change (rows of
    Sd)."""
    own = window(data.bodies, b * at.BODY_ROWS, at.BODY_ROWS)
    r = load9(own, at.WORLD_ROTATION)
    ox, oy, oz = load3(own, at.WORLD_ORIGIN)
    wx, wy, wz = load3(own, at.OMEGA)
    wx, wy, wz = turn(r, wx, wy, wz)
    ux, uy, uz = load3(own, at.VELOCITY)
    ux, uy, uz = turn(r, ux, uy, uz)
    if FREE <= model.joint_type[b] <= BALL:
        below = window(data.bodies, model.parent[b] * at.BODY_ROWS, at.BODY_ROWS)
        # the world's is 0
        wx, wy, wz = load3(below, at.OMEGA)
        wx, wy, wz = turn(load9(below, at.WORLD_ROTATION), wx, wy, wz)
        t = load9(own, at.TURN)
        for c in range(3):
            # axis c of the joint frame, which turns with the parent
            ex, ey, ez = turn(r, t[3 * c], t[3 * c + 1], t[3 * c + 2])
            dx, dy, dz = cross(wx, wy, wz, ex, ey, ez)
            write_screw(S[c], Sd[c], ox, oy, oz, ux, uy, uz, ex, ey, ez, dx, dy, dz, 1.0, 0.0)
            if model.joint_type[b] == FREE:
                write_screw(S[c + 3], Sd[c + 3], ox, oy, oz, ux, uy, uz, ex, ey, ez, dx, dy, dz, 0.0, 1.0)
        return
    ratio = model.ratio[b]
    ex, ey, ez = ratio * r[2], ratio * r[5], ratio * r[8]
    dx, dy, dz = cross(wx, wy, wz, ex, ey, ez)
    turns, slides = model.turn[b], model.slide[b]
    write_screw(S[0], Sd[0], ox, oy, oz, ux, uy, uz, ex, ey, ez, dx, dy, dz, turns, slides)


@kernel
def write_screw(s, sd, ox, oy, oz, ux, uy, uz, ex, ey, ez, dx, dy, dz, turns, slides):
    """Screw about e through o, (turns e; turns o x e + slides e), and its rate with de/dt = d, do/dt = u."""
    s[0], s[1], s[2] = turns * ex, turns * ey, turns * ez
    ax, ay, az = cross(ox, oy, oz, ex, ey, ez)
    s[3], s[4], s[5] = turns * ax + slides * ex, turns * ay + slides * ey, turns * az + slides * ez
    sd[0], sd[1], sd[2] = turns * dx, turns * dy, turns * dz
    ax, ay, az = cross(ux, uy, uz, ex, ey, ez)
    bx, by, bz = cross(ox, oy, oz, dx, dy, dz)
    ax, ay, az = ax + bx, ay + by, az + bz
    sd[3], sd[4], sd[5] = turns * ax + slides * dx, turns * ay + slides * dy, turns * az + slides * dz


@kernel
def write_inertia(model, data, b, I, B):
    """I and B of body b in world coordinates."""
    own = window(data.bodies, b * at.BODY_ROWS, at.BODY_ROWS)
    r = load9(own, at.WORLD_ROTATION)
    px, py, pz = load3(own, at.WORLD_ORIGIN)
    x = window(model.inertia, 10 * b, 10)
    m = x[0]
    cx, cy, cz = turn(r, x[1], x[2], x[3])
    i = (x[4], x[5], x[6], x[7], x[8], x[9])
    # R I R^T + 2 (p.d) 1 - p d^T - d p^T with d = R c + m p / 2
    dx, dy, dz = cx + 0.5 * m * px, cy + 0.5 * m * py, cz + 0.5 * m * pz
    p = (px, py, pz)
    d = (dx, dy, dz)
    for k in range(3):
        ax, ay, az = symmetric(i, r[3 * k], r[3 * k + 1], r[3 * k + 2])
        I[k, 0], I[k, 1], I[k, 2] = turn(r, ax, ay, az)
        for j in range(3):
            I[k, j] -= p[k] * d[j] + d[k] * p[j]
        I[k, k] += 2.0 * (px * dx + py * dy + pz * dz)
    put_cross(I, 0, 3, cx + m * px, cy + m * py, cz + m * pz, 1.0)
    put_cross(I, 3, 0, cx + m * px, cy + m * py, cz + m * pz, -1.0)
    for k in range(3):
        for j in range(3):
            I[3 + k, 3 + j] = 0.0
        I[3 + k, 3 + k] = m
    wx, wy, wz = load3(own, at.OMEGA)
    wx, wy, wz = turn(r, wx, wy, wz)
    ux, uy, uz = load3(own, at.VELOCITY)
    ux, uy, uz = turn(r, ux, uy, uz)
    ax, ay, az = cross(px, py, pz, wx, wy, wz)
    write_rate(I, B, wx, wy, wz, ux + ax, uy + ay, uz + az)


@kernel
def put_cross(A, row, column, x, y, z, sign):
    """A[row:row+3, column:column+3] = sign [(x, y, z)]x."""
    A[row, column], A[row, column + 1], A[row, column + 2] = 0.0, -sign * z, sign * y
    A[row + 1, column], A[row + 1, column + 1], A[row + 1, column + 2] = sign * z, 0.0, -sign * x
    A[row + 2, column], A[row + 2, column + 1], A[row + 2, column + 2] = -sign * y, sign * x, 0.0


@kernel
def write_rate(I, B, wx, wy, wz, ux, uy, uz):
    """B = 1/2 (V x* I - I V x + f x~*) for V = (w; u)."""
    V = (wx, wy, wz, ux, uy, uz)
    fx, fy, fz, gx, gy, gz = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for j in range(6):
        fx += I[0, j] * V[j]
        fy += I[1, j] * V[j]
        fz += I[2, j] * V[j]
        gx += I[3, j] * V[j]
        gy += I[4, j] * V[j]
        gz += I[5, j] * V[j]
    put_cross(B, 0, 0, fx, fy, fz, -0.5)
    put_cross(B, 0, 3, gx, gy, gz, -0.5)
    put_cross(B, 3, 0, gx, gy, gz, -0.5)
    for k in range(3):
        for j in range(3):
            B[3 + k, 3 + j] = 0.0
    for j in range(6):
        # V x* takes a column (a; b) of I to (w x a + u x b; w x b); I V x is minus the transpose of V x* I
        ax, ay, az = cross(wx, wy, wz, I[0, j], I[1, j], I[2, j])
        bx, by, bz = cross(ux, uy, uz, I[3, j], I[4, j], I[5, j])
        dx, dy, dz = cross(wx, wy, wz, I[3, j], I[4, j], I[5, j])
        column = (ax + bx, ay + by, az + bz, dx, dy, dz)
        for k in range(6):
            B[k, j] += 0.5 * column[k]
            B[j, k] += 0.5 * column[k]


@kernel
def write_column(model, b, c, S, Sd, I, B, C):
    """Add the entries of C that couple column c of joint b with the joints it hangs on, and with itself."""
    F, G, H = (0.0,) * 6, (0.0,) * 6, (0.0,) * 6
    for j in range(6):
        s, d = S[b, c, j], Sd[b, c, j]
        F = add_column(F, B, j, s)
        F = add_column(F, I, j, d)
        H = add_column(H, I, j, s)
        G = add_column(G, B.T, j, s)
    column = model.v_index[b] + c
    i = b
    while i > 0:
        for e in range(rates_of(model.joint_type[i])):
            row = model.v_index[i] + e
            for k in range(6):
                C[row, column] += S[i, e, k] * F[k]
            if i != b:
                for k in range(6):
                    C[column, row] += G[k] * S[i, e, k] + H[k] * Sd[i, e, k]
        i = model.parent[i]


@leaf
def add_column(x, A, j, factor):
    """x + A[:, j] factor."""
    return (
        x[0] + A[0, j] * factor,
        x[1] + A[1, j] * factor,
        x[2] + A[2, j] * factor,
        x[3] + A[3, j] * factor,
        x[4] + A[4, j] * factor,
        x[5] + A[5, j] * factor,
    )
