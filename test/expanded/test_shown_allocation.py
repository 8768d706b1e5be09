"""Kernels that show robots do not allocate: a hundred samples ask the runtime for no more memory than one."""

from allocation import run_probe

PROBE = """
import numpy as np
from allocation import refuse_growth
import flexdyn_ros
from flexdyn_ros.expanded.kernels.tubes import lengths, paint, sweep

rng = np.random.default_rng(0)
for name in ("canadarm2", "soft_arm_3"):
    robot = flexdyn_ros.load(name)
    expanded = flexdyn_ros.expand(robot)
    small, large = (
        (rng.uniform(0.0, 0.01, (n, robot.nq)), rng.normal(size=(n, robot.nv))) for n in (1, 100)
    )
    refuse_growth({name: expanded.joint_state}, small, large)

ring, table = rng.normal(size=(12, 3)), np.zeros((256, 4), np.float32)


def draw(once, corners):
    value, points, colours = np.zeros(len(once)), np.zeros((len(corners), 3)), np.zeros((len(corners), 4))
    lengths(once, value)
    sweep(once, once, once, 1.0, ring, corners, np.zeros((12 * len(once), 3)), points)
    paint(value, 1.0, corners // 12, table, colours.astype(np.float32))


small, large = ((rng.normal(size=(k, 3)), rng.integers(0, 12 * k, 20 * k)) for k in (2, 200))
refuse_growth({"draw": draw}, small, large)
print("ok")
"""


def test_kernels_that_show_robots_do_not_allocate():
    assert run_probe(PROBE) == "ok"
