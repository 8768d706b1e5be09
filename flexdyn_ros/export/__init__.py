"""One robot, every target: its equations as C, as CasADi symbols, as an FMU, and compiled for itself.

All come from the kernels that the library computes with (docs/how-to/export.md).
"""

from typing import TYPE_CHECKING

from flexdyn_ros.faces import lazily

if TYPE_CHECKING:
    from flexdyn_ros.export.c_code.example import c
    from flexdyn_ros.export.fmi.controller import controller_fmu
    from flexdyn_ros.export.fmi.robot import fmu
    from flexdyn_ros.export.native.robots import specialized
    from flexdyn_ros.export.ros2_control.package import ros2_control
    from flexdyn_ros.export.symbolic import casadi

__all__ = ["c", "casadi", "controller_fmu", "fmu", "ros2_control", "specialized"]

__getattr__, __dir__ = lazily(__name__)
