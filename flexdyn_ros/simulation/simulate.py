"""`simulate`: a robot, a time span, and what acts on the robot, to a trajectory."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from flexdyn_ros.dynamics.mobile_judgement import TOO_FAST, Softening
from flexdyn_ros.dynamics.protocol import Robot
from flexdyn_ros.errors import FlexdynWarning, UnsupportedError
from flexdyn_ros.simulation.adaptive import run_adaptive
from flexdyn_ros.simulation.controlled import run_controlled
from flexdyn_ros.simulation.fixed import run_fixed
from flexdyn_ros.simulation.plan import ADAPTIVE, CONTROLLED, make_plan
from flexdyn_ros.simulation.trajectory import Trajectory
from flexdyn_ros.simulation.valves import ValveOpenings

__all__ = ["ValveOpenings", "simulate"]


def simulate(
    robot: Robot,
    duration: float,
    q0: np.ndarray | None = None,
    v0: np.ndarray | None = None,
    *,
    t0: float = 0.0,
    dt: float = 1e-3,
    method: str = "auto",
    rtol: float = 1e-8,
    atol: float = 1e-10,
    control: np.ndarray
    | Mapping[str, float]
    | Callable[[float, np.ndarray, np.ndarray], Any]
    | ValveOpenings
    | None = None,
    wrenches: Mapping[str, Any] | Callable[[float, np.ndarray, np.ndarray], Any] | None = None,
    prescribed: Callable[[float], tuple[Any, Any, Any]] | None = None,
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
        Default neutral(), zero.
    t0, dt : float
        Time at the start, step of the fixed-step methods or of the output [s].
    method : str
        Fixed steps, compiled: "semi_implicit_euler" (order 1), "rk4" (4), "scaled_rk4" (rk4 with added masses
        on modes of flexible links that are too fast for dt, see simulation/mass_scaling.py; rk4 itself where
        there are none), "rosenbrock" (2, linearly implicit, L-stable, for stiff joints and links). With error
        control, compiled: "dop853" (order 8), "extrapolated" (linearly implicit Euler steps, of variable
        order, for stiff robots; its steps end at every sample). By scipy, which asks Python for every
        evaluation: "bdf", "radau", "lsoda", and "dop853" where only the method lagrange has the equations.
        "auto": rosenbrock where links bend; for rigid trees rk4, or rosenbrock where joint springs, damping,
        friction or stops are too fast for rk4 at this dt; dop853 where only the method lagrange has the
        equations. For platforms with hydraulics "staggered": cylinders and platform in turn, in the
        time-symmetric order of section 8.3 of the parallel specification (2); there cylinders make the forces
        that control asks for (clipped to the effort limits if `saturate`), with the other methods control
        acts on the rods.
    rtol, atol : float
        Tolerances of the methods with error control. Compiled, atol holds for positions, and for speeds times
        the rate at which a coordinate would oscillate by itself (at least 1/s).
    control : (nu,) or (na,) array, mapping from name to number, or callable (t, q, v) -> any, optional
        Efforts [N m, N]: of all `effort_names`, of the `actuators` in their order, or of those named; a
        callable is asked at every dt and its answer held. Of a platform with hydraulics
        also `ValveOpenings`; None: closed valves.
    wrenches : mapping from frame name to (6,), or callable (t, q, v) -> mapping, optional
        (moment; force) in world axes at the frame's origin [N m, N]; a callable is asked at every dt and its
        answer held (by the methods with error control: whenever they evaluate).
    prescribed : callable t -> (x, v, a), optional
        Motion of the prescribed coordinates; refused for robots that have none.
    events : callable g(t, q, v) or several, optional
        Zeros of g are located and kept in `Trajectory.events`; attributes `terminal` and `direction` as of
        scipy's solve_ivp. Fixed steps find zeros that change the sign between two steps, to rounding on the
        path that shorter steps would take.
    limits : {"report", "spring", "stop"}
        Position limits: noted as events, soft stops, or the end of the simulation.
    saturate : bool
        Clip efforts to the effort limits.
    record_every : int
        Steps per sample.
    record : sequence of {"energy", "hydraulics"}
        What to record beside the state, efforts and work.
    progress : bool, or callable (t)
        Show a progress bar (needs rich). A callable is told some fifty times a second of wall time how far
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
        Of links on wheels that turned, at a sample, faster than 0.3 of their first clamped rate while nothing
        stiffens them (specification mobile, section 15.2).
    """
    if method == "auto" and robot.motion is None and getattr(robot, "bends", False):
        method = "dop853"
    plan = make_plan(
        robot,
        duration,
        q0,
        v0,
        t0=t0,
        dt=dt,
        method=method,
        rtol=rtol,
        atol=atol,
        control=control,
        wrenches=wrenches,
        prescribed=prescribed,
        events=events,
        limits=limits,
        saturate=saturate,
        record_every=record_every,
        record=record,
        progress=progress,
    )
    if method in CONTROLLED and robot.motion is not None:
        run = run_controlled(plan)
    elif method in CONTROLLED and method not in ADAPTIVE:
        raise UnsupportedError(
            f"robot {robot.name!r} has no compiled steps with this formulation, which the method {method}"
            " takes; dop853, bdf, radau and lsoda move it"
        )
    else:
        run = run_adaptive(plan) if method in ADAPTIVE else run_fixed(plan)
    _warn_of_softening(run)
    return run


def _warn_of_softening(run: Trajectory) -> None:
    """Say which links turned so fast that linear strain without stiffening makes them too soft."""
    softening: Softening | None = getattr(run.robot, "softening", None)
    if softening is None:
        return
    shares = softening.shares(run.v)
    fast = [
        f"link '{link}' up to {share * rate:.3g} rad/s (its first clamped rate is {rate:.3g} rad/s)"
        for link, share, rate in zip(softening.links, shares, softening.rates, strict=True)
        if share > TOO_FAST
    ]
    if fast:
        text = (
            f"links turned so fast that without stiffening they are over {100 * TOO_FAST**2:.0f} % too soft: "
        )
        remedy = "formulation.stiffening 'geometric' stiffens them"
        warnings.warn(f"{text}{'; '.join(fast)}; {remedy}", FlexdynWarning, 3)
