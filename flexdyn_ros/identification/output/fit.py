"""`fit_output`: numbers that what a robot does depends on in other ways than its efforts, by simulation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from flexdyn_ros.errors import ConvergenceError, FlexdynError, StateError, UnknownNameError
from flexdyn_ros.identification.faults import refuse
from flexdyn_ros.identification.fitted import Samples, table_of
from flexdyn_ros.identification.identified import Identified
from flexdyn_ros.identification.linear.doubts import exchanged_columns
from flexdyn_ros.identification.linear.fit import with_warnings
from flexdyn_ros.identification.measurement import measurements_of
from flexdyn_ros.identification.output.adjustable import Adjustable
from flexdyn_ros.identification.output.channels import channels_of
from flexdyn_ros.identification.output.experiments import Experiment, fixed_method
from flexdyn_ros.identification.output.modal_table import ModalTable
from flexdyn_ros.robot.verbs import Robot

#: step of differences, of the scale of each number
STEP = 1e-6
#: rounds of weights, and the share by which deviations of noise then still change
ROUNDS, SETTLED = 6, 0.01
#: a deviation of noise is at least this share of what was measured: residuals below it are rounding
ROUNDING = 1e-11
#: evaluations of a fit, least relative change of the sum of squares and of the unknowns
MOST_EVALUATIONS, LEAST_FALL, LEAST_STEP = 100, 1e-9, 1e-12
#: factors by which further starts differ from the first, at most
SPREAD = 3.0
#: residual, in deviations, of a simulation that fails
FAILED = 1e6


def fit_output(
    robot: Robot,
    data: object,
    parameters: str | Sequence[str],
    start: Mapping[str, float] | None = None,
    *,
    outputs: Sequence[str] | None = None,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    priors: Mapping[str, tuple[float, float]] | None = None,
    modes: ModalTable | Sequence[ModalTable] = (),
    noise: Mapping[str, float] | None = None,
    starts: int = 1,
    dt: float | None = None,
    method: str = "auto",
    initial: str = "rest",
    inputs: str = "efforts",
    seed: int = 0,
    progress: Callable[[str], object] | None = None,
) -> Identified:
    """Stiffness, damping, masses and gains such that a simulation with the measured efforts does what was
    measured: a damped Gauss-Newton method within bounds (Levenberg-Marquardt, in the trust region form of
    Branch, Coleman & Li 1999) on the outputs, weighted by their noise.

    The start of every measurement, as far as it was measured, is fitted too.

    Parameters
    ----------
    robot : Robot
        Where to start.
    data : Measurement, Trajectory, path, or several of them; may be empty with modes
        Efforts, on lines between samples where `held` is False and else held until the next sample, or
        LEG.valve_command of hydraulic cylinders, always held, and outputs:
        coordinates, NAME.velocity, FRAME.x, FRAME.angular_velocity.x and .linear_acceleration.x (less
        gravity) of an IMU, LINK@STATION.strain, .displacement_y, .rotation_z, .curvature_z,
        ACTUATOR.pressure of soft sections, LEG.pressure_bore, .pressure_rod, .stroke, .force.
    parameters : names or patterns
        Of `robot.parameters`, or of those that `base_parameters` knows; LINK/EIy, EIz, GJ, EA,
        mass_per_length, damping_ratio of flexible links; payload.FRAME.mass; paths of the description
        (`links.boom.damping.ratio`, `platform.hydraulics.leakage.internal`). Of sensors, motors and valves:
        COLUMN.factor and .offset; .cutoff [Hz], the natural frequency of a low pass of second order, which
        needs a `start`, and its damping .ratio.
    start : mapping from name to number, optional
        Default: what the robot has.
    outputs : columns, optional
        Which are compared; default all that can be predicted.
    bounds : mapping from name to (least, most), optional
    priors : mapping from name to (value, standard deviation), optional
    modes : ModalTable, or several, optional
        Frequencies and damping ratios that were measured.
    noise : mapping from column to standard deviation, optional
        Default: found from the residuals, together for all measurements.
    starts : int
        Fits from so many starts, the others drawn at random; the best counts.
    dt, method
        Fixed steps of the simulation [s], as of `simulate`; default the step between samples, and "auto".
    initial : {"rest", "neutral", "free"}
        What was not measured of the start: at rest in static equilibrium, neutral, or whatever fits best, for
        runs that begin in motion.
    inputs : {"efforts", "positions"}
        What moves the robot: measured efforts; or the measured positions of its joints, which a stiff servo
        makes it follow, where efforts are not known (joints that were not measured are held).
    seed : int
        Of the starts.
    progress : callable (text), optional

    Returns
    -------
    Identified

    Raises
    ------
    StateError, DimensionError, UnknownNameError, UnsupportedError
        StateError: data that cannot be used, starts outside their bounds.
    ConvergenceError
        If no start leads anywhere.

    Warns
    -----
    FlexdynWarning
        Of doubtful data, columns that fit far better exchanged or with the opposite sign, numbers that the
        data cannot tell apart, residuals that are not white.
    """
    tables = (modes,) if isinstance(modes, ModalTable) else tuple(modes)
    measurements = () if _is_empty(data) and tables else measurements_of(robot, data)
    doubtful = (*refuse(robot, measurements), *exchanged_columns(robot, measurements))
    columns = dict.fromkeys(name for m in measurements for name in m.columns)
    adjustable = Adjustable.of(robot, parameters, columns, start, bounds)
    experiments: list[Experiment] = []
    if measurements:
        followed = {c.name for c in robot.coordinates if c.kind == "joint"} if inputs == "positions" else ()
        seen = [n for n in columns if n.removesuffix(".velocity") not in followed]
        channels = channels_of(robot, seen, outputs)
        # a stiff servo takes an implicit method
        method = "rosenbrock" if inputs == "positions" and method == "auto" else method
        method = fixed_method(robot, measurements[0], dt or measurements[0].step, method)
        experiments = [Experiment.of(robot, m, channels, dt, method, initial, inputs) for m in measurements]
    problem = _Problem(adjustable, tuple(experiments), tables, _priors(adjustable, priors))
    best = _best(problem, noise or {}, starts, seed, progress or (lambda text: None))
    return with_warnings(_result(problem, best, doubtful))


def _is_empty(data: object) -> bool:
    return data is None or (isinstance(data, Sequence) and not isinstance(data, str) and not len(data))


def _priors(adjustable: Adjustable, priors: Mapping[str, tuple[float, float]] | None) -> np.ndarray:
    """Rows (index, value, deviation)."""
    rows = []
    for name, (value, deviation) in (priors or {}).items():
        UnknownNameError.check("parameter", name, adjustable.names)
        if not deviation > 0.0:
            raise StateError(f"the deviation of the prior of {name} is {deviation}, expected more than 0")
        rows.append((adjustable.names.index(name), value, deviation))
    return np.array(rows, dtype=float).reshape(-1, 3)


@dataclass(frozen=True, eq=False)
class _Problem:
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

    def predict(self, x: np.ndarray, only: int | None = None) -> list[np.ndarray | None]:
        """Predictions of every experiment, or of one."""
        values = self.values(x)
        robot, sensors = self.adjustable.robot_with(values), self.adjustable.sensors_with(values)
        pairs = list(zip(self.experiments, self.starts_of(x), strict=True))
        return [e.predict(robot, s, sensors) for e, s in (pairs if only is None else [pairs[only]])]

    def rows(self, x: np.ndarray, sigma: np.ndarray) -> np.ndarray:
        """All residuals: of outputs over their deviations, of modes, of priors."""
        try:
            predictions = self.predict(x)
            robot = self.adjustable.robot_with(self.values(x)) if self.tables else None
            modal = [table.residuals(robot) for table in self.tables if robot is not None]
        except FlexdynError:
            return self._failed()
        found = [self._of(e, y, sigma) for e, y in zip(self.experiments, predictions, strict=True)]
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
        r = self.rows(x, sigma)
        _, upper = self.limits()
        J = np.zeros((r.size, x.size))
        for k in range(self.count):
            J[:, k] = self._difference(x, k, upper, r, sigma)
        row, column = 0, self.count
        for i, experiment in enumerate(self.experiments):
            size = int(np.isfinite(experiment.measured).sum())
            for _ in experiment.known:
                moved = x.copy()
                moved[column] += STEP
                y = self._of(experiment, self.predict(moved, i)[0], sigma)
                J[row : row + size, column] = (y - r[row : row + size]) / STEP
                column += 1
            row += size
        return J

    def _difference(
        self, x: np.ndarray, k: int, upper: np.ndarray, r: np.ndarray, sigma: np.ndarray
    ) -> np.ndarray:
        step = STEP if x[k] + STEP <= upper[k] else -STEP
        moved = x.copy()
        moved[k] += step
        return (self.rows(moved, sigma) - r) / step


@dataclass(frozen=True, eq=False)
class _Found:
    x: np.ndarray
    cost: float
    sigma: np.ndarray


def _best(
    problem: _Problem, noise: Mapping[str, float], starts: int, seed: int, progress: Callable[[str], object]
) -> _Found:
    """The best fit of several starts."""
    if starts < 1:
        raise StateError(f"starts is {starts}, expected at least 1")
    rng = np.random.default_rng(seed)
    lower, upper = problem.limits()
    found: list[_Found] = []
    for n in range(starts):
        x = problem.start()
        if n:
            factors = SPREAD ** rng.uniform(-1.0, 1.0, problem.count)
            x[: problem.count] = np.clip(
                x[: problem.count] * factors, lower[: problem.count], upper[: problem.count]
            )
        one = _fitted(problem, x, noise)
        progress(f"start {n + 1} of {starts}: weighted residual {one.cost:.6g}")
        found.append(one)
    # with deviations of their own, fits compare by the likelihood of the data
    best = min(found, key=lambda one: _unlikelihood(problem, one))
    if not np.isfinite(best.cost) or best.cost >= FAILED:
        raise ConvergenceError("no start leads to a simulation that ends; give other values as `start`")
    return best


def _unlikelihood(problem: _Problem, found: _Found) -> float:
    sizes = np.zeros(found.sigma.size)
    for experiment in problem.experiments:
        sizes += np.isfinite(experiment.measured).sum(axis=0)
    return found.cost + float(sizes @ np.log(found.sigma))


def _fitted(problem: _Problem, x: np.ndarray, noise: Mapping[str, float]) -> _Found:
    """Least squares, again with the deviations that the residuals show, until these stay."""
    from scipy.optimize import least_squares

    lower, upper = problem.limits()
    x = np.clip(x, lower, upper)
    sigma, told, floor = _first_deviations(problem, noise)
    for _ in range(ROUNDS):
        fit = least_squares(
            problem.rows, x, jac=problem.slopes, bounds=(lower, upper), args=(sigma,), x_scale="jac",
            ftol=LEAST_FALL, xtol=LEAST_STEP, gtol=None, max_nfev=MOST_EVALUATIONS,
        )  # fmt: skip
        x = fit.x
        seen = np.where(told, sigma, np.maximum(_deviations(problem, x, sigma), floor))
        settled = np.all(np.abs(seen - sigma) <= SETTLED * seen)
        sigma = seen
        if settled:
            break
    return _Found(x, float(0.5 * np.sum(problem.rows(x, sigma) ** 2)), sigma)


def _first_deviations(
    problem: _Problem, noise: Mapping[str, float]
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
    sigma = np.where(spread > 0.0, spread, np.where(size > 0.0, size, 1.0))
    told = np.array([name in noise for name in names])
    sigma[told] = [noise[name] for name in names if name in noise]
    return sigma, told, np.maximum(ROUNDING * size, 1e-300)


def _deviations(problem: _Problem, x: np.ndarray, sigma: np.ndarray) -> np.ndarray:
    """Deviations of the residuals of the channels (k,)."""
    if not problem.experiments:
        return sigma
    predictions = problem.predict(x)
    if any(values is None for values in predictions):
        return sigma
    off = np.vstack([e.measured - y for e, y in zip(problem.experiments, predictions, strict=True)])
    count = int(np.isfinite(off).sum())
    free = max(1.0 - x.size / count, 1e-3)
    return np.sqrt(np.nanmean(off**2, axis=0) / free)


def _result(problem: _Problem, found: _Found, doubtful: tuple[str, ...]) -> Identified:
    adjustable, k = problem.adjustable, problem.count
    values = problem.values(found.x)
    covariance = _covariance(problem.slopes(found.x, found.sigma), adjustable)[:k, :k]
    deviation = np.sqrt(np.diag(covariance))
    samples = _samples(problem, found.x)
    return Identified(
        robot=adjustable.robot_with(values),
        table=table_of(adjustable.names, values, covariance, adjustable.start, adjustable.units),
        covariance=covariance,
        residuals=samples.measured - samples.predicted,
        values=dict(zip(adjustable.names, values.tolist(), strict=True)),
        deviations=dict(zip(adjustable.names, deviation.tolist(), strict=True)),
        samples=samples,
        start=adjustable.robot,
        warnings=doubtful,
    )


def _covariance(J: np.ndarray, adjustable: Adjustable) -> np.ndarray:
    """Of the unknowns, the numbers in their units; infinite where the data tell nothing."""
    size = np.linalg.norm(J, axis=0)
    silent = [adjustable.names[i] for i in np.flatnonzero(size[: len(adjustable.names)] == 0.0)]
    if silent:
        raise StateError(f"the data tell nothing of {', '.join(silent)}: no output depends on it")
    size = np.where(size > 0.0, size, 1.0)
    scale = np.concatenate([adjustable.scale, np.ones(J.shape[1] - len(adjustable.names))]) / size
    return np.asarray(np.linalg.pinv((J / size).T @ (J / size), hermitian=True) * np.outer(scale, scale))


def _samples(problem: _Problem, x: np.ndarray) -> Samples:
    if not problem.experiments:
        nothing = np.zeros((0, 0))
        return Samples((), (), (), (), np.zeros(0), nothing, nothing)
    first = problem.experiments[0]
    predictions = [np.full(e.measured.shape, np.nan) if y is None else y
                   for e, y in zip(problem.experiments, problem.predict(x), strict=True)]  # fmt: skip
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
