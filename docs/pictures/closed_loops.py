"""Draws the figures of docs/theory/loops.md: those of FIGURES, as SVG.

python docs/pictures/closed_loops.py [FOLDER]
"""

from __future__ import annotations

import sys
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from frames import axes_cross
from ink import ACCENT, BODY, FAINT, PARTS, ROD, THIRD, arrow, drawing, save
from matplotlib.patches import Circle

#: lengths of crank, coupler, rocker and ground [m], those of the robot of docs/tutorials/closing_a_loop.md
CRANK, COUPLER, ROCKER, GROUND = 0.3, 0.8, 0.6, 0.9


def frames_of_a_loop() -> Any:
    """The open tree with two branches, its constraint frames, and what a multiplier does at p2."""
    figure, ax = drawing(8.6, 4.4)
    ax.plot([0.3, 6.1], [0, 0], color="black", lw=3)
    left = np.array([[0.8, 0.0], [1.2, 1.7], [2.35, 2.35]])
    right = np.array([[5.6, 0.0], [5.35, 1.6], [3.75, 2.75]])
    for chain, colour in ((left, BODY), (right, ROD)):
        ax.plot(*chain.T, color=PARTS, lw=11, solid_capstyle="round", solid_joinstyle="round")
        ax.plot(*chain.T, color=colour, lw=8, solid_capstyle="round", solid_joinstyle="round")
        for place in chain[:2]:
            ax.add_patch(Circle(place, 0.09, facecolor="white", edgecolor="black", zorder=5))
    ax.text(0.85, 0.95, "base", ha="right")
    ax.text(5.75, 0.95, "end", ha="left")
    ax.text(3.2, 0.18, "joints of the tree", ha="center", color=FAINT)
    p1, p2 = left[-1], right[-1]
    axes_cross(ax, p1, np.radians(5.0), 0.75, ("$c_2$", "$c_3$"), THIRD)
    axes_cross(ax, p2, np.radians(20.0), 0.75, ("", "$n$"), THIRD)
    arrow(ax, p1, p2, "", (0, 0), ACCENT)
    ax.text(3.0, 2.75, "$r$", color=ACCENT)
    ax.text(p1[0] - 0.1, p1[1] - 0.35, "$p_1$", ha="center")
    ax.text(p2[0] - 0.02, p2[1] - 0.36, "$p_2$", ha="center")
    force = np.array([0.86, 0.08])
    arrow(ax, p2, p2 + 1.25 * force, r"$\lambda\, c_2$ on the end", (0.95, 0.0), "black")
    arrow(ax, p2, p2 - 1.25 * force, "", (0, 0), "black")
    ax.text(2.1, 2.72, r"$-\lambda\, c_2$ on the base, at $p_2$ too", ha="right")
    ax.set(xlim=(-0.6, 7.0), ylim=(-0.25, 3.75))
    return figure


def pose(crank: float, side: float) -> np.ndarray | None:
    """Joints (4, 2) of the four-bar at an angle of its crank [rad]; side: 1 or -1, of its branch."""
    a, d = CRANK * np.array([np.cos(crank), np.sin(crank)]), np.array([GROUND, 0.0])
    span = np.linalg.norm(d - a)
    along = (COUPLER**2 - ROCKER**2 + span**2) / (2.0 * span)
    square = COUPLER**2 - along**2
    if square < 0.0:
        return None
    way = (d - a) / span
    b = a + along * way + side * np.sqrt(square) * np.array([-way[1], way[0]])
    return np.array([np.zeros(2), a, b, d])


def rank_of(points: np.ndarray) -> float:
    """Sine of the angle between coupler and rocker: 0 where the two rows of the loop lose a rank on them."""
    u, w = points[2] - points[1], points[2] - points[3]
    return float(u[0] * w[1] - u[1] * w[0]) / (COUPLER * ROCKER)


def branches() -> Any:
    """Both branches at one angle of the crank; the determinant that changes its sign between them."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(8.6, 3.4), width_ratios=(1.0, 1.15))
    for side, colour, name in ((1.0, PARTS, "open"), (-1.0, ACCENT, "crossed")):
        points = pose(1.0, side)
        left.plot(*points.T, "o-", color=colour, lw=3, ms=6, mfc="white", label=name)
        angles = np.linspace(0.0, 360.0, 181)
        right.plot(angles, [rank_of(pose(np.radians(x), side)) for x in angles], color=colour, label=name)
    left.plot([0.0, GROUND], [0, 0], color="black", lw=1.5)
    left.set_aspect("equal")
    left.axis("off")
    left.legend(loc="lower left")
    right.axhline(0.0, color=FAINT, lw=0.8)
    right.set(xlabel="crank [deg]", ylabel="sine between coupler and rocker", xlim=(0, 360), ylim=(-1.1, 1.1))
    right.legend(loc="center right")
    figure.tight_layout()
    return figure


FIGURES = {"loop_frames": frames_of_a_loop, "loop_branches": branches}


if __name__ == "__main__":
    save(FIGURES, sys.argv[1:])
