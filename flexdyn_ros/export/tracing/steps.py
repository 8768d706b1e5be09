"""The fixed step of `simulate` as a graph, around its forward dynamics as a function of its own."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from flexdyn_ros.errors import FlexdynWarning, UnknownNameError, UnsupportedError
from flexdyn_ros.export.tracing.equations import Equations, Function, accelerations, function_of
from flexdyn_ros.export.tracing.hydraulics import Oil
from flexdyn_ros.export.tracing.loops import Loops
from flexdyn_ros.numerics.stepping import memory as at
from flexdyn_ros.numerics.stepping import table
from flexdyn_ros.numerics.stepping.fixed import find_step
from flexdyn_ros.numerics.tracing.graph import Graph, Number, objects
from flexdyn_ros.numerics.tracing.interpreting import Memory
from flexdyn_ros.simulation.steps.stepper import METHODS, Stepper
from flexdyn_ros.simulation.steps.workspace import Workspace

EXPORTED_METHODS = ("auto", "semi_implicit_euler", "rk4", "rosenbrock")
#: the step at which "auto" chooses between explicit and implicit [s]
NOMINAL_STEP = 1e-3


def step_functions(
    equations: Equations, method: str = "auto", dt: float = NOMINAL_STEP
) -> tuple[str, tuple[Function, ...]]:
    """The method, and functions of which the last is the step: inputs q, v, tau, dt, outputs q1 and v1.

    Limits of efforts and positions do nothing, as in `simulate` by default. Energies are not accounted for.
    Cylinders of platforms are left out, with a FlexdynWarning: efforts are the forces of the legs.

    Raises
    ------
    UnknownNameError, UnsupportedError
    """
    UnknownNameError.check("method of an exported step", method, EXPORTED_METHODS)
    robot = equations.robot
    drive = robot.description.drive
    if drive is not None and drive.type == "profile":
        raise UnsupportedError(
            f"the step of robot {robot.name!r} cannot be exported: its drive follows a profile over time, "
            'and steps know no time; expected <drive type="speed"> or none'
        )
    if equations.motion.lag is not None:
        raise UnsupportedError(
            f"the step of robot {robot.name!r} cannot be exported: its pressures lag behind their commands, "
            "and the step has no place for their state; expected <pressure> without time_constant"
        )
    if equations.motion.actuators is not None:
        warnings.warn(
            f"the step of robot {robot.name!r} has the forces of its legs as inputs: "
            "its cylinders are not part of it; expected hydraulic_step for them",
            FlexdynWarning,
            stacklevel=4,
        )
    chosen = Stepper(robot, dt, method=method).method
    step = _Step(equations, chosen)
    try:
        return chosen, (*step.inner.values(), step.function)
    except UnsupportedError as error:
        raise UnsupportedError(f"the step of robot {robot.name!r} cannot be exported: {error}") from error


def hydraulic_step_functions(
    equations: Equations, method: str = "auto", dt: float = NOMINAL_STEP
) -> tuple[Function, ...]:
    """Functions of which the last is the staggered step of a platform with its cylinders: inputs q, v, oil,
    valves (openings, clamped to -1..1), dt, outputs q1, v1, oil1.

    Raises
    ------
    UnknownNameError, UnsupportedError, StateError
    """
    UnknownNameError.check("method of a step with cylinders", method, ("auto", "staggered"))
    oil = equations.oil
    step = _Step(equations, Stepper(equations.robot, dt, method="staggered").method, oil)
    return (*step.loops.rounds, *step.inner.values(), step.function)


class _Step:
    """Interprets a step, and notes the functions that it calls in `inner`."""

    def __init__(self, equations: Equations, method: str, oil: Oil | None = None) -> None:
        self._equations, self._motion = equations, equations.motion
        self._robot = robot = equations.robot
        self.inner: dict[str, Function] = {}
        self._graph = graph = Graph()
        self.loops = graph.loops = Loops(graph)
        self._memory = memory = Memory()
        workspace = Workspace(robot, self._motion, saturate=False, stops=False)
        workspace.header[at.S_METHOD] = METHODS[method]
        inputs = {"q": graph.inputs("q", robot.nq), "v": graph.inputs("v", robot.nv)}
        command = "tau" if oil is None else "valves"
        if oil is not None:
            inputs["oil"] = graph.inputs("oil", len(oil.names))
            block = memory.floats(int(workspace.header[at.S_ACTUATOR]), workspace.actuators.size)
            oil.fill(block, inputs["oil"])
        inputs[command] = graph.inputs(command, robot.nu)
        (h,) = graph.inputs("dt", 1, constant=True)
        p = equations.parameters.put(graph, memory)
        fields = self._fields(workspace)
        fields["q"][:], fields["v"][:] = inputs["q"], inputs["v"]
        fields["tau"][:] = inputs[command]
        self._replace_functions()
        with memory.in_use():
            find_step(workspace.address, 0.0, h)
        sizes = tuple((name, array.size) for name, array in inputs.items())
        outputs = {"q1": fields["q1"], "v1": fields["v1"]}
        if oil is not None:
            outputs["oil1"] = oil.taken(block)
        name = "step" if oil is None else "hydraulic_step"
        self.function = function_of(name, graph, (*sizes, ("dt", 1), *p), outputs)

    def _fields(self, workspace: Workspace) -> dict[str, np.ndarray]:
        """The step's memory by names, as arrays of objects."""
        sizes = at.step_sizes(self._robot.nq, self._robot.nv, self._robot.nu)
        block = self._memory.floats(int(workspace.header[at.S_FLOATS]), sum(sizes.values()))
        ends = np.cumsum(list(sizes.values()))
        return {name: block[end - n : end] for (name, n), end in zip(sizes.items(), ends, strict=True)}

    def _replace_functions(self) -> None:
        """Let the dynamics be calls, and leave energies out."""
        ours = {
            table.ACCELERATE: self._accelerate,
            table.LOSSES: lambda *_: 0.0,
            table.SUPPLY: lambda *_: 0.0,
            table.ENERGIES: lambda *_: 0,
        }
        for place, function in self._motion.functions.items():
            if place in ours:
                self._memory.functions[function.address] = ours[place]

    def _accelerate(
        self, robot: int, work: int, t: float, q: int, v: int, force: int, extra: int, h: object, a: int
    ) -> int:
        seen, nv = self._memory.floats, self._robot.nv
        found = seen(a, nv)
        name = "accelerate_implicitly" if isinstance(h, Number) else "accelerate"
        given = {
            "q": seen(q, self._robot.nq), "v": seen(v, nv), "force": seen(force, nv),
            "extra": seen(extra, self._robot.nu), "h": objects([h]), "given": found,
        }  # fmt: skip
        if name not in self.inner:
            self.inner[name] = self._dynamics(name, {key: array.size for key, array in given.items()})
        found[:] = self._graph.call(name, [x for array in given.values() for x in array], nv)
        return 0

    def _dynamics(self, name: str, sizes: dict[str, int]) -> Function:
        """The function ACCELERATE over one array x of all its arguments."""
        graph, memory = Graph(), Memory()
        p = self._equations.parameters.put(graph, memory)
        x = graph.inputs("x", sum(sizes.values()))
        ends = np.cumsum(list(sizes.values()))
        given = {key: x[end - n : end] for (key, n), end in zip(sizes.items(), ends, strict=True)}
        h: Any = 0.0
        if name != "accelerate":
            h = given["h"][0]
            graph.mark_constant(h)
        with memory.in_use():
            a = accelerations(
                self._motion,
                memory,
                given["q"],
                given["v"],
                given["force"],
                given["extra"],
                h,
                given["given"],
            )
        return function_of(name, graph, (("x", x.size), *p), {"a": a})
