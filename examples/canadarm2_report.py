"""Figures and tables of Canadarm2, flexible against rigid; for the demo and for the study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import flexdyn_ros
from flexdyn_ros.simulation import figure_style

JOINTS = ("shoulder_pitch", "elbow_pitch", "wrist_pitch", "wrist_yaw", "wrist_roll")
BOOM = "boom_2"
BLUE, RED, GREEN = "C0", "C1", "C2"
#: colours of the style of all figures; of bending along y and z: colours that no arm has
Y_COLOUR, Z_COLOUR = "C6", "C4"
#: share of the pace that was asked for, below which the machine counts as overloaded
KEPT = 0.95
#: seconds after the end of the slew, shaped or not, in which what still swings is measured
SETTLED = (12.5, 18.0)


@dataclass
class Run:
    """One motion: times (n,) [s], states (n, nq), (n, nv), efforts (n, nu), energy rows (t, kinetic, balance,
    total)."""

    name: str
    robot: Any
    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    tau: np.ndarray
    energy: np.ndarray
    real_time_factor: float
    asked_factor: float
    controller: str = ""
    commands: int = 0
    missed: int = 0

    @property
    def is_overloaded(self) -> bool:
        """Whether the machine did not keep the pace that was asked for."""
        return self.real_time_factor < KEPT * self.asked_factor

    def joints(self, values: np.ndarray) -> np.ndarray:
        """Columns (n, 5) of the joints."""
        return values[:, [self.robot.index(name) for name in JOINTS]]

    @property
    def tip(self) -> dict[str, np.ndarray]:
        """Deflection of the second boom's tip and its rate, by name, in beam axes: bending along y and z [m],
        twist [rad]."""
        return tip_motion(self.robot, self.q, self.v)

    @property
    def drift(self) -> float:
        """Largest change of energy - work + dissipated, relative to the peak of kinetic energy."""
        _, kinetic, balance, _ = self.energy.T
        return float(np.abs(balance - balance[0]).max() / kinetic.max())


def tip_motion(robot: Any, q: np.ndarray, v: np.ndarray) -> dict[str, np.ndarray]:
    """See `Run.tip`; the fields are linear in the modal coordinates, so their rates are those of the
    coordinates."""
    its = robot.modal_integrals(BOOM, stations=(1.0,))
    rows = [robot.index(name) for name in its.names]
    u, twist = its.displacement[:, 0, 1:], its.rotation[:, 0, 0]
    (y, z), (dy, dz) = (q[:, rows] @ u).T, (v[:, rows] @ u).T
    return {
        "y": y, "z": z, "dy": dy, "dz": dz, "twist": q[:, rows] @ twist, "dtwist": v[:, rows] @ twist,
    }  # fmt: skip


def axes_of(
    count: int, columns: int = 3, size: tuple[float, float] = (3.5, 2.4)
) -> tuple[Any, Sequence[Any]]:
    """A figure with `count` panels of that size [inch]."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.style.use(figure_style())
    rows = -(-count // columns)
    figure, axes = plt.subplots(
        rows,
        columns,
        figsize=(size[0] * columns, size[1] * rows),
        sharex=True,
        squeeze=False,
    )
    for axis in axes.flat[-columns:]:
        axis.set_xlabel("time [s]")
    return figure, list(axes.flat)


def draw_motion(
    path: Path, title: str, flexible: Run, rigid: Run, other: Run | None = None, labels: Sequence[str] = ()
) -> Path:
    """Joint rates of two or three runs, and bending, bending rate, twist and twist rate of the second
    boom."""
    labels = labels or ("flexible", "rigid", "")
    figure, axes = axes_of(9)
    rates, stiff = flexible.joints(flexible.v), rigid.joints(rigid.v)
    for i, axis in enumerate(axes[:5]):
        if other is not None:
            axis.plot(other.t, other.joints(other.v)[:, i], color=GREEN, ls=":", lw=1.4, label=labels[2])
        axis.plot(flexible.t, rates[:, i], color=BLUE, ls="-", lw=1.2, label=labels[0])
        axis.plot(rigid.t, stiff[:, i], "--", color=RED, lw=1.2, label=labels[1])
        axis.set_title(f"$\\omega_{i + 1}$, {JOINTS[i].replace('_', ' ')} [rad/s]", fontsize=9)
    tip = flexible.tip
    beside = None if other is None else other.tip
    panels = (
        ("y", "z", "tip deflection of boom 2 [mm]", 1e3),
        ("dy", "dz", "deflection rate [m/s]", 1.0),
        ("twist", "", "twist of boom 2 [mrad]", 1e3),
        ("dtwist", "", "twist rate [rad/s]", 1.0),
    )
    for axis, (first, second, name, scale) in zip(axes[5:], panels, strict=True):
        if beside is not None and other is not None:
            axis.plot(other.t, scale * beside[second or first], color=GREEN, ls=":", lw=1.4)
        label = "along y" if second else None
        axis.plot(
            flexible.t, scale * tip[first], color=Y_COLOUR if second else BLUE, ls="-", lw=1.1, label=label
        )
        if second:
            axis.plot(
                flexible.t, scale * tip[second], color=Z_COLOUR, ls=(0, (4, 1)), lw=1.3, label="along z"
            )
            axis.legend()
        axis.set_title(name, fontsize=9)
    figure.suptitle(title, fontsize=12)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncol=3, frameon=False)
    figure.savefig(path)
    return path


def residual(run: Run) -> float:
    """Half the largest swing of the second boom's tip after the slew [m]."""
    late = (run.t >= SETTLED[0]) & (run.t <= SETTLED[1])
    tip = run.tip
    return 0.5 * max(float(np.ptp(tip[name][late])) for name in ("y", "z"))


def print_tables(console: Console, runs: Mapping[str, Run]) -> None:
    """Frequencies, then the scenarios."""
    _frequency_table(console, runs)
    if "drop_flexible" in runs:
        _drop_table(console, runs["drop_flexible"], runs["drop_rigid"])
    if "slew_flexible" in runs:
        _slew_table(console, runs["slew_flexible"], runs["slew_unshaped"], runs["slew_rigid"])
    slow = [run for run in runs.values() if run.is_overloaded]
    if slow:
        worst = min(slow, key=lambda run: run.real_time_factor)
        console.print(
            f"overloaded: {worst.name} kept {worst.real_time_factor:.2f} of the pace "
            f"{worst.asked_factor:g} that was asked for; real-time factors are not representative of an idle "
            "machine, motions and energies are: they do not depend on the pace",
            highlight=False, soft_wrap=True,
        )  # fmt: skip


def _frequency_table(console: Console, runs: Mapping[str, Run]) -> None:
    table = Table("mode", title="lowest frequencies with the joints locked \\[Hz]", title_justify="left")
    columns = []
    for name, row, label in (("drop_flexible", 0, "as released"), ("slew_flexible", -1, "after the slew")):
        if name in runs:
            table.add_column(label)
            columns.append(runs[name].robot.modes(runs[name].q[row], lock="joints").frequency[:6])
    for i, row in enumerate(zip(*columns, strict=True)):
        table.add_row(str(i + 1), *(f"{f:.3f}" for f in row))
    console.print(table)


def _drop_table(console: Console, flexible: Run, rigid: Run) -> None:
    table = Table(
        "", "flexible (23 coordinates)", "rigid (5)",
        title="ground_drop: released under 9.81 m/s2, limits off", title_justify="left",
    )  # fmt: skip
    both = (flexible, rigid)
    table.add_row("real-time factor (asked for 1)", *(f"{r.real_time_factor:.3f}" for r in both))
    table.add_row("energy drift / peak kinetic energy", *(f"{r.drift:.1e}" for r in both))
    for i, name in enumerate(JOINTS):
        table.add_row(
            f"largest |w{i + 1}| {name} \\[rad/s]",
            *(f"{np.abs(r.joints(r.v)[:, i]).max():.3f}" for r in both),
        )
    tip = flexible.tip
    for label, key in (
        ("tip bending of boom 2, y \\[m]", "y"),
        ("tip bending of boom 2, z \\[m]", "z"),
        ("twist of boom 2 \\[rad]", "twist"),
    ):
        table.add_row(f"largest {label}", f"{np.abs(tip[key]).max():.4f}", "-")
    console.print(table)


def _slew_table(console: Console, shaped: Run, unshaped: Run, rigid: Run) -> None:
    table = Table(
        "", "flexible, input_shaper", "flexible, pd_controller", "rigid, input_shaper",
        title="orbit_slew: no gravity, torque limit 2332 N m, rate limit 0.0698 rad/s", title_justify="left",
    )  # fmt: skip
    runs = (shaped, unshaped, rigid)
    asked = f"real-time factor (asked for {shaped.asked_factor:g})"
    table.add_row(asked, *(f"{r.real_time_factor:.3f}" for r in runs))
    table.add_row("commands", *(str(r.commands) for r in runs))
    if any(r.missed for r in runs):
        table.add_row("states without a command", *(str(r.missed) for r in runs))
    table.add_row("energy drift / peak kinetic energy", *(f"{r.drift:.1e}" for r in runs))
    table.add_row("largest joint rate \\[rad/s]", *(f"{np.abs(r.joints(r.v)).max():.4f}" for r in runs))
    table.add_row("largest joint torque \\[N m]", *(f"{np.abs(r.joints(r.tau)).max():.0f}" for r in runs))
    table.add_row(
        "residual vibration of the tip \\[mm]", *(f"{1e3 * residual(r):.2f}" for r in runs[:2]), "-"
    )
    console.print(table)
    if shaped.missed or unshaped.missed:
        console.print("shaping is not judged: states went without a command", highlight=False)
        return
    console.print(
        f"shaping leaves {100 * residual(shaped) / residual(unshaped):.0f} % of the vibration",
        highlight=False,
    )


def draw(scenario: str, runs: Mapping[str, Run], folder: Path) -> Path:
    """Picture of a scenario; its file."""
    if scenario == "ground_drop":
        return draw_motion(
            folder / "ground_drop.png",
            "Canadarm2 released under gravity, flexible and rigid booms",
            runs["drop_flexible"],
            runs["drop_rigid"],
        )
    return draw_motion(
        folder / "orbit_slew.png",
        "Canadarm2 slewed in orbit by its joint servos, with and without input shaping",
        runs["slew_flexible"],
        runs["slew_rigid"],
        runs["slew_unshaped"],
        ("flexible, shaped", "rigid, shaped", "flexible, unshaped"),
    )


def save(runs: Mapping[str, Run], folder: Path) -> Path:
    """Arrays of all motions in one file; its path."""
    path = folder / "canadarm2.npz"
    arrays = {
        f"{name}_{key}": getattr(run, key) for name, run in runs.items() for key in ("t", "q", "v", "tau")
    }
    np.savez_compressed(path, **arrays, names=list(flexdyn_ros.load("canadarm2").v_names))
    return path
