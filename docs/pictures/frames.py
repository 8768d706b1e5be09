"""Draws the figures of frames, angles and symbols of docs/theory: those of FIGURES, as SVG.

python docs/pictures/frames.py [FOLDER]
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from ink import ACCENT, BODY, FAINT, OIL, PARTS, ROD, THIRD, angle_mark, arrow, drawing, save
from matplotlib.patches import Circle, Polygon, Rectangle


def axes_cross(ax: Any, at: Sequence, angle: float, size: float, names: Sequence, colour: str) -> None:
    """Two axes of a frame, the second a quarter turn from the first."""
    for turn, name in zip((0.0, np.pi / 2), names, strict=True):
        way = size * np.array([np.cos(angle + turn), np.sin(angle + turn)])
        arrow(ax, at, np.asarray(at) + way, name, tuple(0.17 * way), colour)


def flexible_link() -> Any:
    """Beam frame, undeformed and bent centre line, the frame of a section."""
    figure, ax = drawing(8.0, 3.8)
    x = np.linspace(0.0, 4.0, 80)
    y = 0.55 * (x / 4) ** 2 * (3 - x / 4)
    ax.plot([0, 4], [0, 0], color=FAINT, lw=1.2, ls="--")
    ax.plot(x - 0.06 * (x / 4) ** 2, y, color=PARTS, lw=4, solid_capstyle="round")
    ax.add_patch(Circle((0, 0), 0.1, facecolor="white", edgecolor="black", zorder=4))
    axes_cross(ax, (0, 0), 0.0, 1.0, ("", "beam y"), "black")
    ax.text(0.75, -0.3, "beam x, $e$", ha="center")
    ax.text(-0.15, -0.3, "node: $z$ is the\njoint's axis", ha="right", va="center")
    i = 50
    at, foot = np.array([x[i] - 0.06 * (x[i] / 4) ** 2, y[i]]), np.array([x[i], 0.0])
    slope = np.arctan2(y[i + 1] - y[i - 1], x[i + 1] - x[i - 1])
    arrow(ax, (0, 0), at, "", (0, 0), THIRD)
    ax.text(1.2, 0.42, "$h$", color=THIRD)
    arrow(ax, foot, at, "", (0, 0), ACCENT)
    ax.text(foot[0] + 0.42, 0.17, r"$\sum\,\delta_k u_k - e\,\sigma$", color=ACCENT, ha="left")
    ax.text(foot[0], -0.3, "$h_0$", ha="center")
    axes_cross(ax, at, slope, 0.6, ("", "section y"), PARTS)
    ax.text(at[0] + 1.0, at[1], "section x", color=PARTS, ha="left", va="center")
    ax.plot([at[0], at[0] + 0.95], [at[1], at[1]], color=FAINT, lw=0.8, ls="--")
    angle_mark(ax, at, 0.6, 0.0, slope, r"$\theta_z$")
    ax.plot(x[-1] - 0.06, y[-1], "o", color=ACCENT, ms=7, zorder=5)
    ax.text(4.1, y[-1] + 0.1, "tip: child joint\nor body", va="center")
    ax.set(xlim=(-1.4, 5.3), ylim=(-0.6, 2.0))
    return figure


def soft_section() -> Any:
    """The arc in its bending plane; the actuators from above."""
    figure, (side, top) = drawing(8.4, 4.0, (1.25, 1.0))
    bend, s = 1.2, 3.0
    radius = s / bend
    eta = np.linspace(0, 1, 60)
    for across, colour, width in ((0.0, PARTS, 3.5), (0.32, FAINT, 1.8), (-0.32, FAINT, 1.8)):
        reach = radius - across
        side.plot(radius - reach * np.cos(bend * eta), reach * np.sin(bend * eta), color=colour, lw=width)
    tip = radius * np.array([1 - np.cos(bend), np.sin(bend)])
    for place, angle in ((np.zeros(2), 0.0), (tip, bend)):
        ends = place + np.array([[-0.4], [0.4]]) * np.array([np.cos(angle), -np.sin(angle)])
        side.plot(*ends.T, color="black", lw=3)
    side.plot([radius, 0], [0, 0], color=FAINT, lw=0.8, ls="--")
    side.plot([radius, tip[0]], [0, tip[1]], color=FAINT, lw=0.8, ls="--")
    angle_mark(side, (radius, 0), 0.7, np.pi - bend, np.pi, r"$\theta$")
    arrow(side, (0, 0), (0, 0.95), "$z$", (-0.13, -0.5))
    arrow(side, tip, tip + 0.9 * np.array([np.sin(bend), np.cos(bend)]), r"slice $\eta = 1$", (0.35, 0.17))
    side.text(0.02, 1.75, "$s$", color=PARTS, ha="right")
    side.text(0.95, 1.0, r"$L + l_1$", color=FAINT)
    side.set(xlim=(-0.6, 3.4), ylim=(-0.5, 3.1), title="in the bending plane")
    top.add_patch(Circle((0, 0), 1.0, fill=False, color=FAINT))
    for k in range(3):
        place = np.array([np.cos(2 * np.pi * k / 3), np.sin(2 * np.pi * k / 3)])
        top.add_patch(Circle(place, 0.16, facecolor=BODY, edgecolor=PARTS, lw=1.5))
        top.text(*(1.42 * place), f"$l_{k + 1}$", ha="center", va="center")
    top.plot([0, np.cos(4 * np.pi / 3)], [0, np.sin(4 * np.pi / 3)], color=FAINT, lw=1)
    top.text(-0.18, -0.55, "$r$", color=FAINT)
    way = np.array([np.cos(0.6), np.sin(0.6)])
    arrow(top, (0, 0), 0.8 * way, "", (0, 0), ACCENT)
    top.text(0.72, 0.62, r"$(u_x, u_y)$", color=ACCENT)
    angle_mark(top, (0, 0), 0.42, 0.0, 0.6, r"$\phi$")
    arrow(top, (0, 0), (0.75, 0), "$x$", (0.0, -0.14))
    arrow(top, (0, 0), (0, 0.75), "$y$", (-0.12, 0.0))
    top.set(xlim=(-1.7, 1.9), ylim=(-1.7, 1.7), title="from above")
    return figure


def platform_leg() -> Any:
    """One leg between base and platform, with the axes of the leg."""
    figure, ax = drawing(7.4, 4.8)
    A, B, centre = np.array([0.6, 0.0]), np.array([1.5, 2.6]), np.array([3.6, 2.9])
    s = (B - A) / np.linalg.norm(B - A)
    ax.plot([-0.3, 6.0], [0, 0], color="black", lw=3)
    ax.text(5.3, 0.16, "base")
    across = np.array([-s[1], s[0]])
    for low, high, half, colour in ((0.08, 0.62, 0.15, BODY), (0.55, 1.0, 0.06, ROD)):
        a, b = A + low * (B - A), A + high * (B - A)
        box = [a + half * across, b + half * across, b - half * across, a - half * across]
        ax.add_patch(Polygon(box, closed=True, facecolor=colour, edgecolor=PARTS, lw=1.4))
    ax.add_patch(
        Polygon([B, [5.7, 3.2], [5.7, 3.42], B + [0, 0.22]], closed=True, facecolor=BODY, edgecolor=PARTS)
    )
    for at, name, shift in ((A, "$A_i$ universal joint", (-0.1, -0.38)), (B, "$B_i$", (-0.3, 0.15))):
        ax.add_patch(Circle(at, 0.1, facecolor="white", edgecolor="black", zorder=5))
        ax.text(at[0] + shift[0], at[1] + shift[1], name, ha="center")
    arrow(ax, centre, B, "", (0, 0), THIRD)
    ax.text(2.55, 2.5, "$r_i$", color=THIRD)
    ax.plot(*centre, "k+", ms=11)
    ax.text(3.75, 2.68, "$O'$: pose $q$, twist $v = (w;\\ v_O)$")
    arrow(ax, A, A + 1.15 * s, "", (0, 0), ACCENT)
    ax.text(*(A + 0.75 * s + 0.32 * across), "$s_i$", color=ACCENT, ha="center", va="center")
    arrow(ax, A, A + 0.9 * np.array([s[1], -s[0]]), "$x$", (0.14, -0.02), ACCENT)
    ax.text(2.2, 0.16, "$y$ into the page", color=ACCENT)
    arrow(ax, A, A + np.array([0.95, 0.0]) + [0, 0.18], "$u_i$", (0.18, 0.05), PARTS)
    # the dimension of the length, beside the leg
    side = 0.42 * across
    ax.annotate("", xy=B + side, xytext=A + side, arrowprops={"arrowstyle": "<->", "color": FAINT})
    ax.text(*(0.5 * (A + B) + 1.5 * side), r"$\ell_i$", color=FAINT, ha="center")
    ax.text(*(A + 0.33 * (B - A) + [0.34, -0.06]), "cylinder", color=PARTS)
    ax.text(*(A + 0.8 * (B - A) + [0.2, -0.12]), "rod", color=PARTS)
    ax.set(xlim=(-0.7, 6.2), ylim=(-0.5, 3.7))
    return figure


def cylinder() -> Any:
    """Chambers, piston, valve edges, supply and tank."""
    figure, ax = drawing(7.6, 4.0)
    ax.add_patch(Rectangle((0.5, 2.0), 4.6, 1.2, facecolor="white", edgecolor="black", lw=2))
    ax.add_patch(Rectangle((0.55, 2.05), 2.0, 1.1, facecolor=OIL, alpha=0.75))
    ax.add_patch(Rectangle((2.85, 2.05), 2.2, 1.1, facecolor=OIL, alpha=0.4))
    ax.add_patch(Rectangle((2.55, 2.05), 0.3, 1.1, facecolor=PARTS))
    ax.add_patch(Rectangle((2.85, 2.5), 3.3, 0.22, facecolor=ROD, edgecolor=PARTS))
    ax.text(1.5, 2.6, "$p_1,\\ V_1,\\ A_1$", ha="center", va="center")
    ax.text(4.0, 2.88, "$p_2,\\ V_2,\\ A_2$", ha="center", va="center")
    arrow(ax, (5.5, 2.95), (6.2, 2.95), "$y,\\ v$", (0.35, 0.0))
    arrow(ax, (6.15, 2.61), (6.75, 2.61), r"$\tau$", (0.2, 0.0), ACCENT)
    for x, name in ((1.3, "$Q_1$"), (4.3, "$Q_2$")):
        arrow(ax, (x, 1.15), (x, 2.0), "", (0, 0), ACCENT)
        ax.text(x + 0.22, 1.6, name, color=ACCENT)
    ax.add_patch(Rectangle((0.9, 0.55), 3.8, 0.6, facecolor=BODY, edgecolor="black", lw=1.4))
    ax.text(2.8, 0.85, "valve: opening $x$ from $-1$ to $1$", ha="center", va="center")
    arrow(ax, (1.9, -0.1), (1.9, 0.55), "", (0, 0))
    arrow(ax, (3.7, 0.55), (3.7, -0.1), "", (0, 0))
    ax.text(1.8, 0.15, "supply $p_s$", ha="right")
    ax.text(3.8, 0.15, "tank $p_t$", ha="left")
    ax.set(xlim=(0.2, 7.4), ylim=(-0.3, 3.5))
    return figure


def shapes() -> Any:
    """Eigenfunctions of a clamped beam, by the formula of the page."""
    figure, ax = plt.subplots(figsize=(7.0, 3.2))
    x = np.linspace(0, 1, 200)
    for number, b in enumerate((1.8751040687, 4.6940911330, 7.8547574382), 1):
        s = (np.sinh(b) - np.sin(b)) / (np.cosh(b) + np.cos(b))
        y = np.cosh(b * x) - np.cos(b * x) - s * (np.sinh(b * x) - np.sin(b * x))
        ax.plot(x, y / y[-1], label=f"mode {number}, b = {b:.3f}")
    ax.axhline(0, color=FAINT, lw=0.8)
    ax.set(xlabel="x / length", ylabel=r"$\phi$, 1 at the tip", xlim=(0, 1))
    ax.legend()
    return figure


FIGURES = {
    "frames_flexible_link": flexible_link,
    "frames_soft_section": soft_section,
    "frames_platform_leg": platform_leg,
    "hydraulic_cylinder": cylinder,
    "mode_shapes": shapes,
}


if __name__ == "__main__":
    save(FIGURES, sys.argv[1:])
