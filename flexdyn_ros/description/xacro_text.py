"""Expansion of xacro, imported only when a description asks for it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from flexdyn_ros.errors import DescriptionError, MissingExtraError

_NAMESPACES = (b"http://www.ros.org/wiki/xacro", b"http://wiki.ros.org/xacro", b"http://ros.org/wiki/xacro")
_USED = re.compile(rb"<xacro:\w|\$\{|\$\(")
_COMMENT = re.compile(rb"<!--.*?-->", re.DOTALL)


def needs_expansion(raw: str | bytes, file: str | None) -> bool:
    """Is it xacro? By its name, or because it declares xacro's namespace and uses it."""
    if file is not None and file.endswith(".xacro"):
        return True
    data = raw.encode("utf-8", "replace") if isinstance(raw, str) else raw
    if not any(namespace in data for namespace in _NAMESPACES):
        return False
    return _USED.search(_COMMENT.sub(b"", data)) is not None


def expand(raw: str | bytes, file: str | None) -> str:
    """The text after expansion; DescriptionError if xacro refuses it."""
    try:
        import xacro
    except ImportError:
        raise MissingExtraError("xacro", "xacro") from None
    try:
        if file is not None:
            document = xacro.process_file(str(Path(file)))
        else:
            document = xacro.parse(raw if isinstance(raw, str) else raw.decode("utf-8"))
            xacro.init_stacks(None)
            xacro.process_doc(document)
        return document.toprettyxml(indent="  ")
    except (Exception, SystemExit) as error:  # noqa: BLE001 - xacro evaluates any Python expression
        raise _refusal(error, file) from None


def _refusal(error: Any, file: str | None) -> DescriptionError:
    """xacro raises what its Python expressions raise, so that anything may come."""
    kind = type(error).__name__
    message = f"xacro cannot expand it: {kind}: {error}".splitlines()[0]
    line = getattr(error, "lineno", None)
    return DescriptionError(message, file=file, line=line, element="xacro", expected="xacro that expands")
