"""The studies that come with the package, by their names."""

from __future__ import annotations

from pathlib import Path

from flexdyn_ros.description.urdf.sources import own_share
from flexdyn_ros.errors import UnknownNameError


def shipped_studies() -> dict[str, Path]:
    """Files of the shipped studies by their names."""
    found: dict[str, Path] = {}
    for share in own_share():
        for path in sorted((share / "config" / "studies").glob("*.yaml")):
            found.setdefault(path.stem, path)
    return found


def study_file(name: str) -> Path:
    """The file of that name, or of the shipped study of that name.

    Raises
    ------
    UnknownNameError
        If it is neither.
    """
    if Path(name).exists() or name.endswith((".yaml", ".yml")) or "/" in name:
        return Path(name)
    shipped = shipped_studies()
    if name not in shipped:
        raise UnknownNameError("study", name, shipped)
    return shipped[name]
