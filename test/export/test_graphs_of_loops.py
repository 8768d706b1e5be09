"""Graphs of closed mechanisms, evaluated in Python."""

import numpy as np
import pytest
from closed_states import INVERSE, state_of
from exported import evaluated

from flexdyn_ros.export.tracing.equations import Equations
from flexdyn_ros.robot.coordinates import MODAL


@pytest.mark.parametrize("name", ["floating", "beam", "rigid mixture", "flexible mixture"])
def test_efforts_of_modes_and_bases_are_the_least_that_make_a_motion(name):
    """Those of the library, which make a motion that actuators alone do not; among all that make it, loops
    leave a choice, of least |r| in the metric of M^-1."""
    robot = INVERSE[name]()
    free = np.array([c.kind in MODAL or c.kind in ("base", "hub", "motor") for c in robot.coordinates])
    passive = [c.kind == "joint" and c.name not in robot.actuators for c in robot.coordinates]
    rng = np.random.default_rng(0)
    for seed in (0, 1):
        if "mixture" in name:  # its loops close in few poses
            q, v = robot.project(robot.neutral(), 1e-2 * rng.standard_normal(robot.nv))
            tau = rng.standard_normal(robot.nu)
        else:
            q, v, tau = state_of(robot, seed)
        tau[: robot.nv][passive] = 0.0
        tau[: robot.nv][free] *= 20.0
        a = robot.forward_dynamics(q, v, tau)
        found = evaluated(Equations(robot).function("inverse_dynamics"), q=q, v=v, a=a)
        expected = robot.inverse_dynamics(q, v, a)
        error = 1e-9 if "mixture" in name else 1e-12
        np.testing.assert_allclose(found, expected, rtol=0.0, atol=error * np.abs(expected).max())
        moved = robot.forward_dynamics(q, v, found)
        np.testing.assert_allclose(moved, a, rtol=0.0, atol=100.0 * error * np.abs(a).max())
        inverse = np.linalg.inv(robot.mass_matrix(q))[np.ix_(free, free)]
        sizes = [r @ inverse @ r for r in (found[: robot.nv][free], tau[: robot.nv][free])]
        assert sizes[0] <= (1.0 + 1e-9) * sizes[1]
