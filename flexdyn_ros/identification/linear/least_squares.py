"""Least squares with the weight that the residuals of each effort ask for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from flexdyn_ros.errors import StateError
from flexdyn_ros.identification.base import NEGLIGIBLE, BaseParameters
from flexdyn_ros.identification.fitted import Samples
from flexdyn_ros.identification.linear.added import Added
from flexdyn_ros.identification.linear.known import Known
from flexdyn_ros.identification.linear.models import LinearModel
from flexdyn_ros.identification.linear.motions import Motion
from flexdyn_ros.robot.coordinates import units_of
from flexdyn_ros.robot.parameters import Parameter
from flexdyn_ros.robot.verbs import Robot


@dataclass(frozen=True, eq=False)
class Rows:
    """Regressors Y (n, nu, np), efforts (n, nu) less what is held, and that, of each motion; efforts that are
    not known are NaN."""

    motions: tuple[Motion, ...]
    regressors: tuple[np.ndarray, ...]
    efforts: tuple[np.ndarray, ...]
    held: tuple[np.ndarray, ...]

    @classmethod
    def of(
        cls,
        model: LinearModel,
        chosen: Sequence[Parameter],
        motions: Sequence[Motion],
        added: Added | None = None,
    ) -> Rows:
        """Rows of the chosen parameters, then of those that are added."""
        known = model.parameters
        names = [p.name for p in known]
        columns = [names.index(p.name) for p in chosen]
        rest = np.array([p.value for p in known])
        rest[columns] = 0.0
        regressors, efforts, held = [], [], []
        for motion in motions:
            Y, tau0 = model.regressor(motion.q, motion.v, motion.a)
            offset = tau0 + Y @ rest + motion.beside
            own = Y[..., columns]
            every = own if added is None else np.concatenate([own, added.columns(Y, names)], axis=-1)
            regressors.append(motion.smoothed(every))
            held.append(motion.smoothed(offset))
            smooth = motion.smoothed(motion.tau)
            efforts.append(np.where(motion.known[motion.kept], smooth - held[-1], np.nan))
        return cls(tuple(motions), tuple(regressors), tuple(efforts), tuple(held))

    def triangle(self) -> np.ndarray:
        """Triangular factor of all rows that are known."""
        R = np.zeros((0, self.regressors[0].shape[-1]))
        for Y, tau in zip(self.regressors, self.efforts, strict=True):
            R = np.asarray(np.linalg.qr(np.vstack([R, Y[np.isfinite(tau)]]), mode="r"))
        return R

    def alone(self) -> np.ndarray:
        """The least value (np,) with which each number alone would make as large an effort as was measured;
        infinite for those that make none."""
        efforts = np.concatenate(self.efforts)
        there = np.isfinite(efforts)
        Y = np.where(there[..., None], np.concatenate(self.regressors), 0.0)
        made = np.linalg.norm(Y, axis=0)
        size = np.linalg.norm(np.where(there, efforts, 0.0), axis=0)[:, None]
        counts = (made > NEGLIGIBLE * made.max()) & (size > 0.0)
        return np.asarray(np.where(counts, size / np.where(counts, made, 1.0), np.inf).min(axis=0))

    def of_effort(self, j: int, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rows (m, nb) and efforts (m,) of one effort, of all motions."""
        known = [np.isfinite(tau[:, j]) for tau in self.efforts]
        W = [Y[there, j][:, columns] for Y, there in zip(self.regressors, known, strict=True)]
        y = [tau[there, j] for tau, there in zip(self.efforts, known, strict=True)]
        return np.concatenate(W), np.concatenate(y)

    def samples(self, robot: Robot, values: np.ndarray) -> Samples:
        """Efforts measured and predicted with those numbers."""
        every = zip(self.regressors, self.efforts, self.held, strict=True)
        pairs = [(tau + held, Y @ values + held) for Y, tau, held in every]
        return efforts_of(robot, self.motions, pairs)


def efforts_of(
    robot: Robot, motions: Sequence[Motion], pairs: Sequence[tuple[np.ndarray, np.ndarray]]
) -> Samples:
    """Efforts of the actuators, of (measured, predicted) pairs of arrays (n, nu) for each motion."""
    driven = [i for i, name in enumerate(robot.effort_names) if name in set(robot.actuators)]
    measured, predicted = (np.concatenate(part) for part in zip(*pairs, strict=True))
    ends = np.cumsum([0, *(len(tau) for tau, _ in pairs)]).tolist()
    units = units_of(robot)[2]
    return Samples(
        names=tuple(motion.name for motion in motions),
        parts=tuple(slice(a, b) for a, b in zip(ends[:-1], ends[1:], strict=True)),
        channels=tuple(f"{robot.effort_names[i]}.effort" for i in driven),
        units=tuple(units[i] for i in driven),
        t=np.concatenate([motion.t[motion.kept] for motion in motions]),
        measured=measured[:, driven],
        predicted=predicted[:, driven],
    )


#: weights are settled when they change by less than this share
SETTLED, MOST_ROUNDS = 1e-6, 50
#: a residual is rounding below this share of the largest effort
ROUNDING = 1e-13
#: residuals beyond so many deviations count linearly (Huber 1981: 95 % as good for normal noise)
HUBER = 1.345


@dataclass(frozen=True, eq=False)
class Huber:
    """What tells the covariance of an estimate in which residuals r beyond HUBER deviations s count less:
    with psi(r / s) in place of r / s it is A^-1 B A^-1, A the sum of mean(psi') W^T W / s^2 of all blocks and
    B that of mean(psi^2) W^T W / s^2 (Huber 1981).

    Attributes
    ----------
    factors : tuple of k arrays (., nb + 1)
        Triangular factors of the rows [W y] of the blocks, without weights.
    slopes, squares : (k,) arrays
        Means of psi' and of psi^2; 1 for what is known.
    """

    factors: tuple[np.ndarray, ...]
    slopes: np.ndarray
    squares: np.ndarray

    def covariance(self, sigma: np.ndarray) -> np.ndarray:
        half = _half(self.factors, sigma / np.sqrt(self.slopes))
        parts = zip(self.factors, np.sqrt(self.squares) / sigma, strict=True)
        root = np.vstack([share * R[:, :-1] for R, share in parts]) @ half @ half.T
        return np.asarray(root.T @ root)


@dataclass(frozen=True, eq=False)
class Estimate:
    """Least squares of base parameters, one block of rows for each effort, then one for what is known.

    Attributes
    ----------
    beta : (nb,) array
        The base parameters.
    sigma : (k,) array
        Deviations of the noise by block; 1 for what is known, whose rows are divided by theirs.
    factors : tuple of k arrays (., nb + 1)
        Triangular factors of the rows [W y] of the blocks.
    efforts : int
        Blocks that are efforts.
    counts, sizes : (k,) arrays
        Rows of the blocks, and the root mean square of their y.
    half : (nb, nb) array
        half half^T is the covariance of beta under white noise.
    huber : Huber or None
        What weights of samples make of the covariance.
    """

    beta: np.ndarray
    sigma: np.ndarray
    factors: tuple[np.ndarray, ...]
    efforts: int
    counts: np.ndarray
    sizes: np.ndarray
    half: np.ndarray
    huber: Huber | None = None

    @property
    def covariance(self) -> np.ndarray:
        """Of the base parameters (nb, nb); with weights of samples that of Huber's estimate."""
        return self.half @ self.half.T if self.huber is None else self.huber.covariance(self.sigma)

    def left(self, beta: np.ndarray) -> np.ndarray:
        """Root mean squares (k,) of what base parameters leave of the blocks."""
        ends = np.append(beta, -1.0)
        sizes = [np.linalg.norm(F @ ends) for F in self.factors]
        return np.array(sizes) / np.sqrt(np.maximum(self.counts, 1))

    def raised(self, shares: np.ndarray, floor: np.ndarray) -> np.ndarray:
        """Deviations (k,) of the noise, times shares (k,) above 1, up to the size of the efforts, at least a
        floor (k,); those of what is known stay."""
        most = np.maximum(self.sizes, self.sigma)
        found = np.maximum(np.minimum(self.sigma * np.maximum(shares, 1.0), most), floor)
        return np.where(np.arange(found.size) < self.efforts, found, 1.0)

    def with_held(self, held: Mapping[int, float]) -> np.ndarray:
        """The base parameters (nb,) of least squares with some of them, by place, held."""
        free = np.array([i for i in range(self.beta.size) if i not in held], dtype=int)
        beta = self.beta.copy()
        beta[list(held)] = list(held.values())
        stacked = _stacked(self.factors, self.sigma)
        beta[free] = 0.0
        aim = stacked @ np.append(-beta, 1.0)
        beta[free] = _solved((np.column_stack([stacked[:, free], aim]),), np.ones(1))
        return beta

    def weighted(self, sigma: np.ndarray) -> Estimate:
        """With other deviations of the noise."""
        return replace(self, beta=_solved(self.factors, sigma), sigma=sigma, half=_half(self.factors, sigma))


def estimate(rows: Rows, base: BaseParameters, robust: bool, known: Known) -> Estimate:
    """The estimate whose weights are those that the residuals of each effort ask for."""
    blocks = [rows.of_effort(j, base.leading) for j in range(rows.efforts[0].shape[1])]
    efforts = len(blocks)
    count = sum(len(y) for _, y in blocks)
    largest = max(np.abs(y).max(initial=0.0) for _, y in blocks)
    if largest == 0.0:
        raise StateError("all efforts are 0: they tell nothing")
    if known.values.size:
        blocks.append((known.rows[:, base.leading], known.values))
        count += known.values.size
    if count <= base.rank:
        raise StateError(f"too short: {count} efforts were measured, expected more than {base.rank}")
    weights: list[np.ndarray | None] = [None] * len(blocks)
    plain = factors = [_factor(W, y, None) for W, y in blocks]
    sigma = np.ones(len(blocks))
    for _ in range(MOST_ROUNDS):
        beta = _solved(factors, sigma)
        residuals = [y - W @ beta for W, y in blocks]
        squares = [_mean_square(r, w) for r, w in zip(residuals, weights, strict=True)]
        new = np.sqrt(np.array(squares) / (1.0 - base.rank / count))
        new = np.maximum(new, ROUNDING * largest)
        new[efforts:] = 1.0
        settled = np.all(np.abs(new - sigma) <= SETTLED * new)
        sigma = new
        if robust:
            weights[:efforts] = [_huber(r, s) for r, s in zip(residuals[:efforts], sigma, strict=False)]
            factors = [_factor(W, y, w) for (W, y), w in zip(blocks, weights, strict=True)]
        if settled:
            break
    huber = None
    if robust:
        slopes, powers = np.ones(len(blocks)), np.ones(len(blocks))
        for j in range(efforts):
            size = np.abs(residuals[j]) / sigma[j]
            if size.size:
                slopes[j] = np.mean(size <= HUBER)
                powers[j] = np.mean(np.minimum(size, HUBER) ** 2)
        huber = Huber(tuple(plain), slopes, powers)
    sizes = np.array([np.sqrt(np.mean(y**2)) if y.size else 0.0 for _, y in blocks])
    counts = np.array([len(y) for _, y in blocks])
    return Estimate(beta, sigma, tuple(factors), efforts, counts, sizes, _half(factors, sigma), huber)


def _factor(W: np.ndarray, y: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """Triangular factor of the rows [W y] of one effort: all that their least squares need."""
    root = 1.0 if weights is None else np.sqrt(weights)[:, None]
    return np.asarray(np.linalg.qr(root * np.column_stack([W, y]), mode="r"))


def _stacked(factors: Sequence[np.ndarray], sigma: np.ndarray) -> np.ndarray:
    return np.vstack([R / s for R, s in zip(factors, sigma, strict=True)])


def _solved(factors: Sequence[np.ndarray], sigma: np.ndarray) -> np.ndarray:
    stacked = _stacked(factors, sigma)
    size = np.linalg.norm(stacked[:, :-1], axis=0)
    found, *_ = np.linalg.lstsq(stacked[:, :-1] / size, stacked[:, -1], rcond=None)
    return np.asarray(found / size)


def _mean_square(residual: np.ndarray, weights: np.ndarray | None) -> float:
    if not residual.size:
        return 0.0
    if weights is None:
        return float(np.mean(residual**2))
    # normal noise beyond HUBER counts less: 1.4826 median |r| is its deviation
    return float((1.4826 * np.median(np.abs(residual))) ** 2)


def _huber(residual: np.ndarray, sigma: float) -> np.ndarray:
    size = np.abs(residual) / sigma
    return np.where(size > HUBER, HUBER / np.maximum(size, HUBER), 1.0)


def _half(factors: Sequence[np.ndarray], sigma: np.ndarray) -> np.ndarray:
    """H with H H^T the inverse of R^T R, whose parts may be of very different sizes: some efforts fit to
    rounding, others hardly at all. What rounding hides is as uncertain as that lets it be."""
    R = _stacked(factors, sigma)[:, :-1]
    size = np.linalg.norm(R, axis=0)
    _, singular, directions = np.linalg.svd(R / size, full_matrices=False)
    singular = np.maximum(singular, np.finfo(float).eps * singular[0])
    return np.asarray(directions.T / singular / size[:, None])
