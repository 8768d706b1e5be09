"""The verbs of `flexdyn_ros.Robot` that follow from the others: linearize, modes, static_equilibrium."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from flexdyn_ros.errors import DimensionError, FlexdynWarning
from flexdyn_ros.robot.analysis.equilibrium import Statics, find_equilibrium
from flexdyn_ros.robot.analysis.modes import chosen_coordinates, modes_of
from flexdyn_ros.robot.analysis.small_deflections import beyond_linear, warning_of
from flexdyn_ros.robot.arguments import Rows, check_out
from flexdyn_ros.robot.results import Equilibrium, Linearization, Modes
from flexdyn_ros.robot.verbs import StateVerbs
from flexdyn_ros.robot.wrenches import flat_wrenches, rows_with_wrenches

__all__ = ["DirectVerbs", "RobotVerbs"]


class RobotVerbs(StateVerbs):
    """All verbs. A family adds what `FamilyRows` asks for; no method that has a body is overridden."""

    def linearize(
        self,
        q: np.ndarray,
        v: np.ndarray,
        tau: np.ndarray | None = None,
        wrenches: Mapping[str, Any] | None = None,
    ) -> Linearization:
        """A (..., 2 nv, 2 nv), B (..., 2 nv, nu) of x' = A x + B dtau, x = (dq in R^nv, dv), about the motion
        at (q, v).

        Exact to rounding: complex-step derivatives (Squire & Trapp 1998) of M a + h - B tau - sum J^T w,
        solved with the mass matrix. The angular part of dq of a free body is a small turn in world axes, so
        that its rate is dw + w x dq.
        """
        nv, nu = self.nv, self.nu
        tau = np.zeros(nu) if tau is None else tau
        rows = rows_with_wrenches(wrenches, q=(q, self.nq), v=(v, nv), tau=(tau, nu))
        a = self.forward_dynamics(q, v, tau, wrenches).reshape(rows.count, nv)
        singular = ~np.isfinite(a).all(axis=1)
        a[singular] = 0.0
        flat = flat_wrenches(rows, wrenches)
        motion = {name: (rows.take(name), size) for name, size in (("q", self.nq), ("v", nv), ("tau", nu))}
        dq, dv = self._slopes_rows(rows_with_wrenches(flat, **motion, a=(a, nv)), flat)
        M = self.mass_matrix(rows.take("q"))
        M[singular] = np.eye(nv)
        A, B = np.zeros((rows.count, 2 * nv, 2 * nv)), np.zeros((rows.count, 2 * nv, nu))
        A[:, :nv, nv:] = np.eye(nv)
        self._turn_errors(rows.take("v"), A)
        free = np.flatnonzero(~self._prescribed)
        inverse = np.zeros_like(M)
        inverse[:, free[:, None], free] = np.linalg.inv(M[:, free[:, None], free])
        A[:, nv:, :nv] = -inverse @ dq
        A[:, nv:, nv:] = -inverse @ dv
        direct = self.effort_names == self.v_names
        B[:, nv:] = inverse if direct else inverse @ self.actuation_matrix(rows.take("q"))
        A[singular, nv:] = B[singular, nv:] = np.nan
        return Linearization(A.reshape(*rows.shape, 2 * nv, 2 * nv), B.reshape(*rows.shape, 2 * nv, nu))

    def _turn_errors(self, v: np.ndarray, A: np.ndarray) -> None:
        """Rates w x dq of the small turns of free bodies."""
        for i in self._free_twists:
            w = v[:, i : i + 3]
            A[:, i, i + 1], A[:, i, i + 2] = -w[:, 2], w[:, 1]
            A[:, i + 1, i], A[:, i + 1, i + 2] = w[:, 2], -w[:, 0]
            A[:, i + 2, i], A[:, i + 2, i + 1] = -w[:, 1], w[:, 0]

    def modes(self, q: np.ndarray, *, lock: Sequence[str] | str = ()) -> Modes:
        """Modes of vibration about rest at q: K = d(h - damping)/dq, D = dh/dv at v = 0; see
        `robot/analysis/modes.py`.

        Platforms with `<hydraulics>` stand on the oil columns behind closed valves: K = J^T diag(K_h) J, each
        leg a spring of the stiffness that its oil has at the present stroke, between supply and tank pressure
        (`Hydraulics.stiffness`). The geometric stiffness of the load is left out, some 0.04 % of frequencies
        in the example (parallel specification, 8.5). D is the viscous friction of the cylinders; dry friction
        and leakage are left out.

        Parameters
        ----------
        q : (..., nq) array
        lock : coordinate names, or "joints": these stand still and have no part in the modes

        Returns
        -------
        Modes
            frequency (..., m) [Hz], rising; damping_ratio (..., m), inf for frequency 0; shape (..., nv, m)
            of unit M-norm; unstable (...): an eigenvalue is negative (its frequency is given as 0). m = nv -
            number locked.

        Raises
        ------
        DimensionError, StateError, UnknownNameError, SingularityError

        Warns
        -----
        FlexdynWarning
            Where q bends links further than the linear beam holds.
        """
        locked = chosen_coordinates(lock, self.coordinates, "lock") | self._prescribed
        M = self.mass_matrix(q)
        sizes = {"v": self.nv, "a": self.nv, "tau": self.nu}
        still = {name: (np.zeros(size), size) for name, size in sizes.items()}
        K, D = self._springs_rows(Rows({"q": (q, self.nq), **still}))
        _warn_of_large_deflections(self, np.asarray(q, dtype=np.float64))
        return modes_of(M, K.reshape(M.shape), D.reshape(M.shape), locked)

    def static_equilibrium(
        self,
        q0: np.ndarray | None = None,
        *,
        hold: Sequence[str] | str = (),
        tau: np.ndarray | None = None,
        wrenches: Mapping[str, Any] | None = None,
    ) -> Equilibrium:
        """The state of rest near q0; see `robot/analysis/equilibrium.py`.

        Parameters
        ----------
        q0 : (nq,) array, optional
            Where to start; neutral() if omitted.
        hold : coordinate names, or "joints": these stay and get the efforts that this takes
        tau : (nu,) array, optional
            Efforts of the others, zero if omitted [N m, N]. Leg forces that come back hold what is held of a
            platform and balance the rest; hold the motors of elastic joints for a braked arm.
        wrenches : mapping from frame name to (6,), optional
            (moment; force) in world axes at the frame's origin.

        Returns
        -------
        Equilibrium
            stable: the Hessian of the potential, held coordinates left out, has no negative eigenvalue.

        Raises
        ------
        DimensionError, StateError, UnknownNameError, ConvergenceError

        Warns
        -----
        FlexdynWarning
            Where links bend further than the linear beam holds.
        """
        held = chosen_coordinates(hold, self.coordinates, "hold") | self._prescribed
        tau = np.zeros(self.nu) if tau is None else tau
        q0 = self.neutral() if q0 is None else q0
        rows = rows_with_wrenches(wrenches, q0=(q0, self.nq), tau=(tau, self.nu))
        if rows.shape:
            raise DimensionError(f"static_equilibrium takes single states, got a batch of shape {rows.shape}")
        start, effort = rows.take("q0"), rows.take("tau")
        self._check({"q": start, "tau": effort})
        found = self._rest(start[0].copy(), effort[0], held, wrenches)
        _warn_of_large_deflections(self, found.q)
        return found


def _warn_of_large_deflections(robot: Any, q: np.ndarray) -> None:
    """Warn the caller of a verb where links bend too far at rows of q (..., nq)."""
    found = beyond_linear(robot, q.reshape(-1, robot.nq)) if getattr(robot, "tips", ()) else []
    if found:
        warnings.warn(f"robot {robot.name!r}: {warning_of(found)}", FlexdynWarning, 3)


class DirectVerbs(RobotVerbs):
    """Verbs of robots whose coordinates have an effort each: B is the identity."""

    def actuation_matrix(self, q: np.ndarray, *, out: np.ndarray | None = None) -> np.ndarray:
        """B (..., nv, nu): the identity."""
        rows = Rows({"q": (q, self.nq)})
        B = check_out(out, (*rows.shape, self.nv, self.nv))
        self._check({"q": rows.take("q")})
        B[...] = np.eye(self.nv)
        return B

    def coriolis_matrix(self, q: np.ndarray, v: np.ndarray, *, out: np.ndarray | None = None) -> np.ndarray:
        """C (..., nv, nv): C v is the velocity part of h, dM/dt - 2 C is skew (Echeandia & Wensing 2021).

        Of trees that bend and of soft arms: see `robot/analysis/coriolis.py`. Zero for motors of elastic
        joints.
        """
        rows = Rows({"q": (q, self.nq), "v": (v, self.nv)})
        C = check_out(out, (*rows.shape, self.nv, self.nv))
        C.reshape(rows.count, self.nv, self.nv)[...] = self._coriolis_rows(rows)
        return C

    @abstractmethod
    def _coriolis_rows(self, rows: Rows) -> np.ndarray:
        """(count, nv, nv); `rows` hold q and v."""

    def inverse_dynamics_derivatives(
        self, q: np.ndarray, v: np.ndarray, a: np.ndarray, wrenches: Mapping[str, Any] | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """d tau / dq (tangent) and d tau / dv of `inverse_dynamics`, each (..., nv, nv), by the complex
        step."""
        rows = rows_with_wrenches(wrenches, q=(q, self.nq), v=(v, self.nv), a=(a, self.nv))
        dq, dv = self._slopes_rows(rows, wrenches)
        shape = (*rows.shape, self.nv, self.nv)
        return dq.reshape(shape), dv.reshape(shape)

    def _bias_forces_rows(self, rows: Rows, h: np.ndarray) -> None:
        self._inverse_dynamics_rows(rows, None, h)

    def _springs_rows(self, rows: Rows) -> tuple[np.ndarray, np.ndarray]:
        return self._slopes_rows(rows, None)

    def _rest(
        self, q: np.ndarray, tau: np.ndarray, held: np.ndarray, wrenches: Mapping[str, Any] | None
    ) -> Equilibrium:
        still = np.zeros(self.nv)
        statics = Statics(
            load=lambda q: self.inverse_dynamics(q, still, still, wrenches),
            stiffness=lambda q: self.inverse_dynamics_derivatives(q, still, still, wrenches)[0],
            mass=self.mass_matrix,
            move=lambda q, dq: self.integrate(q, dq, 1.0),
        )
        return find_equilibrium(statics, q, tau, held)
