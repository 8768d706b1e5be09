"""Rows of the regressor of several motions, and the efforts that belong to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from flexdyn_ros.identification.fitted import Samples
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
    def of(cls, model: LinearModel, chosen: Sequence[Parameter], motions: Sequence[Motion]) -> Rows:
        known = model.parameters
        names = [p.name for p in known]
        columns = [names.index(p.name) for p in chosen]
        rest = np.array([p.value for p in known])
        rest[columns] = 0.0
        regressors, efforts, held = [], [], []
        for motion in motions:
            Y, tau0 = model.regressor(motion.q, motion.v, motion.a)
            offset = tau0 + Y @ rest
            regressors.append(motion.smoothed(Y[..., columns]))
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
