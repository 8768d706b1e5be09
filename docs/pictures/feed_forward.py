"""Draws feed_forward.png of docs/controllers.md: a platform and a soft arm led with and without feed-forward.

    python docs/pictures/feed_forward.py [FOLDER]

The laws are those of platform_controller and soft_arm_controller, at 100 states per second; what differs is
their parameter feed_forward.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import flexdyn_ros
from flexdyn_ros.control import FEED_FORWARD, FeedForward, TipPath, actuator_motion
from flexdyn_ros.simulation import figure_style

#: between states [s], bandwidth of the feedback [rad/s]
PERIOD, BANDWIDTH = 0.01, 10.0
NAMES = ("full", "static", "none")
COLOURS = dict(zip(NAMES, ("C0", "C1", "C2"), strict=True))
DASH = dict(zip(NAMES, ("-", "--", "-."), strict=True))
WORDS = {"full": "inverse dynamics", "static": "weight and springs", "none": "feedback alone"}


def blend(s: float) -> tuple[float, float, float]:
    """Quintic from 0 to 1, at rest at both ends, with its first two derivatives."""
    s = min(max(s, 0.0), 1.0)
    return (
        s**3 * (10.0 - 15.0 * s + 6.0 * s * s),
        s * s * (30.0 - 60.0 * s + 30.0 * s * s),
        s * (60.0 - 180.0 * s + 120.0 * s * s),
    )


def run(robot: Any, reference: Callable[..., Any], how: str, q0: np.ndarray, seconds: float) -> Any:
    """The robot under the law as a controller node computes it."""
    law = FeedForward(robot, reference, BANDWIDTH, feed_forward=how, lead=0.5 * PERIOD)
    due, held = [0.0], [np.zeros(robot.nu)]

    def control(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        if t >= due[0] - 1e-9:
            due[0] += PERIOD
            held[0] = law(t, *actuator_motion(robot, q, v))
        return held[0]

    rest = np.zeros(robot.nv)
    return flexdyn_ros.simulate(robot, seconds, q0=q0, v0=rest, dt=1e-3, control=control)


def platform() -> tuple[np.ndarray, dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Times [s]; heights above home [mm] and errors of the position [mm] by feed-forward."""
    robot = flexdyn_ros.load("stewart_electric")
    home = robot.neutral()

    def reference(t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        # up in 0.5 s, held, and down again
        up, down = blend(t / 0.5), blend((t - 0.8) / 0.5)
        height, speed, acceleration = 0.1 * (np.array(up) - np.array(down)) / (1.0, 0.5, 0.25)
        axis = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
        return robot.integrate(home, height * axis, 1.0), speed * axis, acceleration * axis

    heights, errors, times = {}, {}, np.zeros(0)
    for how in FEED_FORWARD:
        found = run(robot, reference, how, home, 1.6)
        times = found.t
        wanted = np.stack([reference(float(t))[0] for t in times])
        heights["reference"] = 1e3 * (wanted[:, 2] - home[2])
        heights[how] = 1e3 * (found.q[:, 2] - home[2])
        errors[how] = 1e3 * np.linalg.norm(found.q[:, :3] - wanted[:, :3], axis=1)
    return times, heights, errors


def soft_arm() -> tuple[np.ndarray, dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Times [s]; the tip's way along x [mm] and errors of its position [mm] by feed-forward."""
    robot = flexdyn_ros.load("soft_arm_3")
    tip, bent = "section_3/tip", np.full(9, 0.012) + np.tile([0.0, 0.002, 0.004], 3)
    start, rest = robot.frames(bent, tip)[:3, 3], np.zeros(9)
    way = np.array([0.15, 0.05, -0.42]) - start

    def position(t: float) -> np.ndarray:
        return start + way * (blend(t / 0.6)[0] - blend((t - 0.9) / 0.6)[0])

    path = TipPath(robot, np.array([0.0, 0.6, 0.9, 1.5]), position, bent, rest)
    along, errors, times = {}, {}, np.zeros(0)
    for how in FEED_FORWARD:
        found = run(robot, path, how, bent, 1.9)
        times = found.t
        wanted = np.stack([position(float(t)) for t in times])
        reached = robot.frames(found.q, tip)[:, :3, 3]
        along["reference"] = 1e3 * (wanted[:, 0] - start[0])
        along[how] = 1e3 * (reached[:, 0] - start[0])
        errors[how] = 1e3 * np.linalg.norm(reached - wanted, axis=1)
    return times, along, errors


def main(folder: Path) -> None:
    """Draw, and print the largest errors."""
    plt.style.use(figure_style())
    figure, axes = plt.subplots(2, 2, figsize=(9.0, 5.6), sharex="col")
    for column, (title, what, measure) in enumerate(
        (
            ("Platform, 100 mm up and down", "height above home [mm]", platform),
            ("Soft arm of three sections, tip there and back", "tip displacement along x [mm]", soft_arm),
        )
    ):
        times, motions, errors = measure()
        above, below = axes[:, column]
        above.set_title(title)
        for how in ("none", "static", "full"):
            above.plot(times, motions[how], color=COLOURS[how], ls=DASH[how], label=WORDS[how])
            below.semilogy(times, np.maximum(errors[how], 1e-4), color=COLOURS[how], ls=DASH[how])
            print(f"{title}: {how:7} largest error {errors[how].max():.3g} mm")
        above.plot(times, motions["reference"], color="0.4", lw=1.0, ls=":", label="reference")
        above.set_ylabel(what)
        below.set_ylabel("position error [mm]")
        below.set_xlabel("time [s]")
        below.set_ylim(1e-3, 1e3)
    axes[0, 0].legend(loc="lower left")
    figure.savefig(folder / "feed_forward.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
