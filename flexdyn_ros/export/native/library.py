"""Libraries of C functions in the user's cache."""

from __future__ import annotations

import logging
import os
from functools import cache
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

from flexdyn_ros import __version__
from flexdyn_ros.errors import ExportError
from flexdyn_ros.export.native.calls import headers
from flexdyn_ros.export.native.compiler import Compiler
from flexdyn_ros.numerics.compiling.cache_folder import cache_folder
from flexdyn_ros.ownership import own_folder, stranger

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
