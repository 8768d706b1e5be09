"""The picture of an FMU: the robot at its start, joint by joint."""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO

import numpy as np

from flexdyn_ros.robot.verbs import Robot

#: directions of sight: right and up in the picture, world axes
_RIGHT, _UP = np.array([-0.5, 0.866, 0.0]), np.array([-0.433, -0.25, 0.866])


def icon_of(robot: Robot, q: np.ndarray) -> bytes | None:
    """A PNG of 256 x 256 points; None without matplotlib (extra [view])."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        return None
    places = dict(zip(robot.frame_names, robot.frames(q, robot.frame_names)[:, :3, 3], strict=True))
    figure = Figure(figsize=(2.56, 2.56), dpi=100)
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0.06, 0.06, 0.88, 0.88))
    for parent, child in _bars(robot):
        if parent in places and child in places:
            ends = np.array([places[parent], places[child]])
            axes.plot(ends @ _RIGHT, ends @ _UP, color="#1f4e79", linewidth=5.0, solid_capstyle="round")
    points = np.array(list(places.values()))
    axes.plot(points @ _RIGHT, points @ _UP, "o", color="#e08214", markersize=6.0)
    axes.set_aspect("equal", "datalim")
    axes.margins(0.1)
    axes.set_axis_off()
    stream = BytesIO()
    figure.savefig(stream, format="png", metadata={"Software": "flexdyn_ros"})
    return stream.getvalue()


def _bars(robot: Robot) -> Iterator[tuple[str, str]]:
    """Frames between which the picture has a bar."""
    description = robot.description
    for joint in description.joints:
        yield joint.parent, joint.child
        yield f"{joint.parent}/tip", joint.child
        yield joint.child, f"{joint.child}/tip"
    if description.platform is not None:
        for name in robot.frame_names:
            leg, _, part = name.rpartition("_")
            if part == "rod":
                yield f"{leg}_cylinder", name
                yield name, robot.frame_names[1]
