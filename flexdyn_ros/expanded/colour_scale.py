"""Colours for values: a scale from dark blue over green to yellow, even in lightness."""

from __future__ import annotations

import numpy as np

from flexdyn_ros.wording import with_unit

#: every eighth of viridis, the colour map of matplotlib by Smith and van der Walt (CC0)
STOPS = np.array([
    (68, 1, 84), (71, 44, 122), (59, 81, 139), (44, 113, 142), (33, 144, 141), (39, 173, 129), (92, 200, 99),
    (170, 220, 50), (253, 231, 37),
])  # fmt: skip
#: colour 0..255 of what has no value
UNKNOWN = (150, 150, 150)
#: moments that follow from accelerations (`Robot.loads`)
EQUILIBRIUM = "moment, by equilibrium"
#: of the quantities that tubes are coloured by
UNITS = {"strain": "-", "displacement": "m", "moment": "N m", "velocity": "m/s", EQUILIBRIUM: "N m"}
#: where a quantity is only as good as the curvature of few modes
BASIS = {"strain": ", from mode shapes", "moment": ", from mode shapes"}


#: seconds after which the range follows values that stayed below half of it
HOLD = 3.0
#: of the largest value ever, below which the range does not fall: what is less is rounding, not motion
LEAST = 1e-3


class ColourRange:
    """The value of the last colour. It grows at once; after `HOLD` seconds in which no value reached half of
    it, it falls to the largest of them: the first jolt does not leave all that follows in one colour.

    Attributes
    ----------
    top : float
    """

    def __init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Begin with nothing."""
        self.top = self._most = self._recent = self._since = 0.0

    def take(self, largest: float, time: float) -> float:
        """`top` after the largest value of a moment [s]."""
        self._most = max(self._most, largest)
        self._recent = max(self._recent, largest)
        self.top = max(self.top, largest)
        is_over = time - self._since >= HOLD
        if is_over:
            self.top = max(self._recent, LEAST * self._most)
        if is_over or self._recent >= 0.5 * self.top or time < self._since:
            self._since, self._recent = time, 0.0
        return self.top


def top_of(quantity: str, top: float) -> str:
    """The value of the last colour with its unit."""
    return with_unit(top, UNITS[quantity])


def labelled(quantity: str) -> str:
    """A quantity and, where shapes of modes limit it, its basis."""
    return f"{quantity}{BASIS.get(quantity, '')}"


def colours_of(share: np.ndarray) -> np.ndarray:
    """Colours (k, 3) of uint8 for values (k,) from 0 to 1."""
    at = np.clip(np.asarray(share, dtype=float), 0.0, 1.0) * (len(STOPS) - 1)
    columns = [np.interp(at, np.arange(len(STOPS)), STOPS[:, i]) for i in range(3)]
    return np.rint(np.stack(columns, axis=-1)).astype(np.uint8)
