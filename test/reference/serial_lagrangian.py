"""Numerical Lagrangian of `serial-model/1` arms in plain NumPy; imports nothing of ours.

Positions of material points are written down directly (rotations by Rodrigues or by the matrix exponential's
series, section kinematics of Euler-Bernoulli beams), velocities follow from them by Cauchy's integral along
the line z + t v, the kinetic energy is summed over quadrature points, and the equations of motion come out of
Lagrange's equations, the energies being differentiated by Cauchy's integral again. Nothing is recursive,
nothing is assembled from modal integrals.

Sources: Meirovitch 1967 for the eigenfunctions of the uniform cantilever; Lagrange's equations.
"""

from __future__ import annotations

import numpy as np
from numpy.polynomial import polynomial as P

# Cauchy's integral f'(0) = mean of f(t)/t over a circle of N points:
# error f^(N+1) radius^N / (N+1)!, rounding eps / radius
CIRCLE, RADIUS = 12, 0.1
QUARTER = 0.02 * np.exp(1j * np.pi * (np.arange(4) + 0.5) / 4)  # upper half of 8 points, for real functions


def derivative(f):
    """f'(0) of a function that is analytic and real on the real axis."""
    return np.mean([(f(t) / t).real for t in QUARTER])


def skew(w):
    return np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])


def about(axis, angle):
    S = skew(np.asarray(axis, dtype=float))
    return np.eye(3) + np.sin(angle) * S + (1 - np.cos(angle)) * S @ S


def exponential(w):
    """exp([w]x) by its Taylor series."""
    K, term, total = skew(w), np.eye(3) + 0j, np.eye(3) + 0j
    for n in range(1, 25):
        term = term @ K / n
        total = total + term
    return total


def rpy(r, p, y):
    return about((0, 0, 1), y) @ about((0, 1, 0), p) @ about((1, 0, 0), r)


def cantilever(n):
    """n-th clamped-free eigenfunction, 1 at the tip: (value, slope, curvature) of s; naive form, good for n
    <= 3."""
    b = (1.875104068711961, 4.694091132974174, 7.854757438237613)[n - 1]
    sg = (np.cosh(b) + np.cos(b)) / (np.sinh(b) + np.sin(b))

    def f(s):
        x = b * s
        return np.cosh(x) - np.cos(x) - sg * (np.sinh(x) - np.sin(x))

    def df(s):
        x = b * s
        return b * (np.sinh(x) + np.sin(x) - sg * (np.cosh(x) - np.cos(x)))

    def ddf(s):
        x = b * s
        return b * b * (np.cosh(x) + np.cos(x) - sg * (np.sinh(x) + np.sin(x)))

    return tuple(lambda s, g=g: g(s) / f(1.0) for g in (f, df, ddf))


def shaft(n):
    b = (n - 0.5) * np.pi
    return (lambda s: np.sin(b * s) / np.sin(b), lambda s: b * np.cos(b * s) / np.sin(b), None)


def shape(spec):
    if spec["type"] == "poly":
        c = np.asarray(spec["coef"], dtype=float)
        return tuple(lambda s, d=d: P.polyval(s, P.polyder(c, d)) for d in (0, 1, 2))
    return (cantilever if spec["type"] == "bending" else shaft)(spec["n"])


class Link:
    """One link: joint, beam, modes and bodies, with the material points that carry its mass."""

    def __init__(self, spec, index, options, nodes=12):
        self.joint = spec.get("joint", {})
        self.type = self.joint.get("type", "revolute")
        self.parent = spec.get("parent", index - 1)
        self.L = float(spec.get("length", 0.0))
        self.modes = [(m["field"], *shape(m["shape"])) for m in spec.get("modes", [])]
        self.options, self.spec = options, spec
        x, w = np.polynomial.legendre.leggauss(nodes)
        self.s, self.w = 0.5 * (x + 1), 0.5 * w * self.L
        self.beam = {k: np.atleast_1d(np.asarray(v, dtype=float)) for k, v in spec.get("beam", {}).items()}
        self._shortening, self._fields, self._along = {}, {}, None
        self.rigid, self.tips = (points_of(spec.get(part, [])) for part in ("rigid_bodies", "tip_bodies"))
        self.placed = {
            part: (np.asarray(pose.get("p", (0, 0, 0)), dtype=float), rpy(*pose.get("rpy", (0, 0, 0))))
            for part in ("pre", "post")
            for pose in [self.joint.get(part, {})]
        }
        self.rotor = self.joint.get("rotor_inertia", 0.0)

    def profile(self, key):
        return P.polyval(self.s, self.beam.get(key, np.zeros(1)))

    def fields(self, s):
        """u, th (m, 3) at station s, kept: they are constants."""
        if s not in self._fields:
            self._fields[s] = self._shapes(s)
        return self._fields[s]

    def _shapes(self, s):
        u, th = np.zeros((len(self.modes), 3)), np.zeros((len(self.modes), 3))
        for k, (field, f, df, _) in enumerate(self.modes):
            if field == "y":
                u[k, 1], th[k, 2] = f(s), df(s) / self.L
            elif field == "z":
                u[k, 2], th[k, 1] = f(s), -df(s) / self.L
            else:
                th[k, 0] = f(s)
        return u, th

    def shortening(self, s):
        """S_kl(s), integrated by a rule of its own."""
        if s in self._shortening:
            return self._shortening[s]
        x, w = np.polynomial.legendre.leggauss(16)
        x, w = 0.5 * s * (x + 1), 0.5 * s * self.L * w
        m = len(self.modes)
        S = np.zeros((m, m))
        for xi, wi in zip(x, w, strict=True):
            _, th = self.fields(xi)
            S += wi * (np.outer(th[:, 1], th[:, 1]) + np.outer(th[:, 2], th[:, 2]))
        self._shortening[s] = S
        return S

    def centre(self, s, delta):
        u, th = self.fields(s)
        p = np.array([self.L * s, 0, 0]) + delta @ u
        if self.options.get("foreshortening"):
            p = p - 0.5 * np.array([delta @ self.shortening(s) @ delta, 0, 0])
        return p, delta @ th

    def distal(self, delta):
        """Position and frame of the tip in b."""
        p, th = self.centre(1.0, delta)
        if self.options["frame"] == "affine":
            return p, np.eye(3) + skew(th)
        return p, exponential(th)

    def lines(self, delta):
        """Centres and rotation vectors (n, 3) of the sections at the quadrature points."""
        if self._along is None:
            fields = [self.fields(s) for s in self.s]
            u, th = (np.reshape([f[i] for f in fields], (self.s.size, len(self.modes), 3)) for i in (0, 1))
            shortening = np.array([self.shortening(s) for s in self.s])
            self._along = u, th, shortening if self.options.get("foreshortening") else 0.0 * shortening
        u, th, shortening = self._along
        p = delta @ u
        p[:, 0] += self.L * self.s - 0.5 * (shortening @ delta) @ delta
        return p, delta @ th

    def matter(self, delta):
        """Masses (n,) and positions (n, 3) in b of the points of beam and rigid bodies; in d of the tip
        bodies."""
        mass, points = [self.rigid[0]], [self.rigid[1]]
        if self.beam:
            mu = self.w * self.profile("mu")
            p, th = self.lines(delta)
            # a plate with second moments Jzz (y) and Jyy (z): the centre of mass and two pairs of points
            if self.options["rotary"] == "consistent":
                # e_y + th x e_y, e_z + th x e_z
                one = np.ones_like(th[:, 0])
                y, z = np.stack([-th[:, 2], one, th[:, 0]], 1), np.stack([th[:, 1], -th[:, 0], one], 1)
                mass.append(0.5 * mu)
                for key, e in (("Jzz", y), ("Jyy", z)):
                    arm = np.sqrt(4 * self.profile(key) / self.profile("mu"))[:, None] * e
                    mass += [mu / 8, mu / 8]
                    points += [p + arm, p - arm]
                points.insert(1, p)
            else:
                mass.append(mu)
                points.append(p)
        return np.concatenate(mass), np.concatenate(points), *self.tips


def points_of(bodies):
    """Masses (n,) and positions (n, 3) of the points of bodies."""
    found = [point for body in bodies for point in rigid_points(body)]
    return np.array([m for m, _ in found]), np.array([x for _, x in found]).reshape(-1, 3)


def rigid_points(body):
    """Point masses (some may be negative) with the body's mass, centre and inertia."""
    xx, yy, zz, xy, xz, yz = body.get("inertia", (0,) * 6)
    tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]], dtype=float)
    second, axes = np.linalg.eigh(0.5 * np.trace(tensor) * np.eye(3) - tensor)
    c = np.asarray(body.get("com", (0, 0, 0)), dtype=float)
    points = [(body["mass"], c)]
    for value, axis in zip(second, axes.T, strict=True):
        # two points of mass m/2 at +-1 and -m at the centre: second moment m along the axis
        points += [(0.5 * value, c + axis), (0.5 * value, c - axis), (-value, c)]
    return points


class SerialLagrangian:
    """Energies and equations of motion of a `serial-model/1` dictionary."""

    def __init__(self, data, **options):
        self.options = {
            "rotary": "consistent",
            "frame": "so3",
            "foreshortening": False,
            **data.get("options", {}),
        }
        self.options.update(options)
        self.g = np.asarray(data.get("gravity", (0, 0, -9.81)), dtype=float)
        self.links = [Link(spec, i, self.options) for i, spec in enumerate(data["links"])]
        self.nz = sum((link.type != "fixed") + len(link.modes) for link in self.links)

    def split(self, z):
        """(joint position or None, modal coordinates) of each link."""
        at, out = 0, []
        for link in self.links:
            q = None
            if link.type != "fixed":
                q, at = z[at], at + 1
            out.append((q, z[at : at + len(link.modes)]))
            at += len(link.modes)
        return out

    def positions(self, z):
        """Masses (n,) and base positions (n, 3) of all material points; poses (p, R) of the distal frames."""
        distal, mass, points = [], [], []
        for link, (q, delta) in zip(self.links, self.split(z), strict=True):
            p, R = distal[link.parent] if link.parent >= 0 else (np.zeros(3), np.eye(3))
            axis = np.asarray(link.joint.get("axis", (0, 0, 1)), dtype=float)
            for part in ("pre", "joint", "post"):
                if part != "joint":
                    p, R = p + R @ link.placed[part][0], R @ link.placed[part][1]
                elif link.type == "revolute":
                    R = R @ about(axis, q)
                elif link.type == "prismatic":
                    p = p + R @ axis * q
            pd, Rd = link.distal(delta)
            distal.append((p + R @ pd, R @ Rd))
            m, x, tm, tx = link.matter(delta)
            mass += [m, tm]
            points += [p + x @ R.T, distal[-1][0] + tx @ distal[-1][1].T]
        return np.concatenate(mass), np.concatenate(points), distal

    def velocities(self, z, v):
        """Masses and velocities of the points; z and v may be complex (analytic)."""
        t = RADIUS * np.exp(2j * np.pi * np.arange(CIRCLE) / CIRCLE)
        v = np.asarray(v)
        scale = max(1.0, float(np.abs(v).max()))
        values = [self.positions(z + (tk / scale) * v)[:2] for tk in t]
        rate = sum(x / tk for (_, x), tk in zip(values, t, strict=True)) / CIRCLE * scale
        return values[0][0], rate

    def kinetic(self, z, v):
        mass, rate = self.velocities(z, v)
        K = 0.5 * np.sum(mass * np.sum(rate * rate, axis=1))
        for link, (qd, rates), (_, _) in zip(self.links, self.split(v), self.split(z), strict=True):
            if qd is not None:
                K = K + 0.5 * link.rotor * qd * qd
            if self.options["rotary"] == "paper" and link.modes:
                Jx = link.profile("Jx") if "Jx" in link.beam else link.profile("Jyy") + link.profile("Jzz")
                twist = sum(
                    r * f(link.s)
                    for r, (field, f, _, _) in zip(rates, link.modes, strict=True)
                    if field == "twist"
                )
                K = K + 0.5 * np.sum(link.w * Jx * twist * twist)
        return K

    def gravity_energy(self, z):
        mass, points, _ = self.positions(z)
        return -np.sum(mass * (points @ self.g))

    def elastic_energy(self, z):
        V = 0.0
        for link, (_, delta) in zip(self.links, self.split(z), strict=True):
            for field, key, order in (("y", "EIz", 2), ("z", "EIy", 2), ("twist", "GJ", 1)):
                c = sum(
                    d * m[1 + order](link.s) / link.L**order
                    for d, m in zip(delta, link.modes, strict=True)
                    if m[0] == field
                )
                if link.modes:
                    V = V + 0.5 * np.sum(link.w * link.profile(key) * c * c)
        return V

    def gradient(self, f, z):
        return np.array([derivative(lambda t, d=d: f(z + t * d)) for d in np.eye(self.nz)])

    def equations(self, z, v):
        """M, velocity terms, gravity terms, elastic terms of Lagrange's equations, and K, V_g, V_e."""
        z, v = np.asarray(z, dtype=float), np.asarray(v, dtype=float)
        e = np.eye(self.nz)
        single = [self.kinetic(z, e[i]).real for i in range(self.nz)]
        M = np.empty((self.nz, self.nz))
        for i in range(self.nz):
            for j in range(i + 1):
                both = self.kinetic(z, e[i] + e[j]).real if i != j else 4 * single[i]
                M[i, j] = M[j, i] = both - single[i] - single[j]

        # d/dt dK/dv_i at zero acceleration: dK/dv_i = K(v + e_i) - K(v) - K(e_i), differentiated along v
        def rate(w):
            return derivative(lambda t: self.kinetic(z + t * v, w))

        own = rate(v)
        c = np.array([rate(v + e[i]) - own - rate(e[i]) for i in range(self.nz)])
        c -= self.gradient(lambda x: self.kinetic(x, v), z)
        energies = (self.kinetic(z, v).real, self.gravity_energy(z), self.elastic_energy(z))
        return M, c, self.gradient(self.gravity_energy, z), self.gradient(self.elastic_energy, z), *energies
