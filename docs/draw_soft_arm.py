"""Draws docs/pictures/soft_arm.png from the URDF in docs/tutorials/soft_arm.md.

python docs/draw_soft_arm.py
"""

import re
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import flexdyn_ros
from flexdyn_ros.simulation import figure_style

DOCS = Path(__file__).resolve().parent
(TEXT,) = re.findall(r"```xml\n(.*?)```", (DOCS / "tutorials" / "soft_arm.md").read_text(), flags=re.S)

arm = flexdyn_ros.load(TEXT)
rest = arm.static_equilibrium()
tau = 1e-4 * (np.array([3.0, 1.0, 1.0, 1.0, 2.5, 1.0]) * 1e5 - 101325)
run = flexdyn_ros.simulate(arm, 3.0, rest.q, control=tau)

plt.style.use(figure_style())
figure, panels = plt.subplot_mosaic("AB;AC", figsize=(9.4, 6.0), width_ratios=(1, 2))
left, middle, right = panels.values()
for t in (0.0, 0.1, 0.2, 0.4, 3.0):
    i = int(np.argmin(np.abs(run.t - t)))
    upper, lower = arm.pose(run.q[i], np.linspace(0, 1, 30)), arm.pose(run.q[i], np.linspace(1.001, 2, 30))
    points = np.concatenate([upper, lower, arm.frames(run.q[i], ["gripper"])])[:, :3, 3]
    left.plot(1e3 * points[:, 0], 1e3 * points[:, 2], lw=2.5, label=f"{t:.1f} s")
left.set(title="Backbone", xlabel="x [mm]", ylabel="z [mm]", aspect="equal")
for k, name in enumerate(arm.q_names):
    middle.plot(run.t, 1e3 * run.q[:, k], label=name)
middle.set(title="Length changes", ylabel="length change [mm]", xlim=(0, 1.5))
energy = run.energy
for name in ("kinetic", "gravity", "elastic"):
    values = getattr(energy, name)
    right.plot(run.t, values - values[0], label=name)
right.plot(run.t, run.work, "k--", label="work of the pressures")
right.plot(run.t, run.dissipated, "k:", label="dissipated")
right.set(title="Energy changes", xlabel="time [s]", ylabel="energy [J]", xlim=(0, 1.5))
left.legend(loc="upper left")
for panel in (middle, right):
    panel.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
target = DOCS / "pictures" / "soft_arm.png"
figure.savefig(target)
