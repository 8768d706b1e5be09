"""The environment that set-up makes: where it lies, and what its parts are made from."""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path


class Environment:
    """Folders of an environment.

    Parameters
    ----------
    root : the repository
    venv : the virtual environment: .venv, or .venv-X.Y for another Python than the default one
    home : 1: a sourced ROS 2 installation; 2: the ROS 2 wheels
    """

    def __init__(self, root: Path, venv: Path, home: int) -> None:
        self.root, self.venv, self.home = root, venv, home
        self.python = venv / "bin" / "python"
        self.stamps = venv / "flexdyn"
        # wheels of ROS 2: those of kilted, or of the distribution that ends the name of the environment
        distro = next((word for word in venv.name.split("-") if word.isalpha()), "")
        self.ros_list = f"scripts/requirements-ros{distro and '-'}{distro}.txt"
        #: build/ for .venv, build/X.Y for .venv-X.Y
        self.build = root / "build" / venv.name.partition("-")[2]
        self.logs = self.build / "setup"
        # where kernels are kept; the same rule as in flexdyn_ros/numerics/compiling/cache.py
        chosen = os.environ.get("NUMBA_CACHE_DIR")
        general = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        self.cache = (Path(chosen) / "flexdyn_ros" if chosen else general / "flexdyn_ros/kernels").absolute()
        # the Python under the virtual environment; where there is none yet, the one that will make it
        made = os.access(self.python, os.X_OK)
        self.maker = (
            self.python if made else Path(getattr(sys, "_base_executable", sys.executable))
        ).resolve()
        #: X.Y of the environment's Python; before that, of the Python that makes it
        self.version = ".".join(self._full_version().split(".")[:2])

    def _full_version(self) -> str:
        try:
            lines = (self.venv / "pyvenv.cfg").read_text().splitlines()
        except OSError:
            lines = []
        return next(
            (line.partition("=")[2].strip() for line in lines if line.startswith("version ")), sys.version
        )

    def hash_of(self, *names: str) -> str:
        """Hash of names and contents of the files that these paths of the repository are or hold."""
        digest = hashlib.sha256()
        for name in names:
            path = self.root / name
            for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
                if file.is_file() and "__pycache__" not in file.parts:
                    digest.update(f"{file.relative_to(self.root)}\0".encode())
                    digest.update(hashlib.sha256(file.read_bytes()).digest())
        return digest.hexdigest()[:32]
