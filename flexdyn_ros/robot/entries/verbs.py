"""Which verbs of a robot ask an entry for single states (single.py), by the rows of its table that answer
them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, update_wrapper
from typing import TYPE_CHECKING, Any

import numpy as np

from flexdyn_ros.numerics.verbs import derivatives, dynamics, observers
from flexdyn_ros.numerics.verbs import partial as given
from flexdyn_ros.robot.entries.functions import EntryFunctions
from flexdyn_ros.robot.entries.heads import MOST_HEADS
from flexdyn_ros.robot.entries.single import (
    Load,
    OfFrames,
    Single,
    Way,
    objecting,
    single_of_frames,
    single_way,
)
from flexdyn_ros.robot.functions import FamilyFunctions
from flexdyn_ros.robot.interface import RobotInterface
from flexdyn_ros.robot.parameters import Regressor
from flexdyn_ros.robot.results import BiasTerms, Energy, Linearization

if TYPE_CHECKING:
    from flexdyn_ros.numerics.compiling.compiler import Entry

#: velocities up to which the mass matrix answers forward dynamics that have no entry of their own
MOST_SOLVED = 100
#: of a robot and the general way of a verb: what asks an entry first; None where there is none
_Maker = Callable[[RobotInterface, Way], Way | None]

_MOTION, _EFFORTS = ("q", "v", "a"), ("q", "v", "tau")


def single_verbs(robot: RobotInterface) -> dict[str, Way]:
    """The verbs of a robot that ask an entry first, by their names."""
    made: dict[str, Way] = {}
    for verb, make in _MAKERS.items():
        general = getattr(robot, verb)
        if (way := make(robot, general)) is not None:
            made[verb] = update_wrapper(way, general)
    return made


def single_forward_dynamics(nv: int, nu: int, general: Way, load: Load) -> Way:
    """Forward dynamics that ask an entry which a layer brings: `load` gives it and the address that it
    takes."""
    return update_wrapper(single_way("forward_dynamics", general, _forward(nv, nu, load)), general)


# ---- dynamics ----


def _dynamics(robot: RobotInterface, verb: str) -> Load | None:
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
    of_head: dict[str, Load] = {
        "inverse_dynamics": lambda: (dynamics.balance_one.load(), functions.heads.balancing.address),
        "forward_dynamics": lambda: (given.forward_dynamics_one.load(), functions.heads.solving.address),
        "mass_matrix": lambda: (observers.place_one.load(), functions.heads.looking("mass").address),
    }
    return of_head[verb]


def _inverse_dynamics(robot: RobotInterface, general: Way) -> Way | None:
    if (load := _dynamics(robot, "inverse_dynamics")) is None:
        return None
    free = _with_free_coordinates(robot, general)

    def otherwise(q, v, a, wrenches=None, *, unactuated="given", actuators=None, out=None):  # type: ignore[no-untyped-def]
        if unactuated == "free" and wrenches is None and actuators is None and out is None:
            return free(q, v, a)
        return general(q, v, a, wrenches, unactuated=unactuated, actuators=actuators, out=out)

    return single_way("inverse_dynamics", otherwise, Single(_MOTION, (robot.nu,), load))


def _with_free_coordinates(robot: RobotInterface, general: Way) -> Way:
    """Inverse dynamics that solves the accelerations of what nothing drives."""
    functions, of_them = _of_family(robot), partial(general, unactuated="free")
    if robot.driven.all() or robot.nu != robot.nv or not isinstance(functions, EntryFunctions):
        return of_them
    entry = given.inverse_dynamics_one

    def without_others(q: np.ndarray, v: np.ndarray, a: np.ndarray) -> Any:
        return of_them(q, v, a)

    load = lambda: (entry.load(), functions.heads.freeing.address)  # noqa: E731
    return single_way("inverse_dynamics", without_others, Single(_MOTION, (robot.nv,), load))


def _forward_dynamics(robot: RobotInterface, general: Way) -> Way | None:
    """Results of functions that are `checked` are put into the balance of forces."""
    if (load := _dynamics(robot, "forward_dynamics")) is None:
        return None
    single, functions = _forward(robot.nv, robot.nu, load), robot.functions
    if isinstance(functions, EntryFunctions) and functions.checked:
        heads = functions.heads

        def check(*arrays: np.ndarray) -> int:
            return dynamics.unbalanced_one.load()(heads.checking.address, *arrays)

        also = " and check(q, v, none if tau is None else tau, x0) == 0"
        single = single._replace(also=also, names=(*single.names, ("check", check)))
    return single_way("forward_dynamics", general, single)


def _forward(nv: int, nu: int, load: Load) -> Single:
    return Single(_EFFORTS, (nv,), load, names=(("none", np.zeros(nu)),))


def _mass_matrix(robot: RobotInterface, general: Way) -> Way | None:
    load = _dynamics(robot, "mass_matrix")
    return load and single_way("mass_matrix", general, Single(("q",), ((robot.nv, robot.nv),), load))


def _bias_forces(robot: RobotInterface, general: Way) -> Way | None:
    if robot.effort_names[: robot.nv] != robot.v_names:
        return _observing("bias_forces", "bias", robot.nv)(robot, general)
    if (load := _dynamics(robot, "inverse_dynamics")) is None:
        return None
    still = (("still", np.zeros(robot.nv)),)
    return single_way("bias_forces", general, Single(("q", "v", "still"), (robot.nv,), load, names=still))


# ---- what is looked at ----


def _of_family(robot: RobotInterface) -> FamilyFunctions:
    """The functions of the family, whatever else computes for this robot."""
    return robot.functions.general.functions


def _observed(robot: RobotInterface, name: str) -> EntryFunctions | None:
    """The functions of the family, if its C function `name` is all there is to a verb."""
    functions = _of_family(robot)
    found = isinstance(functions, EntryFunctions) and name in functions.observed
    return functions if found else None  # type: ignore[return-value]


def _observing(
    verb: str, name: str, size: int | None, answer: str = "x0", names: tuple[tuple[str, Any], ...] = ()
) -> _Maker:
    """Of a verb of q and v by the C function `name`; size: of its result, None: of all parts of h."""

    def make(robot: RobotInterface, general: Way) -> Way | None:
        if (functions := _observed(robot, name)) is None:
            return None
        heads, shape = functions.heads, 5 * robot.nv if size is None else size
        load = lambda: (observers.observe_one.load(), heads.looking(name).address)  # noqa: E731
        return single_way(verb, general, Single(("q", "v"), (shape,), load, answer, names=names))

    return make


def _placed(
    robot: RobotInterface, general: Way, verb: str, name: str, shape: tuple[int, ...], entry: Entry
) -> Way | None:
    """A verb of q by an entry that calls the C function `name`."""
    if (functions := _observed(robot, name)) is None:
        return None
    load = lambda: (entry.load(), functions.heads.looking(name).address)  # noqa: E731
    return single_way(verb, general, Single(("q",), (shape,), load))


def _center_of_mass(robot: RobotInterface, general: Way) -> Way | None:
    return _placed(robot, general, "center_of_mass", "momenta", (3,), observers.center_one)


def _actuation_matrix(robot: RobotInterface, general: Way) -> Way | None:
    name, entry = "moved", observers.identity_one
    if robot.effort_names != robot.v_names:
        name, entry = "actuation", observers.place_one
    return _placed(robot, general, "actuation_matrix", name, (robot.nv, robot.nu), entry)


def _integrate(robot: RobotInterface, general: Way) -> Way | None:
    if (functions := _observed(robot, "moved")) is None:
        return None
    load = lambda: (observers.move_one.load(), functions.heads.looking("moved").address)  # noqa: E731
    return single_way("integrate", general, Single(("q", "v", "dt"), (robot.nq,), load))


def _difference(robot: RobotInterface, general: Way) -> Way | None:
    if not robot.functions.flat:
        return None
    single = Single(("q0", "q1"), (robot.nq,), lambda: (observers.subtract_one.load(), robot.nq))
    return single_way("difference", general, single)


# ---- geometry ----


def _of_choices(verb: str, name: str, frames: str) -> _Maker:
    """Of a verb of q for one frame, or several at once: `frames`, which asks for poses, or `jacobian`."""

    def make(robot: RobotInterface, general: Way) -> Way | None:
        if (functions := _observed(robot, name)) is None:
            return None
        heads, every = functions.heads, functions.frame_names
        head_of = heads.poses_of if name == "frames" else heads.jacobians_of

        def find(names: Any, result: np.ndarray) -> tuple[Way, tuple[int, ...], Any] | None:
            one = isinstance(names, str)
            if result.ndim != (2 if one else 3):
                return None
            head = head_of((names,) if one else every if names is None else tuple(names))
            entry = observers.place_one if one else observers.place_several
            return entry.load(), (head.address,), head

        return single_of_frames(verb, general, OfFrames(("q",), frames, find, MOST_HEADS, several=True))

    return make


def _of_one_frame(verb: str, arguments: tuple[str, ...], entry: Entry) -> _Maker:
    """Of a verb of the motion of one frame, by its Jacobian, and for its acceleration the rate of that."""

    def make(robot: RobotInterface, general: Way) -> Way | None:
        if (functions := _observed(robot, "jacobian")) is None:
            return None
        heads = functions.heads
        kinds = (heads.jacobians_of, heads.rates_of)[: len(arguments) - 1]

        def find(frame: Any, result: np.ndarray) -> tuple[Way, tuple[int, ...], Any] | None:
            if not isinstance(frame, str) or result.ndim != 1:
                return None
            keeps = tuple(head_of((frame,)) for head_of in kinds)
            return entry.load(), tuple(head.address for head in keeps), keeps

        return single_of_frames(verb, general, OfFrames(arguments, "frame", find, MOST_HEADS, len(kinds)))

    return make


# ---- derivatives ----


def _regressor(robot: RobotInterface, general: Way) -> Way | None:
    """The entry and the number of parameters are known once the general way has answered."""
    shape: tuple[int, ...] = (0, 0)
    call: Any = None

    def regressor(q, v, a):  # type: ignore[no-untyped-def]
        nonlocal shape, call
        try:
            Y = np.empty(shape)
            if call(q, v, a, Y) == 0:
                return Regressor(Y, np.zeros(shape[0]))
        except (TypeError, ValueError):
            found = general(q, v, a)
            if call is None:
                call, shape = objecting(_of_family(robot).regressor_one, 0, 3), found.Y.shape[-2:]
            return found
        return general(q, v, a)

    return regressor


def _linearize(robot: RobotInterface, general: Way) -> Way | None:
    functions = _of_family(robot)
    if not (isinstance(functions, EntryFunctions) and functions.direct):
        return None
    nv, heads = robot.nv, functions.heads
    by_efforts = "x1" if robot.effort_names == robot.v_names else "by_efforts(x1, q)"
    names = (("none", np.zeros(robot.nu)), ("by_efforts", functions.by_efforts), ("found", Linearization))
    load = lambda: (derivatives.linearize_one.load(), heads.linearizing.address)  # noqa: E731
    shapes = (2 * nv, 2 * nv), (2 * nv, nv)
    single = Single(_EFFORTS, shapes, load, f"found(x0, {by_efforts})", names=names)
    return single_way("linearize", general, single)


def _inverse_dynamics_derivatives(robot: RobotInterface, general: Way) -> Way | None:
    functions = _of_family(robot)
    direct = robot.effort_names == robot.v_names
    if not (direct and isinstance(functions, EntryFunctions) and functions.direct):
        return None
    heads, shape = functions.heads, (robot.nv, robot.nv)
    load = lambda: (derivatives.inverse_derivatives_one.load(), heads.differentiating.address)  # noqa: E731
    single = Single(_MOTION, (shape, shape, shape), load, "x0, x1, x2")
    return single_way("inverse_dynamics_derivatives", general, single)


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
    "frames": _of_choices("frames", "frames", "names"),
    "jacobian": _of_choices("jacobian", "jacobian", "frame"),
    "frame_velocity": _of_one_frame("frame_velocity", ("q", "v"), observers.velocity_one),
    "frame_acceleration": _of_one_frame("frame_acceleration", ("q", "v", "a"), observers.acceleration_one),
    "integrate": _integrate,
    "difference": _difference,
    "regressor": _regressor,
    "linearize": _linearize,
    "inverse_dynamics_derivatives": _inverse_dynamics_derivatives,
}
