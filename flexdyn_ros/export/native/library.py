"""Libraries of C functions in the user's cache."""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

from flexdyn_ros import __version__
from flexdyn_ros.errors import ExportError
from flexdyn_ros.export.native.calls import headers
from flexdyn_ros.export.native.compiler import Compiler
from flexdyn_ros.numerics.compiling.cache_folder import cache_folder

#: no flag changes what numbers mean but the rounding of a b + c
FLAGS = ("-std=gnu11", "-O2", "-march=native", "-ffp-contract=fast", "-fno-math-errno", "-fno-trapping-math")


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
    found = folder / f"{key}.so"
    if found.exists():
        return found
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=".making-", dir=folder) as room:
            for name, text in texts.items():
                (Path(room) / name).write_text(text, encoding="utf-8")
            sources = [name for name in texts if name.endswith(".c")]
            include = () if headers() is None else (f"-I{headers()}",)
            os.replace(compiler.shared_library(Path(room), sources, "robot.so", (*flags, *include)), found)
    except OSError as error:
        raise ExportError(f"{folder} cannot be written to: {error.strerror or error}") from error
    return found
