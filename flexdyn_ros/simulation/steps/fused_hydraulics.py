"""Hydraulic cylinders inside the compiled steps of a robot, and valve openings that move them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from flexdyn_ros.errors import StateError, UnknownNameError, UnsupportedError
from flexdyn_ros.multibody.elements.cylinder.hydraulics import Cylinders, HydraulicState, unpacked
from flexdyn_ros.multibody.elements.cylinder.kernels import entries, supplies
from flexdyn_ros.multibody.elements.cylinder.kernels import forces as kernels
from flexdyn_ros.multibody.elements.cylinder.kernels import memory as cylinder
from flexdyn_ros.multibody.elements.cylinder.memories import CylinderMemory, OilAccount
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.simulation.steps.stepper import METHODS, Stepper

#: how commands of cylinders are meant: all alike, or one by one
Mode = str | tuple[str, ...]


#: methods that move cylinders whose valves are commanded
_STEPPED = ("auto", "adaptive_staggered", *METHODS)


@dataclass(frozen=True, eq=False)
class ValveOpenings:
    """Control of `simulate` that opens the valves of cylinders instead of asking for forces.

    Parameters
    ----------
    openings : (n,) array, or callable (t, q, v) -> (n,)
        Valve openings of the n cylinders in the order of the description, clamped to -1..1; positive lets
        the rod out. A callable is called at every dt and its answer held.
    """

    openings: np.ndarray | Callable[[float, np.ndarray, np.ndarray], object]


def command_mode(robot: Robot, method: str, control: object) -> str:
    """How cylinders take what `control` gives: "force", "valve"; "direct" without cylinders.

    Cylinders act by "auto", "adaptive_staggered" and "staggered", those of trees by "rosenbrock" (which
    "auto" then is, with dt); by the other fixed steps if control opens valves, by `ValveOpenings` or a
    mapping that names CYLINDER/valve. Without control the valves are closed.

    Raises
    ------
    UnsupportedError
        For valve openings where no cylinders act.
    """
    opens_valves = isinstance(control, ValveOpenings) or names_valves(control)
    if robot.hydraulics is None:
        if opens_valves:
            raise UnsupportedError(f"robot '{robot.name}' has no hydraulics whose valves could open")
        return "direct"
    if opens_valves and method not in _STEPPED:
        raise UnsupportedError(
            f"method {method} does not carry cylinders; expected auto, staggered or other fixed steps"
        )
    if opens_valves:
        return "valve"
    own = robot.motion is not None and robot.motion.memory is not None and robot.motion.memory.method
    if method in ("auto", "adaptive_staggered", "staggered", own):
        return "valve" if control is None else "force"
    return "direct"


#: how mappings name the valve of a cylinder: NAME/valve
VALVE_OF = "/valve"


def names_valves(control: object) -> bool:
    """Whether a control is a mapping that names valves."""
    return isinstance(control, Mapping) and any(str(name).endswith(VALVE_OF) for name in control)


#: columns of what the force control remembers from tick to tick
_OF_LAW = [cylinder.INTEGRAL, cylinder.LAST_RATE, cylinder.RATE_SLOPE]
_MEANT = {"valve": cylinder.VALVE, "force": cylinder.FORCE_COMMAND}
_MODES = {"direct": cylinder.DIRECT, "valve": cylinder.BY_VALVE, "force": cylinder.BY_FORCE}


class FusedHydraulics:
    """The cylinders that drive the robot of a stepper.

    While they are in use the stepper's `tau` is their command, valve openings or forces on the rods, and
    its `effort` what they exert. Pressures and robot move in turn (docs/theory/hydraulics.md,
    "Integration"), so that steps of 1 ms are stable: in the time-symmetric order with the method "staggered",
    which "auto" then is; in the cheaper order, pressures first, with the others.

    Parameters
    ----------
    stepper : Stepper
        Of a robot with hydraulics; should neither clip efforts nor have stops, which the cylinders have.
    mode : {"force", "valve", "direct"}, or a tuple of the first two, one a cylinder
        How `tau` is meant; "direct": forces on the rods, the cylinders out of use.

    Raises
    ------
    UnsupportedError
        If the robot has no hydraulics.
    """

    def __init__(self, stepper: Stepper, mode: Mode = "force") -> None:
        hydraulics = stepper.robot.hydraulics
        if hydraulics is None:
            raise UnsupportedError(f"robot '{stepper.robot.name}' has no hydraulics; a <cylinder> may have")
        memory = stepper._motion.memory
        assert isinstance(memory, CylinderMemory)
        self.hydraulics, self._stepper, self._kept = hydraulics, stepper, memory
        self._memory, self._places = stepper._workspace.actuators, memory.places
        # what `Robot.element_states` names is there from the start
        self.cylinders = Cylinders(hydraulics, None, memory.rows(self._memory))
        self.mode = mode
        self._missed = 0
        self._report()
        self._law = self.cylinders.rows[:, _OF_LAW].copy()

    def account(self) -> OilAccount:
        """Energies of the oil since the simulation began; see `OilAccount`."""
        return self._kept.account(self._memory, self._stepper.q.copy())

    def _report(self) -> None:
        """Let the cylinders tell the forces of the oil that they hold."""
        rows, stepper = self.cylinders.rows, self._stepper
        lengths, rates = stepper.robot.functions.effort_motion(stepper.q, stepper.v)
        places, parameters = self._places, self._kept.parameters(self._memory)
        entries.exert(parameters.reshape(-1), rows.reshape(-1), lengths[places], rates[places])

    @property
    def places(self) -> np.ndarray:
        """Of the cylinders (n,) among the efforts."""
        return self._places

    @property
    def mode(self) -> Mode:
        """Meaning of the stepper's tau."""
        if self._memory[cylinder.MODE] == cylinder.BY_EACH:
            forces = self._kept.meanings(self._memory) == cylinder.FORCE_COMMAND
            return tuple("force" if is_force else "valve" for is_force in forces)
        return next(name for name, value in _MODES.items() if value == self._memory[cylinder.MODE])

    @mode.setter
    def mode(self, mode: Mode) -> None:
        if isinstance(mode, str):
            UnknownNameError.check("mode", mode, tuple(_MODES))
            self._memory[cylinder.MODE] = _MODES[mode]
        else:
            if len(mode) != self._places.size:
                raise StateError(f"mode is {mode}, expected one for each of {self._places.size} cylinders")
            for one in mode:
                UnknownNameError.check("mode of a cylinder", one, ("force", "valve"))
            self._kept.meanings(self._memory)[:] = [_MEANT[one] for one in mode]
            self._memory[cylinder.MODE] = cylinder.BY_EACH
        self._stepper.use_actuators(mode != "direct")
        self._memory[cylinder.IS_STAGGERED] = self._kept.scheme(self._stepper.method)

    def sharpen(self, rtol: float) -> float:
        """Compute pressures to rtol of the highest supply pressure, which is returned [Pa]."""
        rows = self._kept.parameters(self._memory)
        supply = float(rows[:, cylinder.SUPPLY].max())
        rows[:, cylinder.RTOL], rows[:, cylinder.ATOL] = 0.0, rtol * supply
        lines = self._kept.supply_parameters(self._memory)
        lines[:, supplies.RTOL], lines[:, supplies.ATOL] = 0.0, rtol * supply
        return supply

    def decide(self, t: float, forces: np.ndarray, period: float, mode: Mode = "force") -> None:
        """Let the force control of the cylinders set the openings that lead to forces (n,) [N], once for a
        period [s]: the law is that of a digital controller, the steps may be shorter. Where mode says
        "valve", the openings are given."""
        length, rate = (x[self._places] for x in self._stepper.actuator_motion(t))
        rows = self.cylinders.rows
        # its own memory is that of the last period: ticks by openings clear and overwrite it
        rows[:, _OF_LAW] = self._law
        openings = np.empty(len(rows))
        # of shared supplies the pressure that the line has now
        parameters = self._kept.parameters(self._memory).copy()
        shared, lines = parameters[:, cylinder.SUPPLY_INDEX].astype(int), self._kept.supplies(self._memory)
        hang = shared >= 0
        parameters[hang, cylinder.SUPPLY] = lines[shared[hang], supplies.PRESSURE]
        self._missed = kernels.decide(
            parameters.ctypes.data, len(rows), rows.reshape(-1), length, rate, forces, openings, period
        )
        self._law = rows[:, _OF_LAW].copy()
        if not isinstance(mode, str):
            openings = np.where([one == "force" for one in mode], openings, forces)
        self.command(openings, "valve")

    def note_missed(self) -> None:
        """Flag the cylinders whose force was out of reach, or whose valve was saturated, when `decide` was
        called last."""
        for i, row in enumerate(self.cylinders.rows):
            for bit, flag in ((1, cylinder.FORCE_UNREACHABLE), (2, cylinder.VALVE_SATURATED)):
                if self._missed >> 2 * i & bit:
                    row[cylinder.FLAGS] = float(int(row[cylinder.FLAGS]) | flag)

    def scale(self, pressure: float) -> np.ndarray:
        """What an error of the memory of the cylinders may be: of pressures as given [Pa]; the rest follows
        them and does not count."""
        allowed = np.full(self._memory.size, np.inf)
        rows = self._kept.rows(allowed)
        rows[:, [cylinder.PRESSURE_1, cylinder.PRESSURE_2]] = pressure
        self._kept.supplies(allowed)[:, supplies.PRESSURE] = pressure
        return allowed

    def fill(self, tau: object = None) -> None:
        """Close the valves and put pressures in balance with forces tau (n,) [N].

        Default: those that hold the robot at rest where it is.
        """
        q = self._stepper.q.copy()
        forces = self._kept.holding(q) if tau is None else tau
        self.set_state(self.hydraulics.initial(forces, self._kept.lengths(q)))

    def set_state(self, state: HydraulicState) -> None:
        """Go on with other cylinders (fields (n,)), faults forgotten."""
        self.cylinders.set_state(state)
        self._memory[cylinder.FAULTS] = 0.0

    def state(self) -> HydraulicState:
        """The cylinders now, their pressures at the lengths that they have."""
        rows = self.cylinders.rows.copy()
        if self._memory[cylinder.IS_STAGGERED] != 0.0:
            lengths = self._kept.lengths(self._stepper.q.copy())
            kernels.settle(self.hydraulics._address, len(rows), rows.reshape(-1), lengths)
        return unpacked(rows)

    @property
    def lines(self) -> np.ndarray:
        """Rows (supplies, k) of the states of shared supplies, live; columns as SUPPLY_STATE of
        kernels/supplies.py."""
        return self._kept.supplies(self._memory)

    @property
    def faults(self) -> int:
        """Cylinders whose state would not have been finite, since they were filled."""
        return int(self._memory[cylinder.FAULTS])

    def command(self, values: object, mode: Mode | None = None) -> None:
        """The command of the cylinders from now on (n,), and how it is meant."""
        array, n = np.asarray(values, dtype=np.float64), self._places.size
        if array.shape != (n,) or not np.isfinite(array).all():
            raise StateError(f"command is {array}, expected {n} finite numbers")
        if mode is not None:
            self.mode = mode
        self._stepper.tau[self._places] = array
