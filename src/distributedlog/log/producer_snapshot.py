"""The producer state on disk: Kafka's `<offset>.snapshot`, the state of all batches before that offset.

    int16 version = 1 | uint32 CRC32C of all that follows | int32 count | the entries, of 46 bytes each:
    int64 producer id | int16 producer epoch | int32 last sequence | int64 last offset | int32 offset delta |
    int64 timestamp | int32 coordinator epoch | int64 first offset of the open transaction, or -1

Everything big-endian. Of the batches a producer sent last, only the newest is kept. A snapshot saves
reading the log from its start; a damaged one is dropped and an older one, or the start, taken instead.
The bytes are made and read here [pure]; `snapshot_files.py` keeps the files.
"""

import struct
from collections.abc import Iterable
from typing import Final

from crc32c import crc32c

from distributedlog.log.errors import CorruptLog
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
