"""Hold a bending arm by what its sensors tell: a linear-quadratic regulator and a Kalman filter by
python-control, on the nonlinear robot with noise.

The arm is turned away by 0.15 and -0.2 rad and comes back. Two encoders and a gyroscope on the tool measure,
500 times a second; they and the motors are noisy. Beside it, the same arm under joint PD with
the regulator's gains of the joints.
Writes out/examples/08_lqr_and_kalman.png.
"""

from pathlib import Path

import control
import matplotlib.pyplot as plt
import numpy as np

import flexdyn_ros
from flexdyn_ros.bridges import linear_system
from flexdyn_ros.simulation import figure_style

OUT = Path(__file__).resolve().parents[1] / "out" / "examples"
PERIOD = 2e-3  # of the controller [s]
ENCODER, GYROSCOPE = 5e-5, 5e-3  # standard deviations of the sensors [rad, rad/s]
NOISE = np.diag([ENCODER**2, ENCODER**2, GYROSCOPE**2])
RIPPLE = np.array([0.02, 0.01])  # and of the motors [N m]

robot = flexdyn_ros.load("flexible_two_link")
rest = robot.static_equilibrium(robot.neutral(), hold="joints")
joints = [robot.index(name) for name in robot.actuators]

# the arm about its rest, and what its sensors see of it
zero, yaw_rate = np.zeros(robot.nv), robot.jacobian(rest.q, "tool0")[2]
sensors = {name: np.eye(2 * robot.nv)[robot.index(name)] for name in robot.actuators}
sensors["gyroscope"] = np.concatenate([zero, yaw_rate])
system = linear_system(robot, rest.q, tau=rest.tau, outputs=sensors)
sampled = control.sample_system(system.to_control(), PERIOD)

# the tool shall come back soon and without swinging, the motors shall not saturate
sideways_rate = robot.jacobian(rest.q, "tool0")[4]
away, swing = np.concatenate([sideways_rate, zero]), np.concatenate([zero, sideways_rate])
weight = 3e3 * np.outer(away, away) + 4.0 * np.outer(swing, swing)
weight[joints, joints] += 20.0
gain, _, poles = control.dlqr(sampled, weight, np.diag([0.3, 1.0]))
filter_gain, _, _ = control.dlqe(sampled.A, sampled.B, sampled.C, np.diag(RIPPLE**2), NOISE)


class Sensors:
    """What is measured, with noise of its own: differences to rest."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)

    def __call__(self, q, v):
        turns = robot.jacobian(q, "tool0")[2] @ v
        truth = np.append((q - rest.q)[joints], turns)
        return truth + self.random.standard_normal(3) * [ENCODER, ENCODER, GYROSCOPE]


class Regulator:
    """u = -K x of the estimated state; the estimate is corrected by each measurement, then moved on."""

    def __init__(self):
        self.sensors, self.random = Sensors(1), np.random.default_rng(2)
        self.state, self.estimates = np.zeros(2 * robot.nv), []

    def __call__(self, t, q, v):
        y = self.sensors(q, v)
        if not self.estimates:
            self.state[joints] = y[:2]
        correction = np.linalg.solve(sampled.A, filter_gain) @ (y - sampled.C @ self.state)
        self.state = self.state + correction
        self.estimates.append(self.state)
        u = -gain @ self.state
        self.state = sampled.A @ self.state + sampled.B @ u
        return rest.tau + robot.efforts(u + RIPPLE * self.random.standard_normal(2))


class JointControl:
    """PD of the encoders alone, its rates by filtered differences."""

    def __init__(self, stiffness, damping):
        self.sensors, self.random = Sensors(1), np.random.default_rng(2)
        self.stiffness, self.damping, self.before, self.rate = stiffness, damping, None, np.zeros(2)

    def __call__(self, t, q, v):
        y = self.sensors(q, v)[:2]
        self.rate += 0.2 * ((y - (y if self.before is None else self.before)) / PERIOD - self.rate)
        self.before = y
        u = -self.stiffness * y - self.damping * self.rate
        return rest.tau + robot.efforts(u + RIPPLE * self.random.standard_normal(2))


start = rest.q.copy()
start[joints] += [0.15, -0.2]
regulator = Regulator()
stiffness = np.abs(np.diag(gain[:, joints]))
damping = np.abs(np.diag(gain[:, [robot.nv + j for j in joints]]))
runs = {
    "LQR and Kalman filter": flexdyn_ros.simulate(robot, 3.0, start, control=regulator, sample=PERIOD),
    "joint PD": flexdyn_ros.simulate(
        robot, 3.0, start, control=JointControl(stiffness, damping), sample=PERIOD
    ),
}


def sideways(run):
    """Tool beside its place of rest [mm]."""
    return 1e3 * (run.frames("tool0")[:, 1, 3] - robot.frames(rest.q, "tool0")[1, 3])


print(f"states {len(system.states)}, slowest closed-loop pole {np.log(abs(poles)).max() / PERIOD:.2f} 1/s")
for name, run in runs.items():
    outside = run.t[np.abs(sideways(run)) > 2.0][-1]
    rms = np.sqrt(np.mean(sideways(run)[run.t > 1.5] ** 2))
    print(f"{name:22} tool within 2 mm after {outside:.2f} s; then noise of {1e3 * rms:.0f} um rms")

plt.style.use(figure_style())
figure, axes = plt.subplots(3, 1, figsize=(7.2, 7.0), sharex=True)
for name, run in runs.items():
    axes[0].plot(run.t, sideways(run), label=name)
    axes[2].plot(run.t, run["shoulder", "effort"], lw=0.9, label=name)
run, mode = runs["LQR and Kalman filter"], "link_2/bending_y/1"
estimate = np.array(regulator.estimates)[:, robot.index(mode)]
axes[1].plot(run.t, 1e3 * (run[mode] - rest.q[robot.index(mode)]), label="true")
axes[1].plot(run.t[: len(estimate)], 1e3 * estimate[: len(run.t)], label="estimated")
for ax, title, label in zip(
    axes,
    (
        "(a) tool, relative to static equilibrium",
        "(b) modal coordinate of the forearm, not measured",
        "(c) shoulder torque",
    ),
    ("distance [mm]", f"{mode} [mm]", "effort [N m]"),
):
    ax.set_title(title)
    ax.set_ylabel(label)
    ax.legend(loc="lower right" if ax is axes[2] else "upper right")
axes[-1].set_xlabel("time [s]")
axes[-1].set_xlim(0.0, 3.0)
OUT.mkdir(parents=True, exist_ok=True)
figure.savefig(OUT / "08_lqr_and_kalman.png")
print("picture: out/examples/08_lqr_and_kalman.png")
