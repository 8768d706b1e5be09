"""Arrows and numbers over a robot: what acts on it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from html import escape
from math import isnan
from typing import TYPE_CHECKING, Any

import numpy as np

from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.view.drawing.loads import (
    LOADS,
    Moment,
    Vectors,
    label_places,
    offered,
    pressures_of,
    pushes_of,
    rest_of,
    supplies_of,
)
from flexdyn_ros.wording import with_unit

if TYPE_CHECKING:
    from viser import SceneApi

#: colours of arrows
COLOURS = {
    "weight": (40, 40, 48), "contact": (0, 158, 115), "forces": (213, 94, 0), "moments": (123, 63, 158),
    "push": (200, 30, 60),
}  # fmt: skip
#: the longest arrow, the radius of its shaft, and the ball at the centre of mass [sizes of the robot]
LONGEST, SHAFT, BALL = 0.2, 0.004, 0.012
#: head of an arrow: radius and length [radii of its shaft]
HEAD = (2.5, 8.0)
#: shorter arrows are left out [of the longest]
SHORTEST = 1e-3
#: signs in the legend of vectors with one head, and of moments, which have two
ONE_HEAD, TWO_HEADS = "&#10140;", "&#8608;"
BAR, LITRE_PER_MINUTE = 1e5, 1e-3 / 60.0
#: the overlay whose vectors are moments
MOMENTS = "moments"
#: all arrows; pushes of the visitor are shown whenever there are some
ARROWS = {**LOADS, "push": ("Push", "N", pushes_of)}


def names_of(robot: Robot) -> dict[str, str]:
    """Overlays that a robot has, and what they are called."""
    found = {name: LOADS[name][0] for name in offered(robot)}
    if pressures_of(robot, rest_of(robot)):
        found["pressures"] = "Pressures"
    return found


class Overlays:
    """All that may be laid over a robot of a size [m] in the scene of a server."""

    def __init__(self, scene: SceneApi, robot: Robot, size: float) -> None:
        self._robot, self._size = robot, size
        self._names = names_of(robot)
        nothing = np.zeros((1, 2, 3), dtype=np.float32)
        self._arrows = {
            name: scene.add_arrows(
                f"/overlay/{name}", nothing, COLOURS[name], shaft_radius=SHAFT * size,
                head_radius=HEAD[0] * SHAFT * size, head_length=HEAD[1] * SHAFT * size, visible=False,
            )
            for name in ARROWS if name in self._names or (name == "push" and robot.motion is not None)
        }  # fmt: skip
        self._ball = scene.add_icosphere(
            "/overlay/ball", radius=BALL * size, color=COLOURS["weight"], cast_shadow=False,
            receive_shadow=False, visible=False,
        )  # fmt: skip
        self._labels: dict[str, object] = {}
        if "pressures" in self._names:
            for frame in pressures_of(robot, rest_of(robot)):
                self._labels[frame] = scene.add_label(f"/overlay/{frame}", "", visible=False)
        self._top = dict.fromkeys(self._arrows, 0.0)

    @property
    def has_moments(self) -> bool:
        """Whether forces and moments in joints are known."""
        return MOMENTS in self._names

    def moved(self, chosen: set[str], now: Moment) -> list[Callable[[], None]]:
        """What to do to show those that are chosen."""
        changes: list[Callable[[], None]] = []
        for name, node in self._arrows.items():
            shown = bool(now.pushes) if name == "push" else name in chosen
            if shown:
                points = self._points(name, ARROWS[name][2](self._robot, now))
                changes.append(partial(setattr, node, "points", points))
            if shown != node.visible:
                changes.append(partial(setattr, node, "visible", shown))
        return [*changes, *self._ball_moved(chosen, now), *self._written(chosen, now)]

    def legend(self, chosen: set[str], now: Moment) -> str:
        """How long arrows are, one line for each kind; and beside pressures of cylinders those of the lines
        that feed them, with the flows of their pumps."""
        lines = []
        for name in self._arrows:
            if (name in chosen or name == "push") and self._top[name] > 0.0:
                r, g, b = COLOURS[name]
                label, unit, _ = ARROWS[name]
                sign = TWO_HEADS if name == MOMENTS else ONE_HEAD
                arrow = f'<span style="color:rgb({r},{g},{b})">{sign}</span>'
                lines.append(f"<div>{arrow} {label}: up to {with_unit(self._top[name], unit)}</div>")
        supplies = supplies_of(self._robot, now) if "pressures" in chosen else {}
        for name, (pressure, flow) in supplies.items():
            # rounding errors have no sign
            pump = "" if isnan(flow) else f", pump {round(flow / LITRE_PER_MINUTE, 1) + 0.0} l/min"
            lines.append(f"<div>Supply {escape(name)}: {pressure / BAR:.1f} bar{pump}</div>")
        return f'<div style="margin:0.3em 0.7em;font-size:0.8em">{"".join(lines)}</div>' if lines else ""

    def restart(self) -> None:
        """Let the lengths of arrows grow from nothing."""
        self._top = dict.fromkeys(self._arrows, 0.0)

    def _points(self, name: str, vectors: Vectors) -> np.ndarray:
        """Arrows (k, 2, 3); the largest value so far is the longest one. Moments get a second head behind the
        first, as in textbooks of mechanics."""
        sizes = np.linalg.norm(vectors.value, axis=1)
        top = self._top[name] = max(self._top[name], float(np.max(sizes, initial=0.0)))
        seen = sizes > SHORTEST * top
        if not seen.any():
            return np.zeros((1, 2, 3), dtype=np.float32)
        along = vectors.value[seen] * (LONGEST * self._size / top)
        arrows = np.stack((vectors.at[seen], vectors.at[seen] + along), axis=1)
        if name == MOMENTS:
            arrows = np.concatenate((arrows, shortened(arrows, HEAD[1] * SHAFT * self._size)))
        return arrows.astype(np.float32)

    def _ball_moved(self, chosen: set[str], now: Moment) -> list[Callable[[], None]]:
        shown = "weight" in chosen
        at = self._robot.center_of_mass(now.shown) if shown else np.zeros(3)

        def put() -> None:
            self._ball.position, self._ball.visible = at, shown

        return [put] if shown or self._ball.visible else []

    def _written(self, chosen: set[str], now: Moment) -> list[Callable[[], None]]:
        shown = "pressures" in chosen
        found = pressures_of(self._robot, now) if shown and self._labels else {}
        changes: list[Callable[[], None]] = []
        places = label_places(self._robot, now.shown, tuple(self._labels))
        for frame, label in self._labels.items():
            text = " ".join(f"{p / BAR:.2f}" for p in found[frame]) + " bar" if shown else ""
            changes.append(partial(_write, label, text, places[frame]))
        return changes


def shortened(arrows: np.ndarray, length: float) -> np.ndarray:
    """Arrows (k, 2, 3) that end so much [m] earlier, at most at half their length."""
    along = arrows[:, 1] - arrows[:, 0]
    size = np.linalg.norm(along, axis=1, keepdims=True)
    share = np.minimum(length / np.maximum(size, 1e-12), 0.5)
    return np.stack((arrows[:, 0], arrows[:, 1] - share * along), axis=1)


def _write(label: Any, text: str, at: np.ndarray) -> None:
    if label.text != text:
        label.text, label.visible = text, bool(text)
    label.position = at
