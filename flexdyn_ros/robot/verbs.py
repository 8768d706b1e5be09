"""The verbs of `flexdyn_ros.Robot` that take a state: their arguments, batches and shapes.

A verb makes rows (count, ...) of its arguments, lets the family compute rows of results (`FamilyRows`), and
gives them the shape of the batch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from flexdyn_ros.errors import DimensionError, SingularityError, StateError, UnknownNameError
from flexdyn_ros.robot.arguments import Rows, by_name, check_out, finite_number, numbers
from flexdyn_ros.robot.family import FamilyRows
from flexdyn_ros.robot.results import BiasTerms, Energy
from flexdyn_ros.robot.wrenches import rows_with_wrenches

__all__ = ["StateVerbs"]

_empty = np.empty


class StateVerbs(FamilyRows):
    """Dynamics and geometry at a state."""

    # ---- dynamics ----

    def inverse_dynamics(
        self,
        q: np.ndarray,
        v: np.ndarray,
        a: np.ndarray,
        wrenches: Mapping[str, Any] | None = None,
        *,
        unactuated: str = "given",
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """Efforts tau of B(q) tau = M(q) a + h(q, v) - sum J^T w.

        Trees: recursive Newton-Euler algorithm (Luh, Walker & Paul 1980). Platforms: leg by leg (Dasgupta &
        Mruthyunjaya 1998). Soft arms: a recursion over the sections.

        Parameters
        ----------
        q, v, a : (..., nq), (..., nv), (..., nv) arrays
        wrenches : mapping from frame name to (..., 6), optional
            (moment; force) in world axes that act on the robot at the frame's origin.
        unactuated : {"given", "free"}
            "free": accelerations of coordinates that are not actuated are ignored and solved so that their
            efforts are 0. Nothing changes where legs or actuators drive every coordinate.
        out : (..., nu) array, optional

        Returns
        -------
        tau : (..., nu) array [N m, N]

        Raises
        ------
        DimensionError, StateError, UnknownNameError
        SingularityError
            Platforms: the smallest singular value of the homogeneous leg Jacobian, `.measure`, is below 1e-6;
            in a batch such rows are NaN and a FlexdynWarning says how many.
        """
        if wrenches is None and unactuated == "given" and out is None:
            try:
                tau = _empty(self.nu)
                if self._inverse_dynamics(self._address, q, v, a, tau) == 0:
                    return tau
            except TypeError:
                pass
        if unactuated not in ("given", "free"):
            raise UnknownNameError("value of unactuated", unactuated, ("given", "free"))
        if unactuated == "free" and not self._driven.all():
            return _write(out, self._partial(q, v, None, a, self._driven, wrenches)[0])
        rows = rows_with_wrenches(wrenches, q=(q, self.nq), v=(v, self.nv), a=(a, self.nv))
        tau = check_out(out, (*rows.shape, self.nu))
        self._inverse_dynamics_rows(rows, wrenches, tau.reshape(rows.count, self.nu))
        return tau

    def forward_dynamics(
        self,
        q: np.ndarray,
        v: np.ndarray,
        tau: np.ndarray | None = None,
        wrenches: Mapping[str, Any] | None = None,
        *,
        prescribed: Mapping[str, Any] | None = None,
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """Accelerations a of M(q) a + h(q, v) = B(q) tau + sum J^T w, by articulated bodies (Featherstone
        2008) or sections; of platforms with one 6 x 6 system, also where the leg Jacobian is singular.

        Robots with mimic joints, and calls with prescribed accelerations, take the mass matrix and Cholesky
        instead.

        Parameters
        ----------
        q, v : (..., nq), (..., nv) arrays
        tau : (..., nu) array, optional
            Zero if omitted [N m, N]; that of a prescribed coordinate is not used.
        wrenches : mapping from frame name to (..., 6), optional
            (moment; force) in world axes at the frame's origin.
        prescribed : mapping from coordinate name to (...,), optional
            Accelerations that are given; `inverse_dynamics` of the result tells the efforts they take.
        out : (..., nv) array, optional

        Returns
        -------
        a : (..., nv) array

        Raises
        ------
        DimensionError, StateError, UnknownNameError, SingularityError
        """
        if tau is None:
            tau = np.zeros(self.nu)
        if wrenches is None and prescribed is None and out is None and not self._by_mass_matrix:
            try:
                a = _empty(self.nv)
                if self._forward_dynamics(self._address, q, v, tau, a) == 0:
                    return a
            except TypeError:
                pass
        chosen = by_name(prescribed, "prescribed", "accelerations (...,)")
        self._refuse_given_effort(tau)
        if chosen or self._by_mass_matrix:
            given, a = self._given_accelerations(chosen)
            return _write(out, self._partial(q, v, tau, a, given, wrenches)[1])
        rows = rows_with_wrenches(wrenches, q=(q, self.nq), v=(v, self.nv), tau=(tau, self.nu))
        a = check_out(out, (*rows.shape, self.nv))
        self._forward_dynamics_rows(rows, wrenches, a.reshape(rows.count, self.nv))
        return a

    def mass_matrix(self, q: np.ndarray, *, out: np.ndarray | None = None) -> np.ndarray:
        """Mass matrix M(q) (..., nv, nv), rotors included, by composite bodies (Featherstone 2008)."""
        if out is None:
            try:
                M = _empty((self.nv, self.nv))
                if self._mass_matrix(self._address, q, M) == 0:
                    return M
            except TypeError:
                pass
        rows = Rows({"q": (q, self.nq)})
        M = check_out(out, (*rows.shape, self.nv, self.nv))
        self._mass_matrix_rows(rows, M.reshape(rows.count, self.nv, self.nv))
        return M

    def bias_forces(self, q: np.ndarray, v: np.ndarray, *, out: np.ndarray | None = None) -> np.ndarray:
        """h(q, v) (..., nv): all that depends on neither a nor tau: velocity products, gravity, springs,
        damping and friction, stops, suspension [N m, N].

        Of platforms a wrench at the platform's origin.
        """
        rows = Rows({"q": (q, self.nq), "v": (v, self.nv), "a": (np.zeros(self.nv), self.nv)})
        h = check_out(out, (*rows.shape, self.nv))
        self._bias_forces_rows(rows, h.reshape(rows.count, self.nv))
        return h

    def bias_terms(self, q: np.ndarray, v: np.ndarray) -> BiasTerms:
        """The parts of `bias_forces`, each (..., nv); external are suspension, tyres and stops."""
        rows = Rows({"q": (q, self.nq), "v": (v, self.nv)})
        terms = self._bias_terms_rows(rows)
        return BiasTerms(*(np.ascontiguousarray(terms[:, i]).reshape(*rows.shape, self.nv) for i in range(5)))

    def energy(self, q: np.ndarray, v: np.ndarray) -> Energy:
        """Kinetic energy (rotors included), gravity potential, elastic energy (...,) [J]."""
        rows = Rows({"q": (q, self.nq), "v": (v, self.nv)})
        energy = self._energy_rows(rows)
        return Energy(*(np.ascontiguousarray(energy[:, i]).reshape(rows.shape)[()] for i in range(3)))

    def momentum(self, q: np.ndarray, v: np.ndarray, *, out: np.ndarray | None = None) -> np.ndarray:
        """Momentum (..., 6) = (angular about the world origin; linear), world axes [N m s, N s]; rotors' spin
        left out."""
        rows = Rows({"q": (q, self.nq), "v": (v, self.nv)})
        momentum = check_out(out, (*rows.shape, 6))
        momentum.reshape(rows.count, 6)[...] = self._momenta_rows(rows)[:, :6]
        return momentum

    def center_of_mass(self, q: np.ndarray, *, out: np.ndarray | None = None) -> np.ndarray:
        """Centre of mass (..., 3) of all that can move, world axes [m]; what is fixed to the world does not
        count.

        Raises
        ------
        DimensionError, StateError
        SingularityError
            If nothing that can move has mass.
        """
        rows = Rows({"q": (q, self.nq), "v": (np.zeros(self.nv), self.nv)})
        com = check_out(out, (*rows.shape, 3))
        found = self._momenta_rows(rows)
        if rows.count and not found[0, 9]:
            raise SingularityError("no body that can move has mass: there is no centre of mass", 0.0)
        com.reshape(rows.count, 3)[...] = found[:, 6:9] / found[:, 9:10]
        return com

    # ---- geometry ----

    def frames(
        self, q: np.ndarray, names: str | Sequence[str] | None = None, *, out: np.ndarray | None = None
    ) -> np.ndarray:
        """Poses of frames in the world: (..., 4, 4) for one name, (..., k, 4, 4) for several (None:
        `frame_names`) [m]."""
        wanted = self.frame_names if names is None else (names,) if isinstance(names, str) else tuple(names)
        rows = Rows({"q": (q, self.nq)})
        tail = (4, 4) if isinstance(names, str) else (len(wanted), 4, 4)
        poses = check_out(out, (*rows.shape, *tail))
        self._frames_rows(rows, wanted, poses.reshape(rows.count, len(wanted), 4, 4))
        return poses

    def jacobian(self, q: np.ndarray, frame: str, *, out: np.ndarray | None = None) -> np.ndarray:
        """J (..., 6, nv): J v = (angular; linear) velocity of the frame's origin, world axes."""
        rows = Rows({"q": (q, self.nq)})
        J = check_out(out, (*rows.shape, 6, self.nv))
        self._jacobian_rows(rows, frame, J.reshape(rows.count, 6, self.nv))
        return J

    def integrate(
        self, q: np.ndarray, v: np.ndarray, dt: float, *, out: np.ndarray | None = None
    ) -> np.ndarray:
        """q moved by v for dt seconds (..., nq): sums, and the exponential map for free bodies (R <-
        exp([w dt]) R), whose quaternions come back with unit length."""
        rows = Rows({"q": (q, self.nq), "v": (v, self.nv)})
        moved = check_out(out, (*rows.shape, self.nq))
        moved.reshape(rows.count, self.nq)[...] = self._integrate_rows(rows, finite_number(dt, "dt"))
        return moved

    def difference(self, q0: np.ndarray, q1: np.ndarray, *, out: np.ndarray | None = None) -> np.ndarray:
        """v (..., nv) with integrate(q0, v, 1) = q1; continuous joints go the short way, within (-pi, pi]."""
        rows = Rows({"q0": (q0, self.nq), "q1": (q1, self.nq)})
        way = check_out(out, (*rows.shape, self.nv))
        way.reshape(rows.count, self.nv)[...] = self._difference_rows(rows)
        return way

    # ---- accelerations that are given ----

    def _given_accelerations(self, prescribed: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray]:
        """Mask (nv,) of the coordinates in `prescribed` and their accelerations (..., nv), zero elsewhere."""
        given = self._prescribed.copy()
        values = [numbers(value, f"prescribed[{name!r}]") for name, value in prescribed.items()]
        try:
            shape = np.broadcast_shapes(*(value.shape for value in values))
        except ValueError:
            raise DimensionError("the arrays in prescribed do not broadcast") from None
        a = np.zeros((*shape, self.nv))
        for name, value in zip(prescribed, values, strict=True):
            given[self.index(name)] = True
            a[..., self.index(name)] = value
        return given, a

    def _refuse_given_effort(self, tau: Any) -> None:
        """StateError if an effort is given where the motion is."""
        if self._prescribed.any():
            efforts = numbers(tau, "tau", self.nv)[..., self._prescribed]
            if np.any(efforts != 0.0):
                name = self.v_names[int(np.argmax(self._prescribed))]
                raise StateError(
                    f"tau[{self.index(name)}] is {efforts.ravel()[0]}, expected 0: the motion of {name!r} is "
                    "prescribed, its effort follows (inverse_dynamics, drive_force)"
                )


def _write(out: np.ndarray | None, result: np.ndarray) -> np.ndarray:
    """`result`, in `out` if there is one."""
    if out is None:
        return result
    check_out(out, result.shape)[...] = result
    return out
