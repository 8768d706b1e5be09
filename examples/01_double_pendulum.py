"""A double pendulum from XML text: load it, let it fall, look at its energy.

Writes out/examples/01_double_pendulum.png.
"""

from pathlib import Path

import numpy as np

import flexdyn_ros

OUT = Path(__file__).resolve().parents[1] / "out" / "examples"

ROD = """<inertial><origin xyz="0 0 -0.5"/><mass value="1"/>
  <inertia ixx="0.0834" ixy="0" ixz="0" iyy="0.0834" iyz="0" izz="0.0004"/></inertial>"""
URDF = f"""
<robot name="double_pendulum">
  <link name="base"/>
  <link name="upper">{ROD}</link>
  <link name="lower">{ROD}</link>
  <joint name="shoulder" type="continuous">
    <parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
  </joint>
  <joint name="elbow" type="continuous">
    <parent link="upper"/><child link="lower"/><origin xyz="0 0 -1"/><axis xyz="0 1 0"/>
  </joint>
</robot>"""

robot = flexdyn_ros.load(URDF)
start = np.array([2.0, 1.0])
print("mass matrix at the start:")
print(robot.mass_matrix(start))


def upright(t, q, v):
    """The elbow passes through a straight arm."""
    return np.sin(q[1] / 2.0)


print(f"\n{'method':22s}{'largest change of energy':>26s}{'of the kinetic peak':>22s}{'wall time':>12s}")
for method in ("semi_implicit_euler", "rosenbrock", "rk4", "dop853"):
    run = flexdyn_ros.simulate(robot, 10.0, start, method=method)
    drift = np.abs(run.balance()).max()
    print(f"{method:22s}{drift:24.2e} J{drift / run.energy.kinetic.max():22.2e}{run.wall_time:10.3f} s")

run = flexdyn_ros.simulate(robot, 10.0, start, events=upright)
print(f"\nthe arm is straight {len(run.events)} times, first at t = {run.events[0].time:.6f} s")
tip = run.frames("lower")[:, :3, 3] + run.frames("lower")[:, :3, 2] * -1.0
print(f"its tip reaches from z = {tip[:, 2].min():.3f} m to z = {tip[:, 2].max():.3f} m")

OUT.mkdir(parents=True, exist_ok=True)
run.plot(OUT / "01_double_pendulum.png")
run.save(OUT / "01_double_pendulum.npz")
print("picture: out/examples/01_double_pendulum.png")
