"""Where a description comes from, and which files it may name.

A source is either a *file*, which the user has named, or *text*: from a topic, a parameter, a service, a
recording, or an object of another library. A file may name files beside itself. Text is data of unknown
origin: it may name files inside packages only, and nothing in it is ever expanded or evaluated.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, get_args

from flexdyn_ros.description.places import suggestion
from flexdyn_ros.description.urdf.limits import FILE
from flexdyn_ros.errors import DescriptionError

#: what a source may be: "any" decides by its first letter, the others by what the caller knows
Origin = Literal["any", "text", "recording", "file"]
_PACKAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def resolve(source: object, origin: Origin = "any") -> tuple[str | bytes, str | None]:
    """Text of a source and the file it came from (None for text); nothing is expanded yet.

    source: path, name of a shipped robot, `package://` or `file://` URI, XML text (begins with `<`), or a
    urchin.URDF / urdfpy.URDF object. origin "text" or "recording": never the name of a file; "file": never
    text.
    """
    if origin not in get_args(Origin):
        raise DescriptionError("unknown origin", value=origin, expected=" or ".join(get_args(Origin)))
    is_data = origin in ("text", "recording")
    if isinstance(source, (str, bytes)) and origin != "file" and is_text(source):
        return source, None
    if is_data and isinstance(source, (str, bytes)):
        message = "not the text of a description (the name of a file is not accepted here)"
        raise DescriptionError(message, value=source[:80], expected="XML text, which begins with <")
    if isinstance(source, (str, os.PathLike)) and not is_data:
        path = find_file(os.fspath(source), shipped=True)
        return read_bytes(path, FILE.size), str(path)
    if isinstance(source, bytes):
        raise DescriptionError("bytes that are not XML", value=source[:40], expected="XML text")
    if hasattr(source, "links") and hasattr(source, "joints") and origin == "any":
        from flexdyn_ros.description.urdf.objects import urdf_text

        return urdf_text(source), None
    expected = "a path, a package:// URI, XML text, or a URDF object"
    raise DescriptionError("not a robot description", value=type(source).__name__, expected=expected)


def is_text(source: str | bytes) -> bool:
    """Does it look like XML rather than like the name of a file?"""
    if isinstance(source, bytes):
        return (
            source.lstrip().removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"<", b"") or b"\0" in source[:4]
        )
    return source.lstrip("\ufeff \t\r\n")[:1] in ("<", "")


def read_bytes(path: Path, most: int) -> bytes:
    """The content of a regular file of at most so many bytes."""
    try:
        with path.open("rb") as file:
            content = file.read(most + 1)
    except OSError as error:
        raise DescriptionError(f"cannot be read: {error.strerror}", file=str(path)) from None
    if len(content) > most:
        size = path.stat().st_size
        raise DescriptionError("the file is too large", file=str(path), value=f"{size} bytes",
                               expected=f"at most {most} bytes")  # fmt: skip
    return content


def find_file(name: str, *, beside: str | None = None, shipped: bool = False) -> Path:
    """The file that the user names by a path, `package://` or `file://` URI; relative to the file `beside` if
    that is given; with `shipped` also that of a robot that comes with this package."""
    if name.startswith("package://"):
        return _in_package(name, beside)
    path = Path(name.removeprefix("file://"))
    if beside is not None and not path.is_absolute():
        path = Path(beside).parent / path
    try:
        if path.is_file():
            return path
    except (OSError, ValueError):
        pass
    if shipped and len(name) < 100 and name.isidentifier():
        found = next(shipped_files(name), None)
        if found is not None:
            return found
    shown = name if len(name) < 200 else name[:200] + "..."
    message, expected = "no such file", "the name of a file that exists"
    if _is_folder(path):
        message, expected = "a folder, not a file", "the name of a file"
    if shipped:
        message += suggestion(name, shipped_names(), 0.6)
        expected += f", or of a shipped robot ({', '.join(shipped_names()) or 'none found'})"
    raise DescriptionError(message, file=beside or shown, value=shown, expected=expected)


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def find_reference(name: str, origin: str | None) -> Path:
    """The file that a description names: mesh, table, modes, blocks.

    origin: the file that names it, which may name any, relative to itself; None for text, which may
    name `package://` files only.
    """
    if origin is None and not name.startswith("package://"):
        raise DescriptionError(
            "text of unknown origin names a file outside packages",
            value=name if len(name) < 200 else name[:200] + "...",
            expected="package://PACKAGE/FILE; or save the text as a file and load that",
        )
    return find_file(name, beside=origin)


def shipped_names() -> list[str]:
    """Names of the robots that come with this package."""
    files = (path.name for share in own_share() for path in (share / "urdf").glob("*.urdf*"))
    return sorted({name.removesuffix(".xacro").removesuffix(".urdf") for name in files})


def shipped_files(name: str) -> Iterator[Path]:
    """The URDF or xacro of that name among the robots that come with this package."""
    for share in own_share():
        for ending in (".urdf", ".urdf.xacro"):
            if (share / "urdf" / (name + ending)).is_file():
                yield share / "urdf" / (name + ending)


def _in_package(uri: str, beside: str | None) -> Path:
    """The file of a `package://` URI. It lies in the share folder by its name: no `..`, no second root.
    Links in that folder are followed, for `colcon build --symlink-install` fills it with them."""
    package, _, rest = uri.removeprefix("package://").partition("/")
    parts = [part for part in rest.split("/") if part]
    if not _PACKAGE.fullmatch(package) or not parts or ".." in parts or "\0" in rest:
        shown = uri if len(uri) < 200 else uri[:200] + "..."
        message = "not the name of a file in a package"
        expected = "package://PACKAGE/FOLDER/FILE without '..'"
        raise DescriptionError(message, file=beside, value=shown, expected=expected)
    searched: list[str] = []
    for share in package_folders(package, beside):
        try:
            if share.joinpath(*parts).is_file():
                return share.joinpath(*parts)
        except OSError:
            pass
        searched.append(str(share))
    places = "in " + ", ".join(searched) if searched else "and the package itself was not found"
    message = f"no such file, {places}"
    raise DescriptionError(
        message, file=beside, value=uri, expected="a package on AMENT_PREFIX_PATH with this file"
    )


def package_folders(package: str, beside: str | None = None) -> Iterator[Path]:
    """Folders that may be the share folder of a package: ament, ROS 1, this package, parents of the naming
    file."""
    for prefix in _split_paths("AMENT_PREFIX_PATH"):
        if (prefix / "share" / package).is_dir():
            yield prefix / "share" / package
    for folder in _split_paths("ROS_PACKAGE_PATH"):
        for candidate in (folder, folder / package):
            if candidate.name == package and (candidate / "package.xml").is_file():
                yield candidate
    if package == "flexdyn_ros":
        yield from own_share()
    if beside is not None:
        for parent in Path(beside).resolve().parents:
            if parent.name == package or (
                (parent / "package.xml").is_file() and _package_name(parent) == package
            ):
                yield parent


def own_share() -> Iterator[Path]:
    """The folder that holds urdf/ and config/: the repository when run from it, else share/flexdyn_ros of
    an install."""
    import sys

    package = Path(__file__).resolve().parents[2]
    if (package.parent / "urdf").is_dir():
        yield package.parent
    for prefix in (*package.parents, Path(sys.prefix)):
        if (prefix / "share" / "flexdyn_ros").is_dir():
            yield prefix / "share" / "flexdyn_ros"


def _split_paths(variable: str) -> list[Path]:
    return [Path(part) for part in os.environ.get(variable, "").split(os.pathsep) if part]


def _package_name(folder: Path) -> str | None:
    from lxml import etree

    try:
        return etree.parse(folder / "package.xml").getroot().findtext("name")
    except (OSError, etree.XMLSyntaxError):
        return None
