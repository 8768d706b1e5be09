"""Methods of fixed steps behind C addresses: the one that a simulation takes is compiled, the others are not.

Each writes the state q1, v1, account1 and effort1 at the end of a step of h from the time t on, from what
`start_step` of fixed.py left.
"""

from __future__ import annotations

from flexdyn_ros.numerics.compiling.callbacks import Callback, callback, caller

from .explicit import step_rk4, step_staggered
from .implicit import step_euler, step_rosenbrock
from .memory import RK4, ROSENBROCK, SEMI_IMPLICIT_EULER, STAGGERED

_SIGNATURE = "int64(int64, float64, float64)"
call_method = caller(_SIGNATURE)


@callback(_SIGNATURE)
def semi_implicit_euler(steps, t, h):
    """See implicit.py."""
    step_euler(steps, t, h)
    return 0


@callback(_SIGNATURE)
def rk4(steps, t, h):
    """See explicit.py."""
    step_rk4(steps, t, h)
    return 0


@callback(_SIGNATURE)
def rosenbrock(steps, t, h):
    """See implicit.py."""
    step_rosenbrock(steps, t, h)
    return 0


@callback(_SIGNATURE)
def staggered(steps, t, h):
    """See explicit.py."""
    step_staggered(steps, t, h)
    return 0


#: by the number of the method in memory.py
METHODS: dict[int, Callback] = {
    SEMI_IMPLICIT_EULER: semi_implicit_euler,
    RK4: rk4,
    ROSENBROCK: rosenbrock,
    STAGGERED: staggered,
}
