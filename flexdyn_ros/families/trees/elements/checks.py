"""What `check` says of elements."""

from __future__ import annotations

import numpy as np

from flexdyn_ros.description.elements.lines import WORLD
from flexdyn_ros.robot.stations import section_of
from flexdyn_ros.robot.verbs import Robot


def notes_of_elements(robot: Robot) -> tuple[str, ...]:
    """A note for each element, where all coordinates are zero; of cylinders, how far the rod is out."""
    q, still = robot.neutral(), np.zeros(robot.nv)
    found, notes = robot.element_forces(q, still), []
    for element, value, force in zip(robot.elements, found.coordinate, found.force, strict=True):
        unit = element.kind.unit
        what = f"{element.name}: {'length' if unit == 'm' else 'angle'} {value:.4g} {unit} at zero"
        if element.kind.driven:
            record = element.record
            out = value - record.minimum_length
            what += f", the rod is {out:.4g} of {record.stroke:.4g} m out"
        elif force:
            what += f", {'pulls' if force < 0.0 else 'pushes'} with {abs(force):.4g} "
            what += "N" if unit == "m" else "N m"
        notes.append(what)
    return tuple(notes)


def held_by_springs(robot: Robot) -> tuple[str, ...]:
    """Coordinates of joints and base on the tree path between the ends of an element with a stiffness."""
    parents = {joint.child: joint.parent for joint in robot.description.joints}

    def carriers(frame: str) -> set[str]:
        link = None if frame == WORLD else section_of(frame)[0] or frame
        found = set()
        while link is not None:
            found.add(link)
            link = parents.get(link)
        return found

    held: set[str] = set()
    for element in robot.elements:
        if any(p.name.endswith("/stiffness") and p.value > 0.0 for p in element.parameters):
            held |= carriers(element.record.base) ^ carriers(element.record.end)
    return tuple(c.name for c in robot.coordinates if c.kind in ("joint", "base") and c.body in held)
