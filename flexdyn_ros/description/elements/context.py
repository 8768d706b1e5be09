"""What the checks of flexdyn elements need to know of the URDF around them."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, field

from flexdyn_ros.description.elements.description import Base, Joint, Link
from flexdyn_ros.description.language.statements import Statement
from flexdyn_ros.description.places import suggestion
from flexdyn_ros.description.urdf.sources import find_file, find_reference
from flexdyn_ros.errors import DescriptionError


@dataclass
class Context:
    """Links and joints by name, the file of the URDF, and the warnings so far; owner: the link or joint whose
    elements are read; base and flexible links, once they are known."""

    links: Mapping[str, Link]
    joints: Mapping[str, Joint]
    file: str | None
    warnings: list[str] = field(default_factory=list)
    owner: str = ""
    base: Base = field(default_factory=Base)
    flexible: Container[str] = ()

    def children(self, link: str) -> list[Joint]:
        return [joint for joint in self.joints.values() if joint.parent == link]

    def parent(self, link: str) -> Joint | None:
        return next((joint for joint in self.joints.values() if joint.child == link), None)

    def check_link(self, statement: Statement, attribute: str) -> None:
        """Refuse the name of a link that is not there."""
        name = statement.get(attribute)
        if name not in self.links:
            message = f"there is no link of that name{suggestion(name, self.links)}"
            statement.fail(message, attribute, "the name of a link")

    def find(self, statement: Statement, attribute: str) -> str:
        """Path of the file that an attribute names, relative to the file that names it; options name it for
        the caller, relative to the URDF."""
        place = statement.values[attribute].place
        try:
            if place.file == "options":
                return str(find_file(statement.get(attribute), beside=self.file))
            return str(find_reference(statement.get(attribute), place.file))
        except DescriptionError as error:
            statement.fail(error.message, attribute, error.expected)
