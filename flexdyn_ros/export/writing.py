"""Files that are written all or none."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp

from flexdyn_ros.errors import ExportError


def write_all(folder: Path, files: dict[str, str]) -> list[Path]:
    """Write files into a folder: all, or none where that fails.

    Raises
    ------
    ExportError
    """
    with writing(folder) as room:
        for name, text in files.items():
            (room / name).write_text(text, encoding="utf-8")
        for name in files:
            os.replace(room / name, folder / name)
    return [folder / name for name in files]


@contextmanager
def writing(folder: Path) -> Iterator[Path]:
    """A room beside the files that are to be written; ExportError if the folder cannot be written to."""
    room = None
    try:
        folder.mkdir(parents=True, exist_ok=True)
        room = Path(mkdtemp(prefix=".flexdyn-", dir=folder))
        yield room
    except OSError as error:
        reason = error.strerror or str(error)
        raise ExportError(f"{folder} cannot be written to: {reason}; expected a folder of yours") from error
    finally:
        if room is not None:
            for file in room.iterdir():
                file.unlink()
            room.rmdir()
