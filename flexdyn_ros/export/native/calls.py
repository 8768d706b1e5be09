"""Functions of Python that go straight to the C of a robot, where Python's own headers are installed."""

from __future__ import annotations

import ctypes
import sysconfig
from collections.abc import Callable
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from flexdyn_ros.export.c_code.program import Program
from flexdyn_ros.export.c_code.text import c_comment
from flexdyn_ros.robot.verbs import Robot

_VERBS = ("inverse_dynamics", "forward_dynamics", "mass_matrix")


def headers() -> Path | None:
    """Folder of Python.h; None where it is not installed."""
    folder = Path(sysconfig.get_path("include"))
    return folder if (folder / "Python.h").exists() else None


def call_sources(robot: Robot, made: Program) -> dict[str, str]:
    """C files {name: text} beside those of the robot; none without the headers."""
    if headers() is None:
        return {}
    quaternions = [i for i, name in enumerate(robot.q_names) if name.endswith("/qx")]
    sizes = {"NQ": robot.nq, "NV": robot.nv, "NU": robot.nu, "FREE": len(quaternions)}
    functions = dict(zip(("INVERSE", "FORWARD", "MASS"), _VERBS, strict=True))
    lines = [
        f"/* {c_comment(robot.name)}, for Python {sysconfig.get_config_var('SOABI')} */",
        f'#include <math.h>\n#include "{made.name}.h"',
        *(f"#define {key} {size}" for key, size in sizes.items()),
        *(f"#define {key} {made.name}_{verb}" for key, verb in functions.items()),
        f"static const int quaternions[] = {{{', '.join(map(str, quaternions)) or '0'}}};",
    ]
    source = (files("flexdyn_ros.export.native") / "sources" / "call.c").read_text(encoding="utf-8")
    return {"calls.h": "\n".join(lines) + "\n", "call.c": source}


def bound_calls(functions: Any, library: ctypes.PyDLL, work: int) -> dict[str, Callable[..., object]]:
    """The verbs of the robot over `functions`, by name.

    What they do not take (batches, lists, keywords, states that are none) goes to the methods of the robot.
    Forward dynamics of robots with prescribed coordinates stays with the method, which looks at efforts.
    """
    make = library.flexdyn_bound
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_int, ctypes.py_object]
    robot = functions.general
    shapes: dict[str, object] = {"inverse_dynamics": robot.nu, "forward_dynamics": robot.nv}
    shapes["mass_matrix"] = (robot.nv, robot.nv)
    found = {}
    for number, verb in enumerate(_VERBS):
        if verb == "forward_dynamics" and functions.prescribed.any():
            continue
        method = partial(_general, functions, getattr(Robot, verb))
        found[verb] = make(number, (method, np.empty, shapes[verb], bytearray(8 * work)))
    return found


def _general(functions: Any, method: Callable[..., object], *arguments: Any, **options: object) -> Any:
    """A method of the robot over `functions`."""
    return method(functions.robot, *arguments, **options)
