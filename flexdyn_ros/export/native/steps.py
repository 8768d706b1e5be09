"""Fixed steps of robots that the C compiler compiled: their forward dynamics is that of the library."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from importlib.resources import files

import numpy as np

from flexdyn_ros.export.c_code.program import Program
from flexdyn_ros.numerics.stepping.table import ACCELERATE
from flexdyn_ros.robot.motion import Motion
from flexdyn_ros.robot.verbs import Robot


@dataclass(frozen=True)
class _Loaded:
    """A function of a library, as `Motion.functions` holds compiled ones; function: what it stands for."""

    address: int
    function: Callable[..., int]


def takes_steps(robot: Robot) -> bool:
    """Whether the steps of a robot may call a library: nothing else reads what its dynamics left behind."""
    motion = robot.motion
    return motion is not None and not motion.losses_follow


def step_sources(robot: Robot, made: Program) -> dict[str, str]:
    """C files {name: text} beside those of the robot."""
    motion = robot.motion
    assert motion is not None
    header = [
        f'#include "{made.name}.h"',
        f"#define NV {robot.nv}",
        f"#define OTHERS_WORK {motion.work_size}",
        f"#define ACCELERATE {made.name}_accelerate",
        f"#define ACCELERATE_IMPLICITLY {made.name}_accelerate_implicitly",
    ]
    source = (files("flexdyn_ros.export.native") / "sources" / "steps.c").read_text(encoding="utf-8")
    return {"steps.h": "\n".join(header) + "\n", "steps.c": source}


def native_motion(general: Motion, address: int, work: int, keep: object) -> Motion:
    """The motion of a robot with the function of a library at an address, which takes so much work memory."""

    def place(names: Iterable[str]) -> tuple[Motion, np.ndarray, np.ndarray]:
        found, bodies, points = general.place(names)
        return (native if found is general else found), bodies, points

    accelerate = _Loaded(address, general.functions[ACCELERATE].function)
    native = replace(
        general,
        functions={**general.functions, ACCELERATE: accelerate},  # type: ignore[dict-item]
        work_size=general.work_size + work,
        place=place,
        keep=(general.keep, keep),
    )
    return native
