"""Robots whose dynamics the C compiler of this machine compiled."""

from __future__ import annotations

import ctypes
import warnings
from collections.abc import Callable, Mapping
from functools import wraps
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np

from flexdyn_ros.errors import ExportError, FlexdynWarning
from flexdyn_ros.export.c_code.dialects import Vectors
from flexdyn_ros.export.c_code.program import Program, program
from flexdyn_ros.export.c_code.text import not_read, text_of
from flexdyn_ros.export.native.library import bound_calls, call_sources, find_compiler, library_of
from flexdyn_ros.export.tracing.equations import INNER, Function
from flexdyn_ros.numerics.compiling.status import NOT_FINITE
from flexdyn_ros.robot.arguments import Rows
from flexdyn_ros.robot.functions import FamilyFunctions
from flexdyn_ros.robot.threads import run_in_slices
from flexdyn_ros.robot.verbs import Robot

_VERBS = ("inverse_dynamics", "forward_dynamics", "mass_matrix")


def specialized(robot: Robot) -> Robot:
    """The same robot, whose inverse and forward dynamics, mass matrix and fixed steps are compiled for it.

    The C compiler of this machine does it, once: the library lies in the user's cache. All verbs are there;
    with wrenches or prescribed accelerations, and for whatever is not dynamics, they are those of the robot
    itself. So are steps of closed mechanisms, and what is said of their states that are open or singular.
    Robots made from it (`with_payload`, `with_parameters`) are ordinary ones.

    Returns
    -------
    Robot
        The robot itself, with a FlexdynWarning, if there is no compiler or it fails.

    Raises
    ------
    UnsupportedError
        If the equations of this robot cannot be written down.
    """
    try:
        return compiled_robot(robot)
    except ExportError as error:
        warnings.warn(f"robot {robot.name!r} is not specialized: {error}", FlexdynWarning, stacklevel=2)
        return robot


def compiled_robot(robot: Robot) -> Robot:
    """What `specialized` answers; ExportError if there is no compiler or it fails."""
    robot.functions.refuse("specialized")
    return robot if robot.functions.origin else Robot(compiled_functions(robot))


class _Loaded(NamedTuple):
    """A function of a library in a table; function: the one that it stands for, None where there was none."""

    address: int
    function: Callable[..., Any] | None


def compiled_functions(general: Robot) -> FamilyFunctions:
    """The functions of a robot, rows of whose table are those of a library of its own."""
    compiler, steps = find_compiler(), takes_steps(general)
    made = program(general, (*_VERBS, *INNER) if steps else _VERBS, certain=True)
    texts = {f"{made.name}.h": made.header, f"{made.name}.c": made.source}
    texts |= table_sources(general, made, steps)
    calls = call_sources(general, made)
    path = str(library_of(texts | calls, compiler))
    library = ctypes.PyDLL(path)

    functions: Any = type(general.functions)(*general.functions.recipe)
    of_family = functions.table
    # layers answer with these in place of the table, whose functions are those of the tree within
    own = {verb: getattr(functions.extras[verb], verb) for verb in _VERBS if verb in functions.extras}
    rows = {}
    for name in () if own else ("ready", "inverse", "forward", "inertia", "mass", *_OF_ROWS, "accelerate"):
        symbol = getattr(library, f"flexdyn_{'mass' if name == 'inertia' else name}", None)
        if symbol is not None:
            address = ctypes.cast(symbol, ctypes.c_void_p).value or 0
            rows[name] = _Loaded(address, of_family[name].function if name in of_family else None)
    functions.table = of_family.with_rows(rows)
    functions.origin = compiled_functions, general
    functions.direct, functions.by_mass_matrix, functions.singles = True, False, {}
    for name, verb in _OF_ROWS.items():
        if verb in own:
            own[verb] = _rows_first(functions, verb, own[verb], getattr(ctypes.CDLL(path), f"flexdyn_{name}"))
    bound = bound_calls(functions, library, max(made.work, 1), own) if calls else own
    vars(functions).update(bound, library=library)
    functions.offers = (*functions.offers, *bound)
    functions.extras = {name: part for name, part in functions.extras.items() if name not in bound}
    return functions


def _rows_first(
    functions: Any, verb: str, method: Callable[..., Any], of_rows: Any
) -> Callable[..., np.ndarray]:
    """A method of a layer that takes batches from a function of rows of samples, where all these have an
    answer."""
    names, nv, nu = ("q", "v", _THIRD[verb]), functions.nv, functions.nu
    third, result = (nu, nv) if verb == "forward_dynamics" else (nv, nu)
    of_rows.argtypes, of_rows.restype = [ctypes.c_int64] * 6, ctypes.c_int64

    def call(*arrays: np.ndarray) -> int:
        return int(of_rows(0, *(x.ctypes.data for x in arrays), len(arrays[0])))

    @wraps(method)
    def answered(*arguments: Any, **options: Any) -> np.ndarray:
        if len(arguments) == 3 and not options:
            sizes = (functions.nq, nv, third)
            rows = Rows(dict(zip(names, zip(arguments, sizes, strict=True), strict=True)))
            data, found = {name: rows.take(name) for name in names}, np.empty((rows.count, result))
            if rows.count > 1:
                functions.check(data)
                run_in_slices(call, [*data.values(), found])
                if np.isfinite(found).all():
                    return found.reshape(*rows.shape, result)
        return np.asarray(method(*arguments, **options))

    return answered


#: last argument of the dynamics
_THIRD = {"inverse_dynamics": "a", "forward_dynamics": "tau"}
#: functions of rows of samples, by their names in a table
_OF_ROWS = {"inverse_of_rows": "inverse_dynamics", "forward_of_rows": "forward_dynamics"}


def lane_sources(functions: Mapping[str, Function]) -> tuple[list[str], int]:
    """C of the dynamics on lanes, and numbers of its work memory."""
    parts, work = [], 0
    for verb in _OF_ROWS.values():
        function = functions[verb]
        text = text_of(function, "lanes", Vectors())
        inputs = ", ".join(f"const vec *{name}" for name, _ in function.inputs)
        (output,) = (name for name, _ in function.outputs)
        calls = "\n".join(f"    {call}" for call in text.calls)
        unused = not_read((*(name for name, _ in function.inputs), output, "work"), calls)
        parts += [
            *text.pieces,
            f"static void lanes_{verb}({inputs}, vec *{output}, vec *work)\n{{\n{unused}{calls}\n}}\n",
        ]
        work = max(work, text.work)
    return parts, work


def takes_steps(robot: Robot) -> bool:
    """Whether the steps of a robot may call a library: nothing else reads what its dynamics left behind."""
    motion = robot.motion
    return motion is not None and not (motion.losses_follow or robot.functions.is_constrained)


def table_sources(robot: Robot, made: Program, steps: bool) -> dict[str, str]:
    """C files {name: text} of the functions of the table, beside those of the robot."""
    parts, work = lane_sources(made.functions)
    names = {"INVERSE": "inverse_dynamics", "FORWARD": "forward_dynamics", "MASS": "mass_matrix"}
    if steps:
        names |= {"ACCELERATE": "accelerate", "ACCELERATE_IMPLICITLY": "accelerate_implicitly"}
    numbers = {"NQ": robot.nq, "NV": robot.nv, "NU": robot.nu, "WORK": max(made.work, 1)}
    numbers |= {"NOT_FINITE": NOT_FINITE, "WORK_ON_LANES": max(work, 1)}
    header = [
        f'#include "{made.name}.h"',
        *(f"#define {key} {number}" for key, number in numbers.items()),
        *(f"#define {key} {made.name}_{name}" for key, name in names.items()),
        '#include "lanes.h"\n',
        *parts,
    ]
    folder = files("flexdyn_ros.export.native") / "sources"
    found = {name: (folder / name).read_text(encoding="utf-8") for name in ("lanes.h", "table.c")}
    return found | {"table.h": "\n".join(header) + "\n"}
