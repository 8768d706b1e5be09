"""A robot's equations as C99 files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from flexdyn_ros.export.c_code.example import example, readme
from flexdyn_ros.export.c_code.program import DEFAULT_VERBS, program
from flexdyn_ros.export.files import write_all
from flexdyn_ros.export.tracing.steps import NOMINAL_STEP
from flexdyn_ros.robot.verbs import Robot


def c(
    robot: Robot,
    folder: str | os.PathLike[str],
    verbs: Sequence[str] | str = DEFAULT_VERBS,
    parameters: Sequence[str] = (),
    scalar: str = "double",
    *,
    frames: Sequence[str] | None = None,
    method: str = "auto",
    dt: float = NOMINAL_STEP,
) -> list[Path]:
    """Write a robot's equations as C99: NAME.h, NAME.c, README.md and an example main.c.

    NAME is the robot's, with another character for each that C does not take. One that C or another file has
    already, such as "main", "double" or "math", gets a prefix: "robot_main".

    Parameters
    ----------
    robot : Robot
    folder : path
        Made if it is not there; files of the same names are replaced, all or none.
    verbs : one or several of {"inverse_dynamics", "forward_dynamics", "mass_matrix", "bias_forces", "energy",
            "frames", "deflections", "step"}; of a platform with cylinders also {"hydraulic_step",
            "cylinder_forces", "oil_rates"}
    parameters : sequence of str
        Names of `robot.parameters`, wildcards allowed, that become the argument p.
    scalar : {"double", "float"}
    frames : sequence of str, optional
        Whose positions and rotations `frames` answers; all by default.
    method : {"auto", "semi_implicit_euler", "rk4", "rosenbrock"}
        Of the fixed step; "auto" is what `simulate` takes for steps of dt [s]. hydraulic_step is "staggered".

    Returns
    -------
    list of Path
        The files.

    Raises
    ------
    UnknownNameError, UnsupportedError
        If a name is unknown, or the equations of this robot cannot be written down.
    ExportError
        If there are no verbs, or the folder cannot be written to.
    """
    made = program(robot, verbs, parameters, scalar, frames=frames, method=method, dt=dt)
    files = {
        f"{made.name}.h": made.header,
        f"{made.name}.c": made.source,
        "README.md": readme(robot, made, scalar, parameters),
        "main.c": example(robot, made, scalar),
    }
    return write_all(Path(folder), files)
