"""Closed-form equations of motion of small arms, derived by two methods, with counted operations (extra
`derive`)."""

from flexdyn_ros.derivation.arithmetic import Operations
from flexdyn_ros.derivation.derive import Derivation, derive

__all__ = ["Derivation", "Operations", "derive"]
