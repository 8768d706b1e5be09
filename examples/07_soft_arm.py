"""A soft section: energy shares over a motion, the lumped model's coefficient, both models' responses.

The studies of the source of the continuum specification, its figures beside ours. Writes
out/examples/07_soft_arm.png.
"""

from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt

import flexdyn_ros

OUT = Path(__file__).resolve().parents[1] / "out" / "examples"


def arm(damping=15.0, **formulation):
    options = {f"formulation.{name}": value for name, value in formulation.items()}
    return flexdyn_ros.load("soft_arm", options=options | {"joints.section_1.section.damping": [damping]})


full, bare = arm(), arm(rotary_inertia="none")
lump = arm(mass_model="lumped", energy_ratio=1.0)
figure, axes = plt.subplots(3, 2, figsize=(11, 11), layout="constrained")

# 1. energies and speeds of a prescribed motion
t = np.linspace(0, 2 * np.pi, 400)
q = np.stack([0.015 * (1 - np.cos(t)), 0 * t, 0 * t], axis=-1)
v = np.stack([0.015 * np.sin(t), 0 * t, 0 * t], axis=-1)
whole, straight = full.energy(q, v), bare.energy(q, v)
angular = whole.kinetic - straight.kinetic
moving = whole.kinetic > 1e-9
share = 100 * (angular[moving] / whole.kinetic[moving]).max()
print(f"largest share of rotary energy in this motion {share:.2f} %  (1.15 %)")
print(f"gravity energy at rest {full.energy(np.zeros(3), np.zeros(3)).gravity:.4f} J  (0.1125 J)")
twist = np.einsum("nij,nj->ni", full.jacobian(q, "tip"), v)
axes[0, 0].plot(t, np.linalg.norm(twist[:, 3:], axis=1), label="tip speed [m/s]")
axes[0, 0].plot(t, 0.1 * np.linalg.norm(twist[:, :3], axis=1), label="its angular speed / 10 [rad/s]")
axes[0, 0].set(title="Prescribed motion", xlabel="time [s]")
axes[0, 1].semilogy(t, whole.gravity, label="gravity")
axes[0, 1].semilogy(t[1:-1], whole.elastic[1:-1], label="elastic")
axes[0, 1].semilogy(t[moving], straight.kinetic[moving], label="translation")
axes[0, 1].semilogy(t[moving], angular[moving], label="rotation")
axes[0, 1].set(title="Energies", xlabel="time [s]", ylabel="[J]", ylim=(1e-9, 2))

# 2. configuration variables and the path of the centre of mass
arcs, centre = full.arc_parameters(q)[:, 0], full.center_of_mass(q)
axes[1, 0].plot(t, arcs[:, 1], label="bending angle [rad]")
axes[1, 0].plot(t, 0.1 * arcs[:, 0], label="curvature / 10 [1/m]")
axes[1, 0].plot(t, 10 * centre[:, 2], label="height of the centre of mass x 10 [m]")
axes[1, 0].set(title="Shape", xlabel="time [s]")

# 3. energy ratio of the lump over ten thousand states
rng = np.random.default_rng(0)
q, v = rng.uniform(0, 0.03, (10_000, 3)), rng.uniform(-0.05, 0.05, (10_000, 3))
K, lumped = bare.energy(q, v).kinetic, lump.energy(q, v).kinetic
ratio, slope = lumped / K, (lumped @ K) / (K @ K)
inside = 100 * ((ratio >= 0.5) & (ratio < 0.6)).mean()
print(f"energy ratio of the lump: mean {ratio.mean():.4f} (0.5655), {inside:.1f} % in 0.5 to 0.6 (94.3 %)")
print(
    f"  least-squares slope {slope:.4f} (0.5575), "
    f"range {ratio.min():.3f} to {ratio.max():.3f} (0.530 to 0.748)"
)
axes[1, 1].hist(ratio, bins=np.arange(0.5, 0.76, 0.05), edgecolor="white")
axes[1, 1].set(title="Energy of the lump / true energy", xlabel="ratio", ylabel="states of 10 000")
axes[1, 1].set_yscale("log")

# 4. responses of both models: a step on one actuator, and pure elongation
print("largest difference between distributed and lumped after a step on actuator 1 (25 N), on all (20 N):")
for d, told in ((5.0, "0.69, 4.2, 1.17"), (15.0, "0.24, 1.4, 0.31"), (60.0, "0.03, 0.2, 0.03")):
    found = []
    for load in ([25.0, 0, 0], [20.0, 20, 20]):
        true, other = (
            flexdyn_ros.simulate(model, 0.5, dt=1e-4, method="rk4", control=np.array(load), record_every=10)
            for model in (arm(d), arm(d, mass_model="lumped"))
        )
        found.append((true, other, full.frames(true.q, "tip") - full.frames(other.q, "tip")))
        if d == 5.0:
            panel = axes[2, len(found) - 1]
            panel.plot(true.t, 1e3 * true.q[:, 0], label="distributed")
            panel.plot(other.t, 1e3 * other.q[:, 0], "--", label="lumped, 0.56")
            panel.set(title=f"d = 5 N s/m, forces {load} N", xlabel="time [s]", ylabel="actuator 1 [mm]")
    step, tip, all_three = (
        1e3 * np.abs(found[0][0].q - found[0][1].q).max(),
        1e3 * np.linalg.norm(found[0][2][:, :3, 3], axis=1).max(),
        1e3 * np.abs(found[1][0].q - found[1][1].q).max(),
    )
    print(f"  d = {d:2.0f} N s/m: {step:.2f} mm, {tip:.1f} mm at the tip; {all_three:.2f} mm  ({told})")
    spread = np.ptp(found[1][0].q, axis=1).max()
print(f"equal forces: lengths differ by {spread:.1e} m  (at most 1e-15)")

for panel in axes.flat:
    if panel.get_legend_handles_labels()[0]:
        panel.legend(fontsize=8)
OUT.mkdir(parents=True, exist_ok=True)
figure.savefig(OUT / "07_soft_arm.png", dpi=110)
print(f"\nwritten: {OUT / '07_soft_arm.png'}")
