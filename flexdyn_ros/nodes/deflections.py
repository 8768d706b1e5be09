"""How links bend, in messages: the answer of a service and the topic of the simulator."""

from __future__ import annotations

from typing import Any

import numpy as np

from flexdyn_interfaces.msg import LinkDeflection, LinkDeflections
from flexdyn_ros.nodes.conversions import doubles, vector_message

__all__ = ["deflection_message"]


def deflection_message(robot: Any, bent: dict[str, Any], row: tuple[int, ...] = ()) -> LinkDeflections:
    """LinkDeflections of one sample, the one at `row` of what `robot.deflections` answered; frames
    LINK/beam, SECTION/base of soft sections."""
    said = robot.description
    frames = {name: (f"{name}/beam", link.beam.length) for name, link in said.flexible_links.items()}
    frames |= {section.joint: (f"{section.joint}/base", section.length) for section in said.sections}
    return LinkDeflections(
        robot=robot.name,
        links=[_link(name, *frames[name], d, row) for name, d in bent.items()],
    )


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
