"""Wheels in an expanded description: each hangs on a prismatic joint along its suspension."""

from __future__ import annotations

import numpy as np
from lxml import etree

from flexdyn_ros.expanded.frames import in_grey
from flexdyn_ros.robot.verbs import Robot

#: radius of a wheel that has no tyre, in pictures [m]; and the width of all
SHOWN_RADIUS, SHOWN_WIDTH = 0.05, 0.04
#: step of the difference that gives the rate of travel [s]
STEP = 1e-6


class Suspensions:
    """Joints WHEEL/suspension: position = how far the spring is shorter than free [m]."""

    def __init__(self, robot: Robot) -> None:
        self._robot = robot
        self.names = tuple(f"{name}/suspension" for name in robot.wheel_names)

    def state(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Travel (..., wheels) of q (..., nq), and its rate by a central difference along the motion."""
        moves = np.array([[0.0], [1.0], [-1.0]]) * v[..., None, :]
        moved = self._robot.integrate(q[..., None, :], moves, STEP)
        travel = self._robot.wheel_forces(moved, np.zeros(self._robot.nv)).travel
        return travel[..., 0, :], (travel[..., 1, :] - travel[..., 2, :]) / (2.0 * STEP)


def hang_wheels(root: etree._Element, robot: Robot) -> Suspensions:
    """Add a link WHEEL/wheel on a joint WHEEL/suspension for every wheel; the map of their positions."""
    for wheel in robot.description.wheels:
        radius = wheel.tyre.radius if wheel.tyre is not None else SHOWN_RADIUS
        name = f"{wheel.name}/wheel"
        link = etree.SubElement(root, "link", name=name)
        visual = etree.SubElement(link, "visual")
        # without a tyre the lower end of the spring is on the ground, and the wheel above it
        lift = 0.0 if wheel.tyre is not None else radius
        etree.SubElement(visual, "origin", xyz=f"0 0 {lift:.9g}", rpy="1.5707963267948966 0 0")
        shape = etree.SubElement(etree.SubElement(visual, "geometry"), "cylinder")
        shape.set("radius", f"{radius:.9g}")
        shape.set("length", f"{SHOWN_WIDTH:.9g}")
        in_grey(visual)
        joint = etree.SubElement(root, "joint", name=f"{wheel.name}/suspension", type="prismatic")
        etree.SubElement(joint, "parent", link=wheel.link)
        etree.SubElement(joint, "child", link=name)
        x, y, z = wheel.xyz
        low = z - wheel.suspension.free_length
        etree.SubElement(joint, "origin", xyz=f"{x:.9g} {y:.9g} {low:.9g}", rpy="0 0 0")
        etree.SubElement(joint, "axis", xyz="0 0 1")
        reach = f"{wheel.suspension.free_length:.9g}"
        etree.SubElement(joint, "limit", lower=f"-{reach}", upper=reach, effort="0", velocity="100")
    return Suspensions(robot)
