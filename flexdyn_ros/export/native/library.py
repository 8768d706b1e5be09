"""The C compiler of this machine, and libraries of C functions in the user's cache."""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

from flexdyn_ros import __version__
from flexdyn_ros.errors import ExportError
from flexdyn_ros.export.native.calls import headers
from flexdyn_ros.numerics.compiling.cache_folder import cache_folder
from flexdyn_ros.ownership import own_folder, stranger

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
