"""Identification: from measurements to a description, of robots that are rigid and of robots that bend."""

from typing import TYPE_CHECKING

from flexdyn_ros.faces import lazily

if TYPE_CHECKING:
    from flexdyn_ros.identification.base import BaseParameters, base_parameters
    from flexdyn_ros.identification.excitation import excite, write_joint_trajectory
    from flexdyn_ros.identification.faults import Fault
    from flexdyn_ros.identification.fitted import Samples, Whiteness
    from flexdyn_ros.identification.identified import Identified
    from flexdyn_ros.identification.linear.fit import HeldOut, cross_validation, fit_linear, predicted_efforts
    from flexdyn_ros.identification.measurement import Measurement
    from flexdyn_ros.identification.output.fit import fit_output, predicted_outputs
    from flexdyn_ros.identification.output.modal_table import ModalTable

__all__ = [
    "BaseParameters",
    "Fault",
    "HeldOut",
    "Identified",
    "Measurement",
    "ModalTable",
    "Samples",
    "Whiteness",
    "base_parameters",
    "cross_validation",
    "excite",
    "fit_linear",
    "fit_output",
    "predicted_efforts",
    "predicted_outputs",
    "write_joint_trajectory",
]

__getattr__, __dir__ = lazily(__name__)
