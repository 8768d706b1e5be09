"""A controller of a robot as a functional mock-up unit of its own."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from flexdyn_ros.control.feedback import asked_acceleration, pulling_effort
from flexdyn_ros.errors import StateError, UnknownNameError, UnsupportedError
from flexdyn_ros.export.c_code.dialects import Scalars
from flexdyn_ros.export.c_code.program import IS_FINITE, definition, signature
from flexdyn_ros.export.c_code.text import c_comment, text_of
from flexdyn_ros.export.files import c_name
from flexdyn_ros.export.fmi.archive import Calls, Unit, chosen_platforms, header_text
from flexdyn_ros.export.fmi.description import CO_SIMULATION, Variable, structured
from flexdyn_ros.export.tracing.equations import Equations, Function, function_of
from flexdyn_ros.numerics.tracing.graph import Graph
from flexdyn_ros.numerics.tracing.interpreting import Memory
from flexdyn_ros.robot.analysis.sampled_feedback import gains
from flexdyn_ros.robot.coordinates import units_of
from flexdyn_ros.robot.verbs import Robot

#: the two gains of each law, and their units by that of efforts (None: the same for all)
_GAINS: dict[str, tuple[tuple[str, str | None], tuple[str, str | None]]] = {
    "computed_torque": (("frequency", "rad/s"), ("damping_ratio", "")),
    "pd": (("stiffness", None), ("damping", None)),
}
_SIGNALS = {
    "q": ("position", "position of {}"),
    "v": ("velocity", "velocity of {}"),
    "target": ("target", "wanted position of {}"),
    "target_rate": ("target_rate", "wanted velocity of {}"),
    "target_acceleration": ("target_acceleration", "wanted acceleration of {}"),
}


class _Law(NamedTuple):
    """A law of control with its gains (2, n)."""

    name: str
    gains: np.ndarray


def controller_fmu(
    robot: Robot,
    path: str | os.PathLike[str],
    law: str = "computed_torque",
    fmi: str = "3.0",
    *,
    frequency: object = None,
    damping_ratio: object = 1.0,
    stiffness: object = None,
    damping: object = None,
    target: object = None,
    period: float = 1e-3,
    platforms: Sequence[str] | str = ("host",),
) -> Path:
    """Write a controller of a robot as an FMU for co-simulation, to be connected with the robot's own.

    Inputs are measured positions `q.NAME` and velocities `v.NAME`, as the robot's FMU puts them out, and what
    they shall be: `target.NAME`, `target_rate.NAME`, `target_acceleration.NAME`. Outputs are the efforts by
    the names of the robot's inputs. They follow the inputs at once; whoever runs the co-simulation samples
    them. Gains are parameters, `frequency.NAME` and so on. The robot is the controller's model and may be
    another than the one that is driven: without its flexibility, say.

    Parameters
    ----------
    robot : Robot
        One whose coordinates all have an actuator; or by computed_torque a closed mechanism whose actuators
        are joints, no more than its motions. Its inputs are those of all joints, passive ones only measured.
    path : path of the file
    law : {"computed_torque", "pd"}
        `flexdyn_ros.control.computed_torque`, or `flexdyn_ros.control.pd` with gravity compensation.
    fmi : {"3.0", "2.0"}
    frequency, damping_ratio : (nv,) arrays or one number for all
        w [rad/s] and zeta [-] of computed_torque.
    stiffness, damping : (nv,) arrays or one number for all
        P [N m/rad, N/m] and D [N m s/rad, N s/m] of pd.
    target : (nq,) array, optional
        Start value of the target; default: neutral.
    period : float
        Step that is proposed to whoever runs the co-simulation [s].
    platforms : one or several of {"host", "win64"}

    Returns
    -------
    Path

    Raises
    ------
    UnknownNameError, UnsupportedError, DimensionError, StateError
        If a name is unknown, a coordinate has no actuator, or gains are missing or of the wrong length.
    ExportError
        If there are no platforms, there is no compiler, it fails, or the file cannot be written.
    """
    platforms = chosen_platforms(fmi, platforms)
    UnknownNameError.check("law", law, tuple(_GAINS))
    _check_actuators(robot, law)
    if not (np.isfinite(period) and period > 0.0):
        raise StateError(f"period is {period}, expected a positive number of seconds")
    values = {
        "frequency": frequency, "damping_ratio": damping_ratio, "stiffness": stiffness, "damping": damping,
    }  # fmt: skip
    chosen = _Law(law, np.array([_gain(robot, law, name, values[name]) for name, _ in _GAINS[law]]))
    start = gains(robot, robot.neutral() if target is None else target, "target")
    function, name = _traced(robot, chosen), c_name(f"{robot.name}_controller")
    variables = _variables(robot, chosen, start)
    texts, work = _source(robot, function, name, chosen)
    sizes = {"NQ": 0, "NV": 0, "EFFORTS": 0, "FREE": 0, "WORK": max(work, 1)}
    calls = Calls("0", "0", f"{name}_{law}(u, p, y, work)")
    tables = [
        "static const int driven[] = {0};",
        "static const int q_of_v[] = {0};",
        "static const struct { int quaternion, twist; } free_bodies[] = {{0, 0}};",
    ]
    title = f"{robot.name}_controller"

    def header(token: str) -> str:
        return header_text(title, name, variables, sizes, period, token, calls, tables)

    unit = Unit(title, name, fmi, (CO_SIMULATION,), variables, period, texts, header)
    return unit.write(Path(path), platforms, _groups(robot))


def _check_actuators(robot: Robot, law: str) -> None:
    closed = robot.functions.is_constrained
    if closed and (law != "computed_torque" or not 0 < len(robot.actuators) <= robot.mobility):
        robot.functions.refuse("an FMU of pd, or of more actuators than motions,")
    free = [c.name for c in robot.coordinates if not (c.actuated or closed)]
    if free or robot.nq != robot.nv or not robot.motion or not robot.motion.drives_coordinates:
        without = f"{free[0]!r} has" if free else "coordinates have"
        raise UnsupportedError(
            f"robot {robot.name!r} cannot be controlled so: {without} "
            "no actuator; expected one for every coordinate, as those of a model without flexibility"
        )


def _gain(robot: Robot, law: str, name: str, value: object) -> np.ndarray:
    if value is None:
        raise StateError(f"{name} of the law {law} is not given, expected a number or ({robot.nv},) numbers")
    return gains(robot, value, name)


def _traced(robot: Robot, law: _Law) -> Function:
    """The law as a function of its inputs u, one after the other, and its gains p."""
    equations, graph, memory, n = Equations(robot), Graph(), Memory(), robot.nv
    u, p = graph.inputs("u", len(_SIGNALS) * n), graph.inputs("p", 2 * n, constant=True)
    q, v, q_d, v_d, a_d = u.reshape(len(_SIGNALS), n)
    closed = robot.functions.is_constrained
    with memory.in_use():
        if law.name == "computed_torque":
            a = asked_acceleration(p[:n], p[n:], q_d - q, v_d - v, a_d)
            tau = (equations.leading_efforts if closed else equations.efforts)(memory, q, v, a)
        else:
            still = memory.room(np.zeros(n))
            tau = pulling_effort(p[:n], p[n:], q_d - q, v_d - v) + equations.efforts(
                memory, q_d, still, still
            )
    driven = [robot.effort_names.index(name) for name in robot.actuators]
    return function_of(law.name, graph, (("u", u.size), ("p", p.size)), {"tau": tau[driven]})


def _variables(robot: Robot, law: _Law, target: np.ndarray) -> list[Variable]:
    """All variables: time, inputs, gains, efforts."""
    of_q, of_v, of_tau = units_of(robot)
    units = [of_q, of_v, of_q, of_v, [f"{unit}2" for unit in of_v]]
    found = [Variable("time", "time", "s", "time")]
    for (signal, (_, meaning)), unit in zip(_SIGNALS.items(), units, strict=True):
        start = {"target": target, "q": robot.neutral()}.get(signal, np.zeros(robot.nv))
        found += [
            Variable(structured(signal, name), "u", unit[i], meaning.format(name), float(start[i]))
            for i, name in enumerate(robot.v_names)
        ]
    for (gain, unit_of_gain), row in zip(_GAINS[law.name], law.gains, strict=True):
        found += [
            Variable(structured(gain, name), "p", unit_of_gain or "", f"{gain} of {name}", float(x))
            for name, x in zip(robot.v_names, row, strict=True)
        ]
    return found + [
        Variable(structured(name), "y", unit, f"effort of {name}")
        for name, unit in zip(robot.effort_names, of_tau, strict=True)
        if name in robot.actuators
    ]


def _groups(robot: Robot) -> dict[str, dict[str, str]]:
    """Terminals like those of the robot's FMU: their members may be connected by name."""
    return {
        structured(name): ({"effort": structured(name)} if name in robot.actuators else {})
        | {member: structured(signal, name) for signal, (member, _) in _SIGNALS.items()}
        for name in robot.effort_names
    }


def _source(robot: Robot, function: Function, name: str, law: _Law) -> tuple[dict[str, str], int]:
    """C files by their names, and the numbers of work memory."""
    text = text_of(function, name, Scalars("double"))
    declared = signature(function, name, "double")
    values = ", ".join(repr(x) for x in law.gains.ravel().tolist())
    title = f"/* controller of {c_comment(robot.name)}: generated by flexdyn_ros. SI units. */"
    guard = f"{name.upper()}_H"
    header = f"{title}\n#ifndef {guard}\n#define {guard}\n\n{declared};\n\n#endif\n"
    source = "\n".join(
        [
            f'{title}\n#include "{name}.h"\n\n#include <math.h>\n#include <stddef.h>\n',
            f"static const double {name}_p_default[] = {{{values}}};\n",
            IS_FINITE.format(name=name, scalar="double"),
            *text.pieces,
            definition(function, text, name, "double"),
        ]
    )
    return {f"{name}.h": header, f"{name}.c": source}, text.work
