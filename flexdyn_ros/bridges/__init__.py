"""Bridges to tools that people have: python-control, SciPy, JAX, Denavit-Hartenberg tables."""

from typing import TYPE_CHECKING

from flexdyn_ros.faces import lazily

if TYPE_CHECKING:
    from flexdyn_ros.bridges.autodiff import JaxFunctions, jax_functions
    from flexdyn_ros.bridges.denavit_hartenberg import DenavitHartenberg, read_table
    from flexdyn_ros.bridges.linear_systems import LinearSystem, linear_system

__all__ = [
    "DenavitHartenberg",
    "JaxFunctions",
    "LinearSystem",
    "jax_functions",
    "linear_system",
    "read_table",
]

__getattr__, __dir__ = lazily(__name__)
