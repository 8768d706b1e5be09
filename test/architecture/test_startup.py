"""A first answer imports nothing heavy, and Numba compiles afterwards what it compiled before."""

import subprocess
import sys

import pytest

PROBE = """
import sys
import flexdyn_ros, flexdyn_ros.control
robot = flexdyn_ros.load("seven_joint_arm")
robot.inverse_dynamics(robot.neutral(), [0] * 7, [0] * 7)
bent = flexdyn_ros.load("canadarm2")
bent.inverse_dynamics(bent.neutral(), [0] * 23, [0] * 23)
for name in ("delta", "excavator"):
    closed = flexdyn_ros.load(name)
    closed.inverse_dynamics(closed.neutral(), [0] * closed.nv, [0] * closed.nv)
bent.static_equilibrium()
flexdyn_ros.control.sampled_growth(bent, bent.neutral(), 1.0, 1.0, 0.01)
for heavy in ("linalg", "optimize", "special", "integrate"):
    assert "scipy." + heavy not in sys.modules, heavy
for heavy in ("matplotlib", "rich", "urchin", "sympy", "rclpy"):
    assert heavy not in sys.modules, heavy

import numpy as np
import scipy.linalg
from scipy.linalg import cython_blas
assert abs(scipy.linalg.expm(np.zeros((2, 2))) - np.eye(2)).max() == 0.0
assert sys.modules["scipy.linalg.cython_blas"] is cython_blas

import numba

@numba.njit
def product(a, b):
    return np.linalg.inv(a) @ b

assert abs(product(2.0 * np.eye(3), np.ones((3, 3))) - 0.5).max() < 1e-15
print("ok")
"""


def test_a_first_answer_imports_nothing_heavy_and_leaves_linear_algebra_whole():
    run = subprocess.run(
        [sys.executable, "-c", PROBE], capture_output=True, text=True, timeout=550, check=False
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip() == "ok"


NODES = """
import sys
from importlib import import_module
for name in ("pd_controller", "input_shaper", "computed_torque", "platform_controller", "hydraulic_actuators",
             "simulator.node", "dynamics_server.node", "state_publisher.node"):
    import_module("flexdyn_ros.nodes." + name)
print(*[name for name in ("scipy.linalg", "scipy.spatial", "scipy.optimize") if name in sys.modules])
"""


@pytest.mark.ros
def test_nodes_import_nothing_heavy_either():
    run = subprocess.run(
        [sys.executable, "-c", NODES], capture_output=True, text=True, timeout=550, check=False
    )
    assert (run.returncode, run.stdout.strip()) == (0, ""), run.stdout + run.stderr
