"""Messages of rosbag2 recordings in SQLite (.db3), read only; what the file makes SQLite do is counted."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from flexdyn_ros.budget import Budget
from flexdyn_ros.errors import StateError
from flexdyn_ros.simulation.recordings.mcap_file import LARGEST_CHUNK, Message, Wants, kept

__all__ = ["sqlite_messages"]

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
