"""Samples of a run with their names, energies and events, and what follows from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from flexdyn_ros.errors import StateError, UnknownNameError
from flexdyn_ros.robot.results import Deflection, Energy, Loads
from flexdyn_ros.robot.verbs import Robot
from flexdyn_ros.simulation.events import Event

if TYPE_CHECKING:
    from flexdyn_ros.multibody.elements.cylinder.hydraulics import HydraulicState

#: the column that says whether efforts were held until the next sample, 1 or 0
HELD = "efforts_held"
#: what the column of times is called, unless a coordinate is called so
_TIMES = ("time", "t", "timestamp", "stamp", "time [s]")
QUANTITIES = ("position", "velocity", "effort")


@dataclass(frozen=True, eq=False)
class Samples:
    """Samples of a run, n of them, SI and rad; attributes as of `Trajectory`."""

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    tau: np.ndarray
    energy: Energy | None
    work: np.ndarray
    dissipated: np.ndarray
    saturated: np.ndarray
    events: tuple[Event, ...]
    status: int
    message: str
    method: str
    dt: float
    wall_time: float
    robot_name: str
    q_names: tuple[str, ...]
    v_names: tuple[str, ...]
    effort_names: tuple[str, ...]
    q_units: tuple[str, ...]
    v_units: tuple[str, ...]
    effort_units: tuple[str, ...]
    hydraulics: HydraulicState | None = None
    numerical_dissipation: np.ndarray | None = None
    warnings: tuple[str, ...] = ()
    is_fixed: bool = True
    held: bool = True
    kinetic_between: float = 0.0
    rtol: float = 0.0
    states: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))
    state_names: tuple[str, ...] = ()
    state_units: tuple[str, ...] = ()
    robot: Robot | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if not self.state_names:
            object.__setattr__(self, "states", np.zeros((len(self), 0)))

    def __len__(self) -> int:
        return self.t.size

    @property
    def by_method(self) -> str:
        """The method with what sets its accuracy: "dop853, rtol 1e-6", "rk4, steps of 1 ms"."""
        if self.rtol:
            return f"{self.method}, rtol {self.rtol:g}".replace("e-0", "e-")
        return f"{self.method}, {'steps of' if self.is_fixed else 'samples every'} {1e3 * self.dt:g} ms"

    @property
    def cylinder_names(self) -> tuple[str, ...]:
        """Names of the columns (n,) of `hydraulics`: cylinders whose pressures are states, else legs."""
        end = "/pressure_bore"
        found = tuple(name.removesuffix(end) for name in self.state_names if name.endswith(end))
        return found or self.effort_names

    # ---- columns ----

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of all columns, in the order of the CSV file."""
        return tuple(self._columns())

    def _columns(self) -> dict[str, np.ndarray]:
        # a joint called time keeps its column
        table = {next(name for name in _TIMES if name not in self.q_names): self.t}
        table |= {name: self.q[:, i] for i, name in enumerate(self.q_names)}
        table |= {f"{name}.velocity": self.v[:, i] for i, name in enumerate(self.v_names)}
        table |= {f"{name}.effort": self.tau[:, i] for i, name in enumerate(self.effort_names)}
        table |= {name: self.states[:, i] for i, name in enumerate(self.state_names)}
        if self.energy is not None:
            table |= {f"energy.{part}": value for part, value in self.energy._asdict().items()}
        if self.hydraulics is not None:
            for part, values in self.hydraulics._asdict().items():
                table |= {f"{name}.{part}": values[:, i] for i, name in enumerate(self.cylinder_names)}
        table |= {"work": self.work, "dissipated": self.dissipated}
        return table | {HELD: np.full(len(self), float(self.held))}

    def __getitem__(self, key: str | tuple[str, str]) -> np.ndarray:
        name, quantity = key if isinstance(key, tuple) else (key, None)
        if quantity is None:
            table = self._columns()
            if name in table:
                return table[name]
            raise UnknownNameError("column", name, tuple(table))
        sources = {
            "position": (self.q_names, self.q),
            "velocity": (self.v_names, self.v),
            "effort": (self.effort_names, self.tau),
        }
        UnknownNameError.check("quantity", quantity, QUANTITIES)
        names, values = sources[quantity]
        UnknownNameError.check(f"coordinate with a {quantity}", name, names)
        return values[:, names.index(name)]

    # ---- what follows from the samples ----

    def frames(self, name: str) -> np.ndarray:
        """Poses (n, 4, 4) of a frame in the world [m]."""
        return self._its_robot().frames(self.q, name)

    def deflections(self, stations: Sequence[float] | None = None) -> dict[str, Deflection]:
        """Deflections of the flexible links at every sample, as of `Robot.deflections`."""
        return self._its_robot().deflections(self.q, stations)

    def loads(
        self,
        stations: Sequence[float] | None = None,
        *,
        a: np.ndarray | None = None,
        wrenches: Mapping[str, object] | None = None,
    ) -> dict[str, Loads]:
        """Section loads along the links at every sample, as of `Robot.loads`.

        a: accelerations (n, nv). Default: those of the efforts of the samples, by `forward_dynamics`; stops
        at position limits and wrenches that acted are not in the samples. wrenches: by frame, (6,) or (n, 6),
        those of the run.
        """
        robot = self._its_robot()
        if a is None:
            a = robot.forward_dynamics(self.q, self.v, self.tau, wrenches)
        return robot.loads(self.q, self.v, a, self.tau, wrenches, stations)

    def _its_robot(self) -> Robot:
        if self.robot is None:
            raise StateError(
                "this trajectory was loaded without its robot; use Trajectory.load(path, robot=...)"
            )
        return self.robot

    def balance(self) -> np.ndarray:
        """energy.total - work + dissipated less its first value (n,) [J]: zero but for the errors of the
        method.
        """
        if self.energy is None:
            raise StateError("the energy of this trajectory was not recorded")
        total = self.energy.total - self.work + self.dissipated
        return total - total[0]

    @property
    def balance_error(self) -> float:
        """Largest of `balance()`, without its sign, over the largest kinetic energy, that between samples too
        where it is known; 0 where nothing moves."""
        off = float(np.abs(self.balance()).max(initial=0.0))
        assert self.energy is not None
        moving = float(np.max(self.energy.kinetic, initial=self.kinetic_between))
        return off / moving if moving > 0.0 else 0.0
