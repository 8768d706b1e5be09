"""A platform on six legs by first principles: positions differentiated automatically, and all Newton-Euler
equations of its thirteen bodies in one linear system of 78 unknowns. Plain NumPy, nothing of ours.

Derivatives: Taylor coefficients in time, f = (f, f', f''), propagated through every operation (exact to
rounding). Mechanics: parallel specification, sections 2 and 4; unknowns per leg F_B, F_P, N_P, F_A (3 each)
and l.
"""

from __future__ import annotations

import numpy as np


def skew(a):
    """[a] with [a] b = a x b."""
    return np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])


def product(f, g, op=np.multiply):
    """Derivatives of op(f, g) for a bilinear op; f, g: (value, first, second)."""
    return (
        op(f[0], g[0]),
        op(f[1], g[0]) + op(f[0], g[1]),
        op(f[2], g[0]) + 2 * op(f[1], g[1]) + op(f[0], g[2]),
    )


def plus(f, g, sign=1.0):
    """f + sign g."""
    return tuple(a + sign * b for a, b in zip(f, g, strict=True))


def root(f):
    """Square root."""
    s = np.sqrt(f[0])
    first = f[1] / (2 * s)
    return s, first, (f[2] - 2 * first**2) / (2 * s)


def inverse(f):
    """1 / f."""
    r = 1.0 / f[0]
    return r, -f[1] * r**2, -f[2] * r**2 + 2 * f[1] ** 2 * r**3


def constant(x):
    """Something that does not move."""
    x = np.asarray(x, dtype=float)
    return x, np.zeros_like(x), np.zeros_like(x)


def matrix_of(q):
    """Rotation matrix of the quaternion x y z w."""
    x, y, z, w = q
    return np.array(
        [[1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
         [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
         [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)]]
    )  # fmt: skip


def turning(E):
    """Angular velocity and acceleration of a frame with derivatives E."""
    w = E[1] @ E[0].T
    a = E[2] @ E[0].T - w @ w
    return np.array([w[2, 1], w[0, 2], w[1, 0]]), np.array([a[2, 1], a[0, 2], a[1, 0]])


def leg_motion(numbers, i, q, v, a):
    """Derivatives of length, s, leg frame, and upper joint of leg i."""
    R0, w = matrix_of(q[3:]), skew(v[:3])
    R = R0, w @ R0, (skew(a[:3]) + w @ w) @ R0
    p = q[:3], v[3:], a[3:]
    top = plus(p, product(R, constant(numbers.B[i]), np.matmul))
    L = plus(top, constant(numbers.A[i]), -1.0)
    length = root(product(L, L, np.dot))
    s = product(L, inverse(length))
    u = constant(numbers.u[i])
    k = product(u, s, np.dot)
    c = root(plus(constant(1.0), product(k, k), -1.0))
    y = product(product(s, u, np.cross), inverse(c))
    x = product(y, s, np.cross)
    E = tuple(np.column_stack([x[n], y[n], s[n]]) for n in range(3))
    return length, s, E, top


def motions(numbers, q, v, a):
    """Every moving body: (mass, inertia, position of the centre of mass with derivatives, frame with
    derivatives): the platform, six cylinders, six rods."""
    R0, w = matrix_of(q[3:]), skew(v[:3])
    R = R0, w @ R0, (skew(a[:3]) + w @ w) @ R0
    body = numbers.platform
    found = [(body, plus((q[:3], v[3:], a[3:]), product(R, constant(body.com), np.matmul)), R)]
    legs = [leg_motion(numbers, i, q, v, a) for i in range(6)]
    for i, (_, _, E, _) in enumerate(legs):
        body = numbers.cylinders[i]
        found.append((body, plus(constant(numbers.A[i]), product(E, constant(body.com), np.matmul)), E))
    for i, (_, _, E, top) in enumerate(legs):
        body = numbers.rods[i]
        found.append((body, plus(top, product(E, constant(body.com), np.matmul)), E))
    return found


def all_reactions(numbers, q, v, a, wrench, guide, pulls=None):
    """Solve the 78 equations; wrench (m, f) about the platform's origin, guide (6,) distances of the guides.

    pulls: wrenches (m, f) on other bodies with their points in the world, by the body's place in `motions`
    (1 + i: cylinder i, 7 + i: rod i).

    Returns F_B, F_P, N_P (about the guide), F_A (6, 3) and l (6,); the drive force is F_P . s.
    """
    bodies = motions(numbers, q, v, a)
    A, b = np.zeros((78, 78)), np.zeros(78)

    def change(n):
        body, x, E = bodies[n]
        w, alpha = turning(E)
        I = E[0] @ body.inertia @ E[0].T
        force, moment = body.mass * (x[2] - numbers.gravity), I @ alpha + np.cross(w, I @ w)
        for w, point in (pulls or {}).get(n, ()):
            force = force - w[3:]
            moment = moment - w[:3] - np.cross(point - x[0], w[3:])
        return force, moment, x[0]

    force, moment, com = change(0)
    b[:3], b[3:6] = force - wrench[3:], moment + np.cross(com - q[:3], force) - wrench[:3]
    for i in range(6):
        at, row = 13 * i, 6 + 12 * i
        _, s, E, top = leg_motion(numbers, i, q, v, a)
        F_B, F_P, N_P, F_A = (slice(at + 3 * n, at + 3 * n + 3) for n in range(4))
        one = np.eye(3)
        A[0:3, F_B], A[3:6, F_B] = one, skew(top[0] - q[:3])
        force, moment, com = change(7 + i)
        hole = numbers.A[i] + guide[i] * s[0]
        A[row : row + 3, F_P], A[row : row + 3, F_B] = one, -one
        b[row : row + 3] = force
        A[row + 3 : row + 6, N_P], A[row + 3 : row + 6, F_P] = one, skew(hole - com)
        A[row + 3 : row + 6, F_B] = -skew(top[0] - com)
        b[row + 3 : row + 6] = moment
        force, moment, com = change(1 + i)
        A[row + 6 : row + 9, F_A], A[row + 6 : row + 9, F_P] = one, -one
        b[row + 6 : row + 9] = force
        A[row + 9 : row + 12, F_A] = skew(numbers.A[i] - com)
        A[row + 9 : row + 12, F_P], A[row + 9 : row + 12, N_P] = -skew(hole - com), -one
        A[row + 9 : row + 12, at + 12] = np.cross(numbers.u[i], E[0][:, 1])
        b[row + 9 : row + 12] = moment
    x = np.linalg.solve(A, b).reshape(6, 13)
    return x[:, 0:3], x[:, 3:6], x[:, 6:9], x[:, 9:12], x[:, 12]


def kinetic_energy(numbers, q, v):
    """T [J]."""
    total = 0.0
    for body, x, E in motions(numbers, q, v, np.zeros(6)):
        w = E[0].T @ turning(E)[0]
        total += 0.5 * body.mass * x[1] @ x[1] + 0.5 * w @ body.inertia @ w
    return total


def potential_energy(numbers, q):
    """-sum m gamma.p [J]."""
    still = motions(numbers, q, np.zeros(6), np.zeros(6))
    return -sum(body.mass * numbers.gravity @ x[0] for body, x, _ in still)


def virtual_power(numbers, q, v, a):
    """M a + h (6,) by d'Alembert: changes of momentum times the partial velocities of every body."""
    total = np.zeros(6)
    bodies = motions(numbers, q, v, a)
    for j in range(6):
        for (body, x, E), (_, dx, dE) in zip(
            bodies, motions(numbers, q, np.eye(6)[j], np.zeros(6)), strict=True
        ):
            w, alpha = turning(E)
            I = E[0] @ body.inertia @ E[0].T
            total[j] += dx[1] @ (body.mass * (x[2] - numbers.gravity))
            total[j] += turning(dE)[0] @ (I @ alpha + np.cross(w, I @ w))
    return total


def lagrange(numbers, q, v, a):
    """M a + h (6,) as d/dt dT/dx' - d(T - U)/dx in the chart R = exp(x_turn) R(q), by the complex step.

    At x = 0 the chart's rates are the twist v and its second derivatives a; nearby w = x' + x/2 x x' + ...
    """
    h = 1e-40

    def moved(step):
        x, y, z, w = q[3:]
        e = 0.5 * step[:3]
        turned = np.array(
            [x + e[0] * w + e[1] * z - e[2] * y, y + e[1] * w + e[2] * x - e[0] * z,
             z + e[2] * w + e[0] * y - e[1] * x, w - e[0] * x - e[1] * y - e[2] * z]
        )  # fmt: skip
        return np.concatenate([q[:3] + step[3:], turned])

    def kinetic(step, rate):
        twist = np.concatenate([rate[:3] + 0.5 * np.cross(step[:3], rate[:3]), rate[3:]])
        return kinetic_energy(numbers, moved(step), twist)

    def momentum(step, rate, j):
        e = np.eye(6)[j]
        return kinetic(step, rate + e) - kinetic(step, rate) - kinetic(step, e)

    total = np.zeros(6)
    for j in range(6):
        step = 1j * h * np.eye(6)[j]
        slope = (kinetic(step, v) - potential_energy(numbers, moved(step))).imag / h
        total[j] = momentum(1j * h * v, v, j).imag / h + momentum(np.zeros(6), a, j) - slope
    return total
