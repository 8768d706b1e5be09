"""Control laws without a sampling time, as analogue controllers and forces that depend on the state have."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from flexdyn_ros.errors import StateError


class Continuous:
    """A control law that is called at every evaluation; see `continuous`."""

    def __init__(self, law: Callable[[float, np.ndarray, np.ndarray], object]) -> None:
        self.law = law

    def __call__(self, t: float, q: np.ndarray, v: np.ndarray) -> object:
        """Efforts at a state."""
        return self.law(t, q, v)


def continuous(law: Callable[[float, np.ndarray, np.ndarray], object]) -> Continuous:
    """Let `simulate(control=...)` follow a control law without sampling and holding it.

    Parameters
    ----------
    law : callable (t, q, v) -> (nu,) or (na,) array, or mapping from name to number
        Efforts [N m, N]; must be smooth, or the steps become small. With error control it is called at every
        evaluation, with fixed steps at every step.

    Returns
    -------
    Continuous
        For `control=` of `flexdyn_ros.simulate`.

    Raises
    ------
    StateError
        If law is not callable.
    """
    if not callable(law):
        raise StateError(f"continuous() got {law!r}, expected a callable (t, q, v)")
    return Continuous(law)
