"""A cart with a chain of bending links in the plane, from the places of its particles alone.

Independent of the package: mass matrix and forces come from the positions of quadrature points as functions
of the coordinates q_i = [height, pitch up, (absolute angle, modes) of each link] and of the drive. First
derivatives are complex steps, second ones along a motion are Taylor arithmetic: both exact to rounding. No
mass matrix, velocity vector or constraint of any textbook is used. Sections of the specification of mobile
arms in brackets.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.polynomial import Polynomial, legendre


class Taylor:
    """A number (or array) that moves: value, first and half the second derivative by time."""

    __array_ufunc__ = None

    def __init__(self, c0, c1=0.0, c2=0.0):
        self.c = (c0, c1, c2)

    def __add__(self, other):
        a, b = self.c, other.c if isinstance(other, Taylor) else (other, 0.0, 0.0)
        return Taylor(*(x + y for x, y in zip(a, b, strict=True)))

    def __mul__(self, other):
        a, b = self.c, other.c if isinstance(other, Taylor) else (other, 0.0, 0.0)
        return Taylor(a[0] * b[0], a[0] * b[1] + a[1] * b[0], a[0] * b[2] + a[1] * b[1] + a[2] * b[0])

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self):
        return self * -1.0

    def sin(self):
        s, c = np.sin(self.c[0]), np.cos(self.c[0])
        return Taylor(s, c * self.c[1], c * self.c[2] - 0.5 * s * self.c[1] ** 2)

    def cos(self):
        return (self + 0.5 * np.pi).sin()


def turn(angle):
    """cos and sin of a number of any kind."""
    if isinstance(angle, Taylor):
        return angle.cos(), angle.sin()
    return np.cos(angle), np.sin(angle)


def bubbles(count, power):
    """(xi (1 - xi))^power times Legendre polynomials of 2 xi - 1 [15.2], orthogonal, of mean square 1."""
    xi = Polynomial([0.0, 1.0])
    found = []
    for order in range(count):
        P = Polynomial(legendre.leg2poly(np.eye(order + 1)[order]))
        f = (xi * (1.0 - xi)) ** power * P(2.0 * xi - 1.0)
        f = f - sum((g * mean(f * g) for g in found), Polynomial([0.0]))
        found.append(f / np.sqrt(mean(f * f)))
    return found


def mean(f):
    """Of a polynomial over [0, 1]."""
    return f.integ()(1.0) - f.integ()(0.0)


@dataclass
class Link:
    """mass [kg], length [m], EA [N], EI [N m2]; numbers of functions along and across (0, 0: rigid); moment
    of inertia beyond that of a line [kg m2]."""

    mass: float
    length: float
    EA: float
    EI: float
    axial: int
    bending: int
    thick: float = 0.0

    def functions(self):
        """Along and across, polynomials of xi, in the order of the modes."""
        xi = Polynomial([0.0, 1.0])
        along = [xi, *bubbles(self.axial - 1, 1)][: self.axial]
        across = [3 * xi**2 - 2 * xi**3, self.length * (xi**3 - xi**2)]
        across += bubbles(self.bending - 2, 2)
        return along, across[: self.bending]

    @property
    def modes(self):
        return self.axial + self.bending

    def stiffness(self):
        """K (m, m)."""
        along, across = self.functions()
        x, w = gauss()
        first = np.array([f.deriv()(x) for f in along]).reshape(self.axial, len(x))
        second = np.array([f.deriv(2)(x) for f in across]).reshape(self.bending, len(x))
        K = np.zeros((self.modes, self.modes))
        K[: self.axial, : self.axial] = self.EA / self.length * (first * w) @ first.T
        K[self.axial :, self.axial :] = self.EI / self.length**3 * (second * w) @ second.T
        return K


def gauss():
    """Points and weights on [0, 1]."""
    x, w = np.polynomial.legendre.leggauss(24)
    return 0.5 * (x + 1.0), 0.5 * w


@dataclass
class Arm:
    """The cart and its links; small-angle suspension over a road z(X) -> (height, slope)."""

    links: tuple
    road: object
    cart: tuple = (20.0, 0.8915733333333333, 0.539)  # mass, inertia, height of the shoulder
    wheels: tuple = ((-0.35, 952.0, 95.0), (0.35, 1168.0, 116.0))
    free_length: float = 0.26
    gravity: float = 9.8

    @property
    def n(self):
        return 2 + sum(1 + link.modes for link in self.links)

    def starts(self):
        """Index of each link's angle in q_i."""
        return [2 + sum(1 + link.modes for link in self.links[:i]) for i in range(len(self.links))]

    def places(self, x, q):
        """(mass, X, Y) of particles: cart, then the points of each link; numbers of any kind."""
        c, s = turn(q[1])
        root = [x + -self.cart[2] * s, q[0] + self.cart[2] * c]
        yield 0, self.cart[0], x, q[0]
        xi, w = gauss()
        for k, (link, at) in enumerate(zip(self.links, self.starts(), strict=True), 1):
            c, s = turn(q[at])
            along, across = link.functions()
            modes = q[at + 1 : at + 1 + link.modes]
            for p, weight in zip([*xi, 1.0], [*w, 0.0], strict=True):
                u, v = link.length * p, 0.0
                for f, z in zip(along, modes[: link.axial], strict=True):
                    u = z * f(p) + u
                for f, z in zip(across, modes[link.axial :], strict=True):
                    v = z * f(p) + v
                X, Y = root[0] + u * c + -1.0 * (v * s), root[1] + u * s + v * c
                yield k, link.mass * weight, X, Y
            root = [X, Y]

    # ---- first derivatives: complex steps ----

    def jacobians(self, x, q):
        """Link number and mass (p,), and derivatives (p, 2, 1 + n) of all places by x and q_i."""
        found = []
        for i in range(1 + self.n):
            z = np.append(x, q).astype(complex)
            z[i] += 1e-30j
            found.append([[X.imag, Y.imag] for _, _, X, Y in self.places(z[0], list(z[1:]))])
        label = [(k, m) for k, m, _, _ in self.places(x, list(q))]
        return np.array(label), np.array(found).transpose(1, 2, 0) / 1e-30

    def drifts(self, x, speed, q, v):
        """Accelerations (p, 2) of all places where q_i and x move on evenly."""
        moving = [Taylor(a, b) for a, b in zip(q, v, strict=True)]
        return np.array(
            [[2.0 * X.c[2], 2.0 * Y.c[2]] for _, _, X, Y in self.places(Taylor(x, speed), moving)]
        )

    # ---- dynamics ----

    def equations(self, x, speed, q, v, torques):
        """M (n, n) and Q (n) of M a = Q."""
        label, J = self.jacobians(x, q)
        M = np.einsum("p,pci,pcj->ij", label[:, 1], J, J)[1:, 1:]
        M[1, 1] += self.cart[1]
        for link, at in zip(self.links, self.starts(), strict=True):
            M[at, at] += link.thick
        free = np.array([0.0, -self.gravity]) - self.drifts(x, speed, q, v)
        Q = np.einsum("p,pci,pc->i", label[:, 1], J, free)[1:]
        for force, arm in zip(self.wheel_forces(x, speed, q, v), self.wheels, strict=True):
            Q[0] += force
            Q[1] += arm[0] * force
        for link, at in zip(self.links, self.starts(), strict=True):
            Q[at + 1 : at + 1 + link.modes] -= link.stiffness() @ q[at + 1 : at + 1 + link.modes]
        Q += self.torque_rows().T @ torques
        return M, Q

    def torque_rows(self):
        """Rates of the relative angles (joints, n): the motor sits on the bent tip of the link before."""
        rows = np.zeros((len(self.links), self.n))
        for j, at in enumerate(self.starts()):
            rows[j, at] = 1.0
            if j == 0:
                rows[j, 1] = -1.0
                continue
            before, link = self.starts()[j - 1], self.links[j - 1]
            rows[j, before] = -1.0
            for i, f in enumerate(link.functions()[1]):
                rows[j, before + 1 + link.axial + i] = -f.deriv()(1.0) / link.length
        return rows

    def wheel_forces(self, x, speed, q, v):
        """Upward on the cart [6]."""
        forces = []
        for arm, K, C in self.wheels:
            height, slope = self.road(x + arm)
            rate = v[0] + arm * v[1] - slope * speed
            forces.append(K * (self.free_length - (q[0] + arm * q[1] - height)) - C * rate)
        return np.array(forces)

    def joint_and_drive_forces(self, x, speed, q, v, a):
        """Force X, Y on each link and all beyond it at its root (links, 2); the driving force."""
        label, J = self.jacobians(x, q)
        acceleration = J[:, :, 1:] @ a + self.drifts(x, speed, q, v)
        need = label[:, 1, None] * (acceleration + np.array([0.0, self.gravity]))
        forces = [need[label[:, 0] >= k].sum(axis=0) for k in range(1, len(self.links) + 1)]
        return np.array(forces), float((label[:, 1] * acceleration[:, 0]).sum())
