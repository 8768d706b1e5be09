"""`simulate`: a robot, a time span, and what acts on the robot, to a trajectory."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace

import numpy as np

from flexdyn_ros.errors import FlexdynWarning, SimulationError, SingularityError, StateError, UnsupportedError
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.simulation.plan import ADAPTIVE, CONTROLLED, Plan, make_plan
from flexdyn_ros.simulation.steps.adaptive import run_adaptive
from flexdyn_ros.simulation.steps.controlled import run_controlled
from flexdyn_ros.simulation.steps.fixed import run_fixed
from flexdyn_ros.simulation.steps.fused_hydraulics import ValveOpenings
from flexdyn_ros.simulation.trajectory import Trajectory
from flexdyn_ros.simulation.verdict import sampling_fault, verdict

__all__ = ["ValveOpenings", "simulate"]


def simulate(
    robot: Robot,
    duration: float,
    q0: np.ndarray | None = None,
    v0: np.ndarray | None = None,
    *,
    states0: Mapping[str, float] | np.ndarray | None = None,
    t0: float = 0.0,
    dt: float | None = None,
    sample: float | None = None,
    method: str = "auto",
    rtol: float = 1e-6,
    atol: float | None = None,
    control: np.ndarray
    | Mapping[str, float]
    | Callable[[float, np.ndarray, np.ndarray], object]
    | ValveOpenings
    | None = None,
    wrenches: Mapping[str, object] | Callable[[float, np.ndarray, np.ndarray], object] | None = None,
    prescribed: Callable[[float], tuple[object, object, object]]
    | Mapping[str, Callable[[float], tuple[object, object, object]]]
    | None = None,
    events: Callable[..., float] | Sequence[Callable[..., float]] = (),
    limits: str = "report",
    saturate: bool = False,
    record_every: int = 1,
    record: Sequence[str] | str = ("energy",),
    progress: bool | Callable[[float], object] = False,
) -> Trajectory:
    """Simulate a robot.

    Parameters
    ----------
    robot : Robot
    duration : float
        [s]; if it is no whole number of steps, the last one is shorter.
    q0, v0 : (nq,), (nv,) arrays, optional
        Default: the description's own start (neutral() and at rest, but for a `<drive>`).
    states0 : (ns,) array or mapping from names, optional
        States of elements at the start, in the order of `Robot.element_states` or by name (absolute pressures
        [Pa]); those left out are at rest (`Robot.rest_states`). With the last `Trajectory.states` of a run,
        another one continues it.
    t0 : float
        Time at the start [s].
    dt : float, optional
        Asks for fixed steps of this length [s], as nodes and `Stepper` take them. With a method with error
        control: the time between samples.
    sample : float, optional
        Time between samples [s]; default 1e-3, with fixed steps dt. It does not change the motion.
    method : str
        "auto": without dt with error control: "dop853", from where stability bounds its steps "extrapolated"
        if that costs less; "adaptive_staggered" for platforms with hydraulics. `Trajectory.method` says which
        was used. With dt: rosenbrock where links bend; for rigid trees rk4, or rosenbrock where joint
        springs, damping, friction or stops are too fast for rk4 at this dt; staggered for platforms with
        hydraulics.

        With error control, compiled: "dop853" (order 8), "extrapolated" (linearly implicit Euler steps, of
        variable order, for stiff robots; its steps end at every sample), "adaptive_staggered" (order 2, of
        platforms with hydraulics). By scipy, which asks Python for every evaluation: "bdf", "radau", "lsoda",
        and "dop853" where only the method lagrange has the equations.

        Fixed steps, compiled, dt 1e-3 if not given: "semi_implicit_euler" (order 1), "rk4" (4), "scaled_rk4"
        (rk4 with added masses on modes of flexible links that are too fast for dt, see
        simulation/steps/mass_scaling.py; rk4 itself where there are none), "rosenbrock" (2, linearly
        implicit, L-stable, for stiff joints and links), "staggered" (2): cylinders and platform in turn, in
        the time-symmetric order of docs/theory/hydraulics.md, "Integration". By the two staggered methods
        cylinders make the forces that control asks for (clipped to the effort limits if `saturate`), with the
        other methods control acts on the rods.
    rtol, atol : float
        Tolerances of the methods with error control. atol holds for positions [m, rad], and for speeds times
        the rate at which a coordinate would oscillate by itself (at least 1/s); None: rtol / 1000 of the
        displacement that each coordinate makes, within 1e-13 and 1e-9, and errors of speeds ten times as
        large where links bend on wheels (docs/simulation.md says why).
    control : (nu,) or (na,) array, mapping from name to number, or callable (t, q, v) -> any, optional
        Efforts [N m, N]: of all `effort_names`, of the `actuators` in their order, or of those named; a
        callable is a digital controller: called at every `sample` and its answer held, unless it is
        `flexdyn_ros.continuous(law)`, which is called at every evaluation. Of cylinders with hydraulics
        forces on the rods, which they control, or openings of their valves, -1 to 1: `ValveOpenings`, or a
        mapping that names CYLINDER/valve; None: closed valves.
    wrenches : mapping from frame name to (6,), or callable (t, q, v) -> mapping, optional
        (moment; force) in world axes at the frame's origin [N m, N]; a callable is called at every
        evaluation, with fixed steps at every step.
    prescribed : callable t -> (x, v, a), or mapping from name to such, optional
        Motion of the coordinate that the description prescribes (base/x of a driven robot); by names that of
        any joints of a tree, with error control only: measured joint motion as input. `tau` then holds the
        efforts that it takes.
    events : callable g(t, q, v) or several, optional
        Zeros of g are located and kept in `Trajectory.events`; attributes `terminal` and `direction` as of
        scipy's solve_ivp. Fixed steps find zeros that change the sign between two steps, to rounding on the
        path that shorter steps would take.
    limits : {"report", "spring", "stop"}
        Position limits: noted as events, soft stops, or the end of the simulation.
    saturate : bool
        Clip efforts to the effort limits.
    record_every : int
        Keep one of so many samples.
    record : sequence of {"energy", "hydraulics"}
        What to record beside the state, efforts and work.
    progress : bool, or callable (t)
        Show a progress bar (needs rich). A callable gets, some fifty times a second of wall time, how far
        the simulation is [s]; what it raises ends the simulation and is passed on, which is how one is
        cancelled. What is computed does not depend on it.

    Returns
    -------
    Trajectory

    Raises
    ------
    SimulationError
        If the state becomes infinite or the simulation diverges (kinetic energy beyond 1e12 times its scale);
        its `trajectory` ends in the last good state.
    DimensionError, StateError, UnknownNameError, UnsupportedError
        For wrong arguments.

    Warns
    -----
    FlexdynWarning
        Of a sampled control law that makes motion grow, with cause and remedy, where the run went wrong (the
        law is called again for that); of a balance of energy that is off by more than 1e-3 of the largest
        kinetic energy; of links that bent further than the linear beam holds; of links on wheels that turned,
        at a sample, faster than 0.3 of their first clamped rate while nothing stiffens them
        (docs/theory/mobile.md, "Limits").
        `Trajectory.warnings` keeps all of them.
    """
    if method == "auto" and robot.motion is None and (dt is None or robot.bends):
        method = "dop853"
    plan = make_plan(SimpleNamespace(**locals()))
    try:
        run = _run(plan)
    except SimulationError as error:
        partial = error.trajectory
        cause = () if partial is None else (*_singularity(partial), *sampling_fault(plan, partial, True))
        message = "; ".join((str(error), *cause))
        raise SimulationError(message, partial and replace(partial, message=message)) from error
    found = verdict(run)
    found = (*sampling_fault(plan, run, bool(found)), *found)
    for text in found:
        warnings.warn(text, FlexdynWarning, 2)
    return replace(run, warnings=found) if found else run


def _singularity(run: Trajectory) -> tuple[str, ...]:
    """The cause, where a run ended because its last state has no finite accelerations."""
    try:
        if run.robot is not None and len(run):
            run.robot.forward_dynamics(run.q[-1], run.v[-1])
    except SingularityError as error:
        return (str(error),)
    except StateError:
        # the state itself is beyond all numbers
        return ()
    return ()


def _run(plan: Plan) -> Trajectory:
    robot, method = plan.robot, plan.method
    if plan.is_fixed:
        return run_fixed(plan)
    if robot.motion is not None and (method == "auto" or method in CONTROLLED):
        return run_controlled(plan)
    if method in ADAPTIVE:
        return run_adaptive(plan)
    raise UnsupportedError(
        f"robot {robot.name!r} has no compiled steps with this formulation, which the method {method}"
        " takes; dop853, bdf, radau and lsoda move it"
    )
