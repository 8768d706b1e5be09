"""Identification: from measurements to a description, of robots that are rigid and of robots that bend."""

from typing import TYPE_CHECKING

from flexdyn_ros.faces import lazily

if TYPE_CHECKING:
    from flexdyn_ros.identification.base import BaseParameters, base_parameters
    from flexdyn_ros.identification.faults import Fault
    from flexdyn_ros.identification.measurement import Measurement

__all__ = ["BaseParameters", "Fault", "Measurement", "base_parameters"]

__getattr__, __dir__ = lazily(__name__)
