"""The C compiler of this machine."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from flexdyn_ros.errors import ExportError

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
