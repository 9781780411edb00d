"""From records to a batch: the producer's path.

Each record is joined from table entries and added to one growing bytearray, so that the size is always
known and building a batch costs one copy. Whatever the tables do not hold goes the long way round.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

from distributedlog.records.batches import write_crc
from distributedlog.records.compression import compress
from distributedlog.records.errors import InvalidRecordError
from distributedlog.records.header import (
    CONTROL_BIT,
    HEADER,
    HEADER_SIZE,
    INT32_MAX,
    INT64_MAX,
    INT64_MIN,
    LOG_OVERHEAD,
    MAGIC,
    NO_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    TRANSACTIONAL_BIT,
    Compression,
)
from distributedlog.records.varint import VARINT, encode_varint

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import TypeAlias

    HeaderPairs: TypeAlias = Sequence[tuple[str, bytes | None]]
    RecordToAppend: TypeAlias = tuple[int, bytes | None, bytes | None, HeaderPairs]

_NO_HEADERS: Final = b"\x00"
_NULL: Final = b"\x01"
_ATTRIBUTES: Final = b"\x00"
_DELTAS_KEPT: Final = range(-64, 8192)

_TIMESTAMP_DELTA: Final[dict[int, bytes]] = {}
"""A record's attributes and timestamp delta by that delta, once asked for and short; see `_long_way`."""


class BatchBuilder:
    """Collects records for one batch of a producer.

    The fields of the header that come from the producer may be set until `build`: a batch gets its
    sequence number when it is sent, not when it is begun.
    """

    __slots__ = (
        "_base_timestamp",
        "_buffer",
        "_max_timestamp",
        "_records_count",
        "base_sequence",
        "compression",
        "compression_level",
        "is_control",
        "is_transactional",
        "producer_epoch",
        "producer_id",
    )

    def __init__(
        self,
        compression: Compression = Compression.NONE,
        *,
        compression_level: int | None = None,
        producer_id: int = NO_PRODUCER_ID,
        producer_epoch: int = NO_PRODUCER_EPOCH,
        base_sequence: int = NO_SEQUENCE,
        is_transactional: bool = False,
        is_control: bool = False,
    ) -> None:
        self.compression = compression
        self.compression_level = compression_level
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.base_sequence = base_sequence
        self.is_transactional = is_transactional
        self.is_control = is_control
        self._buffer = bytearray(HEADER_SIZE)
        self._records_count = 0
        self._base_timestamp = NO_TIMESTAMP
        self._max_timestamp = NO_TIMESTAMP

    @property
    def size(self) -> int:
        """Bytes of the batch so far, header included, before compression."""
        return len(self._buffer)

    @property
    def records_count(self) -> int:
        return self._records_count

    def append(
        self, timestamp: int, key: bytes | None, value: bytes | None, headers: HeaderPairs = ()
    ) -> int:
        """Add a record; its offset within the batch is returned."""
        count = self._records_count
        if not count:
            self._base_timestamp = self._max_timestamp = timestamp
        buffer = self._buffer
        try:
            if headers or type(value) is not bytes:
                body = _encode_body(timestamp - self._base_timestamp, count, key, value, headers)
            elif key is None:
                length = VARINT[len(value)]
                delta = _TIMESTAMP_DELTA[timestamp - self._base_timestamp]
                body = b"".join((delta, VARINT[count], _NULL, length, value, _NO_HEADERS))
            elif type(key) is not bytes:
                body = _encode_body(timestamp - self._base_timestamp, count, key, value, headers)
            else:
                length = VARINT[len(value)]
                delta = _TIMESTAMP_DELTA[timestamp - self._base_timestamp]
                body = b"".join((delta, VARINT[count], VARINT[len(key)], key, length, value, _NO_HEADERS))
            buffer += VARINT[len(body)]
        except LookupError:
            body = _encode_body(timestamp - self._base_timestamp, count, key, value, headers)
            buffer += encode_varint(len(body))
        buffer += body
        if timestamp > self._max_timestamp:  # noqa: PLR1730 - a call of max costs more
            self._max_timestamp = timestamp
        self._records_count = count + 1
        return count

    def extend(self, records: Iterable[RecordToAppend]) -> None:
        """Append many (timestamp, key, value, headers), for less than as many calls of `append` cost."""
        parts: list[bytes] = []
        add = parts.append
        base = self._base_timestamp
        count = self._records_count
        latest = self._max_timestamp
        varint = VARINT
        timestamp_delta = _TIMESTAMP_DELTA
        null = _NULL
        no_headers = _NO_HEADERS
        join = b"".join
        try:
            for timestamp, key, value, headers in records:
                if not count:
                    self._base_timestamp = base = latest = timestamp
                try:
                    if headers or type(value) is not bytes:
                        body = _encode_body(timestamp - base, count, key, value, headers)
                    elif key is None:
                        delta = timestamp_delta[timestamp - base]
                        body = join((delta, varint[count], null, varint[len(value)], value, no_headers))
                    elif type(key) is not bytes:
                        body = _encode_body(timestamp - base, count, key, value, headers)
                    else:
                        delta = timestamp_delta[timestamp - base]
                        length = varint[len(value)]
                        body = join((delta, varint[count], varint[len(key)], key, length, value, no_headers))
                    add(varint[len(body)])
                except LookupError:
                    body = _encode_body(timestamp - base, count, key, value, headers)
                    add(encode_varint(len(body)))
                add(body)
                if timestamp > latest:  # noqa: PLR1730
                    latest = timestamp
                count += 1
        finally:
            self._buffer += join(parts)
            self._records_count = count
            self._max_timestamp = latest

    def build(self, base_offset: int = 0, leader_epoch: int = NO_LEADER_EPOCH) -> bytearray:
        """The batch of what was appended. It may be built again, with other fields or more records."""
        if not self._records_count:
            raise InvalidRecordError("a batch without records cannot be built")
        if self.compression:
            with memoryview(self._buffer) as view, view[HEADER_SIZE:] as records:
                batch = bytearray(HEADER_SIZE)
                batch += compress(self.compression, records, self.compression_level)
        else:
            batch = bytearray(self._buffer)
        if len(batch) - LOG_OVERHEAD > INT32_MAX:
            raise InvalidRecordError(f"a batch cannot be {len(batch)} bytes long")
        attributes = int(self.compression)
        if self.is_transactional:
            attributes |= TRANSACTIONAL_BIT
        if self.is_control:
            attributes |= CONTROL_BIT
        try:
            HEADER.pack_into(
                batch,
                0,
                base_offset,
                len(batch) - LOG_OVERHEAD,
                leader_epoch,
                MAGIC,
                0,
                attributes,
                self._records_count - 1,
                self._base_timestamp,
                self._max_timestamp,
                self.producer_id,
                self.producer_epoch,
                self.base_sequence,
                self._records_count,
            )
        except struct.error as error:
            raise InvalidRecordError(f"a field does not fit the batch header: {error}") from None
        write_crc(batch)
        return batch


def encode_batch(
    records: Iterable[RecordToAppend],
    *,
    compression: Compression = Compression.NONE,
    compression_level: int | None = None,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = NO_PRODUCER_EPOCH,
    base_sequence: int = NO_SEQUENCE,
    is_transactional: bool = False,
    base_offset: int = 0,
    leader_epoch: int = NO_LEADER_EPOCH,
) -> bytearray:
    """One batch of (timestamp, key, value, headers) tuples, of which there must be at least one."""
    builder = BatchBuilder(
        compression,
        compression_level=compression_level,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        is_transactional=is_transactional,
    )
    builder.extend(records)
    return builder.build(base_offset, leader_epoch)


def _encode_body(
    timestamp_delta: int, offset_delta: int, key: bytes | None, value: bytes | None, headers: HeaderPairs
) -> bytes:
    """A record without its length, whatever is in it."""
    prefix = _TIMESTAMP_DELTA.get(timestamp_delta)
    if prefix is None:
        if not INT64_MIN <= timestamp_delta <= INT64_MAX:
            raise InvalidRecordError("timestamps in one batch are further apart than 64 bits can say")
        prefix = _ATTRIBUTES + encode_varint(timestamp_delta)
        if timestamp_delta in _DELTAS_KEPT:
            _TIMESTAMP_DELTA[timestamp_delta] = prefix
    parts = [prefix, encode_varint(offset_delta)]
    _add_nullable(parts, key)
    _add_nullable(parts, value)
    parts.append(encode_varint(len(headers)))
    for header_key, header_value in headers:
        _add_nullable(parts, header_key.encode())
        _add_nullable(parts, header_value)
    return b"".join(parts)


def _add_nullable(parts: list[bytes], data: bytes | None) -> None:
    if data is None:
        parts.append(_NULL)
        return
    if type(data) is not bytes:
        data = _as_bytes(data)
    parts.append(VARINT[len(data)] if len(data) < len(VARINT) else encode_varint(len(data)))
    parts.append(data)


def _as_bytes(data: object) -> bytes:
    """The length of an array, or of a view of one, counts its items and not its bytes: a record that said it
    could never be read again."""
    if isinstance(data, bytes | bytearray | memoryview):
        return bytes(data)
    raise TypeError(f"a record holds bytes or None, not {type(data).__name__}")
