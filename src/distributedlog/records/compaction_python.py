"""Compaction in plain Python, for where numba is not installed: the same bytes, at a fraction of the rate."""

from __future__ import annotations

from hashlib import blake2b
from itertools import repeat
from typing import TYPE_CHECKING, Final

from distributedlog.records.batches import iterate_batches
from distributedlog.records.compaction import Compacted, Treatment, check_entries
from distributedlog.records.compaction_writer import BatchWriter
from distributedlog.records.compression import decompress
from distributedlog.records.decoding import check_counts, decode_records
from distributedlog.records.errors import CorruptBatchError
from distributedlog.records.header import (
    COMPRESSION_MASK,
    DELETE_HORIZON_BIT,
    HEADER_SIZE,
    INT64_MAX,
    INT64_MIN,
    BatchHeader,
)
from distributedlog.records.validate import validate_batch
from distributedlog.records.varint import UNZIGZAG, encode_varint, read_varint, read_varlong

if TYPE_CHECKING:
    from collections.abc import Sequence

    from distributedlog.records.header import Buffer
    from distributedlog.records.record import Record

ENTRY_SIZE: Final = 200
"""Bytes that a dictionary takes for a short key and an offset, generously measured."""

_DIGEST_SIZE: Final = 16


class PythonCompactor:
    """See `Compactor`. Keys shorter than a hash stand for themselves, longer ones are hashed."""

    def __init__(self, memory_size_max: int, hash_key: bytes, *, keys_max: int | None = None) -> None:
        self.latest_offset = -1
        self.keys_max = memory_size_max // ENTRY_SIZE if keys_max is None else keys_max
        self._hash_key = hash_key
        self._offsets: dict[bytes, int] = {}

    @property
    def size(self) -> int:
        return len(self._offsets)

    def map_keys(self, buffer: Buffer, taken: Sequence[bool], start_offset: int) -> int:
        """See `Compactor`."""
        buffer = bytes(buffer)
        headers = [(position, validate_batch(buffer, position)) for position, _ in iterate_batches(buffer)]
        check_entries(len(taken), len(headers))
        for number, ((position, header), is_taken) in enumerate(zip(headers, taken, strict=True)):
            if (
                is_taken
                and header.last_offset >= start_offset
                and not self._map(*_open(buffer, position, header), header, start_offset)
            ):
                return number
            if header.last_offset >= start_offset:
                self.latest_offset = max(self.latest_offset, header.last_offset)
        return len(headers)

    def _map(self, data: bytes, position: int, end: int, header: BatchHeader, start_offset: int) -> bool:
        """Whether there was room for all keys of a batch."""
        offsets = self._offsets
        for delta, key in _read_keys(data, position, end, header):
            offset = header.base_offset + delta
            if offset >= start_offset:
                name = key if len(key) < _DIGEST_SIZE else self._hash(key)
                if len(offsets) >= self.keys_max and name not in offsets:
                    return False
                offsets[name] = offset
        return True

    def _hash(self, key: bytes) -> bytes:
        return blake2b(key, digest_size=_DIGEST_SIZE, key=self._hash_key).digest()

    def compact(self, buffer: Buffer, treatments: Sequence[Treatment], delete_horizon_ms: int) -> Compacted:
        """See `Compactor`."""
        buffer = bytes(buffer)
        headers = [(position, validate_batch(buffer, position)) for position, _ in iterate_batches(buffer)]
        check_entries(len(treatments), len(headers))
        writer = BatchWriter(buffer)
        read = kept = without_key = 0
        for (position, header), treatment in zip(headers, treatments, strict=True):
            read += header.records_count
            survivors = dropped_without_key = 0
            if not treatment & Treatment.DISCARD_RECORDS:
                survivors, dropped_without_key = self._compact_batch(
                    writer, buffer, position, header, treatment, delete_horizon_ms
                )
            kept += survivors
            without_key += dropped_without_key
            if not survivors and treatment & Treatment.KEEP_EMPTY:
                writer.keep_empty(position)
        return Compacted(writer.finish(), read, kept, without_key)

    def _compact_batch(
        self,
        writer: BatchWriter,
        buffer: bytes,
        position: int,
        header: BatchHeader,
        treatment: Treatment,
        delete_horizon_ms: int,
    ) -> tuple[int, int]:
        """(records that survive and are written, records that do not and have no key)."""
        data, start, end = _open(buffer, position, header)
        records = decode_records(data, start, end, header)
        rows, without_key = self._surviving_rows(records, treatment)
        if not rows:
            return 0, without_key
        horizon = _new_horizon(header, treatment, [records[row] for row in rows], delete_horizon_ms)
        if len(rows) == len(records) and horizon is None:
            writer.keep(position, position + header.size)
            return len(rows), without_key
        pieces = _pieces(data, start, end)
        if horizon is None:
            kept = [pieces[row] for row in rows]
        else:
            kept = [_with_delta(pieces[row], records[row][1] - horizon) for row in rows]
        latest = max([records[row][1] for row in rows])
        writer.rebuild(position, b"".join(kept), len(rows), latest, horizon)
        return len(rows), without_key

    def _surviving_rows(self, records: list[Record], treatment: Treatment) -> tuple[list[int], int]:
        """(which of the records survive, how many of the others have no key)."""
        if treatment & Treatment.KEEP_RECORDS:
            return list(range(len(records))), 0
        drops_tombstones = bool(treatment & Treatment.DROP_TOMBSTONES)
        latest_offset = self.latest_offset
        last_offset_of = self._offsets.get
        rows = []
        without_key = 0
        for row, (offset, _, key, value, _) in enumerate(records):
            if offset > latest_offset:
                rows.append(row)
            elif key is None:
                without_key += 1
            elif value is not None or not drops_tombstones:
                name = key if len(key) < _DIGEST_SIZE else self._hash(key)
                if offset >= last_offset_of(name, -1):
                    rows.append(row)
        return rows, without_key


def _open(buffer: bytes, position: int, header: BatchHeader) -> tuple[bytes, int, int]:
    """(bytes, where the records start in them, where they end), uncompressed."""
    start, end = position + HEADER_SIZE, position + header.size
    codec = header.attributes & COMPRESSION_MASK
    if not codec:
        return buffer, start, end
    payload = decompress(codec, memoryview(buffer)[start:end])
    return payload, 0, len(payload)


def _read_keys(data: bytes, position: int, end: int, header: BatchHeader) -> list[tuple[int, bytes]]:
    """Offset delta and key of each record that has one; what follows the key is passed over."""
    check_counts(header, end - position)
    try:
        return _walk_keys(data, position, end, header)
    except IndexError:
        raise _damaged(header, "end too early") from None


def _walk_keys(data: bytes, position: int, end: int, header: BatchHeader) -> list[tuple[int, bytes]]:
    """As in `decoding`, positions only move forward, and a read behind the data is an IndexError.

    So one look at the end of each key finds whatever went over the record's end before.
    """
    unzigzag = UNZIGZAG
    last_delta = header.last_offset_delta
    previous = -1
    keys: list[tuple[int, bytes]] = []
    for _ in repeat(None, header.records_count):
        size = data[position]
        if size < 128:
            position += 1
            size = unzigzag[size]
        elif (high := data[position + 1]) < 128:
            position += 2
            size = size & 127 | high << 7
            size = (size >> 1) ^ -(size & 1)
        else:
            size, position = read_varint(data, position)
        record_end = position + size
        if size < 1 or record_end > end:
            raise _damaged(header, "are of impossible lengths")

        if data[position + 1] < 128:
            position += 2
        elif data[position + 2] < 128:
            position += 3
        else:
            _, position = read_varlong(data, position + 1)

        delta = data[position]
        if delta < 128:
            position += 1
            delta = unzigzag[delta]
        elif (high := data[position + 1]) < 128:
            position += 2
            delta = delta & 127 | high << 7
            delta = (delta >> 1) ^ -(delta & 1)
        else:
            delta, position = read_varint(data, position)
        if delta <= previous or delta > last_delta:
            raise _damaged(header, "have offsets that do not increase, or pass the batch's last")
        previous = delta

        length = data[position]
        if length < 128:
            position += 1
            length = unzigzag[length]
        else:
            length, position = read_varint(data, position)
        if length >= 0:
            start = position
            position += length
            keys.append((delta, data[start:position]))
        if length < -1 or position > record_end:
            raise _damaged(header, "have keys of impossible lengths")
        position = record_end
    if position != end:
        raise _damaged(header, "end before the batch does")
    return keys


def _damaged(header: BatchHeader, what: str) -> CorruptBatchError:
    return CorruptBatchError(f"records of the batch at offset {header.base_offset} {what}")


def _new_horizon(
    header: BatchHeader, treatment: Treatment, survivors: list[Record], delete_horizon_ms: int
) -> int | None:
    """The delete horizon that the batch is to get, if it has none and needs one."""
    if header.attributes & DELETE_HORIZON_BIT:
        return None
    if not treatment & Treatment.SET_HORIZON and all(record[3] is not None for record in survivors):
        return None
    timestamps = [record[1] for record in survivors]
    if max(timestamps) - delete_horizon_ms > INT64_MAX or min(timestamps) - delete_horizon_ms < INT64_MIN:
        return None
    return delete_horizon_ms


def _pieces(data: bytes, position: int, end: int) -> list[bytes]:
    """The records of a sound batch, each with its length in front."""
    pieces = []
    while position < end:
        length = data[position]
        if length < 128:
            behind = position + 1 + (length >> 1)
        elif (high := data[position + 1]) < 128:
            behind = position + 2 + ((length & 127 | high << 7) >> 1)
        else:
            length, body = read_varint(data, position)
            behind = body + length
        pieces.append(data[position:behind])
        position = behind
    return pieces


def _with_delta(record: bytes, timestamp_delta: int) -> bytes:
    """The record again, with another timestamp delta."""
    _, body = read_varint(record, 0)
    _, after_timestamp = read_varlong(record, body + 1)
    changed = b"\x00" + encode_varint(timestamp_delta) + record[after_timestamp:]
    return encode_varint(len(changed)) + changed
