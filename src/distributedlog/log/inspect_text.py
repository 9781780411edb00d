"""The small text files: leader epochs, offset checkpoints, partition.metadata, meta.properties.

Checkpoints are lines: a version, the number of entries, then one entry on each line.
"""

import base64
import binascii
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from distributedlog.log.inspect_events import (
    CheckpointEntry,
    Finding,
    FindingKind,
    LeaderEpochEntry,
    Property,
)

TEXT_SIZE_MAX: Final = 64 * 1024 * 1024
INT64_MAX: Final = 2**63 - 1
UUID_SIZE: Final = 16


def read_leader_epochs(path: Path) -> Iterator[LeaderEpochEntry | Finding]:
    """Epochs and their start offsets both rise from line to line."""
    before: LeaderEpochEntry | None = None
    for line_number, fields in _checkpoint_lines(path, ("epoch", "start offset")):
        if isinstance(fields, Finding):
            yield fields
            continue
        epoch, start_offset = _integer(fields[0]), _integer(fields[1])
        if epoch is None or start_offset is None:
            yield _line_finding(path, line_number, f"{' '.join(fields)!r} is no epoch and start offset")
            continue
        entry = LeaderEpochEntry(path, epoch, start_offset)
        yield entry
        if before is not None and (epoch <= before.epoch or start_offset <= before.start_offset):
            yield _line_finding(
                path,
                line_number,
                f"epoch {epoch} from offset {start_offset} does not come after "
                f"epoch {before.epoch} from offset {before.start_offset}",
            )
        before = entry


def read_offset_checkpoint(path: Path) -> Iterator[CheckpointEntry | Finding]:
    """One offset for each partition, each partition once."""
    seen = set()
    for line_number, fields in _checkpoint_lines(path, ("topic", "partition", "offset")):
        if isinstance(fields, Finding):
            yield fields
            continue
        partition, offset = _integer(fields[1]), _integer(fields[2])
        if partition is None or offset is None:
            yield _line_finding(path, line_number, f"{' '.join(fields)!r} is no topic, partition and offset")
            continue
        yield CheckpointEntry(path, fields[0], partition, offset)
        if (fields[0], partition) in seen:
            yield _line_finding(path, line_number, f"{fields[0]}-{partition} stands there twice")
        seen.add((fields[0], partition))


def read_partition_metadata(path: Path) -> Iterator[Property | Finding]:
    """``version: 0`` and ``topic_id:`` with a UUID in URL-safe base64 without padding."""
    properties = dict[str, str]()
    yield from _properties(path, ":", properties)
    if properties.get("version") != "0":
        yield _finding(path, FindingKind.METADATA, f"version is {properties.get('version')}, not 0")
    topic_id = properties.get("topic_id", "")
    if not _is_uuid(topic_id):
        yield _finding(path, FindingKind.METADATA, f"topic_id {topic_id!r} is no UUID in URL-safe base64")


def read_directory_properties(path: Path) -> Iterator[Property | Finding]:
    """meta.properties: ``version=1`` with cluster.id and node.id."""
    properties = dict[str, str]()
    yield from _properties(path, "=", properties)
    if properties.get("version") != "1":
        yield _finding(path, FindingKind.METADATA, f"version is {properties.get('version')}, not 1")
    for name in ("cluster.id", "node.id"):
        if not properties.get(name):
            yield _finding(path, FindingKind.METADATA, f"{name} is missing")


def _properties(path: Path, separator: str, properties: dict[str, str]) -> Iterator[Property | Finding]:
    text = _read(path)
    if isinstance(text, Finding):
        yield text
        return
    for line_number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        name, found, value = line.partition(separator)
        if not found:
            yield _line_finding(path, line_number, f"{_short(line)} is no property", FindingKind.METADATA)
            continue
        properties[name.strip()] = value.strip()
        yield Property(path, name.strip(), value.strip())


def _checkpoint_lines(path: Path, names: tuple[str, ...]) -> Iterator[tuple[int, list[str] | Finding]]:
    text = _read(path)
    if isinstance(text, Finding):
        yield 0, text
        return
    if not text:
        return  # as good as no file: Kafka creates them empty
    lines = text.split("\n")
    if len(lines) < 2:
        yield 0, _finding(path, FindingKind.CHECKPOINT, "version and number of entries are missing")
        return
    if lines[0].strip() != "0":
        yield 0, _line_finding(path, 1, f"version {_short(lines[0])} is not known; only 0 is")
        return
    count = _integer(lines[1])
    entries = [(number, line.split()) for number, line in enumerate(lines[2:], 3) if line.strip()]
    if count != len(entries):
        yield (
            0,
            _line_finding(
                path, 2, f"it says there are {_short(lines[1])} entries, but {len(entries)} lines follow"
            ),
        )
    for number, fields in entries:
        if len(fields) != len(names):
            expected = ", ".join(names)
            yield (
                number,
                _line_finding(path, number, f"{_short(' '.join(fields))} does not consist of {expected}"),
            )
        else:
            yield number, fields


def _read(path: Path) -> str | Finding:
    with open(path, "rb") as file:
        data = file.read(TEXT_SIZE_MAX + 1)
    if len(data) > TEXT_SIZE_MAX:
        return _finding(path, FindingKind.CHECKPOINT, f"larger than {TEXT_SIZE_MAX} bytes; no such file is")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        return Finding(path, error.start, FindingKind.CHECKPOINT, "not text in UTF-8")


def _integer(text: str) -> int | None:
    """A number that fits in an int64 and is not negative, or None. Digits only: int() takes much more."""
    text = text.strip()
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(INT64_MAX))):
        return None
    number = int(text)
    return number if number <= INT64_MAX else None


def _is_uuid(text: str) -> bool:
    try:
        return len(base64.b64decode(text + "==", altchars=b"-_", validate=True)) == UUID_SIZE
    except (binascii.Error, ValueError):
        return False


def _short(line: str) -> str:
    return repr(line if len(line) <= 60 else line[:57] + "…")


def _finding(path: Path, kind: FindingKind, message: str) -> Finding:
    return Finding(path, None, kind, message)


def _line_finding(
    path: Path, line_number: int, message: str, kind: FindingKind = FindingKind.CHECKPOINT
) -> Finding:
    return Finding(path, None, kind, f"line {line_number}: {message}")
