"""A robot that advances in time by fixed steps: what `simulate` and the simulator node have in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from flexdyn_ros.dynamics.protocol import Robot
from flexdyn_ros.dynamics.results import Energy

__all__ = ["DIVERGED", "NOT_FINITE", "OK", "Stepper"]

#: what `Stepper.advance` returns
OK, NOT_FINITE, DIVERGED = 0, 1, 2


class Stepper:
    """State of a robot, advanced by compiled fixed steps that release the GIL; one per thread.

    The effort on a coordinate is tau + stiffness (target_q - q) + damping (target_v - v): tau is the argument of
    `advance` (or what it was last), the rest the joint servo, off until its gains are set. Efforts are clipped to the
    coordinates' effort limits if `saturate`. Joint stops act outside the position limits if `limits` is "spring".
    Stiff gains and stops are integrated implicitly by "rosenbrock" and "semi_implicit_euler".

    Parameters
    ----------
    robot : Robot
    dt : float
        Step [s].
    method : {"auto", "semi_implicit_euler", "rk4", "rosenbrock"}
        "auto": rk4 where springs, damping, friction, servo and stops allow it at this step, else rosenbrock; decided anew
        whenever the state, gains or limits are set.
    q0, v0 : (nq,), (nv,) arrays, optional
        Default neutral(), zero.
    t0 : float
        Time of that state [s].
    limits : {"report", "spring"}
        "report": position limits do nothing here.
    saturate : bool

    Attributes
    ----------
    q, v, a : (nq,), (nv,), (nv,) arrays
        State, and the mean acceleration over the last step (that of the state itself after `set_state`). Live views,
        read-only: copy to keep.
    tau : (nu,) array
        Commanded effort that is held; live and writable. `advance(tau=...)` copies into it.
    effort : (nv,) array
        Mean effort of command and servo together over the last step, after clipping [N m, N]; live, read-only.
    saturated : (nv,) array of bool
        Coordinates whose effort was clipped in the last `advance`.
    at_stop : (nv,) array of bool
        Coordinates outside their position limits now, whatever `limits` is.
    t, steps : float, int
        Time [s] = t0 + steps dt, and steps since the state was set.
    work, dissipated : float
        Work of efforts and wrenches, and energy taken by damping, friction and stops since the state was set [J]:
        energy().total - work + dissipated is constant. What a stop stores it gives back, negative in dissipated.
    servo_stiffness, servo_damping : (nv,) arrays
        Gains [N m/rad or N/m, times s]; read-only, see `set_servo`.
    target_q, target_v : (nv,) arrays
        Set-points of the servo, by velocity coordinate [rad or m, per s]; live and writable, held during a call.
    stop_stiffness, stop_damping : (nv,) arrays
        Of the joint stops; read-only, see `set_stops`.
    method : str
        The method in use, never "auto".
    message : str
        What went wrong in the last `advance` that did not return OK.

    Raises
    ------
    DimensionError, StateError, UnknownNameError
        For arguments of the wrong shape, not finite, or unknown.
    UnsupportedError
        If robots of this kind have no such method.
    """

    def __init__(
        self,
        robot: Robot,
        dt: float = 1e-3,
        method: str = "auto",
        *,
        q0: np.ndarray | None = None,
        v0: np.ndarray | None = None,
        t0: float = 0.0,
        limits: str = "report",
        saturate: bool = False,
    ) -> None:
        raise NotImplementedError

    def advance(self, steps: int = 1, tau: np.ndarray | None = None) -> int:
        """Advance by a number of steps; returns OK (0), or NOT_FINITE or DIVERGED with the last good state kept.

        tau (nu,), if given, is the commanded effort from now on [N m, N]. Never raises for what the physics does; the
        wrong shape or NaN in tau raise DimensionError or StateError and nothing moves.
        """
        raise NotImplementedError

    def set_state(
        self, q: np.ndarray | None = None, v: np.ndarray | None = None, t: float | None = None
    ) -> None:
        """Replace what is given, clear work, dissipated, steps and saturated; gains, targets, efforts and wrenches stay."""
        raise NotImplementedError

    def set_wrenches(self, wrenches: Mapping[str, Any] | None) -> None:
        """Wrenches that act from now on: mapping frame name -> (6,) (moment; force), world axes, at the frame; None clears."""
        raise NotImplementedError

    def set_servo(self, stiffness: np.ndarray | float = 0.0, damping: np.ndarray | float = 0.0) -> None:
        """Gains (nv,) or one for all [N m/rad, N m s/rad, N/m, N s/m]; zero switches a coordinate's servo off.

        Targets stay. Coordinates without a number of their own in q (turns of a free body) take no stiffness.
        """
        raise NotImplementedError

    def set_stops(
        self, stiffness: np.ndarray | float | None = None, damping: np.ndarray | float | None = None
    ) -> None:
        """Stiffness and damping of the joint stops, (nv,) or one for all; None: the defaults (docs/simulation.md)."""
        raise NotImplementedError

    def energy(self) -> Energy:
        """Energy of the present state [J]."""
        raise NotImplementedError
