"""Forward kinematics of a platform, judged: a pose of the right assembly, or none.

See docs/theory/platform.md, "Forward kinematics". Newton's method can converge, to the last digit, on a pose
that lies beyond a singularity; the sign of the Jacobian's determinant shows it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from flexdyn_ros.errors import ConvergenceError
from flexdyn_ros.families.platform.margins import homogeneous

#: largest error of a length that is accepted [m]
ACCEPTED_RESIDUAL = 1e-9

#: whose side of singularities a pose is to be on, and what the error says of that
MODES = {
    "home": "mode='guess' finds poses on the side of the guess, mode='any' on either",
    "guess": "mode='any' finds poses on either side",
    "any": "",
}


@dataclass(frozen=True, eq=False)
class Found:
    """Poses that the search ended at, n of them: leg Jacobians J (n, 6, 6), length errors (n, 6) [m],
    distance from the start (n,) [m], iterations (n,)."""

    J: np.ndarray
    errors: np.ndarray
    distance: np.ndarray
    iterations: np.ndarray

    @property
    def residual(self) -> np.ndarray:
        """Largest error of a length (n,) [m]."""
        return np.asarray(np.abs(self.errors).max(axis=1))


@dataclass(frozen=True, eq=False)
class Acceptance:
    """Poses that are accepted: names of the legs with their least and largest lengths [m], the platform's
    size [m], the smallest singular value, the farthest distance from the start [m], the mode, and the sign
    (n,) or () that it asks of the determinant."""

    legs: Sequence[tuple[str, float, float]]
    reach: float
    least: float
    farthest: float
    mode: str
    sign: np.ndarray

    def refusals(self, found: Found, lengths: np.ndarray) -> list[str]:
        """Why each of n poses is refused; "" where it is not."""
        Jh = homogeneous(np.where(np.isfinite(found.J), found.J, 0.0), self.reach)
        determinant = np.linalg.det(Jh)
        smallest = np.linalg.svd(Jh, compute_uv=False)[:, -1]
        sign = np.broadcast_to(self.sign, determinant.shape)
        told = []
        # the comparisons are written so that NaN refuses
        for i, residual in enumerate(found.residual):
            if not residual <= ACCEPTED_RESIDUAL:
                told.append(self._unmet(found.errors[i], lengths[i]))
            elif self.mode != "any" and not determinant[i] * sign[i] > 0.0:
                told.append(
                    "the pose is of another assembly: the Jacobian's determinant changed its sign, it is "
                    f"{determinant[i]:.3g} there and {'positive' if sign[i] > 0.0 else 'negative'} at "
                    f"{'home' if self.mode == 'home' else 'the guess'}; start nearer, {MODES[self.mode]}"
                )
            elif not smallest[i] >= self.least:
                told.append(
                    f"the pose is near a singularity: the smallest singular value is {smallest[i]:.3g}, "
                    f"expected at least {self.least:g} (min_singular_value)"
                )
            elif not found.distance[i] <= self.farthest:
                told.append(
                    f"the pose is {found.distance[i]:.4g} m from the guess, farther than max_distance "
                    f"{self.farthest:g} m"
                )
            else:
                told.append("")
        return told

    def _unmet(self, errors: np.ndarray, lengths: np.ndarray) -> str:
        """Of lengths that are not met: those that no leg can have, else the one that is off by most."""
        wrong = [
            f"leg '{name}' is to be {length:.4g} m long, expected {least:.4g} to {most:.4g} m"
            for (name, least, most), length in zip(self.legs, lengths.tolist(), strict=True)
            if not least <= length <= most
        ]
        worst = int(np.argmax(np.where(np.isfinite(errors), np.abs(errors), np.inf)))
        off = f"leg '{self.legs[worst][0]}' is off by {abs(errors[worst]):.3g} m where the search ends"
        return f"the lengths are not met: {'; '.join(wrong) or off}"


def complain(reasons: Sequence[str], found: Found) -> None:
    """ConvergenceError for the first pose that is refused."""
    bad = [i for i, reason in enumerate(reasons) if reason]
    if not bad:
        return
    i = bad[0]
    where = "" if len(reasons) == 1 else f" (sample {i}; {len(bad)} of {len(reasons)} are refused)"
    error = f"the largest error of a length is {found.residual[i]:.3g} m"
    text = f"no pose found{where}: {reasons[i]}; {error} after {found.iterations[i]} iterations"
    raise ConvergenceError(text, float(found.residual[i]), int(found.iterations[i]))


def turn_between(
    difference: Callable[..., np.ndarray], q0: np.ndarray, q1: np.ndarray, reach: float
) -> np.ndarray:
    """Distance (n,) of poses: the larger of the way of the origin and of the turn times the platform's size
    [m]."""
    d = difference(q0, q1)
    return np.maximum(np.linalg.norm(d[..., 3:], axis=-1), reach * np.linalg.norm(d[..., :3], axis=-1))
