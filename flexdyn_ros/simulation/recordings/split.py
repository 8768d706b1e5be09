"""Split recordings: what the metadata.yaml of a rosbag2 folder (version 9) says of its files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

__all__ = ["Part", "Topic", "metadata_of"]


class Topic(NamedTuple):
    """Number of the channel in all files, name, type, YAML of the quality of service, hash of the type."""

    channel: int
    name: str
    kind: str
    qos: str
    fingerprint: str


@dataclass(slots=True)
class Part:
    """A file: times [ns] of its first, its earliest and its latest message, number of messages."""

    name: str
    begin: int = 0
    earliest: int = 0
    latest: int = 0
    messages: int = 0

    def add(self, stamp: int) -> None:
        """Take in a message."""
        if not self.messages:
            self.begin = self.earliest = self.latest = stamp
        self.earliest, self.latest = min(self.earliest, stamp), max(self.latest, stamp)
        self.messages += 1

    def facts(self) -> dict[str, object]:
        """Times and number, as of a file and of the whole."""
        return {
            "starting_time": {"nanoseconds_since_epoch": self.earliest},
            "duration": {"nanoseconds": self.latest - self.earliest},
            "message_count": self.messages,
        }


def metadata_of(parts: Sequence[Part], topics: Sequence[Topic], counts: Mapping[int, int]) -> str:
    """The text of metadata.yaml; counts: messages by channel."""
    import yaml

    filled = [part for part in parts if part.messages] or [Part("")]
    whole = Part(
        "",
        earliest=min(part.earliest for part in filled),
        latest=max(part.latest for part in filled),
        messages=sum(part.messages for part in filled),
    )
    listed = [
        {
            "topic_metadata": {
                "name": topic.name,
                "type": topic.kind,
                "serialization_format": "cdr",
                "offered_qos_profiles": yaml.safe_load(topic.qos),
                "type_description_hash": topic.fingerprint,
            },
            "message_count": counts.get(topic.channel, 0),
        }
        for topic in topics
    ]
    content = {
        "version": 9,
        "storage_identifier": "mcap",
        **whole.facts(),
        "topics_with_message_count": listed,
        "compression_format": "",
        "compression_mode": "",
        "relative_file_paths": [part.name for part in parts],
        "files": [{"path": part.name, **part.facts()} for part in parts],
        "custom_data": None,
        "ros_distro": "jazzy",
    }
    return yaml.safe_dump({"rosbag2_bagfile_information": content}, sort_keys=False)
