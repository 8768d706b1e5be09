"""The least squares of `fit_output`: residuals of simulations by unknowns, their slopes, and the search."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from math import log
from typing import NamedTuple

import numpy as np

from flexdyn_ros.errors import ConvergenceError, FlexdynError, StateError, UnknownNameError
from flexdyn_ros.identification.fitted import Samples
from flexdyn_ros.identification.output.adjustable import Adjustable
from flexdyn_ros.identification.output.experiments import Experiment
from flexdyn_ros.identification.output.modal_table import ModalTable

#: step of differences, of the scale of each number
STEP = 1e-6
#: rounds of weights, and the share by which deviations of noise then still change
ROUNDS, SETTLED = 6, 0.01
#: a deviation of noise is at least this share of what was measured: residuals below it are rounding
ROUNDING = 1e-11
#: evaluations of a fit, least relative change of the sum of squares and of the unknowns
MOST_EVALUATIONS, LEAST_FALL, LEAST_STEP = 100, 1e-9, 1e-9
#: unknowns whose predictions are kept: those of the best so far, and of tries after it
KEPT = 8
#: factors by which further starts differ from the first, at most
SPREAD = 3.0
#: residual, in deviations, of a simulation that fails
FAILED = 1e6


class Answers(NamedTuple):
    """Values (n, k) of every experiment, None where a simulation fails; residuals of every modal table."""

    outputs: list[np.ndarray | None]
    modal: list[np.ndarray]


@dataclass(frozen=True, eq=False)
class Problem:
    """Residuals of unknowns x: the numbers over their scales, then the start of every experiment."""

    adjustable: Adjustable
    experiments: tuple[Experiment, ...]
    tables: tuple[ModalTable, ...]
    priors: np.ndarray

    @property
    def count(self) -> int:
        return len(self.adjustable.names)

    def start(self) -> np.ndarray:
        own = self.adjustable.start / self.adjustable.scale
        return np.concatenate([own, *(e.start() for e in self.experiments)])

    def limits(self) -> tuple[np.ndarray, np.ndarray]:
        scale = self.adjustable.scale
        more = np.full(self.start().size - self.count, np.inf)
        return (
            np.concatenate([self.adjustable.lower / scale, -more]),
            np.concatenate([self.adjustable.upper / scale, more]),
        )

    def starts_of(self, x: np.ndarray) -> list[np.ndarray]:
        """The starts of the experiments."""
        if not self.experiments:
            return []
        return np.split(x[self.count :], np.cumsum([len(e.known) for e in self.experiments])[:-1])

    def values(self, x: np.ndarray) -> np.ndarray:
        return x[: self.count] * self.adjustable.scale

    def predict(self, x: np.ndarray) -> Answers:
        """What the robot of unknowns x answers; FlexdynError where there is none."""
        return self._kept(tuple(x.tolist()))

    @cached_property
    def _kept(self) -> Callable[[tuple[float, ...]], Answers]:
        """Answers by unknowns: slopes, deviations and the next round ask for those of a try again."""
        return lru_cache(KEPT)(lambda x: self._answers(np.array(x)))

    def _answers(self, x: np.ndarray) -> Answers:
        values = self.values(x)
        robot, sensors = self.adjustable.robot_with(values), self.adjustable.sensors_with(values)
        pairs = zip(self.experiments, self.starts_of(x), strict=True)
        outputs = [e.predict(robot, start, sensors) for e, start in pairs]
        return Answers(outputs, [table.residuals(robot) for table in self.tables])

    def rows(self, x: np.ndarray, sigma: np.ndarray) -> np.ndarray:
        """All residuals: of outputs over their deviations, of modes, of priors."""
        return self._rows(x, sigma, self.predict)

    def _rows(self, x: np.ndarray, sigma: np.ndarray, predict: Callable[[np.ndarray], Answers]) -> np.ndarray:
        try:
            outputs, modal = predict(x)
        except FlexdynError:
            return self._failed()
        found = [self._of(e, y, sigma) for e, y in zip(self.experiments, outputs, strict=True)]
        index = self.priors[:, 0].astype(int)
        held = (self.values(x)[index] - self.priors[:, 1]) / self.priors[:, 2]
        return np.concatenate([*found, *modal, held])

    def _of(self, experiment: Experiment, values: np.ndarray | None, sigma: np.ndarray) -> np.ndarray:
        there = np.isfinite(experiment.measured)
        if values is None:
            return np.full(int(there.sum()), FAILED)
        return ((values - experiment.measured) / sigma)[there]

    def _failed(self) -> np.ndarray:
        sizes = sum(int(np.isfinite(e.measured).sum()) for e in self.experiments)
        modal = sum(t.mode.size + int(np.isfinite(t.damping_ratio).sum()) for t in self.tables)
        return np.full(sizes + modal + len(self.priors), FAILED)

    def slopes(self, x: np.ndarray, sigma: np.ndarray) -> np.ndarray:
        """Jacobian of `rows` by differences; the start of an experiment acts on its own rows only."""
        J = self._newest_slopes(tuple(x.tolist()))
        deviations = np.ones(len(J))
        there = [np.broadcast_to(sigma, e.measured.shape)[np.isfinite(e.measured)] for e in self.experiments]
        if there:
            deviations[: sum(map(len, there))] = np.concatenate(there)
        return J / deviations[:, None]

    @cached_property
    def _newest_slopes(self) -> Callable[[tuple[float, ...]], np.ndarray]:
        """Those of deviations of 1: the next round, and the covariance, ask for them again."""
        return lru_cache(1)(lambda x: self._slopes(np.array(x)))

    def _slopes(self, x: np.ndarray) -> np.ndarray:
        sigma = np.ones(self.experiments[0].measured.shape[1]) if self.experiments else np.ones(0)
        r = self.rows(x, sigma)
        _, upper = self.limits()
        J = np.zeros((r.size, x.size))
        for k in range(self.count):
            step = STEP if x[k] + STEP <= upper[k] else -STEP
            moved = x.copy()
            moved[k] += step
            J[:, k] = (self._rows(moved, sigma, self._answers) - r) / step
        values = self.values(x)
        robot, sensors = self.adjustable.robot_with(values), self.adjustable.sensors_with(values)
        row, column = 0, self.count
        for experiment, first in zip(self.experiments, self.starts_of(x), strict=True):
            size = int(np.isfinite(experiment.measured).sum())
            for moved in first + STEP * np.eye(first.size):
                y = self._of(experiment, experiment.predict(robot, moved, sensors), sigma)
                J[row : row + size, column] = (y - r[row : row + size]) / STEP
                column += 1
            row += size
        return J


@dataclass(frozen=True, eq=False)
class Found:
    """Unknowns x, half the sum of squares, deviations of the channels, and whether the search was stopped."""

    x: np.ndarray
    cost: float
    sigma: np.ndarray
    stopped: bool = False


@dataclass(eq=False)
class _Search:
    """What was found so far from one start, and how long it takes."""

    problem: Problem
    title: str
    progress: Callable[[str], object]
    began: float = field(default_factory=time.perf_counter)
    costs: list[float] = field(default_factory=list)
    x: np.ndarray | None = None
    cost: float = np.inf

    def rows(self, x: np.ndarray, sigma: np.ndarray) -> np.ndarray:
        found = self.problem.rows(x, sigma)
        cost = float(0.5 * found @ found)
        if cost < self.cost:
            self.x, self.cost = x.copy(), cost
        return found

    def slopes(self, x: np.ndarray, sigma: np.ndarray) -> np.ndarray:
        self.costs.append(self.cost)
        self.progress(
            f"{self.title}, iteration {len(self.costs)}: weighted residual {self.cost:.6g}{self._left()}"
        )
        return self.problem.slopes(x, sigma)

    def _left(self) -> str:
        """How long an iteration takes, and how many are to come if residuals go on to fall as they do."""
        count = len(self.costs) - 1
        if not count:
            return ""
        each = (time.perf_counter() - self.began) / count
        falls = [(a - b) / a for a, b in zip(self.costs[-3:-1], self.costs[-2:], strict=False) if a > 0.0]
        more = ""
        if len(falls) == 2 and LEAST_FALL < falls[1] < falls[0]:
            steps = log(LEAST_FALL / falls[1]) / log(falls[1] / falls[0])
            more = f", about {_duration(max(1.0, min(steps, MOST_EVALUATIONS - count)) * each)} left"
        return f", {each:.2g} s each{more}"


def _duration(seconds: float) -> str:
    """Seconds, or minutes from 99 s on."""
    return f"{seconds:.2g} s" if seconds < 99.0 else f"{seconds / 60.0:.0f} min"


def best_of_starts(
    problem: Problem, noise: Mapping[str, float], starts: int, seed: int, progress: Callable[[str], object]
) -> Found:
    """The best fit of several starts; of those so far where the user stops it."""
    if starts < 1:
        raise StateError(f"starts is {starts}, expected at least 1")
    rng = np.random.default_rng(seed)
    lower, upper = problem.limits()
    found: list[Found] = []
    for n in range(starts):
        x = problem.start()
        if n:
            factors = SPREAD ** rng.uniform(-1.0, 1.0, problem.count)
            x[: problem.count] = np.clip(
                x[: problem.count] * factors, lower[: problem.count], upper[: problem.count]
            )
        title = f"start {n + 1} of {starts}"
        one = fitted(problem, x, noise, title, progress)
        progress(f"{title}: weighted residual {one.cost:.6g}")
        found.append(one)
        if one.stopped:
            break
    # with deviations of their own, fits compare by the likelihood of the data
    best = min(found, key=lambda one: _unlikelihood(problem, one))
    if not np.isfinite(best.cost) or best.cost >= FAILED:
        raise ConvergenceError("no start leads to a simulation that ends; give other values as `start`")
    return replace(best, stopped=found[-1].stopped)


def _unlikelihood(problem: Problem, found: Found) -> float:
    sizes = np.zeros(found.sigma.size)
    for experiment in problem.experiments:
        sizes += np.isfinite(experiment.measured).sum(axis=0)
    return found.cost + float(sizes @ np.log(found.sigma))


def fitted(
    problem: Problem,
    x: np.ndarray,
    noise: Mapping[str, float],
    title: str = "",
    progress: Callable[[str], object] = lambda text: None,
) -> Found:
    """Least squares, again with the deviations that the residuals show, until these stay."""
    from scipy.optimize import least_squares

    lower, upper = problem.limits()
    x = np.clip(x, lower, upper)
    sigma, told, floor = _first_deviations(problem, noise)
    for n in range(ROUNDS if x.size else 0):
        search, before = _Search(problem, f"{title}, round {n + 1}", progress), x
        try:
            x = least_squares(
                search.rows, x, jac=search.slopes, bounds=(lower, upper), args=(sigma,), x_scale="jac",
                ftol=LEAST_FALL, xtol=LEAST_STEP, gtol=None, max_nfev=MOST_EVALUATIONS,
            ).x  # fmt: skip
        except KeyboardInterrupt:
            x = x if search.x is None else search.x
            return Found(x, float(0.5 * np.sum(problem.rows(x, sigma) ** 2)), sigma, stopped=True)
        seen = np.where(told, sigma, np.maximum(_deviations(problem, x, sigma), floor))
        # without noise deviations are rounding, which differs in every round, while the numbers stay
        stays = n > 0 and np.all(np.abs(x - before) <= LEAST_STEP * np.maximum(np.abs(x), 1.0))
        settled = np.all(np.abs(seen - sigma) <= SETTLED * seen)
        sigma = seen
        if settled or stays:
            break
    return Found(x, float(0.5 * np.sum(problem.rows(x, sigma) ** 2)), sigma)


def _first_deviations(
    problem: Problem, noise: Mapping[str, float]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Deviations of the channels to begin with, which of them were told, and the least that they may be."""
    if not problem.experiments:
        return np.ones(0), np.zeros(0, dtype=bool), np.zeros(0)
    names = [c.name for c in problem.experiments[0].channels]
    for name, value in noise.items():
        UnknownNameError.check("column that is compared", name, names)
        if not value > 0.0:
            raise StateError(f"the noise of {name} is {value}, expected more than 0")
    measured = np.vstack([e.measured for e in problem.experiments])
    size = np.nanmax(np.abs(measured), axis=0)
    spread = np.nanstd(measured, axis=0)
    # what is measured as zero throughout has no size of its own
    size = np.where(size > 0.0, size, 1.0)
    sigma = np.where(spread > 0.0, spread, size)
    told = np.array([name in noise for name in names])
    sigma[told] = [noise[name] for name in names if name in noise]
    return sigma, told, ROUNDING * size


def _deviations(problem: Problem, x: np.ndarray, sigma: np.ndarray) -> np.ndarray:
    """Deviations of the residuals of the channels (k,)."""
    if not problem.experiments:
        return sigma
    predictions = problem.predict(x).outputs
    if any(values is None for values in predictions):
        return sigma
    off = np.vstack([e.measured - y for e, y in zip(problem.experiments, predictions, strict=True)])
    count = int(np.isfinite(off).sum())
    free = max(1.0 - x.size / count, 1e-3)
    return np.sqrt(np.nanmean(off**2, axis=0) / free)


def samples_of(problem: Problem, x: np.ndarray) -> Samples:
    if not problem.experiments:
        nothing = np.zeros((0, 0))
        return Samples((), (), (), (), np.zeros(0), nothing, nothing)
    first = problem.experiments[0]
    predictions = [np.full(e.measured.shape, np.nan) if y is None else y
                   for e, y in zip(problem.experiments, problem.predict(x).outputs, strict=True)]  # fmt: skip
    ends = np.cumsum([0, *(len(e.measured) for e in problem.experiments)]).tolist()
    return Samples(
        names=tuple(e.measurement.name for e in problem.experiments),
        parts=tuple(slice(a, b) for a, b in zip(ends[:-1], ends[1:], strict=True)),
        channels=tuple(c.name for c in first.channels),
        units=tuple(c.unit for c in first.channels),
        t=np.concatenate([e.measurement.t for e in problem.experiments]),
        measured=np.vstack([e.measured for e in problem.experiments]),
        predicted=np.vstack(predictions),
    )
