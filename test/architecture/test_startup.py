"""A first answer imports nothing heavy, and Numba compiles afterwards what it compiled before."""

import subprocess
import sys

PROBE = """
import sys
import flexdyn_ros
robot = flexdyn_ros.load("seven_joint_arm")
robot.inverse_dynamics(robot.neutral(), [0] * 7, [0] * 7)
bent = flexdyn_ros.load("canadarm2")
bent.inverse_dynamics(bent.neutral(), [0] * 23, [0] * 23)
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
