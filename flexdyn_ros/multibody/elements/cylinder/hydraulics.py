"""Servo-hydraulic cylinders: `Hydraulics.initial` and `Hydraulics.step`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from flexdyn_ros.description import RobotDescription
from flexdyn_ros.errors import DimensionError, StateError, UnknownNameError
from flexdyn_ros.multibody.elements.cylinder.kernels import entries
from flexdyn_ros.multibody.elements.cylinder.kernels import forces as kernels
from flexdyn_ros.multibody.elements.cylinder.kernels.cylinder import FOLLOW
from flexdyn_ros.multibody.elements.cylinder.kernels.memory import (
    FORCE_COMMAND,
    PARAMETERS,
    STATE,
    STATE_COUNT,
    VALVE,
)
from flexdyn_ros.multibody.elements.cylinder.kernels.supplies import IDEAL, PUMP, SPEED, SUPPLY_STATE_COUNT
from flexdyn_ros.multibody.elements.cylinder.kernels.ticks import work_size
from flexdyn_ros.multibody.elements.cylinder.parameters import HydraulicModel, build_hydraulics
from flexdyn_ros.robot.arguments import numbers

#: parameters of a cylinder: what leaks from its chambers to the tank
LEAKS = [PARAMETERS.index(name) for name in ("leak_bore", "leak_rod")]
_MODES = {"valve": VALVE, "force": FORCE_COMMAND}


class HydraulicState(NamedTuple):
    """Cylinders at one time, arrays (..., n), SI, pressures absolute; forces along the legs.

    force = force_hydraulic - force_friction + force_stop is that of the cylinder on the rod, positive pushes
    it out; force_friction is the resistance of the seals, positive against extension. flow_bore, flow_rod
    are those of the ports into the chambers. flags: bits as in flexdyn_interfaces/msg/HydraulicState. The
    fields after flags belong to the next step: rate of the spool, command behind the slew limit, LuGre's
    bristles, integral of the force control, the last rate and its filtered slope, sub-steps tried; then the
    oil in both chambers, its volume at atmospheric pressure [m3], with the stroke at which it has the
    pressures: steps go on with it, and new pressures mean other oil; and energies from the supply, of the
    piston, and lost [J], added up for cylinders on a <supply> of their own description only.
    """

    force: np.ndarray
    force_hydraulic: np.ndarray
    force_friction: np.ndarray
    force_stop: np.ndarray
    pressure_bore: np.ndarray
    pressure_rod: np.ndarray
    flow_bore: np.ndarray
    flow_rod: np.ndarray
    spool: np.ndarray
    valve_command: np.ndarray
    stroke: np.ndarray
    flags: np.ndarray
    spool_rate: np.ndarray
    slewed_command: np.ndarray
    bristle: np.ndarray
    integral: np.ndarray
    last_rate: np.ndarray
    rate_slope: np.ndarray
    attempts: np.ndarray
    oil_bore: np.ndarray
    oil_rod: np.ndarray
    oil_stroke: np.ndarray
    supply_work: np.ndarray
    piston_work: np.ndarray
    oil_loss: np.ndarray


class Hydraulics:
    """The servo-hydraulic cylinders of a robot (docs/theory/hydraulics.md). Immutable.

    Parameters
    ----------
    model : HydraulicModel

    Attributes
    ----------
    names : tuple of str
        The n cylinders, in the order of all arrays.
    """

    def __init__(self, model: HydraulicModel) -> None:
        self.model = model
        self.names = model.names
        self._parameters = np.ascontiguousarray(model.parameters)
        self._address = int(self._parameters.ctypes.data)

    @classmethod
    def of(cls, description: RobotDescription) -> Hydraulics | None:
        """The cylinders of a description; None if it has none."""
        model = build_hydraulics(description)
        return None if model is None else cls(model)

    def __reduce__(self) -> tuple[object, ...]:
        return Hydraulics, (self.model,)

    def with_tolerances(self, rtol: float, atol: float) -> Hydraulics:
        """The same with other tolerances of the pressures [-, Pa]; default 1e-4, 2000 Pa."""
        return self.with_parameters(rtol=rtol, atol=atol)

    def with_parameters(self, **values: object) -> Hydraulics:
        """The same with parameters replaced, each one number or (n,).

        Names and units as in kernels/memory.py. Nothing but the names is checked: descriptions are
        checked, experiments are yours.
        """
        parameters = self._parameters.copy()
        for name, value in values.items():
            if name not in PARAMETERS:
                raise UnknownNameError("hydraulic parameter", name, PARAMETERS)
            parameters[:, PARAMETERS.index(name)] = value
        return Hydraulics(self.model._replace(parameters=parameters))

    def initial(self, tau: np.ndarray, lengths: object = None) -> HydraulicState:
        """Cylinders at rest, valves closed, whose forces are tau (..., n) [N].

        The mean of the two pressures lies midway between supply and tank if the force allows it, as in a
        symmetric valve at rest. Forces out of reach: as near as possible, with FORCE_UNREACHABLE.

        Parameters
        ----------
        lengths : (..., n) array, optional
            Of the legs [m]; default: those of the home pose.
        """
        n = len(self.names)
        lengths = self.model.home if lengths is None else lengths
        tau, lengths = self._rows(tau=tau, lengths=lengths)
        states = np.empty((*tau.shape, STATE_COUNT))
        kernels.rest(self._address, n, states.reshape(-1), tau.reshape(-1), lengths.reshape(-1))
        return unpacked(states)

    def step(
        self,
        state: HydraulicState,
        lengths: object,
        rates: Any,
        command: object,
        dt: float,
        *,
        mode: str = "valve",
        accelerations: Any = None,
    ) -> HydraulicState:
        """The cylinders dt seconds later, with the command held.

        Over the step a leg has the length lengths + rates t + accelerations t^2 / 2; the forces returned are
        those at its end. The step is divided as the tolerances ask for, 1e-3 s is usual.

        Parameters
        ----------
        lengths, rates, accelerations : (..., n) arrays
            Of the legs at the beginning [m, m/s, m/s2]; accelerations default to 0. A leg with the
            acceleration 0 is taken to move on by the force that the step returns, in whatever way: its oil
            follows the rate at once, and the length within a second (docs/theory/hydraulics.md,
            "Integration").
        command : (..., n) array
            Valve openings, clamped to -1..1, or forces on the rods [N], as `mode` says.
        mode : {"valve", "force"}

        Raises
        ------
        DimensionError, StateError, UnknownNameError
            For arrays of another length, NaN or infinity, dt not positive, another mode. Nothing is changed:
            states are never overwritten.
        """
        if mode not in _MODES:
            raise UnknownNameError("mode", mode, tuple(_MODES))
        if not (np.isfinite(dt) and dt > 0.0):
            raise StateError(f"dt is {dt}, expected a positive number of seconds")
        n = len(self.names)
        accelerations = 0.0 if accelerations is None else accelerations
        if np.ndim(accelerations) == 0:
            accelerations = np.full(n, float(accelerations))
        *rows, shape = self._rows(
            lengths=lengths, rates=rates, accelerations=accelerations, command=command, state=state.force
        )
        states = np.stack(state, axis=-1, dtype=np.float64)
        if states.shape[:-1] != shape.shape:
            states = np.broadcast_to(states, (*shape.shape, STATE_COUNT)).copy()
        kernels.accept(self._address, n, states.reshape(-1))
        kernels.tick(
            self._address, n, states.reshape(-1), np.empty(STATE_COUNT),
            *(row.reshape(-1) for row in rows), _MODES[mode], float(dt),
        )  # fmt: skip
        return unpacked(states)

    def settled(self, state: HydraulicState, lengths: object) -> HydraulicState:
        """The same oil at other lengths (..., n) [m]: its pressures there; forces and flows stay as they are.

        A step foresees the lengths at its end; where a robot ends up elsewhere, by the error of its own step,
        these are the pressures that it finds.
        """
        lengths, shape = self._rows(lengths=lengths, state=state.force)
        states = np.ascontiguousarray(
            np.broadcast_to(np.stack(state, axis=-1, dtype=np.float64), (*shape.shape, STATE_COUNT))
        ).copy()
        n = len(self.names)
        kernels.accept(self._address, n, states.reshape(-1))
        kernels.settle(self._address, n, states.reshape(-1), lengths.reshape(-1))
        return unpacked(states)

    def stiffness(self, lengths: object, pressures: Any = None) -> np.ndarray:
        """Oil springs (..., n) of closed valves [N/m].

        K = beta_1 A1^2/V1 + beta_2 A2^2/V2, volumes at the lengths (..., n) [m], moduli at the two absolute
        pressures (..., n) [Pa]; default: both half way between supply and tank.
        """
        (lengths,) = self._rows(lengths=lengths)
        column = self.model.column
        y = np.clip(lengths - column("shortest"), 0.0, column("stroke"))
        V1 = column("dead_volume_bore") + column("bore_area") * y
        V2 = column("dead_volume_rod") + column("rod_area") * (column("stroke") - y)
        middle = 0.5 * (column("supply") + column("tank"))
        bore, rod = map(self.bulk_modulus, (middle, middle) if pressures is None else pressures)
        return bore * column("bore_area") ** 2 / V1 + rod * column("rod_area") ** 2 / V2

    def bulk_modulus(self, pressure: object) -> np.ndarray:
        """Of the oil with its air (..., n) at absolute pressures (..., n) or one [Pa]."""
        column = self.model.column
        p = np.asarray(pressure, dtype=np.float64)
        oil = (1.0 - column("air")) * np.exp(-(p - column("atmosphere")) / column("bulk_modulus"))
        gas = column("air") * (column("atmosphere") / p) ** (1.0 / column("polytropic"))
        return (oil + gas) / (oil / column("bulk_modulus") + gas / (column("polytropic") * p))

    def _rows(self, **arguments: object) -> list[np.ndarray]:
        """Arguments as float64 arrays of one shape (..., n), finite and writable."""
        n = len(self.names)
        arrays = []
        for name, value in arguments.items():
            array = numbers(value, name)
            if array.ndim == 0 or array.shape[-1] != n:
                raise DimensionError(f"{name} has shape {array.shape}, expected (..., {n})")
            if not np.isfinite(array).all():
                at = np.argwhere(~np.isfinite(array))[0]
                raise StateError(
                    f"{name}[{', '.join(map(str, at))}] is {array[tuple(at)]}, expected a finite number"
                )
            arrays.append(array)
        try:
            return [np.array(array, order="C") for array in np.broadcast_arrays(*arrays)]
        except ValueError:
            shapes = ", ".join(f"{name} {a.shape}" for name, a in zip(arguments, arrays, strict=True))
            raise DimensionError(f"batches do not fit: {shapes}") from None


def oil_settings(
    model: HydraulicModel, parameters: np.ndarray, pumps: np.ndarray
) -> tuple[dict[str, float], dict[str, float]]:
    """Speeds of pumps [rad/s] by names of supplies, the larger leakage to the tank [m3/(s Pa)] by names of
    cylinders, of rows of parameters (n, k) and (s, m)."""
    rows = zip(model.supplies, pumps, strict=True)
    speeds = {name: float(row[SPEED]) for name, row in rows if row[PUMP] != IDEAL}
    return speeds, dict(zip(model.names, parameters[:, LEAKS].max(axis=1).tolist(), strict=True))


def unpacked(states: np.ndarray) -> HydraulicState:
    """Fields (..., n) of states (..., n, STATE_COUNT); columns that older recordings lack are zero."""
    columns = np.ascontiguousarray(np.moveaxis(states, -1, 0))
    missing = STATE_COUNT - len(columns)
    if missing > 0:
        columns = np.concatenate((columns, np.zeros((missing, *columns.shape[1:]))))
    state = HydraulicState(*columns)
    return state._replace(flags=state.flags.astype(np.uint32))


class Cylinders:
    """The same cylinders with one state that is overwritten: for loops in real time. One per thread.

    Cylinders on supplies that they share move with these, which begin with their valves shut.

    Parameters
    ----------
    hydraulics : Hydraulics
    state : HydraulicState or None
        (n,) fields; None: those in `rows`.
    rows : (n, k) array, optional
        Memory to use, C-contiguous.

    Attributes
    ----------
    rows : (n, k) array
        The state, columns as STATE of kernels/memory.py.
    lines : (s, k) array
        That of the shared supplies, columns as SUPPLY_STATE of kernels/supplies.py.
    """

    def __init__(
        self, hydraulics: Hydraulics, state: HydraulicState | None, rows: np.ndarray | None = None
    ) -> None:
        self.hydraulics = hydraulics
        n = len(hydraulics.names)
        self.rows = np.zeros((n, STATE_COUNT)) if rows is None else rows
        self._flat = self.rows.reshape(-1)
        self._before = np.empty(STATE_COUNT)
        self._zero = np.zeros(n)
        self._parameters = hydraulics._parameters.copy()
        self._pumps = np.array(hydraulics.model.supply_parameters)
        self.lines = np.zeros((len(hydraulics.model.supplies), SUPPLY_STATE_COUNT))
        if self.lines.size:
            none = np.zeros(0)
            self._work = np.zeros(work_size(n))
            entries.rest(none, self._pumps.reshape(-1), none, self.lines.reshape(-1), none, none)
        if state is not None:
            self.set_state(state)

    def __getitem__(self, name: str) -> np.ndarray:
        """One field (n,), live."""
        return self.rows[:, STATE.index(name)]

    def set_state(self, state: HydraulicState) -> None:
        """Go on from another state."""
        self.rows[:] = np.stack(state, axis=-1, dtype=np.float64)
        kernels.accept(self.hydraulics._address, len(self._zero), self._flat)

    def state(self) -> HydraulicState:
        """A copy of the present state."""
        return unpacked(self.rows)

    def oil_settings(self) -> tuple[dict[str, float], dict[str, float]]:
        """See `Stepper.oil_settings`."""
        return oil_settings(self.hydraulics.model, self._parameters, self._pumps)

    def set_supply(self, name: str, *, speed: float) -> None:
        """Let the pump of a supply turn at another speed [rad/s]."""
        self._pumps[self.hydraulics.model.supplies.index(name), SPEED] = speed

    def set_leakage(self, name: str, leakage: float) -> None:
        """Let oil leak from both chambers of a cylinder to the tank [m3/(s Pa)]."""
        self._parameters[self.hydraulics.names.index(name), LEAKS] = leakage

    def tick(
        self,
        lengths: np.ndarray,
        rates: np.ndarray,
        command: np.ndarray,
        dt: float,
        *,
        force: bool = False,
        accelerations: np.ndarray | None = None,
    ) -> int:
        """`Hydraulics.step` in place, without its checks: contiguous float64 arrays (n,), finite.

        command means forces [N] if `force`, else valve openings. Returns the number of cylinders, or of
        supplies with theirs, that kept their state because the new one would not be finite.
        """
        motion = (lengths, rates, self._zero if accelerations is None else accelerations)
        meaning = FORCE_COMMAND if force else VALVE
        if not self.lines.size:
            return kernels.tick(
                self._parameters.ctypes.data, len(self._zero), self._flat, self._before, *motion, command,
                meaning, dt,
            )  # fmt: skip
        return entries.tick(
            self._parameters.reshape(-1), self._pumps.reshape(-1), self._flat, self.lines.reshape(-1),
            self._work, *motion, command, np.full(len(self._zero), float(meaning)), dt,
            min(FOLLOW * dt, 1.0),
        )  # fmt: skip
