"""Points of a study, all fixed before anything runs: grids, lists and samples of the unit cube."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import prod
from typing import Any

import numpy as np

from flexdyn_ros.errors import needs
from flexdyn_ros.studies.definition import MOST_POINTS, Study
from flexdyn_ros.studies.distributions import LISTED


class Design:
    """Points (n) of a study, in order: `point(i)` is a mapping from the names of parameters to values."""

    def __init__(self, names: Sequence[str], rows: Sequence[tuple[object, ...]]) -> None:
        self.names, self.rows = tuple(names), rows

    def __len__(self) -> int:
        return len(self.rows)

    def point(self, i: int) -> dict[str, object]:
        return dict(zip(self.names, self.rows[i], strict=True))

    def __iter__(self) -> Iterator[dict[str, object]]:
        return (self.point(i) for i in range(len(self)))


def fixed_design(study: Study) -> Design:
    """The design of every kind but optuna, whose points depend on results.

    Raises
    ------
    DescriptionError
        If it has more than ten million points, or correlations that no distribution has.
    """
    kind = study.design["kind"]
    spreads = [p.spread for p in study.parameters]
    if kind == "list":
        values = [s.values or () for s in spreads]
        return Design(study.names, list(zip(*values, strict=True)))
    if kind == "grid":
        lists = [s.values or () for s in spreads]
        if prod(len(x) for x in lists) > MOST_POINTS:
            raise study.failing("the grid has more than ten million points", "parameters")
        return Design(study.names, list(product(*lists)))
    u = _unit_cube(study)
    columns = [s.many(u[:, k]) for k, s in enumerate(spreads)]
    return Design(study.names, list(zip(*columns, strict=True)))


def _unit_cube(study: Study) -> np.ndarray:
    """Samples (n, d) inside of (0, 1), correlated as the study says."""
    from scipy.stats import qmc

    kind, n, seed = study.design["kind"], study.design["samples"], study.design["seed"]
    d = len(study.parameters)
    if kind == "random":
        u = np.random.default_rng(seed).random((n, d))
    elif kind == "latin_hypercube":
        u = qmc.LatinHypercube(d, seed=seed).random(n)
    elif study.design.get("indices"):
        return _saltelli(qmc.Sobol(2 * d, seed=seed).random(_power_of_two(study, n)), d)
    else:
        u = qmc.Sobol(d, seed=seed).random(_power_of_two(study, n))
    return np.clip(_correlated(study, u), 1e-12, 1.0 - 1e-12)


def _power_of_two(study: Study, n: int) -> int:
    if n & (n - 1):
        raise study.failing(
            "a Sobol sequence is balanced for powers of two only", "design/samples", value=n,
            expected=f"{2 ** (n.bit_length() - 1)} or {2 ** n.bit_length()}",
        )  # fmt: skip
    return n


def _saltelli(both: np.ndarray, d: int) -> np.ndarray:
    """Samples (n (d + 2), d) of Saltelli (2010) from (n, 2 d): per row A, d times A with one column of B,
    B."""
    both = np.clip(both, 1e-12, 1.0 - 1e-12)
    A, B = both[:, :d], both[:, d:]
    out = np.empty((len(both), d + 2, d))
    out[:, 0], out[:, -1] = A, B
    for i in range(d):
        out[:, 1 + i] = A
        out[:, 1 + i, i] = B[:, i]
    return out.reshape(-1, d)


def _correlated(study: Study, u: np.ndarray) -> np.ndarray:
    """u (n, d) with the correlations of a Gaussian copula; each column keeps its distribution."""
    if not study.correlations:
        return u
    from scipy.special import ndtr, ndtri

    R = np.eye(u.shape[1])
    for a, b, r in study.correlations:
        i, j = study.names.index(a), study.names.index(b)
        R[i, j] = R[j, i] = r
    try:
        L = np.linalg.cholesky(R)
    except np.linalg.LinAlgError:
        raise study.failing(
            "no parameters have such correlations: their matrix is not positive definite", "correlations",
            value=[list(c) for c in study.correlations], expected="smaller correlations",
        ) from None  # fmt: skip
    return ndtr(ndtri(np.clip(u, 1e-12, 1.0 - 1e-12)) @ L.T)


class Optimisation:
    """An optimisation that depends on the study and its results only: neither on workers nor on time.

    A batch is asked for when all before it are told; its size is part of the study.
    """

    def __init__(self, study: Study) -> None:
        with needs("optuna", "studies"):
            import optuna
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._optuna, self._study = optuna, study
        seed, several = study.design["seed"], len(study.objectives) > 1
        sampler = {
            "tpe": lambda: optuna.samplers.TPESampler(seed=seed),
            "nsga2": lambda: optuna.samplers.NSGAIISampler(
                seed=seed, population_size=max(2, study.design["batch"])
            ),
            "random": lambda: optuna.samplers.RandomSampler(seed=seed),
        }[study.design["sampler"]]()
        self._search = optuna.create_study(
            directions=[study.objectives[name] for name in study.objectives] if several else None,
            direction=None if several else next(iter(study.objectives.values())),
            sampler=sampler,
        )
        self._trials: list[object] = []

    def ask(self, count: int) -> list[tuple[object, ...]]:
        """The next points."""
        self._trials = [self._search.ask() for _ in range(count)]
        return [self._point(trial) for trial in self._trials]

    def _point(self, trial: Any) -> tuple[object, ...]:
        point = []
        for p in self._study.parameters:
            spread = p.spread
            if spread.kind in LISTED:
                # positions in the list, so that values of any kind may be chosen
                values = spread.values or ()
                point.append(values[trial.suggest_categorical(p.name, tuple(range(len(values))))])
            elif spread.kind == "integer":
                point.append(trial.suggest_int(p.name, *spread.numbers))
            elif spread.kind in ("uniform", "log_uniform"):
                point.append(trial.suggest_float(p.name, *spread.numbers, log=spread.kind == "log_uniform"))
            else:
                point.append(spread.at(trial.suggest_float(p.name, 1e-9, 1.0 - 1e-9)))
        return tuple(point)

    def tell(self, results: list[Mapping[str, object]]) -> None:
        """Results of the points of the last `ask`, in their order; those without the objectives failed."""
        for trial, found in zip(self._trials, results, strict=True):
            values: list[Any] = [found.get(name) for name in self._study.objectives]
            if all(isinstance(x, int | float) and math.isfinite(x) for x in values):
                self._search.tell(trial, values)
            else:
                self._search.tell(trial, state=self._optuna.trial.TrialState.FAIL)
