"""What the builders of flexdyn elements need to know of the URDF around them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from flexdyn_ros.description.elements.description import Joint, Link
from flexdyn_ros.description.language.statements import Statement
from flexdyn_ros.description.urdf.sources import find_file, find_reference
from flexdyn_ros.errors import DescriptionError


@dataclass
class Context:
    """Links and joints by name, the file of the URDF, and the warnings so far."""

    links: Mapping[str, Link]
    joints: Mapping[str, Joint]
    root: str
    file: str | None
    warnings: list[str] = field(default_factory=list)

    def children(self, link: str) -> list[Joint]:
        return [joint for joint in self.joints.values() if joint.parent == link]

    def parent(self, link: str) -> Joint | None:
        return next((joint for joint in self.joints.values() if joint.child == link), None)

    def find(self, said: Statement, attribute: str) -> str:
        """Path of the file that an attribute names, relative to the file that says so; options name it for
        the caller, relative to the URDF."""
        place = said.values[attribute].place
        try:
            if place.file == "options":
                return str(find_file(said.get(attribute), beside=self.file))
            return str(find_reference(said.get(attribute), place.file))
        except DescriptionError as error:
            said.fail(error.message, attribute, error.expected)
