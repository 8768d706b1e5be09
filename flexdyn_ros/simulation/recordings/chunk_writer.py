"""MCAP files in chunks, in memory that does not grow with the recording.

The writer of the mcap package keeps a kilobyte of objects for each chunk until the end. This one writes the
same records, and keeps the index of the chunks in a temporary file until the summary is written.
"""

from __future__ import annotations

import struct
import tempfile
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import IO, Any

import zstandard
from mcap import records
from mcap.data_stream import RecordBuilder
from mcap.opcode import Opcode

__all__ = ["ChunkWriter"]

MAGIC = b"\x89MCAP0\r\n"
COMPRESSION = "zstd"
#: opcode, length, channel, sequence, time of recording and of publication [ns]; length without the first two
MESSAGE, MESSAGE_LENGTH = struct.Struct("<BQHIQQ"), 22
#: opcode, length, channel, bytes of the entries; time [ns] and place in the chunk of a message
MESSAGE_INDEX, MESSAGE_INDEX_LENGTH = struct.Struct("<BQHI"), 6
ENTRY = struct.Struct("<QQ")
#: opcode, length, and what the checksum of the summary takes of the footer: two offsets
FOOTER_HEAD = struct.Struct("<BQQQ")
FOOTER_LENGTH = 20
#: bytes of the index that are copied at once
PIECE = 1 << 16


class ChunkWriter:
    """Messages, gathered in compressed chunks with an index each; `finish` writes the summary.

    Parameters
    ----------
    file : binary file
        Open for writing; stays open.
    profile, library : str
        For the header.
    chunk_size : int
        Bytes that are gathered before they are compressed and written.
    """

    def __init__(self, file: IO[bytes], *, profile: str, library: str, chunk_size: int) -> None:
        self._file, self._chunk_size = file, chunk_size
        self._compressor = zstandard.ZstdCompressor()
        self._chunk = bytearray()
        self._entries: dict[int, bytearray] = {}
        self._span = (0, 0)
        # records of the summary; those of chunks in a file: there are many in a long recording
        self._schemas: list[records.Schema] = []
        self._channels: list[records.Channel] = []
        self._notes: list[records.MetadataIndex] = []
        self._chunks: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  closed by close()
        self._counts: Counter[int] = Counter()
        self._chunk_count = 0
        self._whole: tuple[int, int] | None = None
        file.write(MAGIC + _packed(records.Header(profile, library)))

    def register_schema(self, name: str, encoding: str, data: bytes) -> int:
        """Number of a new schema."""
        self._schemas.append(
            records.Schema(id=len(self._schemas) + 1, data=data, encoding=encoding, name=name)
        )
        self._chunk += _packed(self._schemas[-1])
        return len(self._schemas)

    def register_channel(self, topic: str, encoding: str, schema: int, metadata: Mapping[str, str]) -> int:
        """Number of a new channel, whose messages have a schema."""
        number = len(self._channels) + 1
        channel = records.Channel(
            id=number, topic=topic, message_encoding=encoding, metadata=dict(metadata), schema_id=schema
        )
        self._channels.append(channel)
        self._chunk += _packed(channel)
        return number

    def add_message(self, channel: int, data: bytes, stamp: int, sequence: int = 0) -> None:
        """Append a message of a time [ns]."""
        entries = self._entries.get(channel)
        if entries is None:
            entries = self._entries[channel] = bytearray()
            if len(self._entries) == 1:
                self._span = (stamp, stamp)
        entries += ENTRY.pack(stamp, len(self._chunk))
        self._span = (min(stamp, self._span[0]), max(stamp, self._span[1]))
        length = MESSAGE_LENGTH + len(data)
        self._chunk += MESSAGE.pack(Opcode.MESSAGE, length, channel, sequence, stamp, stamp)
        self._chunk += data
        if len(self._chunk) > self._chunk_size:
            self._end_chunk()

    def add_metadata(self, name: str, content: Mapping[str, str]) -> None:
        """Append named texts."""
        record = _packed(records.Metadata(name=name, metadata=dict(content)))
        self._notes.append(records.MetadataIndex(offset=self._file.tell(), length=len(record), name=name))
        self._file.write(record)

    def flush(self) -> None:
        """Write what was gathered as a chunk and hand it to the system."""
        self._end_chunk()
        self._file.flush()

    def finish(self) -> None:
        """Write the last chunk, the summary and the footer."""
        self._end_chunk()
        self._file.write(_packed(records.DataEnd(0)))
        begin = self._file.tell()
        checksum, offsets = 0, []
        for opcode, pieces in self._summary():
            start = self._file.tell()
            for piece in pieces:
                checksum = zlib.crc32(piece, checksum)
                self._file.write(piece)
            if length := self._file.tell() - start:
                offsets.append(
                    records.SummaryOffset(group_opcode=opcode, group_start=start, group_length=length)
                )
        offsets_begin = self._file.tell()
        index = b"".join(map(_packed, offsets))
        checksum = zlib.crc32(index, checksum)
        checksum = zlib.crc32(FOOTER_HEAD.pack(Opcode.FOOTER, FOOTER_LENGTH, begin, offsets_begin), checksum)
        self._file.write(index + _packed(records.Footer(begin, offsets_begin, checksum)) + MAGIC)

    def close(self) -> None:
        """Let the temporary file go; again does nothing."""
        self._chunks.close()

    def _end_chunk(self) -> None:
        """Write the chunk and the index of its messages; a note of it goes to the index of chunks."""
        if not self._entries:
            return
        data = self._compressor.compress(self._chunk)
        start, end = self._span
        chunk = records.Chunk(
            compression=COMPRESSION,
            data=data,
            message_start_time=start,
            message_end_time=end,
            uncompressed_crc=zlib.crc32(self._chunk),
            uncompressed_size=len(self._chunk),
        )
        at, record = self._file.tell(), _packed(chunk)
        indices, places = bytearray(), {}
        for channel, entries in self._entries.items():
            places[channel] = at + len(record) + len(indices)
            length = MESSAGE_INDEX_LENGTH + len(entries)
            indices += MESSAGE_INDEX.pack(Opcode.MESSAGE_INDEX, length, channel, len(entries)) + entries
            self._counts[channel] += len(entries) // ENTRY.size
        self._file.write(record)
        self._file.write(indices)
        index = records.ChunkIndex(
            message_start_time=start,
            message_end_time=end,
            chunk_start_offset=at,
            chunk_length=len(record),
            message_index_offsets=places,
            message_index_length=len(indices),
            compression=COMPRESSION,
            compressed_size=len(data),
            uncompressed_size=len(self._chunk),
        )
        self._chunks.write(_packed(index))
        self._chunk_count += 1
        first, last = self._whole or self._span
        self._whole = (min(first, start), max(last, end))
        self._chunk.clear()
        self._entries.clear()

    def _summary(self) -> Iterator[tuple[int, Iterator[bytes]]]:
        """Opcode and records of each group of the summary."""
        yield Opcode.SCHEMA, map(_packed, self._schemas)
        yield Opcode.CHANNEL, map(_packed, self._channels)
        yield Opcode.STATISTICS, map(_packed, [self._statistics()])
        self._chunks.seek(0)
        yield Opcode.CHUNK_INDEX, iter(lambda: self._chunks.read(PIECE), b"")
        yield Opcode.METADATA_INDEX, map(_packed, self._notes)

    def _statistics(self) -> records.Statistics:
        start, end = self._whole or (0, 0)
        return records.Statistics(
            attachment_count=0,
            channel_count=len(self._channels),
            channel_message_counts=dict(self._counts),
            chunk_count=self._chunk_count,
            message_count=self._counts.total(),
            message_end_time=end,
            message_start_time=start,
            metadata_count=len(self._notes),
            schema_count=len(self._schemas),
        )


def _packed(record: Any) -> bytes:
    """Bytes of a record."""
    builder = RecordBuilder()
    record.write(builder)
    return builder.end()
