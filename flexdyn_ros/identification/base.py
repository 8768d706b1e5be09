"""Base parameters: the combinations of dynamic parameters that motion and efforts can tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from flexdyn_ros.errors import DimensionError, StateError
from flexdyn_ros.identification.linear.models import chosen_parameters, linear_model
from flexdyn_ros.robot.parameters import Parameter
from flexdyn_ros.robot.verbs import Robot

#: samples for each parameter, states that are evaluated at once
SAMPLES, BLOCK = 4, 256
#: pivots below this share of the largest may lie behind the gap; factors of combinations below it are zero
NEGLIGIBLE = 1e-7
#: by what share the last column has to be longer than the first one to come before it
TIE = 1e-9
#: a combination for tables is no longer than this
SHORT = 34


@dataclass(frozen=True, eq=False)
class BaseParameters:
    """Base parameters b = matrix p of nb numbers, of np parameters p.

    Attributes
    ----------
    parameters : tuple of Parameter
        The p, in their order.
    matrix : (nb, np) array
        One row a base parameter: 1 for the parameter that leads it, the others are grouped with it.
    leading : (nb,) array of int
        Index in p of the leading parameter of each row.
    condition : float
        Condition number of the regressor of the base parameters, columns scaled to unit length.
    """

    parameters: tuple[Parameter, ...]
    matrix: np.ndarray
    leading: np.ndarray
    condition: float

    def __repr__(self) -> str:
        return f"<BaseParameters: {self.rank} of {len(self.parameters)} parameters>"

    @property
    def rank(self) -> int:
        """Number of base parameters nb."""
        return len(self.matrix)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The combinations as texts, such as `arm/izz + 0.25 hand/mass`."""
        return combinations_of(self.matrix, self.leading, [p.name for p in self.parameters])

    @cached_property
    def short_names(self) -> tuple[str, ...]:
        """The combinations for tables: of long ones the leading parameter and how many more there are."""
        counts = np.count_nonzero(self.matrix, axis=1).tolist()
        return tuple(
            name if len(name) <= SHORT else f"{self.parameters[lead].name} + {count - 1} more"
            for name, lead, count in zip(self.names, self.leading.tolist(), counts, strict=True)
        )

    @property
    def units(self) -> tuple[str, ...]:
        """Unit of each base parameter, that of the parameter that leads it."""
        return tuple(self.parameters[i].unit for i in self.leading)

    @cached_property
    def single(self) -> tuple[str, ...]:
        """Names of the parameters that are base parameters by themselves."""
        alone = (np.abs(self.matrix) > 0.0).sum(axis=1) == 1
        return tuple(self.parameters[i].name for i in self.leading[alone])

    @cached_property
    def without_effect(self) -> tuple[str, ...]:
        """Names of the parameters that no motion tells."""
        used = np.any(self.matrix != 0.0, axis=0)
        return tuple(p.name for p, there in zip(self.parameters, used, strict=True) if not there)

    def of(self, values: Robot | np.ndarray) -> np.ndarray:
        """Base parameters (..., nb) of a robot with these parameters, or of values (..., np) in their
        order."""
        if isinstance(values, Robot):
            known = {p.name: p.value for p in linear_model(values).parameters}
            values = np.array([known.get(p.name, p.value) for p in self.parameters])
        if np.shape(values)[-1:] != (len(self.parameters),):
            raise DimensionError(
                f"values has shape {np.shape(values)}, expected (..., {len(self.parameters)})"
            )
        return np.asarray(values) @ self.matrix.T


def base_parameters(
    robot: Robot, *, parameters: str | Sequence[str] | None = None, samples: int | None = None, seed: int = 0
) -> BaseParameters:
    """Base parameters of a robot, by QR with column pivoting of the regressor at random states (Gautier 1991,
    "Numerical calculation of the base inertial parameters of robots").

    The states are those of `Robot.random`, within limits; that a robot is driven by less than all its
    coordinates makes no difference, since the motion of all of them is known. The rank is where the pivots
    fall by most.

    Robots without `parameters` (families that have none) have the ten numbers of every rigid body that moves,
    links on fixed joints lumped, and those of the description that efforts are linear in: JOINT/damping and
    so on.

    Parameters
    ----------
    robot : Robot
    parameters : names or patterns of `robot.parameters`, or of those above, optional
        Default: the ten inertial numbers of every body; of robots without `parameters` all. "*" takes
        damping, friction, rotors and springs of joints in, and the numbers of beams and modes. Payloads on
        rigid links, which no motion tells from those, only by their names.
    samples : int, optional
        Random states; default four times as many as parameters.
    seed : int
        Of the random states.

    Raises
    ------
    UnknownNameError
        For a pattern that fits no parameter.
    """
    model = linear_model(robot)
    chosen = chosen_parameters(robot, model, parameters)
    count = SAMPLES * len(chosen) if samples is None else int(samples)
    if count < 1:
        raise StateError(f"samples is {samples}, expected at least 1")
    rng = np.random.default_rng(seed)
    names = [p.name for p in model.parameters]
    columns = [names.index(p.name) for p in chosen]
    R = np.zeros((0, len(chosen)))
    for first in range(0, count, BLOCK):
        size = min(BLOCK, count - first)
        Y = model.regressor(*model.states(rng, size)).Y[..., columns]
        R = np.asarray(np.linalg.qr(np.vstack([R, Y.reshape(-1, len(chosen))]), mode="r"))
    return reduced(R, chosen)


def reduced(W: np.ndarray, parameters: Sequence[Parameter]) -> BaseParameters:
    """Base parameters of the columns of a regressor W (m, np), or of its triangular factor."""
    from scipy.linalg import qr, solve_triangular

    scale = np.linalg.norm(W, axis=0)
    used = np.flatnonzero(scale > NEGLIGIBLE**2 * scale.max(initial=0.0))
    if not used.size:
        raise StateError("the motion tells none of the parameters: nothing acts on them")
    # of equal columns the first one leads, not the one that rounding favours
    scale[used] *= 1.0 + TIE * np.linspace(0.0, 1.0, used.size)
    R, order = qr(W[:, used] / scale[used], mode="r", pivoting=True)
    rank = _rank(np.abs(np.diag(R)))
    lead, rest = used[order[:rank]], used[order[rank:]]
    grouped = solve_triangular(R[:rank, :rank], R[:rank, rank:])
    grouped *= scale[rest] / scale[lead][:, None]
    matrix = np.zeros((rank, len(parameters)))
    matrix[np.arange(rank), lead] = 1.0
    matrix[:, rest] = np.where(np.abs(grouped) > NEGLIGIBLE, grouped, 0.0)
    rows = np.argsort(lead)
    condition = float(np.linalg.cond(R[:rank, :rank]))
    return BaseParameters(tuple(parameters), matrix[rows], lead[rows], condition)


def _rank(pivots: np.ndarray) -> int:
    """How many pivots lie before the gap: the largest fall to what is negligible."""
    small = np.flatnonzero(pivots < NEGLIGIBLE * pivots[0])
    if not small.size:
        return int(pivots.size)
    floor = np.finfo(float).eps * pivots[0]
    falls = np.maximum(pivots[small - 1], floor) / np.maximum(pivots[small], floor)
    return int(small[np.argmax(falls)])


def combinations_of(matrix: np.ndarray, leading: np.ndarray, names: Sequence[str]) -> tuple[str, ...]:
    """Texts of the rows of a matrix (nb, np), the leading parameter first."""
    texts = []
    for row, lead in zip(matrix, leading.tolist(), strict=True):
        others = [i for i in np.flatnonzero(row).tolist() if i != lead]
        texts.append(names[lead] + "".join(_term(row[i], names[i]) for i in others))
    return tuple(texts)


def _term(factor: float, name: str) -> str:
    sign, size = "-" if factor < 0.0 else "+", f"{abs(factor):.6g}"
    return f" {sign} {name}" if size == "1" else f" {sign} {size} {name}"
