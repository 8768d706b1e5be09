"""A robot about one of its motions as a linear system with named states, for python-control and SciPy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from flexdyn_ros.errors import DimensionError, StateError, UnknownNameError, needs
from flexdyn_ros.robot.analysis.modes import chosen_coordinates
from flexdyn_ros.robot.verbs import Robot

if TYPE_CHECKING:
    import control
    from scipy import signal


@dataclass(frozen=True, eq=False)
class LinearSystem:
    """x' = A x + B u, y = C x + D u about a motion; x, u and y are differences to it.

    Attributes
    ----------
    A, B, C, D : (n, n), (n, m), (p, n), (p, m) arrays
        Continuous time, SI and rad.
    states, inputs, outputs : tuples of n, m and p names
        States are coordinates, then their rates as `NAME.velocity`.
    """

    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    D: np.ndarray
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    def without(self, names: Sequence[str]) -> LinearSystem:
        """The system without these states, which then stand still: `without(["base/x", "base/x.velocity"])`.

        Raises
        ------
        UnknownNameError
            If a name is no state.
        """
        for name in names:
            UnknownNameError.check("state", name, self.states)
        kept = [i for i, name in enumerate(self.states) if name not in names]
        return LinearSystem(
            self.A[np.ix_(kept, kept)],
            self.B[kept],
            self.C[:, kept],
            self.D,
            tuple(self.states[i] for i in kept),
            self.inputs,
            self.outputs,
        )

    def to_control(self) -> control.StateSpace:
        """`control.StateSpace` with the names of states, inputs and outputs (extra [control]).

        python-control keeps points for names of systems: `shoulder.velocity` is `shoulder_velocity` there.
        """
        with needs("control", "control"):
            import control
        names = {
            part: [name.replace(".", "_") for name in getattr(self, part)]
            for part in ("states", "inputs", "outputs")
        }
        return control.StateSpace(self.A, self.B, self.C, self.D, remove_useless_states=False, **names)

    def to_scipy(self) -> signal.StateSpace:
        """`scipy.signal.StateSpace` of the same matrices; SciPy's systems have no names."""
        from scipy.signal import StateSpace

        return StateSpace(self.A, self.B, self.C, self.D)


def linear_system(
    robot: Robot,
    q: np.ndarray,
    v: np.ndarray | None = None,
    tau: np.ndarray | None = None,
    *,
    outputs: Sequence[str] | Mapping[str, object] | None = None,
    wrenches: Mapping[str, object] | None = None,
    lock: Sequence[str] | str = (),
) -> LinearSystem:
    """`robot.linearize` with names; the inputs are the robot's actuators.

    Parameters
    ----------
    q : (nq,) array
    v : (nv,) array, optional
        Default: rest.
    tau : (nu,) array, optional
        Efforts about which to linearize [N m, N], for example those of `robot.static_equilibrium`.
    outputs : names of states, or mapping from names to rows (2 nv,) of C; optional
        Default: all states. A row of a frame's velocity is its Jacobian (docs/how-to/bridges.md).
    wrenches : mapping, optional
    lock : coordinate names, or "joints"
        As of `robot.linearize`: locked coordinates are no states.

    Raises
    ------
    DimensionError, StateError, UnknownNameError
        For another shape, NaN or infinity, an output that is no state.

    Notes
    -----
    States are differences in the tangent space of q: a free body has three small turns in world axes.
    """
    q = np.asarray(q, dtype=np.float64)
    if q.ndim != 1:
        raise DimensionError(f"q has shape {q.shape}, expected ({robot.nq},): one motion at a time")
    v = np.zeros(robot.nv) if v is None else v
    found = robot.linearize(q, v, tau, wrenches, lock=lock)
    B = found.B @ robot.efforts(np.eye(len(robot.actuators))).T
    locked = chosen_coordinates(lock, robot.coordinates, "lock")
    free = [name for name, stands in zip(robot.v_names, locked, strict=True) if not stands]
    states = (*free, *(f"{name}.velocity" for name in free))
    names, C = _outputs(outputs, states)
    return LinearSystem(found.A, B, C, np.zeros((len(names), B.shape[1])), states, robot.actuators, names)


def _outputs(
    asked: Sequence[str] | Mapping[str, object] | None, states: tuple[str, ...]
) -> tuple[tuple[str, ...], np.ndarray]:
    """Names of outputs, and C (p, n)."""
    if isinstance(asked, Mapping):
        return tuple(asked), np.array([_row(n, row, len(states)) for n, row in asked.items()])
    names = states if asked is None else tuple(asked)
    for name in names:
        UnknownNameError.check("state", name, states)
    return names, np.eye(len(states))[[states.index(name) for name in names]]


def _row(name: str, given: object, size: int) -> np.ndarray:
    row = np.asarray(given, dtype=np.float64)
    if row.shape != (size,):
        raise DimensionError(f"output {name!r} has shape {row.shape}, expected ({size},)")
    if not np.isfinite(row).all():
        raise StateError(f"output {name!r} holds NaN or infinity")
    return row
