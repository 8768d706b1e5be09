"""Closed form of the planar arm with two point masses at its link ends, gravity along -y (Craig, Introduction
to Robotics)."""

import numpy as np


def closed_form(q, v, m1=1.7, m2=0.9, L1=0.8, L2=0.6, g=9.81):
    """M, c, gravity term, kinetic and gravity energy (zero height at the base)."""
    c1, c2, s2, c12 = np.cos(q[0]), np.cos(q[1]), np.sin(q[1]), np.cos(q[0] + q[1])
    coupling = m2 * (L1 * L2 * c2 + L2**2)
    M = np.array([[m1 * L1**2 + m2 * (L1**2 + 2 * L1 * L2 * c2 + L2**2), coupling], [coupling, m2 * L2**2]])
    c = m2 * L1 * L2 * s2 * np.array([-(2 * v[0] * v[1] + v[1] ** 2), v[0] ** 2])
    gravity = np.array([(m1 + m2) * L1 * g * c1 + m2 * g * L2 * c12, m2 * g * L2 * c12])
    height1 = L1 * np.sin(q[0])
    U = m1 * g * height1 + m2 * g * (height1 + L2 * np.sin(q[0] + q[1]))
    return M, c, gravity, 0.5 * v @ M @ v, U
