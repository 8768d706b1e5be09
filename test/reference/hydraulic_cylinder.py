"""A servo-hydraulic cylinder in plain NumPy, integrated by scipy's Radau.

Equations of the parallel specification, section 8.1, written down a second time: zero-lap valve, second-order
spool, oil with entrained air. Sources: Merritt 1967; bulk modulus of oil with air: Yu, Chen & Lu 1994.
"""

from math import exp, pi, sqrt

import numpy as np
from scipy.integrate import solve_ivp


class Cylinder:
    """H1's cylinder (parallel specification, section 9)."""

    bore, rod, stroke = 0.050, 0.036, 0.6
    V01 = V02 = 1e-4
    ps, pt, patm = 160e5, 3e5, 101325.0
    beta_l, air, n = 1.4e9, 0.005, 1.4
    K = 40e-3 / 60 / sqrt(35e5)
    wv, zv, d0 = 2 * pi * 80, 0.8, 2e4
    Ci = 5e-13

    @property
    def areas(self):
        return pi * self.bore**2 / 4, pi * (self.bore**2 - self.rod**2) / 4

    def w(self, p):
        return (1 - self.air) * np.exp(-(p - self.patm) / self.beta_l) + self.air * (self.patm / p) ** (
            1 / self.n
        )

    def beta(self, p):
        oil = (1 - self.air) * exp(-(p - self.patm) / self.beta_l)
        gas = self.air * (self.patm / p) ** (1 / self.n)
        return (oil + gas) / (oil / self.beta_l + gas / (self.n * p))

    def flow(self, drop):
        return drop / (drop * drop + self.d0**2) ** 0.25

    def flows(self, x, p1, p2):
        x = min(max(x, -1.0), 1.0)
        f, b = max(x, 0.0), max(-x, 0.0)
        Q1 = self.K * (f * self.flow(self.ps - p1) - b * self.flow(p1 - self.pt))
        Q2 = self.K * (b * self.flow(self.ps - p2) - f * self.flow(p2 - self.pt))
        return Q1, Q2

    def rates(self, t, state, u, motion):
        p1, p2, x, xd = state
        y, v = motion(t)
        A1, A2 = self.areas
        Q1, Q2 = self.flows(x, p1, p2)
        leak = self.Ci * (p1 - p2)
        return (
            self.beta(p1) / (self.V01 + A1 * y) * (Q1 - A1 * v - leak),
            self.beta(p2) / (self.V02 + A2 * (self.stroke - y)) * (Q2 + A2 * v + leak),
            xd,
            self.wv**2 * (u - x) - 2 * self.zv * self.wv * xd,
        )

    def pressures(self, state, pieces, motion, dt=1e-3):
        """p1, p2 at every tick; pieces: (duration [s], u) one after the other, from state (p1, p2, x, x')."""
        t0, rows = 0.0, []
        for duration, u in pieces:
            n = round(duration / dt)
            at = t0 + dt * np.arange(1, n + 1)
            solution = solve_ivp(
                self.rates, (t0, at[-1]), state, "Radau", at, args=(u, motion), rtol=1e-10, atol=1e-9,
                max_step=2e-3,
            )  # fmt: skip
            rows.append(solution.y[:2].T)
            state, t0 = solution.y[:, -1], at[-1]
        return np.concatenate(rows)
