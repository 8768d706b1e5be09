"""Robots of `kind` platform: the verbs of the protocol, and what six legs have beside them."""

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
    warn_of_singular_rows,
)
from flexdyn_ros.dynamics.equilibrium import Statics, find_equilibrium
from flexdyn_ros.dynamics.modes import chosen_coordinates, modes_of
from flexdyn_ros.dynamics.platform_margins import homogeneous, margins_of
from flexdyn_ros.dynamics.platform_pose import complain, refusals, turn_between
from flexdyn_ros.dynamics.platform_results import Legs, LegStates, Margins, Pose, Reactions
from flexdyn_ros.dynamics.results import BiasTerms, Energy, Equilibrium, Linearization, Modes
from flexdyn_ros.dynamics.threads import run_in_slices
from flexdyn_ros.dynamics.wrenches import rows_with_wrenches, wrench_rows
from flexdyn_ros.errors import (
    DimensionError,
    SingularityError,
    UnknownNameError,
    UnsupportedError,
)
from flexdyn_ros.kernels import platform_kinematics as columns
from flexdyn_ros.kernels import platform_verbs as kernels
from flexdyn_ros.kernels import rigid
from flexdyn_ros.kernels.compiler import Entry
from flexdyn_ros.model.coordinates import Coordinate
from flexdyn_ros.model.packed_platform import PackedPlatform, pose_manifold
from flexdyn_ros.model.payload import Payload, check_payload
from flexdyn_ros.model.platform_reach import check_reach
from flexdyn_ros.model.platform_tables import LegFacts, PlatformTables, build_platform_tables
from flexdyn_ros.model.tree import Frame

if TYPE_CHECKING:
    from flexdyn_ros.dynamics.hydraulics import Hydraulics
    from flexdyn_ros.dynamics.motion import Motion

__all__ = ["PlatformRobot"]

_empty = np.empty
#: smallest singular value of the homogeneous Jacobian at which inverse dynamics still answers
SINGULAR_BELOW = 1e-6


class PlatformRobot:
    """A rigid platform on six legs, each a universal joint, a slider and a spherical joint.

    q is the pose of the platform's frame in the world (position, quaternion x y z w), v its twist (angular;
    linear) in world axes, tau the six axial forces of cylinder on rod, in the order of the legs: M(q) a +
    h(q, v) = J^T tau + sum J^T w. Immutable, shared by threads, pickles. Made by `flexdyn_ros.load`.
    """

    kind = "platform"
    nq, nv, nu = 7, 6, 6

    def __init__(self, description: RobotDescription, payloads: tuple[Payload, ...] = ()) -> None:
        self.description = description
        self._payloads = payloads
        self._tables: PlatformTables = build_platform_tables(description, payloads)
        self.name = description.name
        self.coordinates: tuple[Coordinate, ...] = self._tables.coordinates
        self.q_names: tuple[str, ...] = self._tables.q_names
        self.v_names: tuple[str, ...] = tuple(c.name for c in self.coordinates)
        self.legs: tuple[LegFacts, ...] = self._tables.legs
        self.effort_names: tuple[str, ...] = tuple(leg.name for leg in self.legs)
        self.frame_names: tuple[str, ...] = tuple(self._tables.frames)
        self.warnings: tuple[str, ...] = description.warnings
        self.gravity = np.array(description.gravity)
        self.gravity.setflags(write=False)
        self._packed = PackedPlatform(self._tables)
        self._address = self._packed.address
        check_reach(description, self._tables, self._packed)
        self._manifold = pose_manifold(self.gravity)
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
        return PlatformRobot, (self.description, self._payloads)

    def __repr__(self) -> str:
        return f"<PlatformRobot {self.name!r}: legs {', '.join(self.effort_names)}>"

    # ---- what the robot is ----

    @property
    def mass(self) -> float:
        """Mass of all links, those fixed to the world included [kg]."""
        return self._tables.mass

    @cached_property
    def urdf(self) -> Any:
        """The URDF object the robot was loaded from, else its text as `urchin.URDF`, made when first asked
        for."""
        from flexdyn_ros.description.geometry import as_urchin

        return as_urchin(self.description)

    def keep_urdf(self, urdf: Any) -> None:
        """Answer `urdf` with the object that the caller loaded the robot from; it is not pickled."""
        self.__dict__["urdf"] = urdf

    @cached_property
    def effort_limits(self) -> np.ndarray:
        """Largest axial forces of the legs (6,), infinite where none is stated [N]."""
        limits = [leg.effort_limit if leg.effort_limit > 0.0 else np.inf for leg in self.legs]
        return np.array(limits)

    def with_payload(
        self,
        frame: str,
        mass: float,
        com: Sequence[float] = (0.0, 0.0, 0.0),
        inertia: np.ndarray | None = None,
    ) -> PlatformRobot:
        """The same robot with a rigid body fixed to a frame, in place of the payload that the frame had; see
        `TreeRobot.with_payload`."""
        self._frame(frame)
        payload = check_payload(frame, mass, com, inertia)
        others = tuple(p for p in self._payloads if p.frame != frame)
        robot = PlatformRobot(self.description, (*others, payload) if payload.mass > 0.0 else others)
        if "urdf" in self.__dict__:
            robot.keep_urdf(self.urdf)
        return robot

    def index(self, name: str) -> int:
        """Index in v of a coordinate; UnknownNameError if there is none of that name."""
        if name not in self.v_names:
            raise UnknownNameError("coordinate", name, self.v_names)
        return self.v_names.index(name)

    def neutral(self) -> np.ndarray:
        """The pose at home (7,)."""
        return self._tables.neutral.copy()

    def random(self, rng: np.random.Generator | None = None) -> np.ndarray:
        """A random pose (7,) within strokes and angles, on the side of singularities on which home is."""
        rng = np.random.default_rng() if rng is None else rng
        home, size = self.neutral(), max(leg.stroke for leg in self.legs)
        for trial in range(40):
            steps = rng.uniform(-1.0, 1.0, (32, 6)) * 0.9**trial
            q = self.integrate(home, steps * np.repeat([0.7, 0.6 * size], 3), 1.0)
            # legs that touch and ball joints beyond their limits are let through
            inside = np.flatnonzero(self.workspace_margins(q).mask & ~np.int64(8 | 16) == 0)
            if inside.size:
                return q[inside[0]].copy()
        return home

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
        """Leg forces tau (..., 6) of J^T tau = M a + h - sum J^T w, in closed form but for one 6 x 6 system
        [N].

        Newton-Euler equations resolved leg by leg (Dasgupta & Mruthyunjaya 1998; parallel specification,
        section 4). Every coordinate is driven, so that unactuated="free" changes nothing.

        Parameters
        ----------
        q, v, a : (..., 7), (..., 6), (..., 6) arrays
        wrenches : mapping from frame name to (..., 6), optional
            (moment; force) in world axes that act on the robot at the frame's origin.
        out : (..., 6) array, optional

        Raises
        ------
        DimensionError, StateError, UnknownNameError
        SingularityError
            If the smallest singular value of the homogeneous leg Jacobian, `.measure`, is below 1e-6; in a
            batch such rows are NaN and a FlexdynWarning says how many.
        """
        if wrenches is None and out is None:
            try:
                tau = _empty(6)
                if self._inverse_dynamics(self._address, q, v, a, tau) == 0:
                    return tau
            except TypeError:
                pass
        if unactuated not in ("given", "free"):
            raise UnknownNameError("value of unactuated", unactuated, ("given", "free"))
        rows = rows_with_wrenches(wrenches, q=(q, 7), v=(v, 6), a=(a, 6))
        tau = check_out(out, (*rows.shape, 6))
        data = {name: rows.take(name) for name in ("q", "v", "a")}
        result, pivot = tau.reshape(rows.count, 6), _empty(rows.count)
        load = self._load(data["q"], rows, wrenches)

        def call(*arrays: np.ndarray) -> int:
            return kernels.inverse_dynamics_many(self._address, self._packed.work(), *arrays)

        status = run_in_slices(call, [*data.values(), load, result, pivot])
        self._judge_pivots(data, pivot, result, rows.shape)
        if status:
            explain_status(status, data)
            warn_of_singular_rows(result, data, "the leg Jacobian", rows.shape)
        return tau

    def _judge_pivots(
        self, data: Mapping[str, np.ndarray], pivot: np.ndarray, result: np.ndarray, batch: tuple[int, ...]
    ) -> None:
        """Make rows NaN in which the leg Jacobian is singular; refuse a single one."""
        near = np.flatnonzero(~(pivot >= kernels.SUSPICIOUS_PIVOT) & np.isfinite(data["q"]).all(axis=1))
        if not near.size:
            return
        Jh = homogeneous(self.leg_jacobian(data["q"][near]), self._tables.reach)
        smallest = np.linalg.svd(Jh, compute_uv=False)[:, -1]
        singular = near[smallest < SINGULAR_BELOW]
        if singular.size and batch == ():
            raise SingularityError(
                f"the leg Jacobian is singular: smallest singular value {smallest[0]:.3g}", float(smallest[0])
            )
        result[singular] = np.nan
        if singular.size:
            warn_of_singular_rows(result, data, "the leg Jacobian", batch)

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
        """Accelerations a (..., 6) of M a + h = J^T tau + sum J^T w, also where the leg Jacobian is singular.

        Parameters
        ----------
        q, v : (..., 7), (..., 6) arrays
        tau : (..., 6) array, optional
            Leg forces, zero if omitted [N].
        wrenches : mapping from frame name to (..., 6), optional
            (moment; force) in world axes at the frame's origin.
        out : (..., 6) array, optional

        Raises
        ------
        DimensionError, StateError, UnknownNameError, SingularityError
        UnsupportedError
            If accelerations are prescribed.
        """
        tau = np.zeros(6) if tau is None else tau
        if wrenches is None and prescribed is None and out is None:
            try:
                a = _empty(6)
                if self._forward_dynamics(self._address, q, v, tau, a) == 0:
                    return a
            except TypeError:
                pass
        if by_name(prescribed, "prescribed", "accelerations (...,)"):
            raise UnsupportedError(
                "no coordinate of a platform can be prescribed; kinds tree and mobile have some"
            )
        rows = rows_with_wrenches(wrenches, q=(q, 7), v=(v, 6), tau=(tau, 6))
        a = check_out(out, (*rows.shape, 6))
        data = {name: rows.take(name) for name in ("q", "v", "tau")}
        result, load = a.reshape(rows.count, 6), self._load(data["q"], rows, wrenches)

        def call(*arrays: np.ndarray) -> int:
            return kernels.forward_dynamics_many(self._address, self._packed.work(), *arrays)

        status = run_in_slices(call, [*data.values(), load, result])
        if status:
            explain_status(status, data)
            warn_of_singular_rows(result, data, "the mass matrix", rows.shape)
        return a

    def mass_matrix(self, q: np.ndarray, *, out: np.ndarray | None = None) -> np.ndarray:
        """Mass matrix M(q) (..., 6, 6) of platform and legs, seen at the platform's origin."""
        if out is None:
            try:
                M = _empty((6, 6))
                if self._mass_matrix(self._address, q, M) == 0:
                    return M
            except TypeError:
                pass
        rows = Rows({"q": (q, 7)})
        M = check_out(out, (*rows.shape, 6, 6))
        self._call(kernels.mass_matrix_many, rows, ("q",), M.reshape(rows.count, 6, 6))
        return M

    def bias_forces(self, q: np.ndarray, v: np.ndarray, *, out: np.ndarray | None = None) -> np.ndarray:
        """h(q, v) (..., 6): velocity products and gravity, a wrench (moment; force) at the platform's origin.

        Computed without the 6 x 6 system, also where the leg Jacobian is singular.
        """
        rows = Rows({"q": (q, 7), "v": (v, 6)})
        h = check_out(out, (*rows.shape, 6))
        self._required(rows, 1.0, rows.take("v"), h.reshape(rows.count, 6))
        return h

    def bias_terms(self, q: np.ndarray, v: np.ndarray) -> BiasTerms:
        """The parts of `bias_forces`, each (..., 6); elastic, damping and external are zero."""
        rows = Rows({"q": (q, 7), "v": (v, 6)})
        velocity, gravity = _empty((rows.count, 6)), _empty((rows.count, 6))
        self._required(rows, 0.0, rows.take("v"), velocity)
        self._required(rows, 1.0, np.zeros((rows.count, 6)), gravity)
        parts = [velocity, gravity, *np.zeros((3, rows.count, 6))]
        return BiasTerms(*(part.reshape(*rows.shape, 6) for part in parts))

    def actuation_matrix(self, q: np.ndarray) -> np.ndarray:
        """B (..., 6, 6): the leg Jacobian transposed."""
        return np.ascontiguousarray(np.swapaxes(self.leg_jacobian(q), -1, -2))

    def energy(self, q: np.ndarray, v: np.ndarray) -> Energy:
        """Kinetic energy and gravity potential of platform and legs (...,) [J]; elastic is zero."""
        rows = Rows({"q": (q, 7), "v": (v, 6)})
        energy = _empty((rows.count, 3))
        self._call(kernels.energy_many, rows, ("q", "v"), energy)
        return Energy(*(energy[:, i].reshape(rows.shape)[()] for i in range(3)))

    def momentum(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Momentum (..., 6) = (angular about the world origin; linear), world axes [N m s, N s]."""
        return np.ascontiguousarray(self._momenta(q, v)[..., :6])

    def center_of_mass(self, q: np.ndarray) -> np.ndarray:
        """Centre of mass (..., 3) of platform and legs, world axes [m]; what is fixed to the world does not
        count.

        Raises
        ------
        DimensionError, StateError
        SingularityError
            If nothing that can move has mass.
        """
        found = self._momenta(q, np.zeros(6))
        if found.size and not found[..., 9].flat[0]:
            raise SingularityError("no body that can move has mass: there is no centre of mass", 0.0)
        return found[..., 6:9] / found[..., 9:10]

    def _momenta(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        rows = Rows({"q": (q, 7), "v": (v, 6)})
        out = _empty((rows.count, 10))
        self._call(kernels.momenta_many, rows, ("q", "v"), out)
        return out.reshape(*rows.shape, 10)

    def frames(self, q: np.ndarray, names: str | Sequence[str] | None = None) -> np.ndarray:
        """Poses of frames in the world: (..., 4, 4) for one name, (..., k, 4, 4) for several (None:
        `frame_names`) [m].

        Every link of the URDF is a frame; those of legs stand as the pose asks for.
        """
        wanted = self.frame_names if names is None else (names,) if isinstance(names, str) else tuple(names)
        frames = [self._frame(name) for name in wanted]
        rows = Rows({"q": (q, 7)})
        bodies = np.array([f.body for f in frames], dtype=np.int64)
        placements = np.array([f.placement.flat() for f in frames]).reshape(len(frames), 12)
        poses = _empty((rows.count, len(frames), 4, 4))
        data = {"q": rows.take("q")}
        explain_status(kernels.frames_many(self._address, data["q"], bodies, placements, poses), data)
        tail = (4, 4) if isinstance(names, str) else (len(frames), 4, 4)
        return poses.reshape(*rows.shape, *tail)

    def jacobian(self, q: np.ndarray, frame: str, *, out: np.ndarray | None = None) -> np.ndarray:
        """J (..., 6, 6): J v = (angular; linear) velocity of the frame's origin, world axes."""
        body, placement = self._frame(frame)[1:]
        rows = Rows({"q": (q, 7)})
        J = check_out(out, (*rows.shape, 6, 6))
        data, point = {"q": rows.take("q")}, np.ascontiguousarray(placement.p)
        status = kernels.jacobian_many(self._address, data["q"], body, point, J.reshape(rows.count, 6, 6))
        explain_status(status, data)
        return J

    def deflections(self, q: np.ndarray, stations: Sequence[float] | None = None) -> dict[str, Any]:
        """{}: nothing bends."""
        self._check({"q": Rows({"q": (q, 7)}).take("q")})
        return {}

    def integrate(self, q: np.ndarray, v: np.ndarray, dt: float) -> np.ndarray:
        """q moved by v for dt seconds (..., 7): R <- exp([w dt]) R, quaternions of unit length."""
        rows = Rows({"q": (q, 7), "v": (v, 6)})
        out, data = _empty((rows.count, 7)), {name: rows.take(name) for name in ("q", "v")}
        status = rigid.integrate_many(
            self._manifold.address, data["q"], data["v"], finite_number(dt, "dt"), out
        )
        explain_status(status, data)
        return out.reshape(*rows.shape, 7)

    def difference(self, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
        """v (..., 6) with integrate(q0, v, 1) = q1."""
        rows = Rows({"q0": (q0, 7), "q1": (q1, 7)})
        out, data = _empty((rows.count, 6)), {name: rows.take(name) for name in ("q0", "q1")}
        wraps = np.zeros(6, dtype=bool)
        if rigid.difference_many(self._manifold.address, wraps, data["q0"], data["q1"], out):
            for name, array in data.items():
                self._check({"q": array}, name)
        return out.reshape(*rows.shape, 6)

    def linearize(
        self,
        q: np.ndarray,
        v: np.ndarray,
        tau: np.ndarray | None = None,
        wrenches: Mapping[str, Any] | None = None,
    ) -> Linearization:
        """A (..., 12, 12), B (..., 12, 6) of x' = A x + B dtau, x = (dq in R^6, dv), about the motion at
        (q, v).

        Exact to rounding: complex-step derivatives (Squire & Trapp 1998) of M a + h - J^T tau - sum J^T w,
        solved with the mass matrix. The angular part of dq is a small turn in world axes: its rate is dw + w
        x dq.
        """
        tau = np.zeros(6) if tau is None else tau
        rows = rows_with_wrenches(wrenches, q=(q, 7), v=(v, 6), tau=(tau, 6))
        data = {name: rows.take(name) for name in ("q", "v", "tau")}
        flat = {name: rows.take(f"wrenches[{name!r}]") for name in wrenches} if wrenches else None
        a = self.forward_dynamics(data["q"], data["v"], data["tau"], flat)
        dq, dv = self._balance_derivatives(data["q"], data["v"], a, data["tau"], rows, wrenches)
        M = self.mass_matrix(data["q"])
        A, B = np.zeros((rows.count, 12, 12)), np.zeros((rows.count, 12, 6))
        A[:, :6, 6:] = np.eye(6)
        w = data["v"][:, :3]
        A[:, 0, 1], A[:, 0, 2], A[:, 1, 2] = -w[:, 2], w[:, 1], -w[:, 0]
        A[:, 1, 0], A[:, 2, 0], A[:, 2, 1] = w[:, 2], -w[:, 1], w[:, 0]
        A[:, 6:, :6], A[:, 6:, 6:] = -np.linalg.solve(M, dq), -np.linalg.solve(M, dv)
        B[:, 6:] = np.linalg.solve(M, self.actuation_matrix(data["q"]))
        return Linearization(A.reshape(*rows.shape, 12, 12), B.reshape(*rows.shape, 12, 6))

    def modes(self, q: np.ndarray, *, lock: Sequence[str] | str = ()) -> Modes:
        """Modes of vibration about rest at q; with `<hydraulics>` on the oil columns behind closed valves.

        With hydraulics K = J^T diag(K_h) J: each leg is a spring of the stiffness that its oil has at the
        present stroke, between supply and tank pressure (`Hydraulics.stiffness`). The geometric stiffness of
        the load is left out, some 0.04 % of frequencies in the example (parallel specification, 8.5).
        Without hydraulics K = dh/dq, as for other robots. Undamped. See `TreeRobot.modes`.
        """
        locked = chosen_coordinates(lock, self.coordinates, "lock")
        rows = Rows({"q": (q, 7)})
        states, zero = rows.take("q"), np.zeros((rows.count, 6))
        M = self.mass_matrix(states)
        if self.hydraulics is not None:
            J = self.leg_jacobian(states)
            springs = self.hydraulics.stiffness(self.inverse_kinematics(states).length)
            K = np.einsum("nki,nk,nkj->nij", J, springs, J)
        else:
            K = self._balance_derivatives(states, zero, zero, zero, rows, None)[0]
        shape = (*rows.shape, 6, 6)
        return modes_of(M.reshape(shape), K.reshape(shape), np.zeros(shape), locked)

    def static_equilibrium(
        self,
        q0: np.ndarray | None = None,
        *,
        hold: Sequence[str] | str = (),
        tau: np.ndarray | None = None,
        wrenches: Mapping[str, Any] | None = None,
    ) -> Equilibrium:
        """The state of rest near q0 under leg forces tau (6,), zero if omitted [N]; see
        `TreeRobot.static_equilibrium`.

        Coordinates in `hold` stay; the leg forces that come back hold them there and balance the others. All
        six held: the leg forces at rest.
        """
        held = chosen_coordinates(hold, self.coordinates, "hold")
        tau = np.zeros(6) if tau is None else tau
        q0 = self.neutral() if q0 is None else q0
        rows = rows_with_wrenches(wrenches, q0=(q0, 7), tau=(tau, 6))
        if rows.shape:
            raise DimensionError(f"static_equilibrium takes single states, got a batch of shape {rows.shape}")
        data = {"q": rows.take("q0"), "tau": rows.take("tau")}
        self._check(data)
        push, zero = data["tau"], np.zeros((1, 6))

        def weight(q: np.ndarray) -> np.ndarray:
            return self.bias_forces(q, zero[0]) - self._load(q[None], rows, wrenches)[0]

        def balance(q: np.ndarray) -> np.ndarray:
            return weight(q) - self.actuation_matrix(q) @ push[0]

        statics = Statics(
            load=balance,
            stiffness=lambda q: self._balance_derivatives(q[None], zero, zero, push, rows, wrenches)[0][0],
            mass=self.mass_matrix,
            move=lambda q, dq: self.integrate(q, dq, 1.0),
        )
        start = data["q"][0].copy()
        scale = float(np.abs(weight(start)).max())
        found = find_equilibrium(statics, start, np.zeros(6), held, scale=scale)
        return found._replace(tau=self.inverse_dynamics(found.q, zero[0], zero[0], wrenches))

    # ---- legs ----

    def inverse_kinematics(
        self, q: np.ndarray, v: np.ndarray | None = None, a: np.ndarray | None = None
    ) -> Legs:
        """Lengths of the legs at poses q (..., 7); rates for twists v (..., 6); accelerations for a (..., 6).

        Rates need v; accelerations need v and a. See `Legs`.

        Raises
        ------
        DimensionError, StateError
        """
        if a is not None and v is None:
            raise DimensionError("accelerations of legs need v beside a")
        zero = np.zeros(6)
        table, _shape = self._motions(q, zero if v is None else v, zero if a is None else a)
        lengths = table[..., columns.LENGTH]
        shortest = np.array([leg.shortest for leg in self.legs])
        return Legs(
            length=lengths.copy(),
            rate=None if v is None else table[..., columns.RATE].copy(),
            acceleration=None if a is None else table[..., columns.ACCELERATION].copy(),
            stroke=lengths - shortest,
            direction=table[..., columns.DIRECTION : columns.DIRECTION + 3].copy(),
            angles=table[..., columns.ANGLES : columns.ANGLES + 2].copy(),
        )

    def forward_kinematics(
        self,
        lengths: np.ndarray,
        guess: np.ndarray | None = None,
        *,
        rates: np.ndarray | None = None,
        max_distance: float | None = None,
        strict: bool = True,
    ) -> Pose:
        """The pose with given lengths of the legs, found from a guess by Newton's method with short steps.

        A pose is accepted only if every length is met within 1e-9 m, the determinant of the leg Jacobian has
        the sign that it has at home, its smallest singular value (homogeneous) is at least
        min_singular_value of the description, and it is no farther from the guess than max_distance.

        Parameters
        ----------
        lengths : (..., 6) array [m]
        guess : (..., 7) array, optional
            Where to start; the pose at home if omitted.
        rates : (..., 6) array, optional
            Rates of the lengths [m/s]; the twist v that belongs to them is returned.
        max_distance : float, optional
            Largest way of the origin, and largest turn times the root-mean-square distance of the upper
            joints, from the guess [m].
        strict : bool
            False: a pose that is refused is the guess, with converged False.

        Raises
        ------
        DimensionError, StateError
        ConvergenceError
            If a pose is refused and `strict`; says why.
        """
        given: dict[str, tuple[Any, int]] = {"lengths": (lengths, 6)}
        given["q"] = (self._tables.neutral if guess is None else guess, 7)
        if rates is not None:
            given["rates"] = (rates, 6)
        rows = Rows(given)
        data = {name: rows.take(name) for name in ("q", "lengths")}
        self._check({name: rows.take(name) for name in given})
        q = data["q"].copy()
        iterations, residual = np.zeros(rows.count, dtype=np.int64), _empty(rows.count)

        def call(lengths: np.ndarray, *arrays: np.ndarray) -> int:
            return kernels.find_pose_many(self._address, self._packed.work(), lengths, *arrays)

        explain_status(run_in_slices(call, [data["lengths"], q, iterations, residual]), data)
        reasons = self._refusals(q, data["q"], residual, max_distance)
        if strict:
            complain(reasons, residual, iterations)
        q[reasons > 0] = data["q"][reasons > 0]
        v = None if rates is None else self._twists(q, rows.take("rates")).reshape(*rows.shape, 6)
        flat = ((reasons == 0), iterations, residual)
        return Pose(q.reshape(*rows.shape, 7), v, *(x.reshape(rows.shape)[()] for x in flat))

    def _refusals(
        self, q: np.ndarray, start: np.ndarray, residual: np.ndarray, max_distance: float | None
    ) -> np.ndarray:
        """Why poses q (n, 7) are refused; see `refusals`."""
        good = np.isfinite(q).all(axis=1) & np.isfinite(residual)
        safe = np.where(good[:, None], q, start)
        platform = self.description.platform
        assert platform is not None
        farthest = np.inf if max_distance is None else finite_number(max_distance, "max_distance")
        return refusals(
            self.leg_jacobian(safe),
            np.where(good, residual, np.inf),
            turn_between(self.difference, start, safe, self._tables.reach),
            reach=self._tables.reach,
            home_sign=self._home_sign,
            least=platform.min_singular_value,
            farthest=farthest,
        )

    def _twists(self, q: np.ndarray, rates: np.ndarray) -> np.ndarray:
        """v (n, 6) of J v = rates."""
        return np.linalg.solve(self.leg_jacobian(q), rates[..., None])[..., 0]

    def leg_jacobian(self, q: np.ndarray) -> np.ndarray:
        """J (..., 6, 6): lengths' = J v, angular columns first."""
        rows = Rows({"q": (q, 7)})
        J = _empty((rows.count, 6, 6))
        self._call(kernels.leg_jacobian_many, rows, ("q",), J)
        return J.reshape(*rows.shape, 6, 6)

    def leg_states(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> LegStates:
        """Angular motion of the legs and accelerations of their centres of mass; see `LegStates`."""
        table, shape = self._motions(q, v, a)
        com = table[..., columns.CYLINDER_ACCELERATION : columns.ROD_ACCELERATION + 3]
        return LegStates(
            spin=table[..., columns.SPIN].copy(),
            angular_velocity=table[..., columns.OMEGA : columns.OMEGA + 3].copy(),
            angular_acceleration=table[..., columns.ALPHA : columns.ALPHA + 3].copy(),
            com_acceleration=com.reshape(*shape, 6, 2, 3).copy(),
        )

    def leg_joints(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Positions and rates (..., 6, 3) of the URDF's joints of each leg: both angles of the universal
        joint [rad], the slider [m]."""
        table, _ = self._motions(q, v, np.zeros(6))
        shortest = np.array([leg.shortest for leg in self.legs])
        strokes, rates = table[..., columns.LENGTH] - shortest, table[..., columns.RATE]
        angles = table[..., columns.ANGLES : columns.ANGLES + 2]
        turning = table[..., columns.ANGLE_RATES : columns.ANGLE_RATES + 2]
        return (
            np.concatenate([angles, strokes[..., None]], axis=-1),
            np.concatenate([turning, rates[..., None]], axis=-1),
        )

    def joint_reactions(
        self, q: np.ndarray, v: np.ndarray, a: np.ndarray, wrenches: Mapping[str, Any] | None = None
    ) -> Reactions:
        """Forces and moments in all joints of the legs for a motion; see `Reactions`.

        Wrenches may act on the platform only: what acts on a leg goes through its joints in a way that is not
        computed.

        Raises
        ------
        DimensionError, StateError, UnknownNameError, SingularityError
        UnsupportedError
            If a wrench acts on a leg.
        """
        for name in by_name(wrenches, "wrenches", "(..., 6) arrays"):
            if self._frame(name).body > 1:
                raise UnsupportedError(f"joint_reactions with a wrench on the leg's link '{name}'")
        tau = self.inverse_dynamics(q, v, a, wrenches)
        rows = Rows({"q": (q, 7), "v": (v, 6), "a": (a, 6), "tau": (tau, 6)})
        table = _empty((rows.count, 6, columns.REACTION_COLUMNS))
        arrays = [rows.take(name) for name in ("q", "v", "a", "tau")]
        kernels.reactions_many(self._address, *arrays, table)
        table = table.reshape(*rows.shape, 6, columns.REACTION_COLUMNS)
        drive = arrays[3].reshape(*rows.shape, 6).copy()

        def vector(at: int) -> np.ndarray:
            return table[..., at : at + 3].copy()

        return Reactions(
            drive=drive,
            f_b=vector(columns.F_B),
            f_p=vector(columns.F_P),
            f_a=vector(columns.F_A),
            n_p=vector(columns.N_P),
            moment_a=vector(columns.MOMENT_A),
            guide_torque=table[..., columns.GUIDE_TORQUE].copy(),
        )

    def workspace_margins(self, q: np.ndarray) -> Margins:
        """How far poses (..., 7) are from strokes, joint limits, collisions and singularities; see
        `Margins`.

        Only end points are judged: between two poses on opposite sides of a singularity the determinant
        changes its sign.
        """
        rows = Rows({"q": (q, 7)})
        states = rows.take("q")
        found = margins_of(
            self._tables, states, self.inverse_kinematics(states), self.leg_jacobian(states), self._home_sign
        )
        return Margins(*(x.reshape(rows.shape + x.shape[1:])[()] for x in found))

    @cached_property
    def motion(self) -> Motion:
        """Compiled fixed steps."""
        from flexdyn_ros.dynamics.platform_motion import platform_motion

        return platform_motion(self, self._place)

    def _place(self, wanted: Iterable[str]) -> tuple[Motion, np.ndarray, np.ndarray]:
        """Where wrenches on frames act, for the fixed steps."""
        return self.motion, *self._points(dict.fromkeys(wanted))

    @cached_property
    def hydraulics(self) -> Hydraulics | None:
        """The servo-hydraulic cylinders of the legs; None if not every leg has `<hydraulics>`."""
        from flexdyn_ros.dynamics.hydraulics import Hydraulics

        platform = self.description.platform
        assert platform is not None
        if any(leg.hydraulics is None for leg in platform.legs):
            return None
        return Hydraulics.of(self.description)

    # ---- behind the verbs ----

    @cached_property
    def _home_sign(self) -> float:
        """Sign of the determinant of the leg Jacobian at home."""
        return float(np.sign(np.linalg.det(self.leg_jacobian(self._tables.neutral))))

    def _frame(self, name: str) -> Frame:
        try:
            return self._tables.frames[name]
        except (KeyError, TypeError):
            raise UnknownNameError("frame", name, self.frame_names) from None

    def _load(self, q: np.ndarray, rows: Rows, wrenches: Mapping[str, Any] | None) -> np.ndarray:
        """sum J^T w (count, 6) of wrenches at poses q (count, 7)."""
        load = np.zeros((rows.count, 6))
        if wrenches:
            bodies, points = self._points(wrenches)
            kernels.load_many(self._address, q, bodies, points, wrench_rows(rows, wrenches), load)
        return load

    def _points(self, wrenches: Mapping[str, Any] | None) -> tuple[np.ndarray, np.ndarray]:
        """Bodies (k,) and points (k, 3) in them at which the wrenches act."""
        frames = [self._frame(name) for name in wrenches or {}]
        bodies = np.array([f.body for f in frames], dtype=np.int64)
        return bodies, np.array([f.placement.p for f in frames]).reshape(len(frames), 3)

    def _call(
        self, kernel: Callable[..., int], rows: Rows, names: tuple[str, ...], result: np.ndarray
    ) -> None:
        """An entry (address, work, *rows, result) over all rows."""
        data = {name: rows.take(name) for name in names}

        def call(*arrays: np.ndarray) -> int:
            return kernel(self._address, self._packed.work(), *arrays)

        explain_status(run_in_slices(call, [*data.values(), result]), data)

    def _required(self, rows: Rows, weight: float, v: np.ndarray, out: np.ndarray) -> None:
        """out (count, 6) = h with gravity times `weight`."""
        q = rows.take("q")

        def call(*arrays: np.ndarray) -> int:
            return kernels.required_wrench_many(self._address, self._packed.work(), weight, *arrays)

        status = run_in_slices(call, [q, v, np.zeros((rows.count, 6)), out])
        explain_status(status, {"q": q, "v": v})

    def _motions(self, q: Any, v: Any, a: Any) -> tuple[np.ndarray, tuple[int, ...]]:
        """The table of leg motions (..., 6, MOTION_COLUMNS) and the batch."""
        rows = Rows({"q": (q, 7), "v": (v, 6), "a": (a, 6)})
        table = _empty((rows.count, 6, columns.MOTION_COLUMNS))
        data = {name: rows.take(name) for name in ("q", "v", "a")}

        def call(*arrays: np.ndarray) -> int:
            return kernels.legs_many(self._address, *arrays)

        explain_status(run_in_slices(call, [*data.values(), table]), data)
        return table.reshape(*rows.shape, 6, columns.MOTION_COLUMNS), rows.shape

    def _balance_derivatives(
        self,
        q: np.ndarray,
        v: np.ndarray,
        a: np.ndarray,
        tau: np.ndarray,
        rows: Rows,
        wrenches: Mapping[str, Any] | None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Derivatives (count, 6, 6) of M a + h - J^T tau - sum J^T w by q and v, with a, tau and w held."""
        bodies, points = self._points(wrenches)
        loads = wrench_rows(rows, wrenches)
        dq, dv = _empty((rows.count, 6, 6)), _empty((rows.count, 6, 6))

        def call(
            q: np.ndarray, v: np.ndarray, a: np.ndarray, tau: np.ndarray, w: np.ndarray, *out: Any
        ) -> int:
            work = self._packed.work(np.complex128)
            return kernels.balance_derivatives_many(
                self._address, work, q, v, a, tau, bodies, points, w, *out
            )

        status = run_in_slices(call, [q, v, a, tau, loads, dq, dv])
        explain_status(status, {"q": q, "v": v, "a": a, "tau": tau})
        return dq, dv

    def _check(self, data: Mapping[str, np.ndarray], shown: str = "q") -> None:
        """StateError if rows of q, v, ... hold NaN, infinity, or a quaternion that is not of unit length."""
        q = data["q"]
        status = rigid.integrate_many(self._manifold.address, q, np.zeros((len(q), 6)), 0.0, _empty(q.shape))
        if status:
            explain_status(status, {"q": q} if status % 8 == 3 else {shown: q})
        for name, rows in data.items():
            wrong = np.flatnonzero(~np.isfinite(rows).all(axis=1))
            if wrong.size:
                explain_status(2 + 8 * int(wrong[0]), {name: rows})
