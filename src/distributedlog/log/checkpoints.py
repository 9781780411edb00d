"""Kafka's text checkpoints: small files that are replaced whole.

    0                   version of the format
    2                   number of entries that follow
    orders 0 1571       one entry a line, its fields parted by blanks
    orders 1 1570

A data directory has one OffsetCheckpoint for each of: how far its logs are on the disk
(`recovery-point-offset-checkpoint`), how far they are replicated (`replication-offset-checkpoint`), where
they begin (`log-start-offset-checkpoint`) and how far they are compacted (`cleaner-offset-checkpoint`).
A missing or empty file means that there are no entries, as in Kafka, which creates empty ones.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from distributedlog.log.errors import CorruptLog
from distributedlog.log.files import Files

RECOVERY_POINT_CHECKPOINT: Final = "recovery-point-offset-checkpoint"
HIGH_WATERMARK_CHECKPOINT: Final = "replication-offset-checkpoint"
LOG_START_OFFSET_CHECKPOINT: Final = "log-start-offset-checkpoint"
CLEANER_CHECKPOINT: Final = "cleaner-offset-checkpoint"

CHECKPOINT_VERSION: Final = 0
_INTEGER: Final = re.compile(r"-?[0-9]{1,19}")
_INT32_MAX: Final = 2**31 - 1
_INT64_MAX: Final = 2**63 - 1


class CheckpointLine:
    """One entry while it is read; every complaint about it names its line, its text and its place."""

    __slots__ = ("_path", "_position", "number", "text")

    def __init__(self, path: str, number: int, position: int, text: str) -> None:
        self._path = path
        self.number = number
        self._position = position
        self.text = text

    def fields(self, count: int) -> list[str]:
        parts = self.text.split()
        if len(parts) != count:
            raise self.corrupt(f"{count} fields expected")
        return parts

    def integer(self, text: str, low: int, high: int) -> int:
        if not _INTEGER.fullmatch(text) or not low <= int(text) <= high:
            raise self.corrupt(f"{text!r} is not a number from {low} to {high}")
        return int(text)

    def corrupt(self, reason: str) -> CorruptLog:
        return CorruptLog(self._path, self._position, f"line {self.number}, {self.text[:200]!r}: {reason}")


def encode_checkpoint(entries: Iterable[str]) -> bytes:
    lines = list(entries)
    return "\n".join([str(CHECKPOINT_VERSION), str(len(lines)), *lines, ""]).encode()


def decode_checkpoint(path: str, data: bytes) -> list[CheckpointLine]:
    """The entries' lines, their number checked against the count; CorruptLog for anything else.

    The last line must end too, where Kafka's reader is lax: a number cut short would still be a number.
    """
    if not data:
        return []
    if not data.endswith(b"\n"):
        raise CorruptLog(path, len(data), "the file ends within a line")
    lines = list(_lines(path, data))
    version = lines[0].integer(lines[0].text, -_INT32_MAX, _INT32_MAX)
    if version != CHECKPOINT_VERSION:
        raise lines[0].corrupt(f"this program knows version {CHECKPOINT_VERSION} of checkpoints")
    if len(lines) == 1:
        raise CorruptLog(path, len(data), "the file ends before the number of entries")
    count = lines[1].integer(lines[1].text, 0, _INT32_MAX)
    if count != len(lines) - 2:
        raise lines[1].corrupt(f"{count} entries announced, {len(lines) - 2} found")
    return lines[2:]


def _lines(path: str, data: bytes) -> Iterator[CheckpointLine]:
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise CorruptLog(path, error.start, "not UTF-8 text") from error
    position = 0
    for number, line in enumerate(text[:-1].split("\n"), start=1):
        yield CheckpointLine(path, number, position, line.removesuffix("\r"))
        position += len(line.encode()) + 1


def read_checkpoint(files: Files, path: Path | str) -> list[CheckpointLine]:
    try:
        data = files.read_bytes(path)
    except FileNotFoundError:
        return []
    return decode_checkpoint(os.fspath(path), data)


class OffsetCheckpoint:
    """One offset for each partition of a data directory, the partitions named (topic, partition)."""

    __slots__ = ("_files", "path")

    def __init__(self, files: Files, path: Path | str) -> None:
        self._files = files
        self.path = path

    def read(self) -> dict[tuple[str, int], int]:
        """CorruptLog when any line is damaged: then no offset of the file is to be believed."""
        offsets: dict[tuple[str, int], int] = {}
        for line in read_checkpoint(self._files, self.path):
            topic, partition_text, offset_text = line.fields(3)
            key = (topic, line.integer(partition_text, 0, _INT32_MAX))
            if key in offsets:
                raise line.corrupt("this partition was listed before")
            offsets[key] = line.integer(offset_text, 0, _INT64_MAX)
        return offsets

    def write(self, offsets: Mapping[tuple[str, int], int]) -> None:
        """Replace the file; when this returns, the offsets survive a loss of power."""
        for (topic, partition), offset in offsets.items():
            if len(topic.split()) != 1 or topic.split()[0] != topic:
                raise ValueError(f"topic name {topic!r} is empty or holds blanks")
            if not 0 <= partition <= _INT32_MAX or not 0 <= offset <= _INT64_MAX:
                raise ValueError(f"partition {partition} or offset {offset} of {topic} is out of range")
        lines = (f"{topic} {partition} {offset}" for (topic, partition), offset in offsets.items())
        self._files.write_atomically(self.path, encode_checkpoint(lines))
