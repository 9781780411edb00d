"""Compaction in plain Python, for where numba is not installed: the same bytes, at a fraction of the rate."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from distributedlog.records.batches import iterate_batches
from distributedlog.records.compaction import Compacted, Treatment, check_entries
from distributedlog.records.compaction_writer import BatchWriter
from distributedlog.records.compression import decompress
from distributedlog.records.decoding import decode_records
from distributedlog.records.header import (
    COMPRESSION_MASK,
    DELETE_HORIZON_BIT,
    HEADER_SIZE,
    INT64_MAX,
    INT64_MIN,
    BatchHeader,
)
from distributedlog.records.validate import validate_batch
from distributedlog.records.varint import encode_varint, read_varint, read_varlong

if TYPE_CHECKING:
    from collections.abc import Sequence

    from distributedlog.records.header import Buffer
    from distributedlog.records.record import RecordFields

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
            if is_taken and header.last_offset >= start_offset:
                data, start, end = _open(buffer, position, header)
                if not self._map(decode_records(data, start, end, header), start_offset):
                    return number
            if header.last_offset >= start_offset:
                self.latest_offset = max(self.latest_offset, header.last_offset)
        return len(headers)

    def _map(self, records: list[RecordFields], start_offset: int) -> bool:
        offsets = self._offsets
        for offset, _, key, _, _ in records:
            if key is None or offset < start_offset:
                continue
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
            stays: list[bool] = []
            records: list[RecordFields] = []
            if not treatment & Treatment.DISCARD_RECORDS:
                data, start, end = _open(buffer, position, header)
                records = decode_records(data, start, end, header)
                stays = self._survivors(records, treatment)
                without_key += sum(
                    not stay and record[2] is None for stay, record in zip(stays, records, strict=True)
                )
            count = sum(stays)
            kept += count
            if not count:
                if treatment & Treatment.KEEP_EMPTY:
                    writer.keep_empty(position)
                continue
            survivors = [record for record, stay in zip(records, stays, strict=True) if stay]
            horizon = _new_horizon(header, treatment, survivors, delete_horizon_ms)
            if count == len(records) and horizon is None:
                writer.keep(position, position + header.size)
                continue
            pieces = [piece for piece, stay in zip(_pieces(data, start, end), stays, strict=True) if stay]
            if horizon is not None:
                deltas = [record[1] - horizon for record in survivors]
                pieces = [_with_delta(piece, delta) for piece, delta in zip(pieces, deltas, strict=True)]
            latest = max(record[1] for record in survivors)
            writer.rebuild(position, b"".join(pieces), count, latest, horizon)
        return Compacted(writer.finish(), read, kept, without_key)

    def _survivors(self, records: list[RecordFields], treatment: Treatment) -> list[bool]:
        if treatment & Treatment.KEEP_RECORDS:
            return [True] * len(records)
        drops_tombstones = bool(treatment & Treatment.DROP_TOMBSTONES)
        return [self._survives(record, drops_tombstones) for record in records]

    def _survives(self, record: RecordFields, drops_tombstones: bool) -> bool:
        offset, _, key, value, _ = record
        if offset > self.latest_offset:
            return True
        if key is None or (value is None and drops_tombstones):
            return False
        name = key if len(key) < _DIGEST_SIZE else self._hash(key)
        return offset >= self._offsets.get(name, -1)


def _open(buffer: bytes, position: int, header: BatchHeader) -> tuple[bytes, int, int]:
    """(bytes, where the records start in them, where they end), uncompressed."""
    start, end = position + HEADER_SIZE, position + header.size
    codec = header.attributes & COMPRESSION_MASK
    if not codec:
        return buffer, start, end
    payload = decompress(codec, memoryview(buffer)[start:end])
    return payload, 0, len(payload)


def _new_horizon(
    header: BatchHeader, treatment: Treatment, survivors: list[RecordFields], delete_horizon_ms: int
) -> int | None:
    """The delete horizon that the batch is to get, if it has none and needs one."""
    if header.attributes & DELETE_HORIZON_BIT:
        return None
    if not treatment & Treatment.SET_HORIZON and all(record[3] is not None for record in survivors):
        return None
    if any(not INT64_MIN <= record[1] - delete_horizon_ms <= INT64_MAX for record in survivors):
        return None
    return delete_horizon_ms


def _pieces(data: bytes, position: int, end: int) -> list[bytes]:
    """The records of a sound batch, each with its length in front."""
    pieces = []
    while position < end:
        length, body = read_varint(data, position)
        pieces.append(data[position : body + length])
        position = body + length
    return pieces


def _with_delta(record: bytes, timestamp_delta: int) -> bytes:
    """The record again, with another timestamp delta."""
    _, body = read_varint(record, 0)
    _, after_timestamp = read_varlong(record, body + 1)
    changed = b"\x00" + encode_varint(timestamp_delta) + record[after_timestamp:]
    return encode_varint(len(changed)) + changed
