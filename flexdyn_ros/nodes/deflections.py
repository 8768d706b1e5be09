"""How links bend, in messages: the answer of a service and the topic of the simulator."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from flexdyn_interfaces.msg import LinkDeflection, LinkDeflections
from flexdyn_ros.nodes.conversions import doubles, vector_message

__all__ = ["deflection_message"]


def deflection_message(robot: Any, bent: dict[str, Any], row: tuple[int, ...] = ()) -> LinkDeflections:
    """LinkDeflections of one sample, the one at `row` of what `robot.deflections` answered; frames
    LINK/beam, SECTION/base of soft sections."""
    said = robot.description
    frames = {name: (f"{name}/beam", _length(robot, name)) for name in said.flexible_links}
    frames |= {section.joint: (f"{section.joint}/base", section.length) for section in said.sections}
    return LinkDeflections(
        robot=robot.name,
        links=[_link(name, *frames[name], d, row) for name, d in bent.items()],
    )


@lru_cache(maxsize=64)
def _length(robot: Any, link: str) -> float:
    """From root to tip, undeformed [m]; a description need not say it."""
    root, tip = robot.frames(robot.neutral(), [f"{link}@0", f"{link}@1"])[:, :3, 3]
    return round(float(np.linalg.norm(tip - root)), 12)


def _link(name: str, frame: str, length: float, d: Any, row: tuple[int, ...]) -> LinkDeflection:
    return LinkDeflection(
        link=name,
        frame_id=frame,
        length=length,
        stations=doubles(d.station),
        displacements=_vectors(d.displacement[row]),
        rotations=_vectors(d.rotation[row]),
        curvatures=_vectors(d.curvature[row]),
        strains=doubles(d.strain[row]),
        moments=_vectors(d.moment[row]),
        axial_forces=doubles(d.axial_force[row]),
    )


def _vectors(rows: np.ndarray) -> list[Any]:
    return [vector_message(x) for x in rows.tolist()]
