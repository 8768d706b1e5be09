"""Places in the numbers of a run with error control, and how its calls end."""

from __future__ import annotations

#: places in the numbers of a run: relative tolerance; the step to begin with (0: found by the run), the
#: largest one; time reached; accepted and rejected steps, evaluations, steps in a row that stability bounds;
#: the column that an extrapolation aims at; how many times as large an error of a speed may be; error of the
#: last step; error [J] that work and dissipated energy may have in a step; energies less work done where the
#: run begins, what errors have added to them since [J], and how often that was more than a run may have
CONTROL = 15
(
    RTOL,
    STEP,
    LARGEST,
    TIME,
    ACCEPTED,
    REJECTED,
    EVALUATIONS,
    BOUND,
    COLUMN,
    OF_SPEEDS,
    PREVIOUS,
    OF_ENERGIES,
    BEGUN,
    MADE,
    SPENT,
) = range(CONTROL)

#: how a call ends, beside numerics/stepping/fixed.py: the step became too small; a step is made, as asked for
DONE, NOT_FINITE, DIVERGED, TOO_SMALL, STEPPED = range(5)
