"""Robot descriptions: strict reading of URDF with `<flexdyn>` elements into frozen records."""

from flexdyn_ros.description.elements import (
    Attach,
    Base,
    Beam,
    Body,
    Drive,
    DryFriction,
    FlexibleLink,
    Formulation,
    JointElasticity,
    JointSpring,
    ModalDamping,
    Modes,
    Road,
    Rotor,
    Section,
    Wheel,
)
from flexdyn_ros.description.platform_elements import Hydraulics, Leg, Platform
from flexdyn_ros.description.reader import read
from flexdyn_ros.description.reference_page import schema_table
from flexdyn_ros.description.robot import Inertial, Joint, Limit, Link, Mimic, Override, RobotDescription
from flexdyn_ros.description.xsd import schema_xsd

__all__ = [
    "Attach",
    "Base",
    "Beam",
    "Body",
    "Drive",
    "DryFriction",
    "FlexibleLink",
    "Formulation",
    "Hydraulics",
    "Inertial",
    "Joint",
    "JointElasticity",
    "JointSpring",
    "Leg",
    "Limit",
    "Link",
    "Mimic",
    "ModalDamping",
    "Modes",
    "Override",
    "Platform",
    "Road",
    "RobotDescription",
    "Rotor",
    "Section",
    "Wheel",
    "read",
    "schema_table",
    "schema_xsd",
]
