"""The producer state on disk: Kafka's `<offset>.snapshot`, the state of all batches before that offset.

    int16 version = 1 | uint32 CRC32C of all that follows | int32 count | the entries, of 46 bytes each:
    int64 producer id | int16 producer epoch | int32 last sequence | int64 last offset | int32 offset delta |
    int64 timestamp | int32 coordinator epoch | int64 first offset of the open transaction, or -1

Everything big-endian. Of the batches a producer sent last, only the newest is kept. A snapshot saves
reading the log from its start; a damaged one is dropped and an older one, or the start, taken instead.
"""

import os
import re
import struct
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Final

from crc32c import crc32c

from distributedlog.log.errors import CorruptLog
from distributedlog.log.files import Files
from distributedlog.log.producer_entry import (
    NO_OFFSET,
    NO_SEQUENCE,
    BatchMetadata,
    ProducerStateEntry,
    first_sequence_of,
)

VERSION: Final = 1
SNAPSHOT_SUFFIX: Final = ".snapshot"

_HEADER: Final = struct.Struct(">hIi")
_CRC_START: Final = 6
_COUNT: Final = struct.Struct(">i")
_ENTRY: Final = struct.Struct(">qhiqiqiq")
_FILE_NAME: Final = re.compile(r"([0-9]{20})\.snapshot")


def encode_snapshot(entries: Iterable[ProducerStateEntry]) -> bytes:
    packed = [_pack(entry) for entry in entries]
    body = b"".join([_COUNT.pack(len(packed)), *packed])
    return struct.pack(">hI", VERSION, crc32c(body)) + body


def decode_snapshot(path: str, data: bytes) -> list[ProducerStateEntry]:
    """CorruptLog for anything but a whole and sound snapshot."""
    if len(data) < _HEADER.size:
        raise CorruptLog(path, len(data), "the file ends within its header")
    version, crc, count = _HEADER.unpack_from(data)
    if version != VERSION:
        raise CorruptLog(path, 0, f"snapshots of version {version} are not known, {VERSION} is")
    actual_crc = crc32c(memoryview(data)[_CRC_START:])
    if crc != actual_crc:
        raise CorruptLog(path, _CRC_START, f"CRC32C is {actual_crc:#010x}, {crc:#010x} was written")
    if count < 0 or len(data) - _HEADER.size != count * _ENTRY.size:
        raise CorruptLog(path, _CRC_START, f"{count} entries announced in {len(data) - _HEADER.size} bytes")
    return [_unpack(fields) for fields in _ENTRY.iter_unpack(memoryview(data)[_HEADER.size :])]


def _pack(entry: ProducerStateEntry) -> bytes:
    last_offset, offset_delta = NO_OFFSET, 0
    if entry.batches:
        last = entry.batches[-1]
        last_offset, offset_delta = last.last_offset, last.last_offset - last.first_offset
    return _ENTRY.pack(
        entry.producer_id,
        entry.producer_epoch,
        entry.last_sequence,
        last_offset,
        offset_delta,
        entry.last_timestamp,
        entry.coordinator_epoch,
        entry.current_txn_first_offset,
    )


def _unpack(fields: tuple[int, int, int, int, int, int, int, int]) -> ProducerStateEntry:
    producer_id, epoch, last_sequence, last_offset, offset_delta, timestamp, coordinator, txn_offset = fields
    batches: tuple[BatchMetadata, ...] = ()
    if last_offset >= 0:
        first_sequence = first_sequence_of(last_sequence, offset_delta)
        first_offset = last_offset - offset_delta
        last_sequence = max(last_sequence, NO_SEQUENCE)
        batches = (BatchMetadata(first_sequence, last_sequence, first_offset, last_offset, timestamp),)
    return ProducerStateEntry(
        producer_id,
        producer_epoch=epoch,
        coordinator_epoch=coordinator,
        last_timestamp=timestamp,
        current_txn_first_offset=max(txn_offset, NO_OFFSET),
        batches=batches,
    )


def snapshot_file_name(offset: int) -> str:
    return f"{offset:020d}{SNAPSHOT_SUFFIX}"


def snapshot_offset_of(file_name: str) -> int | None:
    """The offset in a snapshot's name; None when it is another kind of file."""
    match = _FILE_NAME.fullmatch(file_name)
    return int(match[1]) if match else None


def write_snapshot(files: Files, directory: Path, offset: int, entries: Iterable[ProducerStateEntry]) -> Path:
    """Write the state of the log before `offset`; whole on disk when this returns."""
    path = directory / snapshot_file_name(offset)
    files.write_atomically(path, encode_snapshot(entries))
    return path


def read_snapshot(files: Files, directory: Path, offset: int) -> list[ProducerStateEntry]:
    path = directory / snapshot_file_name(offset)
    return decode_snapshot(os.fspath(path), files.read_bytes(path))


def stray_snapshots(snapshot_offsets: Collection[int], segment_base_offsets: Collection[int]) -> set[int]:
    """Snapshots to delete when a log is opened: those that no segment begins with. The newest of them stays
    if it lies behind every segment's begin: it was taken when the log was closed."""
    stray = set(snapshot_offsets) - set(segment_base_offsets)
    if stray and max(stray) > max(segment_base_offsets, default=-1):
        stray.discard(max(stray))
    return stray


def snapshots_outside(
    snapshot_offsets: Collection[int], log_start_offset: int, log_end_offset: int
) -> set[int]:
    """Snapshots to delete when a log was cut: those behind its end, and those of its deleted beginning."""
    return {offset for offset in snapshot_offsets if not log_start_offset < offset <= log_end_offset}
