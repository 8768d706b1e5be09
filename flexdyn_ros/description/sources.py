"""Where a description comes from: path, package:// URI, XML text, xacro, or a URDF object of urchin or
urdfpy."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from flexdyn_ros.errors import DescriptionError


def resolve(source: Any) -> tuple[str | bytes, str | None]:
    """Text of a source and the file it came from (None for text); nothing is expanded yet.

    source: path, name of a shipped robot, `package://` or `file://` URI, XML text (begins with `<`), or a
    urchin.URDF / urdfpy.URDF
    object.
    """
    if isinstance(source, (str, bytes)) and is_text(source):
        return source, None
    if isinstance(source, (str, os.PathLike)):
        path = find_file(os.fspath(source), shipped=True)
        return read_bytes(path), str(path)
    if isinstance(source, bytes):
        raise DescriptionError("bytes that are not XML", value=source[:40], expected="XML text")
    if hasattr(source, "links") and hasattr(source, "joints"):
        from flexdyn_ros.description.objects import urdf_text

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


def read_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise DescriptionError(f"cannot be read: {error.strerror}", file=str(path)) from None


def find_file(name: str, *, beside: str | None = None, shipped: bool = False) -> Path:
    """The file that a path, `package://` or `file://` URI names; relative to the file `beside` if that is
    given; with `shipped` also that of a robot that comes with this package."""
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
    expected = "the name of a file that exists"
    if shipped:
        expected += f", or of a shipped robot ({', '.join(shipped_names()) or 'none found'})"
    raise DescriptionError("no such file", file=beside or shown, value=shown, expected=expected)


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
    package, _, rest = uri.removeprefix("package://").partition("/")
    searched: list[str] = []
    for share in package_folders(package, beside):
        if (share / rest).is_file():
            return share / rest
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

    package = Path(__file__).resolve().parents[1]
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
