"""What the programs of this folder have in common: the option --quick, and peers that may be missing."""

from __future__ import annotations

import argparse
import importlib
import sys
from types import ModuleType

__all__ = ["parser", "peer"]


def parser(description: str) -> argparse.ArgumentParser:
    """A parser that prints the description of a program as it stands there, with --quick."""
    made = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument(
        "--quick",
        action="store_true",
        help="run every part once at a tiny size, to see that it runs; figures mean nothing",
    )
    return made


def peer(module: str, package: str) -> ModuleType | None:
    """A module to compare with; None where it is not installed, which is said."""
    try:
        return importlib.import_module(module)
    except ImportError:
        sys.stderr.write(f"{package} is not installed (pip install {package}): nothing is compared with it\n")
        return None
