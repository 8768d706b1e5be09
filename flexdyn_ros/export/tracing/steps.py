"""The fixed step of `simulate` as a graph, around its forward dynamics as a function of its own."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np

from flexdyn_ros.errors import FlexdynWarning, UnknownNameError, UnsupportedError
from flexdyn_ros.export.tracing.calling import accelerations, onto_constraints
from flexdyn_ros.export.tracing.equations import Equations, Function, function_of
from flexdyn_ros.export.tracing.hydraulics import Oil
from flexdyn_ros.numerics.stepping import memory as at
from flexdyn_ros.numerics.stepping import methods
from flexdyn_ros.numerics.stepping.fixed import start_step
from flexdyn_ros.numerics.stepping.forces import finish
from flexdyn_ros.numerics.tracing.graph import CALL, CONSTANT, INPUT, RESULT, Graph, Number, objects
from flexdyn_ros.numerics.tracing.interpreting import Memory
from flexdyn_ros.simulation.steps.stepper import METHODS, Stepper
from flexdyn_ros.simulation.steps.workspace import Workspace


class Loops:
    """The loops of a graph, which become calls.

    A round is a function of x = (whether there is another round, the n values of the loop, what it reads
    beside them) with the output y = the first 1 + n of x after the round. A call results in the values after
    the last round.

    Attributes
    ----------
    rounds : list of Function
        Equal ones once.
    """

    def __init__(self, graph: Graph) -> None:
        self.rounds: list[Function] = []
        self._graph = graph
        #: condition and values before the loop that is being traced, and what stands for the values within
        self._start: list[int] = []
        self._inputs: list[int] = []

    def again(self, going: Number, values: tuple[object, ...]) -> tuple[bool, tuple[object, ...]]:
        """One round is traced: between the first call and the second."""
        indices = [self._graph.index(x) for x in (going, *values)]
        if not self._start:
            fresh = [
                self._graph.number((INPUT, "round", (len(self._graph.nodes), i))) for i in range(len(values))
            ]
            self._start, self._inputs = indices, [x.index for x in fresh]
            return True, tuple(fresh)
        if len(indices) != len(self._start):
            raise UnsupportedError("the equations have a loop within a loop")
        name, read = self._round(indices)
        arguments = [Number(self._graph, i) for i in (*self._start, *read)]
        self._start = []
        return False, tuple(self._graph.call(name, arguments, len(values)))

    def _round(self, results: list[int]) -> tuple[str, list[int]]:
        """Name of the round that ends in these nodes, and the nodes that it reads from outside."""
        inside = self._inside(results)
        inner, known = Graph(), {}
        for k, i in enumerate(self._inputs, 1):
            known[i] = inner.node((INPUT, "x", k))
        read: list[int] = []
        for i in inside:
            for j in self._graph.arguments(i):
                self._bring(j, inner, known, read)
            operation, *rest = self._graph.nodes[i]
            if operation in (CALL, RESULT):
                raise UnsupportedError("the equations have a loop with a call in it")
            known[i] = inner.node((operation, *(known[j] for j in rest)))
        for i in results:
            self._bring(i, inner, known, read)
        ends = [known[i] for i in results]
        for function in self.rounds:
            if function.graph.nodes == inner.nodes and function.results == ends:
                return function.name, read
        size = len(results) + len(read)
        name = f"round_{len(self.rounds)}"
        self.rounds.append(
            Function(name, inner, (("x", size),), (("y", (len(results),)),), ends, repeats=True)
        )
        return name, read

    def _bring(self, i: int, inner: Graph, known: dict[int, int], read: list[int]) -> None:
        """Let a node from outside be a constant or an input of the round."""
        if i in known:
            return
        node = self._graph.nodes[i]
        if node[0] == CONSTANT:
            known[i] = inner.node(node)
            return
        known[i] = inner.node((INPUT, "x", len(self._start) + len(read)))
        read.append(i)

    def _inside(self, results: Iterable[int]) -> list[int]:
        """Nodes of the results that depend on the values of the loop, in order."""
        within, found = set(self._inputs), []
        for i in self._graph.needed(list(results)):
            if i not in within and any(j in within for j in self._graph.arguments(i)):
                within.add(i)
                found.append(i)
        return found


EXPORTED_METHODS = ("auto", "semi_implicit_euler", "rk4", "rosenbrock")
#: the step at which "auto" chooses between explicit and implicit [s]
NOMINAL_STEP = 1e-3


def step_functions(
    equations: Equations, method: str = "auto", dt: float = NOMINAL_STEP
) -> tuple[str, tuple[Function, ...]]:
    """The method, and functions of which the last is the step: inputs q, v, tau, dt, outputs q1 and v1.

    Limits of efforts and positions do nothing, as in `simulate` by default. Energies are not accounted for.
    Oil is left out, with a FlexdynWarning: efforts of cylinders are their forces.

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
    if equations.motion.memory is not None:
        warnings.warn(
            f"the step of robot {robot.name!r} has the forces of its {'legs' if robot.legs else 'cylinders'} "
            "as inputs: the oil of its cylinders is not part of it; expected hydraulic_step, cylinders=True",
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
    equations: Equations, method: str = "auto", dt: float = NOMINAL_STEP, *, halves: bool = False
) -> tuple[Function, ...]:
    """Functions of which the last is the step of a robot with its cylinders, staggered for a platform, else
    "rosenbrock": inputs q, v, oil, tau (of trees; those of cylinders are not read), valves (openings, clamped
    to -1..1), dt, outputs q1, v1, oil1; with halves also rough, of "rosenbrock": a step is made again in two
    where it is not below 1, and the next part may be twice as long where it is below EASY.

    Raises
    ------
    UnknownNameError, UnsupportedError, StateError
    """
    oil = equations.oil
    UnknownNameError.check("method of a step with cylinders", method, ("auto", oil.method))
    step = _Step(equations, Stepper(equations.robot, dt, method=oil.method).method, oil, halves)
    return (*step.loops.rounds, *step.inner.values(), step.function)


class _Step:
    """Interprets a step, and notes the functions that it calls in `inner`."""

    def __init__(
        self, equations: Equations, method: str, oil: Oil | None = None, halves: bool = False
    ) -> None:
        self._equations, self._motion = equations, equations.motion
        self._robot = robot = equations.robot
        self.inner: dict[str, Function] = {}
        self._graph = graph = Graph()
        self.loops = graph.loops = Loops(graph)
        self._memory = memory = Memory()
        workspace = Workspace(robot, self._motion, saturate=False, stops=False)
        workspace.header[at.S_METHOD] = METHODS[method]
        inputs = {"q": graph.inputs("q", robot.nq), "v": graph.inputs("v", robot.nv)}
        if oil is not None:
            inputs["oil"] = graph.inputs("oil", len(oil.names))
            block = memory.floats(int(workspace.header[at.S_ACTUATOR]), workspace.actuators.size)
            oil.fill(block, inputs["oil"])
        tau = np.zeros(robot.nu, dtype=object)
        if oil is None or len(oil.legs) < robot.nu:
            tau[:] = inputs["tau"] = graph.inputs("tau", robot.nu)
        if oil is not None:
            tau[oil.places] = inputs["valves"] = graph.inputs("valves", len(oil.legs))
        (h,) = graph.inputs("dt", 1, constant=True)
        p = equations.parameters.put(graph, memory)
        fields = self._fields(workspace)
        fields["q"][:], fields["v"][:] = inputs["q"], inputs["v"]
        fields["tau"][:] = tau
        self._replace_functions()
        with memory.in_use():
            start_step(workspace.address, 0.0, h)
            methods.METHODS[METHODS[method]].function(workspace.address, 0.0, h)
            # whoever calls a graph makes its steps again in two
            finish(workspace.address, -1)
            if "constrain" in self._motion.table:
                self._constrain(fields["q1"], fields["v1"])
            outputs = {"q1": fields["q1"], "v1": fields["v1"]}
            if oil is not None:
                outputs["oil1"] = oil.taken(self._motion, memory, block, fields["q1"], fields["v1"])
                if halves and oil.method == "rosenbrock":
                    outputs["rough"] = objects([oil.roughness(block)])
        sizes = tuple((name, array.size) for name, array in inputs.items())
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
            "accelerate": self._accelerate,
            "losses": lambda *_: 0.0,
            "supply": lambda *_: 0.0,
            "energy": lambda *_: 0,
        }
        for name in ours.keys() & self._motion.table.keys():
            self._memory.functions[self._motion.table[name].address] = ours[name]

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

    def _constrain(self, q: np.ndarray, v: np.ndarray) -> None:
        """Move the end of the step onto the constraints, by a function of its own."""
        graph, memory = Graph(), Memory()
        p = self._equations.parameters.put(graph, memory)
        x = graph.inputs("x", q.size + v.size)
        with memory.in_use():
            a = onto_constraints(self._motion, memory, x[: q.size], x[q.size :])
        self.inner["constrain"] = function_of("constrain", graph, (("x", x.size), *p), {"a": a})
        found = self._graph.call("constrain", [*q, *v], x.size)
        q[:], v[:] = found[: q.size], found[q.size :]

    def _dynamics(self, name: str, sizes: dict[str, int]) -> Function:
        """The function `accelerate` over one array x of all its arguments."""
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
