"""Compile, or fetch from the cache, what a robot's verbs need, before the first request or tick has to wait
for it."""

from __future__ import annotations

from typing import Any

import numpy as np


def warm_up(robot: Any) -> None:
    """Call the quick verbs once, for one sample and for a batch."""
    q, v = robot.neutral(), np.zeros(robot.nv)
    for batch in ((), (1,)):
        qs, vs = np.broadcast_to(q, (*batch, robot.nq)).copy(), np.zeros((*batch, robot.nv))
        robot.inverse_dynamics(qs, vs, vs)
        robot.mass_matrix(qs)
        robot.bias_terms(qs, vs)
        robot.bias_forces(qs, vs)
        robot.energy(qs, vs)
        robot.frames(qs)
        robot.jacobian(qs, robot.frame_names[-1])
    wrench = {robot.frame_names[-1]: np.zeros(6)}
    robot.inverse_dynamics(q, v, v, wrench)
    try:
        robot.forward_dynamics(q, v)
        robot.forward_dynamics(q, v, None, wrench)
    except ArithmeticError:
        # a robot with massless joints answers inverse dynamics all the same
        pass
