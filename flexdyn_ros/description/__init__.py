"""Robot descriptions: strict reading of URDF with `<flexdyn>` elements into frozen records.

The records of `<flexdyn>` elements are in `elements`: `links`, `joints`, `wheels`, `platforms`.
"""

from flexdyn_ros.description.elements.description import Formulation, Joint, Override, RobotDescription
from flexdyn_ros.description.elements.urdf import Base, Inertial, Limit, Link, Mimic
from flexdyn_ros.description.reader import read

__all__ = [
    "Base",
    "Formulation",
    "Inertial",
    "Joint",
    "Limit",
    "Link",
    "Mimic",
    "Override",
    "RobotDescription",
    "read",
    "schema_table",
    "schema_xsd",
]


def schema_table() -> str:
    """The reference of all `<flexdyn>` elements as Markdown (docs/schema.md)."""
    from flexdyn_ros.description.language.reference_page import schema_table as table

    return table()


def schema_xsd() -> str:
    """The XSD of `<flexdyn>` blocks and of URDFs that hold them, for editors."""
    from flexdyn_ros.description.language.xsd import schema_xsd as xsd

    return xsd()
