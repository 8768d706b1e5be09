"""Canadarm2 released under gravity, flexible against rigid: the study of Zhang (2009), figure by figure.

The source prints no parameters and no numbers, so its behaviour is reproduced, not its curves: joint rates of
the flexible arm oscillate about those of the rigid one. Parameters and release are those of the serial
specification, section 7 (in urdf/canadarm2.urdf, assumed ones marked).

    04_canadarm2_free_fall.py                      everything
    04_canadarm2_free_fall.py 8 --format svg       one figure of the source, as a vector graphic
    04_canadarm2_free_fall.py formulations         the source's equations beside ours, change by change

Every picture comes with a .csv of what it shows.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import numpy as np
from canadarm2_report import (
    BLUE,
    BOOM,
    GREEN,
    JOINTS,
    RED,
    Y_COLOUR,
    Z_COLOUR,
    Run,
    axes_of,
    draw_motion,
    tip_motion,
)
from rich.console import Console
from rich.table import Table

import flexdyn_ros

#: of several curves: colours of the style of all figures, dashes
COLOURS, DASHES = ("C0", "C1", "C2", "C3", "C4"), ("-", "--", ":", "-.", (0, (6, 1, 1, 1, 1, 1)))
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


#: from the source's equations to ours, one change at a time
STEPS = (
    ("Zhang (2009): affine frames", PRESET),
    (
        "rotary inertia of rotated sections",
        PRESET | {"formulation": PRESET["formulation"] | {"rotary_inertia": "consistent"}},
    ),
    ("section frames that are rotations", {"formulation": {"stiffening": "none"}, "links": PRESET["links"]}),
    ("this implementation: foreshortening", {"links": PRESET["links"]}),
)
Lines = Sequence[tuple[str, np.ndarray, str, str]]


def modes(bending: int, torsion: int) -> dict:
    """Options with so many modes per field."""
    counts = {"bending_y": bending, "bending_z": bending, "torsion": torsion}
    return {"links": {boom: {"modes": counts} for boom in ("boom_1", "boom_2")}}


def fall(options: dict, duration: float, method: str = "dop853", **settings: float) -> Run:
    """Release at rest, no torques, no limits."""
    robot = flexdyn_ros.load("canadarm2", options=options)
    q = robot.neutral()
    q[[robot.index(name) for name in JOINTS]] = RELEASE
    done = flexdyn_ros.simulate(robot, duration, q, method=method, **settings)
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


@cache
def arms() -> tuple[Run, Run]:
    """The arm as it is shipped, three modes per field, and its rigid twin, to the tolerance of dop853."""
    return fall({}, DURATION, rtol=1e-7, dt=5e-3), fall(RIGID, DURATION, rtol=1e-9, dt=5e-3)


def draw(
    folder: Path, name: str, formats: Sequence[str], title: str, label: str, t: np.ndarray, lines: Lines
) -> None:
    """One picture in every format, and what it shows as .csv; lines: name, values (n,), colour, style."""
    import matplotlib.pyplot as plt

    folder.mkdir(parents=True, exist_ok=True)
    figure, (axis,) = axes_of(1, columns=1, size=(6.4, 3.6))
    for text, values, colour, style in lines:
        axis.plot(t, values, linestyle=style, color=colour, label=text)
    axis.set_title(title)
    axis.set_ylabel(label)
    axis.set_xlim(t[0], t[-1])
    if len(lines) > 1:
        axis.legend()
    for form in formats:
        figure.savefig(folder / f"{name}.{form}")
    plt.close(figure)
    header = ",".join(["time [s]", *(f"{text} {label}".replace(",", ";") for text, *_ in lines)])
    table = np.column_stack([t, *(values for _, values, *_ in lines)])
    np.savetxt(folder / f"{name}.csv", table, delimiter=",", header=header, comments="")


def source_figure(number: int) -> tuple[str, str, Lines]:
    """Title, label and lines of a figure of the source: 2 to 6 joint rates, 7, 8 bending, 9, 10 twist."""
    flexible, rigid = arms()
    if number < 7:
        i = number - 2
        lines = [
            ("flexible", flexible.joints(flexible.v)[:, i], BLUE, "-"),
            ("rigid", rigid.joints(rigid.v)[:, i], RED, "--"),
        ]
        return f"Joint rate, {JOINTS[i].replace('_', ' ')}", f"$\\omega_{i + 1}$ [rad/s]", lines
    tip = flexible.tip
    if number < 9:
        prefix, unit = ("d", "m/s") if number == 8 else ("", "m")
        what = "Bending rate" if number == 8 else "Bending"
        shown = (("z", Z_COLOUR, "--"), ("y", Y_COLOUR, "-"))
        lines = [(x, tip[prefix + x], colour, style) for x, colour, style in shown]
        return f"{what} of the tip of boom 2", f"[{unit}]", lines
    if number == 9:
        return "Twist of the tip of boom 2", "[rad]", [("twist", tip["twist"], BLUE, "-")]
    return "Twist rate of the tip of boom 2", "[rad/s]", [("twist rate", tip["dtwist"], BLUE, "-")]


def wrist_yaw(run: Run) -> np.ndarray:
    """omega_4 (n,) [rad/s], the rate in which formulations differ most."""
    return run.joints(run.v)[:, 3]


def print_differences(console: Console, title: str, rows: Sequence[tuple[str, np.ndarray]]) -> None:
    """Largest difference of omega_4 from row to row."""
    table = Table(
        "", "largest change of w4 \\[rad/s]", "largest up to 2 s", title=title, title_justify="left"
    )
    middle = rows[0][1].size * 2 // 3
    for (_, before), (name, after) in zip(rows, rows[1:], strict=False):
        change = after - before
        table.add_row(name, f"{np.abs(change).max():.4f}", f"{np.abs(change[:middle]).max():.4f}")
    console.print(table)


def formulations(console: Console, folder: Path, formats: Sequence[str]) -> None:
    """The source's equations beside ours, and which change parts them."""
    runs = [(name, fall(options, DURATION, rtol=1e-8, dt=5e-3)) for name, options in STEPS]
    rows = [(name, wrist_yaw(run)) for name, run in runs]
    lines = [(n, w, c, s) for (n, w), c, s in zip(rows, COLOURS, DASHES, strict=False)]
    title = "Equations of Zhang (2009) and this implementation, one mode per field"
    draw(folder, "formulations", formats, title, "wrist yaw rate [rad/s]", runs[0][1].t, lines)
    print_differences(console, "From the source's equations to ours: what each change does", rows)
    source, ours = runs[0][1], runs[-1][1]
    early = source.t <= 2.0
    apart = np.abs(wrist_yaw(source) - wrist_yaw(ours))
    its = ours.robot.modal_integrals(BOOM, stations=(1.0,))
    rows_of = [ours.robot.index(name) for name in its.names]
    slope = np.linalg.norm(ours.q[:, rows_of] @ its.rotation[:, 0, 1:], axis=1)
    console.print(
        f"Source and ours agree within {apart[early].max():.2f} rad/s up to 2 s, where bending turns the tip "
        f"of {BOOM} by at most {slope[early].max():.3f} rad, and part by {apart.max():.2f} rad/s after the "
        "arm whips round. Each change is small before the whip, which multiplies it: an affine frame, 1 + "
        "the skew matrix of the slopes, is longer than a rotation by slope^2/2 and stretches what hangs on "
        "it; a boom of the source does not get shorter as it bends; its sections turn with another inertia.",
        highlight=False,
    )


def convergence(console: Console, folder: Path, formats: Sequence[str]) -> None:
    """More modes, and shorter steps."""
    fixed = {"method": "rosenbrock", "dt": 1e-3}
    by_modes = [(f"{n} per field", fall(modes(n, n), DURATION, **fixed)) for n in (1, 2, 3, 4, 5)]
    curves = zip(by_modes, COLOURS, DASHES, strict=False)
    lines = [(n, wrist_yaw(run), c, s) for (n, run), c, s in curves]
    title = "Convergence in the number of modes"
    draw(folder, "convergence_modes", formats, title, "wrist yaw rate [rad/s]", by_modes[0][1].t, lines)
    rows = [(name, wrist_yaw(run)) for name, run in by_modes]
    print_differences(console, "More modes, each beside the row before it", rows)
    best = fall({}, DURATION, rtol=1e-10, dt=5e-3)
    table = Table(
        "", "largest error of w4 \\[rad/s]", title="Shorter steps, three modes", title_justify="left"
    )
    errors = []
    for dt in (5e-3, 2.5e-3, 1.25e-3, 6.25e-4, 3.125e-4):
        run = fall({}, DURATION, "rosenbrock", dt=dt)
        every = round(5e-3 / dt)
        errors.append(wrist_yaw(run)[::every] - wrist_yaw(best))
        table.add_row(f"rosenbrock, {1e3 * dt:g} ms", f"{np.abs(errors[-1]).max():.2e}")
    error = float(np.abs(wrist_yaw(arms()[0]) - wrist_yaw(best)).max())
    table.add_row("dop853, rtol 1e-7 (the figures)", f"{error:.2e}")
    console.print(table)
    steps = ("5 ms", "2.5 ms", "1.25 ms", "0.625 ms", "0.3125 ms")
    lines = [(n, e, c, s) for n, e, c, s in zip(steps, errors, COLOURS, DASHES, strict=False)]
    title = "Error of rosenbrock, reference dop853 with rtol 1e-10"
    draw(folder, "convergence_steps", formats, title, "error of $\\omega_4$ [rad/s]", best.t, lines)


def torsion(console: Console, folder: Path, formats: Sequence[str]) -> None:
    """The same arm with booms that cannot twist."""
    settings = {"rtol": 1e-8, "dt": 5e-3}
    runs = (fall({}, DURATION, **settings), fall(modes(3, 0), DURATION, **settings))
    lines = [
        ("bending and torsion", wrist_yaw(runs[0]), BLUE, "-"),
        ("bending only", wrist_yaw(runs[1]), GREEN, ":"),
        ("rigid booms", wrist_yaw(arms()[1]), RED, "--"),
    ]
    draw(folder, "torsion", formats, "Effect of torsion", "wrist yaw rate [rad/s]", runs[0].t, lines)
    rows = [("without torsion", wrist_yaw(runs[1])), ("with torsion", wrist_yaw(runs[0]))]
    print_differences(console, "Effect of torsion", rows)


def printed(console: Console, folder: Path, formats: Sequence[str]) -> None:
    """The specification's table beside ours."""
    print_printed(console, fall(PRESET, 1.2, rtol=1e-7, dt=0.01), fall(RIGID_PRESET, 1.2, rtol=1e-9, dt=0.01))


def motion(console: Console, folder: Path, formats: Sequence[str]) -> None:
    """All rates and deflections in one picture."""
    flexible, rigid = arms()
    console.print(
        f"three modes per field, {DURATION:g} s by dop853: energy drift {flexible.drift:.1e} of the peak "
        f"kinetic energy, {flexible.real_time_factor:.2f} times real time",
        highlight=False,
    )
    title = "Canadarm2 released under gravity, three modes per field"
    folder.mkdir(parents=True, exist_ok=True)
    for form in formats:
        draw_motion(folder.with_name(f"{folder.name}.{form}"), title, flexible, rigid)


STUDIES: dict[str, Callable[[Console, Path, Sequence[str]], None]] = {
    "table": printed,
    "motion": motion,
    "formulations": formulations,
    "convergence": convergence,
    "torsion": torsion,
}
FIGURES = tuple(range(2, 11))


def main() -> None:
    """Fall, compare, draw."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    known = [*map(str, FIGURES), *STUDIES]
    parser.add_argument("what", nargs="*", metavar="WHAT", help=f"any of {', '.join(known)}; default: all")
    parser.add_argument("--format", action="append", choices=("png", "svg", "pdf"), help="default: png")
    parser.add_argument("--folder", type=Path, default=OUT / Path(__file__).stem, help="default: %(default)s")
    given = parser.parse_args()
    for word in given.what:
        if word not in known:
            parser.error(f"{word!r} is none of {', '.join(known)}")
    console, formats, folder = Console(width=120), given.format or ["png"], given.folder
    for word in given.what or [*STUDIES, *map(str, FIGURES)]:
        if word in STUDIES:
            STUDIES[word](console, folder, formats)
        else:
            title, label, lines = source_figure(int(word))
            draw(folder, f"figure_{int(word):02}", formats, title, label, arms()[0].t, lines)
    here = Path.cwd()
    shown = folder.relative_to(here) if folder.is_relative_to(here) else folder
    console.print(f"pictures and tables: {shown}", soft_wrap=True)


if __name__ == "__main__":
    main()
