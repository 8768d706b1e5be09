"""What a family computes for the verbs of one robot: rows of results from rows of arguments."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from flexdyn_ros.description import RobotDescription
from flexdyn_ros.errors import StateError, UnsupportedError
from flexdyn_ros.numerics.numbers.memory import ONE_LANE, aligned
from flexdyn_ros.numerics.verbs.functions_of import work_numbers
from flexdyn_ros.robot.analysis.equilibrium import Statics, find_equilibrium
from flexdyn_ros.robot.analysis.modes import idle_motion
from flexdyn_ros.robot.analysis.partial import partial_motion
from flexdyn_ros.robot.analysis.probes import Probes, coriolis_of
from flexdyn_ros.robot.arguments import (
    Rows,
    check_out,
    explain_status,
    flat_wrenches,
    refuse_nonfinite,
    rows_with_wrenches,
    warn_of_overflow,
    warn_of_singular_rows,
)
from flexdyn_ros.robot.coordinates import Coordinate
from flexdyn_ros.robot.interface import RobotInterface
from flexdyn_ros.robot.motion import Motion
from flexdyn_ros.robot.parameters import Payload
from flexdyn_ros.robot.results import Contacts, Equilibrium, Loads, PositionLimits
from flexdyn_ros.robot.threads import run_in_slices

if TYPE_CHECKING:
    from flexdyn_ros.robot.parameters import Parameter

#: see `FamilyFunctions.reactions_in`
ChosenReactions = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


class FamilyFunctions(ABC):
    """The table of functions behind one `Robot`, made by its family.

    Functions named `..._rows` find done what all families have in common: shapes are right, results are
    there to be written to, keywords make sense. That numbers are finite and quaternions of unit length is
    theirs to see, by the status of their kernels. tau, a, M, h, J, poses and results are rows, (count, ...).
    """

    #: name of the family, `Robot.kind`
    kind: str
    #: names of attributes and methods that the robot offers beside the verbs
    offers: tuple[str, ...] = ()
    #: further such names, and the part of the robot that has them
    extras: Mapping[str, object] = MappingProxyType({})
    #: the compiled functions that verbs, steps and exports are made from; None where there are none
    table: Any = None
    #: the dynamics are those of the entries: single states of the usual types go straight to them
    direct = True
    #: the kernels want work memory that begins at zero
    begins_at_zero = False
    #: `difference` is the difference of the numbers in q
    flat = False
    #: forward dynamics goes through the mass matrix even if nothing is prescribed
    by_mass_matrix = False
    #: forward dynamics is checked by the balance of forces: the recursion may divide by what rounding left
    checked = False
    #: the numbers that kernels take, packed, which also has work memory, and its address
    packed: Any = None
    address = 0
    payloads: tuple[Payload, ...] = ()
    #: values of parameters that `with_parameters` gave
    changes: tuple[tuple[str, float], ...] = ()
    #: by verb, what loads an entry of single states beside those of the table, and tells the address that it
    #: takes
    singles: Mapping[str, Callable[[], tuple[Callable[..., int], int]]] = MappingProxyType({})
    #: where rows of the table were replaced, what did so, and the robot of which it did
    origin: tuple[Callable[[Any], Any], RobotInterface] | None = None
    #: `project` moves states
    is_constrained = False
    #: points that touch the ground and may leave it
    contacts: Contacts | None = None
    #: the robot over these functions; set when it is made
    robot: RobotInterface

    def _settle(
        self,
        description: RobotDescription,
        coordinates: tuple[Coordinate, ...],
        *,
        q_names: tuple[str, ...],
        frame_names: Sequence[str],
        gravity: np.ndarray,
        effort_names: tuple[str, ...] | None = None,
        warnings: tuple[str, ...] = (),
    ) -> None:
        """Set what the robot repeats; effort names are those of the coordinates unless given."""
        self.description = description
        self.coordinates = coordinates
        self.q_names, self.v_names = q_names, tuple(c.name for c in coordinates)
        self.effort_names = self.v_names if effort_names is None else effort_names
        self.nq, self.nv, self.nu = len(q_names), len(coordinates), len(self.effort_names)
        self.frame_names = tuple(frame_names)
        self.gravity, self.warnings = gravity, warnings

    def __reduce__(self) -> tuple[Any, ...]:
        if self.origin is not None:
            return self.origin[0], self.origin[1:]
        return type(self), self.recipe

    def offered(self) -> dict[str, object]:
        """What the robot offers beside the verbs, by name."""
        own = {name: getattr(self, name) for name in self.offers}
        return own | {name: getattr(part, name) for name, part in self.extras.items()}

    @property
    def general(self) -> RobotInterface:
        """The robot by the kernels of its family, whatever else computes for this one."""
        return self.robot if self.origin is None else self.origin[1]

    @property
    def work_numbers(self) -> int:
        """Numbers of work memory that the kernels take."""
        return int(self.packed.numbers)

    def work(self, per_number: int = ONE_LANE, extra: int = 0) -> np.ndarray:
        """Fresh work memory for one call of an entry, whose numbers take so many float64 each; extra: numbers
        beside those that every entry takes."""
        size = work_numbers(self.packed.numbers + extra, self.nq, self.nv, per_number)
        memory = np.empty(size) if per_number == ONE_LANE else aligned(size)
        if self.begins_at_zero:
            memory[:] = 0.0
        return memory

    def call(
        self, kernel: Callable[..., int], rows: Rows, names: tuple[str, ...], result: np.ndarray
    ) -> None:
        """An entry (address, work, *rows, result) over all rows."""
        data = {name: rows.take(name) for name in names}

        def call(*arrays: np.ndarray) -> int:
            return kernel(self.address, self.work(), *arrays)

        explain_status(run_in_slices(call, [*data.values(), result]), data)

    def warn_of_singular(self, a: np.ndarray, data: Mapping[str, np.ndarray], batch: tuple[int, ...]) -> None:
        """`warn_of_singular_rows` for accelerations (count, nv), naming the motion that has no inertia."""

        def cause(row: int) -> tuple[str, float]:
            try:
                return idle_motion(self.robot, data["q"][row], data["v"][row])
            except StateError:
                if batch == ():
                    raise
                return "", 0.0

        warn_of_singular_rows(a, data, "the mass matrix", batch, cause)

    @cached_property
    def prescribed(self) -> np.ndarray:
        """Marks (nv,) the coordinates whose motion is given by the description."""
        return np.array([c.prescribed for c in self.coordinates], dtype=bool)

    @cached_property
    def free_twists(self) -> tuple[int, ...]:
        """Index in v of the twist of each free body: its three turns have no number in q."""
        return tuple(c.v_index for c in self.coordinates if c.q_index < 0)[::3]

    # ---- what every family says ----

    @property
    @abstractmethod
    def recipe(self) -> tuple[Any, ...]:
        """The arguments that these functions were made with, for pickle."""

    @property
    @abstractmethod
    def mass(self) -> float:
        """Mass of all links, those fixed to the world included [kg]."""

    @abstractmethod
    def neutral(self) -> np.ndarray:
        """Zero position (nq,), unit quaternions, platforms at home; may lie outside limits."""

    @abstractmethod
    def random(self, rng: np.random.Generator) -> np.ndarray:
        """A random q (nq,) within limits."""

    @cached_property
    def limits(self) -> PositionLimits:
        """Position limits, infinite ones too: those of the coordinates that have a number in q."""
        chosen = [c for c in self.coordinates if c.q_index >= 0]
        lower, upper = (np.array([getattr(c, end) for c in chosen]) for end in ("lower", "upper"))
        places = np.array([c.q_index for c in chosen], dtype=np.int64)
        return PositionLimits(tuple(c.name for c in chosen), lower, upper, places)

    def limited_motion(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Positions and rates (..., k) of what `limits` names."""
        numbered = [c for c in self.coordinates if c.q_index >= 0]
        return q[..., [c.q_index for c in numbered]], v[..., [c.v_index for c in numbered]]

    def check_start(self, q: np.ndarray) -> str:
        """What to warn of a start (nq,) of a run; StateError where the mechanism cannot have it."""
        return ""

    def refuse(self, what: str) -> None:  # noqa: B027 - most robots refuse nothing
        """UnsupportedError if this robot has no such method, export or use."""

    def project(
        self, q: np.ndarray, v: np.ndarray, held: Sequence[str] = ()
    ) -> tuple[np.ndarray, np.ndarray]:
        """A state (nq,), (nv,) after a step, moved onto what constrains the robot, coordinates of those names
        held."""
        return q, v

    def closed(self, q: np.ndarray, held: Sequence[str] = ()) -> np.ndarray:
        """The q (nq,) nearest to a pose that meets what constrains the robot, coordinates of those names
        held, if they are not more than its motions; ConvergenceError where there is none."""
        return q

    def inverse_inertia(self, q: np.ndarray) -> np.ndarray:
        """Accelerations (nv, nv) that unit forces make at one q (nq,): M^-1, with constraints what they leave
        of that."""
        return np.linalg.inv(self.robot.mass_matrix(q))

    def motions(self, q: np.ndarray) -> np.ndarray:
        """Columns (nv, k), orthonormal, of the velocities that what constrains the robot leaves at one q
        (nq,)."""
        return np.eye(self.robot.nv)

    def efforts_for(
        self,
        q: np.ndarray,
        v: np.ndarray,
        tau: np.ndarray,
        wrenches: Mapping[str, object] | None,
        prescribed: Mapping[str, float],
        at: np.ndarray,
    ) -> np.ndarray:
        """Efforts (k,) on the coordinates `at` (k,) of a state within a step that give prescribed
        accelerations, under efforts (nu,) that are zero there."""
        a = self.robot.forward_dynamics(q, v, tau, wrenches, prescribed=prescribed)
        return self.robot.inverse_dynamics(q, v, a, wrenches)[at]

    def remarks(self, q: np.ndarray, v: np.ndarray, t: np.ndarray) -> list[str]:
        """Doubts about a run with these poses (n, nq), velocities (n, nv) and times (n,), a sentence each."""
        return []

    def effort_motion(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Positions and rates (..., nu) along which efforts act; of turns of a free body the positions are
        0."""
        if self.nq == self.nv:
            return q, v
        places = [c.q_index for c in self.coordinates]
        return np.where(np.array(places) < 0, 0.0, q[..., places]), v

    @property
    def effort_coordinates(self) -> tuple[Coordinate, ...]:
        """The coordinates, then one for each element that is driven: what joint by joint commands are about.
        Positions of the elements follow q, their rates v."""
        return self.coordinates

    @property
    def end_frame(self) -> str:
        """The frame that carries payloads, unless another one is named."""
        return self.frame_names[-1] if self.frame_names else ""

    @cached_property
    def end_frames(self) -> tuple[str, ...]:
        """Frames at the ends of the robot: links that carry no other, at their tips."""
        parents = {joint.parent for joint in self.description.joints}
        ends = [joint.child for joint in self.description.joints if joint.child not in parents]
        frames = [f"{end}/tip" if f"{end}/tip" in self.frame_names else end for end in ends]
        return tuple(name for name in frames if name in self.frame_names)

    def motion(self) -> Motion | None:
        """What compiled steps need; None if the family has none and steps call the verbs."""
        return None

    def check_carrier(self, frame: str) -> None:
        """UnknownNameError or UnsupportedError if no payload can be fixed to the frame."""
        raise UnsupportedError(f"robots of kind '{self.kind}' carry no payloads")

    def carrying(self, frame: str, payloads: tuple[Payload, ...]) -> FamilyFunctions:
        """The same robot with these payloads; `frame` is that of the last one changed."""
        raise UnsupportedError(f"robots of kind '{self.kind}' carry no payloads")

    def check(self, data: Mapping[str, np.ndarray]) -> None:
        """StateError if rows of q, v, ... hold NaN, infinity, or a quaternion that is not of unit length."""
        refuse_nonfinite(data)

    def reactions_in(self, joints: Sequence[str]) -> ChosenReactions | None:
        """What gives the wrenches (k, 6) in the "base" and in chosen joints, axes of their child links, for a
        motion (q, v, a); None where there is none and none is asked for.

        Raises
        ------
        UnknownNameError
            If there is no such joint.
        UnsupportedError
            If joints are asked for of a robot that has no such reactions.
        """
        if joints:
            raise UnsupportedError(
                f"robots of kind '{self.kind}' have no joint reactions by this verb; kind 'tree' has"
            )
        return None

    def deflections(self, q: np.ndarray, stations: Sequence[float] | np.ndarray | None) -> dict[str, Any]:
        """Deformation by the name of each body that bends; {} where nothing does."""
        self.check({"q": Rows({"q": (q, self.nq)}).take("q")})
        return {}

    def loads_rows(
        self,
        rows: Rows,
        wrenches: Mapping[str, object] | None,
        stations: Sequence[float] | np.ndarray | None,
    ) -> dict[str, Loads]:
        """Loads by the name of each link, force and moment (count, k, 3), at rows of q, v, a and wrenches."""
        raise UnsupportedError(
            f"robot {self.description.name!r} is of kind '{self.kind}': loads are computed for kind 'tree'"
        )

    def implied(self, words: Sequence[str]) -> float | None:
        """A number that the description does not state but implies, by the words of its path; None where it
        has none."""
        return None

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Numbers that the equations of motion are linear in."""
        raise self.without_parameters

    def with_parameters(self, values: Mapping[str, float]) -> FamilyFunctions:
        """The same robot with other values of `parameters`."""
        raise self.without_parameters

    def probe(self, values: Mapping[str, float]) -> RobotInterface:
        """The robot without payloads that has these values of all `parameters`, whatever they are."""
        raise self.without_parameters

    def regressor_rows(self, rows: Rows) -> tuple[np.ndarray, np.ndarray]:
        """Y (count, nu, np) and tau0 (count, nu) at rows of q, v, a."""
        return self._probes.columns(rows)

    @cached_property
    def _probes(self) -> Probes:
        return Probes(self.parameters, self.probe)

    def open_to_parameters(self) -> RobotInterface:
        """The robot as exporters see it where parameters are inputs: by kernels that hold for all values of
        them."""
        return self.general

    @property
    def without_parameters(self) -> UnsupportedError:
        """What to raise where there are no parameters."""
        return UnsupportedError(f"parameters of robots of kind '{self.kind}' are not computed")

    @property
    def regressor_one(self) -> Callable[..., int] | None:
        """Of (q, v, a, Y): writes Y (nu, np) of one state where tau0 is 0; a status. None: not there."""
        return None

    def actuation_matrix(self, q: np.ndarray, *, out: np.ndarray | None = None) -> np.ndarray:
        """B (..., nv, nu): the identity, unless a family has another one."""
        rows = Rows({"q": (q, self.nq)})
        B = check_out(out, (*rows.shape, self.nv, self.nv), rows)
        self.check({"q": rows.take("q")})
        B[...] = np.eye(self.nv)
        return B

    def coriolis_matrix(self, q: np.ndarray, v: np.ndarray, *, out: np.ndarray | None = None) -> np.ndarray:
        """C (..., nv, nv): C v is the velocity part of h, dM/dt - 2 C is skew (Echeandia & Wensing 2021).

        Of trees that bend and of soft arms: see `robot/analysis/derivatives.py`. Zero for motors of elastic
        joints.
        """
        rows = Rows({"q": (q, self.nq), "v": (v, self.nv)})
        C = check_out(out, (*rows.shape, self.nv, self.nv), rows)
        found = self.coriolis_rows(rows)
        data = {name: rows.take(name) for name in rows.names}
        warn_of_overflow(found, data, "the Coriolis matrix", rows.shape)
        C.reshape(rows.count, self.nv, self.nv)[...] = found
        return C

    def coriolis_rows(self, rows: Rows) -> np.ndarray:
        """(count, nv, nv); `rows` hold q and v."""
        return coriolis_of(self.robot, self.free_twists, rows.take("q"), rows.take("v"))

    @abstractmethod
    def inverse_dynamics_rows(
        self, rows: Rows, wrenches: Mapping[str, object] | None, tau: np.ndarray
    ) -> None: ...

    @abstractmethod
    def forward_dynamics_rows(
        self, rows: Rows, wrenches: Mapping[str, object] | None, a: np.ndarray
    ) -> None: ...

    def partial(
        self,
        q: np.ndarray,
        v: Any,
        tau: Any,
        a: np.ndarray,
        given: np.ndarray,
        wrenches: Mapping[str, Any] | None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """(force, a) of the motion in which the accelerations marked in `given` are those of a; force
        (..., nv) is B tau but for those."""
        return partial_motion(self.robot, q, v, tau, a, given, wrenches)

    @abstractmethod
    def mass_matrix_rows(self, rows: Rows, M: np.ndarray) -> None: ...

    def bias_forces_rows(self, rows: Rows, h: np.ndarray) -> None:
        """h; `rows` hold q, v and a = 0."""
        self.inverse_dynamics_rows(rows, None, h)

    @abstractmethod
    def bias_terms_rows(self, rows: Rows) -> np.ndarray:
        """(count, 5, nv), in the order of `BiasTerms`."""

    @abstractmethod
    def energy_rows(self, rows: Rows) -> np.ndarray:
        """(count, 3), in the order of `Energy`."""

    @abstractmethod
    def momenta_rows(self, rows: Rows) -> np.ndarray:
        """(count, 10): momentum (6), mass times centre of mass (3), mass."""

    @abstractmethod
    def frames_rows(self, rows: Rows, names: Sequence[str], poses: np.ndarray) -> None: ...

    @abstractmethod
    def jacobian_rows(self, rows: Rows, frame: str, J: np.ndarray) -> None: ...

    def jacobians_rows(self, rows: Rows, names: Sequence[str], J: np.ndarray) -> None:
        """J (count, k, 6, nv) of several frames."""
        one = np.empty((rows.count, 6, self.nv))
        for k, name in enumerate(names):
            self.jacobian_rows(rows, name, one)
            J[:, k] = one

    def jacobian_rates_rows(self, rows: Rows, names: Sequence[str]) -> np.ndarray:
        """dJ/dt v (count, k, 6) of frames; `rows` hold q and v."""
        raise UnsupportedError(f"accelerations of frames of robot '{self.description.name}' are not computed")

    def integrate_rows(self, rows: Rows, dt: float) -> np.ndarray:
        data = {name: rows.take(name) for name in ("q", "v")}
        self.check(data)
        return data["q"] + dt * data["v"]

    def difference_rows(self, rows: Rows) -> np.ndarray:
        ends = {name: rows.take(name) for name in ("q0", "q1")}
        self.check(ends)
        return ends["q1"] - ends["q0"]

    @abstractmethod
    def slopes_rows(self, rows: Rows, wrenches: Mapping[str, object] | None) -> tuple[np.ndarray, np.ndarray]:
        """Derivatives (count, nv, nv) of M a + h - B tau - sum J^T w by q (tangent) and v, a and tau held."""

    def linearize_rows(
        self, rows: Rows, wrenches: Mapping[str, object] | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """A (count, 2 nv, 2 nv) and B (count, 2 nv, nu) of `linearize`; `rows` hold q, v, tau."""
        return self.linearize_by_parts(rows, wrenches, np.zeros(self.nv, dtype=bool))

    def linearize_by_parts(
        self, rows: Rows, wrenches: Mapping[str, object] | None, locked: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """A and B of `linearize_rows`, with 0 in the rows of the accelerations of locked (nv,) coordinates.

        Slopes of the balance of forces, solved with the mass matrix: the free rows f of M a + h - B tau = 0
        give M_ff da_f = B_f dtau - (d/dq)_f dq - (d/dv)_f dv. M depends on q, so that the slopes are taken at
        the accelerations of the motion, in which locked coordinates have none.
        """
        robot, nv, nu = self.robot, self.nv, self.nu
        held = {self.v_names[i]: 0.0 for i in np.flatnonzero(locked)}
        motion = {name: rows.take(name) for name in ("q", "v", "tau")}
        flat = flat_wrenches(rows, wrenches)
        q, v, tau = (array.reshape(*rows.shape, array.shape[1]) for array in motion.values())
        loads = None if flat is None else {name: w.reshape(*rows.shape, 6) for name, w in flat.items()}
        a = robot.forward_dynamics(q, v, tau, loads, prescribed=held or None).reshape(rows.count, nv)
        singular = ~np.isfinite(a).all(axis=1)
        a[singular] = 0.0
        sized = {name: (array, array.shape[1]) for name, array in (*motion.items(), ("a", a))}
        dq, dv = self.slopes_rows(rows_with_wrenches(flat, **sized), flat)
        M = robot.mass_matrix(motion["q"])
        M[singular] = np.eye(nv)
        A, B = np.zeros((rows.count, 2 * nv, 2 * nv)), np.zeros((rows.count, 2 * nv, nu))
        A[:, :nv, nv:] = np.eye(nv)
        add_turn_errors(self.free_twists, motion["v"], A)
        free = np.flatnonzero(~(self.prescribed | locked))
        inverse = np.zeros_like(M)
        inverse[:, free[:, None], free] = np.linalg.inv(M[:, free[:, None], free])
        with np.errstate(over="ignore", invalid="ignore"):
            A[:, nv:, :nv] = -inverse @ dq
            A[:, nv:, nv:] = -inverse @ dv
        warn_of_overflow(A[:, nv:], motion, "a derivative of the accelerations", rows.shape)
        singular |= ~np.isfinite(A).all(axis=(1, 2))
        direct = self.effort_names == self.v_names
        B[:, nv:] = inverse if direct else inverse @ robot.actuation_matrix(motion["q"])
        A[singular, nv:] = B[singular, nv:] = np.nan
        return A, B

    def springs_rows(self, rows: Rows) -> tuple[np.ndarray, np.ndarray]:
        """K and D (count, nv, nv) of `modes`; `rows` hold q, and v = a = tau = 0."""
        return self.slopes_rows(rows, None)

    def rest(
        self, q: np.ndarray, tau: np.ndarray, held: np.ndarray, wrenches: Mapping[str, Any] | None
    ) -> Equilibrium:
        """`static_equilibrium` of a single state (nq,) under efforts (nu,)."""
        nv, robot, still = self.nv, self.robot, np.zeros(self.nv)
        # of what acts beside the coordinates, the direction of its effort moves with q
        beside = tau[nv:]

        def load(q: np.ndarray) -> np.ndarray:
            balance = robot.inverse_dynamics(q, still, still, wrenches)[:nv]
            return balance - robot.actuation_matrix(q)[:, nv:] @ beside if beside.size else balance

        def stiffness(q: np.ndarray) -> np.ndarray:
            motion = {"q": (q, self.nq), "v": (still, nv), "a": (still, nv)}
            if beside.size:
                motion["tau"] = tau, self.nu
            return self.slopes_rows(rows_with_wrenches(wrenches, **motion), wrenches)[0][0]

        statics = Statics(
            load=load,
            stiffness=stiffness,
            mass=robot.mass_matrix,
            move=lambda q, dq: robot.integrate(q, dq, 1.0),
        )
        found = find_equilibrium(statics, q, tau[:nv], held)
        return found._replace(tau=np.concatenate([found.tau, beside])) if beside.size else found

    #: names of what is driven along lines whose lengths `static_equilibrium` can hold
    lines: tuple[str, ...] = ()

    def rest_on_lines(
        self,
        names: Sequence[str],
        q: np.ndarray,
        tau: np.ndarray,
        held: np.ndarray,
        wrenches: Mapping[str, Any] | None,
    ) -> Equilibrium:
        """`rest` where these lines keep their lengths; tau of these is not read."""
        from flexdyn_ros.robot.analysis.held_lengths import HeldStatics, rest_at_lengths

        nv, robot, still = self.nv, self.robot, np.zeros(self.nv)
        places = [self.effort_names.index(name) for name in names]
        tau = tau.copy()
        tau[places] = 0.0

        def load(q: np.ndarray) -> np.ndarray:
            needed = robot.inverse_dynamics(q, still, still, wrenches)[:nv]
            return needed - robot.actuation_matrix(q)[:, nv:] @ tau[nv:]

        def stiffness(q: np.ndarray, force: np.ndarray) -> np.ndarray:
            efforts = tau.copy()
            efforts[places] = force
            motion = {"q": (q, self.nq), "v": (still, nv), "a": (still, nv), "tau": (efforts, self.nu)}
            return self.slopes_rows(rows_with_wrenches(wrenches, **motion), wrenches)[0][0]

        statics = HeldStatics(
            load=load,
            stiffness=stiffness,
            lengths=lambda q: self.effort_motion(q, still)[0][places],
            lines=lambda q: robot.actuation_matrix(q)[:, places],
            move=lambda q, dq: robot.integrate(q, dq, 1.0),
        )
        found, force = rest_at_lengths(statics, q, tau[:nv], held)
        tau[:nv], tau[places] = found.tau, force
        return found._replace(tau=tau)


def add_turn_errors(twists: Sequence[int], v: np.ndarray, A: np.ndarray) -> None:
    """Rates w x dq of the small turns of free bodies, in A (count, 2 nv, 2 nv)."""
    for i in twists:
        w = v[:, i : i + 3]
        A[:, i, i + 1], A[:, i, i + 2] = -w[:, 2], w[:, 1]
        A[:, i + 1, i], A[:, i + 1, i + 2] = w[:, 2], -w[:, 0]
        A[:, i + 2, i], A[:, i + 2, i + 1] = -w[:, 1], w[:, 0]
