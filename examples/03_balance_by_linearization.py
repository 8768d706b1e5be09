"""Balance a pole on a cart: linearise about the upright rest, solve the Riccati equation, simulate the
nonlinear robot.

The robot is XML text in this file. Writes out/examples/03_balance_by_linearization.png.
"""

from pathlib import Path

import numpy as np
from scipy.linalg import solve_continuous_are

import flexdyn_ros

OUT = Path(__file__).resolve().parents[1] / "out" / "examples"

CART_POLE = """
<robot name="cart_pole">
  <link name="rail"/>
  <link name="cart">
    <inertial><mass value="1.0"/>
      <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial>
  </link>
  <link name="pole">
    <inertial><origin xyz="0 0 0.4"/><mass value="0.3"/>
      <inertia ixx="0.016" ixy="0" ixz="0" iyy="0.016" iyz="0" izz="0.0001"/></inertial>
  </link>
  <joint name="slide" type="prismatic">
    <parent link="rail"/><child link="cart"/><axis xyz="1 0 0"/>
    <limit lower="-3" upper="3" effort="50" velocity="10"/><dynamics damping="0.1"/>
  </joint>
  <joint name="hinge" type="continuous">
    <parent link="cart"/><child link="pole"/><axis xyz="0 1 0"/><limit effort="0" velocity="50"/>
  </joint>
</robot>
"""

robot = flexdyn_ros.load(CART_POLE)
upright = robot.neutral()
linear = robot.linearize(upright, np.zeros(2))
B = linear.B[:, :1]  # the motor of the slide; the hinge has none
P = solve_continuous_are(linear.A, B, np.diag([10.0, 100.0, 1.0, 1.0]), np.eye(1))
gain = B.T @ P


def state_feedback(t, q, v):
    """Effort of the slide from the whole state."""
    return np.append(-gain @ np.concatenate([robot.difference(upright, q), v]), 0.0)


fall = flexdyn_ros.simulate(robot, 1.5, q0=[0.0, 0.05], dt=1e-3)
held = flexdyn_ros.simulate(robot, 6.0, q0=[0.0, 0.35], dt=1e-3, control=state_feedback)
print("open-loop poles  ", np.sort(np.linalg.eigvals(linear.A).real).round(3))
print("closed-loop poles", np.sort(np.linalg.eigvals(linear.A - B @ gain).real).round(3))
grown = np.degrees(fall["hinge"][-1])
print(f"left alone, a lean of 3 deg has grown to {grown:.0f} deg after 1.5 s")
print(f"held, a lean of 20 deg is {np.degrees(held['hinge'][-1]):.4f} deg after 6 s")

OUT.mkdir(parents=True, exist_ok=True)
held.plot(OUT / "03_balance_by_linearization.png")
print("picture: out/examples/03_balance_by_linearization.png")
