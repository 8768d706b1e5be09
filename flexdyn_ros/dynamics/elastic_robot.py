"""Trees with elastic joints: motors behind springs, around the verbs of the tree (Spong 1987)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from flexdyn_ros.description import RobotDescription
from flexdyn_ros.dynamics.arguments import Rows, by_name, check_out, explain_status, finite_number, numbers
from flexdyn_ros.dynamics.equilibrium import Statics, find_equilibrium
from flexdyn_ros.dynamics.modes import chosen_coordinates, modes_of
from flexdyn_ros.dynamics.motion import Motion
from flexdyn_ros.dynamics.results import BiasTerms, Deflection, Energy, Equilibrium, Linearization, Modes
from flexdyn_ros.dynamics.tree_robot import TreeRobot
from flexdyn_ros.errors import DimensionError, SingularityError, UnknownNameError
from flexdyn_ros.model.coordinates import Coordinate
from flexdyn_ros.model.elastic import ElasticJoints, without_elasticity

__all__ = ["ElasticTreeRobot"]


class ElasticTreeRobot:
    """A `TreeRobot` some of whose joints are driven through a spring; the verbs of `flexdyn_ros.Robot`.

    A motor's coordinate q_m is on the joint's side of the gear and follows all others. Spring and damper pull
    with s = k (q_m - q_j) + d (v_m - v_j) on the joint and with -s on the motor, whose inertia is N^2 J:

        M a + h - s e_j = tau,    N^2 J a_m + s = tau_m

    The spin of rotors is left out of momentum and of gyroscopic terms, as for stiff joints. Immutable, shared
    by threads, pickles.
    """

    kind = "tree"
    #: moves in ways that its efforts do not command: steps have to be implicit or small
    bends = True

    def __init__(self, description: RobotDescription, tree: TreeRobot | None = None) -> None:
        self.description = description
        self.tree = TreeRobot(without_elasticity(description)) if tree is None else tree
        inner, n = self.tree, self.tree.nv
        self.joints = joints = ElasticJoints.of(description, inner.coordinates, inner.nq)
        self.name = description.name
        self.nq, self.nv = inner.nq + joints.count, n + joints.count
        self.nu = self.nv
        self.coordinates: tuple[Coordinate, ...] = joints.coordinates
        self.q_names: tuple[str, ...] = inner.q_names + joints.names
        self.v_names: tuple[str, ...] = tuple(c.name for c in self.coordinates)
        self.effort_names: tuple[str, ...] = self.v_names
        self.frame_names: tuple[str, ...] = inner.frame_names
        self.warnings: tuple[str, ...] = inner.warnings
        self.gravity = inner.gravity
        self._motions: list[tuple[Motion, Motion]] = []
        self._complete = True

    def __setattr__(self, name: str, value: Any) -> None:
        if "_complete" in self.__dict__:
            raise AttributeError(f"robots are immutable; {name!r} cannot be set, load another robot instead")
        super().__setattr__(name, value)

    def __reduce__(self) -> tuple[Any, ...]:
        return ElasticTreeRobot, (self.description, self.tree)

    def __repr__(self) -> str:
        return f"<ElasticTreeRobot {self.name!r}: nq={self.nq}, nv={self.nv}>"

    # ---- what the robot is ----

    @cached_property
    def motion(self) -> Motion | None:
        """What fixed compiled steps need; None where the tree has none."""
        return None if self.tree.motion is None else self._around(self.tree.motion)

    def _around(self, tree: Motion) -> Motion:
        """Motion with motors of the tree's own, or of one that sees more frames; one for each."""
        for known, motion in self._motions:
            if known is tree:
                return motion
        from flexdyn_ros.dynamics.elastic_motion import elastic_motion

        motion = elastic_motion(tree, self.joints, self.tree.nq, self._place)
        self._motions.append((tree, motion))
        return motion

    def _place(self, names: Iterable[str]) -> tuple[Motion, np.ndarray, np.ndarray]:
        """Motion of a robot that sees the frames, their bodies (k,) and points in them (k, 3)."""
        assert self.tree.motion is not None
        tree, bodies, points = self.tree.motion.place(names)
        return self._around(tree), bodies, points

    @property
    def mass(self) -> float:
        """Mass of all links [kg]."""
        return self.tree.mass

    @property
    def urdf(self) -> Any:
        """The URDF object, see `TreeRobot.urdf`."""
        return self.tree.urdf

    def keep_urdf(self, urdf: Any) -> None:
        """Answer `urdf` with the object that the caller loaded the robot from."""
        self.tree.keep_urdf(urdf)

    def with_payload(
        self,
        frame: str,
        mass: float,
        com: Sequence[float] = (0.0, 0.0, 0.0),
        inertia: np.ndarray | None = None,
    ) -> ElasticTreeRobot:
        """The same robot with a rigid body fixed to a frame; see `TreeRobot.with_payload`."""
        return ElasticTreeRobot(self.description, self.tree.with_payload(frame, mass, com, inertia))

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
        """Zero position (nq,), unit quaternions; springs at rest."""
        return np.concatenate([self.tree.neutral(), np.zeros(self.joints.count)])

    def random(self, rng: np.random.Generator | None = None) -> np.ndarray:
        """A random q (nq,): that of the tree, springs wound by up to 0.01 rad (m)."""
        rng = np.random.default_rng() if rng is None else rng
        q = self.tree.random(rng)
        return np.concatenate([q, q[self.joints.q] + rng.uniform(-0.01, 0.01, self.joints.count)])

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
        """Efforts tau = M(q) a + h(q, v) - sum J^T w (..., nu); arguments and errors as of `TreeRobot`.

        unactuated "free": accelerations of modes and of the links behind elastic joints are solved for.
        """
        if unactuated == "free":
            given = np.array([c.actuated for c in self.coordinates], dtype=bool)
            return _write(out, self._partial(q, v, None, a, given, wrenches)[0])
        if unactuated != "given":
            raise UnknownNameError("value of unactuated", unactuated, ("given", "free"))
        rows = self._rows(wrenches, q=(q, self.nq), v=(v, self.nv), a=(a, self.nv))
        data = self._checked(rows, "q", "v", "a")
        n, nq = self.tree.nv, self.tree.nq
        tau = np.empty((rows.count, self.nv))
        loads = self._loads(rows, wrenches)
        tau[:, :n] = self.tree.inverse_dynamics(data["q"][:, :nq], data["v"][:, :n], data["a"][:, :n], loads)
        tau[:, n:] = self.joints.inertia * data["a"][:, n:]
        self.joints.add_pull(data["q"], data["v"], -1.0, tau)
        return _write(out, tau.reshape(*rows.shape, self.nv))

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
        """Accelerations a (..., nv) of M(q) a + h(q, v) = tau + sum J^T w; arguments and errors as of
        `TreeRobot`."""
        tau = np.zeros(self.nv) if tau is None else tau
        chosen = by_name(prescribed, "prescribed", "accelerations (...,)")
        if chosen:
            given = np.zeros(self.nv, dtype=bool)
            given[[self.index(name) for name in chosen]] = True
            values = [numbers(x, f"prescribed[{name!r}]") for name, x in chosen.items()]
            a = np.zeros((*np.broadcast_shapes(*(x.shape for x in values)), self.nv))
            for name, value in zip(chosen, values, strict=True):
                a[..., self.index(name)] = value
            return _write(out, self._partial(q, v, tau, a, given, wrenches)[1])
        rows = self._rows(wrenches, q=(q, self.nq), v=(v, self.nv), tau=(tau, self.nv))
        data = self._checked(rows, "q", "v", "tau")
        n, nq = self.tree.nv, self.tree.nq
        force = data["tau"].copy()
        self.joints.add_pull(data["q"], data["v"], 1.0, force)
        a = np.empty((rows.count, self.nv))
        loads = self._loads(rows, wrenches)
        inner = self.tree.forward_dynamics(data["q"][:, :nq], data["v"][:, :n], force[:, :n], loads)
        if rows.shape == () and not np.isfinite(inner).all():
            raise SingularityError("the mass matrix is singular", 0.0)
        a[:, :n] = inner
        a[:, n:] = force[:, n:] / self.joints.inertia
        return _write(out, a.reshape(*rows.shape, self.nv))

    def mass_matrix(self, q: np.ndarray, *, out: np.ndarray | None = None) -> np.ndarray:
        """Mass matrix M(q) (..., nv, nv): that of the tree, motors on the diagonal."""
        rows = Rows({"q": (q, self.nq)})
        data = self._checked(rows, "q")
        M = np.zeros((rows.count, self.nv, self.nv))
        n = self.tree.nv
        M[:, :n, :n] = self.tree.mass_matrix(data["q"][:, : self.tree.nq])
        at = np.arange(n, self.nv)
        M[:, at, at] = self.joints.inertia
        return _write(out, M.reshape(*rows.shape, self.nv, self.nv))

    def bias_forces(self, q: np.ndarray, v: np.ndarray, *, out: np.ndarray | None = None) -> np.ndarray:
        """h(q, v) (..., nv): that of the tree, springs and dampers of the elastic joints included."""
        return self.inverse_dynamics(q, v, np.zeros(self.nv), out=out)

    def bias_terms(self, q: np.ndarray, v: np.ndarray) -> BiasTerms:
        """The parts of `bias_forces`, each (..., nv)."""
        rows = Rows({"q": (q, self.nq), "v": (v, self.nv)})
        data = self._checked(rows, "q", "v")
        n = self.tree.nv
        terms = np.zeros((5, rows.count, self.nv))
        terms[:, :, :n] = np.stack(self.tree.bias_terms(data["q"][:, : self.tree.nq], data["v"][:, :n]))
        self.joints.add_pull(data["q"], np.zeros_like(data["v"]), -1.0, terms[2])
        self.joints.add_pull(np.zeros_like(data["q"]), data["v"], -1.0, terms[3])
        return BiasTerms(*(term.reshape(*rows.shape, self.nv) for term in terms))

    def actuation_matrix(self, q: np.ndarray) -> np.ndarray:
        """B (..., nv, nu): the identity."""
        rows = Rows({"q": (q, self.nq)})
        self._checked(rows, "q")
        return np.broadcast_to(np.eye(self.nv), (*rows.shape, self.nv, self.nv)).copy()

    def energy(self, q: np.ndarray, v: np.ndarray) -> Energy:
        """Kinetic energy (motors included), gravity potential, energy of all springs (...,) [J]."""
        rows = Rows({"q": (q, self.nq), "v": (v, self.nv)})
        data = self._checked(rows, "q", "v")
        n = self.tree.nv
        kinetic, gravity, elastic = self.tree.energy(data["q"][:, : self.tree.nq], data["v"][:, :n])
        kinetic = kinetic + 0.5 * (data["v"][:, n:] ** 2) @ self.joints.inertia
        elastic = elastic + 0.5 * self.joints.wound(data["q"]) ** 2 @ self.joints.stiffness
        return Energy(*(x.reshape(rows.shape)[()] for x in (kinetic, gravity, elastic)))

    def coriolis_matrix(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """C (..., nv, nv) of the tree, zero for motors; see `TreeRobot.coriolis_matrix`."""
        return self._block(lambda q, v: self.tree.coriolis_matrix(q, v), q, v)

    def momentum(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Momentum (..., 6), motors' spin left out; see `TreeRobot.momentum`."""
        q, v = self._inner(q, v)
        return self.tree.momentum(q, v)

    # ---- kinematics ----

    def center_of_mass(self, q: np.ndarray) -> np.ndarray:
        """Centre of mass (..., 3); see `TreeRobot.center_of_mass`."""
        return self.tree.center_of_mass(self._inner(q)[0])

    def frames(self, q: np.ndarray, names: str | Sequence[str] | None = None) -> np.ndarray:
        """Poses of frames in the world; see `TreeRobot.frames`."""
        return self.tree.frames(self._inner(q)[0], names)

    def jacobian(self, q: np.ndarray, frame: str, *, out: np.ndarray | None = None) -> np.ndarray:
        """J (..., 6, nv), zero columns for motors; see `TreeRobot.jacobian`."""
        inner = self.tree.jacobian(self._inner(q)[0], frame)
        J = np.zeros((*inner.shape[:-1], self.nv))
        J[..., : self.tree.nv] = inner
        return _write(out, J)

    def deflections(self, q: np.ndarray, stations: Sequence[float] | None = None) -> dict[str, Deflection]:
        """Deformation of each flexible link; see `TreeRobot.deflections`."""
        return self.tree.deflections(self._inner(q)[0], stations)

    def modal_integrals(self, link: str, stations: Sequence[float] = (1.0,)) -> Any:
        """Constants of a flexible link; see `TreeRobot.modal_integrals`."""
        return self.tree.modal_integrals(link, stations)

    def integrate(self, q: np.ndarray, v: np.ndarray, dt: float) -> np.ndarray:
        """q moved by v for dt seconds (..., nq)."""
        rows = Rows({"q": (q, self.nq), "v": (v, self.nv)})
        data = self._checked(rows, "q", "v")
        seconds = finite_number(dt, "dt")
        n, nq = self.tree.nv, self.tree.nq
        moved = self.tree.integrate(data["q"][:, :nq], data["v"][:, :n], seconds)
        motors = data["q"][:, nq:] + seconds * data["v"][:, n:]
        return np.concatenate([moved, motors], axis=1).reshape(*rows.shape, self.nq)

    def difference(self, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
        """v (..., nv) with integrate(q0, v, 1) = q1; motors take the turns of their continuous joints."""
        rows = Rows({"q0": (q0, self.nq), "q1": (q1, self.nq)})
        data = self._checked(rows, "q0", "q1")
        nq = self.tree.nq
        inner = self.tree.difference(data["q0"][:, :nq], data["q1"][:, :nq])
        j = self.joints
        turned = inner[:, j.v] - (data["q1"][:, j.q] - data["q0"][:, j.q])
        motors = data["q1"][:, nq:] - data["q0"][:, nq:] + turned
        return np.concatenate([inner, motors], axis=1).reshape(*rows.shape, self.nv)

    # ---- derivatives and rest ----

    def inverse_dynamics_derivatives(
        self, q: np.ndarray, v: np.ndarray, a: np.ndarray, wrenches: Mapping[str, Any] | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """d tau / dq (tangent) and d tau / dv of `inverse_dynamics`, each (..., nv, nv)."""
        rows = self._rows(wrenches, q=(q, self.nq), v=(v, self.nv), a=(a, self.nv))
        data = self._checked(rows, "q", "v", "a")
        n, nq = self.tree.nv, self.tree.nq
        inner = self.tree.inverse_dynamics_derivatives(
            data["q"][:, :nq], data["v"][:, :n], data["a"][:, :n], self._loads(rows, wrenches)
        )
        found = []
        for part, slope in zip(inner, (self.joints.stiffness, self.joints.damping), strict=True):
            whole = np.zeros((rows.count, self.nv, self.nv))
            whole[:, :n, :n] = part
            self.joints.add_slopes(slope, whole)
            found.append(whole.reshape(*rows.shape, self.nv, self.nv))
        return found[0], found[1]

    def linearize(
        self,
        q: np.ndarray,
        v: np.ndarray,
        tau: np.ndarray | None = None,
        wrenches: Mapping[str, Any] | None = None,
    ) -> Linearization:
        """A (..., 2 nv, 2 nv), B (..., 2 nv, nu) about a motion; see `TreeRobot.linearize`."""
        tau = np.zeros(self.nv) if tau is None else tau
        n, nq = self.tree.nv, self.tree.nq
        rows = self._rows(wrenches, q=(q, self.nq), v=(v, self.nv), tau=(tau, self.nv))
        data = self._checked(rows, "q", "v", "tau")
        force = data["tau"].copy()
        self.joints.add_pull(data["q"], data["v"], 1.0, force)
        inner = self.tree.linearize(
            data["q"][:, :nq], data["v"][:, :n], force[:, :n], self._loads(rows, wrenches)
        )
        nv = self.nv
        A, B = np.zeros((rows.count, 2 * nv, 2 * nv)), np.zeros((rows.count, 2 * nv, nv))
        kept = np.concatenate([np.arange(n), nv + np.arange(n)])
        A[:, kept[:, None], kept] = inner.A
        A[:, np.arange(n, nv), nv + np.arange(n, nv)] = 1.0
        B[:, kept[:, None], np.arange(n)] = inner.B
        B[:, nv + np.arange(n, nv), np.arange(n, nv)] = 1.0 / self.joints.inertia
        for first, slope in ((0, self.joints.stiffness), (nv, self.joints.damping)):
            pull = np.zeros((1, nv, nv))
            self.joints.add_slopes(slope, pull)
            A[:, nv:, first : first + nv] -= B[:, nv:] @ pull
        return Linearization(A.reshape(*rows.shape, 2 * nv, 2 * nv), B.reshape(*rows.shape, 2 * nv, nv))

    def modes(self, q: np.ndarray, *, lock: Sequence[str] | str = ()) -> Modes:
        """Modes of vibration about rest at q, motors free unless locked; see `TreeRobot.modes`."""
        locked = chosen_coordinates(lock, self.coordinates, "lock")
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
        """The state of rest near q0; see `TreeRobot.static_equilibrium`. Hold the motors for a braked arm."""
        held = chosen_coordinates(hold, self.coordinates, "hold")
        tau = np.zeros(self.nv) if tau is None else tau
        q0 = self.neutral() if q0 is None else q0
        rows = self._rows(wrenches, q=(q0, self.nq), tau=(tau, self.nv))
        if rows.shape:
            raise DimensionError(f"static_equilibrium takes single states, got a batch of shape {rows.shape}")
        data = self._checked(rows, "q", "tau")
        zero = np.zeros(self.nv)
        statics = Statics(
            load=lambda q: self.inverse_dynamics(q, zero, zero, wrenches),
            stiffness=lambda q: self.inverse_dynamics_derivatives(q, zero, zero, wrenches)[0],
            mass=self.mass_matrix,
            move=lambda q, dq: self.integrate(q, dq, 1.0),
        )
        return find_equilibrium(statics, data["q"][0].copy(), data["tau"][0], held)

    # ---- behind the verbs ----

    def _rows(self, wrenches: Mapping[str, Any] | None, **arguments: Any) -> Rows:
        given = by_name(wrenches, "wrenches", "(..., 6) arrays")
        return Rows({**arguments, **{f"wrenches[{name!r}]": (w, 6) for name, w in given.items()}})

    def _loads(self, rows: Rows, wrenches: Mapping[str, Any] | None) -> dict[str, np.ndarray] | None:
        return {name: rows.take(f"wrenches[{name!r}]") for name in wrenches} if wrenches else None

    def _checked(self, rows: Rows, *names: str) -> dict[str, np.ndarray]:
        """Rows of the arguments; StateError where one is not finite (quaternions are the tree's to check)."""
        data = {name: rows.take(name) for name in names}
        for name, array in data.items():
            wrong = np.flatnonzero(~np.isfinite(array).all(axis=1))
            if wrong.size:
                explain_status(2 + 8 * int(wrong[0]), {name: array})
        return data

    def _inner(self, q: np.ndarray, v: np.ndarray | None = None) -> tuple[Any, Any]:
        """q and v of the tree, batch kept."""
        given: dict[str, tuple[Any, int]] = {"q": (q, self.nq)}
        if v is not None:
            given["v"] = (v, self.nv)
        rows = Rows(given)
        data = self._checked(rows, *given)
        inner_q = data["q"][:, : self.tree.nq].reshape(*rows.shape, self.tree.nq)
        if v is None:
            return inner_q, None
        return inner_q, data["v"][:, : self.tree.nv].reshape(*rows.shape, self.tree.nv)

    def _block(self, verb: Callable[..., np.ndarray], *arguments: np.ndarray) -> np.ndarray:
        """A matrix of the tree with zeros for the motors."""
        inner = verb(*self._inner(*arguments))
        whole = np.zeros((*inner.shape[:-2], self.nv, self.nv))
        whole[..., : self.tree.nv, : self.tree.nv] = inner
        return whole

    def _partial(
        self, q: Any, v: Any, tau: Any, a: Any, given: np.ndarray, wrenches: Mapping[str, Any] | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """(tau, a) of the motion in which the accelerations marked in `given` are those of a."""
        tau = np.zeros(self.nv) if tau is None else tau
        a = np.where(given, numbers(a, "a", self.nv), 0.0)
        rows = self._rows(wrenches, q=(q, self.nq), v=(v, self.nv), tau=(tau, self.nv), a=(a, self.nv))
        data = self._checked(rows, "q", "v", "tau", "a")
        loads = self._loads(rows, wrenches)
        force, acceleration = data["tau"].copy(), data["a"].copy()
        held = self.inverse_dynamics(data["q"], data["v"], acceleration, loads)
        M = self.mass_matrix(data["q"])
        free = np.flatnonzero(~given)
        if free.size:
            try:
                acceleration[:, free] = np.linalg.solve(
                    M[:, free[:, None], free], (force - held)[:, free, None]
                )[..., 0]
            except np.linalg.LinAlgError:
                raise SingularityError("the mass matrix is singular", 0.0) from None
        needed = self.inverse_dynamics(data["q"], data["v"], acceleration, loads)
        force[:, given] = needed[:, given]
        shape = (*rows.shape, self.nv)
        return force.reshape(shape), acceleration.reshape(shape)


def _write(out: np.ndarray | None, result: np.ndarray) -> np.ndarray:
    """`result`, in `out` if there is one."""
    if out is None:
        return result
    check_out(out, result.shape)[...] = result
    return out
