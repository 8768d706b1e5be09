"""A robot as a functional mock-up unit."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np

from flexdyn_ros.export.c_code.program import program
from flexdyn_ros.export.fmi.archive import Unit, chosen_platforms
from flexdyn_ros.export.fmi.description import CO_SIMULATION, MODEL_EXCHANGE
from flexdyn_ros.export.fmi.header import robot_header
from flexdyn_ros.export.fmi.icon import icon_of
from flexdyn_ros.export.fmi.terminals import groups_of
from flexdyn_ros.export.fmi.variables import tips_of, variables_of
from flexdyn_ros.export.names import chosen_names
from flexdyn_ros.export.tracing.equations import Equations
from flexdyn_ros.export.tracing.events import event_indicators
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.simulation.steps.drive import drive_of, initial_motion
from flexdyn_ros.simulation.steps.stepper import finite_vector

KINDS = (CO_SIMULATION, MODEL_EXCHANGE)


def fmu(
    robot: Robot,
    path: str | os.PathLike[str],
    fmi: str = "3.0",
    kind: Sequence[str] | str = KINDS,
    parameters: Sequence[str] = (),
    step: float = 1e-3,
    *,
    q0: np.ndarray | None = None,
    v0: np.ndarray | None = None,
    frames: Sequence[str] | None = None,
    method: str = "auto",
    platforms: Sequence[str] | str = ("host",),
    cylinders: bool = False,
) -> Path:
    """Write a robot as an FMU for Simulink, OpenModelica, AMESim and others.

    Inputs are the actuators by their names [N m, N], held over a communication step; outputs are positions
    `q.NAME`, velocities `v.NAME`, poses of frames (`FRAME.x`, `FRAME.R[1,1]` ...), deflections of flexible
    links (`LINK.deflection.y`) and energies. Positions and velocities can be set before the start. In model
    exchange stops of soft sections, wheels that lift and edges of valves are events. Names are structured:
    what is base/x in the library is base.x, other characters are within quotes.

    Parameters
    ----------
    robot : Robot
    path : path of the file
    fmi : {"3.0", "2.0"}
    kind : one or several of "co-simulation", "model-exchange"
    parameters : sequence of str
        Names of `robot.parameters`, wildcards allowed, that become parameters of the FMU.
    step : float
        Longest step of co-simulation [s]: a communication step is cut into equal ones.
    q0, v0 : (nq,), (nv,) arrays, optional
        Start values; default: neutral, at rest, or as the description drives it.
    frames : sequence of str, optional
        Default: the ends of the robot.
    method : {"auto", "semi_implicit_euler", "rk4", "rosenbrock"}
        Of the steps; "auto" is what `simulate` takes.
    platforms : one or several of {"host", "win64"}
        What it runs on; "win64" needs the extra [cross].
    cylinders : bool
        Whether the cylinders of a platform are part of it: inputs are then the openings `LEG.valve`, the oil
        (`LEG.pressure_bore` ...) are states, forces of the cylinders `LEG.force` outputs; steps are
        "staggered". At the start the oil holds the platform at rest, valves shut.

    Returns
    -------
    Path

    Raises
    ------
    UnknownNameError, UnsupportedError, DimensionError, StateError
        If a name is unknown, the equations of this robot cannot be written down, or the start is not one.
    ExportError
        If kind or platforms are empty, there is no compiler, it fails, or the file cannot be written.
    """
    platforms, kinds = chosen_platforms(fmi, platforms), chosen_names("kind", kind, KINDS)
    names = tips_of(robot) if frames is None else tuple(dict.fromkeys(frames))
    q_start, v_start = initial_motion(robot, drive_of(robot, None), 0.0)
    q0 = q_start if q0 is None else finite_vector(q0, "q0", robot.nq)
    v0 = v_start if v0 is None else finite_vector(v0, "v0", robot.nv)
    robot.energy(q0, v0)  # refuses what is no state
    equations = Equations(robot, parameters)
    verbs = ["forward_dynamics", "energy", *(["frames"] if names else [])]
    verbs += ["deflections"] if getattr(robot, "tips", ()) else []
    verbs += ["cylinder_forces", "oil_rates", "hydraulic_step"] if cylinders else ["step"]
    if event_indicators(equations, with_oil=cylinders).results:
        verbs.append("oil_event_indicators" if cylinders else "event_indicators")
    made = program(robot, verbs, parameters, frames=names, method=method, dt=step)
    variables = variables_of(equations, made, q0, v0)
    texts = {f"{made.name}.h": made.header, f"{made.name}.c": made.source}
    header = partial(robot_header, robot, made, variables, step)
    unit = Unit(robot.name, made.name, fmi, kinds, variables, step, texts, header)
    return unit.write(Path(path), platforms, groups_of(variables), icon_of(robot, q0))
