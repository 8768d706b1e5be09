"""A clamped beam under a dead force at its tip by the geometrically exact theory of slender rods, static.

Kirchhoff's equations in arc length s from the tip: r' = R e_x, R' = R [kappa]x, kappa = C R^T m, with the
moment m = (r_tip - r) x f of the force f beyond a section and C the compliances in torsion and both bendings.
The rod neither stretches nor shears (Antman 2005, chapter VIII). The attitude of the tip is found so that the
root is straight. Nothing of ours is imported.
"""

from __future__ import annotations

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import root
from scipy.spatial.transform import Rotation


def _hat(x):
    return np.array([[0.0, -x[2], x[1]], [x[2], 0.0, -x[0]], [-x[1], x[0], 0.0]])


def tip_of(length, GJ, EIy, EIz, force, guess=(0.0, 0.0, 0.0)):
    """Displacement (3,) and rotation vector (3,) of the tip of a beam along x; force (3,) [N]."""
    f, soft = np.asarray(force, dtype=float), np.array([1.0 / GJ, 1.0 / EIy, 1.0 / EIz])

    def from_tip(turn):
        def rate(_, y):
            R = y[3:].reshape(3, 3)
            # y[:3]: place relative to the tip; s runs from the tip to the root
            kappa = soft * (R.T @ np.cross(-y[:3], f))
            return np.concatenate([-R[:, 0], -(R @ _hat(kappa)).ravel()])

        start = np.concatenate([np.zeros(3), Rotation.from_rotvec(turn).as_matrix().ravel()])
        end = solve_ivp(rate, (0.0, length), start, method="DOP853", rtol=1e-10, atol=1e-12).y[:, -1]
        return end[:3], end[3:].reshape(3, 3)

    def wrong(turn):
        R = from_tip(turn)[1]
        return 0.5 * np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])

    found = root(wrong, np.asarray(guess, dtype=float), tol=1e-10)
    assert found.success, found.message
    return -from_tip(found.x)[0] - [length, 0.0, 0.0], found.x
