"""Lets Numba find BLAS without the 0.2 s that importing all of scipy.linalg costs.

Whenever Numba loads its first kernel it imports `scipy.linalg.cython_blas`, only to see that it is there.
That one extension module is loaded here by itself; `import scipy.linalg` later does what it always does.
Where anything is not as expected, nothing is done and Numba's own import takes place.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from pathlib import Path

__all__ = ["offer_blas"]

_NAME = "scipy.linalg.cython_blas"


def offer_blas() -> None:
    """Put `scipy.linalg.cython_blas` among the loaded modules, unless scipy.linalg is there already."""
    if "scipy.linalg" in sys.modules or _NAME in sys.modules:
        return
    with suppress(Exception):
        import scipy

        folder = str(Path(scipy.__file__).parent / "linalg")
        spec = PathFinder.find_spec(_NAME, [folder])
        if spec is None or spec.loader is None:
            return
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
        if "scipy.linalg" not in sys.modules:
            sys.modules[_NAME] = module
