"""Files of an exported robot: all or none."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from flexdyn_ros.errors import ExportError
from flexdyn_ros.writing import beside, sync


def write_all(folder: Path, files: dict[str, str]) -> list[Path]:
    """Write files into a folder: all, or none where that fails.

    Raises
    ------
    ExportError
    """
    paths = [folder / name for name in files]
    with replacing(*paths) as drafts:
        for draft, text in zip(drafts, files.values(), strict=True):
            draft.write_text(text, encoding="utf-8")
    return paths


@contextmanager
def replacing(*paths: Path) -> Iterator[list[Path]]:
    """Paths to write to, in the place of files of one folder, which is made; ExportError if it cannot be
    written to."""
    folder = paths[0].parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with ExitStack() as stack:
            drafts = [stack.enter_context(beside(path)) for path in paths]
            yield drafts
            # a full disk is told before the first file is replaced
            for draft in drafts:
                sync(draft)
    except OSError as error:
        reason = error.strerror or str(error)
        raise ExportError(f"{folder} cannot be written to: {reason}; expected a folder of yours") from error
