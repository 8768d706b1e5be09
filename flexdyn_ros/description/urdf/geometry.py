"""The description as a `urchin.URDF` object: visuals, collision shapes and meshes, by the urdfpy API."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from lxml import etree

from flexdyn_ros.description.elements.description import RobotDescription
from flexdyn_ros.description.urdf import markup
from flexdyn_ros.description.urdf.sources import find_reference
from flexdyn_ros.errors import DescriptionError, MissingExtraError

_GEOMETRY = ("link", "joint", "material")


def as_urchin(robot: RobotDescription) -> Any:
    """A `urchin.URDF` of the robot; meshes are loaded when first used.

    `package://` names of meshes become paths. What urchin asks for and many files lack (limits, inertia of
    frames)
    is filled in; tags of other tools are left out. Raises DescriptionError if urchin refuses what remains.
    """
    try:
        import urchin
    except ImportError:
        raise MissingExtraError("urchin", "") from None
    root = markup.parse(robot.text.encode("utf-8", "replace"), robot.file).root
    for child in list(root):
        if child.tag not in _GEOMETRY:
            root.remove(child)
    _name_materials_once(root)
    leaders = {joint.name: joint.mimic.joint for joint in robot.joints if joint.mimic is not None}
    for joint in root.findall("joint"):
        _complete_joint(joint)
        _settle_mimic(joint, leaders)
    for inertial in list(root.iter("inertial")):
        if inertial.find("mass") is None or inertial.find("inertia") is None:
            _remove(inertial)
    for shape in [*root.iter("visual"), *root.iter("collision")]:
        mesh = shape.find("geometry/mesh")
        if mesh is None:
            continue
        path = _mesh_file(mesh.get("filename", "").strip(), robot.file)
        if path is None:
            _remove(shape)
        else:
            mesh.set("filename", path)
    for texture in list(root.iter("texture")):
        path = _mesh_file(texture.get("filename", ""), robot.file)
        if path is None or not Path(path).is_file():
            _remove(texture)
        else:
            texture.set("filename", path)
    try:
        return urchin.URDF.load(_NamedBytes(root, robot.file), lazy_load_meshes=True)
    except Exception as error:
        message = f"urchin cannot read the geometry: {type(error).__name__}: {error}"
        raise DescriptionError(message, file=robot.file) from error


class _NamedBytes(io.BytesIO):
    """XML text that urchin takes for a file, so that it finds meshes beside it."""

    def __init__(self, root: markup.Element, file: str | None) -> None:
        super().__init__(etree.tostring(root))
        self.name = file or str(Path.cwd() / "robot.urdf")


def _name_materials_once(root: markup.Element) -> None:
    seen: set[str] = set()
    for material in root.findall("material"):
        name = material.get("name") or ""
        if not name or name in seen:
            root.remove(material)
        seen.add(name)


def _complete_joint(joint: markup.Element) -> None:
    """Effort and velocity are required by urchin; 0 and infinity do as well for a picture."""
    if joint.get("type") not in ("revolute", "prismatic", "continuous"):
        return
    limit = joint.find("limit")
    if limit is None:
        if joint.get("type") == "continuous":
            return
        limit = etree.SubElement(joint, "limit")
    for name in ("effort", "velocity"):
        if limit.get(name) is None:
            limit.set(name, "inf")
    for name in ("lower", "upper"):
        if limit.get(name) is None and joint.get("type") != "continuous":
            limit.set(name, "0" if limit.get("lower") or limit.get("upper") else _free(name))


def _remove(element: markup.Element) -> None:
    parent = element.getparent()
    if parent is not None:
        parent.remove(element)


def _settle_mimic(joint: markup.Element, leaders: dict[str, str]) -> None:
    """The leader as the reader understood it; none where the reader ignored it."""
    for mimic in joint.findall("mimic"):
        leader = leaders.get(joint.get("name", ""))
        if leader is None:
            joint.remove(mimic)
        else:
            mimic.set("joint", leader)


def _free(name: str) -> str:
    return "-1e9" if name == "lower" else "1e9"


def _mesh_file(name: str, origin: str | None) -> str | None:
    """The path of a mesh; the name itself where a file names one that is not found; None where there is
    nothing to open: no name, or text of unknown origin that names no file of a package."""
    if not name:
        return None
    try:
        return str(find_reference(name, origin).resolve())
    except DescriptionError:
        return None if origin is None else name
