"""The short way of verbs: a single state of the usual types goes to one entry, whose result is the answer.

Arguments are looked at only when the entry objects: then, and for whatever else a verb can do, its general
way in verbs.py answers, or says what is wrong. All short ways are one text, filled in for each verb by its
signature: a function that asked at run time which verb it is would cost a tenth of a call.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache, partial, update_wrapper
from types import CodeType
from typing import TYPE_CHECKING, Any, NamedTuple

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

__all__ = ["short_forward_dynamics", "short_ways"]

_empty = np.empty
#: what entries raise at arguments of other types
_OBJECTIONS = TypeError, ValueError
#: velocities up to which the mass matrix is a short way of forward dynamics that have no entry of their own
MOST_SOLVED = 100
_Way = Callable[..., Any]
#: makes the short way of a verb from a robot and its general way; None where there is none
_Maker = Callable[[RobotInterface, _Way], _Way | None]
#: gives an entry, loaded, and the address that it takes
_Load = Callable[[], tuple[_Way, int]]
#: what frames take that were asked for before: entry, head, shape of the result, and who keeps the head
_Known = tuple[Callable[..., int], int, tuple[int, ...], Head]

_MOTION, _EFFORTS = ("q", "v", "a"), ("q", "v", "tau")

_TEXT = """
def {verb}({declared}):
    if {plain}:
        try:
            {new}
            if call(address, {given}, {results}) == 0{also}:
                return {answer}
        except objections:
            if call is None:
                load()
                return {verb}({again})
    return general({passed})
"""


def short_ways(robot: RobotInterface) -> dict[str, _Way]:
    """The verbs of a robot that have a short way, by their names."""
    made: dict[str, _Way] = {}
    for verb, make in _MAKERS.items():
        general = getattr(robot, verb)
        way = make(robot, general)
        if way is not None:
            made[verb] = update_wrapper(way, general)
    return made


class _Parts(NamedTuple):
    """What a short way takes. arguments: that the entry takes, names of parameters or of things in `names`;
    shapes: of its results x0, x1, ...; answer: an expression of these; also: a further condition; names: that
    the expressions use beside."""

    arguments: tuple[str, ...]
    shapes: tuple[tuple[int, ...] | int, ...]
    load: _Load
    answer: str = "x0"
    also: str = ""
    names: tuple[tuple[str, Any], ...] = ()


def _short(verb: str, general: _Way, parts: _Parts) -> _Way:
    """The short way of a verb, from the text above."""
    shapes = {f"shape{i}": shape for i, shape in enumerate(parts.shapes)}
    names = dict(parts.names) | shapes | {"call": None, "address": 0, "general": general, "empty": _empty}

    def load() -> None:
        names["call"], names["address"] = parts.load()

    names |= {"load": load, "objections": _OBJECTIONS}
    optional = "none" in names
    exec(
        _code(verb, _parameters(general), parts.arguments, len(shapes), parts.answer, parts.also, optional),
        names,
    )
    found: _Way = names[verb]
    return found


def _parameters(general: _Way) -> tuple[inspect.Parameter, ...]:
    return tuple(
        p.replace(annotation=inspect.Parameter.empty) for p in inspect.signature(general).parameters.values()
    )


@cache
def _code(
    verb: str,
    parameters: tuple[inspect.Parameter, ...],
    arguments: tuple[str, ...],
    results: int,
    answer: str,
    also: str,
    optional: bool,
) -> CodeType:
    """The text of a verb with these parameters, compiled."""
    named = {p.name: p for p in parameters}
    conditions = [_is_left_out(p) for p in parameters if p.name not in arguments and p.default is not p.empty]
    taken = [
        f"none if {x} is None else {x}" if optional and x in named and named[x].default is None else x
        for x in arguments
    ]
    text = _TEXT.format(
        verb=verb,
        declared=str(inspect.Signature(parameters))[1:-1],
        plain=" and ".join(conditions) or "True",
        new="; ".join(f"x{i} = empty(shape{i})" for i in range(results)),
        given=", ".join(taken),
        results=", ".join(f"x{i}" for i in range(results)),
        also=also,
        answer=answer,
        again=", ".join(x for x in arguments if x in named),
        passed=", ".join(f"{p.name}={p.name}" if p.kind is p.KEYWORD_ONLY else p.name for p in parameters),
    )
    return compile(text, f"<short way of {verb}>", "exec")


def _is_left_out(p: inspect.Parameter) -> str:
    """Whether a parameter has its default."""
    if p.default is None:
        return f"{p.name} is None"
    return f"{p.name} == {p.default!r}" if p.default else f"not {p.name}"


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
    free = _with_free_coordinates(robot, general)

    def otherwise(q, v, a, wrenches=None, *, unactuated="given", actuators=None, out=None):  # type: ignore[no-untyped-def]
        if unactuated == "free" and wrenches is None and actuators is None and out is None:
            return free(q, v, a)
        return general(q, v, a, wrenches, unactuated=unactuated, actuators=actuators, out=out)

    return _short("inverse_dynamics", otherwise, _Parts(_MOTION, (robot.nu,), load))


def _with_free_coordinates(robot: RobotInterface, general: _Way) -> _Way:
    """Inverse dynamics that solves the accelerations of what nothing drives."""
    functions, of_them = _of_family(robot), partial(general, unactuated="free")
    if robot.driven.all() or robot.nu != robot.nv or not isinstance(functions, EntryFunctions):
        return of_them
    entry = given.inverse_dynamics_one

    def without_others(q: np.ndarray, v: np.ndarray, a: np.ndarray) -> Any:
        return of_them(q, v, a)

    load = lambda: (entry.load(), functions.heads.freeing.address)  # noqa: E731
    return _short("inverse_dynamics", without_others, _Parts(_MOTION, (robot.nv,), load))


def _forward_dynamics(robot: RobotInterface, general: _Way) -> _Way | None:
    """Results of functions that are `checked` are put into the balance of forces."""
    if (load := _dynamics(robot, "forward_dynamics")) is None:
        return None
    parts, functions = _forward_parts(robot.nv, robot.nu, load), robot.functions
    if isinstance(functions, EntryFunctions) and functions.checked:
        heads = functions.heads

        def check(*arrays: np.ndarray) -> int:
            return dynamics.unbalanced_one.load()(heads.checking.address, *arrays)

        also = " and check(q, v, none if tau is None else tau, x0) == 0"
        parts = parts._replace(also=also, names=(*parts.names, ("check", check)))
    return _short("forward_dynamics", general, parts)


def _forward_parts(nv: int, nu: int, load: _Load) -> _Parts:
    return _Parts(_EFFORTS, (nv,), load, names=(("none", np.zeros(nu)),))


def short_forward_dynamics(nv: int, nu: int, general: _Way, load: _Load) -> _Way:
    """The short way of forward dynamics by an entry that a layer brings: `load` gives it and the address that
    it takes."""
    return update_wrapper(_short("forward_dynamics", general, _forward_parts(nv, nu, load)), general)


def _mass_matrix(robot: RobotInterface, general: _Way) -> _Way | None:
    load = _dynamics(robot, "mass_matrix")
    return load and _short("mass_matrix", general, _Parts(("q",), ((robot.nv, robot.nv),), load))


def _bias_forces(robot: RobotInterface, general: _Way) -> _Way | None:
    if robot.effort_names[: robot.nv] != robot.v_names:
        return _observing("bias_forces", "bias", robot.nv)(robot, general)
    if (load := _dynamics(robot, "inverse_dynamics")) is None:
        return None
    still = (("still", np.zeros(robot.nv)),)
    return _short("bias_forces", general, _Parts(("q", "v", "still"), (robot.nv,), load, names=still))


# ---- what is looked at ----


def _observing(
    verb: str, name: str, size: int | None, answer: str = "x0", names: tuple[tuple[str, Any], ...] = ()
) -> _Maker:
    """Of a verb of q and v by the C function `name`; size: of its result, None: of all parts of h."""

    def make(robot: RobotInterface, general: _Way) -> _Way | None:
        if (functions := _observed(robot, name)) is None:
            return None
        heads, shape = functions.heads, 5 * robot.nv if size is None else size
        load = lambda: (observers.observe_one.load(), heads.looking(name).address)  # noqa: E731
        return _short(verb, general, _Parts(("q", "v"), (shape,), load, answer, names=names))

    return make


def _placed(
    robot: RobotInterface, general: _Way, verb: str, name: str, shape: tuple[int, ...], entry: Entry
) -> _Way | None:
    """A verb of q by an entry that calls the C function `name`."""
    if (functions := _observed(robot, name)) is None:
        return None
    load = lambda: (entry.load(), functions.heads.looking(name).address)  # noqa: E731
    return _short(verb, general, _Parts(("q",), (shape,), load))


def _center_of_mass(robot: RobotInterface, general: _Way) -> _Way | None:
    return _placed(robot, general, "center_of_mass", "momenta", (3,), observers.center_one)


def _actuation_matrix(robot: RobotInterface, general: _Way) -> _Way | None:
    name, entry = "moved", observers.identity_one
    if robot.effort_names != robot.v_names:
        name, entry = "actuation", observers.place_one
    return _placed(robot, general, "actuation_matrix", name, (robot.nv, robot.nu), entry)


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
    call: Any = None

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
    call: Any = None

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
    load = lambda: (observers.move_one.load(), functions.heads.looking("moved").address)  # noqa: E731
    return _short("integrate", general, _Parts(("q", "v", "dt"), (robot.nq,), load))


def _difference(robot: RobotInterface, general: _Way) -> _Way | None:
    if not robot.functions.flat:
        return None
    parts = _Parts(("q0", "q1"), (robot.nq,), lambda: (observers.subtract_one.load(), robot.nq))
    return _short("difference", general, parts)


# ---- derivatives ----


def _regressor(robot: RobotInterface, general: _Way) -> _Way | None:
    shape: tuple[int, ...] = (0, 0)
    call: Any = None

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
    nv, heads = robot.nv, functions.heads
    by_efforts = "x1" if robot.effort_names == robot.v_names else "by_efforts(x1, q)"
    names = (("none", np.zeros(robot.nu)), ("by_efforts", functions.by_efforts), ("found", Linearization))
    load = lambda: (derivatives.linearize_one.load(), heads.linearizing.address)  # noqa: E731
    shapes = (2 * nv, 2 * nv), (2 * nv, nv)
    return _short(
        "linearize", general, _Parts(_EFFORTS, shapes, load, f"found(x0, {by_efforts})", names=names)
    )


def _inverse_dynamics_derivatives(robot: RobotInterface, general: _Way) -> _Way | None:
    functions = _of_family(robot)
    direct = robot.effort_names == robot.v_names
    if not (direct and isinstance(functions, EntryFunctions) and functions.direct):
        return None
    heads, shape = functions.heads, (robot.nv, robot.nv)
    load = lambda: (derivatives.inverse_derivatives_one.load(), heads.differentiating.address)  # noqa: E731
    parts = _Parts(_MOTION, (shape, shape, shape), load, "x0, x1, x2")
    return _short("inverse_dynamics_derivatives", general, parts)


_MAKERS: dict[str, _Maker] = {
    "inverse_dynamics": _inverse_dynamics,
    "forward_dynamics": _forward_dynamics,
    "mass_matrix": _mass_matrix,
    "bias_forces": _bias_forces,
    "bias_terms": _observing(
        "bias_terms", "bias_terms", None, "parts(*x0.reshape(5, -1))", (("parts", BiasTerms),)
    ),
    "energy": _observing("energy", "energy", 3, "parts(x0[0], x0[1], x0[2])", (("parts", Energy),)),
    "momentum": _observing("momentum", "momenta", 10, "x0[:6]"),
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
