"""`fit_linear`: the numbers that efforts are linear in, by weighted least squares."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from flexdyn_ros.errors import FlexdynWarning, StateError
from flexdyn_ros.identification.base import BaseParameters, reduced
from flexdyn_ros.identification.faults import refuse
from flexdyn_ros.identification.fitted import Samples, table_of
from flexdyn_ros.identification.identified import Identified
from flexdyn_ros.identification.linear.added import Added, is_added
from flexdyn_ros.identification.linear.bodies import Bodies
from flexdyn_ros.identification.linear.consistent import nearest_values, physical_values
from flexdyn_ros.identification.linear.doubts import fits_poorly, guesses, heavy, resisting, unexplained
from flexdyn_ros.identification.linear.known import Known
from flexdyn_ros.identification.linear.least_squares import Estimate, Rows, efforts_of, estimate
from flexdyn_ros.identification.linear.models import (
    LinearModel,
    bodies_and_joints,
    chosen_parameters,
    linear_model,
    needed_efforts,
    without_carried,
)
from flexdyn_ros.identification.linear.motions import Motion, motion_of
from flexdyn_ros.identification.linear.stribeck import (
    VELOCITY,
    StribeckModel,
    first_model,
    stribeck_joints,
    stribeck_model,
    without_peak,
)
from flexdyn_ros.identification.measurement import measurements_of
from flexdyn_ros.robot.parameters import Parameter
from flexdyn_ros.robot.verbs import Robot

#: changes by less than this share come from the tolerance of a solver
ROUNDED = 1e-6


def fit_linear(
    robot: Robot,
    data: object,
    consistent: bool = True,
    *,
    parameters: str | Sequence[str] | None = None,
    cutoff: float | None = None,
    robust: bool = False,
    stribeck: str | Sequence[str] = (),
    bounds: Mapping[str, tuple[float, float]] | None = None,
    priors: Mapping[str, tuple[float, float]] | None = None,
    offsets: str | Sequence[str] = (),
    asymmetric: str | Sequence[str] = (),
) -> Identified:
    """Inertias, friction and rotors from motions and efforts: tau = Y(q, v, a) p + tau0, by least squares
    weighted by the residuals of each effort (Gautier & Khalil 1990; Swevers et al. 1997).

    What is fitted are base parameters, combinations that the data tell. Of all the numbers that fit so, to
    1e-4 of the residual, the robot gets those nearest to what it had, among the inertias that bodies can
    have.

    Parameters
    ----------
    robot : Robot
        Where to start: kinematics, and what the data do not tell.
    data : Measurement, Trajectory, path, or several of them
        Positions of all coordinates and efforts; rates and accelerations where they were measured, else
        slopes of splines. NAME.known_effort is a part of an effort that is known beside the model, such as
        that of a cable or a spring; it is not fitted.
    consistent : bool
        Inertias of bodies are such that some distribution of mass has them: pseudo-inertia matrices are
        positive semi-definite (Wensing, Kim & Slotine 2018); friction and rotors are not negative. Where base
        parameters cannot be had so, those are taken that raise the weighted residual least; efforts that they
        fit worse than plain least squares do count less.
    parameters : names or patterns of those that `base_parameters` knows, optional
        Default: bodies, damping, friction, rotors; springs where there are any; payloads on links that bend.
        Others are held, such as a payload that no motion tells from the rigid link that carries it.
    cutoff : float, optional
        Of a zero-phase filter on positions, efforts and regressor alike [Hz]; samples are then kept at 1.78
        times the cut-off, at which the noise that is left is white, but for one and a half periods of it at
        both ends.
    robust : bool
        Residuals that are far out count less (Huber 1981).
    stribeck : names or patterns of joints
        Whose dry friction falls from a static level as exp(-(v / stribeck velocity)^2): both are fitted too,
        the velocities by a nonlinear stage around the linear one.
    bounds : mapping from name to (least, most), optional
        Of numbers, or of sums of them as in the table: `"arm/mass + 0.5 hand/mass"`; a pattern stands for the
        sum of what it fits: `"*/mass"` is the mass of all bodies. They are kept without `consistent` too.
    priors : mapping from name to (value, standard deviation), optional
        What is known beside the data, with the same names: a mass from a data sheet, `"arm/my": (0, 1e-4)`
        for a symmetry. They count as further rows of the least squares.
    offsets : names or patterns of actuators
        Whose efforts have a constant part, such as a bias of a current sensor: NAME/offset.
    asymmetric : names or patterns of joints
        Whose Coulomb friction depends on the direction: JOINT/friction_asymmetry is half the level at
        positive less that at negative rates. Descriptions have no place for offsets and asymmetries:
        `predicted_efforts` counts them if it is given the `Identified`.

    Robots with loops have as many actuators as motions here, and positions of all joints are measured; the
    equations are projected on the motions that the loops leave (`ClosedModel`).

    Returns
    -------
    Identified
        table and covariance are of the base parameters with the least residual; `values` are all numbers of
        the robot that changed, `deviations` count how far these are from the least residual.

    Raises
    ------
    StateError
        For data that cannot be used; says what is wrong with them.
    DimensionError, UnknownNameError, UnsupportedError
    MissingExtraError
        If clarabel is needed and not installed.

    Warns
    -----
    FlexdynWarning
        Of data that are doubtful, numbers that the data cannot tell apart, residuals that are not white, two
        joints whose columns fit far better exchanged, and without consistent of bodies that cannot be.
    """
    if stribeck or asymmetric:
        robot.functions.refuse("fit_linear(stribeck=, asymmetric=)")
    measurements = measurements_of(robot, data)
    doubtful = refuse(robot, measurements)
    motions = [motion_of(robot, m, cutoff) for m in measurements]
    added = Added.of(robot, offsets, asymmetric)
    task = _Task(robot, tuple(motions), parameters, robust, bounds or {}, priors or {}, added)
    model = linear_model(robot)
    doubts: list[str] = []
    joints = stribeck_joints(robot, stribeck) if stribeck else ()
    if joints:
        model, told = stribeck_model(first_model(robot, joints, motions), task.of_stribeck)
        doubts += told
    rows, base, bodies, plain = task.plain(model, consistent)
    chosen, gain = base.parameters, nearest_values(base.matrix, bodies.scale)
    before = bodies.before
    found = nearest = before + gain @ (plain.beta - base.of(before))
    best, estimate = plain.beta, plain
    if consistent or bounds:
        found, best, estimate = physical_values(bodies, base, plain)
        found = _without_rounding(bodies, base, found)
    covariance = estimate.covariance
    # numbers nearer to the former ones are as uncertain as they are far from those with the least residual
    away = base.of(found) - best
    uncertain = covariance + np.outer(away, away)
    names = [p.name for p in chosen]
    values = dict(zip(names, found.tolist(), strict=True))
    deviation = np.sqrt(np.einsum("ij,jk,ik->i", gain, uncertain, gain).clip(0.0))
    samples = rows.samples(robot, found)
    identified = Identified(
        # what plain least squares find need not pass the checks of `with_parameters`
        robot=model.robot_with({n: x for n, x in values.items() if not is_added(n)}, checked=consistent),
        table=table_of(base.short_names, best, covariance, base.of(before), base.units, base.names),
        covariance=covariance,
        residuals=samples.measured - samples.predicted,
        values=values,
        deviations=dict(zip(names, deviation.tolist(), strict=True)),
        samples=samples,
        start=robot,
        base=base,
        warnings=doubtful,
    )
    doubts += without_peak(joints, values)
    if not consistent:
        doubts += [f"{link}: no distribution of mass has this inertia" for link in bodies.unphysical(found)]
    doubts += resisting(robot, motions, bodies, base, plain, found, nearest, identified.left_over)
    if consistent:
        doubts += heavy(base, before, found)
    if fits_poorly(samples):
        doubts += guesses(robot, model, task.chosen(model), motions)
    doubts += unexplained(samples)
    return with_warnings(identified, doubts)


@dataclass(eq=False)
class _Task:
    """What is asked of a fit, for any model of the robot."""

    robot: Robot
    motions: tuple[Motion, ...]
    parameters: str | Sequence[str] | None
    robust: bool
    bounds: Mapping[str, tuple[float, float]]
    priors: Mapping[str, tuple[float, float]]
    added: Added
    #: a model with Stribeck friction, and its rows
    first: tuple[StribeckModel, Rows] | None = None

    def chosen(self, model: LinearModel) -> tuple[Parameter, ...]:
        """The parameters of a model that are fitted, Stribeck friction among them."""
        chosen = _chosen(self.robot, model, self.parameters)
        more = model.names if isinstance(model, StribeckModel) else ()
        return tuple(p for p in model.parameters if p in chosen or p.name in more)

    def rows(self, model: LinearModel, chosen: Sequence[Parameter]) -> Rows:
        if isinstance(model, StribeckModel) and self.first is not None:
            return model.renewed(self.first[1], self.first[0], chosen)
        rows = Rows.of(model, chosen, self.motions, self.added)
        if isinstance(model, StribeckModel):
            self.first = model, rows
        return rows

    def plain(self, model: LinearModel, consistent: bool) -> tuple[Rows, BaseParameters, Bodies, Estimate]:
        """Plain least squares of a model, and what bodies and joints can have."""
        chosen = self.chosen(model)
        rows = self.rows(model, chosen)
        chosen = (*chosen, *self.added.parameters)
        known = Known.of((*model.parameters, *self.added.parameters), chosen, self.bounds, self.priors)
        triangle = rows.triangle()
        base = reduced(np.vstack([triangle, known.beside(triangle)]), chosen)
        bodies = Bodies.of(self.robot, model, chosen, rows.alone(), known, consistent)
        return rows, base, bodies, estimate(rows, base, self.robust, known)

    def of_stribeck(self, model: StribeckModel) -> tuple[dict[str, float], dict[str, float], float]:
        """Numbers that plain least squares find, deviations, and the mean logarithm of what they leave with
        the velocities of the model."""
        _, base, bodies, plain = self.plain(model, False)
        gain = nearest_values(base.matrix, bodies.scale)
        found = bodies.before + gain @ (plain.beta - base.of(bodies.before))
        deviations = np.sqrt(np.einsum("ij,jk,ik->i", gain, plain.covariance, gain).clip(0.0))
        names = [p.name for p in base.parameters]
        places = {names[i]: row for row, i in enumerate(base.leading.tolist())}
        held = {f"{joint}{VELOCITY}": v for joint, v in model.velocities.items()}
        beta = plain.with_held({places[name]: v for name, v in held.items() if name in places})
        left = np.maximum(plain.left(beta), plain.sigma * ROUNDED)[: plain.efforts]
        found_by_name, deviation = (dict(zip(names, x.tolist(), strict=True)) for x in (found, deviations))
        return found_by_name, deviation, float(np.log(left).mean())


def _without_rounding(bodies: Bodies, base: BaseParameters, found: np.ndarray) -> np.ndarray:
    """Numbers of which the data tell nothing are what they were where a solver only rounded them."""
    silent = ~np.any(base.matrix != 0.0, axis=0) & (np.abs(found - bodies.before) < ROUNDED * bodies.scale)
    kept = np.where(silent, bodies.before, found)
    return kept if bodies.are_physical(kept) else found


def with_warnings(identified: Identified, more: Sequence[str] = ()) -> Identified:
    """The result, with warnings of what makes it doubtful, which go to the caller of the fit too."""
    told = [*more, *identified.correlated]
    coloured = [name for name, test in identified.whiteness.items() if not test.is_white]
    if coloured:
        told.append(
            f"residuals are not white ({', '.join(coloured)}): the model leaves something out, or the noise "
            "is coloured; intervals are then too narrow"
        )
    for text in told:
        warnings.warn(text, FlexdynWarning, 3)
    return replace(identified, warnings=(*identified.warnings, *told))


def _chosen(robot: Robot, model: LinearModel, patterns: str | Sequence[str] | None) -> tuple[Parameter, ...]:
    if patterns is not None:
        return chosen_parameters(robot, model, patterns)
    usual = without_carried(robot, bodies_and_joints(robot, model))
    return tuple(p for p in usual if not p.name.endswith("/stiffness") or p.value != 0.0)


class HeldOut(NamedTuple):
    """One measurement that was left out: its name, and by channel the root mean square of its residuals, and
    of those of the data that were fitted."""

    name: str
    rms: dict[str, float]
    fitted: dict[str, float]


def predicted_efforts(robot: Robot | Identified, data: object, *, cutoff: float | None = None) -> Samples:
    """Efforts measured, and those that a robot needs for the motion that was measured; arguments as of
    `fit_linear`. Of an `Identified` with the offsets and asymmetries that were found."""
    values = robot.values if isinstance(robot, Identified) else {}
    robot = robot.robot if isinstance(robot, Identified) else robot
    added = Added.among(robot, values)
    numbers = np.array([values[p.name] for p in added.parameters])
    motions = [motion_of(robot, m, cutoff) for m in measurements_of(robot, data)]
    pairs = []
    for motion in motions:
        tau = needed_efforts(robot, motion.q, motion.v, motion.a) + motion.beside
        if numbers.size:
            Y = robot.regressor(motion.q, motion.v, motion.a).Y
            tau = tau + added.columns(Y, [p.name for p in robot.parameters]) @ numbers
        measured = np.where(motion.known[motion.kept], motion.smoothed(motion.tau), np.nan)
        pairs.append((measured, motion.smoothed(tau)))
    return efforts_of(robot, motions, pairs)


def cross_validation(robot: Robot, data: object, **options: Any) -> tuple[HeldOut, ...]:
    """Every measurement predicted from a fit to all others.

    Parameters
    ----------
    robot : Robot
    data : several Measurements, Trajectories or paths
    options
        Of `fit_linear`.

    Raises
    ------
    StateError
        For a single measurement, and as `fit_linear` does.
    """
    every = measurements_of(robot, data)
    if len(every) < 2:
        raise StateError("cross-validation takes at least two measurements, one is left out each time")
    found = []
    for left_out in every:
        fit = fit_linear(robot, [m for m in every if m is not left_out], **options)
        held = predicted_efforts(fit, left_out, cutoff=options.get("cutoff"))
        square = np.nanmean((held.measured - held.predicted) ** 2, axis=0)
        rms = dict(zip(held.channels, np.sqrt(square).tolist(), strict=True))
        found.append(HeldOut(left_out.name, rms, fit.rms))
    return tuple(found)
