"""Actuators as graphs: where they are, and the efforts with which they hold the robot."""

from __future__ import annotations

from typing import Any

import numpy as np

from flexdyn_ros.errors import UnsupportedError
from flexdyn_ros.export.tracing.calling import called, exerted, measured
from flexdyn_ros.export.tracing.closed_loops import nearest_efforts
from flexdyn_ros.export.tracing.equations import Equations, Function, function_of
from flexdyn_ros.numerics.algebra.linalg import cholesky, cholesky_solve
from flexdyn_ros.numerics.tracing.graph import Graph, objects
from flexdyn_ros.numerics.tracing.interpreting import Memory
from flexdyn_ros.robot.analysis.allocation import chosen_actuators, free_coordinates
from flexdyn_ros.robot.verbs import Robot

#: what adds to the diagonal of C' C, of its trace, so that it has an inverse; rounds of corrections
_SMALL, _ROUNDS = 1e-13, 3


def actuator_motion(equations: Equations) -> Function:
    """Positions and rates (nu,) along which efforts act, from q and v."""
    robot, graph, memory = equations.robot, Graph(), Memory()
    p = equations.parameters.put(graph, memory)
    q, v = graph.inputs("q", robot.nq), graph.inputs("v", robot.nv)
    equations.motion.provide()
    with memory.in_use():
        position, rate = measured(robot, equations.motion, memory, q, v)
    outputs = {"position": position, "rate": rate}
    return function_of("actuator_motion", graph, (("q", robot.nq), ("v", robot.nv), *p), outputs)


def moved(equations: Equations) -> Function:
    """q1 (nq,), one second along v from q."""
    robot, graph, memory = equations.robot, Graph(), Memory()
    p = equations.parameters.put(graph, memory)
    q, v = graph.inputs("q", robot.nq), graph.inputs("v", robot.nv)
    functions: Any = robot.functions
    functions.table.open("moved")
    with memory.in_use():
        q1 = called(memory, functions, functions.heads.looking("moved"), "moved", robot.nq, q, v)
    return function_of("moved", graph, (("q", robot.nq), ("v", robot.nv), *p), {"q1": q1})


def holding_efforts(equations: Equations) -> Function:
    """Efforts (nu,) that hold the robot where it is, from q, or as well as they can; what no actuator can
    hold is left in the entries of modes, a floating base and hubs."""
    graph, memory = Graph(), Memory()
    p = equations.parameters.put(graph, memory)
    q = graph.inputs("q", equations.robot.nq)
    tau = _held(equations, memory, q)
    return function_of("holding_efforts", graph, (("q", len(q)), *p), {"tau": tau})


def resting_oil(equations: Equations) -> Function:
    """The oil of all cylinders, from q, that holds the robot there with shut valves, or as well as it can."""
    graph, memory = Graph(), Memory()
    p = equations.parameters.put(graph, memory)
    q = graph.inputs("q", equations.robot.nq)
    oil = equations.oil.resting(_held(equations, memory, q)[equations.oil.places])
    return function_of("resting_oil", graph, (("q", len(q)), *p), {"oil": oil})


def _held(equations: Equations, memory: Memory, q: np.ndarray) -> np.ndarray:
    """Efforts (nu,) that hold the robot at q."""
    robot, still = equations.robot, np.zeros(equations.robot.nv)
    if robot.functions.is_constrained and robot.functions.prescribed.any():
        raise UnsupportedError(
            f"efforts that hold robot {robot.name!r} cannot be exported: its loops have prescribed joints"
        )
    with memory.in_use():
        q_room, still = memory.room(q), memory.room(still)
        tau = equations.inverse(memory, q_room, still, still)
        if robot.functions.is_constrained or robot.nu != robot.nv:
            B = np.stack([exerted(robot, memory, q, unit) for unit in np.eye(robot.nu)], axis=1)
            if robot.functions.is_constrained:
                dynamics = equations.closed(memory, q_room, still)
                tau, _ = nearest_efforts(robot, dynamics, B, tau[: robot.nv])
            else:
                tau = balancing_efforts(robot, B, tau[: robot.nv])
    return tau


def balancing_efforts(robot: Robot, B: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Efforts (nu,) of an open tree that meet b (nv,) in its joints, or nearest to it.

    They see no deflections of links, whose forces are in the rows of modes: fed back they would drive these.
    """
    chosen, free = chosen_actuators(robot, "all"), free_coordinates(robot)
    joints = np.setdiff1d(np.arange(robot.nv), free)
    C, left, x = B[np.ix_(joints, chosen)], b[joints], objects([0.0] * len(chosen))
    G = C.T @ C
    G = G + np.eye(len(G)) * (_SMALL * np.trace(G))
    cholesky(G, len(G))
    for _ in range(_ROUNDS):
        change = C.T @ left
        cholesky_solve(G, len(G), change)
        x, left = x + change, left - C @ change
    tau = objects([0.0] * robot.nu)
    tau[chosen] = x
    tau[free] = tau[free] + (b - B[:, chosen] @ x)[free]
    return tau
