"""The short way of verbs: a single state of the usual types goes to one entry, whose result is the answer.

Arguments are looked at only when the entry objects: then, and for whatever else a verb can do, its general
way in verbs.py answers, or says what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, update_wrapper
from typing import TYPE_CHECKING, Any

import numpy as np

from flexdyn_ros.numerics.verbs import derivatives, dynamics, observers
from flexdyn_ros.numerics.verbs import partial as given
from flexdyn_ros.robot.entries.functions import EntryFunctions
from flexdyn_ros.robot.entries.heads import MOST_HEADS, Head
from flexdyn_ros.robot.functions import FamilyFunctions
from flexdyn_ros.robot.interface import RobotInterface
from flexdyn_ros.robot.parameters import Regressor
from flexdyn_ros.robot.results import BiasTerms, Energy, Linearization

if TYPE_CHECKING:
    from flexdyn_ros.numerics.compiling.compiler import Entry

__all__ = ["short_ways"]

_empty = np.empty
#: what entries raise at arguments of other types
_OBJECTIONS = TypeError, ValueError
#: an entry before its first call, which raises TypeError
_UNLOADED: Any = None
#: velocities up to which the mass matrix is a short way of forward dynamics that have no entry of their own
MOST_SOLVED = 100
_Way = Callable[..., Any]
#: gives an entry, loaded, and the address that it takes
_Load = Callable[[], tuple[_Way, int]]
#: what frames take that were asked for before: entry, head, shape of the result, and who keeps the head
_Known = tuple[Callable[..., int], int, tuple[int, ...], Head]


def short_ways(robot: RobotInterface) -> dict[str, _Way]:
    """The verbs of a robot that have a short way, by their names."""
    made: dict[str, _Way] = {}
    for verb, make in _MAKERS.items():
        general = getattr(robot, verb)
        way = make(robot, general)
        if way is not None:
            made[verb] = update_wrapper(way, general)
    return made


def _dynamics(robot: RobotInterface, verb: str) -> _Load | None:
    """What loads the entry of a single state and tells the address that it takes; None where the dynamics
    are not those of the entries."""
    functions = robot.functions
    if not functions.direct:
        return None
    if verb in functions.singles:
        return functions.singles[verb]
    by_mass_matrix = verb == "forward_dynamics" and functions.by_mass_matrix
    if not isinstance(functions, EntryFunctions):
        return None
    if verb == "inverse_dynamics" and "inverse" in functions.table:
        return lambda: (dynamics.inverse_one.load(), functions.heads.recurring.address)
    if verb == "mass_matrix" and "inertia" in functions.table:
        return lambda: (observers.place_one.load(), functions.heads.weighing.address)
    if verb == "forward_dynamics" and not by_mass_matrix:
        if "forward" in functions.table:
            return lambda: (dynamics.forward_one.load(), functions.heads.accelerating.address)
        if robot.nv > MOST_SOLVED:
            return None
    of_head: dict[str, _Load] = {
        "inverse_dynamics": lambda: (dynamics.balance_one.load(), functions.heads.balancing.address),
        "forward_dynamics": lambda: (given.forward_dynamics_one.load(), functions.heads.solving.address),
        "mass_matrix": lambda: (observers.place_one.load(), functions.heads.looking("mass").address),
    }
    return of_head[verb]


def _of_family(robot: RobotInterface) -> FamilyFunctions:
    """The functions of the family, whatever else computes for this robot."""
    return robot.functions.general.functions


def _observed(robot: RobotInterface, name: str) -> EntryFunctions | None:
    """The functions of the family, if its C function `name` is all there is to a verb."""
    functions = _of_family(robot)
    found = isinstance(functions, EntryFunctions) and name in functions.observed
    return functions if found else None  # type: ignore[return-value]


# ---- dynamics ----


def _inverse_dynamics(robot: RobotInterface, general: _Way) -> _Way | None:
    if (load := _dynamics(robot, "inverse_dynamics")) is None:
        return None
    address, nu, call = 0, robot.nu, _UNLOADED
    free = _with_free_coordinates(robot, general)

    def inverse_dynamics(q, v, a, wrenches=None, *, unactuated="given", actuators=None, out=None):  # type: ignore[no-untyped-def]
        nonlocal call, address
        if wrenches is None and out is None and actuators is None:
            if unactuated == "given":
                try:
                    tau = _empty(nu)
                    if call(address, q, v, a, tau) == 0:
                        return tau
                except _OBJECTIONS:
                    if call is None:
                        call, address = load()
                        return inverse_dynamics(q, v, a)
            elif unactuated == "free":
                return free(q, v, a)
        return general(q, v, a, wrenches, unactuated=unactuated, actuators=actuators, out=out)

    return inverse_dynamics


def _with_free_coordinates(robot: RobotInterface, general: _Way) -> _Way:
    """Inverse dynamics that solves the accelerations of what nothing drives."""
    functions, nv, call, head = _of_family(robot), robot.nv, _UNLOADED, 0
    if robot.driven.all() or robot.nu != robot.nv or not isinstance(functions, EntryFunctions):
        return partial(general, unactuated="free")

    def inverse_dynamics(q, v, a):  # type: ignore[no-untyped-def]
        nonlocal call, head
        try:
            tau = _empty(nv)
            if call(head, q, v, a, tau) == 0:
                return tau
        except _OBJECTIONS:
            if call is None:
                call, head = given.inverse_dynamics_one.load(), functions.heads.freeing.address
                return inverse_dynamics(q, v, a)
        return general(q, v, a, unactuated="free")

    return inverse_dynamics


def _forward_dynamics(robot: RobotInterface, general: _Way) -> _Way | None:
    if (load := _dynamics(robot, "forward_dynamics")) is None:
        return None
    address, nv, call, none = 0, robot.nv, _UNLOADED, np.zeros(robot.nu)
    if isinstance(robot.functions, EntryFunctions) and robot.functions.checked:
        return _checked_forward_dynamics(robot.functions, general, load)

    def forward_dynamics(q, v, tau=None, wrenches=None, *, prescribed=None, out=None):  # type: ignore[no-untyped-def]
        nonlocal call, address
        if wrenches is None and prescribed is None and out is None:
            try:
                a = _empty(nv)
                if call(address, q, v, none if tau is None else tau, a) == 0:
                    return a
            except _OBJECTIONS:
                if call is None:
                    call, address = load()
                    return forward_dynamics(q, v, tau)
        return general(q, v, tau, wrenches, prescribed=prescribed, out=out)

    return forward_dynamics


def _checked_forward_dynamics(functions: EntryFunctions, general: _Way, load: _Load) -> _Way:
    """Forward dynamics whose results are put into the balance of forces."""
    nv, none, call = functions.nv, np.zeros(functions.nu), _UNLOADED
    address, check, head = 0, _UNLOADED, 0

    def forward_dynamics(q, v, tau=None, wrenches=None, *, prescribed=None, out=None):  # type: ignore[no-untyped-def]
        nonlocal call, address, check, head
        if wrenches is None and prescribed is None and out is None:
            try:
                a, effort = _empty(nv), none if tau is None else tau
                if call(address, q, v, effort, a) == 0 and check(head, q, v, effort, a) == 0:
                    return a
            except _OBJECTIONS:
                if call is None:
                    check, head = dynamics.unbalanced_one.load(), functions.heads.checking.address
                    call, address = load()
                    return forward_dynamics(q, v, tau)
        return general(q, v, tau, wrenches, prescribed=prescribed, out=out)

    return forward_dynamics


def _mass_matrix(robot: RobotInterface, general: _Way) -> _Way | None:
    load = _dynamics(robot, "mass_matrix")
    return None if load is None else _of_q(general, load, (robot.nv, robot.nv))


def _bias_forces(robot: RobotInterface, general: _Way) -> _Way | None:
    address, nv, call, still = 0, robot.nv, _UNLOADED, np.zeros(robot.nv)
    if robot.effort_names[:nv] != robot.v_names:
        return _of_state(robot, general, "bias", nv)
    if (load := _dynamics(robot, "inverse_dynamics")) is None:
        return None

    def bias_forces(q, v, *, out=None):  # type: ignore[no-untyped-def]
        nonlocal call, address
        if out is None:
            try:
                h = _empty(nv)
                if call(address, q, v, still, h) == 0:
                    return h
            except _OBJECTIONS:
                if call is None:
                    call, address = load()
                    return bias_forces(q, v)
        return general(q, v, out=out)

    return bias_forces


# ---- what is looked at ----


def _of_q(general: _Way, load: _Load, shape: tuple[int, ...]) -> _Way:
    """A verb of q by the entry that `load` gives."""
    head, call = 0, _UNLOADED

    def way(q, *, out=None):  # type: ignore[no-untyped-def]
        nonlocal head, call
        if out is None:
            try:
                result = _empty(shape)
                if call(head, q, result) == 0:
                    return result
            except _OBJECTIONS:
                if call is None:
                    call, head = load()
                    return way(q)
        return general(q, out=out)

    return way


def _of_state(
    robot: RobotInterface,
    general: _Way,
    name: str,
    size: int,
    answer: Callable[[np.ndarray], object] | None = None,
) -> _Way | None:
    """A verb of q and v by the C function `name`."""
    if (functions := _observed(robot, name)) is None:
        return None
    head, call = 0, _UNLOADED

    def way(q, v, *, out=None):  # type: ignore[no-untyped-def]
        nonlocal head, call
        if out is None:
            try:
                result = _empty(size)
                if call(head, q, v, result) == 0:
                    return result if answer is None else answer(result)
            except _OBJECTIONS:
                if call is None:
                    call, head = observers.observe_one.load(), functions.heads.looking(name).address
                    return way(q, v)
        return general(q, v) if out is None else general(q, v, out=out)

    return way


def _bias_terms(robot: RobotInterface, general: _Way) -> _Way | None:
    nv = robot.nv
    return _of_state(robot, general, "bias_terms", 5 * nv, lambda terms: BiasTerms(*terms.reshape(5, nv)))


def _energy(robot: RobotInterface, general: _Way) -> _Way | None:
    return _of_state(robot, general, "energy", 3, lambda found: Energy(found[0], found[1], found[2]))


def _momentum(robot: RobotInterface, general: _Way) -> _Way | None:
    return _of_state(robot, general, "momenta", 10, lambda found: found[:6])


def _center_of_mass(robot: RobotInterface, general: _Way) -> _Way | None:
    return _of_place(robot, general, "momenta", (3,), observers.center_one)


def _actuation_matrix(robot: RobotInterface, general: _Way) -> _Way | None:
    if robot.effort_names != robot.v_names:
        return _of_place(robot, general, "actuation", (robot.nv, robot.nu), observers.place_one)
    return _of_place(robot, general, "moved", (robot.nv, robot.nv), observers.identity_one)


def _of_place(
    robot: RobotInterface, general: _Way, name: str, shape: tuple[int, ...], entry: Entry
) -> _Way | None:
    """A verb of q by an entry that calls the C function `name`."""
    if (functions := _observed(robot, name)) is None:
        return None
    return _of_q(general, lambda: (entry.load(), functions.heads.looking(name).address), shape)


# ---- geometry ----


def _frames(robot: RobotInterface, general: _Way) -> _Way | None:
    if (functions := _observed(robot, "frames")) is None:
        return None
    known: dict[Any, _Known] = {}

    def frames(q, names=None, *, out=None):  # type: ignore[no-untyped-def]
        if out is None:
            try:
                call, head, shape, _ = known[names if type(names) is not list else tuple(names)]
                poses = _empty(shape)
                if call(head, q, poses) == 0:
                    return poses
            except (*_OBJECTIONS, KeyError):
                pass
        poses = general(q, names, out=out)
        if out is None:
            _remember(known, names, poses, functions.heads.poses_of, functions.frame_names)
        return poses

    return frames


def _jacobian(robot: RobotInterface, general: _Way) -> _Way | None:
    if (functions := _observed(robot, "jacobian")) is None:
        return None
    known: dict[Any, _Known] = {}

    def jacobian(q, frame, *, out=None):  # type: ignore[no-untyped-def]
        if out is None:
            try:
                call, head, shape, _ = known[frame if type(frame) is not list else tuple(frame)]
                J = _empty(shape)
                if call(head, q, J) == 0:
                    return J
            except (*_OBJECTIONS, KeyError):
                pass
        J = general(q, frame, out=out)
        if out is None:
            _remember(known, frame, J, functions.heads.jacobians_of, ())
        return J

    return jacobian


def _remember(
    known: dict[object, _Known],
    names: Any,
    result: np.ndarray,
    head_of: Callable[[tuple[str, ...]], Head],
    every: tuple[str, ...],
) -> None:
    """Keep what it takes to be asked for the same frames again; names are good."""
    one = isinstance(names, str)
    if result.ndim != (2 if one else 3) or len(known) >= MOST_HEADS:
        return
    wanted = (names,) if one else every if names is None else tuple(names)
    entry = observers.place_one if one else observers.place_several
    head = head_of(wanted)
    known[names if one or names is None else wanted] = entry.load(), head.address, result.shape, head


def _frame_velocity(robot: RobotInterface, general: _Way) -> _Way | None:
    if (functions := _observed(robot, "jacobian")) is None:
        return None
    known: dict[str, Head] = {}
    call = _UNLOADED

    def frame_velocity(q, v, frame):  # type: ignore[no-untyped-def]
        nonlocal call
        try:
            velocity = _empty(6)
            if call(known[frame].address, q, v, velocity) == 0:
                return velocity
        except (*_OBJECTIONS, KeyError):
            call = observers.velocity_one.load()
        velocity = general(q, v, frame)
        if isinstance(frame, str) and len(known) < MOST_HEADS:
            known[frame] = functions.heads.jacobians_of((frame,))
        return velocity

    return frame_velocity


def _frame_acceleration(robot: RobotInterface, general: _Way) -> _Way | None:
    if (functions := _observed(robot, "jacobian")) is None:
        return None
    known: dict[str, tuple[Head, Head]] = {}
    call = _UNLOADED

    def frame_acceleration(q, v, a, frame):  # type: ignore[no-untyped-def]
        nonlocal call
        try:
            J, rate = known[frame]
            acceleration = _empty(6)
            if call(J.address, rate.address, q, v, a, acceleration) == 0:
                return acceleration
        except (*_OBJECTIONS, KeyError):
            call = observers.acceleration_one.load()
        found = general(q, v, a, frame)
        if isinstance(frame, str) and len(known) < MOST_HEADS:
            known[frame] = functions.heads.jacobians_of((frame,)), functions.heads.rates_of((frame,))
        return found

    return frame_acceleration


def _integrate(robot: RobotInterface, general: _Way) -> _Way | None:
    if (functions := _observed(robot, "moved")) is None:
        return None
    head, nq, call = 0, robot.nq, _UNLOADED

    def integrate(q, v, dt, *, out=None):  # type: ignore[no-untyped-def]
        nonlocal head, call
        if out is None:
            try:
                moved = _empty(nq)
                if call(head, q, v, dt, moved) == 0:
                    return moved
            except _OBJECTIONS:
                if call is None:
                    head, call = functions.heads.looking("moved").address, observers.move_one.load()
                    return integrate(q, v, dt)
        return general(q, v, dt, out=out)

    return integrate


def _difference(robot: RobotInterface, general: _Way) -> _Way | None:
    if not robot.functions.flat:
        return None
    nq, call = robot.nq, _UNLOADED

    def difference(q0, q1, *, out=None):  # type: ignore[no-untyped-def]
        nonlocal call
        if out is None:
            try:
                way = _empty(nq)
                if call(nq, q0, q1, way) == 0:
                    return way
            except _OBJECTIONS:
                if call is None:
                    call = observers.subtract_one.load()
                    return difference(q0, q1)
        return general(q0, q1, out=out)

    return difference


# ---- derivatives ----


def _regressor(robot: RobotInterface, general: _Way) -> _Way | None:
    shape, call = (0, 0), _UNLOADED

    def regressor(q, v, a):  # type: ignore[no-untyped-def]
        nonlocal shape, call
        try:
            Y = _empty(shape)
            if call(q, v, a, Y) == 0:
                return Regressor(Y, np.zeros(shape[0]))
        except _OBJECTIONS:
            found = general(q, v, a)
            if call is None:
                call, shape = _of_family(robot).regressor_one, found.Y.shape[-2:]
            return found
        return general(q, v, a)

    return regressor


def _linearize(robot: RobotInterface, general: _Way) -> _Way | None:
    functions = _of_family(robot)
    if not (isinstance(functions, EntryFunctions) and functions.direct):
        return None
    nv, call, head, none = robot.nv, _UNLOADED, 0, np.zeros(robot.nu)
    direct = robot.effort_names == robot.v_names

    def linearize(q, v, tau=None, wrenches=None, *, lock=()):  # type: ignore[no-untyped-def]
        nonlocal call, head
        if not (wrenches or lock):
            try:
                A, B = _empty((2 * nv, 2 * nv)), _empty((2 * nv, nv))
                if call(head, q, v, none if tau is None else tau, A, B) == 0:
                    return Linearization(A, B if direct else functions.by_efforts(B, q))
            except _OBJECTIONS:
                if call is None:
                    call, head = derivatives.linearize_one.load(), functions.heads.linearizing.address
                    return linearize(q, v, tau)
        return general(q, v, tau, wrenches, lock=lock)

    return linearize


def _inverse_dynamics_derivatives(robot: RobotInterface, general: _Way) -> _Way | None:
    functions = _of_family(robot)
    direct = robot.effort_names == robot.v_names
    if not (direct and isinstance(functions, EntryFunctions) and functions.direct):
        return None
    shape, call, head = (robot.nv, robot.nv), _UNLOADED, 0

    def inverse_dynamics_derivatives(q, v, a, wrenches=None):  # type: ignore[no-untyped-def]
        nonlocal call, head
        if not wrenches:
            try:
                dq, dv, M = _empty(shape), _empty(shape), _empty(shape)
                if call(head, q, v, a, dq, dv, M) == 0:
                    return dq, dv, M
            except _OBJECTIONS:
                if call is None:
                    call = derivatives.inverse_derivatives_one.load()
                    head = functions.heads.differentiating.address
                    return inverse_dynamics_derivatives(q, v, a)
        return general(q, v, a, wrenches)

    return inverse_dynamics_derivatives


_MAKERS: dict[str, Callable[[RobotInterface, _Way], _Way | None]] = {
    "inverse_dynamics": _inverse_dynamics,
    "forward_dynamics": _forward_dynamics,
    "mass_matrix": _mass_matrix,
    "bias_forces": _bias_forces,
    "bias_terms": _bias_terms,
    "energy": _energy,
    "momentum": _momentum,
    "center_of_mass": _center_of_mass,
    "actuation_matrix": _actuation_matrix,
    "frames": _frames,
    "jacobian": _jacobian,
    "frame_velocity": _frame_velocity,
    "frame_acceleration": _frame_acceleration,
    "integrate": _integrate,
    "difference": _difference,
    "regressor": _regressor,
    "linearize": _linearize,
    "inverse_dynamics_derivatives": _inverse_dynamics_derivatives,
}
