"""Energy of springs that stand on the ground without holding on to it (docs/theory/mobile.md).

Such a spring pushes by max(0, K s - D rate), where s is how much shorter than free it is and rate how fast it
lengthens. What it stores and what its damper takes follow from that force: stored energy + taken = work.
"""

from __future__ import annotations

from flexdyn_ros.numerics.compiling.compiler import kernel
from flexdyn_ros.numerics.numbers.functions import both, less, select


@kernel(forceinline=True)
def stored_length(unilateral, s):
    """The part of s that stores energy: beyond its free length the spring could not give it back."""
    return select(less(s, 0.0), 0.0 * s, s) if unilateral else s


@kernel(forceinline=True)
def taken_power(unilateral, K, D, s, force, rate, moving):
    """Power [W] that is lost while the spring pushes by `force`, that at `rate`, and lengthens at `moving`.

    In contact it is the damper's D rate moving. Where the ground lets go before the spring is as long as
    free, what that still holds is lost as it lengthens.
    """
    damped = D * rate * moving
    if unilateral:
        lost = (K * stored_length(unilateral, s) - force) * moving
        return select(both(less(0.0, force), less(0.0, s)), damped, lost)
    return damped
