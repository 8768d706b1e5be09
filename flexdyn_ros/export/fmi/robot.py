"""A robot as a functional mock-up unit."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import partial
from io import BytesIO
from pathlib import Path

import numpy as np

from flexdyn_ros.expanding import appearance_of
from flexdyn_ros.export.c_code.program import program
from flexdyn_ros.export.files import chosen_names
from flexdyn_ros.export.fmi.archive import Unit, chosen_platforms, robot_header
from flexdyn_ros.export.fmi.description import CO_SIMULATION, MODEL_EXCHANGE, groups_of, variables_of
from flexdyn_ros.export.tracing.equations import Equations, event_indicators
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
    exchange stops of soft sections, wheels that lift and edges of valves are events, and steps after which
    loops are open ask for one, in which positions and velocities move onto the loops. Names are structured:
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
        Whether the oil of cylinders is part of it: inputs are then the openings `CYLINDER.valve`, the oil
        (`CYLINDER.pressure_bore` ...) are states, forces of the cylinders `CYLINDER.force` outputs; steps are
        "staggered" for platforms, "rosenbrock" for trees. At the start the oil holds the robot at rest,
        valves shut.

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
    names = robot.functions.end_frames if frames is None else tuple(dict.fromkeys(frames))
    q_start, v_start = initial_motion(robot, drive_of(robot, None), 0.0)
    q0 = q_start if q0 is None else finite_vector(q0, "q0", robot.nq)
    v0 = v_start if v0 is None else finite_vector(v0, "v0", robot.nv)
    robot.energy(q0, v0)  # refuses what is no state
    q0, v0 = robot.functions.project(q0, v0)
    equations = Equations(robot, parameters)
    verbs = ["forward_dynamics", "energy", *(["frames"] if names else [])]
    verbs += ["deflections"] if robot.tips else []
    verbs += ["cylinder_forces", "oil_rates", "hydraulic_step"] if cylinders else ["step"]
    if event_indicators(equations, with_oil=cylinders).results:
        verbs.append("oil_event_indicators" if cylinders else "event_indicators")
    if robot.functions.is_constrained:
        verbs.append("project")
    made = program(robot, verbs, parameters, frames=names, method=method, dt=step)
    variables = variables_of(equations, made, q0, v0)
    texts = {f"{made.name}.h": made.header, f"{made.name}.c": made.source}
    header = partial(robot_header, robot, made, variables, step)
    unit = Unit(robot.name, made.name, fmi, kinds, variables, step, texts, header)
    return unit.write(Path(path), platforms, groups_of(variables), icon_of(robot, q0))


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
    figure.set_layout_engine("none")
    canvas = FigureCanvasAgg(figure)
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
    # savefig would take its size from the style in use
    canvas.print_png(stream, metadata={"Software": "flexdyn_ros"})
    return stream.getvalue()


def _bars(robot: Robot) -> Iterator[tuple[str, str]]:
    """Frames between which the picture has a bar."""
    description = robot.description
    for joint in description.joints:
        yield joint.parent, joint.child
        yield f"{joint.parent}/tip", joint.child
        yield joint.child, f"{joint.child}/tip"
    for cylinder, rod in appearance_of(description).legs.values():
        yield cylinder, rod
        yield rod, robot.functions.end_frame
