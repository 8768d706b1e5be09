"""The steps as plain Python: the same source without the compiler gives the same motion."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from flexible_robots import branched
from pendulums import tumbler

import flexdyn_ros
from flexdyn_ros.simulation import Stepper

SCRIPT = """
import json, sys
from test_interpreted_steps import end_of, robots
print(json.dumps([end_of(robot, method).tolist() for robot, method in robots()]))
"""


def robots():
    """A free rigid body on a joint, and a flexible tree, by an explicit and an implicit method."""
    free, bends = tumbler(), flexdyn_ros.load(branched())
    return [(robot, method) for robot in (free, bends) for method in ("rk4", "rosenbrock")]


def end_of(robot, method):
    """q, v, work, dissipated after three steps under a load."""
    stepper = Stepper(robot, 1e-4, method, limits="spring")
    stepper.set_wrenches({robot.frame_names[-1]: np.ones(6)})
    stepper.advance(3, np.full(robot.nu, 0.1))
    return np.concatenate([stepper.q, stepper.v, [stepper.work, stepper.dissipated]])


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT", "0") == "1", reason="nothing is compiled")
def test_interpreted_steps_equal_the_compiled_ones():
    here = os.path.dirname(__file__)
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": os.pathsep.join([here, *sys.path])},
        capture_output=True,
        text=True,
        timeout=550,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    for (robot, method), interpreted in zip(robots(), json.loads(run.stdout), strict=True):
        compiled = end_of(robot, method)
        assert np.abs(compiled).max() > 1e-4
        # reassociated sums, and modes of 1e-4 kg
        assert np.abs(compiled - interpreted).max() < 1e-11 * np.abs(compiled).max(), (robot.name, method)


DERIVATIVES = """
import numpy as np
import pytest
import flexdyn_ros

for name in ("two_link", "flexible_two_link"):
    robot = flexdyn_ros.load(name)
    q, v = robot.neutral(), np.ones(robot.nv)
    # as many rows as coordinates are no single state, nor are whole numbers
    columns = robot.inverse_dynamics(q, v, np.eye(robot.nv)) - robot.bias_forces(q, v.astype(int))
    np.testing.assert_allclose(columns, robot.mass_matrix(q), rtol=1e-12, atol=1e-12)
    for verb in (robot.inverse_dynamics_derivatives, robot.forward_dynamics_derivatives, robot.linearize):
        with pytest.raises(NotImplementedError, match="NUMBA_DISABLE_JIT"):
            verb(q, v, v)
"""


def test_interpreted_verbs_take_batches_and_refuse_derivatives():
    """They have no tangents; nothing is 0 for that."""
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    run = subprocess.run(
        [sys.executable, "-c", DERIVATIVES],
        env=environment, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert "ignored" not in run.stderr
