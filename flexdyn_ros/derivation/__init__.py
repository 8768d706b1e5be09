"""Closed-form equations of motion of small arms, derived by two methods, with counted operations (extra
`derive`)."""

from flexdyn_ros.derivation.derive import Derivation, derive
from flexdyn_ros.derivation.operations import Operations

__all__ = ["Derivation", "Operations", "derive"]
