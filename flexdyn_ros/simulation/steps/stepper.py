"""A robot that advances in time by fixed steps: what `simulate` and the simulator node have in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from flexdyn_ros.errors import DimensionError, StateError, UnknownNameError, UnsupportedError
from flexdyn_ros.numerics.stepping import fixed as kernels
from flexdyn_ros.numerics.stepping import memory as at
from flexdyn_ros.numerics.stepping import methods
from flexdyn_ros.robot.arguments import finite_number, numbers
from flexdyn_ros.robot.motion import complete_states
from flexdyn_ros.robot.results import Energy
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.simulation.steps.clock import check_clock, onto_constraints, positive
from flexdyn_ros.simulation.steps.drive import Drive
from flexdyn_ros.simulation.steps.stiffness import fastest_rate, scaled_masses, speed_bounds, stops_at
from flexdyn_ros.simulation.steps.workspace import Workspace

__all__ = ["DIVERGED", "METHODS", "NOT_FINITE", "OK", "Stepper", "finite_vector"]

#: what `Stepper.advance` returns
OK, NOT_FINITE, DIVERGED, OPENED = kernels.OK, kernels.NOT_FINITE, kernels.DIVERGED, kernels.OPENED

METHODS = {
    "semi_implicit_euler": at.SEMI_IMPLICIT_EULER,
    "rk4": at.RK4,
    "scaled_rk4": at.RK4,
    "rosenbrock": at.ROSENBROCK,
    "staggered": at.STAGGERED,
}
#: those that can book what they take from the energies by themselves
BOOKED = ("semi_implicit_euler", "rk4", "rosenbrock")

FAILURES = {
    NOT_FINITE: "the state is no longer finite",
    DIVERGED: "the simulation diverged: kinetic energy beyond 1e12 times its scale",
    OPENED: "the loops came apart within a step",
}

#: largest rate [1/s] times step at which "auto" takes rk4, which is stable up to 2.78
EXPLICIT_REACH = 0.5


class Stepper:
    """State of a robot, advanced by compiled fixed steps that release the GIL; one per thread.

    The effort on a coordinate is tau + stiffness (target_q - q) + damping (target_v - v): tau is the
    argument of `advance` (or what it was last), the rest the joint servo, off until its gains are set.
    Efforts are clipped to the coordinates' effort limits if `saturate`. Joint stops act outside the
    position limits if `limits` is "spring". Stiff gains and stops are integrated implicitly by
    "rosenbrock" and "semi_implicit_euler".

    Parameters
    ----------
    robot : Robot
    dt : float
        Step [s].
    method : {"auto", "semi_implicit_euler", "rk4", "scaled_rk4", "rosenbrock", "staggered"}
        "auto": rk4 for rigid trees where springs, damping, friction, servo and stops allow it at this
        step, else rosenbrock; decided anew whenever the state, gains or stops are set. Where cylinders with
        hydraulics are in use staggered for platforms, rosenbrock for trees; staggered only there.
        scaled_rk4 is rk4 with added masses on the modes that are too fast for this step
        (simulation/steps/mass_scaling.py), chosen anew whenever the state is set.
    q0, v0 : (nq,), (nv,) arrays, optional
        Default neutral(), zero.
    t0 : float
        Time of that state [s].
    states0 : (ns,) array or mapping from names, optional
        States of elements, as of `set_states`; default: at rest.
    limits : {"report", "spring"}
        "report": position limits do nothing here.
    saturate : bool

    Attributes
    ----------
    q, v, a : (nq,), (nv,), (nv,) arrays
        State, and the mean acceleration over the last step (that of the state itself after
        `set_state`). Live views, read-only: copy to keep.
    tau : (nu,) array
        Commanded effort that is held; live and writable. `advance(tau=...)` copies into it.
    effort : (nu,) array
        Mean effort of command (or of what actuators made of it) and servo together over the last step,
        clipped [N m, N]; that which moves a prescribed coordinate; live, read-only.
    saturated : (nu,) array of bool
        Efforts that were clipped in the last `advance`.
    at_stop : (nu,) array of bool
        What is outside its position limits now, whatever `limits` is.
    t, steps : float, int
        Time [s] = t0 + steps dt, and steps since the state was set.
    work, dissipated : float
        Work of efforts and wrenches, and energy taken by damping, friction and stops since the state
        was set [J]: energy().total - work + dissipated is constant. What a stop or an added mass stores
        it gives back, so that dissipated falls then.
    given : (nv,) array
        Accelerations of prescribed coordinates; live and writable, held during a call.
    servo_stiffness, servo_damping : (nu,) arrays
        Gains [N m/rad or N/m, times s]; read-only, see `set_servo`.
    target_q, target_v : (nu,) arrays
        Set-points of the servo, by effort: the coordinate it acts on, or the length of the leg [rad or m,
        per s]; live and writable, held during a call.
    stop_stiffness, stop_damping : (nu,) arrays
        Of the joint stops, where they act (`limits`) or are set; read-only, see `set_stops`.
    added_mass : (nv,) array
        What scaled_rk4 adds to the diagonal of the mass matrix [kg or kg m2]; 0 elsewhere; read-only.
    method : str
        The method in use, never "auto".
    message : str
        What went wrong in the last `advance` that did not return OK.
    moved : str
        How far the state that was set last was moved onto the robot's constraints; empty where it was not.

    Raises
    ------
    DimensionError, StateError, UnknownNameError
        For arguments of the wrong shape, not finite, or unknown.
    UnsupportedError
        If robots of this kind have no such method.
    """

    def __init__(
        self,
        robot: Robot,
        dt: float = 1e-3,
        method: str = "auto",
        *,
        q0: np.ndarray | None = None,
        v0: np.ndarray | None = None,
        t0: float = 0.0,
        states0: Mapping[str, float] | np.ndarray | None = None,
        limits: str = "report",
        saturate: bool = False,
    ) -> None:
        motion = robot.motion
        if motion is None:
            raise UnsupportedError(
                f"robot {robot.name!r} has no compiled steps with this formulation; flexdyn_ros.simulate "
                "moves it by dop853, bdf, radau, lsoda, rk4 or semi_implicit_euler"
            )
        UnknownNameError.check("method", method, ("auto", *METHODS))
        if method == "staggered" and motion.memory is None:
            raise UnsupportedError(
                f"robot {robot.name!r} has no actuators with states of their own, which the method staggered "
                "moves; platforms with hydraulics have"
            )
        UnknownNameError.check("value of limits", limits, ("report", "spring"))
        dt = positive(dt, "dt")
        t0 = check_clock(t0, 0.0, dt)
        self.robot, self.dt = robot, dt
        self._requested_method = method
        #: whether actuators with states of their own are in use: "auto" is staggered then
        self.has_actuators_in_use = False
        self._motion = motion
        self._workspace = Workspace(robot, motion, saturate=saturate, stops=limits == "spring")
        self._steps = self._workspace.address
        self._advance = kernels.advance.load()
        self._bind_views()
        self.message, self.moved, self._books = "", "", False
        self.steps, self._t0 = 0, t0
        self._stops: tuple[np.ndarray | None, np.ndarray | None] = (None, None)
        self.set_state(robot.neutral() if q0 is None else q0, np.zeros(robot.nv) if v0 is None else v0, t0)
        if states0 is not None:
            self.set_states(states0)

    def _bind_views(self) -> None:
        w = self._workspace
        self.q, self.v, self.a, self.effort = (_watched(w[name]) for name in ("q", "v", "a", "effort"))
        self.servo_stiffness, self.servo_damping = (
            _watched(w["servo_stiffness"]),
            _watched(w["servo_damping"]),
        )
        self.stop_stiffness, self.stop_damping = _watched(w["stop_stiffness"]), _watched(w["stop_damping"])
        self.added_mass = _watched(w["scaled"])[: self.robot.nv]
        self.tau, self.target_q, self.target_v = w["tau"], w["target_q"], w["target_v"]
        self.given, self.drive = w["given"], w["drive"]
        self._account = w["account"]

    # ---- what it shows ----

    @property
    def t(self) -> float:
        """Time of the state [s]."""
        return self._t0 + self.steps * self.dt

    @property
    def work(self) -> float:
        """Work of efforts and wrenches since the state was set [J]."""
        return float(self._account[at.WORK_DONE])

    @property
    def dissipated(self) -> float:
        """Energy taken by damping, friction and stops since the state was set [J]."""
        return float(self._account[at.DISSIPATED])

    @property
    def numerical_dissipation(self) -> float | None:
        """Energy that the steps took by themselves since the state was set [J]; None if they do not book it:
        see `book_numerical_dissipation`."""
        return float(self._account[at.NUMERICAL]) if self._books else None

    @property
    def saturated(self) -> np.ndarray:
        """Efforts (nu,) that were clipped in the last `advance`."""
        return self._workspace.saturated != 0

    @property
    def at_stop(self) -> np.ndarray:
        """Mask (nu,) of coordinates outside their position limits."""
        return self._workspace.at_stop != 0

    def energy(self) -> Energy:
        """Energy of the present state [J]."""
        return Energy(*self._account[at.KINETIC : at.ELASTIC + 1])

    # ---- what it does ----

    def advance(self, steps: int = 1, tau: np.ndarray | None = None) -> int:
        """Advance by a number of steps; returns OK (0), or NOT_FINITE, DIVERGED or OPENED, the
        last good state kept.

        tau (nu,), if given, is the commanded effort from now on [N m, N]. Never raises for what the physics
        does; the wrong shape or NaN in tau raise DimensionError or StateError and nothing moves.
        """
        if tau is not None:
            self.set_efforts(tau)
        result = self._advance(self._steps, self.t, steps, self.dt)
        self.steps += result >> 2
        status = result & 3
        if status:
            self.message = f"{FAILURES[status]} after t = {self.t:.6g} s"
        return status

    def step(self, h: float, t: float | None = None) -> int:
        """One step of h seconds [s] from time t (default: `t`) outside the grid of dt: `t` and `steps` do not
        count it."""
        status = self._advance(self._steps, self.t if t is None else t, 1, h) & 3
        if status:
            self.message = FAILURES[status]
        return status

    def book_numerical_dissipation(self) -> None:
        """Let every step from now on book the energy that it takes by itself, where its method can
        (numerics/stepping/defect.py); that costs several energies a step."""
        self._books = self.method in BOOKED
        if self._books:
            self._workspace.header[at.S_DEFECT] = 1

    @property
    def any_saturated(self) -> bool:
        """True if an effort was clipped in the last `advance` or `step`."""
        return bool(self._workspace.saturated.any())

    def snapshot(self) -> tuple[np.ndarray, ...]:
        """State, accounts, gains, targets and efforts, for `restore`."""
        return self._workspace.snapshot()

    def restore(self, snapshot: Any) -> None:
        """Go back to a snapshot; wrenches, t and steps stay."""
        self._workspace.restore(snapshot)

    def ask_at_every_evaluation(self, address: int) -> None:
        """Address of a C function (t, q, v) that writes what follows time and state
        (numerics/verbs/table.py: PROVIDE); 0: none."""
        self._workspace.header[at.S_PROVIDE] = address

    def set_efforts(self, tau: np.ndarray) -> None:
        """Commanded effort (nu,) from now on [N m, N]."""
        self.tau[:] = finite_vector(tau, "tau", self.robot.nu)

    def set_state(
        self, q: np.ndarray | None = None, v: np.ndarray | None = None, t: float | None = None
    ) -> None:
        """Replace what is given; clear work, dissipated, steps and saturated.

        Gains, targets, efforts and wrenches stay; states of elements are put at rest. Robots with loops go to
        the nearest state on these; `moved` then says how far that is.

        Raises
        ------
        DimensionError, StateError
        ConvergenceError
            If the loops cannot be closed from there.
        """
        robot, w = self.robot, self._workspace
        new_q = w["q"].copy() if q is None else finite_vector(q, "q", robot.nq)
        new_v = w["v"].copy() if v is None else finite_vector(v, "v", robot.nv)
        new_q = robot.integrate(new_q, np.zeros(robot.nv), 0.0)
        new_q, new_v, _, self.moved = onto_constraints(robot, new_q, new_v, "the state")
        w["q"][:], w["v"][:] = new_q, new_v
        self._t0, self.steps = (self.t if t is None else check_clock(t, 0.0, self.dt)), 0
        w["account"][:] = 0.0
        self._write_states(None)
        w["v_bound"][:] = speed_bounds(robot, new_q, new_v)
        if self._requested_method == "scaled_rk4" and self._motion.modal:
            w["scaled"][: robot.nv] = scaled_masses(self._motion, robot.mass_matrix(new_q), self.dt)
        if w.stops:
            self._write_stops()
        self._choose_method()
        self.look_again()

    def look_again(self, t: float | None = None) -> None:
        """Acceleration, efforts and energies of the state with the efforts and wrenches that are set now; the
        time [s] is `t` unless given."""
        kernels.prepare_steps(self._steps, self.t if t is None else t)

    @property
    def states(self) -> np.ndarray:
        """States of elements (ns,) now, in the order of `Robot.element_states`; a copy."""
        memory = self._motion.memory
        return np.zeros(0) if memory is None else memory.read(self._workspace.actuators)

    def set_states(self, states: Mapping[str, float] | np.ndarray | None) -> None:
        """Replace the states of elements: (ns,) in the order of `Robot.element_states`, or by name.

        Those left out, or all with None, are at rest. Everything else stays.

        Raises
        ------
        UnknownNameError, DimensionError
            For a name that no state has, or another number of them.
        StateError
            For NaN, infinity, or an absolute pressure that is not above 0 Pa.
        """
        self._write_states(states)
        self.look_again()

    def _write_states(self, states: Mapping[str, float] | np.ndarray | None) -> None:
        robot, w, memory = self.robot, self._workspace, self._motion.memory
        rest = robot.rest_states(w["q"].copy(), w["v"].copy()) if memory is not None else np.zeros(0)
        values = complete_states(robot.element_states, states, rest, "states")
        if memory is not None:
            memory.write(w.actuators, values)

    def set_supply(self, name: str, *, speed: float) -> None:
        """Let the pump of a supply of oil turn at another speed [rad/s], 0: it stands still.

        Raises
        ------
        UnknownNameError
            For a supply that the robot does not have.
        UnsupportedError
            For one without a pump, and for robots without supplies that cylinders share.
        StateError
            For NaN, infinity or a negative speed.
        """
        memory, robot = self._motion.memory, self.robot
        names = () if robot.hydraulics is None else robot.hydraulics.model.supplies
        if memory is None or not names:
            raise UnsupportedError(f"robot {robot.name!r} has no <supply> that cylinders share")
        UnknownNameError.check("supply", name, names)
        value = finite_number(speed, f"speed of supply '{name}'")
        if value < 0.0:
            raise StateError(f"speed of supply '{name}' is {speed}, expected a finite number >= 0 rad/s")
        memory.set_speed(self._workspace.actuators, names.index(name), value)

    def set_leakage(self, name: str, leakage: float) -> None:
        """Let oil leak from both chambers of a cylinder to the tank [m3/(s Pa)], as from hoses that burst.

        Raises
        ------
        UnknownNameError
            For a cylinder that the robot does not have.
        UnsupportedError
            For robots whose elements have no oil.
        StateError
            For NaN, infinity or a negative leakage.
        """
        memory, h = self._motion.memory, self.robot.hydraulics
        if memory is None or h is None:
            raise UnsupportedError(f"robot {self.robot.name!r} has no cylinders that oil drives")
        UnknownNameError.check("cylinder", name, h.names)
        value = finite_number(leakage, f"leakage of cylinder '{name}'")
        if value < 0.0:
            raise StateError(
                f"leakage of cylinder '{name}' is {leakage}, expected a finite number >= 0 m3/(s Pa)"
            )
        memory.set_leakage(self._workspace.actuators, h.names.index(name), value)

    def oil_settings(self) -> tuple[dict[str, float], dict[str, float]]:
        """What `set_supply` and `set_leakage` change: speeds of pumps [rad/s] by the names of supplies,
        the larger leakage to the tank [m3/(s Pa)] by those of cylinders; {} without oil."""
        memory, h = self._motion.memory, self.robot.hydraulics
        if memory is None or h is None:
            return {}, {}
        return memory.settings(self._workspace.actuators)

    def place_drive(self, drive: Drive, t: float, h: float) -> None:
        """Put the prescribed coordinate where it is at t, and let it reach the speed that it has at t + h."""
        w = self._workspace
        w["q"][drive.q_index], w["v"][drive.v_index], _ = drive.at(t)
        self.given[drive.v_index] = drive.mean_acceleration(t, h)

    def place(self, q_index: int, x: float) -> None:
        """Put one position at x [m or rad]; accounts go on."""
        self._workspace["q"][q_index] = x

    def set_wrenches(self, wrenches: Mapping[str, object] | None) -> None:
        """Wrenches that act from now on; None clears.

        Mapping frame name -> (6,) (moment; force) [N m, N] in world axes, at the frame's origin.
        """
        wrenches = wrenches or {}
        loads = [finite_vector(w, f"wrenches[{name!r}]", 6) for name, w in wrenches.items()]
        if self._motion.no_moments and any(load[:3].any() for load in loads):
            raise UnsupportedError(self._motion.no_moments)
        motion, bodies, points = self._motion.place(wrenches)
        if motion is not self._workspace.motion:
            self._workspace.set_motion(motion)
            kernels.prepare_memory(self._steps)
        self._workspace.set_wrenches(bodies, points, np.array(loads).reshape(len(loads), 6))

    def set_servo(self, stiffness: np.ndarray | float = 0.0, damping: np.ndarray | float = 0.0) -> None:
        """Gains, (nu,) or one for all [N m/rad, N m s/rad, N/m, N s/m]; zero switches the servo off.

        Targets stay. Coordinates without a number of their own in q (turns of a free body) take no stiffness.
        """
        k, d = self._per_effort(stiffness, "stiffness"), self._per_effort(damping, "damping")
        if self._motion.drives_coordinates:
            turns = [c.v_index for c in self.robot.coordinates if c.q_index < 0]
            wrong = [i for i in turns if k[i] != 0.0]
            if wrong and np.ndim(stiffness):
                name = self.robot.v_names[wrong[0]]
                raise StateError(f"stiffness of {name} is {k[wrong[0]]}, expected 0")
            k[turns] = 0.0
        self._workspace["servo_stiffness"][:] = k
        self._workspace["servo_damping"][:] = d
        self._choose_method()

    def set_stops(
        self, stiffness: np.ndarray | float | None = None, damping: np.ndarray | float | None = None
    ) -> None:
        """Stiffness and damping of the joint stops, (nu,) or one for all; None: the default.

        A stop whose natural frequency is beyond 1/dt is made as soft as that: a step cannot resolve more, and
        would let the joint through. `stop_stiffness` tells what is used.
        """
        self._stops = (
            None if stiffness is None else self._per_effort(stiffness, "stiffness"),
            None if damping is None else self._per_effort(damping, "damping"),
        )
        self._write_stops()
        self._choose_method()

    def _write_stops(self) -> None:
        """Stops at the state."""
        w = self._workspace
        M = self.robot.mass_matrix(w["q"])
        w["stop_stiffness"][:], w["stop_damping"][:] = stops_at(
            self.robot, self._motion, w["q"], M, self.dt, *self._stops
        )

    def _per_effort(self, value: np.ndarray | float, name: str) -> np.ndarray:
        array = finite_vector(
            np.broadcast_to(value, self.robot.nu) if np.ndim(value) == 0 else value, name, self.robot.nu
        )
        if (array < 0.0).any():
            i = int(np.argmin(array))
            raise StateError(f"{name} of {self.robot.effort_names[i]} is {array[i]}, expected at least 0")
        return array.copy()

    def use_actuators(self, in_use: bool) -> None:
        """Say whether actuators with states of their own act between `tau` and the robot."""
        self.has_actuators_in_use = in_use
        self._choose_method()

    def use_method(self, name: str) -> None:
        """Go on with another method."""
        self._requested_method = name
        self._choose_method()

    @property
    def actuators(self) -> np.ndarray:
        """Numbers of actuators with states of their own; live."""
        return self._workspace.actuators

    def actuator_motion(self, t: float) -> tuple[np.ndarray, np.ndarray]:
        """Positions and rates (nu,) that actuators have at t: of coordinates, or lengths of legs; live."""
        self.look_again(t)
        return self._workspace["position"], self._workspace["speed"]

    @property
    def has_modes(self) -> bool:
        """True if the robot has flexible links."""
        return bool(self._motion.modal)

    def _choose_method(self) -> None:
        """Resolve "auto" and tell the kernels."""
        name = self._requested_method
        memory = self._motion.memory
        if name == "auto" and self.has_actuators_in_use and memory is not None:
            name = memory.method
        if name == "auto":
            w = self._workspace
            stops = self._workspace.stops
            stiffness = w["servo_stiffness"] + (w["stop_stiffness"] if stops else 0.0)
            damping = w["servo_damping"] + (w["stop_damping"] if stops else 0.0)
            explicit = not self._motion.stiff
            if explicit:
                rate = fastest_rate(self.robot, self._motion, w["q"], stiffness, damping)
                explicit = rate * self.dt <= EXPLICIT_REACH
            name = "rk4" if explicit else "rosenbrock"
        self.method = name
        number = METHODS[name]
        self._workspace.header[[at.S_METHOD, at.S_STEP]] = number, methods.METHODS[number].address


def _watched(array: np.ndarray) -> np.ndarray:
    """A read-only view."""
    view = array[:]
    view.flags.writeable = False
    return view


def finite_vector(value: object, name: str, size: int) -> np.ndarray:
    """`value` as a float64 array (size,), finite."""
    array = numbers(value, name)
    if array.shape != (size,):
        raise DimensionError(f"{name} has shape {array.shape}, expected ({size},)")
    if not np.isfinite(array).all():
        i = int(np.argmin(np.isfinite(array)))
        raise StateError(f"{name}[{i}] is {array[i]}, expected a finite number")
    return array
