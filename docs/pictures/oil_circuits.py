"""Draws the figures of docs/theory/hydraulics.md about supplies and valves: those of FIGURES, as SVG.

python docs/pictures/oil_circuits.py [FOLDER]
"""

from __future__ import annotations

import sys
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from ink import ACCENT, FAINT, PARTS, THIRD, save

import flexdyn_ros

BAR, LITRES = 1e5, 6e4
#: displacement [m3/rad], speed [rad/s], band of the compensator, tank [Pa]
DISPLACEMENT, SPEED, BAND, TANK = 1.2e-5, 157.0, 10 * BAR, 3 * BAR
#: pressure that is kept; margin over the load and the most there is; relief valve and its conductance
SET, MARGIN, MOST, RELIEF, CONDUCTANCE = 160 * BAR, 20 * BAR, 250 * BAR, 200 * BAR, 2e-9
#: pressures of loads that a load-sensing pump senses
LOADS = (40 * BAR, 100 * BAR, 240 * BAR)


def pump_curves() -> Any:
    """What three kinds of pumps give to their line, over its pressure."""
    figure, ax = plt.subplots(figsize=(7.2, 3.3))
    p, full = np.linspace(0.0, 280 * BAR, 2801), DISPLACEMENT * SPEED

    def kept(pressure: float) -> np.ndarray:
        return full * np.clip((pressure - p) / BAND, 0.0, 1.0)

    fixed = np.maximum(full - CONDUCTANCE * np.maximum(p - RELIEF, 0.0), 0.0)
    ax.plot(p / BAR, LITRES * fixed, color=PARTS, label="fixed displacement, with relief valve")
    ax.plot(p / BAR, LITRES * kept(SET), color=ACCENT, label="constant pressure")
    for load in LOADS:
        label = "load sensing, at three loads" if load == LOADS[0] else None
        curve = LITRES * kept(min(MOST, load + MARGIN))
        ax.plot(p / BAR, curve, color=THIRD, ls="--", label=label)
        ax.plot([load / BAR, load / BAR], [0.0, 5.0], color=FAINT, lw=0.8)
        ax.text(load / BAR, 7.0, "load", ha="right", color=FAINT, rotation=90)
    ax.set(xlabel="pressure of the line [bar, absolute]", ylabel="flow [l/min]", xlim=(0, 280), ylim=(0, 125))
    ax.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=3, fontsize=8, borderaxespad=0.2)
    figure.tight_layout()
    return figure


def counterbalance_valve() -> Any:
    """The valve that holds the first link of `boom`: its characteristic, and while 500 kg are lowered."""
    robot = flexdyn_ros.load("boom").with_payload("load_point", 500.0)
    record = next(x for x in robot.description.extras["cylinder"] if x.name == "lift_cylinder")
    (valve,) = record.hydraulics.counterbalances
    crack, ratio, span = valve.cracking_pressure, valve.pilot_ratio, valve.opening_range

    def opening(own: Any, pilot: Any) -> np.ndarray:
        return np.clip((own - TANK + ratio * (pilot - TANK) - crack) / span, 0.0, 1.0)

    figure, axes = plt.subplots(1, 3, figsize=(9.6, 3.2), width_ratios=(1.0, 1.15, 1.15))
    left, middle, right = axes
    own = np.linspace(0.0, 300 * BAR, 601)
    for pilot, colour in ((0.0, PARTS), (60 * BAR, ACCENT), (120 * BAR, THIRD)):
        left.plot(own / BAR, opening(own, TANK + pilot), color=colour, label=f"pilot +{pilot / BAR:.0f} bar")
    left.set(xlabel="own chamber [bar]", ylabel="opening $z$", xlim=(0, 300), ylim=(-0.03, 1.5))
    left.set_yticks(np.linspace(0.0, 1.0, 6))
    left.legend(loc="upper left", fontsize=8)
    q = robot.neutral()
    q[robot.index("lift")], q[robot.index("fold")] = 0.6, -0.5
    q = robot.static_equilibrium(q, hold=["lift", "fold", "tilt"]).q
    # as a motion leaves them: the rod side at 20 bar
    states = dict(
        zip([state.name for state in robot.element_states], robot.rest_states(q).tolist(), strict=True)
    )
    chambers = record.hydraulics.chambers
    share = 1.0 - (chambers.rod_diameter / chambers.bore) ** 2
    first, second = "lift_cylinder/pressure_bore", "lift_cylinder/pressure_rod"
    start = {first: states[first] - share * (states[second] - 20 * BAR), second: 20 * BAR}
    law = ([0.5, 1.0, 2.0, 2.5], [0.0, -0.4, -0.4, 0.0])
    run = flexdyn_ros.simulate(
        robot,
        3.0,
        q,
        dt=5e-4,
        states0=start,
        control=lambda t, q, v: {"lift_cylinder/valve": np.interp(t, *law)},
    )
    bore, rod = run[first], run[second]
    middle.plot(run.t, bore / BAR, color=PARTS, label="bore side, carries")
    middle.plot(run.t, rod / BAR, color=ACCENT, label="rod side, pilot")
    middle.set(xlabel="time [s]", ylabel="pressure [bar, absolute]", xlim=(0, 3), ylim=(0, None))
    middle.legend(fontsize=8)
    right.plot(run.t, np.abs(np.interp(run.t, *law)), color=FAINT, ls="--", label="opening of the spool")
    right.plot(run.t, opening(bore, rod), color=THIRD, label="counterbalance valve, $z$")
    right.set(xlabel="time [s]", xlim=(0, 3), ylim=(-0.03, 1.03))
    right.legend(fontsize=8, loc="upper right")
    figure.tight_layout()
    return figure


FIGURES = {"pump_curves": pump_curves, "counterbalance_valve": counterbalance_valve}


if __name__ == "__main__":
    save(FIGURES, sys.argv[1:])
