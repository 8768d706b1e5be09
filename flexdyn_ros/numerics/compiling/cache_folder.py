"""Where compiled kernels are kept on this machine; known without importing Numba."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """Folder below which compiled kernels are kept: NUMBA_CACHE_DIR, or our corner of the user's cache."""
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    if chosen:
        return Path(chosen) / "flexdyn_ros"
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "flexdyn_ros" / "kernels"
