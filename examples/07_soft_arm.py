"""A soft section: the studies of the source of the continuum specification, each a picture, table and CSV.

Energy shares over a motion, the lumped model's energy coefficient, configuration variables, pure elongation,
distributed against lumped responses with computing times, and how many sections a bending rod needs. Expected
figures stand in brackets beside ours: those that the specification gives for these settings. Writes
out/examples/07_soft_arm*.png and .csv.

    python examples/07_soft_arm.py [energies | ratio | shape | elongation | compare | refine]
"""

import sys
from pathlib import Path
from time import perf_counter

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import flexdyn_ros
from flexdyn_ros.robot import set_batch_threads
from flexdyn_ros.simulation import figure_style

OUT = Path(__file__).resolve().parents[1] / "out" / "examples"
SECTION = '<section preset="bai2022"{more}/>'
ARM = (
    '<robot name="arm"><link name="base"/><link name="tip"/><joint name="section_1" type="fixed">'
    '<parent link="base"/><child link="tip"/><origin xyz="0 0 0.15"/></joint>'
    "<flexdyn><gravity>0 0 {gravity}</gravity></flexdyn>"
    '<flexdyn reference="section_1">' + SECTION + "</flexdyn></robot>"
)


def arm(damping=15.0, gravity=-10.0, nodes=8, **formulation):
    """One section of preset bai2022; gravity of the preset is 10 m/s2, that of the responses 9.81."""
    text = ARM.format(gravity=gravity, more=f' damping="{damping}" quadrature="{nodes}"')
    return flexdyn_ros.load(text, options={f"formulation.{k}": v for k, v in formulation.items()})


def save(name, figure, columns):
    """Picture and CSV of a study; columns: mapping from heading to numbers (n,)."""
    OUT.mkdir(parents=True, exist_ok=True)
    figure.savefig(OUT / f"{name}.png")
    plt.close(figure)
    rows = np.column_stack(list(columns.values()))
    np.savetxt(OUT / f"{name}.csv", rows, delimiter=",", header=",".join(columns), comments="", fmt="%.9g")
    print(f"  {name}.png, {name}.csv\n")


def panels(rows, columns, size):
    plt.style.use(figure_style())
    figure, axes = plt.subplots(rows, columns, figsize=size, squeeze=False)
    return figure, axes


def prescribed():
    """One actuator lengthens by 30 mm and back, 15 mm (1 - cos t): t, q, v."""
    t = np.linspace(0.0, 2.0 * np.pi, 400)
    still = np.zeros_like(t)
    q = np.stack([0.015 * (1.0 - np.cos(t)), still, still], axis=-1)
    return t, q, np.stack([0.015 * np.sin(t), still, still], axis=-1)


def energies():
    """Speeds, energies and path of the centre of mass over a prescribed motion."""
    full, bare = arm(), arm(rotary_inertia="none")
    t, q, v = prescribed()
    energy, straight = full.energy(q, v), bare.energy(q, v).kinetic
    turning = energy.kinetic - straight
    moving = energy.kinetic > 1e-3 * energy.kinetic.max()
    share = np.where(moving, turning / np.where(moving, energy.kinetic, 1.0), np.nan)
    twist = np.einsum("nij,nj->ni", full.jacobian(q, "tip"), v)
    speed, spin = np.linalg.norm(twist[:, 3:], axis=1), np.linalg.norm(twist[:, :3], axis=1)
    centre, tip = full.center_of_mass(q), full.frames(q, "tip")[:, :3, 3]
    rest = full.energy(np.zeros(3), np.zeros(3)).gravity
    print("Energies of a prescribed motion")
    print(f"  largest share of rotary in kinetic energy  {100 * np.nanmax(share):.2f} %  (1.15 %)")
    print(f"  gravity energy at rest                     {rest:.4f} J  (0.1125 J)")
    print(f"  largest elastic, gravity, kinetic energy   {energy.elastic.max():.3f}, "
          f"{energy.gravity.max():.3f}, {energy.kinetic.max():.2e} J")  # fmt: skip
    figure, axes = panels(2, 2, (11, 8))
    axes[0, 0].plot(t, speed, label="tip speed [m/s]")
    axes[0, 0].plot(t, 0.1 * spin, label="its angular speed / 10 [rad/s]")
    axes[0, 0].set(title="Speeds of the tip", xlabel="time [s]")
    axes[0, 1].semilogy(t, np.where(moving, straight, np.nan), label="translation")
    axes[0, 1].semilogy(t, np.where(moving, turning, np.nan), label="rotation")
    axes[0, 1].set(title="Kinetic energies", xlabel="time [s]", ylabel="[J]")
    axes[1, 0].plot(t, energy.gravity, label="gravity")
    axes[1, 0].plot(t, energy.elastic, label="springs")
    axes[1, 0].set(title="Potential energies", xlabel="time [s]", ylabel="[J]")
    for name, path in (("centre of mass", centre), ("tip", tip)):
        axes[1, 1].plot(1e3 * path[:, 0], 1e3 * path[:, 2], label=name)
    backbone = full.pose(q[200], np.linspace(0, 1, 40))[:, :3, 3]
    axes[1, 1].plot(1e3 * backbone[:, 0], 1e3 * backbone[:, 2], "0.6", label="arm, bent most")
    axes[1, 1].plot(1e3 * centre[200, 0], 1e3 * centre[200, 2], "ko", label="its centre: beside the arm")
    axes[1, 1].set(title="Paths", xlabel="x [mm]", ylabel="z [mm]", aspect="equal")
    for panel in axes.flat:
        panel.legend()
    save("07_soft_arm", figure, {
        "t_s": t, "tip_speed_m_per_s": speed, "tip_angular_speed_rad_per_s": spin, "translation_J": straight,
        "rotation_J": turning, "gravity_J": energy.gravity, "elastic_J": energy.elastic,
        "centre_x_m": centre[:, 0], "centre_y_m": centre[:, 1], "centre_z_m": centre[:, 2],
    })  # fmt: skip


def ratio():
    """Kinetic energy of the mass in its centre against the true one, over 10 000 states."""
    full, bare = arm(), arm(rotary_inertia="none")
    lump = arm(mass_model="lumped", energy_ratio=1.0)
    rng = np.random.default_rng(0)
    q, v = rng.uniform(0, 0.03, (10_000, 3)), rng.uniform(-0.05, 0.05, (10_000, 3))
    K, whole, centred = bare.energy(q, v).kinetic, full.energy(q, v).kinetic, lump.energy(q, v).kinetic
    found, slope = centred / K, (centred @ K) / (K @ K)
    edges = np.arange(0.5, 0.76, 0.05)
    counts = np.histogram(found, edges)[0]
    inside = 100 * ((found >= 0.5) & (found < 0.6)).mean()
    print("Energy coefficient of the lumped model over 10 000 states")
    print(f"  mean             {found.mean():.4f}  (0.5655 +- 0.0002)")
    print(f"  with rotary      {(centred / whole).mean():.4f}  (0.5600 +- 0.0002)")
    print(f"  in 0.5 to 0.6    {inside:.1f} %  (94.3 +- 0.2 %)")
    print(f"  range            {found.min():.3f} to {found.max():.3f}  (0.530 to 0.748)")
    print(f"  fitted slope     {slope:.4f}  (0.5575)")
    print(f"  bins of 0.05     {', '.join(map(str, counts))}  (629, 8807, 351, 137, 76)")
    figure, axes = panels(1, 3, (14, 4.4))
    axes[0, 0].plot(1e3 * K[:200], label="distributed")
    axes[0, 0].plot(1e3 * centred[:200], label="lump, not scaled")
    axes[0, 0].set(title="First 200 states", xlabel="state", ylabel="kinetic energy [mJ]")
    axes[0, 1].plot(1e3 * K, 1e3 * centred, ".", ms=2, alpha=0.4, label="states")
    line = np.array([0.0, K.max()])
    axes[0, 1].plot(1e3 * line, 1e3 * slope * line, "k", label=f"slope {slope:.4f}")
    axes[0, 1].set(title="Fit through the origin", xlabel="distributed [mJ]", ylabel="lump [mJ]")
    axes[0, 2].hist(found, bins=edges, edgecolor="white")
    axes[0, 2].set(title="Ratio", xlabel="lump / distributed", ylabel="states", yscale="log")
    axes[0, 0].legend()
    axes[0, 1].legend()
    save("07_soft_arm_ratio", figure, {
        **{f"l{k + 1}_m": q[:, k] for k in range(3)}, **{f"v{k + 1}_m_per_s": v[:, k] for k in range(3)},
        "distributed_J": K, "with_rotary_J": whole, "lump_J": centred, "ratio": found,
    })  # fmt: skip


def shape():
    """Bending angle, radius and direction while the actuators follow one another, not equally far."""
    robot, t = arm(), np.linspace(0.0, 2.0 * np.pi, 400)
    q = np.array([0.015, 0.012, 0.008]) * (1.0 - np.cos(t[:, None] - 2.0 * np.pi / 3.0 * np.arange(3)))
    curvature, theta, phi = robot.arc_parameters(q)[:, 0].T
    radius = 1.0 / curvature
    worked = robot.arc_parameters([0.004, 0.022, 0.013])[0]
    print("Configuration variables")
    print(f"  at (4, 22, 13) mm: theta {worked[1]:.10f} rad, lambda {1 / worked[0]:.10f} m, "
          f"phi {worked[2]:.10f} rad  (0.8313843876, 0.1960585289, -0.5235987756)")  # fmt: skip
    print(f"  three waves: theta {theta.min():.2f} to {theta.max():.2f} rad, lambda "
          f"{1e3 * radius.min():.0f} to {1e3 * radius.max():.0f} mm, phi turns once")  # fmt: skip
    figure, axes = panels(2, 2, (11, 7))
    for k in range(3):
        axes[0, 0].plot(t, 1e3 * q[:, k], label=f"actuator {k + 1}")
    axes[0, 0].legend()
    axes[0, 0].set(title="Length changes", xlabel="time [s]", ylabel="[mm]")
    axes[0, 1].plot(t, theta)
    axes[0, 1].set(title="Bending angle theta", xlabel="time [s]", ylabel="[rad]")
    axes[1, 0].plot(t, 1e3 * radius)
    axes[1, 0].set(title="Radius lambda", xlabel="time [s]", ylabel="[mm]")
    axes[1, 1].plot(t, np.unwrap(phi))
    axes[1, 1].set(title="Direction phi", xlabel="time [s]", ylabel="[rad]")
    save("07_soft_arm_shape", figure, {
        "t_s": t, **{f"l{k + 1}_m": q[:, k] for k in range(3)}, "theta_rad": theta, "lambda_m": radius,
        "phi_rad": phi,
    })  # fmt: skip


def run(robot, load, duration=0.5):
    return flexdyn_ros.simulate(robot, duration, dt=1e-4, method="rk4", control=load, record=())


def elongation():
    """Equal loads: 20 N on each actuator, as a step on both models and as a smooth ramp."""

    def ramp(t, q, v):
        return np.full(3, 10.0 * (1.0 - np.cos(np.pi * min(t / 0.2, 1.0))))

    smooth = run(arm(gravity=-9.81), ramp)
    print("Pure elongation, 20 N on each actuator")
    print(f"  ramp: lengths differ by {np.ptp(smooth.q, axis=1).max():.1e} m  (at most 1e-15), all finite: "
          f"{np.isfinite(smooth.q).all()}")  # fmt: skip
    figure, axes = panels(1, 2, (11, 4.4))
    axes[0, 0].plot(smooth.t, 1e3 * smooth.q)
    axes[0, 0].set(title="Ramp of 0.2 s: three equal lengths", xlabel="time [s]", ylabel="[mm]")
    columns = {"t_s": smooth.t, "ramp_l1_m": smooth.q[:, 0]}
    for d, told in ((5.0, "1.17"), (15.0, "0.31"), (60.0, "0.03")):
        true, lumped = (
            run(arm(d, -9.81, mass_model=model), np.full(3, 20.0)) for model in ("distributed", "lumped")
        )
        apart = 1e3 * np.abs(true.q - lumped.q).max()
        print(
            f"  step, d = {d:2.0f} N s/m: the lump is off by {apart:.2f} mm "
            f"of {1e3 * true.q.max():.1f}  ({told})"
        )
        line = axes[0, 1].plot(true.t, 1e3 * true.q[:, 0], label=f"d = {d:.0f} N s/m, distributed")[0]
        axes[0, 1].plot(lumped.t, 1e3 * lumped.q[:, 0], "--", color=line.get_color(), label="lumped, 0.56")
        columns |= {f"distributed_d{d:.0f}_m": true.q[:, 0], f"lumped_d{d:.0f}_m": lumped.q[:, 0]}
    axes[0, 1].set(title="Step: the lump has a third too much inertia", xlabel="time [s]", ylabel="[mm]")
    axes[0, 1].set_xlim(0.0, 0.15)
    axes[0, 1].legend()
    save("07_soft_arm_elongation", figure, columns)


def compare():
    """A step of 25 N on actuator 1: both models, and what their evaluation takes."""
    load = np.array([25.0, 0.0, 0.0])
    print("Distributed against lumped, a step of 25 N on actuator 1")
    figure, axes = panels(1, 2, (11, 4.4))
    columns = {}
    for d, told in ((5.0, "0.69, 4.2"), (15.0, "0.24, 1.4"), (60.0, "0.03, 0.2")):
        robots = [arm(d, -9.81, mass_model=model) for model in ("distributed", "lumped")]
        true, lumped = (run(robot, load, 0.6) for robot in robots)
        tips = [robots[0].frames(x.q, "tip")[:, :3, 3] for x in (true, lumped)]
        length, tip = 1e3 * np.abs(true.q - lumped.q).max(), 1e3 * np.linalg.norm(tips[0] - tips[1], axis=1)
        print(f"  d = {d:2.0f} N s/m: lengths {length:.2f} mm, tip {tip.max():.1f} mm  ({told})")
        line = axes[0, 0].plot(true.t, 1e3 * tips[0][:, 0], label=f"d = {d:.0f} N s/m, distributed")[0]
        axes[0, 0].plot(lumped.t, 1e3 * tips[1][:, 0], "--", color=line.get_color(), label="lumped, 0.56")
        axes[0, 1].plot(true.t, tip, color=line.get_color(), label=f"d = {d:.0f} N s/m")
        columns |= {"t_s": true.t, f"distributed_d{d:.0f}_tip_x_m": tips[0][:, 0],
                    f"lumped_d{d:.0f}_tip_x_m": tips[1][:, 0], f"apart_d{d:.0f}_mm": tip}  # fmt: skip
    axes[0, 0].set(title="Tip", xlabel="time [s]", ylabel="x [mm]")
    axes[0, 1].set(title="Distance of the tips", xlabel="time [s]", ylabel="[mm]")
    for panel in axes.flat:
        panel.legend()
    save("07_soft_arm_compare", figure, columns)
    set_batch_threads(1)
    rng = np.random.default_rng(1)
    states = [rng.uniform(0, 0.03, (4096, 3)), *rng.uniform(-0.2, 0.2, (2, 4096, 3))]
    models = {
        "24 Gauss nodes": arm(nodes=24).with_quadrature(),
        "8 Gauss nodes": arm().with_quadrature(),
        "closed form": arm(),
        "lumped": arm(mass_model="lumped"),
    }
    print("  one evaluation of the accelerations in a batch; the source reports the lump 8 times faster than")
    print("  symbolic integrals, which is no property of the models:")
    for name, robot in models.items():
        robot.forward_dynamics(*states)
        took = []
        for _ in range(5):
            start = perf_counter()
            robot.forward_dynamics(*states)
            took.append(perf_counter() - start)
        print(f"    {name:15s} {1e6 * min(took) / 4096:5.2f} us")


#: first and second bending, first axial frequency beside the beam's [%] (specification, section 10.6); its 24
#: for the second mode of two sections is 70.6 by exact integrals
TABLE = {
    1: (27.2, None, 10.3),
    2: (5.1, 70.6, 2.6),
    3: (2.2, 18, 1.1),
    4: (1.2, 9.3, 0.64),
    8: (0.30, 2.2, 0.16),
}


def refine():
    """A rod in n sections against the exact cantilever."""
    k, r, L, m = 1700.0, 0.0125, 0.15, 0.15
    EI, EA, mu = 1.5 * k * r * r * L, 3.0 * k * L, m / L
    beam = np.array([1.8751040687, 4.6940911330]) ** 2 / L**2 * np.sqrt(EI / mu)
    stretch = 0.5 * np.pi / L * np.sqrt(EA / mu)
    print("\nA passive rod in n sections: frequencies beside those of the exact cantilever [%]")
    print("   n   first bending   second bending   first axial")
    found = []
    for n, told in TABLE.items():
        text = '<robot name="rod"><link name="l0"/><flexdyn><gravity>0 0 0</gravity></flexdyn>'
        for i in range(n):
            text += (
                f'<link name="l{i + 1}"/><joint name="s{i}" type="fixed"><parent link="l{i}"/>'
                f'<child link="l{i + 1}"/><origin xyz="0 0 {L / n!r}"/></joint><flexdyn reference="s{i}">'
                f'<section length="{L / n!r}" radius="{r}" mass="{m / n!r}" stiffness="{n * k}" '
                f'lower="{-0.03 / n!r}" upper="{0.03 / n!r}"/></flexdyn>'
            )
        robot = flexdyn_ros.load(text + "</robot>", options={"formulation.rotary_inertia": "none"})
        modes = robot.modes(robot.neutral())
        mean = np.abs(modes.shape.reshape(n, 3, -1).mean(axis=1)).max(axis=0)
        axial = mean > 0.3 * np.abs(modes.shape).max(axis=0)
        omega = 2.0 * np.pi * modes.frequency
        bends = omega[~axial][::2][:2]
        row = [100 * (w / w0 - 1) for w, w0 in zip(bends, beam, strict=False)] + [np.nan] * (2 - len(bends))
        row.append(100 * (omega[axial][0] / stretch - 1))
        found.append(row)
        cells = [
            f"{x:7.2f} ({y})" if y is not None else "      -     " for x, y in zip(row, told, strict=True)
        ]
        print(f"  {n:2d}   " + "   ".join(f"{cell:13s}" for cell in cells))
    table, n = np.array(found), np.array(list(TABLE))
    figure, axes = panels(1, 1, (6.5, 4.4))
    for j, name in enumerate(("first bending", "second bending", "first axial")):
        axes[0, 0].loglog(n, table[:, j], "o-", label=name)
    axes[0, 0].set(title="Frequencies above the exact rod's", xlabel="sections", ylabel="[%]")
    axes[0, 0].set_xticks(n, [str(i) for i in n])
    axes[0, 0].minorticks_off()
    axes[0, 0].legend()
    save("07_soft_arm_refine", figure, {
        "sections": n, "first_bending_percent": table[:, 0], "second_bending_percent": table[:, 1],
        "first_axial_percent": table[:, 2],
    })  # fmt: skip


STUDIES = {f.__name__: f for f in (energies, ratio, shape, elongation, compare, refine)}

if __name__ == "__main__":
    for name in sys.argv[1:] or STUDIES:
        STUDIES[name]()
    print(f"written to {OUT}")
