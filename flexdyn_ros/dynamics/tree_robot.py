"""Robots of `kind` tree: the verbs of the protocol over the kernels of a rigid or a flexible tree."""

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
from flexdyn_ros.dynamics.equilibrium import Statics, find_equilibrium
from flexdyn_ros.dynamics.modes import chosen_coordinates, modes_of
from flexdyn_ros.dynamics.results import BiasTerms, Deflection, Energy, Equilibrium, Linearization, Modes
from flexdyn_ros.dynamics.threads import run_in_slices
from flexdyn_ros.dynamics.wrenches import rows_with_wrenches, wrench_rows
from flexdyn_ros.errors import (
    DimensionError,
    SingularityError,
    StateError,
    UnknownNameError,
    UnsupportedError,
)
from flexdyn_ros.kernels import rigid as kernels
from flexdyn_ros.kernels.compiler import LANES, Entry
from flexdyn_ros.kernels.coriolis import coriolis_many
from flexdyn_ros.model.coordinates import Coordinate
from flexdyn_ros.model.packed import PackedTree
from flexdyn_ros.model.payload import Payload, carry, check_payload
from flexdyn_ros.model.tree import Frame, RigidTree, build_tree

if TYPE_CHECKING:
    from flexdyn_ros.dynamics.flexible_robot import Bending, LinkIntegrals
    from flexdyn_ros.dynamics.lagrangian import LagrangianPath
    from flexdyn_ros.dynamics.mobile_family import Rolling
    from flexdyn_ros.dynamics.motion import Motion
    from flexdyn_ros.model.lagrange import LagrangeModel

__all__ = ["TreeRobot"]

_empty = np.empty


class TreeRobot:
    """A tree of rigid bodies and flexible links on a fixed, planar or floating base.

    Immutable, shared by threads, pickles. Made by `flexdyn_ros.load`. Arguments of all verbs broadcast over
    leading dimensions; q is (..., nq), v and a are (..., nv), tau is (..., nu); units SI and rad. See
    `flexdyn_ros.Robot` for what the verbs have in common.
    """

    kind = "tree"

    def __init__(
        self,
        description: RobotDescription,
        payloads: tuple[Payload, ...] = (),
        sections: tuple[str, ...] = (),
    ) -> None:
        self.description = description
        self._payloads, self._sections = payloads, sections
        self._tree = tree = carry(build_tree(description, sections), payloads)
        self.name = description.name
        self.nq, self.nv, self.nu = tree.model.nq, tree.model.nv, tree.model.nv
        self.coordinates: tuple[Coordinate, ...] = tree.coordinates
        self.q_names: tuple[str, ...] = tree.q_names
        self.v_names: tuple[str, ...] = tuple(c.name for c in tree.coordinates)
        self.effort_names: tuple[str, ...] = self.v_names
        self.frame_names: tuple[str, ...] = tuple(name for name in tree.frames if name not in sections)
        self.warnings: tuple[str, ...] = description.warnings + tree.warnings
        self.gravity = tree.model.gravity
        self._kernels: Any = kernels
        self._bending: Bending | None = None
        if tree.flexible is None:
            self._packed: Any = PackedTree(tree)
        else:
            from flexdyn_ros.dynamics.flexible_robot import Bending

            self._bending = Bending(tree)
            self._kernels, self._packed = self._bending.kernels, self._bending.packed
            self._seen: dict[tuple[str, ...], TreeRobot] = {}
        self._rolling: Rolling | None = None
        if description.wheels:
            from flexdyn_ros.dynamics.mobile_family import Rolling

            self._rolling = Rolling(description, tree, self._kernels, self._packed)
            self._kernels, self._packed = self._rolling.kernels, self._rolling.packed
        #: coordinates whose motion is given (nv,)
        self._prescribed = np.array([c.prescribed for c in tree.coordinates], dtype=bool)
        self._address = self._packed.address
        self._lagrangian = None
        self._affine = self._bending is not None and description.formulation.frame == "affine"
        if description.formulation.method == "lagrange":
            bends = self._bending
            bent = None if bends is None else bends.lagrange_model(description.formulation)
            self._lagrangian = _lagrangian_path(tree, bent)
        entries = self._kernels
        self._inverse_dynamics = self._bound_when_called("_inverse_dynamics", entries.inverse_dynamics_one)
        self._forward_dynamics = self._bound_when_called("_forward_dynamics", entries.forward_dynamics_one)
        self._mass_matrix = self._bound_when_called("_mass_matrix", entries.mass_matrix_one)
        self._complete = True

    def __setattr__(self, name: str, value: Any) -> None:
        if "_complete" in self.__dict__:
            raise AttributeError(f"robots are immutable; {name!r} cannot be set, load another robot instead")
        super().__setattr__(name, value)

    def _bound_when_called(self, name: str, entry: Entry) -> Callable[..., int]:
        """An entry that is loaded at its first call, and is then itself the attribute of that name.

        (A class with __getattr__ would slow every access.)
        """

        def first_call(*arguments: Any) -> int:
            bound = entry.load()
            self.__dict__[name] = bound
            return bound(*arguments)

        return first_call if self._lagrangian is None else _no_shortcut

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.description, self._payloads, self._sections)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}: nq={self.nq}, nv={self.nv}>"

    # ---- what the robot is ----

    @cached_property
    def mass(self) -> float:
        """Mass of all links, those fixed to the world included [kg]."""
        return self._tree.mass

    @property
    def bends(self) -> bool:
        """True if the robot has flexible links that are computed as such."""
        return self._bending is not None

    @cached_property
    def motion(self) -> Motion | None:
        """What fixed compiled steps need; None where only the method lagrange has the equations."""
        rotary = self.description.formulation.rotary_inertia
        if self._lagrangian is not None and self._bending is not None and (self._affine or rotary == "paper"):
            return None
        from flexdyn_ros.dynamics.tree_motion import tree_motion

        general = tree_motion(self.description, self._tree, self._packed, self._place)
        return general if self._rolling is None else self._rolling.motion(general)

    def _place(self, names: Iterable[str]) -> tuple[Motion, np.ndarray, np.ndarray]:
        """Motion of a robot that sees the frames, their bodies (k,) and points in them (k, 3)."""
        wanted = tuple(names)
        seeing = self._seeing(wanted)
        assert seeing.motion is not None
        return seeing.motion, *seeing._points(dict.fromkeys(wanted))

    @cached_property
    def urdf(self) -> Any:
        """The URDF object the robot was loaded from, else its text as `urchin.URDF`, made when first asked
        for.
        """
        from flexdyn_ros.description.geometry import as_urchin

        return as_urchin(self.description)

    def keep_urdf(self, urdf: Any) -> None:
        """Answer `urdf` with the object that the caller loaded the robot from; it is not pickled."""
        self.__dict__["urdf"] = urdf

    def with_payload(
        self,
        frame: str,
        mass: float,
        com: Sequence[float] = (0.0, 0.0, 0.0),
        inertia: np.ndarray | None = None,
    ) -> TreeRobot:
        """The same robot with a rigid body fixed to a frame, in place of the payload that the frame had.

        Parameters
        ----------
        frame : name of the frame
        mass : [kg]; 0 removes the payload
        com : (3,) centre of mass, frame axes [m]
        inertia : (3, 3) about the centre of mass, frame axes [kg m2]; None is a point mass

        Raises
        ------
        UnknownNameError, DimensionError, StateError
            StateError: not finite, negative mass, or principal moments that no body has.
        """
        sections = self._seeing((frame,))._sections
        self._seeing((frame,))._frame(frame)
        payload = check_payload(frame, mass, com, inertia)
        others = tuple(p for p in self._payloads if p.frame != frame)
        robot = type(self)(self.description, (*others, payload) if payload.mass > 0.0 else others, sections)
        if "urdf" in self.__dict__:
            robot.keep_urdf(self.urdf)
        return robot

    def index(self, name: str) -> int:
        """Index in v of a coordinate; UnknownNameError if there is none of that name."""
        try:
            return self._v_index[name]
        except (KeyError, TypeError):
            raise UnknownNameError("coordinate", name, self.v_names) from None

    @cached_property
    def _v_index(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.v_names)}

    def neutral(self) -> np.ndarray:
        """Zero position (nq,), unit quaternions; may lie outside limits."""
        return self._tree.neutral.copy()

    def random(self, rng: np.random.Generator | None = None) -> np.ndarray:
        """A random q (nq,): joints within their limits (else within pi or 1 m), free bodies within 1 m, any
        attitude."""
        rng = np.random.default_rng() if rng is None else rng
        q = rng.uniform(-1.0, 1.0, self.nq)
        for c in self.coordinates:
            if c.q_index >= 0 and c.kind == "joint":
                reach = np.pi if c.unit == "rad" else 1.0
                low, high = max(c.lower, -reach), min(c.upper, reach)
                if low > high:
                    low, high = c.lower, c.upper
                q[c.q_index] = rng.uniform(low, high)
        for index, size in (self._bending.small if self._bending else {}).items():
            q[index] *= size
        for i in self._quaternions:
            x = rng.standard_normal(4)
            q[i : i + 4] = x / np.sqrt(x @ x)
        return q

    @cached_property
    def _quaternions(self) -> tuple[int, ...]:
        m = self._tree.model
        return tuple(int(m.q_index[b]) + 3 for b in range(1, m.nb) if m.joint_type[b] == 2)

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
        """Efforts tau = M(q) a + h(q, v) - sum J^T w by the recursive Newton-Euler algorithm (Luh, Walker &
        Paul 1980).

        Parameters
        ----------
        q, v, a : (..., nq), (..., nv), (..., nv) arrays
        wrenches : mapping from frame name to (..., 6), optional
            (moment; force) in world axes that act on the robot at the frame's origin.
        unactuated : {"given", "free"}
            "free": accelerations of coordinates that are not actuated are ignored and solved so that their
            efforts are 0.
        out : (..., nu) array, optional

        Returns
        -------
        tau : (..., nu) array [N m, N]

        Raises
        ------
        DimensionError, StateError, UnknownNameError
        """
        if wrenches is None and unactuated == "given" and out is None:
            try:
                tau = _empty(self.nv)
                if self._inverse_dynamics(self._address, q, v, a, tau) == 0:
                    return tau
            except TypeError:
                pass
        seeing = self._seeing(wrenches or ())
        if seeing is not self:
            return seeing.inverse_dynamics(q, v, a, wrenches, unactuated=unactuated, out=out)
        if unactuated == "free":
            given = np.array([c.actuated or c.prescribed for c in self.coordinates], dtype=bool)
            return _write(out, self._partial(q, v, None, a, given, wrenches)[0])
        if unactuated != "given":
            raise UnknownNameError("value of unactuated", unactuated, ("given", "free"))
        rows = self._rows(wrenches, q=(q, self.nq), v=(v, self.nv), a=(a, self.nv))
        tau = check_out(out, (*rows.shape, self.nv))
        self._run("inverse_dynamics", rows, ("q", "v", "a"), tau, wrenches)
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
        """Accelerations a of M(q) a + h(q, v) = tau + sum J^T w by the articulated-body algorithm
        (Featherstone 2008).

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
            tau = np.zeros(self.nv)
        if wrenches is None and prescribed is None and out is None and not self._tree.has_mimic:
            try:
                a = _empty(self.nv)
                if self._forward_dynamics(self._address, q, v, tau, a) == 0:
                    return a
            except TypeError:
                pass
        seeing = self._seeing(wrenches or ())
        if seeing is not self:
            return seeing.forward_dynamics(q, v, tau, wrenches, prescribed=prescribed, out=out)
        chosen = by_name(prescribed, "prescribed", "accelerations (...,)")
        self._refuse_given_effort(tau)
        if chosen or self._tree.has_mimic:
            given, a = self._given_accelerations(chosen)
            return _write(out, self._partial(q, v, tau, a, given, wrenches)[1])
        rows = self._rows(wrenches, q=(q, self.nq), v=(v, self.nv), tau=(tau, self.nv))
        a = check_out(out, (*rows.shape, self.nv))
        self._run("forward_dynamics", rows, ("q", "v", "tau"), a, wrenches)
        return a

    def mass_matrix(self, q: np.ndarray, *, out: np.ndarray | None = None) -> np.ndarray:
        """Mass matrix M(q) (..., nv, nv) by the composite-rigid-body algorithm (Featherstone 2008), rotors
        included."""
        if out is None:
            try:
                M = _empty((self.nv, self.nv))
                if self._mass_matrix(self._address, q, M) == 0:
                    return M
            except TypeError:
                pass
        rows = Rows({"q": (q, self.nq)})
        M = check_out(out, (*rows.shape, self.nv, self.nv))
        if self._lagrangian is not None:
            self._check({"q": rows.take("q")})
            M.reshape(rows.count, self.nv, self.nv)[...] = self._lagrangian.mass_matrix(rows.take("q"))
            return M
        self._call(self._kernels.mass_matrix_many, rows, ("q",), M.reshape(rows.count, self.nv, self.nv))
        return M

    def bias_forces(self, q: np.ndarray, v: np.ndarray, *, out: np.ndarray | None = None) -> np.ndarray:
        """h(q, v) (..., nv): velocity products, gravity, springs, damping and friction [N m, N]."""
        rows = Rows({"q": (q, self.nq), "v": (v, self.nv), "a": (np.zeros(self.nv), self.nv)})
        h = check_out(out, (*rows.shape, self.nv))
        self._run("inverse_dynamics", rows, ("q", "v", "a"), h, None)
        return h

    def bias_terms(self, q: np.ndarray, v: np.ndarray) -> BiasTerms:
        """The parts of `bias_forces`, each (..., nv); external is zero for a tree."""
        rows = Rows({"q": (q, self.nq), "v": (v, self.nv)})
        if self._lagrangian is not None:
            self._check({name: rows.take(name) for name in ("q", "v")})
            terms = self._lagrangian.terms(rows.take("q"), rows.take("v"))
        else:
            terms = _empty((rows.count, 5, self.nv))
            self._call(self._kernels.bias_terms_many, rows, ("q", "v"), terms)
        return BiasTerms(*(np.ascontiguousarray(terms[:, i]).reshape(*rows.shape, self.nv) for i in range(5)))

    def actuation_matrix(self, q: np.ndarray) -> np.ndarray:
        """B (..., nv, nu): the identity."""
        rows = Rows({"q": (q, self.nq)})
        self._check({"q": rows.take("q")})
        return np.broadcast_to(np.eye(self.nv), (*rows.shape, self.nv, self.nv)).copy()

    def energy(self, q: np.ndarray, v: np.ndarray) -> Energy:
        """Kinetic energy (rotors included), gravity potential and energy of joint springs (...,) [J]."""
        rows = Rows({"q": (q, self.nq), "v": (v, self.nv)})
        if self._affine and self._lagrangian is not None:
            self._check({name: rows.take(name) for name in ("q", "v")})
            energy = self._lagrangian.energies(rows.take("q"), rows.take("v"))
        else:
            energy = _empty((rows.count, 3))
            self._call(self._kernels.energy_many, rows, ("q", "v"), energy)
        return Energy(*(energy[:, i].reshape(rows.shape)[()] for i in range(3)))

    def momentum(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Momentum (..., 6) = (angular about the world origin; linear), world axes [N m s, N s]; rotors' spin
        left out."""
        self._need_rotations("momentum")
        rows = Rows({"q": (q, self.nq), "v": (v, self.nv)})
        out = _empty((rows.count, 10))
        self._call(self._kernels.momenta_many, rows, ("q", "v"), out)
        return np.ascontiguousarray(out[:, :6]).reshape(*rows.shape, 6)

    def center_of_mass(self, q: np.ndarray) -> np.ndarray:
        """Centre of mass (..., 3) of all bodies that can move, world axes [m]; what is fixed to the world
        does not count.

        Raises
        ------
        DimensionError, StateError
        SingularityError
            If nothing that can move has mass.
        """
        self._need_rotations("center_of_mass")
        rows = Rows({"q": (q, self.nq), "v": (np.zeros(self.nv), self.nv)})
        out = _empty((rows.count, 10))
        self._call(self._kernels.momenta_many, rows, ("q", "v"), out)
        if rows.count and not out[0, 9]:
            raise SingularityError("no body that can move has mass: there is no centre of mass", 0.0)
        return (out[:, 6:9] / out[:, 9:10]).reshape(*rows.shape, 3)

    def frames(self, q: np.ndarray, names: str | Sequence[str] | None = None) -> np.ndarray:
        """Poses of frames in the world: (..., 4, 4) for one name, (..., k, 4, 4) for several (None:
        `frame_names`) [m]."""
        self._need_rotations("frames")
        wanted = self.frame_names if names is None else (names,) if isinstance(names, str) else tuple(names)
        seeing = self._seeing(wanted)
        if seeing is not self:
            return seeing.frames(q, names)
        frames = [self._frame(name) for name in wanted]
        rows = Rows({"q": (q, self.nq)})
        bodies = np.array([f.body for f in frames], dtype=np.int64)
        placements = np.array([f.placement.flat() for f in frames]).reshape(len(frames), 12)
        poses = _empty((rows.count, len(frames), 4, 4))

        def call(address: int, work: np.ndarray, q: np.ndarray, poses: np.ndarray) -> int:
            return self._kernels.frames_many(address, work, q, bodies, placements, poses)

        self._call(call, rows, ("q",), poses)
        tail = (4, 4) if isinstance(names, str) else (len(frames), 4, 4)
        return poses.reshape(*rows.shape, *tail)

    def jacobian(self, q: np.ndarray, frame: str, *, out: np.ndarray | None = None) -> np.ndarray:
        """J (..., 6, nv): J v = (angular; linear) velocity of the frame's origin, world axes."""
        self._need_rotations("jacobian")
        seeing = self._seeing((frame,))
        if seeing is not self:
            return seeing.jacobian(q, frame, out=out)
        body, placement = self._frame(frame)[1:]
        rows = Rows({"q": (q, self.nq)})
        J = check_out(out, (*rows.shape, 6, self.nv))

        def call(address: int, work: np.ndarray, q: np.ndarray, J: np.ndarray) -> int:
            return self._kernels.jacobian_many(address, work, q, body, placement.p, J)

        self._call(call, rows, ("q",), J.reshape(rows.count, 6, self.nv))
        return J

    def deflections(self, q: np.ndarray, stations: Sequence[float] | None = None) -> dict[str, Deflection]:
        """Deformation of each flexible link by its name, at stations (k,) (default 21) in beam axes.

        Moments and forces are the elastic ones, from the shapes; strain is 0 where the size of the section
        is unknown. {} if the robot is rigid.
        """
        rows = Rows({"q": (q, self.nq)})
        self._check({"q": rows.take("q")})
        if self._bending is None:
            return {}
        return self._bending.deflections(rows.take("q").reshape(*rows.shape, self.nq), stations)

    def integrate(self, q: np.ndarray, v: np.ndarray, dt: float) -> np.ndarray:
        """q moved by v for dt seconds (..., nq): sums for joints, exponential map for free bodies, unit
        quaternions."""
        rows = Rows({"q": (q, self.nq), "v": (v, self.nv)})
        out = _empty((rows.count, self.nq))
        data = {name: rows.take(name) for name in ("q", "v")}
        seconds = finite_number(dt, "dt")
        explain_status(self._kernels.integrate_many(self._address, data["q"], data["v"], seconds, out), data)
        return out.reshape(*rows.shape, self.nq)

    def difference(self, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
        """v (..., nv) with integrate(q0, v, 1) = q1; continuous joints go the short way, within (-pi, pi]."""
        rows = Rows({"q0": (q0, self.nq), "q1": (q1, self.nq)})
        out = _empty((rows.count, self.nv))
        data = {name: rows.take(name) for name in ("q0", "q1")}
        status = self._kernels.difference_many(self._address, self._wraps, data["q0"], data["q1"], out)
        if status:
            for name, array in data.items():
                alone = self._kernels.difference_many(
                    self._address, self._wraps, array, array, _empty(out.shape)
                )
                explain_status(alone, {"q": array} if alone % 8 == 3 else {name: array})
        return out.reshape(*rows.shape, self.nv)

    @cached_property
    def _wraps(self) -> np.ndarray:
        """Marks the coordinates of continuous joints."""
        kinds = {joint.name: joint.type for joint in self.description.joints}
        return np.array([kinds.get(c.name) == "continuous" for c in self.coordinates], dtype=bool)

    def linearize(
        self,
        q: np.ndarray,
        v: np.ndarray,
        tau: np.ndarray | None = None,
        wrenches: Mapping[str, Any] | None = None,
    ) -> Linearization:
        """A (..., 2 nv, 2 nv), B (..., 2 nv, nu) of x' = A x + B dtau, x = (dq in R^nv, dv), about the motion
        at (q, v).

        Exact to rounding: complex-step derivatives (Squire & Trapp 1998) of the inverse dynamics, solved with
        the mass matrix. The angular part of dq of a free body is a small turn in world axes, so that its rate
        is dw + w x dq.
        """
        seeing = self._seeing(wrenches or ())
        if seeing is not self:
            return seeing.linearize(q, v, tau, wrenches)
        tau = np.zeros(self.nv) if tau is None else tau
        rows = self._rows(wrenches, q=(q, self.nq), v=(v, self.nv), tau=(tau, self.nv))
        a = self.forward_dynamics(q, v, tau, wrenches).reshape(rows.count, self.nv)
        singular = ~np.isfinite(a).all(axis=1)
        a[singular] = 0.0
        dq, dv = self.inverse_dynamics_derivatives(
            rows.take("q"), rows.take("v"), a, self._flat_wrenches(rows, wrenches)
        )
        M = self.mass_matrix(rows.take("q"))
        M[singular] = np.eye(self.nv)
        nv = self.nv
        A = np.zeros((rows.count, 2 * nv, 2 * nv))
        B = np.zeros((rows.count, 2 * nv, nv))
        A[:, :nv, nv:] = np.eye(nv)
        self._turn_errors(rows.take("v"), A)
        free = np.flatnonzero(~self._prescribed)
        inverse = np.zeros_like(M)
        inverse[:, free[:, None], free] = np.linalg.inv(M[:, free[:, None], free])
        A[:, nv:, :nv] = -inverse @ dq
        A[:, nv:, nv:] = -inverse @ dv
        B[:, nv:] = inverse
        A[singular, nv:] = B[singular, nv:] = np.nan
        return Linearization(A.reshape(*rows.shape, 2 * nv, 2 * nv), B.reshape(*rows.shape, 2 * nv, nv))

    def _turn_errors(self, v: np.ndarray, A: np.ndarray) -> None:
        """Rates w x dq of the small turns of free bodies."""
        for i in self._free_twists:
            w = v[:, i : i + 3]
            A[:, i, i + 1], A[:, i, i + 2] = -w[:, 2], w[:, 1]
            A[:, i + 1, i], A[:, i + 1, i + 2] = w[:, 2], -w[:, 0]
            A[:, i + 2, i], A[:, i + 2, i + 1] = -w[:, 1], w[:, 0]

    @cached_property
    def _free_twists(self) -> tuple[int, ...]:
        """Index in v of the twist of each free body."""
        m = self._tree.model
        return tuple(int(m.v_index[b]) for b in range(1, m.nb) if m.joint_type[b] == 2)

    def modal_integrals(self, link: str, stations: Sequence[float] = (1.0,)) -> LinkIntegrals:
        """Mass, stiffness and damping data of a flexible link, and its shapes at stations; see
        `LinkIntegrals`.

        Raises
        ------
        UnknownNameError
            If the robot has no flexible link of that name.
        StateError
            If a station is not between 0 and 1.
        """
        if self._bending is None:
            raise UnknownNameError("flexible link", link, ())
        return self._bending.integrals_of(link, stations)

    def coriolis_matrix(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """C (..., nv, nv): C v is the velocity part of h, dM/dt - 2 C is skew (Echeandia & Wensing 2021).

        Of trees that bend: see `dynamics/coriolis.py`.
        """
        rows = Rows({"q": (q, self.nq), "v": (v, self.nv)})
        if self.bends:
            from flexdyn_ros.dynamics.coriolis import coriolis_of

            data = {name: rows.take(name) for name in ("q", "v")}
            return coriolis_of(self, self._free_twists, **data).reshape(*rows.shape, self.nv, self.nv)
        C = _empty((rows.count, self.nv, self.nv))
        blocks = (4, self._tree.model.nb, 6, 6)

        def call(address: int, work: np.ndarray, q: np.ndarray, v: np.ndarray, C: np.ndarray) -> int:
            return coriolis_many(address, work, q, v, np.zeros(blocks), C)

        self._call(call, rows, ("q", "v"), C)
        return C.reshape(*rows.shape, self.nv, self.nv)

    def modes(self, q: np.ndarray, *, lock: Sequence[str] | str = ()) -> Modes:
        """Modes of vibration about rest at q: K = d(h - damping)/dq, D = dh/dv at v = 0; see
        `dynamics/modes.py`.

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
        """
        locked = chosen_coordinates(lock, self.coordinates, "lock") | self._prescribed
        zero = np.zeros(self.nv)
        M = self.mass_matrix(q)
        K, D = self.inverse_dynamics_derivatives(q, zero, zero)
        return modes_of(M, K, D, locked)

    def static_equilibrium(
        self,
        q0: np.ndarray | None = None,
        *,
        hold: Sequence[str] | str = (),
        tau: np.ndarray | None = None,
        wrenches: Mapping[str, Any] | None = None,
    ) -> Equilibrium:
        """The state of rest near q0; see `dynamics/equilibrium.py`.

        Parameters
        ----------
        q0 : (nq,) array, optional
            Where to start; neutral() if omitted.
        hold : coordinate names, or "joints": these stay and get the efforts that this takes
        tau : (nu,) array, optional
            Efforts of the others, zero if omitted [N m, N].
        wrenches : mapping from frame name to (6,), optional
            (moment; force) in world axes at the frame's origin.

        Returns
        -------
        Equilibrium
            stable: the Hessian of the potential, held coordinates left out, has no negative eigenvalue.

        Raises
        ------
        DimensionError, StateError, UnknownNameError, ConvergenceError
        """
        held = chosen_coordinates(hold, self.coordinates, "hold") | self._prescribed
        tau = np.zeros(self.nv) if tau is None else tau
        q0 = self.neutral() if q0 is None else q0
        rows = self._rows(wrenches, q0=(q0, self.nq), tau=(tau, self.nv))
        if rows.shape:
            raise DimensionError(f"static_equilibrium takes single states, got a batch of shape {rows.shape}")
        data = {"q": rows.take("q0"), "tau": rows.take("tau")}
        self._check(data)
        zero = np.zeros(self.nv)
        statics = Statics(
            load=lambda q: self.inverse_dynamics(q, zero, zero, wrenches),
            stiffness=lambda q: self.inverse_dynamics_derivatives(q, zero, zero, wrenches)[0],
            mass=self.mass_matrix,
            move=lambda q, dq: self.integrate(q, dq, 1.0),
        )
        return find_equilibrium(statics, data["q"][0].copy(), data["tau"][0], held)

    def inverse_dynamics_derivatives(
        self, q: np.ndarray, v: np.ndarray, a: np.ndarray, wrenches: Mapping[str, Any] | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """d tau / dq (tangent) and d tau / dv of `inverse_dynamics`, each (..., nv, nv), by the complex
        step."""
        seeing = self._seeing(wrenches or ())
        if seeing is not self:
            return seeing.inverse_dynamics_derivatives(q, v, a, wrenches)
        rows = self._rows(wrenches, q=(q, self.nq), v=(v, self.nv), a=(a, self.nv))
        data = {name: rows.take(name) for name in ("q", "v", "a")}
        shape = (*rows.shape, self.nv, self.nv)
        if self._affine and self._lagrangian is not None:
            if wrenches:
                self._need_rotations("wrenches")
            self._check(data)
            dq, dv = self._lagrangian.derivatives(**data)
            return dq.reshape(shape), dv.reshape(shape)
        dq, dv = _empty((rows.count, self.nv, self.nv)), _empty((rows.count, self.nv, self.nv))
        bodies, offsets = self._points(wrenches)

        def call(*arrays: np.ndarray) -> int:
            q, v, a, w, dq, dv = arrays
            work = self._packed.work(dtype=np.complex128)
            return self._kernels.inverse_dynamics_derivatives_many(
                self._address, work, q, v, a, bodies, offsets, w, dq, dv
            )

        status = run_in_slices(call, [*data.values(), self._wrench_rows(rows, wrenches), dq, dv])
        explain_status(status, data)
        return dq.reshape(shape), dv.reshape(shape)

    # ---- behind the verbs ----

    def _need_rotations(self, what: str) -> None:
        """UnsupportedError if section frames are affine: they stretch what hangs on them."""
        if self._affine:
            raise UnsupportedError(
                f"{what} with affine section frames (preset 'paper'): not computed, these are no rotations; "
                "load with frame 'so3'"
            )

    def _seeing(self, names: Iterable[Any]) -> TreeRobot:
        """This robot, or one like it for which the sections LINK@station among `names` are frames too."""
        if self._bending is None:
            return self
        missing = self._bending.section_names(names, self._tree.frames)
        if not missing:
            return self
        if missing not in self._seen:
            self._seen[missing] = type(self)(self.description, self._payloads, (*self._sections, *missing))
        return self._seen[missing]

    def _frame(self, name: str) -> Frame:
        try:
            return self._tree.frames[name]
        except (KeyError, TypeError):
            raise UnknownNameError("frame", name, self.frame_names) from None

    def _rows(self, wrenches: Mapping[str, Any] | None, **arguments: Any) -> Rows:
        return rows_with_wrenches(wrenches, **arguments)

    def _points(self, wrenches: Mapping[str, Any] | None) -> tuple[np.ndarray, np.ndarray]:
        """Bodies (k,) and points (k, 3) in them at which the wrenches act."""
        frames = [self._frame(name) for name in wrenches or {}]
        bodies = np.array([f.body for f in frames], dtype=np.int64)
        return bodies, np.array([f.placement.p for f in frames]).reshape(len(frames), 3)

    def _wrench_rows(self, rows: Rows, wrenches: Mapping[str, Any] | None) -> np.ndarray:
        return wrench_rows(rows, wrenches)

    def _flat_wrenches(self, rows: Rows, wrenches: Mapping[str, Any] | None) -> dict[str, np.ndarray] | None:
        return {name: rows.take(f"wrenches[{name!r}]") for name in wrenches} if wrenches else None

    def _run(
        self,
        verb: str,
        rows: Rows,
        names: tuple[str, ...],
        out: np.ndarray,
        wrenches: Mapping[str, Any] | None,
    ) -> None:
        """One of the dynamics over all rows: lanes without wrenches, sample by sample with them."""
        data = {name: rows.take(name) for name in names}
        result = out.reshape(rows.count, self.nv)
        if self._lagrangian is not None:
            self._check(data)
            load = self._generalized(data["q"], rows, wrenches)
            result[...] = getattr(self._lagrangian, verb)(*data.values(), load)
            warn_of_singular_rows(result, data, "the mass matrix", rows.shape)
            return
        if not wrenches:
            plain = getattr(self._kernels, f"{verb}_many")

            def call(*arrays: np.ndarray) -> int:
                return plain(self._address, self._packed.work(LANES), *arrays)

            status = run_in_slices(call, [*data.values(), result])
        else:
            bodies, offsets = self._points(wrenches)
            loaded = getattr(self._kernels, f"{verb}_loaded")

            def call(*arrays: np.ndarray) -> int:
                q, v, x, w, y = arrays
                return loaded(self._address, self._packed.work(), q, v, x, bodies, offsets, w, y)

            status = run_in_slices(call, [*data.values(), self._wrench_rows(rows, wrenches), result])
        if status:
            explain_status(status, data)
            warn_of_singular_rows(result, data, "the mass matrix", rows.shape)

    def _check(self, data: Mapping[str, np.ndarray]) -> None:
        """StateError if rows of q, v, ... hold NaN, infinity, or a quaternion that is not of unit length."""
        q = data["q"]
        still = np.zeros((len(q), self.nv))
        explain_status(self._kernels.integrate_many(self._address, q, still, 0.0, _empty(q.shape)), {"q": q})
        for name, rows in data.items():
            wrong = np.flatnonzero(~np.isfinite(rows).all(axis=1))
            if wrong.size:
                explain_status(2 + 8 * int(wrong[0]), {name: rows})

    def _generalized(self, q: np.ndarray, rows: Rows, wrenches: Mapping[str, Any] | None) -> np.ndarray:
        """sum J^T w (count, nv) of external wrenches."""
        load = np.zeros((rows.count, self.nv))
        loads = self._wrench_rows(rows, wrenches)
        for i, name in enumerate(wrenches or {}):
            load += np.einsum("nij,ni->nj", self.jacobian(q, name), loads[:, i])
        return load

    def _call(
        self, kernel: Callable[..., int], rows: Rows, names: tuple[str, ...], result: np.ndarray
    ) -> None:
        """An entry (address, work, *rows, result) over all rows."""
        data = {name: rows.take(name) for name in names}

        def call(*arrays: np.ndarray) -> int:
            return kernel(self._address, self._packed.work(), *arrays)

        explain_status(run_in_slices(call, [*data.values(), result]), data)

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

    def _partial(
        self, q: Any, v: Any, tau: Any, a: Any, given: np.ndarray, wrenches: Mapping[str, Any] | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """(tau, a) of the motion in which the accelerations marked in `given` are those of a."""
        tau = np.zeros(self.nv) if tau is None else tau
        # accelerations of coordinates that are not given are no input: whatever they hold must not count
        a = np.where(given, numbers(a, "a", self.nv), 0.0)
        rows = self._rows(wrenches, q=(q, self.nq), v=(v, self.nv), tau=(tau, self.nv), a=(a, self.nv))
        data = {name: rows.take(name) for name in ("q", "v", "tau", "a")}
        checked = {name: array.copy() if name in ("tau", "a") else array for name, array in data.items()}
        data["tau"], data["a"] = data["tau"].copy(), data["a"].copy()
        data["tau"][:, given] = 0.0
        if self._lagrangian is not None:
            self._check(checked)
            load = self._generalized(data["q"], rows, wrenches)
            data["tau"], data["a"] = self._lagrangian.partial_dynamics(**data, given=given, load=load)
            warn_of_singular_rows(data["a"], checked, "the mass matrix", rows.shape)
            return data["tau"].reshape(*rows.shape, self.nv), data["a"].reshape(*rows.shape, self.nv)
        bodies, offsets = self._points(wrenches)

        def call(*arrays: np.ndarray) -> int:
            q, v, tau, a, w = arrays
            work, M = self._packed.work(), _empty((self.nv, self.nv))
            return self._kernels.partial_dynamics_many(
                self._address, work, M, q, v, tau, given, a, bodies, offsets, w
            )

        status = run_in_slices(call, [*data.values(), self._wrench_rows(rows, wrenches)])
        if status:
            explain_status(status, checked)
            warn_of_singular_rows(data["a"], checked, "the mass matrix", rows.shape)
            data["tau"][~np.isfinite(data["a"]).all(axis=1)] = np.nan
        shape = (*rows.shape, self.nv)
        return data["tau"].reshape(shape), data["a"].reshape(shape)


def _lagrangian_path(tree: RigidTree, model: LagrangeModel | None) -> LagrangianPath:
    """Imported only when asked for: with its modes and integrals it costs as much as all the rest."""
    from flexdyn_ros.dynamics.lagrangian import LagrangianPath

    return LagrangianPath(tree.model, model)


def _no_shortcut(*arguments: Any) -> int:
    """In place of a one-sample entry where there is none: sends the verb on to its general path."""
    raise TypeError


def _write(out: np.ndarray | None, result: np.ndarray) -> np.ndarray:
    """`result`, in `out` if there is one."""
    if out is None:
        return result
    check_out(out, result.shape)[...] = result
    return out
