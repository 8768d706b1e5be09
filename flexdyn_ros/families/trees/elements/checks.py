"""What `check` says of elements."""

from __future__ import annotations

import numpy as np

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
    idle = [c.name for c in robot.coordinates if c.kind == "joint" and c.name not in robot.actuators]
    driven = [name for name in robot.actuators if name not in robot.v_names]
    if driven:
        moved = ", ".join(idle) or "none"
        notes.append(f"joints without an actuator of their own: {moved}; cylinders: {', '.join(driven)}")
    return tuple(notes)
