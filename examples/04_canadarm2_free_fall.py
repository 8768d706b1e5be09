"""Canadarm2 released under gravity, flexible against rigid: the study of Zhang (2009), figure by figure.

The source prints no parameters and no numbers, so its behaviour is reproduced, not its curves: joint rates of
the flexible arm oscillate about those of the rigid one. Parameters and release are those of the serial
specification, section 7 (in urdf/canadarm2.urdf, assumed ones marked). Two runs: one mode per field with the
specification's preset, for the table beside its figures; three modes per field as shipped, for the pictures.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from canadarm2_report import JOINTS, Run, axes_of, draw_motion, tip_motion
from rich.console import Console
from rich.table import Table

import flexdyn_ros

RELEASE = (-0.6, 1.0, -0.4, 0.3, 0.0)
DURATION = 3.0
OUT = Path(__file__).resolve().parents[1] / "out" / "examples"
#: serial specification, section 7: time, rates of the flexible and of the rigid arm [rad/s], tip of boom 2
#: (bending y, z [m], twist [rad])
PRINTED = (
    (0.5, (0.46694, -0.14222, -0.08111, 0.21752, -0.08044), (0.4977, -0.1707, -0.0930, 0.1184, -0.0764),
     (-0.0041, 0.0014, 0.0000)),
    (1.0, (1.33331, -1.33002, 0.10839, -0.16112, -0.05590), (1.3478, -1.3048, 0.0902, 0.0109, -0.0502),
     (-0.0024, -0.0037, 0.0007)),
    (1.2, (2.02631, -2.52531, -0.41034, -1.18198, 0.23792), (2.0281, -2.5755, -0.5118, -0.5633, 0.3603),
     (0.0057, -0.0115, 0.0014)),
)  # fmt: skip
#: what the specification integrates: affine section frames, its rotary inertia, no stiffening, one mode each
PRESET = {
    "formulation": {"method": "lagrange", "frame": "affine", "rotary_inertia": "paper", "stiffening": "none"},
    "links": {
        boom: {"modes": {"bending_y": 1, "bending_z": 1, "torsion": 1}} for boom in ("boom_1", "boom_2")
    },
}
RIGID = {"formulation.flexible": False}
RIGID_PRESET = {"formulation": {"flexible": False, "rotary_inertia": "paper"}}


def fall(options: dict, duration: float, **settings: float) -> Run:
    """Release at rest, no torques, no limits."""
    robot = flexdyn_ros.load("canadarm2", options=options)
    q = robot.neutral()
    q[[robot.index(name) for name in JOINTS]] = RELEASE
    done = flexdyn_ros.simulate(robot, duration, q, method="dop853", **settings)
    energy = np.stack((done.t, done.energy.kinetic, done.energy.total, done.energy.total), axis=1)
    factor = duration / done.wall_time
    return Run("fall", robot, done.t, done.q, done.v, done.tau, energy, factor, 0.0)


def print_printed(console: Console, flexible: Run, rigid: Run) -> None:
    """The specification's table, and ours below each of its rows."""
    table = Table(title="Joint rates \\[rad/s] and tip of boom 2, one mode per field", title_justify="left")
    for heading in ("t \\[s]", "arm", "", "w1", "w2", "w3", "w4", "w5", "y \\[m]", "z \\[m]", "twist"):
        table.add_column(heading, justify="right")
    tip = tip_motion(flexible.robot, flexible.q, flexible.v)
    bent = np.stack([tip[name] for name in ("y", "z", "twist")], axis=1)
    worst = 0.0
    for at, soft, stiff, deflection in PRINTED:
        i = int(np.argmin(np.abs(flexible.t - at)))
        ours = flexible.joints(flexible.v)[i], rigid.joints(rigid.v)[i]
        worst = max(worst, float(np.abs(ours[0] - soft).max()), float(np.abs(ours[1] - stiff).max()))
        for arm, printed, found, more, less in (
            ("flexible", soft, ours[0], deflection, bent[i]),
            ("rigid", stiff, ours[1], (), ()),
        ):
            for who, rates, shape in (("printed", printed, more), ("ours", found, less)):
                cells = [f"{x:.4f}" for x in (*rates, *shape)]
                table.add_row(f"{at:g}", arm, who, *cells)
    console.print(table)
    console.print(f"largest difference of a rate: {worst:.1e} rad/s", highlight=False)


def draw_figures(flexible: Run, rigid: Run, folder: Path) -> None:
    """One picture per figure of the source: 2 to 6 joint rates, 7 and 8 bending, 9 and 10 twist."""
    import matplotlib.pyplot as plt

    folder.mkdir(parents=True, exist_ok=True)
    tip = flexible.tip
    rates = [
        (
            f"joint rate $\\omega_{i + 1}$ [rad/s]",
            flexible.joints(flexible.v)[:, i],
            rigid.joints(rigid.v)[:, i],
        )
        for i in range(5)
    ]
    deflections = [
        ("bending of the tip of boom 2 [m]", tip["z"], tip["y"]),
        ("bending rate of the tip of boom 2 [m/s]", tip["dz"], tip["dy"]),
        ("twist of the tip of boom 2 [rad]", tip["twist"], None),
        ("twist rate of the tip of boom 2 [rad/s]", tip["dtwist"], None),
    ]
    for number, (name, solid, dashed) in enumerate((*rates, *deflections), start=2):
        figure, (axis,) = axes_of(1, columns=1)
        labels = ("flexible", "rigid") if number < 7 else ("z", "y")
        axis.plot(flexible.t, solid, lw=1.3, color="#0072B2", label=labels[0])
        if dashed is not None:
            axis.plot(flexible.t, dashed, "--", lw=1.2, color="#D55E00", label=labels[1])
            axis.legend(frameon=False)
        axis.set_ylabel(name)
        figure.savefig(folder / f"figure_{number:02}.png", dpi=110)
        plt.close(figure)


def main() -> None:
    """Fall, compare, draw."""
    console = Console(width=120)
    print_printed(console, fall(PRESET, 1.2, rtol=1e-7, dt=0.01), fall(RIGID_PRESET, 1.2, rtol=1e-9, dt=0.01))
    flexible, rigid = fall({}, DURATION, rtol=1e-7, dt=5e-3), fall(RIGID, DURATION, rtol=1e-9, dt=5e-3)
    console.print(
        f"three modes per field, {DURATION:g} s by dop853: energy drift {flexible.drift:.1e} of the peak "
        f"kinetic energy, {flexible.real_time_factor:.2f} times real time",
        highlight=False,
    )
    stem = Path(__file__).stem
    draw_figures(flexible, rigid, OUT / stem)
    title = "Canadarm2 released on the ground: three modes per field, full stiffening"
    picture = draw_motion(OUT / f"{stem}.png", title, flexible, rigid)
    here = Path.cwd()
    shown = picture.relative_to(here) if picture.is_relative_to(here) else picture
    console.print(
        f"pictures: {shown} and figure_02.png to figure_10.png in {shown.with_suffix('')}", soft_wrap=True
    )


if __name__ == "__main__":
    main()
