"""Hypothesis strategies: robots and states, named by the seeds that make them (a failing seed can be run
again).
"""

import os
from functools import cache

import models
import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

import flexdyn_ros

settings.register_profile("flexdyn", deadline=None, max_examples=40, print_blob=True)
# kernels that are functions of Python are slow: a few robots, the same each time
settings.register_profile("interpreted", deadline=None, max_examples=4, derandomize=True)
settings.load_profile("interpreted" if os.environ.get("NUMBA_DISABLE_JIT") == "1" else "flexdyn")

seeds = st.integers(0, 10_000)


@cache
def _loaded(seed: int, options: tuple) -> flexdyn_ros.Robot | None:
    robot = flexdyn_ros.load(models.random_tree(seed, **dict(options)))
    return robot if robot.nv else None


def trees(**options):
    """Random trees that can move; options as of `models.random_tree`."""
    key = tuple(sorted(options.items()))
    return seeds.map(lambda seed: _loaded(seed, key)).filter(lambda robot: robot is not None)


def states():
    """Generators of random numbers for a state."""
    return seeds.map(np.random.default_rng)
