"""The verbs of a robot as graphs: its own kernels, interpreted on numbers that are known later."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from flexdyn_ros.errors import UnknownNameError, UnsupportedError
from flexdyn_ros.export.tracing.calling import (
    accelerations,
    called,
    energies,
    exerted,
    onto_constraints,
    rows_of_loops,
)
from flexdyn_ros.export.tracing.closed_loops import ClosedDynamics, LoopRows, closed_efforts, led_efforts
from flexdyn_ros.export.tracing.hydraulics import OIL_MOTION, OIL_VERBS, Oil
from flexdyn_ros.numerics.numbers.functions import select
from flexdyn_ros.numerics.tracing.graph import CONSTANT, Graph, Number, objects
from flexdyn_ros.numerics.tracing.interpreting import Memory
from flexdyn_ros.robot.motion import Motion
from flexdyn_ros.robot.parameters import Parameter, names_that_fit
from flexdyn_ros.robot.verbs import Robot

#: by how much of its size a parameter is moved to find what depends on it, and how well lines are met
_MOVE, _MEET = 0.5, 1e-9


class Parameters:
    """The chosen parameters of a robot.

    Attributes
    ----------
    chosen : tuple of Parameter
    """

    def __init__(self, robot: Robot, names: Sequence[str]) -> None:
        self.robot = robot
        self.chosen: tuple[Parameter, ...] = ()
        if names:
            known = {p.name: p for p in robot.parameters}
            self.chosen = tuple(known[name] for name in names_that_fit(tuple(known), names))
        self._lines = self._find_lines()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters."""
        return tuple(p.name for p in self.chosen)

    @property
    def values(self) -> np.ndarray:
        """Values (np,) of the robot as it is."""
        return np.array([p.value for p in self.chosen])

    def put(self, graph: Graph, memory: Memory) -> tuple[tuple[str, int], ...]:
        """Let kernels see numbers that depend on the input p; that input, if there is one."""
        if not self.chosen:
            return ()
        p = graph.inputs("p", len(self.chosen), constant=True)
        for address, numbers, slopes in self._lines:
            block: list[object] = numbers.tolist()
            for i, k in zip(*np.nonzero(slopes), strict=True):
                # a number that is the parameter itself stays so to the last digit
                if (
                    slopes[i, k] == 1.0
                    and numbers[i] == self.chosen[k].value
                    and np.count_nonzero(slopes[i]) == 1
                ):
                    block[i] = p[k]
                else:
                    block[i] = block[i] + slopes[i, k] * (p[k] - self.chosen[k].value)
            memory.put(address, objects(block))
        return (("p", len(self.chosen)),)

    def _find_lines(self) -> list[tuple[int, np.ndarray, np.ndarray]]:
        """Address, numbers (n,) and slopes (n, np) of every block of memory that depends on a parameter."""
        if not self.chosen:
            return []
        base = _blocks(self.robot)
        moved = [self._moved(p, 1.0, base) for p in self.chosen]
        twice = [self._moved(p, 2.0, base) for p in self.chosen]
        found = []
        for j, (address, numbers) in enumerate(base):
            slopes = np.zeros((numbers.size, len(self.chosen)))
            for k, p in enumerate(self.chosen):
                step = _step(p)
                slopes[:, k] = (moved[k][j] - numbers) / step
                slopes[:, k] = np.where(np.abs(slopes[:, k] - 1.0) < 1e-12, 1.0, slopes[:, k])
                error = np.abs(twice[k][j] - numbers - 2.0 * step * slopes[:, k])
                if (error > _MEET * np.maximum(np.abs(numbers), np.abs(twice[k][j]))).any():
                    raise UnsupportedError(
                        f"parameter {p.name!r} does not enter the equations along a straight line"
                    )
            if slopes.any():
                found.append((address, numbers, slopes))
        return found

    def _moved(self, p: Parameter, by: float, base: list[tuple[int, np.ndarray]]) -> list[np.ndarray]:
        blocks = [
            numbers for _, numbers in _blocks(self.robot.with_parameters({p.name: p.value + by * _step(p)}))
        ]
        if [x.size for x in blocks] != [x.size for _, x in base]:
            raise UnsupportedError(f"parameter {p.name!r} changes the structure of the equations")
        return blocks


def _step(p: Parameter) -> float:
    return _MOVE * abs(p.value) if p.value else _MOVE


def _blocks(robot: Robot) -> list[tuple[int, np.ndarray]]:
    """Address and numbers of the float memory behind a robot's address."""
    return [(array.ctypes.data, array.copy()) for array in robot.functions.packed.floats]


@dataclass(frozen=True, eq=False)
class Function:
    """A function as a graph.

    Attributes
    ----------
    inputs : tuple of (name, n)
    outputs : tuple of (name, shape)
    results : list of int
        Nodes of the outputs, one after the other, row by row.
    repeats : bool
        Whether it is a round of a loop (numbers/functions.py).
    """

    name: str
    graph: Graph
    inputs: tuple[tuple[str, int], ...]
    outputs: tuple[tuple[str, tuple[int, ...]], ...]
    results: list[int]
    repeats: bool = False


#: inputs of each verb
VERBS: dict[str, tuple[str, ...]] = {
    "inverse_dynamics": ("q", "v", "a"),
    "forward_dynamics": ("q", "v", "tau"),
    "mass_matrix": ("q",),
    "bias_forces": ("q", "v"),
    "energy": ("q", "v"),
    "frames": ("q",),
    "deflections": ("q",),
}
#: and of the two functions behind steps (`accelerate` in numerics/verbs/table.py): with h = 0, and with any
INNER: dict[str, tuple[str, ...]] = {
    "accelerate": ("q", "v", "force", "extra", "given"),
    "accelerate_implicitly": ("q", "v", "force", "extra", "h", "given"),
}


class Equations:
    """A robot whose verbs can be traced.

    Parameters
    ----------
    robot : Robot
    parameters : names of `robot.parameters`, wildcards allowed
        What becomes the input p of every function.
    certain : bool
        Dynamics of closed mechanisms are NaN where the library would say something (closed_loops.py).

    Raises
    ------
    UnknownNameError
        If no parameter has such a name.
    UnsupportedError
        If the parameters of such robots are not computed, or nothing moves.
    """

    def __init__(self, robot: Robot, parameters: Sequence[str] = (), *, certain: bool = False) -> None:
        if robot.nv == 0:
            raise UnsupportedError(
                f"robot {robot.name!r} has no joint that moves: there are no equations to export"
            )
        general = robot.functions.general
        traced = general.functions.open_to_parameters() if parameters else general
        assert isinstance(traced, Robot)  # functions know robots by their interface
        self.robot, self._certain = traced, certain
        self.parameters = Parameters(self.robot, parameters)

    def function(self, verb: str, frames: Sequence[str] = ()) -> Function:
        """A verb as a graph; of `frames`, positions (k, 3) and rotation matrices (k, 3, 3) of those named.

        Raises
        ------
        UnknownNameError, UnsupportedError
        """
        UnknownNameError.check("verb", verb, (*VERBS, *OIL_VERBS, *OIL_MOTION, *INNER))
        robot, graph = self.robot, Graph()
        sizes = {"q": robot.nq, "v": robot.nv, "a": robot.nv, "tau": robot.nu}
        sizes |= {"force": robot.nv, "extra": robot.nu, "given": robot.nv, "h": 1}
        if verb in OIL_VERBS | OIL_MOTION:
            sizes |= {"oil": len(self.oil.names), "valves": len(self.oil.legs)}
        names = (VERBS | OIL_VERBS | OIL_MOTION | INNER)[verb]
        given = {name: graph.inputs(name, sizes[name], constant=name == "h") for name in names}
        memory = Memory()
        p = self.parameters.put(graph, memory)
        try:
            with memory.in_use():
                outputs = self._trace(verb, memory, given, frames)
        except UnsupportedError as error:
            raise UnsupportedError(f"{verb} of robot {robot.name!r} cannot be exported: {error}") from error
        inputs = tuple((name, array.size) for name, array in given.items())
        return function_of(verb, graph, (*inputs, *p), outputs)

    def _trace(
        self, verb: str, memory: Memory, given: dict[str, np.ndarray], frames: Sequence[str]
    ) -> dict[str, np.ndarray]:
        robot = self.robot
        still = memory.room(np.zeros(robot.nv))
        if verb == "forward_dynamics":
            force = exerted(robot, memory, given["q"], given["tau"])
            if robot.functions.is_constrained and not robot.functions.prescribed.any():
                dynamics = self.closed(memory, given["q"], given["v"])
                h = self.inverse(memory, given["q"], given["v"], still)[: robot.nv]
                return {"acceleration": dynamics.accelerations(force - h)}
            given = {name: given[name] for name in ("q", "v")} | {"force": force, "extra": np.zeros(robot.nu)}
            return {"acceleration": accelerations(self.motion, memory, **given, h=0.0, given=still)}
        if verb in INNER:
            dt = given["h"][0] if "h" in given else 0.0
            return {"acceleration": accelerations(self.motion, memory, h=dt, **_without(given, "h"))}
        if verb == "inverse_dynamics":
            return {"tau": self.efforts(memory, given["q"], given["v"], given["a"])}
        if verb == "bias_forces":
            if not self.motion.drives_coordinates:
                raise UnsupportedError("efforts are not along the coordinates; expected inverse_dynamics")
            return {"h": self.inverse(memory, given["q"], given["v"], still)}
        if verb == "energy":
            return {"energy": energies(self.motion, memory, given["q"], given["v"])}
        if verb == "frames":
            return self._frames(memory, given["q"], frames)
        if verb == "deflections":
            return {"deflections": self._deflections(given["q"])}
        if verb in OIL_VERBS | OIL_MOTION:
            return self._of_oil(verb, memory, given)
        M = self._called(memory, "mass", robot.nv**2, given["q"], still)
        return {"M": M.reshape(robot.nv, robot.nv)}

    # ---- what the family gives ----

    @property
    def motion(self) -> Motion:
        """Functions of the fixed steps."""
        motion = self.robot.motion
        if motion is None:
            raise UnsupportedError("there are no compiled steps with this formulation")
        return motion

    def _of_oil(self, verb: str, memory: Memory, given: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        found, without = {}, _without(given, "valves")
        if verb != "oil_rates":
            found["forces"] = self.oil.forces(self.motion, memory, **without)
        if verb != "cylinder_forces":
            found["rates"] = self.oil.rates(self.motion, memory, **given)
        return found

    @cached_property
    def oil(self) -> Oil:
        """State of the cylinders."""
        return Oil(self.robot)

    def _called(self, memory: Memory, name: str, size: int, *arrays: np.ndarray) -> np.ndarray:
        """The result (size,) of a function of the robot's table, interpreted."""
        functions: Any = self.robot.functions
        if functions.table is None or name not in functions.table:
            method = self.robot.description.formulation.method
            raise UnsupportedError(f"formulation.method {method!r} has no kernels for it")
        functions.table.open(name)
        return called(memory, functions, functions.heads.new(), name, size, *arrays)

    def efforts(self, memory: Memory, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """Efforts (nu,) of a motion, within a memory that is in use."""
        robot, q, v, a = self.robot, memory.room(q), memory.room(v), memory.room(a)
        tau = self.inverse(memory, q, v, a)
        if not robot.functions.is_constrained:
            return tau
        if robot.functions.prescribed.any():
            raise UnsupportedError("inverse dynamics of loops with prescribed joints is not computed")
        dynamics = self.closed(memory, q, v)
        B = np.stack([exerted(robot, memory, q, unit) for unit in np.eye(robot.nu)], axis=1)
        efforts = closed_efforts(robot, dynamics, B, tau[: robot.nv])
        if self._certain:
            is_allowed = dynamics.are_allowed(a)
            return objects([select(is_allowed, x, np.nan) for x in efforts])
        return efforts

    def leading_efforts(self, memory: Memory, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """Efforts (nu,) with which actuated coordinates accelerate as in a (nv,), all others as they may."""
        robot, q, v, still = self.robot, memory.room(q), memory.room(v), memory.room(np.zeros(self.robot.nv))
        h = self.inverse(memory, q, v, still)[: robot.nv]
        B = np.stack([exerted(robot, memory, q, unit) for unit in np.eye(robot.nu)], axis=1)
        return led_efforts(robot, self.closed(memory, q, v), B, h, a)

    def closed(self, memory: Memory, q: np.ndarray, v: np.ndarray) -> ClosedDynamics:
        """The dynamics at one state, of closed mechanisms with their loops."""
        nv = self.robot.nv
        M = self._called(memory, "mass", nv**2, q, np.zeros(nv)).reshape(nv, nv)
        rows = np.zeros((3 + nv, 0))
        if self.robot.functions.is_constrained:
            m = len(self.robot.loop_jacobian(self.robot.neutral()))
            rows = rows_of_loops(self.motion, memory, q, v, m)
        phi, rate, bias, *J = rows
        return ClosedDynamics(
            self.robot, M, LoopRows(phi, rate, bias, np.array(J).T), v, certain=self._certain
        )

    def inverse(self, memory: Memory, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """Efforts (nu,) of a motion without loops; those of elements are 0."""
        robot = self.robot
        if robot.functions.table is not None and "inverse" in robot.functions.table:
            return self._called(memory, "inverse", robot.nu, q, v, a)
        tau = memory.room(np.zeros(robot.nu))
        tau[: robot.nv] = self._called(memory, "balance", robot.nv, q, v, a, tau, tau)
        return tau

    def _deflections(self, q: np.ndarray) -> np.ndarray:
        """Displacements (k, 3) of the tips of flexible links, in their own axes."""
        tips = self.robot.tips
        if not tips:
            raise UnsupportedError("the robot has no flexible links")
        return np.array([q[tip.q] @ tip.displacement.astype(object) for tip in tips], dtype=object)

    def _frames(self, memory: Memory, q: np.ndarray, names: Sequence[str]) -> dict[str, np.ndarray]:
        if not names:
            raise UnsupportedError("no frame is named")
        seeing: Any = self.robot.functions
        seeing = seeing.seeing(names)
        bodies, placements = seeing.placements(tuple(names))
        if seeing.table is None or "frames" not in seeing.table:
            raise UnsupportedError("the frames of this family are not among its kernels")
        head = seeing.heads.new(frames=(bodies, placements))
        found = called(memory, seeing, head, "frames", 16 * len(names), q, q)
        poses = found.reshape(len(names), 4, 4)
        return {"positions": poses[:, :3, 3], "rotations": poses[:, :3, :3]}


def function_of(
    name: str, graph: Graph, inputs: tuple[tuple[str, int], ...], outputs: dict[str, np.ndarray]
) -> Function:
    results = [graph.index(x) for array in outputs.values() for x in array.ravel()]
    return Function(name, graph, inputs, tuple((k, x.shape) for k, x in outputs.items()), results)


def _without(given: dict[str, np.ndarray], name: str) -> dict[str, np.ndarray]:
    return {key: array for key, array in given.items() if key != name}


def projection(equations: Equations) -> Function:
    """q1 (nq,) and v1 (nv,) on the constraints of the robot, from q and v near them."""
    robot, graph, memory = equations.robot, Graph(), Memory()
    p = equations.parameters.put(graph, memory)
    q, v = graph.inputs("q", robot.nq), graph.inputs("v", robot.nv)
    with memory.in_use():
        found = onto_constraints(equations.motion, memory, q, v)
    results = {"q1": found[: robot.nq], "v1": found[robot.nq :]}
    return function_of("project", graph, (("q", robot.nq), ("v", robot.nv), *p), results)


def event_indicators(equations: Equations, *, with_oil: bool = False) -> Function:
    """Numbers (n,) whose zeros are events of the motion; n may be 0.

    Those are the differences that kernels of `Motion.switches` compare to find accelerations: at stops of
    soft sections, where wheels lift, at edges of a road and, with the oil of cylinders, of valves. Inputs are
    those of forward dynamics, or q, v, oil, valves.
    """
    function = equations.function("oil_motion" if with_oil else "forward_dynamics")
    graph, modules = function.graph, set(equations.motion.switches)
    found: dict[int, None] = {}
    for i in graph.needed(function.results):
        operation, *rest = graph.nodes[i]
        if operation == "select" and modules & graph.choosers[rest[0]]:
            found |= dict.fromkeys(_differences(graph, rest[0]))
    return Function("event_indicators", graph, function.inputs, (("indicators", (len(found),)),), list(found))


def _differences(graph: Graph, condition: int) -> Iterator[int]:
    """Nodes that change their sign where a condition may begin or cease to hold."""
    operation, *rest = graph.nodes[condition]
    if operation in ("lt", "le"):
        a, b = sorted(rest)
        if not (graph.is_constant(a) and graph.is_constant(b)):
            yield graph.index(_number(graph, a) - _number(graph, b))
    elif operation in ("and", "or", "not"):
        for i in rest:
            yield from _differences(graph, i)


def _number(graph: Graph, i: int) -> Any:
    operation, *rest = graph.nodes[i]
    return float(rest[0]) if operation == CONSTANT else Number(graph, i)
