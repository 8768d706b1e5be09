"""Points that Optuna asks for, in batches of fixed size that are told in the order of the design."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from flexdyn_ros.errors import needs
from flexdyn_ros.studies.definition import Study
from flexdyn_ros.studies.distributions import LISTED


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
            values = [found.get(name) for name in self._study.objectives]
            if all(isinstance(x, int | float) and math.isfinite(x) for x in values):
                self._search.tell(trial, values)
            else:
                self._search.tell(trial, state=self._optuna.trial.TrialState.FAIL)
