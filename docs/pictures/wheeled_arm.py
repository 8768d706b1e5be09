"""Draws wheeled_arm.svg and wheeled_arm_frames.svg of docs/theory/mobile.md.

    python docs/pictures/wheeled_arm.py [FOLDER]

The shapes are those of the shipped robot: its road, its mounts, and its links bent as the shape functions of
the model bend them, ten times too much.
"""

from __future__ import annotations

import sys

import matplotlib.pyplot as plt
import numpy as np
from ink import ACCENT, BODY, FAINT, PARTS, THIRD, angle_mark, arrow, drawing, save
from matplotlib.patches import Arc, Polygon

import flexdyn_ros

#: pose of the picture: pitch up, angles of both links [rad], height of the cart [m]
PITCH, ANGLES, HEIGHT = 0.06, (0.95, 0.42), 0.42
#: tip deflection [m] and slope [rad] of both links, stretched for the eye
BENT = ((0.09, 0.24), (-0.06, -0.13))
#: line and surface of the road
ROAD, GROUND = "#7a6a55", "#e7dfd2"


def turn(angle: float) -> np.ndarray:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s], [s, c]])


def bent_line(length: float, bend: tuple[float, float]) -> np.ndarray:
    """Centre line (n, 2) in the link's frame: deflection 3 xi^2 - 2 xi^3, slope l (xi^3 - xi^2)."""
    xi = np.linspace(0.0, 1.0, 60)
    across = bend[0] * (3 * xi**2 - 2 * xi**3) + bend[1] * length * (xi**3 - xi**2)
    return np.stack([length * xi, across], axis=1)


def torque_mark(ax, at, label, turn_by) -> None:
    """A curved arrow around a joint."""
    span = np.radians(np.linspace(200, 470, 40) + turn_by)
    ring = np.asarray(at)[:, None] + 0.075 * np.array([np.cos(span), np.sin(span)])
    ax.plot(*ring, color=THIRD, lw=1.1)
    ax.annotate(
        "",
        xy=ring[:, -1],
        xytext=ring[:, -4],
        arrowprops={"arrowstyle": "-|>", "color": THIRD, "lw": 1.1},
    )
    ax.text(at[0] - 0.17, at[1] + 0.02, label, color=THIRD, ha="right", va="center")


def spring(ax, low, high, coils=5) -> None:
    """A zigzag beside a damper, from the road to the mount."""
    y = np.linspace(low[1], high[1], 2 * coils + 3)
    x = low[0] - 0.03 + 0.022 * np.array([0, 0, *[(-1) ** i for i in range(2 * coils - 1)], 0, 0])
    ax.plot(x, y, color="black", lw=1.0)
    middle = 0.5 * (low[1] + high[1])
    d = low[0] + 0.04
    ax.plot([d, d], [low[1], middle - 0.02], color="black", lw=1.0)
    cup = np.array([[-0.02, 0.04], [-0.02, -0.02], [0.02, -0.02], [0.02, 0.04]]) + [d, middle]
    ax.plot(*cup.T, color="black", lw=1.0)
    ax.plot([d - 0.017, d + 0.017], [middle + 0.01] * 2, color="black", lw=1.6)
    ax.plot([d, d], [middle + 0.01, high[1]], color="black", lw=1.0)
    for y_end in (low[1], high[1]):
        ax.plot([low[0] - 0.03, d], [y_end, y_end], color="black", lw=1.0)


def mechanism(robot) -> plt.Figure:
    """What the model is made of (the source's first figure)."""
    figure, ax = drawing(8.6, 6.6)
    wave = robot.description.road
    X = np.linspace(-0.75, 1.15, 400)
    z = wave.offset + wave.amplitude * np.sin(2 * np.pi * (X - wave.start) / wave.wavelength + wave.phase)
    ax.fill_between(X, -0.12, z, color=GROUND)
    ax.plot(X, z, color=ROAD, lw=1.5)
    ax.text(0.98, z[np.searchsorted(X, 0.98)] + 0.05, "road $H(x)$", color=ROAD)
    origin = np.array([0.0, HEIGHT])
    T = turn(PITCH)
    box = np.array([[-0.43, -0.05], [0.43, -0.05], [0.43, 0.09], [-0.43, 0.09]])
    ax.add_patch(Polygon(origin + box @ T.T, closed=True, facecolor=BODY, edgecolor=PARTS, lw=1.4))
    ax.plot(*origin, "k+", ms=9)
    ax.text(origin[0] - 0.03, origin[1] - 0.005, "$O_1$: $X(t)$, $z$, $\\theta_1$", fontsize=9, ha="right")
    for wheel in robot.description.wheels:
        mount = origin + T @ np.array([wheel.xyz[0], wheel.xyz[2] - 0.05])
        ground = np.interp(mount[0], X, z)
        spring(ax, (mount[0], ground), mount)
        ax.plot(mount[0], ground, "o", color="black", ms=5)
        side = -0.2 if wheel.xyz[0] < 0 else 0.2
        ax.text(
            mount[0] + side,
            0.5 * (mount[1] + ground),
            f"{wheel.name}:\n$K, C, l_0$",
            ha="center",
            va="center",
        )
    B = origin + T @ np.array([0.0, 0.539])
    ax.plot(
        [origin[0] + 0.09 * T[0, 1], B[0]], [origin[1] + 0.09, B[1]], color=PARTS, lw=5, solid_capstyle="butt"
    )
    arrow(ax, (-0.62, 0.62), (-0.42, 0.62), "drive $F_1$", (-0.1, 0.05), ACCENT)
    root, slopes = B, []
    for number, (angle, bend) in enumerate(zip(ANGLES, BENT, strict=True), 3):
        line = root + bent_line(0.8, bend) @ turn(angle).T
        straight = root + np.array([[0.0, 0.0], [0.8, 0.0]]) @ turn(angle).T
        ax.plot(*straight.T, color=FAINT, lw=1.0, ls="--")
        ax.plot(*line.T, color=PARTS, lw=3.2)
        angle_mark(ax, root, 0.24, 0.0, angle, f"$\\theta_{number}$", horizon=True)
        ax.text(
            *(line[34] + turn(angle) @ [0.0, 0.12]), f"link {number}", ha="center", va="center", color=PARTS
        )
        ax.plot(*root, "o", mfc="white", mec="black", ms=9, zorder=5)
        slopes.append(bend[1])
        root = line[-1]
    ax.plot(*root, "o", color=ACCENT, ms=6)
    arrow(ax, root, root + np.array([0.16, 0.08]), "$F_P$", (0.05, 0.02), ACCENT)
    torque_mark(ax, B, "$T_{31}$ on link 3,\n$-T_{31}$ on the cart", 0)
    first_tip = B + (bent_line(0.8, BENT[0]) @ turn(ANGLES[0]).T)[-1]
    torque_mark(ax, first_tip, "$T_{43}$ on link 4, $-T_{43}$\non the bent tip of link 3", 40)
    ax.text(B[0] + 0.05, B[1] - 0.06, "B")
    ax.text(first_tip[0] + 0.07, first_tip[1] - 0.05, "C")
    corner = np.array([-0.72, 1.35])
    arrow(ax, corner, corner + [0.16, 0.0], "$X$ (ROS x)", (0.2, 0.0))
    arrow(ax, corner, corner + [0.0, 0.16], "$Y$ (ROS z)", (0.0, 0.05))
    arrow(ax, (0.55, 0.62), (0.85, 0.62), "travel", (-0.14, 0.05))
    ax.set_xlim(-0.9, 1.35)
    ax.set_ylim(-0.12, 2.05)
    return figure


def floating_frame() -> plt.Figure:
    """One link: its frame, its elastic coordinates, a point of it (the source's second figure)."""
    figure, ax = drawing(8.0, 4.4)
    R, angle, bend, length = np.array([0.35, 0.25]), 0.3, (0.2, 0.5), 1.0
    A = turn(angle)
    line = R + bent_line(length, bend) @ A.T
    for axis, name in (([1.25, 0.0], "$x$"), ([0.0, 0.42], "$y$")):
        arrow(ax, R, R + A @ axis, name, tuple(0.05 * A @ np.sign(axis)), FAINT)
    ax.plot(*line.T, color=PARTS, lw=3.5)
    ax.plot(*(R + A @ [length, 0.0]), "o", mfc="white", mec=FAINT)
    tip = line[-1]
    foot = R + A @ [length, 0.0]
    arrow(ax, foot, tip, "", (0, 0), ACCENT)
    ax.text(*(0.5 * (foot + tip) + A @ [0.1, 0.02]), "$q_5$", color=ACCENT, ha="center")
    tangent = angle + bend[1]
    ends = tip + np.array([[-0.14, 0.24]]).T * np.array([np.cos(tangent), np.sin(tangent)])
    ax.plot(*ends.T, color=ACCENT, lw=1.0)
    ax.plot(*np.array([tip, tip + 0.24 * A[:, 0]]).T, color=FAINT, lw=1.0, ls="--")
    ax.add_patch(Arc(tip, 0.36, 0.36, theta1=np.degrees(angle), theta2=np.degrees(tangent), color=ACCENT))
    ax.text(*(tip + 0.25 * np.array([np.cos(angle + 0.25), np.sin(angle + 0.25)])), "$q_6$", color=ACCENT)
    arrow(ax, foot + A @ [0.0, -0.06], foot + A @ [0.12, -0.06], "$q_4$", tuple(A @ [0.0, -0.05]), ACCENT)
    ax.plot(*np.array([[0.0, 0.0], R]).T, color="black", lw=0)
    arrow(ax, (0.0, 0.0), R, "", (0, 0), "black")
    ax.text(0.13, 0.16, "$R$")
    arrow(ax, (0.0, 0.0), (0.22, 0.0), "$X$", (0.04, 0.0))
    arrow(ax, (0.0, 0.0), (0.0, 0.22), "$Y$", (0.0, 0.04))
    angle_mark(ax, R, 0.22, 0.0, angle, "$\\theta$", horizon=True)
    at = 30
    point, undeformed = line[at], R + A @ [length * at / 59, 0.0]
    ax.plot(*point, "o", color="black", ms=5)
    ax.plot(*np.array([undeformed, point]).T, color="black", lw=0.9, ls=":")
    ax.plot(*np.array([R, undeformed]).T, color="black", lw=1.4)
    ax.text(*(undeformed + A @ [-0.05, -0.09]), "$e\\,x$", ha="center")
    ax.text(*(point + A @ [-0.14, 0.06]), "$S(x)\\, q_f$", ha="center")
    ax.text(0.75, 0.12, "$r(x) = R + A(\\theta)\\,(e\\,x + S(x)\\,q_f)$", fontsize=13)
    ax.text(0.75, 0.03, "the frame is clamped to the section at the root", color=FAINT)
    ax.set_xlim(-0.12, 1.75)
    ax.set_ylim(-0.08, 1.05)
    return figure


if __name__ == "__main__":
    arm = flexdyn_ros.load("mobile_arm")
    save({"wheeled_arm": lambda: mechanism(arm), "wheeled_arm_frames": floating_frame}, sys.argv[1:])
