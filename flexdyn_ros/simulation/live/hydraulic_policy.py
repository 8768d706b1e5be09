"""What cylinders on oil take as inputs, and do with inputs that are fresh, old, missing or wrong.

docs/hydraulic_actuators.md, "What it does when". Inputs are taken whole, by name, or refused with the reason.
Times are seconds of one clock that the caller keeps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf

import numpy as np

from flexdyn_ros.multibody.elements.cylinder.hydraulics import Cylinders, Hydraulics
from flexdyn_ros.multibody.elements.cylinder.kernels import memory as cylinder
from flexdyn_ros.simulation.live.hydraulic_inputs import (
    HydraulicRanges,
    HydraulicSetpoint,
    InputError,
    read_command,
    read_leg_state,
)
from flexdyn_ros.simulation.live.message_fields import is_stale

#: seconds in which valves close when a command is stale
CLOSING_TIME = 0.05
#: longest time without leg states that lockstep goes through [s]
MOST_MISSING = 1.0


@dataclass(frozen=True)
class Limits:
    """Rate of the ticks [Hz], ages [s], and what is done when a command is too old.

    lockstep: time goes by the leg states; cylinders without any command yet keep their valves closed, so that
    time goes on. By a clock of its own, nothing is sent before the first command.
    """

    rate: float = 1000.0
    command_timeout: float = 0.1
    state_timeout: float = 0.02
    on_stale_command: str = "close"
    lower_opening: float = -0.05
    p_initial: float = 0.0
    lockstep: bool = False


@dataclass
class Counters:
    """What happened since the start, as the diagnostics have it."""

    ticks: int = 0
    commands: int = 0
    leg_states: int = 0
    rejected: int = 0
    last_rejection: str = ""
    stale_commands: int = 0
    stale_leg_states: int = 0
    repeated_leg_states: int = 0
    missing_leg_states: int = 0
    ticks_saturated: int = 0
    ticks_cavitating: int = 0
    most_evaluations_per_tick: int = 0


@dataclass
class _Age:
    """When an input came last, and whether the newest message was refused."""

    time: float = -inf
    refused: bool = False
    stale: bool = False


@dataclass
class Actuation:
    """The cylinders of a robot, with their last command and last leg state.

    Parameters
    ----------
    hydraulics : Hydraulics
    ranges : HydraulicRanges
    limits : Limits
    """

    hydraulics: Hydraulics
    ranges: HydraulicRanges
    limits: Limits
    enabled: bool = True
    fault: str = ""
    counters: Counters = field(default_factory=Counters)
    #: called when cylinders have been filled anew
    begin: Callable[[], None] = lambda: None

    def __post_init__(self) -> None:
        self.start_over()

    def start_over(self) -> None:
        """Forget everything, as when the clock went back."""
        n = len(self.hydraulics.names)
        self.cylinders: Cylinders | None = None
        self._setpoint: HydraulicSetpoint | None = None
        self._lengths: np.ndarray | None = None
        self._rates = np.zeros(n)
        self._forces: np.ndarray | None = None
        self._command_age, self._state_age = _Age(), _Age()
        self._closing_since: float | None = None
        self._closing_from = np.zeros(n)
        self._last_tick: float | None = None
        # lengths and rates of the last tick in lockstep
        self._ticked: tuple[np.ndarray, np.ndarray] | None = None
        self.fault = ""

    # ---- inputs ----

    def take_leg_state(self, message: object, now: float) -> bool:
        """Keep a JointState of the cylinders; False if it is refused: the one before stays, as old as it
        was."""
        try:
            self._lengths, self._rates, self._forces = read_leg_state(message, self.ranges)
        except InputError as error:
            return self._refuse(self._state_age, error)
        self._state_age = _Age(now)
        self.counters.leg_states += 1
        return True

    def take_command(self, message: object, now: float) -> bool:
        """Keep a HydraulicCommand; False if it is refused.

        now is inf where time has not begun (lockstep before the first leg state): it ages from then on.
        """
        try:
            self._setpoint = read_command(message, self.ranges)
        except InputError as error:
            return self._refuse(self._command_age, error)
        self._command_age = _Age(now)
        self.counters.commands += 1
        return True

    def _refuse(self, age: _Age, error: InputError) -> bool:
        age.refused = True
        self.counters.rejected += 1
        self.counters.last_rejection = str(error)
        return False

    @property
    def seen(self) -> tuple[np.ndarray, np.ndarray]:
        """Lengths and rates that the last leg state gave."""
        assert self._lengths is not None
        return self._lengths, self._rates

    def conditions(self) -> tuple[str, ...]:
        """What keeps the cylinders from following commands, if anything."""
        if self.fault:
            return (f"fault: {self.fault}; valves closed until reset",)
        if self.is_waiting:
            missing = ["leg state"] if self._lengths is None else []
            if self._setpoint is None and not self.limits.lockstep:
                missing.append("command")
            return (f"waiting for {' and '.join(missing)}",)
        found = []
        if self._state_age.stale:
            found.append("no leg state: valves closed, no force published")
        if self._setpoint is None:
            found.append("no command yet: valves closed")
        elif self._command_age.stale:
            found.append(f"no command: {self.limits.on_stale_command}")
        if not self.enabled:
            found.append("disabled: valves closed")
        return tuple(found)

    @property
    def is_waiting(self) -> bool:
        """Nothing valid came yet of what is needed: a leg state, and a command where time goes on without."""
        return self._lengths is None or (self._setpoint is None and not self.limits.lockstep)

    # ---- services ----

    def reset(self) -> None:
        """Pressures in equilibrium with the present force, valves closed, faults and inputs forgotten."""
        forces, lengths = self._forces, self._lengths
        if self.cylinders is not None and np.isfinite(self.cylinders["force"]).all():
            forces = self.cylinders["force"].copy()
        self.start_over()
        if lengths is not None:
            self._fill(forces, lengths)

    def _fill(self, forces: np.ndarray | None, lengths: np.ndarray) -> None:
        """Cylinders at rest."""
        state = self.hydraulics.initial(np.zeros(len(lengths)) if forces is None else forces, lengths)
        p = self.limits.p_initial
        if p > 0.0:
            state = state._replace(
                pressure_bore=np.full_like(lengths, p), pressure_rod=np.full_like(lengths, p)
            )
        self.cylinders = Cylinders(self.hydraulics, state)
        self.begin()

    # ---- time ----

    def tick(self, now: float) -> bool:
        """Advance by the time since the last tick; True if forces may be published.

        Whoever owns the clock calls this once per period. A clock that goes back resets, one that leaps
        makes the inputs stale.
        """
        last, self._last_tick = self._last_tick, now
        if last is not None and now < last:
            self.start_over()
            self._last_tick = now
            return False
        if last is None or self.is_waiting:
            return False
        period = 1.0 / self.limits.rate
        return self._advance(
            now, min(max(now - last, 0.2 * period), 5.0 * period), now - self._state_age.time
        )

    def tick_in_lockstep(self, now: float) -> bool:
        """Advance by one period from the leg state that has just come; True if forces may be published.

        now is the time of that leg state. Periods whose leg states are missing since the one before, as in
        the playback of a recording, are gone through first, with the cubic motions between the two that have
        their lengths and rates; after more than `MOST_MISSING` the cylinders are filled anew.
        """
        if self.is_waiting:
            return False
        self._command_age.time = min(self._command_age.time, now)
        period = 1.0 / self.limits.rate
        last, self._last_tick = self._last_tick, now
        missing = 0 if last is None else max(round((now - last) / period) - 1, 0)
        self.counters.missing_leg_states += missing
        after, before = self.seen, self._ticked
        self._ticked = after
        if missing * period > MOST_MISSING:
            self._fill(None if self.cylinders is None else self.cylinders["force"].copy(), after[0])
        elif missing and before is not None:
            for k in range(missing, 0, -1):
                share = 1.0 - k / (missing + 1)
                self._lengths, self._rates = _between(before, after, share, (missing + 1) * period)
                self._advance(now - k * period, period, 0.0)
            self._lengths, self._rates = after
        return self._advance(now, period, 0.0)

    def _advance(self, now: float, dt: float, age: float) -> bool:
        assert self._lengths is not None
        if self.cylinders is None:
            self._fill(self._forces, self._lengths)
        assert self.cylinders is not None
        self.counters.ticks += 1
        if self.fault:
            return False
        blind = age > self.limits.state_timeout
        self.counters.stale_leg_states += blind and not self._state_age.stale
        self._state_age.stale = blind
        lengths, rates = self._seen(age, blind, 1.0 / self.limits.rate)
        force, values = self._forces_at(now, blind)
        if self.cylinders.tick(lengths, rates, values, dt, force=force):
            self.fault = "a state would not have been finite"
            self.cylinders["flags"][:] = cylinder.FAULT
            return False
        self._note_flags()
        return not blind and bool(np.isfinite(self.cylinders["force"]).all())

    def _seen(self, age: float, blind: bool, period: float) -> tuple[np.ndarray, np.ndarray]:
        """Lengths and rates now: as they came, carried on while young, at rest when too old."""
        assert self._lengths is not None
        if age <= period:
            return self._lengths, self._rates
        reach = min(age, self.limits.state_timeout)
        lengths = np.clip(self._lengths + reach * self._rates, self.ranges.shortest, self.ranges.longest)
        return lengths, np.zeros_like(self._rates) if blind else self._rates

    def _forces_at(self, now: float, blind: bool) -> tuple[bool, np.ndarray]:
        """What the valves do now: the command while it is fresh, else close, or lower."""
        assert self.cylinders is not None
        too_old = is_stale(self.limits.command_timeout, now - self._command_age.time)
        stale = self._setpoint is None or too_old
        self.counters.stale_commands += self._setpoint is not None and stale and not self._command_age.stale
        self._command_age.stale = stale
        if blind:
            self._closing_since = None
            return False, np.zeros_like(self._rates)
        if self._setpoint is not None and not stale and self.enabled:
            self._closing_since = None
            return self._setpoint.force, self._setpoint.values
        if self._closing_since is None:
            self._closing_since, self._closing_from = now, self.cylinders["valve_command"].copy()
        share = min(max((now - self._closing_since) / CLOSING_TIME, 0.0), 1.0)
        has_setpoint = self._setpoint is not None
        lowers = has_setpoint and self.enabled and self.limits.on_stale_command == "lower"
        end = self.limits.lower_opening if lowers else 0.0
        return False, self._closing_from + share * (end - self._closing_from)

    def _note_flags(self) -> None:
        """Add the flags of the inputs to those of the cylinders, and count."""
        assert self.cylinders is not None
        flags = self.cylinders["flags"]
        more = (
            cylinder.STALE_COMMAND * self._command_age.stale
            + cylinder.STALE_LEG_STATE * self._state_age.stale
        )
        more += cylinder.INPUT_REJECTED * (self._command_age.refused or self._state_age.refused)
        flags += more
        seen = int(np.bitwise_or.reduce(flags.astype(np.int64)))
        counters, attempts = self.counters, int(self.cylinders["attempts"].max())
        counters.ticks_saturated += seen & 1
        counters.ticks_cavitating += bool(seen & 8)
        counters.most_evaluations_per_tick = max(counters.most_evaluations_per_tick, attempts)


def _between(
    before: tuple[np.ndarray, np.ndarray], after: tuple[np.ndarray, np.ndarray], share: float, time: float
) -> tuple[np.ndarray, np.ndarray]:
    """Lengths and rates after a share of the time between two pairs, by Hermite's cubic: its rates are the
    slopes of its lengths. Oil is stiff: where rates of lines integrate to another stroke than the lengths,
    the missing millimetre is tens of bars."""
    (x0, v0), (x1, v1), s = before, after, share
    way, rise = x1 - x0, time * v0
    bend, turn = 3.0 * way - time * (2.0 * v0 + v1), time * (v0 + v1) - 2.0 * way
    lengths = x0 + s * (rise + s * (bend + s * turn))
    return lengths, (rise + s * (2.0 * bend + 3.0 * s * turn)) / time


_FLAGS = {
    cylinder.CAVITATION: "cavitates",
    cylinder.STROKE_LOW | cylinder.STROKE_HIGH: "stands at the end of its stroke",
    cylinder.FAULT: "would have pressures that are no numbers, and keeps the last good ones",
}


def oil_remarks(cylinders: Cylinders, settings: tuple[dict[str, float], dict[str, float]]) -> list[str]:
    """Sentences about pumps that stand still, leaks that are not described, chambers that cavitate, and
    pistons at their stops; settings as of `Stepper.oil_settings`."""
    speeds, leaks = settings
    found = [f"the pump of '{name}' stands still" for name, speed in speeds.items() if speed == 0.0]
    column, flags = cylinders.hydraulics.model.column, cylinders["flags"].astype(int)
    described = np.maximum(column("leak_bore"), column("leak_rod"))
    for (name, leak), own, bits in zip(leaks.items(), described, flags, strict=True):
        if leak > own:
            found.append(f"'{name}' leaks {leak:g} m3/(s Pa) to the tank")
        found += [f"'{name}' {text}" for flag, text in _FLAGS.items() if bits & flag]
    return found


def pace_word(lockstep: bool) -> str:
    """What header.frame_id of leg states and leg forces says, which have no frame: how the sender's time goes
    on."""
    return "lockstep" if lockstep else "free_running"


def disagreement(word: str, other: str, lockstep: bool) -> str:
    """What is wrong if the other side's word is not ours; empty if it is, or if it says nothing."""
    if word not in ("lockstep", "free_running") or word == pace_word(lockstep):
        return ""
    theirs, ours = (str(x).lower() for x in (not lockstep, lockstep))
    return (
        f"parameter lockstep is {ours} here and {theirs} at the {other}, expected the same: "
        "forces have no effect until both agree"
    )
