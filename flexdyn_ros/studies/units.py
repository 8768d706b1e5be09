"""Units of parameters by their paths, from the declarations of the description."""

from __future__ import annotations

from flexdyn_ros.description.language.schema import JOINT, LINK, ROBOT
from flexdyn_ros.description.language.vocabulary import Element

_OF_PAYLOADS = {"mass": "kg", "com": "m", "inertia": "kg m2"}
_SCOPES = {"links": LINK, "joints": JOINT}


def unit_of_path(path: str) -> str:
    """The unit of what a dotted path of options or payloads sets; empty if none is declared."""
    words = path.split(".")
    if words[0] == "payload":
        return _OF_PAYLOADS.get(words[-1], "")
    if words[0] == "urdf":
        return ""
    element: Element = _SCOPES.get(words[0], ROBOT)
    for word in words if element is ROBOT else words[1:]:
        found = element.child(word)
        if found is not None:
            element = found
    last = element.setting(words[-1])
    return last.unit if last is not None and last.unit != "-" else ""
