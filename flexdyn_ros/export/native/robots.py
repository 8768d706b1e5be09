"""Robots whose dynamics the C compiler of this machine compiled."""

from __future__ import annotations

import ctypes
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any

import numpy as np

from flexdyn_ros.errors import ExportError, FlexdynWarning
from flexdyn_ros.export.c_code.dialects import Vectors
from flexdyn_ros.export.c_code.program import Program, program
from flexdyn_ros.export.c_code.text import not_read, text_of
from flexdyn_ros.export.native.kernels import entries as kernels
from flexdyn_ros.export.native.library import bound_calls, call_sources, find_compiler, library_of
from flexdyn_ros.export.tracing.equations import INNER, Equations
from flexdyn_ros.families.packing import Header
from flexdyn_ros.numerics.stepping.table import ACCELERATE
from flexdyn_ros.robot.arguments import Rows
from flexdyn_ros.robot.coordinates import quaternions_of
from flexdyn_ros.robot.functions import FamilyFunctions
from flexdyn_ros.robot.motion import Motion
from flexdyn_ros.robot.threads import run_in_slices
from flexdyn_ros.robot.verbs import Robot

_VERBS = ("inverse_dynamics", "forward_dynamics", "mass_matrix")


def specialized(robot: Robot) -> Robot:
    """The same robot, whose inverse and forward dynamics, mass matrix and fixed steps are compiled for it.

    The C compiler of this machine does it, once: the library lies in the user's cache. All verbs are there;
    with wrenches or prescribed accelerations, and for whatever is not dynamics, they are those of the robot
    itself. Robots made from it (`with_payload`, `with_parameters`) are ordinary ones.

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
    if isinstance(robot.functions, NativeFunctions):
        return robot
    return Robot(NativeFunctions(robot))  # type: ignore[arg-type]


class NativeFunctions:
    """The functions of a robot, the dynamics among them by a library of its own; see `FamilyFunctions`."""

    entries = kernels.verbs
    direct, by_mass_matrix = True, False

    def __init__(self, general: Robot) -> None:
        compiler, steps = find_compiler(), takes_steps(general)
        made = program(general, (*_VERBS, *INNER) if steps else _VERBS)
        rows, for_rows = lane_sources(general)
        texts = {f"{made.name}.h": made.header, f"{made.name}.c": made.source} | rows
        if steps:
            texts |= step_sources(general, made)
        calls = call_sources(general, made)
        self.general, self._functions = general, general.functions
        self._bound: dict[str, Any] = {}
        self._work_size, self._work_of_rows = max(made.work, 1), max(made.work, for_rows, 1)
        self._library = ctypes.PyDLL(str(library_of(texts | calls, compiler)))
        self._own_work = np.zeros(self._work_size)
        self._quaternions = np.array([i for i, _ in quaternions_of(general.coordinates)], dtype=np.int64)
        names = [*(f"{made.name}_{verb}" for verb in _VERBS), "flexdyn_inverse_rows", "flexdyn_forward_rows"]
        functions = [ctypes.cast(getattr(self._library, name), ctypes.c_void_p).value for name in names]
        turns = (self._quaternions.size, self._quaternions)
        self._header = Header(*functions, general.nq, general.nv, self._own_work, *turns)
        self.address = self._header.address
        if calls:
            self._bound = bound_calls(self, self._library, self._work_size)
        self.offers = (*self._functions.offers, *self._bound)

    def motion(self) -> Motion | None:
        """What compiled steps need, the library's dynamics where they may be."""
        general = self.general.motion
        function = getattr(self._library, "flexdyn_accelerate", None)
        if general is None or function is None:
            return general
        address = ctypes.cast(function, ctypes.c_void_p).value or 0
        return native_motion(general, address, self._work_size, self._library)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in ("_functions", "_bound"):
            raise AttributeError(name)
        if name in self._bound:
            return self._bound[name]
        return getattr(self._functions, name)

    def __reduce__(self) -> tuple[Any, ...]:
        return NativeFunctions, (self.general,)

    def inverse_dynamics_rows(
        self, rows: Rows, wrenches: Mapping[str, object] | None, tau: np.ndarray
    ) -> None:
        if wrenches:
            self._functions.inverse_dynamics_rows(rows, wrenches, tau)
        else:
            self._run("inverse_dynamics", rows, ("q", "v", "a"), tau)

    def forward_dynamics_rows(self, rows: Rows, wrenches: Mapping[str, object] | None, a: np.ndarray) -> None:
        if wrenches:
            self._functions.forward_dynamics_rows(rows, wrenches, a)
        else:
            self._run("forward_dynamics", rows, ("q", "v", "tau"), a)

    def mass_matrix_rows(self, rows: Rows, M: np.ndarray) -> None:
        self._run("mass_matrix", rows, ("q",), M)

    def _run(self, verb: str, rows: Rows, names: tuple[str, ...], result: np.ndarray) -> None:
        data, entry = {name: rows.take(name) for name in names}, getattr(self.entries, f"{verb}_many")

        def call(*arrays: np.ndarray) -> int:
            return entry(self.address, np.empty(self._work_of_rows), *arrays)

        if run_in_slices(call, [*data.values(), result]):
            # the general robot says what is wrong
            wrenches = () if verb == "mass_matrix" else (None,)
            getattr(self._functions, f"{verb}_rows")(rows, *wrenches, result)


FamilyFunctions.register(NativeFunctions)


#: samples that go together
LANES = 8


def lane_sources(robot: Robot) -> tuple[dict[str, str], int]:
    """C files {name: text}, and numbers of work memory for rows."""
    equations, parts, work = Equations(robot), [], 0
    for verb in ("inverse_dynamics", "forward_dynamics"):
        function = equations.function(verb)
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
    sizes = {"NQ": robot.nq, "NV": robot.nv, "NU": robot.nu}
    folder = files("flexdyn_ros.export.native") / "sources"
    source = "\n".join(
        [
            '#include "lanes.h"\n',
            *(f"#define {key} {size}" for key, size in sizes.items()),
            "",
            *parts,
            (folder / "rows.c").read_text(encoding="utf-8"),
        ]
    )
    return {"lanes.h": (folder / "lanes.h").read_text(encoding="utf-8"), "rows.c": source}, LANES * work


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
