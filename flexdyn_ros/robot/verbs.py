"""`flexdyn_ros.Robot`: the verbs of every robot, over the table of functions that its family made.

A verb makes rows (count, ...) of its arguments, lets the family compute rows of results
(`FamilyFunctions`), and gives them the shape of the batch.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from functools import cached_property
from math import isinf, prod
from typing import TYPE_CHECKING, Any, final, overload

import numpy as np

from flexdyn_ros.description import RobotDescription
from flexdyn_ros.errors import (
    DimensionError,
    FlexdynWarning,
    SingularityError,
    StateError,
    UnknownNameError,
    UnsupportedError,
)
from flexdyn_ros.robot.analysis.derivatives import (
    forward_derivatives_of,
    inverse_derivatives_of,
    linearization_of,
    linearization_with_oil,
    parameter_derivatives_of,
)
from flexdyn_ros.robot.analysis.modes import chosen_coordinates, modes_of
from flexdyn_ros.robot.analysis.steady_modes import steady_modes_of
from flexdyn_ros.robot.analysis.validity import Tip, beyond_linear, warning_of
from flexdyn_ros.robot.arguments import (
    Rows,
    by_name,
    check_out,
    finite_number,
    numbers,
    rows_with_wrenches,
    scattered_efforts,
    warn_of_overflow,
    wrench_rows,
)
from flexdyn_ros.robot.coordinates import Coordinate, pose_name
from flexdyn_ros.robot.entries.verbs import single_verbs
from flexdyn_ros.robot.functions import FamilyFunctions
from flexdyn_ros.robot.motion import ElementState, Motion
from flexdyn_ros.robot.parameters import Parameter, Regressor, check_payload, checked_values
from flexdyn_ros.robot.results import (
    BiasTerms,
    Energy,
    Equilibrium,
    ForwardDerivatives,
    Linearization,
    LinearizationWithStates,
    Loads,
    Modes,
)


@final
class Robot:
    """A robot of any type: M(q) a + h(q, v) = B(q) tau + sum J^T w.

    q is (..., nq), v and a are (..., nv), tau is (..., nu); leading dimensions broadcast, results have the
    broadcast shape. Units SI and rad; quaternions x y z w; twists and wrenches angular part first, in world
    axes. Wrong shapes raise DimensionError, NaN, infinity and quaternions that are not of unit length
    StateError, unknown names UnknownNameError. A robot is immutable, may be shared by threads, and pickles.
    """

    kind: str
    name: str
    description: RobotDescription
    nq: int
    nv: int
    nu: int
    coordinates: tuple[Coordinate, ...]
    q_names: tuple[str, ...]
    v_names: tuple[str, ...]
    effort_names: tuple[str, ...]
    frame_names: tuple[str, ...]
    warnings: tuple[str, ...]
    gravity: np.ndarray
    #: the functions of the family behind the verbs, and its data
    functions: FamilyFunctions
    # parts that only some robots have: whether links bend, and their tips; legs, and their cylinders with
    # valves; wheels; soft sections, and the areas of their actuators where these are told pressures
    bends: bool = False
    tips: tuple[Tip, ...] = ()
    # springs, dampers and cylinders between frames
    elements: tuple[Any, ...] = ()
    legs: tuple[Any, ...] = ()
    hydraulics: Any = None
    wheel_names: tuple[str, ...] = ()
    section_names: tuple[str, ...] = ()
    pressure_areas: np.ndarray | None = None

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """What the family offers beside the verbs."""

    def __init__(self, functions: FamilyFunctions) -> None:
        facts = self.__dict__
        for name in _REPEATED:
            facts[name] = getattr(functions, name)
        facts["name"] = functions.description.name
        facts["functions"] = functions
        functions.robot = self
        facts["_by_mass_matrix"], facts["_prescribed"] = functions.by_mass_matrix, functions.prescribed
        facts.update(single_verbs(self))
        facts.update(functions.offered())

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"robots are immutable; {name!r} cannot be set, load another robot instead")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"robots are immutable; {name!r} cannot be deleted")

    def __repr__(self) -> str:
        return f"<Robot {self.name!r} ({self.kind}): nq={self.nq}, nv={self.nv}>"

    def _repr_html_(self) -> str:
        from html import escape

        from flexdyn_ros.wording import section, table

        facts = f"{self.kind}, nq = {self.nq}, nv = {self.nv}, nu = {self.nu}, {self.mass:.6g} kg"
        driven = set(self.actuators)
        rows = [
            (pose_name(c), c.kind, c.unit, _limits(c.lower, c.upper), "yes" if c.name in driven else "")
            for c in self.coordinates
        ]
        legs = [name for name in self.actuators if name not in self.v_names]
        drive = f"<p>driven by {escape(', '.join(legs))}</p>" if legs else ""
        coordinates = table(("coordinate", "kind", "unit", "limits", "driven"), rows)
        return section(f"Robot {self.name}", f"<p>{escape(facts)}</p>", coordinates, drive)

    def __reduce__(self) -> tuple[Any, ...]:
        return Robot, (self.functions,)

    # ---- what the robot is ----

    @cached_property
    def mass(self) -> float:
        """Mass of all links, those fixed to the world included [kg]."""
        return self.functions.mass

    @cached_property
    def motion(self) -> Motion | None:
        """Data of the compiled time steps; None where the robot type has none."""
        return self.functions.motion()

    @property
    def element_states(self) -> tuple[ElementState, ...]:
        """States (ns) that elements have beside q and v in simulations, in the order of the description: the
        absolute pressures `SECTION/pressure_1` to `_3` [Pa] of soft sections whose supply lags
        (`<pressure time_constant>`). Empty where there are none."""
        memory = None if self.motion is None else self.motion.memory
        return () if memory is None else memory.states

    def rest_states(
        self, q: np.ndarray, v: np.ndarray | None = None, tau: np.ndarray | None = None
    ) -> np.ndarray:
        """States of elements (..., ns) at rest, in the order of `element_states`.

        Parameters
        ----------
        q, v : (..., nq), (..., nv) arrays
        tau : (..., nu) array, optional
            Efforts that the elements exert [N m, N], as far as their supplies reach; default: the states in
            which a simulation starts (soft sections at the pressure of the atmosphere, without a force).

        Raises
        ------
        DimensionError, StateError
        """
        given = {"q": (q, self.nq), "v": (v, self.nv), "tau": (tau, self.nu)}
        rows = Rows({name: one for name, one in given.items() if one[0] is not None})
        data = {name: rows.take(name) for name in rows.names}
        self.functions.check(data)
        memory = None if self.motion is None else self.motion.memory
        found = np.zeros(0) if memory is None else memory.rest(data["q"], data.get("v"), data.get("tau"))
        return found.reshape(*rows.shape, len(self.element_states))

    @cached_property
    def urdf(self) -> Any:
        """The URDF object the robot was loaded from, else its text as `urchin.URDF`, made when first asked
        for."""
        from flexdyn_ros.description.urdf.geometry import as_urchin

        return as_urchin(self.description)

    def keep_urdf(self, urdf: object) -> None:
        """Answer `urdf` with the object that the caller loaded the robot from; it is not pickled."""
        self.__dict__["urdf"] = urdf

    def index(self, name: str) -> int:
        """Index in v of a coordinate; UnknownNameError if there is none of that name."""
        try:
            return self._v_index[name]
        except (KeyError, TypeError):
            raise UnknownNameError("coordinate", name, self.v_names) from None

    @cached_property
    def actuators(self) -> tuple[str, ...]:
        """Names of what drives the robot, in the order of `effort_names`: driven joints, motors, legs, soft
        actuators.

        Modes, bases, hubs, joints of effort limit 0 and coordinates of prescribed motion are none.
        """
        idle = {c.name for c in self.coordinates if not c.actuated or c.prescribed}
        return tuple(name for name in self.effort_names if name not in idle)

    def efforts(self, u: object) -> np.ndarray:
        """Effort vector tau (..., nu) of given actuator efforts; zero for all other coordinates.

        Parameters
        ----------
        u : (..., na) array in the order of `actuators`, or mapping from their names to (...) [N m, N]
            Actuators that a mapping leaves out do nothing.

        Raises
        ------
        DimensionError, StateError, UnknownNameError
            For another shape, NaN or infinity, a name that is no actuator.
        """
        return scattered_efforts(u, self.actuators, self._effort_index, self.nu)

    @cached_property
    def _effort_index(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.effort_names)}

    @cached_property
    def _v_index(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.v_names)}

    @cached_property
    def driven(self) -> np.ndarray:
        """Marks (nv,) the coordinates that something drives, be it through legs."""
        through = not set(self.effort_names) & set(self.v_names)
        return np.array([through or c.actuated or c.prescribed for c in self.coordinates], dtype=bool)

    def neutral(self) -> np.ndarray:
        """Zero position (nq,), unit quaternions, platforms at home; may lie outside limits."""
        return self.functions.neutral()

    def random(self, rng: np.random.Generator | None = None) -> np.ndarray:
        """A random q (nq,) within limits; see the family's `random`."""
        return self.functions.random(np.random.default_rng() if rng is None else rng)

    def deflections(
        self, q: np.ndarray, stations: Sequence[float] | np.ndarray | None = None
    ) -> dict[str, Any]:
        """`Deflection` of each flexible link or soft section by its name, at stations (k,) (default 21);
        {} without flexible parts. Moments and strains of flexible links are those of the mode shapes; see
        `Deflection`, and `loads` for moments by equilibrium."""
        found = self.functions.deflections(q, stations)
        for name, deflection in found.items():
            if not np.isfinite(deflection.displacement).all():
                raise StateError(f"deflections of '{name}' overflow float64, expected smaller coordinates")
        return found

    def loads(
        self,
        q: np.ndarray,
        v: np.ndarray,
        a: np.ndarray,
        tau: np.ndarray | None = None,
        wrenches: Mapping[str, object] | None = None,
        stations: Sequence[float] | np.ndarray | None = None,
    ) -> dict[str, Loads]:
        """Section loads along every link, by equilibrium of all that lies outward of the section: masses,
        external wrenches, and ends of springs, dampers and cylinders.

        Newton's and Euler's equations of the deformed link's own mass distribution and of what hangs on it
        (docs/theory/flexible_links.md, "Section loads"): independent of how well a few modes describe
        curvatures. `deflections(q)[link].moment` tends to it with more modes.

        Parameters
        ----------
        q, v, a : (..., nq), (..., nv), (..., nv) arrays
            A motion: a of a run or of `forward_dynamics`, or 0 at rest.
        tau : (..., nu) array, optional
            Efforts; those of cylinders between frames act on both of their ends, and are 0 where tau is left
            out. Joints transmit what the motion takes, whatever drives them: efforts of coordinates, those of
            modes included, change nothing.
        wrenches : mapping from frame name to (..., 6), optional
            (moment; force) in world axes at the frame's origin; on LINK@s they count inward of s.
        stations : (k,) array, optional
            Fractions of the length of flexible links, 21 by default; rigid links have station 0.

        Returns
        -------
        dict of str to Loads
            force and moment (..., k, 3) of every link by its name. On wheels, the root link, which they push,
            is left out.

        Raises
        ------
        DimensionError, StateError, UnknownNameError
        UnsupportedError
            Where it is not computed: kinds other than trees and robots on wheels by the method `articulated`;
            affine section frames.
        """
        efforts = {} if tau is None else {"tau": (tau, self.nu)}
        motion = {"q": (q, self.nq), "v": (v, self.nv), "a": (a, self.nv)}
        rows = rows_with_wrenches(wrenches, **motion, **efforts)
        wrench_rows(rows, wrenches)
        data = {name: rows.take(name) for name in (*motion, *efforts)}
        self.functions.check(data)
        with np.errstate(over="ignore", invalid="ignore"):
            found = self.functions.loads_rows(rows, wrenches, stations)
        parts = [part for each in found.values() for part in (each.force, each.moment)]
        flat = np.concatenate([part.reshape(rows.count, 3 * part.shape[1]) for part in parts], axis=1)
        warn_of_overflow(flat, data, "a load", rows.shape)
        for part in parts:
            part[~np.isfinite(flat).all(axis=1)] = np.nan
        return {
            name: Loads(each.station, *(x.reshape(*rows.shape, *x.shape[1:]) for x in each[1:]))
            for name, each in found.items()
        }

    def with_payload(
        self,
        frame: str,
        mass: float,
        com: Sequence[float] = (0.0, 0.0, 0.0),
        inertia: np.ndarray | None = None,
    ) -> Robot:
        """The same robot with a rigid body fixed to a frame, which replaces the payload of that frame.

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
        self.functions.check_carrier(frame)
        payload = check_payload(frame, mass, com, inertia)
        others = tuple(p for p in self.functions.payloads if p.frame != frame)
        robot = Robot(self.functions.carrying(frame, (*others, payload) if payload.mass > 0.0 else others))
        if "urdf" in self.__dict__:
            robot.keep_urdf(self.urdf)
        return robot

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Numbers that tau is linear in: ten of each rigid body, those of the joints
        (`families/trees/rigid/parameters.py`), rigidities, mass per length and modal damping of beams
        (`families/trees/flexible/parameters.py`), rotors, springs and dampers of elastic joints; of platforms
        ten numbers of platform, cylinders and rods (`families/platform/parameters.py`), of soft arms bodies
        and sections (`families/continuum/model.py`), of wheels suspensions and tyres
        (`families/wheeled/parameters.py`).

        Raises
        ------
        UnsupportedError
            Of families that have none.
        """
        return self.functions.parameters

    def with_parameters(self, values: Mapping[str, float]) -> Robot:
        """The same robot with other values of parameters, by their names; payloads stay.

        Raises
        ------
        UnknownNameError, DimensionError, StateError, UnsupportedError
            StateError: not finite, or below the parameter's smallest value.
        """
        return Robot(self.functions.with_parameters(checked_values(values, self.parameters)))

    def regressor(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> Regressor:
        """Y (..., nu, np) and tau0 (..., nu) with inverse_dynamics(q, v, a) = Y p + tau0, p the values of
        `parameters`; tau0, what does not depend on them, is 0 for rigid trees and platforms (Atkeson, An &
        Hollerbach 1986).

        Raises
        ------
        DimensionError, StateError, SingularityError, UnsupportedError
            SingularityError: of platforms, as `inverse_dynamics`; in a batch such rows are NaN.
        """
        rows = Rows({"q": (q, self.nq), "v": (v, self.nv), "a": (a, self.nv)})
        Y, tau0 = self.functions.regressor_rows(rows)
        return Regressor(Y.reshape(*rows.shape, *Y.shape[1:]), tau0.reshape(*rows.shape, self.nu))

    # ---- dynamics ----

    def inverse_dynamics(
        self,
        q: np.ndarray,
        v: np.ndarray,
        a: np.ndarray,
        wrenches: Mapping[str, object] | None = None,
        *,
        unactuated: str = "given",
        actuators: str | Sequence[str] | None = None,
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
        actuators : "all", or names of `actuators`, optional
            These give the motion, and what none of them can give stands in the entries of modes, a floating
            base and hubs: the least such rest, and then the least efforts (robot/analysis/allocation.py).
            Left out: efforts along the coordinates, those of cylinders are 0.
        out : (..., nu) array, optional

        Returns
        -------
        tau : (..., nu) array [N m, N]

        Raises
        ------
        DimensionError, StateError, UnknownNameError
        SingularityError
            Platforms: the smallest singular value of the homogeneous leg Jacobian, `.measure`, is below 1e-6;
            in a batch such rows are NaN and a FlexdynWarning says how many. Likewise motions that the chosen
            actuators cannot make.
        """
        if unactuated not in ("given", "free"):
            raise UnknownNameError("value of unactuated", unactuated, ("given", "free"))
        if actuators is not None:
            return self._by_actuators(q, v, a, wrenches, unactuated, actuators, out)
        if unactuated == "free" and not self.driven.all():
            force = self.functions.partial(q, v, None, a, self.driven, wrenches)[0]
            none = np.zeros((*force.shape[:-1], self.nu - self.nv))
            return _write(out, np.concatenate([force, none], axis=-1) if self.nu > self.nv else force)
        rows = rows_with_wrenches(wrenches, q=(q, self.nq), v=(v, self.nv), a=(a, self.nv))
        tau = check_out(out, (*rows.shape, self.nu), rows)
        self.functions.inverse_dynamics_rows(rows, wrenches, tau.reshape(rows.count, self.nu))
        self._refuse_overflow(tau, rows, "inverse dynamics")
        return tau

    def _by_actuators(
        self,
        q: np.ndarray,
        v: np.ndarray,
        a: np.ndarray,
        wrenches: Mapping[str, object] | None,
        unactuated: str,
        actuators: str | Sequence[str],
        out: np.ndarray | None,
    ) -> np.ndarray:
        """`inverse_dynamics` by chosen actuators."""
        from flexdyn_ros.robot.analysis.allocation import allocated_efforts, chosen_actuators

        if unactuated == "free":
            raise UnknownNameError("value of unactuated beside actuators", unactuated, ("given",))
        chosen = chosen_actuators(self, actuators)
        rows = rows_with_wrenches(wrenches, q=(q, self.nq), v=(v, self.nv), a=(a, self.nv))
        tau = self.inverse_dynamics(q, v, a, wrenches).reshape(rows.count, self.nu)
        place = rows.take("q")
        if self.effort_names[: self.nv] == self.v_names:
            needed = tau[:, : self.nv]
        else:
            needed = np.einsum("nij,nj->ni", self.actuation_matrix(place), tau)
        found = allocated_efforts(self, place, needed, chosen, rows.shape)
        return _write(out, found.reshape(*rows.shape, self.nu))

    def forward_dynamics(
        self,
        q: np.ndarray,
        v: np.ndarray,
        tau: np.ndarray | None = None,
        wrenches: Mapping[str, object] | None = None,
        *,
        prescribed: Mapping[str, object] | object = None,
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
            Accelerations that are given; `inverse_dynamics` of the result tells the efforts they take. (...,)
            alone is that of the coordinate whose motion the description prescribes.
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
        if prescribed is not None and self._prescribed.sum() == 1 and not isinstance(prescribed, Mapping):
            prescribed = {self.v_names[int(np.argmax(self._prescribed))]: prescribed}
        chosen = by_name(prescribed, "prescribed", "accelerations (...,)")
        self.refuse_given_effort(tau)
        if chosen or self._by_mass_matrix:
            given, a = self.given_accelerations(chosen)
            return _write(out, self.functions.partial(q, v, tau, a, given, wrenches)[1])
        rows = rows_with_wrenches(wrenches, q=(q, self.nq), v=(v, self.nv), tau=(tau, self.nu))
        a = check_out(out, (*rows.shape, self.nv), rows)
        self.functions.forward_dynamics_rows(rows, wrenches, a.reshape(rows.count, self.nv))
        return a

    def mass_matrix(self, q: np.ndarray, *, out: np.ndarray | None = None) -> np.ndarray:
        """Mass matrix M(q) (..., nv, nv), rotors included, by composite bodies (Featherstone 2008)."""
        rows = Rows({"q": (q, self.nq)})
        M = check_out(out, (*rows.shape, self.nv, self.nv), rows)
        self.functions.mass_matrix_rows(rows, M.reshape(rows.count, self.nv, self.nv))
        self._refuse_overflow(M, rows, "the mass matrix")
        return M

    def actuation_matrix(self, q: np.ndarray, *, out: np.ndarray | None = None) -> np.ndarray:
        """Actuation matrix B (..., nv, nu): the identity; for platforms the transposed leg Jacobian."""
        return self.functions.actuation_matrix(q, out=out)

    def bias_forces(self, q: np.ndarray, v: np.ndarray, *, out: np.ndarray | None = None) -> np.ndarray:
        """h(q, v) (..., nv), forces that depend on neither a nor tau: velocity products, gravity, springs,
        damping and friction, stops, suspension [N m, N].

        Of platforms a wrench at the platform's origin.
        """
        rows = Rows({"q": (q, self.nq), "v": (v, self.nv), "a": (np.zeros(self.nv), self.nv)})
        h = check_out(out, (*rows.shape, self.nv), rows)
        self.functions.bias_forces_rows(rows, h.reshape(rows.count, self.nv))
        return h

    def bias_terms(self, q: np.ndarray, v: np.ndarray) -> BiasTerms:
        """The parts of `bias_forces`, each (..., nv); external are suspension, tyres and stops."""
        rows = Rows({"q": (q, self.nq), "v": (v, self.nv)})
        terms = self.functions.bias_terms_rows(rows)
        self._refuse_overflow(terms, rows, "a part of the bias forces")
        return BiasTerms(*(np.ascontiguousarray(terms[:, i]).reshape(*rows.shape, self.nv) for i in range(5)))

    def energy(self, q: np.ndarray, v: np.ndarray) -> Energy:
        """Kinetic energy (rotors included), gravity potential, elastic energy (...,) [J]."""
        rows = Rows({"q": (q, self.nq), "v": (v, self.nv)})
        energy = self.functions.energy_rows(rows)
        self._refuse_overflow(energy, rows, "the energy")
        return Energy(*(np.ascontiguousarray(energy[:, i]).reshape(rows.shape)[()] for i in range(3)))

    def momentum(self, q: np.ndarray, v: np.ndarray, *, out: np.ndarray | None = None) -> np.ndarray:
        """Momentum (..., 6) = (angular about the world origin; linear), world axes [N m s, N s]; excludes the
        spin of rotors."""
        rows = Rows({"q": (q, self.nq), "v": (v, self.nv)})
        momentum = check_out(out, (*rows.shape, 6), rows)
        momentum.reshape(rows.count, 6)[...] = self.functions.momenta_rows(rows)[:, :6]
        return momentum

    def center_of_mass(self, q: np.ndarray, *, out: np.ndarray | None = None) -> np.ndarray:
        """Centre of mass (..., 3) of all moving bodies, world axes [m]; excludes bodies fixed to the
        world.

        Raises
        ------
        DimensionError, StateError
        SingularityError
            If nothing that can move has mass.
        """
        rows = Rows({"q": (q, self.nq), "v": (np.zeros(self.nv), self.nv)})
        com = check_out(out, (*rows.shape, 3), rows)
        found = self.functions.momenta_rows(rows)
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
        poses = check_out(out, (*rows.shape, *tail), rows)
        self.functions.frames_rows(rows, wanted, poses.reshape(rows.count, len(wanted), 4, 4))
        return poses

    def jacobian(
        self, q: np.ndarray, frame: str | Sequence[str], *, out: np.ndarray | None = None
    ) -> np.ndarray:
        """J (..., 6, nv) of a frame, (..., k, 6, nv) of several: J v = (angular; linear) velocity of the
        frame's origin, world axes."""
        rows = Rows({"q": (q, self.nq)})
        if isinstance(frame, str):
            J = check_out(out, (*rows.shape, 6, self.nv), rows)
            self.functions.jacobian_rows(rows, frame, J.reshape(rows.count, 6, self.nv))
            return J
        J = check_out(out, (*rows.shape, len(frame), 6, self.nv), rows)
        self.functions.jacobians_rows(rows, frame, J.reshape(rows.count, len(frame), 6, self.nv))
        return J

    def frame_velocity(self, q: np.ndarray, v: np.ndarray, frame: str | Sequence[str]) -> np.ndarray:
        """(angular; linear) velocity (..., 6) of a frame's origin, (..., k, 6) of several, world axes
        [rad/s, m/s]."""
        rows = Rows({"q": (q, self.nq), "v": (v, self.nv)})
        data = _taken(rows)
        self.functions.check(data)
        J = self.jacobian(q, frame)
        speed = np.asarray(v, dtype=float)
        if not isinstance(frame, str):
            speed = speed[..., None, :]
        tail = (6,) if isinstance(frame, str) else (len(frame), 6)
        velocity = np.broadcast_to((J @ speed[..., None])[..., 0], (*rows.shape, *tail)).copy()
        warn_of_overflow(velocity.reshape(rows.count, prod(tail)), data, "the velocity", rows.shape)
        return velocity

    def frame_acceleration(
        self, q: np.ndarray, v: np.ndarray, a: np.ndarray, frame: str | Sequence[str]
    ) -> np.ndarray:
        """(angular; linear) acceleration J a + dJ/dt v (..., 6) of a frame's origin, (..., k, 6) of several,
        world axes [rad/s2, m/s2]; excludes gravity.

        Raises
        ------
        DimensionError, StateError, UnknownNameError
        UnsupportedError
            With affine section frames.
        """
        one = isinstance(frame, str)
        names = (frame,) if isinstance(frame, str) else tuple(frame)
        rows = Rows({"q": (q, self.nq), "v": (v, self.nv), "a": (a, self.nv)})
        data = _taken(rows)
        self.functions.check(data)
        J = np.empty((rows.count, len(names), 6, self.nv))
        self.functions.jacobians_rows(rows, names, J)
        motion = Rows({name: (rows.take(name), size) for name, size in (("q", self.nq), ("v", self.nv))})
        found = np.einsum("nkij,nj->nki", J, rows.take("a"))
        found += self.functions.jacobian_rates_rows(motion, names)
        warn_of_overflow(found, data, "the acceleration", rows.shape)
        return found.reshape(*rows.shape, *((6,) if one else (len(names), 6)))

    def integrate(
        self, q: np.ndarray, v: np.ndarray, dt: float, *, out: np.ndarray | None = None
    ) -> np.ndarray:
        """q moved by v for dt seconds (..., nq): sums, and the exponential map for free bodies (R <-
        exp([w dt]) R), whose quaternions come back with unit length."""
        rows = Rows({"q": (q, self.nq), "v": (v, self.nv)})
        moved = check_out(out, (*rows.shape, self.nq), rows)
        found = self.functions.integrate_rows(rows, finite_number(dt, "dt"))
        warn_of_overflow(found, _taken(rows), "the configuration", rows.shape)
        moved.reshape(rows.count, self.nq)[...] = found
        return moved

    def difference(self, q0: np.ndarray, q1: np.ndarray, *, out: np.ndarray | None = None) -> np.ndarray:
        """v (..., nv) with integrate(q0, v, 1) = q1; of continuous joints the shorter rotation."""
        rows = Rows({"q0": (q0, self.nq), "q1": (q1, self.nq)})
        way = check_out(out, (*rows.shape, self.nv), rows)
        found = self.functions.difference_rows(rows)
        warn_of_overflow(found, _taken(rows), "the difference", rows.shape)
        way.reshape(rows.count, self.nv)[...] = found
        return way

    # ---- what follows from the others ----

    @overload
    def linearize(
        self,
        q: np.ndarray,
        v: np.ndarray,
        tau: np.ndarray | None = None,
        wrenches: Mapping[str, object] | None = None,
        *,
        lock: Sequence[str] | str = (),
        states: Mapping[str, float] | np.ndarray | None = None,
        commands: None = None,
    ) -> Linearization: ...

    @overload
    def linearize(
        self,
        q: np.ndarray,
        v: np.ndarray,
        tau: np.ndarray | None = None,
        wrenches: Mapping[str, object] | None = None,
        *,
        lock: Sequence[str] | str = (),
        states: Mapping[str, float] | np.ndarray | None = None,
        commands: Mapping[str, float] | np.ndarray,
    ) -> LinearizationWithStates: ...

    def linearize(
        self,
        q: np.ndarray,
        v: np.ndarray,
        tau: np.ndarray | None = None,
        wrenches: Mapping[str, object] | None = None,
        *,
        lock: Sequence[str] | str = (),
        states: Mapping[str, float] | np.ndarray | None = None,
        commands: Mapping[str, float] | np.ndarray | None = None,
    ) -> Linearization | LinearizationWithStates:
        """A (..., 2 m, 2 m), B (..., 2 m, nu) of x' = A x + B dtau, x = (dq in R^m, dv), about the motion at
        (q, v); m = nv - number locked.

        Exact to rounding: derivatives of M a + h - B tau - sum J^T w by forward tangents (Griewank & Walther
        2008, section 3.1), solved with the mass matrix; of many states in batches by a graph of the equations
        (`robot/entries/taped.py`), equal to rounding. The angular part of dq of a free body is a small turn
        in world axes, so that its rate is dw + w x dq.

        Parameters
        ----------
        q, v : (..., nq), (..., nv) arrays
        tau : (..., nu) array, optional
            Zero if omitted [N m, N]; that of a locked coordinate is not used.
        wrenches : mapping from frame name to (..., 6), optional
            (moment; force) in world axes at the frame's origin; held.
        lock : coordinate names, or "joints"
            These keep the velocity that they have in v, by whatever effort that takes, and have no part in x.
        commands : mapping from CYLINDER/valve to an opening -1..1, or (n,) array, optional
            Valves of cylinders on oil, those left out shut: x is then (dq, dv, pressures and spools), whose
            names are a third field of the result, `state_names`; columns of B of these cylinders are by their
            openings.
        states : mapping from names, or (ns,) array, optional
            Only with commands. Default: pressures at rest that exert the forces in tau, without tau those
            that hold the robot; spools where the openings are.

        Raises
        ------
        DimensionError, StateError, UnknownNameError, SingularityError
        UnsupportedError
            For commands without oil, or of valves with a slew_rate.
        """
        locked = chosen_coordinates(lock, self.coordinates, "lock")
        if commands is None:
            if states is not None:
                raise UnsupportedError("linearize takes states of elements together with commands= only")
            return linearization_of(self.functions, q, v, tau, wrenches, locked)
        return linearization_with_oil(self.functions, q, v, tau, wrenches, locked, states, commands)

    def inverse_dynamics_derivatives(
        self, q: np.ndarray, v: np.ndarray, a: np.ndarray, wrenches: Mapping[str, object] | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """d tau / dq (q moved by `integrate`), d tau / dv and d tau / da of `inverse_dynamics`, each
        (..., nu, nv), exact to rounding; wrenches are held.

        Raises
        ------
        DimensionError, StateError, UnknownNameError, SingularityError
        """
        return inverse_derivatives_of(self.functions, q, v, a, wrenches)

    def forward_dynamics_derivatives(
        self,
        q: np.ndarray,
        v: np.ndarray,
        tau: np.ndarray | None = None,
        wrenches: Mapping[str, object] | None = None,
    ) -> ForwardDerivatives:
        """dq, dv (..., nv, nv) and dtau (..., nv, nu): derivatives of `forward_dynamics` by q (moved by
        `integrate`), v and tau, exact to rounding; wrenches are held.

        Raises
        ------
        DimensionError, StateError, UnknownNameError, SingularityError
        """
        return forward_derivatives_of(self.functions, q, v, tau, wrenches)

    def forward_dynamics_parameter_derivatives(
        self,
        q: np.ndarray,
        v: np.ndarray,
        tau: np.ndarray | None = None,
        wrenches: Mapping[str, object] | None = None,
        *,
        parameters: str | Sequence[str] = "*",
    ) -> np.ndarray:
        """-M^-1 B Y (..., nv, np): derivative of `forward_dynamics` by those of `parameters` whose names fit,
        in their order, such as "boom_1/EI*"; exact to rounding. 0 where motion is prescribed.

        Raises
        ------
        DimensionError, StateError, UnknownNameError, SingularityError, UnsupportedError
        """
        return parameter_derivatives_of(self.functions, q, v, tau, wrenches, parameters)

    def modes(self, q: np.ndarray, *, v: np.ndarray | None = None, lock: Sequence[str] | str = ()) -> Modes:
        """Modes of vibration about rest at q: K = d(h - damping)/dq, D = dh/dv at v = 0; or about steady
        rotation with v; see `robot/analysis/modes.py`.

        With v the modes are the eigenvectors of `linearize` at (q, v) under the efforts that hold this motion
        (Meirovitch 1974): gyroscopic and centrifugal terms count. The state has to be steady:
        rotating coordinates leave the linear equations as they are, and nothing accelerates. Frequencies are
        those that an observer who rotates along would measure.

        Platforms with `<hydraulics>` stand on the oil columns behind closed valves: K = J^T diag(K_h) J, each
        leg a spring of the stiffness that its oil has at the present stroke, between supply and tank pressure
        (`Hydraulics.stiffness`). The geometric stiffness of the load is left out, some 0.04 % of frequencies
        in the example (docs/theory/platform.md, "Modes with hydraulics"). D is the viscous friction of the
        cylinders; dry friction and leakage are left out.

        Parameters
        ----------
        q : (..., nq) array
        v : (..., nv) array, optional
            Velocities of a steady rotation [rad/s, m/s]; rest if omitted.
        lock : coordinate names, or "joints": these stand still, or keep their v, and have no part in the
            modes

        Returns
        -------
        Modes
            frequency (..., m) [Hz], rising; damping_ratio (..., m), inf for frequency 0; shape (..., nv, m)
            of unit M-norm; unstable (...): an eigenvalue is negative (its frequency is given as 0). m = nv -
            number locked. With v: abs(s) / 2 pi and -Re s / abs(s) of eigenvalues s,
            complex shapes; unstable: some Re s is positive.

        Raises
        ------
        DimensionError, StateError, UnknownNameError, SingularityError
            StateError: the state (q, v) is not steady; says which equation changes.
        UnsupportedError
            With v, of platforms with `<hydraulics>`.

        Warns
        -----
        FlexdynWarning
            Where q bends links further than the linear beam holds; where coordinates that nothing drives
            would accelerate at (q, v).
        """
        locked = chosen_coordinates(lock, self.coordinates, "lock") | self._prescribed
        if v is not None:
            self._warn_of_large_deflections(np.asarray(q, dtype=np.float64))
            return steady_modes_of(self, q, v, locked)
        M = self.mass_matrix(q)
        sizes = {"v": self.nv, "a": self.nv, "tau": self.nu}
        still = {name: (np.zeros(size), size) for name, size in sizes.items()}
        K, D = self.functions.springs_rows(Rows({"q": (q, self.nq), **still}))
        self._warn_of_large_deflections(np.asarray(q, dtype=np.float64))
        return modes_of(M, K.reshape(M.shape), D.reshape(M.shape), locked)

    def static_equilibrium(
        self,
        q0: np.ndarray | None = None,
        *,
        hold: Sequence[str] | str = (),
        tau: np.ndarray | None = None,
        wrenches: Mapping[str, object] | None = None,
    ) -> Equilibrium:
        """Static equilibrium near q0; see `robot/analysis/equilibrium.py`.

        Parameters
        ----------
        q0 : (nq,) array, optional
            Where to start; neutral() if omitted.
        hold : coordinate names, or "joints": these stay and get the efforts that this takes; names of
            cylinders of a tree keep their lengths, as on shut valves, and get the forces that this takes
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
        lines = [] if isinstance(hold, str) else [name for name in hold if name in self.functions.lines]
        others = hold if isinstance(hold, str) else [name for name in hold if name not in lines]
        held = chosen_coordinates(others, self.coordinates, "hold") | self._prescribed
        tau = np.zeros(self.nu) if tau is None else tau
        q0 = self.neutral() if q0 is None else q0
        rows = rows_with_wrenches(wrenches, q0=(q0, self.nq), tau=(tau, self.nu))
        if rows.shape:
            raise DimensionError(f"static_equilibrium takes single states, got a batch of shape {rows.shape}")
        start, effort = rows.take("q0"), rows.take("tau")
        self.functions.check({"q": start, "tau": effort})
        arguments = start[0].copy(), effort[0], held, wrenches
        found = self.functions.rest_on_lines(lines, *arguments) if lines else self.functions.rest(*arguments)
        self._warn_of_large_deflections(found.q)
        return found

    def _warn_of_large_deflections(self, q: np.ndarray) -> None:
        """Warn the caller of a verb where links bend too far at rows of q (..., nq)."""
        found = beyond_linear(self, q.reshape(-1, self.nq)) if self.tips else []
        if found:
            warnings.warn(f"robot {self.name!r}: {warning_of(found)}", FlexdynWarning, 3)

    def _refuse_overflow(self, result: np.ndarray, rows: Rows, what: str) -> None:
        """StateError or NaN rows where a result is not finite, unless the entries of the family look at
        that."""
        if not self.functions.direct:
            flat = result.reshape(rows.count, -1) if rows.count else result
            warn_of_overflow(flat, _taken(rows), what, rows.shape)

    # ---- accelerations that are given ----

    def given_accelerations(self, prescribed: Mapping[str, object]) -> tuple[np.ndarray, np.ndarray]:
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

    def refuse_given_effort(self, tau: np.ndarray) -> None:
        """StateError if an effort is given where the motion is."""
        if self._prescribed.any():
            efforts = numbers(tau, "tau", self.nu)[..., : self.nv][..., self._prescribed]
            if np.any(efforts != 0.0):
                name = self.v_names[int(np.argmax(self._prescribed))]
                raise StateError(
                    f"tau[{self.index(name)}] is {efforts.ravel()[0]}, expected 0: the motion of {name!r} is "
                    "prescribed, its effort follows (inverse_dynamics, drive_force)"
                )


def _taken(rows: Rows) -> dict[str, np.ndarray]:
    return {name: rows.take(name) for name in rows.names}


def _write(out: np.ndarray | None, result: np.ndarray) -> np.ndarray:
    """`result`, in `out` if there is one."""
    if out is None:
        return result
    check_out(out, result.shape)[...] = result
    return out


#: what a robot repeats of its functions
_REPEATED = (
    "kind", "description", "coordinates", "q_names", "v_names", "effort_names", "nq", "nv", "nu",
    "frame_names", "gravity", "warnings",
)  # fmt: skip


def _limits(lower: float, upper: float) -> str:
    return "" if isinf(lower) and isinf(upper) else f"{lower:.4g} … {upper:.4g}"
