"""Robots of `kind` continuum: the verbs of the protocol, and what a soft arm has beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from flexdyn_ros.description import RobotDescription
from flexdyn_ros.dynamics.arguments import (
    Rows,
    by_name,
    check_out,
    explain_status,
    finite_number,
    numbers,
    warn_of_singular_rows,
)
from flexdyn_ros.dynamics.continuum_inverse import ACCEPTED, reach_by_steps, reach_point
from flexdyn_ros.dynamics.continuum_results import Solution
from flexdyn_ros.dynamics.continuum_shape import STATIONS, arc_of, deflection_of
from flexdyn_ros.dynamics.coriolis import coriolis_of
from flexdyn_ros.dynamics.equilibrium import Statics, find_equilibrium
from flexdyn_ros.dynamics.modes import chosen_coordinates, modes_of
from flexdyn_ros.dynamics.results import BiasTerms, Deflection, Energy, Equilibrium, Linearization, Modes
from flexdyn_ros.dynamics.threads import run_in_slices
from flexdyn_ros.dynamics.wrenches import rows_with_wrenches, wrench_rows
from flexdyn_ros.errors import DimensionError, StateError, UnknownNameError, UnsupportedError
from flexdyn_ros.kernels import continuum as kernels
from flexdyn_ros.kernels.compiler import Entry
from flexdyn_ros.model.continuum import PackedArm, SectionFrame, build_arm, carry_payloads
from flexdyn_ros.model.coordinates import Coordinate
from flexdyn_ros.model.payload import Payload, check_payload
from flexdyn_ros.model.placement import IDENTITY

if TYPE_CHECKING:
    from flexdyn_ros.dynamics.motion import Motion

__all__ = ["ContinuumRobot"]

_empty = np.empty
#: pressure around the arm [Pa]: the standard atmosphere
ATMOSPHERE = 101325.0


class ContinuumRobot:
    """A soft arm: sections of constant curvature in series, three actuators each, on a fixed base.

    q holds the length changes of the actuators [m], section by section; tau the actuator forces [N], positive
    when they push longer: M(q) a + h(q, v) = tau + sum J^T w. Straight poses are no singularity. Immutable,
    shared by threads, pickles. Made by `flexdyn_ros.load`. Frames are the links of the URDF and
    SECTION@station; `SECTION/base` and `SECTION/tip` are known too.
    """

    kind = "continuum"

    def __init__(
        self,
        description: RobotDescription,
        payloads: tuple[Payload, ...] = (),
        quadrature: bool = False,
    ) -> None:
        self.description = description
        self._payloads, self._quadrature = payloads, quadrature
        self._arm = arm = carry_payloads(build_arm(description, quadrature=quadrature), payloads)
        self.name = description.name
        self.nq = self.nv = self.nu = len(arm.coordinates)
        self.coordinates: tuple[Coordinate, ...] = arm.coordinates
        self.v_names: tuple[str, ...] = tuple(c.name for c in arm.coordinates)
        self.q_names: tuple[str, ...] = self.v_names
        self.effort_names: tuple[str, ...] = self.v_names
        self.section_names: tuple[str, ...] = tuple(section.joint for section in arm.sections)
        self.frame_names: tuple[str, ...] = tuple(arm.frames)
        self.warnings: tuple[str, ...] = description.warnings
        self.gravity = arm.gravity
        self._packed = PackedArm(arm)
        self._address = self._packed.address
        self._inverse_dynamics = self._bound_when_called("_inverse_dynamics", kernels.inverse_dynamics_one)
        self._forward_dynamics = self._bound_when_called("_forward_dynamics", kernels.forward_dynamics_one)
        self._mass_matrix = self._bound_when_called("_mass_matrix", kernels.mass_matrix_one)
        self._complete = True

    def __setattr__(self, name: str, value: Any) -> None:
        if "_complete" in self.__dict__:
            raise AttributeError(f"robots are immutable; {name!r} cannot be set, load another robot instead")
        super().__setattr__(name, value)

    def _bound_when_called(self, name: str, entry: Entry) -> Callable[..., int]:
        """An entry that is loaded at its first call, and is then itself the attribute of that name."""

        def first_call(*arguments: Any) -> int:
            bound = entry.load()
            self.__dict__[name] = bound
            return bound(*arguments)

        return first_call

    def __reduce__(self) -> tuple[Any, ...]:
        return ContinuumRobot, (self.description, self._payloads, self._quadrature)

    def __repr__(self) -> str:
        return f"<ContinuumRobot {self.name!r}: sections {', '.join(self.section_names)}>"

    # ---- what the robot is ----

    @property
    def mass(self) -> float:
        """Mass of sections and links, those fixed to the world included [kg]."""
        return self._arm.mass

    @cached_property
    def urdf(self) -> Any:
        """The URDF object the robot was loaded from, else its text as `urchin.URDF`, made when first asked
        for."""
        from flexdyn_ros.description.geometry import as_urchin

        return as_urchin(self.description)

    def keep_urdf(self, urdf: Any) -> None:
        """Answer `urdf` with the object that the caller loaded the robot from; it is not pickled."""
        self.__dict__["urdf"] = urdf

    def with_quadrature(self) -> ContinuumRobot:
        """The same arm with the mass of its section integrated by Gauss-Legendre even if there is but one."""
        return ContinuumRobot(self.description, self._payloads, True)

    def with_payload(
        self,
        frame: str,
        mass: float,
        com: Sequence[float] = (0.0, 0.0, 0.0),
        inertia: np.ndarray | None = None,
    ) -> ContinuumRobot:
        """The same robot with a rigid body fixed to the frame of a link, in place of the payload that it
        had; see `TreeRobot.with_payload`."""
        if frame not in self._arm.frames:
            raise UnknownNameError("frame", frame, self.frame_names)
        payload = check_payload(frame, mass, com, inertia)
        others = tuple(p for p in self._payloads if p.frame != frame)
        carried = (*others, payload) if payload.mass > 0.0 else others
        robot = ContinuumRobot(self.description, carried, self._quadrature)
        if "urdf" in self.__dict__:
            robot.keep_urdf(self.urdf)
        return robot

    def index(self, name: str) -> int:
        """Index in v of a coordinate; UnknownNameError if there is none of that name."""
        if name not in self.v_names:
            raise UnknownNameError("coordinate", name, self.v_names)
        return self.v_names.index(name)

    def neutral(self) -> np.ndarray:
        """Undeformed: zeros (nq,)."""
        return np.zeros(self.nq)

    def random(self, rng: np.random.Generator | None = None) -> np.ndarray:
        """Random length changes (nq,) within the strokes."""
        rng = np.random.default_rng() if rng is None else rng
        return rng.uniform([c.lower for c in self.coordinates], [c.upper for c in self.coordinates])

    # ---- verbs ----

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
        """Actuator forces tau = M(q) a + h(q, v) - sum J^T w by a recursion over the sections [N].

        Every coordinate is driven, so that unactuated="free" changes nothing.

        Parameters
        ----------
        q, v, a : (..., nq), (..., nv), (..., nv) arrays
        wrenches : mapping from frame name to (..., 6), optional
            (moment; force) in world axes that act on the arm at the frame's origin.
        out : (..., nu) array, optional

        Raises
        ------
        DimensionError, StateError, UnknownNameError
        """
        if wrenches is None and out is None and unactuated == "given":
            try:
                tau = _empty(self.nv)
                if self._inverse_dynamics(self._address, q, v, a, tau) == 0:
                    return tau
            except TypeError:
                pass
        if unactuated not in ("given", "free"):
            raise UnknownNameError("value of unactuated", unactuated, ("given", "free"))
        n = self.nv
        rows = rows_with_wrenches(wrenches, q=(q, n), v=(v, n), a=(a, n))
        tau = check_out(out, (*rows.shape, n))
        self._loaded(kernels.inverse_dynamics_many, rows, ("q", "v", "a"), wrenches, tau)
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
        """Accelerations a (..., nv) of M a + h = tau + sum J^T w by articulated sections, O(n) [m/s2].

        Parameters
        ----------
        q, v : (..., nq), (..., nv) arrays
        tau : (..., nu) array, optional
            Actuator forces, zero if omitted [N].
        wrenches : mapping from frame name to (..., 6), optional
            (moment; force) in world axes at the frame's origin.
        out : (..., nv) array, optional

        Raises
        ------
        DimensionError, StateError, UnknownNameError, SingularityError
        UnsupportedError
            If accelerations are prescribed.
        """
        n = self.nv
        tau = np.zeros(n) if tau is None else tau
        if wrenches is None and prescribed is None and out is None:
            try:
                a = _empty(n)
                if self._forward_dynamics(self._address, q, v, tau, a) == 0:
                    return a
            except TypeError:
                pass
        if by_name(prescribed, "prescribed", "accelerations (...,)"):
            raise UnsupportedError(
                "no coordinate of a soft arm can be prescribed; kinds tree and mobile have some"
            )
        rows = rows_with_wrenches(wrenches, q=(q, n), v=(v, n), tau=(tau, n))
        a = check_out(out, (*rows.shape, n))
        self._loaded(kernels.forward_dynamics_many, rows, ("q", "v", "tau"), wrenches, a)
        return a

    def mass_matrix(self, q: np.ndarray, *, out: np.ndarray | None = None) -> np.ndarray:
        """Mass matrix M(q) (..., nv, nv) by composite inertias."""
        n = self.nv
        if out is None:
            try:
                M = _empty((n, n))
                if self._mass_matrix(self._address, q, M) == 0:
                    return M
            except TypeError:
                pass
        rows = Rows({"q": (q, n)})
        M = check_out(out, (*rows.shape, n, n))
        self._call(kernels.mass_matrix_many, rows, ("q",), M.reshape(rows.count, n, n))
        return M

    def bias_forces(self, q: np.ndarray, v: np.ndarray, *, out: np.ndarray | None = None) -> np.ndarray:
        """h(q, v) (..., nv): velocity products, gravity, springs, dampers and stops [N]."""
        return self.inverse_dynamics(q, v, np.zeros(self.nv), out=out)

    def bias_terms(self, q: np.ndarray, v: np.ndarray) -> BiasTerms:
        """The parts of `bias_forces`, each (..., nv); external are the stops."""
        rows = Rows({"q": (q, self.nq), "v": (v, self.nv)})
        terms = _empty((rows.count, 5, self.nv))
        self._call(kernels.bias_terms_many, rows, ("q", "v"), terms)
        return BiasTerms(*(np.ascontiguousarray(terms[:, i]).reshape(*rows.shape, self.nv) for i in range(5)))

    def actuation_matrix(self, q: np.ndarray) -> np.ndarray:
        """B (..., nv, nu): the identity."""
        rows = self._checked(q)
        return np.broadcast_to(np.eye(self.nv), (*rows.shape, self.nv, self.nv)).copy()

    def energy(self, q: np.ndarray, v: np.ndarray) -> Energy:
        """Kinetic energy, gravity potential and energy of springs and stops (...,) [J]."""
        rows = Rows({"q": (q, self.nq), "v": (v, self.nv)})
        energy = _empty((rows.count, 3))
        self._call(kernels.energy_many, rows, ("q", "v"), energy)
        return Energy(*(energy[:, i].reshape(rows.shape)[()] for i in range(3)))

    def momentum(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Momentum (..., 6) = (angular about the world origin; linear), world axes, of the distributed mass
        [N m s, N s]."""
        return np.ascontiguousarray(self._momenta(q, v)[..., :6])

    def center_of_mass(self, q: np.ndarray) -> np.ndarray:
        """Centre of mass (..., 3) of all that can move, world axes [m]."""
        found = self._momenta(q, np.zeros(self.nv))
        return found[..., 6:9] / found[..., 9:10]

    def _momenta(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        rows = Rows({"q": (q, self.nq), "v": (v, self.nv)})
        out = _empty((rows.count, 10))
        self._call(kernels.momenta_many, rows, ("q", "v"), out)
        return out.reshape(*rows.shape, 10)

    def frames(self, q: np.ndarray, names: str | Sequence[str] | None = None) -> np.ndarray:
        """Poses of frames in the world: (..., 4, 4) for one name, (..., k, 4, 4) for several (None:
        `frame_names`) [m]."""
        wanted = self.frame_names if names is None else (names,) if isinstance(names, str) else tuple(names)
        poses = self._poses(q, [self._frame(name) for name in wanted])
        return poses[..., 0, :, :] if isinstance(names, str) else poses

    def pose(self, q: np.ndarray, s: Any) -> np.ndarray:
        """Poses (..., k, 4, 4) of slices in the world, s (k,) in [0, n].

        0 is the base, 2.5 half of the third section, whole numbers the distal end of a section before its
        plate.
        """
        at = numbers(s, "s")
        if at.ndim != 1:
            raise DimensionError(f"s has shape {at.shape}, expected (k,)")
        if not ((at >= 0.0) & (at <= len(self.section_names))).all():
            raise StateError(f"s is outside 0 to {len(self.section_names)}, the number of sections")
        sections = np.maximum(np.ceil(at).astype(int) - 1, 0)
        found = [SectionFrame("", int(i), float(x - i), IDENTITY) for i, x in zip(sections, at, strict=True)]
        return self._poses(q, found)

    def jacobian(self, q: np.ndarray, frame: str, *, out: np.ndarray | None = None) -> np.ndarray:
        """J (..., 6, nv): J v = (angular; linear) velocity of the frame's origin, world axes."""
        _, section, eta, placement = self._frame(frame)
        rows = Rows({"q": (q, self.nq)})
        J = check_out(out, (*rows.shape, 6, self.nv))
        point = np.ascontiguousarray(placement.p)

        def call(address: int, work: np.ndarray, q: np.ndarray, J: np.ndarray) -> int:
            return kernels.jacobian_many(address, work, q, section, eta, point, J)

        self._call(call, rows, ("q",), J.reshape(rows.count, 6, self.nv))
        return J

    def deflections(self, q: np.ndarray, stations: Sequence[float] | None = None) -> dict[str, Deflection]:
        """Deformation of each section by its name, at stations (k,) (default 21), in the axes of
        SECTION/base.

        There z points along the undeformed section; curvature and moment are vectors about these axes.
        Moments and forces are those of the actuators' springs; strain is that of the outermost fibre of the
        disc.
        """
        s = np.linspace(0.0, 1.0, STATIONS) if stations is None else numbers(stations, "stations")
        if s.ndim != 1:
            raise DimensionError(f"stations has shape {s.shape}, expected (k,)")
        if not ((s >= 0.0) & (s <= 1.0)).all():
            raise StateError("stations are fractions of the length, from 0 to 1")
        rows = self._checked(q)
        full = rows.take("q").reshape(*rows.shape, self.nq)
        found = {}
        for i, section in enumerate(self._arm.sections):
            slices = [SectionFrame("", i, float(x), IDENTITY) for x in (0.0, *s)]
            poses = self._poses(full, slices)
            base = np.swapaxes(poses[..., :1, :3, :3], -1, -2)
            local = poses[..., 1:, :, :].copy()
            local[..., :3, :3] = base @ poses[..., 1:, :3, :3]
            away = poses[..., 1:, :3, 3] - poses[..., :1, :3, 3]
            local[..., :3, 3] = np.einsum("...ij,...j->...i", base, away)
            found[section.joint] = deflection_of(section, full[..., 3 * i : 3 * i + 3], local, s)
        return found

    def integrate(self, q: np.ndarray, v: np.ndarray, dt: float) -> np.ndarray:
        """q + dt v (..., nq)."""
        rows = Rows({"q": (q, self.nq), "v": (v, self.nv)})
        data = {name: rows.take(name) for name in ("q", "v")}
        _refuse_nonfinite(data)
        return (data["q"] + finite_number(dt, "dt") * data["v"]).reshape(*rows.shape, self.nq)

    def difference(self, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
        """q1 - q0 (..., nv)."""
        rows = Rows({"q0": (q0, self.nq), "q1": (q1, self.nq)})
        data = {name: rows.take(name) for name in ("q0", "q1")}
        _refuse_nonfinite(data)
        return (data["q1"] - data["q0"]).reshape(*rows.shape, self.nv)

    def linearize(
        self,
        q: np.ndarray,
        v: np.ndarray,
        tau: np.ndarray | None = None,
        wrenches: Mapping[str, Any] | None = None,
    ) -> Linearization:
        """A (..., 2 nv, 2 nv), B (..., 2 nv, nu) of x' = A x + B dtau, x = (dq, dv), about the motion at (q,
        v).

        Exact to rounding: complex-step derivatives (Squire & Trapp 1998) of the inverse dynamics, solved with
        the mass matrix.
        """
        n = self.nv
        tau = np.zeros(n) if tau is None else tau
        rows = rows_with_wrenches(wrenches, q=(q, n), v=(v, n), tau=(tau, n))
        data = {name: rows.take(name) for name in ("q", "v", "tau")}
        loads = {name: rows.take(f"wrenches[{name!r}]") for name in wrenches or {}}
        a = self.forward_dynamics(data["q"], data["v"], data["tau"], loads)
        singular = ~np.isfinite(a).all(axis=1)
        a[singular] = 0.0
        dq, dv = self.inverse_dynamics_derivatives(data["q"], data["v"], a, loads)
        M = self.mass_matrix(data["q"])
        M[singular] = np.eye(n)
        A, B = np.zeros((rows.count, 2 * n, 2 * n)), np.zeros((rows.count, 2 * n, n))
        A[:, :n, n:] = np.eye(n)
        A[:, n:, :n], A[:, n:, n:] = -np.linalg.solve(M, dq), -np.linalg.solve(M, dv)
        B[:, n:] = np.linalg.inv(M)
        A[singular, n:] = B[singular, n:] = np.nan
        return Linearization(A.reshape(*rows.shape, 2 * n, 2 * n), B.reshape(*rows.shape, 2 * n, n))

    def coriolis_matrix(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """C (..., nv, nv) of Christoffel's symbols: C v is the velocity part of h, dM/dt - 2 C is skew."""
        rows = Rows({"q": (q, self.nq), "v": (v, self.nv)})
        C = coriolis_of(self, (), rows.take("q"), rows.take("v"))
        return C.reshape(*rows.shape, self.nv, self.nv)

    def modes(self, q: np.ndarray, *, lock: Sequence[str] | str = ()) -> Modes:
        """Modes of vibration about rest at q; see `TreeRobot.modes`. There are no joints to lock: lock takes
        actuator names."""
        locked = chosen_coordinates(lock, self.coordinates, "lock")
        still = np.zeros(self.nv)
        M = self.mass_matrix(q)
        K, D = self.inverse_dynamics_derivatives(q, still, still)
        return modes_of(M, K, D, locked)

    def static_equilibrium(
        self,
        q0: np.ndarray | None = None,
        *,
        hold: Sequence[str] | str = (),
        tau: np.ndarray | None = None,
        wrenches: Mapping[str, Any] | None = None,
    ) -> Equilibrium:
        """The state of rest near q0 under actuator forces tau (nu,), zero if omitted; see
        `TreeRobot.static_equilibrium`.

        stable tells a minimum of the potential from a saddle: an upright arm may buckle.
        """
        n = self.nv
        held = chosen_coordinates(hold, self.coordinates, "hold")
        tau = np.zeros(n) if tau is None else tau
        q0 = self.neutral() if q0 is None else q0
        rows = rows_with_wrenches(wrenches, q0=(q0, n), tau=(tau, n))
        if rows.shape:
            raise DimensionError(f"static_equilibrium takes single states, got a batch of shape {rows.shape}")
        data = {"q": rows.take("q0"), "tau": rows.take("tau")}
        _refuse_nonfinite(data)
        still = np.zeros(n)
        statics = Statics(
            load=lambda q: self.inverse_dynamics(q, still, still, wrenches),
            stiffness=lambda q: self.inverse_dynamics_derivatives(q, still, still, wrenches)[0],
            mass=self.mass_matrix,
            move=lambda q, dq: q + dq,
        )
        return find_equilibrium(statics, data["q"][0].copy(), data["tau"][0], held)

    def inverse_dynamics_derivatives(
        self, q: np.ndarray, v: np.ndarray, a: np.ndarray, wrenches: Mapping[str, Any] | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """d tau / dq and d tau / dv of `inverse_dynamics`, each (..., nv, nv), by the complex step."""
        n = self.nv
        rows = rows_with_wrenches(wrenches, q=(q, n), v=(v, n), a=(a, n))
        data = {name: rows.take(name) for name in ("q", "v", "a")}
        dq, dv = _empty((rows.count, n, n)), _empty((rows.count, n, n))
        points = self._points(wrenches)

        def call(*arrays: np.ndarray) -> int:
            q, v, a, w, dq, dv = arrays
            work = self._packed.work(np.complex128)
            return kernels.inverse_dynamics_derivatives_many(self._address, work, q, v, a, *points, w, dq, dv)

        status = run_in_slices(call, [*data.values(), wrench_rows(rows, wrenches), dq, dv])
        explain_status(status, data)
        return dq.reshape(*rows.shape, n, n), dv.reshape(*rows.shape, n, n)

    # ---- what soft arms have beside the verbs ----

    def arc_parameters(self, q: np.ndarray) -> np.ndarray:
        """(..., n, 3) per section: curvature [1/m], bending angle [rad], and the direction about the base's z
        towards which it bends [rad], 0 for a straight section."""
        rows = self._checked(q)
        full = rows.take("q").reshape(*rows.shape, self.nq)
        arcs = [arc_of(section, full[..., 3 * i : 3 * i + 3]) for i, section in enumerate(self._arm.sections)]
        return np.stack(arcs, axis=-2)

    def pressures(self, q: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """Absolute pressures (..., nu) [Pa] that make actuator forces tau: p = p_atm + tau / area.

        q is not used by this law; it is asked for so that one that depends on the length may take its place.

        Raises
        ------
        UnsupportedError
            If a section has no <pressure>.
        """
        rows = Rows({"q": (q, self.nq), "tau": (tau, self.nu)})
        data = {name: rows.take(name) for name in ("q", "tau")}
        _refuse_nonfinite(data)
        return (ATMOSPHERE + data["tau"] / self.pressure_areas).reshape(*rows.shape, self.nu)

    @cached_property
    def pressure_areas(self) -> np.ndarray:
        """Effective areas (nu,) of the actuators [m2]; UnsupportedError if a section has no <pressure>."""
        areas = []
        for section in self._arm.sections:
            if section.pressure is None:
                raise UnsupportedError(
                    f"section '{section.joint}' has no <pressure area>: its actuators take forces"
                )
            areas += [section.pressure.area] * 3
        return np.array(areas)

    def inverse_kinematics(self, target: np.ndarray, q0: np.ndarray | None = None) -> Solution:
        """Length changes that bring the distal end of the last section, before its plate, to a target.

        One section and a point: closed form, whatever q0. Else damped least squares from q0 (neutral() if
        omitted; a straight arm on its own axis cannot tell where to bend). Strokes are not judged here.

        Parameters
        ----------
        target : (..., 3) position or (..., 4, 4) pose in the world [m]
        q0 : (nq,) array, optional

        Returns
        -------
        Solution
            converged: the largest deviation, `residual` [m, rad], is below 1e-9.
        """
        wanted = numbers(target, "target")
        whole = wanted.ndim >= 2 and wanted.shape[-2:] == (4, 4)
        if not whole and (wanted.ndim == 0 or wanted.shape[-1] != 3):
            raise DimensionError(f"target has shape {wanted.shape}, expected (..., 3) or (..., 4, 4)")
        _refuse_nonfinite({"target": wanted.reshape(1, -1)})
        if not whole and len(self.section_names) == 1:
            return self._reach_point(wanted)
        start = self.neutral() if q0 is None else numbers(q0, "q0", self.nq)
        tail = (4, 4) if whole else (3,)
        batch = wanted.shape[: wanted.ndim - len(tail)]
        name = f"{self.section_names[-1]}/tip"
        found = [
            reach_by_steps(
                lambda q: self.frames(q, name), lambda q: self.jacobian(q, name), each, start.copy()
            )
            for each in wanted.reshape(-1, *tail)
        ]
        parts = zip(*found, strict=True) if found else ([], [], [], [])
        q, converged, iterations, residual = (np.array(list(part)) for part in parts)
        return Solution(
            q.reshape(*batch, self.nq),
            converged.reshape(batch)[()].astype(bool),
            iterations.reshape(batch)[()],
            residual.reshape(batch)[()],
        )

    def _reach_point(self, target: np.ndarray) -> Solution:
        base = self._arm.bases[0]
        q = reach_point(self._arm.sections[0], (target - base.p) @ base.R)
        reached = self.pose(q, [1.0])[..., 0, :3, 3]
        residual = np.abs(reached - target).max(axis=-1)
        return Solution(q, residual < ACCEPTED, np.zeros(residual.shape, dtype=np.int64)[()], residual)

    @cached_property
    def motion(self) -> Motion:
        """What steps in time need of the arm: compiled, implicit in springs and dampers."""
        from flexdyn_ros.dynamics.continuum_motion import continuum_motion

        return continuum_motion(self._arm, self._packed, self._place)

    def _place(self, names: Iterable[str]) -> tuple[Motion, np.ndarray, np.ndarray]:
        """Where the steps let wrenches on frames act."""
        from flexdyn_ros.dynamics.continuum_motion import slice_points

        return self.motion, *slice_points(self._frame(name) for name in names)

    # ---- behind the verbs ----

    def _frame(self, name: str) -> SectionFrame:
        """The frame of a link, SECTION@station, SECTION/base or SECTION/tip."""
        if isinstance(name, str):
            if name in self._arm.frames:
                return self._arm.frames[name]
            section, sign, station = name.rpartition("@")
            if not sign:
                section, _, station = name.rpartition("/")
                station = {"base": "0", "tip": "1"}.get(station, "")
            eta = _station(station)
            if section in self.section_names and eta is not None:
                return SectionFrame(name, self.section_names.index(section), eta, IDENTITY)
        raise UnknownNameError("frame", name, (*self.frame_names, *(f"{s}@0.5" for s in self.section_names)))

    def _poses(self, q: np.ndarray, frames: list[SectionFrame]) -> np.ndarray:
        """(..., k, 4, 4) in the world."""
        rows = Rows({"q": (q, self.nq)})
        sections = np.array([f.section for f in frames], dtype=np.int64)
        etas = np.array([f.eta for f in frames], dtype=np.float64)
        placements = np.array([f.placement.flat() for f in frames]).reshape(len(frames), 12)
        poses = _empty((rows.count, len(frames), 4, 4))

        def call(address: int, work: np.ndarray, q: np.ndarray, poses: np.ndarray) -> int:
            return kernels.frames_many(address, work, q, sections, etas, placements, poses)

        self._call(call, rows, ("q",), poses)
        return poses.reshape(*rows.shape, len(frames), 4, 4)

    def _points(self, wrenches: Mapping[str, Any] | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Sections (k,), stations (k,) and points (k, 3) in slice axes at which the wrenches act."""
        frames = [self._frame(name) for name in wrenches or {}]
        return (
            np.array([f.section for f in frames], dtype=np.int64),
            np.array([f.eta for f in frames], dtype=np.float64),
            np.array([f.placement.p for f in frames], dtype=np.float64).reshape(len(frames), 3),
        )

    def _loaded(
        self,
        kernel: Callable[..., int],
        rows: Rows,
        names: tuple[str, ...],
        wrenches: Mapping[str, Any] | None,
        out: np.ndarray,
    ) -> None:
        """One of the dynamics with wrenches over all rows."""
        data = {name: rows.take(name) for name in names}
        result = out.reshape(rows.count, self.nv)
        points = self._points(wrenches)

        def call(*arrays: np.ndarray) -> int:
            x, y, z, w, result = arrays
            return kernel(self._address, self._packed.work(), x, y, z, *points, w, result)

        status = run_in_slices(call, [*data.values(), wrench_rows(rows, wrenches), result])
        if status:
            explain_status(status, data)
            warn_of_singular_rows(result, data, "the mass matrix", rows.shape)

    def _call(
        self, kernel: Callable[..., int], rows: Rows, names: tuple[str, ...], result: np.ndarray
    ) -> None:
        """An entry (address, work, *rows, result) over all rows."""
        data = {name: rows.take(name) for name in names}

        def call(*arrays: np.ndarray) -> int:
            return kernel(self._address, self._packed.work(), *arrays)

        explain_status(run_in_slices(call, [*data.values(), result]), data)

    def _checked(self, q: np.ndarray) -> Rows:
        """q as rows; StateError if one is not finite."""
        rows = Rows({"q": (q, self.nq)})
        _refuse_nonfinite({"q": rows.take("q")})
        return rows


def _refuse_nonfinite(data: Mapping[str, np.ndarray]) -> None:
    """StateError if rows (n, ...) of some argument hold NaN or infinity."""
    for name, rows in data.items():
        wrong = np.flatnonzero(~np.isfinite(rows.reshape(len(rows), -1)).all(axis=1))
        if wrong.size:
            explain_status(2 + 8 * int(wrong[0]), {name: rows})


def _station(text: str) -> float | None:
    """A station as a fraction of the length; None if it is none."""
    try:
        eta = {"root": 0.0, "tip": 1.0}.get(text)
        eta = float(text) if eta is None else eta
    except ValueError:
        return None
    return eta if 0.0 <= eta <= 1.0 else None
