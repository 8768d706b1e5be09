"""A hydraulic platform of one tonne follows the roll, pitch and heave of a ship, driven by its cylinders.

A computed-force controller asks for leg forces, the cylinders' own force control makes them.
"""

from pathlib import Path

import matplotlib as mpl
import numpy as np

import flexdyn_ros
from flexdyn_ros.control import computed_torque
from flexdyn_ros.simulation import FusedHydraulics, Stepper, figure_style

mpl.use("Agg")
import matplotlib.pyplot as plt

OUT = Path("out/examples")
SECONDS, TICK, CONTROL = 12.0, 1e-3, 4  # the controller runs at 250 Hz

robot = flexdyn_ros.load("stewart_1t")
home = robot.neutral()


def ship(t):
    """Pose, twist and its rate: roll 6 deg in 7 s, pitch 3 deg in 5 s, heave 8 cm in 6 s, begun softly."""
    grow, slope, bend = soft(t)
    x, v, a = np.zeros(6), np.zeros(6), np.zeros(6)
    for i, size, period in ((0, np.radians(6), 7.0), (1, np.radians(3), 5.0), (5, 0.08, 6.0)):
        w = 2 * np.pi / period
        s, c = size * np.sin(w * t), size * w * np.cos(w * t)
        x[i] = grow * s
        v[i] = slope * s + grow * c
        a[i] = bend * s + 2 * slope * c - grow * w * w * s
    q = robot.integrate(home, x, 1.0)
    # rotation vector to angular velocity, to first order: the angles are small
    v[:3], a[:3] = v[:3] + 0.5 * np.cross(x[:3], v[:3]), a[:3] + 0.5 * np.cross(x[:3], a[:3])
    return q, v, a


def soft(t, ramp=4.0):
    """Factor that grows from 0 to 1 over the ramp, with its first two derivatives."""
    if t >= ramp:
        return 1.0, 0.0, 0.0
    s = t / ramp
    return (
        s**3 * (10 - 15 * s + 6 * s * s),
        30 * s * s * (1 - s) ** 2 / ramp,
        60 * s * (1 - s) * (1 - 2 * s) / ramp**2,
    )


law = computed_torque(robot, ship, frequency=20.0)
stepper = Stepper(robot, TICK)
cylinders = FusedHydraulics(stepper, "force")
rows = []
for k in range(round(SECONDS / TICK / CONTROL)):
    t = stepper.t
    cylinders.command(law(t, stepper.q.copy(), stepper.v.copy()))
    if stepper.advance(CONTROL):
        raise SystemExit(stepper.message)
    if k % 3 == 2:
        error = robot.difference(stepper.q.copy(), ship(stepper.t)[0])
        state = cylinders.state()
        rows.append(
            (stepper.t, *error, *stepper.effort, *state.pressure_bore, *state.pressure_rod, *stepper.q)
        )
data = np.array(rows)
t, error, force, bore, rod = data[:, 0], data[:, 1:7], data[:, 7:13], data[:, 13:19], data[:, 19:25]

print(f"largest error: {1e3 * abs(error[:, 3:]).max():.2f} mm, {np.degrees(abs(error[:, :3]).max()):.3f} deg")
print(f"leg forces {force.min():.0f} to {force.max():.0f} N")
print(f"pressures {min(bore.min(), rod.min()) / 1e5:.1f} to {max(bore.max(), rod.max()) / 1e5:.1f} bar")

plt.style.use(figure_style())
figure, axes = plt.subplots(4, 1, figsize=(8, 9), sharex=True)
target = np.array([robot.difference(home, ship(x)[0]) for x in t])
axes[0].plot(t, np.degrees(target[:, 0]), label="roll [deg]")
axes[0].plot(t, np.degrees(target[:, 1]), label="pitch [deg]")
axes[0].plot(t, 100 * target[:, 5], label="heave [cm]")
axes[0].set_ylabel("commanded motion")
axes[1].plot(t, 1e3 * error[:, 3:], label=["x [mm]", "y [mm]", "z [mm]"])
axes[1].plot(t, 1e3 * error[:, :3], label=["roll [mrad]", "pitch [mrad]", "yaw [mrad]"])
axes[1].set_ylabel("pose error")
axes[2].plot(t, force / 1e3, label=robot.effort_names)
axes[2].set_ylabel("force on the rod [kN]")
axes[3].plot(t, bore[:, 0] / 1e5, label="leg_1, bore side")
axes[3].plot(t, rod[:, 0] / 1e5, label="leg_1, rod side")
axes[3].set(ylabel="pressure [bar, absolute]", xlabel="time [s]")
for ax in axes:
    ax.legend(ncols=6, loc="lower right", bbox_to_anchor=(1.0, 1.0))
    ax.margins(x=0.01)
OUT.mkdir(parents=True, exist_ok=True)
figure.savefig(OUT / "06_ship_motion.png")
print(f"picture: {OUT / '06_ship_motion.png'}")
