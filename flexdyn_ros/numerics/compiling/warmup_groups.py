"""Groups of kernels that are compiled beforehand (see warmup.py).

A new kernel needs no line here: it belongs to `common` and `all`.
"""

from __future__ import annotations

from typing import NamedTuple


class Groups(NamedTuple):
    """Patterns of names of entries, relative to the package that they are said for; `*` goes across dots.

    demo : all that scripts/demo calls, in every group
    start : what is compiled first, beside `demo`; with it at most five minutes of processor time
    rare : what few people call and what takes long, in group `all` alone
    longest : what takes longest to compile, and so is begun first
    """

    demo: tuple[str, ...] = ()
    start: tuple[str, ...] = ()
    rare: tuple[str, ...] = ()
    longest: tuple[str, ...] = ()


_TREES = tuple(f"families.trees.{links}.kernels" for links in ("rigid", "flexible"))
#: functions of trees that Canadarm2 of the demo is loaded, simulated and slewed with
_OF_DEMO = (
    *("ready", "inverse", "inertia", "load", "mass", "status", "bias_terms", "energy"),
    *("slopes", "balance", "moved"),
)
_ELEMENTS = "families.trees.elements.kernels"
_ONE = ("observe_one", "place_one", "move_one", "identity_one", "subtract_one")

#: groups of this package
OURS = Groups(
    demo=(
        *("numerics.compiling.direct.*", "numerics.stepping.methods.r*"),
        *(f"numerics.stepping.fixed.{name}" for name in ("advance", "prepare_steps")),
        *(f"numerics.verbs.dynamics.{name}" for name in ("inverse_one", "make_ready")),
        *(f"numerics.verbs.observers.{name}" for name in _ONE),
        *(f"numerics.verbs.derivatives.{name}" for name in ("linearize_one", "slopes_many")),
        *(f"{trees}.entries.{name}" for trees in _TREES for name in _OF_DEMO),
        *(f"{trees}.steps.*" for trees in _TREES),
        f"{_TREES[0]}.entries.integrate_many",
        "expanded.kernels.kinematics.bent_frames",
    ),
    start=(
        *(f"numerics.stepping.{module}.*" for module in ("controlled", "fixed", "methods")),
        *(f"numerics.verbs.{module}.*" for module in ("dynamics", "observers", "derivatives", "partial")),
        *(f"{trees}.entries.{name}" for trees in _TREES for name in ("forward", "frames", "jacobian")),
        f"{_TREES[0]}.entries.difference_many",
        *("families.trees.flexible.*.inverse_on_lanes", "families.continuum.kernels.entries.slopes"),
    ),
    rare=(
        *("*.entries.momenta", "*.accelerate_densely", "families.trees.rigid.kernels.coriolis.*"),
        *("families.trees.lagrange.*", "families.trees.loops.*", f"{_ELEMENTS}.*.inverse_on_lanes"),
        *(
            f"{_ELEMENTS}.{module}.*"
            for module in ("dense", "inertias", "joined*", "parts", "steps", "verbs")
        ),
        *(f"{_ELEMENTS}.oil.{name}" for name in ("comply", "settle")),
        *(f"{_ELEMENTS}.standing.{name}" for name in ("balance", "slopes", "forward_dynamics_one")),
        *(f"multibody.elements.kernels.{module}.*" for module in ("lines", "legs")),
        *(f"multibody.elements.kernels.standing.{name}" for name in ("legs*", "lines*", "*_tangents")),
        *(f"multibody.elements.cylinder.kernels.entries.{name}" for name in ("tick", "stored")),
        *(f"multibody.elements.cylinder.kernels.forces.{name}" for name in ("rest", "accept", "settle")),
        *("families.platform.kernels.entries.slopes", "families.platform.kernels.entries.reactions_many"),
        *("families.wheeled.kernels.entries.slopes", "families.wheeled.kernels.entries.joint_forces_many"),
    ),
    longest=("families.trees.flexible.kernels.steps.accelerate*",),
)
