"""`fit_output`: numbers that what a robot does depends on in other ways than its efforts, by simulation."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from flexdyn_ros.errors import FlexdynWarning, StateError, UnknownNameError
from flexdyn_ros.identification.faults import refuse
from flexdyn_ros.identification.fitted import Samples, table_of
from flexdyn_ros.identification.identified import Identified
from flexdyn_ros.identification.linear.doubts import exchanged_columns
from flexdyn_ros.identification.linear.fit import with_warnings
from flexdyn_ros.identification.measurement import Measurement, measurements_of
from flexdyn_ros.identification.output.adjustable import Adjustable
from flexdyn_ros.identification.output.channels import SENSOR, channels_of
from flexdyn_ros.identification.output.experiments import Experiment, fixed_method
from flexdyn_ros.identification.output.inputs import followed_joints
from flexdyn_ros.identification.output.modal_table import ModalTable
from flexdyn_ros.identification.output.problem import Found, Problem, best_of_starts, fitted, samples_of
from flexdyn_ros.robot.verbs import Robot


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
        Of the noise of what is compared, in its unit: each residual counts as a share of it. Default: found
        from the residuals, in rounds, together for all measurements. With all noise given a fit takes one
        round, and intervals follow from that noise, whatever the residuals are.
    starts : int
        Fits from so many starts, the others drawn at random; the best counts.
    dt, method
        Fixed steps of the simulation [s], as of `simulate`; default the step between samples, and "auto".
    initial : {"rest", "neutral", "free"}
        What was not measured of the start: at rest in static equilibrium, neutral, or whatever fits best, for
        runs that begin in motion. Measured positions that are not among `outputs` begin at their first
        samples, those that are where they fit best.
    inputs : {"efforts", "positions"}
        What moves the robot: measured efforts; or the measured positions of its joints, which a stiff servo
        makes it follow, where efforts are not known (joints that were not measured are held).
    seed : int
        Of the starts.
    progress : callable (text), optional
        Called at every iteration with the residual, the time it took, and an estimate of the time left.
        KeyboardInterrupt (Ctrl-C) ends the search: the result has the best numbers until then, and a warning.

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
    experiments = _experiments(robot, measurements, outputs, dt, method, initial, inputs)
    problem = Problem(adjustable, experiments, tables, _priors(adjustable, priors))
    best = best_of_starts(problem, noise or {}, starts, seed, progress or (lambda text: None))
    if best.stopped:
        text = "the fit was stopped: these are the best numbers until then"
        doubtful = (*doubtful, text)
        warnings.warn(text, FlexdynWarning, 2)
    return with_warnings(_result(problem, best, doubtful))


def _experiments(
    robot: Robot, measurements: Sequence[Measurement], outputs: Sequence[str] | None, dt: float | None,
    method: str, initial: str, inputs: str,
) -> tuple[Experiment, ...]:  # fmt: skip
    if not measurements:
        return ()
    columns = dict.fromkeys(name for m in measurements for name in m.columns)
    followed = {c.name for c in followed_joints(robot)} if inputs == "positions" else ()
    seen = [n for n in columns if n.removesuffix(".velocity") not in followed]
    channels = channels_of(robot, seen, outputs)
    # a stiff servo takes an implicit method
    method = "rosenbrock" if inputs == "positions" and method == "auto" else method
    method = fixed_method(robot, measurements[0], dt or measurements[0].step, method)
    return tuple(Experiment.of(robot, m, channels, dt, method, initial, inputs) for m in measurements)


def predicted_outputs(
    robot: Robot | Identified,
    data: object,
    *,
    outputs: Sequence[str] | None = None,
    noise: Mapping[str, float] | None = None,
    dt: float | None = None,
    method: str = "auto",
    initial: str = "rest",
    inputs: str = "efforts",
) -> Samples:
    """Outputs measured, and those of a simulation with the measured efforts, to judge a fit by runs that it
    has not seen; arguments as of `fit_output`.

    Only the start of every measurement is fitted, as far as it was measured. Of an `Identified` the gains of
    sensors and motors that were found count.
    """
    values = robot.values if isinstance(robot, Identified) else {}
    robot = robot.robot if isinstance(robot, Identified) else robot
    measurements = measurements_of(robot, data)
    refuse(robot, measurements)
    experiments = _experiments(robot, measurements, outputs, dt, method, initial, inputs)
    columns = {name for m in measurements for name in m.columns}
    gains = {n: x for n, x in values.items() if (m := SENSOR.fullmatch(n)) and m[1] in columns}
    problem = Problem(Adjustable.nothing(robot, gains), experiments, (), np.zeros((0, 3)))
    return samples_of(problem, fitted(problem, problem.start(), noise or {}).x)


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


def _result(problem: Problem, found: Found, doubtful: tuple[str, ...]) -> Identified:
    adjustable, k = problem.adjustable, problem.count
    values = problem.values(found.x)
    covariance = _covariance(problem.slopes(found.x, found.sigma), adjustable)[:k, :k]
    deviation = np.sqrt(np.diag(covariance))
    samples = samples_of(problem, found.x)
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
