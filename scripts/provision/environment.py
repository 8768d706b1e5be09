"""The environment that set-up makes: where it lies, and what its parts are made from."""

from __future__ import annotations

import hashlib
import os
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path


@dataclass(frozen=True)
class Environment:
    """Folders of an environment.

    Attributes
    ----------
    root
        The repository.
    venv
        The virtual environment: .venv, or .venv-X.Y for another Python than the default one.
    home
        1: a sourced ROS 2 installation; 2: the ROS 2 wheels.
    """

    root: Path
    venv: Path
    home: int

    @property
    def python(self) -> Path:
        return self.venv / "bin" / "python"

    @property
    def stamps(self) -> Path:
        return self.venv / "flexdyn"

    @property
    def build(self) -> Path:
        """build/ for .venv, build/X.Y for .venv-X.Y."""
        return self.root / "build" / self.venv.name.partition("-")[2]

    @property
    def logs(self) -> Path:
        return self.build / "setup"

    @cached_property
    def cache(self) -> Path:
        """Where kernels are kept; the same rule as in flexdyn_ros/numerics/compiling/cache.py."""
        chosen = os.environ.get("NUMBA_CACHE_DIR")
        if chosen:
            return Path(chosen).absolute() / "flexdyn_ros"
        home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        return Path(home).absolute() / "flexdyn_ros" / "kernels"

    @cached_property
    def maker(self) -> Path:
        """The Python under the virtual environment; where there is none yet, the one that will make it."""
        if self.python.exists() and os.access(self.python, os.X_OK):
            return self.python.resolve()
        return Path(getattr(sys, "_base_executable", sys.executable)).resolve()

    @cached_property
    def version(self) -> str:
        """X.Y of the environment's Python, as in pyvenv.cfg; before that, of the Python that makes it."""
        try:
            lines = (self.venv / "pyvenv.cfg").read_text().splitlines()
        except OSError:
            lines = []
        values = dict(line.replace(" ", "").split("=", 1) for line in lines if "=" in line)
        return ".".join(values.get("version", sys.version).split(".")[:2])

    def hash_of(self, *names: str) -> str:
        """Hash of names and contents of the files that these paths of the repository are or hold."""
        digest = hashlib.sha256()
        for name in names:
            path = self.root / name
            files = sorted(path.rglob("*")) if path.is_dir() else [path]
            for file in files:
                if file.is_file() and "__pycache__" not in file.parts:
                    digest.update(f"{file.relative_to(self.root)}\0".encode())
                    digest.update(hashlib.sha256(file.read_bytes()).digest())
        return digest.hexdigest()[:32]
