"""Commands to the simulated joints: taken whole or refused, merged by joint, aged, and made safe when they
are stale."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import inf, isnan
from typing import Any

import numpy as np

from flexdyn_ros.errors import shortened
from flexdyn_ros.simulation.live.joint_path import (
    JointLimits,
    JointPath,
    TrajectoryError,
    UnknownJointError,
    distant_start,
    read_path,
)
from flexdyn_ros.simulation.live.message_fields import checked_numbers, is_stale, seconds_of, twice

#: longest time for which a position target moves on with its velocity [s]
LONGEST_EXTRAPOLATION = 0.2

#: fields of a JointState that a command may fill
_FIELDS = ("position", "velocity", "effort")


class CommandError(ValueError):
    """A command is malformed; the message names field, value given, value expected. Nothing of it is
    taken.
    """


@dataclass(frozen=True)
class Command:
    """The command of every coordinate (nv,). Frozen: a new command is a new record, swapped in at once.

    A coordinate has an effort, a position, a velocity, several of them or none. sim_time and wall_time are
    those at which it came [s], inf where it does not age; meant_for: the simulated time of its stamp, or
    when it came, inf where a position does not move on. compensate: gravity is balanced where it is
    servoed without an effort.
    """

    effort: np.ndarray
    position: np.ndarray
    velocity: np.ndarray
    has_effort: np.ndarray
    has_position: np.ndarray
    has_velocity: np.ndarray
    compensate: np.ndarray
    sim_time: np.ndarray
    wall_time: np.ndarray
    meant_for: np.ndarray
    path: JointPath | None = None

    @classmethod
    def none(cls, nv: int) -> Command:
        """No command: no effort, no servo."""
        no = np.zeros(nv, dtype=bool)
        ageless = np.full(nv, inf)
        return cls(np.zeros(nv), np.zeros(nv), np.zeros(nv), no, no, no, no, ageless, ageless, ageless)

    def with_rows(self, rows: np.ndarray, **values: Any) -> Command:
        """The same with values at some coordinates replaced; a path that moves one of them ends."""
        touches_path = self.path is not None and bool(np.isin(self.path.rows, rows).any())
        base = self.without_path() if touches_path else self
        new = {name: getattr(base, name).copy() for name in values}
        for name, value in values.items():
            new[name][rows] = value
        return replace(base, **new)

    def without_path(self) -> Command:
        """The same with the joints of the path free."""
        if self.path is None:
            return self
        off = {"has_effort": False, "has_position": False, "has_velocity": False}
        return replace(self, path=None).with_rows(self.path.rows, **off)


def _has_effort_alone(arrays: dict[str, np.ndarray]) -> bool:
    """Whether a joint has an effort, and neither a position nor a velocity."""
    nothing = np.full_like(next(iter(arrays.values())), np.nan)
    position, velocity, effort = (~np.isnan(arrays.get(field, nothing)) for field in _FIELDS)
    return bool((effort & ~position & ~velocity).any())


def _says_nothing(arrays: Iterable[Sequence[float]], size: int) -> bool:
    """Whether arrays of this size, those of length 0 left out, hold nothing but NaN."""
    given = [array for array in arrays if len(array)]
    return bool(given) and all(len(array) == size and all(map(isnan, array)) for array in given)


@dataclass(frozen=True)
class Setpoint:
    """What the stepper is to do: effort, servo targets, and which servos are on; arrays (nv,)."""

    effort: np.ndarray
    position: np.ndarray
    velocity: np.ndarray
    servo_position: np.ndarray
    servo_velocity: np.ndarray
    gravity: np.ndarray


class CommandBuffer:
    """All that was commanded. Callbacks write, the loop reads; both may run in threads of their own.

    Parameters
    ----------
    robot : Robot
    joints : sequence of str
        Order of arrays without names; empty: all actuated coordinates.
    interface : {"effort", "position", "velocity"}
        Meaning of arrays without names; with "position" and "velocity" an effort alone is refused.
    timeout : float
        Age at which a command is stale [s], in simulated and in wall time; 0: never.
    on_stale : {"hold", "zero", "damp"}
    at_first : {"zero", "hold", "damp"}
        What joints do that have not been commanded since the start or `clear`.
    extrapolate : bool
        Position targets move on with their velocity targets, from the time of the command's stamp.
    nan : {"refuse", "skip"}
        A NaN among numbers refuses the command, or leaves this joint without a value of this field, as
        ros2_control means it; infinities are always refused.
    """

    def __init__(
        self,
        robot: Any,
        joints: Sequence[str] = (),
        interface: str = "effort",
        timeout: float = 0.1,
        on_stale: str = "hold",
        gravity_compensation: bool = True,
        at_first: str = "zero",
        extrapolate: bool = False,
        nan: str = "refuse",
    ) -> None:
        self.robot = robot
        self._rows = {c.name: c.v_index for c in robot.coordinates}
        #: positions and speeds that trajectories keep
        self.limits = JointLimits.of(robot.coordinates)
        #: names of the coordinates that take commands, in the robot's order
        self.actuated = tuple(c.name for c in robot.coordinates if c.actuated and not c.prescribed)
        self.joints = tuple(joints) or self.actuated
        self._array_rows = np.array(
            [self._row(name, "parameter joints") for name in self.joints], dtype=np.int64
        )
        #: index of each coordinate's position (nv,)
        self.positions = np.array([c.q_index for c in robot.coordinates], dtype=np.int64)
        self._interface, self._timeout, self._on_stale = interface, timeout, on_stale
        self._compensated, self._at_first = gravity_compensation, at_first
        self._extrapolates, self._skips_nan = extrapolate, nan == "skip"
        self._lock = threading.Lock()
        self._command = self._none = Command.none(robot.nv)
        self._setpoint: Setpoint | None = None
        self._setpoint_command: Command | None = None
        self.accepted = self.rejected = 0
        #: how often each coordinate (nv,) got another command, or none
        self.turns = np.zeros(robot.nv, dtype=np.int64)
        self.last_rejection = ""
        #: what is strange about the last command that was taken
        self.remark = ""
        self.stale: tuple[str, ...] = ()
        self._to_begin = at_first != "zero"

    # ---- what callbacks call ----

    def take_joint_state(self, message: Any, sim_time: float, wall_time: float) -> bool:
        """A JointState: by name; an array of length 0 is not commanded. False if there is nothing but NaN:
        so writes ros2_control without an active controller. Raises CommandError, and nothing is taken."""
        names = list(message.name)
        if not names:
            raise self.refuse("name is empty, expected the names of the joints that are commanded")
        if len(set(names)) < len(names):
            raise self.refuse(f"name has {shortened(twice(names))!r} more than once")
        rows = np.array([self._checked_row(name) for name in names], dtype=np.int64)
        fields = {field: getattr(message, field) for field in _FIELDS}
        if _says_nothing(fields.values(), len(names)):
            return False
        arrays = {
            field: self._checked_array(field, values, len(names), "name")
            for field, values in fields.items()
            if len(values)
        }
        if not arrays:
            raise self.refuse("position, velocity and effort are all empty, expected at least one")
        if self._interface != "effort" and _has_effort_alone(arrays):
            raise self.refuse(f"effort alone, but command_interface is {self._interface}")
        stamp = seconds_of(message.header.stamp)
        self._take(rows, arrays, sim_time, wall_time, stamp if 0.0 < stamp <= sim_time else sim_time)
        return True

    def take_array(self, message: Any, sim_time: float, wall_time: float) -> bool:
        """A Float64MultiArray in the order of parameter `joints`, meaning what command_interface says. False
        if there is nothing but NaN. Raises CommandError, and nothing is taken."""
        if _says_nothing([message.data], len(self.joints)):
            return False
        if not len(message.data):
            raise self.refuse(f"data is empty, expected {len(self.joints)} numbers")
        values = self._checked_array("data", message.data, len(self.joints), "parameter joints")
        self._take(self._array_rows, {self._interface: values}, sim_time, wall_time)
        return True

    def take_efforts(self, values: np.ndarray) -> None:
        """Efforts (nu,) that are held until the next command, whatever their age (lockstep)."""
        values = checked_numbers("efforts", values, len(values), error=self.refuse)
        idle = [
            c.name for c in self.robot.coordinates if c.name not in self.actuated and values[c.v_index] != 0.0
        ]
        if idle:
            raise self.refuse(
                f"effort of {idle[0]} is {values[self._rows[idle[0]]]}, expected 0: it is not actuated"
            )
        rows = np.array([self._rows[name] for name in sorted(self.actuated)], dtype=np.int64)
        self._take(rows, {"effort": values[rows]}, inf, inf)

    def take_trajectory(self, message: Any, sim_time: float, q: np.ndarray, v: np.ndarray) -> JointPath:
        """A JointTrajectory from the present state on; one without points stops the joints where they are.

        Raises
        ------
        CommandError
            If it is malformed, or leaves the limits of a joint; its cause is the TrajectoryError.
        """
        for name in message.joint_names:
            try:
                self._refuse_turns(np.array([self._checked_row(name)]))
            except CommandError as error:
                raise error from UnknownJointError(str(error))
        try:
            path = read_path(message, self._rows, sim_time, q[self.positions], v)
            self.limits.check(path, distant_start(message, sim_time))
        except TrajectoryError as error:
            raise self.refuse(str(error)) from error
        with self._lock:
            before = self._command.path
            kept = self._command.without_path()
            if before is not None:
                # joints that moved, and are not named any more, hold where they are
                rest = before.rows[~np.isin(before.rows, path.rows)]
                kept = kept.with_rows(rest, **self._safety("hold", rest, q))
                self.turns[rest] += 1
            self._command = replace(
                kept.with_rows(path.rows, **self._safety("hold", path.rows, q)), path=path
            )
        self._note_acceptance(path.rows)
        self.remark = distant_start(message, sim_time)
        return path

    def yield_to_others(self) -> None:
        """A command has been taken elsewhere that comes before those kept here."""
        self.accepted += 1
        self.turns += 1
        self.remark = ""

    def clear(self) -> None:
        """No commands any more."""
        with self._lock:
            self._command = self._none
        self.turns += 1
        self.remark = ""
        self._to_begin = self._at_first != "zero"
        self.stale = ()

    def _take(
        self,
        rows: np.ndarray,
        arrays: dict[str, np.ndarray],
        sim_time: float,
        wall_time: float,
        meant_for: float = inf,
    ) -> None:
        # NaN: this joint has no value of this field; a joint without any keeps its previous command
        nothing = np.full(len(rows), np.nan)
        table = {field: arrays.get(field, nothing) for field in _FIELDS}
        given = {field: ~np.isnan(array) for field, array in table.items()}
        named = np.any(list(given.values()), axis=0)
        self._refuse_turns(rows[given["position"]])
        rows = rows[named]
        values: dict[str, object] = {"sim_time": sim_time, "wall_time": wall_time, "compensate": True}
        values["meant_for"] = meant_for
        for field, array in table.items():
            values[field] = np.where(given[field], array, 0.0)[named]
            values[f"has_{field}"] = given[field][named]
        with self._lock:
            self._command = self._command.with_rows(rows, **values)
        self._note_acceptance(rows)

    def _note_acceptance(self, rows: np.ndarray) -> None:
        self.accepted += 1
        self.turns[rows] += 1
        self.remark = ""
        if self.stale:
            fresh = {self.robot.v_names[row] for row in rows}
            self.stale = tuple(name for name in self.stale if name not in fresh)

    def _checked_row(self, name: str) -> int:
        if name not in self._rows:
            raise self.refuse(
                f"unknown joint {shortened(name)!r}, expected one of {', '.join(sorted(self.actuated))}"
            )
        if name not in self.actuated:
            raise self.refuse(
                f"joint {name!r} is not actuated, expected one of {', '.join(sorted(self.actuated))}"
            )
        return self._rows[name]

    def _refuse_turns(self, rows: np.ndarray) -> None:
        """Refuse positions of coordinates that have none."""
        for row in rows[self.positions[rows] < 0]:
            name = self.robot.v_names[row]
            raise self.refuse(
                f"joint {name!r} turns a ball joint and has no position, expected velocity or effort"
            )

    def _row(self, name: str, where: str) -> int:
        if name not in self.actuated:
            raise CommandError(f"{where} names {name!r}, expected one of {', '.join(sorted(self.actuated))}")
        return self._rows[name]

    def _checked_array(self, field: str, values: Any, size: int, of: str) -> np.ndarray:
        return checked_numbers(field, values, size, of, self.refuse, nan=self._skips_nan)

    def refuse(self, error: object) -> CommandError:
        """Count a command that is not taken, here or elsewhere; the error to be raised."""
        self.rejected += 1
        self.last_rejection = str(error)
        return CommandError(str(error))

    # ---- what the loop calls ----

    def setpoint(self, sim_time: float, wall_time: float, q: np.ndarray) -> Setpoint:
        """What to do now: the commands as they are, those that are stale made safe."""
        if self._to_begin:
            self._begin(q)
        command = self._command
        if self._timeout > 0.0:
            ages = sim_time - command.sim_time, wall_time - command.wall_time
            stale = is_stale(self._timeout, *ages)
            if stale.any():
                command = self._make_safe(command, np.flatnonzero(stale), q)
        if command.path is not None:
            return self._on_path(command, sim_time)
        if command is not self._setpoint_command:
            self._setpoint, self._setpoint_command = self._setpoint_of(command), command
        if self._extrapolates:
            return self._moved_on(self._setpoint, command, sim_time)  # type: ignore[arg-type]
        return self._setpoint  # type: ignore[return-value]

    def _begin(self, q: np.ndarray) -> None:
        """Joints without a command hold where they are, or are damped."""
        self._to_begin = False
        with self._lock:
            command = self._command
            commanded = command.has_effort | command.has_position | command.has_velocity
            rows = np.array([self._rows[name] for name in sorted(self.actuated)], dtype=np.int64)
            rows = rows[~commanded[rows]]
            kept, base = command.path, replace(command, path=None)
            safe = base.with_rows(rows, **self._safety(self._at_first, rows, q))
            self._command = replace(safe, path=kept)

    def _safety(self, what: str, rows: np.ndarray, q: np.ndarray) -> dict[str, object]:
        """Values of a command that holds coordinates where they are, frees or damps them; it does not age."""
        hold = what == "hold"
        here = np.where(self.positions[rows] >= 0, q[self.positions[rows]], 0.0)
        return {
            "position": here, "velocity": 0.0, "effort": 0.0, "has_position": hold,
            "has_velocity": hold or what == "damp", "has_effort": False, "compensate": hold,
            "sim_time": inf, "wall_time": inf, "meant_for": inf,
        }  # fmt: skip

    def _make_safe(self, command: Command, rows: np.ndarray, q: np.ndarray) -> Command:
        """The command with stale coordinates holding, free, or damped; unless a newer one came meanwhile."""
        safe = command.with_rows(rows, **self._safety(self._on_stale, rows, q))
        with self._lock:
            if self._command is not command:
                return command
            self._command = safe
        names = {self.robot.v_names[row] for row in rows}
        self.stale = tuple(name for name in self.robot.v_names if name in names or name in self.stale)
        return safe

    def _setpoint_of(self, command: Command) -> Setpoint:
        servoed = command.has_position | command.has_velocity
        return Setpoint(
            effort=np.where(command.has_effort, command.effort, 0.0),
            position=command.position,
            velocity=np.where(command.has_velocity, command.velocity, 0.0),
            servo_position=command.has_position,
            servo_velocity=servoed,
            gravity=servoed & ~command.has_effort & command.compensate & self._compensated,
        )

    def _moved_on(self, setpoint: Setpoint, command: Command, sim_time: float) -> Setpoint:
        """The setpoint with position targets moved on to this time."""
        moving = command.has_position & (setpoint.velocity != 0.0) & (command.meant_for < inf)
        if not moving.any():
            return setpoint
        age = np.clip(sim_time - command.meant_for[moving], 0.0, LONGEST_EXTRAPOLATION)
        position = setpoint.position.copy()
        position[moving] += setpoint.velocity[moving] * age
        return replace(setpoint, position=position)

    def _on_path(self, command: Command, sim_time: float) -> Setpoint:
        """The setpoint at this time of a trajectory; its end is held from then on."""
        path = command.path
        assert path is not None
        setpoint = self._setpoint_of(command)
        position, velocity, effort = path.at(sim_time)
        new = replace(
            setpoint,
            position=setpoint.position.copy(),
            velocity=setpoint.velocity.copy(),
            effort=setpoint.effort.copy(),
        )
        new.position[path.rows], new.velocity[path.rows] = position, velocity
        if effort is not None:
            new.effort[path.rows] = effort
            new.gravity[path.rows] = False
        if sim_time >= path.end:
            self._finish(command, path)
        return new

    def _finish(self, command: Command, path: JointPath) -> None:
        position, _, effort = path.at(path.end)
        values = {"position": position, "velocity": 0.0, "has_position": True, "has_velocity": True}
        if effort is not None:
            values |= {"effort": effort, "has_effort": True}
        held = replace(command.without_path().with_rows(path.rows, **values), path=None)
        with self._lock:
            if self._command is command:
                self._command = held
