"""A base whose motion is prescribed follows a commanded speed, step by step."""

from __future__ import annotations

from math import exp

from flexdyn_ros.simulation.steps.stepper import OK, Stepper

#: time constant with which the base follows a commanded speed [s]
RESPONSE = 0.1


class SpeedServo:
    """Sets the acceleration of the prescribed coordinate before every step, so that its speed nears the
    commanded one by 1 - exp(-dt / 0.1 s) a step, however many steps a tick has.

    Parameters
    ----------
    v_index : int
        Of the prescribed coordinate.
    """

    def __init__(self, v_index: int) -> None:
        self._at = v_index
        self._target: float | None = None

    def command(self, speed: float) -> None:
        """Speed to reach [m/s]."""
        self._target = speed

    def forget(self, stepper: Stepper) -> None:
        """No command: the speed stays what it is."""
        self._target = None
        stepper.given[self._at] = 0.0

    def advance(self, stepper: Stepper, steps: int) -> int:
        """Advance a stepper by so many steps; answers as `Stepper.advance`."""
        if self._target is None:
            return stepper.advance(steps)
        share = (1.0 - exp(-stepper.dt / RESPONSE)) / stepper.dt
        for _ in range(steps):
            stepper.given[self._at] = (self._target - stepper.v[self._at]) * share
            status = stepper.advance(1)
            if status != OK:
                return status
        return OK
