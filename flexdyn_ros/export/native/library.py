"""The C compiler of this machine, and libraries of C functions in the user's cache."""

from __future__ import annotations

import ctypes
import logging
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from flexdyn_ros import __version__
from flexdyn_ros.errors import ExportError
from flexdyn_ros.export.c_code.program import Program
from flexdyn_ros.export.c_code.text import c_comment
from flexdyn_ros.numerics.compiling.cache import cache_folder
from flexdyn_ros.ownership import own_folder, stranger
from flexdyn_ros.robot.coordinates import quaternions_of
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
    quaternions = [i for i, _ in quaternions_of(robot.coordinates)]
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


def bound_calls(
    functions: Any, library: ctypes.PyDLL, work: int, own: Mapping[str, Callable[..., Any]]
) -> dict[str, Callable[..., object]]:
    """The verbs of the robot over `functions`, by name.

    What they do not take (batches, lists, keywords, states that are none) goes to the methods of the robot,
    or to those in `own`. Forward dynamics of robots with prescribed coordinates stays with the method, which
    looks at efforts.
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
        method = own.get(verb) or partial(_general, functions, getattr(Robot, verb))
        found[verb] = make(number, (method, np.empty, shapes[verb], bytearray(8 * work)))
    return found


def _general(functions: Any, method: Callable[..., object], *arguments: Any, **options: object) -> Any:
    """A method of the robot over `functions`."""
    return method(functions.robot, *arguments, **options)


#: longest that a compiler may take [s]
_LIMIT = 600.0


class Compiler:
    """A C compiler: the words of its command, and what it says of its version."""

    def __init__(self, command: Sequence[str]) -> None:
        self.command = tuple(command)
        self.version = self._run([*self.command, "--version"], None).splitlines()[0]

    @classmethod
    def of_zig(cls, target: str) -> Compiler:
        """The compiler of the package ziglang, for another machine."""
        return cls((sys.executable, "-m", "ziglang", "cc", "-target", target))

    def shared_library(
        self, folder: Path, sources: Sequence[str], name: str, flags: Sequence[str] = ("-O2",)
    ) -> Path:
        """Compile files of a folder into a library there.

        Raises
        ------
        ExportError
            If the compiler fails; with what it said.
        """
        shared = ["-std=c99", *flags, "-shared", "-s"]
        if not name.endswith(".dll"):
            shared.append("-fPIC")
        self._run(
            [*self.command, *shared, *sources, "-o", name, *(["-lm"] if name.endswith(".so") else [])], folder
        )
        return folder / name

    def _run(self, command: Sequence[str], folder: Path | None) -> str:
        try:
            done = subprocess.run(
                command, cwd=folder, capture_output=True, text=True, timeout=_LIMIT, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise ExportError(f"the C compiler {' '.join(self.command)} cannot be run: {error}") from error
        if done.returncode:
            said = (done.stderr or done.stdout).strip()[-2000:]
            raise ExportError(f"the C compiler {' '.join(self.command)} failed: {said}")
        return done.stdout or done.stderr


@cache
def find_compiler() -> Compiler:
    """The compiler that CC names, else cc, gcc or clang.

    Raises
    ------
    ExportError
        If there is none.
    """
    wanted = os.environ.get("CC", "").split()
    for command in [wanted] if wanted else [["cc"], ["gcc"], ["clang"]]:
        if shutil.which(command[0]):
            return Compiler(command)
    raise ExportError(
        f"no C compiler: {' '.join(wanted) or 'cc, gcc, clang'} not found; expected one on PATH "
        "(Debian: apt install gcc), or its command in the environment variable CC"
    )


#: no flag changes what numbers mean but the rounding of a b + c
FLAGS = ("-std=gnu11", "-O2", "-march=native", "-ffp-contract=fast", "-fno-math-errno", "-fno-trapping-math")


@cache
def _passing_folder() -> TemporaryDirectory[str]:
    """A folder that ends with this process."""
    return TemporaryDirectory(prefix="flexdyn-native-")


def library_of(texts: dict[str, str], compiler: Compiler, flags: tuple[str, ...] = FLAGS) -> Path:
    """A library of C files {name: text}, compiled unless the cache has it.

    It is found again by the files, the compiler, its version and flags, and the version of this package;
    several processes may make the same one at a time.

    Raises
    ------
    ExportError
        If the compiler fails, or the cache cannot be written to.
    """
    parts = [
        __version__,
        *compiler.command,
        compiler.version,
        *flags,
        *(x for pair in texts.items() for x in pair),
    ]
    key = sha256("\0".join(parts).encode()).hexdigest()[:32]
    folder = cache_folder().parent / "native"
    try:
        folder, others = own_folder(folder)
        found = folder / f"{key}.so"
        # a library is run as soon as it is loaded
        if not others and found.is_file() and not found.is_symlink() and not stranger(found.stat(), found):
            return found
        if others:
            folder, found = Path(_passing_folder().name), Path(_passing_folder().name) / f"{key}.so"
            if found.exists():
                return found
            logging.getLogger(__name__).warning(
                "flexdyn_ros: %s, libraries are compiled in every process", others
            )
        with TemporaryDirectory(prefix=".making-", dir=folder) as room:
            for name, text in texts.items():
                (Path(room) / name).write_text(text, encoding="utf-8")
            sources = [name for name in texts if name.endswith(".c")]
            include = () if headers() is None else (f"-I{headers()}",)
            os.replace(compiler.shared_library(Path(room), sources, "robot.so", (*flags, *include)), found)
    except OSError as error:
        raise ExportError(f"{folder} cannot be written to: {error.strerror or error}") from error
    return found
