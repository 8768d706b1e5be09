"""Recordings as rosbag2 leaves them: MCAP files, SQLite files, and folders of either."""

from __future__ import annotations

import re
import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from os import PathLike
from pathlib import Path
from typing import Any

from flexdyn_ros.budget import MOST_BYTES, Budget
from flexdyn_ros.errors import StateError, UnknownNameError, needs
from flexdyn_ros.simulation.recordings.mcap_file import (
    LARGEST_CHUNK,
    Message,
    Note,
    Wants,
    kept,
    mcap_records,
)

__all__ = [
    "LARGEST_CHUNK", "MOST_BYTES", "Message", "Note", "Recording", "is_recording", "records",
    "sqlite_messages",
]  # fmt: skip


#: instructions of SQLite after which it is asked whether it may go on, and what they count as [bytes]
_INSTRUCTIONS, _WORK = 10_000, 1 << 19


def sqlite_messages(path: Path, budget: Budget, wants: Wants, topics: dict[str, str]) -> Iterator[Message]:
    """Messages of the topics that are wanted, in the order of writing; see `mcap_records`.

    Raises
    ------
    StateError
        If the file is no recording of rosbag2, is damaged, or holds more than is accepted.
    """
    # without a log of what is to be added nothing may be written beside it
    is_closed = not path.with_name(f"{path.name}-wal").exists()
    address = f"{path.resolve().as_uri()}?mode=ro{'&immutable=1' if is_closed else ''}"
    refused: list[StateError] = []

    def goes_on() -> int:
        try:
            budget.work(_WORK)
        except StateError as error:
            refused.append(error)
            return 1
        return 0

    try:
        with closing(sqlite3.connect(address, uri=True)) as base:
            base.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LARGEST_CHUNK)
            base.set_progress_handler(goes_on, _INSTRUCTIONS)
            base.execute("PRAGMA trusted_schema = OFF")
            yield from _messages(path, base, budget, wants, topics)
    except sqlite3.Error as error:
        if refused:
            raise refused[0] from None
        raise StateError(
            f"{path} is no sqlite recording of rosbag2, or damaged: {str(error)[:200]}; expected what "
            "`ros2 bag record` wrote"
        ) from None


def _messages(
    path: Path, base: sqlite3.Connection, budget: Budget, wants: Wants, topics: dict[str, str]
) -> Iterator[Message]:
    tables = base.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE 'CREATE TABLE%' "
        "AND name IN ('topics', 'messages')"
    )
    missing = {"topics", "messages"} - {name for (name,) in tables}
    if missing:
        raise StateError(f"{path} is no sqlite recording of rosbag2: it has no table {min(missing)!r}")
    chosen: dict[int, tuple[str, str]] = {}
    for number, topic, kind, form in base.execute("SELECT id, name, type, serialization_format FROM topics"):
        told = str(kind) if form == "cdr" else f"{kind} as {form}"
        budget.keep(len(str(topic)) + len(told), entries=1)
        topics[str(topic)] = told
        if wants(str(topic), told):
            chosen[number] = str(topic), told
    for number, stamp, data in base.execute("SELECT topic_id, timestamp, data FROM messages ORDER BY id"):
        if not isinstance(data, bytes) or not isinstance(stamp, int):
            raise StateError(f"{path} is damaged: a message is no bytes, or its time no number")
        budget.work(len(data), entries=1)
        if number not in chosen:
            continue
        yield Message(*chosen[number], kept(data, budget), stamp)


_READERS: dict[str, Any] = {".mcap": mcap_records, ".db3": sqlite_messages}
_PACKED = (".zstd", ".zst")
METADATA = "metadata.yaml"
#: bytes of it, and files of a recording
_LONGEST_METADATA, _MOST_FILES = 1 << 24, 10_000


def is_recording(path: str | PathLike[str]) -> bool:
    """Whether a path is, by its name, a recording: an .mcap or .db3 file, or a folder."""
    return Path(path).is_dir() or _kind(Path(path)) in _READERS


class Recording:
    """A recording that is read, perhaps more than once, within one budget.

    Parameters
    ----------
    path : path
        A .mcap or .db3 file (also .mcap.zstd, .db3.zstd), or a folder of rosbag2: its files are those of its
        metadata.yaml, in their order; without one those that lie in it.
    most_bytes : int
        What it may take in memory.

    Attributes
    ----------
    topics : dict of topic to type
        Of what has been read.

    Raises
    ------
    StateError
        If there is no such file, or no recording in the folder.
    """

    def __init__(self, path: str | PathLike[str], most_bytes: int = MOST_BYTES) -> None:
        self.path, self.topics = path, dict[str, str]()
        self._files = _files(Path(path))
        sizes = [file.stat().st_size for file in self._files]
        self.budget = Budget(str(path), sum(sizes), most_bytes)

    def read(self, wants: Wants = lambda topic, kind: True) -> Iterator[Message | Note]:
        """Messages of topics that `wants(topic, type)`, and notes, in the order of writing."""
        for file in self._files:
            with ExitStack() as stack:
                plain = stack.enter_context(self._unpacked(file)) if file.suffix in _PACKED else None
                place = file if plain is None else Path(plain.name)
                yield from _READERS[_kind(file)](place, self.budget, wants, self.topics)

    def check(self, topics: Sequence[str], *kinds: str) -> None:
        """Raise an error that names what there is, unless chosen topics were in it, and of types that are
        read."""
        for topic in topics:
            UnknownNameError.check(f"topic in {self.path}", topic, tuple(self.topics))
            if self.topics[topic] not in kinds:
                raise StateError(
                    f"{self.path}: topic {topic} holds {self.topics[topic]}, expected {' or '.join(kinds)}"
                )

    def listed(self) -> str:
        """Topics and types, for messages."""
        told = [f"{topic} ({kind})" for topic, kind in self.topics.items()]
        return ", ".join(told[:8]) + (f" and {len(told) - 8} more" if len(told) > 8 else "") or "no topics"

    def _unpacked(self, file: Path) -> Any:
        """A file without its compression, for as long as it is read."""
        with needs("zstandard", "record"):
            import zstandard
        plain = tempfile.NamedTemporaryFile(suffix=_kind(file))  # noqa: SIM115  closed by who reads it
        try:
            with file.open("rb") as packed:
                reader = zstandard.ZstdDecompressor(max_window_size=LARGEST_CHUNK).stream_reader(packed)
                while part := reader.read(1 << 20):
                    self.budget.work(len(part))
                    plain.write(part)
            plain.flush()
        except zstandard.ZstdError as error:
            plain.close()
            raise StateError(f"{file} is damaged: {error}") from None
        except BaseException:
            plain.close()
            raise
        return plain


def records(
    path: str | PathLike[str], *, most_bytes: int = MOST_BYTES
) -> Iterator[tuple[str, Message | Note]]:
    """Contents of a recording in the order of writing: ("topic", message) and ("", note).

    Ends without complaint where a file ends that was not closed. What is read is counted before it is
    unpacked, whatever the file says of its size.

    Parameters
    ----------
    path : path
        A file or folder as of `Recording`.
    most_bytes : int
        Bytes of all messages and notes together.

    Raises
    ------
    StateError
        If it is no recording, is damaged, or holds more than is accepted.
    MissingExtraError
        If what unpacks it is not installed.
    """
    for record in Recording(path, most_bytes).read():
        yield (record.topic if isinstance(record, Message) else ""), record


def _kind(path: Path) -> str:
    name = path.with_suffix("") if path.suffix.lower() in _PACKED else path
    return name.suffix.lower()


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        if _kind(path) not in _READERS:
            raise StateError(f"{path} is no recording, expected .mcap, .db3, or a folder of rosbag2")
        return [path]
    metadata = path / METADATA
    found = _listed(metadata) if metadata.is_file() else _lying(path)
    if not found:
        raise StateError(
            f"{path} is a folder without a recording, expected {METADATA} and the .mcap or .db3 files "
            "that it names"
        )
    for file in found:
        if _kind(file) not in _READERS or not file.is_file():
            raise StateError(f"{metadata} names {file.name!r}, which is no .mcap or .db3 file in the folder")
    return found


def _listed(metadata: Path) -> list[Path]:
    """Files that the metadata of a recording name, in their order. They lie beside it: older versions put
    the name of the folder before."""
    import yaml

    if metadata.stat().st_size > _LONGEST_METADATA:
        raise StateError(f"{metadata} holds more than {_LONGEST_METADATA} bytes")
    try:
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        content = yaml.load(metadata.read_text("utf-8"), loader)
        names = content["rosbag2_bagfile_information"]["relative_file_paths"]
        found = [metadata.parent / Path(str(name)).name for name in names]
    except (yaml.YAMLError, UnicodeDecodeError, KeyError, TypeError, ValueError, RecursionError) as error:
        cause = f"{type(error).__name__}: {str(error)[:200]}"
        raise StateError(f"{metadata} does not name the files of a recording: {cause}") from None
    if len(found) > _MOST_FILES:
        raise StateError(f"{metadata} names {len(found)} files, expected at most {_MOST_FILES}")
    return found


def _lying(folder: Path) -> list[Path]:
    """Recordings that lie in a folder, numbers in their names in order."""
    found = [file for file in folder.iterdir() if _kind(file) in _READERS]
    return sorted(
        found, key=lambda file: [int(x) if x.isdigit() else x for x in re.split(r"(\d+)", file.name)]
    )
