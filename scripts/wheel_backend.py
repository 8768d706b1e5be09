"""What pip calls to build the package: setuptools, which needs what compiles kernels if there are any."""

from __future__ import annotations

import os

from setuptools import build_meta
from setuptools.build_meta import *  # noqa: F403


def get_requires_for_build_wheel(config_settings=None):
    """As pip asks: names of packages that a build needs."""
    compiler = ["numpy>=1.26", "scipy>=1.11", "numba>=0.61", "lxml>=5", "PyYAML>=6", "xacro>=2.0"]
    needed = build_meta.get_requires_for_build_wheel(config_settings)
    return [*needed, *(compiler if os.environ.get("FLEXDYN_KERNELS") else ())]
