"""Follow a trajectory with computed torque, without ROS: a control law is a function (t, q, v) -> efforts.

The law knows the arm without its payload of 2 kg, so that what is left is the error of the model.
Writes out/examples/02_computed_torque.png.
"""

from pathlib import Path

import numpy as np

import flexdyn_ros

OUT = Path(__file__).resolve().parents[1] / "out" / "examples"
DURATION = 4.0

robot = flexdyn_ros.load("seven_joint_arm")
start = np.array([0.0, -0.6, 0.0, -2.2, 0.0, 1.7, 0.0])
stroke = np.array([0.5, 0.4, -0.3, 0.6, 0.4, 0.3, 0.6])


def reference(t):
    """Position, velocity, acceleration: one smooth stroke there and back."""
    rate = 2.0 * np.pi / DURATION
    return (
        start + 0.5 * stroke * (1.0 - np.cos(rate * t)),
        0.5 * stroke * rate * np.sin(rate * t),
        0.5 * stroke * rate**2 * np.cos(rate * t),
    )


def computed_torque(t, q, v):
    """Efforts that the model needs for the reference acceleration plus a critically damped correction."""
    q_d, v_d, a_d = reference(t)
    return robot.inverse_dynamics(q, v, a_d + 400.0 * (q_d - q) + 40.0 * (v_d - v))


runs = {
    "exact model": flexdyn_ros.simulate(robot, DURATION, start, control=computed_torque),
    "2 kg in the hand, not in the model": flexdyn_ros.simulate(
        robot.with_payload("tool0", 2.0), DURATION, start, control=computed_torque
    ),
}
print(f"{'':38s}{'largest error [deg]':>20s}")
for name, run in runs.items():
    error = run.q - np.array([reference(t)[0] for t in run.t])
    print(f"{name:38s}{np.degrees(np.abs(error).max()):20.4f}")

OUT.mkdir(parents=True, exist_ok=True)
runs["exact model"].plot(OUT / "02_computed_torque.png")
print("picture: out/examples/02_computed_torque.png")
